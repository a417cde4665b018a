"""What a model file may hold: for every class its fitted attributes and parameters, and what each may be.

A class that is not in `table` is neither written nor read. The letters in the shapes must agree within one estimator,
so that a damaged or invented file is refused before an array of the wrong length reaches a kernel: n rows, D features,
C labels, d components, k neighbours (``k+1`` is one more than the integer attribute that is named k). The dtypes and
ranges are those that ``fit`` gives: outside them a prediction would be no number, no probability, or read nonsense.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .._checks.arguments import check_metric
from .._errors import InputError
from .._estimators._thresholds import check_threshold

__all__ = ["PARAMETERS", "Field", "Refused", "class_of", "table"]

_LARGEST = 1e170  # 1 / sqrt of the smallest positive number is 4e161; sums of such numbers are finite
_MAX_JOBS = 1024


class Refused(Exception):
    """What is wrong with a model; the end of a sentence that begins with its file."""


class Field(NamedTuple):
    """One fitted attribute: its kind, its shape in letters, and what its values may be.

    Kinds: ``count`` (an integer; a letter names it), ``flag``, ``number``, ``text``, ``array``, ``rows`` (an array or a
    CSR matrix), ``names`` (text), ``classes`` (an array, or a list of one array a label), ``targets`` (one value a row,
    or one a row and label), ``values`` (an array of numbers, NaN where a column held none, or of text), ``categories``
    (a list of one array of numbers or text a column), ``tree``, ``trees`` (a list of regressors of one tree each).
    """

    kind: str
    shape: str = ""
    low: float = -_LARGEST
    high: float = _LARGEST
    dtypes: tuple[str, ...] = ("float64", "float32")
    in_order: bool = False  # read by a kernel as it is, so in C order
    infinite: bool = False  # plus infinity is a value: a cut-off that nothing reaches
    optional: bool = False  # may be None or missing


def _for_kernel(dtype: str, shape: str, low: float = 0.0, high: float = 1.0) -> Field:
    return Field("array", shape, low, high, (dtype,), in_order=True)


_POSITIVE = 5e-324
_INFINITY = math.inf
_FIELDS = {
    "n_features_in_": Field("count", "D"),
    "feature_names_in_": Field("names", "D"),
    "n_samples_seen_": Field("number", "", 0.0),
    "n_outputs_": Field("count", "C"),
    "max_features_": Field("count"),
    "classes_": Field("classes", "C"),
    "label_names_in_": Field("names", "C"),
    # scalers, imputers, encoders, trees
    "var_": Field("array", "D", 0.0, _INFINITY),
    "scale_": Field("array", "D", _POSITIVE),
    "max_abs_": Field("array", "D", 0.0),
    "min_": Field("array", "D"),
    "data_min_": Field("array", "D"),
    "data_max_": Field("array", "D"),
    "data_range_": Field("array", "D", 0.0),
    "center_": Field("array", "D"),
    "idf_": Field("array", "D", 0.0, infinite=True),
    "statistics_": Field("values", "D"),
    "categories_": Field("categories", "D"),
    "sparse_output_": Field("flag"),
    "tree_": Field("tree", "D C"),
    "estimators_": Field("trees", "D C"),
    # projections
    "components_": Field("array", "d D"),
    "eigenvalues_": Field("array", "d", -_INFINITY, _INFINITY),
    "effective_rank_": Field("count"),
    "mean_": Field("array", "D"),
    "dependence_ratio_": Field("array", "d", -_INFINITY, _INFINITY),
    "shrinkage_": Field("number", "", 0.0, 1.0),
    "feature_weights_": Field("array", "D", 0.0),
    "label_weights_": Field("array", "n C"),
    "objective_": Field("array", "sweeps", -_INFINITY, _INFINITY),
    # propagation
    "label_distributions_": _for_kernel("float64", "n C"),
    "transduction_": Field("targets", "n C"),
    "label_flips_": Field("array", "n C", 0.0, 1.0, ("bool", "uint8")),
    "flip_scores_": _for_kernel("float64", "n C"),
    "n_iter_": Field("count"),
    "residual_": Field("number", "", 0.0),
    "n_unreached_": Field("count"),
    "propagation_solver_": Field("text"),
    # classifiers
    "n_neighbors_": Field("count", "k"),
    "training_rows_": Field("rows", "n D"),
    "training_labels_": _for_kernel("uint8", "n C"),
    "labeled_rows_": Field("array", "n", 0.0, _INFINITY, ("int64", "int32")),
    "row_weights_": _for_kernel("float64", "n", _POSITIVE, _LARGEST),
    "prior_": _for_kernel("float64", "C"),
    "likelihoods_with_label_": _for_kernel("float64", "C k+1"),
    "likelihoods_without_label_": _for_kernel("float64", "C k+1"),
    "posterior_": _for_kernel("float64", "C k+1"),
    "thresholds_": Field("array", "C", 0.0, 1.0, ("float64",), infinite=True),
    "ridge_": Field("number", "", _POSITIVE),
    "coef_": Field("array", "C D"),
    "intercept_": Field("array", "C"),
    "embedding_": Field("rows", "n d"),
    "residuals_": Field("array", "n C"),
}

_SEEN = "n_features_in_ feature_names_in_?"
_LABELS = f"{_SEEN} classes_ label_names_in_?"
_PROJECTION = f"{_LABELS} components_ eigenvalues_ effective_rank_ mean_"
_PROPAGATION = (
    "n_neighbors_ label_distributions_ transduction_ label_flips_ flip_scores_ n_iter_ residual_ n_unreached_ "
    "propagation_solver_"
)
_SHRINKAGE = "dependence_ratio_ shrinkage_ feature_weights_"
# With neighbors="precomputed" there are no training rows.
_COUNTS = (
    f"{_LABELS} n_neighbors_ training_rows_? training_labels_ "
    "prior_ likelihoods_with_label_ likelihoods_without_label_ posterior_ thresholds_"
)
_ATTRIBUTES = {
    "StandardScaler": f"{_SEEN} mean_? var_? scale_? n_samples_seen_",
    "MaxAbsScaler": f"{_SEEN} max_abs_ scale_ n_samples_seen_",
    "MinMaxScaler": f"{_SEEN} min_ scale_ data_min_ data_max_ data_range_ n_samples_seen_",
    "RobustScaler": f"{_SEEN} center_? scale_?",
    "Normalizer": _SEEN,
    "TfidfTransformer": f"{_SEEN} idf_?",
    "SimpleImputer": f"{_SEEN} statistics_",
    "OneHotEncoder": f"{_SEEN} categories_",
    "ColumnTransformer": f"{_SEEN} sparse_output_",
    "ExtraTreeRegressor": f"{_SEEN} n_outputs_ max_features_ tree_",
    "ExtraTreesRegressor": f"{_SEEN} n_outputs_ estimators_",
    "NMLSDR": f"{_PROJECTION} {_PROPAGATION} {_SHRINKAGE}",
    "ResidualPropagation": f"{_PROJECTION} {_PROPAGATION} {_SHRINKAGE} "
    "thresholds_ ridge_ coef_ intercept_ embedding_ residuals_",
    "MDDM": _PROJECTION,
    "MVMD": _PROJECTION,
    "MultiLabelCCA": _PROJECTION,
    "MLDA": f"{_PROJECTION} label_weights_ n_iter_ objective_?",
    "SSMLDR": f"{_PROJECTION} {_PROPAGATION}",
    "MLkNN": f"{_COUNTS} labeled_rows_",
    "SemiSupervisedMLkNN": f"{_COUNTS} {_PROPAGATION}",
    "MultiLabelPropagation": f"{_LABELS} {_PROPAGATION} training_rows_ row_weights_",
}

#: Class name -> attribute -> field; an attribute with a question mark above is optional.
table: dict[str, dict[str, Field]] = {
    name: {one.rstrip("?"): _FIELDS[one.rstrip("?")]._replace(optional=one.endswith("?")) for one in attributes.split()}
    for name, attributes in _ATTRIBUTES.items()
}


def _only(*allowed: Any) -> Callable[[Any], None]:
    """Return a check that a value is one of these."""

    def check(value: Any) -> None:
        if not any(type(value) is type(one) and value == one for one in allowed):
            raise InputError(f"it must be {' or '.join(map(repr, allowed))}")

    return check


def _check_n_jobs(value: Any) -> None:
    """Refuse a number of threads that ends the process; how many a machine allows is checked when it predicts."""
    if value is not None and (type(value) is not int or not 1 <= abs(value) <= _MAX_JOBS):
        raise InputError(f"it must be None or a whole number from 1 to {_MAX_JOBS}, or below 0")


#: Parameter, of a class or of all -> its check. scikit-learn checks those of its own classes, and ``fit`` what only
#: ``fit`` reads.
PARAMETERS: dict[str, Callable[[Any], object]] = {
    "n_jobs": _check_n_jobs,
    "threshold": check_threshold,
    "at_least_one": _only(True, False),
    "metric": check_metric,
    "neighbors": _only("exact"),
    "MLkNN.neighbors": _only("exact", "precomputed"),
    "SemiSupervisedMLkNN.neighbors": _only("exact", "precomputed"),
    "add_indicator": _only(False),
    "categories": _only("auto"),
    "min_frequency": _only(None),
    "max_categories": _only(None),
    "feature_name_combiner": _only("concat"),
    "remainder": _only("drop", "passthrough"),
    "transformer_weights": _only(None),
}

#: The modules of scikit-learn's classes; all others are this package's own.
_MODULES = {
    "sklearn.impute": "SimpleImputer",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.pipeline": "Pipeline",
    "sklearn.feature_extraction.text": "TfidfTransformer",
    "sklearn.tree": "ExtraTreeRegressor",
    "sklearn.ensemble": "ExtraTreesRegressor",
    "sklearn.preprocessing": "MaxAbsScaler MinMaxScaler Normalizer OneHotEncoder RobustScaler StandardScaler",
}


def class_of(name: str) -> type:
    """Return the class that a name of `table`, or "Pipeline", stands for."""
    module = next((module for module, names in _MODULES.items() if name in names.split()), "nmlsdr")
    found: type = getattr(importlib.import_module(module), name)
    return found
