"""Which unknown entries and rows to ask about next: properties, the plain twin, hostile input."""

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import InputError, MLkNN, ResidualPropagation
from nmlsdr.inspection import rank_unknown
from nmlsdr.inspection._row_checks import hash_rows

PROBABILITIES = [0.0, 0.25, 0.5, 0.75, 1.0]  # few, so that ties are common; p (1 - p) of .25 and .75 are equal


class Table(BaseEstimator):
    """Predicts columns of the rows themselves."""

    def __init__(self, n_labels):
        self.n_labels = n_labels

    def predict_proba(self, X):
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        return X[:, : self.n_labels].astype(float)


def pairs(queries):
    return list(zip(queries.row.tolist(), queries.label.tolist(), strict=True))


def drawn(rng, n, C):
    """Rows whose first columns are their probabilities, and labels of which many are unknown."""
    X = np.column_stack([rng.choice(PROBABILITIES, (n, C)), np.arange(n)])
    y = rng.choice([-1, -1, 0, 1], (n, C))
    y[0] = 0  # a table without labels has a test of its own
    return X, y


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.integers(1, 5),
    st.sampled_from(["entry", "row"]),
    st.one_of(st.none(), st.integers(0, 60)),
)
def test_unknown_entries_come_once_and_the_labels_take_turns(seed, n_rows, C, by, n):
    X, y = drawn(np.random.default_rng(seed), n_rows, C)
    queries = rank_unknown(Table(C), X, y, n, by, random_state=seed)
    entries = pairs(queries)
    assert all(y[pair] == -1 for pair in entries)
    unknown = (y == -1).sum() if by == "entry" else (y == -1).any(axis=1).sum()
    assert len(entries) == (unknown if n is None else min(n, unknown))
    assert len(set(entries) if by == "entry" else {i for i, _ in entries}) == len(entries)
    np.testing.assert_array_equal(queries.probability, X[queries.row, queries.label])
    assert [a.dtype for a in queries] == [np.intp, np.intp, np.float64]
    counts = np.bincount(queries.label, minlength=C)
    waiting = [c for c in range(C) if (y[:, c] == -1).sum() > counts[c]]
    if (
        by == "entry" and waiting
    ):  # a label that has entries left had as many turns as the others, but for the last round
        assert counts.max() - counts[waiting].min() <= 1
    for c in range(C):
        label_probabilities = queries.probability[queries.label == c]
        assert (np.diff(label_probabilities * (1 - label_probabilities)) <= 0).all()


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.integers(1, 5),
    st.sampled_from(["entry", "row"]),
    st.one_of(st.none(), st.integers(0, 60)),
)
def test_the_list_is_that_of_the_plain_twin(seed, n_rows, C, by, n):
    """The twin gets the rows in the order in which ties are broken."""
    rng = np.random.default_rng(seed)
    X, y = drawn(rng, n_rows, C)
    order = np.argsort(hash_rows(X, n_rows))
    X = X[order]
    y = y[order]
    turns = np.random.default_rng(seed).permutation(C)
    plain = reference.rank_unknown(X[:, :C], y == -1, turns, by)[:n]
    for form in (X, X.astype(np.float32), np.asfortranarray(X), sparse.csr_array(X), sparse.csr_matrix(X)):
        assert pairs(rank_unknown(Table(C), form, y, n, by, random_state=seed)) == plain


@pytest.mark.parametrize("by", ["entry", "row"])
def test_the_order_of_rows_decides_nothing(rng, by):
    X, y = drawn(rng, 40, 3)
    order = rng.permutation(40)
    before = rank_unknown(Table(3), X, y, by=by)
    after = rank_unknown(Table(3), X[order], y[order], by=by)
    assert pairs(before) == list(zip(order[after.row].tolist(), after.label.tolist(), strict=True))


