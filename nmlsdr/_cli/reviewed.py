"""--reviewed: verdicts of people who checked annotations; the next fit uses them as given labels."""

import dataclasses
from typing import Any

import numpy as np

from ..inspection import apply_verdicts, read_verdicts
from .table import Table


def fit_reviewed(step: Any, X: Any, table: Table) -> Any:
    """Fit on the table's labels, and return the step; one that propagates gets alpha 0 for the entries with a verdict.
    """
    # Imported here and not above: --help need not load scikit-learn.
    from sklearn.utils.validation import has_fit_parameter

    y, reviewed = table.target, table.reviewed
    if table.votes is not None and getattr(step, "_takes_votes", False):
        y = np.where(reviewed, y, table.votes)
    if not reviewed.any() or not has_fit_parameter(step, "alpha"):
        return step.fit(X, y)
    alphas = {name: getattr(step, name) for name in ("alpha_labeled", "alpha_unlabeled")}
    y, alpha = apply_verdicts(np.where(reviewed, y, -1), y, **alphas)
    return step.fit(X, y, alpha=alpha)


def enter_verdicts(table: Table, path: str | None) -> Table:
    """Return the table with the entries that a file of verdicts names, if there is one, in `target` and `reviewed`."""
    given, found = table.target, np.full(table.target.shape, -1)
    if path is not None:
        found = read_verdicts(path, given, ids=table.ids, id_name=table.id_name, label_names=table.label_names,
                              encoding=table.encoding)
    target = np.where(found >= 0, found, given)
    labeled = (target != -1).any(axis=1)
    return dataclasses.replace(table, given=given, reviewed=found >= 0, target=target, labeled=labeled)
