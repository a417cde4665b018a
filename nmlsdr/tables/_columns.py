"""A table as it was read: named columns of numbers, or of different texts and the number of the text of each row.

Every reader gives these columns. What follows (roles, labels, the plan, features) sees each different text once.
"""

import datetime
import functools
import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._checks.cells import is_null
from .._checks.words import fold, trim
from .._errors import InputError, plural, shorten
from ._dates import Dates, dates_of, numeric_date
from ._numbers import GROUPED, float_values, keeps_digits, plain_text, plain_values, text_of
from ._quantities import Forms, forms_of
from ._shapes import Coded, coded, shapes_of

MIDNIGHT = re.compile(r" 00:00:00(\.0+)?$")
LEAST_LENGTH = 8  # of a list of whole numbers that is a vector
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


class Facts:
    """What one column holds, by its different texts without surrounding blanks.

    Attributes
    ----------
    cells : Numbers or Texts
    missing : frozenset of str
        Folded words that mean a missing value.
    n_known : int
        How many cells are not missing.
    """

    def __init__(self, name: str, cells: Cells, missing: frozenset[str]) -> None:
        self.name = name
        self.cells = cells
        self.missing = missing
        self.n_known = int(self.filled.sum())

    @functools.cached_property
    def column(self) -> Texts:
        """The column as trimmed texts."""
        return self.cells.texts.trimmed

    @functools.cached_property
    def is_known(self) -> NDArray[np.bool_]:
        """Which texts do not mean a missing value."""
        return ~self.means(self.missing)

    def means(self, words: Container[str]) -> NDArray[np.bool_]:
        """Which texts are among these folded words."""
        return np.array([word in words for word in self.column.folded], bool)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which rows have a value."""
        if isinstance(self.cells, Numbers):
            return ~np.isnan(self.cells.values)
        return self.is_known[self.column.codes]

    def cells_of(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return for each form in how many cells its texts of a mask occur."""
        codes = self.column.forms.codes
        weights = self.column.counts * mask
        return np.bincount(codes, weights, len(self.column.forms.parts)).astype(np.int64)

    def chosen(self, mask: NDArray[np.bool_]) -> dict[str, int]:
        """Return how often each text of a mask occurs."""
        pairs = zip(np.flatnonzero(mask).tolist(), self.column.counts[mask].tolist(), strict=True)
        return {self.column.different[code]: count for code, count in pairs}

    @functools.cached_property
    def known(self) -> dict[str, int]:
        """How often each text occurs that does not mean a missing value."""
        return self.chosen(self.is_known)

    @functools.cached_property
    def folded(self) -> dict[str, int]:
        """How often each text that does not mean a missing value occurs in upper or lower case."""
        words = (self.column.folded[code] for code in np.flatnonzero(self.is_known).tolist())
        return tally(zip(words, self.known.values(), strict=True))

    def meant(self, words: Container[str]) -> dict[str, int]:
        """Return how often each text occurs that is one of these folded words; a missing value is the empty text."""
        if not isinstance(self.cells, Numbers):
            return self.chosen(self.means(words))
        return {"": len(self.cells) - self.n_known} if "" in words and self.n_known < len(self.cells) else {}

    @functools.cached_property
    def is_word(self) -> NDArray[np.bool_]:
        """Which texts are no numbers in any notation."""
        forms, parts, codes = self.column.forms
        is_number = [
            part is not None and part.number == plain_text(form) for form, part in zip(forms, parts, strict=True)
        ]
        return ~np.array(is_number, bool)[codes]

    @functools.cached_property
    def is_single(self) -> bool:
        """Whether all cells that are not missing are the same."""
        if isinstance(self.cells, Numbers):
            values = self.cells.values[self.filled]
            return len(values) > 0 and bool(values.min() == values.max())
        return int(self.is_known.sum()) == 1

    @functools.cached_property
    def digest(self) -> int:
        """Equal for columns with equal cells."""
        cells = self.cells
        if isinstance(cells, Numbers):
            return hash((cells.values + 0.0).tobytes())
        texts = cells.texts
        return hash((tuple(texts.different), texts.codes.tobytes()))

    @functools.cached_property
    def numbers(self) -> Counter[str]:
        """How often each shape of a number occurs in a column of texts, without its unit."""
        pairs = zip(self.column.forms.parts, self.cells_of(self.is_known).tolist(), strict=True)
        return tally((parts.number, count) for parts, count in pairs if parts is not None and count)

    def numbers_as_written(self) -> set[str]:
        """The different numbers of a column of texts, without their units."""
        different = self.column.different
        parts = self.column.forms.parts
        codes = self.column.forms.codes
        parts_and_texts = [(parts[codes[row]], different[row]) for row in np.flatnonzero(self.is_known).tolist()]
        return {number for part, text in parts_and_texts if part is not None for number in part.of([text])}

    def marked(self) -> Mapping[str, int]:
        """The numbers that tell the decimal mark of the table: those that the file has as texts."""
        if not isinstance(self.cells, Numbers):
            return {} if self.column.numbers else self.numbers
        return {"0.5": self.cells.n_broken if self.cells.written else 0}


