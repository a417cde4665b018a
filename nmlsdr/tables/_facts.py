"""What one column holds: how often each of its texts occurs, and which of them are numbers or missing values."""

import functools
from collections import Counter
from collections.abc import Container, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from .._errors import plural, shorten
from ._columns import Cells, Numbers, Texts
from ._number_parsing import has_arabic_mark, plain_text


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
        return ~self.are_among(self.missing)

    def are_among(self, words: Container[str]) -> NDArray[np.bool_]:
        """Return which texts are these folded words."""
        return np.array([word in words for word in self.column.folded], bool)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which rows have a value."""
        if isinstance(self.cells, Numbers):
            return ~np.isnan(self.cells.values)
        return self.is_known[self.column.codes]

    def form_counts(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return for each form in how many cells its texts of a mask occur."""
        codes = self.column.forms.codes
        weights = self.column.counts * mask
        return np.bincount(codes, weights, len(self.column.forms.parts)).astype(np.int64)

    def text_counts(self, mask: NDArray[np.bool_]) -> dict[str, int]:
        """Return how often each text of a mask occurs."""
        pairs = zip(np.flatnonzero(mask).tolist(), self.column.counts[mask].tolist(), strict=True)
        return {self.column.different[code]: count for code, count in pairs}

    @functools.cached_property
    def known_counts(self) -> dict[str, int]:
        """How often each text occurs that does not mean a missing value."""
        return self.text_counts(self.is_known)

    @functools.cached_property
    def folded_counts(self) -> dict[str, int]:
        """How often each folded text occurs that does not mean a missing value."""
        words = (self.column.folded[code] for code in np.flatnonzero(self.is_known).tolist())
        return tally(zip(words, self.known_counts.values(), strict=True))

    def word_counts(self, words: Container[str]) -> dict[str, int]:
        """Return how often each text occurs that is one of these folded words; a missing value is the empty text."""
        if not isinstance(self.cells, Numbers):
            return self.text_counts(self.are_among(words))
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
        pairs = zip(self.column.forms.parts, self.form_counts(self.is_known).tolist(), strict=True)
        return tally((parts.number, count) for parts, count in pairs if parts is not None and count)

    def numbers_as_written(self) -> set[str]:
        """The different numbers of a column of texts, without their units."""
        different = self.column.different
        parts = self.column.forms.parts
        codes = self.column.forms.codes
        parts_and_texts = [(parts[codes[row]], different[row]) for row in np.flatnonzero(self.is_known).tolist()]
        return {number for part, text in parts_and_texts if part is not None for number in part.of([text])}

    @property
    def has_arabic_marks(self) -> bool:
        """Whether the marks of most numbers are those of Arabic, whose meaning is never in doubt."""
        if not has_arabic_mark("".join(self.column.different)):
            return False
        numbers = self.numbers_as_written()
        n_arabic = sum(map(has_arabic_mark, numbers))
        return n_arabic > 0 and 2 * n_arabic >= sum(not number.isdigit() for number in numbers)

    def marked_numbers(self) -> Mapping[str, int]:
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
