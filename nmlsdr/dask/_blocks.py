"""A Dask array as blocks that a task can read by itself.

A search needs every block many times.  If the blocks were ordinary dependencies of its tasks, Dask would keep all of X
on its workers, or spill it, and the blocks of a worker that dies would be lost.  So a task gets the *recipe* of a
block, the part of the array's own task graph that makes it, and follows it whenever it needs the block: a slice of a
memory map, a chunk of a Zarr store, a seeded generator.

What several blocks need and is costly (the mean in ``X - X.mean(axis=0)``) must not be computed anew for each: such a
task is cut from the recipes, and computed once by Dask as an ordinary dependency.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._checks.arguments import check_rows
from .._errors import InputError
from ._run import compute, import_dask, task_of_value

_SMALL = 1 << 16  # bytes of an array that may travel with every recipe that needs it


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection."""
    return callable(getattr(X, "__dask_graph__", None)) and X.__dask_graph__() is not None


def in_memory(value: Any) -> Any:
    """What a Dask collection holds, computed (blocks of CSR rows become one CSR matrix); anything else as it is."""
    if not is_dask(value):
        return value
    if getattr(value, "ndim", 0) != 2 or not hasattr(value, "rechunk"):
        return compute([import_dask().delayed(value)])[0]
    blocks = compute(list(value.rechunk({1: -1}).to_delayed().ravel()))
    if any(sparse.issparse(block) for block in blocks):
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))
    return np.concatenate(blocks, axis=0)


class Recipe:
    """How to make one block: a piece of a task graph, and the names of the values it needs from outside.

    A class of its own, so that Dask takes it for one thing and does not look for tasks in it.
    """

    def __init__(self, graph: dict[Any, Any], key: Any, needs: list[Any]) -> None:
        self.graph = graph
        self.key = key
        self.needs = needs

    def follow(self, inputs: Mapping[Any, Any]) -> Any:
        """Make the block; ``inputs`` has the values of ``needs``."""
        if self.key in inputs:
            return inputs[self.key]
        return import_dask().core.get(self.graph, [self.key], {key: inputs[key] for key in self.needs})[0]


class Blocks(NamedTuple):
    """Blocks of rows.

    Attributes
    ----------
    name : str
        What errors call them.
    edges : ndarray of shape (n_blocks + 1,)
        Rows edges[b] to edges[b + 1] are those of block b.
    n_features : int
    dtype : dtype
    recipes : list of Recipe
    inputs : dict of Delayed
        What the recipes need, computed once by Dask.
    """

    name: str
    edges: np.ndarray
    n_features: int
    dtype: Any
    recipes: list[Recipe]
    inputs: dict[Any, Any]

    @classmethod
    def of(cls, X: Any, name: str = "X") -> "Blocks":
        """The blocks of rows of a 2-D Dask array; rows in memory are one block."""
        dask = import_dask()
        from dask.delayed import Delayed

        if not is_dask(X):
            rows = check_rows(X, name)
            recipe = Recipe({}, name, [name])
            edges = np.array([0, rows.shape[0]])
            inputs = {name: task_of_value(name, rows)}
            return cls(name, edges, rows.shape[1], rows.dtype, [recipe], inputs)
        if X.ndim != 2:
            raise InputError(f"{name} must be a 2-D array of shape (n_samples, n_features), got {X.ndim} dimension(s).")
        if np.isnan(X.shape).any():
            raise InputError(f"{name} has chunks of unknown size; call its compute_chunk_sizes() first.")
        X = X.rechunk({1: -1})
        futures = {key: value for key, value in X.__dask_graph__().items() if _is_future(value)}
        (X,) = dask.optimize(X)
        graph = {**X.__dask_graph__(), **futures}  # Dask drops futures, which stand for themselves
        recipes, cut = _recipes(graph, [row[0] for row in X.__dask_keys__()])
        inputs = {key: Delayed(key, graph) for key in cut}
        return cls(name, np.cumsum([0, *X.chunks[0]]), int(X.shape[1]), X.dtype, recipes, inputs)


def _recipes(graph: dict[Any, Any], keys: list[Any]) -> tuple[list[Recipe], set[Any]]:
    """A recipe for each of ``keys``, and which tasks were cut from them."""
    users, cut = _cut_tasks(graph, keys)
    recipes = [Recipe({}, key, []) for key in keys]
    for key, numbers in users.items():
        for number in numbers:
            if key in cut:
                recipes[number].needs.append(key)
            else:
                recipes[number].graph[key] = graph[key]
    return recipes, cut


