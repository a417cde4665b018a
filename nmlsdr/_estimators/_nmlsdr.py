"""Noisy multi-label semi-supervised dimensionality reduction (NMLSDR), the article's method."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from .._checks.labels import Labels
from .._ridge import cross_fit
from ._callbacks import step
from ._shrinkage import N_SPLITS, ShrunkenProjection, known_part, labeled_part, shrinkage_grid

__all__ = ["NMLSDR"]


@dataclass(eq=False, repr=False)
class NMLSDR(ShrunkenProjection):
    r"""Correct and spread noisy labels over a neighbour graph, then project where features depend on them most.

    1. W joins each row to its k nearest others (eq. 2 or 3), T is its row-stochastic form (eq. 4-5).
    2. (I - A T) F = (I - A) Y gives soft labels F (eq. 8): A = diag(alpha), Y = 0 on unlabelled rows.  With
       alpha > 0 a labelled row listens to its neighbours too, so that a wrong label can be outvoted.
    3. F~ is hard, 1[F > 1/2], on the labelled rows and soft on the others.
    4. The rows of `components_` maximise tr(P' X'H F~ F~' H X P) subject to P'P = I (eq. 13-14).

    Parameters
    ----------
    n_components : int or None, default=None
        d, at most min(n_labels, n_features, n_samples - 1); None: as many as the numerical rank allows.
    shrinkage : float or "cv", default=0.0
        b in [0, 1]: how far the features are shrunken.  The graph and the projection see the square of feature j
        weighed by w_j = 1 - b (1 - kappa_j), kappa_j the share of its dependence on the given labels that is more
        than chance (`nmlsdr.projection.feature_weights`).  0: the article's method.  "cv": 0, 1/2 or 1, by the
        cross-validation with five folds on the labelled rows.
    n_neighbors : int, default=10
        k; with fewer than k + 1 rows it is lowered to n_samples - 1, with a warning.
    edge_weights : {"binary", "rbf"}, default="binary"
        Weights of the edges: 1, or exp(-|x_i - x_j|^2 / sigma^2).
    sigma : float or None, default=None
        Width of "rbf"; None: the median over rows of the distance to the k-th neighbour.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine": neighbours by the angle between rows, as if each were divided by its norm; "rbf" too.
    alpha_labeled : float or pair of float, default=0.6
        alpha of the given labels, in [0, 1); 0 keeps them as they are (NMLSDR* of the article).  A pair (A0, A1) is
        for given 0s and given 1s: (.9, .1) where a 1 is right and a 0 may be forgotten; a vote v has
        (1 - v) A0 + v A1.
    alpha_unlabeled : float, default=0.999
        alpha of what is not known, in [0, 1).
    neighbors : "exact" or transformer, default="exact"
        A transformer whose ``fit_transform`` gives a CSR matrix of distances proposes the neighbours.
    propagation_solver : {"auto", "cg", "lu", "fixed_point"}, default="auto"
        Solver of eq. (8).
    eigen_solver : {"auto", "eigsh", "svd"}, default="auto"
    tol : float, default=1e-8
        Largest entry of the residual of eq. (8) to accept.
    max_iter : int or None, default=None
        Iterations of the propagation; None: enough for ``tol``.
    n_jobs : int or None, default=None
        Threads; None: all that are allowed.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        P' diag(w)^1/2, in the dtype of X; the entry of largest magnitude of each row of P' is positive.  Without
        shrinkage the rows are orthonormal.
    eigenvalues_ : ndarray of shape (d,)
        Dependence along each direction, decreasing.
    dependence_ratio_ : ndarray of shape (d,)
        Share of each direction in all dependence, the sum of all eigenvalues; add them up for the first 1, ..., d.
    shrinkage_ : float
        b as used.
    feature_weights_ : ndarray of shape (n_features,)
        w; ones without shrinkage.
    effective_rank_ : int
        Numerical rank of the eigenproblem; with "eigsh", as far as it was computed.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        F, in [0, 1].
    transduction_ : ndarray of shape (n_samples, n_labels), int, or (n_samples,)
        Hard labels 1[F > 1/2]; after a fit on 1-D y the class with the largest F, the first of equals.
    label_flips_ : ndarray of shape (n_samples, n_labels), bool
        Given labels that the hard labels contradict; False on unknown entries and on votes of 1/2.  For 1-D y a
        flipped row has two True entries, its given and its new class.
    flip_scores_ : ndarray of shape (n_samples, n_labels), float64
        |F - Y|, in [0, 1]: the likeliest wrong annotations have the largest; 0 on unknown entries.
    n_neighbors_ : int
        k as used.
    n_iter_ : int
        Iterations of the propagation, at least 1.
    residual_ : float
        max |(I - A T) F - (I - A) Y|.
    n_unreached_ : int
        Rows in components of the graph without a labelled row; their F is 0.
    propagation_solver_ : str
        The solver that ran.
    classes_ : list of ndarray, or ndarray
        [0, 1] for each label; for 1-D y the classes.
    label_names_in_ : ndarray of shape (n_labels,)
        Only if y is a data frame or holds label sets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    Mikalsen, Soguero-Ruiz, Bianchi and Jenssen, "Noisy multi-label semi-supervised dimensionality reduction",
    Pattern Recognition 90, 2019, Algorithm 1.  The article's P P' = I reads P'P = I:

    .. math::

        (I - A T) F = (I - A) Y

        \max_{P^\top P = I} \operatorname{tr}\left( P^\top X^\top H \tilde F \tilde F^\top H X P \right), \qquad
        H = I - \tfrac{1}{n} \mathbf{1} \mathbf{1}^\top.

    ``graph`` and ``alpha`` of `fit` belong to the rows of X.  Cross-validation slices rows: ``alpha`` and
    ``labeled`` go along, a graph cannot; pass ``neighbors=`` there.

    From scikit-learn 1.9 on, its callbacks are told neighbours, sweeps of the propagation, projection, and folds:
    ``NMLSDR().set_callbacks(ProgressBar())``.

    Examples
    --------
    Two groups; the last row of the first carries a wrong label, one row of the second has none.

    >>> from nmlsdr import NMLSDR
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2]]
    >>> y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [-1, -1]]
    >>> model = NMLSDR(1, n_neighbors=2, alpha_labeled=0.9).fit(X, y)
    >>> model.transduction_[3], model.transduction_[6]
    (array([1, 0]), array([0, 1]))
    >>> model.label_flips_.any(axis=1).nonzero()[0]
    array([3])
    """

    n_components: int | None = None
    _: KW_ONLY
    shrinkage: float | str = 0.0
    n_neighbors: int = 10
    edge_weights: str = "binary"
    sigma: float | None = None
    metric: str = "euclidean"
    alpha_labeled: float | tuple[float, float] = 0.6
    alpha_unlabeled: float = 0.999
    neighbors: Any = "exact"
    propagation_solver: str = "auto"
    eigen_solver: str = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, graph: Any = None, alpha: Any = None, labeled: Any = None) -> Self:
        """Propagate the labels and learn the projection from all rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array of shape (n_samples, n_labels) or (n_samples,)
            1, 0 or not known (-1, NaN, null, masked), and votes between; or a list of label sets.  1-D: classes,
            -1 or null is unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            A symmetric graph W instead of the neighbours of the rows.
        alpha : float or array of shape (n_samples,) or (n_samples, n_labels), default=None
            In [0, 1), for every row or entry, instead of ``alpha_labeled`` and ``alpha_unlabeled``.
        labeled : array of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, graph, alpha, labeled)

    def _n_steps(self) -> int:
        return super()._n_steps() + (self.shrinkage == "cv")

    def _learn(self, rows: Any, labels: Labels, graph: Any, alpha: Any) -> None:
        grid = shrinkage_grid(self.shrinkage)
        shrinkage = grid[0]
        if len(grid) > 1:
            with step(self, "cross-validation", "fold", N_SPLITS) as fold_done:
                shrinkage = cross_fit(
                    *labeled_part(rows, labels),
                    shrinkage=grid,
                    n_splits=N_SPLITS,
                    known=known_part(labels),
                    callback=fold_done,
                ).shrinkage
        self._keep_weights(rows, labels, shrinkage)
        self._project(rows, labels, graph, alpha)
