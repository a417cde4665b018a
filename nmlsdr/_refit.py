"""A fit starts from nothing, and one that raises leaves the estimator as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def new_fit(estimator: Any) -> Iterator[None]:
    """Around all of ``fit``: what an earlier fit has learned is gone within, and comes back if an exception leaves.

    An estimator so never has attributes of two fits, such as new names of labels and old predictions.
    """
    before = dict(vars(estimator))
    for name in before:
        if name.endswith("_"):
            del vars(estimator)[name]
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
