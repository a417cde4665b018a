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
from .._checks.cells import is_null, is_number
from .._checks.words import VERDICTS, fold
from .._errors import InputError
from .._output import write_file
from ..graph import kneighbors
from ..tables import typed_column
from ._html import need_jinja, open_template, read_asset, readable
from ._order import AUDIT
from ._review import Suspects, last_with, rank_suspects, step_with_scores
from ._rows import check_rows
from ._verdicts import FORMULA, Columns, labels_to_review, three_digits

Facts = dict[str, Any]

TOP = 500  # entries of the list
N_EACH = 3  # nearest rows with the label, and without it
N_NEAREST = 5  # nearest labelled rows that are counted
N_SEARCHED = 30  # nearest labelled rows, among which most entries have enough of both kinds
MOST_COLUMNS = 1000  # of a page; a wider table shows those with the largest coefficients
LONGEST_CELL = 10_000  # characters
N_TOLD = 40  # columns of a label that have a picture, those that tell most about it
N_MARKED = 10  # columns of an entry that are marked to speak for its label, and to speak against it
FEW_VALUES = 5  # a column with so many different values has shares in place of a picture
ENDS = (0.01, 0.99)  # the quantiles at which a picture begins and ends
MARKS = (0.05, 0.25, 0.5, 0.75, 0.95)  # the quantiles of a picture


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
    found = zip(rows.tolist(), searched[places].tolist(), distances.tolist(), strict=True)
    return [[(j, d) for j, d in zip(row, ds, strict=True) if j != i][:k] for i, row, ds in found]


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
    given : ndarray (n, C)
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
    given: NDArray[Any]
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
        found = self.read[name] if isinstance(self.read, Mapping) else self._part(slice(None), [name])[:, 0]
        return missing_in(found, self._missing.get(name, ("",)))

    @functools.cached_property
    def _missing(self) -> dict[str, Collection[str]]:
        """For each column that becomes features, the folded texts that mean a missing cell."""
        used = () if self.plan is None else self.plan.used
        return {c.name: () if "" in c.levels else ("", *self.plan.missing) for c in used}

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def _part(self, rows: Any, columns: Sequence[str]) -> NDArray[Any]:
        found = self.read[rows][:, [self._places[name] for name in columns]]
        return np.asarray(found.toarray() if sparse.issparse(found) else found)


def describe_entries(method: Any, X: Any, found: Suspects, table: Shown, *, kind: str, **near: Any) -> Facts:
    """Return what the script shows, as plain data.

    Parameters
    ----------
    method : estimator
        With ``coef_`` and ``mean_`` columns are put in order; with ``embedding_`` neighbours are searched there.
    X : array of shape (n_samples, n_features)
        The rows that the method was fitted on.
    found : Suspects
        The entries.
    table : Shown
    kind : str
        Which annotations they are, as in `rank_suspects`.
    **near
        Metric and threads, as for `kneighbors`.
    """
    target = np.where(table.verdicts >= 0, table.verdicts, table.given)
    names = table.label_names
    values = (found.row, found.label, found.given, three_digits(found.score), three_digits(found.odds), found.audit)
    entries = [Entry(*one) for one in zip(*(a.tolist() for a in values), strict=True)]
    by_label = {c: [one for one in entries if one.label == c] for c in sorted({one.label for one in entries})}
    Z = getattr(method, "embedding_", X)
    known = (target != -1).any(axis=1)

    def nearest(some: list[Entry], among: NDArray[np.bool_], k: int) -> Iterator[tuple[Entry, Any]]:
        at = np.array([one.row for one in some], dtype=np.intp)
        return zip(some, nearest_rows(Z, at, among, k, **near), strict=True)

    for one, pairs in nearest(entries, known, N_SEARCHED):
        one.near = [int(target[j, one.label]) for j, _ in pairs[:N_NEAREST]]
        one.having, one.lacking = ([(j, d) for j, d in pairs if target[j, one.label] == value] for value in (1, 0))
    for c, own in by_label.items():
        for field, value in (("having", 1), ("lacking", 0)):
            few = [one for one in own if len(getattr(one, field)) < N_EACH]
            for one, pairs in nearest(few, target[:, c] == value, N_EACH):
                setattr(one, field, pairs)
            for one in own:
                setattr(one, field, [[j, float(f"{distance:.2g}")] for j, distance in getattr(one, field)[:N_EACH]])
    columns, told = _add_parts(by_label, method, X, target, table)
    places = np.argwhere(table.verdicts != -1).tolist()
    earlier = [[i, c, int(table.given[i, c]), int(table.verdicts[i, c])] for i, c in places]
    rows = {i for i, *_ in earlier} | {one.row for one in entries}
    rows |= {j for one in entries for j, _ in one.having + one.lacking}
    numbers = np.array(sorted(rows), dtype=np.intp)
    key, ids = table.named[0] if len(table.named) > 2 else ("", np.full(len(target), None))
    listed = [table.source, *ids[numbers], *((one.row, names[one.label], one.given) for one in entries)]
    cells = table.cells(numbers, columns) if columns else []
    return {
        "digest": hashlib.sha256(repr(listed).encode()).hexdigest()[:20],
        "file": re.sub(r"[^\w.-]+", "-", f"{PurePath(table.source).stem}-verdicts.csv"),
        "formula": FORMULA.pattern,
        "words": dict(VERDICTS),
        "key": key,
        "unique": len({*ids}) == len(ids),
        "labels": list(names),
        "kind": kind,
        "entries": [vars(one) for one in entries],
        "rows": numbers.tolist(),
        "ids": ids[numbers].tolist(),
        "checks": table.named[-1][1][numbers].tolist(),
        "has": [np.flatnonzero(on).tolist() for on in target[numbers] == 1],
        "unknown": [np.flatnonzero(on).tolist() for on in target[numbers] == -1],
        "doubtful": int((target != -1).sum()) // 10,  # of this list those that make neighbours doubtful
        "columns": list(columns),
        "told": told,
        "cells": [[text[:LONGEST_CELL] for text in texts] for texts in cells],
        "earlier": earlier,
        "always": [],
        "pictures": None,
        "linked": False,
    }


