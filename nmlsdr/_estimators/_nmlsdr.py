"""Noisy multi-label semi-supervised dimensionality reduction (NMLSDR), the article's method."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, get_args

from .._checks.arguments import EigenSolver, check_choice, refuse_weights
from .._row_order import row_order
from ._callbacks import steps_of_fit
from ._projection import Projection, direction_attributes, rounding_step
from ._shrinkage import choose_strengths, directions_of_labels, shrink, shrinkage_grid
from ._sklearn_bases import CallbackSupportMixin
from ._steps import PropagationParameters, soft_label_attributes


@dataclass(eq=False, repr=False)
class NMLSDR(CallbackSupportMixin, PropagationParameters, Projection):
    r"""Correct and propagate noisy labels over a neighbour graph, then project where features depend on them most.

    1. A graph W joins each row to its k nearest neighbours (eq. 2 or 3). T is its row-stochastic transition matrix
       (eq. 4-5).
    2. The soft labels F solve (I - A T) F = (I - A) Y (eq. 8). Here A = diag(alpha), and Y is 0 on unlabelled rows.
       Where alpha > 0, the neighbours of a labelled row influence its soft labels too, and can outvote a wrong label.
    3. F~ is F, but at known entries it is hard: 1 where F > 1/2, otherwise 0.
    4. The rows of `components_` maximise tr(P' X'H F~ F~' H X P) subject to P'P = I (eq. 13-14). H subtracts the
       mean.

    Parameters
    ----------
    n_components : int or None, default=None
        Number d of directions to keep, at most min(n_labels, n_features, n_samples - 1). None: as many as the
        numerical rank of the eigenproblem allows.
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
    shrinkage : float or "cv", default=0.0
        Strength b of the shrinkage of features, in [0, 1]. The graph and the projection see the square of feature j
        multiplied by w_j = 1 - b (1 - kappa_j), where kappa_j estimates which share of its dependence on the given
        labels is not due to chance (`nmlsdr.projection.feature_weights`). A larger value suppresses uninformative
        features more. 0 is the method of the article. "cv" chooses among 0, 1/2 and 1 by five-fold cross-validation
        of a ridge regression on the labelled rows.
    eigen_solver : {"auto", "eigsh", "svd"}, default="auto"
        Solver of the eigenproblem (eq. 13-14). "svd": a thin singular value decomposition. "eigsh": Lanczos
        iterations, for few directions and many labels. "auto": the faster of the two. Both give the same directions.
    n_jobs : int or None, default=None
        Number of threads. None: one for each core that the process may use, where scikit-learn uses one thread; a
        negative number counts back from there, so that -1 means the same as None. The results do not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (d, n_features)
        The projection P', one direction in each row, in the dtype of X. `transform` returns (X - mean_) P. The rows
        are orthonormal without shrinkage; with it, they are orthonormal directions whose entries are multiplied by
        the square roots of ``feature_weights_``. The sign of each row makes its entry of largest magnitude, before
        that multiplication, positive.
    eigenvalues_ : ndarray of shape (d,), float64
        Dependence of the soft labels on the rows along each direction (eq. 13-14), in decreasing order.
    dependence_ratio_ : ndarray of shape (d,), float64
        Share of each direction in the total dependence, which is the sum of all eigenvalues.
    shrinkage_ : float
        Shrinkage b that was used.
    feature_weights_ : ndarray of shape (n_features,), float64
        Weights w of the squared features, in [0, 1]; all 1 without shrinkage.
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

    Notes
    -----
    The method is Algorithm 1 of Mikalsen, Soguero-Ruiz, Bianchi and Jenssen, "Noisy multi-label semi-supervised
    dimensionality reduction", Pattern Recognition 90, 2019, called "the article" here. ``alpha_labeled=0`` is the
    variant NMLSDR* of the article. The article prints the constraint as P P' = I; it means P'P = I:

    .. math::

        (I - A T) F = (I - A) Y

        \max_{P^\top P = I} \operatorname{tr}\left( P^\top X^\top H \tilde F \tilde F^\top H X P \right), \qquad
        H = I - \tfrac{1}{n} \mathbf{1} \mathbf{1}^\top.

    Cross-validation splits the rows of X, y and of the arguments ``alpha`` and ``labeled`` of `fit`. It cannot split
    ``graph``; use the parameter ``neighbors`` instead.

    From scikit-learn 1.9 on, callbacks such as ``ProgressBar`` (see ``set_callbacks``) receive the progress of the
    fit: folds, neighbours, iterations of the propagation, and the projection.

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
    eigen_solver: EigenSolver = "auto"
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, graph: Any = None, alpha: Any = None, labeled: Any = None, **unknown: Any) -> Self:
        """Propagate the labels and learn the projection from all rows.

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
            graph of X.
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
        self
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
            If a component of the graph contains no labelled row, if ``n_neighbors`` is lowered, or if propagation
            leaves no hard label that differs between rows; then the projection is learned from the soft labels alone.
        """
        refuse_weights(self, unknown)
        check_choice(self.eigen_solver, "eigen_solver", *get_args(EigenSolver))
        grid = shrinkage_grid(self.shrinkage)
        with steps_of_fit(self, X, y) as steps:
            rows, labels = steps.read(X, y, labeled, "votes")
            order = row_order(rows, labels, steps.checked_alpha(labels, alpha))
            b = grid[0] if len(grid) == 1 else choose_strengths(rows, labels, steps, order, shrinkage=grid).shrinkage
            w, X_scaled = shrink(rows, labels, b)
            W, searched = steps.graph(X_scaled, graph, order)
            propagated = steps.soft_labels(W, labels, alpha)
            with steps.task("projection"):
                directions = directions_of_labels(steps, rows, X_scaled, w, propagated.F, labels, self.eigen_solver)
            learned = {
                "shrinkage_": b,
                "feature_weights_": w,
                "dependence_ratio_": directions.eigenvalues / directions.total,
            }
            learned["_rounding_step"] = rounding_step(rows, directions)
            learned |= searched | soft_label_attributes(propagated, labels) | direction_attributes(directions)
            steps.set_attributes(**learned)
        return self
