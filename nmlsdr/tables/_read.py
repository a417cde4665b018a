"""Read a table of features and labels from a file of any kind that the command line accepts."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .._errors import plural, shorten, some_of
from . import _label_lists, _labels
from ._columns import Cells, Table, Texts
from ._facts import tally
from ._files import DataFileError, Form, Path_, library_errors, named, place
from ._formats import WITHOUT_NAMES, open_table, reader_of
from ._label_cuts import frequent_labels, merge_labels
from ._label_names import read_labels
from ._npz import read_npz
from ._plain import plain_contents
from ._plan import Plan
from ._planner import Choices, Planner
from ._problems import Problem, problems_in_words
from ._roles import MOST_MISSING, LabelNames, Roles, Split, refuse_missing, split_columns
from ._row_groups import repeating_id, row_groups
from ._sentinels import missing_codes
from ._svmlight import read_svmlight


def read_table(
    path: Path_, roles: Roles | None = None, form: Form | None = None, *, plan: Plan | Choices | None = None
) -> Bunch:
    """Read features from one file, and labels if `roles` says where they are.

    ========================== =================================================================================
    ``.arff`` (``.gz``)        Mulan or Weka, dense (ndarray) or sparse (CSR)
    ``.csv``, ``.tsv`` (gz)    the first line has the names of the columns; blank lines are allowed at the end only;
                               needs pyarrow, which the extra ``cli`` installs
    ``.xlsx``                  a sheet of Excel, whose first row has the names; needs the extra ``excel``
    ``.parquet``, ``.pq``      columns of numbers, booleans, dates or texts (a pandas index is left out); needs the
                               extra ``parquet``
    ``.npz``                   arrays ``X`` or ``data`` and ``y`` or ``target``, optionally ``feature_names`` and
                               ``label_names``; or the parts that scipy.sparse.save_npz writes
    ``.svmlight``, ``.svm``,   ``label,label index:value ...``, indices from 1; labels are names of label columns
    ``.libsvm`` (``.gz``)
    ========================== =================================================================================

    Parameters
    ----------
    path : path
        File to read; its suffix gives the format.
    roles : Roles, default=None
        Which columns are labels, ids, or dropped. None: all are features.
    form : Form, default=None
        How the file is written, and how large it may be. None: all of it is found from the file.
    plan : Plan or Choices, default=None
        For a table with columns of text, dates or missing values (CSV, TSV, Parquet, dense ARFF): the ``plan`` that
        was returned for another table, or what the command line chose for a new one. None: all features must be
        numbers; `TableEncoder` is for other columns in Python.

    Returns
    -------
    Bunch
        data : ndarray or csr_array of shape (n_samples, n_features)
            Features in float64, or in float32 if the file (npz, Parquet) has no wider type. A missing value (an empty
            cell, ?, NA, N/A, NaN, NULL, or a null) of dense rows is NaN; all others are finite.
        target : ndarray of shape (n_samples, n_labels), int64, or None
            Labels 0/1 in the order of columns of the file; -1 where a label is unknown (an empty cell, "?" or -1).
            None if the file was read without labels.
        votes : ndarray of shape (n_samples, n_labels), float64, or None
            For `annotators`: the share of those who voted on the row that gave the label; -1 where nobody voted.
        labeled : ndarray of shape (n_samples,), bool, or None
            True for rows with a known label. None if the file was read without labels.
        feature_names, label_names : list of str, or None
            Names of features and labels; None if the file has no names. Labels that were cut have their short names.
        label_columns : list of str, or None
            Names of the columns of the labels in the file, before they were cut; None for lists of labels.
        ids : list of str, or None
            Cells of `id_column`; None if it was not given.
        plan : Plan or None
            What was done with each column. None if the parameter ``plan`` is None or the rows are sparse.
        lists : Lists or None
            The separator and the word for no label of `label_list`.
        groups : ndarray of shape (n_samples,), int64, or None
            Equal for rows with one id, or else for rows with equal cells; None if all rows differ.
        notes : list of str
            Remarks for a person, such as columns of the same name that were renamed.
        differences : list of str
            What is not as in the table of the ``plan`` of another one: one line for each such column.
        unused : list of str
            Columns that are not in `feature_columns` and have no other role.
        columns : dict of str to (Numbers or Texts), or None
            The cells of the columns as they stand in the file: ``columns["age"].text(row)`` is the text of one. Without
            those that were dropped or are not in `plan`. None for files without names of columns, and sparse rows.
        encoding : str or None
            Encoding of a text file, as given or guessed (then one of the notes says so); None for other files.

    Raises
    ------
    DataFileError
        A ValueError, whose message names the file, the line and the column, and says what to do. An option of the
        command line in it, such as --encoding, is the parameter of that name of `Form` or `Roles`.
    ImportError
        If a package that the format needs is not installed; the message names the extra to install.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from nmlsdr.tables import Roles
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "notes.csv")
    >>> _ = file.write_text("length,flu,cold\\n1.5,0,1\\n2.5,,\\n")
    >>> table = read_table(file, Roles(label_columns=["flu", "cold"]))
    >>> table.target
    array([[ 0,  1],
           [-1, -1]])
    >>> table.feature_names, table.labeled
    (['length'], array([ True, False]))
    >>> folder.cleanup()
    """
    roles = roles or Roles()
    form = form or Form()
    with named(path):
        roles.check()
        labels = _names_of_labels(roles, form)
        table, encode = _read_columns(path, roles, _with_known_words(form, roles, labels, plan), labels, plan)
        if table.label_names is not None and table.lists is None:
            _cut_labels(table, roles)
        encode()
        _refuse_empty(table, roles)
        if roles.mask is not None:
            _labels.apply_mask(table, roles.mask)
        if roles.min_count > 1 and table.target is not None and not isinstance(plan, Plan):
            _leave_out_rare(table, roles.min_count)
    table.labeled = None if table.target is None else (table.target != -1).any(axis=1)
    return table


def _names_of_labels(roles: Roles, form: Form) -> LabelNames | None:
    """Return the names of the label columns, or None if nobody says them."""
    if roles.labels_xml is not None:
        return read_labels(roles.labels_xml, max_bytes=form.max_bytes, max_labels=form.max_features)
    return None if roles.label_columns is None else list(roles.label_columns)


def _with_known_words(form: Form, roles: Roles, labels: LabelNames | None, plan: Plan | Choices | None) -> Form:
    """Return the form with the words by which an encoding is recognised: names, and what the table of the fit had."""
    words = [*form.known_words, *_expected_names(roles, labels or (), plan)]
    if not isinstance(plan, Plan):
        return dataclasses.replace(form, known_words=words)
    words += (word for column in plan.used for word in (*column.levels.values(), *column.words))
    return dataclasses.replace(form, known_words=words, likely_encoding=form.likely_encoding or plan.encoding)


def _read_columns(
    path: Path_, roles: Roles, form: Form, labels: LabelNames | None, plan: Plan | Choices | None
) -> tuple[Bunch, Callable[[], None]]:
    """Return a table with its labels, and a function that makes its features by a plan; it may have nothing to do."""
    reader = reader_of(path)
    with library_errors(path):
        if reader in WITHOUT_NAMES:
            table = _read_arrays(path, reader, roles, form, labels)
        else:
            names = None if plan is None else _expected_names(roles, labels or (), plan)
            with open_table(path, reader, form, names) as source:
                split = _split(source, roles, labels, plan)
                contents = source.read(split)
            table, problems = _read_labels(path, contents, split, roles, form, plan)
    if table.columns is not None and isinstance(plan, Plan):
        return table, partial(_encode_new, table, contents, plan, problems)
    if table.columns is not None and isinstance(plan, Choices):
        return table, partial(_encode_fit, table, contents, split, roles, plan, problems)
    if isinstance(plan, Choices) and plan.fitted is not None:
        raise DataFileError(": it has no columns with names, which are compared with a fit; leave --model out.")
    return table, lambda: None


def _refuse_empty(table: Bunch, roles: Roles) -> None:
    """Raise for a table without rows or features."""
    n_rows, n_columns = table.data.shape
    columns = () if n_columns or table.plan is None else table.plan.columns
    if n_rows == 0 or (n_columns == 0 and (columns or roles.feature_columns is None)):
        why = "".join(f" (the first column, {shorten(c.name)!r}: {c.kind}, {c.reason})" for c in columns[:1])
        raise DataFileError(f": it holds {n_rows} rows of {n_columns} features{why}; give a file with data.")


def _read_labels(
    path: Path_, contents: Table, split: Split, roles: Roles, form: Form, plan: Plan | Choices | None
) -> tuple[Bunch, list[Problem]]:
    """Return a table with its labels, and with its features where no plan is needed for them; and wrong labels."""
    problems = list[Problem]()
    table = _result(
        label_names=split.labels or None,
        feature_names=split.features,
        unused=split.unused,
        encoding=contents.encoding,
    )
    if plan is None or contents.sparse is not None:
        table.data, table.target = plain_contents(contents, split, decimal=form.decimal)
    else:
        table.columns = contents.columns
        table.target = _labels.label_columns(contents, split, problems) if split.labels else None
    table.notes = [*contents.notes, *_notes_on_names(contents, plan)]  # those of the reader are complete here
    if split.id is not None:
        table.ids = contents.columns[split.id].all()
        table.groups = row_groups(table.ids)
    if split.lists:
        _read_lists(path, table, [contents.columns[name].texts for name in split.lists], roles, form, plan)
    elif roles.label_file is not None:
        _read_label_file(table, roles, path, contents.n_rows, form, split.id)
    return table, problems


def _cut_labels(table: Bunch, roles: Roles) -> None:
    """Cut the names of labels that have a column each, in place."""
    table.label_columns = table.label_names
    if not roles.cut.is_whole:
        table.target, table.label_names = merge_labels(table.target, table.label_names, roles.cut)
        table.notes = [*table.notes, *roles.cut.note(len(table.label_columns), len(table.label_names))]


def _leave_out_rare(table: Bunch, min_count: int) -> None:
    """Leave out labels that few rows have, in place."""
    is_frequent = frequent_labels(table.target, min_count)
    table.target = table.target[:, is_frequent]
    if table.votes is not None:
        table.votes = table.votes[:, is_frequent]
    if table.label_names is not None:
        table.label_names = [name for name, frequent in zip(table.label_names, is_frequent, strict=True) if frequent]
    if n_rare := int((~is_frequent).sum()):
        rare = f"{plural(n_rare, 'label')} with fewer than {min_count} rows"
        table.notes = [*table.notes, f"{rare} {'is' if n_rare == 1 else 'are'} left out"]


def _encode_fit(
    table: Bunch, contents: Table, split: Split, roles: Roles, choices: Choices, problems: list[Problem]
) -> None:
    """Decide what is done with the columns of a table, and make its features, in place; compare it with a model's."""
    columns = {name: contents.columns[name] for name in split.features}
    planner = _planner(table, columns, contents.n_rows, roles, choices)
    plan = planner.plan()
    table.notes = [*table.notes, *missing_codes(planner.columns), *_similar_names(table)]
    table.unused = None
    if split.id is None:
        table.notes = [*table.notes, *repeating_id(columns)]
        table.ids = None if plan.identifier is None else columns[plan.identifier].all()
    table.groups = row_groups(table.ids, planner.row_numbers)
    in_order = sorted(plan.columns, key=lambda column: split.all_names.index(column.name))
    plan = dataclasses.replace(plan, columns=tuple(in_order), encoding=contents.encoding or "")
    table.data = plan.encode(contents.columns, contents.n_rows, problems, checks=choices.only_checks)
    profiles = () if choices.only_checks else plan.profiles_of(contents.columns, table.data)
    table.plan = dataclasses.replace(plan, profiles=profiles)
    table.feature_names = plan.feature_names
    if choices.fitted is not None:
        table.differences = _differences(choices.fitted, contents)
    _refuse(problems, contents)


