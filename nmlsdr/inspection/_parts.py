"""What the pictures share: axes, which rows are drawn, text as matplotlib takes it, steps of pipelines, label names."""

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


def two_axes(points: NDArray[Any]) -> NDArray[np.float64]:
    """The points; those of one component get a second axis, evenly spread in [0, 1), that only separates them."""
    points = np.asarray(points, dtype=np.float64)
    if points.shape[1] > 1:
        return points
    # Multiples of the golden ratio, modulo 1, look random.
    return np.column_stack([points, np.modf(np.arange(1, len(points) + 1) * 0.6180339887498949)[0]])


def drawn_rows(n_samples: int, max_points: int | None, always: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Which rows to draw: all, or a random part of size `max_points` and the rows `always`."""
    drawn = np.ones(n_samples, dtype=bool)
    if max_points is not None and max_points < n_samples:
        drawn[np.random.default_rng(0).permutation(n_samples)[max_points:]] = False
        if always is not None:
            drawn |= always
    return drawn
