"""--reviewed: verdicts of people who checked annotations; the next fit uses them as given labels."""

from typing import Any

import numpy as np

from nmlsdr.inspection import apply_verdicts, read_verdicts


def fit_reviewed(step: Any, X: Any, table: Any) -> Any:
    """Fit on the table's labels, and return the step; one that propagates gets alpha 0 for the entries with a verdict.

    ``table`` has target (n, C), votes or None, and reviewed, bool (n, C).
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


def read_reviewed(path: str, table: Any, id_name: str | None) -> None:
    """Set the entries that a file of verdicts names, in ``table.target``, and mark them in ``table.reviewed``."""
    found = read_verdicts(path, table.given, ids=table.ids, id_name=id_name, label_names=table.label_names,
                          encoding=table.encoding)
    table.reviewed = found >= 0
    table.target = np.where(table.reviewed, found, table.given)
    table.labeled = (table.target != -1).any(axis=1)
