"""A table as it was read: named columns of numbers, or of different texts and the number of the text of each row.

Every reader gives these columns. What follows (roles, labels, the plan, features) sees each different text once.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._checks.words import fold, trim
from ._dates import Dates, dates_of, numeric_date
from ._number_parsing import float_values, plain_values, text_of
from ._quantities import Forms, forms_of
from ._shapes import Coded, coded, shapes_of

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio


@dataclass(frozen=True)
class Numbers:
    """A column of numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows,), float64 or float32
        NaN for an empty cell; the others are finite.
    written : bool
        Whether the cells were texts, so that a value that is not whole had a decimal point.
    """

    values: NDArray[Any]
    written: bool = False

    def __len__(self) -> int:
        return len(self.values)

    @functools.cached_property
    def texts(self) -> "Texts":
        """The same column as texts."""
        values, codes = np.unique(self.values.astype(np.float64), return_inverse=True)
        return Texts.of(Numbers(values).all(), codes)

    @functools.cached_property
    def n_broken(self) -> int:
        """How many values are no whole numbers."""
        known = self.values[~np.isnan(self.values)]
        return int((known != np.rint(known)).sum())

    def fit(self, decimal: str | None) -> bool:
        """Whether the values are those that a person means who writes this decimal mark."""
        return decimal != "," or not self.written or not self.n_broken

    def all(self) -> list[str]:
        """Return the text of every row."""
        return ["" if value != value else text_of(value) for value in self.values.astype(np.float64).tolist()]

    def text(self, row: int) -> str:
        """Return the text of a cell."""
        return Numbers(self.values[[row]]).all()[0]

    def take(self, rows: NDArray[np.intp]) -> "Numbers":
        """Return the column of some rows."""
        return Numbers(self.values[rows], self.written)


@dataclass(frozen=True)
class Texts:
    """A column of texts.

    Attributes
    ----------
    different : list of str
        The different texts, in the order in which they occur first; an empty cell is the empty text.
    codes : ndarray of shape (n_rows,), int32
        For each row the number of its text.
    numbers : dict of str to float, or None
        What the texts stand for where the file says so: booleans, and nominal values of ARFF that are numbers.
    """

    different: list[str]
    codes: NDArray[np.int32]
    numbers: Mapping[str, float] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, texts: Sequence[str], codes: Any, numbers: Mapping[str, float] | None = None) -> "Texts":
        """Return a column from texts that may be equal, unused, or in any order."""
        known, merged = coded(texts)
        used, codes = coded(merged[codes].tolist())
        return cls([known[k] for k in used], codes, numbers)

    @functools.cached_property
    def trimmed(self) -> "Texts":
        """The column with trimmed texts."""
        texts = [*map(trim, self.different)]
        return self if texts == self.different else Texts.of(texts, self.codes, self.numbers)

    @functools.cached_property
    def folded(self) -> list[str]:
        """The different texts without upper case."""
        return [*map(fold, self.different)]

    @functools.cached_property
    def forms(self) -> Forms:
        """The forms of the different texts as numbers."""
        return forms_of(self.different, self.shapes)

    def dates_with(self, months: Mapping[str, str]) -> Dates:
        """The dates among the different texts, whose months may be words."""
        texts = [numeric_date(text, months) for text in self.different] if months else self.different
        return dates_of(texts, shapes_of(texts) if months else self.shapes)

    @functools.cached_property
    def shapes(self) -> Coded:
        """The shapes of the different texts."""
        return shapes_of(self.different)

    @functools.cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each text occurs."""
        return np.bincount(self.codes, minlength=len(self.different))

    @property
    def texts(self) -> "Texts":
        """The column itself, as `Numbers` have it too."""
        return self

    def take(self, rows: NDArray[np.intp]) -> "Texts":
        """Return the column of some rows."""
        return Texts(self.different, self.codes[rows], self.numbers)

    def text(self, row: int) -> str:
        """Return the text of a cell."""
        return self.different[self.codes[row]]

    def all(self) -> list[str]:
        """Return the text of every row."""
        return np.array(self.different, dtype=object)[self.codes].tolist() if self.different else []


