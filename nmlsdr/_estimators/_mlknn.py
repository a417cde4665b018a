"""ML-kNN as classifiers: supervised, and semi-supervised by propagating the labels first."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .. import mlknn
from .._checks.arguments import check_graph, check_metric
from .._checks.labels import Labels, check_binary
from .._errors import InputError
from .._search import choose_stored
from ._base import (
    CutsScores,
    NeighborClassifier,
    PropagatesLabels,
    clip_neighbors,
)
from ._callbacks import step, steps_of_fit
from ._thresholds import check_threshold, warn_never_predicted

__all__ = ["MLkNN", "SemiSupervisedMLkNN"]


class _CountsNeighborLabels(CutsScores, NeighborClassifier):
    """What follows once every training row has labels: counts, posteriors, predictions."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _is_precomputed(self) -> bool:
        return isinstance(self.neighbors, str) and self.neighbors == "precomputed"

    def _read_training_rows(self, X: Any) -> Any:
        check_threshold(self.threshold)
        if not isinstance(self.at_least_one, (bool, np.bool_)):
            raise InputError(f"at_least_one must be True or False, got {self.at_least_one!r}.")
        if check_metric(self.metric) != "euclidean" and self._is_precomputed():
            raise InputError(
                f'neighbors="precomputed" takes the given distances as they are, got metric={self.metric!r}; leave '
                "metric out."
            )
        rows = self._read_rows(X, reset=True)
        if self._is_precomputed() and rows.shape[0] != rows.shape[1]:
            raise InputError(
                f'With neighbors="precomputed" X must be a square matrix of distances, got shape {rows.shape}; '
                "pass the neighbour graph of the training rows."
            )
        return rows

    def _training_neighbors(self, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        if self._is_precomputed():
            return choose_stored(rows, k, drop_diagonal=True)
        return self._neighbors_of_rows(rows, k)

    def _learn(self, rows: Any, Y: np.ndarray, indices: np.ndarray, labels: Labels) -> None:
        table = mlknn.fit_posterior(Y, indices, smoothing=self.smoothing, n_jobs=self.n_jobs)
        self.training_rows_ = None if self._is_precomputed() else self._as_attribute(rows)
        self.training_labels_ = check_binary(Y)
        self.prior_ = table.prior
        self.likelihoods_with_label_ = table.with_label
        self.likelihoods_without_label_ = table.without_label
        self.posterior_ = table.posterior
        self._learn_cutoffs(
            labels,
            lambda: self._score_neighbors(indices),  # no row is its own neighbour
            lambda: self._score_neighbors(indices[labels.labeled] if len(indices) == len(labels.Y) else indices),
        )
        if not (labels.single or self.at_least_one):
            predicted = np.any(self.posterior_ > self.thresholds_[:, None], axis=1)
            warn_never_predicted(predicted, 'threshold="f1" lowers the bar for rare labels', stacklevel=3)

    def _nearest(self, rows: Any) -> np.ndarray:
        if self._is_precomputed():
            return choose_stored(rows[:, self._columns()], self.n_neighbors_, drop_diagonal=False)[1]
        return super()._nearest(rows)

    def _columns(self) -> Any:
        """Which columns of a precomputed matrix are training rows: all, unless some were not labelled."""
        return slice(None)

    def _score_neighbors(self, indices: np.ndarray) -> np.ndarray:
        likelihoods = self.likelihoods_with_label_, self.likelihoods_without_label_
        table = mlknn.PosteriorTable(self.prior_, *likelihoods, self.posterior_)
        return mlknn.posterior(table, self.training_labels_, indices, n_jobs=self.n_jobs)

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        labels = super()._decide(scores)
        if self.at_least_one:  # the first of equals
            empty = np.flatnonzero(~labels.any(axis=1))
            labels[empty, np.argmax(scores[empty], axis=1)] = True
        return labels


@dataclass(eq=False, repr=False)
class MLkNN(_CountsNeighborLabels):
    """Multi-label k-nearest-neighbour classifier (Zhang & Zhou, Pattern Recognition 40, 2007).

    For every label: a prior, and how often rows with and without the label have d neighbours that
    carry it, give the posterior by Bayes' rule.  A row is never its own neighbour while the counts
    are learned.  Equal to the authors' program to the last bit.

    Parameters
    ----------
    n_neighbors : int, default=10
        k.  Clipped with a warning to the number of labelled rows - 1; what was used is ``n_neighbors_``.
    smoothing : float, default=1.0
        s > 0, added to every count; 1 is Laplace's rule.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine": neighbours by the angle between rows, as if each were divided by its norm; a row of zeros is at
        distance 1 = 1 - cos from every row.
    neighbors : "exact", "precomputed" or transformer, default="exact"
        "exact": by ``metric``, ties by row index.  A transformer whose ``fit_transform`` gives a CSR matrix
        of distances (scikit-learn's ``KNeighborsTransformer``, pynndescent, ...) proposes candidates, and
        the nearest k of them are used; most count a row as its own neighbour, so ask it for k + 1.
        "precomputed": X is such a matrix, or a dense one, of distances to the training rows: in a
        pipeline, one search then serves several classifiers (see Examples).
    threshold : float, "f1", "prior" or array-like of shape (n_labels,), default=0.5
        `predict` gives a label when its posterior is at least this, equal included, as the authors' program does; an
        array has one cut-off for each label.  A larger value predicts fewer labels.  Two rules learn the cut-offs from
        the posteriors of the training rows, each left out of its own neighbours: "f1" takes one cut-off for all labels,
        half of the best F1 that the posteriors promise; "prior" predicts each label for as large a share of the
        training rows as have it, after a correction for flipped labels (or fewer, where many rows have equal
        posteriors).  Not used for 1-D y.
    at_least_one : bool, default=False
        `predict` gives a row that would get no label the one with the highest posterior, the first of equals.
    n_jobs : int, default=None
        Threads; None for all cores.  The answer does not depend on it.

    Attributes
    ----------
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; the classes after a fit on 1-D y.
    label_names_in_ : ndarray of str
        Column names, if y was a data frame, or the names in its label sets.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Column names, if X was a data frame.
    n_neighbors_ : int
        k as used.
    prior_ : ndarray of shape (n_labels,)
    likelihoods_with_label_, likelihoods_without_label_ : ndarray of shape (n_labels, n_neighbors_ + 1)
        P(d | label) and P(d | no label): how likely a row with the label, and one without it, has d = 0 .. k
        neighbours that carry it.
    posterior_ : ndarray of shape (n_labels, n_neighbors_ + 1)
        P(label | d neighbours carry it).
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted where its posterior is above this: the largest float below its cut-off.
    training_rows_ : ndarray or CSR matrix of shape (n_labeled, n_features), or None
        A copy of the labelled rows; None with ``neighbors="precomputed"``.  A memory map or a sparse matrix whose
        rows are all labelled is not copied: do not change it while the model is used.
    training_labels_ : ndarray of shape (n_labeled, n_labels), uint8
    labeled_rows_ : ndarray of shape (n_labeled,), intp
        Which rows of the X given to ``fit`` were labelled.
    neighbors_ : transformer
        The fitted transformer, if ``neighbors`` is one.

    See Also
    --------
    SemiSupervisedMLkNN : Labels the unlabelled rows first.
    nmlsdr.mlknn : The formulas, on arrays.

    Notes
    -----
    Unlabelled rows (a row of -1, or ``labeled=False``) are dropped.  Counting and the posterior take a few
    percent of the neighbour search.

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
    smoothing: float = 1.0
    metric: str = "euclidean"
    neighbors: Any = "exact"
    threshold: Any = 0.5
    at_least_one: bool = False
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, labeled: Any = None) -> Self:
        """Count labels among neighbours.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With ``neighbors="precomputed"``: distances (n_samples, n_samples).
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            0/1, a row of -1, NaN or null is unlabelled; or a list of label sets.  1-D: classes, -1 or null is
            unlabelled.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known; for sparse y, which cannot hold rows of -1 cheaply.

        Returns
        -------
        MLkNN
            Itself.

        Raises
        ------
        ValueError
            For labels against the rule, fewer than two labelled rows, smoothing <= 0, or non-finite X.
        """
        rows = self._read_training_rows(X)
        labels = self._read_labels(X, y, rows, labeled)
        kept = np.flatnonzero(labels.labeled)
        _refuse_one_sample(self, len(kept))
        Y = labels.Y
        if len(kept) < rows.shape[0]:
            rows, Y = rows[kept], Y[kept]
            if self._is_precomputed():
                rows = rows[:, kept]
        k = clip_neighbors(self, len(kept) - 1)
        _, indices = self._training_neighbors(rows, k)
        self.n_neighbors_ = k
        self._learn(rows, Y, indices, labels)
        self.labeled_rows_ = kept
        return self

    def _columns(self) -> Any:
        everything = len(self.labeled_rows_) == self.n_features_in_
        return slice(None) if everything else self.labeled_rows_


def _refuse_one_sample(estimator: Any, n_samples: int) -> None:
    if n_samples < 2:
        raise InputError(
            f"{type(estimator).__name__} needs at least 2 labelled rows, got n_samples = {n_samples}; "
            "a row is never its own neighbour."
        )


@dataclass(eq=False, repr=False)
class SemiSupervisedMLkNN(PropagatesLabels, _CountsNeighborLabels):
    """Semi-supervised ML-kNN (article, section 3.4): propagate the labels, then ML-kNN on hard labels of all rows.

    Labels are propagated over the neighbour graph of X, usually an embedding by `NMLSDR`, with noisy
    labels corrected on the way; the hard labels 1[F > 0.5] of all rows then train ML-kNN.  One neighbour
    search serves both steps.

    Parameters
    ----------
    n_neighbors : int, default=10
        k of the graph and of ML-kNN.  Clipped with a warning to n_samples - 1.
    smoothing : float, default=1.0
        s > 0, added to every count of ML-kNN.
    edge_weights : {"binary", "rbf"}, default="binary"
        Edge weights of the graph, eq. (3) or eq. (2).
    sigma : float, default=None
        Width of "rbf" in the units of X; None: the median distance to the k-th neighbour.
    metric : {"euclidean", "cosine"}, default="euclidean"
        As in `MLkNN`; in "rbf" too.
    alpha_labeled : float or pair of float, default=0.6
        How much a given label listens to its neighbours, in [0, 1); 0 keeps it; a pair is for given 0s and 1s.
    alpha_unlabeled : float, default=0.999
        The same for what is not known.
    neighbors : "exact", "precomputed" or transformer, default="exact"
        As in `MLkNN`.
    propagation_solver : {"auto", "cg", "lu", "fixed_point"}, default="auto"
        Solver of eq. (8).
    tol : float, default=1e-8
        Largest residual of eq. (8).
    max_iter : int, default=None
        Iterations of the propagation; None: enough for ``tol``.
    threshold : float, "f1", "prior" or array-like of shape (n_labels,), default=0.5
        `predict` gives a label when its posterior is at least this, equal included, as the authors' program does; an
        array has one cut-off for each label.  A larger value predicts fewer labels.  Two rules learn the cut-offs from
        the posteriors of the training rows, each left out of its own neighbours: "f1" takes one cut-off for all labels,
        half of the best F1 that the posteriors promise; "prior" predicts each label for as large a share of the
        training rows as have it, after a correction for flipped labels (or fewer, where many rows have equal
        posteriors).  Not used for 1-D y.
    at_least_one : bool, default=False
        `predict` gives a row that would get no label the one with the highest posterior, the first of equals.
    n_jobs : int, default=None
        Threads; None for all cores.  The answer does not depend on it.

    Attributes
    ----------
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        Soft labels F of the training rows, in [0, 1].
    transduction_ : ndarray of shape (n_samples, n_labels), int, or (n_samples,)
        Hard labels 1[F > 0.5]; after a fit on 1-D y the class with the largest F.
    label_flips_ : ndarray of shape (n_samples, n_labels), bool
        Given labels that the hard labels contradict; False on unknown entries and on votes of 1/2.
    flip_scores_ : ndarray of shape (n_samples, n_labels), float64
        |F - Y|, in [0, 1]: the likeliest wrong annotations have the largest; 0 on unknown entries.
    n_iter_ : int
        Iterations of the propagation, at least 1.
    residual_ : float
    n_unreached_ : int
        Rows that no labelled row reaches; their F is 0.
    propagation_solver_ : str
    classes_, label_names_in_, n_features_in_, feature_names_in_, n_neighbors_, neighbors_
        As in `MLkNN`.
    prior_, likelihoods_with_label_, likelihoods_without_label_, posterior_, thresholds_
        As in `MLkNN`, learned from the hard labels of all rows.
    training_rows_, training_labels_
        As in `MLkNN`, of all rows.

    See Also
    --------
    MLkNN : The supervised classifier.

    Notes
    -----
    From scikit-learn 1.9 on, its callbacks (``set_callbacks``) are told neighbours, sweeps of the propagation, and the
    classifier.

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
    at_least_one: bool = False
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, graph: Any = None, alpha: Any = None, labeled: Any = None) -> Self:
        """Propagate the labels over the graph of X and count hard labels among neighbours.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With ``neighbors="precomputed"``: distances (n_samples, n_samples).
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            1, 0 or not known (-1, NaN, null, masked), and votes between; or a list of label sets.  1-D: classes,
            -1 or null is unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            Symmetric graph to propagate over instead of the neighbour graph; ML-kNN still counts the
            neighbours of X.
        alpha : float or array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            Replaces ``alpha_labeled`` and ``alpha_unlabeled``.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known; for sparse y, which cannot hold rows of -1 cheaply.

        Returns
        -------
        SemiSupervisedMLkNN
            Itself.

        Raises
        ------
        ValueError
            For labels against the rule, a graph that is not symmetric, parameters out of range, or
            non-finite X.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the propagation did not reach ``tol``.
        """
        with steps_of_fit(self, X, y):
            rows = self._read_training_rows(X)
            n_samples = rows.shape[0]
            labels = self._read_labels(X, y, rows, labeled)
            _refuse_one_sample(self, n_samples)
            self.n_neighbors_ = clip_neighbors(self, n_samples - 1)
            with step(self, "neighbors"):
                squared, indices = self._training_neighbors(rows, self.n_neighbors_)
            if graph is None:
                W = self._graph_of_lists(squared, indices)
            else:
                W = check_graph(graph, "graph", n_samples=n_samples)
            F = self._propagate(W, labels, alpha)
            with step(self, "classifier"):
                self._learn(rows, F > 0.5, indices, labels)
        return self
