"""The figures: embeddings, mean Wilcoxon scores, critical differences, differences from the article.

Every function returns a matplotlib Figure made without pyplot, so no global state changes and no display is needed.
The colours are Okabe and Ito's, which colour-blind readers can distinguish; groups also have different markers.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._colors import COLORS, GREY, MARKERS
from .statistics import Friedman, undistinguished_groups


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

    three = panels[0][1].shape[1] == 3
    rows = (len(panels) + 1) // 2
    figure = _figure(8.4, 4.2 * rows)
    for number, (title, points, groups) in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, 2, number, **({"projection": "3d"} if three else {}))
        shown = np.zeros(points.shape[0], dtype=bool)
        for index, (name, rows_in_group) in enumerate(groups):
            shown |= rows_in_group
            axes.scatter(
                *points[rows_in_group].T, s=7, alpha=0.6, linewidths=0, label=name, rasterized=True,
                color=COLORS[index % len(COLORS)], marker=MARKERS[index % len(MARKERS)],
            )  # fmt: skip
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
            fontsize=8, markerscale=2, loc="upper center", bbox_to_anchor=(0.5, -0.02 if three else -0.14), ncols=3,
            frameon=False,
        )  # fmt: skip
        if three:
            axes.view_init(elev=20, azim=-65)  # shows the four arms of the Toy set
            axes.set_box_aspect(None, zoom=0.85)  # space for the labels
    return figure


def bars(names: Sequence[str], ours: ArrayLike, printed: ArrayLike, *, label: str) -> Any:
    """Horizontal bars, the best on top: ours and the article's."""
    first, second = np.asarray(ours, dtype=float), np.asarray(printed, dtype=float)
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


def critical_differences(names: Sequence[str], tests: Mapping[str, Friedman]) -> Any:
    """Critical-difference diagrams (Demsar 2006) of tests by title, one below the other.

    Methods joined by a bar do not differ significantly by Nemenyi's test.
    """
    figure = _figure(8.0, 2.15 * len(tests))
    for number, (title, test) in enumerate(tests.items(), start=1):
        _critical_difference(figure.add_subplot(len(tests), 1, number), title, names, test)
    return figure


def _critical_difference(axes: Any, title: str, names: Sequence[str], test: Friedman) -> None:
    k, ranks, difference = len(names), test.average_ranks, test.critical_difference
    order = np.argsort(ranks, kind="stable")
    ranks, names = ranks[order], [names[j] for j in order]
    half = (k + 1) // 2
    axes.set_xlim(1 - 0.28 * k, k + 0.28 * k)
    axes.axis("off")
    axes.plot([1, k], [0, 0], color="black", linewidth=1)
    for rank in range(1, k + 1):
        axes.plot([rank, rank], [0, 0.12], color="black", linewidth=1)
        axes.text(rank, 0.2, str(rank), ha="center", va="bottom", fontsize=8)
    axes.plot([1, 1 + difference], [1.1, 1.1], color="black", linewidth=2)
    axes.text(1 + difference / 2, 1.15, f"CD = {difference:.2f}", ha="center", va="bottom", fontsize=8)
    axes.text(k, 1.1, title, ha="right", va="bottom", fontsize=10, fontweight="bold")
    groups = undistinguished_groups(ranks, difference)
    top = -0.25 * (len(groups) + 1)
    for level, (first, last) in enumerate(groups, start=1):
        axes.plot([ranks[first] - 0.05, ranks[last] + 0.05], [-0.25 * level] * 2, color=COLORS[1], linewidth=3)
    for index, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = index < half
        height = top - 0.33 * (index if left else k - 1 - index)
        end = 1 - 0.04 * k if left else k + 0.04 * k
        axes.plot([rank, rank, end], [0, height, height], color="#555555", linewidth=0.8)
        text = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
        axes.text(end + (-0.1 if left else 0.1), height, text, ha="right" if left else "left", va="center", fontsize=8)
    axes.set_ylim(top - 0.33 * half, 1.7)


def difference_maps(
    titles: Sequence[str], differences: NDArray[Any], rows: Sequence[str], columns: Sequence[str]
) -> Any:
    """Maps of ours minus the article's, rows by columns by panels; the colour ends at .05."""
    width, limit = 3, 0.05
    n_rows = (len(titles) + width - 1) // width
    figure = _figure(12.0, (0.26 * len(rows) + 1.1) * n_rows)
    for number, (title, values) in enumerate(zip(titles, np.moveaxis(differences, 2, 0), strict=True), start=1):
        axes = figure.add_subplot(n_rows, width, number)
        shown = axes.imshow(values, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
        axes.set_title(title, fontsize=10)
        axes.set_xticks(np.arange(len(columns)), columns, rotation=90, fontsize=8)
        axes.set_yticks(np.arange(len(rows)), rows if number % width == 1 else [""] * len(rows), fontsize=8)
        for i, j in np.argwhere(np.abs(values) > 0.02):
            light = abs(values[i, j]) > 0.7 * limit
            axes.text(j, i, f"{1000 * values[i, j]:+.0f}", ha="center", va="center", fontsize=8,
                      color="white" if light else "black")  # fmt: skip
    bar = figure.colorbar(shown, ax=figure.axes, shrink=0.4, aspect=30, label="ours minus the article's")
    bar.ax.tick_params(labelsize=7)
    return figure
