"""The estimators of `nmlsdr` with steps and predictions for Dask arrays."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

import nmlsdr._estimators as estimators

from .._checks.arguments import asks_exact, check_metric
from .._errors import InputError
from .._estimators._classifier import NeighborClassifier
from .._estimators._sklearn_bases import BaseEstimator
from .._estimators._steps import Neighbors, Steps, Trust
from .._moments import RowSums
from .._row_order import RowOrder
from .._solvers.system import Goal, System
from ..propagation import Propagation, propagate_checked
from ._blocks import in_memory, is_dask
from ._neighbors import Lists, lists_of_queries, neighbors
from ._rows import DaskRows
from ._run import as_array, compute, task, task_of_value, task_threads

LABELS = 16  # labels in a task; the kernels would take 32, and need twice the memory


class LabelBatch(NamedTuple):
    """Some labels: their columns Y, which of them are known, and alpha, one for each row or one for each entry."""

    Y: np.ndarray
    alpha: np.ndarray
    known: np.ndarray


def in_batches(
    solve: Callable[..., Any], W: sparse.csr_array, Y: np.ndarray, alpha: np.ndarray, known: np.ndarray, *options: Any
) -> Propagation:
    """``solve(W, Y, alpha, known, *options)``, which returns a `Propagation`, for one batch of columns after another.

    The graph is sent to every worker once; a task adds `LABELS` columns of labels.  The bits of a label's solution do
    not depend on the other labels, so they are those of one process.
    """
    graph = task_of_value("graph", W)
    tasks = []
    for first in range(0, Y.shape[1], LABELS):
        columns = slice(first, first + LABELS)
        batch = LabelBatch(*(array[:, columns] if array.ndim == 2 else array for array in (Y, alpha, known)))
        tasks.append(task("propagate", _solve_batch, solve, graph, batch, options))
    results = compute(tasks, "labels")
    for category, message in dict.fromkeys(warning for _, batch_warnings in results for warning in batch_warnings):
        warnings.warn(message, category, stacklevel=4)
    return _join([propagation for propagation, _ in results])


def _solve_batch(
    solve: Callable[..., Any], graph: Any, batch: LabelBatch, options: tuple[Any, ...]
) -> tuple[Propagation, list[tuple[type[Warning], str]]]:
    """The solution of a batch and its warnings, which would be lost on another machine."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = solve(graph, *batch, *options)
    return result, [(warning.category, str(warning.message)) for warning in caught]


def _join(batches: list[Propagation]) -> Propagation:
    """The solutions of all labels as one: their worst iterations, bound, residual and number of unreached rows."""
    worst = {name: max(getattr(batch, name) for batch in batches) for name in ("n_iter", "error_bound", "n_unreached")}
    F = np.concatenate([batch.F for batch in batches], axis=1)
    return replace(max(batches, key=lambda batch: batch.residual), F=F, **worst)


def _solve(W: Any, Y: np.ndarray, alpha: np.ndarray, known: np.ndarray, goal: Goal, n_jobs: int | None) -> Propagation:
    return propagate_checked(System(W, Y, alpha, known, task_threads(n_jobs)), goal)


LARGEST_FOREST = 2 << 30  #: bytes of labelled rows that a fit of ResidualPropagation gathers for its forest


class DaskSteps(Steps):
    """The steps of a fit to a Dask array, in tasks; rows in memory are searched in this process."""

    @staticmethod
    def check_rows(X: Any, name: str) -> Any:
        return DaskRows.of(X) if is_dask(X) else Steps.check_rows(X, name)

    @staticmethod
    def in_memory(value: Any) -> Any:
        if not isinstance(value, DaskRows):
            return in_memory(value)
        if value.bytes() > LARGEST_FOREST:
            raise InputError(
                f"The forests need the {value.shape[0]} labelled rows in memory, {value.bytes() >> 20} MiB, but only "
                f"{LARGEST_FOREST >> 20} MiB are allowed; pass n_estimators=0, or label fewer rows."
            )
        return in_memory(value.array())

    def search(self, rows: Any, k: int, order: RowOrder) -> Neighbors:
        if not isinstance(rows, DaskRows):
            return super().search(rows, k, order)
        if not asks_exact(self.estimator.neighbors):
            raise InputError('neighbors= searches rows in memory; for a Dask array leave it "exact", or pass graph=.')
        metric = check_metric(self.estimator.metric)
        return Neighbors(*neighbors(rows, k, order, metric=metric, n_jobs=self.estimator.n_jobs))

    def propagate(self, W: sparse.csr_array, Y: np.ndarray, trust: Trust, goal: Goal) -> Propagation:
        return in_batches(_solve, W, Y, *trust, goal._replace(callback=None), self.estimator.n_jobs)


