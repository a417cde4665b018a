"""Feature extraction that maximises feature variance and feature-label dependence (MVMD)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._directions import Directions
from ..scatter import mvmd
from ._projection import SupervisedProjection

__all__ = ["MVMD"]


class MVMD(SupervisedProjection):
    """Principal components and MDDMp in one objective.

    Maximises tr(P' ((1 - beta) Xc'Xc + 4 beta M M') P) subject to P'P = I, with M = Xc'Y and Xc the centred rows.

    Supervised: fits on the labelled rows and ignores the others.

    Parameters
    ----------
    n_components : int or None, default=None
        d, at most min(n_features, labelled rows - 1); None: n_labels, or the numerical rank if that is less.
    beta : float, default=0.5
        In [0, 1]: 0 is principal component analysis, 1 is MDDMp.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        P', one direction in each row, orthonormal, in the dtype of X.
    eigenvalues_ : ndarray of shape (d,)
    effective_rank_ : int
        Numerical rank as far as it was computed: at most the number of directions asked for.
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
    Xu, Liu, Yin and Sun, "A multi-label feature extraction algorithm via maximizing feature variance and
    feature-label dependence simultaneously", Knowledge-Based Systems 98, 2016: the sum of the objectives of
    principal component analysis and MDDMp.  The factor 4 makes labels coded 0/1 count as labels coded -1/+1, which
    is what the original program was given; beta = .5 reproduces the columns of the article.

    Examples
    --------
    >>> from nmlsdr import MVMD
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> MVMD(2).fit(X, [[0], [0], [1], [1]]).eigenvalues_
    array([10. ,  0.5])
    """

    _by_sums = False

    def __init__(self, n_components: int | None = None, *, beta: float = 0.5) -> None:
        self.n_components = n_components
        self.beta = beta

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        return mvmd(X, Y, self.n_components, beta=self.beta)
