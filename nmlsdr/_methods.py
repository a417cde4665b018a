"""The article's methods by name: the one table that `nmlsdr fit` and the experiments share.

Every entry is called like a constructor, ``METHODS["MDDMp"](n_components, n_neighbors, ...)``, and returns an estimator
that is not fitted. The settings are those that reproduce the article's columns (ridge 0.1, beta = mu = 0.5). A starred
name is the same method with the given labels clamped, alpha_labeled = 0 (article, section 4.4).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from ._errors import InputError

__all__ = ["METHODS", "Method", "find_method"]


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Attributes
    ----------
    name : str
        As the article prints it.
    semi_supervised : bool
        Whether the method reads the unlabelled rows; the others fit on the labelled rows alone.
    clamped : bool
        Whether the method keeps the given labels as they are (a starred name).
    lda : bool
        Whether at most C - 1 components exist (C: number of labels).
    build : callable
        Makes the estimator from keyword arguments.
    """

    name: str
    semi_supervised: bool
    clamped: bool
    lda: bool
    build: Callable[..., BaseEstimator]

    def __call__(
        self,
        n_components: int | None = None,
        n_neighbors: int = 10,
        *,
        metric: str = "euclidean",
        alpha_labeled: float | tuple[float, float] | None = None,
        alpha_unlabeled: float | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> BaseEstimator:
        """Return the method's estimator; arguments that it does not have are left out.

        ``alpha_labeled=None`` and ``alpha_unlabeled=None`` take the estimator's own defaults (0.6 and 0.999); a starred
        method has alpha_labeled = 0 and refuses another value.
        """
        alphas = {"alpha_labeled": alpha_labeled, "alpha_unlabeled": alpha_unlabeled}
        if self.clamped:
            if alpha_labeled not in (None, 0):
                raise InputError(
                    f"{self.name} keeps the given labels, so alpha_labeled is 0, got {alpha_labeled}; "
                    f"use {self.name.rstrip('*')} for another value."
                )
            alphas["alpha_labeled"] = 0.0
        graph: dict[str, Any] = {"n_neighbors": n_neighbors, "metric": metric, "n_jobs": n_jobs}
        graph.update({name: value for name, value in alphas.items() if value is not None})
        return self.build(n_components=n_components, graph=graph, random_state=random_state)

    def default_components(self, n_labels: int) -> int:
        """Number of components in the article's benchmarks: C, and C - 1 for the LDA family (at least 1)."""
        return max(1, n_labels - 1 if self.lda else n_labels)


def _nmlsdr(*, n_components: int | None, graph: dict[str, Any], random_state: int | None) -> BaseEstimator:
    from nmlsdr import NMLSDR

    return NMLSDR(n_components, **graph)


def _ssmldr(*, n_components: int | None, graph: dict[str, Any], random_state: int | None) -> BaseEstimator:
    from nmlsdr import SSMLDR

    return SSMLDR(n_components, **graph)


def _mddm(constraint: str) -> Callable[..., BaseEstimator]:
    def build(*, n_components: int | None, graph: dict[str, Any], random_state: int | None) -> BaseEstimator:
        from nmlsdr import MDDM

        return MDDM(n_components, constraint=constraint)

    return build


def _mvmd(*, n_components: int | None, graph: dict[str, Any], random_state: int | None) -> BaseEstimator:
    from nmlsdr import MVMD

    return MVMD(n_components)


def _cca(*, n_components: int | None, graph: dict[str, Any], random_state: int | None) -> BaseEstimator:
    from nmlsdr import MultiLabelCCA

    return MultiLabelCCA(n_components)


def _mlda(label_weights: str) -> Callable[..., BaseEstimator]:
    def build(*, n_components: int | None, graph: dict[str, Any], random_state: int | None) -> BaseEstimator:
        from nmlsdr import MLDA

        return MLDA(n_components, label_weights=label_weights, random_state=random_state)

    return build


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        # name, semi_supervised, clamped, lda, build; the article's order, then what its tables do not hold
        Method("CCA", False, False, False, _cca),
        Method("MVMD", False, False, False, _mvmd),
        Method("MDDMp", False, False, False, _mddm("projection")),
        Method("MDDMf", False, False, False, _mddm("features")),
        Method("wMLDAb", False, False, True, _mlda("binary")),
        Method("wMLDAe", False, False, True, _mlda("entropy")),
        Method("wMLDAc", False, False, True, _mlda("correlation")),
        Method("wMLDAd", False, False, True, _mlda("dependence")),
        Method("SSMLDR", True, False, True, _ssmldr),
        Method("NMLSDR", True, False, False, _nmlsdr),
        Method("SSMLDR*", True, True, True, _ssmldr),
        Method("NMLSDR*", True, True, False, _nmlsdr),
        Method("wMLDAf", False, False, True, _mlda("fuzzy")),
    )
}


def find_method(name: str) -> str:
    """Return the name as the article prints it, given it in any case.

    Parameters
    ----------
    name : str
        A key of `METHODS`, in any case.

    Returns
    -------
    str
        The key.

    Raises
    ------
    ValueError
        The name is not in the table.

    Examples
    --------
    >>> find_method("mddmP")
    'MDDMp'
    >>> find_method("nmlsdr*")
    'NMLSDR*'
    """
    keys = {key.lower(): key for key in METHODS}
    key = keys.get(name.strip().lower())
    if key is not None:
        return key
    near = difflib.get_close_matches(name.strip().lower(), keys, n=1)
    hint = f"did you mean {keys[near[0]]}?" if near else "choose one of " + ", ".join(METHODS) + "."
    raise InputError(f"There is no method named {name!r}; {hint}")
