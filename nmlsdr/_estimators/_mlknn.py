"""ML-kNN as classifiers: supervised, and semi-supervised by propagating the labels first."""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from .. import mlknn
from .._checks.arguments import Metric, Threshold, check_graph, check_metric, refuse_weights
from .._checks.labels import Labels
from .._errors import InputError
from .._moments import RowSums
from .._row_order import RowOrder, order_of_distances, row_order
from .._search import choose_stored
from .._thresholds import NEVER, check_threshold, warn_never_predicted
from . import _steps
from ._callbacks import steps_of_fit
from ._classifier import NeighborClassifier
from ._sklearn_bases import CallbackSupportMixin
from ._steps import Neighbors, PropagationParameters, Steps


class _CountsNeighborLabels(NeighborClassifier):
    """What follows once every training row has labels: counts, posteriors, predictions."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _is_precomputed(self) -> bool:
        return isinstance(self.neighbors, str) and self.neighbors == "precomputed"

    def _check_training_rows(self, X: Any) -> Any:
        """The rows of a fit; with neighbors="precomputed" they are distances."""
        check_threshold(self.threshold)
        if not isinstance(self.at_least_one, (bool, np.bool_)):
            raise InputError(f"at_least_one must be True or False, got {self.at_least_one!r}.")
        if check_metric(self.metric) != "euclidean" and self._is_precomputed():
            raise InputError(f'metric={self.metric!r} has no effect beside neighbors="precomputed"; leave metric out.')
        rows = self._steps.read_rows(self, X, reset=True)
        if not self._is_precomputed():
            return rows
        rows = RowSums.of(rows, checked=True).in_memory('neighbors="precomputed" needs distances in memory')
        if rows.shape[0] != rows.shape[1]:
            raise InputError(f'neighbors="precomputed" needs a square matrix of distances, X has shape {rows.shape}.')
        return rows

    def _order_of_rows(self, steps: Steps, rows: Any, labels: Labels, alpha: Any) -> RowOrder:
        if self._is_precomputed():
            return order_of_distances(rows, labels, steps.checked_alpha(labels, alpha))
        return row_order(rows, labels, steps.checked_alpha(labels, alpha))

    def _training_neighbors(self, steps: Steps, rows: Any, k: int, order: RowOrder) -> Neighbors:
        if self._is_precomputed():
            return Neighbors(*choose_stored(rows, k, order, drop_diagonal=True))
        return steps.search(rows, k, order)

    def _count(self, rows: Any, Y: np.ndarray, indices: np.ndarray, labels: Labels) -> dict[str, Any]:
        """The attributes that follow from the training rows, their labels 0/1 and their neighbours."""
        table = mlknn.fit_posterior(Y, indices, smoothing=self.smoothing, n_jobs=self.n_jobs)
        Y = table.labels.copy()
        searched = indices[labels.labeled] if len(Y) == len(labels.Y) else indices  # no row is its own neighbour
        scores = partial(mlknn.look_up, table.posterior, Y, searched, self.n_jobs)
        thresholds = self._cutoffs(labels, scores)
        if not (labels.single or self.at_least_one):
            predicted = np.any(table.posterior > thresholds[:, None], axis=1) | labels.only_present
            warn_never_predicted(predicted, self.threshold, labels=labels, stacklevel=4)
        training_rows = None if self._is_precomputed() else _steps.as_attribute(rows)
        learned = {"training_rows_": training_rows, "training_labels_": Y, "thresholds_": thresholds}
        learned |= {"prior_": table.prior, "posterior_": table.posterior, "likelihoods_with_label_": table.with_label}
        return learned | {"likelihoods_without_label_": table.without_label}

    def _nearest(self, rows: Any) -> np.ndarray:
        if self._is_precomputed():
            columns = getattr(self, "labeled_rows_", slice(None))  # `MLkNN` is fitted to some of the rows
            return choose_stored(rows[:, columns], self.n_neighbors_, self._row_order, drop_diagonal=False)[1]
        return super()._nearest(rows)

    def _score_neighbors(self, indices: np.ndarray) -> np.ndarray:
        return mlknn.look_up(self.posterior_, self.training_labels_, indices, self.n_jobs)

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        labels = super()._decide(scores)
        if self.at_least_one:  # the first of equals
            empty = np.flatnonzero(~labels.any(axis=1))
            possible = np.where(self.thresholds_ == NEVER, -1.0, scores[empty])
            labels[empty, np.argmax(possible, axis=1)] = (self.thresholds_ != NEVER).any()
        return labels


@dataclass(eq=False, repr=False)
class MLkNN(_CountsNeighborLabels):
    """Multi-label k-nearest-neighbour classifier, ML-kNN (Zhang and Zhou, Pattern Recognition 40, 2007).

    The classifier estimates, for every label, its prior probability, and how often d = 0, ..., k neighbours of a row
    have the label, separately for rows with it and rows without it. Bayes' rule gives the posterior probability of
    the label for a new row. While these frequencies are counted, a row is not its own neighbour. The results equal
    those of the authors' program to the last bit.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k of each row, at least 1. A larger value averages over more rows, so that single wrong
        labels count less, but it blurs small groups. If there are only k rows to search, or fewer, k is lowered to
        their number minus 1, with a warning.
    metric : str, default="euclidean"
        Distance between rows: one of those that `nmlsdr.graph.kneighbors` defines.
    neighbors : "exact", "precomputed" or transformer, default="exact"
        How neighbours are found. "exact": an exact search by ``metric``; which of equally distant rows
        come first does not depend on the order of the rows. A transformer such as scikit-learn's
        ``KNeighborsTransformer`` or pynndescent's, whose
        ``fit_transform`` returns a CSR matrix of distances, proposes candidates, and the nearest k of them by
        ``metric`` are used. Most transformers count a row as its own neighbour; give these k + 1 neighbours.
        "precomputed": X contains distances to the training rows, as a dense array or as such a CSR matrix; a pipeline
        can then share one search among several classifiers (see Examples).
    smoothing : float, default=1.0
        Number s added to every count, above 0; 1 is Laplace's rule. A larger value moves the estimated probabilities
        closer to equal ones, which matters most for rare labels.
    threshold : float, "f1", "macro", "prior" or array-like of shape (n_labels,), default=0.5
        Threshold in [0, 1], or one for each label: `predict` gives a label where its posterior is at least this,
        as the program of Zhang and Zhou does. A larger value predicts fewer labels. Three rules choose the thresholds
        from the posteriors of the labelled rows, each computed without the row itself as a neighbour. "f1": one
        threshold for all labels, half of the largest F1 expected from the posteriors. "macro": the same for each label
        alone. "prior": one threshold for each label, so that the label is predicted for as large a share of the
        labelled rows as have it, after a correction for flipped labels. Where many posteriors are equal, the share may
        be smaller, or up to twice as large (or 5 rows more). By the last two, a label that no row is known to have is
        never predicted. Not used for 1-D y.
    at_least_one : bool, default=False
        Whether `predict` gives a row without any predicted label the label with the highest posterior, the first of
        equal ones.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Attributes
    ----------
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; after a fit on 1-D y the sorted classes.
    label_names_in_ : ndarray of shape (n_labels,), str
        Names of the labels. Defined only if y is a data frame or a list of label sets.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.
    n_neighbors_ : int
        Number of neighbours k that was used.
    prior_ : ndarray of shape (n_labels,), float64
        Prior probability of each label.
    likelihoods_with_label_, likelihoods_without_label_ : ndarray of shape (n_labels, n_neighbors_ + 1), float64
        Probability that d = 0, ..., k neighbours of a row have the label, for rows with the label and for rows
        without it. Each row of the arrays sums to 1.
    posterior_ : ndarray of shape (n_labels, n_neighbors_ + 1), float64
        Probability that a row has the label if d = 0, ..., k of its neighbours have it.
    thresholds_ : ndarray of shape (n_labels,), float64
        Thresholds that `predict` uses: a label is predicted where its posterior is greater. Each is the largest number
        below what ``threshold`` gives, so that equality with that is enough. Numbers that are set
        as ``threshold`` after the fit are used at once; a rule raises an error until the next fit.
    training_rows_ : ndarray or CSR matrix of shape (n_labeled, n_features), or None
        Copy of the labelled rows; None with ``neighbors="precomputed"``. A memory map, or a sparse matrix whose rows
        are all used, is not copied: do not change it while the model is in use.
    training_labels_ : ndarray of shape (n_labeled, n_labels), uint8
        Labels 0/1 of the labelled rows.
    labeled_rows_ : ndarray of shape (n_labeled,), intp
        Row numbers, in the X given to `fit`, of the labelled rows.
    neighbors_ : transformer
        Fitted clone of ``neighbors``. Defined only if ``neighbors`` is a transformer.

    See Also
    --------
    SemiSupervisedMLkNN : Propagates labels to the unlabelled rows first.
    nmlsdr.mlknn : The same method as functions of arrays, with its formulas.

    Notes
    -----
    Unlabelled rows are left out of the fit. The neighbour search takes nearly all of the time; counting and the
    posteriors take a few percent.

    Examples
    --------
    Six points on a line, k = 2, by hand.  Every point's neighbours are the two others of its triple.

    >>> from nmlsdr import MLkNN
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> Y = [[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 1]]
    >>> model = MLkNN(n_neighbors=2).fit(X, Y)

    Label 0: prior (1 + 3) / (2 + 6) = 1/2.  The three rows that have it see 2 neighbours with it, the
    others 0, so P(2|1) = (1 + 3) / (3 + 3) = 4/6 and P(2|0) = 1/6.  Label 1: prior (1 + 4) / 8 = 5/8; the four
    rows that have it see 0, 2, 2, 2 and the others 1, 1, so P(0|1) = 2/7 and P(0|0) = (1 + 0) / (3 + 2) = 1/5.

    >>> model.prior_.tolist()
    [0.5, 0.625]

    The neighbours of 0.4 are rows 0 and 1: two carry label 0, none carries label 1.  The posteriors are
    (1/2 4/6) / (1/2 4/6 + 1/2 1/6) = 4/5 and (5/8 2/7) / (5/8 2/7 + 3/8 1/5) = 50/71:

    >>> model.predict_proba([[0.4]]).round(6).tolist() == [[0.8, round(50 / 71, 6)]]
    True
    >>> MLkNN(n_neighbors=2, threshold=0.75).fit(X, Y).predict([[0.4], [11.0]])
    array([[1, 0],
           [0, 1]])

    One search for several classifiers: a pipeline with ``memory=`` caches the neighbour graph.

    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> graph = KNeighborsTransformer(n_neighbors=4).fit(X)
    >>> for k in (2, 3):
    ...     model = MLkNN(n_neighbors=k, neighbors="precomputed").fit(graph.transform(X), Y)
    ...     print(model.predict(graph.transform([[0.4]])))
    [[1 1]]
    [[1 1]]
    """

    n_neighbors: int = 10
    _: KW_ONLY
    metric: Metric = "euclidean"
    neighbors: Any = "exact"
    smoothing: float = 1.0
    threshold: Threshold = 0.5
    at_least_one: bool = False
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Find the neighbours of the labelled rows and count the labels among them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64. With
            ``neighbors="precomputed"``: distances between the training rows, of shape (n_samples, n_samples).
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            Labels. 2-D: one column for each label; an entry is 1 or 0, and a row of -1, NaN or null is unlabelled. A
            list of label sets, one set for each row, is accepted too. 1-D: the class of each row; -1 or null means
            unlabelled.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            True for labelled rows, or for known entries; the rest of y is ignored. It is useful for sparse y, which
            cannot store rows of -1 cheaply. None: y itself shows what is unknown.

        Returns
        -------
        MLkNN
            The fitted estimator.

        Raises
        ------
        ValueError
            If X, y or a parameter is invalid: for example non-finite X, labels other than those described above,
            fewer than two labelled rows, or a parameter out of its range. The message says what to change.

        Warns
        -----
        UserWarning
            If ``n_neighbors`` is lowered, or if a label is predicted for no training row.
        """
        with steps_of_fit(self, X, y) as steps:
            rows = self._check_training_rows(X)
            labels = steps.read_labels(X, y, labeled, rows.shape[0])
            labeled_rows = np.flatnonzero(labels.labeled)
            _steps.refuse_one(self, len(labeled_rows), "labelled rows")
            Y = labels.Y
            if len(labeled_rows) < rows.shape[0]:
                rows = rows[labeled_rows]
                Y = Y[labeled_rows]
                if self._is_precomputed():
                    rows = rows[:, labeled_rows]
            k = _steps.clip_neighbors(self.n_neighbors, len(labeled_rows) - 1)
            order = self._order_of_rows(steps, rows, labels.take(labeled_rows), None)
            neighbors = self._training_neighbors(steps, rows, k, order)
            learned = self._count(rows, Y, neighbors.indices, labels)
            steps.set_attributes(
                labeled_rows_=labeled_rows, n_neighbors_=k, _row_order=order, **neighbors.attributes(), **learned
            )
        return self


