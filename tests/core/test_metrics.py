"""The seven measures: against the authors' program row by row, a naive loop, scikit-learn and hand counts."""

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from nmlsdr import metrics

GOLDEN = Path(__file__).parents[1] / "golden" / "zhang_half.npz"
NAMES = ["hamming_loss", "ranking_loss", "average_precision", "one_error", "coverage", "macro_f1", "micro_f1"]
RANKING = ["ranking_loss", "average_precision", "one_error"]


# ---------------------------------------------------------------- a naive reading of the definitions


def naive_row(truth, scores):
    """(RL, AP, OE, Cov) of one row, by counting; NaN where the row is dropped, Cov None without labels."""
    labels = range(len(truth))
    relevant = [j for j in labels if truth[j]]
    irrelevant = [j for j in labels if not truth[j]]

    def at_or_above(j, m):  # m ranks at or above j; of equal scores the higher index ranks above
        return scores[m] > scores[j] or (scores[m] == scores[j] and m >= j)

    depth = {j: sum(at_or_above(j, m) for m in labels) for j in labels}
    cov = max(depth[j] for j in relevant) - 1 if relevant else None
    if not relevant or not irrelevant:
        return np.nan, np.nan, np.nan, cov
    rl = sum(scores[r] <= scores[i] for r in relevant for i in irrelevant) / (len(relevant) * len(irrelevant))
    ap = sum(sum(at_or_above(j, m) for m in relevant) / depth[j] for j in relevant) / len(relevant)
    oe = 0.0 if any(scores[j] == max(scores) for j in relevant) else 1.0
    return rl, ap, oe, cov


def by_row(measure, truth, scores, **options):
    """What a measure says of each row alone; NaN for a row without a known entry."""
    truth = np.array(truth, dtype=float)
    truth[truth == -1] = np.nan  # a row of 1 and -1 alone looks like labels coded -1/+1
    values = np.full(len(truth), np.nan)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        for i in np.flatnonzero(~np.isnan(truth).all(axis=1)):
            values[i] = measure(truth[i : i + 1], scores[i : i + 1], **options)
    return values


def naive_f1(truth, scores):
    """(macro, micro) F1 by counting TP, FP and FN."""
    counts = np.zeros((truth.shape[1], 3), dtype=int)
    for i, j in np.ndindex(*truth.shape):
        predicted = scores[i, j] >= 0.5
        counts[j] += [predicted and truth[i, j], predicted and not truth[i, j], not predicted and truth[i, j]]

    def f1(tp, fp, fn):
        return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0

    return np.mean([f1(*row) for row in counts]), f1(*counts.sum(axis=0))


