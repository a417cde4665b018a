"""The order of rows, and of label columns, decides nothing: the canonical order, its twin, and every estimator."""

import warnings

import numpy as np
import pytest
import reference
from estimator_cases import every_estimator, make
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline

from nmlsdr import (
    MLDA,
    NMLSDR,
    MLkNN,
    MultiLabelPropagation,
    ResidualPropagation,
    SemiSupervisedMLkNN,
    _boosting,
    forest,
)
from nmlsdr._checks.labels import check_labels
from nmlsdr._row_order import column_order, order_of_distances, row_order
from nmlsdr.graph import kneighbors

CASES = {  # of rows: yes/no columns, whole numbers with many ties, numbers without ties, few labels known
    "yes or no": lambda rng: rng.integers(0, 2, (90, 4)).astype(float),
    "whole numbers": lambda rng: rng.integers(-1, 2, (90, 3)).astype(float),
    "numbers": lambda rng: rng.standard_normal((90, 4)),
}


def labelled(rng, X, n_labels=3, form="sets"):
    """Labels that depend on X with noise, a third of the rows unlabelled, some entries unknown, some votes."""
    Y = (X @ rng.standard_normal((X.shape[1], n_labels)) + rng.standard_normal((len(X), n_labels)) > 0.3).astype(float)
    if form == "partly":
        Y[rng.random(Y.shape) < 0.2] = -1
        Y[rng.random(Y.shape) < 0.1] = 0.25
    Y[rng.random(len(X)) < 0.3] = -1
    return Y


# ---------------------------------------------------------------- the order


@pytest.mark.parametrize("alpha", ["none", "of rows", "of entries"])
@pytest.mark.parametrize("form", ["whole", "partly"])
@pytest.mark.parametrize("case", CASES)
def test_the_order_is_that_of_the_plain_implementation(case, form, alpha, rng):
    X = CASES[case](rng)
    X[5, 0] = -0.0
    labels = check_labels(labelled(rng, X, form=form))
    alphas = {
        "none": None,
        "of rows": rng.integers(0, 2, len(X)) / 2,
        "of entries": rng.integers(0, 2, (len(X), 3)) / 2,
    }
    expected = reference.row_order(X, labels.Y, labels.known, alphas[alpha])
    for layout in (np.asarray, np.asfortranarray, sparse.csr_array):
        np.testing.assert_array_equal(row_order(layout(X), labels, alphas[alpha]), expected)
    if case != "numbers":
        np.testing.assert_array_equal(row_order(X.astype(np.float32), labels, alphas[alpha]), expected)


@pytest.mark.parametrize("case", CASES)
def test_units_constant_features_and_one_label_hardly_change_the_order(case, rng):
    X = CASES[case](rng)
    Y = labelled(rng, X)
    order = row_order(X, check_labels(Y))
    for same in (X * 2.0**60, X * 2.0**-60, 3 * X, X * 2.0 ** np.arange(X.shape[1]), np.insert(X, 1, 7.0, axis=1)):
        np.testing.assert_array_equal(row_order(same, check_labels(Y)), order)
    row = int(np.argmax(Y[:, 0] != -1))
    Y[row, 0] = 1 - Y[row, 0]
    corrected = row_order(X, check_labels(Y))
    np.testing.assert_array_equal(X[order], X[corrected])  # rows change places with equal rows only


def test_equal_rows_with_different_labels_stand_in_random_order(rng):
    """Whatever their order in the file; so neighbours at distance 0 have a label as often as all equal rows."""
    X = np.repeat(np.arange(8.0), 250)[:, None]
    y = (np.arange(2000) % 250 < 50).astype(int)[:, None]  # the 1s of each value first
    order = row_order(X, check_labels(y))
    for value in range(8):
        of_value = y[order[X[order, 0] == value], 0]
        first = of_value[:50].sum()
        assert 2 <= first <= 20  # 10 expected, standard deviation 2.5
    assert len(np.unique(order)) == 2000


