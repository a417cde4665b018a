"""Labels propagated over one graph in batches, each in a task.

The graph is sent to every worker once; a task adds `LABELS` columns of labels.  The bits of a label's solution do not
depend on the other labels, so they are those of one process.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ._run import compute, task, task_of_value, task_threads

LABELS = 16  # labels in a task; the kernels would take 32, and need twice the memory


def in_batches(solve: Callable[..., Any], W: sparse.csr_array, Y: np.ndarray, alpha: Any, **options: Any) -> Any:
    """``solve(W, Y, alpha, **options)``, which returns a `Propagation`, for one batch of columns after another."""
    graph, alpha, labeled = task_of_value("graph", W), np.asarray(alpha), options.pop("labeled")
    tasks = [
        task("propagate", _batch, solve, graph, Y[:, part], alpha[:, part] if alpha.ndim == 2 else alpha,
             {**options, "labeled": labeled[:, part] if labeled.ndim == 2 else labeled})
        for part in (slice(first, first + LABELS) for first in range(0, Y.shape[1], LABELS))
    ]  # fmt: skip
    found = compute(tasks, "labels")
    for category, message in dict.fromkeys(warning for _, theirs in found for warning in theirs):
        warnings.warn(message, category, stacklevel=4)
    parts = [part for part, _ in found]
    worst = {name: max(getattr(part, name) for part in parts) for name in ("n_iter", "error_bound", "n_unreached")}
    F = np.concatenate([part.F for part in parts], axis=1)
    return replace(max(parts, key=lambda part: part.residual), F=F, **worst)


def _batch(
    solve: Callable[..., Any], W: Any, Y: np.ndarray, alpha: Any, options: dict[str, Any]
) -> tuple[Any, list[tuple[type[Warning], str]]]:
    """The solution of a batch and its warnings, which would be lost on another machine."""
    n_jobs = task_threads(options.get("n_jobs"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = solve(W, Y, alpha, **{**options, "n_jobs": n_jobs})
    return result, [(each.category, str(each.message)) for each in caught]
