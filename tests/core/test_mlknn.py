"""ML-kNN's core: properties first, parity with the twin, the authors' program last."""

from pathlib import Path

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from nmlsdr import MLkNN, mlknn
from nmlsdr._errors import InputError
from nmlsdr.datasets import load_mulan
from nmlsdr.graph import kneighbors

GOLDEN = Path(__file__).parents[1] / "golden"


def assert_is_posterior(table):
    """Conditionals sum to 1 over the counts, everything is a probability and finite."""
    for conditional in (table.with_label, table.without_label):
        np.testing.assert_allclose(conditional.sum(axis=1), 1.0, rtol=1e-12)
    for values in (table.prior, table.with_label, table.without_label, table.posterior):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        assert (values <= 1).all()


def assert_same_bits(ours, theirs):
    np.testing.assert_array_equal(np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64), strict=True)


def draw(rng, n, C, k, q=7, p=0.3):
    Y = (rng.random((n, C)) < p).astype(int)
    neighbors = np.array([np.setdiff1d(np.arange(n), i)[rng.permutation(n - 1)[:k]] for i in range(n)])
    return Y, neighbors, np.array([rng.permutation(n)[:k] for _ in range(q)]).reshape(q, k)


CASES = {
    "small": {"n": 12, "C": 3, "k": 4},
    "two rows": {"n": 2, "C": 2, "k": 1},
    "k = n - 1": {"n": 9, "C": 4, "k": 8},
    "one label": {"n": 20, "C": 1, "k": 5},
    "16 labels, one task": {"n": 30, "C": 16, "k": 3},
    "17 labels, two tasks": {"n": 30, "C": 17, "k": 3},
    "33 labels": {"n": 25, "C": 33, "k": 10},
    "no query": {"n": 8, "C": 2, "k": 3, "q": 0},
    "no positive": {"n": 10, "C": 3, "k": 3, "p": 0.0},
    "all positive": {"n": 10, "C": 3, "k": 3, "p": 1.0},
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_mlknn_equals_the_plain_implementation_bit_for_bit(case, n_jobs, rng):
    Y, indices, queries = draw(rng, **case)
    table = mlknn.fit_posterior(Y, indices, smoothing=0.7, n_jobs=n_jobs)
    assert_is_posterior(table)
    scores = mlknn.posterior(table, Y, queries, n_jobs=n_jobs)
    for ours, theirs in zip(
        (table.prior, table.with_label, table.without_label, scores),
        reference.mlknn_posterior(Y, indices, queries, s=0.7),
        strict=True,
    ):
        assert_same_bits(ours, theirs)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(2, 24),
    C=st.sampled_from([1, 2, 15, 16, 17, 32]),
    k=st.integers(1, 23),
    s=st.floats(1e-6, 1e6),
    seed=st.integers(0, 2**20),
)
def test_mlknn_equals_the_plain_implementation_on_random_cases(n, C, k, s, seed):
    Y, indices, queries = draw(np.random.default_rng(seed), n, C, min(k, n - 1))
    table = mlknn.fit_posterior(Y, indices, smoothing=s)
    assert_is_posterior(table)
    expected = reference.mlknn_posterior(Y, indices, queries, s=s)
    assert_same_bits(mlknn.posterior(table, Y, queries), expected[-1])


def test_blocks_do_not_change_the_result(rng, monkeypatch):
    Y, indices, queries = draw(rng, n=50, C=5, k=4, q=30)
    table = mlknn.fit_posterior(Y, indices)
    scores = mlknn.posterior(table, Y, queries)
    monkeypatch.setattr(mlknn, "_LABELS_PER_CALL", 60)  # three rows a call
    again = mlknn.fit_posterior(Y, indices)
    assert_same_bits(again.posterior, table.posterior)
    assert_same_bits(mlknn.posterior(again, Y, queries), scores)