def _planner(table: Bunch, columns: Mapping[str, Cells], n_rows: int, roles: Roles, choices: Choices) -> Planner:
    """Return the decisions on the columns of a table, whose labels are known."""
    options = dataclasses.replace(choices, id=roles.id_column, drop=roles.drop, yes=roles.yes, no=roles.no)
    labeled = None if table.target is None else (table.target != -1).any(axis=1)
    words = [*(table.label_names or ()), *(table.label_columns or ())]
    separator = None
    if table.lists is not None:
        separator = table.lists.separator
        words += [table.lists.no_label] if table.lists.no_label else []
    return Planner(columns, n_rows, options, labeled, words, separator)


def _similar_names(table: Bunch) -> list[str]:
    """Return a note if names of labels probably are spellings of one name."""
    if not table.label_names:
        return []
    n_rows = (table.target == 1).sum(axis=0).tolist()
    return _labels.similar_names(dict(zip(table.label_names, n_rows, strict=True)))


def _differences(fitted: Plan, contents: Table) -> list[str]:
    """Return what is not as in the table of a fit, a line for each such column; raise if a column is absent."""
    names = [column.name for column in fitted.used]
    refuse_missing("", names, [*contents.columns], "columns that the model was fitted on")
    _, errors, lines = fitted.encode_new(contents.columns, contents.n_rows, [], (), contents.renamed)
    return lines + ([_sentence_on(errors, contents).removesuffix(".")] if errors else [])


