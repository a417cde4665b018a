"""The roles of the columns of a file: features, labels, ids, or unused."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._files import DELIMITERS, MAX_FEATURES, DataFileError, Path_, check_width, place, shorten

if TYPE_CHECKING:
    from ._plan import Plan
    from ._statistics import TableStatistics

CATEGORY = "a category"  # the role of a feature that a person said to be one
LabelNames = Sequence[str] | Mapping[str, str]  # names, or names with the place that names them, as "a.xml, line 3"


@dataclass(frozen=True)
class Wanted:
    """What to read from a file, and what is known of its form.

    labels: names of label columns; all_labels: every column is one; plan: what is done with raw columns, or statistics
    of them, None for a table of numbers; all_known: whether every label must be known; n_rows: the number of rows to
    read from an ARFF file, None for all; the other fields: the parameters of `read_table` of these names.
    """

    labels: LabelNames | None = None
    all_labels: bool = False
    drop: Sequence[str] = ()
    id_column: str | None = None
    label_lists: Sequence[str] = ()
    feature_columns: Sequence[str] | None = None
    plan: "Plan | TableStatistics | None" = None
    missing: bool = False
    all_known: bool = False
    n_rows: int | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    n_features: int | None = None
    zero_based: bool = False
    max_bytes: int | None = None
    max_features: int = MAX_FEATURES


@dataclass(frozen=True)
class Split:
    """The indices of the columns of each role, in the file's order."""

    names: Sequence[str]
    features: list[int]  # those that are read as numbers
    planned: list[int]  # those that a plan turns into features
    labels: list[int]
    id: int | None
    lists: list[int]  # those that list labels in each cell
    unused: list[str]  # names of the columns without a role
    wanted: Wanted

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return [self.names[j] for j in self.labels]

    @property
    def feature_names(self) -> list[str]:
        """Names of all features."""
        return [self.names[j] for j in self.features] if self.wanted.plan is None else self.wanted.plan.feature_names


def nearest(name: str, known: Sequence[str]) -> str:
    """Return ", did you mean 'x'?" with the name most similar to `name`, or an empty text."""
    folded = {other.casefold(): other for other in known[:10_000]}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    return f", did you mean {shorten(folded[found[0]])!r}?" if found else ""


def split_columns(path: Path_, names: Sequence[str], wanted: Wanted, *, line: int | None = None) -> Split:
    """Give each column of a file its role; the columns that `wanted` does not name are features."""
    check_width(path, len(names), wanted.max_features, line)
    position: dict[str, int] = {}
    for j, name in enumerate(names):
        if name in position:
            raise DataFileError(f"{place(path, line, name)}: the column name appears twice; rename one.")
        position[name] = j
    id_column = wanted.id_column
    if id_column is None and wanted.plan is not None and wanted.plan.identifier in position:
        id_column = wanted.plan.identifier
    special = {"the id column": [id_column], "a column of label lists": wanted.label_lists}
    taken = {name for columns in special.values() for name in columns}
    labels: list[str] = list(wanted.labels or ())
    if wanted.all_labels:
        labels = [name for name in names if name not in wanted.drop and name not in taken]
    named = {
        "a label": labels,
        "dropped": wanted.drop,
        **{role: [name for name in columns if name is not None] for role, columns in special.items()},
        CATEGORY: () if wanted.plan is None else wanted.plan.one_hot,
    }
    roles: dict[str, str] = {}
    for role, columns in named.items():
        for name in columns:
            if name not in position:
                if (role, name) == (CATEGORY, "auto"):
                    what = "--one-hot auto is not needed: columns of text are categories by themselves"
                    raise DataFileError(f"{place(path)}: {what}; leave it out, or name columns of codes.")
                known = ", ".join(repr(shorten(n, 30)) for n in names[:3]) + (", ..." if len(names) > 3 else "")
                source = wanted.labels  # of labels: names, or the places that name them
                origin = f"{source[name]}: " if isinstance(source, Mapping) and name in source else ""
                what = f"{place(path, line)}: there is no column {shorten(name)!r} among its {len(names)} ({known})"
                raise DataFileError(f"{origin}{what}{_what_was_meant(name, names)}")
            if roles.setdefault(name, role) != role:
                raise DataFileError(f"{place(path)}: {shorten(name)!r} is {roles[name]} and {role}; choose one.")
    if len(set(labels)) < len(labels):
        twice = Counter(labels).most_common(1)[0][0]
        raise DataFileError(f"{place(path)}: the label {shorten(twice)!r} is given twice; name it once.")
    others = [j for j, name in enumerate(names) if roles.get(name, CATEGORY) == CATEGORY]
    kept = set(names if wanted.feature_columns is None else wanted.feature_columns)
    planned: list[int] = []
    if wanted.plan is not None:
        sources = wanted.plan.sources([names[j] for j in others])
        refuse_missing(place(path, line), sources, names, "columns that the model was fitted on")
        kept, planned = {*sources, *wanted.plan.names}, [position[name] for name in sources]
    features = [j for j in others if names[j] in kept] if wanted.plan is None else []
    return Split(
        names=names,
        features=features,
        planned=planned,
        labels=[j for j, name in enumerate(names) if roles.get(name) == "a label"],
        id=None if id_column is None else position[id_column],
        lists=[position[name] for name in wanted.label_lists],
        unused=[names[j] for j in others if names[j] not in kept],
        wanted=wanted,
    )


def refuse_missing(where: str, wanted: Sequence[str], names: Sequence[str], what: str) -> None:
    """Raise if a file does not have all that a model wants; `what` is, in words."""
    given = set(names)
    missing = [name for name in wanted if name not in given]
    if missing:
        first = f"the first is {shorten(missing[0])!r}{nearest(missing[0], names)}"
        lacks = f"it lacks {len(missing)} of the {len(wanted)} {what}"
        raise DataFileError(f"{where}: {lacks}, {first}; give the same {what.split()[0]}.")


def _what_was_meant(name: str, names: Sequence[str]) -> str:
    """Return how to name a column of a file with these names, as the end of a sentence."""
    parts = [part.strip() for part in name.split(",")]
    if len(names) == 1 and any(mark in names[0] for mark in DELIMITERS):
        return "; the whole line was read as one column: give the character between its cells with --delimiter."
    if len(parts) > 1 and all(part in names for part in parts):
        return f"; these are {len(parts)} columns, which --label-columns takes, and --label-list takes one."
    if name.isdecimal():
        return "; give the name of the column and not its number."
    return nearest(name, names) or "; check the spelling."
