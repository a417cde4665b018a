"""The page on which annotations are checked: one entry at a time, its row beside the nearest rows, one key a verdict.

`describe_entries` collects what is shown as plain data.  The script of the page shows them, puts columns in order, and
writes the verdicts.  `render_part` makes the part of a page that both the review page and the report have.
"""

import base64
import dataclasses
import functools
import hashlib
import json
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_count
from .._checks.cells import is_null
from .._checks.words import VERDICTS
from .._errors import InputError
from .._output import write_file
from ..graph import kneighbors
from ._html import need_jinja, open_template, read_asset, readable
from ._order import AUDIT
from ._reasons import list_reasons, name_features, word_shares
from ._review import Suspects, last_with, rank_suspects, step_with_scores
from ._rows import check_rows
from ._strips import columns_of_page, draw_strips, features_of_columns, marked_columns, missing_in, telling_columns
from ._verdicts import FORMULA, Columns, labels_to_review, three_digits

Facts = dict[str, Any]

TOP = 500  # entries of the list
N_EACH = 3  # nearest rows with the label, and without it
N_NEAREST = 5  # nearest labelled rows that are counted
N_SEARCHED = 30  # nearest labelled rows, among which most entries have enough of both kinds
LONGEST_CELL = 10_000  # characters
LONG_TEXT = 40  # mean characters of the cells of a column that is shown as a text, in lines of its own


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown:
    """The table as the page shows it, and its labels; n rows, C labels.

    Attributes
    ----------
    source : str
        Name of the data.
    label_names : sequence of str
    verdicts : ndarray (n, C)
        Earlier verdicts, -1 where there is none; the page adds them to the file that it writes.
    labels : ndarray (n, C)
        The labels before these verdicts: 1, 0, and -1 where they are unknown.
    named : list of (str, ndarray (n,))
        The columns that name the rows in a list: the id, if there is one, the number, and the check.
    columns : sequence of str
        Names of the columns whose cells are shown.
    read : mapping of str to column, or array (n, n_columns)
        The cells: columns as `nmlsdr.tables` reads them, or an array or a sparse matrix.
    names : sequence of str
        Of the columns of an array.
    plan : Plan or None
        What was done with each column; None: each column of the array is a feature.
    """

    source: str
    label_names: Sequence[str]
    verdicts: NDArray[np.int64]
    labels: NDArray[Any]
    named: Columns
    columns: Sequence[str]
    read: Any
    names: Sequence[str]
    plan: Any

    @property
    def feature_columns(self) -> Sequence[str]:
        """The column of each feature."""
        return self.names if self.plan is None else [c.name for c in self.plan.used for _ in c.feature_names]

    def cells(self, rows: Any, columns: Sequence[str]) -> list[list[str]]:
        """The texts of some rows in each of these columns."""
        if isinstance(self.read, Mapping):
            return [[self.read[name].text(i) for i in rows] for name in columns]
        return [texts_of(column) for column in self._part(rows, columns).T]

    def absent(self, name: str) -> NDArray[np.bool_]:
        """Whether the cell of each row is missing; where an empty cell of a column means no, none is."""
        cells = self.read[name] if isinstance(self.read, Mapping) else self._part(slice(None), [name])[:, 0]
        return missing_in(cells, self._missing.get(name, ("",)))

    def has_rare_values(self, name: str) -> bool:
        """Whether the last feature of a column means that its value is rare."""
        return self.plan is not None and any(c.name == name and c.has_other for c in self.plan.used)

    @property
    def words(self) -> set[str]:
        """The columns whose features are words, or the numbers of vectors: none of these has a picture."""
        return set() if self.plan is None else {c.name for c in self.plan.used if c.kind in ("words", "vector")}

    @property
    def texts(self) -> set[str]:
        """The columns that are texts, whether they are used or not."""
        return set() if self.plan is None else {c.name for c in self.plan.columns if c.kind in ("words", "text")}

    @functools.cached_property
    def _missing(self) -> dict[str, Collection[str]]:
        """For each column that becomes features, the folded texts that mean a missing cell."""
        used = () if self.plan is None else self.plan.used
        return {c.name: () if "" in c.levels else ("", *self.plan.missing) for c in used}

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def _part(self, rows: Any, columns: Sequence[str]) -> NDArray[Any]:
        cells = self.read[rows][:, [self._places[name] for name in columns]]
        return np.asarray(cells.toarray() if sparse.issparse(cells) else cells)