def _encode_new(table: Bunch, contents: Table, plan: Plan, problems: list[Problem]) -> None:
    """Make the features of a table, in place, by the plan of another one."""
    table.plan = plan
    table.feature_names = plan.feature_names
    if absent := [column.name for column in plan.used if column.name not in contents.columns]:
        shown = some_of(absent, MOST_MISSING)
        table.notes = [*table.notes, f"absent columns are filled in like missing values: {shown}"]
        contents.columns |= {name: Texts([""], np.zeros(contents.n_rows, np.int32)) for name in absent}
    encoded = plan.encode_new(contents.columns, contents.n_rows, problems, absent, contents.renamed)
    table.data, errors, table.differences = encoded
    _refuse(errors, contents)


def _refuse(problems: Sequence[Problem], contents: Table) -> None:
    """Raise if there are cells that are not what their columns hold."""
    if problems:
        ends = all((problem.rows == contents.n_rows - 1).all() for problem in problems)
        advice = " If the last row is a sum or a remark below the table, remove it." if ends else ""
        raise DataFileError(f": {_sentence_on(problems, contents)}{advice}")


def _sentence_on(problems: Sequence[Problem], contents: Table) -> str:
    """Return one sentence on cells, with the lines of the file."""
    return problems_in_words(
        [problem._replace(rows=contents.lines[problem.rows]) for problem in problems], contents.unit
    )


