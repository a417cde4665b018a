"""What one column of a table holds, by its different texts."""

import functools
from collections import Counter
from collections.abc import Container, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ._columns import Cells, Numbers, Texts
from ._shapes import fold_all, rows_of


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
        self.name, self.cells, self.missing = name, cells, missing
        numbers = isinstance(cells, Numbers)
        self.n_known = int(self.filled.sum()) if numbers else int(self.counts[self.is_known].sum())

    @functools.cached_property
    def column(self) -> Texts:
        """The column as trimmed texts."""
        return self.cells.texts.trimmed

    @functools.cached_property
    def counts(self) -> NDArray[np.int64]:
        """How often each text occurs."""
        return np.bincount(self.column.codes, minlength=len(self.column.different))

    @functools.cached_property
    def is_known(self) -> NDArray[np.bool_]:
        """Which texts do not mean a missing value."""
        return ~self.means(self.missing)

    def means(self, words: Container[str]) -> NDArray[np.bool_]:
        """Which texts are among these folded words."""
        return np.array([word in words for word in fold_all(self.column.different)], bool)

    @property
    def filled(self) -> NDArray[np.bool_]:
        """Which rows have a value."""
        if isinstance(self.cells, Numbers):
            return ~np.isnan(self.cells.values)
        return self.is_known[self.column.codes]

    def cells_of(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return for each form in how many cells its texts of a mask occur."""
        codes, weights = self.column.forms.codes, self.counts * mask
        return np.bincount(codes, weights, len(self.column.forms.parts)).astype(np.int64)

    def chosen(self, mask: NDArray[np.bool_]) -> dict[str, int]:
        """Return how often each text of a mask occurs."""
        different = self.column.different
        return {
            different[code]: count for code, count in zip(np.flatnonzero(mask), self.counts[mask].tolist(), strict=True)
        }

    @functools.cached_property
    def known(self) -> dict[str, int]:
        """How often each text occurs that does not mean a missing value."""
        return self.chosen(self.is_known)

    @functools.cached_property
    def folded(self) -> dict[str, int]:
        """How often each text that does not mean a missing value occurs in upper or lower case."""
        known = self.known
        folded = fold_all([*known])
        if len({*folded}) == len(folded):
            return dict(zip(folded, known.values(), strict=True))
        return tally(zip(folded, known.values(), strict=True))

    @functools.cached_property
    def words(self) -> dict[str, int]:
        """How often each text occurs that is no number in any notation."""
        return {} if isinstance(self.cells, Numbers) else self.chosen(self.is_word)

    def meant(self, words: Container[str]) -> dict[str, int]:
        """Return how often each text occurs that is one of these folded words; a missing value is the empty text."""
        if not isinstance(self.cells, Numbers):
            return self.chosen(self.means(words))
        return {"": len(self.cells) - self.n_known} if "" in words and self.n_known < len(self.cells) else {}

    @functools.cached_property
    def is_word(self) -> NDArray[np.bool_]:
        """Which texts are no numbers in any notation."""
        return ~self.column.forms.is_bare[self.column.forms.codes]

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
        return hash((tuple(cells.different), cells.codes.tobytes()))

    @functools.cached_property
    def numbers(self) -> Counter[str]:
        """How often each shape of a number occurs in a column of texts, without its unit."""
        pairs = zip(self.column.forms.parts, self.cells_of(self.is_known).tolist(), strict=True)
        return tally((parts.number, count) for parts, count in pairs if parts is not None and count)

    def numbers_as_written(self) -> set[str]:
        """The different numbers of a column of texts, without their units."""
        different, forms = self.column.different, self.column.forms
        rows = rows_of(np.where(self.is_known, forms.codes, -1), range(len(forms.parts)))
        found = [(forms.parts[code], [different[row] for row in part.tolist()]) for code, part in rows]
        return {number for parts, texts in found if parts is not None for number in parts.of(texts)}

    def marked(self) -> Mapping[str, int]:
        """The numbers that tell the decimal mark of the table."""
        if not isinstance(self.cells, Numbers):
            return self.numbers
        return {"0.5": int((self.cells.values % 1 > 0).sum()) if self.cells.written else 0}


def tally(pairs: Iterable[tuple[str, int]]) -> Counter[str]:
    """Return the sum of the counts of each word."""
    found = Counter[str]()
    for word, count in pairs:
        found[word] += count
    return found
