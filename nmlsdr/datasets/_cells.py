"""From rows of text cells to arrays: which columns are features and labels, what a cell may hold."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._columns import Split
from ._files import BLANKS, DataFileError, Lines, Path_, place, shorten


class Table(NamedTuple):
    """What a reader returns: features, labels (None without), and the names that the file holds."""

    data: Any
    target: NDArray[np.int64] | None
    feature_names: list[str] | None
    label_names: list[str] | None
    ids: list[str] | None = None  # the texts of the column that names the rows
    tags: list[str] | None = None  # the texts of the column that lists labels
    unused: list[str] | None = None  # columns that nobody asked for
    encoding: str | None = None  # of a text file, as given or guessed
    words: dict[str, tuple[int, list[str]]] | None = None  # columns of categories: place among the features, texts


LABEL_CELLS = {"0": 0, "1": 1, "-1": -1, "": -1, "?": -1, "0.0": 0, "1.0": 1, "-1.0": -1}
LABEL_CELLS |= {"true": 1, "false": 0, "yes": 1, "no": 0, "y": 1, "n": 0}
CROSS = 2  # an x: in a column of crosses and blanks a blank means no
LABEL_CELLS |= {"x": CROSS}

HOLES = ("", "?", "na", "n/a", "nan", "null")
"""What stands, in any case, where a feature is missing, if it may be."""

Codes = Mapping[str, float]  # a nominal column: what number each declared value stands for


def label_cell(text: str | None) -> int:
    """Return 0, 1, or -1 for "not known"; KeyError for any other text."""
    return LABEL_CELLS[(text or "").strip(BLANKS).lower()]


def read_number(cell: str | None) -> float:
    """Return the finite number that a cell holds; the ValueError of any other says what is wrong with it."""
    text = (cell or "").strip(BLANKS)
    if text in ("", "?"):
        raise ValueError("the value is missing; fill it in or drop the row (features have no missing values here)")
    if not text.isascii():  # float() reads the digits of all scripts and skips blanks that nobody sees
        raise ValueError(f"{shorten(text)!r} is not a number; write it with the digits 0 to 9 or drop the column")
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{shorten(text)!r} is not a number; turn it into one or drop the column") from None
    if "_" in text:
        raise ValueError(f"{shorten(text)!r} is not a number; write it without '_'")
    if not math.isfinite(value):
        raise ValueError(f"{shorten(text)!r} is not a finite number; fill it in or drop the row")
    return value


def number_problem(cell: str | None) -> str | None:
    """Return what is wrong with a cell that should hold a finite number, or None."""
    try:
        read_number(cell)
    except ValueError as error:
        return str(error)
    return None


class Rows:
    """Collect rows of text cells as numbers: features (float64) and labels (0, 1, or -1 where not known).

    `codes` has an entry for each column of the file: None for numbers, else what the declared values stand for.
    """

    def __init__(
        self, lines: Lines, split: Split, codes: Sequence[Codes | None] | None = None, *, missing_labels: bool = True
    ) -> None:
        self.lines = lines
        self.split = split
        self.n_rows = 0
        self._codes = codes
        self._missing_labels = missing_labels
        self._label_tables = [self._label_table(j) for j in split.labels]
        self._plan: list[tuple[Callable[[Any], float], int]] = [(self._converter(j), j) for j in split.features]
        self._features = array("d")
        self._labels = array("b")
        self._minus_one = False  # whether -1 was written out in a label column
        self._crosses = False  # whether an x was
        self._ids: list[str] = []
        self._tags: list[str] = []
        self._words: list[list[str]] = [[] for _ in split.texts]

    def _converter(self, j: int) -> Callable[[Any], float]:
        code = self._codes[j] if self._codes is not None else None
        return float if code is None else code.__getitem__

    def _label_table(self, j: int) -> Mapping[str, int]:
        """Return what the usual texts of a label column stand for; label_row looks closer at others."""
        code = self._codes[j] if self._codes is not None else None
        return LABEL_CELLS if code is None else {text: LABEL_CELLS[text] for text in code if text in LABEL_CELLS}

    def add(self, cells: Sequence[str | None], *, plain: bool = True) -> None:
        """Add one row of text cells, in the order of the file's columns; None is a missing value.

        `plain` is False if the row is more than the line read last.
        """
        try:
            values = [convert(cells[j]) for convert, j in self._plan]
            sure = plain and self._is_sure(sum(values))
        except (ValueError, TypeError, KeyError):
            sure = False
        if not sure:
            values = self._look(self.split.feature_names, self.split.features, cells)
        self._features.extend(values)
        if self.split.labels:
            self._labels.extend(self.label_row([cells[j] for j in self.split.labels]))
        self._keep_texts(cells)
        self.n_rows += 1

    def _keep_texts(self, cells: Sequence[str | None] | Mapping[int, str | None]) -> None:
        """Keep the row's name and its list of labels."""
        words = zip(self.split.texts, self._words, strict=True)
        for j, texts in ((self.split.id, self._ids), (self.split.label_list, self._tags), *words):
            if j is not None:
                cell = cells.get(j) if isinstance(cells, Mapping) else cells[j]
                texts.append(cell or "")

    def _is_sure(self, total: float) -> bool:
        """Whether values that `float` took, with this sum, are numbers without a second look."""
        text = self.lines.text
        return math.isfinite(total) and "_" not in text and text.isascii()

    def _look(self, names: Sequence[str], columns: Sequence[int], cells: Sequence[str | None]) -> list[float]:
        """Return the values of one row's features; the first that is wrong is an error with its name."""
        return [self._value(name, j, cells[j]) for name, j in zip(names, columns, strict=True)]

    def _value(self, name: str, j: int, cell: str | None) -> float:
        code = self._codes[j] if self._codes is not None else None
        if code is not None and cell is not None:
            if cell in code:
                return code[cell]
            raise self.lines.error(f"{shorten(cell)!r} is not among the declared values; add it there", name)
        if self.split.gaps and (cell or "").strip(BLANKS).lower() in HOLES:
            return math.nan
        try:
            return read_number(cell)
        except ValueError as error:
            raise self.lines.error(str(error), name) from None

    def label_row(self, cells: Sequence[str | None]) -> list[int]:
        """Return the labels of one row, -1 where a label is not known."""
        try:
            row = [table[cell] for table, cell in zip(self._label_tables, cells, strict=True)]  # type: ignore[index]
            if -1 not in row and CROSS not in row:
                return row
        except KeyError:
            pass
        row = []
        for name, j, cell in zip(self.split.label_names, self.split.labels, cells, strict=True):
            code = self._codes[j] if self._codes is not None else None
            try:
                if code is not None and cell is not None and cell not in code:
                    raise KeyError(cell)
                row.append(label_cell(cell))
            except KeyError:
                raise self.lines.error(
                    f"{shorten(str(cell))!r} is no label; write 0 or 1, or leave it empty where it is not known", name
                ) from None
        if -1 in row:
            self._minus_one |= any((cell or "").strip(BLANKS).startswith("-") for cell in cells)
            name = self.split.label_names[row.index(-1)]
            if not self._missing_labels:
                raise self.lines.error("the label is missing; fill it in or drop the row", name)
        self._crosses |= CROSS in row
        return row

    def refuse_many_labels(self) -> None:
        """Raise if rows that leave labels out stand for more of them than a file of "0," may write out."""
        if 2 * len(self._labels) > self.lines.allowed:
            raise self.lines.too_large("leaves out labels that would fill")

    def features(self) -> Any:
        """Return the features (n, D)."""
        flat = np.frombuffer(self._features, dtype=np.float64) if self._features else np.empty(0)
        return flat.reshape(self.n_rows, len(self.split.features))

    def labels(self) -> NDArray[np.int64] | None:
        """Return the labels (n, C), None without label columns."""
        if not self.split.labels:
            return None
        flat = np.frombuffer(self._labels, dtype=np.int8) if self._labels else np.empty(0, dtype=np.int8)
        labels = flat.reshape(self.n_rows, len(self.split.labels)).astype(np.int64)
        if self._crosses:
            labels = crossed(self.lines.path, labels, self.split.label_names)
        if self._minus_one:
            refuse_plus_minus(self.lines.path, labels)
        return labels

    def table(self) -> Table:
        """Return all as a Table."""
        return Table(
            self.features(),
            self.labels(),
            self.split.feature_names,
            self.split.label_names or None,
            self._ids if self.split.id is not None else None,
            self._tags if self.split.label_list is not None else None,
            self.split.unused,
            self.lines.encoding,
            placed(self.split, self._words),
        )


