"""Read svmlight files with several labels per row: "label,label index:value ...", as LibSVM's multi-label sets.

scikit-learn reads a file of ordinary lines: those that it cannot understand otherwise than `_by_line`. What that would
refuse is looked for in the arrays that come out. Where a line or a value is not ordinary (a sign before an index, an
underscore, a blank line among the rows, indices out of order, a label that nobody asked for ...) `_by_line` reads the
file from its beginning, and says what is wrong, and where.
"""

from __future__ import annotations

import io
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._cells import Table, number_problem
from ._files import BLANKS, MAX_FEATURES, DataFileError, Lines, Path_, allowance, place, shorten, too_large

UNLABELED = "-1"
ORDINARY = b"0123456789.+-eE,: \n"
ODD = (b" +", b" -", b" 000000000", b"\n000000000")
SIGNED_BEGINNING = re.compile(rb"\n[+-][0-9]*:")
BATCH = 1 << 18  # letters


class Bounds(NamedTuple):
    """What the caller said of a file."""

    label_ids: Sequence[str] | None  # the labels that a row may have, None: any
    zero_based: bool
    n_features: int  # at most
    argument: str  # that says so


class Rows(NamedTuple):
    """The rows of a file: the arrays of a CSR matrix, zeros among them, and the labels of all rows in a row."""

    values: NDArray[np.float64]
    indices: NDArray[np.int64]  # from 0
    indptr: NDArray[np.int64]
    labels: NDArray[np.float64]  # whole numbers
    n_labels: NDArray[np.int64]  # of each row


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
    argument = f"n_features={n_features}" if most == n_features else f"max_features={max_features}"
    bounds = Bounds(label_ids, zero_based, most, argument)
    rows = _ordinary(path, bounds, max_bytes) or _by_line(path, bounds, max_bytes)
    width = n_features if n_features is not None else int(rows.indices.max(initial=-1)) + 1
    index_type = np.int32 if max(len(rows.values), width) < 2**31 else np.int64
    indices, indptr = rows.indices.astype(index_type, copy=False), rows.indptr.astype(index_type, copy=False)
    data = sparse.csr_array((rows.values, indices, indptr), shape=(len(rows.n_labels), width))
    data.eliminate_zeros()
    target, names = _target(path, rows, label_ids, max_bytes)
    return Table(data, target, None, names)


def _name(label: float) -> str:
    """Return the id of a label as a plain integer in text."""
    return str(int(label))


# ---------------------------------------------------------------- ordinary files, by scikit-learn


def _ordinary(path: Path_, bounds: Bounds, max_bytes: int | None) -> Rows | None:
    """Return the rows, None where the other reader must look."""
    from sklearn.datasets import load_svmlight_file  # all of sklearn.datasets, which no other kind of file needs

    try:
        with Lines(path, max_bytes) as lines:
            file = _OrdinaryLines(lines)
            X, sets = load_svmlight_file(file, multilabel=True, zero_based=bounds.zero_based)
    except (ValueError, OverflowError):  # of the file's limits, too: what comes first in it may be something else
        return None
    n_labels = np.fromiter(map(len, sets), np.int64, len(sets))
    labels = np.fromiter(chain.from_iterable(sets), np.float64, int(n_labels.sum()))
    row = np.repeat(np.arange(len(sets)), n_labels)
    twice = (labels[1:] == labels[:-1]) & (row[1:] == row[:-1])  # scikit-learn sorts the labels of a row
    sound = (
        len(sets) == file.n_rows
        and np.isfinite(X.data).all()
        and X.indices.max(initial=-1) < bounds.n_features
        and np.isfinite(labels).all()
        and (labels == np.floor(labels)).all()
        and not twice.any()
        and (n_labels[row[labels == int(UNLABELED)]] == 1).all()
        and (bounds.label_ids is None or {*map(_name, np.unique(labels))} <= {*bounds.label_ids, UNLABELED})
    )
    return Rows(X.data, X.indices, X.indptr, labels, n_labels) if sound else None


