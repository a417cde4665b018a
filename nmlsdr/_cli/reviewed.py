"""--reviewed: verdicts of people who checked annotations, and what each step is fitted on."""

import dataclasses
import warnings
from typing import Any

import numpy as np

from .._checks.labels import alphas_of_labels, check_labels
from .._checks.words import UNCLEAR
from .._errors import plural
from ..inspection import check_rows, read_verdicts
from .console import Console
from .table import Table


def fit_reviewed(step: Any, X: Any, table: Table) -> Any:
    """Fit on the table's labels and verdicts, and return the step.

    Who propagates takes votes. Who has no `verdicts` in `fit` gets labels with the verdicts in them, and where it
    propagates alpha 0 for these entries, so that neighbours do not change them.
    """
    # Imported here and not above: --help need not load scikit-learn.
    from sklearn.utils.validation import has_fit_parameter

    propagates = has_fit_parameter(step, "alpha")
    decided = table.verdicts >= 0
    given = table.votes if table.votes is not None and propagates else table.given
    if has_fit_parameter(step, "verdicts"):
        with warnings.catch_warnings():  # all verdicts may confirm; `read_verdicts` knows more and has warned
            warnings.filterwarnings("ignore", "No verdict of ")
            return step.fit(X, given, verdicts=table.verdicts)
    y = np.where(decided, table.verdicts, given)
    if not decided.any() or not propagates:
        return step.fit(X, y)
    alpha = alphas_of_labels(check_labels(y), step.alpha_labeled, step.alpha_unlabeled)
    return step.fit(X, y, alpha=np.where(decided, 0.0, alpha if alpha.ndim == 2 else alpha[:, None]))


def enter_verdicts(table: Table, args: Any, console: Console) -> Table:
    """Return the table with the verdicts of --reviewed, if it is given, in `target` and `verdicts`; say how many."""
    if not hasattr(args, "reviewed"):  # as for evaluate
        return dataclasses.replace(table, given=table.target)
    given = table.target
    found = np.full(table.target.shape, -1)
    cells = table.data
    if table.columns is not None:
        read = [c.name for c in table.plan.columns if c.kind != "dropped" and c.name != table.id_name]
        cells = {name: table.columns[name] for name in read}
    if args.reviewed is not None:
        found = read_verdicts(
            args.reviewed,
            given,
            table=cells,
            ids=table.ids,
            id_name=table.id_name,
            label_names=table.label_names,
            encoding=table.encoding,
        )
        if not console.quiet:
            changed = ((found >= 0) & (found != given)).sum()
            unclear = (found == UNCLEAR).sum()
            counts = f"{plural((found >= 0).sum(), 'verdict')}, {plural(changed, 'label')} changed, {unclear} unclear"
            console.note(f"{args.reviewed}: {counts}.")
    target = np.where(found >= 0, found, given)
    checks = check_rows(cells, given)
    labeled = (target != -1).any(axis=1)
    return dataclasses.replace(table, given=given, verdicts=found, target=target, labeled=labeled, checks=checks)
