"""The synthetic Toy set of the article's section 4.4, and the label noise and missing labels of its section 4.5."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks.arguments import check_choice, check_count, check_real
from .._checks.labels import check_entries
from .._errors import InputError
from ._bunch import Bunch

# Each function that draws has its own branch of the seed, so that one integer given to
# make_toy, flip_labels and mask_labels does not tie the mask to the noise or to the split.
TOY = 1
FLIP = 2
MASK = 3
COHORT = 4


def generator(random_state: Any, branch: int) -> np.random.Generator:
    """Return a Generator: an integer starts stream ``branch`` of that seed, a generator is used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31, size=4))
    if not isinstance(random_state, np.random.SeedSequence):
        seed = None if random_state is None else check_count(random_state, "random_state", least=0)
        random_state = np.random.SeedSequence(seed)
    seeds = np.random.SeedSequence(random_state.entropy, spawn_key=(*random_state.spawn_key, branch))
    return np.random.default_rng(seeds)


# (class, class, share): this share of the samples of either class also belongs to the other one
OVERLAPS = ((0, 1, 0.30), (1, 2, 0.20), (2, 3, 0.25))
N_CLASSES = 4
FIRING_PROBABILITY = 0.1  # of a feature of the block of a class that the sample belongs to
NOISE_SHARE = 0.2  # of the features of a noise block, on the samples that have it
LARGEST_VALUE = 10


def make_toy(
    *,
    n_samples: int = 8000,
    n_train: int | None = None,
    block_size: int = 20,
    n_noise_blocks: int = 12,
    noise: Literal["exact", "independent"] = "exact",
    random_state: Any = None,
) -> Bunch:
    """Draw the synthetic Toy set of the article (section 4.4): raw values and true labels.

    Four classes of equal size overlap: 30 % of class 1 also belong to class 2 and vice versa, 20 % for classes 2 and
    3, and 25 % for classes 3 and 4. These memberships are drawn independently of each other, in exact numbers; a
    sample has 1.375 labels on average. Each class has a block of features. For every class of a sample, each feature
    of its block is an integer from 1 to 10, drawn uniformly, with probability 0.1; all other features are 0. In 12 %
    of the memberships all features of the block are 0, so they leave no trace in the features. In each noise block,
    20 % of the features are such integers for a random half of the samples.

    Parameters
    ----------
    n_samples : int, default=8000
        Number of samples in all, at least 8. If it is not divisible by 4, the sizes of the classes differ by 1.
    n_train : int, default=None
        Number of training rows, drawn at random. None: three quarters of the samples (6000 of 8000).
    block_size : int, default=20
        Number of features in each block.
    n_noise_blocks : int, default=12
        Number of blocks that do not depend on the classes. The number of features is block_size * (4 +
        n_noise_blocks), 320 by default.
    noise : {"exact", "independent"}, default="exact"
        Features of a noise block that are not 0 for a sample of that half. "exact": exactly round(0.2 * block_size)
        of them (4 of 20), which fits the printed results of the article a little better. "independent": each with
        probability 0.2.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the random numbers. An integer gives the same result in every call; None gives another one each time.

    Returns
    -------
    Bunch
        data : ndarray of shape (n_train, n_features), float64
            Features: integers from 0 to 10.
        target : ndarray of shape (n_train, 4), int64
            True labels, 0 or 1.
        test_data, test_target : ndarray
            The same for the n_samples - n_train test rows.
        feature_names, label_names : list of str
            Names of features and labels, in the order of the columns.
        DESCR : str
            Description of the simulation.

    Raises
    ------
    ValueError
        If a size is not an integer in its range, or `noise` is neither of the two.

    See Also
    --------
    flip_labels : Add label noise.
    mask_labels : Remove labels.

    Notes
    -----
    The values are raw. The article standardises them by the mean and standard deviation of the training rows.

    Examples
    --------
    >>> from nmlsdr.datasets import make_toy
    >>> toy = make_toy(random_state=0)
    >>> toy.data.shape, toy.test_data.shape
    ((6000, 320), (2000, 320))
    >>> float(toy.target.sum() + toy.test_target.sum()) / 8000
    1.375
    >>> make_toy(n_samples=40, n_noise_blocks=1, random_state=0).data.shape
    (30, 100)
    """
    n_samples = check_count(n_samples, "n_samples", least=8)
    n_train = (3 * n_samples) // 4 if n_train is None else check_count(n_train, "n_train")
    if n_train >= n_samples:
        raise InputError(f"n_train={n_train} leaves no test row of n_samples={n_samples}; lower n_train.")
    block_size = check_count(block_size, "block_size")
    n_noise_blocks = check_count(n_noise_blocks, "n_noise_blocks", least=0)
    check_choice(noise, "noise", "exact", "independent")
    rng = generator(random_state, TOY)

    target = _memberships(n_samples, rng)
    blocks = [
        (rng.random((n_samples, block_size)) < FIRING_PROBABILITY) & (target[:, [c]] == 1) for c in range(N_CLASSES)
    ]
    blocks += [_noise_block(n_samples, block_size, noise, rng) for _ in range(n_noise_blocks)]
    fires = np.hstack(blocks)
    data = np.where(fires, rng.integers(1, LARGEST_VALUE + 1, size=fires.shape), 0).astype(np.float64)

    order = rng.permutation(n_samples)
    train = order[:n_train]
    test = order[n_train:]
    n_features = data.shape[1]
    return Bunch(
        data=data[train],
        target=target[train],
        test_data=data[test],
        test_target=target[test],
        feature_names=[f"x{j + 1}" for j in range(n_features)],
        label_names=[f"class {c + 1}" for c in range(N_CLASSES)],
        DESCR=f"Toy: {n_samples} samples ({n_train} train, {n_samples - n_train} test), {n_features} features in blocks"
        f" of {block_size}, {n_noise_blocks} of them noise. Raw values, true labels.",
    )


