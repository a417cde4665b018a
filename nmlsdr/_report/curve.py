"""The picture of a learning curve: where its points, spreads and ticks stand, in units of its SVG."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Facts = dict[str, Any]

WIDTH = 640
HEIGHT = 300
_LEFT = 56  # of the axes, which leave room for the texts of the ticks
_RIGHT = 620
_TOP = 14
_BOTTOM = 250
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)  # between the ticks of F1
_MOST_TICKS = 6


def curve_picture(points: Sequence[Facts]) -> Facts:
    """Places for the points of a learning curve.

    Parameters
    ----------
    points : sequence of dict
        In the order of their numbers of rows: rows, f1, and std, the spread of f1 between folds.

    Returns
    -------
    dict
        width, height and the ends of the axes (left, right, top, bottom); line, the points of a polyline;
        points (x, y, and the ends high and low of the spread); ticks of F1 [y, value] from the last tick below all
        spreads to the first one above them, within [0, 1].

    Examples
    --------
    >>> picture = curve_picture([{"rows": 50, "f1": 0.5, "std": 0.1}, {"rows": 100, "f1": 0.6, "std": 0.0}])
    >>> [round(value, 2) for _, value in picture["ticks"]]
    [0.4, 0.45, 0.5, 0.55, 0.6]
    >>> picture["line"]
    '338.0,132.0 620.0,14.0'
    """
    least = max(0.0, min(point["f1"] - point["std"] for point in points))
    largest = min(1.0, max(point["f1"] + point["std"] for point in points))
    step, low, high = _scale(least, largest)
    n_rows = points[-1]["rows"]

    def height(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * (value - low * step) / ((high - low) * step)

    places = [
        {
            "x": _LEFT + (_RIGHT - _LEFT) * point["rows"] / n_rows,
            "y": height(point["f1"]),
            "high": height(min(1.0, point["f1"] + point["std"])),
            "low": height(max(0.0, point["f1"] - point["std"])),
            "rows": point["rows"],
        }
        for point in points
    ]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "right": _RIGHT,
        "top": _TOP,
        "bottom": _BOTTOM,
        "line": " ".join(f"{place['x']:.1f},{place['y']:.1f}" for place in places),
        "points": places,
        "ticks": [[height(k * step), k * step] for k in range(low, high + 1)],
    }


def _scale(least: float, largest: float) -> tuple[float, int, int]:
    """The smallest step with few ticks, and the first and the last tick in units of it."""
    for step in _STEPS:
        low = int(np.floor(least / step + 1e-9))
        high = max(int(np.ceil(largest / step - 1e-9)), low + 1)
        if high - low < _MOST_TICKS:
            break
    return step, low, high
