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
from typing import Any

import numpy as np
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
    is_given = form.n_features is not None and form.n_features <= form.max_features
    limit = "n_features" if is_given else "max_features"
    first = int(not form.zero_based)
    last = getattr(form, limit) - 1 + first
    indices = array("q")
    values = array("d")
    indptr = array("q", [0])
    sets = list[set[str]]()
    with Lines(path, form) as lines:
        known = functools.cache(functools.partial(_labels_of, lines, None if labels is None else {*labels, UNLABELED}))
        for text in _rows(lines):
            row: Any = ROW.match(text)
            numbers = [*map(float, row[2].replace(":", " ").split())]
            row_indices = numbers[::2]
            row_values = numbers[1::2]
            triples = enumerate(zip([first - 1, *row_indices], row_indices, row_values))  # noqa: B905
            wrong = [k for k, (before, index, value) in triples if not before < index <= last or math.isinf(value)]
            if wrong or row.end() < len(text):
                token = row[2].split()[wrong[0]] if wrong else text[row.end() :].split(" ")[0]
                fault = f"{shorten(token)!r} is not index:value with a finite number and an index that is above the one"
                where = f"before, at least {first} (0 with zero_based=True) and at most {limit}={last}"
                raise lines.error(f"{fault} {where}; correct it")
            sets.append(known(row[1]))
            indices.extend(map(int, row_indices))
            values.extend(row_values)
            indptr.append(len(indices))
    width = form.n_features if form.n_features is not None else max(indices, default=first - 1) + 1 - first
    data = csr(values, np.array(indices) - first, indptr, (len(sets), width))
    data.eliminate_zeros()
    names = list(dict.fromkeys(labels or sorted({*chain.from_iterable(sets)} - {UNLABELED}, key=int)))
    target = None
    if names:
        check_table(path, len(sets), len(names), form)
        target = indicator([row - {UNLABELED} for row in sets], names)
        target[[UNLABELED in row for row in sets]] = -1
    return Bunch(data=data, target=target, feature_names=None, label_names=names or None)


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
    for part in text.split(",") if text else ():
        label = str(int(float(part))) if float(part).is_integer() else None
        if label is None or (known is not None and label not in known):
            fault = "not a whole number" if label is None else "not among the label columns"
            raise lines.error(f"the label {shorten(part)!r} is {fault}; write label,label index:value")
        if label in labels or UNLABELED in labels or (labels and label == UNLABELED):
            raise lines.error(f"the label {label} appears twice, or beside -1 (unlabelled); correct it")
        labels.add(label)
    return labels