@pytest.mark.parametrize(
    "convert",
    [
        lambda Y: Y.astype(bool),
        lambda Y: Y.astype(float),
        lambda Y: np.asfortranarray(Y),
        lambda Y: Y.tolist(),
        sparse.csr_array,
        sparse.csc_matrix,
        lambda Y: np.repeat(Y, 2, axis=1)[:, ::2],
    ],
    ids=["bool", "float", "F order", "list", "csr_array", "csc_matrix", "strided"],
)
def test_any_form_of_labels_and_indices(convert, rng):
    Y, indices, queries = draw(rng, n=15, C=3, k=4)
    table = mlknn.fit_posterior(Y, indices)
    frozen = indices.astype(np.int32)
    frozen.flags.writeable = False
    assert_same_bits(mlknn.fit_posterior(convert(Y), frozen).posterior, table.posterior)
    assert_same_bits(mlknn.posterior(table, convert(Y), queries.tolist()), mlknn.posterior(table, Y, queries))


@pytest.mark.parametrize("smoothing", [1e-320, 1e-200, 1e100])
def test_extreme_smoothing_is_never_nan(smoothing, rng):
    Y, indices, queries = draw(rng, n=12, C=4, k=3)
    Y[:, 0] = 0
    Y[:, 1] = 1
    table = mlknn.fit_posterior(Y, indices, smoothing=smoothing)
    scores = mlknn.posterior(table, Y, queries)
    assert np.isfinite(table.posterior).all()
    assert ((scores >= 0) & (scores <= 1)).all()


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("smoothing", [0, -1.0, np.nan, np.inf])
def test_smoothing_is_a_positive_number(smoothing):
    with pytest.raises(InputError, match="smoothing"):
        mlknn.fit_posterior([[0, 1], [1, 1], [0, 0]], [[1], [2], [0]], smoothing=smoothing)


@pytest.mark.parametrize(
    ("indices", "value"),
    [
        ([[1, 2, 0]] * 3, "3"),
        ([[1], [3], [0]], "3"),
        ([[1], [-1], [0]], "-1"),
        ([[1], [1], [0]], "1"),
        ([[1], [0]], "2"),
        ([[1.0], [0.0], [0.0]], "float64"),
        ([1, 0, 0], "int64"),
        (np.empty((3, 0), dtype=int), "0"),
    ],
)
def test_indices_are_other_rows_of_y(indices, value):
    """The error names what was given."""
    with pytest.raises(InputError, match=rf"(?<![\w.]){value}\b"):
        mlknn.fit_posterior([[0, 1], [1, 1], [0, 0]], indices)


@pytest.mark.parametrize(
    "Y", [[[0, 1], [1, -1], [0, 0]], [[0.5], [1], [0]], [[np.nan], [1], [0]], [0, 1, 1], [["a"], ["b"], ["c"]]]
)
def test_labels_are_0_and_1(Y):
    with pytest.raises(InputError, match="Y must"):
        mlknn.fit_posterior(Y, [[1], [2], [0]])


def test_a_table_accepts_only_arrays_of_its_own_shape():
    Y = [[0, 1], [1, 1], [0, 0]]
    table = mlknn.fit_posterior(Y, [[1], [2], [0]])
    with pytest.raises(ValueError, match=r"learned from \(2, 1\) labels and neighbours, got \(2, 2\)"):
        mlknn.posterior(table, Y, [[0, 1]])
    with pytest.raises(ValueError, match=r"got \(1, 1\); pass as many"):
        mlknn.posterior(table, [[0], [1], [0]], [[0]])


# ---------------------------------------------------------------- the twin, by hand


def test_the_plain_implementation_computed_by_hand():
    Y = [[1, 0], [1, 1], [0, 0]]
    indices = [[1, 2], [0, 2], [1, 0]]
    delta = reference.count_neighbor_labels(Y, indices)
    assert delta.tolist() == [[1, 1], [1, 0], [2, 1]]
    histogram = reference.label_histogram(Y, delta, 2)
    assert histogram[1].tolist() == [[0, 2, 0], [1, 0, 0]]
    assert histogram[0].tolist() == [[0, 0, 1], [0, 2, 0]]
    prior, present, absent, posterior = reference.mlknn_posterior(Y, indices, [[0, 2]])
    assert prior.tolist() == [3 / 5, 2 / 5]
    assert present.tolist() == [[1 / 5, 3 / 5, 1 / 5], [2 / 4, 1 / 4, 1 / 4]]
    assert absent.tolist() == [[1 / 4, 1 / 4, 2 / 4], [1 / 5, 3 / 5, 1 / 5]]
    assert posterior[0] == pytest.approx([0.36 / (0.36 + 0.1), 0.2 / (0.2 + 0.12)], rel=1e-15)