def tally(pairs: Iterable[tuple[str, int]]) -> Counter[str]:
    """Return the sum of the counts of each word."""
    counts = Counter[str]()
    for word, count in pairs:
        counts[word] += count
    return counts


def by_count(pair: tuple[str, int]) -> tuple[int, str]:
    """The most frequent text first; of equals the first in the alphabet, whatever the order of the rows."""
    return -pair[1], pair[0]


def counted(words: Mapping[str, int]) -> str:
    """Return words and how often they occur, the four most frequent of them."""
    first = sorted(words.items(), key=by_count)[:4]
    shown = ", ".join(f"{shorten(word, 20)!r} ({count})" if word else f"empty ({count})" for word, count in first)
    n_hidden = len(words) - len(first)
    return shown + (f" and {plural(n_hidden, 'other word')}" if n_hidden else "")


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


# ---------------------------------------------------------------- from Python's cells


def joined(blocks: Sequence[Texts]) -> Texts:
    """Return the column whose rows are those of several blocks."""
    starts = np.cumsum([0, *(len(block.different) for block in blocks)]).tolist()
    codes = [np.zeros(0, np.int32), *(block.codes + start for block, start in zip(blocks, starts))]  # noqa: B905
    return Texts.of([text for block in blocks for text in block.different], np.concatenate(codes))


def with_numbers(column: Texts) -> Cells:
    """Return a column of texts, as numbers if they are plain ones."""
    values = plain_values(column.different)
    return column if values is None else Numbers(values[column.codes], written=True)


def typed_column(cells: Sequence[Any]) -> Cells:
    """Return a column of Python objects: numbers, booleans, dates, texts, lists and missing values, also mixed."""
    kinds = {*map(type, cells)}
    if kinds <= {str}:
        return with_numbers(Texts(*coded(cells)))
    if (vectors := vectors_of(cells)) is not None:
        return vectors
    lists = {kind for kind in kinds if hasattr(kind, "__len__") and not issubclass(kind, str | bytes | dict)}
    cells = [";".join(map(str, cell)) or "[]" if type(cell) in lists else cell for cell in cells]
    cells = [json.dumps(cell, default=str) if isinstance(cell, dict) else cell for cell in cells]
    different, codes = coded([*zip(map(type, cells), cells, strict=True)])  # True, 1 and 1.0 are equal
    return coded_column([cell for _, cell in different], codes)


