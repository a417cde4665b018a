"""The page on which annotations are checked: one entry at a time, its row beside the nearest rows, one key a verdict.

`describe_entries` collects what is shown as plain data.  The script of the page shows them, puts columns in order, and
writes the verdicts.  `render_part` makes the part of a page that both the review page and the report have.
"""

import base64
import functools
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Sequence
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
from .._output import replace_file
from ..graph import kneighbors
from ._html import need_jinja, open_template, read_asset, readable
from ._review import Suspects, last_with, rank_suspects, step_with_scores
from ._verdicts import FORMULA, Columns, labels_to_review

Facts = dict[str, Any]

TOP = 500  # entries of the list
N_EACH = 3  # nearest rows with the label, and without it
N_NEAREST = 5  # nearest labelled rows that are counted
MOST_COLUMNS = 1000  # of a page; a wider table shows those with the largest coefficients
LONGEST_CELL = 10_000  # characters
N_STRIPS = 24  # columns of an entry that have a picture
FEW_VALUES = 5  # a column with so many different values has shares in place of a picture
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


def describe_entries(
    method: Any,
    X: Any,
    target: NDArray[Any],
    found: Suspects,
    *,
    kind: str,
    label_names: Sequence[str],
    name_rows: Callable[[NDArray[np.intp]], Columns],
    columns: Sequence[str],
    cells: Callable[[NDArray[np.intp], Sequence[str]], Sequence[Sequence[str]]],
    feature_columns: Sequence[str],
    source: str,
    verdicts: NDArray[np.int64],
    given: NDArray[Any],
    **near: Any,
) -> Facts:
    """Return what the script shows, as plain data.

    Parameters
    ----------
    method : estimator
        With ``coef_`` and ``mean_`` columns are put in order; with ``embedding_`` neighbours are searched there.
    X : array of shape (n_samples, n_features)
        The rows that the method was fitted on.
    target : ndarray of shape (n_samples, n_labels)
        Labels: 1, 0, and -1 where they are unknown.
    found : Suspects
        The entries.
    kind : str
        Which annotations they are, as in `rank_suspects`.
    label_names : sequence of str
    name_rows : callable
        From row numbers to the columns that name these rows in a list: the id, if there is one, and the number.
    columns : sequence of str
        Names of the columns whose cells are shown.
    cells : callable
        From row numbers and names of columns to the texts of each column.
    feature_columns : sequence of str
        The column of each feature.
    source : str
        Name of the data.
    verdicts : ndarray of shape (n_samples, n_labels)
        Earlier verdicts, -1 where there is none; the page adds them to the file that it writes.
    given : ndarray of shape (n_samples, n_labels)
        The labels before these verdicts.
    **near
        Metric and threads, as for `kneighbors`.
    """
    entries: list[Facts] = [
        dict(zip(Suspects._fields, values, strict=True))
        for values in zip(*(field.tolist() for field in found), strict=True)
    ]
    Z = getattr(method, "embedding_", X)
    for c in {one["label"] for one in entries}:
        own = [one for one in entries if one["label"] == c]
        at = np.array([one["row"] for one in own], dtype=np.intp)
        known = (target != -1).any(axis=1)
        for name, among, k in (("with", target[:, c] == 1, N_EACH), ("without", target[:, c] == 0, N_EACH),
                               ("near", known, N_NEAREST)):  # fmt: skip
            for one, pairs in zip(own, nearest_rows(Z, at, among, k, **near), strict=True):
                one[name] = [[j, float(f"{distance:.3g}")] for j, distance in pairs]
        for one in own:
            one["near"] = [int(target[j, c]) for j, _ in one["near"]]
    columns = _add_parts(entries, method, X, target, feature_columns, columns)
    earlier = [[int(i), int(c), int(given[i, c]), int(verdicts[i, c])] for i, c in np.argwhere(verdicts != -1)]
    rows = {i for i, *_ in earlier} | {one["row"] for one in entries}
    rows |= {j for one in entries for j, _ in one["with"] + one["without"]}
    numbers = np.array(sorted(rows), dtype=np.intp)
    named = name_rows(numbers)
    ids = named[0] if len(named) > 1 else ("", np.full(len(numbers), None))
    listed = [source, *ids[1], *((one["row"], label_names[one["label"]], one["given"]) for one in entries)]
    return {
        "digest": hashlib.sha256(repr(listed).encode()).hexdigest()[:20],
        "file": re.sub(r"[^\w.-]+", "-", f"{PurePath(source).stem}-verdicts.csv"),
        "formula": FORMULA.pattern,
        "words": dict(VERDICTS),
        "key": ids[0],
        "labels": list(label_names),
        "kind": kind,
        "entries": entries,
        "rows": numbers.tolist(),
        "ids": ids[1].tolist(),
        "has": [np.flatnonzero(on).tolist() for on in target[numbers] == 1],
        "unknown": [np.flatnonzero(on).tolist() for on in target[numbers] == -1],
        "columns": list(columns),
        "cells": [[text[:LONGEST_CELL] for text in texts] for texts in (cells(numbers, columns) if columns else [])],
        "earlier": earlier,
        "always": [],
        "pictures": None,
        "linked": False,
    }


