"""Weighted multi-label linear discriminant analysis (wMLDA)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._directions import Directions
from .._errors import InputError
from ..label_weights import correlation_weights, dependence_weights, entropy_weights, fuzzy_weights
from ..scatter import weighted_lda
from ._projection import SupervisedProjection

__all__ = ["MLDA"]

_WEIGHTS = ("binary", "entropy", "correlation", "fuzzy", "dependence")


class MLDA(SupervisedProjection):
    """Linear discriminant analysis where a row counts in the scatter of each of its labels by a weight.

    With weights w_ik >= 0 of label k in row i, n_k = sum_i w_ik, and the weighted means m_k of the labels and m of
    all: S_b p = lambda (S_w + r I) p with P'(S_w + r I)P = I, where S_b = sum_k n_k (m_k - m)(m_k - m)' and
    S_w = sum_k sum_i w_ik (x_i - m_k)(x_i - m_k)'.

    Supervised: fits on the labelled rows and ignores the others.

    Parameters
    ----------
    n_components : int or None, default=None
        d, at most min(n_labels - 1, n_features); None: as many as the numerical rank allows.
    label_weights : {"binary", "entropy", "correlation", "fuzzy", "dependence"}, default="binary"
        "binary": 1 for each label of a row (wMLDAb).  "entropy": a row is shared equally among its labels (e).
        "correlation": labels that go with those of the row get a share too (c).  "fuzzy": shared by nearness to
        the centres of the labels (f).  "dependence": each row goes to the one of its labels that makes features
        and weighted labels depend on each other most (d).
    ridge : float, default=0.1
        r >= 0, added to the un-normalised within-class scatter.
    max_iter : int, default=1000
        Largest number of epochs over the rows; only for "dependence".
    random_state : int, RandomState or None, default=None
        Order of the rows in each epoch; only for "dependence".

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        P', one direction in each row, in the dtype of X.
    eigenvalues_ : ndarray of shape (d,)
    effective_rank_ : int
        Numerical rank of the eigenproblem.
    mean_ : ndarray of shape (n_features,)
        Mean of the labelled rows.
    label_weights_ : ndarray of shape (n_labeled, n_labels)
        W of the labelled rows.
    objective_ : ndarray of shape (n_epochs + 1,)
        Only for "dependence": |Xc'(W o Y)|_F^2 at the start and after each epoch; it never decreases.
    n_iter_ : int
        Epochs for "dependence", otherwise 1.
    classes_ : list of ndarray, or ndarray
        [0, 1] for each label; for 1-D y the classes.
    label_names_in_ : ndarray of shape (n_labels,)
        Only if y is a data frame or holds label sets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    Xu, "A weighted linear discriminant analysis framework for multi-label feature extraction", Neurocomputing
    275, 2018, which compares the weights of Park and Lee 2008 (binary), Chen et al. 2007 (entropy), Wang, Ding and
    Huang 2010 (correlation), Lin and Chen 2010 (fuzzy), and proposes "dependence".  Xu's program takes the best
    among all labels of the data, so that a row may fall to a label that it does not carry; here it is the best
    among the labels of the row.  ridge = .1 reproduces the columns of the article.

    Examples
    --------
    >>> from nmlsdr import MLDA
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> lda = MLDA(label_weights="entropy", ridge=0.1).fit(X, [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> lda.components_.round(3)
    array([[0.   , 3.162]])
    """

    _by_sums = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        label_weights: str = "binary",
        ridge: float = 0.1,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.label_weights = label_weights
        self.ridge = ridge
        self.max_iter = max_iter
        self.random_state = random_state

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        self.n_iter_ = 1
        self.__dict__.pop("objective_", None)  # of an earlier fit
        self.label_weights_ = self._weights(X, Y)
        return weighted_lda(X, self.label_weights_, self.n_components, ridge=self.ridge)

    def _weights(self, X: Any, Y: np.ndarray) -> np.ndarray:
        if self.label_weights == "binary":
            return Y
        if self.label_weights == "entropy":
            return entropy_weights(Y)
        if self.label_weights == "correlation":
            return correlation_weights(Y)
        if self.label_weights == "fuzzy":
            return fuzzy_weights(X, Y)
        if self.label_weights != "dependence":
            raise InputError(
                f"label_weights must be one of {', '.join(map(repr, _WEIGHTS))}, got {self.label_weights!r}."
            )
        W, objective = dependence_weights(
            X, Y, random_state=check_random_state(self.random_state), max_iter=self.max_iter, return_objective=True
        )
        self.objective_: np.ndarray = objective
        self.n_iter_ = max(1, len(objective) - 1)
        return np.asarray(W)
