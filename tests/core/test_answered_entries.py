"""Ridge regression after answers to single entries: rows of which one label is known, beside rows with all labels."""

import numpy as np
import pytest
import reference
from scipy import sparse

from nmlsdr._moments import RowSums
from nmlsdr._ridge import cross_fit, folds, regression, ridge_regression, selection

# the cost of conjugate gradients that the choice of the way counts on
BY_SETS = np.inf
TOGETHER = 0


@pytest.fixture
def asked_entries(rng):
    """A few rows with all labels known, many with one known label each, and more features than rows of a label."""
    X = rng.standard_normal((150, 60)) * rng.uniform(0.5, 3, 60) + 5
    scores = X @ rng.standard_normal((60, 12)) + rng.standard_normal((150, 12))
    known = np.zeros(scores.shape, dtype=bool)
    known[:20] = True
    known[np.arange(20, 150), rng.integers(0, 12, 130)] = True
    known[:, 11] = known[:, 10]
    return X, (scores > np.median(scores, axis=0)).astype(float), known


def spy_on_row_grams(monkeypatch):
    """The sizes of the Gram matrices of rows that are formed from now on."""
    sizes = []
    row_gram = RowSums.row_gram

    def spy(self, w):
        sizes.append(self.shape[0])
        return row_gram(self, w)

    monkeypatch.setattr(RowSums, "row_gram", spy)
    return sizes


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_labels_of_few_known_rows_have_gram_matrices_of_their_own(asked_entries, monkeypatch, form, offset):
    X, Y, known = asked_entries
    X = X + offset
    sizes = spy_on_row_grams(monkeypatch)
    separate = cross_fit(form(X), Y, known=known, keep_ridges=True)
    assert max(sizes) <= known.sum(axis=0).max() < 50
    monkeypatch.setattr(folds._Shared, "has_few_known_rows", False)
    shared = cross_fit(form(X), Y, known=known, keep_ridges=True)
    assert max(sizes) == 150
    assert (separate.shrinkage, separate.ridge) == (shared.shrinkage, shared.ridge)
    tolerance = 1e-7 if offset else 1e-11
    np.testing.assert_allclose(separate.errors, shared.errors, rtol=tolerance)
    np.testing.assert_allclose(separate.predictions, shared.predictions, atol=tolerance)
    for ridge, expected in zip(separate.ridges, shared.ridges, strict=True):
        np.testing.assert_allclose(ridge.coef, expected.coef, atol=tolerance)
        np.testing.assert_allclose(ridge.at_mean, expected.at_mean, atol=tolerance * max(1.0, offset))


def test_threads_do_not_change_labels_of_few_known_rows(asked_entries, monkeypatch):
    X, Y, known = asked_entries
    monkeypatch.setattr(selection, "_WORTH_A_THREAD", 1)
    on_one_thread = cross_fit(X, Y, known=known)
    on_two_threads = cross_fit(X, Y, known=known, n_jobs=2)
    np.testing.assert_array_equal(on_one_thread.errors, on_two_threads.errors)
    np.testing.assert_array_equal(on_one_thread.predictions, on_two_threads.predictions)


def test_labels_that_are_known_on_most_rows_share_a_gram_matrix(asked_entries, monkeypatch):
    X, Y, known = asked_entries
    sizes = spy_on_row_grams(monkeypatch)
    mostly_known = np.random.default_rng(1).random(known.shape) < 0.9
    cross_fit(X[:40], Y[:40], known=mostly_known[:40])
    assert set(sizes) == {40}


def test_above_the_limit_no_gram_matrix_of_all_rows_is_formed(asked_entries, monkeypatch):
    """However many rows each label knows: the matrix of a label is below the limit, that of all rows above."""
    X, Y, known = asked_entries
    known = np.random.default_rng(1).random(known.shape) < 0.35
    expected = cross_fit(X, Y, known=known, shrinkage=0.5, ridge=1.0)
    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X: BY_SETS)
    monkeypatch.setattr(regression, "LARGEST_GRAM", 70)
    sizes = spy_on_row_grams(monkeypatch)
    limited = cross_fit(X, Y, known=known, shrinkage=0.5, ridge=1.0)
    assert max(sizes) <= 70
    np.testing.assert_allclose(limited.predictions, expected.predictions, atol=1e-11)


