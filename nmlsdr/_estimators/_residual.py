"""ResidualPropagation: shrunken features, a trend, and its residuals propagated over the learned graph."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .._checks.arguments import check_count, check_real
from .._checks.labels import Labels
from .._moments import RowSums
from .._process.threads import check_n_jobs, single_threaded_blas
from .._ridge import RIDGE_GRID, cross_fit, ridge_regression
from ..graph import transition_matrix, union_graph
from ..propagation import propagate_signed
from ._base import CutsScores, NeighborClassifier, known_to_propagate, shares
from ._callbacks import step
from ._forest import FEWEST_ROWS, forest_seed, grow_forest, score_by_forest
from ._shrinkage import N_SPLITS, ShrunkenProjection, known_part, labeled_part, shrinkage_grid
from ._thresholds import check_threshold, labels_flip_rate, unflipped, warn_never_predicted

__all__ = ["ResidualPropagation"]


def _twice(given: np.ndarray) -> np.ndarray:
    """What holds for each label, for labels and residuals side by side."""
    return np.concatenate([given, given], axis=1) if given.ndim == 2 else given


@dataclass(eq=False, repr=False)
class ResidualPropagation(CutsScores, ShrunkenProjection, NeighborClassifier):
    """Noisy, partial multi-labels, end to end: an embedding, a classifier on it, and a review of the given labels.

    1. Features that depend on the given labels no more than by chance are shrunken.  How strongly, b, is chosen
       together with the strength c of a ridge regression by one five-fold cross-validation on the labelled rows.
    2. `NMLSDR` on the shrunken features gives a linear embedding Z.
    3. The trend G(x) is the mean of two regressions of the labels on the features: that ridge regression, and a forest
       of extremely randomised trees.
    4. The errors of the trend on the labelled rows, R = Y - O with out-of-sample predictions O, are propagated over
       the neighbour graph of Z: (I - A T) E = (I - A) R (eq. 8 of the article, for numbers of either sign, not
       clipped).
    5. The score of a row is s(x) = G(x) + ``residual_weight`` times the mean of E over its k nearest training rows.
    6. The rate of flipped labels is estimated: the share of 1s among the tenth of the given labels with the smallest O.
       Probabilities are the scores corrected by that rate, and a label is predicted where its score reaches the
       cut-off that ``threshold`` names.

    Parameters
    ----------
    n_components : int or None, default=None
        d, at most min(n_labels, n_features, n_samples - 1); None: as many as the numerical rank allows.
    shrinkage : "cv" or float, default="cv"
        b in [0, 1]; "cv": 0, 1/2 or 1 by cross-validation.
    ridge : float or tuple of float, default=(0.3, 1, 3, 10, 30)
        c, or the c to choose from; each above 0.
    n_neighbors : int, default=10
        k of both graphs and of the prediction; clipped with a warning to n_samples - 1.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Of both graphs and the prediction; "cosine": by the angle between rows, as if each were divided by its norm.
    alpha_labeled : float or pair of float, default=0.6
        alpha of the given labels, in [0, 1), in both propagations; 0 keeps given labels and residuals.  A pair is
        for given 0s and given 1s, as in `NMLSDR`.
    alpha_unlabeled : float, default=0.999
        alpha of what is not known, in [0, 1).
    neighbors : "exact" or transformer, default="exact"
        A transformer whose ``fit_transform`` gives a CSR matrix of distances proposes the neighbours of both graphs.
    n_estimators : int, default=100
        Trees of the forest; 0: no forest, the trend is the ridge regression alone.  More trees take longer and change
        the scores less and less.  With fewer than 6 labelled rows there is no forest.
    residual_weight : float, default=0.5
        How much the propagated errors count, in [0, 1]; 0 leaves them out.  At 1 decisions at a threshold of 1/2 find
        more labels; at 1/2 the labels of a row are ranked better.
    threshold : "f1", "prior", float or array-like of shape (n_labels,), default="f1"
        `predict` gives a label where s(x) is at least its cut-off; a larger cut-off predicts fewer labels.  "f1": one
        cut-off for all labels, half of the best F1 (over all labels together) that the scores of the labelled rows
        promise, which finds rare labels and predicts more labels than 1/2.  "prior": each label is predicted for as
        large a share of the training rows as have it, after a correction for flipped labels; or for fewer rows, where
        many rows have equal scores.  A number in [0, 1], or one for each label, is the cut-off itself.  Not used for
        1-D y.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the folds and of the forest; with None each fit draws others, and its predictions differ a little.
    n_jobs : int or None, default=None
        Threads; None: all that are allowed.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        The embedding is X components_' - mean_ components_'.
    shrinkage_ : float
        b as used.
    ridge_ : float
        c as used.
    feature_weights_ : ndarray of shape (n_features,)
        w = 1 - b (1 - kappa).
    coef_ : ndarray of shape (n_labels, n_features), float64
        The ridge regression predicts coef_ x + intercept_.
    intercept_ : ndarray of shape (n_labels,), float64
    forest_ : ExtraTreesRegressor or None
        The forest of the trend.
    flip_rate_ : float
        Estimated probability that a given label is flipped, from 0 to .3; 0 for 1-D y.  It is too large where the
        features say little about the labels, or where every label is frequent.
    n_labeled_ : int
        l, the number of labelled rows.
    embedding_ : ndarray of shape (n_samples, d)
        Z of the training rows.
    residuals_ : ndarray of shape (n_samples, n_labels), float64
        E, the propagated errors of the trend.
    thresholds_ : ndarray of shape (n_labels,), float64
        A label is predicted where s(x) is above this: the largest float below its cut-off.
    flip_scores_ : ndarray of shape (n_samples, n_labels), float64
        How far the other rows contradict a given label, in [0, 1]; 0 on unknown entries.  With
        u = ((TF) + clip(O + residual_weight (TE), 0, 1)) / 2, F the labels propagated over the graph of Z: 1 - u where
        the given label is 1, u where it is 0.  Rank given 0s alone where labels were forgotten: a list that mixes them
        with given 1s shows the rare true ones first.
    label_distributions_ : ndarray of shape (n_samples, n_labels)
        F of `NMLSDR`, with the graph of the shrunken features, as the next two.
    transduction_ : ndarray of shape (n_samples, n_labels), int, or (n_samples,)
    label_flips_ : ndarray of shape (n_samples, n_labels), bool
    eigenvalues_, dependence_ratio_ : ndarray of shape (d,)
        As in `NMLSDR`, like the next lines.
    effective_rank_ : int
    mean_ : ndarray of shape (n_features,)
    n_neighbors_, n_iter_, residual_, n_unreached_, propagation_solver_
    classes_ : list of ndarray, or ndarray
        [0, 1] for each label; for 1-D y the classes.
    label_names_in_ : ndarray of shape (n_labels,)
        Only if y is a data frame or holds label sets.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
    neighbors_ : transformer
        The transformer fitted on Z, if ``neighbors`` is one.

    See Also
    --------
    NMLSDR : The article's projection.
    SemiSupervisedMLkNN : The article's classifier on it.

    Notes
    -----
    Standardise X first.  Residual propagation: Jia and Benson, KDD 2020; Huang, He, Singh, Lim and Benson, "Combining
    label propagation and simple models out-performs graph neural networks", ICLR 2021, here with residuals out of
    fold, so that they are those of new rows, over a graph learned from the labels.  Screening before projecting: Bair,
    Hastie, Paul and Tibshirani, JASA 101, 2006; Barshan, Ghodsi, Azimifar and Jahromi, Pattern Recognition 44, 2011.
    Model and neighbours together for multi-labels: Cheng and Huellermeier, Machine Learning 76, 2009.

    A training row given to `predict` counts itself among its neighbours, as any row would.

    The graphs have binary edges, and eq. (8) is solved to 1e-8 with the solver that `NMLSDR` chooses by default; the
    settings for these are parameters of `NMLSDR`.

    From scikit-learn 1.9 on, its callbacks (``set_callbacks``) are told folds, neighbours and sweeps of both
    propagations, and the projection.

    Examples
    --------
    Two groups; row 3 of the first carries a wrong label, the last row of the second has none.

    >>> import numpy as np
    >>> from nmlsdr import ResidualPropagation
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2]]
    >>> y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [-1, -1]]
    >>> model = ResidualPropagation(n_neighbors=2).fit(X, y)
    >>> model.predict([[0.25], [5.15]])
    array([[1, 0],
           [0, 1]])
    >>> [int(row) for row in np.argsort(-model.flip_scores_[:, 0])[:1]]  # the annotation to review first
    [3]
    """

    # The article's inner settings: parameters of `NMLSDR`, constants here.
    edge_weights = "binary"
    sigma = None
    propagation_solver = "auto"
    eigen_solver = "auto"
    tol = 1e-8
    max_iter = None

    n_components: int | None = None
    _: KW_ONLY
    shrinkage: float | str = "cv"
    ridge: float | tuple[float, ...] = RIDGE_GRID
    n_neighbors: int = 10
    metric: str = "euclidean"
    alpha_labeled: float | tuple[float, float] = 0.6
    alpha_unlabeled: float = 0.999
    neighbors: Any = "exact"
    n_estimators: int = 100
    residual_weight: float = 0.5
    threshold: Any = "f1"
    random_state: Any = 0
    n_jobs: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.two_d_labels = False  # it takes classes as well
        return tags

    def fit(self, X: Any, y: Any, *, graph: Any = None, alpha: Any = None, labeled: Any = None) -> Self:
        """Learn the embedding, the trend and the residuals.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array-like of shape (n_samples,)
            1, 0 or not known (-1, NaN, null, masked), and votes between; or a list of label sets.  1-D: classes,
            -1 or null is unlabelled.
        graph : sparse matrix of shape (n_samples, n_samples), default=None
            A symmetric graph W instead of the neighbours of the shrunken rows; the graph of the embedding is always
            that of its neighbours.
        alpha : float or array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            In [0, 1), for every row or entry, instead of ``alpha_labeled`` and ``alpha_unlabeled``.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            What is known, instead of -1; for sparse y, which cannot hold rows of -1 cheaply.

        Returns
        -------
        ResidualPropagation
            Itself.

        Raises
        ------
        ValueError
            For labels against the rule, a graph that is not symmetric, parameters out of range, or non-finite X.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If a propagation did not reach ``tol``.
        UserWarning
            If a component of a graph holds no labelled row, or if labels are predicted for no training row.
        """
        return self._fit(X, y, graph, alpha, labeled)

    def _n_steps(self) -> int:
        return super()._n_steps() + 4

    def _learn(self, rows: Any, labels: Labels, graph: Any, alpha: Any) -> None:
        check_threshold(self.threshold)
        check_count(self.n_estimators, "n_estimators", least=0)
        weight = check_real(self.residual_weight, "residual_weight", 0.0, 1.0)
        given = labeled_part(rows, labels)
        with step(self, "cross-validation", "fold", N_SPLITS) as fold_done:
            chosen = cross_fit(
                *given,
                shrinkage=shrinkage_grid(self.shrinkage),
                ridge=self.ridge,
                n_splits=N_SPLITS,
                random_state=self.random_state,
                known=known_part(labels),
                callback=fold_done,
            )
        self.ridge_ = chosen.ridge
        self._keep_weights(rows, labels, chosen.shrinkage)
        self._project(rows, labels, graph, alpha)
        self.coef_, self.intercept_ = ridge_regression(
            *given, self.ridge_, feature_weights=self.feature_weights_, known=known_part(labels)
        )
        known = labels.labeled
        O = self._grow_forest(given[0], labels, chosen.predictions)
        self.n_labeled_ = len(O)
        self.flip_rate_ = labels_flip_rate(O, labels)
        self.embedding_ = self._embed(rows)
        F, T = self._propagate_residuals(labels, O, alpha)
        E = self.residuals_
        others = O + weight * (T @ E)  # the score of each labelled row without its own label
        opinion = 0.5 * (T @ F + np.clip(others, 0.0, 1.0))
        self.flip_scores_ = np.zeros(labels.Y.shape)
        self.flip_scores_[known] = np.where(labels.Y[known] > 0.5, 1.0 - opinion, opinion)
        self.flip_scores_[~labels.known | (labels.Y == 0.5)] = 0.0  # a vote that says neither cannot be wrong

        def all_scores() -> np.ndarray:
            trend = self._trend(rows)
            trend[known] = O
            return np.clip(trend + weight * E, 0.0, 1.0)

        self._learn_cutoffs(labels, all_scores, lambda: others, self.flip_rate_)
        if not labels.single:
            advice = (
                "no score tells the rows that have them, so label more rows that do"
                if isinstance(self.threshold, str)
                else 'threshold="f1" lowers the bar for rare labels'
            )
            warn_never_predicted(np.any(O + weight * E[known] > self.thresholds_, axis=0), advice, stacklevel=4)

    def _grow_forest(self, rows: Any, labels: Labels, O: np.ndarray) -> np.ndarray:
        """Fit forest_ to the labelled rows; return their out-of-sample trend from that of the ridge regression.

        The forest takes the ridge regression's predictions for the unknown entries of a labelled row.
        """
        self.forest_ = None
        if self.n_estimators == 0 or len(O) < FEWEST_ROWS:
            return O
        with step(self, "forest"):
            self.forest_, predictions, left_out = grow_forest(
                self._rows_of_forest(rows),
                np.where(labels.known[labels.labeled], labels.Y[labels.labeled], O),
                n_estimators=self.n_estimators,
                random_state=forest_seed(self.random_state),
                n_jobs=check_n_jobs(self.n_jobs),
            )
        return np.where(left_out[:, None], 0.5 * (O + predictions), O)

    def _rows_of_forest(self, rows: Any) -> Any:
        """The labelled rows, in memory."""
        return rows

    def _propagate_residuals(self, labels: Labels, O: np.ndarray, alpha: Any) -> tuple[np.ndarray, Any]:
        """E of Y - O, kept, and F of Y, over the graph of the embedding: one solve for both.

        With F come the rows of T that are labelled.
        """
        with step(self, "neighbors in the embedding"):
            _, indices = self._neighbors_of_rows(self.embedding_, self.n_neighbors_)
            graph = union_graph(indices, n_jobs=self.n_jobs)
        n_labels = labels.Y.shape[1]
        R = np.zeros((len(labels.Y), 2 * n_labels))
        R[:, :n_labels] = labels.Y
        R[labels.labeled, n_labels:] = np.where(labels.known[labels.labeled], labels.Y[labels.labeled] - O, 0.0)
        with step(self, "propagation of residuals", "sweep", None) as swept:
            found = propagate_signed(
                graph,
                R,
                _twice(self._trust(labels, alpha)),
                labeled=_twice(known_to_propagate(labels)),
                solver=self.propagation_solver,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=swept,
                n_jobs=self.n_jobs,
            )
        self.residuals_ = np.ascontiguousarray(found.F[:, n_labels:])
        T = transition_matrix(graph, n_jobs=self.n_jobs)[labels.labeled]
        return np.clip(found.F[:, :n_labels], 0.0, 1.0), T

    # ---------------------------------------------------------------- new rows

    def _embed(self, rows: Any) -> Any:
        with single_threaded_blas():
            Z = RowSums.of(rows, checked=True).project(self.components_.T.astype(np.float64), self.mean_)
        return Z.astype(np.result_type(rows.dtype, self.components_.dtype), copy=False)

    def _trend(self, rows: Any) -> Any:
        """G of rows; the ridge regression's part about the mean, so that a large offset of X costs no digits."""
        with single_threaded_blas():
            scores = RowSums.of(rows, checked=True).project(self.coef_.T, self.mean_)
        scores = scores + (self.coef_ @ self.mean_ + self.intercept_)
        return scores if self.forest_ is None else 0.5 * (scores + self._score_by_forest(rows))

    def _score_by_forest(self, rows: Any) -> Any:
        return score_by_forest(self.forest_, rows, len(self.coef_), check_n_jobs(self.n_jobs))

    def _searched_rows(self) -> np.ndarray:
        return self.embedding_

    def _score_neighbors(self, indices: np.ndarray) -> np.ndarray:
        total = np.zeros((len(indices), self.residuals_.shape[1]))
        for nearest in indices.T:  # in the order of the neighbours: the same bits for any block
            total += self.residuals_[nearest]
        return total / indices.shape[1]

    def _score_rows(self, rows: Any) -> np.ndarray:
        residuals = self._score_neighbors(self._nearest(self._embed(rows)))
        return self._trend(rows) + self.residual_weight * residuals

    def _choose(self, scores: np.ndarray) -> np.ndarray:
        return np.argmax(scores, axis=1)

    def _to_probabilities(self, scores: np.ndarray) -> np.ndarray:
        least = 0.5 / self.n_labeled_
        p = np.clip(unflipped(scores, self.flip_rate_), least, 1.0 - least)
        return p if self._is_multi_label() else shares(p)

    def _rank_scores(self, X: Any) -> Any:
        """s(x), which does not depend on ``threshold``."""
        return self._gather(X, self._to_scores)

    def _to_scores(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def decision_function(self, X: Any) -> Any:
        """Scores minus the cut-offs: above 0 where `predict` gives the label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), float64
            s(x) - ``thresholds_``.  After a fit on 1-D y the scores themselves, one column for each class, or for two
            classes (n_samples,), the score of the second minus that of the first.

        Raises
        ------
        ValueError
            For non-finite values or another number of features than in ``fit``.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Notes
        -----
        With ``threshold="prior"`` or one threshold for each label these numbers do not rank the labels of a row as the
        scores do; `nmlsdr.model_selection.SCORERS` and the commands rank by the scores before the cut-offs, which are
        ``decision_function(X) + thresholds_``.
        """
        return self._gather(X, self._to_decision)

    def _to_decision(self, scores: np.ndarray) -> np.ndarray:
        if self._is_multi_label():
            return scores - self._cutoffs()
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
