"""Ridge regression of the labels on shrunken features.

`selection` chooses both strengths by one cross-validation, whose folds are in `folds`, and keeps the predictions out of
fold; `regression` solves one regression, each label on the rows where it is known, and `iterative` those that are too
large to be factored; `link` makes probabilities of the scores, label by label, and `newton` mends these by a step
towards logistic regressions.
"""

from .folds import FoldRidge, masks_of_tests
from .link import Link, cross_link, fit_link, fold_links
from .newton import Newton, cross_newton, fit_newton
from .regression import ridge_regression
from .selection import RIDGE_GRID, SHRINKAGE_GRID, CrossFit, cross_fit

__all__ = [
    "RIDGE_GRID",
    "SHRINKAGE_GRID",
    "CrossFit",
    "FoldRidge",
    "Link",
    "Newton",
    "cross_fit",
    "cross_link",
    "cross_newton",
    "fit_link",
    "fit_newton",
    "fold_links",
    "masks_of_tests",
    "ridge_regression",
]
