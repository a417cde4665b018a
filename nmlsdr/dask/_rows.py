"""The rows of a Dask array, which the tasks that read them check, and the sums over them."""

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from .._checks.arguments import check_rows
from .._errors import InputError
from .._moments import RowSums, scale_columns
from ._blocks import Blocks, Recipe
from ._run import as_array, compute, task, task_of_value, task_threads

_FAN_IN = 8  # partial sums that one task adds


class Reading:
    """What a task needs to have some of the rows in memory; the values it needs from outside come as ``inputs``.

    A class of its own, so that Dask takes it for one thing and does not look for collections in it.
    """

    def __init__(
        self, steps: list[tuple[Recipe, Any]], shape: tuple[int, int], dtype: Any, name: str, scale: np.ndarray | None
    ) -> None:
        self.steps = steps
        self.shape = shape
        self.dtype = dtype
        self.name = name
        self.scale = scale
        self.needs = sorted({key for recipe, _ in steps for key in recipe.needs}, key=str)

    def rows(self, inputs: list[Any]) -> Any:
        """The rows, dense or CSR, in the form that kernels read.  One block is read at a time, to save memory."""
        values = dict(zip(self.needs, inputs, strict=True))
        if len(self.steps) == 1:
            return self._checked(*self.steps[0], values)
        dense = None
        pieces = []
        at = 0
        for recipe, chosen in self.steps:
            piece = self._checked(recipe, chosen, values)
            if sparse.issparse(piece):
                pieces.append(piece)
                continue
            if dense is None:
                dense = np.empty(self.shape, self.dtype)
            dense[at : at + len(piece)] = piece
            at += len(piece)
        if not pieces:
            return np.empty(self.shape, self.dtype) if dense is None else dense
        if dense is not None:
            raise InputError(f"{self.name} has dense and sparse blocks; make all of them dense or all of them sparse.")
        return check_rows(sparse.csr_array(sparse.vstack(pieces, format="csr")), self.name)

    def _checked(self, recipe: Recipe, chosen: Any, values: Mapping[Any, Any]) -> Any:
        block = recipe.follow(values)
        if not isinstance(chosen, slice) or chosen != slice(0, block.shape[0]):  # a slice of CSR rows is a copy
            block = block[chosen]
        rows = check_rows(block, self.name, dtype=self.dtype)
        return rows if self.scale is None else scale_columns(rows, self.scale)


