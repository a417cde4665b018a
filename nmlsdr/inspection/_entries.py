"""The entries of a review page: annotations to check, their nearest rows, and what speaks for and against each label.

`describe_entries` collects what the page shows as plain data.
"""

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import VERDICTS
from ..graph import kneighbors
from ._page_table import PageTable
from ._reasons import list_reasons, name_features, word_shares
from ._review import Suspects
from ._strips import Strip, columns_of_page, draw_strips, features_of_columns, marked_columns, telling_columns
from ._verdicts import FORMULA, three_digits

Facts = dict[str, Any]

N_EACH = 3  # nearest rows with the label, and without it
N_NEAREST = 5  # nearest labelled rows that are counted
N_SEARCHED = 30  # nearest labelled rows, among which most entries have enough of both kinds
LONGEST_CELL = 10_000  # characters
LONG_TEXT = 40  # mean characters of the cells of a column that is shown as a text, in lines of its own
SIDES = {"having": 1, "lacking": 0}  # attributes of an entry with nearest rows, and the label of these rows


def nearest_rows(
    Z: Any, rows: NDArray[np.intp], among: NDArray[np.bool_], k: int, **near: Any
) -> list[list[tuple[int, float]]]:
    """Numbers and distances of the k nearest other rows of those in a mask; of equal distances the first.

    Parameters
    ----------
    Z : array of shape (n_samples, d)
    rows : ndarray of row numbers
    among : ndarray of shape (n_samples,), bool
        Rows to search.
    k : int
    **near
        Metric and threads, as for `kneighbors`.

    Returns
    -------
    list of list of (int, float)
        For each of the rows as many as there are, at most k.
    """
    searched = np.flatnonzero(among)
    if len(searched) == 0 or len(rows) == 0:
        return [[] for _ in rows]
    distances, places = kneighbors(Z[searched], min(k + 1, len(searched)), queries=Z[rows], **near)
    candidates = zip(rows.tolist(), searched[places].tolist(), distances.tolist(), strict=True)
    return [[(j, d) for j, d in zip(row, ds, strict=True) if j != i][:k] for i, row, ds in candidates]


@dataclasses.dataclass
class Entry:
    """An annotation to check, as review.js reads it.

    Attributes
    ----------
    row, label, given, score, odds, audit
        As in `Suspects`, but score and odds have three digits; of a label that is not known, given is -1.
    having, lacking : list of [int, float]
        Numbers and distances of the nearest rows that were given the label, and of those that were not.
    near : list of int
        The label of the nearest labelled rows: 1, 0, or -1 where it is not known.
    at : list
        Where the row stands in each column that tells something about the label: from 0 to 99 between the ends of its
        picture; the percentages of the rows with the label and without it that are equal; None for a missing cell.
    pull : list of int
        Which of these columns, from 1, have the largest parts in the regression, with the sign of the part.
    why : list of [str, float] or [str, float, float, float]
        The columns and words with the largest parts in the regression, and their parts; of words the percentages of the
        rows with the label and without it that have the word.
    """

    row: int
    label: int
    given: int
    score: float
    odds: float
    audit: bool
    having: list[Any] = dataclasses.field(default_factory=list)
    lacking: list[Any] = dataclasses.field(default_factory=list)
    near: list[int] = dataclasses.field(default_factory=list)
    at: list[Any] = dataclasses.field(default_factory=list)
    pull: list[int] = dataclasses.field(default_factory=list)
    why: list[Any] = dataclasses.field(default_factory=list)


def describe_entries(method: Any, X: Any, suspects: Suspects, table: PageTable, *, kind: str, **near: Any) -> Facts:
    """Return what the script shows, as plain data.

    Parameters
    ----------
    method : estimator
        With ``coef_`` and ``mean_`` columns are put in order; with ``embedding_`` neighbours are searched there.
    X : array of shape (n_samples, n_features)
        The rows that the method was fitted on.
    suspects : Suspects
        The entries.
    table : PageTable
    kind : str
        Which annotations they are, as in `rank_suspects`.
    **near
        Metric and threads, as for `kneighbors`.
    """
    target = np.where(table.verdicts >= 0, table.verdicts, table.labels)
    entries = _list_entries(suspects)
    _add_neighbors(entries, getattr(method, "embedding_", X), target, **near)
    columns, strips = _add_columns(entries, method, X, target, table)
    earlier = _earlier_verdicts(table)
    numbers = _numbers_of_rows(entries, earlier)
    facts = _describe_rows(table, target, numbers)
    return (
        facts
        | {
            "digest": _digest(table, facts, entries),
            "file": re.sub(r"[^\w.-]+", "-", f"{PurePath(table.source).stem}-verdicts.csv"),
            "formula": FORMULA.pattern,
            "words": dict(VERDICTS),
            "labels": list(table.label_names),
            "kind": kind,
            "entries": [vars(entry) for entry in entries],
            "doubtful": int((target != -1).sum()) // 10,  # of this list those that make neighbours doubtful
            "columns": list(columns),
            "told": strips,
        }
        | _describe_cells(table, columns, numbers)
        | {"earlier": earlier, "copies": {}, "always": [], "pictures": None, "linked": False}
    )


