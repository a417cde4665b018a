"""--reviewed: verdicts of people who checked annotations, and what each step is fitted on."""

import dataclasses
import warnings
from typing import Any

import numpy as np

from .._checks.labels import alphas_of_labels, check_labels
from .._checks.words import UNCLEAR
from .._errors import plural
from .._thresholds import NeverPredictedWarning
from ..inspection import check_rows, read_verdicts
from ..inspection._copies import find_copies, spread_verdicts
from ..inspection._error_rate import read_error_rate
from ..inspection._row_labels import LabelList, read_row_labels
from ..inspection._verdicts import LARGEST
from ..tables import FEATURES, Form
from .console import Console
from .table import Table


def fit_reviewed(step: Any, X: Any, table: Table) -> Any:
    """Fit on the table's labels and verdicts, and return the step; warnings of the fit have the names of labels.

    Parameters and result are those of `_fit`.
    """
    with warnings.catch_warnings(record=True) as records:
        fitted = _fit(step, X, table)
    for record in records:
        warning: Any = record.message
        if isinstance(warning, NeverPredictedWarning) and table.label_names is not None:
            warning = warning.with_names(table.label_names)
        warnings.warn(warning, stacklevel=2)
    return fitted


def _fit(step: Any, X: Any, table: Table) -> Any:
    """Fit on the table's labels and verdicts, and return the step.

    Rows with one id are one group. Who propagates takes votes. Who has no `verdicts` in `fit` gets labels with the
    verdicts in them, and where it propagates alpha 0 for these entries, so that neighbours do not change them.
    """
    # Imported here and not above: --help need not load scikit-learn.
    from sklearn.utils.validation import has_fit_parameter

    propagates = has_fit_parameter(step, "alpha")
    decided = table.verdicts >= 0
    labels = table.votes if table.votes is not None and propagates else table.file_labels
    # Rows that are only equal, in a table without ids, stay together in the folds of the report alone.
    takes_groups = table.ids is not None and table.groups is not None and has_fit_parameter(step, "groups")
    groups = {"groups": table.groups} if takes_groups else {}
    if not (labels != -1).any():  # all labels came with --reviewed
        return step.fit(X, table.target, **groups)
    if has_fit_parameter(step, "verdicts"):
        with warnings.catch_warnings():  # all verdicts may confirm; `read_verdicts` knows more and has warned
            warnings.filterwarnings("ignore", "No verdict of ")
            return step.fit(X, labels, verdicts=table.verdicts, **groups)
    y = np.where(decided, table.verdicts, labels)
    if not decided.any() or not propagates:
        return step.fit(X, y)
    alpha = alphas_of_labels(check_labels(y), step.alpha_labeled, step.alpha_unlabeled)
    return step.fit(X, y, alpha=np.where(decided, 0.0, alpha if alpha.ndim == 2 else alpha[:, None]))


def cells_of(table: Table) -> Any:
    """The cells of the table by which its rows are found again: the columns that were read, without that of the ids."""
    if table.columns is None:
        return table.data
    names = [c.name for c in table.plan.columns if c.kind != "dropped" and c.name != table.id_name]
    return {name: table.columns[name] for name in names}


def features_of(table: Table) -> Any:
    """The cells of the table that say what a row is, without those that number or name rows."""
    if table.columns is None:
        return table.data
    names = [c.name for c in table.plan.columns if c.kind in (*FEATURES, "text") and c.name != table.id_name]
    return {name: table.columns[name] for name in names}


def label_list_of(table: Table, args: Any) -> LabelList | None:
    """How a file of rows lists the labels: as the table does, in a column of the same name; None: a column each."""
    lists = table.lists
    return None if lists is None else LabelList(args.label_list or LabelList().column, lists.separator, lists.no_label)


def _read_reviewed(table: Table, cells: Any, args: Any) -> Any:
    """The verdicts of --reviewed, from a list of annotations or from a file of whole rows."""
    rows = {"table": cells, "ids": table.ids, "id_name": table.id_name, "encoding": table.encoding}
    whole = read_row_labels(
        args.reviewed,
        table.target,
        label_names=table.names_of_labels(),
        label_list=label_list_of(table, args),
        **rows,
    )
    return read_verdicts(args.reviewed, table.target, label_names=table.label_names, **rows) if whole is None else whole


def _show_counts(verdicts: Any, table: Table, args: Any, console: Console) -> None:
    """Say how many verdicts there are, and what those on a random sample say of the whole table."""
    known = table.target != -1
    changed = ((verdicts >= 0) & known & (verdicts != table.target)).sum()
    new = ((verdicts >= 0) & ~known).sum()
    counts = f"{plural((verdicts >= 0).sum(), 'verdict')}, {plural(changed, 'label')} changed"
    counts += f", {plural(new, 'label')} new" * bool(new)
    console.note(f"{args.reviewed}: {counts}, {(verdicts == UNCLEAR).sum()} unclear.")
    words = [*(table.label_names or ()), *(table.ids or ())]
    rate = read_error_rate(args.reviewed, Form(max_bytes=LARGEST, known_words=words, likely_encoding=table.encoding))
    if rate is not None:
        n_others = ((verdicts >= 0) & known).sum() - sum(rate.decided)
        console.note(f"{args.reviewed}: {rate.sentence(int(known.sum() - n_others))}.")


def enter_verdicts(table: Table, args: Any, console: Console) -> Table:
    """Return the table with the verdicts of --reviewed, if it is given, in `target` and `verdicts`; say how many."""
    # A large table has hundreds of labels: numbers of one byte take an eighth of the memory that read_table gives them.
    labels = np.ascontiguousarray(table.target, dtype=np.int8)
    if not hasattr(args, "reviewed"):  # as for evaluate
        return dataclasses.replace(table, target=labels, file_labels=labels)
    target = labels
    labeled = table.labeled
    verdicts = np.full(labels.shape, -1, np.int8)
    cells = cells_of(table)
    if args.reviewed is not None:
        verdicts = _read_reviewed(table, cells, args).astype(np.int8)
        if not console.quiet:
            _show_counts(verdicts, table, args, console)
        verdicts = spread_verdicts(verdicts, find_copies(features_of(table), labels))
        target = np.where(verdicts >= 0, verdicts, labels)
        labeled = (target != -1).any(axis=1)
    checks = check_rows(cells, labels)
    return dataclasses.replace(
        table, file_labels=labels, verdicts=verdicts, target=target, labeled=labeled, checks=checks
    )