class DaskRows(RowSums):
    """The rows of a 2-D Dask array, or those of them that ``kept`` (increasing row numbers) names.

    ``scale`` multiplies the columns of what is read.
    """

    is_sparse = False  # its blocks can be

    def __init__(self, blocks: Blocks, kept: np.ndarray | None = None, scale: np.ndarray | None = None) -> None:
        self._blocks = blocks
        self._kept = kept
        self._scale = scale
        self.edges = blocks.edges if kept is None else np.searchsorted(kept, blocks.edges)
        self.shape = (int(self.edges[-1]), blocks.n_features)
        self.dtype = np.dtype(np.float32 if blocks.dtype == np.float32 else np.float64)

    @classmethod
    def of(cls, X: Any, name: str = "X") -> "DaskRows":  # type: ignore[override]
        """The rows of a Dask array; rows in memory are one block."""
        return cls(Blocks.of(X, name))

    def __getitem__(self, chosen: np.ndarray) -> "DaskRows":
        """Some of the rows, by a mask or by increasing numbers."""
        chosen = np.asarray(chosen)
        numbers = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return DaskRows(self._blocks, numbers if self._kept is None else self._kept[numbers], self._scale)

    def reading(self, ranges: list[tuple[int, int]]) -> Reading:
        """How to read these ranges of rows, in increasing order; a block that two of them share is read once."""
        numbers = np.concatenate([np.arange(*each) for each in ranges])
        edges = self._blocks.edges
        numbers = numbers if self._kept is None else self._kept[numbers]  # in the Dask array
        of_block = np.searchsorted(edges, numbers, side="right") - 1
        steps: list[tuple[Recipe, Any]] = []
        for part in np.split(numbers, np.flatnonzero(np.diff(of_block)) + 1) if len(numbers) else []:
            block = int(np.searchsorted(edges, part[0], side="right")) - 1
            here = part - edges[block]  # which may be many numbers; a slice goes to a task in their place
            whole = slice(int(here[0]), int(here[-1]) + 1)
            steps.append((self._blocks.recipes[block], whole if whole.stop - whole.start == len(here) else here))
        return Reading(steps, (len(numbers), self.shape[1]), self.dtype, self._blocks.name, self._scale)

    def inputs(self, reading: Reading) -> list[Any]:
        """The values that a reading needs from outside, as Dask computes them."""
        return [self._blocks.inputs[key] for key in reading.needs]

    def task(self, function: Callable[..., Any], ranges: list[tuple[int, int]], **arguments: Any) -> Any:
        """A task that reads ranges of rows and calls ``function(RowSums(rows), **arguments)``."""
        reading = self.reading(ranges)
        return task(function.__name__, _with_rows, reading, self.inputs(reading), function, arguments)

    def map(self, function: Callable[..., Any], shape: tuple[int, ...], dtype: Any, **arguments: Any) -> Any:
        """What `task` gives of every block, ``shape`` for each row, as a Dask array of which nothing is computed."""
        whole = {name: task_of_value(name, value) for name, value in arguments.items()}
        tasks = [self.task(function, [each], **whole) for each in self.ranges()]
        return as_array(tasks, self.sizes(), shape, dtype)

    def array(self) -> Any:
        """The rows as a Dask array; nothing is computed."""
        return self.map(RowSums.array, self.shape[1:], self.dtype)

    def ranges(self) -> list[tuple[int, int]]:
        """First and last row of each block."""
        return list(pairwise(self.edges.tolist()))

    def sizes(self) -> list[int]:
        """Rows of each block."""
        return [last - first for first, last in self.ranges()]

    def bytes(self) -> int:
        """Of dense rows; an upper bound for CSR blocks."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def largest_block(self) -> int:
        """Bytes of the largest block of the Dask array, dense."""
        return int(np.diff(self._blocks.edges).max(initial=0)) * self.shape[1] * self.dtype.itemsize

    # ---------------------------------------------------------------- sums over the blocks

    def total(self, function: Callable[..., Any], by_row: dict[str, Any] | None = None, **whole: Any) -> Any:
        """Sum over the blocks of ``function(sums of the block, **its rows of by_row, **whole)``, added as a tree.

        The function gives an array, or a tuple of arrays that are added one by one.
        """
        parts = []
        for first, last in self.ranges():
            if last > first:
                arguments = {name: each[first:last] if np.ndim(each) else each for name, each in (by_row or {}).items()}
                parts.append(self.task(function, [(first, last)], **arguments, **whole))
        while len(parts) > 1:
            parts = [task("add", _add, parts[at : at + _FAN_IN]) for at in range(0, len(parts), _FAN_IN)]
        return compute(parts)[0]

    def in_memory(self, why: str) -> Any:
        raise InputError(f"{why}, got a Dask array of {self.shape[0]} x {self.shape[1]}; pass X.compute().")

    take = __getitem__  # type: ignore[assignment]  # gives DaskRows

    def scaled(self, scale: np.ndarray) -> "DaskRows":
        return DaskRows(self._blocks, self._kept, scale if self._scale is None else self._scale * scale)

    def sums(self) -> np.ndarray:
        return np.asarray(self.total(RowSums.sums))

    def spread(self, mean: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return tuple(self.total(RowSums.spread, mean=mean, first=first))

    def moment(self, factor: Any, mean: np.ndarray, factor_mean: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(self.total(RowSums.moment, {"factor": factor}, mean=mean, factor_mean=factor_mean))

    def scatter(self, F: np.ndarray, mean: np.ndarray, row_weights: Any) -> tuple[np.ndarray, np.ndarray]:
        M, S = self.total(RowSums.scatter, {"F": F, "row_weights": row_weights}, mean=mean)
        return M, np.asfortranarray(S)

    def gram(self, mean: np.ndarray, row_weights: np.ndarray | float = 1.0) -> np.ndarray:
        return np.asfortranarray(self.total(RowSums.gram, {"row_weights": row_weights}, mean=mean))

    def project(self, V: np.ndarray, mean: np.ndarray) -> Any:
        """A Dask array, of which nothing is computed."""
        return self.map(RowSums.project, V.shape[1:], np.float64, V=V, mean=mean)


def _with_rows(reading: Reading, inputs: list[Any], function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    if "n_jobs" in arguments:
        arguments = {**arguments, "n_jobs": task_threads(arguments["n_jobs"])}
    return function(RowSums(reading.rows(inputs)), **arguments)


def _add(parts: list[Any]) -> Any:
    if isinstance(parts[0], tuple):
        return tuple(_add(list(each)) for each in zip(*parts, strict=True))
    return reduce(np.add, parts)
