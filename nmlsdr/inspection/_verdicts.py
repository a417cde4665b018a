"""The list of annotations to check as columns of a file, and the verdicts of people who checked it.

People fill in the list in a spreadsheet, which reads a cell that begins with = (or a few other characters) as a
formula. Such cells are written with an apostrophe in front, which the reader removes again.
"""

import csv
import dataclasses
import os
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._checks.cells import column_names
from .._checks.labels import check_entries
from .._checks.words import UNCLEAR, fold
from .._checks.words import VERDICTS as VERDICT_WORDS
from .._errors import InputError, plural
from ..tables import Form, Lines
from ._review import Suspects
from ._row_checks import check_rows, places_of

#: The columns of the list, except that of the ids.
OWN_COLUMNS = ("row", "label", "score", "suggest", "kind", "rank", "audit", "check", "verdict")

OPEN = ("", "?")
SUGGESTED_FOR = {"add": 0, "remove": 1}  #: the given label beside which the list suggests this
VERDICTS = (
    "1, yes or add (the label belongs there), 0, no or remove (it does not), keep (as given), unclear (it cannot be "
    "told), or nothing yet"
)
LARGEST = 1 << 28  # bytes

# Apostrophes in front are ignored, so that a cell which begins with an apostrophe and = is escaped and restored too.
# The script of the page uses this pattern too, so it is written in what both languages have.
FORMULA = re.compile(r"^'*([=@\t\r]|[+-](?!(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(?![\s\S])))", re.ASCII)

Columns = list[tuple[str, NDArray[Any]]]
Places = dict[str, dict[str, list[int]]]


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


def names_or_numbers(names: Sequence[str] | None, prefix: str, n: int) -> list[str]:
    """Return the names of the columns, or label_0, label_1, ... (`prefix`: "label") if the file had none."""
    return list(names) if names else [f"{prefix}_{c}" for c in range(n)]


