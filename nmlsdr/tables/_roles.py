"""What the columns of a file are: labels, ids, features, ..."""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from numpy.typing import ArrayLike

from .._checks.arguments import refuse_text
from .._checks.words import check_answers, fold
from .._errors import InputError, shorten
from ._files import DELIMITERS, DataFileError, Form, Path_, check_width, place
from ._label_cuts import LabelCut

MOST_MISSING = 8  # columns that a message names
LABEL = "a label"  # the role of a column of labels
CATEGORY = "a category"  # the role of a feature that a person said to be one
SOURCES = ("labels_xml", "label_columns", "label_file", "label_list", "annotators")
LabelNames = Sequence[str] | Mapping[str, str]  # names, or names with the place that names them, as "a.xml, line 3"


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are; all others are features.

    Labels are read from columns of the file itself (`labels_xml`, `label_columns`, `label_list` or `annotators`) or
    from another file (`label_file`); give at most one of the five.  An npz or svmlight file stores labels separately,
    and needs none.

    Parameters
    ----------
    labels_xml : path, default=None
        Mulan XML file: the columns that it names are labels.
    label_columns : sequence of str, default=None
        Names of the columns that are labels. Their cells are 0/1, true/false or yes/no. For svmlight: the label ids,
        in the order of the columns to return; None: the ids that occur, in increasing order.
    label_file : path, default=None
        File in one of the formats of `read_table`, with one row for each row of the table, in which every column is a
        label, but for one that is called as the column of ids and must hold the same ones (for npz: ``y`` or
        ``target``). A blank line of a CSV label file is an unlabelled row, also at the end.
    label_list : str, default=None
        Name of a column whose cells are lists of labels, such as ``flu;cold``. Each label that occurs becomes a label
        column, in alphabetical order. An empty cell is an unlabelled row.
    annotators : sequence of str, default=None
        Names of such columns, one for each annotator; an empty cell is no vote. A label is 1 if more than half of
        those who voted on the row gave it, 0 if fewer did, and unknown if half of them did.
    separator : str, default=None
        Text between the labels of such a list. None: a semicolon; with a plan it is found from the cells.
    no_label : str, default=None
        Word in place of such a list for a row that has none of the labels, such as ``none``. None: it is found
        from the cells with a plan, and there is none otherwise. "": there is none.
    empty_is : {"unknown", "no"}, default="unknown"
        What an empty cell of a label column, or a word there that means a missing value, says. "unknown": nobody
        looked. "no": the label does not apply, as in a table of codes in which only presences are written. In a column
        of lists an empty cell is then a row without labels.
    label_prefix : int, default=None
        How many characters of a label are kept; labels that are equal then are one label. With 3, the ICD codes E11.9
        and E11.2 become E11. None: all.
    label_until : str, default=None
        Text before which a label ends, such as ``.`` (E11.9 becomes E11) or ``::`` (role::program becomes role).
        None: labels are whole.
    min_count : int, default=1
        Labels that fewer rows have are left out, unless the table is read with the plan of another one.
    mask : path or array-like of shape (n_samples,), bool, default=None
        Rows whose labels are used (1); the other rows (0) become unlabelled. A file contains 0 or 1 on each line,
        with or without a header line.
    id_column : str, default=None
        Name of a column with the names of the rows. It is returned as ``ids`` and is not a feature.
    drop : sequence of str, default=()
        Columns to leave out, such as comments; they may contain text.
    shown : sequence of str, default=()
        Columns whose cells are returned in ``columns``, although they are dropped.
    feature_columns : sequence of str, default=None
        Columns that are features, for example those of a model; columns without any role are ignored then. None: all
        columns without another role.
    yes, no : str, default=None
        Words that mean yes and no, in labels and in features; give both. The usual words of many languages are known.
    fill_absent : bool, default=False
        Whether columns that the plan of a model needs and the table lacks are read as empty.
    """

    labels_xml: Path_ | None = None
    label_columns: Sequence[str] | None = None
    label_file: Path_ | None = None
    label_list: str | None = None
    annotators: Sequence[str] | None = None
    separator: str | None = None
    no_label: str | None = None
    empty_is: Literal["unknown", "no"] = "unknown"
    label_prefix: int | None = None
    label_until: str | None = None
    min_count: int = 1
    mask: Path_ | ArrayLike | None = None
    id_column: str | None = None
    drop: Sequence[str] = ()
    shown: Sequence[str] = ()
    feature_columns: Sequence[str] | None = None
    yes: str | None = None
    no: str | None = None
    fill_absent: bool = False

    @property
    def lists(self) -> list[str]:
        """The columns that list labels in each cell."""
        return list(self.annotators or ([] if self.label_list is None else [self.label_list]))

    @property
    def cut(self) -> LabelCut:
        """Where the names of labels end."""
        return LabelCut(self.label_prefix, self.label_until)

    def check(self) -> None:
        """Raise if two of them contradict each other."""
        for name in ("label_columns", "annotators", "drop", "feature_columns"):
            refuse_text(getattr(self, name), name)
        sources = [name for name in SOURCES if getattr(self, name) is not None]
        if len(sources) > 1:
            raise DataFileError(f": {' and '.join(sources)} are given; choose one source of labels.")
        check_answers(self.yes, self.no)
        if self.separator == "":
            raise DataFileError(": the separator of its lists of labels is empty; give one such as ';'.")
        if self.empty_is not in ("unknown", "no"):
            raise InputError(f'empty_is must be "unknown" or "no", got {self.empty_is!r}.')
        if self.min_count < 1:
            raise InputError(f"min_count must be at least 1, got {self.min_count}.")
        self.cut.check()


@dataclass(frozen=True)
class Split:
    """The names of the columns of each role, in the file's order."""

    features: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    id: str | None = None
    shown: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)  # those without a role
    all_names: list[str] = field(default_factory=list)
    yes: str | None = None  # of the labels
    no: str | None = None
    empty_is: str = "unknown"  # and what an empty cell of theirs says

    @property
    def column_names(self) -> list[str]:
        """All columns that are read."""
        other_names = [*self.labels, *self.lists, *([] if self.id is None else [self.id]), *self.shown]
        return list(dict.fromkeys([*self.features, *other_names]))