@pytest.fixture
def answered_entries(rng):
    """Rows with all labels known, and some with one known label each."""
    X = rng.standard_normal((150, 12)) * rng.uniform(0.5, 3, 12) + 5
    scores = X @ rng.standard_normal((12, 8)) + rng.standard_normal((150, 8))
    known = np.ones(scores.shape, dtype=bool)
    known[110:] = False
    known[np.arange(110, 150), rng.integers(0, 8, 40)] = True
    return X, (scores > np.median(scores, axis=0)).astype(float), known


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array])
@pytest.mark.parametrize("n_unweighted", [0, 3])
def test_products_with_the_gram_matrix_of_complete_rows_are_those_with_the_rows(
    answered_entries, monkeypatch, form, offset, n_unweighted
):
    X, Y, known = answered_entries
    X = form(X + offset)
    weights = np.linspace(0.2, 1.0, 12)
    weights[:n_unweighted] = 0.0
    solutions = {}
    for cost in (BY_SETS, TOGETHER):
        monkeypatch.setattr(regression, "_cost_of_iterations", lambda X, cost=cost: cost)
        solutions[cost] = ridge_regression(X, Y, 1.0, feature_weights=weights, known=known)
    for value, expected in zip(solutions[TOGETHER], solutions[BY_SETS], strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    partly = regression.partly_known_rows(RowSums.of(X), known)
    assert partly.gram is not None
    assert (partly.gram_of_complete is None) == sparse.issparse(X)


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_array])
def test_errors_are_those_of_the_known_tested_rows_of_each_label(answered_entries, monkeypatch, form):
    """Two labels may be known on the same training rows of a fold, and on different ones of its tested rows."""
    X, Y, known = answered_entries
    X = X[:, :4]
    known[:] = True
    known[0, 0] = False
    known[1, 1] = False
    known[2:4, 2] = False
    grid = {"shrinkage": (0.0, 0.5), "ridge": (0.3, 3.0)}
    monkeypatch.setattr(regression, "_cost_of_iterations", lambda X: BY_SETS)
    cross_fit_result = cross_fit(form(X), np.where(known, Y, 0.0), known=known, n_splits=3, **grid)
    *_, errors = reference.cross_fit(X, np.where(known, Y, 0.0), *grid.values(), 3, known=known)
    np.testing.assert_allclose(cross_fit_result.errors.ravel(), list(errors.values()), rtol=1e-6)


@pytest.mark.parametrize("n_complete", [0, 3, 110])
def test_complete_rows_are_summed_up_where_they_are_half_as_many_as_the_features(answered_entries, n_complete):
    X, _, known = answered_entries
    known[:, 0] &= np.arange(150) < n_complete
    partly = regression.partly_known_rows(RowSums.of(X), known)
    assert (partly.gram_of_complete is None) == (n_complete < 6)
    assert np.count_nonzero(partly.incomplete) == (150 if n_complete < 6 else 40)


def test_the_gram_matrix_of_partly_known_rows_weighs_rows_by_their_known_labels(answered_entries):
    X, _, known = answered_entries
    partly = regression.partly_known_rows(RowSums.of(X), known)
    shares = known.mean(axis=1)
    centred = X - np.average(X, axis=0, weights=shares)
    np.testing.assert_allclose(np.tril(partly.gram), np.tril(centred.T * shares @ centred), rtol=1e-10, atol=1e-9)


def test_rows_of_few_words_have_the_diagonal_as_preconditioner(rng):
    """A Gram matrix of 400 x 400 numbers is not worth it for 300 rows that store 2 numbers each."""
    X = sparse.random_array((300, 400), density=0.005, rng=rng, format="csr")
    known = rng.random((300, 4)) < 0.9
    assert regression.partly_known_rows(RowSums.of(X), known).gram is None
    assert regression.partly_known_rows(RowSums.of(X.toarray()), known).gram is not None
    assert regression.partly_known_rows(RowSums.of(X.toarray()), None).gram is None
