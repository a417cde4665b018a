"""--reviewed: verdicts of people who checked annotations; the next fit uses them as given labels."""

import dataclasses
import warnings
from typing import Any

import numpy as np

from .._checks.words import UNCLEAR
from .._errors import plural
from ..inspection import apply_verdicts, read_verdicts
from .console import Console
from .table import Table


def fit_reviewed(step: Any, X: Any, table: Table) -> Any:
    """Fit on the table's labels, and return the step; one that propagates gets alpha 0 for the entries with a verdict.
    """
    # Imported here and not above: --help need not load scikit-learn.
    from sklearn.utils.validation import has_fit_parameter

    y, decided = table.target, table.verdicts >= 0
    if table.votes is not None and getattr(step, "_takes_votes", False):
        y = np.where(decided, y, table.votes)
    if has_fit_parameter(step, "verdicts"):
        with warnings.catch_warnings():  # the file's column given showed that they are labels from before
            warnings.filterwarnings("ignore", "y holds ")
            return step.fit(X, table.given if table.votes is None else table.votes, verdicts=table.verdicts)
    if not decided.any() or not has_fit_parameter(step, "alpha"):
        return step.fit(X, y)
    alphas = {name: getattr(step, name) for name in ("alpha_labeled", "alpha_unlabeled")}
    y, alpha = apply_verdicts(table.verdicts, y, **alphas)
    return step.fit(X, y, alpha=alpha)


def enter_verdicts(table: Table, args: Any, console: Console) -> Table:
    """Return the table with the verdicts of --reviewed, if it is given, in `target` and `verdicts`; say how many."""
    given, found = table.target, np.full(table.target.shape, -1)
    if getattr(args, "reviewed", None) is not None:
        found = read_verdicts(args.reviewed, given, ids=table.ids, id_name=table.id_name, label_names=table.label_names,
                              corrected=args.corrected, encoding=table.encoding)
        if not console.quiet:
            changed, unclear = ((found >= 0) & (found != given)).sum(), (found == UNCLEAR).sum()
            counts = f"{plural((found >= 0).sum(), 'verdict')}, {plural(changed, 'label')} changed, {unclear} unclear"
            console.note(f"{args.reviewed}: {counts}.")
    target = np.where(found >= 0, found, given)
    labeled = (target != -1).any(axis=1)
    return dataclasses.replace(table, given=given, verdicts=found, target=target, labeled=labeled)
