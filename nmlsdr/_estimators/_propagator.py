"""MultiLabelPropagation: noisy multi-label propagation as a classifier and as a reviewer of given labels."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._checks.arguments import Threshold, refuse_weights
from .._row_order import row_order
from .._thresholds import check_threshold
from ..graph import even_exponent, transition_of_graph
from ._callbacks import steps_of_fit
from ._classifier import NeighborClassifier
from ._sklearn_bases import CallbackSupportMixin
from ._steps import PropagationParameters, as_attribute, soft_label_attributes


@dataclass(eq=False, repr=False)
class MultiLabelPropagation(CallbackSupportMixin, PropagationParameters, NeighborClassifier):
    """Propagate and correct noisy multi-labels over a neighbour graph (article, section 3.2).

    A graph W joins each row to its k nearest neighbours (eq. 2 or 3), and T is its row-stochastic transition matrix
    (eq. 4-5). The soft labels F solve (I - A T) F = (I - A) Y (eq. 8). Here A = diag(alpha), and Y is 0 on unlabelled
    rows. The soft labels of row i are alpha_i times a weighted mean of those of its neighbours plus 1 - alpha_i times
    its given labels. Where alpha > 0, the neighbours of a labelled row can outvote a wrong label: `label_flips_`
    shows where this happened, and `flip_scores_` ranks all given labels for review.

    The soft labels of a new row x are a weighted mean of those of its k nearest training rows: F(x) = sum_j D_j^-1/2
    F_j / sum_j D_j^-1/2, where D_j is the degree of row j in W. Its label is 1 where F(x) is above ``threshold``; at
    1/2, the default, an equal value gives no label, as in the article. `predict` treats a training row like any other
    row; its own soft labels are in `label_distributions_`.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k of each row, at least 1. A larger value averages over more rows, so that single wrong
        labels count less, but it blurs small groups. If there are only k rows to search, or fewer, k is lowered to
        their number minus 1, with a warning.
    edge_weights : {"binary", "rbf"}, default="binary"
        Weights of the edges of the neighbour graph. "binary": 1 (eq. 3). "rbf": exp(-|x_i - x_j|^2 / sigma^2), which
        gives near rows more weight (eq. 2).
    sigma : float or None, default=None
        Width of the "rbf" weights in the units of X, above 0. A larger value makes the weights more equal. None: the
        median over rows of the distance to the k-th neighbour, of those that are not 0. Not used by "binary".
    metric : str, default="euclidean"
        Distance between rows: one of those that `nmlsdr.graph.kneighbors` defines.
    alpha_labeled : float or pair of float, default=0.6
        alpha of the given labels, in [0, 1): the share that the neighbours have in the soft label of an entry, while
        the given label has the share 1 - alpha. 0 keeps the given labels as they are; a larger value lets the
        neighbours correct more of them. A pair (A0, A1) holds the alpha of given 0s and of given 1s: (0.9, 0.1) suits
        data whose 1s are right but incomplete. A vote v between 0 and 1 has alpha (1 - v) A0 + v A1.
    alpha_unlabeled : float, default=0.999
        alpha of unlabelled rows and unknown entries, in [0, 1). A larger value spreads labels further through the
        graph; a smaller one pulls the soft labels of rows far from every labelled row towards 0.
    neighbors : "exact" or transformer, default="exact"
        How neighbours are found. "exact": an exact search by ``metric``; which of equally distant rows
        come first does not depend on the order of the rows. A transformer such as scikit-learn's
        ``KNeighborsTransformer`` or pynndescent's, whose
        ``fit_transform`` returns a CSR matrix of distances, proposes candidates, and the nearest k of them by
        ``metric`` are used. Most transformers count a row as its own neighbour; give these k + 1 neighbours.
    propagation_solver : {"auto", "cg", "lu", "fixed_point"}, default="auto"
        Solver of eq. (8). "cg": conjugate gradients. "lu": elimination, a direct method. "fixed_point": the iteration
        of eq. (6). "auto": "lu" up to 100 rows, otherwise "cg". The soft labels agree within ``tol``; see
        `nmlsdr.propagation.propagate`.
    tol : float, default=1e-8
        Accepted residual of eq. (8), the largest absolute entry of (I - A T) F - (I - A) Y; above 0. A larger value
        stops the solver earlier, with less accurate soft labels.
    max_iter : int or None, default=None
        Largest number of iterations of the propagation for each label, at least 1. None: as many as theory requires
        for ``tol``. If they are not enough, a ConvergenceWarning is issued.
    threshold : float, "f1", "macro", "prior" or array-like of shape (n_labels,), default=0.5
        Threshold in [0, 1], or one for each label: `predict` gives a label where F(x) is above the threshold. A larger
        value predicts fewer labels. Three rules choose the thresholds from the soft labels that each labelled row would
        get from its neighbours. "f1": one threshold for all labels, half of the largest F1 expected from these soft
        labels. "macro": the same for each label alone. "prior": one threshold for each label, so that the label is
        predicted for as large a share of the labelled rows as have it, after a correction for flipped labels. Not used
        for 1-D y.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels), float64
        Soft labels F of the training rows, in [0, 1], the solution of eq. (8).
    transduction_ : ndarray of shape (n_samples, n_labels), int64, or (n_samples,)
        Hard labels of the training rows: 1 where F > 1/2, otherwise 0. After a fit on 1-D y the class with the
        largest F, the first of equal ones.
    label_flips_ : ndarray of shape (n_samples, n_labels), bool
        Where the hard labels contradict a given label; False at unknown entries and at votes of 1/2. For 1-D y a row
        whose class changes has two True entries, one for its given class and one for its new class.
    flip_scores_ : ndarray of shape (n_samples, n_labels), float64
        |F - Y| at the given labels, in [0, 1]; 0 at unknown entries. The larger the score, the more likely the given
        label is wrong.
    n_neighbors_ : int
        Number of neighbours k that was used.
    n_iter_ : int
        Number of iterations of the propagation, at least 1.
    residual_ : float
        Largest absolute entry of (I - A T) F - (I - A) Y, the residual of eq. (8).
    n_unreached_ : int
        Number of rows in components of the graph without a labelled row; their soft labels are 0. If some
        labelled rows have unknown entries: rows whose component has no known entry of at least one label.
    propagation_solver_ : str
        Solver that was used: "cg", "lu" or "fixed_point".
    neighbors_ : transformer
        Fitted clone of ``neighbors``. Defined only if ``neighbors`` is a transformer.
    thresholds_ : ndarray of shape (n_labels,), float64
        Thresholds that `predict` uses: a label is predicted where F(x) is greater. Numbers that are set as
        ``threshold`` after the fit are used at once; a rule raises an error until the next fit.
    training_rows_ : ndarray or sparse matrix of shape (n_samples, n_features)
        Copy of X, which `predict` searches. A memory map or a sparse matrix is not copied: do not change it while the
        model is in use.
    row_weights_ : ndarray of shape (n_samples,), float64
        D^-1/2, the weight of each training row in predictions, with D the row sums of W.
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; after a fit on 1-D y the sorted classes.
    label_names_in_ : ndarray of shape (n_labels,), str
        Names of the labels. Defined only if y is a data frame or a list of label sets.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.

    See Also
    --------
    NMLSDR : Propagation, then a projection.
    SemiSupervisedMLkNN : Propagation, then ML-kNN.
    nmlsdr.propagation.propagate : The solver of eq. (8) for a given graph.

    Notes
    -----
    `nmlsdr.inspection.rank_suspects` turns ``flip_scores_`` into a list for review. If annotators forget labels more
    often than they invent them, it can list given 0s and given 1s separately.

    Cross-validation splits the rows of X, y and of the arguments ``alpha`` and ``labeled`` of `fit`. It cannot split
    ``graph``; use the parameter ``neighbors`` instead.

    From scikit-learn 1.9 on, callbacks such as ``ProgressBar`` (see ``set_callbacks``) receive the progress of the
    fit: neighbours and iterations of the propagation.

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
    threshold: Threshold = 0.5
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, graph: Any = None, alpha: Any = None, labeled: Any = None, **unknown: Any) -> Self:
        """Propagate the labels over the neighbour graph of the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            Labels. 2-D: one column for each label; an entry is 1, 0, unknown (-1, NaN, null or masked), or a vote,
            which is a number between 0 and 1. A row without a known entry is unlabelled. A list of label sets, one
            set for each row, is accepted too. 1-D: the class of each row; -1 or null means unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            Symmetric graph W with weights of 0 or more, over which the labels are propagated instead of the neighbour
            graph of X. `predict` still uses the nearest rows of X.
        alpha : float or array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            alpha of all entries, of each row or of each entry, in [0, 1). It replaces ``alpha_labeled`` and
            ``alpha_unlabeled``, for example where annotators or sources are not equally reliable. There is no
            ``sample_weight``: labels that should count less get a larger alpha.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            True for labelled rows, or for known entries; the rest of y is ignored. It is useful for sparse y, which
            cannot store rows of -1 cheaply. None: y itself shows what is unknown.
        **unknown
            Anything else is refused, such as ``sample_weight``, whose place ``alpha`` takes.

        Returns
        -------
        MultiLabelPropagation
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y, a parameter or ``graph`` is invalid: for example non-finite X, labels other than those described
            above, a parameter out of its range, or a graph that is not symmetric. The message says what to change.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the propagation stops before its residual is ``tol`` or less.
        UserWarning
            If a component of the graph contains no labelled row, if ``n_neighbors`` is lowered, or if some rows are
            known to have a label and none to lack it.
        """
        refuse_weights(self, unknown)
        check_threshold(self.threshold)
        with steps_of_fit(self, X, y) as steps:
            rows, labels = steps.read(X, y, labeled, "votes")
            order = row_order(rows, labels, steps.checked_alpha(labels, alpha))
            W, searched = steps.graph(rows, graph, order)
            propagation = steps.soft_labels(W, labels, alpha)
            T = partial(transition_of_graph, W, n_jobs=self.n_jobs)  # a labelled row is scored without its own labels
            thresholds = self._cutoffs(labels, lambda: T()[labels.labeled] @ propagation.F)
            learned = {"thresholds_": thresholds, "row_weights_": _row_weights(W)}
            steps.set_attributes(
                training_rows_=as_attribute(rows),
                _row_order=order,
                **learned,
                **searched,
                **soft_label_attributes(propagation, labels),
            )
        return self

    def _score_neighbors(self, indices: np.ndarray) -> np.ndarray:
        F = self.label_distributions_
        row_weights = self.row_weights_
        scores = np.zeros((len(indices), F.shape[1]))
        total = np.zeros((len(indices), 1))
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
