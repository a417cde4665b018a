"""How the pictures of the pages look: a light and a dark variant of each, narrow enough for a telephone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

WIDTH = 6.2  # inches; a telephone shrinks this to two thirds, and text of 11 points stays readable
MARKERS = "o^sDvPX*"


class Style(NamedTuple):
    """The colours of a variant: text and axes, what is less important, and the colours that tell things apart."""

    name: str
    text: str
    grey: str
    faint: str
    colors: tuple[str, ...]


# Okabe and Ito's colours, which colour-blind people can tell apart; brighter ones on the dark page.
STYLES = (
    Style("light", "#222832", "#767676", "#d9d9d9", ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B07800", "#56B4E9")),
    Style("dark", "#ced6dd", "#9a9a9a", "#48515c", ("#56B4E9", "#F0803C", "#2EC49B", "#E6A0C8", "#E6B23C", "#9CD3F5")),
)


def both(folder: Path, name: str, draw: Callable[[Style], Any]) -> None:
    """Write ``name-light.svg`` and ``name-dark.svg``; ``draw`` gets the style and returns a figure."""
    folder.mkdir(parents=True, exist_ok=True)
    for style in STYLES:
        page = "white" if style.name == "light" else "none"  # hosts of Git show the light variant on dark pages too
        settings = {
            "font.size": 11,
            "font.family": "DejaVu Sans",
            "svg.hashsalt": name,
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": page,
            "text.color": style.text,
            "axes.labelcolor": style.text,
            "axes.edgecolor": style.grey,
            "xtick.color": style.text,
            "ytick.color": style.text,
            "axes.titlesize": 11,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
            "grid.color": style.faint,
            "lines.linewidth": 2,
        }
        with plt.rc_context(settings):
            figure = draw(style)
            figure.savefig(folder / f"{name}-{style.name}.svg", metadata={"Date": None}, bbox_inches="tight")
            plt.close(figure)


def dots(
    axes: Any, style: Style, rows: Sequence[str], series: dict[str, Sequence[float]], *, best: str | None = None
) -> None:
    """A line for each row, and on it a dot for each series; the series ``best`` has larger dots."""
    places = np.arange(len(rows))[::-1]
    values = np.array([np.asarray(points, dtype=float) for points in series.values()])
    axes.hlines(places, np.nanmin(values, axis=0), np.nanmax(values, axis=0), color=style.faint, linewidth=3, zorder=1)
    for number, (name, points) in enumerate(series.items()):
        large = name == best  # below the others, so that none is hidden
        axes.scatter(
            points,
            places,
            s=110 if large else 40,
            color=style.colors[number % len(style.colors)],
            label=name,
            marker=MARKERS[number % len(MARKERS)],
            zorder=2 if large else 3,
            linewidths=0,
        )
    axes.set_yticks(places, rows)
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.grid(axis="x", linewidth=0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def legend_above(figure: Any, axes: Any, columns: int = 3) -> None:
    """One legend for the whole figure, above it."""
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside upper left", ncols=columns, columnspacing=1.2, handletextpad=0.3
    )


def box(
    axes: Any, style: Style, x: float, y: float, text: str, *, width: float, height: float, color: str = ""
) -> None:
    """A box with rounded corners and a text in its middle."""
    from matplotlib.patches import FancyBboxPatch

    patch = FancyBboxPatch(
        (x - width / 2, y - height / 2),
        width,
        height,
        boxstyle="round,pad=0.02,rounding_size=0.08",
        facecolor="none",
        edgecolor=color or style.grey,
        linewidth=1.4,
    )
    axes.add_patch(patch)
    axes.text(x, y, text, ha="center", va="center", fontsize=10)


def arrow(axes: Any, style: Style, start: tuple[float, float], end: tuple[float, float], text: str = "") -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": style.grey, "linewidth": 1.6})
    if text:
        axes.text(
            (start[0] + end[0]) / 2,
            (start[1] + end[1]) / 2,
            text,
            ha="center",
            va="bottom",
            fontsize=9,
            color=style.grey,
        )
