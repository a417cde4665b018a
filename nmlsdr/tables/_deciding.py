"""From the columns of a table to its plan: what each holds, by its different texts, and the reason in words."""

import dataclasses
import functools
import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import MISSING, WORD, fold, trim, yes_no
from .._errors import shorten
from ._columns import Cells, Numbers, Texts, row_numbers
from ._lists import ItemList, find_items
from ._numbers import NOTATIONS, Notation, find_notation, is_number, match_date, number_reader, usual_decimal
from ._plan import Column, Plan
from ._shapes import fold_all, rows_of
from ._units import MOST_UNITS, NO_UNITS, SHARE, Units, find_units, measures, read_quantities

MOST_LEVELS = 100  # of a category that have a feature of their own
ROWS_PER_LEVEL = 5  # rows that a level has on average, where there are more levels than that
MOST_WORDS = 100  # of a column of texts that have a feature of their own
WORD_SHARE = 0.01  # of the rows that such a word has at least
SENTENCE = 4  # texts with so many words on average are sentences
FREQUENT = 3  # a word that stands so often among numbers is no slip
SLIPS = 0.05  # a column with a larger share of other texts among its numbers has no slips but words
FEW_LEVELS = 10  # so few, and so frequent, that a word for a missing value elsewhere is a level
LEVEL_SHARE = 0.1
FEW_WORDS = 5  # so many different words may stand in half of the cells of a column of numbers
MOSTLY = 0.8  # the share of numbers in a column with more of them
LEAST_COUNTED = 20  # rows of a column of 1, 2, 3, ... that names the rows
MOST_SPELLINGS = 1000  # of the words for yes and no, and words among them that mean a missing value
YEARS = (1500, 2200)  # whole numbers in this range may be years
CHANCE = 1e-6  # accepted probability that a column without any link to the labels is filled on labelled rows only
TAG_SEPARATORS = re.compile("[;|,/]")
LEADING_ZEROS = re.compile(r"0\d+")


@dataclass(frozen=True)
class Choices:
    """What a person said about the columns; the fields are the options of the command line by these names."""

    missing: Sequence[str] | None = None
    drop: Sequence[str] = ()
    one_hot: Sequence[str] = ()
    id: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    keep_case: bool = False
    yes: str | None = None
    no: str | None = None


class Reading(NamedTuple):
    """How a column is read, and its other texts with their counts."""

    how: Any  # the Notation of its numbers; for dates, whether the month stands first, and a year of two digits
    others: dict[str, int]
    doubt: str = ""  # why its numbers may have been written in another notation
    units: Units = NO_UNITS


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
        return _tally(zip(folded, known.values(), strict=True))

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