@dataclass(frozen=True)
class Vectors:
    """A column of vectors of one length, such as embeddings.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, length), float64
        NaN for a missing vector; the others are finite.
    """

    rows: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.rows)

    @functools.cached_property
    def texts(self) -> Texts:
        """The same column as texts."""
        return Texts.of(*coded(self.all()))

    def all(self) -> list[str]:
        """Return the text of every row."""
        return [self.text(row) for row in range(len(self.rows))]

    def text(self, row: int) -> str:
        """Return the text of a cell: its numbers with semicolons between them."""
        values = self.rows[row].tolist()
        return "" if values[0] != values[0] else ";".join(map(repr, values))

    @property
    def n_missing(self) -> int:
        """In how many rows there is no vector."""
        return int(np.isnan(self.rows[:, 0]).sum())


Cells = Numbers | Texts | Vectors


@dataclass
class Table:
    """Columns of a file.

    Attributes
    ----------
    n_rows : int
    columns : dict of str to Numbers or Texts
        Those that were wanted.
    lines : ndarray of shape (n_rows,)
        The number of the line on which each row ends, or of the row.
    sparse : csr_array of shape (n_rows, n_features), or None
        The features of sparse rows, which are not among the columns then.
    unit : {"line", "row"}
        What `lines` counts.
    encoding : str or None
    notes : list of str
        What a person should know about the file.
    renamed : dict of str to str
        For each name that the reader made, what stands in the file: the name of an earlier column, or nothing.
    """

    n_rows: int
    columns: dict[str, Cells]
    lines: NDArray[np.int64]
    sparse: csr_array | None = None
    unit: str = "line"
    encoding: str | None = None
    notes: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)


def csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> csr_array:
    """Return a CSR array of float64; its indices are int32 where they fit, which most programs expect."""
    integer = np.int32 if max(shape[1], len(indices)) < 2**31 else np.int64
    parts = (np.asarray(data, np.float64), np.asarray(indices, integer), np.asarray(indptr, integer))
    return csr_array(parts, shape=shape)


def joined(blocks: Sequence[Texts]) -> Texts:
    """Return the column whose rows are those of several blocks."""
    starts = np.cumsum([0, *(len(block.different) for block in blocks)]).tolist()
    codes = [np.zeros(0, np.int32), *(block.codes + start for block, start in zip(blocks, starts))]  # noqa: B905
    return Texts.of([text for block in blocks for text in block.different], np.concatenate(codes))


def with_numbers(column: Texts) -> Cells:
    """Return a column of texts, as numbers if they are plain ones."""
    values = plain_values(column.different)
    return column if values is None else Numbers(values[column.codes], written=True)


def read_vectors(texts: Texts, length: int) -> NDArray[np.float64] | None:
    """Return vectors that were written as texts, NaN for an empty one; None if there is another text."""
    rows = np.full((len(texts.different), length), np.nan)
    for code, text in enumerate(texts.different):
        parts = text.split(";")
        values = float_values(parts) if text else None
        if text and (values is None or len(values) != length):
            return None
        rows[code] = np.nan if values is None else values
    return rows[texts.codes]


def row_numbers(columns: Iterable[Cells], n_rows: int) -> NDArray[np.int64]:
    """Return a number for each row, equal for rows with equal cells, by a hash of 64 bits."""
    hashes = np.zeros(n_rows, np.uint64)
    for cells in columns:
        if isinstance(cells, Vectors):
            parts = [*cells.rows.T]
        else:
            parts = [cells.values if isinstance(cells, Numbers) else cells.codes]
        for part in parts:
            hashes = hashes * _ODD + hash_numbers(part)
    return np.unique(hashes, return_inverse=True)[1].astype(np.int64)


def hash_numbers(values: Any) -> NDArray[np.uint64]:
    """Return a hash of each number, the same for equal ones and for all NaN; that of 0 is 0."""
    numbers = np.asarray(values, dtype=np.float64) + 0.0  # -0 and 0 are one number
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(np.uint64)
    for shift in (32, 29):
        bits = (bits ^ (bits >> np.uint64(shift))) * _ODD
    return np.asarray(bits ^ (bits >> np.uint64(32)))
