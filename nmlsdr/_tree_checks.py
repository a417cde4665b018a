"""Trees as arrays, and the checks of such arrays from elsewhere, which a kernel could follow out of their bounds."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from ._errors import InputError
from .forest import Trees, stored_arrays

#: The arrays of trees: their dtype, and their shape in letters.
_ARRAYS = {
    "roots": ("i8", "t"),
    "feature": ("i4", "n"),
    "threshold": ("f4", "n"),
    "left": ("i4", "n"),
    "labels": ("i2", "lC"),
    "rows": ("i4", "d"),
    "times": ("i2", "d"),
    "ends": ("i4", "e"),
    "values": ("f4", "vC"),
    "weights": ("i4", "v"),
}


def arrays_of(trees: Trees) -> dict[str, Any]:
    """The arrays of trees by name, from which `checked_trees` makes them again."""
    return {name: array for name, array in vars(trees).items() if name in _ARRAYS}


def checked_trees(kind: type[Trees], arrays: Mapping[str, Any], n_features: int, n_labels: int) -> Any:
    """Return a forest, or boosted trees, of arrays from elsewhere.

    Raises
    ------
    InputError
        If a kernel could follow them out of their bounds or for ever, or if they are not what `grow_forests` or
        `boost_trees` makes.
    """
    trees = kind(n_features_in_=n_features, **arrays)
    for wrong, fault in _faults(trees, n_features, n_labels):
        if wrong:
            raise InputError(fault)
    return trees


def _faults(trees: Any, n_features: int, n_labels: int) -> Iterator[tuple[Any, str]]:
    """Whether something is wrong, and what; each fault is looked for if there is none before it."""
    roots = trees.roots
    feature = trees.feature
    children_of = trees.left
    sizes = {"C": n_labels}
    fit = _have_layout(arrays_of(trees), sizes)
    fit = fit and len(roots) > 1 and (roots[0], roots[-1]) == (0, len(feature)) and (roots[1:] > roots[:-1]).all()
    yield not fit, "its arrays do not fit together"
    inner = np.flatnonzero(feature != -1)
    tree = np.repeat(np.arange(len(roots) - 1), np.diff(roots))
    children = np.concatenate([children_of[inner], children_of[inner] + 1])
    parents = np.tile(inner, 2)
    each_once = np.array_equal(np.sort(children), np.delete(np.arange(len(feature)), roots[:-1]))
    below = each_once and (children > parents).all() and (tree[children] == tree[parents]).all()
    yield not below, "it has a node that is not the child of one node before it in its tree"
    n_leaves = sizes.get("v", sizes.get("e", 0) - 1)
    leaves = np.flatnonzero(feature == -1)
    order = leaves[np.argsort(children_of[leaves])]
    yield not np.array_equal(children_of[order], np.arange(n_leaves)), "its leaves are not numbered each once"
    yield not trees.n_models and (np.diff(tree[order]) < 0).any(), "its leaves are not numbered tree by tree"
    yield (feature < -1).any() or (feature >= n_features).any(), f"it asks for a feature beyond the {n_features} known"
    yield not np.isfinite(trees.threshold).all(), "it has thresholds that are not finite"
    yield from trees.faults()


def _have_layout(arrays: Mapping[str, Any], sizes: dict[str, int]) -> bool:
    """Whether arrays have their dtypes and shapes; ``sizes`` gets the size of each letter of the shapes."""
    fit = True
    for name, array in arrays.items():
        dtype, letters = _ARRAYS[name]
        parts = stored_arrays(array) if sparse.issparse(array) else (array,)
        fit &= [part.dtype for part in parts] == [dtype, "i4", "i4"][: len(parts)] and len(array.shape) == len(letters)
        fit &= all(part.flags.c_contiguous for part in parts)
        fit &= all(sizes.setdefault(letter, size) == size for letter, size in zip(letters, array.shape, strict=False))
    return fit