# ---------------------------------------------------------------- the authors' program


def assert_reproduces(oracle, train, labels, test, k, s):
    """Every number of the program, to its last bit."""
    table = mlknn.fit_posterior(labels, kneighbors(train, k)[1], smoothing=s)
    scores = mlknn.posterior(table, labels, kneighbors(train, k, queries=test)[1])
    assert_same_bits(table.prior, oracle["Prior"])
    assert_same_bits(1 - table.prior, oracle["PriorN"])
    assert_same_bits(table.with_label, oracle["Cond"])
    assert_same_bits(table.without_label, oracle["CondN"])
    assert_same_bits(scores, oracle["Outputs"])
    assert_same_bits((scores >= 0.5).astype(np.intp), oracle["Pre"])


def test_authors_program_on_tied_distances():
    inputs = np.load(GOLDEN / "tie_inputs.npz")
    oracle = np.load(GOLDEN / "zhang_ties_k5_s1.npz")
    np.testing.assert_array_equal(kneighbors(inputs["Xtrain"], 5)[1], oracle["nb"])
    assert_reproduces(oracle, inputs["Xtrain"], inputs["Ytrain"], inputs["Xtest"], k=5, s=1.0)


@pytest.mark.shared
@pytest.mark.parametrize("standardized", [0, 1])
def test_authors_program_on_emotions(standardized, shared):
    oracle = np.load(shared / "oracles" / "mlknn" / f"zhang_emotions_std{standardized}.npz")
    folder = shared / "data" / "emotions"
    files = (folder / f"emotions-{side}.arff.gz" for side in ("train", "test"))
    train, test = (load_mulan(file, folder / "emotions.xml") for file in files)
    rows = train.data
    queries = test.data
    if standardized:
        mean = rows.mean(axis=0)
        scale = rows.std(axis=0, ddof=1)
        rows = (rows - mean) / scale
        queries = (queries - mean) / scale
    k = int(oracle["k"][0, 0])
    s = float(oracle["s"][0, 0])
    assert_reproduces(oracle, rows, train.target, queries, k=k, s=s)
    # and the estimator is the same program
    model = MLkNN(k, smoothing=s).fit(rows, train.target)
    scores = model.predict_proba(queries)
    assert_same_bits(scores, oracle["Outputs"])
    assert_same_bits(model.predict(queries), oracle["Pre"])


def test_posterior_checks_its_labels_and_indices():
    Y = np.ones((50, 3), dtype=np.uint8)
    Y[::2] = 0
    table = mlknn.fit_posterior(Y, [[(i + 1) % 50, (i + 2) % 50] for i in range(50)])
    np.testing.assert_array_equal(mlknn.posterior(table, Y.tolist(), [[3, 8]]), mlknn.posterior(table, Y, [[3, 8]]))
    with pytest.raises(ValueError, match="must be rows of Y"):
        mlknn.posterior(table, Y, [[3, 50]])
    Y[7] = 2
    for labels in (Y, Y.astype(float)):
        with pytest.raises(ValueError, match="0 and 1"):
            mlknn.posterior(table, labels, [[3, 8]])


def test_products_that_underflow_leave_the_prior():
    """The least smoothing, and a count that no row has: both products are 0, and the neighbours say nothing."""
    table = mlknn.fit_posterior([[1], [1], [0]], [[1, 2], [0, 2], [1, 0]], smoothing=5e-324)
    assert table.posterior[0, 0] == table.prior[0] == 2 / 3
    assert table.posterior[0, 1:].tolist() == [1.0, 0.0]
