"""What the displays share: axes, text as matplotlib takes it, steps of pipelines, names of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline


def axes_for(ax: Any, size: tuple[float, float]) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("Displays need matplotlib; install it with pip install 'nmlsdr[cli]'.") from None
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def plain(text: str) -> str:
    """Text that matplotlib draws as it is: no formula between dollars, no entry that a leading _ hides."""
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def last_with(estimator: Any, attribute: str) -> Any:
    """The last step that has the attribute, or None."""
    steps = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    return next((step for step in reversed(steps) if hasattr(step, attribute)), None)


def label_names(labels: Any) -> list[str]:
    if labels.names is not None:
        return [str(name) for name in labels.names]
    if labels.single:
        return [str(name) for name in labels.classes]
    return [f"label {c}" for c in range(labels.Y.shape[1])]


def spread(n: int) -> NDArray[np.float64]:
    """Evenly spread positions in [0, 1) that look unordered: multiples of the golden ratio."""
    return np.modf(np.arange(1, n + 1) * 0.6180339887498949)[0]
