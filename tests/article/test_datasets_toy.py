"""make_toy, flip_labels and mask_labels: the counts the article states, and reproducible draws."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from nmlsdr._checks.labels import check_labels
from nmlsdr.datasets import flip_labels, make_cohort, make_toy, mask_labels
from nmlsdr.datasets._toy import FLIP, MASK, TOY, generator


@pytest.fixture(scope="module")
def toy():
    return make_toy(random_state=3)


def whole(toy):
    return np.vstack([toy.data, toy.test_data]), np.vstack([toy.target, toy.test_target])


def test_toy_has_the_stated_shape(toy):
    assert toy.data.shape == (6000, 320)
    assert toy.target.shape == (6000, 4)
    assert toy.test_data.shape == (2000, 320)
    assert toy.test_target.shape == (2000, 4)
    assert toy.data.dtype == np.float64
    assert toy.target.dtype == np.int64
    assert len(toy.feature_names) == len(set(toy.feature_names)) == 320
    assert toy.label_names == ["class 1", "class 2", "class 3", "class 4"]
    assert "8000 samples (6000 train, 2000 test), 320 features" in toy.DESCR


def test_toy_labels_overlap_exactly_as_stated(toy):
    _, Y = whole(toy)
    # 2000 of each class, and what its neighbours add: 600 (1-2), 400 (2-3), 500 (3-4)
    assert Y.sum(axis=0).tolist() == [2600, 3000, 2900, 2500]
    assert Y.sum() / 8000 == 1.375
    assert not (Y[:, 0] & Y[:, 3]).any()
    assert Y.any(axis=1).all()


def test_toy_fires_a_block_for_every_class_and_only_for_it(toy):
    X, Y = whole(toy)
    fired = X[:, :80].reshape(-1, 4, 20) > 0
    member = Y.astype(bool)
    assert not fired[~member].any()
    # 11 000 memberships of 20 features: the standard error of the rate is .0006, of the blank share .0031
    assert abs(fired[member].mean() - 0.1) < 0.004
    assert abs((~fired[member].any(axis=1)).mean() - 0.9**20) < 0.015
    several_classes = member.sum(axis=1) > 1
    assert abs(fired[several_classes][member[several_classes]].mean() - 0.1) < 0.008


def test_toy_noise_blocks_fire_exactly_4_of_20_on_half_of_the_samples(toy):
    X, Y = whole(toy)
    counts = (X[:, 80:].reshape(-1, 12, 20) > 0).sum(axis=2)
    assert np.unique(counts).tolist() == [0, 4]
    assert ((counts == 4).sum(axis=0) == 4000).all()
    # every feature of a noise block is as likely, and unrelated to the labels (4000 * .2 = 800 +- 25)
    per_feature = (X[:, 80:] > 0).sum(axis=0)
    assert per_feature.min() > 800 - 6 * 26
    assert per_feature.max() < 800 + 6 * 26
    correlation = np.corrcoef(np.hstack([X[:, 80:] > 0, Y]).T)[:240, 240:]
    assert np.abs(correlation).max() < 0.06


def test_toy_values_are_uniform_integers(toy):
    X, _ = whole(toy)
    values, counts = np.unique(X[X > 0], return_counts=True)
    assert values.tolist() == list(range(1, 11))
    assert np.abs(counts / counts.sum() - 0.1).max() < 0.004


def test_independent_noise_of_toy_has_the_expected_share_of_ones():
    X, _ = whole(make_toy(n_samples=2000, noise="independent", random_state=0))
    counts = (X[:, 80:] > 0).reshape(-1, 12, 20).sum(axis=2)
    assert {0, 1, 2, 3, 4, 5, 6, 7, 8} <= set(np.unique(counts))
    assert abs((counts.sum() / (1000 * 12 * 20)) - 0.2) < 0.006


def test_toy_leaves_the_global_generator_alone():
    state = np.random.get_state()[1].copy()  # noqa: NPY002 the legacy state is what is tested
    make_toy(n_samples=16)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@settings(max_examples=25, deadline=None)
@given(st.integers(8, 70), st.integers(1, 7), st.integers(0, 3), st.sampled_from(["exact", "independent"]), st.data())
def test_make_toy_returns_the_requested_sizes(n_samples, block_size, n_noise_blocks, noise, data):
    n_train = data.draw(st.none() | st.integers(1, n_samples - 1))
    toy = make_toy(
        n_samples=n_samples,
        n_train=n_train,
        block_size=block_size,
        n_noise_blocks=n_noise_blocks,
        noise=noise,
        random_state=1,
    )
    X, Y = whole(toy)
    assert X.shape == (n_samples, block_size * (4 + n_noise_blocks))
    assert toy.data.shape[0] == (3 * n_samples // 4 if n_train is None else n_train)
    assert set(np.unique(Y)) <= {0, 1}
    assert Y.any(axis=1).all()
    assert ((X >= 0) & (X <= 10) & (np.floor(X) == X)).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_samples": 7}, "n_samples must be an integer of at least 8, got 7"),
        ({"n_samples": 10.0}, "n_samples must be .* got 10.0"),
        ({"n_samples": 10, "n_train": 10}, "lower n_train"),
        ({"n_train": 0}, "n_train must be .* got 0"),
        ({"block_size": 0}, "block_size must be .* got 0"),
        ({"n_noise_blocks": -1}, "n_noise_blocks must be an integer of at least 0, got -1"),
        ({"noise": "some"}, 'must be "exact" or "independent"'),
        ({"random_state": "x"}, "random_state must be an integer"),
        ({"random_state": -1}, "random_state must be an integer"),
        ({"random_state": True}, "random_state must be an integer of at least 0"),
    ],
)
def test_make_toy_refuses_wrong_arguments(wrong, words):
    with pytest.raises(ValueError, match=words):
        make_toy(**wrong)


# ---------------------------------------------------------------- noise and masks


@st.composite
def labels(draw):
    n = draw(st.integers(1, 40))
    C = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 999))
    rng = np.random.default_rng(seed)
    Y = rng.integers(0, 2, size=(n, C))
    Y[rng.random(n) < draw(st.sampled_from([0, 0.3]))] = -1
    return Y


@settings(max_examples=50, deadline=None)
@given(labels(), st.floats(0, 1), st.integers(0, 99))
def test_flip_changes_only_labelled_entries(Y, p, seed):
    before = Y.copy()
    flipped = flip_labels(Y, p, random_state=seed)
    assert np.array_equal(Y, before)
    assert flipped.dtype == np.int64
    assert np.array_equal(flipped == -1, Y == -1)
    assert ((flipped == Y) | (flipped == 1 - Y)).all()
    assert np.array_equal(flipped, flip_labels(Y, p, random_state=seed))


@settings(max_examples=50, deadline=None)
@given(labels(), st.floats(0, 1), st.floats(0, 1), st.integers(0, 99))
def test_mask_keeps_round_of_the_fraction_and_nests(Y, first_fraction, second_fraction, seed):
    n_labeled = int((Y != -1).all(axis=1).sum())
    small, large = (mask_labels(Y, f, random_state=seed) for f in sorted((first_fraction, second_fraction)))
    for masked, fraction in (
        (small, min(first_fraction, second_fraction)),
        (large, max(first_fraction, second_fraction)),
    ):
        labeled_rows = (masked != -1).all(axis=1)
        assert labeled_rows.sum() == round(fraction * n_labeled)
        assert np.array_equal(masked[labeled_rows], Y[labeled_rows])
        assert (masked[~labeled_rows] == -1).all()
    assert ((large != -1) | (small == -1)).all()


def test_flip_labels_flips_the_requested_share_of_0s_and_of_1s():
    Y = np.tile([0, 1], (20000, 2))
    flipped = flip_labels(Y, 0.1, random_state=0)
    # 40 000 entries each way: standard error .0015
    assert abs((flipped != Y)[:, ::2].mean() - 0.1) < 0.008
    assert abs((flipped != Y)[:, 1::2].mean() - 0.1) < 0.008


def test_flip_and_mask_commute_for_given_seeds():
    Y = np.random.default_rng(0).integers(0, 2, size=(50, 4))
    flipped_then_masked = mask_labels(flip_labels(Y, 0.3, random_state=1), 0.4, random_state=2)
    masked_then_flipped = flip_labels(mask_labels(Y, 0.4, random_state=2), 0.3, random_state=1)
    assert np.array_equal(flipped_then_masked, masked_then_flipped)


@pytest.mark.parametrize("seed", [0, np.random.SeedSequence(0)])
def test_each_function_derives_its_own_random_stream_from_a_seed(seed):
    draws = [generator(seed, branch).random() for branch in (TOY, FLIP, MASK)]
    assert len(set(draws)) == 3
    assert draws == [generator(0, branch).random() for branch in (TOY, FLIP, MASK)]


@pytest.mark.parametrize("function", [flip_labels, mask_labels])
@pytest.mark.parametrize(
    "Y",
    [
        np.zeros((3, 0)),
        [[0, 2]],
        [[0, 1], [0, np.inf]],
        [[-1, 1], [1, -1]],
        np.array([["a", "b"]]),
        np.ma.masked_array([[2, 1]], mask=[[False, True]]),
        sparse.csr_array(np.array([[0, 3]])),
    ],
    ids=["no columns", "2", "infinite", "coded", "text", "masked", "sparse"],
)
def test_bad_labels_raise_the_same_errors_as_in_the_estimators(function, Y):
    with pytest.raises(ValueError, match="Y") as expected:
        check_labels(Y, name="Y")
    with pytest.raises(ValueError, match=f"^{re.escape(str(expected.value))}$"):
        function(Y, 0.5)


@pytest.mark.parametrize("function", [flip_labels, mask_labels])
def test_labels_of_one_dimension_are_refused(function):
    with pytest.raises(ValueError, match=r"Y must be 2-D .* got 1-D; one label: Y\[:, None\]"):
        function([0, 1], 0.5)


@pytest.mark.parametrize("unknown", [-1, np.nan])
def test_unknown_entries_stay_unknown(unknown):
    Y = np.array([[0, 1], [unknown, 0], [unknown, unknown]])
    assert flip_labels(Y, 1).tolist() == [[1, 0], [-1, 1], [-1, -1]]
    assert mask_labels(Y, 1).tolist() == [[0, 1], [-1, 0], [-1, -1]]
    assert mask_labels(Y, 0).tolist() == [[-1, -1]] * 3


def test_flip_and_mask_accept_labels_that_no_estimator_can_be_fitted_to():
    unlabeled = np.full((3, 2), -1)
    assert np.array_equal(flip_labels(unlabeled, 1), unlabeled)
    assert np.array_equal(mask_labels(unlabeled, 1), unlabeled)
    one_label = np.array([[1], [-1], [1]])
    assert flip_labels(one_label, 1).ravel().tolist() == [0, -1, 0]


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), "half", None, True])
def test_shares_outside_0_to_1_are_refused(share):
    with pytest.raises(ValueError, match=r"p must be a number in \[0, 1\]"):
        flip_labels([[0, 1]], share)
    with pytest.raises(ValueError, match=r"fraction must be a number in \[0, 1\]"):
        mask_labels([[0, 1]], share)


def test_generators_are_used_as_they_are():
    rng = np.random.default_rng(0)
    Y = np.zeros((100, 3), dtype=int)
    assert not np.array_equal(flip_labels(Y, 0.5, random_state=rng), flip_labels(Y, 0.5, random_state=rng))
    old = np.random.RandomState(0)
    assert not np.array_equal(mask_labels(Y, 0.5, random_state=old), mask_labels(Y, 0.5, random_state=old))


@pytest.mark.quick_cases("<lambda>0-", "<lambda>2-", "<lambda>3-")
@pytest.mark.parametrize(
    "seed",
    [lambda: 7, lambda: np.random.default_rng(7), lambda: np.random.RandomState(7), lambda: None, lambda: np.int64(7)],
)
@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: make_toy(n_samples=40, random_state=seed).data,
        lambda seed: make_cohort(n_per_group=500, random_state=seed).data,
        lambda seed: flip_labels(np.eye(40, dtype=int), 0.5, random_state=seed),
        lambda seed: mask_labels(np.eye(40, dtype=int), 0.5, random_state=seed),
    ],
)
def test_every_kind_of_random_state(draw, seed):
    first = draw(seed())
    second = draw(seed())
    assert (first.shape == second.shape and np.array_equal(first, second)) == (seed() is not None)
