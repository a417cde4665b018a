"""Progress of a fit for the callbacks of scikit-learn, which exist from version 1.9 and are experimental there.

A fit is a tree of tasks; callbacks are informed when each begins and ends:

    fit
        cross-validation        if strengths are chosen; one part for each fold
        neighbors               unless a graph is given
        propagation             one part for each sweep
        projection, classifier  what is learned from the soft labels
        forests                 in `ResidualPropagation`, some trees a part; then, for the embedding and for
                                the ridge scores, neighbors in the ..., propagation of residuals in the ...

Without a call of ``set_callbacks`` this costs next to nothing. Callbacks do not change the results. An exception in a
callback ends the fit. A callback's request to stop is ignored, because unfinished labels do not solve eq. (8).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from .._refit import new_fit
from ._sklearn_bases import BaseEstimator, with_callbacks
from ._steps import PartIsDone, Steps


@contextmanager
def steps_of_fit(estimator: BaseEstimator, X: Any, y: Any) -> Iterator[Steps]:
    """A `new_fit`, and the root of the tree; it yields the `Steps`."""
    steps: Steps = estimator._steps(estimator, partial(_task, estimator))
    with new_fit(estimator):
        if not hasattr(estimator, "_skl_callbacks"):
            yield steps
            return
        try:
            root = estimator._init_callback_context(max_subtasks=None)
            root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
            yield steps
            root.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes={})
        finally:
            _tear_down(estimator)


# As a decorator of fit it would change the line that warnings point to; around an empty function it ends the callbacks.
_tear_down = with_callbacks(lambda estimator: None)


@contextmanager
def _task(estimator: BaseEstimator, name: str, part: str = "", n_parts: int | None = 0) -> Iterator[PartIsDone]:
    """A child task of the fit.  It yields a function, to be called when one of its parts is done.

    It yields None if there are no callbacks.  ``n_parts`` is the largest possible number of parts; None: unknown.
    """
    root = getattr(estimator, "_callback_fit_ctx", None)
    if root is None:
        yield None
        return
    task = root.subcontext(task_name=name, max_subtasks=n_parts)
    task.call_on_fit_task_begin(estimator=estimator)

    def part_is_done(*_: Any) -> None:
        done = task.subcontext(task_name=part)
        done.call_on_fit_task_begin(estimator=estimator)
        done.call_on_fit_task_end(estimator=estimator)

    yield part_is_done
    task.call_on_fit_task_end(estimator=estimator)
