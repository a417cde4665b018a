"""MLkNN and SemiSupervisedMLkNN: what they add to the core and to the contract of all estimators."""

import re
from functools import partial

import estimator_cases
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from nmlsdr import MLkNN, SemiSupervisedMLkNN, mlknn
from nmlsdr._estimators import _classifier
from nmlsdr.graph import kneighbors, neighbor_graph
from nmlsdr.propagation import propagate

BOTH = pytest.mark.parametrize("Classifier", [MLkNN, SemiSupervisedMLkNN])


draw = partial(estimator_cases.draw, D=4, C=3, hidden=0)


def assert_same_model(ours, theirs, X, X_theirs=None):
    """The same tables and the same posteriors, to the last bit."""
    for attribute in ("prior_", "likelihoods_with_label_", "likelihoods_without_label_", "posterior_"):
        np.testing.assert_array_equal(getattr(ours, attribute), getattr(theirs, attribute))
    their_probabilities = theirs.predict_proba(X if X_theirs is None else X_theirs)
    np.testing.assert_array_equal(ours.predict_proba(X), their_probabilities, strict=True)


# ---------------------------------------------------------------- against the core


def test_mlknn_equals_its_functions_on_the_labelled_rows(rng):
    X, Y = draw(seed=rng, hidden=15)
    queries = rng.normal(size=(20, 4))
    model = MLkNN(5, smoothing=0.5).fit(X, Y)
    labeled_rows = np.flatnonzero(Y[:, 0] >= 0)
    np.testing.assert_array_equal(model.labeled_rows_, labeled_rows)
    table = mlknn.fit_posterior(Y[labeled_rows], kneighbors(X[labeled_rows], 5)[1], smoothing=0.5)
    scores = mlknn.posterior(table, Y[labeled_rows], kneighbors(X[labeled_rows], 5, queries=queries)[1])
    np.testing.assert_array_equal(model.predict_proba(queries), scores)
    np.testing.assert_array_equal(model.predict(queries), scores >= 0.5)
    assert_same_model(model, MLkNN(5, smoothing=0.5).fit(X[labeled_rows], Y[labeled_rows]), queries)


@pytest.mark.parametrize("edge_weights", ["binary", "rbf"])
def test_semi_supervised_is_its_three_steps(rng, edge_weights):
    X, Y = draw(seed=rng, hidden=30)
    labeled = Y[:, 0] >= 0
    model = SemiSupervisedMLkNN(6, edge_weights=edge_weights, alpha_labeled=0.5, alpha_unlabeled=0.99).fit(X, Y)
    W = neighbor_graph(X, 6, edge_weights=edge_weights)
    result = propagate(W, np.where(labeled[:, None], Y, 0), np.where(labeled, 0.5, 0.99), labeled=labeled)
    np.testing.assert_array_equal(model.label_distributions_, result.F)
    hard = (result.F > 0.5).astype(int)
    np.testing.assert_array_equal(model.transduction_, hard)
    assert (model.n_iter_, model.residual_, model.n_unreached_, model.propagation_solver_) == (
        result.n_iter,
        result.residual,
        result.n_unreached,
        result.solver,
    )
    assert_same_model(model, MLkNN(6).fit(X, hard), rng.normal(size=(20, 4)))


def test_semi_supervised_with_every_label_kept_is_supervised(rng):
    X, Y = draw(seed=rng)
    clamped = SemiSupervisedMLkNN(6, alpha_labeled=0.0).fit(X, Y)
    np.testing.assert_array_equal(clamped.transduction_, Y)
    assert_same_model(clamped, MLkNN(6).fit(X, Y), X)


# ---------------------------------------------------------------- rows


@BOTH
def test_duplicates_are_neighbours_of_each_other(Classifier):
    """Four copies of each of three points, k = 3: every row's neighbours are its copies."""
    X = np.repeat([[0.0], [1.0], [5.0]], 4, axis=0)
    Y = np.repeat([[1, 0], [0, 1], [1, 1]], 4, axis=0)
    model = Classifier(3).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    # all 8 rows with label 0 see 3 of 3
    assert model.likelihoods_with_label_[0].tolist() == [1 / 12, 1 / 12, 1 / 12, 9 / 12]


@BOTH
def test_k_is_clipped_with_a_warning(Classifier, rng):
    X, Y = draw(seed=rng, n=6)
    with pytest.warns(UserWarning, match="n_neighbors=10 was lowered to 5, the number"):
        model = Classifier().fit(X, Y)
    assert model.n_neighbors_ == 5
    assert_same_model(model, Classifier(5).fit(X, Y), X)
    assert Classifier(1).fit(X[:2], Y[:2]).predict_proba(X).shape == Y.shape


def test_k_is_clipped_to_the_labelled_rows(rng):
    X, Y = draw(seed=rng, n=20, hidden=15)
    with pytest.warns(UserWarning, match="was lowered to 4"):
        assert MLkNN(10).fit(X, Y).n_neighbors_ == 4


# ---------------------------------------------------------------- labels


