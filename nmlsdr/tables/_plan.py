"""What is done with every column of a raw table: one record for each, which also turns its cells into numbers.

`Deciding` makes the plan from the statistics of the columns and from what the caller says about them. The readers of
files and `TableEncoder` encode blocks of cells with it, so that a rule stands in one place.
"""

import functools
import json
import reprlib
from collections.abc import Container, Iterator, Mapping
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from .._checks.words import LANGUAGES
from .._errors import InputError, shorten
from ._columns import Cells, Numbers, Texts
from ._comparison import LEVELS, RARE, Profile, differences, is_sum_of_others, profile_of
from ._files import MOST_SHOWN, NO_UNIT, OTHER_MARK, Problem, new_words
from ._lists import numbers_of, parts_of
from ._numbers import NOTATIONS, Notation, decimal_mark, is_number, own_notation
from ._shapes import rows_of
from ._units import WITHOUT, read_quantities, with_new_units, word_before

#: The kinds of columns that become features, and how many numbers each cell gives (None: as many as there are levels;
#: a number has one more for each mark).
FEATURES = {"number": 1, "date": 2, "yes/no": 1, "category": None, "list": None, "words": None, "JSON": None}
#: The kinds of columns that do not.
OTHERS = ("identifier", "text", "constant", "empty", "duplicate", "like the labels", "dropped")


@dataclass(frozen=True)
class Column:
    """What is done with one column.

    Attributes
    ----------
    name, kind, reason : str
        Its name, a kind of FEATURES or OTHERS, and the facts behind it in words.
    decimal, thousands : str
        The notation of its numbers.
    factors : dict of str to float
        What numbers with each of these units are multiplied by ("": without a unit); empty: the numbers have no units.
    marks : tuple of str
        The signs of comparison and the units of the numbers that have a feature of their own.
    separator : str
        What stands between the items of a list.
    unmarked : bool
        Whether no number showed a decimal mark at the fit, as those that a file has as numbers: then the numbers of
        another table tell its own.
    month_first, year_first : bool
        Whether its dates begin with the month, or with a year of two digits.
    levels : dict of str to str
        For a category or a list: its levels, folded, and as they are shown. For words: the words. For yes/no: the
        texts that mean yes ("1") and no ("0"); the empty text stands for every word that means a missing value. For a
        date: its words for months. For a JSON object: the keys of its numbers. For numbers: the words behind which
        they are missing.
    has_missing, has_other : bool
        Whether missing values of a category, and levels that are rare, have a feature of their own.
    fill : tuple of float
        What takes the place of a missing value; empty: NaN.
    """

    name: str
    kind: str
    reason: str = ""
    decimal: str = "."
    thousands: str = ""
    unmarked: bool = field(default=False, compare=False)
    factors: dict[str, float] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    separator: str = ""
    month_first: bool = False
    year_first: bool = False
    levels: dict[str, str] = field(default_factory=dict)
    has_missing: bool = False
    has_other: bool = False
    fill: tuple[float, ...] = ()

    @property
    def feature_names(self) -> list[str]:
        """The names of its features."""
        if self.kind in ("number", "date", "JSON"):
            parts = {"number": self.marks, "date": ("year", "month"), "JSON": [*self.levels]}[self.kind]
            return [self.name] * (self.kind == "number") + [f"{self.name} ({part})" for part in parts]
        if self.kind in ("category", "list", "words"):
            more = ["(missing)"] * self.has_missing + ["(other)"] * self.has_other
            return [f"{self.name}={level}" for level in [*self.levels.values(), *more]]
        return [self.name] if self.kind in FEATURES else []


