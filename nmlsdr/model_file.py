"""Save and load fitted models: skops files, which are read without running code from them.

A skops file is a zip archive. Its member ``schema.json`` lists the objects, and every other member is one array. Only
the classes and attributes listed in ``_model/schema.py`` are made from it, and each value is checked. On the same
installation, the model that is read predicts exactly what the written model predicts, to the last bit.

mlflow writes models in the format of skops too. Tell it which types to trust, and it loads the model with them::

    mlflow.sklearn.save_model(model, "folder", skops_trusted_types=nmlsdr.model_file.TRUSTED_TYPES)
    model = mlflow.sklearn.load_model("folder")

Such a file is not checked by :func:`load_model`, so load only files that you trust.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _estimators as estimators
from ._checks.labels import LabelClasses
from ._estimators._learners import LEARNERS
from ._model.archive import need_skops
from ._model.large_arrays import write_archive
from ._model.reading import ModelFileError, open_model
from ._model.schema import Refused, full_name, innermost, table
from ._model.writing import content_out
from ._output import PathLike, replace_file
from .forest import BoostedTrees, Forest

__all__ = ["TRUSTED_TYPES", "load_model", "save_model"]

_ESTIMATORS = [kind for kind in vars(estimators).values() if isinstance(kind, type)]
_TABLES = ("_encoder.TableEncoder", "_scaling.TableScaler", "_plan.Plan", "_kinds.Column", "_comparison.Profile")
#: The types of a fitted model, for ``skops.io.load(file, trusted=TRUSTED_TYPES)`` and for ``skops_trusted_types`` of
#: mlflow. skops and mlflow check nothing else of a file, so read only files that you trust with them; `load_model`
#: checks all.
TRUSTED_TYPES = [
    *map(full_name, (*_ESTIMATORS, LabelClasses, *LEARNERS, Forest, BoostedTrees)),
    *map("nmlsdr.tables.{}".format, _TABLES),
]


def save_model(
    path: PathLike,
    estimator: Any,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    inputs: Iterable[PathLike] = (),
    fitted: dict[str, Any] | None = None,
    plan: Any = None,
) -> None:
    """Write a fitted estimator, or a pipeline of estimators, to a file as data.

    Parameters
    ----------
    path : str or path-like
        File to write, by convention with the extension .skops. It is written completely or not at all.
    estimator : estimator
        A fitted estimator of this package but for ExactNeighborsTransformer, one of scikit-learn's StandardScaler,
        MaxAbsScaler, Normalizer and SimpleImputer, or a Pipeline of such steps. ``neighbors`` must not be a
        transformer. ``memory`` and ``verbose`` of a pipeline are not stored.
    feature_names, label_names : sequence of str or None, default=None
        Names of the features and labels, stored for the reader. None: the estimator's ``feature_names_in_`` and
        ``label_names_in_``, if it has them.
    inputs : iterable of str or path-like, default=()
        Files that must not be overwritten; an error is raised if ``path`` is one of them.
    fitted : dict or None, default=None
        Hashes of the rows of the fit, which the command line keeps to say which rows of a table a model knows.
    plan : object, default=None
        How the command line read the table of the fit (``plan`` of that table), if every feature is a column of
        numbers: it then reads other tables in the same way.

    Raises
    ------
    ModelFileError
        If a class, parameter or attribute cannot be written as data.
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ImportError
        If skops is not installed.
    ValueError, OSError
        If the file cannot be written.

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
        content = content_out(estimator, feature_names, label_names, fitted, plan)
    except (Refused, ValueError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise ModelFileError(f"The model cannot be written to {os.fspath(path)!r}: {reason}.") from None
    with replace_file(path, inputs=inputs) as file:
        write_archive(file, content, skops.dumps)


def load_model(path: PathLike, *, max_bytes: int = 4 << 30) -> Any:
    """Read the estimator that `save_model` wrote.

    Parameters
    ----------
    path : str or path-like
        File to read.
    max_bytes : int, default=4 GiB
        Largest accepted size of the unpacked file, in bytes; an error is raised above it.

    Returns
    -------
    estimator
        The fitted estimator. Label names that the file has are its ``label_names_in_``, or that of the last step of a
        pipeline, also where ``fit`` received an array and `save_model` the names, as by the command line.

    Raises
    ------
    ModelFileError
        If the file is a pickle, damaged, of another format of model files or no model at all, contains a class that is
        not listed, or predicts three stored rows differently from when it was written.
    ImportError
        If skops is not installed.
    OSError
        If the file cannot be read.

    Warns
    -----
    sklearn.exceptions.InconsistentVersionWarning
        If another version of scikit-learn wrote the file.

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
    ...         print("a pickle, which could run code" in str(error))
    True
    """
    model = open_model(path, max_bytes=max_bytes)
    last = innermost(model.estimator, -1)
    is_multilabel = isinstance(getattr(last, "classes_", None), list)
    takes_names = is_multilabel and "label_names_in_" in table[full_name(type(last))]
    if model.label_names is not None and takes_names and not hasattr(last, "label_names_in_"):
        last.label_names_in_ = np.array(model.label_names, dtype=object)
    return model.estimator
