"""review: which given labels disagree with their neighbourhood."""

import argparse
from typing import Any

import numpy as np

from nmlsdr._report.fit import neighbors_of

from .console import Console
from .method import fit_and_rank
from .reading import prepare, read_data
from .reviewed import OWN_COLUMNS, escape_formula, names_or_numbers
from .writing import check_out, row_columns, write_result

SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")


def review(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr review``."""
    suffix = check_out(args, SUFFIXES)
    table = read_data(args, console, need_labels=True)
    prepare(table, args)
    method, found, note = fit_and_rank(table, args, console)
    if note is not None:
        console.note(note)
    found = found.first_of_each_kind(args.top) if args.kind == "apart" else found.first(args.top)
    with console.step("find the neighbours"):
        columns = review_columns(found, table, args, method.embedding_ if args.explain else None)
    if suffix in (".csv", ".tsv"):
        columns = for_spreadsheets(columns)
    counts = [(int((found.given == value).sum()), f"given {value}") for value in (0, 1)]
    if found.given[:1].any():
        counts.reverse()
    write_result(args, console, columns, {}, *counts)
    return 0


def review_columns(found: Any, table: Any, args: argparse.Namespace, Z: Any = None) -> list[tuple[str, Any]]:
    """Names and values of the columns of a list; with the embedding Z also the neighbours of each annotation's row."""
    names = np.array(names_or_numbers(table.label_names, "label", table.target.shape[1]), dtype=object)
    return [
        *row_columns(table, args.id, found.row, taken=OWN_COLUMNS),
        ("label", names[found.label]),
        ("given", found.given),
        ("score", found.score),
        ("suggest", np.where(found.given == 1, "remove", "add").astype(object)),
        ("kind", found.kind.astype(object)),
        ("rank", found.rank),
        ("verdict", np.full(len(found.row), "", dtype=object)),
        *([] if Z is None else _neighbors(found, Z, table, args)),
    ]


def for_spreadsheets(columns: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return the columns with texts that a spreadsheet does not read as formulas."""
    escaped = np.vectorize(escape_formula, otypes=[object])
    return [(escape_formula(name), escaped(a) if a.dtype == object else a) for name, a in columns]


def _neighbors(found: Any, Z: Any, table: Any, args: argparse.Namespace) -> list[tuple[str, Any]]:
    """Id or number, given label (empty: unknown) and distance of the nearest labelled rows of each annotation's."""
    rows, place = np.unique(found.row, return_inverse=True)
    distances, indices = neighbors_of(Z, rows, table.labeled, metric=args.metric, n_jobs=args.jobs)
    columns: list[tuple[str, Any]] = []
    for j in range(indices.shape[1]):
        near = indices[place, j]
        given = table.target[near, found.label]
        columns += [
            (f"near_{j + 1}", near if table.ids is None else np.array(table.ids, dtype=object)[near]),
            (f"near_{j + 1}_given", np.where(given == -1, "", given.astype(str)).astype(object)),
            (f"near_{j + 1}_distance", distances[place, j]),
        ]
    return columns
