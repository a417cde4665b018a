"""What a model file may hold: for every class the fitted attributes and their shapes.

A class that is not in `table` is neither written nor read. The letters in the shapes must agree within one estimator,
so that a damaged or invented file is refused before an array of the wrong length reaches a kernel: n rows, D features,
C labels, d components, k neighbours (``k+1`` is one more than the integer attribute that is named k).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Field", "class_of", "table"]


@dataclass(frozen=True)
class Field:
    """One fitted attribute: its kind, its shape in letters, and whether it may be missing.

    Kinds: ``count`` (an integer; a letter names it), ``number``, ``text``, ``array``, ``rows`` (an array or a
    CSR matrix), ``names`` (text), ``classes`` (an array, or a list of one array a label), ``targets`` (one value a row,
    or one a row and label).
    """

    kind: str
    shape: tuple[str, ...] = ()
    optional: bool = False


def _count(letter: str = "", *, optional: bool = False) -> Field:
    return Field("count", (letter,) if letter else (), optional)


def _array(*shape: str, optional: bool = False) -> Field:
    return Field("array", shape, optional)


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
    "label_distributions_": _array("n", "C"),
    "transduction_": Field("targets", ("n", "C")),
    "label_flips_": _array("n", "C"),
    "n_iter_": _count(),
    "residual_": Field("number"),
    "n_unreached_": _count(),
    "propagation_solver_": Field("text"),
}
_GRAPH = {"n_neighbors_": _count("k")}
_COUNTS = {
    **_SEEN,
    **_LABELS,
    **_GRAPH,
    "training_rows_": Field("rows", ("n", "D"), True),  # None with neighbors="precomputed"
    "training_labels_": _array("n", "C"),
    "prior_": _array("C"),
    "present_": _array("C", "k+1"),
    "absent_": _array("C", "k+1"),
    "posterior_": _array("C", "k+1"),
}

#: Class name -> attribute -> field.
table: dict[str, dict[str, Field]] = {
    "StandardScaler": {
        **_SEEN,
        "mean_": _array("D", optional=True),
        "var_": _array("D", optional=True),
        "scale_": _array("D", optional=True),
        "n_samples_seen_": Field("number"),
    },
    "MaxAbsScaler": {**_SEEN, "max_abs_": _array("D"), "scale_": _array("D"), "n_samples_seen_": Field("number")},
    "Normalizer": {**_SEEN},
    "NMLSDR": {
        **_PROJECTION,
        **_GRAPH,
        **_PROPAGATION,
        "dependence_ratio_": _array("d"),
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
    "MLkNN": {**_COUNTS, "labeled_rows_": _array("n")},
    "SemiSupervisedMLkNN": {**_COUNTS, **_PROPAGATION},
    "MultiLabelPropagation": {
        **_SEEN,
        **_LABELS,
        **_GRAPH,
        **_PROPAGATION,
        "flip_scores_": _array("n", "C"),
        "training_rows_": Field("rows", ("n", "D")),
        "row_weights_": _array("n"),
    },
}


def class_of(name: str) -> type:
    """Return the class that a name of `table` stands for."""
    if name in ("StandardScaler", "MaxAbsScaler", "Normalizer"):
        from sklearn import preprocessing

        found: type = getattr(preprocessing, name)
    else:
        import nmlsdr

        found = getattr(nmlsdr, name)
    return found
