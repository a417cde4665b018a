"""Canonical correlation analysis of features and labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._directions import Directions
from ..scatter import cca
from ._projection import SupervisedProjection

__all__ = ["MultiLabelCCA"]


class MultiLabelCCA(SupervisedProjection):
    """Directions in feature space of largest correlation with the labels.

    Xc'Yc (Yc'Yc + r I)^-1 Yc'Xc p = lambda (Xc'Xc + r I) p with P'(Xc'Xc + r I)P = I, Xc and Yc centred, labels
    coded -1/+1.  Only the directions on the side of X are kept.

    Supervised: fits on the labelled rows and ignores the others.

    Parameters
    ----------
    n_components : int or None, default=None
        d, at most min(n_labels, n_features, labelled rows - 1); None: as many as the numerical rank allows.
    ridge : float, default=0.1
        r >= 0, added to both un-normalised scatters.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        P', one direction in each row, in the dtype of X.
    eigenvalues_ : ndarray of shape (d,)
        Squared (regularised) canonical correlations.
    effective_rank_ : int
        Numerical rank of the eigenproblem.
    mean_ : ndarray of shape (n_features,)
        Mean of the labelled rows.
    classes_ : list of ndarray, or ndarray
        [0, 1] for each label; for 1-D y the classes.
    label_names_in_ : ndarray of shape (n_labels,)
        Only if y is a data frame or holds label sets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    Hardoon, Szedmak and Shawe-Taylor, "Canonical correlation analysis: an overview with application to learning
    methods", Neural Computation 16(12), 2004; here with a ridge on both sides.  With labels coded 0/1, as `fit`
    takes them, r I beside Yc'Yc becomes r/4 I; the eigenvalues are the same.

    Examples
    --------
    >>> from nmlsdr import MultiLabelCCA
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> MultiLabelCCA(ridge=0).fit(X, [[0], [0], [1], [1]]).eigenvalues_.round(12)
    array([1.])
    """

    def __init__(self, n_components: int | None = None, *, ridge: float = 0.1) -> None:
        self.n_components = n_components
        self.ridge = ridge

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        return cca(X, Y, self.n_components, ridge=self.ridge)
