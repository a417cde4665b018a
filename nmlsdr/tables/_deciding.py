"""From the columns of a table to its plan: what each holds, by its different texts, and the reason in words."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._checks.words import MISSING, fold, names_rows, trim, yes_no
from .._errors import InputError, plural, shorten
from ._columns import Cells, Facts, Numbers, row_numbers, tally
from ._dates import find_months, order_of, with_words
from ._kinds import Column
from ._lists import find_items, find_keys
from ._numbers import MARK_NAMES, NOTATIONS, Notation, find_notation, is_number, number_reader, usual_decimal
from ._plan import Plan
from ._text import count_words, find_words, mean_length, shared_by_names
from ._units import MOST_UNITS, NO_UNITS, SHARE, Parts, Units, find_units, measures, read_quantities, word_before

MOST_LEVELS = 100  # of a category that have a feature of their own
ROWS_PER_LEVEL = 5  # rows that a level has on average, where there are more levels than that
SENTENCE = 4  # texts with so many words on average are sentences
FREQUENT = 3  # a word that stands so often among numbers is no slip
SLIPS = 0.05  # a column with a larger share of other texts among its numbers has no slips but words
FEW_LEVELS = 10  # so few, and so frequent, that a word for a missing value elsewhere is a level
LEVEL_SHARE = 0.1
FEW_WORDS = 5  # so many different words may stand in half of the cells of a column of numbers
MOSTLY = 0.8  # the share of numbers in a column with more of them
LEAST_COUNTED = 20  # rows of a column of 1, 2, 3, ... that names the rows
MOST_SHAPES = 1000  # of the texts of a column of dates whose months are words
MOST_SPELLINGS = 1000  # of the words for yes and no, and words among them that mean a missing value
YEARS = (1500, 2200)  # whole numbers in this range may be years
NEARLY = 0.95  # different cells of a column that has the name or the place of an identifier, as a share of the rows
CHANCE = 1e-6  # accepted probability that a column without any link to the labels is filled on labelled rows only
TAG_SEPARATORS = re.compile("[;|,/]")
LEADING_ZEROS = re.compile(r"0\d+")


@dataclass(eq=False, repr=False, kw_only=True)
class ColumnOptions:
    """What a person may say about the columns, as parameters of `TableEncoder` and as options of the command line."""

    missing: Sequence[str] | None = None
    drop: Sequence[str] = ()
    one_hot: Sequence[str] = ()
    decimal: str | None = None
    thousands: str | None = None
    keep_case: bool = False
    yes: str | None = None
    no: str | None = None


@dataclass
class Choices(ColumnOptions):
    """The same, and what only the command line says."""

    id: str | None = None
    only_checks: bool = False  # cells are checked, which is faster and takes less memory, and all features are NaN
    fitted: Plan | None = None  # of another table, with which this one is compared


class Reading(NamedTuple):
    """A column of numbers or dates as the plan has it, but for the reason, and its other texts with their counts."""

    column: Column
    others: dict[str, int]
    doubt: str = ""  # why its numbers may have been written in another notation
    units: Units = NO_UNITS


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
        self,
        columns: Mapping[str, Cells],
        n_rows: int,
        choices: Choices,
        labeled: Any = None,
        labels: Iterable[str] = (),
        separator: str | None = None,
    ) -> None:
        if choices.decimal is not None and choices.decimal == choices.thousands:
            raise InputError(f"decimal and thousands are both {choices.decimal!r}; give different marks.")
        self.n_rows = n_rows
        self.choices = choices
        self.labeled = labeled
        self.labels = {fold(name) for name in labels}
        self.split = re.compile("|".join([TAG_SEPARATORS.pattern] + ([re.escape(separator)] if separator else [])))
        self.missing = MISSING | {fold(word) for word in choices.missing or ()}
        self.row_numbers = row_numbers(columns.values(), n_rows)
        self.n_distinct_rows = int(self.row_numbers.max(initial=-1)) + 1
        self.unread: dict[str, str] = {}  # of columns with many numbers: what keeps them from being numbers
        self.levels: dict[str, set[str]] = {}  # of columns: words that mean a missing value elsewhere, but not there
        # Numbers stay numbers, unless a person writes them in another way, or one of them means a missing value.
        kept = {name for name, cells in columns.items() if isinstance(cells, Numbers) and cells.fit(choices.decimal)}
        kept = set() if any(map(is_number, self.missing)) else kept
        facts = [Facts(name, cells if name in kept else cells.texts, self.missing) for name, cells in columns.items()]
        usual = usual_decimal(one.marked() for one in facts)
        self.readings = [self._reading(one, usual) for one in facts]
        self.found = self._words_for_missing(facts, self.readings)
        self.columns = [self._with_words(*pair, facts) for pair in zip(facts, self.readings, strict=True)]

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
                column = replace(column, reason=f"{column.reason}; {self.unread[facts.name]}")
            columns.append(column)
        columns = self._one_identifier(columns)
        columns += [Column(self.choices.id, "identifier", "as you said")] if self.choices.id is not None else []
        columns += [Column(name, "dropped", "as you said") for name in self.choices.drop]
        return Plan(tuple(columns), tuple(sorted(self.missing | self.found)), self.choices.keep_case)

    def _column(self, facts: Facts, reading: Reading | None, digests: dict[int, str]) -> Column:
        name = facts.name
        n_missing = self.n_rows - facts.n_known
        if name in self.choices.one_hot:
            return self._category(facts)
        if not facts.n_known:
            return Column(name, "empty", "no row has a value")
        if facts.is_single and not n_missing and self.n_rows > 1:
            return Column(name, "constant", f"always {shorten(next(iter(facts.known)), 30)!r}")
        if facts.digest in digests and self.n_rows > 1:
            return Column(name, "duplicate", f"the same as {digests[facts.digest]!r}")
        if (reason := self._like_labels(facts)) is not None:
            return Column(name, "like the labels", f"{reason}; left out")
        if facts.is_single and n_missing:
            ((word, count),) = facts.known.items()
            levels = {"": "0", fold(word): "1"}
            reason = f"1: {shorten(word, 20)!r} ({count}), 0: nothing ({n_missing})"
            return Column(name, "yes/no", reason, levels=levels)
        if reading is not None:
            return (self._number if reading.column.kind == "number" else self._date)(facts, reading)
        if (column := self._yes_no(facts)) is not None:
            return column
        if keys := find_keys(facts.known):
            reason = self._reason([f"JSON objects with numbers for {shorten(', '.join(keys), 60)}"], facts)
            return Column(name, "JSON", reason, levels={key: key for key in keys})
        if (items := find_items(facts.known, self._key)) is not None:
            reason = self._reason([f"lists with {items.separator!r} between words: {_counted(items.counts)}"], facts)
            return Column(name, "list", reason, levels=items.shown, separator=items.separator)
        if (column := self._identifier(facts)) is not None:
            return self._with_shared_words(facts, column)
        return self._category(facts) if self._is_category(facts) else self._words(facts)

    # ------------------------------------------------------------ numbers and dates

    def _reading(self, facts: Facts, usual: str | None) -> Reading | None:
        """How a column is read if it holds mostly numbers, or mostly dates."""
        said = self.choices
        if isinstance(facts.cells, Numbers):
            broken = facts.cells.n_broken
            notation = NOTATIONS[0] if broken else find_notation({}, usual, said.decimal, said.thousands)[0]
            return Reading(Column(facts.name, "number", **notation._asdict()), {}) if facts.n_known else None
        forms = facts.column.forms
        is_known = facts.is_known
        n_cells = facts.cells_of(is_known)
        notation, doubt = find_notation(facts.numbers, usual, said.decimal, said.thousands, facts.numbers_as_written)
        read = number_reader(notation)
        quantities = {
            code: parts
            for code, parts in enumerate(forms.parts)
            if parts is not None and n_cells[code] and read(parts.number) is not None
        }
        self._leave_rare(facts, quantities, n_cells, notation)
        units = tally((parts.unit, int(n_cells[code])) for code, parts in quantities.items())
        bare = self._are(facts, [code for code, parts in quantities.items() if not parts.unit])
        texts = zip(forms.different, forms.parts, strict=True)
        behind = {code: word_before(text) for code, (text, parts) in enumerate(texts) if parts is None}
        are_most = 2 * n_cells[[*quantities]].sum() >= facts.n_known
        behind = {code: word for code, word in behind.items() if word and are_most}
        is_behind = self._are(facts, [*behind])
        n_known = facts.n_known - n_cells[[*behind]].sum()
        is_bare = self._is_mostly(facts, bare, is_behind)
        # A rare unit is a slip, such as the letter o in 1o2, unless it is known; among bare numbers not one letter.
        slips = {u for u, n in units.items() if n < min(FREQUENT, SLIPS * facts.n_known)}
        slips -= {u for u in slips if measures(u) and not (is_bare and len(u) == 1)}
        kept = sorted(units.keys() - slips - {""}, key=lambda unit: (-units[unit], unit))
        for some in (kept, kept[:MOST_UNITS], []):
            taken = [code for code, parts in quantities.items() if parts.unit in ("", *some)]
            found = find_units((quantities[code], int(n_cells[code])) for code in taken)
            if found is not None and (is_bare or n_cells[taken].sum() >= SHARE * n_known > 0):
                in_brackets = [code for code in taken if forms.different[code][-1] in ")-"]
                note = f"{n_cells[in_brackets].sum()} in brackets or with a minus sign behind them are negative"
                found = found._replace(note="; ".join([found.note, note][not found.note :])) if in_brackets else found
                others = facts.chosen(facts.is_known & ~is_behind & ~self._are(facts, taken))
                words = tally((word, int(n_cells[code])) for code, word in behind.items())
                missing = f"{words.total()} numbers behind words are missing: {_counted(words)}" if words else ""
                doubt = "; ".join(filter(None, [doubt, missing]))
                how: Any = {**notation._asdict(), "factors": found.factors, "marks": found.marks}
                column = Column(facts.name, "number", levels={word: word for word in sorted(words)}, **how)
                return Reading(column, others, doubt, found)
        return self._as_dates(facts, bare)

    def _leave_rare(
        self, facts: Facts, quantities: dict[int, Parts], n_cells: NDArray[np.int64], notation: Notation
    ) -> None:
        """Remove ranges, numbers in brackets and the like, unless most numbers are others and each range ascends."""
        rare = [code for code, parts in quantities.items() if parts.is_rare]
        if rare:
            factors = dict.fromkeys([parts.unit for parts in quantities.values()], 1.0)
            values = read_quantities(facts.column.different, facts.column.forms, notation, factors, ())[:, 0]
            if 2 * n_cells[rare].sum() > n_cells[[*quantities]].sum() or np.isnan(values[self._are(facts, rare)]).any():
                for code in rare:
                    del quantities[code]

    def _as_dates(self, facts: Facts, bare: NDArray[np.bool_]) -> Reading | None:
        """How a column is read if it holds mostly dates; else what it looks like is noted."""
        column = facts.column
        shapes = facts.column.shapes
        words = with_words(shapes.different) if len(shapes.different) <= MOST_SHAPES else []
        months = find_months({*words} - {""}) if any(words) else {}
        dates = column.dates_with(months)
        order, doubt = order_of(dates.different)
        is_date = facts.is_known & facts.is_word & ~np.isnan(dates.values(*order)[:, 0])
        enough = not months or facts.column.counts[is_date].sum() >= SHARE * facts.n_known
        if enough and self._is_mostly(facts, is_date):
            date = Column(facts.name, "date", month_first=order[0], year_first=order[1], levels=dict(months))
            return Reading(date, facts.chosen(facts.is_known & ~is_date), doubt)
        # In a shape every digit of a year is a 1.
        like_one = [word != "" and "1111" in shape for word, shape in zip(words, shapes.different, strict=False)]
        is_date |= facts.is_known & np.isin(shapes.codes, np.flatnonzero(like_one))
        for kind, mask in (("number", bare), ("date", is_date)):
            if (share := facts.column.counts[mask].sum() / max(1, facts.n_known)) >= 0.5:
                others = facts.chosen(facts.is_known & ~mask)
                but = f"not {_counted(others)}" if others else "its months are in no known language (see nmlsdr[cli])"
                self.unread[facts.name] = f"it looks like a {kind} in {share:.0%} of its cells, but {but}"
        return None

    def _are(self, facts: Facts, forms: Sequence[int]) -> NDArray[np.bool_]:
        """Which known texts of a column have one of these forms."""
        return facts.is_known & np.isin(facts.column.forms.codes, forms)

    def _is_mostly(self, facts: Facts, read: NDArray[np.bool_], behind: Any = False) -> bool:
        """Whether most texts of a column but for some can be read, and it is none of few levels, such as T, 1, 2."""
        others = facts.is_known & ~read
        frequent = np.flatnonzero(others & (facts.column.counts >= LEVEL_SHARE * facts.n_known))
        are_words = any(not any(map(str.isdecimal, facts.column.different[code])) for code in frequent)
        if are_words and facts.is_known.sum() <= FEW_LEVELS:
            return False
        others &= ~np.asarray(behind)
        share = MOSTLY if others.sum() > FEW_WORDS else 0.5
        n_read = facts.column.counts[read].sum()
        n_others = facts.column.counts[others].sum()
        return bool(read.any() and n_read >= share * (n_read + n_others))

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
            others = (other for other in columns if own and other is not facts and not isinstance(other.cells, Numbers))
            levels |= own - {fold(text) for other in others for text in other.chosen(other.is_word)}
        self.levels[facts.name] = levels
        return Facts(facts.name, facts.cells, (self.missing | words) - levels) if words or levels else facts

    def _words_for_missing(self, columns: Sequence[Facts], readings: Sequence[Reading | None]) -> set[str]:
        """Words that stand among numbers or dates again and again, in whichever column that is not left out."""
        counts: Counter[str] = Counter()
        found = set[str]()
        digests = set[int]()
        for facts, reading in zip(columns, readings, strict=True):
            others = {} if reading is None else reading.others
            words = tally((fold(text), count) for text, count in others.items() if not is_number(text))
            if not words or facts.digest in digests or self._like_labels(facts) is not None:
                continue
            digests.add(facts.digest)
            if words.total() > max(10, SLIPS * self.n_rows):
                found |= words.keys()
            counts += words
        return found | {word for word, count in counts.items() if count >= FREQUENT}

    def _reason(self, seen: list[str], facts: Facts) -> str:
        """What was seen in a column, what was read as a missing value there, and how often."""
        words = facts.meant(self.missing | self.found)
        return "; ".join([*seen, *([f"missing: {_counted(words)}"] if words else [])])

    def doubts(self) -> str:
        """Return what was decided and may be wrong, or nothing; for Python, where nobody sees the plan."""
        words = []
        misread = []
        for facts, reading in zip(self.columns, self.readings, strict=True):
            name = repr(shorten(facts.name, 40))
            if found := facts.meant(self.found - self.levels.get(facts.name, set())):
                words.append(f"{_counted(found)} in column {name}")
            if doubt := (reading.doubt or reading.units.doubt) if reading else self.unread.get(facts.name, ""):
                misread.append(f"column {name}: {doubt}")
        advice = f"If that is right, give missing={sorted(self.found)!r}; if not, name the column in one_hot."
        taken = f"Words among numbers or dates were taken for missing values: {'; '.join(words)}. {advice}"
        read = f"Numbers or dates may have been misread: {'; '.join(misread)}."
        return " ".join([taken] * bool(words) + [read] * bool(misread))

    def _number(self, facts: Facts, reading: Reading) -> Column:
        column = reading.column
        notation = Notation(reading.column.decimal, reading.column.thousands)
        numbers = Counter[str]() if isinstance(facts.cells, Numbers) else facts.numbers
        has_comma = any("," in number for number in numbers)
        seen = ["decimal commas"] * (notation.decimal == "," and (has_comma or notation.thousands != ""))
        seen += [f"{MARK_NAMES.get(notation.thousands)} between thousands"] * (notation.thousands != "")
        seen += [text for text in (reading.units.note, reading.doubt) if text]
        if any(map(LEADING_ZEROS.fullmatch, numbers)):
            seen.append("leading zeros; if these are codes, give --one-hot")
        marked = (number for number, count in facts.marked().items() if count)
        unmarked = self.choices.decimal is None and not any("." in number or "," in number for number in marked)
        is_plain = facts.n_known == self.n_rows and not (column.factors or column.marks)
        if is_plain and self.n_distinct_rows >= LEAST_COUNTED:
            trial = Plan((column,), tuple(self.missing))
            values = trial.encode({facts.name: facts.cells}, self.n_rows, [])[:, 0]  # NaN for what is an error later
            whole = np.unique(values)
            n_whole = len(whole) if (whole == np.rint(whole)).all() else 0
            if n_whole == self.n_distinct_rows:
                first = whole[0]
                last = whole[-1]
                years = YEARS[0] <= first and last <= YEARS[1]
                if (np.diff(values) >= 0).all() and last - first == len(whole) - 1 and not years:
                    return Column(facts.name, "identifier", "counts the rows")
            if n_whole >= NEARLY * self.n_distinct_rows and self._is_likely(facts.name) == 2:
                return Column(facts.name, "identifier", f"its name, its place, and {n_whole} different whole numbers")
            if n_whole == self.n_distinct_rows:
                seen.append("a different whole number in every row; if it names the rows, give --id")
        return replace(column, reason=self._reason(seen, facts), unmarked=unmarked)

    def _date(self, facts: Facts, reading: Reading) -> Column:
        texts = (facts.column.different[code] for code in np.flatnonzero(facts.is_known & facts.is_word))
        example = next(text for text in texts if text not in reading.others)
        seen = f"such as {example!r}; becomes the year with its fraction, and the month"
        seen += "; the month stands before the day" * reading.column.month_first
        seen += "; the year stands first" * reading.column.year_first
        return replace(reading.column, reason=self._reason([seen, *filter(None, [reading.doubt])], facts))

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
        words = facts.folded if facts.is_known.sum() <= MOST_SPELLINGS else {}
        values = yes_no(words, self.choices.yes, self.choices.no)
        if values is None:
            return None
        counted = [_counted({word: words[word] for word in words if values[word] == value}) for value in (1, 0)]
        reason = self._reason([f"1: {counted[0]}, 0: {counted[1]}"], facts)
        return Column(facts.name, "yes/no", reason, levels={word: str(value) for word, value in values.items()})

    def _is_likely(self, name: str) -> int:
        """How much speaks for a column as the identifier: its name, and that it is the first."""
        return names_rows(name) + (name == self.columns[0].name)

    def _identifier(self, facts: Facts) -> Column | None:
        """What a column of short texts is that no two rows share, unless the rows are the same; else None.

        Where most rows are copies of others, a category can differ in all that are not.
        """
        n_texts = len(self._levels(facts))
        n_rows = self.n_distinct_rows
        enough = n_rows * (NEARLY if self._is_likely(facts.name) else 1)
        if not 1 < enough <= n_texts or 2 * n_texts <= facts.n_known or mean_length(facts.known) >= SENTENCE / 2:
            return None
        copies = " (equal rows count once)" if n_rows < self.n_rows else ""
        where = "every row" if n_texts >= n_rows else f"{n_texts} of {n_rows} rows"
        return Column(facts.name, "identifier", f"a different text in {where}{copies}")

    def _with_shared_words(self, facts: Facts, column: Column) -> Column:
        """Return an identifier as a column of words too, if its texts are names that have words in common."""
        if not shared_by_names(facts.known):
            return column
        words = self._words(facts, is_identifier=True)
        return replace(words, reason=f"{column.reason}; {words.reason}") if words.kind == "words" else column

    def _one_identifier(self, columns: list[Column]) -> list[Column]:
        """Leave the likeliest identifier, unless the person named one; the others only differ from row to row."""
        likely = [column for column in columns if column.kind == "identifier" or column.is_identifier]
        best = max(likely, key=lambda column: self._is_likely(column.name), default=None)
        identifier = best if self.choices.id is None else None
        return [
            column if column not in likely else _as_identifier(column) if column == identifier else _as_text(column)
            for column in columns
        ]

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
        return few and (mean_length(facts.known) < SENTENCE or facts.n_known >= ROWS_PER_LEVEL * n_levels)

    def _category(self, facts: Facts) -> Column:
        # in any order of the rows
        name = facts.name
        known = dict(sorted(facts.known.items(), key=_by_count))
        keys = [*map(self._key, known)]
        shown: dict[str, str] = {}  # the most frequent spelling of each level
        for key, text in zip(keys, known, strict=True):
            shown.setdefault(key, text)
        counts = tally(zip(keys, known.values(), strict=True))
        n_missing = self.n_rows - sum(known.values())
        kept = sorted(level for level, _ in sorted(counts.items(), key=_by_count)[:MOST_LEVELS])
        reason = plural(len(counts), "level") + (f": {', '.join(shown.values())}" if len(counts) <= FEW_WORDS else "")
        if len(known) > len(counts):
            reason += f" ({len(known)} spellings)"
        if len(kept) < len(counts):
            reason += f"; the {len(kept)} most frequent have a feature each, the others share one"
        if n_missing:
            reason += f"; missing in {plural(n_missing, 'row')}"
        for word in sorted(self.levels.get(name, ())):
            where = ", although it means a missing value among numbers" if word in self.found else ""
            reason += f"; {word!r} is a level here{where} (--missing {word}: a missing value here too)"
        levels = {level: shown[level] for level in kept}
        other = len(kept) < len(counts)
        return Column(name, "category", reason, levels=levels, has_missing=n_missing > 0, has_other=other)

    def _words(self, facts: Facts, is_identifier: bool = False) -> Column:
        """A column of texts: the words that rows have in common become features, unless there are none."""
        texts = facts.column
        are_names = mean_length(facts.known) < SENTENCE / 2
        known = [text if is_known else "" for text, is_known in zip(texts.different, facts.is_known, strict=True)]
        words, idf = find_words([known[code] for code in texts.codes.tolist()], are_names)
        if not words:
            reason = f"{plural(len(facts.known), 'different text')} without words that recur; left out"
            return Column(facts.name, "text", reason)
        reason = self._reason([f"{'names' if are_names else 'text'}, {count_words(words)}"], facts)
        how: Any = {"are_names": are_names, "is_identifier": is_identifier}
        return Column(facts.name, "words", reason, words=words, idf=idf, **how)


def _as_identifier(column: Column) -> Column:
    """Return the column that names the rows."""
    return replace(column, reason=f"the identifier: {column.reason}") if column.is_identifier else column


def _as_text(column: Column) -> Column:
    """Return a column that could name the rows, and does not: its words stay features if it has some."""
    if column.is_identifier:
        return replace(column, is_identifier=False)
    return Column(column.name, "text", f"{column.reason}; left out")


def _by_count(pair: tuple[str, int]) -> tuple[int, str]:
    """The most frequent text first; of equals the first in the alphabet, whatever the order of the rows."""
    return -pair[1], pair[0]


def _counted(words: Mapping[str, int]) -> str:
    """Return words and how often they occur, the four most frequent of them."""
    first = sorted(words.items(), key=_by_count)[:4]
    shown = ", ".join(f"{shorten(word, 20)!r} ({count})" if word else f"empty ({count})" for word, count in first)
    more = len(words) - len(first)
    return shown + (f" and {plural(more, 'other word')}" if more else "")