def nearest(name: str, known: Sequence[str]) -> str:
    """Return "; did you mean 'x'?" with the name most similar to `name`, or an empty text."""
    folded = {fold(candidate): candidate for candidate in known[:10_000]}
    matches = difflib.get_close_matches(fold(name), folded, n=1, cutoff=0.7)
    return f"; did you mean {shorten(folded[matches[0]])!r}?" if matches else ""


def split_columns(source: Any, roles: Roles, labels: LabelNames | None, one_hot: Sequence[str] = ()) -> Split:
    """Give each column of a file its role.

    Parameters
    ----------
    source : CsvFile, ArffFile, ...
        Whose path, names, and line of the names are used.
    roles : Roles
        What a person said; columns that it does not name are features.
    labels : sequence or mapping of str
        Names of label columns.
    one_hot : sequence of str, default=()
        Features that are said to be categories.
    """
    names = source.names
    labels = labels or ()
    columns_by_role = {
        LABEL: labels,
        "dropped": roles.drop,
        "the id column": [] if roles.id_column is None else [roles.id_column],
        "a column of label lists": roles.lists,
        CATEGORY: one_hot,
    }
    roles_by_name = _roles_by_name(source, columns_by_role, labels)
    _refuse_repeated(labels)
    names_of_file = set(names)
    free_names = [name for name in names if roles_by_name.get(name, CATEGORY) == CATEGORY]
    feature_names = set(free_names if roles.feature_columns is None else roles.feature_columns)
    return Split(
        features=[name for name in free_names if name in feature_names],
        labels=[name for name in names if roles_by_name.get(name) == LABEL],
        lists=roles.lists,
        id=roles.id_column,
        yes=roles.yes,
        no=roles.no,
        empty_is=roles.empty_is,
        shown=[name for name in roles.shown if name in names_of_file],
        unused=[name for name in free_names if name not in feature_names],
        all_names=[*names],
    )