def placed(split: Split, words: Sequence[Sequence[str]]) -> dict[str, tuple[int, list[str]]]:
    """Return name, place among all features, and trimmed texts of the columns of categories."""
    order = sorted([*split.features, *split.texts])
    return {
        name: (order.index(j), [text.strip(BLANKS) for text in texts])
        for name, j, texts in zip(split.text_names, split.texts, words, strict=True)
    }


def crossed(path: Path_, labels: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.int64]:
    """Return labels in which the columns of crosses and blanks are 1 and 0."""
    crosses = (labels == CROSS).any(axis=0)
    mixed = crosses & ((labels == 0) | (labels == 1)).any(axis=0)
    if mixed.any():
        name = names[int(np.flatnonzero(mixed)[0])]
        raise DataFileError(
            f"{place(path, None, name)}: crosses (x) stand beside 0, 1, yes or no; write the column in one way."
        )
    return np.where(crosses, np.where(labels == CROSS, 1, 0), labels)


def feature_array(path: Path_, data: Any, names: Sequence[str] | None, *, gaps: bool = False) -> Any:
    """Return features, dense or CSR, as float32 or float64, all finite; stored zeros of a CSR are dropped.

    With `gaps` a NaN is a value that is missing.
    """
    if data.dtype.kind not in "biuf" or data.dtype.itemsize > 8:
        raise DataFileError(f"{place(path)}: the features have dtype {data.dtype}; save them as float64 or float32.")
    data = data.astype(np.float32 if data.dtype in (np.float16, np.float32) else np.float64, copy=False)
    is_sparse: bool = sparse.issparse(data)
    stored = data.data if is_sparse else data
    fit = np.isfinite(stored)
    if gaps:
        fit |= np.isnan(stored)
    if not fit.all():
        if is_sparse:
            entry = int(np.flatnonzero(~fit)[0])
            row, column = int(np.searchsorted(data.indptr, entry, side="right")) - 1, int(data.indices[entry])
        else:
            row, column = (int(i) for i in np.argwhere(~fit)[0])
        name = names[column] if names is not None else str(column)
        raise DataFileError(
            f"{place(path)}, row {row + 1}, column {shorten(name)!r}: the value is missing or not finite; "
            "fill it in or drop the row (--impute median fills missing ones in, where rows are dense)."
        )
    if is_sparse:
        data.eliminate_zeros()
    return data