def _cut_tasks(graph: dict[Any, Any], keys: list[Any]) -> tuple[dict[Any, set[int]], set[Any]]:
    """Which blocks need each task, by their numbers in ``keys``, and which tasks are cut from their recipes.

    Dependents come before what they depend on.  A task that two blocks need is cut, and what it needs in turn is then
    no longer needed by them: so in (x - mean) / sd the mean is cut, and the block of x is read again.
    """
    core = import_dask().core
    depends = _dependencies(graph)
    users: dict[Any, set[int]] = {key: set() for key in graph}
    for number, key in enumerate(keys):
        users[key].add(number)
    cut: set[Any] = set()
    for key in reversed(core.toposort(graph, dependencies=depends)):
        is_literal = not depends[key] and not core.istask(graph[key])
        if users[key] and (_is_data(graph, key) if is_literal else len(users[key]) > 1):
            cut.add(key)
            continue
        for dependency in depends[key]:
            users[dependency] |= users[key]
    return users, cut


def _dependencies(graph: dict[Any, Any]) -> dict[Any, set[Any]]:
    """The tasks that each task needs; a future needs none."""
    core = import_dask().core
    return {key: set() if _is_future(graph[key]) else core.get_dependencies(graph, key) for key in graph}


def _is_future(value: Any) -> bool:
    return type(value).__name__ == "Future"


def _is_data(graph: dict[Any, Any], key: Any) -> bool:
    """Whether a literal is data, or stands for a block that a cluster has already persisted: to be sent once."""
    if _is_future(graph[key]):
        return True
    dask = import_dask()
    return bool(dask.sizeof.sizeof(dask.core.get({key: graph[key]}, [key])[0]) > _SMALL)


# ---------------------------------------------------------------- rows in a file


_BLOCK_BYTES = 64e6


def open_rows(source: Any, *, rows_per_block: int | None = None) -> Any:
    """Open the rows in a file as a Dask array of blocks of rows.

    Every task opens the file by its name. ``da.from_array`` of a memory map would read all of it into memory, and
    send it to the workers.

    Parameters
    ----------
    source : path
        A ``.npy`` file or the folder of a Zarr array. Workers on other machines must find it under the same name.
    rows_per_block : int, default=None
        Number of rows of each block. Larger blocks need more memory and fewer tasks. None: blocks of about 64 MB; for
        Zarr, its own chunks.

    Returns
    -------
    dask array of shape (n_samples, n_features)
        The rows, divided by rows. Nothing is read yet.

    Raises
    ------
    ValueError
        If the source is none of these.
    ImportError
        If Dask is not installed, or zarr for a Zarr array.

    Examples
    --------
    >>> import numpy as np, tempfile  # doctest: +SKIP
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     np.save(f"{folder}/x.npy", np.arange(6.0).reshape(3, 2))
    ...     open_rows(f"{folder}/x.npy", rows_per_block=2).compute().tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    """
    array = import_dask().array
    path = os.path.abspath(source) if isinstance(source, str | os.PathLike) else ""
    if os.path.isdir(path):
        stored = array.from_zarr(path)
        return stored if rows_per_block is None else stored.rechunk({0: rows_per_block})
    if not path.endswith(".npy"):
        raise InputError(f"source must name a .npy file or a Zarr store, got {source!r:.80}; save an array by np.save.")
    rows = np.load(path, mmap_mode="r")
    if rows.ndim != 2:
        raise InputError(f"source must hold a 2-D array (n_samples, n_features), got {rows.ndim} dimension(s).")
    step = rows_per_block or max(1, int(_BLOCK_BYTES / max(1, rows.shape[1] * rows.itemsize)))
    chunks = array.core.normalize_chunks((step, -1), rows.shape)
    return array.map_blocks(_read, dtype=rows.dtype, chunks=chunks, meta=np.empty((0, 0), rows.dtype), path=path)


def _read(*, path: str, block_info: Any = None) -> np.ndarray:
    first, last = block_info[None]["array-location"][0]
    return np.asarray(np.load(path, mmap_mode="r")[first:last])