def three_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers rounded to three digits, as a list shows them.

    Examples
    --------
    >>> three_digits(np.array([0.6098911, 1234.5, 0.0]))
    array([6.10e-01, 1.23e+03, 0.00e+00])
    """
    return np.array([float(f"{value:.3g}") for value in values.ravel()]).reshape(values.shape)


def list_columns(suspects: Suspects, label_names: Sequence[str], named: Columns) -> Columns:
    """Return the names and values of the columns of a list; `named` are those that name all rows, the check last."""
    *names, check = ((name, values[suspects.row]) for name, values in named)
    return [
        *names,
        ("label", np.array(label_names, dtype=object)[suspects.label]),
        ("score", three_digits(suspects.score)),
        ("suggest", np.array(["add", "remove", ""], dtype=object)[suspects.given]),  # -1 is unknown
        ("kind", suspects.kind.astype(object)),
        ("rank", suspects.rank),
        ("audit", np.where(suspects.audit, "yes", "").astype(object)),
        check,
        ("verdict", np.full(len(suspects.row), "", dtype=object)),
    ]


def for_spreadsheets(columns: Columns) -> Columns:
    """Return the columns with texts that a spreadsheet does not read as formulas."""
    escaped = np.vectorize(escape_formula, otypes=[object])
    return [(escape_formula(name), escaped(a) if a.dtype == object else a) for name, a in columns]


def read_verdicts(
    path: str | os.PathLike[str],
    y: Any,
    *,
    table: Any = None,
    ids: Sequence[Any] | None = None,
    id_name: str | None = None,
    label_names: Sequence[str] | None = None,
    encoding: str | None = None,
) -> NDArray[np.int64]:
    """Read the verdicts that the review page or a filled-in list gives on annotations.

    Parameters
    ----------
    path : path
        CSV or TSV with the columns label and verdict, and check or the ids or both, also as a spreadsheet saves it. A
        verdict is 1, yes or add; 0, no or remove; keep (what the column suggest would change, or else y); unclear, if
        it cannot be told; or nothing yet. Yes and no may be words of other languages.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        The labels as they were given, before any verdict.
    table : DataFrame, array-like or sparse matrix of shape (n_samples, n_columns), default=None
        What `write_review` got as ``table``, or else as ``X``. Rows are found by their check, a hash of their cells,
        wherever they stand. For a list of the command: the columns of its file without those of labels and ids.
    ids : sequence of length n_samples, default=None
        Names of the rows, by which they are found too. One of ``table`` and ``ids`` is needed. Where several rows have
        one id, the check decides.
    id_name : str, default=None
        The column of the ids. None: id.
    label_names : sequence of length n_labels, default=None
        Names of the labels. None: those of the columns of y, or label_0, label_1, ....
    encoding : str, default=None
        Encoding of the file, if it is not UTF-8, and the names of its labels and ids do not show another one.

    Returns
    -------
    ndarray of shape (n_samples, n_labels), int64
        1 where the label belongs to the row, 0 where it does not, -2 where a person could not tell, and -1 where there
        is no verdict. `fit` of `nmlsdr.ResidualPropagation` takes it as ``verdicts``, beside the same y.

    Raises
    ------
    ValueError
        For a file without these columns, a line that means no row of the table, several, or two (its check is that of
        one and its id that of another), a label that y does not have, a word that is no verdict, or two verdicts that
        differ. The message names the line.

    Warns
    -----
    UserWarning
        If rows were found by their id alone although the list has their check, or the other way round, and if labels
        were corrected since the list was made, as its column suggest shows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "verdicts.csv")
    >>> _ = file.write_text("id,label,verdict\\nP7,label_1,yes\\nP8,label_0,\\n")
    >>> read_verdicts(file, [[1, 0], [0, 1]], ids=["P7", "P8"])
    array([[-1,  1],
           [-1, -1]])
    >>> folder.cleanup()
    """
    labels, names = labels_to_review(y)
    names = names if label_names is None else list(label_names)
    ids = None if ids is None else list(map(str, ids))
    form = Form(max_bytes=LARGEST, known_words=[*names, *(ids or ())], likely_encoding=encoding)
    header, lines = read_lines(os.fspath(path), form)
    places = _places_of_rows(header, table, labels, ids, id_name)
    _check_header(path, header, places)
    reader = _VerdictLines(path, header, {name: c for c, name in enumerate(names)}, places, labels)
    verdicts = np.full(labels.shape, -1)
    for number, cells in lines:
        reader.read(number, cells, verdicts)
    reader.refuse_unplaced(len(lines))
    for note in reader.notes():
        warnings.warn(f"{path}: {note}.", stacklevel=2)
    return verdicts


def _places_of_rows(
    header: Sequence[str], table: Any, labels: NDArray[Any], ids: Sequence[str] | None, id_name: str | None
) -> Places:
    """The rows that have each check and each id, for the columns of the two that the list has; both if it has none."""
    own_name = (id_name or "").strip().lower()
    key = next((name for name in (own_name, "id") if name in header and name not in OWN_COLUMNS), "id")
    names_of_rows = {"check": None if table is None else check_rows(table, labels), key: ids}
    places = {name: places_of(texts) for name, texts in names_of_rows.items() if texts is not None}
    if not places:
        raise InputError("Rows are found by their check or their id; pass table= or ids=.")
    return {name: rows for name, rows in places.items() if name in header} or places


def _check_header(path: Any, header: Sequence[str], places: Places) -> None:
    """Raise unless the list has each column that is needed, once."""
    key = next((name for name in places if name != "check"), "id")
    advice = f"give check or {key}, label and verdict, one annotation a line"
    need_columns(path, header, (*places, "label", "verdict"), advice)


def need_columns(path: Any, header: Sequence[str], names: Iterable[str], advice: str) -> None:
    """Raise unless a file has each of these columns once."""
    for name in names:
        if header.count(name) != 1:
            problem = "lacks the column" if name not in header else "has more than one column"
            raise InputError(f"{path} {problem} {name!r}; {advice}.")


def cells_of_line(
    header: Sequence[str], cells: Sequence[str], needed: Collection[str], where: str
) -> Mapping[str, str]:
    """The cells of a line by their columns; raise if the line ends before a column that is needed."""
    line = dict(zip(header, cells, strict=False))
    if not line.keys() >= set(needed):
        raise InputError(f"{where}: {len(cells)} cells, but the header has {len(header)}; correct this line.")
    return line


@dataclasses.dataclass
class _VerdictLines:
    """Reads the lines of a list, and counts what is to be said about them.

    Attributes
    ----------
    path : path
    header : sequence of str
    labels : dict of str to int
    places : dict
        As `_places_of_rows` returns them.
    annotations : ndarray of shape (n_samples, n_labels)
    unplaced : list of str
        For each verdict that means no row, or several, where it stands and the reason.
    n_corrected : int
        Labels that changed since the list was made.
    n_unknown : dict of str to int
        For each way of finding rows the number of verdicts for which it found none.
    """

    path: Any
    header: Sequence[str]
    labels: Mapping[str, int]
    places: Places
    annotations: NDArray[Any]
    unplaced: list[str] = dataclasses.field(default_factory=list)
    n_corrected: int = 0
    n_unknown: dict[str, int] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.n_unknown = dict.fromkeys(self.places, 0)

    def read(self, number: int, cells: Sequence[str], verdicts: NDArray[np.int64]) -> None:
        """Enter the verdict of a line, if it has one."""
        where = f"{self.path}, line {number}"
        line = cells_of_line(self.header, cells, (*self.places, "label", "verdict"), where)
        word = line["verdict"].strip()
        if word.lower() in OPEN:
            return
        label, c = _look_up(line["label"], self.labels)
        if c is None:
            raise InputError(f"{where}: the table has no label {label!r}; give the file that was reviewed.")
        try:
            i = find_row(line, self.places, self.n_unknown)
        except LookupError as reason:
            self.unplaced.append(f"{where}: {reason}")
            return
        value = value_of_verdict(word, self._label_before(line, i, c), where)
        if verdicts[i, c] not in (-1, value):
            raise InputError(f"{where}: a second and different verdict on row {i}, {label!r}; delete one of the lines.")
        verdicts[i, c] = value

    def _label_before(self, line: Mapping[str, str], i: int, c: int) -> int:
        """The given label when the list was made, as its suggestion shows; counts those that changed."""
        label = self.annotations[i, c]
        before = SUGGESTED_FOR.get(line.get("suggest", "").strip().lower(), label)
        self.n_corrected += bool(before != label != -1)
        return int(before)

    def refuse_unplaced(self, n_lines: int) -> None:
        """Raise for verdicts that mean no row of the table, or several."""
        if not self.unplaced:
            return
        n_more = len(self.unplaced) - 1
        remainder = f", and {plural(n_more, 'more line')} of {n_lines} cannot be placed" if n_more else ""
        same = (
            ", read with the same --id and --drop (other columns change every check)" if "check" in self.places else ""
        )
        advice = f"give the list with all its columns and the table that it was made from{same}, or delete these lines"
        raise InputError(f"{self.unplaced[0]}{remainder}; {advice}.")

    def notes(self) -> list[str]:
        """What to warn of."""
        notes = notes_on_rows(self.n_unknown)
        if self.n_corrected:
            notes.append(
                f"{plural(self.n_corrected, 'label')} of the table changed since the list was made; give the labels "
                "from before, which show how often label errors occur"
            )
        return notes


def value_of_verdict(word: str, before: int, where: str) -> int:
    """What a word decides: 1, 0, or -2 if it cannot be told; ``before`` is the given label, which "keep" keeps."""
    keeps = word.lower() == "keep"
    value = before if keeps else VERDICT_WORDS.get(fold(word), -1)
    if value not in (0, 1, UNCLEAR):
        problem = "keeps a 0 or 1, and none is given here" if keeps else "is not a verdict"
        raise InputError(f"{where}: {word!r} {problem}; give {VERDICTS}.")
    return value


def find_row(line: Mapping[str, str], places: Places, n_unknown: dict[str, int]) -> int:
    """Return the row that a line of a list means; count in `n_unknown` the ways in which the table does not have it.

    Raises
    ------
    LookupError
        Says why the row cannot be told.
    """
    matches = {name: _look_up(line[name], rows) for name, rows in places.items()}
    rows = {name: candidates for name, (_, candidates) in matches.items() if candidates}
    shared = set.intersection(*map(set, rows.values())) if rows else set()
    if len(shared) == 1:
        for name, (text, candidates) in matches.items():
            n_unknown[name] += bool(text and not candidates)
        return shared.pop()
    texts = " and ".join(f"the {name} {text!r}" for name, (text, _) in matches.items() if name in rows or not rows)
    raise LookupError(_describe_ambiguity(texts, rows, shared))


def _describe_ambiguity(texts: str, rows: Mapping[str, list[int]], shared: Collection[int]) -> str:
    """Why texts of a line do not mean one row: `rows` are those that each text means, `shared` those of all texts."""
    if not rows:
        return f"no row of the table has {texts}"
    if shared:
        return f"{len(shared)} rows of the table have {texts}, the first is row {min(shared)}"
    return f"{texts} belong to two rows, {' and '.join(str(candidates[0]) for candidates in rows.values())}"


def notes_on_rows(n_unknown: Mapping[str, int]) -> list[str]:
    """Return a note for each way of finding rows that found none for some verdicts, whose number is in `n_unknown`."""
    return [
        f"no row of the table has the {name} of {plural(n, 'verdict')}; the other column found the row"
        for name, n in n_unknown.items()
        if n
    ]


def labels_to_review(y: Any) -> tuple[NDArray[np.float64], list[str]]:
    """Return 2-D labels with -1 for what is unknown, and their names."""
    Y, known = check_entries(y, to_fit=True)
    names = column_names(y)
    return np.where(known, Y, -1.0), names_or_numbers(names if names is None else names.tolist(), "label", Y.shape[1])


def _look_up(cell: str, known: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the name in a cell and its entry in `known`; blanks around a typed name are ignored."""
    exact = unescape_formula(cell)
    name = exact if exact in known else cell.strip()
    return name, known.get(name)


def read_lines(path: str, form: Form, *, keep_case: bool = False) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Return the names of the columns, in lower case or as they are written, and each filled line with its number."""
    with Lines(path, form) as lines:
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=lines.delimiter(None))
        try:
            header = [unescape_formula(name).strip() for name in next(reader, [])]
            return header if keep_case else [name.lower() for name in header], [
                (lines.number, cells) for cells in reader if any(cell.strip() for cell in cells)
            ]
        except csv.Error as error:
            raise lines.error(f"{error}; save it as CSV") from None
