"""The baselines that fit on the labelled rows alone: MDDM, MVMD, canonical correlations, and weighted LDA."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_random_state

from .._checks.arguments import check_choice
from .._moments import RowSums
from .._projections.label_weights import correlation_weights, dependence_weights, entropy_weights, fuzzy_weights
from .._projections.scatter import cca, mddm_features, mvmd, weighted_lda
from ..projection import hsic_directions
from ._callbacks import steps_of_fit
from ._projection import Projection, direction_attributes, read_labeled


@dataclass(eq=False, repr=False)
class MDDM(Projection):
    """Directions of largest dependence on the given labels (MDDMp and MDDMf).

    Dependence is measured by the linear Hilbert-Schmidt independence criterion. Let Xc be the rows of X minus their
    mean, and M = Xc'Y. MDDM maximises tr(P' M M' P), the dependence of XP on Y, subject to P'P = I
    (``constraint="projection"``) or to P'(mu Xc'Xc + (1 - mu) I)P = I (``constraint="features"``).

    The method is supervised: it is fitted on the labelled rows and ignores the others. An unknown entry of a labelled
    row is left out. Column c of M is then sum_i (x_i - a_c)(y_ic - b_c) over the rows i whose label c is known, where
    a_c and b_c are the means of the features and of label c over these rows. If every entry is known, this equals
    Xc'Y.

    Parameters
    ----------
    n_components : int or None, default=None
        Number d of directions to keep, at most min(n_labels, n_features, number of labelled rows - 1). None: as many
        as the numerical rank of the eigenproblem allows.
    constraint : {"projection", "features"}, default="projection"
        "projection": the directions are orthonormal (MDDMp). "features": the projected features are uncorrelated
        (MDDMf).
    mu : float, default=0.5
        Weight of the scatter Xc'Xc in the constraint, in [0, 1]. At 1 the projected features are exactly
        uncorrelated; smaller values move towards orthonormal directions. Used only by "features".

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        The projection P', one direction in each row, in the dtype of X. `transform` returns (X - mean_) P.
    eigenvalues_ : ndarray of shape (d,), float64
        Dependence on the labels along each direction, in decreasing order: the eigenvalues of the problem above.
    effective_rank_ : int
        Numerical rank of the eigenproblem, the largest number of directions that these data allow.
    mean_ : ndarray of shape (n_features,), float64
        Mean of the labelled rows, which `transform` subtracts.
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; after a fit on 1-D y the sorted classes.
    label_names_in_ : ndarray of shape (n_labels,), str
        Names of the labels. Defined only if y is a data frame or a list of label sets.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.

    Notes
    -----
    The method is that of Zhang and Zhou, "Multilabel dimensionality reduction via dependence maximization", ACM TKDD
    4(3), 2010. With mu = 0.5 the estimator reproduces the columns of the article; at this value it does not matter
    which of the two terms of the constraint mu multiplies.

    Examples
    --------
    The label depends on the second feature only.

    >>> from nmlsdr import MDDM
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]
    >>> MDDM().fit_transform(X, [[0], [0], [1], [1]]).ravel()
    array([-1., -1.,  1.,  1.])
    """

    n_components: int | None = None
    _: KW_ONLY
    constraint: Literal["projection", "features"] = "projection"
    mu: float = 0.5

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Learn the projection from the labelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            Labels. 2-D: one column for each label; an entry is 1, 0 or unknown (-1, NaN, null or masked). A row
            without a known entry is unlabelled. A list of label sets, one set for each row, is accepted too. 1-D: the
            class of each row; -1 or null means unlabelled.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            True for labelled rows, or for known entries; the rest of y is ignored. It is useful for sparse y, which
            cannot store rows of -1 cheaply. None: y itself shows what is unknown.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y or a parameter is invalid: for example non-finite X, labels other than those described above,
            fewer than two labelled rows, or a parameter out of its range. The message says what to change.

        Warns
        -----
        UserWarning
            If ``n_components`` exceeds the numerical rank; fewer directions are kept.
        """
        with steps_of_fit(self, X, y) as steps:
            rows, Y = read_labeled(steps, X, y, labeled, "partly")
            if check_choice(self.constraint, "constraint", "projection", "features") == "projection":
                directions = hsic_directions(RowSums.of(rows, checked=True), Y, self.n_components)
            else:
                directions = mddm_features(rows, Y, self.n_components, mu=self.mu)
            steps.set_attributes(**direction_attributes(directions))
        return self