def random_case(n_samples, n_labels, seed):
    """Rows of every kind: distinct scores, ties, all tied, no label, all labels."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n_samples, n_labels)) < 0.4).astype(int)
    scores = rng.random((n_samples, n_labels))
    scores[::2] = np.round(scores[::2], 1)
    scores[::5] = scores[::5, :1]
    truth[::7] = 0
    truth[::11] = 1
    return truth, scores


@pytest.mark.quick_cases("0-", "2-17")
@pytest.mark.parametrize("n_labels", [1, 2, 3, 6, 17])
@pytest.mark.parametrize("seed", range(4))
def test_measures_equal_counts_over_all_pairs(n_labels, seed):
    truth, scores = random_case(60, n_labels, seed)
    expected = np.array([naive_row(t, s) for t, s in zip(truth, scores, strict=True)], dtype=float)
    assert np.array_equal(by_row(metrics.ranking_loss, truth, scores), expected[:, 0], equal_nan=True)
    np.testing.assert_allclose(by_row(metrics.average_precision, truth, scores), expected[:, 1], rtol=1e-15)
    assert np.array_equal(by_row(metrics.one_error, truth, scores), expected[:, 2], equal_nan=True)
    for empty in (0, -1):
        depth = np.where(np.isnan(expected[:, 3]), empty, expected[:, 3])
        assert np.array_equal(by_row(metrics.coverage, truth, scores, empty=empty), depth)
        assert metrics.coverage(truth, scores, empty=empty) == np.mean(depth)
    if n_labels > 1:
        for name, column in zip(RANKING, expected.T, strict=False):
            assert getattr(metrics, name)(truth, scores) == pytest.approx(np.nanmean(column), rel=1e-14)
    macro, micro = naive_f1(truth, scores)
    assert metrics.macro_f1(truth, scores) == pytest.approx(macro, rel=1e-15)
    assert metrics.micro_f1(truth, scores) == micro
    assert metrics.hamming_loss(truth, scores) == np.mean((scores >= 0.5) != truth)


# ---------------------------------------------------------------- unknown entries


@pytest.mark.quick_cases("1-", "3-")
@pytest.mark.parametrize("unknown", [-1, np.nan])
@pytest.mark.parametrize("n_labels", [1, 2, 3, 6, 17])
def test_unknown_entries_are_left_out_of_every_measure(n_labels, unknown):
    """The naive reading of each row's known labels alone; -inf and NaN as scores of unknown entries change nothing."""
    truth, scores = random_case(60, n_labels, 9)
    known = np.random.default_rng(n_labels).random(truth.shape) < 0.7
    known[:9] = True
    known[20] = False
    labels = np.where(known, truth, unknown)
    rows = [naive_row(t[k], s[k]) if k.any() else (np.nan,) * 4 for t, s, k in zip(truth, scores, known, strict=True)]
    expected = np.array(rows, dtype=float)
    macro = np.mean([naive_f1(truth[k, j, None], scores[k, j, None])[0] for j, k in enumerate(known.T) if k.any()])
    for hidden in (scores, np.where(known, scores, np.nan), np.where(known, scores, -np.inf)):
        assert np.array_equal(by_row(metrics.ranking_loss, labels, hidden), expected[:, 0], equal_nan=True)
        np.testing.assert_allclose(by_row(metrics.average_precision, labels, hidden), expected[:, 1], rtol=1e-15)
        assert np.array_equal(by_row(metrics.one_error, labels, hidden), expected[:, 2], equal_nan=True)
        depth = np.where(np.isnan(expected[:, 3]) & known.any(axis=1), -1, expected[:, 3])
        assert np.array_equal(by_row(metrics.coverage, labels, hidden, empty=-1), depth, equal_nan=True)
        assert metrics.coverage(labels, hidden, empty=-1) == np.nanmean(depth)
        assert metrics.hamming_loss(labels, hidden) == np.mean(((scores >= 0.5) != truth)[known])
        assert metrics.micro_f1(labels, hidden) == naive_f1(truth[known][:, None], scores[known][:, None])[1]
        assert metrics.macro_f1(labels, hidden) == pytest.approx(macro, rel=1e-14)


def test_a_label_without_a_known_entry_is_left_out_of_macro_f1():
    Y = np.array([[1, -1], [0, -1]])
    scores = np.array([[0.9, 0.9], [0.1, 0.1]])
    assert metrics.macro_f1(Y, scores) == 1.0


# ---------------------------------------------------------------- the authors' program, Mulan, scikit-learn


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as file:
        return dict(file)


@pytest.mark.parametrize("name", ["RL", "OE", "AP", "COV"])
def test_authors_program_row_by_row(golden, name):
    """Zhang's MATLAB functions; NaN marks a row that they drop; their coverage counts an empty row as -1."""
    measure, options = {
        "RL": (metrics.ranking_loss, {}),
        "OE": (metrics.one_error, {}),
        "AP": (metrics.average_precision, {}),
        "COV": (metrics.coverage, {"empty": -1}),
    }[name]
    rows = by_row(measure, golden["truth"], golden["scores"], **options)
    assert np.isin(golden["kind"][np.isnan(rows)], ["empty", "full"]).all()
    np.testing.assert_allclose(rows, golden[name], rtol=0, atol=3e-16)  # AP: another order of summation