def describe_entries(method: Any, X: Any, suspects: Suspects, table: Shown, *, kind: str, **near: Any) -> Facts:
    """Return what the script shows, as plain data.

    Parameters
    ----------
    method : estimator
        With ``coef_`` and ``mean_`` columns are put in order; with ``embedding_`` neighbours are searched there.
    X : array of shape (n_samples, n_features)
        The rows that the method was fitted on.
    suspects : Suspects
        The entries.
    table : Shown
    kind : str
        Which annotations they are, as in `rank_suspects`.
    **near
        Metric and threads, as for `kneighbors`.
    """
    target = np.where(table.verdicts >= 0, table.verdicts, table.labels)
    names = table.label_names
    scores = (three_digits(values) for values in (suspects.score, suspects.odds))
    columns = (suspects.row, suspects.label, suspects.given, *scores, suspects.audit)
    entries = [Entry(*values) for values in zip(*(a.tolist() for a in columns), strict=True)]
    _add_neighbors(entries, getattr(method, "embedding_", X), target, **near)
    shown, strips = _add_columns(entries, method, X, target, table)
    earlier = [
        [i, c, int(table.labels[i, c]), int(table.verdicts[i, c])]
        for i, c in np.argwhere(table.verdicts != -1).tolist()
    ]
    numbers = _numbers_of_rows(entries, earlier)
    cells = table.cells(numbers, shown) if shown else []
    facts = _describe_rows(table, target, numbers)
    listed = [(entry.row, names[entry.label], entry.given) for entry in entries]
    content = [table.source, *facts["ids"], *facts["checks"], *listed]
    return (
        facts
        | {
            "digest": hashlib.sha256(repr(content).encode()).hexdigest()[:20],
            "file": re.sub(r"[^\w.-]+", "-", f"{PurePath(table.source).stem}-verdicts.csv"),
            "formula": FORMULA.pattern,
            "words": dict(VERDICTS),
            "labels": list(names),
            "kind": kind,
            "entries": [vars(entry) for entry in entries],
            "doubtful": int((target != -1).sum()) // 10,  # of this list those that make neighbours doubtful
            "columns": list(shown),
            "told": strips,
            "cells": [[text[:LONGEST_CELL] for text in texts] for texts in cells],
            "texts": [j for j, texts in enumerate(cells) if shown[j] in table.texts or _are_long(texts)],
            "earlier": earlier,
            "copies": {},
            "always": [],
            "pictures": None,
            "linked": False,
        }
    )


def _numbers_of_rows(entries: Sequence[Entry], earlier: Sequence[Sequence[int]]) -> NDArray[np.intp]:
    """The numbers of all rows that a page shows, in their order."""
    rows = {i for i, *_ in earlier}
    for entry in entries:
        rows |= {entry.row, *(j for j, _ in entry.having), *(j for j, _ in entry.lacking)}
    return np.array(sorted(rows), dtype=np.intp)


def _describe_rows(table: Shown, target: NDArray[Any], numbers: NDArray[np.intp]) -> Facts:
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

    def nearest(group_entries: Sequence[Entry], among: NDArray[np.bool_], k: int) -> Iterator[tuple[Entry, Any]]:
        rows = np.array([entry.row for entry in group_entries], dtype=np.intp)
        return zip(group_entries, nearest_rows(Z, rows, among, k, **near), strict=True)

    for entry, pairs in nearest(entries, (target != -1).any(axis=1), N_SEARCHED):
        values = [int(target[j, entry.label]) for j, _ in pairs]
        entry.near = values[:N_NEAREST]
        entry.having = [pair for pair, value in zip(pairs, values, strict=True) if value == 1]
        entry.lacking = [pair for pair, value in zip(pairs, values, strict=True) if value == 0]
    for c, group in _by_label(entries).items():
        for field, value in (("having", 1), ("lacking", 0)):
            short = [entry for entry in group if len(getattr(entry, field)) < N_EACH]
            for entry, pairs in nearest(short, target[:, c] == value, N_EACH):
                setattr(entry, field, pairs)
            for entry in group:
                setattr(entry, field, [[j, float(f"{d:.2g}")] for j, d in getattr(entry, field)[:N_EACH]])