@dataclass(eq=False, repr=False)
class MVMD(Projection):
    """Directions of large variance and large dependence on the labels: PCA and MDDMp in one objective.

    MVMD maximises tr(P' ((1 - beta) Xc'Xc + 4 beta M M') P) subject to P'P = I. Here Xc are the rows of X minus their
    mean, and M = Xc'Y. The first term is the objective of principal component analysis (PCA), the second that of
    `MDDM` with ``constraint="projection"``.

    The method is supervised: it is fitted on the labelled rows and ignores the others.

    Parameters
    ----------
    n_components : int or None, default=None
        Number d of directions to keep, at most min(n_features, number of labelled rows - 1). None: n_labels, or the
        numerical rank if that is less.
    beta : float, default=0.5
        Weight of the dependence on the labels, in [0, 1]. 0 is principal component analysis, 1 is MDDMp.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        The projection P', one direction in each row, in the dtype of X. `transform` returns (X - mean_) P. The rows
        are orthonormal.
    eigenvalues_ : ndarray of shape (d,), float64
        Value of the objective along each direction, in decreasing order.
    effective_rank_ : int
        Numerical rank of the eigenproblem, as far as it was computed: at most the number of requested directions.
    mean_ : ndarray of shape (n_features,), float64
        Mean of the labelled rows, which `transform` subtracts.
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; after a fit on 1-D y the sorted classes.
    label_names_in_ : ndarray of shape (n_labels,), str
        Names of the labels. Defined only if y is a data frame or a list of label sets.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.

    Notes
    -----
    The method is that of Xu, Liu, Yin and Sun, "A multi-label feature extraction algorithm via maximizing feature
    variance and feature-label dependence simultaneously", Knowledge-Based Systems 98, 2016. The original program
    codes labels as -1/+1; the factor 4 gives labels coded 0/1 the same weight. beta = 0.5 reproduces the columns of
    the article.

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
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            Labels. 2-D: one column for each label; an entry is 1 or 0, and a row of -1, NaN or null is unlabelled. A
            list of label sets, one set for each row, is accepted too. 1-D: the class of each row; -1 or null means
            unlabelled.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            True for labelled rows, or for known entries; the rest of y is ignored. It is useful for sparse y, which
            cannot store rows of -1 cheaply. None: y itself shows what is unknown.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y or a parameter is invalid: for example non-finite X, labels other than those described above,
            fewer than two labelled rows, or a parameter out of its range. The message says what to change.

        Warns
        -----
        UserWarning
            If ``n_components`` exceeds the numerical rank; fewer directions are kept.
        """
        with steps_of_fit(self, X, y) as steps:
            rows, Y = read_labeled(steps, X, y, labeled)
            steps.set_attributes(**direction_attributes(mvmd(rows, Y, self.n_components, beta=self.beta)))
        return self


