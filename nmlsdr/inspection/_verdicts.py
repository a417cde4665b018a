"""The list of annotations to check as columns of a file, and the verdicts of people who checked it.

People fill in the list in a spreadsheet, which reads a cell that begins with = (or a few other characters) as a
formula. Such cells are written with an apostrophe in front, which the reader removes again.
"""

import csv
import os
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.cells import column_names
from .._checks.labels import alphas_of_labels, check_entries, check_labels
from .._checks.words import LABELS, UNCLEAR, fold
from .._checks.words import VERDICTS as VERDICT_WORDS
from .._errors import InputError
from ..tables import Form, Lines
from ._review import Suspects

#: The columns of the list, except that of the ids.
OWN_COLUMNS = ("row", "label", "given", "score", "suggest", "kind", "rank", "audit", "verdict")

OPEN = ("", "?")
VERDICTS = (
    "1, yes or add (the label belongs there), 0, no or remove (it does not), keep (as given), unclear (it cannot be "
    "told), or nothing yet"
)
LARGEST = 1 << 28  # bytes

# Apostrophes in front are ignored, so that a cell which begins with an apostrophe and = is escaped and restored too.
# The script of the page uses this pattern too, so it is written in what both languages have.
FORMULA = re.compile(r"^'*([=@\t\r]|[+-](?!(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(?![\s\S])))", re.ASCII)

Columns = list[tuple[str, NDArray[Any]]]


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


def names_or_numbers(names: Sequence[str] | None, what: str, n: int) -> list[str]:
    """Return the names of the columns, or label_0, label_1, ... (`what`: "label") if the file had none."""
    return list(names) if names else [f"{what}_{c}" for c in range(n)]


