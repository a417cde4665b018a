"""One way to turn ``random_state`` into a generator."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._errors import InputError

# Each function that draws has its own branch of the seed, so that one integer given to
# make_toy, flip_labels and mask_labels does not tie the mask to the noise or to the split.
TOY, FLIP, MASK, COHORT = 1, 2, 3, 4


def generator(random_state: Any, branch: int) -> np.random.Generator:
    """Return a Generator: an integer starts stream ``branch`` of that seed, a generator is used as it is."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31, size=4))
    if isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(
            np.random.SeedSequence(random_state.entropy, spawn_key=(*random_state.spawn_key, branch))
        )
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if random_state is None or (whole and random_state >= 0):
        seed = None if random_state is None else int(random_state)
        return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(branch,)))
    raise InputError(
        f"random_state={random_state!r} is not a seed; give None, an integer >= 0, a SeedSequence, "
        "a Generator or a RandomState."
    )