class _OrdinaryLines:
    """The lines of a file as bytes, without comments; ValueError where one is not ordinary.

    The letters of an ordinary line leave scikit-learn two ways to go astray. It takes any index that `int` takes, this
    reader only one of at most 18 digits: a sign, or the 9 zeros with which a longer index below 2**31 begins, stands
    behind a blank or at the beginning of a line. And it passes over blank lines: `n_rows` counts the lines that are
    rows unless they are blank.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.n_rows = 0

    def read(self, size: int = -1) -> bytes:
        """Make this a file to scikit-learn, which reads it line by line."""
        raise io.UnsupportedOperation

    def __iter__(self) -> Iterator[bytes]:
        return chain.from_iterable(self._blocks())

    def _blocks(self) -> Iterator[list[bytes]]:
        """Check many lines at once, for a check of a short line costs as much as to read it."""
        n_before = 0
        for lines in _batches(self._lines):
            text = "\n".join(lines)
            if "#" in text:
                cut = [line.split("#", 1)[0] for line in lines]
                lines = [part for part, line in zip(cut, lines, strict=True) if part.strip(" \t") or "#" not in line]
                text = "\n".join(lines)
            block = b"\n" + text.replace("\t", " ").encode()
            if (
                block.translate(None, ORDINARY)
                or any(block.find(odd) >= 0 for odd in ODD)
                or SIGNED_BEGINNING.search(block)
            ):
                raise ValueError
            content = block.rstrip(b"\n")
            if content:
                self.n_rows = n_before + content.count(b"\n")
            n_before += len(lines)
            yield content.split(b"\n")


def _batches(lines: Lines) -> Iterator[list[str]]:
    """Yield lines, about `BATCH` letters at a time."""
    batch, size = [], 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if size > BATCH:
            yield batch
            batch, size = [], 0
    yield batch


# ---------------------------------------------------------------- any file, line by line


def _by_line(path: Path_, bounds: Bounds, max_bytes: int | None) -> Rows:
    """Return the rows, or say what is wrong with the first line that is."""
    indices, values, indptr = array("q"), array("d"), array("q", [0])
    labels, n_labels = array("d"), array("q")
    blank = 0
    allowed = None if bounds.label_ids is None else {*bounds.label_ids, UNLABELED}
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
            row_labels = [] if ":" in tokens[0] else _labels(lines, tokens.pop(0))
            unknown = [_name(label) for label in row_labels if allowed is not None and _name(label) not in allowed]
            if unknown:
                raise lines.error(f"the label {unknown[0]} is none of those asked for; add it or correct the line")
            row = dict(_feature(lines, token, bounds) for token in tokens)
            if len(row) < len(tokens):
                raise lines.error("an index stands there twice; remove one of the two values")
            for j in sorted(row):
                indices.append(j)
                values.append(row[j])
            indptr.append(len(indices))
            labels.extend(row_labels)
            n_labels.append(len(row_labels))
    return Rows(*map(np.asarray, (values, indices, indptr, labels, n_labels)))


def _labels(lines: Lines, token: str) -> list[float]:
    """Return the labels of one row."""
    labels = []
    for part in token.split(","):
        if number_problem(part) is not None or float(part) != math.floor(float(part)):
            raise lines.error(f"{shorten(part)!r} is no label; write label,label index:value")
        labels.append(float(part))
    if int(UNLABELED) in labels and len(labels) > 1:
        raise lines.error("-1 (unlabelled) stands beside other labels; remove one or the other")
    if len(set(labels)) < len(labels):
        raise lines.error("a label stands there twice; remove one of them")
    return labels


def _feature(lines: Lines, token: str, bounds: Bounds) -> tuple[int, float]:
    """Return column (from 0) and value of "index:value"."""
    index, _, value = token.partition(":")
    if not index.isascii() or not index.isdigit() or len(index) > 18:
        raise lines.error(f"{shorten(token)!r} is not index:value; correct it")
    problem = number_problem(value)
    if problem is not None:
        raise lines.error(problem, index)
    column = int(index) - (not bounds.zero_based)
    if column < 0:
        raise lines.error("the index 0 stands in a file that counts from 1; pass zero_based=True or renumber")
    if column >= bounds.n_features:
        raise lines.error(f"the index {index} is beyond {bounds.argument}; raise it or correct the line")
    return column, float(value)


# ---------------------------------------------------------------- labels


def _target(
    path: Path_, rows: Rows, label_ids: Sequence[str] | None, max_bytes: int | None
) -> tuple[NDArray[np.int64] | None, list[str] | None]:
    """Return labels (n, C) and their names; None if no row has a label."""
    unlabeled = rows.labels == int(UNLABELED)
    found = np.unique(rows.labels[~unlabeled])
    if label_ids is None and found.tolist() == [1] and unlabeled.any():
        raise DataFileError(
            f"{place(path)}: its labels are 1 and -1, which may mean yes and no; write no label for no, or pass "
            "label_columns=['1'] if -1 means unlabelled."
        )
    names = [_name(label) for label in found] if label_ids is None else list(label_ids)
    if not names:
        return None, None
    n_rows = len(rows.n_labels)
    if n_rows * len(names) * np.dtype(np.int64).itemsize > allowance(path, max_bytes):
        raise too_large(path, f"has {n_rows} rows and {len(names)} labels, a table of", max_bytes)
    position = {name: c for c, name in enumerate(names)}
    columns = np.array([position[_name(label)] for label in found], dtype=np.intp)
    row = np.repeat(np.arange(n_rows), rows.n_labels)
    target = np.zeros((n_rows, len(names)), dtype=np.int64)
    target[row[unlabeled]] = -1
    target[row[~unlabeled], columns[np.searchsorted(found, rows.labels[~unlabeled])]] = 1
    return target, names
