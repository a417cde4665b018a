"""review: which given labels disagree with their neighbourhood."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import add_common, add_data, add_graph, add_out, check_suffix, count
from .console import Console

__all__ = ["add_parsers"]

SUFFIXES = (".csv", ".tsv", ".parquet", ".pq")


def add_parsers(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        "review",
        help="rank the annotations that are likely to be wrong",
        description="Propagate the labels over the graph of nearest neighbours and list the annotations by how much "
        "their neighbourhood contradicts them. Columns: row (from 0), label, given (0 or 1), F (the propagated label "
        "in [0, 1]), flip (1: F lies on the other side of .5), score |F - given|, the largest first.",
    )
    add_data(parser, labels="needed, but for npz and svmlight, which hold them apart", mask=True)
    add_graph(parser)
    parser.add_argument("--top", type=count, metavar="N", help="write the first N only (default: all)")
    add_common(parser)
    add_out(parser, ".csv, .tsv or .parquet")
    parser.set_defaults(run=review)


def review(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr review``."""
    import numpy as np
    from scipy import sparse
    from sklearn.preprocessing import StandardScaler

    import nmlsdr

    from .reading import input_files, read_data
    from .writing import check_target, need_parquet, row_columns, write_result, wrote

    need_parquet(check_suffix(args.out, SUFFIXES))
    check_target(args.out, input_files(args))
    table = read_data(args, console, need_labels=True)
    X = table.data
    if not args.no_standardize:
        with console.step("standardize"):
            X = StandardScaler(with_mean=not sparse.issparse(X)).fit_transform(X)
    alphas = {name: getattr(args, name) for name in ("alpha_labeled", "alpha_unlabeled")}
    alphas = {name: value for name, value in alphas.items() if value is not None}
    propagation = nmlsdr.MultiLabelPropagation(n_neighbors=args.n_neighbors, n_jobs=args.jobs, **alphas)
    with console.step("propagate the labels"):
        propagation.fit(X, table.target)

    rows = np.flatnonzero(table.labeled)
    n_labels = table.target.shape[1]
    scores = np.asarray(propagation.flip_scores_)[rows].ravel()
    # Equal scores stay in the order of rows and labels.
    order = np.argsort(-scores, kind="stable")[: args.top]
    names = np.array(table.label_names or [f"label_{c}" for c in range(n_labels)], dtype=object)
    row, label = rows[order // n_labels], order % n_labels
    columns = [
        *row_columns(table, args.id, row),
        ("label", names[label]),
        ("given", table.target[row, label]),
        ("F", propagation.label_distributions_[row, label]),
        ("flip", propagation.label_flips_[row, label]),
        ("score", scores[order]),
    ]
    with console.step(f"write {args.out}"):
        write_result(args.out, columns, {}, inputs=input_files(args))
    wrote(console, args.out, len(row), (n_labels, "label"))
    return 0