@dataclass(frozen=True)
class Plan:
    """What is done with every column of a table.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the table, without those of the labels.
    missing : tuple of str
        Folded words that mean a missing value.
    keep_case : bool
        Whether texts that differ in case or surrounding blanks are different.
    labels : dict
        Where the labels were: the parameters of `read_table` of these names.
    encoding : str
        The encoding of the table, which other files of its origin probably have too; empty: not known.
    profiles : tuple of Profile
        For each column that becomes features (for each key of JSON objects), what its cells were like at the fit;
        empty: not known.
    """

    columns: tuple[Column, ...]
    missing: tuple[str, ...] = ()
    keep_case: bool = False
    labels: Mapping[str, Any] = field(default_factory=dict)
    encoding: str = ""
    profiles: tuple[Profile, ...] = ()

    @property
    def used(self) -> list[Column]:
        """The columns that become features."""
        return [column for column in self.columns if column.kind in FEATURES]

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers as programs write them, and the labels need no words either."""
        plain = [c for c in self.columns if c.kind == "dropped" or c == Column(c.name, "number", c.reason, fill=c.fill)]
        return len(plain) == len(self.columns) and "separator" not in self.labels

    @property
    def identifier(self) -> str | None:
        """The name of the column that names the rows."""
        return next((column.name for column in self.columns if column.kind == "identifier"), None)

    @property
    def feature_names(self) -> list[str]:
        """The names of all features."""
        return [name for column in self.used for name in column.feature_names]

    @property
    def names(self) -> list[str]:
        """The names of all columns that it knows."""
        return [column.name for column in self.columns]

    def encode(
        self, columns: Mapping[str, Cells], n_rows: int, problems: list[Problem], *, checks: bool = False
    ) -> NDArray[np.float64]:
        """Return the features of a table.

        Parameters
        ----------
        columns : dict of str to (Numbers or Texts)
            The used columns, by name.
        n_rows : int
        problems : list
            Collects the cells that are not what their column holds.
        checks : bool, default=False
            Whether only the cells are checked, which is faster and takes little memory: all features are NaN.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            With NaN for a missing value, which `fill_in` fills.
        """
        shape = n_rows, len(self.feature_names)
        X = np.broadcast_to(np.nan, shape) if checks else np.empty(shape)
        for column, block in self._blocks(X):
            features, codes = self._encode(column, columns[column.name], problems)
            if not checks:
                block[:] = features[codes]
        return X

    def _encode(self, column: Column, cells: Cells, problems: list[Problem]) -> tuple[NDArray[Any], Any]:
        """Return the features of different cells of a column, and for each row the number of its cell among them.

        Cells that are not what the column holds are added to `problems`.
        """
        missing = frozenset(self.missing)
        is_plain = column.kind == "number" and (not column.factors or "" in column.factors)
        # If a number means a missing value, texts tell which numbers these are.
        if isinstance(cells, Numbers) and is_plain and cells.fit(column.decimal) and not any(map(is_number, missing)):
            is_known = ~np.isnan(cells.values)
            return np.column_stack([cells.values, *(is_known & (m == WITHOUT) for m in column.marks)]), slice(None)
        texts = cells.texts.trimmed
        words = texts.folded
        is_missing = np.array([word in missing for word in words], dtype=bool)
        if column.kind not in _READERS:
            return self._encode_words(column, texts, is_missing), texts.codes
        found = np.array(_READERS[column.kind](column, texts, words), np.float64)
        found = found.reshape(len(words), len(column.feature_names))
        behind = column.levels if column.kind == "number" else ()  # the words behind which numbers are missing
        after = (bool(behind) and word_before(text) in behind for text in texts.different)
        is_missing |= np.isnan(found[:, 0]) & np.fromiter(after, bool)
        if column.kind == "yes/no":  # of crosses and empty cells: every word for "missing" means no
            found[is_missing & np.isnan(found[:, 0])] = float(column.levels.get("", "nan"))
        else:
            found[is_missing] = np.nan
        problems += _problems(column, texts, np.isnan(found).all(axis=1) & ~is_missing)
        if column.kind == "number":
            found[np.isnan(found[:, 0]), 1:] = 0.0  # a missing number has no mark
        return found, texts.codes

    def _encode_words(self, column: Column, texts: Texts, is_missing: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the features of the different cells of a category, of lists, or of words."""
        table = np.zeros((len(is_missing), len(column.feature_names)), dtype=bool)
        place = {level: j for j, level in enumerate(column.levels)}
        for row, text, missing in zip(table, texts.different, is_missing.tolist(), strict=True):
            parts = parts_of(column.kind, text, column.separator, self.keep_case)
            row[found := [place[part] for part in parts if part in place]] = True
            if not found and (column.has_missing if missing else column.has_other):
                row[len(place) if missing else -1] = True
        return table

    def _blocks(self, X: NDArray[np.float64]) -> Iterator[tuple[Column, NDArray[np.float64]]]:
        """Return each used column with its features."""
        ends = np.cumsum([len(column.feature_names) for column in self.used])
        return zip(self.used, np.split(X, ends[:-1], axis=1))  # noqa: B905  (without columns there is one empty block)

    def _measured(self, X: NDArray[np.float64]) -> Iterator[tuple[Column, str, NDArray[np.float64]]]:
        """Yield what has a profile: each used column, of JSON objects each key, and its numbers if it has some."""
        for column, block in self._blocks(X):
            for key, values in zip(column.levels if column.kind == "JSON" else [""], block.T):  # noqa: B905
                yield column, key, values

    def profiles_of(self, columns: Mapping[str, Cells], X: NDArray[np.float64]) -> tuple[Profile, ...]:
        """Return the profile of each used column; missing values of the features are not filled yet."""
        how = frozenset(self.missing), self.keep_case
        return tuple(profile_of(column, columns[column.name], values, how) for column, _, values in self._measured(X))

    def compare(
        self, columns: Mapping[str, Cells], X: NDArray[np.float64], absent: Container[str], renamed: Mapping[str, str]
    ) -> dict[str, list[str]]:
        """Return for each column, but for absent ones, what differs from the table of the fit, in words.

        Columns of one name in the file (`renamed` has the names that its reader made) are told apart by their order
        alone, and refused where two of them differ.
        """
        found = dict[str, list[str]]()
        moved = []
        alike = dict[str, str]()
        how = (frozenset(self.missing), self.keep_case)
        rare = RARE / max(1, len(self.profiles))
        for (column, key, values), was in zip(self._measured(X), self.profiles, strict=bool(self.profiles)):
            if column.name in absent or not len(X):
                continue
            facts, is_elsewhere, alike[column.name] = differences(column, was, columns[column.name], values, how, rare)
            if column.kind == "number" and is_sum_of_others(values):
                facts.append("the last row is the sum of the others; remove it if it is a total")
            if facts:
                found.setdefault(column.name, []).extend([f"{key!r}: {'; '.join(facts)}"] if key else facts)
            moved += [column.name] * is_elsewhere
        if names := [name for name, fact in alike.items() if fact]:  # of one ward, and so of its building: said once
            more = f" (there is one level also in {', '.join(map(repr, names[1:]))})" if names[1:] else ""
            found.setdefault(names[0], []).append(alike[names[0]] + more)
        if twins := [name for name in moved if renamed.get(name) in moved]:
            what = f"The columns {renamed[twins[0]]!r} and {twins[0]!r} have one name in the file"
            raise InputError(f"{what}, and seem to have changed places since the fit; give each a name of its own.")
        return found

    def encode_new(
        self,
        columns: Mapping[str, Cells],
        n_rows: int,
        problems: list[Problem],
        absent: Container[str],
        renamed: Mapping[str, str],
    ) -> tuple[NDArray[np.float64], list[Problem], list[str]]:
        """Return the filled features of another table, the cells that are errors, and a line on each odd column."""
        X = self.encode(columns, n_rows, problems)
        errors, words = new_words(problems, n_rows)
        facts = {} if errors else self.compare(columns, X, absent, renamed)
        for name, said in words.items():
            facts.setdefault(name, []).append(said)
        lines = [f"column {shorten(name, 30)!r}: {'; '.join(found)}" for name, found in facts.items()]
        if (more := len(lines) - MOST_SHOWN) > 0:
            lines[MOST_SHOWN:] = [f"{more} more {'columns differ' if more > 1 else 'column differs'} from the fit"]
        return self.fill_in(X), errors, lines

    def collapsed(self, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[str]]:
        """Return encoded features as one number for each column of the table, NaN where missing, and their names.

        The number of a category is that of its level, and the number of a text that of its set of words.
        """
        parts: list[NDArray[Any]] = [np.empty((len(X), 0))]
        for column, block in self._blocks(X):
            part = block[:, 0]
            if column.kind == "category":
                part = np.where(block.any(axis=1), block.argmax(axis=1), block.shape[1]).astype(np.float64)
                part[(part == len(column.levels)) & column.has_missing] = np.nan
            elif column.kind in ("list", "words"):
                part = np.unique(block, axis=0, return_inverse=True)[1].ravel().astype(np.float64)
            parts.append(part)
        return np.column_stack(parts), [column.name for column in self.used]

    def filled(self, X: NDArray[np.float64], strategy: str = "median") -> Self:
        """Return the plan in which the columns of numbers are filled by the median or mean of these features."""
        average: Any = np.median if strategy == "median" else np.mean
        filled = {}
        for column, block in self._blocks(X):
            if column.kind in ("number", "date", "yes/no", "JSON") and len(X):
                known = [values[~np.isnan(values)] for values in block.T]
                fill = tuple(float(average(values)) if len(values) else 0.0 for values in known)
                filled[column.name] = replace(column, fill=fill)
        return replace(self, columns=tuple(filled.get(c.name, c) for c in self.columns))

    def fill_in(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return features with every missing value filled, in a new array if there is one."""
        rows, places = np.nonzero(np.isnan(X))
        if len(rows):
            fill = [np.nan if not c.fill else c.fill[k] for c in self.used for k in range(len(c.feature_names))]
            X = X.copy()
            X[rows, places] = np.array(fill)[places]
        return X

    def sample(self, n_rows: int) -> NDArray[Any]:
        """Return invented rows of text that the plan can encode."""

        def text(column: Column, i: int) -> str:
            if column.kind == "number":
                unit = "" if "" in column.factors else min(column.factors, default="")
                return f"{(*column.fill, 0.0)[0] + i - 0.5:.3f}".replace(".", column.decimal) + unit
            if column.kind == "JSON":
                return json.dumps(dict.fromkeys(column.levels, i))
            if column.kind == "date":
                return f"{2000 + i}-0{i + 1}-15"
            levels = [*(column.levels if column.kind == "yes/no" else column.levels.values())] or [""]
            return levels[i % len(levels)]

        return np.array([[text(column, i) for column in self.columns] for i in range(n_rows)], dtype=object)

    def to_json(self) -> str:
        """Return the plan as text; most columns of a wide table are plain numbers, for which a short list is enough."""
        columns = [
            [c.name, *c.fill]
            if c == Column(c.name, "number", fill=c.fill) and not c.unmarked
            else {f.name: getattr(c, f.name) for f in fields(c) if getattr(c, f.name) or f.name == "name"}
            for c in self.columns
        ]
        profiles = [[*astuple(profile)] for profile in self.profiles]
        kept = {**vars(self), "columns": columns, "labels": dict(self.labels), "profiles": profiles}
        return json.dumps(kept, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the plan that `to_json` wrote; an InputError if it is none.

        The text may come from a stranger: the key, type and size of every value are checked before it is used.
        """
        try:
            plan: Self = _from_json(json.loads(text), cls)
            plan._check()
        except (TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
            raise InputError(f"it holds no plan of a table ({error})") from None
        return plan

    def _check(self) -> None:
        """Raise a ValueError if a value, although of the right type, is not what `Deciding` and a fit give."""
        for c in self.columns:
            wide = len(c.feature_names) if FEATURES.get(c.kind) or c.kind == "JSON" else 0
            answers = {"yes/no": ("0", "1"), "date": [*map(str, range(1, 13))]}.get(c.kind, c.levels.values())
            sound = (c.kind in OTHERS or c.feature_names != []) and {*c.levels.values()} <= {*answers}
            sound = sound and (c.decimal, c.thousands) in NOTATIONS and len(c.fill) in (0, wide)
            sound = sound and all(abs(value) < 1e170 for value in c.fill)
            sound = sound and all(0 < factor < 1e170 for factor in c.factors.values())
            if not sound or (c.kind == "list" and not c.separator):
                raise ValueError(f"impossible values of the column {c.name!r}")
        if self.profiles and len(self.profiles) != len([*self._measured(np.empty((0, len(self.feature_names))))]):
            raise ValueError("another number of profiles than of columns")
        for profile in self.profiles:
            shares = [profile.missing, abs(profile.drift), *profile.shares.values()]
            sound = bool(np.isfinite(profile.quantiles).all()) and len(profile.quantiles) in (0, len(LEVELS))
            if not sound or not 0 <= profile.n_rows < 2**53 or not all(0 <= share <= 1 for share in shares):
                raise ValueError("impossible shares in a profile")
        if len({c.name for c in self.columns}) < len(self.columns):
            raise ValueError("two columns of one name")
        if self.labels.keys() not in _SOURCES:
            raise ValueError(f"{sorted(self.labels)} of its labels")
        for name, value in self.labels.items():
            _from_json(value, list[str] if name in ("label_columns", "annotators") else str)


# ---------------------------------------------------------------- from different texts to numbers, NaN for others


def _read_answers(column: Column, texts: Texts, words: list[str]) -> NDArray[np.float64]:
    known = {"true": 1.0, "false": 0.0} | {word: float(value) for word, value in column.levels.items()}
    for language in LANGUAGES:  # so that "sim" is the "s" of the fit
        known = {**language, **known} if column.levels.keys() <= language.keys() else known
    return np.array([known.get(word, np.nan) for word in words])


def _read_dates(column: Column, texts: Texts, words: list[str]) -> NDArray[np.float64]:
    return texts.dates_with(column.levels).values(column.month_first, column.year_first)


def _read_objects(column: Column, texts: Texts, words: list[str]) -> NDArray[np.float64]:
    objects = [numbers_of(text) or {} for text in texts.different]
    return np.array([[found.get(key, np.nan) for key in column.levels] for found in objects])


def _read_numbers(column: Column, texts: Texts, words: list[str]) -> NDArray[np.float64]:
    units = {part.unit for parts in texts.forms.parts if parts is not None for part in parts.all}
    factors = with_new_units(column.factors, units)
    found = read_quantities(texts.different, texts.forms, _notation(column, texts), factors, column.marks)
    if texts.numbers and (not column.factors or "" in column.factors):
        for code, text in enumerate(texts.different):
            found[code, 0] = texts.numbers.get(text, found[code, 0])
    return found


_READERS = {"yes/no": _read_answers, "date": _read_dates, "JSON": _read_objects, "number": _read_numbers}


def _notation(column: Column, texts: Texts) -> Notation:
    """Return how the numbers of a table are written."""
    # Beside decimal commas a point stands between thousands, also if the numbers of the fit were too small.
    notation = Notation(column.decimal, column.thousands or ("." if column.decimal == "," else ""))
    numbers = [parts.number for parts in texts.forms.parts if parts is not None] if column.unmarked else []
    return own_notation(numbers, notation) if numbers else notation


def _problems(column: Column, texts: Texts, unread: NDArray[np.bool_]) -> list[Problem]:
    """Return texts that are not what a column holds; all numbers with another decimal mark are one problem."""
    rows = dict[str, list[NDArray[np.int64]]]()
    why = dict[str, str]()
    # the first of these numbers, and their mark
    marked = ""
    other = "," if column.decimal == "." else "."
    for code, those in rows_of(texts.codes, np.flatnonzero(unread)):
        text = texts.different[code]
        parts = texts.forms.parts[texts.forms.codes[code]] if column.kind == "number" else None
        if column.kind == "JSON" and numbers_of(text) is not None:
            continue  # an object without a number of the fit
        if parts is not None and other in parts.number and decimal_mark(parts.number) != column.decimal:
            text = marked = marked or text
            why[text] = OTHER_MARK
        elif column.factors and "" not in column.factors and is_number(text):
            why[text] = NO_UNIT
        rows.setdefault(text, []).append(those)
    return [Problem(column.name, np.sort(np.concatenate(r)), t, why=why.get(t, "")) for t, r in rows.items()]


# What a plan may hold of the labels of its table: parameters of `read_table`, and no file.
_SOURCES = [set(), {"label_columns"}, *({source, "separator", "no_label"} for source in ("label_list", "annotators"))]

_hints = functools.cache(get_type_hints)


def _from_json(value: Any, kind: Any) -> Any:
    """Return a value of JSON as this type; an error if it is of another one."""
    outer: Any = get_origin(kind) or kind
    inner = get_args(kind)
    if outer is Column and type(value) is list:
        value = {"name": value[0], "kind": "number", "fill": value[1:]}
    if outer is Profile and type(value) is list:
        value = dict(zip(_hints(outer), value, strict=True))
    if hasattr(outer, "__dataclass_fields__") and type(value) is dict:
        if unknown := value.keys() - _hints(outer).keys():
            raise ValueError(f"the unknown key {min(unknown)!r}")
        return outer(**{key: _from_json(value[key], _hints(outer)[key]) for key in value})
    if outer in (list, tuple) and type(value) is list:
        return outer(_from_json(one, inner[0]) for one in value)
    if outer in (dict, Mapping) and type(value) is dict:
        return {_from_json(key, str): _from_json(one, inner[1]) for key, one in value.items()}
    if outer is float and type(value) is int:
        return float(value)
    if outer is not Any and type(value) is not outer:
        raise TypeError(f"{reprlib.repr(value)} is no {outer.__name__}")
    if type(value) is str:
        value.encode()  # fails for half of a surrogate pair, which cannot be printed
    return value