def _add_parts(
    entries: Mapping[int, list[Entry]], method: Any, X: Any, target: NDArray[Any], table: Shown
) -> tuple[Sequence[str], Facts]:
    """Add what speaks for and against the label of each entry; return the columns of the page, and what labels share.

    The part of a column in the regression is the sum over its features of coefficient times deviation from the mean.
    For standardised features this is the coefficient times the standardised value.

    Each label has a line for each column that tells something about it: the number of the column, and if it holds
    numbers the two ends of its picture, as the table has them, and five quantiles of the rows with the label and of
    those without, on a scale from 0 to 99.
    """
    columns = table.columns
    feature_columns = table.feature_columns
    coef = getattr(method, "coef_", None)
    if coef is None or len(feature_columns) != X.shape[1]:
        return columns[:MOST_COLUMNS], {}
    if len(columns) > MOST_COLUMNS:
        order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
        kept = set(list(dict.fromkeys(feature_columns[j] for j in order))[:MOST_COLUMNS])
        columns = [name for name in columns if name in kept]
    places = {name: j for j, name in enumerate(columns)}
    texts = {column.name for column in (table.plan.used if table.plan else ()) if column.kind == "words"}
    features: dict[str, list[int]] = {name: [] for name in columns if name not in texts}
    for f, name in enumerate(feature_columns):
        features.get(name, []).append(f)
    # Above 1, if a feature and a label correlate by more than so many features do by chance at most.
    clear = correlations(X, target) ** 2 * (target != -1).sum(axis=0) / (2 * np.log(2 * X.shape[1]))
    by_column = X.tocsc() if sparse.issparse(X) else X
    target = np.asfortranarray(target, dtype=np.float32)
    strong = {c: {name: clear[at, c].max(initial=0.0) for name, at in features.items()} for c in entries}
    lists = {c: sorted((n for n in features if of[n] > 1.0), key=lambda n: -of[n])[:N_TOLD] for c, of in strong.items()}
    found: dict[tuple[int, str], Any] = {}
    for name in columns:  # once each, since their rows are sorted for all labels together
        labels = [c for c in entries if name in lists[c]]
        if not labels:
            continue
        block = by_column[:, features[name]]
        missing = table.absent(name)
        block = block.toarray() if sparse.issparse(block) else block
        order = np.flatnonzero(~missing)
        order = order[np.argsort(block[order, 0], kind="stable")]
        for c in labels:
            rows = np.array([one.row for one in entries[c]])
            ends, marks, at, counts = _strip(block, target[:, c], rows, order)
            line = [places[name], *(text[:20] for text in table.cells(ends, [name])[0]), *marks]
            part = (block[rows] - method.mean_[features[name]]) @ coef[c, features[name]]
            found[c, name] = line, at, missing[rows], np.where(missing[rows], 0.0, part * counts)
    for c, names in lists.items():
        for i, one in enumerate(entries[c]):
            one.at = [None if found[c, name][2][i] else found[c, name][1][i] for name in names]
            parts = np.array([0.0, *(found[c, name][3][i] for name in names)])
            size = np.abs(parts)
            first = -1 if one.given == 1 else 1
            some = [k for k in np.argsort(-size, kind="stable").tolist() if size[k] > 0.05 * size.max()]
            one.pull = [s * k for s in (first, -first) for k in [k for k in some if s * parts[k] > 0][:N_MARKED]]
    return columns, {str(c): [found[c, name][0] for name in names] for c, names in lists.items()}