def three_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers rounded to three digits, as a list shows them.

    Examples
    --------
    >>> three_digits(np.array([0.6098911, 1234.5, 0.0]))
    array([6.10e-01, 1.23e+03, 0.00e+00])
    """
    return np.array([float(f"{value:.3g}") for value in values.ravel()]).reshape(values.shape)


def list_columns(found: Suspects, label_names: Sequence[str], rows: Columns) -> Columns:
    """Return the names and values of the columns of a list; `rows` are the columns that name the rows."""
    return [
        *rows,
        ("label", np.array(label_names, dtype=object)[found.label]),
        ("given", found.given),
        ("score", three_digits(found.score)),
        ("suggest", np.where(found.given == 1, "remove", "add").astype(object)),
        ("kind", found.kind.astype(object)),
        ("rank", found.rank),
        ("audit", np.where(found.audit, "yes", "").astype(object)),
        ("verdict", np.full(len(found.row), "", dtype=object)),
    ]


def for_spreadsheets(columns: Columns) -> Columns:
    """Return the columns with texts that a spreadsheet does not read as formulas."""
    escaped = np.vectorize(escape_formula, otypes=[object])
    return [(escape_formula(name), escaped(a) if a.dtype == object else a) for name, a in columns]


def read_verdicts(
    path: str | os.PathLike[str],
    y: Any,
    *,
    ids: Sequence[Any] | None = None,
    id_name: str | None = None,
    label_names: Sequence[str] | None = None,
    corrected: bool = False,
    encoding: str | None = None,
) -> NDArray[np.int64]:
    """Read the verdicts that the review page or a filled-in list gives on annotations.

    Parameters
    ----------
    path : path
        CSV or TSV with the columns row (or the ids), label and verdict, also as a spreadsheet saves it. A verdict is 1,
        yes or add; 0, no or remove; keep; unclear, if it cannot be told; or nothing yet. Yes and no may be words of
        other languages. If there is a column given, it must hold the labels of y.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        The labels of the fit that the list was made with.
    ids : sequence of length n_samples, default=None
        Names of the rows. None: rows are found by their number, from 0, in the column row. Where several rows have
        one id, the column row decides.
    id_name : str, default=None
        The column of the ids. None: id.
    label_names : sequence of length n_labels, default=None
        Names of the labels. None: those of the columns of y, or label_0, label_1, ....
    corrected : bool, default=False
        Whether labels of y were corrected since the list was made, so that its column given may differ from y.
    encoding : str, default=None
        Encoding of the file, if it is not UTF-8, and the names of its labels and ids do not show another one.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), int64
        1 where the label belongs to the row, 0 where it does not, -2 where a person could not tell, and -1 where there
        is no verdict.

    Raises
    ------
    ValueError
        For a file without these columns, a row or label that y does not have, a row that is not the only one of its id,
        a word that is no verdict, two verdicts that differ, or a list that was made with other labels than y. The
        message names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "verdicts.csv")
    >>> _ = file.write_text("row,label,verdict\\n0,label_1,yes\\n1,label_0,\\n")
    >>> read_verdicts(file, [[1, 0], [0, 1]])
    array([[-1,  1],
           [-1, -1]])
    >>> folder.cleanup()
    """
    given, names = labels_to_review(y)
    names = names if label_names is None else list(label_names)
    ids = None if ids is None else list(map(str, ids))
    labels = {name: c for c, name in enumerate(names)}
    form = Form(max_bytes=LARGEST, known_words=[*names, *(ids or ())], likely_encoding=encoding)
    header, lines = _read(os.fspath(path), form)
    own = (id_name or "").strip().lower()
    known_as = [] if ids is None else [name for name in (own, "id") if name in header and name not in OWN_COLUMNS]
    # An id column called row is written as id, and a list without it may mean either by its column row.
    key = known_as[0] if known_as else "id" if ids is not None and own == "row" else "row"
    for name in (key, "label", "verdict"):
        if header.count(name) != 1:
            what = "lacks the column" if name not in header else "has more than one column"
            raise InputError(f"{path} {what} {name!r}; give {key}, label and verdict, one annotation a line.")
    places: dict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(ids if ids is not None and key != "row" else map(str, range(len(given)))):
        places[name].append(i)
    found, others = np.full(given.shape, -1), []
    advice = "give the file that was reviewed"
    for number, cells in lines:
        here = f"{path}, line {number}"
        line = dict(zip(header, cells, strict=False))
        if not {key, "label", "verdict"} <= set(line):
            raise InputError(f"{here}: {len(cells)} cells, but the header has {len(header)}; correct this line.")
        verdict = line["verdict"].strip()
        if verdict.lower() in OPEN:
            continue
        name, rows = _look_up(line[key], places)
        if rows is None:
            raise InputError(f"{here}: the table has no {key} {name!r}; {advice}.")
        label, c = _look_up(line["label"], labels)
        if c is None:
            raise InputError(f"{here}: the table has no label {label!r}; {advice}.")
        i = rows[0]
        if len(rows) > 1:
            row = line.get("row", "").strip()
            if not row:
                which = f"{len(rows)} rows of the table have the {key} {name!r}, the first is row {i}"
                raise InputError(f"{here}: {which}; give the column row too, as `nmlsdr review` writes it.")
            if row not in map(str, rows):
                raise InputError(f"{here}: row {row} of the table does not have the {key} {name!r}; {advice}.")
            i = int(row)
        if given[i, c] != -1 and LABELS.get(fold(line.get("given", "")), -1) not in (-1, given[i, c]):
            others.append((number, name, label, line["given"].strip(), given[i, c]))
        value = given[i, c] if verdict.lower() == "keep" else VERDICT_WORDS.get(fold(verdict), -1)
        if value not in (0, 1, UNCLEAR):
            why = "keeps a 0 or 1, and y has none here" if verdict.lower() == "keep" else "is not a verdict"
            raise InputError(f"{here}: {verdict!r} {why}; give {VERDICTS}.")
        if found[i, c] not in (-1, value):
            raise InputError(f"{here}: a second and different verdict on {name!r}, {label!r}; delete one of the lines.")
        found[i, c] = value
    if others and not corrected:
        number, name, label, before, now = others[0]
        what = f"{path}: {len(others)} lines do not fit the table; in line {number} the label {label!r} of {name!r}"
        advice = f"{advice}, or add --corrected (corrected=True) if labels were corrected meanwhile"
        raise InputError(f"{what} was given as {before}, and now it is {now:g}; {advice}.")
    return found


def apply_verdicts(
    verdicts: NDArray[Any], y: Any, *, alpha_labeled: Any = 0.6, alpha_unlabeled: float = 0.999
) -> tuple[Any, NDArray[np.float64]]:
    """Return labels that are corrected by verdicts, and an alpha by which neighbours cannot change these entries.

    Parameters
    ----------
    verdicts : ndarray of shape (n_samples, n_labels)
        What `read_verdicts` returns; an entry with -2 stays as it is.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        The given labels.
    alpha_labeled : float or pair of float, default=0.6
        alpha of the other given labels, as the estimators have it.
    alpha_unlabeled : float, default=0.999
        alpha of unlabelled rows and unknown entries.

    Returns
    -------
    y : ndarray or DataFrame of shape (n_samples, n_labels)
        The labels, -1 where they are unknown; a pandas frame if y is one.
    alpha : ndarray of shape (n_samples, n_labels), float64
        The argument ``alpha`` of `fit`: 0 where there is a verdict.

    Raises
    ------
    ValueError
        If the shapes differ, or the labels are invalid.

    Notes
    -----
    Fit with ``given=y`` too, the labels before these corrections: `nmlsdr.ResidualPropagation` counts from them how
    often mistakes are made.

    Examples
    --------
    >>> verdicts = np.array([[-1, 1], [-1, -1]])
    >>> apply_verdicts(verdicts, [[1, 0], [0, 1]])
    (array([[1, 1],
           [0, 1]]), array([[0.6, 0. ],
           [0.6, 0.6]]))
    """
    target, _ = labels_to_review(y)
    verdicts = np.asarray(verdicts)
    if verdicts.shape != target.shape:
        raise InputError(f"verdicts must have the shape of y, {target.shape}, got {verdicts.shape}.")
    decided = verdicts >= 0
    corrected: Any = np.where(decided, verdicts, target)
    alpha = alphas_of_labels(check_labels(corrected), alpha_labeled, alpha_unlabeled)
    alpha = np.where(decided, 0.0, alpha if alpha.ndim == 2 else alpha[:, None])
    corrected = corrected if (corrected % 1).any() else corrected.astype(np.int64)
    return (type(y)(corrected, index=y.index, columns=y.columns) if hasattr(y, "iloc") else corrected), alpha


def labels_to_review(y: Any) -> tuple[NDArray[np.float64], list[str]]:
    """Return 2-D labels with -1 for what is unknown, and their names."""
    Y, known = check_entries(y, to_fit=True)
    names = column_names(y)
    return np.where(known, Y, -1.0), names_or_numbers(names if names is None else names.tolist(), "label", Y.shape[1])


def _look_up(cell: str, known: dict[str, Any]) -> tuple[str, Any]:
    """Return the name in a cell and its entry in `known`; blanks around a typed name are ignored."""
    exact = unescape_formula(cell)
    name = exact if exact in known else cell.strip()
    return name, known.get(name)


def _read(path: str, form: Form) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of the columns, folded, and each filled line with its number."""
    with Lines(path, form) as lines:
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=lines.dialect(None, ".").delimiter)
        try:
            header = [unescape_formula(name).strip().lower() for name in next(reader, [])]
            return header, [(lines.number, cells) for cells in reader if any(cell.strip() for cell in cells)]
        except csv.Error as error:
            raise lines.error(f"{error}; save it as CSV") from None
