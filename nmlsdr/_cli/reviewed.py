"""What people found when they checked annotations: a verdict for each, which the next fit takes as given."""

from __future__ import annotations

import csv
import io
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmlsdr._errors import InputError

__all__ = ["clamp", "set_reviewed"]

PRESENT = ("1", "1.0", "yes", "y", "true", "add")
ABSENT = ("0", "0.0", "no", "n", "false", "remove")
OPEN = ("", "?")
VERDICTS = "1, yes or add (the label belongs there), 0, no or remove (it does not), keep (as given), or nothing yet"
LARGEST = 1 << 28  # bytes


def set_reviewed(path: str, table: Any, source: str, id_name: str | None = None) -> None:
    """Set the entries that a file of verdicts names, in ``table.target``, and mark them in ``table.reviewed``.

    Parameters
    ----------
    path : str
        CSV or TSV with the columns label and verdict, and id or row; others, such as those that `nmlsdr review` writes,
        are left alone.
    table : Bunch
        As `nmlsdr.datasets.read_table` gives it, with labels.
    source : str
        Name of the data file.
    id_name : str or None, default=None
        The column of ids in the data file, which the list has too; "id" serves as well.

    Raises
    ------
    InputError
        For a file without these columns, a row or label that the table does not have, or two verdicts that differ.
    """
    n_rows, n_labels = table.target.shape
    names = table.label_names or [f"label_{c}" for c in range(n_labels)]
    labels = {name: c for c, name in enumerate(names)}
    header, lines = _read(path)
    known_as = [name for name in ((id_name or "").strip().lower(), "id") if name in header]
    by_id = table.ids is not None and bool(known_as)
    key = known_as[0] if by_id else "row"
    missing = [name for name in (key, "label", "verdict") if name not in header]
    if missing:
        raise InputError(
            f"{path} lacks the column {missing[0]!r}; give {key}, label and verdict, one annotation a line."
        )
    rows = {name: i for i, name in enumerate(table.ids)} if by_id else {str(i): i for i in range(n_rows)}
    given = table.target.copy()
    target, reviewed = table.target.copy(), np.zeros(given.shape, dtype=bool)
    places = [header.index(name) for name in (key, "label", "verdict")]
    for number, cells in lines:
        if len(cells) <= max(places):
            raise InputError(f"{path}, line {number}: {len(cells)} cells where the header has {len(header)}; mend it.")
        row, label, verdict = (cells[j].strip() for j in places)
        if verdict.lower() in OPEN:
            continue
        if row not in rows:
            raise InputError(f"{path}, line {number}: {source} has no {key} {row!r}; give the file that was reviewed.")
        if label not in labels:
            raise InputError(
                f"{path}, line {number}: {source} has no label {label!r}; give the file that was reviewed."
            )
        i, c = rows[row], labels[label]
        value = _value(verdict.lower(), given[i, c])
        if value is None:
            raise InputError(f"{path}, line {number}: the verdict {verdict!r} is none; give {VERDICTS}.")
        if reviewed[i, c] and target[i, c] != value:
            raise InputError(f"{path}, line {number}: a second and different verdict on {row!r}, {label!r}; keep one.")
        target[i, c], reviewed[i, c] = value, True
    table.target, table.reviewed = target, reviewed
    table.labeled = (target != -1).any(axis=1)


def _value(verdict: str, given: int) -> int | None:
    if verdict in PRESENT:
        return 1
    if verdict in ABSENT:
        return 0
    return int(given) if verdict == "keep" and given in (0, 1) else None


def _read(path: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"{path} is larger than {LARGEST >> 20} MiB, no list that people reviewed; give that list.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text (byte {error.start}); save it as CSV in UTF-8.") from None
    delimiter = "\t" if PurePath(path).suffix.lower() == ".tsv" else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: {error}; save it as CSV.") from None
    return header, lines


def _delimiter(text: str) -> str:
    """Comma, or the semicolon or tab of spreadsheets elsewhere: whichever the header holds most of."""
    head = text.partition("\n")[0]
    return max((",", ";", "\t"), key=head.count)


def clamp(
    reviewed: NDArray[np.bool_] | None, target: NDArray[Any], alpha_labeled: Any, alpha_unlabeled: Any
) -> NDArray[np.float64] | None:
    """alpha of every entry, 0 where a person has decided; None where nobody has.

    Parameters
    ----------
    reviewed : ndarray (n, C), bool, or None
    target : ndarray (n, C)
        0, 1 or -1.
    alpha_labeled, alpha_unlabeled : float or None
        None: .6 and .999, the estimators' own.

    Returns
    -------
    ndarray (n, C) or None

    Examples
    --------
    >>> clamp(np.array([[True, False]]), np.array([[1, 0]]), None, None)
    array([[0. , 0.6]])
    """
    if reviewed is None or not reviewed.any():
        return None
    given = 0.6 if alpha_labeled is None else alpha_labeled
    hidden = 0.999 if alpha_unlabeled is None else alpha_unlabeled
    alpha = np.where(target == -1, hidden, given)
    alpha[reviewed] = 0.0
    return np.asarray(alpha)
