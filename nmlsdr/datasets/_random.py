"""The generator for a ``random_state``."""

from typing import Any

import numpy as np

from .._checks.arguments import check_count

# Each function that draws has its own branch of the seed, so that one integer given to
# make_toy, flip_labels and mask_labels does not tie the mask to the noise or to the split.
TOY, FLIP, MASK, COHORT = 1, 2, 3, 4


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