@BOTH
@pytest.mark.parametrize("C", [1, 2, 3])
def test_scorers_of_scikit_learn(Classifier, C, rng):
    """classes_ is a list of arrays: a flat one of length 2 breaks these at C = 2."""
    X, Y = draw(seed=rng, C=C)
    measures = ["accuracy"] if C == 1 else ["accuracy", "roc_auc", "average_precision", "f1_macro"]
    scores = cross_validate(Classifier(5), X, Y, cv=3, scoring=measures, error_score="raise")
    for measure in measures:
        assert np.isfinite(scores[f"test_{measure}"]).all()
        by_chance = 0.5**C if measure == "accuracy" else 0.4
        assert scores[f"test_{measure}"].mean() > by_chance


@BOTH
def test_threshold_and_at_least_one(Classifier, rng):
    X, Y = draw(seed=rng, C=5)
    Y *= rng.random(Y.shape) < 0.3
    proba = Classifier(5).fit(X, Y).predict_proba(X)
    strict = Classifier(5, threshold=0.9).fit(X, Y).predict(X)
    np.testing.assert_array_equal(strict, proba >= 0.9)
    filled = Classifier(5, threshold=0.9, at_least_one=True).fit(X, Y).predict(X)
    empty = ~strict.any(axis=1)
    assert empty.any()
    np.testing.assert_array_equal(filled[~empty], strict[~empty])
    np.testing.assert_array_equal(filled[empty], np.eye(5)[proba[empty].argmax(axis=1)])


@BOTH
def test_of_equal_scores_the_first_label_is_given(Classifier, rng):
    X, Y = draw(seed=rng, C=1)
    model = Classifier(5, threshold=1.0, at_least_one=True).fit(X, np.repeat(Y, 3, axis=1))
    np.testing.assert_array_equal(model.predict(X), np.tile([1, 0, 0], (len(X), 1)))


# ---------------------------------------------------------------- neighbours from elsewhere


class OwnSearch:
    """No scikit-learn estimator: fit, fit_transform and transform are all that is asked for."""

    def fit_transform(self, X):
        self.rows = X
        return self.transform(X)

    def transform(self, X):
        return sparse.csr_array(np.maximum(pairwise_distances(X, self.rows), 1e-300))


@BOTH
@pytest.mark.parametrize(
    "search",
    [
        KNeighborsTransformer(n_neighbors=7),
        KNeighborsTransformer(n_neighbors=20, algorithm="kd_tree"),
        OwnSearch(),
    ],
    ids=["brute", "kd_tree", "duck"],
)
def test_transformer_proposes_the_neighbours(Classifier, search, rng):
    X, Y = draw(seed=rng, hidden=10)
    X[40:50] = X[:10]  # duplicates: explicit zeros that must stay candidates
    model = Classifier(6, neighbors=search).fit(X, Y)
    queries = rng.normal(size=(15, 4))
    assert_same_model(model, Classifier(6).fit(X, Y), queries)
    assert model.neighbors is search  # the parameter is left alone
    assert not hasattr(search, "_fit_X")
    assert not hasattr(model.set_params(neighbors="exact").fit(X, Y), "neighbors_")


@BOTH
def test_transformer_is_fitted_once(Classifier, rng, monkeypatch):
    X, Y = draw(seed=rng)
    monkeypatch.setattr(_classifier, "_QUERY_ROWS", 7)
    fits = []

    class Counting(OwnSearch):
        def fit_transform(self, X):
            fits.append(1)
            return super().fit_transform(X)

    Classifier(6, neighbors=Counting()).fit(X, Y).predict(X)
    assert fits == [1]


@pytest.mark.usefixtures("rows_as_they_stand")
@BOTH
@pytest.mark.parametrize("form", ["csr", "csr_matrix", "unsorted", "dense"])
def test_precomputed_distances_give_the_same_predictions(Classifier, form, rng):
    X, Y = draw(seed=rng, hidden=12)
    X[40:50] = X[:10]
    queries = rng.normal(size=(15, 4))
    inner = pairwise_distances(X)
    outer = pairwise_distances(queries, X)
    if form == "csr":
        inner = _explicit(inner)
        outer = _explicit(outer)
    elif form == "csr_matrix":
        inner = sparse.csr_matrix(_explicit(inner))
        outer = sparse.csr_matrix(_explicit(outer))
    elif form == "unsorted":
        search = KNeighborsTransformer(n_neighbors=40).fit(X)
        inner = search.transform(X)
        outer = search.transform(queries)
    model = Classifier(6, neighbors="precomputed").fit(inner, Y)
    assert_same_model(model, Classifier(6).fit(X, Y), outer, queries)
    assert model.training_rows_ is None


def _explicit(distances):
    n, m = distances.shape
    return sparse.csr_array((distances.ravel(), np.tile(np.arange(m), n), np.arange(n + 1) * m), shape=(n, m))


