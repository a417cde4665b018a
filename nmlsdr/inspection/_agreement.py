"""How far two people agree who checked the same annotations: Cohen's kappa of their files of verdicts."""

import os
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from sklearn.metrics import cohen_kappa_score

from .._checks.words import UNCLEAR
from .._errors import InputError, plural, printable, shorten
from ..tables import Form
from ._verdicts import (
    LARGEST,
    OPEN,
    OWN_COLUMNS,
    SUGGESTED_FOR,
    cells_of_line,
    need_columns,
    read_lines,
    unescape_formula,
    value_of_verdict,
)

Annotation = tuple[str, ...]  # what names its row, and its label
File = tuple[str, list[str], list[tuple[int, list[str]]]]  # its path, its header, and its lines with their numbers

_WORDS = {0: "0", 1: "1", UNCLEAR: "unclear"}

_ADVICE = "give files of verdicts as --reviewed takes them"


class Line(NamedTuple):
    """A line of a file: where it stands, the annotation that it is about, and its cells by column."""

    where: str
    annotation: Annotation
    cells: Mapping[str, str]


class Agreement(NamedTuple):
    """Verdicts of two people on the same annotations.

    Attributes
    ----------
    label : str
        Empty for all labels together.
    counts : ndarray of shape (2, 2), int
        How many annotations the first person decided as no (0) or yes (1), by rows, and the second, by columns.
    """

    label: str
    counts: np.ndarray

    @property
    def n(self) -> int:
        """Annotations that both decided."""
        return int(self.counts.sum())

    @property
    def n_agree(self) -> int:
        """Annotations that both decided alike."""
        return int(np.trace(self.counts))

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa, as `sklearn.metrics.cohen_kappa_score`; None if both gave one and the same verdict only."""
        if self.counts.diagonal().max() == self.n:
            return None
        return float(cohen_kappa_score([0, 0, 1, 1], [0, 1, 0, 1], sample_weight=self.counts.ravel()))


class Difference(NamedTuple):
    """An annotation on which two people differ.

    Attributes
    ----------
    names : dict of str to str
        What names its row in the first file, by column.
    label : str
    first, second : int
        The verdicts, 0 or 1.
    """

    names: dict[str, str]
    label: str
    first: int
    second: int


class Reviews(NamedTuple):
    """What two files of verdicts say.

    Attributes
    ----------
    n_decided, n_unclear : (int, int)
        Of each file, verdicts of yes or no, and of unclear.
    whole : Agreement
        All labels together.
    by_label : list of Agreement
        For each label that both decided, by its name.
    names : list of str
        The columns that name the row of a difference.
    differences : list of Difference
        In the order of the first file; without verdicts of unclear.
    joined : tuple of (list of str, list of list of str), or None
        If differences are settled, the header of one file with the verdicts of both, and a line for each annotation
        with a verdict, in the order of the first file.  The header has the columns of the first file, those that only
        the second one has, and the verdict.
    """

    n_decided: tuple[int, int]
    n_unclear: tuple[int, int]
    whole: Agreement
    by_label: list[Agreement]
    names: list[str]
    differences: list[Difference]
    joined: tuple[list[str], list[list[str]]] | None


def compare_reviews(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    settled: str | os.PathLike[str] | None = None,
    form: Form | None = None,
) -> Reviews:
    """Compare the verdicts of two files on the annotations that both decided, and join them if differences are settled.

    Parameters
    ----------
    first, second : path
        Files as `read_verdicts` takes them: label and verdict, and the row by its check, its id, or its number.
    settled : path, default=None
        Verdicts that count in place of those of the other files: the file of differences, filled in.  Elsewhere, where
        one person decided yes or no, and the other one said nothing or unclear, the decision counts.
    form : Form, default=None
        How the files are written.

    Returns
    -------
    Reviews

    Raises
    ------
    ValueError
        If a file lacks a column, if the files name rows in different ways, if a word is no verdict, or if one file has
        two different verdicts on an annotation; with ``settled`` also if a difference is not settled, or if a settled
        annotation is in neither file.
    """
    paths = (first, second) if settled is None else (first, second, settled)
    files = [_read(path, form) for path in paths]
    names = _row_names(files[:2])
    for path, header, _ in files[2:]:
        need_columns(path, header, (*names, "label", "verdict"), _ADVICE)
    annotated = [[*_annotations(*file, names)] for file in files]
    verdicts = [_verdicts(lines) for lines in annotated]
    joined = None if settled is None else _join(files, annotated, verdicts, names)
    counts = _counts_by_label(verdicts[0], verdicts[1])
    by_label = [Agreement(label, counts[label]) for label in sorted(counts)]
    whole = Agreement("", sum(counts.values(), np.zeros((2, 2), dtype=int)))
    n_unclear = [list(values.values()).count(UNCLEAR) for values in verdicts[:2]]
    n_decided = [len(values) - n for values, n in zip(verdicts[:2], n_unclear, strict=True)]
    columns = _shown_columns(files[0][1], names)
    differences = _differences(verdicts[0], verdicts[1], _shown_names(annotated[0], columns))
    return Reviews(
        n_decided=(n_decided[0], n_decided[1]),
        n_unclear=(n_unclear[0], n_unclear[1]),
        whole=whole,
        by_label=by_label,
        names=columns,
        differences=differences,
        joined=joined,
    )


def _join(
    files: list[File], annotated: list[list[Line]], verdicts: list[dict[Annotation, int]], names: list[str]
) -> tuple[list[str], list[list[str]]]:
    """The header and the lines of the joined file; the third file settles the differences of the first two."""
    first_verdicts, second_verdicts, decided = verdicts
    _check_settled(annotated[2], first_verdicts.keys() | second_verdicts.keys(), decided, files)
    _refuse_open(files[2][0], first_verdicts, second_verdicts, decided, names)
    joined = {
        **second_verdicts,
        **{each: value for each, value in first_verdicts.items() if value != UNCLEAR or each not in second_verdicts},
        **decided,
    }
    header = [name for name in dict.fromkeys([*files[0][1], *files[1][1]]) if name != "verdict"]
    cells = {line.annotation: line.cells for line in (*annotated[1], *annotated[0])}
    order = dict.fromkeys(line.annotation for line in (*annotated[0], *annotated[1]) if line.annotation in joined)
    lines = [
        [*(unescape_formula(cells[each].get(name, "")) for name in header), _WORDS[joined[each]]] for each in order
    ]
    return [*header, "verdict"], lines


def _check_settled(
    lines: list[Line], known: Collection[Annotation], decided: dict[Annotation, int], files: list[File]
) -> None:
    """Raise for a settled annotation on which neither person has a verdict."""
    for where, annotation, _ in lines:
        if annotation in decided and annotation not in known:
            paths = " and ".join(path for path, *_ in files[:2])
            raise InputError(
                f"{where}: {paths} have no verdict on this annotation; give the file of their differences."
            )


def _refuse_open(
    path: str,
    first: dict[Annotation, int],
    second: dict[Annotation, int],
    decided: dict[Annotation, int],
    names: list[str],
) -> None:
    """Raise if two people differ on an annotation that nobody settled."""
    open_differences = [annotation for annotation in _differing(first, second) if annotation not in decided]
    if open_differences:
        *row, label = (shorten(printable(text), 40) for text in open_differences[0])
        texts = ", ".join(f"{name} {text}" for name, text in zip(names, row, strict=True))
        raise InputError(
            f"{path} leaves {plural(len(open_differences), 'difference')} open, the first: {texts}, label {label}; "
            "fill in its column verdict, with unclear if it cannot be told."
        )


def _read(path: str | os.PathLike[str], form: Form | None) -> File:
    return os.fspath(path), *read_lines(os.fspath(path), form or Form(max_bytes=LARGEST))


def _differences(
    first: dict[Annotation, int], second: dict[Annotation, int], shown: dict[Annotation, dict[str, str]]
) -> list[Difference]:
    """The annotations on which two people differ, with their verdicts."""
    return [Difference(shown[each], each[-1], first[each], second[each]) for each in _differing(first, second)]


def _differing(first: dict[Annotation, int], second: dict[Annotation, int]) -> list[Annotation]:
    """The annotations that one person decided as yes and the other as no."""
    opposite_verdicts = {0, 1}
    return [
        annotation
        for annotation, value in first.items()
        if {value, second.get(annotation, UNCLEAR)} == opposite_verdicts
    ]


def _shown_columns(header: list[str], names: list[str]) -> list[str]:
    """The columns that name a row for a reader: those before the label, and those that find rows."""
    before = header[: header.index("label")]
    shown = (name for name in before if name in ("row", "check") or name not in OWN_COLUMNS)
    return list(dict.fromkeys([*shown, *names]))


def _shown_names(lines: list[Line], columns: list[str]) -> dict[Annotation, dict[str, str]]:
    """What names the row of each annotation."""
    shown: dict[Annotation, dict[str, str]] = {}
    for _, annotation, cells in lines:
        shown.setdefault(annotation, {name: unescape_formula(cells.get(name, "")).strip() for name in columns})
    return shown


def _row_names(files: list[File]) -> list[str]:
    """The columns by which rows are found in all files: check and id, or else their number.

    Raises
    ------
    InputError
        If a file is no list of verdicts or has a column twice, or if the files have none of these columns in common.
    """
    for path, header, _ in files:
        need_columns(path, header, ("label", "verdict"), _ADVICE)
    common = set.intersection(*(set(header) for _, header, _ in files))
    keys = sorted(common & {"check", "id"} or common & {"row"})
    if not keys:
        paths = " and ".join(path for path, *_ in files)
        raise InputError(f"{paths} have no column check, id or row in common, by which rows are found.")
    for path, header, _ in files:
        need_columns(path, header, keys, _ADVICE)
    return keys


def _counts_by_label(first: dict[Annotation, int], second: dict[Annotation, int]) -> dict[str, np.ndarray]:
    """For each label how often the verdicts are 0 or 1 in the first file (rows) and in the second one (columns)."""
    counts: dict[str, np.ndarray] = {}
    for annotation, value in first.items():
        other_value = second.get(annotation, UNCLEAR)
        if UNCLEAR not in (value, other_value):
            counts.setdefault(annotation[-1], np.zeros((2, 2), dtype=int))[value, other_value] += 1
    return counts


def _annotations(path: str, header: list[str], lines: list[tuple[int, list[str]]], names: list[str]) -> Iterator[Line]:
    """Each line of a file, with the annotation that it is about."""
    for number, cells in lines:
        where = f"{path}, line {number}"
        line = cells_of_line(header, cells, (*names, "label", "verdict"), where)
        yield Line(where, tuple(unescape_formula(line[name]).strip() for name in (*names, "label")), line)


def _verdicts(lines: list[Line]) -> dict[Annotation, int]:
    """The verdict on each annotation of a file."""
    verdicts: dict[Annotation, int] = {}
    for where, annotation, cells in lines:
        word = cells["verdict"].strip()
        if word.lower() in OPEN:
            continue
        before = SUGGESTED_FOR.get(cells.get("suggest", "").strip().lower(), -1)
        value = value_of_verdict(word, before, where)
        if verdicts.setdefault(annotation, value) != value:
            raise InputError(f"{where}: a second and different verdict on one annotation; delete one of the lines.")
    return verdicts
