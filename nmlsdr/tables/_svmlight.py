"""Read svmlight files with several labels per row, "label,label index:value ...", through scikit-learn.

scikit-learn skips blank lines, reads 1_0 as 10 and does not name the line of an error. So each line is first matched
with a pattern of a row; a line that does not match is checked part by part, to say what is wrong with it.
"""

import io
import re
from collections.abc import Iterator
from itertools import chain
from typing import NoReturn

import numpy as np
from sklearn.utils import Bunch

from .._checks.words import BLANKS
from .._errors import shorten
from ._columns import csr
from ._files import DataFileError, Form, Lines, Path_
from ._labels import check_table, indicator
from ._numbers import number_problem
from ._roles import LabelNames

UNLABELED = "-1"
# The quantifiers are possessive (the second +), so that matching takes time linear in the length of the line.
NUMBER = r"[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
ROW = re.compile(rf" *+(?:({NUMBER}(?:,{NUMBER})*+)(?: ++|$))?+(?:([0-9]{{1,18}}+):{NUMBER}(?: ++|$))*+")


def read_svmlight(path: Path_, form: Form, labels: LabelNames | None = None) -> Bunch:
    """Read a file, plain or gzipped.  A row without labels has none; a row with the label -1 is unlabelled.

    The label columns are those that the caller names, or the ids that occur, in increasing order.
    """
    from sklearn.datasets import load_svmlight_file  # here, because it loads all of sklearn.datasets

    with Lines(path, form) as lines:
        rows = _MatchedRows(lines, form, labels)
        try:
            X, sets = load_svmlight_file(rows, multilabel=True, zero_based=form.zero_based)
        except DataFileError:
            raise
        except OverflowError:
            raise lines.error("an index is above 2147483647, the largest there may be; drop empty columns") from None
        except ValueError:
            rows.refuse(lines.text)
        wrong = np.flatnonzero(~np.isfinite(X.data))
        if len(wrong):
            row = int(np.searchsorted(X.indptr, wrong[0], side="right")) - 1
            lines.number, index = rows.numbers[row], X.indices[wrong[0]] + rows.offset
            raise lines.error("the value is not a finite number; fill it in or drop the row", str(index))
    width = int(X.indices.max(initial=-1)) + 1 if form.n_features is None else form.n_features
    data = csr(X.data, X.indices, X.indptr, (len(sets), width))
    data.eliminate_zeros()
    found = [{str(int(label)) for label in labels_of_row} for labels_of_row in sets]
    names = list(labels or sorted({*chain.from_iterable(found)} - {UNLABELED}, key=int))
    target = None
    if names:
        check_table(path, len(found), len(names), form)
        target = indicator([row - {UNLABELED} for row in found], names)
        target[[UNLABELED in row for row in found]] = -1
    return Bunch(data=data, target=target, feature_names=None, label_names=names or None)


class _MatchedRows:
    """The rows of a file as bytes, for scikit-learn, and the numbers of their lines."""

    def __init__(self, lines: Lines, form: Form, labels: LabelNames | None) -> None:
        self._lines = lines
        self._known = None if labels is None else {*labels, UNLABELED}
        self.offset = int(not form.zero_based)
        given = form.n_features is not None and form.n_features <= form.max_features
        self._argument = "n_features" if given else "max_features"
        self._n_features = getattr(form, self._argument)
        self._sound: set[str] = set()  # lists of labels that have been checked
        self.numbers: list[int] = []

    def read(self, size: int = -1) -> bytes:
        """Exist, so that scikit-learn takes this for a file; it then reads line by line."""
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
                raise self._lines.error("the line is blank, and rows follow it; remove it, or write 1:0 for a row of 0")
            found = ROW.fullmatch(text)
            if found is None or int(found[2] or 0) - self.offset >= self._n_features:
                self.refuse(text)
            if found[1] is not None and found[1] not in self._sound:
                self._check_labels(found[1])
                self._sound.add(found[1])
            self.numbers.append(self._lines.number)
            yield text.encode()

    def _check_labels(self, text: str) -> None:
        """Raise if the labels of a row are wrong."""
        labels: set[str] = set()
        for part in text.split(","):
            label = str(int(float(part))) if number_problem(part) is None and float(part).is_integer() else None
            if label is None or (self._known is not None and label not in self._known):
                what = "not a whole number" if label is None else "not among the label columns"
                raise self._lines.error(f"the label {shorten(part)!r} is {what}; write label,label index:value")
            if label in labels or UNLABELED in labels or (labels and label == UNLABELED):
                raise self._lines.error(f"the label {label} appears twice, or beside -1 (unlabelled); correct it")
            labels.add(label)

    def refuse(self, text: str) -> NoReturn:
        """Raise for the first part of a row that is wrong."""
        tokens = [token for token in text.partition("#")[0].replace("\t", " ").split(" ") if token]
        if ":" not in tokens[0]:
            self._check_labels(tokens.pop(0))
        previous, limit = self.offset - 1, self._n_features + self.offset - 1
        for token in tokens:
            found = ROW.fullmatch(token)
            if found is None or found[2] is None or not previous < int(found[2]) <= limit:
                what = f"{shorten(token)!r} is not index:value with a number and an index that is above the one before,"
                where = f"at least {self.offset} (0 with zero_based=True) and at most {self._argument}={limit}"
                raise self._lines.error(f"{what} {where}; correct it")
            previous = int(found[2])
        raise self._lines.error("the line is not a row of labels and index:value; correct it")
