"""Neighbour plug-ins: a transformer proposes, the canonical order decides."""

import numpy as np
import pytest
import reference
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsTransformer

import nmlsdr
from nmlsdr import graph
from nmlsdr._search import choose_proposed


class Given:
    """A transformer that answers with a stored graph."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X):
        self.fitted = True
        return self

    def fit_transform(self, X):
        self.fitted = True
        return self.answer

    transform = fit_transform


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scikit_learn_transformer_gives_the_exact_lists(rng, storage, dtype):
    X = rng.standard_normal((70, 6)).astype(dtype)
    plugin = KNeighborsTransformer(n_neighbors=8, algorithm="brute")
    squared, indices = choose_proposed(storage(X), plugin.fit_transform(storage(X)), 8)
    expected = reference.kneighbors(X, 8)
    np.testing.assert_array_equal(squared, expected[0])
    np.testing.assert_array_equal(indices, expected[1])
    queries = storage(X[:9] + dtype(0.25))
    squared, indices = choose_proposed(storage(X), plugin.transform(queries), 8, queries=queries)
    expected = reference.kneighbors(X, 8, queries=X[:9] + dtype(0.25))
    np.testing.assert_array_equal(squared, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


def test_duplicates_are_kept_and_the_row_itself_is_left_out_by_index():
    X = np.repeat(np.array([[0.0], [1.0], [5.0]]), 3, axis=0)
    plugin = KNeighborsTransformer(n_neighbors=5)
    squared, indices = choose_proposed(X, plugin.fit_transform(X), 2)
    expected = reference.kneighbors(X, 2)
    np.testing.assert_array_equal(squared, expected[0])
    np.testing.assert_array_equal(indices, expected[1])
    plugin = KNeighborsTransformer(n_neighbors=5)
    W = graph.neighbor_graph(X, 2, neighbors=plugin)
    np.testing.assert_array_equal(W.toarray(), reference.neighbor_graph(X, 2))
    assert not hasattr(plugin, "n_features_in_")  # the user's object is left unfitted


def test_repeated_and_unsorted_candidates_count_once():
    X = np.array([[0.0], [1.0], [3.0]])
    answer = sparse.csr_array((np.zeros(7), [2, 0, 2, 1, 0, 0, 1], [0, 4, 5, 7]), shape=(3, 3))
    squared, indices = choose_proposed(X, answer, 1)
    np.testing.assert_array_equal(indices, [[1], [0], [1]])
    np.testing.assert_array_equal(squared, [[1.0], [1.0], [4.0]])


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ("annoy", 'must be "exact" or a transformer'),
        (KNeighborsTransformer, 'must be "exact" or a transformer'),
        (3, 'must be "exact" or a transformer'),
        (Given(np.zeros((3, 3))), "sparse matrix of shape"),
        (Given(sparse.csr_array((3, 2))), "sparse matrix of shape"),
        (Given(sparse.csr_array(sparse.identity(3))), "gave row 0 only 0 other rows, but 1 are needed"),
    ],
)
def test_bad_plugins_raise_a_clear_error(plugin, message):
    with pytest.raises(ValueError, match=message):
        graph.neighbor_graph(np.arange(3.0)[:, None], 1, neighbors=plugin)


class OnlyFitTransform(BaseEstimator):
    """An index that knows the rows it was built from and no others."""

    def fit_transform(self, X, y=None):
        return KNeighborsTransformer(n_neighbors=6).fit_transform(X)


@pytest.mark.parametrize("name", ["MLkNN", "SemiSupervisedMLkNN", "MultiLabelPropagation", "ResidualPropagation"])
def test_a_classifier_raises_at_fit_if_new_rows_need_transform(name, rng):
    X = rng.standard_normal((30, 3))
    Y = np.tile(np.eye(3, dtype=int), (10, 1))
    with pytest.raises(ValueError, match=f"{name} needs a neighbors= transformer that has transform.*OnlyFitTransform"):
        getattr(nmlsdr, name)(4, neighbors=OnlyFitTransform()).fit(X, Y)
    nmlsdr.NMLSDR(n_neighbors=4, neighbors=OnlyFitTransform()).fit(X, Y)  # a projection asks of no new row


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
def test_another_metric_of_a_transformer_is_not_passed_over_in_silence(metric, rng):
    X = rng.standard_normal((30, 3))
    Y = np.tile(np.eye(3, dtype=int), (10, 1))
    with pytest.warns(UserWarning, match=f"by the distance '{metric}', of which the nearest by euclidean"):
        nmlsdr.MLkNN(4, neighbors=KNeighborsTransformer(n_neighbors=6, metric=metric)).fit(X, Y)
    for metric_, p in (("minkowski", 2), ("euclidean", 1), ("l2", 2)):  # warnings are errors
        nmlsdr.MLkNN(4, neighbors=KNeighborsTransformer(n_neighbors=6, metric=metric_, p=p)).fit(X, Y)
