"""Semi-supervised multi-label dimensionality reduction by label propagation and MLDA (SSMLDR)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from .._checks.labels import Labels
from .._errors import InputError
from .._projections.scatter import weighted_lda
from ._callbacks import step
from ._projection import PropagatingProjection, half_hard

__all__ = ["SSMLDR"]


@dataclass(eq=False, repr=False)
class SSMLDR(PropagatingProjection):
    """Multi-label discriminant analysis of all rows, weighted by propagated soft labels.

    Labels are propagated as in `NMLSDR`; F then takes the place of the label weights of `MLDA`:
    S_b p = lambda (S_w + r I) p with P'(S_w + r I)P = I over all rows, labelled or not.

    Parameters
    ----------
    n_components : int or None, default=None
        d, at most min(n_labels - 1, n_features); None: as many as the numerical rank allows.
    labels : {"soft", "hard"}, default="soft"
        "soft": F on all rows.  "hard": 1[F > 1/2] on the labelled rows and F on the others, as `NMLSDR` does.
    ridge : float, default=0.1
        r >= 0, added to the un-normalised within-class scatter.
    n_neighbors : int, default=10
        As in `NMLSDR`, like all that follow.
    edge_weights : {"binary", "rbf"}, default="binary"
        Weights of the edges: 1, or exp(-|x_i - x_j|^2 / sigma^2).
    sigma : float or None, default=None
        Width of "rbf"; None: the median over rows of the distance to the k-th neighbour.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine": neighbours by the angle between rows, as if each were divided by its norm; "rbf" too.
    alpha_labeled : float or pair of float, default=0.6
        0 clamps the labelled rows (SSMLDR* of the article).
    alpha_unlabeled : float, default=0.999
        alpha of the unlabelled rows, in [0, 1).
    neighbors : "exact" or transformer, default="exact"
        A transformer whose ``fit_transform`` gives a CSR matrix of distances proposes the neighbours.
    propagation_solver : {"auto", "cg", "lu", "fixed_point"}, default="auto"
        Solver of eq. (8).
    tol : float, default=1e-8
        Largest entry of the residual of eq. (8) to accept.
    max_iter : int or None, default=None
        Iterations of the propagation; None: enough for ``tol``.
    n_jobs : int or None, default=None
        Threads; None: all that are allowed.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        P', one direction in each row, in the dtype of X.
    eigenvalues_ : ndarray of shape (d,)
    effective_rank_ : int
        Numerical rank of the eigenproblem.
    mean_ : ndarray of shape (n_features,)
        Mean of the rows.
    label_distributions_, transduction_, label_flips_, flip_scores_ : ndarray
        As in `NMLSDR`, like the next line.
    n_neighbors_, n_iter_, residual_, n_unreached_, propagation_solver_
    classes_ : list of ndarray, or ndarray
        [0, 1] for each label; for 1-D y the classes.
    label_names_in_ : ndarray of shape (n_labels,)
        Only if y is a data frame or holds label sets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    Guo, Hou, Nie and Yi, "Semi-supervised multi-label dimensionality reduction", ICDM 2016, with two differences
    that the article's comparison makes: the rows of Y and F are not normalised to sum 1, and labelled rows listen
    to their neighbours unless ``alpha_labeled`` is 0.

    Examples
    --------
    >>> from nmlsdr import SSMLDR
    >>> X = [[0.0, 1.0], [0.1, 0.0], [0.2, 1.0], [5.0, 0.0], [5.1, 1.0], [5.2, 0.0]]
    >>> y = [[1, 0], [-1, -1], [1, 0], [0, 1], [0, 1], [-1, -1]]
    >>> SSMLDR(n_neighbors=2).fit(X, y).transduction_.tolist()
    [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> SSMLDR(n_neighbors=2).fit_transform(X, y).round(2).ravel()
    array([-6.96, -6.67, -6.42,  6.42,  6.67,  6.96])
    """

    n_components: int | None = None
    _: KW_ONLY
    labels: str = "soft"
    ridge: float = 0.1
    n_neighbors: int = 10
    edge_weights: str = "binary"
    sigma: float | None = None
    metric: str = "euclidean"
    alpha_labeled: float | tuple[float, float] = 0.6
    alpha_unlabeled: float = 0.999
    neighbors: Any = "exact"
    propagation_solver: str = "auto"
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

    def _learn(self, rows: Any, labels: Labels, graph: Any, alpha: Any) -> None:
        if self.labels not in ("soft", "hard"):
            raise InputError(f"labels must be 'soft' or 'hard', got {self.labels!r}.")
        F = self._propagate(self._graph_of_rows(rows, graph), labels, alpha)
        weights = F if self.labels == "soft" else half_hard(F, labels)
        with step(self, "projection"):
            self._keep(weighted_lda(rows, weights, self.n_components, ridge=self.ridge))