@dataclass(eq=False, repr=False)
class MultiLabelCCA(Projection):
    """Directions in feature space of largest correlation with the labels: canonical correlation analysis (CCA).

    The directions p solve Xc'Yc (Yc'Yc + r I)^-1 Yc'Xc p = lambda (Xc'Xc + r I) p subject to P'(Xc'Xc + r I)P = I.
    Here Xc and Yc are the centred features and labels, and labels are coded -1/+1. Only the directions in feature
    space are kept.

    The method is supervised: it is fitted on the labelled rows and ignores the others.

    Parameters
    ----------
    n_components : int or None, default=None
        Number d of directions to keep, at most min(n_labels, n_features, number of labelled rows - 1). None: as many
        as the numerical rank of the eigenproblem allows.
    ridge : float, default=0.1
        Ridge r, 0 or more, added to the diagonals of Xc'Xc and Yc'Yc, which are sums over rows, not means. A larger
        value gives smoother directions and smaller correlations. At 0 both matrices must be invertible.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        The projection P', one direction in each row, in the dtype of X. `transform` returns (X - mean_) P.
    eigenvalues_ : ndarray of shape (d,), float64
        Squared canonical correlations, regularised by the ridge, in decreasing order.
    effective_rank_ : int
        Numerical rank of the eigenproblem, the largest number of directions that these data allow.
    mean_ : ndarray of shape (n_features,), float64
        Mean of the labelled rows, which `transform` subtracts.
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; after a fit on 1-D y the sorted classes.
    label_names_in_ : ndarray of shape (n_labels,), str
        Names of the labels. Defined only if y is a data frame or a list of label sets.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.

    Notes
    -----
    The method is described by Hardoon, Szedmak and Shawe-Taylor, "Canonical correlation analysis: an overview with
    application to learning methods", Neural Computation 16(12), 2004. `fit` takes labels coded 0/1, for which the
    ridge added to Yc'Yc is r/4; the eigenvalues are the same as with labels coded -1/+1 and ridge r.

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
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            Labels. 2-D: one column for each label; an entry is 1 or 0, and a row of -1, NaN or null is unlabelled. A
            list of label sets, one set for each row, is accepted too. 1-D: the class of each row; -1 or null means
            unlabelled.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            True for labelled rows, or for known entries; the rest of y is ignored. It is useful for sparse y, which
            cannot store rows of -1 cheaply. None: y itself shows what is unknown.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y or a parameter is invalid: for example non-finite X, labels other than those described above,
            fewer than two labelled rows, or a parameter out of its range. The message says what to change.

        Warns
        -----
        UserWarning
            If ``n_components`` exceeds the numerical rank; fewer directions are kept.
        """
        with steps_of_fit(self, X, y) as steps:
            rows, Y = read_labeled(steps, X, y, labeled)
            steps.set_attributes(**direction_attributes(cca(rows, Y, self.n_components, ridge=self.ridge)))
        return self