def label_array(path: Path_, labels: Any, names: Sequence[str] | None) -> NDArray[np.int64]:
    """Return labels (n, C) of 0, 1 and -1; a NaN counts as -1."""
    if labels.ndim != 2 or labels.shape[1] == 0 or labels.dtype.kind not in "biuf":
        raise DataFileError(
            f"{place(path)}: the labels have shape {labels.shape} and dtype {labels.dtype}; save numbers 0, 1 (or -1 "
            "where it is not known), one column per label."
        )
    known = np.where(np.isnan(labels), -1, labels) if labels.dtype.kind == "f" else labels
    wrong = ~np.isin(known, (-1, 0, 1))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        name = names[column] if names is not None else str(column)
        raise DataFileError(
            f"{place(path)}, row {row + 1}, column {shorten(name)!r}: the label is {known[row, column]}; write 0 or 1, "
            "or leave it empty or -1 where it is not known."
        )
    if (labels == -1).any():
        refuse_plus_minus(path, known)
    return known.astype(np.int64)


def refuse_plus_minus(path: Path_, labels: NDArray[Any]) -> None:
    """Raise if the only label is 1 or -1 in each row: that is more likely yes and no than yes and not known."""
    if labels.shape[1] == 1 and (labels == 1).any() and not (labels == 0).any():
        raise DataFileError(
            f"{place(path)}: its one label is 1 or -1, which may mean yes and no; write 0 for no, and leave the label "
            "empty where it is not known."
        )


class SparseRows(Rows):
    """Collect rows given as {column: text}; an omitted cell is `omitted[column]`, or 0."""

    def __init__(
        self,
        lines: Lines,
        split: Split,
        codes: Sequence[Codes | None],
        omitted: Mapping[int, str],
        *,
        missing_labels: bool = True,
    ) -> None:
        super().__init__(lines, split, codes, missing_labels=missing_labels)
        self._place = {j: (place_, convert) for place_, (convert, j) in enumerate(self._plan)}
        filled = [(j, *self._place[j], text) for j, text in omitted.items() if j in self._place]
        self._omitted = [(j, place_, value) for j, place_, convert, text in filled if (value := convert(text)) != 0]
        self._omitted_labels = [omitted.get(j, "0") for j in split.labels]
        self._indices = array("q")
        self._indptr = array("q", [0])
        self._max_entries = lines.allowed // 8

    def add_sparse(self, row: Mapping[int, str | None]) -> None:
        """Add one row of text cells by column number."""
        found = []
        try:
            for j, cell in row.items():
                if j in self._place:
                    place_, convert = self._place[j]
                    found.append((place_, convert(cell)))
            sure = self._is_sure(sum(value for _, value in found))
        except (ValueError, TypeError, KeyError):
            sure = False
        if not sure:
            names, places = self.split.feature_names, [(self._place[j][0], j) for j in row if j in self._place]
            found = [(place_, self._value(names[place_], j, row[j])) for place_, j in places]
        found += [(place_, value) for j, place_, value in self._omitted if j not in row]
        found = sorted(entry for entry in found if entry[1] != 0)
        self._indices.extend(place_ for place_, _ in found)
        self._features.extend(value for _, value in found)
        self._indptr.append(len(self._indices))
        if len(self._indices) > self._max_entries:
            raise self.lines.error(
                "the values that sparse rows leave out are not zero and fill the memory; declare 0 (or NO) first"
            )
        if self.split.labels:
            self.refuse_many_labels()
            cells_ = [row.get(j, text) for j, text in zip(self.split.labels, self._omitted_labels, strict=True)]
            self._labels.extend(self.label_row(cells_))
        self._keep_texts(row)
        self.n_rows += 1

    def features(self) -> sparse.csr_array:
        """Return the features (n, D), without stored zeros, indices in order."""
        indices = np.array(self._indices, dtype=np.int64)
        indptr = np.array(self._indptr, dtype=np.int64)
        if indptr[-1] < 2**31 and len(self.split.features) < 2**31:  # what most programs expect
            indices, indptr = indices.astype(np.int32), indptr.astype(np.int32)
        data = np.array(self._features, dtype=np.float64)
        return sparse.csr_array((data, indices, indptr), shape=(self.n_rows, len(self.split.features)))