def vectors_of(cells: Sequence[Any]) -> Vectors | None:
    """Return a column whose cells are lists or arrays of one length with decimal numbers; None for another column.

    Short lists of whole numbers are no vectors: they may be codes.

    Examples
    --------
    >>> vectors_of([[0.5, 1.0], None, (1.5, 2.0)]).rows.tolist()
    [[0.5, 1.0], [nan, nan], [1.5, 2.0]]
    >>> vectors_of([[1, 2], [3, 4]]) is vectors_of([[0.5], [0.5, 1.5]]) is None
    True
    """
    is_missing = [not hasattr(cell, "__len__") and is_null(cell) for cell in cells]
    lists = [cell for cell, missing in zip(cells, is_missing, strict=True) if not missing]
    are_lists = all(hasattr(cell, "__len__") and not isinstance(cell, str | bytes | dict) for cell in lists)
    if not lists or not are_lists or len({*map(len, lists)}) > 1 or len(lists[0]) < 2:
        return None
    try:
        values = np.array([np.asarray(cell) for cell in lists])
    except ValueError:  # a list within a list
        return None
    is_code = values.dtype.kind in "iu" and values.shape[-1] < LEAST_LENGTH
    if values.ndim != 2 or values.dtype.kind not in "fiu" or is_code:
        return None
    if not (np.isfinite(values) | np.isnan(values).all(axis=1)[:, None]).all():
        raise InputError("A vector holds NaN or infinity; give finite numbers, or None in place of the vector.")
    rows = np.full((len(cells), values.shape[1]), np.nan)
    rows[~np.array(is_missing)] = values
    return Vectors(rows)


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


def coded_column(different: Sequence[Any], codes: NDArray[Any]) -> Cells:
    """Return a column from its different cells, and the number of the cell of each row."""
    different = ["" if is_null(cell) else _hours(cell) for cell in different]
    filled = [cell for cell in different if not (isinstance(cell, str) and cell == "")]
    truths = [isinstance(cell, bool | np.bool_) for cell in filled]
    are_numbers = not any(truths) and all(isinstance(cell, Real) for cell in filled)
    if filled and are_numbers and keeps_digits(cell for cell in filled if isinstance(cell, Integral)):
        return Numbers(np.array([np.nan if isinstance(cell, str) else float(cell) for cell in different])[codes])
    texts = _texts_of(different)
    # A float beside texts is no text, whose decimal mark could be another one.
    kinds = float | np.floating | bool | np.bool_
    pairs = zip(texts, different, strict=True)
    numbers = {text: float(cell) for text, cell in pairs if isinstance(cell, kinds) and np.isfinite(cell)}
    return with_numbers(Texts.of(texts, codes, numbers if len({*truths}) == 1 else None))


def _texts_of(different: Sequence[Any]) -> list[str]:
    """Return the texts of cells; dates without a time of day, if none of the column has one.

    A number among texts is written so that it is the same number in the notation that the texts show: 1.5, or 15e-1
    where its point could be read otherwise.
    """
    days = [isinstance(cell, datetime.date | np.datetime64) for cell in different]
    numbers = [isinstance(cell, float | np.floating) and np.isfinite(cell) for cell in different]
    texts = [text_of(float(cell)) if number else str(cell) for cell, number in zip(different, numbers, strict=True)]
    pointed = [text for text, number in zip(texts, numbers, strict=True) if number and "." in text]
    if any("," in text for text in texts) or all(map(GROUPED["."].fullmatch, pointed)):
        texts = [with_exponent(text) if text in pointed else text for text in texts]
    texts = [text.replace("T", " ") if day else text for text, day in zip(texts, days, strict=True)]
    short = [MIDNIGHT.sub("", text) if day else text for text, day in zip(texts, days, strict=True)]
    return texts if any(day and ":" in text for text, day in zip(short, days, strict=True)) else short


def with_exponent(number: str) -> str:
    """Return the text of a number without a point."""
    sign, digits, exponent = Decimal(number).as_tuple()
    return f"{'-' * sign}{''.join(map(str, digits))}e{exponent}"


def _hours(cell: Any) -> Any:
    """Return the hours of a duration; another cell as it is."""
    if not isinstance(cell, datetime.timedelta | np.timedelta64):
        return cell
    return float(np.timedelta64(cell) / np.timedelta64(1, "h"))
