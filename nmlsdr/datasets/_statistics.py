"""What the cells of a table may mean, and statistics of its columns: the facts from which a plan is made."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._checks.words import MISSING, fold, trim
from ._numbers import NOTATIONS, Cells, is_number, number_reader, plain_numbers, text_of

MOST_TEXTS = 5_000_000  # different words that are kept of a table, and a tenth as many texts of numbers
MOST_OF_COLUMN = 100_000
MOSTLY_DIFFERENT = 0.9  # of a column's whole numbers, or they cannot name the rows


class ColumnStatistics:
    """What one column holds.

    Attributes
    ----------
    numbers, words : Counter
        The different texts, without surrounding blanks, that are numbers in some notation, and all others (a missing
        value is the empty word). Both stop growing at a limit.
    n_numbers : int
        How many cells hold a number.
    whole : set of float, or None
        The different numbers, as long as all are whole and nearly all differ.
    is_plain : bool
        Whether `float` reads all the numbers.
    is_typed : bool
        Whether some cells are numbers and no texts, so that nothing can be said of how they are written.
    digest : int
        Equal for columns with equal cells.
    most : int
        How many different words are kept.
    """

    def __init__(self, most: int) -> None:
        self.numbers: Counter[str] = Counter()
        self.words: Counter[str] = Counter()
        self.n_numbers = 0
        self.whole: set[float] | None = set()
        self.rising = self.is_plain = True
        self.is_typed = False
        self._last = -np.inf  # whole number, the largest as long as they rise
        self.digest = 0
        self.most = most
        self._filled: list[NDArray[np.bool_] | int] = []  # of each block; a number: so many cells, all filled

    def add(self, cells: Cells, missing: frozenset[str]) -> None:
        """Add the cells of a block."""
        self.digest = hash((self.digest, cells.tobytes() if isinstance(cells, np.ndarray) else tuple(cells)))
        values = plain_numbers(cells)
        self.is_typed = self.is_typed or isinstance(cells, np.ndarray)
        if values is not None:
            filled = ~np.isnan(values)
            n_empty = len(values) - int(filled.sum())
            self._filled.append(filled if n_empty else len(values))
            if n_empty:
                self.words[""] += n_empty
                self.whole = None
            self._add_numbers(values[filled])
            if len(self.numbers) < self.most // 10:
                is_array = isinstance(cells, np.ndarray)
                texts = map(text_of, values[filled].tolist()) if is_array else map(str.strip, cells)
                self.numbers.update(text for text in texts if text)
            return
        if isinstance(cells, np.ndarray):
            cells = ["" if value != value else text_of(value) for value in cells.tolist()]
        counts, is_filled = Counter(cells), {}
        for cell, count in counts.items():
            text = trim(cell)
            is_filled[cell] = fold(text) not in missing
            number = is_number(text)
            known, most = (self.numbers, self.most // 10) if number else (self.words, self.most)
            if text in known or len(known) < most:
                known[text] += count
            if number:
                self.n_numbers += count
                self.is_plain = self.is_plain and number_reader(NOTATIONS[0])(text) is not None
        self._filled.append(np.array([is_filled[cell] for cell in cells], dtype=bool))
        self.whole = None

    def _add_numbers(self, values: NDArray[np.float64]) -> None:
        self.n_numbers += len(values)
        if self.whole is None:
            return
        if (values != np.rint(values)).any():
            self.whole = None
            return
        self.rising = self.rising and bool((np.diff(values, prepend=self._last) >= 0).all())
        self._last = values[-1]
        self.whole.update(values.tolist())
        if len(self.whole) < MOSTLY_DIFFERENT * self.n_numbers:
            self.whole = None

    def filled(self) -> NDArray[np.bool_]:
        """Whether each row has a value here."""
        parts = [np.ones(part, bool) if isinstance(part, int) else part for part in self._filled]
        return np.concatenate(parts) if parts else np.zeros(0, bool)


class TableStatistics:
    """The statistics of all columns of a table; it stands in the place of a plan when a file is read first.

    Parameters
    ----------
    missing : sequence of str, default=()
        Words, besides the usual ones, that mean a missing value.
    one_hot : sequence of str, default=()
        Columns that are said to be categories.
    """

    is_plan = False
    identifier = None  # no column names the rows yet
    feature_names: ClassVar[list[str]] = []

    def __init__(self, missing: Sequence[str] = (), one_hot: Sequence[str] = ()) -> None:
        self.one_hot = one_hot
        self.missing = MISSING | {fold(word) for word in missing}
        self.names: list[str] = []
        self.columns: list[ColumnStatistics] = []
        self.n_rows = 0
        self.row_hashes: list[int] = []

    def sources(self, names: Sequence[str]) -> list[str]:
        """Return the columns that are looked at, which are all."""
        self.names = list(names)
        most = max(1000, min(MOST_OF_COLUMN, MOST_TEXTS // max(1, len(names))))
        self.columns = [ColumnStatistics(most) for _ in names]
        return self.names

    def encode(self, columns: Sequence[Cells], problems: Any = None) -> NDArray[np.float64]:
        """Add a block of the table, one entry for each column, and return no feature."""
        n_rows = len(columns[0]) if len(columns) else 0
        for column, cells in zip(self.columns, columns, strict=True):
            column.add(cells, self.missing)
        self.row_hashes += map(hash, zip(*map(_hashable, columns), strict=True))
        self.n_rows += n_rows
        return np.empty((n_rows, 0))


def _hashable(cells: Cells) -> Sequence[Any]:
    """Return the cells in a form in which equal ones are equal, missing ones too."""
    return cells.astype(np.float64).view(np.int64).tolist() if isinstance(cells, np.ndarray) else cells
