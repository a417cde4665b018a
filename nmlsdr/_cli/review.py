"""review: which given labels disagree with their neighbourhood, as a list and as a page on which people check them."""

import argparse
import os
import shlex
from collections.abc import Sequence
from copy import copy
from pathlib import PurePath
from typing import Any

import numpy as np
from scipy import sparse

from nmlsdr._errors import InputError
from nmlsdr.datasets._plan import FEATURES
from nmlsdr.inspection._html import need_jinja
from nmlsdr.inspection._images import thumbnails
from nmlsdr.inspection._page import N_NEAREST, Table, describe_entries, nearest_rows, render_page, split_kinds
from nmlsdr.inspection._verdicts import (
    OWN_COLUMNS,
    Columns,
    for_spreadsheets,
    list_columns,
    names_or_numbers,
    three_digits,
)
from nmlsdr.inspection._writing import TOP, ridge_parts

from .checks import input_files
from .console import Console
from .method import fit_and_rank, scaler_for
from .reading import prepare, read_data
from .writing import open_output, row_columns, write_result, wrote

# Options that the next commands do not need, and those of them without a value.
_OWN = ("--out", "-o", "--kind", "--top", "--folds", "--show", "--image", "--reviewed")
_FLAGS = ("--explain", "--no-cells", "--quiet", "-q")


