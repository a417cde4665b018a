"""The figures: embeddings and mean Wilcoxon scores.

Every function returns a matplotlib Figure made without pyplot, so no global state changes and no display is needed.
The colours are Okabe and Ito's, which colour-blind readers can distinguish; groups also have different markers.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._colors import COLORS, GREY, MARKERS


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def image_bytes(figure: Any, kind: str) -> bytes:
    """A figure as "png" or "svg", the same bytes for the same figure (no dates, fixed identifiers)."""
    import matplotlib

    out = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "nmlsdr"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(out, format=kind, dpi=90, metadata=metadata)
    return out.getvalue()


def embeddings(panels: Sequence[tuple[str, NDArray[Any], Sequence[tuple[str, NDArray[np.bool_]]]]]) -> Any:
    """Scatter plots of embeddings in two or three dimensions, two panels a row.

    Parameters
    ----------
    panels : sequence of (title, points, groups)
        Points (n, 2) or (n, 3); groups are (name, which rows), drawn in order.
    """
    from matplotlib.ticker import MaxNLocator

    is_3d = panels[0][1].shape[1] == 3
    rows = (len(panels) + 1) // 2
    figure = _figure(8.4, 4.2 * rows)
    for number, (title, points, groups) in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, 2, number, **({"projection": "3d"} if is_3d else {}))
        shown = np.zeros(points.shape[0], dtype=bool)
        for index, (name, rows_in_group) in enumerate(groups):
            shown |= rows_in_group
            axes.scatter(
                *points[rows_in_group].T,
                s=7,
                alpha=0.6,
                linewidths=0,
                label=name,
                rasterized=True,
                color=COLORS[index % len(COLORS)],
                marker=MARKERS[index % len(MARKERS)],
            )
        axes.set_title(title, fontsize=10)
        for side, values in zip("xyz", points[shown].T, strict=False):
            low, high = np.quantile(values, [0.002, 0.998])  # a few far points would squeeze all others together
            margin = 0.05 * (high - low) or 1.0
            getattr(axes, f"set_{side}lim")(low - margin, high + margin)
            getattr(axes, f"set_{side}label")(f"component {'xyz'.index(side) + 1}", fontsize=8)
            getattr(axes, f"{side}axis").set_major_locator(MaxNLocator(4))  # more would overlap in perspective
        axes.tick_params(labelsize=7)
        # Below the axes, because points fill every corner of them.
        axes.legend(
            fontsize=8,
            markerscale=2,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.02 if is_3d else -0.14),
            ncols=3,
            frameon=False,
        )
        if is_3d:
            axes.view_init(elev=20, azim=-65)  # shows the four arms of the Toy set
            axes.set_box_aspect(None, zoom=0.85)  # space for the labels
    return figure


def bars(names: Sequence[str], ours: ArrayLike, printed: ArrayLike, *, label: str) -> Any:
    """Horizontal bars, the best on top: ours and the article's."""
    first = np.asarray(ours, dtype=float)
    second = np.asarray(printed, dtype=float)
    order = np.argsort(first, kind="stable")
    figure = _figure(7.5, 0.45 * len(names) + 1.0)
    axes = figure.add_subplot()
    place = np.arange(len(names))
    for values, shift, color, text in ((first, 0.2, COLORS[0], "ours"), (second, -0.2, GREY, "article")):
        drawn = axes.barh(place + shift, values[order], height=0.38, color=color, label=text)
        axes.bar_label(drawn, fmt="%.2f", fontsize=8, padding=2)
    axes.set_yticks(place, [names[j] for j in order])
    axes.set_xlabel(label)
    axes.set_xlim(0, len(names) - 0.2)
    axes.legend(loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