@pytest.mark.shared
@pytest.mark.parametrize("standardised", [0, 1])
def test_authors_seven_numbers_on_emotions(shared, standardised):
    """[HL, RL, OE, COV, AP, MaF1, MiF1] of their ML-kNN's outputs on Mulan's split."""
    with gzip.open(shared / "data" / "emotions" / "emotions-test.arff.gz", "rt", encoding="utf-8") as file:
        lines = file.read().lower().partition("@data")[2].split()
    truth = np.array([[int(value) for value in line.split(",")[-6:]] for line in lines])
    with np.load(shared / "oracles" / "mlknn" / f"zhang_emotions_std{standardised}.npz") as oracle:
        scores = oracle["Outputs"]
        expected = oracle["metrics"][0]
    names = ["hamming_loss", "ranking_loss", "one_error", "coverage", "average_precision", "macro_f1", "micro_f1"]
    empty = {"coverage": {"empty": -1}}
    measured = [getattr(metrics, name)(truth, scores, **empty.get(name, {})) for name in names]
    np.testing.assert_allclose(measured, expected, rtol=1e-14)


def test_measures_equal_those_of_mulan_apart_from_ties_and_uniform_rows(golden):
    """Mulan's columns RL, OE, Cov, AP differ only in ties and in rows without or with all labels."""
    truth = golden["truth"]
    scores = golden["scores"]
    mulan = golden["mulan"]
    assert np.array_equal(by_row(metrics.coverage, truth, scores), mulan[:, 2])
    plain = golden["kind"] == "distinct"
    assert np.array_equal(by_row(metrics.ranking_loss, truth, scores)[plain], mulan[plain, 0])
    assert np.array_equal(by_row(metrics.one_error, truth, scores)[plain], mulan[plain, 1])
    tied = ~np.isin(golden["kind"], ["empty", "full"])
    np.testing.assert_allclose(by_row(metrics.average_precision, truth, scores)[tied], mulan[tied, 3], atol=3e-16)


# ---------------------------------------------------------------- the conventions, one by one


def test_signed_zeros_are_equal_and_infinite_scores_have_an_order():
    assert metrics.ranking_loss([[1, 0]], [[0.0, -0.0]]) == 1.0
    assert metrics.coverage([[1, 0]], [[0.0, -0.0]]) == 1.0
    assert metrics.ranking_loss([[1, 0, 0]], [[np.inf, 3.0, -np.inf]]) == 0.0


def test_rows_without_or_with_every_label_are_left_out_of_the_mean():
    truth = np.array([[0, 0], [1, 1], [0, 1]])
    scores = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]])
    for name, value in zip(RANKING, [1.0, 0.5, 1.0], strict=True):
        assert getattr(metrics, name)(truth, scores) == value
        with pytest.warns(RuntimeWarning, match=f"{name} is NaN: each of the 2 rows"):
            assert np.isnan(getattr(metrics, name)(truth[:2], scores[:2]))


def test_f1_of_labels_that_never_occur():
    never = [[0, 0], [0, 0]]
    once = [[0.1, 0.7], [0.2, 0.3]]
    assert metrics.macro_f1(never, once) == metrics.micro_f1(never, once) == 0.0
    assert metrics.macro_f1([[1, 0], [1, 0]], [[0.5, 0.4], [0.6, 0.4]]) == 0.5
    assert metrics.micro_f1(never, np.zeros((2, 2))) == 0.0


# ---------------------------------------------------------------- score_table


def test_the_score_table_has_the_seven_measures_in_order():
    truth, scores = random_case(80, 5, 3)
    table = metrics.score_table(truth, scores, coverage_empty=-1)
    assert list(table) == ["HL'", "RL'", "AP", "OE'", "Cov'", "MaF1", "MiF1"]
    assert all(type(value) is float for value in table.values())
    assert table["HL'"] == 1 - metrics.hamming_loss(truth, scores)
    assert table["RL'"] == 1 - metrics.ranking_loss(truth, scores)
    assert table["AP"] == metrics.average_precision(truth, scores)
    assert table["OE'"] == 1 - metrics.one_error(truth, scores)
    assert table["Cov'"] == 1 - metrics.coverage(truth, scores, empty=-1) / 5
    assert table["MaF1"] == metrics.macro_f1(truth, scores)
    assert table["MiF1"] == metrics.micro_f1(truth, scores)
    assert metrics.score_table(truth, scores)["Cov'"] == 1 - metrics.coverage(truth, scores) / 5
    decided = metrics.score_table(truth, scores, predictions=1 - truth)  # all wrong
    assert {name: value for name, value in decided.items() if value == 0} == {"HL'": 0, "MaF1": 0, "MiF1": 0}
    assert (decided["AP"], decided["OE'"]) == (table["AP"], table["OE'"])


