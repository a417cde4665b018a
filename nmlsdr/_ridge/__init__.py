"""Ridge regression of the labels on shrunken features.

`selection` chooses both strengths by one cross-validation, whose folds are in `folds`, and keeps the predictions out of
fold; `regression` solves one regression, each label on the rows where it is known; `link` makes probabilities of the
scores, label by label.
"""

from .link import Link, cross_link, fit_link
from .regression import ridge_regression
from .selection import RIDGE_GRID, SHRINKAGE_GRID, CrossFit, cross_fit

__all__ = [
    "RIDGE_GRID",
    "SHRINKAGE_GRID",
    "CrossFit",
    "Link",
    "cross_fit",
    "cross_link",
    "fit_link",
    "ridge_regression",
]
