"""review: which given labels disagree with their neighbourhood."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import add_common, add_data, add_graph, add_out, add_preparing, add_reviewed, check_suffix, count
from .console import Console

__all__ = ["add_kind", "add_parsers", "say_buried"]

SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")


def add_parsers(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        "review",
        help="rank the annotations that are likely to be wrong",
        description="List the annotations by how much the rest of the data contradicts them. Columns: row (from 0), "
        "label, given (0 or 1), score in [0, 1], the largest first, suggest (add or remove), kind (missing: given 0, "
        "looks like 1; spurious: given 1, looks like 0) rank within the kind, and "
        "verdict, which is empty: fill it with 1 or 0 and give the file to --reviewed.",
    )
    add_data(parser, labels="needed, but for npz and svmlight, which hold them apart", mask=True)
    add_preparing(parser)
    add_graph(parser)
    add_kind(parser)
    add_reviewed(parser)
    parser.add_argument("--top", type=count, metavar="N", help="write the first N only (default: all)")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="write the nearest labelled rows of each annotation's row too: their number or id, given label and "
        "distance in the embedding",
    )
    add_common(parser)
    add_out(parser, ".csv, .tsv or .parquet")
    parser.set_defaults(run=review)


def add_kind(parser: argparse.ArgumentParser) -> None:
    """Add --kind."""
    parser.add_argument(
        "--kind",
        choices=("both", "missing", "spurious"),
        default="both",
        help="missing: given 0s that look like 1 (where annotations are forgotten); spurious: given 1s that look like "
        "0; both by score (default)",
    )


def say_buried(kind: str | None) -> str | None:
    """Return what a list of both kinds that hides one should say, or None."""
    if kind is None:
        return None
    ones, zeros = ("given 1s", "forgotten"), ("given 0s", "added lightly")
    (filling, reason), (hidden, _) = (ones, zeros) if kind == "missing" else (zeros, ones)
    return (
        f"nearly all of the first 100 annotations are {filling}, which hide the {hidden}; where labels are {reason}, "
        f"read the list of --kind {kind}."
    )


def review(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr review``."""
    import numpy as np

    from nmlsdr.inspection import buried_kind, rank_suspects

    from .method import recommended, scaler_for
    from .preparing import prepare
    from .reading import input_files, read_data
    from .reviewed import clamp
    from .writing import check_target, need_parquet, row_columns, write_result, wrote

    need_parquet(check_suffix(args.out, SUFFIXES))
    check_target(args.out, input_files(args))
    table = read_data(args, console, need_labels=True)
    prepare(table, args, console)
    X, scaler = table.data, scaler_for(args, table.data)
    if scaler is not None:
        with console.step("standardize"):
            X = scaler.fit_transform(X)
    name, _, method = recommended(args)
    with console.step(f"fit {name}"):
        alpha = clamp(table.reviewed, table.target, args.alpha_labeled, args.alpha_unlabeled)
        method.fit(X, table.target, **({} if alpha is None else {"alpha": alpha}))
    found = rank_suspects(method.flip_scores_, table.target, kind=args.kind, reviewed=table.reviewed)
    note = say_buried(buried_kind(found)) if args.kind == "both" else None
    if note is not None:
        console.note(note)
    found = found.first(args.top)

    names = np.array(table.label_names or [f"label_{c}" for c in range(table.target.shape[1])], dtype=object)
    columns = [
        *row_columns(table, args.id, found.row),
        ("label", names[found.label]),
        ("given", found.given),
        ("score", found.score),
        ("suggest", np.where(found.given == 1, "remove", "add").astype(object)),
        ("kind", found.kind.astype(object)),
        ("rank", found.rank),
        ("verdict", np.full(len(found.row), "", dtype=object)),
    ]
    if args.explain:
        with console.step("find the neighbours"):
            columns += _neighbors(found, method.embedding_, table, args)
    with console.step(f"write {args.out}"):
        write_result(args.out, columns, {}, inputs=input_files(args))
    wrote(console, args.out, len(found.row), (len(names), "label"))
    return 0


def _neighbors(found: Any, Z: Any, table: Any, args: argparse.Namespace) -> list[tuple[str, Any]]:
    """Id or number, given label (empty: unknown) and distance of the nearest labelled rows of each annotation's."""
    import numpy as np

    from nmlsdr._report.fit import neighbors_of

    rows, place = np.unique(found.row, return_inverse=True)
    distances, indices = neighbors_of(Z, rows, table.labeled, metric=args.metric, n_jobs=args.jobs)
    columns: list[tuple[str, Any]] = []
    for j in range(indices.shape[1]):
        near = indices[place, j]
        given = table.target[near, found.label]
        columns += [
            (f"near_{j + 1}", near if table.ids is None else np.array(table.ids, dtype=object)[near]),
            (f"near_{j + 1}_given", np.array(["" if g == -1 else str(g) for g in given.tolist()], dtype=object)),
            (f"near_{j + 1}_distance", distances[place, j]),
        ]
    return columns
