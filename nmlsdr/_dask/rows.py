"""Rows of a Dask array that the estimators take for rows: checked by the tasks that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .._errors import InputError
from .._remote import RemoteRows
from .._validation import check_rows
from .run import compute, task
from .source import Blocks, Recipe, import_dask

__all__ = ["Reading", "Rows"]

Steps = tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]  # what is done to a block once it is checked

_FAN_IN = 8  # partial sums that one task adds


class Reading:
    """What a task needs to have some of the rows in memory; the values it needs from outside come as ``held``.

    A class of its own, so that Dask takes it for one thing and does not look for collections in it.
    """

    def __init__(
        self, steps: list[tuple[Recipe, Any]], shape: tuple[int, int], dtype: Any, name: str, then: Steps
    ) -> None:
        self.steps, self.shape, self.dtype, self.name, self.then = steps, shape, dtype, name, then
        self.needs = sorted({key for recipe, _ in steps for key in recipe.needs}, key=str)

    def rows(self, held: list[Any]) -> Any:
        """The rows, dense or CSR, in the form that kernels read; one block in memory beside them at a time."""
        values = dict(zip(self.needs, held, strict=True))
        if len(self.steps) == 1:
            return self._checked(*self.steps[0], values)
        dense, pieces, at = None, [], 0
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
            raise InputError(f"{self.name} has dense and sparse blocks; make all of them one kind.")
        return check_rows(sparse.csr_array(sparse.vstack(pieces, format="csr")), self.name)

    def _checked(self, recipe: Recipe, chosen: Any, values: Mapping[Any, Any]) -> Any:
        block = recipe.follow(values)
        if chosen != slice(None) if isinstance(chosen, slice) else True:
            block = block[chosen]
        rows = check_rows(block, self.name, dtype=self.dtype)
        for function, whole in self.then:
            rows = function(rows, *whole)
        return rows


class Rows(RemoteRows):
    """The rows of a 2-D Dask array, or those of them that ``kept`` (increasing row numbers) names."""

    def __init__(self, blocks: Blocks, kept: np.ndarray | None = None, name: str = "X", then: Steps = ()) -> None:
        self._blocks, self._kept, self._name, self._then = blocks, kept, name, then
        self.edges = blocks.edges if kept is None else np.searchsorted(kept, blocks.edges)
        self.shape = (int(self.edges[-1]), blocks.n_features)
        self.dtype = np.dtype(np.float32 if blocks.dtype == np.float32 else np.float64)

    @classmethod
    def of(cls, X: Any, name: str = "X") -> Rows:
        """The rows of a Dask array."""
        return cls(Blocks(X, name), name=name)

    def __getitem__(self, chosen: np.ndarray) -> Rows:
        """Some of the rows, by a mask or by increasing numbers."""
        chosen = np.asarray(chosen)
        numbers = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        if len(numbers) == self.shape[0]:
            return self
        return Rows(self._blocks, numbers if self._kept is None else self._kept[numbers], self._name, self._then)

    def reading(self, ranges: list[tuple[int, int]]) -> Reading:
        """How to read these ranges of rows, in this order; a block that two of them share is read once."""
        steps: list[tuple[Recipe, Any]] = []
        for first, last in ranges:
            for number in range(
                int(np.searchsorted(self.edges, first, side="right")) - 1,
                int(np.searchsorted(self.edges, last, side="left")),
            ):
                start, stop = (int(edge) for edge in self.edges[number : number + 2])
                here = slice(max(first, start) - start, min(last, stop) - start)
                if here.stop > here.start:
                    steps.append((self._blocks.recipes[number], self._in_block(number, here)))
        n_rows = sum(last - first for first, last in ranges)
        return Reading(_joined(steps), (n_rows, self.shape[1]), self.dtype, self._name, self._then)

    def _in_block(self, number: int, here: slice) -> Any:
        """Positions within a block of the Dask array."""
        if self._kept is None:
            whole = here == slice(0, int(np.diff(self.edges)[number]))
            return slice(None) if whole else here
        first = int(self.edges[number])
        return self._kept[first + here.start : first + here.stop] - int(self._blocks.edges[number])

    def held(self, reading: Reading) -> list[Any]:
        """The values that a reading needs from outside, as Dask computes them."""
        return [self._blocks.held[key] for key in reading.needs]

    def task(self, function: Callable[..., Any], reading: Reading, *arguments: Any) -> Any:
        """A task that reads rows and calls ``function(rows, *arguments)``."""
        return task(function.__name__, _with_rows, reading, self.held(reading), function, arguments)

    def bytes(self) -> int:
        """Of dense rows; an upper bound for CSR blocks."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def largest_block(self) -> int:
        """Bytes of the largest block of the Dask array, dense."""
        return self._blocks.largest() * self.shape[1] * self.dtype.itemsize

    # ---------------------------------------------------------------- what the core asks

    def total(self, function: Callable[..., Any], by_row: tuple[Any, ...] = (), whole: tuple[Any, ...] = ()) -> Any:
        parts = []
        for first, last in self._ranges():
            arguments = [values[first:last] for values in by_row]
            parts.append(self.task(function, self.reading([(first, last)]), *arguments, *whole))
        while len(parts) > 1:
            parts = [task("add", _add, parts[at : at + _FAN_IN]) for at in range(0, len(parts), _FAN_IN)]
        return compute(parts)[0]

    def each(self, function: Callable[..., Any], *whole: Any) -> Rows:
        return Rows(self._blocks, self._kept, self._name, (*self._then, (function, whole)))

    def image(self, function: Callable[..., Any], n_columns: int, whole: tuple[Any, ...] = ()) -> Any:
        array = import_dask().array
        pieces = [
            array.from_delayed(
                self.task(function, self.reading([(first, last)]), *whole), (last - first, n_columns), dtype=np.float64
            )
            for first, last in self._ranges(empty=True)
        ]
        return array.concatenate(pieces, axis=0)

    def array(self) -> Any:
        """The rows as a Dask array; nothing is computed."""
        array = import_dask().array
        pieces = [
            array.from_delayed(
                self.task(_same, self.reading([(first, last)])), (last - first, self.shape[1]), dtype=self.dtype
            )
            for first, last in self._ranges()
        ]
        return array.concatenate(pieces, axis=0)

    def _ranges(self, *, empty: bool = False) -> Iterator[tuple[int, int]]:
        for first, last in zip(self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True):
            if last > first or empty:
                yield first, last


def _joined(steps: list[tuple[Recipe, Any]]) -> list[tuple[Recipe, Any]]:
    """Steps that read one block in turn become one, so that a block is made once."""
    joined: list[tuple[Recipe, Any]] = []
    for recipe, chosen in steps:
        if joined and joined[-1][0] is recipe:
            before = joined[-1][1]
            joined[-1] = recipe, np.concatenate([_numbers(before), _numbers(chosen)])
        else:
            joined.append((recipe, chosen))
    return joined


def _numbers(chosen: Any) -> np.ndarray:
    return np.arange(chosen.start, chosen.stop) if isinstance(chosen, slice) else chosen


def _with_rows(reading: Reading, held: list[Any], function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(reading.rows(held), *arguments)


def _same(rows: Any) -> Any:
    return rows


def _add(parts: list[Any]) -> Any:
    if isinstance(parts[0], tuple):
        return tuple(_add(list(each)) for each in zip(*parts, strict=True))
    total = np.array(parts[0])
    for part in parts[1:]:
        total = total + part
    return total
