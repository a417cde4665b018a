"""Draw the learning curves of the page on what to label next: `python docs/next_picture.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from _drawing import MARKERS, WIDTH, Style, both, legend_above, plt

HERE = Path(__file__).resolve().parent
RESULT = HERE.parent / "bench" / "results" / "next.json"
NAMES = {"random": "random rows", "rows": "rows by turns", "entries": "entries by turns"}
STEP = 25  # rows of a round, or as many answers
START = 100


def what_next(style: Style) -> Any:
    """Macro average precision of new rows against the answers that were spent, for each data set."""
    rows = [row for row in json.loads(RESULT.read_text(encoding="utf-8"))["rows"] if row["set"] != "mean"]
    lines = (len(rows) + 1) // 2
    figure, panels = plt.subplots(lines, 2, figsize=(WIDTH, 0.8 + 1.75 * lines), layout="constrained", squeeze=False)
    for axes, row in zip(panels.flat, rows, strict=False):
        for k, (way, name) in enumerate(NAMES.items()):
            curve = row["curves"][way]
            places = [START + STEP * i for i in range(len(curve))]
            axes.plot(places, curve, color=style.colors[(2, 1, 0)[k]], marker=MARKERS[k], markersize=4, label=name)
        axes.set_title(row["set"])
        axes.grid(axis="y", linewidth=0.6)
    for axes in panels.flat[len(rows) :]:
        axes.set_visible(False)
    figure.supxlabel("answers, as labelled rows", fontsize=11)
    figure.supylabel("macro average precision of new rows, %", fontsize=11)
    legend_above(figure, panels[0, 0])
    return figure


if __name__ == "__main__":
    both(HERE / "_static" / "pictures", "what_next", what_next)