def _add_parts(
    entries: list[Facts], method: Any, X: Any, target: NDArray[Any], feature_columns: Sequence[str],
    columns: Sequence[str],
) -> Sequence[str]:  # fmt: skip
    """Add the part that each column has in the regression for the label of each entry; return the columns of the page.

    The part is the sum over the column's features of coefficient times deviation from the mean.  For standardised
    features this is the coefficient times the standardised value.

    ``told`` are the columns that tell something about the label, and ``strips`` show where the row stands in those with
    the largest parts.
    """
    coef = getattr(method, "coef_", None)
    if coef is None or len(feature_columns) != X.shape[1]:
        return columns[:MOST_COLUMNS]
    if len(columns) > MOST_COLUMNS:
        order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
        kept = set(list(dict.fromkeys(feature_columns[j] for j in order))[:MOST_COLUMNS])
        columns = [name for name in columns if name in kept]
    places = {name: j for j, name in enumerate(columns)}
    column = np.array([places.get(name, len(columns)) for name in feature_columns])
    strips = _Strips(X, target, column)
    told: dict[int, list[int]] = {}
    for one in entries:
        c, row = one["label"], X[[one["row"]]]
        if c not in told:
            told[c] = _telling_columns(X, target[:, c], column, len(columns))
        values = (row.toarray() if sparse.issparse(row) else row)[0]
        parts = np.bincount(column, coef[c] * (values - method.mean_), minlength=len(columns) + 1)[:-1]
        one["parts"] = [float(f"{part:.2g}") for part in parts]
        one["told"] = told[c]
        shown = sorted(told[c], key=lambda j: -abs(parts[j]))[:N_STRIPS]
        one["strips"] = {str(j): strips.of(c, j, values) for j in shown}
    return columns


def _telling_columns(X: Any, y: NDArray[Any], column: NDArray[np.intp], n_columns: int) -> list[int]:
    """The columns with a feature that correlates with a label by more than the largest of so many by chance."""
    rows = np.flatnonzero(y != -1)
    near, on = X[rows], (y[rows] == 1) - (y[rows] == 1).mean()
    squares = np.asarray((near * near if not sparse.issparse(near) else near.multiply(near)).sum(axis=0)).ravel()
    means = np.asarray(near.mean(axis=0)).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        t2 = (near.T @ on) ** 2 / ((squares / len(rows) - means**2) * (on @ on))
    clear = t2 > 2 * np.log(2 * len(column))
    return [int(j) for j in np.unique(column[clear]) if j < n_columns]


class _Strips:
    """Where a row stands among the rows with a label and without it, in one column.

    Of a number the place of the row and five quantiles of either group, on a scale from 0 to 99 that leaves out 1 % of
    the rows at either end; of anything else the percentages of either group that are equal to the row.  What the
    entries of a label share is computed once.
    """

    def __init__(self, X: Any, target: NDArray[Any], column: NDArray[np.intp]) -> None:
        self.by_column, self.target, self.column = X.tocsc() if sparse.issparse(X) else X, target, column
        self.scale, self.shares = functools.cache(self._scale), functools.cache(self._shares)

    def of(self, c: int, j: int, values: NDArray[Any]) -> list[int]:
        """The strip of a row of these values in column j, for label c."""
        own, scale = values[self.column == j], self.scale(c, j)
        if scale is None:
            return self.shares(c, j, own.tobytes())
        low, high, marks = scale
        places = 99 * (np.concatenate([own, marks]) - low) / max(high - low, 1e-300)
        return np.clip(places, 0, 99).astype(int).tolist()

    def _groups(self, c: int, j: int) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        block = self.by_column[:, np.flatnonzero(self.column == j)]
        block = block.toarray() if sparse.issparse(block) else block
        return block, [block[self.target[:, c] == value] for value in (1, 0)]

    def _scale(self, c: int, j: int) -> tuple[Any, Any, NDArray[Any]] | None:
        """The ends and the quantiles of both groups of a column of numbers."""
        block, groups = self._groups(c, j)
        if block.shape[1] > 1 or len(np.unique(block)) <= FEW_VALUES:
            return None
        low, high = np.quantile(block[self.target[:, c] != -1], (0.01, 0.99))
        marks = [np.quantile(group, MARKS) if len(group) else np.full(len(MARKS), low) for group in groups]
        return low, high, np.concatenate(marks)

    def _shares(self, c: int, j: int, own: bytes) -> list[int]:
        block, groups = self._groups(c, j)
        value = np.frombuffer(own, dtype=block.dtype)
        return [round(100 * float((group == value).all(axis=1).mean())) if len(group) else 0 for group in groups]