def _by_label(entries: Sequence[Entry]) -> dict[int, list[Entry]]:
    """The entries of each label."""
    groups: dict[int, list[Entry]] = {c: [] for c in sorted({entry.label for entry in entries})}
    for entry in entries:
        groups[entry.label].append(entry)
    return groups


def _add_columns(
    entries: Sequence[Entry], method: Any, X: Any, target: NDArray[Any], table: Shown
) -> tuple[Sequence[str], Facts]:
    """Add what speaks for and against the label of each entry; return the columns of the page, and their strips."""
    feature_columns = table.feature_columns
    coef = getattr(method, "coef_", None)
    if coef is None or len(feature_columns) != X.shape[1]:
        return columns_of_page(table.columns, feature_columns, None), {}
    columns = columns_of_page(table.columns, feature_columns, coef)
    groups = _by_label(entries)
    features = features_of_columns(columns, feature_columns)
    pictured = {name: at for name, at in features.items() if name not in table.words}
    telling = telling_columns(pictured, X, target, groups)
    rows = {c: np.array([entry.row for entry in group]) for c, group in groups.items()}
    strips = draw_strips(rows, telling, features, method, X, target, table)
    for c, group in groups.items():
        for i, entry in enumerate(group):
            entry.at = [strip.places[i] for strip in strips[c]]
            entry.pull = marked_columns([strip.parts[i] for strip in strips[c]], entry.given)
    if columns:
        _add_reasons(entries, method, X, target, table)
    return columns, {str(c): [strip.line for strip in strips[c]] for c in groups}


def _add_reasons(entries: Sequence[Entry], method: Any, X: Any, target: NDArray[Any], table: Shown) -> None:
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


def texts_of(column: NDArray[Any]) -> list[str]:
    """The cells of an array as texts; numbers have at most six digits."""
    are_numbers = ((cell, isinstance(cell, float) and cell == cell) for cell in column.tolist())
    return [f"{cell:.6g}" if number else "" if is_null(cell) else str(cell) for cell, number in are_numbers]


# ---------------------------------------------------------------- pages


def script_and_style() -> tuple[str, str]:
    """The script and the style of the part."""
    parts, script, style = (read_asset("nmlsdr.inspection", f"review{end}") for end in ("_parts.js", ".js", ".css"))
    return parts + script, style


def render_part(facts: Facts) -> str:
    """Return the HTML of the lists; the data are packed, because the cells of many rows are long."""
    packed = base64.b64encode(zlib.compress(json.dumps(facts, separators=(",", ":")).encode(), 5)).decode()
    return str(open_template("nmlsdr.inspection", "review_part.html.jinja").render(packed=packed))


def render_page(facts: Facts, *, source: str, command: str = "") -> bytes:
    """Return the page on which the entries are checked; `command` are the options of the commands to run next."""
    script, style = script_and_style()
    page = open_template("nmlsdr.inspection", "review.html.jinja").render(
        file=readable(facts["file"]),
        source=readable(source),
        command=readable(command, 100_000),  # complete, or it cannot be copied
        columns=facts["columns"],
        pictures=facts["pictures"],  # both are counted and not shown
        n_rows=len(facts["rows"]),
        part=render_part(facts),
        script=script,
        style=style,
    )
    return f"{page}\n".encode()