def _memberships(n_samples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the 0/1 labels (n_samples, 4): one class by construction, further ones by OVERLAPS."""
    first_class = np.arange(n_samples) * N_CLASSES // n_samples  # classes of equal size, in order
    target = np.zeros((n_samples, N_CLASSES), dtype=np.int64)
    target[np.arange(n_samples), first_class] = 1
    for a, b, share in OVERLAPS:
        for source, added in ((a, b), (b, a)):
            rows = np.flatnonzero(first_class == source)
            target[rng.choice(rows, size=round(share * rows.size), replace=False), added] = 1
    return target


def _noise_block(n_samples: int, block_size: int, noise: str, rng: np.random.Generator) -> np.ndarray:
    """Draw which features of one noise block fire, bool (n_samples, block_size)."""
    rows = rng.permutation(n_samples)[: n_samples // 2]
    draws = rng.random((rows.size, block_size))
    if noise == "exact":  # the features with the smallest draws: a uniform subset of fixed size
        chosen = draws.argsort(axis=1).argsort(axis=1) < round(NOISE_SHARE * block_size)
    else:
        chosen = draws < NOISE_SHARE
    fires = np.zeros((n_samples, block_size), dtype=bool)
    fires[rows] = chosen
    return fires


# ---------------------------------------------------------------- label noise and missing labels


UNLABELED = -1


def flip_labels(Y: ArrayLike, p: float, *, random_state: Any = None) -> NDArray[np.int64]:
    """Flip each label entry with probability `p`, independently of the others (article, sections 4.4 and 4.5).

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Labels, 0 or 1; an unknown entry (-1) does not change.
    p : float
        Probability, in [0, 1], that an entry changes from 0 to 1 or from 1 to 0.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the random numbers. An integer gives the same result in every call; None gives another one each time.
        Random numbers are drawn for unknown entries too, so the flipped entries are the same whether labels are
        masked before or after flipping.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), int64
        A new array; `Y` does not change.

    Raises
    ------
    ValueError
        If `Y` is not a 2-D array of 0, 1 and -1, or `p` is outside [0, 1].

    Examples
    --------
    >>> from nmlsdr.datasets import flip_labels
    >>> flip_labels([[0, 1], [-1, -1]], p=1)
    array([[ 1,  0],
           [-1, -1]])
    """
    labels, known = _labels(Y)
    p = check_real(p, "p", 0.0, 1.0)
    flip = generator(random_state, FLIP).random(labels.shape) < p
    flip &= known
    return np.where(flip, 1 - labels, labels)


def mask_labels(Y: ArrayLike, fraction: float, *, random_state: Any = None) -> NDArray[np.int64]:
    """Keep the labels of a random part of the rows; the other rows become unlabelled, which is a row of -1.

    Of the n labelled rows of `Y`, exactly ``round(fraction * n)`` keep their labels. Python rounds a half to the even
    number. With the same seed, the rows kept at a small fraction are among those kept at a larger one.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n_samples, n_labels)
        Labels, 0 or 1, and -1 for unknown entries. Rows of -1 are unlabelled already; they do not change and are not
        counted.
    fraction : float
        Share of the labelled rows that stay labelled, in [0, 1].
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the random numbers. An integer gives the same result in every call; None gives another one each time.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), int64
        A new array with rows of `Y` and rows of -1. ``(result != -1).all(axis=1)`` is True for the labelled rows, if
        every entry of `Y` is known.

    Raises
    ------
    ValueError
        If `Y` is not a 2-D array of 0, 1 and -1, or `fraction` is outside [0, 1].

    Examples
    --------
    >>> from nmlsdr.datasets import mask_labels
    >>> Y = [[0, 1], [1, 1], [0, 0], [1, 0]]
    >>> masked = mask_labels(Y, fraction=0.5, random_state=0)
    >>> int((masked != -1).all(axis=1).sum())
    2
    """
    masked, known = _labels(Y)
    fraction = check_real(fraction, "fraction", 0.0, 1.0)
    labeled = np.flatnonzero(known.any(axis=1))
    order = generator(random_state, MASK).permutation(labeled)
    masked[order[round(fraction * labeled.size) :]] = UNLABELED
    return masked


def _labels(Y: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A copy of the labels with -1 for unknown entries, and the known entries."""
    values, known = check_entries(Y, name="Y")
    return np.where(known, values, UNLABELED).astype(np.int64), known