def _list_entries(suspects: Suspects) -> list[Entry]:
    """The annotations as entries, without what is told of their rows."""
    scores = (three_digits(values) for values in (suspects.score, suspects.odds))
    columns = (suspects.row, suspects.label, suspects.given, *scores, suspects.audit)
    return [Entry(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]


def _earlier_verdicts(table: PageTable) -> list[list[int]]:
    """Row, label, given label and verdict of each entry that has a verdict."""
    decided = np.argwhere(table.verdicts != -1).tolist()
    return [[i, c, int(table.labels[i, c]), int(table.verdicts[i, c])] for i, c in decided]


def _digest(table: PageTable, facts: Facts, entries: Sequence[Entry]) -> str:
    """A number of the page by which a browser knows its list again: of the rows and of what is listed."""
    listed = [(entry.row, table.label_names[entry.label], entry.given) for entry in entries]
    content = [table.source, *facts["ids"], *facts["checks"], *listed]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:20]


def _describe_cells(table: PageTable, columns: Sequence[str], numbers: NDArray[np.intp]) -> Facts:
    """The cells of these rows and columns, and which columns are texts to read."""
    cells = table.cells(numbers, columns) if columns else []
    return {
        "cells": [[text[:LONGEST_CELL] for text in texts] for texts in cells],
        "texts": [j for j, texts in enumerate(cells) if columns[j] in table.texts or _are_long(texts)],
    }


def _numbers_of_rows(entries: Sequence[Entry], earlier: Sequence[Sequence[int]]) -> NDArray[np.intp]:
    """The numbers of all rows that a page shows, in their order."""
    rows = {i for i, *_ in earlier}
    for entry in entries:
        rows |= {entry.row, *(j for j, _ in entry.having), *(j for j, _ in entry.lacking)}
    return np.array(sorted(rows), dtype=np.intp)


def _describe_rows(table: PageTable, target: NDArray[Any], numbers: NDArray[np.intp]) -> Facts:
    """What a page knows of its rows: ids, checks, labels."""
    key, ids = table.named[0] if len(table.named) > 2 else ("", np.full(len(target), None))
    return {
        "key": key,
        "unique": len({*ids}) == len(ids),
        "rows": numbers.tolist(),
        "ids": ids[numbers].tolist(),
        "checks": table.named[-1][1][numbers].tolist(),
        "has": [np.flatnonzero(row).tolist() for row in target[numbers] == 1],
        "unknown": [np.flatnonzero(row).tolist() for row in target[numbers] == -1],
    }


def renumber_rows(facts: Facts, numbers: NDArray[np.intp], n_copies: NDArray[np.intp]) -> Facts:
    """Return the facts of a table in which each row stands once with the numbers of the rows in the file.

    Parameters
    ----------
    facts : dict
        As `describe_entries` returns them.
    numbers, n_copies : ndarray (n,)
        The number of each row in the file, and how often it stands there.
    """
    rows = np.array(facts["rows"], dtype=np.intp)

    def renumber(pairs: Sequence[Any]) -> list[Any]:
        return [[int(numbers[row]), *distances] for row, *distances in pairs]

    entries = [
        entry | {"row": int(numbers[entry["row"]]), **{side: renumber(entry[side]) for side in ("having", "lacking")}}
        for entry in facts["entries"]
    ]
    repeated = {str(numbers[row]): int(n_copies[row]) for row in rows if n_copies[row] > 1}
    return facts | {
        "rows": numbers[rows].tolist(),
        "entries": entries,
        "earlier": renumber(facts["earlier"]),
        "copies": repeated,
    }


def _are_long(texts: Sequence[str]) -> bool:
    """Whether the cells of a column are texts to read, and no words or numbers."""
    lengths = [len(text) for text in texts if text]
    return bool(lengths) and sum(lengths) >= LONG_TEXT * len(lengths)