def write_review(
    path: str | os.PathLike[str],
    estimator: Any,
    X: Any,
    y: Any,
    *,
    table: Any = None,
    ids: Sequence[Any] | None = None,
    kind: str = "all",
    top: int = TOP,
    verdicts: NDArray[np.int64] | None = None,
    audit: int = AUDIT,
    title: str = "table",
) -> None:
    """Write the page on which a person checks annotations: a single file that a browser opens without a network.

    Parameters
    ----------
    path : path
        The page to write, such as review.html.
    estimator : estimator or Pipeline
        Estimator fitted on X and y. It, or a step of the pipeline, has ``flip_scores_``.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows given to `fit`.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        The labels given to `fit`, without the verdicts. The columns of a data frame name the labels.
    table : DataFrame, array-like or sparse matrix of shape (n_samples, n_columns), default=None
        What the page shows of a row; without columns nothing but ids and labels. None: X.
    ids : sequence of length n_samples, default=None
        Names of the rows. None: rows have their number only, from 0.
    kind : {"all", "forgotten", "wrong"}, default="all"
        Which annotations are listed; see `rank_suspects`.
    top : int, default=500
        Number of annotations.
    verdicts : ndarray of shape (n_samples, n_labels), default=None
        Earlier verdicts, as `read_verdicts` returns them. These annotations are not listed; the page adds the earlier
        verdicts to the file that it writes.
    audit : int, default=5
        Number of annotations of each label that the page asks first; see `rank_suspects`.
    title : str, default="table"
        Name of the data.

    Raises
    ------
    ValueError
        If the estimator has no ``flip_scores_``, or if lengths differ.
    ImportError
        Without jinja2, which the extra nmlsdr[cli] installs.

    See Also
    --------
    read_verdicts : Read the file that the page writes.
    rank_suspects : The list as arrays.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from nmlsdr import ResidualPropagation
    >>> X = [[0.0], [0.1], [0.2], [0.3], [5.0], [5.1], [5.2]]
    >>> y = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [-1, -1]]
    >>> model = ResidualPropagation(n_neighbors=2).fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> page = pathlib.Path(folder.name, "review.html")
    >>> write_review(page, model, X, y)
    >>> page.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    >>> folder.cleanup()
    """
    need_jinja("The review page")
    step = step_with_scores(estimator)
    labels, label_names = labels_to_review(y)
    verdicts = np.full(labels.shape, -1) if verdicts is None else np.nan_to_num(verdicts, nan=-1)
    suspects = rank_suspects(step, y, kind=kind, verdicts=verdicts, audit=audit)
    cells = X if table is None else table
    columns = [str(name) for name in getattr(cells, "columns", range(np.shape(cells)[1]))]
    shown = Shown(
        source=title,
        label_names=label_names,
        verdicts=verdicts,
        labels=labels,
        columns=columns,
        named=_name_rows(cells, labels, ids),
        read=cells.tocsr() if sparse.issparse(cells) else np.asarray(cells, dtype=getattr(cells, "dtype", object)),
        names=columns,
        plan=getattr(last_with(estimator, "plan_"), "plan_", None),
    )
    X = _transformed(estimator, step, X)
    facts = describe_entries(step, X, suspects.first(check_count(top, "top")), shown, kind=kind)
    write_file(path, render_page(facts, source=title))


def _name_rows(cells: Any, labels: NDArray[Any], ids: Sequence[Any] | None) -> Columns:
    """The columns that name the rows in a list."""
    for name, n in (("table", np.shape(cells)[0]), ("ids", len(labels) if ids is None else len(ids))):
        if n != len(labels):
            raise InputError(f"{name} needs one entry for each of the {len(labels)} rows, got {n}.")
    numbered: Columns = [("row", np.arange(len(labels))), ("check", check_rows(cells, labels))]
    return numbered if ids is None else [("id", np.array(list(map(str, ids)), dtype=object)), *numbered]


def _transformed(estimator: Any, step: Any, X: Any) -> Any:
    """The rows as the step of an estimator or a pipeline gets them."""
    if isinstance(estimator, Pipeline):
        steps = [transformer for _, transformer in estimator.steps]
        for transformer in steps[: steps.index(step)]:
            X = transformer.transform(X)
    return X.tocsr() if sparse.issparse(X) else np.asarray(X)