def _notes_on_names(contents: Table, plan: Plan | Choices | None) -> list[str]:
    """Return a note on each name of a column that the reader made, unless the table of the fit had it too."""
    names_of_fit = plan.names if isinstance(plan, Plan) else ()
    notes = []
    for name, original in contents.renamed.items():
        if name not in names_of_fit:
            column = f"a second column {shorten(original)!r}" if original else "a column without a name"
            notes.append(f"{column} is called {shorten(name)!r}")
    return notes


def _expected_names(roles: Roles, labels: LabelNames, plan: Plan | Choices | None) -> list[str]:
    """Return the names of columns that a file should have."""
    names = [*labels, *roles.drop, *roles.lists, roles.id_column or "", *(roles.feature_columns or ())]
    return names + (plan.names if isinstance(plan, Plan) else [*(plan.one_hot if plan else ())])


def _result(**known: Any) -> Bunch:
    """Return what is known of a table so far."""
    names = (
        "target",
        "votes",
        "label_names",
        "label_columns",
        "ids",
        "plan",
        "lists",
        "groups",
        "unused",
        "columns",
        "encoding",
    )
    return Bunch(**{**dict.fromkeys(names), "notes": [], "differences": [], **known})


def _read_arrays(path: Path_, reader: Any, roles: Roles, form: Form, labels: LabelNames | None) -> Bunch:
    """Read a file whose columns have no names."""
    for option in ("drop", "id_column", "label_list", "annotators", "empty_is"):
        if (value := getattr(roles, option)) and value != "unknown":
            raise DataFileError(f": {option}={value} needs columns with names, and the file has none.")
    table = _result(**reader(path, form, labels))
    if not roles.cut.is_whole and table.target is not None and table.label_names is None and roles.label_file is None:
        raise DataFileError(": its labels have no names, which could be cut; leave label_prefix and label_until out.")
    if roles.label_file is not None:
        _read_label_file(table, roles, path, table.data.shape[0], form)
    return table


