"""A Dask array as blocks of rows that a task can read by itself.

A search meets every block many times.  Were the blocks ordinary dependencies of its tasks, Dask would keep all of X
on its workers, or spill it, and a worker that dies would take its share along.  So a task gets the *recipe* of a block,
the part of the array's own task graph that makes it, and follows it whenever it needs the block: a slice of a memory
map, a chunk of a Zarr store, a seeded generator.

What several blocks need and is costly (the mean in ``X - X.mean(axis=0)``) must not be computed anew for each: such a
task is cut from the recipes, and computed once by Dask as an ordinary dependency.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from .._errors import InputError

__all__ = ["Blocks", "Recipe", "import_dask", "in_memory", "is_dask"]

_SMALL = 1 << 16  # bytes of an array that may travel with every recipe that needs it


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; Dask is not imported to find out."""
    return callable(getattr(X, "__dask_graph__", None)) and X.__dask_graph__() is not None


def import_dask() -> ModuleType:
    """Dask, or one sentence."""
    try:
        import dask
        import dask.array
    except ImportError:
        raise ImportError("nmlsdr.distributed needs Dask; install it with pip install 'nmlsdr[dask]'.") from None
    return dask


def in_memory(value: Any) -> Any:
    """What a Dask collection holds, computed (blocks of CSR rows become one CSR matrix); anything else as it is."""
    if not is_dask(value):
        return value
    dask = import_dask()
    if not isinstance(value, dask.array.Array) or value.ndim != 2:
        return dask.compute(value)[0]
    blocks = dask.compute(*value.rechunk({1: -1}).to_delayed().ravel())
    if any(sparse.issparse(block) for block in blocks):
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return np.concatenate(blocks, axis=0)


class Recipe:
    """How to make one block: a piece of a task graph, and the names of the values it needs from outside."""

    __slots__ = ("graph", "key", "needs")

    def __init__(self, graph: dict[Any, Any], key: Any, needs: tuple[Any, ...]) -> None:
        self.graph, self.key, self.needs = graph, key, needs

    def follow(self, held: Mapping[Any, Any]) -> Any:
        """The block; ``held`` has the values of ``needs``."""
        import dask
        from dask._task_spec import DataNode

        graph = {**self.graph, **{key: DataNode(key, held[key]) for key in self.needs}}
        return dask.get(graph, self.key)


class Blocks:
    """The blocks of rows of a 2-D Dask array.

    Attributes
    ----------
    edges : ndarray of shape (n_blocks + 1,)
        Rows edges[b] to edges[b + 1] are those of block b.
    recipes : list of Recipe
    held : dict of Delayed
        What the recipes need, computed once by Dask.
    """

    def __init__(self, array: Any, name: str = "X") -> None:
        dask = import_dask()
        from dask.delayed import Delayed

        if array.ndim != 2:
            raise InputError(
                f"{name} must be a 2-D array of shape (n_samples, n_features), got {array.ndim} dimension(s)."
            )
        if np.isnan(array.shape).any():
            raise InputError(f"{name} has chunks of unknown size; call its compute_chunk_sizes() first.")
        array = array.rechunk({1: -1})
        self.edges = np.cumsum([0, *array.chunks[0]])
        self.n_features, self.dtype = int(array.shape[1]), array.dtype
        futures = {key: value for key, value in array.__dask_graph__().items() if _is_future(value)}
        (array,) = dask.optimize(array)
        keys = [row[0] for row in array.__dask_keys__()]
        graph = {**array.__dask_graph__(), **futures}  # Dask drops futures, which stand for themselves
        self.recipes, cut = _recipes(_tasks(graph), keys)
        self.held = {key: Delayed(key, graph) for key in cut}

    def largest(self) -> int:
        """Rows of the largest block."""
        return int(np.diff(self.edges).max(initial=0))


def _tasks(graph: dict[Any, Any]) -> dict[Any, Any]:
    from dask._task_spec import DataNode, convert_legacy_graph

    futures = {key: DataNode(key, value) for key, value in graph.items() if _is_future(value)}
    return {**convert_legacy_graph(graph), **futures}


def _recipes(tasks: dict[Any, Any], keys: list[Any]) -> tuple[list[Recipe], set[Any]]:
    """A recipe for each of ``keys``, and which tasks were cut from them.

    Dependents come before what they depend on.  A task that two blocks need is cut, and what it needs in turn is then
    no longer needed by them: so in (x - mean) / sd the mean is cut, and the block of x is read again.
    """
    from dask._task_spec import DataNode
    from dask.core import toposort

    needed: dict[Any, set[int]] = {key: set() for key in tasks}
    for number, key in enumerate(keys):
        needed[key].add(number)
    cut: set[Any] = set()
    for key in reversed(toposort(tasks)):
        task, users = tasks[key], needed[key]
        costly = _is_held(task.value) if isinstance(task, DataNode) else len(users) > 1
        if costly and users:
            cut.add(key)
            continue
        for dependency in task.dependencies:
            needed[dependency] |= users
    parts: list[dict[Any, Any]] = [{} for _ in keys]
    wants: list[list[Any]] = [[] for _ in keys]
    for key, users in needed.items():
        for number in users:
            if key in cut:
                wants[number].append(key)
            else:
                parts[number][key] = tasks[key]
    return [Recipe(part, key, tuple(want)) for part, key, want in zip(parts, keys, wants, strict=True)], cut


def _is_future(value: Any) -> bool:
    return type(value).__name__ == "Future"


def _is_held(value: Any) -> bool:
    """Whether a literal is data, or stands for what a cluster holds already (a persisted block): to be sent once."""
    if _is_future(value):
        return True
    arrays = (value,) if isinstance(value, np.ndarray) else (value.data,) if sparse.issparse(value) else ()
    return sum(array.nbytes for array in arrays) > _SMALL
