"""Fitted models as data: skops files, read without running code from them.

A skops file is a zip archive: ``schema.json`` says which objects there are, and every further member is one array. Only
the classes and attributes listed in ``_model/schema.py`` are ever made from it, and each value is checked. What comes
back predicts bit for bit as what was written, on the same installation.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ._model.archive import need_skops
from ._model.reading import ModelFileError, open_model
from ._model.schema import Refused
from ._model.writing import content_out
from ._output import PathLike, replace_file

__all__ = ["ModelFileError", "load_model", "save_model"]


def save_model(
    path: PathLike,
    estimator: Any,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    inputs: Iterable[PathLike] = (),
) -> None:
    """Write a fitted estimator, or a pipeline of them, as data.

    Parameters
    ----------
    path : str or path-like
        The file to write, by convention with the extension .skops; it appears whole or not at all.
    estimator : estimator
        A fitted estimator of this package, one of scikit-learn's StandardScaler, MaxAbsScaler, MinMaxScaler,
        RobustScaler, Normalizer, TfidfTransformer, SimpleImputer, OneHotEncoder and ExtraTreesRegressor, or a
        ColumnTransformer or Pipeline of such steps. A pipeline's ``memory`` and ``verbose`` are not kept; the columns
        of a ColumnTransformer, given as lists, are kept by number.
    feature_names, label_names : sequence of str or None, default=None
        Kept for the reader; None: the names that the estimator saw at ``fit``, its ``feature_names_in_`` and
        ``label_names_in_``, if it did.
    inputs : iterable of str or path-like, default=()
        Files that must not be overwritten.

    Raises
    ------
    ModelFileError
        A class, parameter or attribute cannot be written as data.
    sklearn.exceptions.NotFittedError
        The estimator is not fitted.
    ImportError
        skops is not installed.
    ValueError, OSError
        The file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[0.0], [2.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(os.path.join(folder, "model.skops"), scaler)
    ...     load_model(os.path.join(folder, "model.skops")).transform([[4.0]])
    array([[3.]])
    """
    skops = need_skops()
    check_is_fitted(estimator)
    try:
        content = content_out(estimator, feature_names, label_names)
    except (Refused, ValueError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ModelFileError(f"The model cannot be written to {os.fspath(path)!r}: {reason}.") from None
    with replace_file(path, inputs=inputs) as file:
        skops.dump(content, file)


def load_model(path: PathLike, *, max_bytes: int = 4 << 30) -> Any:
    """Read the estimator that `save_model` wrote.

    Parameters
    ----------
    path : str or path-like
        The model file.
    max_bytes : int, default=4 GiB
        A larger file is refused.

    Returns
    -------
    estimator
        Fitted, as it was written.

    Raises
    ------
    ModelFileError
        The file is a pickle, damaged, of the old format, holds a class that is not on the list, answers differently
        from when it was written, or is no model at all.
    ImportError
        skops is not installed.
    OSError
        The file cannot be read.

    Warns
    -----
    sklearn.exceptions.InconsistentVersionWarning
        Another version of scikit-learn wrote the file.

    Examples
    --------
    >>> import os, pickle, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "model.skops")
    ...     with open(name, "wb") as file:
    ...         pickle.dump("not a model", file)
    ...     try:
    ...         load_model(name)
    ...     except ModelFileError as error:
    ...         print("looks like a pickle" in str(error))
    True
    """
    return open_model(path, max_bytes=max_bytes).estimator
