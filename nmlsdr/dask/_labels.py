"""Batches of labels propagated over one graph, each in a task.

The graph goes to every worker once; a task adds `LABELS` columns of labels.  The bits of a label do not depend on the
labels beside it, so they are those of one process.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ._run import compute, task, task_of_value, task_threads

__all__ = ["in_batches"]

LABELS = 16  # a worker holds the graph and these; the kernels would take 32, and need twice the memory


def in_batches(solve: Callable[..., Any], W: sparse.csr_array, Y: np.ndarray, alpha: Any, **options: Any) -> Any:
    """``solve(W, Y, alpha, **options)``, which answers with a `Propagation`, batch of columns by batch."""
    n_jobs, labeled = options.pop("n_jobs", None), options.pop("labeled")
    columns = [slice(first, first + LABELS) for first in range(0, Y.shape[1], LABELS)]
    graph = task_of_value("graph", W)
    tasks = [
        task(
            "propagate", _batch,
            solve, graph, Y[:, part], _columns(alpha, part), {**options, "labeled": _columns(labeled, part)}, n_jobs,
        )
        for part in columns
    ]  # fmt: skip
    found = compute(tasks, "labels")
    _say_once([warning for _, theirs in found for warning in theirs])
    parts = [part for part, _ in found]
    worst = max(parts, key=lambda part: part.residual)
    return replace(
        worst,
        F=np.concatenate([part.F for part in parts], axis=1),
        n_iter=max(part.n_iter for part in parts),
        error_bound=max(part.error_bound for part in parts),
        n_unreached=max(part.n_unreached for part in parts),
    )


def _columns(values: Any, part: slice) -> Any:
    """Of what is given for each entry; what is given for each row stays."""
    return values[:, part] if np.ndim(values) == 2 else values


def _batch(
    solve: Callable[..., Any], W: Any, Y: np.ndarray, alpha: Any, options: dict[str, Any], n_jobs: int | None
) -> tuple[Any, list[tuple[type[Warning], str]]]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = solve(W, Y, alpha, n_jobs=task_threads(n_jobs), **options)
    return result, [(each.category, str(each.message)) for each in said]


def _say_once(said: list[tuple[type[Warning], str]]) -> None:
    for category, message in dict.fromkeys(said):
        warnings.warn(message, category, stacklevel=5)
