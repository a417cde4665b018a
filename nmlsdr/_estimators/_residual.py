"""ResidualPropagation: shrunken features, a trend of several learners, and its residuals propagated over two graphs."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _thresholds as thresholds
from .._checks.arguments import Metric, Threshold, check_count, check_real, refuse_weights
from .._checks.labels import Labels
from .._group_folds import check_groups
from .._ridge import RIDGE_GRID
from ._callbacks import steps_of_fit
from ._classifier import NeighborClassifier, shares
from ._learners import TreesLearner, ridge_scores, share_of_errors, trend_scores
from ._prepared import neighbors_of_queries, to_step
from ._projection import Projection
from ._residual_pass import RESIDUAL_GRAPHS, embed, fit_pass, pass_attributes, residual_neighbors, training_passes
from ._shrinkage import shrinkage_grid
from ._sklearn_bases import CallbackSupportMixin
from ._steps import hard_labels


@dataclass(eq=False, repr=False)
class ResidualPropagation(CallbackSupportMixin, Projection, NeighborClassifier):
    """Embedding, classifier and label review for noisy, partly known multi-labels.

    Most users set at most five parameters: ``n_components``, ``threshold``, ``n_neighbors``, ``n_estimators`` and
    ``n_jobs``. After ``fit``, `predict`, `predict_proba` and `transform` take new rows, and six attributes are for use:
    ``flip_scores_`` (how doubtful each observed label is), ``flip_rate_``, ``thresholds_``, ``label_names_in_``,
    ``embedding_`` and ``dependence_ratio_``. The Notes say what a fit does.

    Parameters
    ----------
    n_components : int or None, default=None
        Number d of directions to keep, at most min(n_labels, n_features, n_samples - 1). None: as many as the
        numerical rank of the eigenproblem allows.
    threshold : "f1", "macro", "prior", float or array-like of shape (n_labels,), default="f1"
        Threshold of the scores: `predict` gives a label where s(x) is at least the threshold. A larger value predicts
        fewer labels. "f1": one threshold for all labels, at most 1/2. It has the best expected F1 of all entries
        together, by the scores of the labelled rows without their own labels. "macro": the same for each label alone,
        so that rare labels are predicted more often, in fact more often than they are true. "prior": one threshold for
        each label, so that as large a share of these scores reaches it as rows have the label, after a correction for
        flipped labels. Where many scores are equal, the share may be smaller, or up to twice as large (or 5 rows more).
        "macro" and "prior" never predict a label that no row is known to have. A number in [0, 1], or one for each
        label, is the threshold itself. Not used for 1-D y.
    n_neighbors : int, default=10
        Number of neighbours k of each row, at least 1. A larger value averages over more rows, so that single wrong
        labels count less, but it blurs small groups. If there are only k rows to search, or fewer, k is lowered to
        their number minus 1, with a warning. The embedding is learned from a graph of k neighbours. Residuals are
        propagated over graphs of 2 k, and a prediction takes the 2 k nearest training rows; at most n_samples - 1.
    n_estimators : int, default=100
        Number of trees in each forest. More trees take longer and give more stable scores, with less and less effect.
        With 0, or with fewer than 6 labelled rows, there are no trees at all, and the trend is the ridge regression
        (beyond 1000 labelled rows also through its link and with the Newton step).
        Boosting, beyond 1000 labelled rows, takes at most 5 times as many rounds; it usually ends earlier, because its
        error no longer falls, or because it stays behind the linear learners.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the ridge regression's folds and of all trees. It is 0 where scikit-learn has None, so that a fit can be
        repeated. What it draws goes to rows by their content, so that another order of the rows gives the same model.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.
    metric : str, default="euclidean"
        Distance between rows: one of those that `nmlsdr.graph.kneighbors` defines.
    alpha_labeled : float or pair of float, default=0.6
        alpha of the given labels, in [0, 1): the share that the neighbours have in the soft label of an entry, while
        the given label has the share 1 - alpha. 0 keeps the given labels as they are; a larger value lets the
        neighbours correct more of them. A pair (A0, A1) holds the alpha of given 0s and of given 1s: (0.9, 0.1) suits
        data whose 1s are right but incomplete. A vote v between 0 and 1 has alpha (1 - v) A0 + v A1. In this
        class the thresholds make up for forgotten labels, so that one number is better even then.
    alpha_unlabeled : float, default=0.999
        alpha of unlabelled rows and unknown entries, in [0, 1). A larger value spreads labels further through the
        graph; a smaller one pulls the soft labels of rows far from every labelled row towards 0.
    neighbors : "exact" or transformer, default="exact"
        How neighbours are found. "exact": an exact search by ``metric``; which of equally distant rows
        come first does not depend on the order of the rows. A transformer such as scikit-learn's
        ``KNeighborsTransformer`` or pynndescent's, whose
        ``fit_transform`` returns a CSR matrix of distances, proposes candidates, and the nearest k of them by
        ``metric`` are used. Most transformers count a row as its own neighbour; give these k + 1 neighbours. Here
        k is 2 ``n_neighbors``.
    shrinkage : "cv" or float, default="cv"
        Strength b of the shrinkage of features, in [0, 1]. The graph and the projection see the square of feature j
        multiplied by w_j = 1 - b (1 - kappa_j), where kappa_j estimates which share of its dependence on the given
        labels is not due to chance (`nmlsdr.projection.feature_weights`). A larger value suppresses uninformative
        features more. 0 leaves the features as they are. "cv" chooses among 0, 1/2 and 1 by five-fold
        cross-validation of the ridge regression on the labelled rows.
    ridge : float or tuple of float, default=(0.3, 1, 3, 10, 30)
        Strength c of the ridge penalty, above 0, relative to the mean squared length of the centred, shrunken rows. A
        larger value gives smaller coefficients. If several values are given, five-fold cross-validation on the
        labelled rows chooses one of them.
    residual_weight : float, default=0.75
        Weight of the propagated errors E in the scores, in [0, 1]; multiplied by (1000 / l)^(1/4) if there
        are l > 1000 labelled rows.

    Attributes
    ----------
    flip_scores_ : ndarray of shape (n_samples, n_labels), float64
        How much the other rows contradict each given label, in [0, 1]; 0 at unknown entries. The larger the score,
        the more likely the given label is wrong. Let V = O + residual_weight times the mean of T E over the two graphs:
        the score of a labelled row, computed without its own label. With u = V clipped to [0, 1], the score is 1 - u
        where the given label is 1, and u where it is 0.
    flip_rate_ : float
        Estimated probability that an entry that is truly 0 was given as 1, from 0 to 0.3; 0 for 1-D y. It is the flip
        rate if 0s and 1s are flipped equally often; forgotten labels do not show in it (see
        `nmlsdr.inspection.estimate_mistakes`). The estimate is too large where the features say little about the
        labels, or where every label is frequent.
    thresholds_ : ndarray of shape (n_labels,), float64
        Thresholds that `predict` uses: a label is predicted where s(x) is greater. Each is the next smaller float of
        the number that ``threshold`` gives, so that a score equal to that number predicts the label. Numbers can be set
        as ``threshold`` after the fit; a rule needs another fit.
    label_names_in_ : ndarray of shape (n_labels,), str
        Names of the labels. Defined only if y is a data frame or a list of label sets.
    embedding_ : ndarray of shape (n_samples, d)
        Embedding Z of the training rows, in the dtype of X; rounded, so that ties do not depend on the storage of X.
    dependence_ratio_ : ndarray of shape (d,), float64
        Share of each direction in the total dependence, which is the sum of all eigenvalues.
    classes_ : list of ndarray, or ndarray of shape (n_classes,)
        One array [0, 1] for each label; after a fit on 1-D y the sorted classes.
    components_ : ndarray of shape (d, n_features)
        The projection P', one direction in each row, in the dtype of X. `transform` returns (X - mean_) P. The rows
        are orthonormal without shrinkage; with it, they are orthonormal directions whose entries are multiplied by
        the square roots of ``feature_weights_``. The sign of each row makes its entry of largest magnitude, before
        that multiplication, positive.
    coef_ : ndarray of shape (n_labels, n_features), float64
        Coefficients of the ridge regression, which predicts coef_ x + intercept_ for a row x.
    intercept_ : ndarray of shape (n_labels,), float64
        Intercepts of the ridge regression.
    forests_ : list of Forest and BoostedTrees
        The forests of the trend as arrays, with ``feature_importances_``: extremely randomised trees, a random forest,
        and beyond 1000 labelled rows boosted trees. `nmlsdr.forest.to_sklearn` makes a forest of scikit-learn of each.
    n_labeled_ : int
        Number of labelled rows.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,), str
        Names of the features. Defined only if X is a data frame whose column names are all strings.
    eigenvalues_ : ndarray of shape (d,), float64
        Dependence of the soft labels on the rows along each direction (eq. 13-14), in decreasing order.
    shrinkage_ : float
        Shrinkage b that was used.
    feature_weights_ : ndarray of shape (n_features,), float64
        Weights w of the squared features, in [0, 1]; all 1 without shrinkage.
    ridge_ : float
        Strength c of the ridge penalty that was used.
    learners_ : list of learners
        The fitted learners of the trend, the ridge regression first. Each has a ``name``, and ``scores`` for new rows.
    learner_weights_ : ndarray of shape (len(learners_),), float64
        Weights of the M learners; at least min(1/2, 500 / n_labeled_) / M each, with sum 1.
    ridge_scores_ : ndarray of shape (n_samples, n_labels), float64
        The ridge regression's scores of the training rows; for the labelled rows those out of fold.
    propagated_errors_ : ndarray of shape (2, n_samples, n_labels), float64
        Propagated errors E of the trend on the training rows, over the graph of ``embedding_`` and over that of
        ``ridge_scores_``.
    effective_rank_ : int
        Numerical rank of the eigenproblem, the largest number of directions that these data allow. The solver "eigsh"
        counts only the directions that it computed.
    mean_ : ndarray of shape (n_features,), float64
        Mean of the training rows, which `transform` subtracts.
    label_distributions_ : ndarray of shape (n_samples, n_labels), float64
        Soft labels F of the training rows, in [0, 1], the solution of eq. (8).
    transduction_ : ndarray of shape (n_samples, n_labels), int64, or (n_samples,)
        Hard labels of the training rows: 1 where F > 1/2, otherwise 0. After a fit on 1-D y the class with the
        largest F, the first of equal ones.
    label_flips_ : ndarray of shape (n_samples, n_labels), bool
        Where the hard labels contradict a given label; False at unknown entries and at votes of 1/2. For 1-D y a row
        whose class changes has two True entries, one for its given class and one for its new class.
    n_neighbors_ : int
        Number of neighbours k that was used. The graphs of residuals have 2 k.
    n_iter_ : int
        Number of iterations of the propagation, at least 1.
    residual_ : float
        Largest absolute entry of (I - A T) F - (I - A) Y, the residual of eq. (8).
    n_unreached_ : int
        Number of rows in components of the graph without a labelled row; their soft labels are 0. If some
        labelled rows have unknown entries: rows whose component has no known entry of at least one label.
    propagation_solver_ : str
        Solver that was used: "cg", "lu" or "fixed_point".
    neighbors_ : list of transformers
        Fitted clone of ``neighbors``. Defined only if ``neighbors`` is a transformer. Here two clones, fitted to
        ``embedding_`` and to ``ridge_scores_``.

    See Also
    --------
    NMLSDR : The article's projection.
    SemiSupervisedMLkNN : The article's classifier, for an embedding.

    Notes
    -----
    A fit takes these steps:

    1. Features that depend on the given labels no more than by chance are shrunken. The strength b of the shrinkage
       and the strength c of a ridge regression are chosen together by five-fold cross-validation on the labelled
       rows.
    2. `NMLSDR` on the shrunken features gives a linear embedding Z.
    3. The trend G(x) is a weighted mean of three regressions of the labels on the features: the ridge regression of
       step 1, extremely randomised trees, and a random forest; beyond 1000 labelled rows also boosted trees, the ridge
       regression through a link of each label, and one Newton step from there towards a logistic regression of each
       label. O are its out-of-sample predictions of the labelled rows. The weights are halfway between equal ones and
       those that minimise the squared errors of O, and nearer to the latter beyond 1000 rows.
    4. R = Y - O are the errors of the trend on the labelled rows. They are propagated over two neighbour graphs: that
       of Z, and that of the ridge regression's scores. On each, E solves (I - A T) E = (I - A) R, with A the
       diagonal of the alphas and T the mean over neighbours (eq. (8) of Mikalsen et al. 2019, for either sign).
    5. The score of a row is s(x) = G(x) + ``residual_weight`` times the mean of E over its nearest training rows,
       averaged over the two graphs.
    6. The rate of flipped labels is estimated: among the tenth of the given labels with the smallest O, it is the
       share of 1s. Probabilities are scores corrected by this rate. A label is predicted where its score reaches the
       ``threshold``.

    The attributes from ``eigenvalues_`` on show the inside of the fit.

    A fit searches neighbours three times, which takes a time quadratic in n_samples. The ridge regressions are cubic in
    the smaller one of the number l of labelled rows and n_features, up to 3000. The trees take l log l times n_labels
    times the number of features that a node tries; beyond 10 000 rows or 256 labels growing them takes no longer.
    Memory on one thread beside X and y: about 160 + 6 n_labels numbers of 8 bytes for each row, and 500 + 3 n_labels
    for each labelled row up to 10 000; if it is more, twice X, or 9 times the square of the smallest one of l,
    n_features and 3000. Boosted trees keep up to 2 MB more for each label.

    The order of the rows and of the labels decides nothing, but for rounding. That of the features does: trees try
    features in random orders of their places.

    Standardise the features first. ``metric``, ``neighbors`` and the alphas apply to all three graphs: that of the
    shrunken features, from which the embedding is learned, and those of the embedding and of the ridge regression's
    scores, over which the residuals are propagated. Attributes that `NMLSDR` has as well, such as
    ``label_distributions_``, ``n_iter_`` and ``residual_``, describe the first graph. The edges of all graphs have
    weight 1, and eq. (8) is solved with ``tol=1e-8`` and ``propagation_solver="auto"``; use `NMLSDR` to change these
    settings.

    For 1-D y the learners predict one column for each class, and the weights are chosen over all classes. For an
    unknown entry of a labelled row the forests learn the ridge regression's prediction; the weights, residuals, flip
    rate and threshold are computed from the known entries. A row that every tree drew has the ridge regression's
    prediction in place of the forests'. With more than 256 labels the trees of the forests are split by 62 random sums
    of them, drawn for each tree; their leaves hold the means of all labels. Boosted trees are split by 30 such sums
    from 63 labels on; beyond 256 labels there are none.

    The link, beyond 1000 labelled rows and not for 1-D y, is p = 1 / (1 + exp(-(a z + c asinh z + b))), where z is the
    ridge regression's out-of-fold score minus the mean of the label, divided by its root mean square. The slopes a and
    c, which are 0 or more, and b minimise the log loss of the known entries of each label; a penalty draws the slopes
    to those that fit all labels together. With many labels it brings their scores to one scale.

    The propagation of residuals follows Jia and Benson, KDD 2020, and Huang, He, Singh, Lim and Benson, "Combining
    label propagation and simple models out-performs graph neural networks", ICLR 2021. Here the residuals are
    out-of-fold, so that they resemble those of new rows, and the graph is learned from the labels. For the choice of
    features before a projection see Bair, Hastie, Paul and Tibshirani, JASA 101, 2006, and Barshan, Ghodsi, Azimifar
    and Jahromi, Pattern Recognition 44, 2011. For the combination of a model with neighbours for multi-labels see
    Cheng and Huellermeier, Machine Learning 76, 2009.

    Cross-validation splits the rows of X, y and of the arguments ``alpha``, ``labeled``, ``verdicts`` and ``groups`` of
    `fit`. It cannot split ``graph``; use the parameter ``neighbors`` instead.

    From scikit-learn 1.9 on, callbacks such as ``ProgressBar`` (see ``set_callbacks``) receive the progress of the
    fit: folds, neighbours and iterations of the three propagations, the projection, and the forests.

    Examples
    --------
    Two groups; row 3 of the first carries a wrong label, the last row of the second has none.

    >>> import numpy as np
    >>> from nmlsdr import ResidualPropagation
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2], [5.3]]
    >>> y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1], [-1, -1]]
    >>> model = ResidualPropagation(n_neighbors=2).fit(X, y)
    >>> model.predict([[0.25], [5.15]])
    array([[1, 0],
           [0, 1]])
    >>> [int(row) for row in np.argsort(-model.flip_scores_[:, 0])[:1]]  # the annotation to review first
    [3]
    """

    n_components: int | None = None
    _: KW_ONLY
    threshold: Threshold = "f1"
    n_neighbors: int = 10
    n_estimators: int = 100
    random_state: Any = 0
    n_jobs: int | None = None
    metric: Metric = "euclidean"
    alpha_labeled: float | tuple[float, float] = 0.6
    alpha_unlabeled: float = 0.999
    neighbors: Any = "exact"
    shrinkage: float | str = "cv"
    ridge: float | tuple[float, ...] = RIDGE_GRID
    residual_weight: float = 0.75

    # The other settings of the steps, which are no parameters here.
    edge_weights = "binary"
    sigma = None
    propagation_solver = "auto"
    tol = 1e-8
    max_iter = None

    transduction_ = property(hard_labels)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients of the ridge regression."""
        return np.asarray(self.learners_[0].coef)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts of the ridge regression."""
        return np.asarray(self.learners_[0].intercept)

    @property
    def forests_(self) -> list[Any]:
        """The trees of the learners that have trees."""
        return [learner.trees for learner in self.learners_ if isinstance(learner, TreesLearner)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.two_d_labels = False  # it takes classes as well
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        graph: Any = None,
        alpha: Any = None,
        labeled: Any = None,
        verdicts: Any = None,
        groups: Any = None,
        **unknown: Any,
    ) -> Self:
        """Learn the embedding, the trend, its propagated errors and the thresholds.

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
            graph of X. The graphs over which residuals are propagated are always computed.
        alpha : float or array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            alpha of all entries, of each row or of each entry, in [0, 1). It replaces ``alpha_labeled`` and
            ``alpha_unlabeled``, for example where annotators or sources are not equally reliable.
        labeled : array-like of shape (n_samples,) or (n_samples, n_labels), bool, default=None
            True for labelled rows, or for known entries; the rest of y is ignored. It is useful for sparse y, which
            cannot store rows of -1 cheaply. None: y itself shows what is unknown.
        verdicts : array-like of the shape of y, default=None
            What people decided who checked entries of y: 1 or 0, and -1, -2 or NaN where nobody decided (for 1-D y: a
            class, or -1). They replace the given labels, and neighbours do not change them. Pass the y from before all
            corrections: it shows how often mistakes are made, which takes a second fit.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, such as the patient of each visit, in any values; None: every row by itself. Rows of one
            group stay in one fold, as in scikit-learn's GroupKFold: out of fold, their trend comes from the rows of
            other groups, and so do their neighbours' errors. Without groups, scores of a row whose patient has other
            rows are too good, and thresholds too high for new patients.
        **unknown
            Anything else is refused, such as ``sample_weight``, whose place ``alpha`` takes.

        Returns
        -------
        ResidualPropagation
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
            If a component of a graph contains no labelled row, if ``n_neighbors`` is lowered, if a label is never
            predicted, or can never be because some rows are known to have it and none to lack it, if y agrees with all
            verdicts, or if propagation leaves no hard label that differs between rows; then the projection is learned
            from the soft labels alone.
        """
        refuse_weights(self, unknown)
        thresholds.check_threshold(self.threshold)
        check_count(self.n_estimators, "n_estimators", least=0)
        check_real(self.residual_weight, "residual_weight", 0.0, 1.0)
        grids = {"shrinkage": shrinkage_grid(self.shrinkage), "ridge": self.ridge, "random_state": self.random_state}
        with steps_of_fit(self, X, y) as steps:
            rows, observed = steps.read(X, y, labeled, "votes")
            steps = replace(steps, groups=check_groups(steps.in_memory(groups), len(observed.Y)))
            first, *with_verdicts = training_passes(steps, observed, alpha, verdicts)
            result = fit_pass(steps, rows, *first, graph, grids)
            scored = [thresholds.Scored(result.labels, result.residuals.scores)]
            rates = {"flip_rate_": result.flip_rate, "_forget_rate": result.forget_rate}
            for labels, alphas in with_verdicts:
                del result  # before the second pass needs as much memory
                result = fit_pass(steps, rows, labels, alphas, graph, grids)
                scored.append(thresholds.Scored(labels, result.residuals.scores))
            cutoffs = self._choose_thresholds(scored, rates["flip_rate_"])
            steps.set_attributes(thresholds_=cutoffs, **rates, **pass_attributes(result))
        return self

    def _choose_thresholds(self, scored: list[thresholds.Scored], rate: float) -> np.ndarray:
        """The thresholds from the scores of the observed labels, which come first, and of those with verdicts."""
        before = scored[0]
        last = scored[-1]
        cutoffs = self._cutoffs(before.labels, lambda: before.scores, rate)
        if last is not before and isinstance(self.threshold, str):
            cutoffs = thresholds.just_below(thresholds.cutoffs_with_verdicts(self.threshold, before, last, rate))
        elif last is not before:
            cutoffs = self._given_cutoffs(len(cutoffs))
        cutoffs = thresholds.without_only_present(cutoffs, last.labels)
        if not last.labels.single:
            where = " in cross-validation on the labelled rows"
            predicted = np.any(last.scores > cutoffs, axis=0) | last.labels.only_present  # these have a warning
            thresholds.warn_never_predicted(predicted, self.threshold, where, labels=last.labels, stacklevel=4)
        return cutoffs

    def _estimate_rates(self, out_of_sample: np.ndarray, labels: Labels) -> tuple[float, float]:
        """How often a 0 is given as 1, and a 1 as 0."""
        rate = thresholds.labels_flip_rate(out_of_sample, labels)
        return rate, thresholds.labels_forget_rate(out_of_sample, labels, rate)

    # ---------------------------------------------------------------- new rows

    def _searched_rows(self) -> np.ndarray:
        return self.embedding_

    def _n_nearest(self) -> int:
        """Neighbours of a row in the graphs over which residuals are propagated, and of a new row."""
        return residual_neighbors(self.n_neighbors_, len(self.embedding_))

    def _score_rows(self, rows: Any) -> np.ndarray:
        by_ridge = ridge_scores(self._steps, self, rows, self.mean_)
        scores = trend_scores(self, rows, by_ridge, self.n_jobs)
        transformers = getattr(self, "neighbors_", [None] * len(RESIDUAL_GRAPHS))
        share = share_of_errors(self.residual_weight, self.n_labeled_)
        embedded = embed(self._steps, rows, self.components_, self.mean_)
        graphs = (self.embedding_, embedded), (self.ridge_scores_, by_ridge)
        for (fitted, new), step, E, transformer in zip(
            graphs, self._rounding, self.propagated_errors_, transformers, strict=True
        ):
            _, indices = neighbors_of_queries(self, fitted, to_step(new, step), self._n_nearest(), transformer)
            total = np.zeros(scores.shape)
            for nearest in indices.T:  # in the order of the neighbours: the same bits for any block
                total += E[nearest]
            scores += share * (total / indices.shape[1])
        return scores

    def _choose(self, scores: np.ndarray) -> np.ndarray:
        return np.argmax(scores, axis=1)

    def _to_probabilities(self, scores: np.ndarray) -> np.ndarray:
        least = 0.5 / self.n_labeled_
        p = np.clip(thresholds.unflipped(scores, self.flip_rate_), least, 1.0 - least)
        return p if self._is_multi_label() else shares(p)

    def _rank_scores(self, X: Any) -> Any:
        """s(x), which does not depend on ``threshold``."""
        return self._gather(X, self._to_scores)

    def _to_scores(self, scores: np.ndarray) -> np.ndarray:
        return scores

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores minus the thresholds: above 0 where `predict` gives the label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict; finite numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), float64
            s(x) - ``thresholds_``. After a fit on 1-D y: the scores, one column for each class; for two classes an
            array of shape (n_samples,), the score of the second class minus that of the first.

        Raises
        ------
        ValueError
            If X has non-finite values or another number of features than in `fit`.
        sklearn.exceptions.NotFittedError
            If `fit` was not called before.

        Notes
        -----
        If the thresholds differ between labels ("macro", "prior", or one number for each label), these values do not
        rank the labels of a row; ``decision_function(X) + thresholds_``, the scores themselves, do.
        """
        return self._gather(X, self._to_decision)

    def _to_decision(self, scores: np.ndarray) -> np.ndarray:
        if self._is_multi_label():
            return scores - self.thresholds_
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
