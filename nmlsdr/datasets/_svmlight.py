"""Read svmlight files with several labels per row, "label,label index:value ...", through scikit-learn.

scikit-learn passes over blank lines, takes 1_0 for 10 and does not say which line is wrong. So each line is matched
with the form of a row before scikit-learn gets it, and only a line that is refused is looked at part by part.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._cells import FileContents, number_problem
from ._columns import Wanted
from ._files import BLANKS, DataFileError, Lines, Path_, check_size, place, shorten

UNLABELED = -1
# No part of the pattern gives back what it took (the second +), so that matching is linear in the line.
NUMBER = r"[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
ROW = re.compile(rf" *+(?:({NUMBER}(?:,{NUMBER})*+)(?: ++|$))?+(?:([0-9]{{1,18}}+):{NUMBER}(?: ++|$))*+")


def read_svmlight(path: Path_, wanted: Wanted) -> FileContents:
    """Read a file, plain or gzipped.  A row without labels has none; a row with the label -1 is unlabelled.

    The columns of the labels are those that are wanted, or the ids that occur, in increasing order.
    """
    from sklearn.datasets import load_svmlight_file  # all of sklearn.datasets, which no other kind of file needs

    offset = int(not wanted.zero_based)
    with Lines(path, wanted.max_bytes) as lines:
        rows = _MatchedRows(lines, wanted)
        try:
            X, sets = load_svmlight_file(rows, multilabel=True, zero_based=wanted.zero_based)
        except DataFileError:
            raise
        except (ValueError, OverflowError):
            rows.refuse(lines.text)
        wrong = np.flatnonzero(~np.isfinite(X.data))
        if len(wrong):
            row = int(np.searchsorted(X.indptr, wrong[0], side="right")) - 1
            lines.number, index = rows.numbers[row], X.indices[wrong[0]] + offset
            raise lines.error("the value is not a finite number; fill it in or drop the row", str(index))
    width = int(X.indices.max(initial=-1)) + 1 if wanted.n_features is None else wanted.n_features
    index_type = np.int32 if max(width, X.nnz) < 2**31 else np.int64
    parts = (X.data, X.indices.astype(index_type, copy=False), X.indptr.astype(index_type, copy=False))
    data = sparse.csr_array(parts, shape=(len(sets), width))
    data.eliminate_zeros()
    return FileContents(data, *_target(path, sets, wanted))


class _MatchedRows:
    """The rows of a file as bytes, for scikit-learn, and the numbers of their lines."""

    def __init__(self, lines: Lines, wanted: Wanted) -> None:
        self._lines = lines
        self._known = None if wanted.labels is None else {*wanted.labels, str(UNLABELED)}
        self._offset = int(not wanted.zero_based)
        self._n_features, self._argument = wanted.max_features, f"max_features={wanted.max_features}"
        if wanted.n_features is not None and wanted.n_features <= wanted.max_features:
            self._n_features, self._argument = wanted.n_features, f"n_features={wanted.n_features}"
        self._sound: set[str] = set()  # lists of labels
        self.numbers: list[int] = []

    def read(self, size: int = -1) -> bytes:
        """Make this a file to scikit-learn, which reads it line by line."""
        raise io.UnsupportedOperation

    def __iter__(self) -> Iterator[bytes]:
        blank = 0
        for line in self._lines:
            text = line.partition("#")[0].replace("\t", " ")
            if not text.strip(BLANKS):
                blank = blank or (0 if "#" in line else self._lines.number)
                continue
            if blank:
                self._lines.number = blank
                raise self._lines.error(
                    "the line is blank, and rows follow it; remove it, or write 1:0 for a row of zeros without labels"
                )
            found = ROW.fullmatch(text)
            if found is None or int(found[2] or 0) - self._offset >= self._n_features:
                self.refuse(text)
            if found[1] is not None and found[1] not in self._sound:
                self._check_labels(found[1])
                self._sound.add(found[1])
            self.numbers.append(self._lines.number)
            yield text.encode()

    def _check_labels(self, text: str) -> None:
        """Raise if the labels of a row cannot be what is meant."""
        parts, error = text.split(","), self._lines.error
        for part in parts:
            if number_problem(part) is not None or not float(part).is_integer():
                raise error(f"{shorten(part)!r} is no label; write label,label index:value")
            if self._known is not None and str(int(float(part))) not in self._known:
                raise error(f"the label {int(float(part))} is none of those asked for; add it or correct the line")
        labels = {float(part) for part in parts}
        if UNLABELED in labels and len(parts) > 1:
            raise error("-1 (unlabelled) stands beside other labels; remove one or the other")
        if len(labels) < len(parts):
            raise error("a label appears twice; remove one of them")

    def refuse(self, text: str) -> NoReturn:
        """Raise for the first part of a row that is wrong."""
        tokens = [token for token in text.partition("#")[0].replace("\t", " ").split(" ") if token]
        error = self._lines.error
        if ":" not in tokens[0]:
            self._check_labels(tokens.pop(0))
        previous = -math.inf
        for token in tokens:
            index, _, value = token.partition(":")
            if not (index.isascii() and index.isdigit() and len(index) <= 18):
                raise error(f"{shorten(token)!r} is not index:value; correct it")
            if (problem := number_problem(value)) is not None:
                raise error(problem, index)
            column = int(index) - self._offset
            if column < 0:
                raise error("the index 0 stands in a file that counts from 1; pass zero_based=True or renumber")
            if column >= self._n_features:
                raise error(f"the index {index} is beyond {self._argument}; raise it or correct the line")
            if column <= previous:
                raise error(
                    f"the index {index} appears twice or after a larger one; write each once, in increasing order"
                )
            previous = column
        raise error("the line is not a row of labels and index:value; correct it")


def _target(
    path: Path_, sets: Sequence[tuple[float, ...]], wanted: Wanted
) -> tuple[NDArray[np.int64] | None, None, list[str] | None]:
    """Return labels (n, C), no names of features, and the names of the labels; None if no row has a label."""
    row = np.repeat(np.arange(len(sets)), [len(labels) for labels in sets])
    labels = np.fromiter(chain.from_iterable(sets), np.float64, len(row))
    known = labels != UNLABELED
    found, place_ = np.unique(labels[known], return_inverse=True)
    if wanted.labels is None and found.tolist() == [1] and not known.all():
        raise DataFileError(
            f"{place(path)}: its labels are 1 and -1, and -1 means unlabelled here; write no label for a negative, or "
            "pass label_columns=['1']."
        )
    found_names = [str(int(label)) for label in found]
    names = found_names if wanted.labels is None else list(wanted.labels)
    if not names:
        return None, None, None
    declared = f"has {len(sets)} rows and {len(names)} labels, a table of"
    check_size(path, len(sets) * len(names) * 8, declared, wanted.max_bytes)
    position = {name: c for c, name in enumerate(names)}
    target = np.zeros((len(sets), len(names)), dtype=np.int64)
    target[row[~known]] = -1
    target[row[known], np.array([position[name] for name in found_names], dtype=np.intp)[place_]] = 1
    return target, None, names