def _add_neighbors(entries: Sequence[Entry], Z: Any, target: NDArray[Any], **near: Any) -> None:
    """Add the nearest rows with the label of each entry and without it, and the labels of the nearest of all."""
    _add_nearest_labeled(entries, Z, target, **near)
    for c, group in _by_label(entries).items():
        for side, value in SIDES.items():
            incomplete = [entry for entry in group if len(getattr(entry, side)) < N_EACH]
            for entry, pairs in _with_nearest(incomplete, Z, target[:, c] == value, N_EACH, **near):
                setattr(entry, side, pairs)
    for entry in entries:
        for side in SIDES:
            setattr(entry, side, [[j, float(f"{d:.2g}")] for j, d in getattr(entry, side)[:N_EACH]])


def _add_nearest_labeled(entries: Sequence[Entry], Z: Any, target: NDArray[Any], **near: Any) -> None:
    """Add the nearest labelled rows to the sides of each entry, and the labels of the nearest of them."""
    for entry, pairs in _with_nearest(entries, Z, (target != -1).any(axis=1), N_SEARCHED, **near):
        values = [int(target[j, entry.label]) for j, _ in pairs]
        entry.near = values[:N_NEAREST]
        for side, side_value in SIDES.items():
            setattr(entry, side, [pair for pair, value in zip(pairs, values, strict=True) if value == side_value])


def _with_nearest(
    entries: Sequence[Entry], Z: Any, among: NDArray[np.bool_], k: int, **near: Any
) -> Iterable[tuple[Entry, Any]]:
    """Each entry with the k nearest of the rows in a mask."""
    rows = np.array([entry.row for entry in entries], dtype=np.intp)
    return zip(entries, nearest_rows(Z, rows, among, k, **near), strict=True)


def _by_label(entries: Sequence[Entry]) -> dict[int, list[Entry]]:
    """The entries of each label."""
    groups: dict[int, list[Entry]] = {c: [] for c in sorted({entry.label for entry in entries})}
    for entry in entries:
        groups[entry.label].append(entry)
    return groups


def _add_columns(
    entries: Sequence[Entry], method: Any, X: Any, target: NDArray[Any], table: PageTable
) -> tuple[Sequence[str], Facts]:
    """Add what speaks for and against the label of each entry; return the columns of the page, and their strips."""
    feature_columns = table.feature_columns
    coef = getattr(method, "coef_", None)
    if coef is None or len(feature_columns) != X.shape[1]:
        return columns_of_page(table.columns, feature_columns, None), {}
    columns = columns_of_page(table.columns, feature_columns, coef)
    groups = _by_label(entries)
    strips = _draw_strips(groups, columns, method, X, target, table)
    for c, group in groups.items():
        for i, entry in enumerate(group):
            entry.at = [strip.places[i] for strip in strips[c]]
            entry.pull = marked_columns([strip.parts[i] for strip in strips[c]], entry.given)
    if columns:
        _add_reasons(entries, method, X, target, table)
    return columns, {str(c): [strip.line for strip in strips[c]] for c in groups}


def _draw_strips(
    groups: Mapping[int, Sequence[Entry]],
    columns: Sequence[str],
    method: Any,
    X: Any,
    target: NDArray[Any],
    table: PageTable,
) -> dict[int, list[Strip]]:
    """The strips of each label, of the columns that tell something about it and have a picture."""
    features = features_of_columns(columns, table.feature_columns)
    pictured = {name: at for name, at in features.items() if name not in table.words}
    telling = telling_columns(pictured, X, target, groups)
    rows = {c: np.array([entry.row for entry in group]) for c, group in groups.items()}
    return draw_strips(rows, telling, features, method, X, target, table)


def _add_reasons(entries: Sequence[Entry], method: Any, X: Any, target: NDArray[Any], table: PageTable) -> None:
    """Add the words and columns of each entry that have the largest parts in the regression."""
    rows = np.array([entry.row for entry in entries], dtype=np.intp)
    labels = np.array([entry.label for entry in entries], dtype=np.intp)
    reasons = list_reasons(method, X, rows, labels, name_features(table.feature_columns, table.plan))
    words = {
        (entry.label, r.feature) for entry, entry_reasons in zip(entries, reasons, strict=True) for r in entry_reasons
    }
    shares = word_shares(X, target, {pair for pair in words if pair[1] >= 0})
    for entry, entry_reasons in zip(entries, reasons, strict=True):
        entry.why = [[r.name, float(f"{r.part:.2g}"), *shares.get((entry.label, r.feature), ())] for r in entry_reasons]