def correlations(X: Any, target: NDArray[Any]) -> NDArray[np.float64]:
    """Correlation of each feature with each label, (D, C), over the rows where it is known; 0 if it is not defined."""
    known = (target != -1).astype(float)
    on = (target == 1).astype(float)
    n = known.sum(axis=0)
    share = on.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = X.T @ known / n
        variance = (X.multiply(X) if sparse.issparse(X) else X * X).T @ known - n * mean**2
        found = (X.T @ on - mean * share) / np.sqrt(variance * share * (1 - share / n))
    return np.nan_to_num(found, posinf=0.0, neginf=0.0)


def _strip(
    values: NDArray[Any], y: NDArray[Any], rows: NDArray[np.intp], order: NDArray[np.intp]
) -> tuple[NDArray[np.intp], list[int], list[Any], Any]:
    """Where rows stand among the rows with a label and without it, in one column.

    Of numbers the two rows at the ends, the quantiles of both groups, and the places of the rows; of anything else the
    percentages of both groups that are equal to each row.  At last, whether that can be told from chance.  `order` are
    the rows whose cell is not missing, by their values.
    """
    own = y[order]
    first = values[:, 0]
    groups = [order[np.flatnonzero(own == value)] for value in (1, 0)]
    order = order if own.min(initial=0) >= 0 else order[own != -1]
    if not min(map(len, groups)):  # of one group all cells are missing
        return order[:0], [], [None] * len(rows), 0
    ends = order[np.round(np.multiply(ENDS, len(order) - 1)).astype(int)]
    low, high = first[ends]
    some = order[:: max(1, len(order) // 100)]  # which tell it of most columns
    if low < high and any(np.count_nonzero(np.diff(first[at])) >= FEW_VALUES for at in (some, order)):
        marks = np.concatenate([first[g[np.round(np.multiply(MARKS, len(g) - 1)).astype(int)]] for g in groups])
        places = np.clip(99 * (np.append(marks, first[rows]) - low) / (high - low), 0, 99).astype(int).tolist()
        return ends, places[: len(marks)], places[len(marks) :], 1
    different, which = np.unique(values[rows], axis=0, return_inverse=True)
    shares = np.array([[(values[g] == one).all(axis=1).mean() for g in groups] for one in different])
    n = np.array([len(g) for g in groups])
    share = shares @ n / n.sum()
    counts = (shares[:, 0] - shares[:, 1]) ** 2 > 4 * share * (1 - share) * (1 / n).sum()
    return ends[:0], [], np.round(100 * shares[which.ravel()]).astype(int).tolist(), counts[which.ravel()]


def missing_in(column: Any, words: Collection[str]) -> NDArray[np.bool_]:
    """Which cells of an array's or a file's column are missing: NaN, or one of these folded words."""
    values = getattr(column, "values", column)
    plain = not any(map(is_number, words))
    if plain and getattr(values, "dtype", np.dtype(object)).kind in "biuf":
        return np.isnan(values) & ("" in words)
    texts = (column if hasattr(column, "texts") else typed_column(column.tolist())).texts
    return np.array([fold(text) in words for text in texts.different], dtype=bool)[texts.codes]


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
        command=readable(command, 2000),
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
    given, label_names = labels_to_review(y)
    verdicts = np.full(given.shape, -1) if verdicts is None else np.nan_to_num(verdicts, nan=-1)
    found = rank_suspects(step, y, kind=kind, verdicts=verdicts, audit=audit)
    shown = X if table is None else table
    names = [str(name) for name in getattr(shown, "columns", range(np.shape(shown)[1]))]
    block = shown.tocsr() if sparse.issparse(shown) else np.asarray(shown, dtype=getattr(shown, "dtype", object))
    texts = None if ids is None else np.array(list(map(str, ids)), dtype=object)
    for what, n in (("table", block.shape[0]), ("ids", len(given) if texts is None else len(texts))):
        if n != len(given):
            raise InputError(f"{what} needs one entry for each of the {len(given)} rows, got {n}.")

    steps = [one for _, one in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    for before in steps[: steps.index(step)]:
        X = before.transform(X)
    encoder = last_with(estimator, "plan_")
    named = [("row", np.arange(len(given))), ("check", check_rows(shown, given))]
    named = named if texts is None else [("id", texts), *named]
    shown = Shown(
        source=title,
        label_names=label_names,
        verdicts=verdicts,
        given=given,
        columns=names,
        named=named,
        read=block,
        names=names,
        plan=getattr(encoder, "plan_", None),
    )
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    facts = describe_entries(step, X, found.first(check_count(top, "top")), shown, kind=kind)
    write_file(path, render_page(facts, source=title))