def review(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr review``."""
    are_pages = [path.lower().endswith(".html") for path in args.out]
    if any(are_pages):
        need_jinja("The review page")
    table = read_data(args, console, need_labels=True)
    prepare(table, args)
    check_columns(table, args)
    method, found, note = fit_and_rank(table, args, console)
    if note is not None:
        console.note(note)
    for path, is_page in zip(args.out, are_pages, strict=True):
        write = _write_page if is_page else _write_list
        write(found, method, table, _with_out(args, path), console)
    return 0


def _with_out(args: argparse.Namespace, path: str) -> argparse.Namespace:
    one = copy(args)
    one.out = path
    return one


def _write_list(found: Any, method: Any, table: Any, args: argparse.Namespace, console: Console) -> None:
    found = found.first_of_each_kind(args.top) if args.kind == "apart" else found.first(args.top)
    with console.step("find the neighbours"):
        columns = review_columns(found, table, args, method.embedding_ if args.explain else None)
    if args.out.lower().endswith((".csv", ".tsv")) or args.out == "-":
        columns = for_spreadsheets(columns)
    counts = [(int((found.given == value).sum()), f"given {value}") for value in (0, 1)]
    if found.given[:1].any():
        counts.reverse()
    write_result(args, console, columns, {}, *counts)


def _write_page(found: Any, method: Any, table: Any, args: argparse.Namespace, console: Console) -> None:
    source = PurePath(args.data).name
    lists = {kind: part.first(args.top or TOP) for kind, part in split_kinds(found, args.kind).items()}
    with console.step("find the neighbours and their cells"):
        facts = describe_entries(page_table(method, table, args), lists, source=source)
    page = render_page(facts, source=source, next_steps=next_steps(args))
    with console.step(f"write {args.out}"), open_output(args.out, input_files(args)) as file:
        file.write(page.encode())
    wrote(console, args.out, len(facts["rows"]), (len(facts["entries"]), "annotation"))


def review_columns(found: Any, table: Any, args: argparse.Namespace, Z: Any = None) -> Columns:
    """Names and values of the columns of a list; with the embedding Z also the neighbours of each annotation's row."""
    names = names_or_numbers(table.label_names, "label", table.target.shape[1])
    columns = list_columns(found, names, row_columns(table, args.id, found.row, taken=OWN_COLUMNS))
    return columns if Z is None else columns + _neighbors(found, Z, table, args)


def _neighbors(found: Any, Z: Any, table: Any, args: argparse.Namespace) -> Columns:
    """Id or number, given label (empty: unknown) and distance of the nearest labelled rows of each annotation's."""
    rows, place = np.unique(found.row, return_inverse=True)
    nearest = nearest_rows(Z, rows, table.labeled, N_NEAREST, metric=args.metric, n_jobs=args.jobs)
    shape = (len(rows), len(nearest[0]) if nearest else 0)
    indices = np.array([[j for j, _ in near] for near in nearest], dtype=np.intp).reshape(shape)
    distances = three_digits(np.array([[d for _, d in near] for near in nearest]).reshape(shape))
    ids = None if table.ids is None else np.array(table.ids, dtype=object)
    columns: Columns = []
    for j in range(shape[1]):
        near = indices[place, j]
        given = table.target[near, found.label]
        columns.append((f"near_{j + 1}", near if ids is None else ids[near]))
        if repeats(table.ids):
            columns.append((f"near_{j + 1}_row", near))
        columns += [
            (f"near_{j + 1}_given", np.where(given == -1, "", given.astype(str)).astype(object)),
            (f"near_{j + 1}_distance", distances[place, j]),
        ]
    return columns


def repeats(ids: list[str] | None) -> bool:
    """Whether several rows have one id."""
    return ids is not None and len(set(ids)) < len(ids)


# ---------------------------------------------------------------- the page


def check_columns(table: Any, args: argparse.Namespace) -> None:
    """Raise before any work for a column of --show or --image that the page could not show."""
    wanted = [*(args.show or ()), *([args.image] if args.image else [])]
    if not wanted:
        return
    option = "--show" if args.show else "--image"
    if args.no_cells:
        raise InputError(f"{option} and --no-cells exclude each other; leave one out.")
    if table.columns is None:
        raise InputError(f"{option} needs a file with named columns, got {args.data}; leave it out.")
    known = [*table.plan.names, *(table.label_names or ()), args.label_list, *(args.annotators or ())]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InputError(f"{args.data} has no column {unknown[0]!r} for {option}; check the spelling.")


def page_table(method: Any, table: Any, args: argparse.Namespace) -> Table:
    """What the page shows of the table."""
    X, scaler = table.data, scaler_for(args, table.data)
    if scaler is not None:
        X = scaler.fit_transform(X)
    names = names_or_numbers(table.feature_names, "feature", X.shape[1])
    raw = table.columns is not None
    used = [c for c in table.plan.columns if c.kind in (*FEATURES, "text") and c.name != args.image] if raw else []
    columns = args.show or ([c.name for c in used] if raw else names)
    of_feature = [c.name for c in table.plan.used for _ in c.feature_names] if raw else names
    texts = [c.name for c in used if c.kind == "text"]

    def numbers(rows: np.ndarray, shown: Any) -> list[list[str]]:
        """Cells of a file without names or texts."""
        places = {name: j for j, name in enumerate(names)}
        block = table.data[rows][:, [places[name] for name in shown]]
        block = block.toarray() if sparse.issparse(block) else block
        return [[f"{v:.6g}" for v in column] for column in block.T.tolist()]

    def cells(rows: np.ndarray, shown: Any) -> list[list[str]]:
        return [[table.columns[name].text(i) for i in rows] for name in shown] if raw else numbers(rows, shown)

    def pictures(rows: Any) -> list[tuple[str, str]]:
        paths = [table.columns[args.image].text(i) for i in rows]
        return thumbnails(os.path.dirname(os.path.abspath(args.data)), paths)

    verdicts = None if table.reviewed is None else np.where(table.reviewed, table.target, -1)
    return Table(
        table.target,
        names_or_numbers(table.label_names, "label", table.target.shape[1]),
        method.embedding_,
        lambda rows: row_columns(table, args.id, rows, taken=OWN_COLUMNS),
        columns=() if args.no_cells else columns,
        cells=cells,
        pulls=ridge_parts(method, X, of_feature, columns),
        always=args.show or texts,
        pictures=pictures if args.image else None,
        before=verdicts,
        given=table.target if verdicts is None else table.given,
        near={"metric": args.metric, "n_jobs": args.jobs},
    )


def without_options(words: list[str]) -> list[str]:
    """The words of a command without the options that only review and report have."""
    kept, skipped = [], False
    for word in words:
        name = word.split("=", 1)[0]
        if skipped or name in _OWN:
            skipped = not skipped and "=" not in word
        elif name not in _FLAGS:
            kept.append(word)
    return kept


def next_steps(args: argparse.Namespace, settings: Sequence[str] = ()) -> list[dict[str, str]]:
    """What to do next, each in words and as a command; `settings` are more options of `nmlsdr fit`."""
    words = without_options(args.words)
    checked = ["--reviewed", f"{PurePath(args.data).stem}-verdicts.csv"]
    steps = {
        "Make the page on which all these annotations are checked": ["review", *words, "--out", "review.html"],
        "Fit a model": ["fit", *words, *settings, "--out", "model.skops"],
        "Fit a model that uses the verdicts": ["fit", *words, *settings, *checked, "--out", "model.skops"],
        "Make the next page, without what was checked": ["review", *words, *checked, "--out", "next.html"],
        "Predict the labels of new rows": ["predict", "model.skops", "new.csv", "--out", "predicted.csv"],
    }
    return [{"words": text, "command": shlex.join(["nmlsdr", *step])} for text, step in steps.items()]
