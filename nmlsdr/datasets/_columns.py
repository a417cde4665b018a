"""Which columns of a file are features, labels, names of rows, or nothing to us."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ._files import MAX_FEATURES, DataFileError, Path_, check_width, place, shorten

__all__ = ["LabelNames", "Split", "Wanted", "nearest", "split_columns"]

LabelNames = Sequence[str] | Mapping[str, str]  # names, or names with the place ("a.xml, line 3") that asks for each


@dataclass(frozen=True)
class Wanted:
    """What a caller wants of a file, and what the caller says of its form.

    labels: names of label columns; all_labels: every column is one; texts: features that hold words, each a category;
    labelled: whether a caller said where the labels are; all_known: whether every label must be known; n_rows: how many
    rows of an ARFF file, None for all; the others: the parameters of `read_table` of these names.
    """

    labels: LabelNames | None = None
    all_labels: bool = False
    drop: Sequence[str] = ()
    id_column: str | None = None
    label_list: str | None = None
    feature_columns: Sequence[str] | None = None
    texts: Sequence[str] = ()
    missing: bool = False
    labelled: bool = False
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
    """Which columns of a file are what, by their places, in the file's order."""

    names: Sequence[str]
    features: list[int]  # those that hold numbers
    texts: list[int]  # features that hold words
    labels: list[int]
    id: int | None
    label_list: int | None
    unused: list[str]  # names of columns that are neither asked for nor dropped
    wanted: Wanted

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return [self.names[j] for j in self.labels]

    @property
    def feature_names(self) -> list[str]:
        """Names of all features."""
        return [self.names[j] for j in sorted([*self.features, *self.texts])]


def nearest(name: str, known: Sequence[str]) -> str:
    """Return ", did you mean 'x'?" with the name that is most like `name`, or nothing."""
    folded = {other.casefold(): other for other in known[:10_000]}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    return f", did you mean {shorten(folded[found[0]])!r}?" if found else ""


def split_columns(path: Path_, names: Sequence[str], wanted: Wanted, *, line: int | None = None) -> Split:
    """Find what is wanted among the columns of a file; the others are features."""
    check_width(path, len(names), wanted.max_features, line)
    position: dict[str, int] = {}
    for j, name in enumerate(names):
        if name in position:
            raise DataFileError(f"{place(path, line, name)}: the column name appears twice; rename one.")
        position[name] = j
    special = [name for name in (wanted.id_column, wanted.label_list) if name is not None]
    asked: list[str] = list(wanted.labels or ())
    if wanted.all_labels:
        asked = [name for name in names if name not in wanted.drop and name not in special]
    for name in [*asked, *wanted.drop, *special, *wanted.texts]:
        if name not in position:
            raise _no_column(path, line, name, names, wanted.labels)
    labels, dropped = set(asked), {*wanted.drop}
    if len(labels) < len(asked):
        twice = Counter(asked).most_common(1)[0][0]
        raise DataFileError(f"{place(path)}: the label {shorten(twice)!r} is asked for twice; name it once.")
    if labels & dropped:
        raise DataFileError(f"{place(path)}: {min(labels & dropped)!r} is a label and dropped; choose one.")
    taken = [*labels, *dropped, *special]
    for name in [*special, *wanted.texts]:
        if taken.count(name) > (name in special):
            what = "names the rows or lists labels" if name in special else "holds categories"
            raise DataFileError(f"{place(path)}: {shorten(name)!r} {what} and is something else too; choose one.")
    words, taken_names = set(wanted.texts), {*taken}
    others = [j for j, name in enumerate(names) if name not in taken_names]
    kept = None if wanted.feature_columns is None else set(wanted.feature_columns)
    features = [j for j in others if kept is None or names[j] in kept]
    return Split(
        names=names,
        features=[j for j in features if names[j] not in words],
        texts=[j for j in features if names[j] in words],
        labels=[j for j, name in enumerate(names) if name in labels],
        id=None if wanted.id_column is None else position[wanted.id_column],
        label_list=None if wanted.label_list is None else position[wanted.label_list],
        unused=[names[j] for j in others if kept is not None and names[j] not in kept],
        wanted=wanted,
    )


def _no_column(
    path: Path_, line: int | None, name: str, names: Sequence[str], asks: LabelNames | None
) -> DataFileError:
    known = ", ".join(repr(shorten(n, 30)) for n in names[:3]) + (", ..." if len(names) > 3 else "")
    origin = f"{asks[name]}: " if isinstance(asks, Mapping) and name in asks else ""
    what = f"{origin}{place(path, line)}: there is no column {shorten(name)!r} among its {len(names)} ({known})"
    return DataFileError(what + (nearest(name, names) or "; check the spelling."))