@pytest.mark.usefixtures("rows_as_they_stand")
@BOTH
def test_precomputed_ties_go_to_the_first_row_of_the_order(Classifier):
    """Rows 1 and 2 are as far from row 0: with k = 1 row 0 follows row 1."""
    distances = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
    model = Classifier(1, neighbors="precomputed").fit(distances, [[1], [0], [0]])
    tied, first, second = model.predict_proba([[1.0, 1.0, 1.0], [0.5, 1.0, 1.0], [1.0, 0.5, 1.0]])
    assert tied == first != second


def test_precomputed_distances_are_sliced_by_cross_validation(rng):
    X, Y = draw(seed=rng)
    grid = {"n_neighbors": [3, 5]}
    plain = GridSearchCV(MLkNN(), grid, cv=3, error_score="raise").fit(X, Y)
    sliced = GridSearchCV(MLkNN(neighbors="precomputed"), grid, cv=3, error_score="raise").fit(pairwise_distances(X), Y)
    np.testing.assert_array_equal(sliced.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])


class CountedSearch(TransformerMixin, BaseEstimator):
    fits = 0

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X, y=None):
        type(self).fits += 1
        self.search_ = KNeighborsTransformer(n_neighbors=self.n_neighbors).fit(X)
        return self

    def transform(self, X):
        return self.search_.transform(X)


@pytest.mark.filterwarnings("ignore:Persisting input arguments took:UserWarning")  # a busy machine
def test_one_search_serves_a_whole_grid(rng, tmp_path):
    """The way to share a search: a transformer, a cached pipeline, and neighbors="precomputed"."""
    X, Y = draw(seed=rng)
    CountedSearch.fits = 0
    pipeline = make_pipeline(CountedSearch(12), MLkNN(neighbors="precomputed"), memory=str(tmp_path))
    grid = {"mlknn__n_neighbors": [3, 5, 10], "mlknn__smoothing": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise", refit=False).fit(X, Y)
    assert CountedSearch.fits == 3  # one a fold, not 18
    plain = {key.removeprefix("mlknn__"): values for key, values in grid.items()}
    direct = GridSearchCV(MLkNN(), plain, cv=3, error_score="raise", refit=False).fit(X, Y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], direct.cv_results_["mean_test_score"])


# ---------------------------------------------------------------- errors


@BOTH
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_neighbors", 0),
        ("n_neighbors", 2.5),
        ("smoothing", 0.0),
        ("threshold", 1.5),
        ("at_least_one", "yes"),
        ("neighbors", "approximate"),
        ("neighbors", KNeighborsTransformer),
        ("n_jobs", 0),
    ],
)
def test_parameters_are_checked_in_fit(Classifier, parameter, value, rng):
    """The error names the parameter and what it was."""
    model = Classifier(**{"n_neighbors": 5, parameter: value})
    with pytest.raises(ValueError, match=rf"^{parameter}\b.*, got {re.escape(repr(value))}"):
        model.fit(*draw(seed=rng))


@BOTH
@pytest.mark.parametrize(
    ("neighbors", "numbers"), [(KNeighborsTransformer(n_neighbors=3), "row 0 only 3 .* 5"), ("precomputed", "60, 4")]
)
def test_too_few_neighbours_and_no_square_matrix_are_counted(Classifier, neighbors, numbers, rng):
    with pytest.raises(ValueError, match=numbers):
        Classifier(5, neighbors=neighbors).fit(*draw(seed=rng))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("alpha_labeled", 1.0),
        ("alpha_unlabeled", -0.1),
        ("edge_weights", "cosine"),
        ("sigma", 0.0),
        ("propagation_solver", "qr"),
    ],
)
def test_parameters_of_the_propagation(parameter, value, rng):
    model = SemiSupervisedMLkNN(5, **{"edge_weights": "rbf", parameter: value})
    with pytest.raises(ValueError, match=rf"{parameter.removeprefix('propagation_')}\b.*, got {value!r}"):
        model.fit(*draw(seed=rng, hidden=10))


@BOTH
def test_one_row_is_an_error(Classifier):
    with pytest.raises(ValueError, match="needs at least 2 rows, got n_samples = 1"):
        Classifier(1).fit([[0.0]], [[1, 0]])


@BOTH
@pytest.mark.parametrize(("value", "sentence"), [(-1.0, "negative, NaN or infinite"), (np.nan, "NaN or infinity")])
def test_precomputed_distances_must_be_distances(Classifier, value, sentence, rng):
    X, Y = draw(seed=rng)
    distances = pairwise_distances(X)
    distances[3, 5] = value
    with pytest.raises(ValueError, match=sentence):
        Classifier(5, neighbors="precomputed").fit(distances, Y)


@BOTH
def test_precomputed_needs_all_columns_and_enough_neighbours(Classifier, rng):
    X, Y = draw(seed=rng)
    search = KNeighborsTransformer(n_neighbors=3).fit(X)
    with pytest.raises(ValueError, match="the precomputed matrix gave row 0 only 3 other rows, but 5 are needed"):
        Classifier(5, neighbors="precomputed").fit(search.transform(X), Y)
    model = Classifier(3, neighbors="precomputed").fit(search.transform(X), Y)
    with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 60"):
        model.predict(X)
