"""The article's methods by name: the one table that `nmlsdr fit` and the experiments share.

Every entry is called like a constructor, ``METHODS["MDDMp"](n_components, n_neighbors, ...)``, and returns an estimator
that is not fitted. The settings are those that reproduce the article's columns (ridge 0.1, beta = mu = 0.5). A starred
name is the same method with the given labels clamped, alpha_labeled = 0 (article, section 4.4).
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
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
    estimator : str
        The class of this package.
    settings : dict
        Its parameters that make the method.
    lda : bool
        Whether at most C - 1 components exist (C: number of labels).
    """

    name: str
    estimator: str
    settings: dict[str, Any] = field(default_factory=dict)
    lda: bool = False

    @property
    def semi_supervised(self) -> bool:
        """Whether the method reads the unlabelled rows; the others fit on the labelled rows alone."""
        return self.estimator in ("NMLSDR", "SSMLDR")

    @property
    def clamped(self) -> bool:
        """Whether the method keeps the given labels as they are (a starred name)."""
        return self.name.endswith("*")

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
        import nmlsdr

        if self.clamped:
            if alpha_labeled not in (None, 0):
                raise InputError(
                    f"{self.name} keeps the given labels, so alpha_labeled is 0, got {alpha_labeled}; "
                    f"use {self.name.rstrip('*')} for another value."
                )
            alpha_labeled = 0.0
        cls = getattr(nmlsdr, self.estimator)
        alphas = {"alpha_labeled": alpha_labeled, "alpha_unlabeled": alpha_unlabeled}
        given = {"n_neighbors": n_neighbors, "metric": metric, "random_state": random_state, "n_jobs": n_jobs}
        given |= {name: value for name, value in alphas.items() if value is not None}
        known = cls._get_param_names()
        return cls(n_components, **self.settings, **{name: value for name, value in given.items() if name in known})

    def default_components(self, n_labels: int) -> int:
        """Number of components in the article's benchmarks: C, and C - 1 for the LDA family (at least 1)."""
        return max(1, n_labels - 1 if self.lda else n_labels)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        # the article's order, then what its tables do not hold
        Method("CCA", "MultiLabelCCA"),
        Method("MVMD", "MVMD"),
        Method("MDDMp", "MDDM", {"constraint": "projection"}),
        Method("MDDMf", "MDDM", {"constraint": "features"}),
        Method("wMLDAb", "MLDA", {"label_weights": "binary"}, lda=True),
        Method("wMLDAe", "MLDA", {"label_weights": "entropy"}, lda=True),
        Method("wMLDAc", "MLDA", {"label_weights": "correlation"}, lda=True),
        Method("wMLDAd", "MLDA", {"label_weights": "dependence"}, lda=True),
        Method("SSMLDR", "SSMLDR", lda=True),
        Method("NMLSDR", "NMLSDR"),
        Method("SSMLDR*", "SSMLDR", lda=True),
        Method("NMLSDR*", "NMLSDR"),
        Method("wMLDAf", "MLDA", {"label_weights": "fuzzy"}, lda=True),
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
