"""--reviewed: verdicts of people who checked annotations; the next fit uses them as given labels."""

from typing import Any

import numpy as np

from nmlsdr.inspection import apply_verdicts
from nmlsdr.inspection._verdicts import find_verdicts, names_or_numbers


def fit_reviewed(step: Any, X: Any, table: Any) -> Any:
    """Fit on the table's labels, and return the step; one that propagates gets alpha 0 for the entries with a verdict.

    ``table`` has target (n, C), votes or None, and reviewed, bool (n, C), or None without verdicts.
    """
    # Imported here and not above: --help need not load scikit-learn.
    from sklearn.utils.validation import has_fit_parameter

    y, reviewed = table.target, table.reviewed
    if table.votes is not None and getattr(step, "_takes_votes", False):
        y = table.votes if reviewed is None else np.where(reviewed, y, table.votes)
    if reviewed is None or not reviewed.any() or not has_fit_parameter(step, "alpha"):
        return step.fit(X, y)
    verdicts, alphas = np.where(reviewed, y, -1), (step.alpha_labeled, step.alpha_unlabeled)
    y, alpha = apply_verdicts(verdicts, y, alpha_labeled=alphas[0], alpha_unlabeled=alphas[1])
    return step.fit(X, y, alpha=alpha)


def read_reviewed(path: str, table: Any, source: str, id_name: str | None) -> None:
    """Set the entries that a file of verdicts names, in ``table.target``, and mark them in ``table.reviewed``."""
    given = table.given = table.target
    names = names_or_numbers(table.label_names, "label", given.shape[1])
    verdicts = find_verdicts(path, given, names, table.ids, source=source, id_name=id_name)
    table.reviewed = verdicts >= 0
    table.target = np.where(table.reviewed, verdicts, given)
    table.labeled = (table.target != -1).any(axis=1)
