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
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_count
from .._checks.cells import is_null
from .._checks.words import VERDICTS, fold
from .._errors import InputError
from .._output import replace_file
from ..graph import kneighbors
from ._html import need_jinja, open_template, read_asset, readable
from ._review import Suspects, last_with, rank_suspects, step_with_scores
from ._verdicts import FORMULA, Columns, labels_to_review, three_digits

Facts = dict[str, Any]

TOP = 500  # entries of the list
N_EACH = 3  # nearest rows with the label, and without it
N_NEAREST = 5  # nearest labelled rows that are counted
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
    missing: Mapping[str, Collection[str]],
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
    missing : dict
        For each column the folded texts that mean a missing cell; for other columns only an empty cell is missing.
    source : str
        Name of the data.
    verdicts : ndarray of shape (n_samples, n_labels)
        Earlier verdicts, -1 where there is none; the page adds them to the file that it writes.
    given : ndarray of shape (n_samples, n_labels)
        The labels before these verdicts.
    **near
        Metric and threads, as for `kneighbors`.
    """
    fields = zip(*(a.tolist() for a in (found.row, found.label, found.given, three_digits(found.score))), strict=True)
    entries: list[Facts] = [dict(zip(("row", "label", "given", "score"), values, strict=True)) for values in fields]
    Z = getattr(method, "embedding_", X)
    for c in {one["label"] for one in entries}:
        own = [one for one in entries if one["label"] == c]
        at = np.array([one["row"] for one in own], dtype=np.intp)
        known = (target != -1).any(axis=1)
        for name, among, k in (("with", target[:, c] == 1, N_EACH), ("without", target[:, c] == 0, N_EACH),
                               ("near", known, N_NEAREST)):  # fmt: skip
            for one, pairs in zip(own, nearest_rows(Z, at, among, k, **near), strict=True):
                one[name] = [[j, float(f"{distance:.2g}")] for j, distance in pairs]
        for one in own:
            one["near"] = [int(target[j, c]) for j, _ in one["near"]]
    columns, told = _add_parts(entries, method, X, target, feature_columns, columns, cells, missing)
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
        "doubtful": int((target != -1).sum()) // 10,  # of this list those that make neighbours doubtful
        "columns": list(columns),
        "told": told,
        "cells": [[text[:LONGEST_CELL] for text in texts] for texts in (cells(numbers, columns) if columns else [])],
        "earlier": earlier,
        "always": [],
        "pictures": None,
        "linked": False,
    }


def _add_parts(
    entries: list[Facts], method: Any, X: Any, target: NDArray[Any], feature_columns: Sequence[str],
    columns: Sequence[str], cells: Callable[..., Any], missing: Mapping[str, Collection[str]],
) -> tuple[Sequence[str], Facts]:  # fmt: skip
    """Add what speaks for and against the label of each entry; return the columns of the page, and what labels share.

    The part of a column in the regression is the sum over its features of coefficient times deviation from the mean.
    For standardised features this is the coefficient times the standardised value.

    Each label has a line for each column that tells something about it: the number of the column, and if it holds
    numbers the two ends of its picture, as the table has them, and five quantiles of the rows with the label and of
    those without, on a scale from 0 to 99.  An entry has the place of its row ``at`` each of these columns: on this
    scale, or the percentages of both groups that are equal to the row, or None where its cell is missing.  ``pull`` are
    the places in this list, from 1, of the columns with the largest parts; the sign is that of the part.
    """
    coef = getattr(method, "coef_", None)
    if coef is None or len(feature_columns) != X.shape[1]:
        return columns[:MOST_COLUMNS], {}
    if len(columns) > MOST_COLUMNS:
        order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")
        kept = set(list(dict.fromkeys(feature_columns[j] for j in order))[:MOST_COLUMNS])
        columns = [name for name in columns if name in kept]
    places = {name: j for j, name in enumerate(columns)}
    features: dict[str, list[int]] = {name: [] for name in columns}
    for f, name in enumerate(feature_columns):
        features.get(name, []).append(f)
    told: Facts = {}
    clear, by_column = _clearness(X, target), X.tocsc() if sparse.issparse(X) else X
    known = np.flatnonzero((target != -1).any(axis=1))

    @functools.cache
    def absent_in(name: str) -> NDArray[np.bool_]:
        found = np.zeros(len(target), dtype=bool)
        found[known] = [fold(text) in missing.get(name, ("",)) for text in cells(known, [name])[0]]
        return found

    for c in {one["label"] for one in entries}:
        own, seen = [one for one in entries if one["label"] == c], np.flatnonzero(target[:, c] != -1)
        told[str(c)], pulls = [], [np.zeros(len(own))]
        place = np.searchsorted(seen, [one["row"] for one in own])
        strength = {name: clear[at, c].max(initial=0.0) for name, at in features.items()}
        for name in sorted((n for n in columns if strength[n] > 1.0), key=lambda n: -strength[n])[:N_TOLD]:
            block = by_column[:, features[name]]
            block, absent = (block.toarray() if sparse.issparse(block) else block)[seen], absent_in(name)[seen]
            ends, marks, at, counts = _strip(block, target[seen, c], place, absent)
            told[str(c)].append([places[name], *(text[:20] for text in cells(seen[ends], [name])[0]), *marks])
            part = (block[place] - method.mean_[features[name]]) @ coef[c, features[name]]
            pulls.append(np.where(absent[place], 0.0, part * counts))
            for one, value, hole in zip(own, at, absent[place].tolist(), strict=True):
                one.setdefault("at", []).append(None if hole else value)
        for one, parts in zip(own, np.stack(pulls, axis=1), strict=True):
            size, first = np.abs(parts), -1 if one["given"] else 1
            some = [k for k in np.argsort(-size, kind="stable").tolist() if size[k] > 0.05 * size.max()]
            one["pull"] = [s * k for s in (first, -first) for k in [k for k in some if s * parts[k] > 0][:N_MARKED]]
    return columns, told


def _clearness(X: Any, target: NDArray[Any]) -> NDArray[np.float64]:
    """For features and labels: above 1, if they correlate by more than so many features do by chance at most."""
    known, on = (target != -1).astype(float), (target == 1).astype(float)
    n, share = known.sum(axis=0), on.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = X.T @ known / n
        variance = (X.multiply(X) if sparse.issparse(X) else X * X).T @ known / n - mean**2
        t2 = (X.T @ on - mean * share) ** 2 / (variance * share * (1 - share / n))
    return np.nan_to_num(t2 / (2 * np.log(2 * X.shape[1])), posinf=0.0)


def _strip(
    values: NDArray[Any], y: NDArray[Any], rows: NDArray[np.intp], absent: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], list[int], list[Any], Any]:
    """Where rows stand among the rows with a label and without it, in one column.

    Of numbers the two rows at the ends, the quantiles of both groups, and the places of the rows; of anything else the
    percentages of both groups that are equal to each row.  At last, whether that can be told from chance.
    """
    order = np.flatnonzero(~absent)
    order = order[np.argsort(values[order, 0], kind="stable")]
    groups, first = [order[y[order] == value] for value in (1, 0)], values[:, 0]
    if not min(map(len, groups)):  # of one group all cells are missing
        return order[:0], [], [None] * len(rows), 0
    ends = order[np.round(np.multiply(ENDS, len(order) - 1)).astype(int)]
    low, high = first[ends]
    if low < high and np.count_nonzero(np.diff(first[order])) >= FEW_VALUES:
        marks = np.concatenate([first[g[np.round(np.multiply(MARKS, len(g) - 1)).astype(int)]] for g in groups])
        places = np.clip(99 * (np.append(marks, first[rows]) - low) / (high - low), 0, 99).astype(int).tolist()
        return ends, places[: len(marks)], places[len(marks) :], 1
    different, which = np.unique(values[rows], axis=0, return_inverse=True)
    shares = np.array([[(values[g] == one).all(axis=1).mean() for g in groups] for one in different])
    n = np.array([len(g) for g in groups])
    share = shares @ n / n.sum()
    counts = (shares[:, 0] - shares[:, 1]) ** 2 > 4 * share * (1 - share) * (1 / n).sum()
    return ends[:0], [], np.round(100 * shares[which.ravel()]).astype(int).tolist(), counts[which.ravel()]


def missing_words(plan: Any) -> dict[str, Collection[str]]:
    """For each column that becomes features, the folded texts that mean a missing cell; where empty means no, none."""
    return {c.name: () if "" in c.levels else ("", *plan.missing) for c in plan.used}


def cells_of(block: Any, names: Sequence[str]) -> Callable[[NDArray[np.intp], Sequence[str]], list[list[str]]]:
    """Return a function from rows and columns of an array to texts; numbers have at most six digits."""
    places = {name: j for j, name in enumerate(names)}

    def text(cell: Any) -> str:
        return f"{cell:.6g}" if isinstance(cell, float) and cell == cell else "" if is_null(cell) else str(cell)

    def cells(rows: NDArray[np.intp], columns: Sequence[str]) -> list[list[str]]:
        part = block[np.ix_(rows, np.array([places[name] for name in columns]))]
        return [list(map(text, column)) for column in (part.toarray() if sparse.issparse(part) else part).T.tolist()]

    return cells


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
        columns=facts["columns"],  # counted and not shown, as are pictures
        pictures=facts["pictures"],
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
        missing={} if encoder is None else missing_words(encoder.plan_),
        source=title,
        verdicts=verdicts,
        given=target if given is None else labels_to_review(given)[0],
    )
    with replace_file(path) as file:
        file.write(render_page(facts, source=title))