class Deciding:
    """What is to be done with every column.

    Parameters
    ----------
    columns : dict of str to (Numbers or Texts)
        All columns that are neither labels nor named by `choices.id` or `choices.drop`.
    n_rows : int
    choices : Choices
        They overrule what would be decided.
    labeled : ndarray of shape (n_rows,), bool, default=None
        Which rows have labels; None: not known.
    labels : iterable of str, default=()
        The words of the labels.
    separator : str, default=None
        What stands between two of them.
    """

    def __init__(
        self, columns: Mapping[str, Cells], n_rows: int, choices: Choices, labeled: Any = None,
        labels: Iterable[str] = (), separator: str | None = None,
    ) -> None:  # fmt: skip
        self.n_rows, self.choices, self.labeled = n_rows, choices, labeled
        self.labels = {fold(name) for name in labels}
        marks = [TAG_SEPARATORS.pattern] + ([re.escape(separator)] if separator else [])
        self.split = re.compile("|".join(marks))
        self.missing = MISSING | {fold(word) for word in choices.missing or ()}
        self.row_numbers = row_numbers(columns.values(), n_rows)
        self.n_distinct_rows = int(self.row_numbers.max(initial=-1)) + 1
        self.unread: dict[str, str] = {}  # of columns with many numbers: what keeps them from being numbers
        self.levels: dict[str, set[str]] = {}  # of columns: words that mean a missing value elsewhere, but not there
        facts = self._facts(columns)
        usual = usual_decimal(map(_marked, facts))
        self.readings = [self._reading(one, usual) for one in facts]
        self.found = self._words_for_missing(facts, self.readings)
        self.columns = [self._with_words(*pair, facts) for pair in zip(facts, self.readings, strict=True)]

    def _facts(self, columns: Mapping[str, Cells]) -> list[Facts]:
        """What each column holds; as texts where a number may mean a missing value."""
        as_texts = any(map(is_number, self.missing))
        return [
            Facts(name, cells.texts if as_texts or not cells.fit(self.choices.decimal) else cells, self.missing)
            for name, cells in columns.items()
        ]

    def plan(self) -> Plan:
        """Decide column by column; a duplicate and the identifier depend on the columns before.

        The values that fill missing ones are not decided here.
        """
        digests: dict[int, str] = {}
        columns: list[Column] = []
        for facts, reading in zip(self.columns, self.readings, strict=True):
            column = self._column(facts, reading, digests)
            digests.setdefault(facts.digest, facts.name)
            if column.kind in ("category", "list", "words", "text") and facts.name in self.unread:
                column = dataclasses.replace(column, reason=f"{column.reason}; {self.unread[facts.name]}")
            columns.append(column)
        columns = self._one_identifier(columns)
        columns += [Column(self.choices.id, "identifier", "as you said")] if self.choices.id is not None else []
        columns += [Column(name, "dropped", "as you said") for name in self.choices.drop]
        return Plan(tuple(columns), tuple(sorted(self.missing | self.found)), self.choices.keep_case)

    def _column(self, facts: Facts, reading: Reading | None, digests: dict[int, str]) -> Column:
        name, n_missing = facts.name, self.n_rows - facts.n_known
        if name in self.choices.one_hot:
            return self._category(facts)
        if not facts.n_known:
            return Column(name, "empty", "no row has a value")
        if facts.is_single and not n_missing and self.n_rows > 1:
            return Column(name, "constant", f"always {shorten(next(iter(facts.known)), 30)!r}")
        if facts.digest in digests and self.n_rows > 1:
            return Column(name, "duplicate", f"the same as {digests[facts.digest]!r}")
        if (reason := self._like_labels(facts)) is not None:
            return Column(name, "like the labels", reason)
        if facts.is_single and n_missing:
            ((word, count),) = facts.known.items()
            levels = {"": "0", fold(word): "1"}
            reason = f"1: {shorten(word, 20)!r} ({count}), 0: nothing ({n_missing})"
            return Column(name, "yes/no", reason, levels=levels)
        if reading is not None:
            return self._number(facts, reading) if isinstance(reading.how, Notation) else self._date(facts, reading)
        if (column := self._yes_no(facts)) is not None:
            return column
        if (items := find_items(facts.known, self._key)) is not None:
            return self._list(facts, items)
        if self._is_unique(facts):
            copies = " (equal rows count once)" if self.n_distinct_rows < self.n_rows else ""
            return Column(name, "identifier", f"a different text in every row{copies}")
        return self._category(facts) if self._is_category(facts) else self._words(facts)

    # ------------------------------------------------------------ numbers and dates

    def _reading(self, facts: Facts, usual: str | None) -> Reading | None:
        """How a column is read if it holds mostly numbers, or mostly dates."""
        said = self.choices
        if isinstance(facts.cells, Numbers):
            whole = facts.cells.is_whole
            notation = find_notation({}, usual, said.decimal, said.thousands)[0] if whole else NOTATIONS[0]
            return Reading(notation, {}) if facts.n_known else None
        forms, is_known = facts.column.forms, facts.is_known
        n_cells = facts.cells_of(is_known)
        notation, doubt = find_notation(
            _numbers_of(facts), usual, said.decimal, said.thousands, lambda: _numbers_as_written(facts)
        )
        read = number_reader(notation)
        quantities = {
            code: parts
            for code, parts in enumerate(forms.parts)
            if parts is not None and n_cells[code] and read(parts.number) is not None
        }
        units = _tally((parts.unit, int(n_cells[code])) for code, parts in quantities.items())
        bare = self._are(facts, [code for code, parts in quantities.items() if not parts.unit])
        is_bare = self._is_mostly(facts, bare, notation) is not None
        # A rare unit is a slip, such as the letter o in 1o2, unless it is known; among bare numbers not one letter.
        slips = {u for u, n in units.items() if n < min(FREQUENT, SLIPS * facts.n_known)}
        slips -= {u for u in slips if measures(u) and not (is_bare and len(u) == 1)}
        kept = sorted(units.keys() - slips - {""}, key=lambda unit: (-units[unit], unit))
        for some in (kept, kept[:MOST_UNITS], []):
            taken = [code for code, parts in quantities.items() if parts.unit in ("", *some)]
            found = find_units((quantities[code], int(n_cells[code])) for code in taken)
            if found is not None and (is_bare or n_cells[taken].sum() >= SHARE * facts.n_known > 0):
                return self._is_mostly(facts, self._are(facts, taken), notation, doubt, found, True)
        n_bare = int(facts.counts[bare].sum())
        if n_bare and 2 * (facts.n_known - n_bare) <= facts.n_known:
            self.unread[facts.name] = f"most cells are numbers, but not {_counted(facts.chosen(is_known & ~bare))}"
        dates = facts.column.dates
        if not dates.different:
            return None
        order, doubt = _order_of(dates.different)
        return self._is_mostly(facts, is_known & facts.is_word & ~np.isnan(dates.values(*order)[:, 0]), order, doubt)

    def _are(self, facts: Facts, forms: Sequence[int]) -> NDArray[np.bool_]:
        """Which known texts of a column have one of these forms."""
        return facts.is_known & np.isin(facts.column.forms.codes, forms)

    def _is_mostly(
        self,
        facts: Facts,
        read: NDArray[np.bool_],
        how: Any,
        doubt: str = "",
        units: Units = NO_UNITS,
        sure: bool = False,
    ) -> Reading | None:
        """How a column is read if most of its texts can be read so."""
        others = facts.is_known & ~read
        share = MOSTLY if others.sum() > FEW_WORDS else 0.5
        n_read = facts.n_known - int(facts.counts[others].sum())
        if sure or (read.any() and n_read >= share * facts.n_known):
            return Reading(how, facts.chosen(others), doubt, units)
        return None

    def _with_words(self, facts: Facts, reading: Reading | None, columns: Sequence[Facts]) -> Facts:
        """Return a column in which the words found among numbers are missing values too, unless they are levels.

        They are levels of a column of few texts in which they are frequent. So is NA among short codes, where it is a
        country or an element, in a table that has it nowhere else.
        """
        if reading is not None or isinstance(facts.cells, Numbers):
            return facts
        counts = facts.folded
        words = self.found & counts.keys()
        levels = {w for w in words if len(counts) <= FEW_LEVELS and counts[w] >= LEVEL_SHARE * facts.n_known}
        if len(counts) >= FREQUENT and all(text.isalpha() and len(text) <= 3 for text in counts):
            own = {fold(text) for text in facts.chosen(~facts.is_known) if len(text) == 2 and text.isalpha()}
            own -= {fold(word) for word in self.choices.missing or ()}
            others = (other.words for other in columns if own and other is not facts)
            levels |= own - {fold(text) for texts in others for text in texts}
        self.levels[facts.name] = levels
        return Facts(facts.name, facts.cells, (self.missing | words) - levels) if words or levels else facts

    def _words_for_missing(self, columns: Sequence[Facts], readings: Sequence[Reading | None]) -> set[str]:
        """Words that stand among numbers or dates again and again, in whichever column that is not left out."""
        counts: Counter[str] = Counter()
        found, digests = set(), set()
        for facts, reading in zip(columns, readings, strict=True):
            others = {} if reading is None else {w: n for w, n in reading.others.items() if not is_number(w)}
            if not others or facts.digest in digests or self._like_labels(facts) is not None:
                continue
            digests.add(facts.digest)
            if sum(others.values()) > max(10, SLIPS * self.n_rows):
                found |= {fold(text) for text in others}
            for text, count in others.items():
                counts[fold(text)] += count
        return found | {word for word, count in counts.items() if count >= FREQUENT}

    def _reason(self, seen: list[str], facts: Facts) -> str:
        """What was seen in a column, what was read as a missing value there, and how often."""
        words = facts.meant(self.missing | self.found)
        return "; ".join([*seen, *([f"missing: {_counted(words)}"] if words else [])])

    def doubts(self) -> str:
        """Return what was decided and may be wrong, or nothing; for Python, where nobody sees the plan."""
        words, misread = [], []
        for facts, reading in zip(self.columns, self.readings, strict=True):
            name = repr(shorten(facts.name, 40))
            if found := facts.meant(self.found - self.levels.get(facts.name, set())):
                words.append(f"{_counted(found)} in column {name}")
            if doubt := (reading.doubt or reading.units.doubt) if reading else self.unread.get(facts.name, ""):
                misread.append(f"column {name}: {doubt}")
        said = []
        if words:
            advice = f"If that is right, give missing={sorted(self.found)!r}; if not, name the column in one_hot."
            said.append(f"Words among numbers or dates were taken for missing values: {'; '.join(words)}. {advice}")
        if misread:
            said.append(f"Numbers or dates may have been misread: {'; '.join(misread)}.")
        return " ".join(said)

    def _number(self, facts: Facts, reading: Reading) -> Column:
        notation = reading.how
        numbers = Counter[str]() if isinstance(facts.cells, Numbers) else _numbers_of(facts)
        has_comma = any("," in number for number in numbers)
        seen = [words for words in notation.words() if notation.thousands or has_comma]
        seen += [text for text in (reading.units.note, reading.doubt) if text]
        if any(map(LEADING_ZEROS.fullmatch, numbers)):
            seen.append("leading zeros; if these are codes, give --one-hot")
        factors, marks = reading.units[:2]
        if self.n_distinct_rows >= LEAST_COUNTED and facts.n_known == self.n_rows and not factors and not marks:
            if isinstance(facts.cells, Numbers):
                values = facts.cells.values
            else:  # other texts, which are an error later, are NaN
                different, forms = facts.column.different, facts.column.forms
                values = read_quantities(different, forms, notation, {}, ())[facts.column.codes, 0]
            whole = np.unique(values)
            if len(whole) == self.n_distinct_rows and (whole == np.rint(whole)).all():
                first, last = whole[0], whole[-1]
                years = YEARS[0] <= first and last <= YEARS[1]
                if (np.diff(values) >= 0).all() and last - first == len(whole) - 1 and not years:
                    return Column(facts.name, "identifier", "counts the rows")
                seen.append("a different whole number in every row; if it names the rows, give --id")
        how: Any = {**notation._asdict(), "factors": factors, "marks": marks}
        return Column(facts.name, "number", self._reason(seen, facts), **how)

    def _date(self, facts: Facts, reading: Reading) -> Column:
        texts = (facts.column.different[code] for code in np.flatnonzero(facts.is_known & facts.is_word))
        example = next(text for text in texts if text not in reading.others)
        seen = f"such as {example!r}; becomes the year with its fraction, and the month"
        month_first, year_first = reading.how
        seen += "; the month stands before the day" * month_first + "; the year stands first" * year_first
        reason = self._reason([seen, *filter(None, [reading.doubt])], facts)
        return Column(facts.name, "date", reason, month_first=month_first, year_first=year_first)

    # ------------------------------------------------------------ words

    def _like_labels(self, facts: Facts) -> str | None:
        """Why a column looks as if it was filled in together with the labels, or None."""
        if self._holds_labels(facts):
            return "it holds the words of the labels"
        if self.labeled is None or not self.labeled.any() or self.labeled.all():
            return None
        # So many filled cells are not all in labelled rows by chance.
        enough = math.log(CHANCE) / math.log(self.labeled.mean())
        only = facts.n_known >= enough and not facts.filled[~self.labeled].any()
        return "it is filled only where labels are" if only else None

    def _holds_labels(self, facts: Facts) -> bool:
        """Whether at least half of the words of a column are words of the labels."""
        if not self.labels or isinstance(facts.cells, Numbers):
            return False
        parts: set[str] = set()
        for word in facts.chosen(facts.is_known & facts.is_word):
            parts |= {fold(part) for part in self.split.split(word)} - {""}
            if len(parts) > 2 * len(self.labels):
                return False
        return 0 < len(parts) <= 2 * len(parts & self.labels)

    def _yes_no(self, facts: Facts) -> Column | None:
        if facts.is_known.sum() > MOST_SPELLINGS:
            return None
        words = facts.folded
        values = yes_no(words, self.choices.yes, self.choices.no)
        if values is None:
            return None
        counted = [_counted({word: words[word] for word in words if values[word] == value}) for value in (1, 0)]
        reason = self._reason([f"1: {counted[0]}, 0: {counted[1]}"], facts)
        return Column(facts.name, "yes/no", reason, levels={word: str(value) for word, value in values.items()})

    def _is_unique(self, facts: Facts) -> bool:
        """Whether a column holds short texts that no two rows share, unless the rows are the same.

        Where most rows are copies of others, a category can differ in all that are not.
        """
        n_texts = len(self._levels(facts))
        enough = 1 < self.n_distinct_rows <= n_texts and 2 * n_texts > facts.n_known
        return enough and _words_each(facts.known) < SENTENCE / 2

    def _one_identifier(self, columns: list[Column]) -> list[Column]:
        """Leave the first identifier, unless the person named one; the others only differ from row to row."""
        n_found = int(self.choices.id is not None)
        for j, column in enumerate(columns):
            if column.kind == "identifier":
                if n_found:
                    columns[j] = Column(column.name, "text", f"{column.reason}; left out")
                n_found += 1
        return columns

    def _key(self, text: str) -> str:
        return trim(text) if self.choices.keep_case else fold(text)

    def _levels(self, facts: Facts) -> Mapping[str, int]:
        """How often each level occurs."""
        return facts.known if self.choices.keep_case else facts.folded

    def _is_category(self, facts: Facts) -> bool:
        n_levels = len(self._levels(facts))
        if n_levels > MOST_LEVELS:
            return facts.n_known >= ROWS_PER_LEVEL * n_levels
        few = n_levels <= 10 or 2 * n_levels <= facts.n_known
        return few and (_words_each(facts.known) < SENTENCE or facts.n_known >= ROWS_PER_LEVEL * n_levels)

    def _category(self, facts: Facts) -> Column:
        name, known = facts.name, dict(sorted(facts.known.items(), key=_by_count))  # in any order of the rows
        keys = [*known] if self.choices.keep_case else fold_all([*known])
        shown: dict[str, str] = {}  # the most frequent spelling of each level
        for key, text in zip(keys, known, strict=True):
            shown.setdefault(key, text)
        counts = _tally(zip(keys, known.values(), strict=True))
        n_missing = self.n_rows - sum(known.values())
        kept = sorted(level for level, _ in sorted(counts.items(), key=_by_count)[:MOST_LEVELS])
        reason = f"{len(counts)} levels" + (f": {', '.join(shown.values())}" if len(counts) <= FEW_WORDS else "")
        if len(known) > len(counts):
            reason += f" ({len(known)} spellings)"
        if len(kept) < len(counts):
            reason += f"; the {len(kept)} most frequent have a feature each, the others share one"
        if n_missing:
            reason += f"; missing in {n_missing} rows"
        for word in sorted(self.levels.get(name, ())):
            where = ", although it means a missing value among numbers" if word in self.found else ""
            reason += f"; {word!r} is a level here{where} (--missing {word}: a missing value here too)"
        levels = {level: shown[level] for level in kept}
        other = len(kept) < len(counts)
        return Column(name, "category", reason, levels=levels, has_missing=n_missing > 0, has_other=other)

    def _list(self, facts: Facts, items: ItemList) -> Column:
        reason = self._reason([f"lists with {items.separator!r} between words: {_counted(items.counts)}"], facts)
        return Column(facts.name, "list", reason, levels=items.shown, separator=items.separator)

    def _words(self, facts: Facts) -> Column:
        """A column of texts: its frequent words become features, unless there are none."""
        name, known = facts.name, facts.folded
        n_rows = Counter[str]()
        by_count: dict[int, list[str]] = {}
        for text, count in known.items():
            by_count.setdefault(count, []).append(text)
        for count, texts in by_count.items():
            for word, n in Counter(chain.from_iterable(map(set, map(WORD.findall, texts)))).items():
                n_rows[word] += n * count
        least = max(FREQUENT, WORD_SHARE * self.n_rows)
        kept = [w for w, n in sorted(n_rows.items(), key=_by_count) if least <= n <= self.n_rows - least][:MOST_WORDS]
        seen = f"{len(facts.known)} different texts"
        if not kept:
            return Column(name, "text", f"{seen} without words that recur; left out")
        reason = f"{seen}; {len(kept)} frequent words become features of 0 and 1"
        return Column(name, "words", reason, levels={word: word for word in sorted(kept)})


