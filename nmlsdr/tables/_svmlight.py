"""Read svmlight files with several labels per row, "label,label index:value ...".

The reader of scikit-learn skips blank lines, reads 1_0 as 10 and does not name the line of an error. Around it each
line had to be matched with a pattern first, and then it takes as long as this one.
"""

import functools
import math
import re
from array import array
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._checks.label_sets import indicator
from .._checks.words import BLANKS
from .._errors import shorten
from ._columns import csr
from ._files import Form, Lines, Path_
from ._labels import check_table
from ._roles import LabelNames

UNLABELED = "-1"
# Characters are repeated possessively (the second +), so that matching takes time linear in the length of the line.
# Groups are not: Python 3.11.2 goes on behind what a possessive group had matched before it failed.
NUMBER = r"[+-]?+(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?"
ROW = re.compile(rf" *+(?:({NUMBER}(?:,{NUMBER})*)(?: ++|$))?((?:[0-9]{{1,18}}+:{NUMBER}(?: ++|$))*)")


def read_svmlight(path: Path_, form: Form, labels: LabelNames | None = None) -> Bunch:
    """Read a file, plain or gzipped.  A row without labels has none; a row with the label -1 is unlabelled.

    The label columns are those that the caller names, or the ids that occur, in increasing order.
    """
    index_range = _IndexRange.of(form)
    first = index_range.first
    indices = array("q")
    values = array("d")
    indptr = array("q", [0])
    sets = list[set[str]]()
    with Lines(path, form) as lines:
        known = functools.cache(functools.partial(_labels_of, lines, None if labels is None else {*labels, UNLABELED}))
        for text in _rows(lines):
            row: Any = ROW.match(text)
            numbers = [*map(float, row[2].replace(":", " ").split())]
            fault = _fault_in_features(text, row, numbers, index_range)
            if fault is not None:
                raise lines.error(fault)
            sets.append(known(row[1]))
            indices.extend(map(int, numbers[::2]))
            values.extend(numbers[1::2])
            indptr.append(len(indices))
    width = form.n_features if form.n_features is not None else max(indices, default=first - 1) + 1 - first
    data = csr(values, np.array(indices) - first, indptr, (len(sets), width))
    data.eliminate_zeros()
    names = list(dict.fromkeys(labels or sorted({*chain.from_iterable(sets)} - {UNLABELED}, key=int)))
    if not names:
        return Bunch(data=data, target=None, feature_names=None, label_names=None)
    check_table(path, len(sets), len(names), form)
    return Bunch(data=data, target=_target(sets, names), feature_names=None, label_names=names)


class _IndexRange(NamedTuple):
    """The first and the last index that a feature may have, and the field of the form that gives the last."""

    first: int
    last: int
    limit: str

    @classmethod
    def of(cls, form: Form) -> "_IndexRange":
        """Return the range for a form."""
        first = int(not form.zero_based)
        if form.n_features is not None and form.n_features <= form.max_features:
            return cls(first, form.n_features - 1 + first, "n_features")
        return cls(first, form.max_features - 1 + first, "max_features")


def _fault_in_features(text: str, row: re.Match[str], numbers: list[float], index_range: _IndexRange) -> str | None:
    """Return what is wrong with the features of a line; None if nothing is.

    Parameters
    ----------
    text : str
    row : match of ROW
        It ends before the first word that is no feature.
    numbers : list of float
        The indices and the values in turn.
    index_range : _IndexRange
    """
    first, last, limit = index_range
    indices = numbers[::2]
    triples = enumerate(zip([first - 1, *indices], indices, numbers[1::2]))  # noqa: B905
    wrong = [k for k, (before, index, value) in triples if not before < index <= last or math.isinf(value)]
    if not wrong and row.end() == len(text):
        return None
    word = row[2].split()[wrong[0]] if wrong else text[row.end() :].split(" ")[0]
    fault = f"{shorten(word)!r} is not index:value with a finite number and an index that is above the one before"
    limits = f"at least {first} (0 with zero_based=True) and at most {limit}={last}"
    return f"{fault}, {limits}; correct it"


def _target(sets: list[set[str]], names: list[str]) -> NDArray[np.int64]:
    """Return the labels (n, C) of rows with these sets of labels."""
    target = indicator([row - {UNLABELED} for row in sets], names)
    target[[UNLABELED in row for row in sets]] = -1
    return target


def _rows(lines: Lines) -> Iterator[str]:
    """Yield the lines without comments; blank lines may stand at the end only."""
    blank = 0
    for line in lines:
        text = line.partition("#")[0].replace("\t", " ")
        if not text.strip(BLANKS):
            blank = blank or (0 if "#" in line else lines.number)
            continue
        if blank:
            lines.number = blank
            raise lines.error("the line is blank, and rows follow it; remove it, or write 1:0 for a row of 0")
        yield text


def _labels_of(lines: Lines, known: set[str] | None, text: str | None) -> set[str]:
    """Return the labels of a row; `known` are those that there may be."""
    labels: set[str] = set()
    for number in text.split(",") if text else ():
        label = _label_of(lines, known, number)
        if label in labels or UNLABELED in labels or (labels and label == UNLABELED):
            raise lines.error(f"the label {label} appears twice, or beside -1 (unlabelled); correct it")
        labels.add(label)
    return labels


def _label_of(lines: Lines, known: set[str] | None, number: str) -> str:
    """Return the label that a number names, such as 3 for "3.0"; raise unless it is whole and known."""
    value = float(number)
    label = str(int(value)) if value.is_integer() else None
    if label is None or (known is not None and label not in known):
        fault = "not a whole number" if label is None else "not among the label columns"
        raise lines.error(f"the label {shorten(number)!r} is {fault}; write label,label index:value")
    return label
