"""MultiLabelPropagation: noisy multi-label propagation as a classifier and as a reviewer of given labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._errors import InputError
from ..graph import even_exponent, transition_matrix
from ._base import CutsScores, NeighborClassifier, PropagatesLabels
from ._callbacks import steps_of_fit
from ._thresholds import check_threshold

__all__ = ["MultiLabelPropagation"]


@dataclass(eq=False, repr=False)
class MultiLabelPropagation(CutsScores, PropagatesLabels, NeighborClassifier):
    """Spread and correct noisy multi-labels over a neighbour graph (article, section 3.2).

    W joins each row to its k nearest others (eq. 2 or 3) and T is its row-stochastic form (eq. 4-5).  The soft
    labels F solve (I - A T) F = (I - A) Y (eq. 8) with A = diag(alpha) and Y = 0 on unlabelled rows: every row
    listens to its neighbours with weight alpha_i and to its own given labels with 1 - alpha_i.  With alpha > 0 on
    labelled rows a wrong label can be outvoted: `label_flips_` says which were, and `flip_scores_` orders all given
    labels for review.

    A new row's soft labels come through its nearest training rows, T's row of the new point without alpha:
    F(x) = sum_j d_j^-1/2 F_j / sum_j d_j^-1/2 over the k nearest training rows j of x, whatever ``edge_weights``, and
    its label is 1 where F(x) > ``threshold``: at the default of 1/2 a tie gives no label, as in the article.  A
    training row is no exception: for its own soft labels take `label_distributions_`.

    Parameters
    ----------
    n_neighbors : int, default=10
        k; with fewer than k + 1 rows it is lowered to n_samples - 1, with a warning.
    edge_weights : {"binary", "rbf"}, default="binary"
        Weights of the edges: 1, or exp(-|x_i - x_j|^2 / sigma^2).
    sigma : float, default=None
        Width of "rbf" in the units of X; None: the median over rows of the distance to the k-th neighbour.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine": neighbours by the angle between rows, as if each were divided by its norm, in "rbf" and
        `predict` too.  A row of zeros is at distance 1 = 1 - cos from every row.
    alpha_labeled : float or pair of float, default=0.6
        alpha of the given labels, in [0, 1); 0 keeps them as they are.  A pair (A0, A1) is for given 0s and given 1s:
        (.9, .1) where a 1 is right and a 0 may be forgotten; a vote v has (1 - v) A0 + v A1.
    alpha_unlabeled : float, default=0.999
        alpha of what is not known, in [0, 1).
    neighbors : "exact" or transformer, default="exact"
        A transformer whose ``fit_transform`` gives a CSR matrix of distances proposes the neighbours.
    propagation_solver : {"auto", "cg", "lu", "fixed_point"}, default="auto"
        See `nmlsdr.propagation.propagate`.
    tol : float, default=1e-8
        Largest entry of the residual of eq. (8) to accept.
    max_iter : int, default=None
        Iterations of the propagation; None: enough for ``tol``.
    threshold : float, "f1", "prior" or array-like of shape (n_labels,), default=0.5
        `predict` gives a label where F(x) is above this; an array has one cut-off for each label.  A larger value
        predicts fewer labels.  Two rules learn the cut-offs from the soft labels that the neighbours of each training
        row give it: "f1" takes one cut-off for all labels, half of the best F1 that these promise; "prior" predicts
        each label for as large a share of the training rows as have it, after a correction for flipped labels.  Not
        used for 1-D y.
    n_jobs : int, default=None
        Threads; None for all cores.  The answer does not depend on it.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels), float64
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
    training_rows_ : array or sparse matrix of shape (n_samples, n_features)
        A copy of X, which `predict` searches.  A memory map or a sparse matrix is not copied: do not change it while
        the model is used.
    thresholds_ : ndarray of shape (n_labels,), float64
        A label is predicted where F(x) is above this.
    row_weights_ : ndarray of shape (n_samples,)
        D^-1/2, the weight of each training row in a prediction.
    classes_ : list of ndarray, or ndarray
        [0, 1] for each label; for 1-D y the classes.
    label_names_in_ : ndarray of shape (n_labels,)
        Only if y is a data frame or holds label sets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
    neighbors_ : transformer
        The fitted transformer, if ``neighbors`` is one.

    See Also
    --------
    NMLSDR : Propagation, then a projection.
    SemiSupervisedMLkNN : Propagation, then ML-kNN.
    nmlsdr.propagation.propagate : The solver, on a graph and labels.

    Notes
    -----
    `nmlsdr.inspection.rank_suspects` orders `flip_scores_` for review, given 0s and given 1s apart where annotators
    forget more than they mistake.

    ``graph`` and ``alpha`` of `fit` belong to the rows of X.  Cross-validation slices rows: ``alpha`` and
    ``labeled`` go along, a graph cannot; pass ``neighbors=`` there.

    From scikit-learn 1.9 on, its callbacks (``set_callbacks``) are told neighbours and sweeps of the propagation.

    Examples
    --------
    Two groups; row 3 of the first carries a wrong label, the last row of the second has none.

    >>> import numpy as np
    >>> from nmlsdr import MultiLabelPropagation
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2]]
    >>> y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [-1, -1]]
    >>> model = MultiLabelPropagation(n_neighbors=2, alpha_labeled=0.9).fit(X, y)
    >>> model.transduction_[3], model.transduction_[6]
    (array([1, 0]), array([0, 1]))

    The two likeliest errors, as (row, label):

    >>> order = np.argsort(-model.flip_scores_, axis=None, kind="stable")[:2]
    >>> sorted((int(row), int(label)) for row, label in zip(*np.unravel_index(order, model.flip_scores_.shape)))
    [(3, 0), (3, 1)]
    >>> model.predict([[0.15], [5.05]])
    array([[1, 0],
           [0, 1]])
    """

    _reaching_is_enough = False

    n_neighbors: int = 10
    _: KW_ONLY
    edge_weights: str = "binary"
    sigma: float | None = None
    metric: str = "euclidean"
    alpha_labeled: float | tuple[float, float] = 0.6
    alpha_unlabeled: float = 0.999
    neighbors: Any = "exact"
    propagation_solver: str = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    threshold: Any = 0.5
    n_jobs: int | None = None

    def _n_steps(self) -> int:
        return super()._n_steps() - 1

    def fit(self, X: Any, y: Any, *, graph: Any = None, alpha: Any = None, labeled: Any = None) -> Self:
        """Propagate the labels over the graph of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            1, 0 or not known (-1, NaN, null, masked), and votes between; or a list of label sets.  1-D: classes,
            -1 or null is unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            A symmetric graph W instead of the neighbours of the rows; `predict` still searches X.
        alpha : float or array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            In [0, 1), for every row or entry, instead of ``alpha_labeled`` and ``alpha_unlabeled``: trust by annotator
            or by source.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1; for sparse y, which cannot hold rows of -1 cheaply.

        Returns
        -------
        MultiLabelPropagation
            Itself.

        Raises
        ------
        ValueError
            For labels against the rule, a graph that is not symmetric, parameters out of range, or non-finite X.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the propagation did not reach ``tol``.
        UserWarning
            If a component of the graph holds no labelled row.
        """
        check_threshold(self.threshold)
        with steps_of_fit(self, X, y):
            rows = self._read_rows(X, reset=True)
            if rows.shape[0] < 2:
                raise InputError("MultiLabelPropagation needs at least 2 rows, got n_samples = 1; add rows.")
            labels = self._read_labels(X, y, rows, labeled)
            W = self._graph_of_rows(rows, graph)
            F = self._propagate(W, labels, alpha)
            self._learn_cutoffs(
                labels,
                lambda: transition_matrix(W, n_jobs=self.n_jobs) @ F,
                lambda: transition_matrix(W, n_jobs=self.n_jobs)[labels.labeled] @ F,
            )
            self.training_rows_ = self._as_attribute(rows)
            self.row_weights_ = _row_weights(W)
        return self

    def _score_neighbors(self, indices: np.ndarray) -> np.ndarray:
        F, row_weights = self.label_distributions_, self.row_weights_
        scores, total = np.zeros((len(indices), F.shape[1])), np.zeros((len(indices), 1))
        for nearest in indices.T:  # in the order of the neighbours: the same bits for any block
            weight = row_weights[nearest, None]
            scores += weight * F[nearest]
            total += weight
        return scores / total  # at most 1: no term is above its weight, and rounding keeps the order of sums


def _row_weights(W: sparse.csr_array) -> np.ndarray:
    """D^-1/2; an isolated row, possible in a given graph only, counts like the row of the smallest degree."""
    exponent = even_exponent(W.data)  # or a degree overflows
    degree = np.asarray(sparse.csr_array((np.ldexp(W.data, exponent), W.indices, W.indptr), shape=W.shape).sum(axis=1))
    smallest = degree[degree > 0].min(initial=np.inf)
    degree[degree == 0] = smallest if np.isfinite(smallest) else 1.0
    weights: np.ndarray = np.ldexp(1.0 / np.sqrt(degree), exponent // 2)
    return weights