def _marked(facts: Facts) -> Mapping[str, int]:
    """The numbers of a column that tell the decimal mark of the table."""
    if not isinstance(facts.cells, Numbers):
        return _numbers_of(facts)
    n_decimals = int((facts.cells.values % 1 > 0).sum()) if facts.cells.written else 0
    return {"0.5": n_decimals}


def _numbers_of(facts: Facts) -> Counter[str]:
    """How often each shape of a number occurs in a column of texts, without its unit."""
    pairs = zip(facts.column.forms.parts, facts.cells_of(facts.is_known).tolist(), strict=True)
    return _tally((parts.number, count) for parts, count in pairs if parts is not None and count)


def _numbers_as_written(facts: Facts) -> set[str]:
    """The different numbers of a column of texts, without their units."""
    different, forms = facts.column.different, facts.column.forms
    rows = rows_of(np.where(facts.is_known, forms.codes, -1), range(len(forms.parts)))
    found = [(forms.parts[code], [different[row] for row in part.tolist()]) for code, part in rows]
    return {number for parts, texts in found if parts is not None for number in parts.of(texts)}


def _order_of(dates: Sequence[str]) -> tuple[tuple[bool, bool], str]:
    """Whether the month stands first in dates, and whether a year of two digits does; and what is open.

    The month does if some date makes sense only so, and none if its day stands first. A year takes few values, and days
    take many: where both ends have two digits, the end with at most half as many values as the other is the year.
    """
    parts = [m.groups() for date in dates if (m := match_date(date)) and m[2] != "." and len(m[1]) < 3]
    late = [any(int(part[k]) > 12 for part in parts) for k in (0, 2)]
    if parts and all(len(part[0]) == len(part[3]) == 2 for part in parts):
        first, last = (len({part[k] for part in parts}) for k in (0, 3))
        days_last = all(1 <= int(part[3]) <= 31 and int(part[2]) <= 12 for part in parts)
        if days_last and 2 * first <= last:
            return (False, True), ""
        if days_last and 2 * last > first:
            advice = "if the year stands first, write it with four digits"
            return (late == [False, True], False), f"the year is read last, but nothing in the column decides; {advice}"
    if any(late) or all(int(part[0]) == int(part[2]) for part in parts):
        return (late == [False, True], False), ""
    advice = "if the month stands first, write the dates as 2024-12-31"
    return (False, False), f"the day is read first, but nothing in the column decides between day and month; {advice}"


def _tally(pairs: Iterable[tuple[str, int]]) -> Counter[str]:
    """The sum of the counts of each word."""
    found = Counter[str]()
    for word, count in pairs:
        found[word] += count
    return found


def _words_each(texts: Iterable[str]) -> float:
    """The mean number of words of some texts."""
    counts = [len(text.split()) for text in texts]
    return sum(counts) / max(1, len(counts))


def _by_count(pair: tuple[str, int]) -> tuple[int, str]:
    """The most frequent text first; of equals the first in the alphabet, whatever the order of the rows."""
    return -pair[1], pair[0]


def _counted(words: Mapping[str, int]) -> str:
    """Return words and how often they occur, the four most frequent of them."""
    first = sorted(words.items(), key=_by_count)[:4]
    shown = ", ".join(f"{shorten(word, 20)!r} ({count})" if word else f"empty ({count})" for word, count in first)
    more = len(words) - len(first)
    return shown + (f" and {more} other word{'s' * (more > 1)}" if more else "")
