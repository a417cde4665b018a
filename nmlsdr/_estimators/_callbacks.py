"""What a fit tells scikit-learn's callbacks, where there are such: from scikit-learn 1.9, experimental there.

A fit is a tree of tasks, told as they begin and end:

    fit
        cross-validation        where strengths are chosen; of its folds
        neighbors               unless a graph is given
        propagation             of sweeps
        projection, classifier  what is learned from the soft labels
        neighbors in the embedding, propagation of residuals    in `ResidualPropagation`

Nothing is told, and next to nothing spent, where nobody has called ``set_callbacks``; no callback changes a bit. One
that raises ends the fit; one that asks to stop is not heard, for labels half-way do not solve eq. (8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Callbacks need scikit-learn 1.9."""

    def with_callbacks(fit: Any) -> Any:
        """Callbacks need scikit-learn 1.9."""
        return fit


__all__ = ["CallbackSupportMixin", "step", "steps_of_fit"]


@contextmanager
def steps_of_fit(estimator: Any, X: Any, y: Any) -> Iterator[None]:
    """The root of the tree, around all of ``fit``; ``estimator._n_steps()`` are its children at most."""
    if not hasattr(estimator, "_skl_callbacks"):
        yield
        return
    try:
        root = estimator._init_callback_context(max_subtasks=estimator._n_steps())
        root.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        yield
        root.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes={})
    finally:
        _tear_down(estimator)


# As a decorator of fit it would stand between the user's line and its warnings; around nothing it ends the callbacks.
_tear_down = with_callbacks(lambda estimator: None)


@contextmanager
def step(estimator: Any, name: str, part: str = "", n_parts: int | None = 0) -> Iterator[Callable[..., None] | None]:
    """A child of the root.  What it yields, called with anything, says that one of its parts is done.

    It yields None where nobody listens.  ``n_parts`` is their number at most, None where that is unknown.
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
