"""Labels of a table: 0, 1, yes and no in columns of their own, lists of labels in one cell, votes, and the mask."""

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.cells import about_crosses, plain_labels
from .._checks.label_sets import indicator
from .._checks.words import BLANKS, CROSS, LABEL_WORDS, MISSING, fold, label_words, two_languages
from .._errors import shorten
from ._columns import Table, Texts
from ._files import DataFileError, Form, Lines, Path_, check_size, library_errors, place
from ._label_cuts import LabelCut
from ._label_lists import Lists
from ._problems import Problem
from ._roles import Roles, Split

LEAST_LETTERS = 5  # of a word in which a label may differ by a letter from another one
MOST_PAIRS = 3  # of such labels that are named


def label_columns(table: Table, split: Split, problems: list[Problem], *, all_known: bool = False) -> NDArray[np.int64]:
    """Return columns of labels as an array (n, C) of 0, 1, and -1 where a label is not known.

    Cells that hold no label are added to `problems`; with `all_known` missing ones too.
    """
    names = split.labels
    columns = [table.columns[name].texts for name in names]
    labels = np.empty((table.n_rows, len(names)), np.int64)
    for c, (name, cells) in enumerate(zip(names, columns, strict=True)):
        values = _label_values(name, cells.folded, split)
        problems += _label_problems(name, cells, values, all_known)
        labels[:, c] = np.array([-1 if label is None else label for label in values] or [0])[cells.codes]
    crosses = labels == CROSS
    if note := about_crosses(crosses):
        table.notes.append(f"{note} (--mask FILE names rows that are unlabelled)")
    if split.empty_is == "no":
        table.notes += about_empty_rows(_n_empty_rows(columns, table.n_rows), table.n_rows)
    labels, mixed = plain_labels(labels)
    if mixed is not None and not problems:
        where = f", {table.unit} {table.lines[crosses[:, mixed].argmax()]}{place(column=names[mixed])}"
        raise DataFileError(f"{where}: crosses (x) are mixed with 0, 1, yes or no; use one form.")
    return labels


def _label_values(name: str, words: Sequence[str], split: Split) -> list[int | None]:
    """Return the label that each word of a column means, None for another text.

    A missing one means -1, or 0 if an empty cell says so.
    """
    labels = label_words(words, split.yes, split.no) or label_words({*words} - MISSING, split.yes, split.no)
    if labels is None and (languages := two_languages(words)):
        raise DataFileError(f"{place(None, name)}: it holds {languages}.")
    meanings = labels or LABEL_WORDS
    if split.empty_is == "no":
        return [0 if word in MISSING else meanings.get(word) for word in words]
    return [meanings.get(word, -1 if word in MISSING else None) for word in words]


def _n_empty_rows(columns: Sequence[Texts], n_rows: int) -> int:
    """Return in how many rows the cells of all columns are empty, or a word that means a missing value."""
    is_empty = np.ones(n_rows, bool)
    for cells in columns:
        is_empty &= np.array([word in MISSING for word in cells.folded], bool)[cells.codes]
    return int(is_empty.sum())


def _label_problems(name: str, cells: Texts, values: Sequence[int | None], all_known: bool) -> Iterator[Problem]:
    """Yield the cells of a column that hold no label; with `all_known` those whose label is missing too."""
    for code, (text, label) in enumerate(zip(cells.different, values, strict=True)):
        why = "the label is missing; fill it in or drop the row" if label == -1 and all_known else ""
        if label is None:
            why = f"{shorten(text)!r} is not a label; write 0, 1 or nothing (--label-list is for lists of labels)"
        if why:
            yield Problem(name, np.flatnonzero(cells.codes == code), text, True, why)


def about_empty_rows(n_empty: int, n_rows: int) -> list[str]:
    """Return a note on rows without any label that are known to have none because an empty cell says so."""
    if not n_empty:
        return []
    rows = f"so {n_empty} of {n_rows} rows have none"
    return [f"empty cells mean that a label does not apply, {rows} (--mask FILE names rows that are unlabelled)"]


# ---------------------------------------------------------------- labels that are given as lists


def similar_names(counts: Mapping[str, int]) -> list[str]:
    """Return a note if names of labels probably are spellings of one name.

    They differ in case, accents, the order of their words, or one letter of a word of five or more letters. Names with
    digits may differ in nothing else.

    Examples
    --------
    >>> similar_names({"grippe A": 9, "grippe B": 7, "A, Grippé": 1})[0].partition(" differ")[0]
    "the labels 'grippe A' (9) and 'A, Grippé' (1)"
    """
    known: dict[str, str] = {}
    pairs = []
    for name in sorted(counts, key=lambda name: (-counts[name], name)):
        spellings = _spelling_keys(name)
        if (twin := next((known[spelling] for spelling in spellings if spelling in known), None)) is not None:
            pairs.append(f"{shorten(twin)!r} ({counts[twin]}) and {shorten(name)!r} ({counts[name]})")
        known = dict.fromkeys(spellings, name) | known
    if not pairs:
        return []
    shown = ", ".join(pairs[:MOST_PAIRS]) + (f" and {len(pairs) - MOST_PAIRS} more pairs" * (len(pairs) > MOST_PAIRS))
    how = "differ only in case, accents, a letter or the order of words"
    return [f"the labels {shown} {how}; if they mean the same, make spellings equal first"]