def test_equal_rows_keep_their_order():
    queries = rank_unknown(Table(2), np.full((5, 2), 0.5), [[0, 0], *[[-1, -1]] * 4])
    assert sorted(pairs(queries)) == [(i, c) for i in range(1, 5) for c in range(2)]
    assert queries.row.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]


def test_each_label_takes_the_entry_of_which_the_model_is_least_sure():
    p = np.array([[0.1, 0.9], [0.5, 0.2], [0.4, 0.6], [0.8, 0.99]])
    y = [[-1, -1], [-1, -1], [-1, -1], [0, -1]]
    entries = pairs(rank_unknown(Table(2), p, y))
    assert [pair for pair in entries if pair[1] == 0] == [(1, 0), (2, 0), (0, 0)]
    assert [pair for pair in entries if pair[1] == 1] == [(2, 1), (1, 1), (0, 1), (3, 1)]
    assert {c for _, c in entries[:2]} == {0, 1}
    assert {c for _, c in entries[2:4]} == {0, 1}
    assert rank_unknown(Table(2), p, y, 3, "row").row.tolist() in ([1, 2, 0], [2, 1, 0])


def test_the_seed_decides_whose_turn_it_is(rng):
    X, y = drawn(rng, 30, 4)
    orders = {tuple(rank_unknown(Table(4), X, y, 4, random_state=seed).label.tolist()) for seed in range(20)}
    assert len(orders) > 5
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)


def test_partly_known_rows_and_labels_without_unknown_entries(rng):
    y = np.array([[0, 1, -1], [1, 0, 0], [0, -1, -1]])  # label 0 is known everywhere
    X = rng.random((3, 3))
    assert sorted(pairs(rank_unknown(Table(3), X, y))) == [(0, 2), (2, 1), (2, 2)]
    assert sorted(rank_unknown(Table(3), X, y, by="row").row.tolist()) == [0, 2]
    assert pairs(rank_unknown(Table(3), X, np.zeros((3, 3)))) == []


def test_votes_are_known_and_entries_with_a_verdict_are_not_asked_again():
    X = np.full((3, 2), 0.5)
    assert pairs(rank_unknown(Table(2), X, [[0.5, 0.2], [-1, 1.0], [np.nan, 0.0]])) == [(1, 0), (2, 0)]
    y = [[0, 1], [-1, -1], [-1, -1]]
    verdicts = [[-1, -1], [1, -2], [np.nan, -1]]
    assert sorted(pairs(rank_unknown(Table(2), X, y, verdicts=verdicts))) == [(2, 0), (2, 1)]


def test_sparse_labels_with_a_mask():
    y = sparse.csr_array(np.array([[0, 1], [0, 0], [1, 0]]))
    assert pairs(rank_unknown(Table(2), np.full((3, 2), 0.5), y)) == []
    queries = rank_unknown(Table(2), np.full((3, 2), 0.5), y, labeled=[True, False, True])
    assert sorted(pairs(queries)) == [(1, 0), (1, 1)]


@pytest.mark.parametrize("by", ["entry", "row"])
def test_of_classes_the_rows_with_the_smallest_largest_probability(rng, by):
    X = rng.normal(size=(60, 2))
    y = np.array(["a", "b", "c"], dtype=object)[np.clip((X[:, 0] * 1.5 + 1).round(), 0, 2).astype(int)]
    y[20:] = None
    known = np.flatnonzero([label is not None for label in y])
    model = LogisticRegression().fit(X[known], y[known].astype(str))
    queries = rank_unknown(model, X, y, 10, by)
    p = model.predict_proba(X[20:])
    order = np.argsort(p.max(axis=1))[:10]
    assert queries.row.tolist() == (order + 20).tolist()
    assert queries.label.tolist() == p[order].argmax(axis=1).tolist()
    np.testing.assert_array_equal(queries.probability, p[order].max(axis=1))