_ABOUT = """\
    X may be a Dask array divided into blocks of rows, or an array in memory.  Results for a Dask array are Dask arrays.
    For a Dask array, the parameter ``neighbors`` of an estimator that has it must be "exact".  `to_local` returns the
    fitted `nmlsdr.{name}`.  Everything else is as for that estimator:"""


def _doc(plain: type) -> str:
    name = plain.__name__
    return f"`nmlsdr.{name}` for Dask arrays.\n\n{_ABOUT.format(name=name)}\n\n    {plain.__doc__}"


def _to_local(self: BaseEstimator) -> Any:
    """Return the fitted estimator of the class of the same name in `nmlsdr`, which does not need Dask.

    Returns
    -------
    estimator
        Fitted estimator with the same parameters and attributes. Training rows in a Dask array are computed, and
        must fit into memory.
    """
    return _plain(self, {name: in_memory(value) for name, value in vars(self).items()})


def _plain(estimator: BaseEstimator, replaced: dict[str, Any]) -> Any:
    """The plain estimator with the attributes of this one, some of them replaced."""
    kind = next(base for base in type(estimator).__mro__ if getattr(estimators, base.__name__, None) is base)
    plain = kind.__new__(kind)
    vars(plain).update({**vars(estimator), **replaced})
    return plain


def _gather(self: NeighborClassifier, X: Any, answer: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Answer a Dask array with a Dask array, block by block; rows in memory at once."""
    check_is_fitted(self)
    training = self._searched_rows()
    if not is_dask(X) and not is_dask(training):
        return NeighborClassifier._gather(self, X, answer)
    rows_of_X = self._steps.read_rows(self, X)
    like = self._no_answer(answer)
    queries = rows_of_X if isinstance(rows_of_X, DaskRows) else DaskRows.of(rows_of_X)
    if is_dask(training):
        model = task_of_value("model", _plain(self, {"training_rows_": None}))
        rows = DaskRows.of(training)
        lists = lists_of_queries(rows, queries, self.n_neighbors_, self._row_order, metric=self.metric)
        blocks = [task("predict", _of_lists, each, model, answer.__name__) for each in lists]
        answers = as_array(blocks, queries.sizes(), like.shape[1:], like.dtype)
    else:
        model = task_of_value("model", self.to_local())
        answers = queries.map(_of_rows, like.shape[1:], like.dtype, model=model, answer=answer.__name__)
    return answers if queries is rows_of_X else in_memory(answers)


def _of_lists(lists: Lists, model: Any, answer: str) -> np.ndarray:
    model.n_jobs = task_threads(model.n_jobs)
    return np.asarray(getattr(model, answer)(model._score_neighbors(lists[1])))


def _of_rows(block: RowSums, model: Any, answer: str) -> np.ndarray:
    model.n_jobs = task_threads(model.n_jobs)
    return np.asarray(model._gather_rows(block.rows, getattr(model, answer)))


class NMLSDR(estimators.NMLSDR):
    __doc__ = _doc(estimators.NMLSDR)
    _steps = DaskSteps
    to_local = _to_local


class MDDM(estimators.MDDM):
    __doc__ = _doc(estimators.MDDM)
    _steps = DaskSteps
    to_local = _to_local


class MultiLabelCCA(estimators.MultiLabelCCA):
    __doc__ = _doc(estimators.MultiLabelCCA)
    _steps = DaskSteps
    to_local = _to_local


class SSMLDR(estimators.SSMLDR):
    __doc__ = _doc(estimators.SSMLDR)
    _steps = DaskSteps
    to_local = _to_local


class MultiLabelPropagation(estimators.MultiLabelPropagation):
    __doc__ = _doc(estimators.MultiLabelPropagation)
    _steps = DaskSteps
    to_local = _to_local
    _gather = _gather


class MLkNN(estimators.MLkNN):
    __doc__ = _doc(estimators.MLkNN)
    _steps = DaskSteps
    to_local = _to_local
    _gather = _gather


class SemiSupervisedMLkNN(estimators.SemiSupervisedMLkNN):
    __doc__ = _doc(estimators.SemiSupervisedMLkNN)
    _steps = DaskSteps
    to_local = _to_local
    _gather = _gather


class ResidualPropagation(estimators.ResidualPropagation):
    __doc__ = _doc(estimators.ResidualPropagation)
    _steps = DaskSteps
    to_local = _to_local
    _gather = _gather


__all__ = [name for name, kind in list(vars().items()) if hasattr(kind, "to_local")]
