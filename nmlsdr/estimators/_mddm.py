"""Multi-label dimensionality reduction via dependence maximisation (MDDM)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._directions import Directions
from .._errors import InputError
from ..projection import hsic_directions
from ..scatter import mddm_features
from ._projection import SupervisedProjection

__all__ = ["MDDM"]


class MDDM(SupervisedProjection):
    """Directions of largest dependence on the given labels (MDDMp, MDDMf).

    With M = Xc'Y, Xc the centred rows: maximises tr(P' M M' P), the linear Hilbert-Schmidt dependence of XP
    and Y, subject to P'P = I ("projection") or P'(mu Xc'Xc + (1 - mu) I)P = I ("features").

    Supervised: fits on the labelled rows and ignores the others.  An unknown entry of a labelled row contributes
    nothing: with K_c the rows whose label c is known and l_c their number, column c of M is
    sum_{i in K_c} (x_i - mean_c x)(y_ic - mean_c y), both means over K_c; with every entry known that is Xc'Y.

    Parameters
    ----------
    n_components : int or None, default=None
        d, at most min(n_labels, n_features, labelled rows - 1); None: as many as the numerical rank allows.
    constraint : {"projection", "features"}, default="projection"
        Orthonormal directions (MDDMp), or projected features that are uncorrelated (MDDMf).
    mu : float, default=0.5
        In [0, 1]; only for "features".

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        P', one direction in each row, in the dtype of X.
    eigenvalues_ : ndarray of shape (d,)
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
    Zhang and Zhou, "Multilabel dimensionality reduction via dependence maximization", ACM TKDD 4(3), 2010: the
    Hilbert-Schmidt independence criterion with linear kernels, under both constraints.  mu = .5 reproduces the
    columns of the article (and means the same whichever of the two terms mu is thought to weigh).

    Examples
    --------
    The label depends on the second feature only.

    >>> from nmlsdr import MDDM
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> MDDM().fit_transform(X, [[0], [0], [1], [1]]).ravel()
    array([-1., -1.,  1.,  1.])
    """

    _takes_partly_known_rows = True

    def __init__(self, n_components: int | None = None, *, constraint: str = "projection", mu: float = 0.5) -> None:
        self.n_components = n_components
        self.constraint = constraint
        self.mu = mu

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        if self.constraint == "projection":
            return hsic_directions(X, Y, self.n_components)
        if self.constraint == "features":
            return mddm_features(X, Y, self.n_components, mu=self.mu)
        raise InputError(f"constraint must be 'projection' or 'features', got {self.constraint!r}.")
