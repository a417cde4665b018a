"""The numbers of forgotten and of wrongly given labels: bounds, invariances, cases by hand, truths in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmlsdr.inspection import estimate_mistakes


def perfect(n_ones=100, n=1000, forgotten_every=5):
    """One label whose rows come first by the scores; every fifth of them is not annotated."""
    y = np.array([[int(i < n_ones and i % forgotten_every > 0)] for i in range(n)])
    return -np.arange(n, dtype=float)[:, None], y


def drawn(rng, distance, forgets, invents=0.0, n=1500, C=4):
    """Scores of two normal distributions, and labels with mistakes."""
    truth = rng.random((n, C)) < [0.3, 0.2, 0.15, 0.1][:C]
    given_labels = np.where(truth, rng.random((n, C)) >= forgets, rng.random((n, C)) < invents)
    return distance * truth + rng.normal(size=(n, C)), given_labels.astype(int), truth


def test_a_case_by_hand():
    """80 given 1s, so the first 8, 16, 32 and 64 rows are looked at; 51 of the 64 are given, and no 1 stands below."""
    mistakes = estimate_mistakes(*perfect())
    w = 51 / 64
    highest_rate = 2 * np.sqrt(1 / 100 / 100) + 0.005
    h = 1 - w + 2 * np.sqrt(w * (1 - w) / 64)
    assert mistakes.forgotten == (0.0, pytest.approx(h * 80 / (1 - h)))
    assert mistakes.wrong[0] == 0
    assert mistakes.wrong[1] == pytest.approx(highest_rate * (1000 - (80 - 1000 * highest_rate) / (1 - highest_rate)))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 4), st.integers(1, 1000), st.floats(0, 1))
def test_every_number_lies_between_0_and_the_annotations_of_its_kind(seed, n, C, n_scores, share):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random((n, C)) < 0.2, -1, rng.random((n, C)) < share)
    y[0, 0] = 0  # a y of -1 and 1 alone would be read as the wrong coding
    mistakes = estimate_mistakes(rng.integers(0, n_scores, (n, C)), y)
    assert 0 <= mistakes.forgotten[0] <= mistakes.forgotten[1] <= (y == 0).sum()
    assert 0 <= mistakes.wrong[0] <= mistakes.wrong[1] <= (y == 1).sum()


def test_the_order_of_rows_and_labels_and_the_scale_of_the_scores_do_not_matter(rng):
    scores, y, _ = drawn(rng, 2.0, 0.3, 0.02)
    y[rng.random(y.shape) < 0.1] = -1
    intervals = np.array(estimate_mistakes(scores, y))
    rows = rng.permutation(len(y))
    labels = rng.permutation(y.shape[1])
    np.testing.assert_allclose(estimate_mistakes(scores[rows][:, labels], y[rows][:, labels]), intervals, rtol=1e-12)
    np.testing.assert_allclose(estimate_mistakes(np.exp(0.5 * scores), y), intervals, rtol=1e-12)


def test_unknown_entries_and_unlabelled_rows_are_left_out(rng):
    scores, y, _ = drawn(rng, 2.0, 0.3)
    padded_arrays = np.vstack([scores, np.full((50, 4), np.nan)]), np.vstack([y, np.full((50, 4), -1)])
    assert estimate_mistakes(*padded_arrays) == estimate_mistakes(scores, y)
    known = rng.random(y.shape) < 0.8
    masked = np.where(known, y, -1)
    noise = np.where(known, scores, rng.normal(size=y.shape) * 50)
    assert estimate_mistakes(noise, masked) == estimate_mistakes(scores, masked)
    assert estimate_mistakes(scores, y, labeled=known) == estimate_mistakes(scores, masked)


@pytest.mark.parametrize("distance", [1.0, 2.0, 4.0])
def test_the_truth_lies_inside_in_nine_of_ten_draws(distance):
    """Where the scores tell the labels with certainty (4), by little more; otherwise nearly always."""
    inside = []
    for forgets, invents in [(0.0, 0.0), (0.1, 0.0), (0.4, 0.0), (0.0, 0.05), (0.3, 0.03)]:
        for seed in range(6):
            scores, y, truth = drawn(np.random.default_rng(seed), distance, forgets, invents, n=600)
            low, high = estimate_mistakes(scores, y).forgotten
            inside.append(low <= (truth & (y == 0)).sum() <= high)
    assert np.mean(inside) >= 0.9, inside


def test_one_label_full_of_wrong_1s_is_within_the_interval(rng):
    """The scores of the other labels are smaller, so that the tenth of all entries does not have this label."""
    truth = rng.random((600, 6)) < 0.2
    scores = 2 * truth + rng.normal(size=truth.shape)
    scores[:, 0] += 10
    given_labels = truth.copy()
    given_labels[:, 0] |= rng.random(600) < 0.15
    lowest, highest = estimate_mistakes(scores, given_labels).wrong
    assert lowest <= (given_labels & ~truth).sum() <= highest
    alone = [estimate_mistakes(scores[:, [c]], given_labels[:, [c]]).wrong[1] for c in range(6)]
    assert highest == pytest.approx(sum(alone))
    assert alone[0] > 3 * max(alone[1:])


def test_clear_features_give_a_narrow_interval_and_unclear_ones_a_wide_one(rng):
    for distance, least, largest_ratio in [(6.0, 1.0, 1.5), (1.0, 2.0, np.inf)]:
        scores, y, truth = drawn(rng, distance, 0.3, n=4000)
        assert least < estimate_mistakes(scores, y).forgotten[1] / (truth & (y == 0)).sum() < largest_ratio


def test_without_a_given_1_every_given_0_may_be_a_forgotten_label():
    assert estimate_mistakes(np.arange(20.0).reshape(10, 2), np.zeros((10, 2))).forgotten == (0.0, 20.0)


@pytest.mark.parametrize(
    ("scores", "y", "message"),
    [
        ([[0.1, 0.2]], [[1], [0]], "y has 2"),
        ([[0.1, 0.2], [0.3, 0.4]], [[1], [0]], r"scores must have the shape of the labels, \(2, 1\), got \(2, 2\)"),
        ([[0.1], [np.nan]], [[1], [0]], "scores of labelled rows must be finite"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(scores, y, message):
    with pytest.raises(ValueError, match=message):
        estimate_mistakes(scores, y)