def _roles_by_name(source: Any, columns_by_role: Mapping[str, Iterable[str]], labels: LabelNames) -> dict[str, str]:
    """Return the role of each column that a person named; raise if it is not in the file, or has two roles."""
    names = set(source.names)
    roles_by_name: dict[str, str] = {}
    for role, columns in columns_by_role.items():
        for name in columns:
            if name not in names:
                raise _absence(source, name, labels)
            if roles_by_name.setdefault(name, role) != role:
                raise DataFileError(f": {shorten(name)!r} is {roles_by_name[name]} and {role}; choose one.")
    return roles_by_name


def _absence(source: Any, name: str, labels: LabelNames) -> DataFileError:
    """Return the error that a file has no column of this name; a label may be named by a place in another file."""
    names = source.names
    shown = ", ".join(repr(shorten(column_name, 30)) for column_name in names[:3]) + (", ..." if len(names) > 3 else "")
    fault = f"{place(source.line)}: there is no column {shorten(name)!r} among its {len(names)} ({shown})"
    origin = f"{labels[name]}: {source.path}" if isinstance(labels, Mapping) and name in labels else ""
    return DataFileError(f"{origin}{fault}{_what_was_meant(name, names)}")


def _refuse_repeated(labels: LabelNames) -> None:
    """Raise if a label is named twice."""
    if len(set(labels)) < len(labels):
        name = Counter(labels).most_common(1)[0][0]
        raise DataFileError(f": the label {shorten(name)!r} is given twice; name it once.")


def check_names(names: Sequence[str], form: Form, line: int | None = None) -> None:
    """Raise if a file has too many columns, one without a name, or two of one name."""
    check_width(len(names), form.max_features, line)
    if "" in names:
        raise DataFileError(f"{place(line)}: column {names.index('') + 1} has no name; name it, or leave it out.")
    if len(set(names)) < len(names):
        name = Counter(names).most_common(1)[0][0]
        raise DataFileError(f"{place(line, name)}: the column name appears twice; rename one.")


def refuse_missing(where: str, required: Sequence[str], names: Sequence[str], contents: str, advice: str = "") -> None:
    """Raise if a file does not have all that a model wants; `contents` is, in words."""
    available = set(names)
    missing = [name for name in required if name not in available]
    if missing:
        shown = missing[:MOST_MISSING]
        meant = {name: nearest(name, names) for name in shown}
        named = ", ".join(repr(shorten(n)) + (f" ({meant[n][2:]})" if meant[n] else "") for n in shown)
        named += f" and {len(missing) - MOST_MISSING} more" if len(missing) > MOST_MISSING else ""
        lacks = f"it lacks {len(missing)} of the {len(required)} {contents}: {named}"
        raise DataFileError(f"{where}: {lacks}; {advice or f'give the same {contents.split()[0]}'}.")


def _what_was_meant(name: str, names: Sequence[str]) -> str:
    """Return how to name a column of a file with these names, as the end of a sentence."""
    parts = [part.strip() for part in name.split(",")]
    if len(names) == 1 and any(mark in names[0] for mark in DELIMITERS):
        return "; the whole line was read as one column: give the character between its cells with --delimiter."
    if len(parts) > 1 and all(part in names for part in parts):
        return f"; to name {len(parts)} columns of 0 and 1 use --label-columns, since --label-list takes one column."
    if name.isdecimal():
        return "; give the name of the column and not its number."
    return nearest(name, names) or "; check the spelling."