@dataclass(eq=False, repr=False)
class SemiSupervisedMLkNN(CallbackSupportMixin, PropagationParameters, _CountsNeighborLabels):
    """Semi-supervised ML-kNN (article, section 3.4): propagate the labels, then fit ML-kNN to the hard labels of all
    rows.

    The labels are propagated over the neighbour graph of X, which is usually an embedding by `NMLSDR`. The
    propagation also corrects noisy labels. Then ML-kNN is fitted to the hard labels of all rows, 1 where F > 1/2 and
    otherwise 0. One neighbour search serves both steps.

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
    neighbors : "exact", "precomputed" or transformer, default="exact"
        How neighbours are found. "exact": an exact search by ``metric``; which of equally distant rows
        come first does not depend on the order of the rows. A transformer such as scikit-learn's
        ``KNeighborsTransformer`` or pynndescent's, whose
        ``fit_transform`` returns a CSR matrix of distances, proposes candidates, and the nearest k of them by
        ``metric`` are used. Most transformers count a row as its own neighbour; give these k + 1 neighbours.
        "precomputed": X contains distances to the training rows, as a dense array or as such a CSR matrix; a pipeline
        can then share one search among several classifiers (see the examples of `MLkNN`).
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
    smoothing : float, default=1.0
        Number s added to every count, above 0; 1 is Laplace's rule. A larger value moves the estimated probabilities
        closer to equal ones, which matters most for rare labels.
    threshold : float, "f1", "macro", "prior" or array-like of shape (n_labels,), default=0.5
        Threshold in [0, 1], or one for each label: `predict` gives a label where its posterior is at least this,
        as the program of Zhang and Zhou does. A larger value predicts fewer labels. Three rules choose the thresholds
        from the posteriors of the labelled rows, each computed without the row itself as a neighbour. "f1": one
        threshold for all labels, half of the largest F1 expected from the posteriors. "macro": the same for each label
        alone. "prior": one threshold for each label, so that the label is predicted for as large a share of the
        labelled rows as have it, after a correction for flipped labels. Where many posteriors are equal, the share may
        be smaller, or up to twice as large (or 5 rows more). By the last two, a label that no row is known to have is
        never predicted. Not used for 1-D y.
    at_least_one : bool, default=False
        Whether `predict` gives a row without any predicted label the label with the highest posterior, the first of
        equal ones.
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
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; after a fit on 1-D y the sorted classes.
    label_names_in_ : ndarray of shape (n_labels,), str
        Names of the labels. Defined only if y is a data frame or a list of label sets.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.
    prior_ : ndarray of shape (n_labels,), float64
        Prior probability of each label.
    likelihoods_with_label_, likelihoods_without_label_ : ndarray of shape (n_labels, n_neighbors_ + 1), float64
        Probability that d = 0, ..., k neighbours of a row have the label, for rows with the label and for rows
        without it. Each row of the arrays sums to 1.
    posterior_ : ndarray of shape (n_labels, n_neighbors_ + 1), float64
        Probability that a row has the label if d = 0, ..., k of its neighbours have it.
    thresholds_ : ndarray of shape (n_labels,), float64
        Thresholds that `predict` uses: a label is predicted where its posterior is greater. Each is the largest number
        below what ``threshold`` gives, so that equality with that is enough. Numbers that are set
        as ``threshold`` after the fit are used at once; a rule raises an error until the next fit.
    training_rows_ : ndarray or CSR matrix of shape (n_samples, n_features), or None
        Copy of the training rows; None with ``neighbors="precomputed"``. A memory map, or a sparse matrix whose rows
        are all used, is not copied: do not change it while the model is in use.
    training_labels_ : ndarray of shape (n_samples, n_labels), uint8
        Hard labels of all training rows, to which ML-kNN is fitted.

    See Also
    --------
    MLkNN : The supervised classifier, which leaves unlabelled rows out.
    MultiLabelPropagation : Propagation alone, with predictions for new rows.

    Notes
    -----
    Cross-validation splits the rows of X, y and of the arguments ``alpha`` and ``labeled`` of `fit`. It cannot split
    ``graph``; use the parameter ``neighbors`` instead.

    From scikit-learn 1.9 on, callbacks such as ``ProgressBar`` (see ``set_callbacks``) receive the progress of the
    fit: neighbours, iterations of the propagation, and the classifier.

    Examples
    --------
    Two triples of points, one labelled row in each:

    >>> from nmlsdr import SemiSupervisedMLkNN
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> Y = [[1, 0], [-1, -1], [-1, -1], [-1, -1], [0, 1], [-1, -1]]
    >>> model = SemiSupervisedMLkNN(n_neighbors=2, alpha_labeled=0.0).fit(X, Y)
    >>> model.transduction_.tolist()
    [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model.predict([[0.4], [11.4]]).tolist()
    [[1, 0], [0, 1]]
    """

    n_neighbors: int = 10
    _: KW_ONLY
    smoothing: float = 1.0
    threshold: Threshold = 0.5
    at_least_one: bool = False
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, graph: Any = None, alpha: Any = None, labeled: Any = None, **unknown: Any) -> Self:
        """Propagate the labels over the graph of X and count the hard labels among the neighbours.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; finite numbers. float32 and float64 are kept, other types are converted to float64. With
            ``neighbors="precomputed"``: distances between the training rows, of shape (n_samples, n_samples).
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            Labels. 2-D: one column for each label; an entry is 1, 0, unknown (-1, NaN, null or masked), or a vote,
            which is a number between 0 and 1. A row without a known entry is unlabelled. A list of label sets, one
            set for each row, is accepted too. 1-D: the class of each row; -1 or null means unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            Symmetric graph W with weights of 0 or more, over which the labels are propagated instead of the neighbour
            graph of X. ML-kNN still counts the labels of the nearest rows of X.
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
        SemiSupervisedMLkNN
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
        with steps_of_fit(self, X, y) as steps:
            rows = self._check_training_rows(X)
            labels = steps.read_labels(X, y, labeled, rows.shape[0], "votes")
            k = _steps.clip_neighbors(self.n_neighbors, rows.shape[0] - 1)
            order = self._order_of_rows(steps, rows, labels, alpha)
            with steps.task("neighbors"):
                neighbors = self._training_neighbors(steps, rows, k, order)
            W = steps.graph_of(neighbors) if graph is None else check_graph(graph, "graph", n_samples=rows.shape[0])
            propagated = steps.soft_labels(W, labels, alpha)
            with steps.task("classifier"):
                learned = self._count(rows, propagated.F > 0.5, neighbors.indices, labels)
            learned |= neighbors.attributes() | _steps.soft_label_attributes(propagated, labels)
            steps.set_attributes(n_neighbors_=k, _row_order=order, **learned)
        return self
