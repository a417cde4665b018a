"""From cells of text to arrays of features and labels: what a cell may hold, and lists of labels in one cell."""

import functools
import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from .._checks.cells import plain_labels
from .._checks.words import BLANKS, HOLES, LABEL_WORDS, NO_LABEL, fold
from ._columns import Split, Wanted
from ._files import DataFileError, Lines, Path_, Problem, check_size, place, problems_in_words, shorten
from ._numbers import number_problem


class FileContents(NamedTuple):
    """What a reader returns: features, labels (None without), and the names that the file holds."""

    data: Any
    target: NDArray[np.int64] | None
    feature_names: list[str] | None
    label_names: list[str] | None
    ids: list[str] | None = None  # the texts of the id column
    tags: Sequence[list[str]] = ()  # the texts of each column that lists labels
    unused: list[str] | None = None  # columns that are neither features, labels nor ids
    encoding: str | None = None  # of a text file, as given or guessed
    notes: Sequence[str] = ()  # what a person should know about the file


WAITING_CELLS = 1 << 16  # are turned into numbers at once
WAITING_ROWS = 256  # with a plan, which takes a column at a time, at least so many rows

Codes = Mapping[str, float]  # the number that each declared value of a nominal column stands for


class CollectedRows:
    """Collect rows of text cells as numbers: features (float64) and labels (0, 1, or -1 where not known).

    `codes` has an entry for each nominal column of the file: the numbers of its declared values.
    """

    def __init__(self, lines: Lines, split: Split, codes: Mapping[int, Codes]) -> None:
        self.lines = lines
        self.split = split
        self.n_rows = 0
        self._codes = codes
        self._labels_of = [functools.cache(functools.partial(self._label, j)) for j in split.labels]
        self._features = array("d")
        self._labels = array("b")
        self._minus_one = False  # whether a label column holds a written -1
        self._texts: dict[Any, list[str]] = {j: [] for j in (split.id, *split.lists) if j is not None}
        self._problems: list[Problem] = []  # with the line in the place of the row
        self._waiting: list[tuple[int, list[str | None]]] = []  # line numbers and cells of rows that are not yet added

    def add(self, cells: Any) -> None:
        """Add the row of the line read last, as text cells in the order of the file's columns; None is missing."""
        self._waiting.append((self.lines.number, cells))
        n_cells = len(self._waiting) * len(cells)
        few = self.split.wanted.plan is not None and len(self._waiting) < WAITING_ROWS
        if n_cells >= (16 * WAITING_CELLS if few else WAITING_CELLS):
            self._add_waiting()

    def _add_waiting(self) -> None:
        """Turn the waiting rows into numbers, all at once.

        If a cell needs a closer look, the cells are read one by one, so that an error names the first bad one.
        """
        if not self._waiting:
            return
        cells = np.array([row for _, row in self._waiting], dtype=object)
        if self.split.wanted.plan is not None:
            self._encode(cells)
        try:
            values = self._values(cells[:, self.split.features])
            labels = self._row_of_labels(cells[:, self.split.labels].tolist())
        except (ValueError, TypeError, KeyError):
            for number, row in self._waiting:
                self.lines.number = number
                self._features.extend([self._value(j, row[j]) for j in self.split.features])
                self._labels.extend([self._label_or_problem(j, row[j]) for j in self.split.labels])
        else:
            self._features.frombytes(values.tobytes())
            self._labels.extend(labels)
        for j, texts in self._texts.items():
            texts += [cell or "" for cell in cells[:, j]]
        self.n_rows += len(cells)
        self._waiting = []

    def _encode(self, cells: NDArray[Any]) -> None:
        """Add the features of a block by the plan; the cells that do not fit it are kept for one error."""
        plan: Any = self.split.wanted.plan
        columns = [["" if cell is None else cell for cell in cells[:, j]] for j in self.split.planned]
        found: list[Problem] = []
        self._features.frombytes((plan.encode(columns, found) if columns else np.empty((len(cells), 0))).tobytes())
        self._problems += [problem._replace(row=self._waiting[problem.row][0]) for problem in found]

    def _label_or_problem(self, j: int, cell: str | None) -> int:
        """Return the label in a cell; with a plan, a cell that holds none is kept for one error."""
        try:
            return self._label(j, cell)
        except DataFileError:
            if self.split.wanted.plan is None:
                raise
            self._problems.append(Problem(self.split.names[j], self.lines.number, cell or "", True))
            return -1

    def _values(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        """Return the features of a block in which every cell is a plain finite number or a code; else raise."""
        text = "".join(cells.ravel().tolist())
        if not text.isascii() or "_" in text:  # float() accepts 1_0 and the digits of all scripts
            raise ValueError("no plain numbers")
        for place_, j in enumerate(self.split.features if self._codes else ()):
            if j in self._codes:
                cells[:, place_] = [self._codes[j][cell] for cell in cells[:, place_]]
        values = cells.astype(np.float64)  # by float()
        if not np.isfinite(values).all():
            raise ValueError("no finite numbers")
        return values

    def _value(self, j: int, cell: str | None) -> float:
        code = self._codes.get(j)
        if code is not None and cell is not None:
            if cell in code:
                return code[cell]
            raise self._error(f"{shorten(cell)!r} is not among the declared values; add it there", j)
        if self.split.wanted.missing and (cell or "").strip(BLANKS).lower() in HOLES:
            return math.nan
        if (problem := number_problem(cell)) is not None:
            raise self._error(problem, j)
        return float(cell or "")

    def _label(self, j: int, cell: str | None) -> int:
        """Return 0, 1, -1 where a label is not known, or the mark of a cross."""
        code, text = self._codes.get(j), fold(cell or "")
        label = LABEL_WORDS.get(text)
        if label is None or (code is not None and cell is not None and cell not in code):
            what = "is not a label; write 0, 1, or nothing where it is not known (--label-list is for lists of labels)"
            raise self._error(f"{shorten(str(cell))!r} {what}", j)
        if label == -1 and self.split.wanted.all_known:
            raise self._error("the label is missing; fill it in or drop the row", j)
        self._minus_one |= text.startswith("-")
        return label

    def _row_of_labels(self, rows: Sequence[Sequence[str | None]]) -> list[int]:
        """Return the labels of some rows, one row after the other; `_label` sees each text of a column once."""
        return [label(cell) for row in rows for label, cell in zip(self._labels_of, row, strict=True)]

    def _error(self, what: str, j: int) -> DataFileError:
        return self.lines.error(what, self.split.names[j])

    def features(self) -> Any:
        """Return the features (n, D)."""
        width = len(self.split.feature_names)
        return np.array(self._features, dtype=np.float64).reshape(self.n_rows, width)

    def contents(self) -> FileContents:
        """Return all that was read."""
        self._add_waiting()
        plan = self.split.wanted.plan
        if self._problems and plan is not None and plan.is_plan:  # while columns are looked at, they are not complete
            raise DataFileError(f"{place(self.lines.path)}: {problems_in_words(self._problems, 'line')}")
        labels = None
        if self.split.labels:
            labels = np.array(self._labels, dtype=np.int64).reshape(self.n_rows, len(self.split.labels))
            labels = without_crosses(self.lines.path, labels, self.split.label_names)
            if self._minus_one:
                refuse_plus_minus(self.lines.path, labels)
        found = contents(self.features(), labels, self.split, self._texts)
        return found._replace(encoding=self.lines.encoding, notes=self.lines.notes)


def contents(data: Any, target: NDArray[np.int64] | None, split: Split, texts: Mapping[Any, list[str]]) -> FileContents:
    """Return what a file with names of columns holds; `texts` are those of the columns that are not numbers."""
    return FileContents(
        data,
        target,
        split.feature_names,
        split.label_names or None,
        texts.get(split.id),
        [texts[j] for j in split.lists],
        split.unused,
    )


def without_crosses(path: Path_, labels: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int64]:
    """Return labels in which the columns of crosses and blanks are 1 and 0."""
    plain, mixed = plain_labels(labels)
    if mixed is not None:
        where = place(path, None, names[mixed])
        raise DataFileError(f"{where}: crosses (x) are mixed with 0, 1, yes or no; use one form.")
    return plain


def feature_array(path: Path_, data: Any, names: Sequence[str] | None, *, gaps: bool = False) -> Any:
    """Return features, dense or CSR, as float32 or float64, all finite; stored zeros of a CSR array are dropped.

    With `gaps` a NaN is a missing value, and allowed.
    """
    if data.dtype.kind not in "biuf" or data.dtype.itemsize > 8:
        raise DataFileError(f"{place(path)}: the features have dtype {data.dtype}; save them as float64 or float32.")
    data = data.astype(np.float32 if data.dtype in (np.float16, np.float32) else np.float64, copy=False)
    is_sparse: bool = sparse.issparse(data)
    stored = data.data if is_sparse else data
    wrong = ~np.isfinite(stored) & ~(gaps & np.isnan(stored))
    if wrong.any():
        entries = data.tocoo() if is_sparse else None
        row, column = np.argwhere(wrong)[0] if entries is None else (entries.row[wrong][0], entries.col[wrong][0])
        what = "the value is missing or not finite; fill it in (--impute median, for dense rows) or drop the row"
        raise DataFileError(f"{_cell(path, row, column, names)}: {what}.")
    if is_sparse:
        data.eliminate_zeros()
    return data


def _cell(path: Path_, row: int, column: int, names: Sequence[str] | None) -> str:
    return place(path, column=str(column) if names is None else names[column], row=row)


def label_array(path: Path_, labels: Any, names: Sequence[str] | None) -> NDArray[np.int64]:
    """Return labels (n, C) of 0, 1 and -1; a NaN counts as -1."""
    if labels.ndim != 2 or labels.shape[1] == 0 or labels.dtype.kind not in "biuf":
        form = f"shape {labels.shape} and dtype {labels.dtype}"
        raise DataFileError(f"{place(path)}: the labels have {form}; save 0, 1 or -1 (unknown), one column per label.")
    known = np.where(np.isnan(labels), -1, labels) if labels.dtype.kind == "f" else labels
    wrong = ~np.isin(known, (-1, 0, 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        what = f"the label is {known[row, column]}; write 0, 1, or -1 (or nothing) where it is not known"
        raise DataFileError(f"{_cell(path, row, column, names)}: {what}.")
    if (labels == -1).any():
        refuse_plus_minus(path, known)
    return known.astype(np.int64)


def refuse_plus_minus(path: Path_, labels: NDArray[Any]) -> None:
    """Raise if there is one label and it is 1 or -1 in each row: -1 then probably means no, and not "unknown"."""
    if labels.shape[1] == 1 and (labels == 1).any() and not (labels == 0).any():
        what = "its one label is 1 or -1, and -1 means unlabelled here; write 0 for a negative, nothing for unknown"
        raise DataFileError(f"{place(path)}: {what}.")


class CollectedSparseRows(CollectedRows):
    """Collect rows given as {column: text}; an omitted cell is `omitted[column]`, or 0."""

    def __init__(self, lines: Lines, split: Split, codes: Mapping[int, Codes], omitted: Mapping[int, str]) -> None:
        super().__init__(lines, split, codes)
        self._places = {j: place_ for place_, j in enumerate(split.features)}
        values = {j: self._value(j, text) for j, text in omitted.items() if j in self._places}
        self._omitted = {j: value for j, value in values.items() if value != 0}
        self._omitted_labels = {j: omitted.get(j, "0") for j in split.labels}
        self._indices = array("q")
        self._indptr = array("q", [0])
        self._max_entries = lines.allowed // 8

    def add(self, row: Mapping[int, str | None]) -> None:
        """Add the row of the line read last, as text cells by column number."""
        found = {**self._omitted, **{j: self._value(j, row[j]) for j in row if j in self._places}}
        for j in sorted(found):
            if found[j] != 0:
                self._indices.append(self._places[j])
                self._features.append(found[j])
        self._indptr.append(len(self._indices))
        if len(self._indices) > self._max_entries:
            raise self.lines.error("the values omitted from sparse rows are not 0 and fill the memory; declare 0 first")
        if 2 * len(self._labels) > self.lines.allowed:  # more than a file of "0," may write out
            raise self.lines.too_large("leaves out labels that would fill")
        self._labels.extend(self._row_of_labels([[row.get(j, text) for j, text in self._omitted_labels.items()]]))
        for j, texts in self._texts.items():
            texts.append(row.get(j) or "")
        self.n_rows += 1

    def features(self) -> sparse.csr_array:
        """Return the features (n, D), without stored zeros, indices in order."""
        return csr(self._features, self._indices, self._indptr, (self.n_rows, len(self.split.features)))


def csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> sparse.csr_array:
    """Return a CSR array of float64; its indices are int32 where they fit, which most programs expect."""
    integer = np.int32 if max(shape[1], len(indices)) < 2**31 else np.int64
    parts = (np.asarray(data, np.float64), np.asarray(indices, integer), np.asarray(indptr, integer))
    return sparse.csr_array(parts, shape=shape)


# ---------------------------------------------------------------- labels that are given as lists


SEPARATORS = (";", "|", ",", "/", "+", "\n")
CHANCE = 1e-4  # accepted probability that a label of its frequency never stands beside another


class Lists(NamedTuple):
    """What separates the labels of a list, and the word in place of a list without labels."""

    separator: str = ";"
    no_label: str | None = None

    def tags(self, cell: str) -> set[str]:
        """Return the labels of one cell."""
        return {tag for part in cell.split(self.separator) if (tag := part.strip(BLANKS))}


def find_lists(cells: Sequence[str], separator: str | None, no_label: str | None) -> Lists:
    """Return how labels are listed, by what the separator and the word do; what is given is not looked for.

    The separator leaves the fewest different labels. The word never stands beside another label, although it is so
    frequent that a label would; or it is one of the usual words. An empty `no_label` says that there is none.

    Examples
    --------
    >>> find_lists(["flu|cold", "flu", "cold", "keine", "keine", "flu|gout", "gout, acute|cold"], None, None)
    Lists(separator='|', no_label='keine')
    """
    counts = Counter(cells)
    if separator is None:
        found = [mark for mark in SEPARATORS if any(mark in cell for cell in counts)]
        n_tags = {mark: len(set().union(*map(Lists(mark).tags, counts))) for mark in found}
        separator = min(found, key=lambda mark: n_tags[mark], default=";")
        n_recurring = sum(len(Lists(separator).tags(cell)) for cell in counts) - n_tags.get(separator, 0)
        if separator not in (";", "|") and not n_recurring:
            separator = next((mark for mark in found if mark in (";", "|")), ";")
    lists = Lists(separator, no_label or None)
    if no_label is not None:
        return lists
    alone, beside = Counter[str](), Counter[str]()
    for cell, count in counts.items():
        tags = lists.tags(cell)
        for tag in tags:
            (alone if len(tags) == 1 else beside)[tag] += count
    share = sum(beside.values()) / max(1, sum(beside.values()) + sum(alone.values()))
    for tag, count in alone.most_common():
        # Labels stand alone in this share of their cells; so many of them in a row are no chance.
        frequent = (1 - share) ** count < CHANCE
        if tag not in beside and (frequent or fold(tag) in NO_LABEL):
            return lists._replace(no_label=tag)
    return lists


def listed_labels(
    path: Path_, cells: Sequence[str], lists: Lists, wanted: Wanted
) -> tuple[NDArray[np.int64], list[str]]:
    """Return labels (n, C), and their names in alphabetical order.

    An empty cell is a row of -1, the word for no label a row of 0.
    """
    no_label = lists.no_label
    rows = [lists.tags(cell) for cell in cells]
    names = sorted(set().union(*rows) - {no_label})
    if not names:
        raise DataFileError(f"{place(path)}: its column of lists contains no label; give another column.")
    if len(names) > wanted.max_features:
        raise DataFileError(f"{place(path)}: {len(names)} labels are more than max_features; check the separator.")
    for i, row in enumerate(rows):
        if no_label in row and len(row) > 1:
            both = f"{shorten(str(no_label))!r} (--no-label) and {shorten(min(row - {no_label}))!r}"
            raise DataFileError(f"{place(path, row=i)}: it has both {both}; correct the cell or the option.")
    target = indicator(path, [row - {no_label} for row in rows], names, wanted)
    target[[not row for row in rows]] = -1
    return target, names


def indicator(path: Path_, rows: Sequence[set[Any]], names: Sequence[str], wanted: Wanted) -> NDArray[np.int64]:
    """Return labels (n, C): 1 for each of the names that a row has, 0 for the others."""
    declared = f"has {len(rows)} rows and {len(names)} labels, a table of"
    check_size(path, len(rows) * len(names) * 8, declared, wanted.max_bytes)
    return np.asarray(MultiLabelBinarizer(classes=list(names)).fit_transform(rows), dtype=np.int64)


def votes_of(labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the share of annotators who gave each label, and what most of them say; -1 where that is not known.

    Parameters
    ----------
    labels : ndarray of shape (n_annotators, n_samples, n_labels)
        1, 0, and -1 where an annotator did not vote.

    Returns
    -------
    votes, target : ndarray of shape (n_samples, n_labels)

    Examples
    --------
    >>> votes_of(np.array([[[1, 0]], [[1, -1]], [[0, 1]]]))
    (array([[0.66666667, 0.5       ]]), array([[ 1, -1]]))
    """
    n_votes = (labels != -1).sum(axis=0)
    votes = np.where(n_votes, (labels == 1).sum(axis=0) / np.maximum(n_votes, 1), -1.0)
    return votes, np.where((n_votes == 0) | (votes == 0.5), -1, (votes > 0.5).astype(np.int64))