def _spelling_keys(name: str) -> list[str]:
    """Return keys of a name of a label, of which two spellings of it share one.

    The first is the name without case, accents and the order of its words; the others lack one letter more.
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", fold(name)) if not unicodedata.combining(c))
    key = " ".join(sorted(re.findall(r"\w+", plain))) or plain
    long_words = [] if re.search(r"\d", key) else re.finditer(rf"\w{{{LEAST_LETTERS},}}", key)
    places = [place for word in long_words for place in range(*word.span())]
    return [key, *(key[:place] + key[place + 1 :] for place in places)]


def listed_labels(
    path: Path_, columns: Sequence[Texts], lists: Lists, form: Form, roles: Roles
) -> tuple[list[NDArray[np.int64]], list[str], list[str]]:
    """Return for each column of lists its labels (n, C), the names of the labels in alphabetical order, and notes.

    An empty cell is a row of -1, or of 0 if it says so; the word for no label is a row of 0.
    """
    tags = [[lists.tags(text) for text in column.different] for column in columns]
    n_codes = len(_names_of(tags, lists.no_label))
    tags = [_cut_tags(cells, roles.cut, lists.no_label) for cells in tags]
    names = sorted(_names_of(tags, lists.no_label))
    notes = roles.cut.note(n_codes, len(names))
    if not names:
        raise DataFileError(": its column of lists contains no label; give another column.")
    if len(names) > form.max_features:
        raise DataFileError(f": {len(names)} labels are more than max_features; check the separator.")
    check_table(path, len(columns[0]) * len(columns), len(names), form)
    targets = []
    for column, cells in zip(columns, tags, strict=True):
        _check_no_label(column, cells, lists.no_label)
        target = indicator([cell - {lists.no_label} for cell in cells], names)[column.codes]
        is_empty = np.array([not cell for cell in cells], bool)[column.codes]
        if roles.empty_is == "no":
            notes += about_empty_rows(int(is_empty.sum()), len(column))
        else:
            target[is_empty] = -1
        targets.append(target)
    return targets, names, notes


def _cut_tags(cells: list[set[str]], cut: LabelCut, no_label: str | None) -> list[set[str]]:
    """Return the labels of cells as they are cut; the word for no label stays whole."""
    if cut.is_whole:
        return cells
    return [{tag if tag == no_label else cut(tag) for tag in cell} for cell in cells]


def _names_of(tags: Iterable[Iterable[set[str]]], no_label: str | None) -> set[str]:
    """Return the names of all labels in the cells of some columns."""
    names: set[Any] = set().union(*(cell for column in tags for cell in column))
    return names - {no_label}


def _check_no_label(column: Texts, cells: Iterable[set[str]], no_label: str | None) -> None:
    """Raise if a cell has labels beside the word for no label."""
    for code, cell in enumerate(cells):
        if no_label in cell and len(cell) > 1:
            pair = f"{shorten(str(no_label))!r} (--no-label) and {shorten(min(cell - {no_label}))!r}"
            row = int(np.argmax(column.codes == code))
            raise DataFileError(f"{place(row=row)}: it has both {pair}; correct the cell or the option.")


def check_table(path: Path_, n_rows: int, n_labels: int, form: Form) -> None:
    """Raise if so many labels fill more bytes than allowed."""
    check_size(path, n_rows * n_labels * 8, f"has {n_rows} rows and {n_labels} labels, a table of", form.max_bytes)


def votes_of(labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the share of annotators who gave each label, and what most of them say; -1 where that is not known.

    Parameters
    ----------
    labels : ndarray of shape (n_annotators, n_samples, n_labels)
        1, 0, and -1 where an annotator did not vote.

    Returns
    -------
    votes, target : ndarray of shape (n_samples, n_labels)

    Examples
    --------
    >>> votes_of(np.array([[[1, 0]], [[1, -1]], [[0, 1]]]))
    (array([[0.66666667, 0.5       ]]), array([[ 1, -1]]))
    """
    n_votes = (labels != -1).sum(axis=0)
    votes = np.where(n_votes, (labels == 1).sum(axis=0) / np.maximum(n_votes, 1), -1.0)
    return votes, np.where((n_votes == 0) | (votes == 0.5), -1, (votes > 0.5).astype(np.int64))


# ---------------------------------------------------------------- the mask


def apply_mask(table: Any, mask: Any) -> None:
    """Make the rows outside the mask unlabelled, in place."""
    n_rows = table.data.shape[0]
    if table.target is None:
        raise DataFileError(": a mask is given but no labels; name the label columns or file.")
    is_file = isinstance(mask, (str, os.PathLike))
    source = os.fspath(mask) if is_file else "mask"
    keep = _read_mask(mask) if is_file else np.asarray(mask)
    if keep.shape != (n_rows,):
        raise DataFileError(f"{source}: shape {keep.shape}, but the table has {n_rows} rows; give one per row.")
    if not np.isin(keep, (0, 1)).all():
        raise DataFileError(f"{source}: a value is neither 0 nor 1; write 1 for rows whose labels are used.")
    table.target[keep == 0] = -1
    if table.votes is not None:
        table.votes[keep == 0] = -1


def _read_mask(path: Path_) -> NDArray[np.bool_]:
    """Read one 0 or 1 per line."""
    values = []
    with library_errors(path), Lines(path) as lines:
        for text in lines:
            cell = text.strip(BLANKS).lower()
            if cell in ("0", "1", "true", "false"):
                values.append(cell in ("1", "true"))
            elif lines.number > 1:
                raise lines.error(f"{shorten(text)!r} is neither 0 nor 1; write one of them on each line")
    return np.array(values, dtype=bool)
