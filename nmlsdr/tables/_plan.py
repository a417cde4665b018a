"""`Plan`: what is done with all columns of a raw table; it encodes tables, compares them, and is written as JSON.

It holds a `Column` of `_kinds.py` for each column, whose cells `_features.py` turns into numbers. `Planner` makes the
plan from the statistics of the columns and from what the caller says about them. `read_table` and `TableEncoder` encode
tables with it, so that a rule stands in one place.
"""

import functools
import json
import reprlib
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any, Self, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from .._errors import InputError, shorten
from ._bloom_filter import check_digest
from ._columns import Cells
from ._comparison import LEVELS, RARE, Profile, differences, is_sum_of_others, profile_of
from ._features import column_features
from ._kinds import FEATURES, OTHERS, Column
from ._number_parsing import NOTATIONS
from ._problems import MOST_SHOWN, Problem, errors_and_remarks

#: The total variance of the features of a column beside texts, where a number has the variance 1.  On packages with a
#: section and two texts, films with a title and four numbers, and texts beside 30 numbers, weights from 1 to 10 differ
#: by less than .5 in micro average precision; a standardised section loses 1.4.  Of vectors of 384 numbers beside the
#: columns of three tables, weights from 1 to 16 predict and find label errors within chance of one another.
BLOCK_WEIGHTS = {"words": 3.0, "vector": 1.0, "category": 1.0, "list": 1.0}
Features = Any  # of the rows of a table: ndarray or csr_array of shape (n_rows, n_features), float64


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
    def has_text(self) -> bool:
        """Whether a column of texts becomes features, which are CSR then."""
        return any(column.kind == "words" for column in self.columns)

    @property
    def blocks(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The blocks of features and their weights, as `TableScaler` takes them; none if each has a scale of its own.

        Beside texts, categories and lists are blocks too: standardised, their rare levels outweigh words.
        """
        blocks = list[int]()
        weights = list[float]()
        end = 0
        for column in self.used:
            start = end
            end += len(column.feature_names)
            if column.kind == "vector" or (column.kind in BLOCK_WEIGHTS and self.has_text):
                blocks += [start, end]
                weights.append(BLOCK_WEIGHTS[column.kind])
        return tuple(blocks), tuple(weights)

    @property
    def is_plain(self) -> bool:
        """Whether all columns are numbers as programs write them, and the labels need no words either."""
        plain = [c for c in self.columns if c.kind == "dropped" or c == Column(c.name, "number", c.reason, fill=c.fill)]
        return len(plain) == len(self.columns) and "separator" not in self.labels

    @property
    def identifier(self) -> str | None:
        """The name of the column that names the rows."""
        named = (column.name for column in self.columns if column.kind == "identifier" or column.is_identifier)
        return next(named, None)

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
    ) -> Features:
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
        ndarray or csr_array of shape (n_rows, n_features)
            With NaN for a missing value, which `fill_in` fills. CSR if a column of texts is used.
        """
        shape = n_rows, len(self.feature_names)
        missing = frozenset(self.missing)
        if checks:
            for column in self.used:
                if column.kind != "words":  # any text is one
                    column_features(column, columns[column.name], missing, self.keep_case, problems)
            return np.broadcast_to(np.nan, shape)
        if self.has_text:
            return self._encode_sparse(columns, problems)
        X = np.empty(shape)
        for column, block in self._blocks(X):
            features, codes = column_features(column, columns[column.name], missing, self.keep_case, problems)
            block[:] = features[codes]
        return X

    def _encode_sparse(self, columns: Mapping[str, Cells], problems: list[Problem]) -> csr_array:
        """Return the features of a table with texts; neighbouring columns without text become one block."""
        missing = frozenset(self.missing)
        blocks: list[csr_array] = []
        dense: list[NDArray[np.float64]] = []
        for column in self.used:
            features, codes = column_features(column, columns[column.name], missing, self.keep_case, problems)
            if column.kind == "words":
                blocks += [csr_array(np.column_stack(dense))] if dense else []
                blocks.append(features[codes])
                dense = []
            else:
                dense.append(features[codes].astype(np.float64))
        blocks += [csr_array(np.column_stack(dense))] if dense else []
        return csr_array(hstack(blocks, format="csr"))

    def _blocks(self, X: Features) -> Iterator[tuple[Column, Any]]:
        """Return each used column with its features, which are CSC for texts."""
        ends = np.cumsum([len(column.feature_names) for column in self.used])
        if isinstance(X, np.ndarray):
            yield from zip(self.used, np.split(X, ends[:-1], axis=1))  # noqa: B905  (without columns there is one block)
            return
        by_column = X.tocsc()
        for column, end in zip(self.used, ends.tolist(), strict=True):
            block = by_column[:, end - len(column.feature_names) : end]
            yield column, block if column.kind == "words" else block.toarray()

    def _measured(self, X: Features) -> Iterator[tuple[Column, str, NDArray[np.float64]]]:
        """Yield what has a profile: each used column, of JSON objects each key, and its numbers if it has some."""
        for column, block in self._blocks(X):
            if column.kind == "words":
                yield column, "", np.zeros(X.shape[0])
                continue
            if column.kind == "vector":
                yield column, "", np.linalg.norm(block, axis=1)
                continue
            for key, values in zip(column.levels if column.kind == "JSON" else [""], block.T):  # noqa: B905
                yield column, key, values

    def profiles_of(self, columns: Mapping[str, Cells], X: Features) -> tuple[Profile, ...]:
        """Return the profile of each used column; missing values of the features are not filled yet."""
        how = frozenset(self.missing), self.keep_case
        return tuple(profile_of(column, columns[column.name], values, how) for column, _, values in self._measured(X))

    def compare(
        self, columns: Mapping[str, Cells], X: Features, absent: Container[str], renamed: Mapping[str, str]
    ) -> dict[str, list[str]]:
        """Return for each column, but for absent ones, what differs from the table of the fit, in words.

        Columns of one name in the file (`renamed` has the names that its reader made) are told apart by their order
        alone, and refused where two of them differ.
        """
        column_facts = dict[str, list[str]]()
        moved = list[str]()
        alike = dict[str, str]()
        how = (frozenset(self.missing), self.keep_case)
        rare = RARE / max(1, len(self.profiles))
        for (column, key, values), was in zip(self._measured(X), self.profiles, strict=bool(self.profiles)):
            if column.name in absent or not X.shape[0]:
                continue
            facts, is_elsewhere, alike[column.name] = differences(column, was, columns[column.name], values, how, rare)
            if column.kind == "number" and is_sum_of_others(values):
                facts.append("the last row is the sum of the others; remove it if it is a total")
            if facts:
                column_facts.setdefault(column.name, []).extend([f"{key!r}: {'; '.join(facts)}"] if key else facts)
            moved += [column.name] * is_elsewhere
        for name, fact in _fact_on_one_level(alike).items():
            column_facts.setdefault(name, []).append(fact)
        _refuse_exchanged(moved, renamed)
        return column_facts

    def encode_new(
        self,
        columns: Mapping[str, Cells],
        n_rows: int,
        problems: list[Problem],
        absent: Container[str],
        renamed: Mapping[str, str],
    ) -> tuple[Features, list[Problem], list[str]]:
        """Return the filled features of another table, the cells that are errors, and a line on each odd column."""
        X = self.encode(columns, n_rows, problems)
        errors, remarks = errors_and_remarks(problems, n_rows)
        facts = {} if errors else self.compare(columns, X, absent, renamed)
        for name, remark in remarks.items():
            facts.setdefault(name, []).append(remark)
        lines = [f"column {shorten(name, 30)!r}: {'; '.join(clauses)}" for name, clauses in facts.items()]
        if (n_hidden := len(lines) - MOST_SHOWN) > 0:
            verb = "columns differ" if n_hidden > 1 else "column differs"
            lines[MOST_SHOWN:] = [f"{n_hidden} more {verb} from the fit"]
        return self.fill_in(X), errors, lines

    def collapsed(self, X: Features) -> tuple[NDArray[np.float64], list[str]]:
        """Return encoded features as one number for each column of the table, NaN where missing, and their names.

        The number of a category is that of its level, and the number of a text that of its set of words.
        """
        parts: list[NDArray[Any]] = [np.empty((X.shape[0], 0))]
        for column, block in self._blocks(X):
            if column.kind == "words":
                block = np.column_stack([block @ np.random.default_rng(0).random(block.shape[1])])
            part = block[:, 0]
            if column.kind == "category":
                part = np.where(block.any(axis=1), block.argmax(axis=1), block.shape[1]).astype(np.float64)
                part[(part == len(column.levels)) & column.has_missing] = np.nan
            elif column.kind in ("list", "words"):
                part = np.unique(block, axis=0, return_inverse=True)[1].ravel().astype(np.float64)
            parts.append(part)
        return np.column_stack(parts), [column.name for column in self.used]

    def filled(self, X: Features, strategy: str = "median") -> Self:
        """Return the plan in which the columns of numbers are filled by the median or mean of these features."""
        average: Any = np.median if strategy == "median" else np.mean
        filled = {}
        for column, block in self._blocks(X):
            if column.kind in ("number", "date", "yes/no", "JSON", "vector") and X.shape[0]:
                known = [values[~np.isnan(values)] for values in block.T]
                fill = tuple(float(average(values)) if len(values) else 0.0 for values in known)
                filled[column.name] = replace(column, fill=fill)
        return replace(self, columns=tuple(filled.get(c.name, c) for c in self.columns))

    def fill_in(self, X: Features) -> Features:
        """Return features with every missing value filled, in a new array if there is one."""
        is_dense = isinstance(X, np.ndarray)
        gaps = np.nonzero(np.isnan(X if is_dense else X.data))
        if len(gaps[0]):
            fill = [np.nan if not c.fill else c.fill[k] for c in self.used for k in range(len(c.feature_names))]
            X = X.copy()
            values, columns = (X, gaps[1]) if is_dense else (X.data, X.indices[gaps])
            values[gaps] = np.array(fill)[columns]
        return X

    def sample(self, n_rows: int) -> NDArray[Any]:
        """Return invented rows of text that the plan can encode."""
        rows = [[_sample_text(column, number) for column in self.columns] for number in range(n_rows)]
        return np.array(rows, dtype=object)

    def to_json(self) -> str:
        """Return the plan as text; most columns of a wide table are plain numbers, for which a short list is enough."""
        columns = [
            [c.name, *c.fill]
            if c == Column(c.name, "number", fill=c.fill) and not c.unmarked
            else {f.name: getattr(c, f.name) for f in fields(c) if getattr(c, f.name) or f.name == "name"}
            for c in self.columns
        ]
        profiles = [[*astuple(profile)] for profile in self.profiles]
        contents = {**vars(self), "columns": columns, "labels": dict(self.labels), "profiles": profiles}
        return json.dumps(contents, ensure_ascii=False)

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
        """Raise a ValueError if a value, although of the right type, is not what `Planner` and a fit give."""
        for column in self.columns:
            if not _is_sound(column):
                raise ValueError(f"impossible values of the column {column.name!r}")
        if self.profiles and len(self.profiles) != len([*self._measured(np.empty((0, len(self.feature_names))))]):
            raise ValueError("another number of profiles than of columns")
        for profile in self.profiles:
            _check_profile(profile)
        if len({c.name for c in self.columns}) < len(self.columns):
            raise ValueError("two columns of one name")
        _check_labels(self.labels)


def _fact_on_one_level(facts: Mapping[str, str]) -> dict[str, str]:
    """Return the fact that a column has one level only, for the first column of which it is said, naming the others.

    All rows of one ward are of its building too, which is one fact.
    """
    names = [name for name, fact in facts.items() if fact]
    if not names:
        return {}
    further_columns = f" (there is one level also in {', '.join(map(repr, names[1:]))})" if names[1:] else ""
    return {names[0]: facts[names[0]] + further_columns}


def _refuse_exchanged(moved: Sequence[str], renamed: Mapping[str, str]) -> None:
    """Raise if the numbers of two columns of one name in the file both lie elsewhere than at the fit."""
    for name in moved:
        original = renamed.get(name)
        if original in moved:
            pair = f"The columns {original!r} and {name!r} have one name in the file"
            raise InputError(f"{pair}, and seem to have changed places since the fit; give each a name of its own.")


def _sample_text(column: Column, number: int) -> str:
    """Return an invented cell of a column, another one for each number."""
    if column.kind == "number":
        unit = "" if "" in column.factors else min(column.factors, default="")
        return f"{(*column.fill, 0.0)[0] + number - 0.5:.3f}".replace(".", column.decimal) + unit
    if column.kind == "vector":
        return ";".join(f"{value + number - 0.5}" for value in column.fill or (0.0,) * column.length)
    if column.kind == "JSON":
        return json.dumps(dict.fromkeys(column.levels, number))
    if column.kind == "date":
        return f"{2000 + number}-0{number + 1}-15"
    levels = [*column.words, *(column.levels if column.kind == "yes/no" else column.levels.values())] or [""]
    return levels[number % len(levels)]


# ---------------------------------------------------------------- plans in files


def _is_sound(column: Column) -> bool:
    """Whether the values of a column are those that `Planner` and a fit give."""
    is_vector = column.kind == "vector"
    # A length without numbers that fill it would make names until the memory is full.
    if column.length != (len(column.fill) if is_vector else 0) or (is_vector and column.length < 2):
        return False
    if column.kind == "list" and not column.separator:
        return False
    return _has_sound_levels(column) and _has_sound_numbers(column) and _has_sound_words(column)


def _has_sound_levels(column: Column) -> bool:
    """Whether a column has features if its kind has, and the levels of its kind."""
    levels = {"yes/no": ("0", "1"), "date": [*map(str, range(1, 13))]}.get(column.kind, column.levels.values())
    return (column.kind in OTHERS or column.feature_names != []) and {*column.levels.values()} <= {*levels}


def _has_sound_numbers(column: Column) -> bool:
    """Whether the notation, the fill values and the factors of a column are possible."""
    n_fill = len(column.feature_names) if FEATURES.get(column.kind) or column.kind in ("JSON", "vector") else 0
    if (column.decimal, column.thousands) not in NOTATIONS or len(column.fill) not in (0, n_fill):
        return False
    are_finite = all(abs(value) < 1e170 for value in column.fill)
    return are_finite and all(0 < factor < 1e170 for factor in column.factors.values())


def _has_sound_words(column: Column) -> bool:
    """Whether only a column of texts has words, sorted and with a weight each."""
    is_text = column.kind == "words"
    if sorted({*column.words}) != [*column.words] or len(column.words) != len(column.idf):
        return False
    if column.is_identifier and not is_text:
        return False
    return is_text == bool(column.words) and all(1 <= weight < 100 for weight in column.idf)


def _check_profile(profile: Profile) -> None:
    """Raise a ValueError if a profile has impossible counts, shares or quantiles."""
    shares = [profile.missing, abs(profile.drift), *profile.shares.values()]
    is_sound = bool(np.isfinite(profile.quantiles).all()) and len(profile.quantiles) in (0, len(LEVELS))
    check_digest(profile.rare)
    is_sound = is_sound and 0 <= profile.n_once <= profile.n_rows < 2**53
    if not is_sound or not all(0 <= share <= 1 for share in shares):
        raise ValueError("impossible shares in a profile")


def _check_labels(labels: Mapping[str, Any]) -> None:
    """Raise a ValueError if what a plan holds of its labels are no parameters of `read_table`."""
    if labels.keys() - HOW_LABELS.keys() not in _SOURCES:
        raise ValueError(f"{sorted(labels)} of its labels")
    for name, value in labels.items():
        kind = list[str] if name in ("label_columns", "annotators") else HOW_LABELS.get(name, str)
        _from_json(value, kind)


# What a plan may hold of the labels of its table: parameters of `read_table`, and no file.
_SOURCES = [set(), {"label_columns"}, *({source, "separator", "no_label"} for source in ("label_list", "annotators"))]
#: What a plan may say beside where the labels are: how they are read, as parameters of `Roles`.
HOW_LABELS = {"label_prefix": int, "label_until": str, "empty_is": str}

#: As what JSON holds each kind of collection.
_COLLECTIONS: dict[Any, type] = {list: list, tuple: list, dict: dict, Mapping: dict}

_hints = functools.cache(get_type_hints)


def _from_json(value: Any, kind: Any) -> Any:
    """Return a value of JSON as this type; an error if it is of another one."""
    outer: Any = get_origin(kind) or kind
    if hasattr(outer, "__dataclass_fields__"):
        value = _with_keys(value, outer)
        if type(value) is dict:
            return _record_from_json(value, outer)
    elif _COLLECTIONS.get(outer) is type(value):
        return _collection_from_json(value, outer, get_args(kind))
    if outer is float and type(value) is int:
        return float(value)
    if outer is not Any and type(value) is not outer:
        raise TypeError(f"{reprlib.repr(value)} is no {outer.__name__}")
    if type(value) is str:
        value.encode()  # fails for half of a surrogate pair, which cannot be printed
    return value


def _collection_from_json(value: Any, outer: Any, inner: tuple[Any, ...]) -> Any:
    """Return a list or a dictionary of JSON as a collection of this outer type, with items of the inner types."""
    if type(value) is dict:
        return {_from_json(key, str): _from_json(item, inner[1]) for key, item in value.items()}
    return outer(_from_json(item, inner[0]) for item in value)


def _with_keys(value: Any, record: Any) -> Any:
    """Return a column or profile that is written as a list as a dictionary; another value as it is."""
    if type(value) is not list:
        return value
    if record is Column:
        return {"name": value[0], "kind": "number", "fill": value[1:]}
    if record is Profile:
        return dict(zip(_hints(record), value, strict=False))  # without the last ones, in files of earlier versions
    return value


def _record_from_json(value: dict[str, Any], record: Any) -> Any:
    """Return a dictionary of JSON as a dataclass; a ValueError if it has a key that is no field."""
    hints = _hints(record)
    if unknown := value.keys() - hints.keys():
        raise ValueError(f"the unknown key {min(unknown)!r}")
    return record(**{key: _from_json(item, hints[key]) for key, item in value.items()})
