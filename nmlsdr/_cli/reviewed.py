"""Verdicts of people who checked annotations; the next fit uses them as given labels.

People fill in the list in a spreadsheet, which reads a cell that begins with = (or a few other characters) as a
formula. Such cells are written with an apostrophe in front, which `--reviewed` removes again.
"""

import csv
import re
from collections import defaultdict
from typing import Any

import numpy as np

from nmlsdr._checks.labels import alphas_of_labels, check_labels
from nmlsdr._checks.words import VERDICTS as VERDICT_WORDS
from nmlsdr._checks.words import fold
from nmlsdr._errors import InputError
from nmlsdr.datasets._files import Lines

#: The columns of the list, except that of the ids.
OWN_COLUMNS = ("row", "label", "given", "score", "suggest", "kind", "rank", "verdict")

OPEN = ("", "?")
VERDICTS = "1, yes or add (the label belongs there), 0, no or remove (it does not), keep (as given), or nothing yet"
LARGEST = 1 << 28  # bytes

# Apostrophes in front are ignored, so that a cell which begins with an apostrophe and = is escaped and restored too.
FORMULA = re.compile(r"'*([=@\t\r]|[+-](?!(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z))", re.ASCII)


def escape_formula(cell: str) -> str:
    """Return the cell in a form that a spreadsheet reads as text.

    Examples
    --------
    >>> [escape_formula(cell) for cell in ("=1+1", "-x", "-1.5", "flu", "'=1")]
    ["'=1+1", "'-x", '-1.5', 'flu', "''=1"]
    """
    return f"'{cell}" if FORMULA.match(cell) else cell


def unescape_formula(cell: str) -> str:
    """Return the cell that `escape_formula` was given.

    Examples
    --------
    >>> [unescape_formula(escape_formula(cell)) for cell in ("=1+1", "'=1", "'n Abend")]
    ['=1+1', "'=1", "'n Abend"]
    """
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


def names_or_numbers(names: list[str] | None, what: str, n: int) -> list[str]:
    """Return the names of the columns, or label_0, label_1, ... (`what`: "label") if the file had none."""
    return names or [f"{what}_{c}" for c in range(n)]


def fit_reviewed(step: Any, X: Any, table: Any) -> Any:
    """Fit on the table's labels; a step that propagates gets alpha 0 for the entries that people have checked.

    Parameters
    ----------
    step : estimator
    X : array (n, D)
    table : Bunch
        With target (n, C) and reviewed, bool (n, C), or None without verdicts.

    Returns
    -------
    estimator
        `step`, fitted.
    """
    # Imported here and not above: --help need not load scikit-learn.
    from sklearn.utils.validation import has_fit_parameter

    y = table.target
    if table.votes is not None and getattr(step, "_takes_votes", False):
        y = table.votes if table.reviewed is None else np.where(table.reviewed, y, table.votes)
    if table.reviewed is None or not table.reviewed.any() or not has_fit_parameter(step, "alpha"):
        return step.fit(X, y)
    alpha = alphas_of_labels(check_labels(y), step.alpha_labeled, step.alpha_unlabeled)
    return step.fit(X, y, alpha=np.where(table.reviewed, 0.0, alpha if alpha.ndim == 2 else alpha[:, None]))


def read_verdicts(path: str, table: Any, source: str, id_name: str | None = None) -> None:
    """Set the entries that a file of verdicts names, in ``table.target``, and mark them in ``table.reviewed``.

    A row is found by its id. Where several rows have that id, the number in the column row decides.

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
        The column of ids in the data file, which the list has too; "id" serves as well, and is the only one for a
        column that is called like one of the list's own.

    Raises
    ------
    InputError
        For a file without these columns, a row or label that the table does not have, a row that is not the only one
        of its id, or two verdicts that differ.
    """
    labels = {name: c for c, name in enumerate(names_or_numbers(table.label_names, "label", table.target.shape[1]))}
    header, lines = _read(path)
    own = (id_name or "").strip().lower()
    known_as = [] if table.ids is None else [name for name in (own, "id") if name in header and name not in OWN_COLUMNS]
    # An id column called row is written as id, and a list without it may mean either by its column row.
    key = known_as[0] if known_as else "id" if table.ids is not None and own == "row" else "row"
    for name in (key, "label", "verdict"):
        if header.count(name) != 1:
            what = "lacks the column" if name not in header else "has more than one column"
            raise InputError(f"{path} {what} {name!r}; give {key}, label and verdict, one annotation a line.")
    places: dict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(map(str, range(len(table.target))) if key == "row" else table.ids):
        places[name].append(i)
    given = table.target
    target, reviewed = given.copy(), np.zeros(given.shape, dtype=bool)
    advice = "give the file that was reviewed"
    for number, cells in lines:
        here = f"{path}, line {number}"
        line = dict(zip(header, cells, strict=False))
        if not {key, "label", "verdict"} <= set(line):
            raise InputError(f"{here}: {len(cells)} cells, but the header has {len(header)}; correct this line.")
        verdict = line["verdict"].strip()
        if verdict.lower() in OPEN:
            continue
        name, found = _look_up(line[key], places)
        if found is None:
            raise InputError(f"{here}: {source} has no {key} {name!r}; {advice}.")
        label, c = _look_up(line["label"], labels)
        if c is None:
            raise InputError(f"{here}: {source} has no label {label!r}; {advice}.")
        i = found[0]
        if len(found) > 1:
            row = line.get("row", "").strip()
            if not row:
                rows = f"{len(found)} rows of {source} have the {key} {name!r}, the first is row {i}"
                raise InputError(f"{here}: {rows}; give the column row too, as `nmlsdr review` writes it.")
            if row not in map(str, found):
                raise InputError(f"{here}: row {row} of {source} does not have the {key} {name!r}; {advice}.")
            i = int(row)
        value = given[i, c] if verdict.lower() == "keep" else VERDICT_WORDS.get(fold(verdict), -1)
        if value not in (0, 1):
            raise InputError(f"{here}: {verdict!r} is not a verdict; give {VERDICTS}.")
        if reviewed[i, c] and target[i, c] != value:
            raise InputError(f"{here}: a second and different verdict on {name!r}, {label!r}; keep one.")
        target[i, c], reviewed[i, c] = value, True
    table.target, table.reviewed = target, reviewed
    table.labeled = (target != -1).any(axis=1)


def _look_up(cell: str, known: dict[str, Any]) -> tuple[str, Any]:
    """Return the name in a cell and its entry in `known`; blanks around a typed name are ignored."""
    exact = unescape_formula(cell)
    name = exact if exact in known else cell.strip()
    return name, known.get(name)


def _read(path: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of the columns, folded, and each filled line with its number."""
    with Lines(path, LARGEST) as lines:
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=lines.dialect(None, ".").delimiter)
        try:
            header = [unescape_formula(name).strip().lower() for name in next(reader, [])]
            return header, [(lines.number, cells) for cells in reader if any(cell.strip() for cell in cells)]
        except csv.Error as error:
            raise lines.error(f"{error}; save it as CSV") from None
