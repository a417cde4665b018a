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
from dataclasses import dataclass
from typing import Any

__all__ = ["PARAMETERS", "SEQUENCES", "Field", "class_of", "table"]

_LARGEST = 1e170  # 1 / sqrt of the smallest positive number is 4e161; sums of such numbers are finite
_MAX_JOBS = 1024


@dataclass(frozen=True)
class Field:
    """One fitted attribute: its kind, its shape in letters, and what its values may be.

    Kinds: ``count`` (an integer; a letter names it), ``number``, ``text``, ``array``, ``rows`` (an array or a
    CSR matrix), ``names`` (text), ``classes`` (an array, or a list of one array a label), ``targets`` (one value a row,
    or one a row and label), ``values`` (an array of numbers, NaN where a column held none, or of text), ``categories``
    (a list of one array of numbers or text a column).
    """

    kind: str
    shape: tuple[str, ...] = ()
    optional: bool = False
    dtypes: tuple[str, ...] = ("float64", "float32")
    low: float = -math.inf
    high: float = math.inf
    in_order: bool = False  # read by a kernel as it is, so in C order
    infinite: bool = False  # plus infinity is a value: a cut-off that nothing reaches


def _count(letter: str = "", *, optional: bool = False) -> Field:
    return Field("count", (letter,) if letter else (), optional)


def _array(*shape: str, optional: bool = False, low: float = -math.inf, high: float = math.inf) -> Field:
    return Field("array", shape, optional, low=low, high=high)


def _for_kernel(dtype: str, *shape: str, low: float = 0.0, high: float = 1.0) -> Field:
    return Field("array", shape, dtypes=(dtype,), low=low, high=high, in_order=True)


_FLAGS = ("bool", "uint8")
_POSITIVE = 5e-324
_SEEN = {"n_features_in_": _count("D"), "feature_names_in_": Field("names", ("D",), True)}
_LABELS = {"classes_": Field("classes", ("C",)), "label_names_in_": Field("names", ("C",), True)}
_PROJECTION = {
    **_SEEN,
    **_LABELS,
    "components_": _array("d", "D"),
    "eigenvalues_": _array("d"),
    "effective_rank_": _count(),
    "mean_": _array("D"),
}
_PROPAGATION = {
    "label_distributions_": _for_kernel("float64", "n", "C"),
    "transduction_": Field("targets", ("n", "C")),
    "label_flips_": Field("array", ("n", "C"), dtypes=_FLAGS, low=0.0, high=1.0),
    "n_iter_": _count(),
    "residual_": Field("number", low=0.0),
    "n_unreached_": _count(),
    "propagation_solver_": Field("text"),
}
_GRAPH = {"n_neighbors_": _count("k")}
_SHRINKAGE = {
    "dependence_ratio_": _array("d"),
    "shrinkage_": Field("number", low=0.0, high=1.0),
    "feature_weights_": _array("D", low=0.0),
}
_CUTOFFS = Field("array", ("C",), dtypes=("float64",), low=0.0, infinite=True)
_COUNTS = {
    **_SEEN,
    **_LABELS,
    **_GRAPH,
    "training_rows_": Field("rows", ("n", "D"), True),  # None with neighbors="precomputed"
    "training_labels_": _for_kernel("uint8", "n", "C"),
    "prior_": _for_kernel("float64", "C"),
    "present_": _for_kernel("float64", "C", "k+1"),
    "absent_": _for_kernel("float64", "C", "k+1"),
    "posterior_": _for_kernel("float64", "C", "k+1"),
    "thresholds_": _CUTOFFS,
}

#: Class name -> attribute -> field.
table: dict[str, dict[str, Field]] = {
    "StandardScaler": {
        **_SEEN,
        "mean_": _array("D", optional=True),
        "var_": _array("D", optional=True, low=0.0),
        "scale_": _array("D", optional=True, low=_POSITIVE),
        "n_samples_seen_": Field("number", low=0.0, dtypes=("int64", "float64")),
    },
    "MaxAbsScaler": {
        **_SEEN,
        "max_abs_": _array("D", low=0.0),
        "scale_": _array("D", low=_POSITIVE),
        "n_samples_seen_": Field("number", low=0.0, dtypes=("int64", "float64")),
    },
    "MinMaxScaler": {
        **_SEEN,
        "min_": _array("D"),
        "scale_": _array("D", low=_POSITIVE),
        "data_min_": _array("D"),
        "data_max_": _array("D"),
        "data_range_": _array("D", low=0.0),
        "n_samples_seen_": Field("number", low=0.0, dtypes=("int64", "float64")),
    },
    "RobustScaler": {
        **_SEEN,
        "center_": _array("D", optional=True),
        "scale_": _array("D", optional=True, low=_POSITIVE),
    },
    "Normalizer": {**_SEEN},
    "TfidfTransformer": {
        **_SEEN,
        "idf_": Field("array", ("D",), True, low=0.0, infinite=True),
    },
    "SimpleImputer": {**_SEEN, "statistics_": Field("values", ("D",))},
    "OneHotEncoder": {**_SEEN, "categories_": Field("categories", ("D",))},
    "ColumnTransformer": {**_SEEN},
    "NMLSDR": {
        **_PROJECTION,
        **_GRAPH,
        **_PROPAGATION,
        **_SHRINKAGE,
    },
    "ResidualPropagation": {
        **_PROJECTION,
        **_GRAPH,
        **_PROPAGATION,
        **_SHRINKAGE,
        "ridge_": Field("number", low=_POSITIVE),
        "coef_": _array("C", "D"),
        "intercept_": _array("C"),
        "embedding_": Field("rows", ("n", "d")),
        "residuals_": _array("n", "C"),
        "thresholds_": _CUTOFFS,
        "flip_scores_": _array("n", "C", low=0.0, high=1.0),
    },
    "MDDM": _PROJECTION,
    "MVMD": _PROJECTION,
    "MultiLabelCCA": _PROJECTION,
    "MLDA": {
        **_PROJECTION,
        "label_weights_": _array("n", "C"),
        "n_iter_": _count(),
        "objective_": _array("sweeps", optional=True),
    },
    "SSMLDR": {**_PROJECTION, **_GRAPH, **_PROPAGATION},
    "MLkNN": {
        **_COUNTS,
        "labeled_rows_": Field("array", ("n",), dtypes=("int64", "int32"), low=0.0),
    },
    "SemiSupervisedMLkNN": {**_COUNTS, **_PROPAGATION},
    "MultiLabelPropagation": {
        **_SEEN,
        **_LABELS,
        **_GRAPH,
        **_PROPAGATION,
        "flip_scores_": _array("n", "C", low=0.0, high=1.0),
        "training_rows_": Field("rows", ("n", "D")),
        "row_weights_": _for_kernel("float64", "n", low=_POSITIVE, high=_LARGEST),
    },
}


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_threshold(value: Any) -> bool:
    several = value if isinstance(value, list) else [value]
    return value == "prior" or (bool(several) and all(_is_number(one) and 0 <= one <= 1 for one in several))


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and value[0] < value[1]