@pytest.mark.parametrize("sparsely", [False, True])
def test_models_of_this_package_and_others(rng, sparsely):
    X = rng.normal(size=(80, 4)) * (rng.random((80, 4)) < 0.7)
    y = (X[:, :3] + 0.3 * rng.normal(size=(80, 3)) > 0).astype(int)
    y[50:] = -1
    y[45, 1] = -1
    X = sparse.csr_array(X) if sparsely else X
    known = y[:45]
    models = [
        ResidualPropagation(n_neighbors=5, n_estimators=10).fit(X, y),
        make_pipeline(StandardScaler(with_mean=False), MLkNN(5)).fit(X[:45], known),
        MultiOutputClassifier(LogisticRegression()).fit(X[:45], known),
    ]
    for model in models:
        queries = rank_unknown(model, X, y, 30)
        assert len(set(pairs(queries))) == 30
        assert (y[queries.row, queries.label] == -1).all()
        assert (np.bincount(queries.label) == 10).all()
        p = model.predict_proba(X)
        p = np.column_stack([part[:, 1] for part in p]) if isinstance(p, list) else p
        np.testing.assert_allclose(queries.probability, p[queries.row, queries.label], atol=1e-12)


def test_one_label_and_a_model_of_both_of_its_classes(rng):
    X = rng.normal(size=(30, 2))
    y = (X[:, :1] > 0).astype(int)
    model = LogisticRegression().fit(X[:20], y[:20, 0])
    y[20:] = -1
    queries = rank_unknown(model, X, y, 3)
    p = model.predict_proba(X)[:, 1]
    assert queries.row.tolist() == (20 + np.argsort(np.abs(p[20:] - 0.5))[:3]).tolist()
    np.testing.assert_array_equal(queries.probability, p[queries.row])


def test_a_data_frame_keeps_its_columns(rng):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(rng.random((6, 2)), columns=["a", "b"])
    y = pandas.DataFrame({"flu": [0, 1, -1, -1, -1, -1], "cold": [0, 1, 0, 1, -1, -1]})
    y["cold"] = y["cold"].astype("Int64").mask(y["cold"] == -1)
    assert {i for i, c in pairs(rank_unknown(Table(2), X, y)) if c == 1} == {4, 5}


class NaN(Table):
    def predict_proba(self, X):
        return np.full((len(X), self.n_labels), np.nan)


X3 = np.full((3, 2), 0.5)
Y3 = [[0, 1], [-1, -1], [-1, 0]]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((Table(2), X3, Y3), {"by": "label"}, "by must be"),
        ((Table(2), X3, Y3), {"n": -1}, "n must be an integer of at least 0, got -1"),
        ((Table(2), X3, Y3), {"n": 2.5}, "n must be an integer"),
        ((X3, Table(2), Y3), {}, "ndarray has no predict_proba; give a fitted classifier, then X and y"),
        ((Table(2), X3[:2], Y3), {}, "3"),
        ((Table(2), X3[:, 0], Y3), {}, "X must be 2-D, one row for each sample, got 1 dimensions"),
        ((Table(1), X3, Y3), {}, "The model predicts 1 labels, y has 2; give the labels of its fit"),
        ((NaN(2), X3, Y3), {}, "predict_proba must return numbers in"),
        ((Table(2), X3, Y3), {"verdicts": [[1, 1]]}, "verdicts must have the shape of the labels"),
        ((Table(2), X3, [[0, 3], [-1, 1], [0, 0]]), {}, "3"),
    ],
)
def test_invalid_arguments_raise_a_clear_error(arguments, options, words):
    with pytest.raises(InputError, match=words):
        rank_unknown(*arguments, **options)


def test_a_class_that_y_does_not_have_is_refused(rng):
    model = LogisticRegression().fit(rng.normal(size=(9, 2)), np.repeat([0, 1, 7], 3))
    with pytest.raises(InputError, match="The model predicts 3 classes, y has 2; give the classes of its fit"):
        rank_unknown(model, rng.normal(size=(3, 2)), [0, 1, -1])
