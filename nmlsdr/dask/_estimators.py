"""The estimators of `nmlsdr` with the steps that Dask does: reading rows, searching, propagating, predicting."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

import nmlsdr._estimators as estimators

from .._checks.arguments import asks_exact, check_metric
from .._checks.labels import Labels
from .._errors import InputError
from .._estimators._base import LearnsLabels, NeighborClassifier, PropagatesLabels
from .._estimators._forest import score_by_forests
from .._moments import RowSums
from .._process.threads import single_threaded_blas
from .._solvers.system import Goal, System
from ..propagation import Propagation, propagate_checked
from ._blocks import in_memory, is_dask
from ._neighbors import Lists, lists_of_queries, neighbors
from ._rows import DaskRows
from ._run import as_array, compute, task, task_of_value, task_threads

LABELS = 16  # labels in a task; the kernels would take 32, and need twice the memory


def in_batches(
    solve: Callable[..., Any], W: sparse.csr_array, Y: np.ndarray, alpha: np.ndarray, known: np.ndarray, *options: Any
) -> Any:
    """``solve(W, Y, alpha, known, *options)``, which returns a `Propagation`, for one batch of columns after another.

    The graph is sent to every worker once; a task adds `LABELS` columns of labels.  The bits of a label's solution do
    not depend on the other labels, so they are those of one process.
    """
    graph = task_of_value("graph", W)
    tasks = []
    for first in range(0, Y.shape[1], LABELS):
        few = (part[:, first : first + LABELS] if part.ndim == 2 else part for part in (Y, alpha, known))
        tasks.append(task("propagate", _batch, solve, graph, *few, *options))
    found = compute(tasks, "labels")
    for category, message in dict.fromkeys(warning for _, theirs in found for warning in theirs):
        warnings.warn(message, category, stacklevel=4)
    parts = [part for part, _ in found]
    worst = {name: max(getattr(part, name) for part in parts) for name in ("n_iter", "error_bound", "n_unreached")}
    F = np.concatenate([part.F for part in parts], axis=1)
    return replace(max(parts, key=lambda part: part.residual), F=F, **worst)


def _batch(solve: Callable[..., Any], *arguments: Any) -> tuple[Any, list[tuple[type[Warning], str]]]:
    """The solution of a batch and its warnings, which would be lost on another machine."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = solve(*arguments)
    return result, [(each.category, str(each.message)) for each in caught]


def _solve(W: Any, Y: np.ndarray, alpha: np.ndarray, known: np.ndarray, goal: Goal, n_jobs: int | None) -> Propagation:
    return propagate_checked(System(W, Y, alpha, known, task_threads(n_jobs)), goal)


_ABOUT = """\
    X may be a Dask array divided into blocks of rows, or an array in memory.  Results for a Dask array are Dask arrays.
    For a Dask array, the parameter ``neighbors`` of an estimator that has it must be "exact".  `to_local` returns the
    fitted `nmlsdr.{name}`.  Everything else is as for that estimator:"""