def cells_of(block: Any, names: Sequence[str]) -> Callable[[NDArray[np.intp], Sequence[str]], list[list[str]]]:
    """Return a function from rows and columns of an array to texts; numbers have at most six digits."""
    places = {name: j for j, name in enumerate(names)}

    def text(cell: Any) -> str:
        return f"{cell:.6g}" if isinstance(cell, float) and cell == cell else "" if is_null(cell) else str(cell)

    def cells(rows: NDArray[np.intp], columns: Sequence[str]) -> list[list[str]]:
        part = block[rows][:, [places[name] for name in columns]]
        return [list(map(text, column)) for column in (part.toarray() if sparse.issparse(part) else part).T.tolist()]

    return cells


# ---------------------------------------------------------------- pages


def script_and_style() -> tuple[str, str]:
    """The script and the style of the part."""
    parts, script, style = (read_asset("nmlsdr.inspection", f"review{end}") for end in ("_parts.js", ".js", ".css"))
    return parts + script, style


def render_part(facts: Facts) -> str:
    """Return the HTML of the lists; the data are packed, because the cells of many rows are long."""
    packed = base64.b64encode(zlib.compress(json.dumps(facts, separators=(",", ":")).encode(), 6)).decode()
    return str(open_template("nmlsdr.inspection", "review_part.html.jinja").render(packed=packed))


def render_page(facts: Facts, *, source: str, command: str = "") -> bytes:
    """Return the page on which the entries are checked; `command` are the options of the commands to run next."""
    script, style = script_and_style()
    page = open_template("nmlsdr.inspection", "review.html.jinja").render(
        **{name: readable(facts[name]) for name in ("file", "columns", "pictures")},
        source=readable(source),
        n_rows=len(facts["rows"]),
        part=render_part(facts),
        command=readable(command, 2000),
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
    given: Any = None,
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
        The labels given to `fit`. The columns of a data frame name the labels.
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
    given : array-like or sparse matrix of shape (n_samples, n_labels), default=None
        The labels before these verdicts, as `apply_verdicts` returns them. None: y.
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
    apply_verdicts : Correct y by it.

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
    target, label_names = labels_to_review(y)
    verdicts = np.full(target.shape, -1) if verdicts is None else np.asarray(verdicts)
    found = rank_suspects(step, y, kind=kind, reviewed=verdicts != -1)
    shown = X if table is None else table
    names = [str(name) for name in getattr(shown, "columns", range(np.shape(shown)[1]))]
    block = shown.tocsr() if sparse.issparse(shown) else np.asarray(shown, dtype=object)
    texts = None if ids is None else np.array(list(map(str, ids)), dtype=object)
    for what, n in (("table", block.shape[0]), ("ids", len(target) if texts is None else len(texts))):
        if n != len(target):
            raise InputError(f"{what} needs one entry for each of the {len(target)} rows, got {n}.")

    for before in [s for _, s in estimator.steps] if isinstance(estimator, Pipeline) else []:
        if before is step:
            break
        X = before.transform(X)
    encoder = last_with(estimator, "plan_")
    facts = describe_entries(
        step,
        X.tocsr() if sparse.issparse(X) else np.asarray(X),
        target,
        found.first(check_count(top, "top")),
        kind=kind,
        label_names=label_names,
        name_rows=lambda rows: ([] if texts is None else [("id", texts[rows])]) + [("row", rows)],
        columns=names,
        cells=cells_of(block, names),
        feature_columns=names if encoder is None else [c.name for c in encoder.plan_.used for _ in c.feature_names],
        source=title,
        verdicts=verdicts,
        given=target if given is None else labels_to_review(given)[0],
    )
    with replace_file(path) as file:
        file.write(render_page(facts, source=title))