def test_rows_out_of_core_keep_their_order(rng, tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", rng.standard_normal((20, 2)))
    rows = np.load(tmp_path / "x.npy", mmap_mode="r")
    labels = check_labels(np.ones((20, 1)))
    assert row_order(rows, labels) is not None
    monkeypatch.setattr("nmlsdr._search.memory.memory_bytes", lambda: 1.0)
    assert row_order(rows, labels) is None


def test_distances_give_one_order_for_any_order_of_rows(rng):
    X = rng.integers(0, 3, (60, 2)).astype(float)
    Y = labelled(rng, X)
    D = np.abs(X[:, None] - X).sum(axis=2)
    order = order_of_distances(D, check_labels(Y))
    permuted = rng.permutation(60)
    order_of_permuted = permuted[order_of_distances(D[permuted][:, permuted], check_labels(Y[permuted]))]
    np.testing.assert_array_equal(X[order_of_permuted], X[order])
    np.testing.assert_array_equal(Y[order_of_permuted], Y[order])
    stored = order_of_distances(sparse.csr_array(D), check_labels(Y))
    np.testing.assert_array_equal(stored, order)


def test_columns_are_ordered_by_their_content(rng):
    labels = rng.integers(0, 1025, (50, 9)).astype(np.int16)
    permuted = rng.permutation(9)
    np.testing.assert_array_equal(
        labels[:, column_order(labels)], labels[:, permuted][:, column_order(labels[:, permuted])]
    )


# ---------------------------------------------------------------- every estimator


def answers(model, X):
    """Labels, or, of what predicts none, the embedding to seven digits of its largest number."""
    if hasattr(model, "predict"):
        return model.predict(X)
    embedded = model.transform(X)
    return np.round(embedded / np.abs(embedded).max(), 6)


def permuted_fits(model, X, Y, new, rng, columns=False):
    """What a model predicts of new rows, and what it predicts after fits to permuted rows, or to permuted labels."""
    with warnings.catch_warnings(action="ignore"):
        yield answers(model.fit(X, Y), new)
        for _ in range(3):
            rows = rng.permutation(len(X))
            order = rng.permutation(Y.shape[1]) if columns else np.arange(Y.shape[1])
            predicted = answers(model.fit(X[rows], Y[rows][:, order]), new)
            yield predicted if not hasattr(model, "predict") else predicted[:, np.argsort(order)]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("case", CASES)
@every_estimator
def test_permuted_rows_and_labels_give_the_same_predictions(name, case, columns, rng):
    X = CASES[case](rng)
    new = CASES[case](rng)
    first, *permuted_predictions = permuted_fits(make(name), X, labelled(rng, X), new, rng, columns)
    for permuted_prediction in permuted_predictions:
        np.testing.assert_array_equal(permuted_prediction, first)


@pytest.mark.parametrize("rule", ["f1", "macro", "prior"])
@pytest.mark.parametrize("estimator", [MLkNN, SemiSupervisedMLkNN, MultiLabelPropagation, ResidualPropagation])
def test_permuted_rows_give_the_same_thresholds(estimator, rule, rng):
    X = CASES["whole numbers"](rng)
    Y = labelled(rng, X)
    model = make(estimator.__name__, threshold=rule)
    with warnings.catch_warnings(action="ignore"):
        expected = model.fit(X, Y).thresholds_
        rows = rng.permutation(len(X))
        np.testing.assert_allclose(model.fit(X[rows], Y[rows]).thresholds_, expected, rtol=1e-12)


def test_permuted_rows_of_a_pipeline_with_partly_known_labels_and_alphas(rng):
    X = CASES["whole numbers"](rng)
    Y = labelled(rng, X, form="partly")
    alpha = rng.integers(1, 4, Y.shape) / 4
    rows = rng.permutation(len(X))
    for model in (make("ResidualPropagation"), make("MultiLabelPropagation")):
        expected = model.fit(X, Y, alpha=alpha).predict(X)
        np.testing.assert_array_equal(model.fit(X[rows], Y[rows], alpha=alpha[rows]).predict(X), expected)


def test_permuted_rows_with_verdicts(rng):
    X = CASES["yes or no"](rng)
    Y = labelled(rng, X)
    verdicts = np.where(rng.random(Y.shape) < 0.2, rng.integers(0, 2, Y.shape), -1)
    rows = rng.permutation(len(X))
    model = make("ResidualPropagation")
    expected = model.fit(X, Y, verdicts=verdicts).predict(X)
    np.testing.assert_array_equal(model.fit(X[rows], Y[rows], verdicts=verdicts[rows]).predict(X), expected)


def test_permuted_rows_of_precomputed_distances(rng):
    X = CASES["whole numbers"](rng)
    Y = labelled(rng, X)
    Y[Y.max(axis=1) == -1] = 0
    D = np.abs(X[:, None] - X).sum(axis=2)
    rows = rng.permutation(len(X))
    for name in ("MLkNN", "SemiSupervisedMLkNN"):
        model = make(name, neighbors="precomputed")
        expected = model.fit(D, Y).predict_proba(D)
        permuted = model.fit(D[rows][:, rows], Y[rows]).predict_proba(D[:, rows])
        np.testing.assert_allclose(permuted, expected, atol=1e-9)


@pytest.mark.parametrize(("n_rows", "n_labels"), [(90, 300), (1100, 70)])
def test_permuted_rows_and_label_columns_beyond_those_that_trees_are_split_by(n_rows, n_labels, rng):
    """300 labels: the forests' random sums; 70 labels of 1100 rows: those of boosting."""
    X = rng.integers(0, 4, (n_rows, 5)).astype(float)
    Y = (X @ rng.standard_normal((5, n_labels)) + rng.standard_normal((n_rows, n_labels)) > 2).astype(int)
    first, *permuted_predictions = permuted_fits(
        make("ResidualPropagation", n_estimators=2), X, Y, X[:40], rng, columns=True
    )
    for permuted_prediction in permuted_predictions:
        np.testing.assert_array_equal(permuted_prediction, first)
    assert forest.MOST_LABELS < 300
    assert _boosting._MOST_LABELS < 70


@pytest.mark.parametrize("name", ["ResidualPropagation", "SemiSupervisedMLkNN", "MLkNN", "MultiLabelPropagation"])
@pytest.mark.parametrize("case", CASES)
def test_a_fit_in_the_canonical_order_is_a_fit_of_rows_in_this_order(name, case, rng, request):
    X = CASES[case](rng)
    Y = labelled(rng, X)
    if name == "MLkNN":  # it leaves unlabelled rows out before it orders the others
        is_labelled = (Y != -1).any(axis=1)
        X = X[is_labelled]
        Y = Y[is_labelled]
    model = make(name).fit(X, Y)
    order = row_order(X, check_labels(Y))
    expected = model.predict_proba(X)
    request.getfixturevalue("rows_as_they_stand")
    np.testing.assert_allclose(make(name).fit(X[order], Y[order]).predict_proba(X), expected, atol=1e-8)


def test_the_public_search_keeps_the_order_of_row_numbers():
    X = np.zeros((30, 2))
    np.testing.assert_array_equal(kneighbors(X, 3)[1][10:], np.tile(np.arange(3), (20, 1)))


# ---------------------------------------------------------------- sorted tables


def test_a_table_sorted_by_its_label_gives_the_predictions_of_any_other_order():
    """Of four yes/no columns; 753 of 1000 new rows got the label if the 1s came first, and 245 in another order."""
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 4)) < 0.5).astype(float)
    y = (X[:, :1] + X[:, 1:2] - 1 + 0.6 * rng.standard_normal((2000, 1)) > 0.4).astype(int)
    table = X[:1000]
    labels = y[:1000]
    orders = np.arange(1000), np.argsort(-labels[:, 0], kind="stable"), np.argsort(labels[:, 0], kind="stable")
    predicted = [
        ResidualPropagation(n_estimators=20).fit(table[rows], labels[rows]).predict(X[1000:]) for rows in orders
    ]
    np.testing.assert_array_equal(predicted[1], predicted[0])
    np.testing.assert_array_equal(predicted[2], predicted[0])
    assert f1_score(y[1000:], predicted[0]) > 0.66