class _OverDask(LearnsLabels):
    """Reads Dask arrays; rows in memory are read as the plain estimator reads them."""

    def __init_subclass__(cls) -> None:
        """Give a class the docstring of the plain one."""
        super().__init_subclass__()
        name, plain = cls.__name__, cls.__bases__[-1]
        cls.__doc__ = f"`nmlsdr.{name}` for Dask arrays.\n\n{_ABOUT.format(name=name)}\n\n    {plain.__doc__}"

    def to_local(self) -> Any:
        """Return the fitted estimator of the class of the same name in `nmlsdr`, which does not need Dask.

        Returns
        -------
        estimator
            Fitted estimator with the same parameters and attributes. Training rows in a Dask array are computed, and
            must fit into memory.
        """
        return self._plain({name: in_memory(value) for name, value in vars(self).items()})

    def _plain(self, replaced: dict[str, Any]) -> Any:
        """The plain estimator with the attributes of this one, some of them replaced."""
        kind = next(base for base in type(self).__mro__ if getattr(estimators, base.__name__, None) is base)
        plain = kind.__new__(kind)
        vars(plain).update({**vars(self), **replaced})
        return plain

    def _check_rows(self, X: Any) -> Any:
        return DaskRows.of(X) if is_dask(X) else super()._check_rows(X)

    def _read_labels(self, X: Any, y: Any, rows: Any, labeled: Any) -> Labels:
        return super()._read_labels(X, in_memory(y), rows, in_memory(labeled))

    def _as_attribute(self, rows: Any) -> Any:
        return rows.array() if isinstance(rows, DaskRows) else super()._as_attribute(rows)

    def _neighbors_of_rows(self: Any, rows: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(rows, DaskRows):
            return super()._neighbors_of_rows(rows, k)
        if not asks_exact(self.neighbors):
            raise InputError(
                'a neighbors transformer searches rows in memory; for a Dask array leave neighbors "exact", or pass a '
                "graph to fit."
            )
        return neighbors(rows, k, metric=check_metric(self.metric), n_jobs=self.n_jobs)


class _PropagatesOverDask(_OverDask, PropagatesLabels):
    """Propagates labels in batches, each in a task."""

    def _trust(self: Any, labels: Labels, alpha: Any) -> np.ndarray:
        return super()._trust(labels, in_memory(alpha))

    def _solve_propagation(
        self: Any, W: sparse.csr_array, Y: np.ndarray, alpha: np.ndarray, known: np.ndarray, goal: Goal
    ) -> Any:
        return in_batches(_solve, W, Y, alpha, known, goal._replace(callback=None), self.n_jobs)


class _PredictsOverDask(_OverDask, NeighborClassifier):
    """Answers a Dask array with a Dask array, block by block; rows in memory at once."""

    def _read_training_rows(self: Any, X: Any) -> Any:
        if is_dask(X) and self._is_precomputed():
            raise InputError('neighbors="precomputed" needs distances in memory, got a Dask array; pass X.compute().')
        return super()._read_training_rows(X)  # type: ignore[misc]

    def _gather(self: Any, X: Any, answer: Callable[[np.ndarray], np.ndarray]) -> Any:
        check_is_fitted(self)
        training = self._searched_rows()
        if not is_dask(X) and not is_dask(training):
            return super()._gather(X, answer)
        rows, like = self._read_rows(X, reset=False), self._no_answer(answer)
        queries = rows if isinstance(rows, DaskRows) else DaskRows.of(rows)
        if is_dask(training):
            model = task_of_value("model", self._plain({"training_rows_": None}))
            lists = lists_of_queries(DaskRows.of(training), queries, self.n_neighbors_, metric=self.metric)
            blocks = [task("predict", _of_lists, each, model, answer.__name__) for each in lists]
            found = as_array(blocks, queries.sizes(), like.shape[1:], like.dtype)
        else:
            model = task_of_value("model", self.to_local())
            found = queries.map(_of_rows, like.shape[1:], like.dtype, model=model, answer=answer.__name__)
        return found if queries is rows else in_memory(found)


def _of_lists(lists: Lists, model: Any, answer: str) -> np.ndarray:
    model.n_jobs = task_threads(model.n_jobs)
    return np.asarray(getattr(model, answer)(model._score_neighbors(lists[1])))


def _of_rows(block: RowSums, model: Any, answer: str) -> np.ndarray:
    model.n_jobs = task_threads(model.n_jobs)
    return np.asarray(model._gather_rows(block.rows, getattr(model, answer)))


LARGEST_FOREST = 2 << 30  #: bytes of labelled rows that a fit of ResidualPropagation gathers for its forest


class NMLSDR(_PropagatesOverDask, estimators.NMLSDR):
    pass


class MDDM(_OverDask, estimators.MDDM):
    pass


class MultiLabelCCA(_OverDask, estimators.MultiLabelCCA):
    pass


class SSMLDR(_PropagatesOverDask, estimators.SSMLDR):
    pass


class MultiLabelPropagation(_PropagatesOverDask, _PredictsOverDask, estimators.MultiLabelPropagation):
    pass


class MLkNN(_PredictsOverDask, estimators.MLkNN):
    pass


class SemiSupervisedMLkNN(_PropagatesOverDask, _PredictsOverDask, estimators.SemiSupervisedMLkNN):
    pass


class ResidualPropagation(_PropagatesOverDask, _PredictsOverDask, estimators.ResidualPropagation):
    def _embed(self, rows: Any) -> np.ndarray:
        with single_threaded_blas():
            return np.asarray(in_memory(super()._embed(rows)))

    def _score_by_ridge(self, rows: Any) -> np.ndarray:
        with single_threaded_blas():
            return np.asarray(in_memory(super()._score_by_ridge(rows)))

    def _rows_of_forest(self, rows: Any) -> Any:
        if not isinstance(rows, DaskRows):
            return rows
        if rows.bytes() > LARGEST_FOREST:
            raise InputError(
                f"The forests need the {rows.shape[0]} labelled rows in memory, {rows.bytes() >> 20} MiB, but only "
                f"{LARGEST_FOREST >> 20} MiB are allowed; pass n_estimators=0, or label fewer rows."
            )
        return in_memory(rows.array())

    def _score_by_forests(self, rows: Any) -> list[np.ndarray]:
        if not isinstance(rows, DaskRows) or not self.forests_:
            return super()._score_by_forests(rows)
        shape = len(self.forests_), len(self.coef_)
        forests = task_of_value("forests", self.forests_)
        found = in_memory(rows.map(_by_forests, shape, np.float64, forests=forests, n_labels=shape[1]))
        return list(np.moveaxis(found, 1, 0))


def _by_forests(block: RowSums, forests: list[Any], n_labels: int) -> np.ndarray:
    return np.stack(score_by_forests(forests, block.rows, n_labels, task_threads(None)), axis=1)
