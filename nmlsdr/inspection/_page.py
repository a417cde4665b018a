"""The page on which annotations are checked: one entry at a time, its row beside the nearest rows, one key a verdict.

`describe_entries` collects what is shown as plain data, `render_part` makes the part of a page that both the review
page and the report have, and `render_page` the page itself.  The script shows the data.
"""

import base64
import csv
import hashlib
import io
import json
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.words import VERDICTS
from ..graph import kneighbors
from ._html import digest_of, open_template, read_asset, readable
from ._review import Suspects
from ._verdicts import Columns, for_spreadsheets, list_columns

Facts = dict[str, Any]

N_EACH = 3  # nearest rows with the label, and without it
N_NEAREST = 5  # nearest labelled rows that are counted
MOST_ORDERED = 40  # columns of an entry that are put in order, which are those seen at once
MOST_COLUMNS = 1000  # of a page; a wider table shows those that are put in order most often
LONGEST_CELL = 10_000  # characters
_TITLES = {"missing": "Maybe forgotten", "spurious": "Maybe given wrongly"}  # of a list; others have both kinds


@dataclass
class Table:
    """What the page shows of the rows and needs to know about them.

    Attributes
    ----------
    target : ndarray of shape (n_samples, n_labels)
        Labels: 1, 0, and -1 where they are unknown.
    label_names : sequence of str
    embedding : array of shape (n_samples, d)
        In which the nearest rows are searched.
    row_columns : callable
        From row numbers to the columns that name these rows in a list: the id, if there is one, and the number.
    columns : sequence of str
        Names of the columns whose cells are shown.
    cells : callable
        From row numbers and names of columns to the texts of each column.
    pulls : callable or None
        From a row and a label to a number for each column: its part in the regression for the label.
    always : sequence of str
        Columns that are never folded away.
    pictures : callable or None
        From row numbers to pairs of a name and a data URI (or nothing).
    before : ndarray of shape (n_samples, n_labels), int64, or None
        Earlier verdicts, -1 where there is none; they go into the file of verdicts.
    given : ndarray of shape (n_samples, n_labels)
        The labels before these verdicts.
    """

    target: NDArray[Any]
    label_names: Sequence[str]
    embedding: Any
    row_columns: Callable[[NDArray[np.intp]], Columns]
    _: KW_ONLY
    columns: Sequence[str] = ()
    cells: Callable[[NDArray[np.intp], Sequence[str]], Sequence[Sequence[str]]] = lambda rows, columns: []
    pulls: Callable[[int, int], NDArray[np.float64]] | None = None
    always: Sequence[str] = ()
    pictures: Callable[[Sequence[int]], list[tuple[str, str]]] | None = None
    before: NDArray[np.int64] | None = None
    given: NDArray[Any] | None = None
    near: Mapping[str, Any] = field(default_factory=dict)


def split_kinds(suspects: Suspects, kind: str) -> dict[str, Suspects]:
    """The lists of a page, by kind: one for each kind of mistake if they stand apart, the likelier one first."""
    if kind != "apart":
        return {kind: suspects}
    kinds = dict.fromkeys([*suspects.kind[:1].tolist(), "missing", "spurious"])
    return {kind: suspects.take(suspects.kind == kind) for kind in kinds}


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


def describe_entries(table: Table, lists: Mapping[str, Suspects], *, source: str, linked: bool = False) -> Facts:
    """Return what the script shows, as plain data.

    Parameters
    ----------
    table : Table
    lists : dict of str to Suspects
        The entries of each list, by kind.
    source : str
        Name of the data.
    linked : bool, default=False
        Whether the page has a picture of the rows.
    """
    entries: list[Facts] = []
    for number, part in enumerate(lists.values()):
        texts, header = _lines(list_columns(part, table.label_names, table.row_columns(part.row)))
        for i, c, given, score, text in zip(part.row.tolist(), part.label.tolist(), part.given.tolist(),
                                            part.score.tolist(), texts, strict=True):  # fmt: skip
            said = {"given": given, "score": f"{score:.2f}", "line": text}
            entries.append({"row": i, "label": c, "list": number, **said})
    _add_neighbors(entries, table)
    columns = _add_orders(entries, table)
    rows = sorted({j for one in entries for j in (one["row"], *(j for j, _ in one["with"] + one["without"]))})
    place = {i: k for k, i in enumerate(rows)}
    for one in entries:
        one["row"] = place[one["row"]]
        for side in ("with", "without"):
            one[side] = [[place[j], _short(distance)] for j, distance in one[side]]
    numbers = np.array(rows, dtype=np.intp)
    named = table.row_columns(numbers)
    key, ids = (named[0][0], named[0][1].tolist()) if len(named) > 1 else ("", [None] * len(rows))
    given = table.target[numbers] == 1
    cells = table.cells(numbers, columns) if columns and rows else []
    digest = hashlib.sha256("\n".join([source, *(one["line"] for one in entries)]).encode(errors="replace"))
    return {
        "digest": digest.hexdigest()[:20],
        "file": f"{PurePath(source).stem or 'table'}-verdicts.csv",
        "header": header,
        "key": key,
        "labels": readable(table.label_names),
        "lists": [{"title": _TITLES.get(kind, "Both kinds"), "n": len(part.row)} for kind, part in lists.items()],
        "entries": entries,
        "rows": [
            {"n": i, "id": None if name is None else readable(str(name)), "has": np.flatnonzero(on).tolist()}
            for i, name, on in zip(rows, ids, given, strict=True)
        ],
        "columns": readable(columns),
        "always": [j for j, name in enumerate(columns) if name in table.always],
        "cells": [[_cell(text) for text in column] for column in cells],
        "pictures": None if table.pictures is None else [[readable(name), uri] for name, uri in table.pictures(rows)],
        "earlier": _earlier(table),
        "words": dict(VERDICTS),
        "linked": linked,
    }