#: Parameters that may hold several numbers; they come back as a tuple.
SEQUENCES = ("alpha_labeled", "feature_range", "quantile_range", "ridge", "threshold")

#: Parameter that a transformation or a prediction reads -> what it may be, and in words. ``fit`` checks the others.
PARAMETERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "n_jobs": (
        lambda value: value is None or (_is_int(value) and 1 <= abs(value) <= _MAX_JOBS),
        f"None or a whole number from 1 to {_MAX_JOBS}, or below 0",
    ),
    "threshold": (_is_threshold, "numbers from 0 to 1, or 'prior'"),
    "at_least_one": (_is_flag, "true or false"),
    "metric": (lambda value: value in ("euclidean", "cosine"), "'euclidean' or 'cosine'"),
    "neighbors": (lambda value: value in ("exact", "precomputed"), "'exact' or 'precomputed'"),
    "with_mean": (_is_flag, "true or false"),
    "with_std": (_is_flag, "true or false"),
    "copy": (_is_flag, "true or false"),
    "norm": (lambda value: value in ("l1", "l2", "max"), "'l1', 'l2' or 'max'"),
    "TfidfTransformer.norm": (lambda value: value in ("l1", "l2", None), "'l1', 'l2' or None"),
    "use_idf": (_is_flag, "true or false"),
    "smooth_idf": (_is_flag, "true or false"),
    "sublinear_tf": (_is_flag, "true or false"),
    "with_centering": (_is_flag, "true or false"),
    "with_scaling": (_is_flag, "true or false"),
    "unit_variance": (_is_flag, "true or false"),
    "feature_range": (_is_range, "two numbers, the lower first"),
    "quantile_range": (_is_range, "two numbers, the lower first"),
    "clip": (_is_flag, "true or false"),
    "strategy": (
        lambda value: value in ("mean", "median", "most_frequent", "constant"),
        "'mean', 'median', 'most_frequent' or 'constant'",
    ),
    "missing_values": (lambda value: value is None or _is_number(value) or isinstance(value, str), "a number or text"),
    "fill_value": (lambda value: value is None or _is_number(value) or isinstance(value, str), "a number or text"),
    "add_indicator": (lambda value: value is False, "false"),
    "keep_empty_features": (_is_flag, "true or false"),
    "categories": (lambda value: value == "auto", "'auto'"),
    "drop": (lambda value: value in (None, "first", "if_binary"), "None, 'first' or 'if_binary'"),
    "sparse_output": (_is_flag, "true or false"),
    "dtype": (lambda value: False, "left out"),
    "handle_unknown": (lambda value: value in ("error", "ignore", "warn"), "'error', 'ignore' or 'warn'"),
    "min_frequency": (lambda value: value is None, "None"),
    "max_categories": (lambda value: value is None, "None"),
    "feature_name_combiner": (lambda value: value == "concat", "'concat'"),
    "transformers": (lambda value: False, "left out"),
    "remainder": (lambda value: value in ("drop", "passthrough"), "'drop' or 'passthrough'"),
    "sparse_threshold": (lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"),
    "transformer_weights": (lambda value: value is None, "None"),
    "verbose_feature_names_out": (_is_flag, "true or false"),
}

#: scikit-learn's classes, by the module that holds them; all others are this package's own.
_MODULES = {
    "sklearn.preprocessing": (
        "MaxAbsScaler", "MinMaxScaler", "Normalizer", "OneHotEncoder", "RobustScaler", "StandardScaler",
    ),
    "sklearn.impute": ("SimpleImputer",),
    "sklearn.compose": ("ColumnTransformer",),
    "sklearn.feature_extraction.text": ("TfidfTransformer",),
}  # fmt: skip


def class_of(name: str) -> type:
    """Return the class that a name of `table` stands for."""
    module = next((module for module, names in _MODULES.items() if name in names), "nmlsdr")
    found: type = getattr(importlib.import_module(module), name)
    return found
