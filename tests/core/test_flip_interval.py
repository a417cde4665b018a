"""The interval of the flip rate that `nmlsdr report` shows: it contains the truth on data that it was not set on."""

import numpy as np
import pytest
import reference

from nmlsdr._checks.labels import check_labels
from nmlsdr._report.trial import EveryRule
from nmlsdr._thresholds import flip_rate_interval, labels_flip_rate, labels_forget_rate

SEEDS = range(10)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize(("name", "flip"), [("Scene", 0.0), ("Scene", 0.1), ("Toy", 0.05), ("Toy", 0.2)])
def test_both_intervals_contain_the_truth_in_eight_of_ten_draws(name, flip, shared):
    from nmlsdr.datasets import flip_labels, mask_labels
    from nmlsdr.experiments.protocol import STUDIES, draw

    data = draw(STUDIES["benchmarks" if name == "Scene" else "toy"], name, 0, "full", str(shared / "data"))
    coverage = []
    for seed in SEEDS:
        noisy_labels = mask_labels(flip_labels(data.target, flip, random_state=seed), 0.3, random_state=seed)
        known = noisy_labels != -1
        mistakes = EveryRule(n_jobs=1, random_state=seed).fit(data.train, noisy_labels).mistakes_
        wrong = known & (noisy_labels != data.target)
        numbers = (wrong & (noisy_labels == 0)).sum(), (wrong & (noisy_labels == 1)).sum()
        coverage.append([low <= number <= high for (low, high), number in zip(mistakes, numbers, strict=True)])
    assert (np.sum(coverage, axis=0) >= 8).all(), coverage


def drawn(rng, n_rows, n_scores):
    """Labels of which some are unknown, scores of the labelled rows, and their known entries."""
    Y = rng.integers(-1, 2, (n_rows, 3))
    Y[0] = 0, 1, -1
    labels = check_labels(Y)
    return labels, rng.integers(0, n_scores, (int(labels.labeled.sum()), 3)) / n_scores, labels.known[labels.labeled]


@pytest.mark.parametrize("n_scores", [1, 2, 3, 1000])  # so few that many are equal, or none
def test_the_flip_rate_is_the_share_of_1s_in_the_tenth_with_the_smallest_scores(n_scores, rng):
    for n_rows in (1, 2, 9, 10, 11, 57, 200):
        labels, scores, known = drawn(rng, n_rows, n_scores)
        twin = reference.flip_rate(scores[known], labels.Y[labels.labeled][known])
        assert labels_flip_rate(scores, labels) == pytest.approx(twin, rel=1e-12)


def test_equal_scores_at_the_limit_count_by_their_mean():
    """Three of twenty entries share the second smallest score, and one of them is a 1: (0 + 1/3) / 2."""
    scores = np.r_[0.0, 0.1, 0.1, 0.1, np.linspace(0.5, 1, 16)][:, None]
    Y = np.r_[0, 1, 0, 0, np.ones(16, int)][:, None]
    assert labels_flip_rate(scores, check_labels(Y)) == pytest.approx(1 / 6)
    assert labels_flip_rate(scores[::-1], check_labels(Y[::-1])) == pytest.approx(1 / 6)


@pytest.mark.parametrize("n_scores", [2, 1000])
def test_the_forget_rate_is_that_of_the_twin(n_scores, rng):
    """Partly known rows count by their known entries; r is at least one half of an entry, and so is the answer."""
    for n_rows in (1, 9, 57, 300):
        for rate in (0.0, 0.1, 0.3):
            labels, scores, known = drawn(rng, n_rows, n_scores)
            twin = reference.forget_rate(scores[known], labels.Y[labels.labeled][known].tolist(), rate)
            assert labels_forget_rate(scores, labels, rate) == pytest.approx(twin, rel=1e-12)


def test_the_forget_rate_by_hand():
    """60 of 100 entries are 1, so six with the largest scores count; two of them are 0: h0 = (2 + r) / 7, r = 1/200."""
    entries = np.zeros((100, 1))
    entries[2:62] = 1
    labels = check_labels(entries)
    falling = np.arange(100.0)[::-1, None]
    assert labels_forget_rate(falling, labels, 0.0) == pytest.approx(((2 + 0.005) / 7 + 0.005) / 2)
    assert labels_forget_rate(falling, check_labels(np.ones((100, 1))), 0.0) == 0.005  # the least
    assert labels_forget_rate(np.zeros((4, 2)), check_labels([0, 1, 0, 1]), 0.0) == 0.0  # classes


def test_the_interval_contains_the_estimate_and_stays_below_a_half(rng):
    for share in (0.0, 0.05, 0.2, 0.5, 1.0):
        Y = (rng.random((200, 5)) < share).astype(int)
        labels = check_labels(Y)
        scores = rng.random(Y.shape)
        lowest, highest = flip_rate_interval(scores, labels)
        assert 0 <= lowest <= labels_flip_rate(scores, labels) <= highest <= 0.5


def test_more_annotations_make_the_interval_narrower(rng):
    widths = []
    for n_rows in (100, 10_000):
        truth = np.repeat([[0, 0, 1]], n_rows, axis=0)
        noisy_labels = np.where(rng.random(truth.shape) < 0.1, 1 - truth, truth)
        lowest, highest = flip_rate_interval(truth.astype(float), check_labels(noisy_labels))
        assert lowest <= 0.1 <= highest
        widths.append(highest - lowest)
    assert widths[1] < widths[0] / 2