def _lines(columns: Columns) -> tuple[list[str], str]:
    """The lines of a list without the verdict, which stands last, and its header."""
    *columns, _ = for_spreadsheets(columns)
    rows = zip(*(values.tolist() for _, values in columns), strict=True)
    return [_line(row) for row in rows], _line([*(name for name, _ in columns), "verdict"])


def _line(cells: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def _short(value: float) -> str:
    """At most three digits, without an exponent."""
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def _cell(text: str) -> str:
    """A cell of the table that is safe to show; its lines stay."""
    if len(text) < LONGEST_CELL and text.isascii() and text.isprintable():
        return text
    if len(text) > LONGEST_CELL:
        text = f"{text[:LONGEST_CELL]}… ({len(text) - LONGEST_CELL} more characters)"
    return "\n".join(readable(line, 2 * LONGEST_CELL) for line in text.split("\n"))


def _add_neighbors(entries: list[Facts], table: Table) -> None:
    """Add to each entry its nearest rows with the label and without it, and how many of the nearest have it."""
    target, Z = table.target, table.embedding
    labeled = np.asarray((target != -1).any(axis=1))
    for c in {one["label"] for one in entries}:
        own = [one for one in entries if one["label"] == c]
        rows = np.array([one["row"] for one in own], dtype=np.intp)
        sides = [nearest_rows(Z, rows, target[:, c] == value, N_EACH, **table.near) for value in (1, 0)]
        nearest = nearest_rows(Z, rows, labeled, N_NEAREST, **table.near)
        for one, with_label, without, near in zip(own, *sides, nearest, strict=True):
            known = [bool(target[j, c]) for j, _ in near if target[j, c] != -1]
            one |= {"with": with_label, "without": without, "near": [sum(known), len(known)]}


def _add_orders(entries: list[Facts], table: Table) -> list[str]:
    """Add to each entry its first columns in order, each with the sign of its part; return the columns of the page."""
    columns, wide = list(table.columns), len(table.columns) > MOST_COLUMNS
    if not columns or table.pulls is None:
        for one in entries:
            one["order"] = []
        return columns[:MOST_COLUMNS]
    counts: Counter[int] = Counter()
    for one in entries:
        pulls = table.pulls(one["row"], one["label"])
        first = np.argsort(-np.abs(pulls), kind="stable")[:MOST_ORDERED].tolist()
        least = 0.05 * abs(pulls[first[0]])  # smaller parts get no sign
        one["order"] = [[j, int(np.sign(pulls[j])) if abs(pulls[j]) > least else 0] for j in first]
        counts.update(first)
    if not wide:
        return columns
    kept = {j: k for k, j in enumerate(sorted(j for j, _ in counts.most_common(MOST_COLUMNS)))}
    for one in entries:
        one["order"] = [[kept[j], sign] for j, sign in one["order"] if j in kept]
    return [columns[j] for j in kept]


def _earlier(table: Table) -> list[Facts]:
    """The earlier verdicts, as lines for the file and as texts."""
    if table.before is None or table.given is None:
        return []
    row, label = np.nonzero(table.before >= 0)
    names = for_spreadsheets([*table.row_columns(row), ("", np.array(table.label_names, dtype=object)[label])])
    given = ["" if value == -1 else str(int(value)) for value in table.given[row, label].tolist()]
    verdicts = table.before[row, label].tolist()
    return [
        {
            "line": _line([*cells, value, "", "", "", ""]),
            "verdict": verdict,
            "text": readable(f"{cells[0]} · {cells[-1]} · {'yes' if verdict else 'no'} (earlier)"),
        }
        for *cells, value, verdict in zip(*(a.tolist() for _, a in names), given, verdicts, strict=True)
    ]


# ---------------------------------------------------------------- the page


def script_and_style() -> tuple[str, str]:
    """The script and the style of the part."""
    return read_asset("nmlsdr.inspection", "review.js"), read_asset("nmlsdr.inspection", "review.css")


def render_part(facts: Facts) -> str:
    """Return the HTML of the lists; the data are packed, because the cells of many rows are long."""
    packed = zlib.compress(json.dumps(facts, separators=(",", ":")).encode(), 6)
    template = open_template("nmlsdr.inspection", "review_part.html.jinja")
    return template.render(packed=base64.b64encode(packed).decode())


def render_page(facts: Facts, *, source: str, next_steps: Sequence[Mapping[str, str]] = ()) -> str:
    """Return the page on which the entries are checked."""
    script, style = script_and_style()
    return open_template("nmlsdr.inspection", "review.html.jinja").render(
        source=readable(source),
        n_rows=len(facts["rows"]),
        n_left_out=sum(bool(name) and not uri for name, uri in facts["pictures"] or ()),
        with_cells=bool(facts["columns"] or facts["pictures"]),
        part=render_part(facts),
        next=readable(next_steps, 2000),
        script=script,
        style=style,
        script_digest=digest_of(script),
        style_digest=digest_of(style),
    ) + "\n"
