"""The baselines that fit on the labelled rows alone: MDDM, MVMD, canonical correlations, and weighted LDA."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from .._errors import InputError
from .._moments import RowSums
from .._projections.directions import Directions
from .._projections.label_weights import correlation_weights, dependence_weights, entropy_weights, fuzzy_weights
from .._projections.scatter import cca, mddm_features, mvmd, weighted_lda
from ..projection import hsic_directions
from ._projection import SupervisedProjection

__all__ = ["MDDM", "MLDA", "MVMD", "MultiLabelCCA"]

_WEIGHTS = ("binary", "entropy", "correlation", "fuzzy", "dependence")


@dataclass(eq=False, repr=False)
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

    n_components: int | None = None
    _: KW_ONLY
    constraint: str = "projection"
    mu: float = 0.5

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Learn the projection from the labelled rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array of shape (n_samples, n_labels) or (n_samples,)
            0/1, a row of -1, NaN or null is unlabelled; or a list of label sets.  1-D: classes, -1 or null is
            unlabelled.
        labeled : array of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, labeled)

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        if self.constraint == "projection":
            return hsic_directions(RowSums.of(X, checked=True), Y, self.n_components)
        if self.constraint == "features":
            return mddm_features(X, Y, self.n_components, mu=self.mu)
        raise InputError(f"constraint must be 'projection' or 'features', got {self.constraint!r}.")


@dataclass(eq=False, repr=False)
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

    n_components: int | None = None
    _: KW_ONLY
    beta: float = 0.5

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Learn the projection from the labelled rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array of shape (n_samples, n_labels) or (n_samples,)
            0/1, a row of -1, NaN or null is unlabelled; or a list of label sets.  1-D: classes, -1 or null is
            unlabelled.
        labeled : array of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, labeled)

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        return mvmd(X, Y, self.n_components, beta=self.beta)


@dataclass(eq=False, repr=False)
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

    n_components: int | None = None
    _: KW_ONLY
    ridge: float = 0.1

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Learn the projection from the labelled rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array of shape (n_samples, n_labels) or (n_samples,)
            0/1, a row of -1, NaN or null is unlabelled; or a list of label sets.  1-D: classes, -1 or null is
            unlabelled.
        labeled : array of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, labeled)

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        return cca(X, Y, self.n_components, ridge=self.ridge)


@dataclass(eq=False, repr=False)
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
    random_state : int, Generator, RandomState or None, default=None
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

    n_components: int | None = None
    _: KW_ONLY
    label_weights: str = "binary"
    ridge: float = 0.1
    max_iter: int = 1000
    random_state: Any = None

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Learn the projection from the labelled rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array of shape (n_samples, n_labels) or (n_samples,)
            0/1, a row of -1, NaN or null is unlabelled; or a list of label sets.  1-D: classes, -1 or null is
            unlabelled.
        labeled : array of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, labeled)

    def _solve(self, X: Any, Y: np.ndarray) -> Directions:
        self.n_iter_ = 1
        self.__dict__.pop("objective_", None)  # of an earlier fit
        self.label_weights_ = self._weights(X, Y)
        return weighted_lda(X, self.label_weights_, self.n_components, ridge=self.ridge)

    def _weights(self, X: Any, Y: np.ndarray) -> np.ndarray:
        kind = self.label_weights
        if kind not in _WEIGHTS:
            raise InputError(f"label_weights must be one of {', '.join(map(repr, _WEIGHTS))}, got {kind!r}.")
        if kind == "binary":
            return Y
        if kind == "entropy":
            return entropy_weights(Y)
        if kind == "correlation":
            return correlation_weights(Y)
        if kind == "fuzzy":
            return fuzzy_weights(X, Y)
        given = self.random_state
        source = given if isinstance(given, np.random.Generator) else check_random_state(given)
        W, objective = dependence_weights(X, Y, generator=source, max_iter=self.max_iter)
        self.objective_ = objective
        self.n_iter_ = max(1, len(objective) - 1)
        return W