def _split(source: Any, roles: Roles, labels: LabelNames | None, plan: Plan | Choices | None) -> Split:
    """Give each column its role, with a plan that which it had in the table of the fit."""
    if not isinstance(plan, Plan):
        return split_columns(source, roles, labels, () if plan is None else plan.one_hot)
    names = [column.name for column in plan.used]
    if roles.fill_absent:
        present = {*source.names}
        names = [name for name in names if name in present]
    advice = "complete it, or fill in what is absent like missing values (--fill-absent)"
    refuse_missing(place(source.line), names, source.names, "columns that the model was fitted on", advice)
    has_identifier = roles.id_column is None and plan.identifier in source.names
    id_column = plan.identifier if has_identifier else roles.id_column
    roles_at_fit = dataclasses.replace(roles, id_column=id_column, feature_columns=plan.names)
    return dataclasses.replace(split_columns(source, roles_at_fit, labels), features=names)


def _read_lists(
    path: Path_, table: Bunch, columns: list[Texts], roles: Roles, form: Form, plan: Plan | Choices | None
) -> None:
    """Read labels from columns of lists, in place."""
    counts = tally(pair for column in columns for pair in zip(column.different, column.counts.tolist(), strict=True))
    if plan is None:
        table.lists = _label_lists.Lists(roles.separator or ";", roles.no_label)
    else:
        table.lists = _label_lists.find_lists(counts, roles.separator, roles.no_label)
    _label_lists.refuse_unused(counts, table.lists, _list_options(roles, plan))
    if isinstance(plan, Choices):
        _label_lists.check_lists(counts, table.lists, place(None, roles.lists[0]), roles.separator is not None)
        if roles.separator is None:
            table.notes = [*table.notes, *_label_lists.doubts_on_separator(counts, table.lists)]
    targets, table.label_names, notes = _labels.listed_labels(path, columns, table.lists, form, roles)
    table.notes = [*table.notes, *notes]
    table.target = targets[0]
    if roles.annotators is not None:
        table.votes, table.target = _labels.votes_of(np.array(targets))


def _list_options(roles: Roles, plan: Plan | Choices | None) -> dict[str, str]:
    """Return the separator and the word for no label of a person, without those of the fit, which a table may lack."""
    at_fit = plan.labels if isinstance(plan, Plan) else {}
    options = {"separator": roles.separator, "no_label": roles.no_label}
    return {name: value for name, value in options.items() if value is not None and value != at_fit.get(name)}


def _read_label_file(table: Bunch, roles: Roles, source: Path_, n_rows: int, form: Form, id: str | None = None) -> None:
    """Read a file whose columns are all labels, but for one with the ids of the table, in place."""
    path: Any = roles.label_file
    reader = reader_of(path)
    limits = Form(known_words=form.known_words, likely_encoding=table.encoding)
    limits = dataclasses.replace(limits, max_bytes=form.max_bytes, max_features=form.max_features)
    with library_errors(path):
        if reader in WITHOUT_NAMES:
            arrays = read_npz(path, limits, is_labels=True) if reader is read_npz else read_svmlight(path, limits)
            target = arrays.target
            names = arrays.label_names
        else:
            with open_table(path, reader, limits) as file:
                names = [name for name in file.names if name != id]
                split = Split(labels=names, id=id if id in file.names else None, yes=roles.yes, no=roles.no)
                split = dataclasses.replace(split, empty_is=roles.empty_is)
                labels = file.read(split)
                if split.id is not None and labels.columns[split.id].all() != table.ids:
                    raise DataFileError(f": its column {id!r} differs from that of {source}; order the rows alike.")
                target = plain_contents(labels, split)[1]
                table.notes = [*table.notes, *(f"{os.fspath(path)}: {note}" for note in labels.notes)]
        if target is None:
            raise DataFileError(": it holds no labels; give one column per label.")
        if target.shape[0] != n_rows:
            raise DataFileError(f": {len(target)} rows of labels, but {source} has {n_rows} rows; give one for each.")
    table.target = target
    table.label_names = names
