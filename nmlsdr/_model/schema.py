"""What a model file may hold: for every class its fitted attributes and parameters, and what each may be.

A class that is not in `table` is neither written nor read. The letters in the shapes must agree within one estimator,
so that a damaged or invented file is refused before an array of the wrong length reaches a kernel: n rows, D features,
C labels, d components, k neighbours (``k+1`` is one more than the integer attribute that is named k). The dtypes and
ranges are those that ``fit`` gives: outside them a prediction would be no number, no probability, or read nonsense.
"""

import math
import sys
from typing import Any, NamedTuple

from sklearn import compose, ensemble, feature_extraction, impute, preprocessing, tree

from .. import _estimators as estimators
from .._errors import InputError
from .._estimators._thresholds import check_threshold
from ..datasets._encoder import TableEncoder

_LARGEST = 1e170  # 1 / sqrt of the smallest positive number is 4e161; sums of such numbers are finite
_MAX_JOBS = 1024  # more threads could end the process; the limit of this machine is checked when it predicts


class Refused(Exception):
    """What is wrong with a model: the second half of a sentence that begins with the name of its file."""


class Field(NamedTuple):
    """One fitted attribute: its kind, its shape in letters, and what its values may be.

    =============================================  ===========================================================    """

    kind: str
    shape: str = ""
    low: float = -_LARGEST
    high: float = _LARGEST
    dtypes: tuple[str, ...] | str = ("float64", "float32")
    in_order: bool = False  # read by a kernel as it is, so in C order
    infinite: bool = False  # plus infinity is a value: a cut-off that nothing reaches
    optional: bool = False  # may be None or missing


def _for_kernel(dtype: str, shape: str, low: float = 0.0, high: float = 1.0) -> Field:
    return Field("array", shape, low, high, (dtype,), in_order=True)


_POSITIVE = 5e-324
_INFINITY = math.inf
_FIELDS = {
    "n_features_in_": Field("count", "D"),
    "feature_names_in_": Field("column", "D", dtypes="O"),
    "n_samples_seen_": Field("number", "", 0.0),
    "n_outputs_": Field("count", "C"),
    "max_features_": Field("count"),
    "classes_": Field("classes", "C"),
    "label_names_in_": Field("column", "C", dtypes="O"),
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
    "statistics_": Field("column", "D", dtypes="fO"),
    "categories_": Field("categories", "D"),
    "sparse_output_": Field("flag"),
    "plan_": Field("plan", "D"),
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
    "transduction_": Field("targets", "n C", 0.0, 1.0, ("int64", "int32")),
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
    "thresholds_": Field("array", "C", -_POSITIVE, sys.float_info.max, ("float64",)),
    "forest_": Field("forest", "D C", optional=True),
    "flip_rate_": Field("number", "", 0.0, 0.3),
    "n_labeled_": Field("number", "", 1.0),
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
_ATTRIBUTES: dict[type, str] = {
    preprocessing.StandardScaler: f"{_SEEN} mean_? var_? scale_? n_samples_seen_",
    preprocessing.MaxAbsScaler: f"{_SEEN} max_abs_ scale_ n_samples_seen_",
    preprocessing.MinMaxScaler: f"{_SEEN} min_ scale_ data_min_ data_max_ data_range_ n_samples_seen_",
    preprocessing.RobustScaler: f"{_SEEN} center_? scale_?",
    preprocessing.Normalizer: _SEEN,
    feature_extraction.text.TfidfTransformer: f"{_SEEN} idf_?",
    impute.SimpleImputer: f"{_SEEN} statistics_",
    preprocessing.OneHotEncoder: f"{_SEEN} categories_",
    TableEncoder: f"{_SEEN} plan_",
    compose.ColumnTransformer: f"{_SEEN} sparse_output_",
    tree.ExtraTreeRegressor: f"{_SEEN} n_outputs_ max_features_ tree_",
    ensemble.ExtraTreesRegressor: f"{_SEEN} n_outputs_ estimators_",
    estimators.NMLSDR: f"{_PROJECTION} {_PROPAGATION} {_SHRINKAGE}",
    estimators.ResidualPropagation: f"{_PROJECTION} {_PROPAGATION} {_SHRINKAGE} "
    "thresholds_ ridge_ coef_ intercept_ embedding_ residuals_ forest_? flip_rate_ n_labeled_",
    estimators.MDDM: _PROJECTION,
    estimators.MVMD: _PROJECTION,
    estimators.MultiLabelCCA: _PROJECTION,
    estimators.MLDA: f"{_PROJECTION} label_weights_ n_iter_ objective_?",
    estimators.SSMLDR: f"{_PROJECTION} {_PROPAGATION}",
    estimators.MLkNN: f"{_COUNTS} labeled_rows_",
    estimators.SemiSupervisedMLkNN: f"{_COUNTS} {_PROPAGATION}",
    estimators.MultiLabelPropagation: f"{_LABELS} {_PROPAGATION} training_rows_ row_weights_ thresholds_",
}

#: Class -> attribute -> field. A question mark above marks an attribute that may be None or missing.
table: dict[type, dict[str, Field]] = {
    kind: {one.rstrip("?"): _FIELDS[one.rstrip("?")]._replace(optional=one.endswith("?")) for one in attributes.split()}
    for kind, attributes in _ATTRIBUTES.items()
}

#: Parameter, of one class or of all -> its allowed values. scikit-learn checks the other parameters of its classes;
#: those of this package that are not listed here matter only to ``fit``, which checks them.
_ALLOWED: dict[str, tuple[Any, ...]] = {
    "at_least_one": (True, False),
    "metric": ("euclidean", "cosine"),
    "neighbors": ("exact",),
    "MLkNN.neighbors": ("exact", "precomputed"),
    "SemiSupervisedMLkNN.neighbors": ("exact", "precomputed"),
    "add_indicator": (False,),
    "categories": ("auto",),
    "min_frequency": (None,),
    "max_categories": (None,),
    "feature_name_combiner": ("concat",),
    "remainder": ("drop", "passthrough"),
    "transformer_weights": (None,),
}


def check_parameter(name: str, key: str, value: Any) -> None:
    """Refuse a parameter that is no plain value, or that a prediction could not use."""
    if any(
        type(one) not in (bool, int, float, str, type(None)) for one in (value if type(value) is tuple else [value])
    ):
        raise Refused(f"{name}({key}=...) is no number or text")
    allowed = _ALLOWED.get(f"{name}.{key}", _ALLOWED.get(key))
    try:
        if key == "threshold":
            check_threshold(value)
        if key == "n_jobs" and value is not None and (type(value) is not int or not 1 <= abs(value) <= _MAX_JOBS):
            raise InputError(f"it must be None or a whole number from 1 to {_MAX_JOBS}, or below 0")
        if allowed is not None and not any(type(value) is type(one) and value == one for one in allowed):
            raise InputError(f"it must be {' or '.join(map(repr, allowed))}")
    except InputError as error:
        raise Refused(f"{name}({key}={value!r}) cannot be used: {str(error).rstrip('.')}") from None
