"""Fitted models as data: an ``.npz`` file of plain arrays and one JSON header, without pickle.

A model file cannot run code when it is read: it holds names and numbers, and only the classes and attributes listed in
``_model/schema.py`` are ever made from it. What comes back predicts bit for bit as what was written.

The file is a zip archive. ``header.npy`` holds the bytes of the JSON header (format and its version, versions of the
libraries, names of features and labels, the tree of estimators with parameters and fitted attributes, checksum); every
further member ``a<number>.npy`` is one array that the tree refers to. The same model gives the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ._model.checking import check_names, n_labels
from ._model.form import FORMAT, FORMAT_VERSION, ModelFileError, Refused, canonical, checksum
from ._model.reading import node_in, read_file, text_list
from ._model.writing import names_out, node_out
from ._output import PathLike, replace_file, write_arrays
from ._version import __version__

__all__ = ["Model", "ModelFileError", "load_model", "open_model", "save_model"]


class Model(NamedTuple):
    """What a model file holds.

    Attributes
    ----------
    estimator : estimator
        Fitted, as it was written.
    feature_names : list of str, or None
        Names of the columns it was fitted on, in order.
    label_names : list of str, or None
        Names of the labels, in order.
    versions : dict of str to str
        Versions of nmlsdr, numpy, scipy and scikit-learn that wrote the file.
    """

    estimator: Any
    feature_names: list[str] | None
    label_names: list[str] | None
    versions: dict[str, str]


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
        The file to write; it appears whole or not at all.
    estimator : estimator
        A fitted estimator of this package, one of scikit-learn's StandardScaler, MaxAbsScaler, MinMaxScaler,
        RobustScaler, Normalizer, TfidfTransformer, SimpleImputer and OneHotEncoder, or a ColumnTransformer or Pipeline
        of such steps. A pipeline's ``memory`` and ``verbose`` are not kept; the columns of a ColumnTransformer, given
        as lists, are kept by number.
    feature_names, label_names : sequence of str or None, default=None
        Kept in the header for the reader; None: the names that the estimator saw at ``fit``, its ``feature_names_in_``
        and ``label_names_in_``, if it did.
    inputs : iterable of str or path-like, default=()
        Files that must not be overwritten.

    Raises
    ------
    ModelFileError
        A class, parameter or attribute cannot be written as data.
    sklearn.exceptions.NotFittedError
        The estimator is not fitted.
    ValueError, OSError
        The file cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit([[0.0], [2.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(os.path.join(folder, "model.npz"), scaler)
    ...     load_model(os.path.join(folder, "model.npz")).transform([[4.0]])
    array([[3.]])
    """
    check_is_fitted(estimator)
    arrays: dict[str, np.ndarray] = {}
    if feature_names is None:
        feature_names = _seen(estimator, "feature_names_in_", 0)
    if label_names is None:
        label_names = _seen(estimator, "label_names_in_", -1)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": {
            "nmlsdr": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "feature_names": None if feature_names is None else names_out("feature_names", feature_names),
        "label_names": None if label_names is None else names_out("label_names", label_names),
        "model": node_out(estimator, arrays),
    }
    header["checksum"] = checksum(header, arrays)
    text = np.frombuffer(canonical(header), dtype=np.uint8)
    with replace_file(path, inputs=inputs) as file:
        write_arrays(file, {"header": text, **arrays})


def load_model(path: PathLike, *, max_bytes: int = 4 << 30) -> Any:
    """Read the estimator that `save_model` wrote.

    Parameters
    ----------
    path : str or path-like
        The model file.
    max_bytes : int, default=4 GiB
        A file that would unpack to more is refused.

    Returns
    -------
    estimator
        Fitted, as it was written.

    Raises
    ------
    ModelFileError
        The file is a pickle, damaged, of a newer format, holds a class that is not on the list, or is no model at all.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import os, pickle, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "model.npz")
    ...     with open(name, "wb") as file:
    ...         pickle.dump("not a model", file)
    ...     try:
    ...         load_model(name)
    ...     except ModelFileError as error:
    ...         print("looks like a pickle" in str(error))
    True
    """
    return open_model(path, max_bytes=max_bytes).estimator


def open_model(path: PathLike, *, max_bytes: int = 4 << 30) -> Model:
    """Read a model file with its names and versions; see `load_model`.

    Parameters
    ----------
    path : str or path-like
        The model file.
    max_bytes : int, default=4 GiB
        A file that would unpack to more is refused.

    Returns
    -------
    Model
        The estimator, the names of features and labels, the versions that wrote it.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.preprocessing import StandardScaler
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     name = os.path.join(folder, "model.npz")
    ...     save_model(name, StandardScaler().fit([[0.0], [2.0]]), feature_names=["height"])
    ...     model = open_model(name)
    >>> model.estimator, model.feature_names
    (StandardScaler(), ['height'])
    """
    name = os.fspath(path)
    try:
        header, arrays = read_file(name, max_bytes)
        estimator = node_in(header["model"], arrays)
        names = [header["feature_names"], header["label_names"]]
        for given in names:
            if given is not None:
                text_list(given)
        check_names("feature_names", names[0], estimator.n_features_in_)
        check_names("label_names", names[1], n_labels(estimator))
        versions = {str(key): str(value) for key, value in header["versions"].items()}
    except Refused as error:
        raise ModelFileError(f"The model file {name!r} {error}") from None
    except (ModelFileError, MemoryError, OSError):
        raise
    except Exception:  # a header of other parts than this: KeyError, TypeError, RecursionError ...
        raise ModelFileError(f"The model file {name!r} is damaged: its header is incomplete; make it again.") from None
    return Model(estimator, names[0], names[1], versions)


def _seen(estimator: Any, attribute: str, step: int) -> list[Any] | None:
    """The names that an estimator, or this step of a pipeline, saw at ``fit``."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[step][1]
    names = getattr(estimator, attribute, None)
    return None if names is None else list(names)