def test_table_of_one_label():
    truth = [[1], [0]]
    scores = [[0.8], [0.1]]
    with pytest.warns(RuntimeWarning) as caught_warnings:
        table = metrics.score_table(truth, scores)
    assert len(caught_warnings) == 3
    assert {name for name, value in table.items() if np.isnan(value)} == {"RL'", "AP", "OE'"}
    assert table["Cov'"] == 1.0


def test_table_refuses_another_convention():
    with pytest.raises(ValueError, match="coverage_empty must be"):
        metrics.score_table([[1, 0]], [[0.3, 0.2]], coverage_empty=1)


# ---------------------------------------------------------------- input


def forms(truth, scores):
    import pandas as pd

    yield truth.tolist(), scores.tolist()
    yield truth.astype(bool), np.asfortranarray(scores)
    yield truth.astype(float), scores
    yield truth.astype(np.uint8), scores[::-1][::-1]
    yield pd.DataFrame(truth), pd.DataFrame(scores)
    yield pd.DataFrame(truth).astype(object), scores
    yield sparse.csr_array(truth), scores
    yield sparse.csc_matrix(truth), scores
    frozen = scores.copy()
    frozen.setflags(write=False)
    yield truth, frozen


@pytest.mark.parametrize("name", [*NAMES, "score_table"])
def test_measures_accept_every_form_of_array(name):
    truth, scores = random_case(20, 4, 2)
    copies = truth.copy(), scores.copy()
    expected = getattr(metrics, name)(truth, scores)
    for Y, values in forms(truth, scores):
        assert getattr(metrics, name)(Y, values) == expected
    assert np.array_equal(truth, copies[0])
    assert np.array_equal(scores, copies[1])


@pytest.mark.parametrize(
    ("truth", "scores", "sentence"),
    [
        ([1, 0], [0.1, 0.2], r"must be 2-D .*, got 1-D; one label: Y"),
        ([[1, 0]], [0.1, 0.2], r"Y has shape \(1, 2\) but scores has shape \(2,\)"),
        ([[1, 0]], [[0.1], [0.2]], r"shape \(1, 2\) but scores has shape \(2, 1\)"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "no known entry in its 0 rows"),
        (np.zeros((3, 0)), np.zeros((3, 0)), "Y has no columns; give one column"),
        ([[1, 0], [0, 2]], np.zeros((2, 2)), r"got 2 in row 1, label 1; give one column of 0 and 1"),
        ([[-1, -1], [-1, -1]], np.zeros((2, 2)), r"Y has no known entry in its 2 rows"),
        ([[1, -1], [-1, 1]], np.zeros((2, 2)), r"contains -1 and \+1 \(row 0\)"),
        ([[0.5, 0]], np.zeros((1, 2)), r"got 0.5 in row 0, label 0; round votes first"),
        ([[1, 0]], [[0.1, np.nan]], r"scores holds NaN, first in row 0, label 1"),
        ([["a", "b"]], np.zeros((1, 2)), r"column 0 holds text: 'a' in row 0; turn label names into columns"),
        ([[1, 0]], np.ones((1, 2)) * 1j, r"scores has dtype complex128"),
        ([[1, 0], [1]], np.zeros((2, 2)), r"Y has rows of different lengths"),
        ([[1, 0]], np.ma.masked_array([[0.1, 0.2]], mask=[[True, False]]), r"scores is a masked array"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_bad_input_raises_a_clear_error(name, truth, scores, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        getattr(metrics, name)(truth, scores)
    assert str(error.value).endswith(".")