def test_suspects_of_a_sorted_table_are_those_of_any_other_order(rng):
    X = rng.integers(0, 2, (300, 4)).astype(float)
    y = (X[:, :1] + 0.4 * rng.standard_normal((300, 1)) > 0.5).astype(int)
    scores = []
    for rows in (np.arange(300), np.argsort(-y[:, 0], kind="stable")):
        model = make("ResidualPropagation").fit(X[rows], y[rows])
        scores.append(np.sort(model.flip_scores_[:, 0]))
    np.testing.assert_allclose(scores[1], scores[0], atol=1e-10)


def test_of_equal_posteriors_all_count_for_the_flip_rate():
    """28, 106 or 106, and 58, 3 or 197 new rows got the label of a table in another order, or sorted by the label."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((800, 6))
    y = (X[:, :1] + rng.standard_normal((800, 1)) > 1.2).astype(int)
    y = np.where(rng.random(y.shape) < 0.05, 1 - y, y)
    for rule in ("f1", "macro", "prior"):
        counts = set()
        for key in (np.zeros(400), -y[:400, 0], y[:400, 0]):
            rows = np.argsort(key, kind="stable")
            counts.add(int(MLkNN(threshold=rule).fit(X[:400][rows], y[:400][rows]).predict(X[400:]).sum()))
        assert len(counts) == 1, (rule, counts)
        assert 60 < counts.pop() < 150  # 94 have it


# ---------------------------------------------------------------- rounding


def test_a_row_alone_has_the_probability_that_it_has_in_its_file_and_as_a_sparse_row(rng):
    for _ in range(3):
        X = rng.integers(0, 3, (200, 6)).astype(float)
        new = rng.integers(0, 3, (60, 6)).astype(float)
        y = (X[:, :2] + rng.standard_normal((200, 2)) > 1.5).astype(int)
        y[rng.random(200) < 0.5] = -1
        model = make_pipeline(NMLSDR(), SemiSupervisedMLkNN()).fit(X, y)
        whole = model.predict_proba(new)
        alone = np.concatenate([model.predict_proba(row[None]) for row in new])
        np.testing.assert_allclose(alone, whole, atol=1e-9)
        stored = make_pipeline(NMLSDR(), SemiSupervisedMLkNN()).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(stored.predict_proba(sparse.csr_array(new)), whole, atol=1e-9)


def test_the_embedding_of_nmlsdr_is_rounded_to_a_step_of_the_length_of_rows(rng):
    X = CASES["numbers"](rng)
    Y = labelled(rng, X)
    for rows in (X, X.astype(np.float32)):
        model = NMLSDR(n_neighbors=5).fit(rows, Y)
        embedded = model.transform(rows)
        length = np.sqrt(((rows - rows.mean(axis=0)) ** 2).sum() / len(rows))
        step = 2.0**-32 * 2.0 ** np.ceil(np.log2(length))
        assert model._rounding_step == step
        if rows.dtype == np.float64:
            assert (embedded % step == 0).all()
    assert MLDA().random_state == 0
