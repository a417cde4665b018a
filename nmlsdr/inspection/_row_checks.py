"""The check of a row, a hash of its cells, by which verdicts find the row wherever it stands."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._checks.cells import is_null
from .._checks.words import trim
from .._errors import InputError
from ..tables import hash_numbers

Hashes = NDArray[np.uint64]

# 29 bits, behind which a or b is the first digit
_SHOWN = np.uint64(35)
_FIRST = 0xA0000000


def check_rows(table: Any, y: NDArray[Any]) -> NDArray[Any]:
    """Return the check of each row, by which a verdict finds it wherever it stands.

    A number counts by its value, however it is written. Equal rows are told apart by their labels, and those that are
    equal in these too by their order, so that their checks become others if such a row is added or removed.

    Parameters
    ----------
    table : dict of str to (Numbers or Texts), DataFrame, array or sparse matrix of n rows
        Columns as `nmlsdr.tables` reads them, or rows, without labels and ids. Columns with names may change places.
    y : ndarray of shape (n, n_labels)
        The labels as they were given.

    Returns
    -------
    ndarray of shape (n,), str
        Eight hexadecimal digits each. The first is a letter, because spreadsheets take 12345678 and 1234e567 for
        numbers. A row of another table has one of 1000 checks with a probability of 2 in a million.

    Raises
    ------
    ValueError
        If two columns have the same name.

    Examples
    --------
    >>> check_rows([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]], np.array([[0], [0], [1]])).tolist()
    ['a3a1745b', 'a17ccdeb', 'bf9c4800']
    """
    hashes = hash_rows(table, len(y)) >> _SHOWN
    for tie_breaker in (lambda _: hash_rows(y, len(y)), _order):
        _, place, counts = np.unique(hashes, return_inverse=True, return_counts=True)
        if len(counts) < len(y):
            hashes = np.where(counts[place] > 1, hashes ^ (tie_breaker(place) >> _SHOWN), hashes)
    return np.array([f"{_FIRST + number:x}" for number in hashes.tolist()], dtype=object)


def _order(place: NDArray[np.intp]) -> Hashes:
    """A hash of the number of each row among those at the same place, and of how many these are."""
    counts = np.bincount(place)
    rank = np.empty(len(place))
    rank[np.argsort(place, kind="stable")] = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    return hash_numbers(rank + 1.0 / counts[place])


def hash_rows(table: Any, n: int) -> Hashes:
    """A hash of each row: the sum over its cells of their hash times that of the column's name or number.

    A 0 adds nothing, so that sparse rows have the hashes of dense ones.
    """
    sums = np.zeros(n, np.uint64)
    if sparse.issparse(table):
        rows = sparse.csr_array(table, copy=True)
        rows.sum_duplicates()
        parts = _of_texts(map(str, range(rows.shape[1])))[rows.indices] * hash_numbers(rows.data)
        np.add.at(sums, np.repeat(np.arange(n), np.diff(rows.indptr)), parts)
        return sums
    if not isinstance(table, dict):
        columns = np.asarray(table).T
        names = [str(name) for name in getattr(table, "columns", range(len(columns)))]
        if len(set(names)) < len(names):
            twin = next(name for j, name in enumerate(names) if name in names[:j])
            raise InputError(
                f"The table has {names.count(twin)} columns named {twin!r}, which row checks cannot tell apart; "
                "rename or drop one."
            )
        table = dict(zip(names, columns, strict=True))
    for weight, column in zip(_of_texts(table), table.values(), strict=True):
        sums += weight * _of_column(column)
    return sums


def _of_column(column: Any) -> Hashes:
    if hasattr(column, "rows"):  # vectors
        column = column.texts
    if hasattr(column, "codes"):  # different texts
        return _of_cells(column.different)[column.codes]
    values = getattr(column, "values", column)
    return hash_numbers(values) if values.dtype.kind in "biuf" else _of_cells(values.tolist())


def _of_cells(cells: Sequence[Any]) -> Hashes:
    """Hashes of cells: of numbers by their value, however they are written, of others by their text."""
    numbers = np.full(len(cells), np.nan)
    texts = {}
    for k, cell in enumerate(cells):
        try:
            numbers[k] = float(cell)
        except (TypeError, ValueError):
            texts[k] = "" if is_null(cell) else trim(str(cell))
    hashes = hash_numbers(numbers)
    texts = {k: text for k, text in texts.items() if text}  # a missing cell is NaN
    hashes[list(texts)] = _of_texts(texts.values())
    return hashes


def _of_texts(texts: Iterable[str]) -> Hashes:
    """Hashes of texts, odd so that none makes a product smaller."""
    parts = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(parts), dtype="<u8").astype(np.uint64) | np.uint64(1)


def places_of(names: Iterable[Any]) -> dict[str, list[int]]:
    """Return the rows that have each check, or each id."""
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(str(name), []).append(i)
    return places