@dataclass(eq=False, repr=False)
class MLDA(Projection):
    """Linear discriminant analysis for several labels, with a weight for each row in each of its labels.

    Let w_ik >= 0 be the weight of row i in label k, n_k = sum_i w_ik, m_k the weighted mean of the rows of label k,
    and m the weighted mean over all labels. The directions p solve S_b p = lambda (S_w + r I) p subject to P'(S_w + r
    I)P = I. The scatter between labels is S_b = sum_k n_k (m_k - m)(m_k - m)', and the scatter within labels is S_w =
    sum_k sum_i w_ik (x_i - m_k)(x_i - m_k)'.

    The method is supervised: it is fitted on the labelled rows and ignores the others.

    Parameters
    ----------
    n_components : int or None, default=None
        Number d of directions to keep, at most min(n_labels - 1, n_features). None: as many as the numerical rank of
        the eigenproblem allows.
    label_weights : {"binary", "entropy", "correlation", "fuzzy", "dependence"}, default="binary"
        How the weights w_ik are chosen. "binary" (wMLDAb): 1 for each label of a row. "entropy" (wMLDAe): equal
        shares, which sum to 1 over the labels of a row. "correlation" (wMLDAc): labels that often occur together with
        those of the row get a share too. "fuzzy" (wMLDAf): shares that depend on how near the row is to the mean of
        each label. "dependence" (wMLDAd): weight 1 for one label of each row, chosen so that the features depend most
        on the weighted labels.
    ridge : float, default=0.1
        Ridge r, 0 or more, added to the diagonal of S_w, which is a sum over rows, not a mean. A larger value gives
        smoother directions. At 0 the matrix S_w must be invertible.
    max_iter : int, default=1000
        Largest number of epochs, which are passes over the rows; at least 1. Used only by "dependence".
    random_state : int, Generator, RandomState or None, default=0
        Seed for the order of the rows in each epoch; with None it differs from fit to fit. Used only by "dependence".

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        The projection P', one direction in each row, in the dtype of X. `transform` returns (X - mean_) P.
    eigenvalues_ : ndarray of shape (d,), float64
        Ratio of the scatter between labels to the scatter within labels along each direction, in decreasing order.
    effective_rank_ : int
        Numerical rank of the eigenproblem, the largest number of directions that these data allow.
    mean_ : ndarray of shape (n_features,), float64
        Mean of the labelled rows, which `transform` subtracts.
    label_weights_ : ndarray of shape (n_labeled, n_labels), float64
        The weights w_ik of the labelled rows.
    objective_ : ndarray of shape (n_epochs + 1,), float64
        Squared Frobenius norm of Xc'(W o Y), with W the weights and o the entrywise product, at the start and after
        each epoch. It never decreases. Defined only for "dependence".
    n_iter_ : int
        Number of epochs for "dependence", otherwise 1.
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; after a fit on 1-D y the sorted classes.
    label_names_in_ : ndarray of shape (n_labels,), str
        Names of the labels. Defined only if y is a data frame or a list of label sets.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.

    Notes
    -----
    The framework is that of Xu, "A weighted linear discriminant analysis framework for multi-label feature
    extraction", Neurocomputing 275, 2018. That article compares the weights of Park and Lee 2008 ("binary"), Chen et
    al. 2007 ("entropy"), Wang, Ding and Huang 2010 ("correlation"), and Lin and Chen 2010 ("fuzzy"), and proposes
    "dependence". In Xu's program "dependence" chooses one of all labels for each row, which may be a label that the
    row does not have; here it chooses one of the labels of the row. ridge = 0.1 reproduces the columns of
    the article.

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
    label_weights: Literal["binary", "entropy", "correlation", "fuzzy", "dependence"] = "binary"
    ridge: float = 0.1
    max_iter: int = 1000
    random_state: Any = 0

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Learn the projection from the labelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            Labels. 2-D: one column for each label; an entry is 1 or 0, and a row of -1, NaN or null is unlabelled. A
            list of label sets, one set for each row, is accepted too. 1-D: the class of each row; -1 or null means
            unlabelled.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            True for labelled rows, or for known entries; the rest of y is ignored. It is useful for sparse y, which
            cannot store rows of -1 cheaply. None: y itself shows what is unknown.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y or a parameter is invalid: for example non-finite X, labels other than those described above,
            fewer than two labelled rows, or a parameter out of its range. The message says what to change.

        Warns
        -----
        UserWarning
            If ``n_components`` exceeds the numerical rank; fewer directions are kept.
        sklearn.exceptions.ConvergenceWarning
            With ``label_weights="dependence"``, if ``max_iter`` epochs were not enough.
        """
        with steps_of_fit(self, X, y) as steps:
            rows, Y = read_labeled(steps, X, y, labeled)
            W, learned = self._weights(rows, Y)
            directions = weighted_lda(rows, W, self.n_components, ridge=self.ridge)
            steps.set_attributes(label_weights_=W, **learned, **direction_attributes(directions))
        return self

    def _weights(self, X: Any, Y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """The weights of the labels, and the attributes of the iterations that found them."""
        simple: dict[str, Callable[[], np.ndarray]] = {
            "binary": lambda: Y,
            "entropy": lambda: entropy_weights(Y),
            "correlation": lambda: correlation_weights(Y),
            "fuzzy": lambda: fuzzy_weights(X, Y),
        }
        if check_choice(self.label_weights, "label_weights", *simple, "dependence") in simple:
            return simple[self.label_weights](), {"n_iter_": 1}
        seed = self.random_state
        source = seed if isinstance(seed, np.random.Generator) else check_random_state(seed)
        W, objective = dependence_weights(X, Y, generator=source, max_iter=self.max_iter)
        return W, {"objective_": objective, "n_iter_": max(1, len(objective) - 1)}
