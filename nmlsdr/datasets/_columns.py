"""Which columns of a file are features, labels, names of rows, or nothing to us."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ._files import MAX_FEATURES, DataFileError, Path_, place, shorten

__all__ = ["LabelNames", "Split", "Wanted", "nearest", "split_columns"]

LabelNames = Sequence[str] | Mapping[str, str]  # names, or names with the place ("a.xml, line 3") that asks for each


@dataclass(frozen=True)
class Wanted:
    """What a caller wants of a file's columns.

    labels: names of label columns; all_labels: every column is one; drop: columns to leave out; id: the column that
    names the rows; label_list: the column that holds a list of labels in each cell; features: the only columns that are
    features (those of a model), None for all that are nothing else; texts: features that hold words, each a category;
    gaps: whether a feature may be missing; labelled: whether a caller said where the labels are.
    """

    labels: LabelNames | None = None
    all_labels: bool = False
    drop: Sequence[str] = ()
    id: str | None = None
    label_list: str | None = None
    separator: str = ";"
    features: Sequence[str] | None = None
    texts: Sequence[str] = ()
    gaps: bool = False
    labelled: bool = False


@dataclass(frozen=True)
class Split:
    """Which columns of a file are what, in the file's order."""

    feature_names: list[str]
    features: list[int]
    label_names: list[str]
    labels: list[int]
    id: int | None = None
    label_list: int | None = None
    unused: list[str] = field(default_factory=list)  # neither asked for nor dropped
    texts: list[int] = field(default_factory=list)  # features that hold words, which are not among the others
    text_names: list[str] = field(default_factory=list)
    gaps: bool = False


def nearest(name: str, known: Sequence[str]) -> str:
    """Return ", did you mean 'x'?" with the name that is most like `name`, or nothing."""
    folded = {other.casefold(): other for other in known[:10_000]}
    found = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    return f", did you mean {shorten(folded[found[0]])!r}?" if found else ""


def split_columns(
    path: Path_, names: Sequence[str], wanted: Wanted, *, max_features: int = MAX_FEATURES, line: int | None = None
) -> Split:
    """Find what is wanted among the columns of a file; the others are features."""
    if len(names) > max_features:
        raise DataFileError(
            f"{place(path, line)}: {len(names)} columns are more than max_features={max_features}; "
            "raise it if you trust the file."
        )
    position: dict[str, int] = {}
    for j, name in enumerate(names):
        if name in position:
            raise DataFileError(f"{place(path, line, name)}: the name stands there twice; rename one of them.")
        position[name] = j
    special = [name for name in (wanted.id, wanted.label_list) if name is not None]
    if wanted.all_labels:
        asked: list[str] = [name for name in names if name not in wanted.drop and name not in special]
    else:
        asked = list(wanted.labels or ())
    for name in [*asked, *wanted.drop, *special, *wanted.texts]:
        if name not in position:
            raise _no_column(path, line, name, names, wanted.labels)
    labels, dropped = set(asked), {*wanted.drop}
    if len(labels) < len(asked):
        twice = Counter(asked).most_common(1)[0][0]
        raise DataFileError(f"{place(path)}: the label {shorten(twice)!r} is asked for twice; name it once.")
    if labels & dropped:
        raise DataFileError(f"{place(path)}: {min(labels & dropped)!r} is a label and dropped; choose one.")
    for name in special:
        if name in labels or name in dropped or special.count(name) > 1:
            raise DataFileError(f"{place(path)}: {shorten(name)!r} names the rows or lists labels and is something else"
                                " too; choose one.")  # fmt: skip
    for name in wanted.texts:
        if name in labels or name in dropped or name in special:
            raise DataFileError(f"{place(path)}: {shorten(name)!r} holds categories and is something else too; choose"
                                " one.")  # fmt: skip
    words = {position[name] for name in wanted.texts}
    others = [j for j, name in enumerate(names) if name not in labels and name not in dropped and name not in special]
    kept = None if wanted.features is None else set(wanted.features)
    features = others if kept is None else [j for j in others if names[j] in kept]
    chosen = [position[name] for name in names if name in labels]
    return Split(
        [names[j] for j in features if j not in words],
        [j for j in features if j not in words],
        [names[j] for j in chosen],
        chosen,
        None if wanted.id is None else position[wanted.id],
        None if wanted.label_list is None else position[wanted.label_list],
        [] if kept is None else [names[j] for j in others if names[j] not in kept],
        [j for j in features if j in words],
        [names[j] for j in features if j in words],
        wanted.gaps,
    )


def _no_column(
    path: Path_, line: int | None, name: str, names: Sequence[str], asks: LabelNames | None
) -> DataFileError:
    known = ", ".join(repr(shorten(n, 30)) for n in names[:3]) + (", ..." if len(names) > 3 else "")
    origin = f"{asks[name]}: " if isinstance(asks, Mapping) and name in asks else ""
    what = f"{origin}{place(path, line)}: there is no column {shorten(name)!r} among its {len(names)} ({known})"
    return DataFileError(what + (nearest(name, names) or "; check the spelling."))
