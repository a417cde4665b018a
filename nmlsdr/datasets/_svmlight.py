"""Read svmlight files with several labels per row: "label,label index:value ...", as LibSVM's multi-label sets."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._cells import Table, number_problem
from ._files import BLANKS, MAX_FEATURES, DataFileError, Lines, Path_, allowance, place, shorten, too_large

UNLABELED = "-1"


def read_svmlight(
    path: Path_,
    label_ids: Sequence[str] | None = None,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    max_bytes: int | None = None,
    max_features: int = MAX_FEATURES,
) -> Table:
    """Read a file, plain or gzipped.  A row without labels has none; a row with the label -1 is unlabelled.

    The columns of the labels are `label_ids`, or the ids that occur, in increasing order.
    """
    most = min(max_features, n_features) if n_features is not None else max_features
    limit = f"n_features={n_features}" if most == n_features else f"max_features={max_features}"
    indices, values, indptr = array("q"), array("d"), array("q", [0])
    row_labels: list[list[str]] = []
    blank = widest = 0
    allowed = None if label_ids is None else {*label_ids, UNLABELED}
    with Lines(path, max_bytes) as lines:
        for raw in lines:
            tokens = [token for token in raw.split("#", 1)[0].replace("\t", " ").split(" ") if token]
            if not tokens and raw.strip(BLANKS):  # a comment
                continue
            if not raw:
                blank = blank or lines.number
                continue
            if not tokens or blank:
                raise lines.error(
                    f"line {blank or lines.number} is blank; remove it, or write 1:0 for a row of zeros without labels"
                )
            labels = [] if ":" in tokens[0] else _labels(lines, tokens.pop(0))
            unknown = [label for label in labels if allowed is not None and label not in allowed]
            if unknown:
                raise lines.error(f"the label {unknown[0]} is none of those asked for; add it or correct the line")
            row_labels.append(labels)
            row = dict(_feature(lines, token, zero_based, most, limit) for token in tokens)
            if len(row) < len(tokens):
                raise lines.error("an index stands there twice; remove one of the two values")
            widest = max([widest, *(j + 1 for j in row)])
            for j in sorted(row):
                if row[j] != 0:
                    indices.append(j)
                    values.append(row[j])
            indptr.append(len(indices))
    width = n_features if n_features is not None else widest
    index_type = np.int32 if max(indptr[-1], width) < 2**31 else np.int64
    data = sparse.csr_array(
        (np.array(values, dtype=np.float64), np.array(indices, dtype=index_type), np.array(indptr, dtype=index_type)),
        shape=(len(row_labels), width),
    )
    target, names = _target(path, row_labels, label_ids, max_bytes)
    return Table(data, target, None, names)


def _labels(lines: Lines, token: str) -> list[str]:
    """Return the label ids of one row as plain integers in text."""
    labels = []
    for part in token.split(","):
        if number_problem(part) is not None or float(part) != math.floor(float(part)):
            raise lines.error(f"{shorten(part)!r} is no label; write label,label index:value")
        labels.append(str(int(float(part))))
    if UNLABELED in labels and len(labels) > 1:
        raise lines.error("-1 (unlabelled) stands beside other labels; remove one or the other")
    if len(set(labels)) < len(labels):
        raise lines.error("a label stands there twice; remove one of them")
    return labels


def _feature(lines: Lines, token: str, zero_based: bool, most: int, limit: str) -> tuple[int, float]:
    """Return column (from 0) and value of "index:value"."""
    index, _, value = token.partition(":")
    if not index.isascii() or not index.isdigit() or len(index) > 18:
        raise lines.error(f"{shorten(token)!r} is not index:value; correct it")
    problem = number_problem(value)
    if problem is not None:
        raise lines.error(problem, index)
    column = int(index) - (not zero_based)
    if column < 0:
        raise lines.error("the index 0 stands in a file that counts from 1; pass zero_based=True or renumber")
    if column >= most:
        raise lines.error(f"the index {index} is beyond {limit}; raise it or correct the line")
    return column, float(value)


def _target(
    path: Path_, row_labels: list[list[str]], label_ids: Sequence[str] | None, max_bytes: int | None
) -> tuple[NDArray[np.int64] | None, list[str] | None]:
    """Return labels (n, C) and their names; None if no row has a label."""
    found = {label for labels in row_labels for label in labels} - {UNLABELED}
    if label_ids is None:
        if found == {"1"} and [UNLABELED] in row_labels:
            raise DataFileError(
                f"{place(path)}: its labels are 1 and -1, which may mean yes and no; write no label for no, or pass "
                "label_columns=['1'] if -1 means unlabelled."
            )
        names = sorted(found, key=int)
    else:
        names = list(label_ids)
    if not names:
        return None, None
    if len(row_labels) * len(names) * np.dtype(np.int64).itemsize > allowance(path, max_bytes):
        raise too_large(path, f"has {len(row_labels)} rows and {len(names)} labels, a table of", max_bytes)
    position = {name: c for c, name in enumerate(names)}
    target = np.zeros((len(row_labels), len(names)), dtype=np.int64)
    for i, labels in enumerate(row_labels):
        if labels == [UNLABELED]:
            target[i] = -1
        else:
            target[i, [position[label] for label in labels]] = 1
    return target, names
