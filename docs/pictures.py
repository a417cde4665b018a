"""Draw the pictures of the pages into docs/_static/pictures: `python docs/pictures.py [NAME...]`.

Each function draws one picture, of the name of the function.  Those of the pages that explain are in _explain_pictures,
those drawn from tables of studies and benchmarks in _evidence_pictures.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import _evidence_pictures  # noqa: E402
import _explain_pictures  # noqa: E402
from _drawing import MARKERS, WIDTH, Style, arrow, both, box, legend_above, plt  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from nmlsdr import MultiLabelPropagation, ResidualPropagation  # noqa: E402
from nmlsdr.datasets import flip_labels, make_toy, mask_labels  # noqa: E402
from nmlsdr.graph import neighbor_graph  # noqa: E402
from nmlsdr.inspection import rank_suspects  # noqa: E402
from nmlsdr.metrics import average_precision  # noqa: E402

FOLDER = HERE / "_static" / "pictures"


@cache
def two_groups() -> tuple[np.ndarray, np.ndarray]:
    """Twenty points in two groups, and the group of each."""
    rng = np.random.default_rng(5)
    group = np.repeat([0, 1], 10)
    return rng.normal(size=(20, 2)) * 0.55 + np.where(group[:, None], [1.5, 0.7], [-0.6, -0.7]), group


def how_it_works(style: Style) -> Any:
    """Six steps from the table to the verdicts."""
    figure, panels = plt.subplots(2, 3, figsize=(7.6, 5.4), layout="constrained")
    titles = (
        "1. A table",
        "2. Rows",
        "3. A graph of neighbours",
        "4. Spread labels",
        "5. Projection and scores",
        "6. A list to check",
    )
    points, group = two_groups()
    yes, no, *_ = style.colors
    annotations = np.full(20, -1)
    labelled = [0, 2, 3, 6, 7, 8, 10, 13, 16]
    annotations[labelled] = group[labelled]
    annotations[3] = 1  # the wrong annotation
    for axes, title in zip(panels.flat, titles, strict=True):
        axes.set(xticks=[], yticks=[], title=title)
        for side in axes.spines.values():
            side.set_visible(True)
            side.set_color(style.faint)
    table, rows, graph, spread, projection, checked = panels.flat

    cells = [
        ("age", "ward", "flu"),
        ("61", "east", "1"),
        ("34", "west", ""),
        ("47", "east", "0"),
        ("52", "", "1"),
        ("29", "west", ""),
    ]
    for i, line in enumerate(cells):
        for j, text in enumerate(line):
            wrong = (i, j) == (4, 2)
            table.text(
                0.2 + 0.3 * j,
                0.87 - 0.15 * i,
                text or "?",
                ha="center",
                va="center",
                color=style.colors[1] if wrong else style.grey if not text else style.text,
                fontweight="bold" if i == 0 or wrong else "normal",
            )
    table.hlines(0.79, 0.05, 0.95, color=style.faint)
    table.set(xlim=(0, 1), ylim=(0, 1))

    W = neighbor_graph(points, 3).tocoo()
    columns = np.column_stack([annotations, np.where(annotations < 0, -1, 1 - annotations)])
    F = MultiLabelPropagation(n_neighbors=3, alpha_labeled=0.9).fit(points, columns).label_distributions_
    soft = F[:, 0] / F.sum(axis=1)
    for axes in (rows, graph, spread):
        if axes is not rows:
            for i, j in zip(W.row, W.col, strict=True):
                axes.plot(*points[[i, j]].T, color=style.faint, linewidth=1, zorder=1)
        axes.set(xlim=(-2.1, 3), ylim=(-2.2, 2.3))
    for axes in (rows, graph):
        axes.scatter(*points[annotations < 0].T, s=32, facecolors="none", edgecolors=style.grey, zorder=3)
        axes.scatter(*points[annotations == 1].T, s=46, color=yes, zorder=3)
        axes.scatter(*points[annotations == 0].T, s=46, color=no, marker="s", zorder=3)
    spread.scatter(*points[soft > 0.5].T, s=46, color=yes, zorder=3)
    spread.scatter(*points[soft <= 0.5].T, s=46, color=no, marker="s", zorder=3)
    for axes in (rows, graph, spread):  # the wrong annotation
        axes.scatter(*points[3], s=190, facecolors="none", edgecolors=style.text, linewidths=1.5, zorder=4)

    direction = points[group == 1].mean(axis=0) - points[group == 0].mean(axis=0)
    place = points @ direction / np.linalg.norm(direction)
    projection.hlines(0.62, place.min() - 0.3, place.max() + 0.3, color=style.grey, linewidth=1)
    projection.scatter(place[soft > 0.5], np.full((soft > 0.5).sum(), 0.62), s=40, color=yes, zorder=3)
    projection.scatter(place[soft <= 0.5], np.full((soft <= 0.5).sum(), 0.62), s=40, color=no, marker="s", zorder=3)
    projection.text(place.mean(), 0.82, "few columns\n(transform)", ha="center", va="center", fontsize=11)
    projection.text(place.mean(), 0.3, "a score for each label\n(predict, flip_scores_)", ha="center", fontsize=11)
    projection.set(ylim=(0.1, 1), xlim=(place.min() - 0.6, place.max() + 0.6))

    lines = [("4", "flu: 1", "0.97", "wrong"), ("9", "flu: 0", "0.81", "wrong"), ("1", "flu: 1", "0.40", "right")]
    places = (0.1, 0.33, 0.59, 0.84)
    for x, head in zip(places, ("row", "given", "score", "verdict"), strict=True):
        checked.text(x, 0.86, head, ha="center", color=style.grey)
    for i, line in enumerate(lines):
        for x, text in zip(places, line, strict=True):
            checked.text(
                x,
                0.71 - 0.16 * i,
                text,
                ha="center",
                va="center",
                color=style.colors[1] if text == "wrong" else style.text,
            )
    checked.text(0.5, 0.1, "your verdicts go\nto the next fit", ha="center")
    checked.set(xlim=(0, 1), ylim=(0, 1))
    return figure


def unlabelled_rows(style: Style) -> Any:
    """Average precision on new digits, with and without the unlabelled rows in the fit."""
    X, digit = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    truth = np.eye(10, dtype=int)[digit]
    known = (50, 100, 200, 400)
    draws = range(4)
    precision = np.empty((2, len(draws), len(known)))
    for draw in draws:
        rng = np.random.default_rng(draw)
        order = rng.permutation(len(X))
        train = order[:1200]
        test = order[1200:]
        noisy = np.where(rng.random((1200, 10)) < 0.1, 1 - truth[train], truth[train])
        for number, n in enumerate(known):
            y = noisy.copy()
            y[n:] = -1
            for place, rows in enumerate((slice(None), slice(n))):
                model = ResidualPropagation().fit(X[train][rows], y[rows])
                scores = model.decision_function(X[test]) + model.thresholds_
                precision[place, draw, number] = 100 * average_precision(truth[test], scores)
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    for place, name in enumerate(("with the unlabelled rows", "labelled rows alone")):
        axes.plot(
            known,
            precision[place].mean(axis=0),
            color=style.colors[place],
            marker=MARKERS[place],
            label=name,
            linestyle=("-", "--")[place],
        )
    axes.set(xscale="log", xlabel="labelled rows", ylabel="average precision, %")
    axes.set_xticks(known, list(map(str, known)))
    axes.minorticks_off()
    axes.legend(loc="lower right")
    return figure


# ---------------------------------------------------------------- one for each page of the guide


@cache
def toy(n: int = 2000) -> Any:
    """The data of the quick start: X, the truth, noisy and partly hidden labels, new rows and their truth."""
    drawn = make_toy(n_samples=n, random_state=0)
    scaler = StandardScaler().fit(drawn.data)
    noisy = flip_labels(drawn.target, 0.1, random_state=0)
    y = mask_labels(noisy, 0.5, random_state=0)
    return scaler.transform(drawn.data), drawn.target, noisy, y, scaler.transform(drawn.test_data), drawn.test_target


@cache
def model_of_toy() -> ResidualPropagation:
    X, _, _, y, *_ = toy()
    return ResidualPropagation().fit(X, y)


def in_python(style: Style) -> Any:
    """New rows in the embedding."""
    *_, X_new, truth = toy()
    embedding = model_of_toy().transform(X_new)
    figure, axes = plt.subplots(figsize=(WIDTH, 4), layout="constrained")
    only_one = truth.sum(axis=1) == 1
    for label in range(truth.shape[1]):
        rows = only_one & (truth[:, label] == 1)
        axes.scatter(
            *embedding[rows, :2].T,
            s=22,
            color=style.colors[label],
            marker=MARKERS[label],
            alpha=0.8,
            linewidths=0,
            label=f"label {label}",
        )
    axes.set(xlabel="first column of the embedding", ylabel="second column", xticks=[], yticks=[])
    legend_above(figure, axes, 4)
    return figure


def review(style: Style) -> Any:
    """Precision of three lists, for two kinds of mistakes."""
    drawn = make_toy(n_samples=3000, random_state=0)
    X = StandardScaler().fit_transform(drawn.data)
    rng = np.random.default_rng(0)
    forgotten = drawn.target * (rng.random(drawn.target.shape) >= 0.3)
    flipped = flip_labels(drawn.target, 0.1, random_state=0)
    first = np.arange(10, 501, 10)
    figure, panels = plt.subplots(2, 1, figsize=(WIDTH, 6), sharex=True, layout="constrained")
    for axes, y, title in zip(
        panels, (flipped, forgotten), ("10 % of all entries flipped", "30 % of the 1s forgotten"), strict=True
    ):
        model = ResidualPropagation().fit(X, y)
        names = {"all": "one list of both kinds", "forgotten": "given 0s alone", "wrong": "given 1s alone"}
        for number, (kind, name) in enumerate(names.items()):
            entries = rank_suspects(model, y, kind=kind).first(first[-1])
            wrong = np.cumsum((y != drawn.target)[entries.row, entries.label])[first - 1] / first
            axes.plot(first, 100 * wrong, color=style.colors[number], linestyle=("-", "--", ":")[number], label=name)
        axes.axhline(100 * (y != drawn.target).mean(), color=style.grey, linewidth=1, label="random order")
        axes.set(title=title, ylabel="wrong entries, %", ylim=(-3, 103))
    panels[-1].set(xlabel="entries checked, from the top of the list")
    legend_above(figure, panels[0], 2)
    return figure


def thresholds(style: Style) -> Any:
    """F1 against the threshold, and where the rule "f1" puts it; three of the four labels are rare."""
    drawn = make_toy(n_samples=2400, random_state=0)
    rng = np.random.default_rng(0)
    keep = np.array([1.0, 0.5, 0.3, 0.15])
    y, truth = (part * (rng.random(part.shape) < keep) for part in (drawn.target, drawn.test_target))
    scaler = StandardScaler().fit(drawn.data)
    model = ResidualPropagation().fit(scaler.transform(drawn.data), y)
    scores = model.decision_function(scaler.transform(drawn.test_data)) + model.thresholds_
    grid = np.linspace(0.02, 0.95, 94)

    def f1(cut: float) -> tuple[float, float]:
        predicted = scores > cut
        right = (predicted & (truth == 1)).sum(axis=0)
        total = predicted.sum(axis=0) + truth.sum(axis=0)
        return 2 * right.sum() / total.sum(), float(np.mean(2 * right / np.maximum(total, 1)))

    curves = np.array([f1(cut) for cut in grid])
    figure, axes = plt.subplots(figsize=(WIDTH, 3.6), layout="constrained")
    for number, name in enumerate(("micro F1", "macro F1")):
        axes.plot(grid, curves[:, number], color=style.colors[number], linestyle=("-", "--")[number], label=name)
    chosen = float(np.mean(model.thresholds_))
    for cut, text_, side in ((chosen, 'chosen by "f1" ', "right"), (0.5, " one half", "left")):
        axes.axvline(cut, color=style.grey, linewidth=1.2)
        axes.text(cut, 1.07, text_, va="top", ha=side, fontsize=10)
    axes.set(xlabel="threshold for all labels", ylabel="F1 on new rows", ylim=(0, 1.08), xlim=(0, 1))
    legend_above(figure, axes, 2)
    return figure


def cross_validation(style: Style) -> Any:
    """Which rows are tested, by KFold and by LabeledRowsSplit."""
    known = np.isin(np.arange(12), [0, 2, 3, 6, 8, 11])
    blocks = {"KFold(3)": np.arange(12) // 4, "LabeledRowsSplit(3)": np.full(12, -1)}
    blocks["LabeledRowsSplit(3)"][known] = np.arange(known.sum()) // 2
    figure, panels = plt.subplots(2, 1, figsize=(WIDTH, 3.6), layout="constrained")
    for axes, (title, fold) in zip(panels, blocks.items(), strict=True):
        for number in range(3):
            for row in range(12):
                tested = fold[row] == number
                color = style.colors[1] if tested else style.faint
                axes.add_patch(plt.Rectangle((row + 0.06, 2 - number + 0.08), 0.88, 0.84, color=color, linewidth=0))
                axes.text(
                    row + 0.5,
                    2 - number + 0.5,
                    "1" if known[row] else "?",
                    ha="center",
                    va="center",
                    fontsize=9,
                    color="#222832" if tested else style.text,
                )
        axes.set(xlim=(0, 12), ylim=(0, 3), title=title, yticks=[0.5, 1.5, 2.5], xticks=[])
        axes.set_yticklabels(["fold 3", "fold 2", "fold 1"])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    panels[-1].set_xlabel("rows: 1 labelled, ? unlabelled; orange: tested, grey: in the training set")
    return figure


def labels(style: Style) -> Any:
    """What alpha does with one wrong label among right ones."""
    line = np.arange(11, dtype=float)[:, None]
    y = np.ones((11, 1))
    y[5] = 0
    y[[2, 8]] = -1
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    for number, alpha in enumerate((0.0, 0.3, 0.6, 0.9)):
        soft = MultiLabelPropagation(n_neighbors=2, alpha_labeled=alpha).fit(line, y).label_distributions_[:, 0]
        axes.plot(line[:, 0], soft, color=style.colors[number], marker=MARKERS[number], label=f"alpha_labeled={alpha}")
    axes.axhline(0.5, color=style.grey, linewidth=1, linestyle=":")
    names = list("11?11011?11")
    axes.set_xticks(line[:, 0], names)
    axes.set(xlabel="given labels of neighbouring rows (?: unknown)", ylabel="soft label", ylim=(-0.05, 1.05))
    legend_above(figure, axes, 2)
    return figure


def text(style: Style) -> Any:
    """Texts as directions: rows of norm 1."""
    counts = np.array([[6, 2], [3, 1], [1.2, 0.3], [1, 4], [0.5, 2.4]])
    figure, axes = plt.subplots(figsize=(WIDTH, 3.4), layout="constrained")
    angle = np.linspace(0, np.pi / 2, 100)
    axes.plot(2.2 * np.cos(angle), 2.2 * np.sin(angle), color=style.grey, linewidth=1)
    for row in counts:
        color = style.colors[0] if row[0] > row[1] else style.colors[1]
        unit = 2.2 * row / np.linalg.norm(row)
        axes.plot([0, row[0]], [0, row[1]], color=style.faint, linewidth=1, zorder=1)
        axes.scatter(*row, s=36, facecolors="none", edgecolors=color)
        axes.scatter(*unit, s=60, color=color, zorder=3)
    axes.annotate("counts of a long text", (6, 2), (3.7, 3.1), arrowprops={"arrowstyle": "-", "color": style.grey})
    axes.annotate(
        "the same text, norm 1",
        2.2 * counts[0] / np.linalg.norm(counts[0]),
        (2.9, 0.12),
        arrowprops={"arrowstyle": "-", "color": style.grey},
    )
    axes.set(xlabel='how often "match" occurs', ylabel='how often "bank" occurs', xlim=(0, 6.6))
    axes.set(ylim=(0, 4.4), aspect="equal")
    axes.set(xticks=[], yticks=[])
    return figure


def graphs(style: Style) -> Any:
    """The default graph of a few rows, and one with fewer neighbours."""
    points, group = two_groups()
    figure, panels = plt.subplots(1, 2, figsize=(WIDTH, 3), layout="constrained")
    for axes, k in zip(panels, (2, 5), strict=True):
        W = neighbor_graph(points, k).tocoo()
        for i, j in zip(W.row, W.col, strict=True):
            axes.plot(*points[[i, j]].T, color=style.grey, linewidth=0.8, zorder=1)
        for number in (0, 1):
            axes.scatter(*points[group == number].T, s=40, color=style.colors[number], marker=MARKERS[number], zorder=3)
        axes.set(title=f"n_neighbors={k}", xticks=[], yticks=[])
    return figure


def clusters(style: Style) -> Any:
    """Which data lie where."""
    figure, axes = plt.subplots(figsize=(WIDTH, 2.9), layout="constrained")
    axes.set(xlim=(0, 6.2), ylim=(0, 2.9))
    axes.axis("off")
    for number in range(3):
        y = 2.4 - 0.85 * number
        box(axes, style, 0.85, y, f"rows, block {number + 1}\n(on disk)", width=1.5, height=0.6)
        arrow(axes, style, (1.65, y), (2.35, y))
        work = f"worker {number + 1}:\nsearch and sums"
        box(axes, style, 3.15, y, work, width=1.5, height=0.6, color=style.colors[0])
        arrow(axes, style, (3.95, y), (4.65, 1.55))
    small = "graph, labels,\nprojection\n(one process)"
    box(axes, style, 5.4, 1.55, small, width=1.35, height=1.0, color=style.colors[1])
    return figure


def prepare(style: Style) -> Any:
    """What becomes of the columns of a table."""
    columns = [
        ("age", "number", "1 column"),
        ("admitted", "date", "year, month"),
        ("ward", "category", "1 per level"),
        ("smoker", "yes/no", "1 column"),
        ("patient", "identifier", "copied, not used"),
        ("diagnoses", "labels", "1 per diagnosis"),
    ]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.3), layout="constrained")
    axes.set(xlim=(0, 6.2), ylim=(-0.1, 3.4))
    axes.axis("off")
    for number, (name, kind, becomes) in enumerate(columns):
        y = 3.1 - 0.56 * number
        color = style.colors[1] if kind == "labels" else style.grey if kind == "identifier" else style.colors[0]
        box(axes, style, 0.8, y, name, width=1.4, height=0.4)
        arrow(axes, style, (1.55, y), (2.3, y))
        box(axes, style, 3.05, y, kind, width=1.4, height=0.4, color=color)
        arrow(axes, style, (3.8, y), (4.5, y))
        axes.text(4.6, y, becomes, va="center", fontsize=10)
    return figure


def embedding_c(style: Style) -> Any:
    """The functions of the C interface, in the order of a call."""
    steps = [
        ("nearest,\nindex_query", "rows"),
        ("neighbor_graph", "lists of neighbours"),
        ("transition_matrix,\npropagate", "graph W"),
        ("", "T and soft labels F"),
    ]
    figure, axes = plt.subplots(figsize=(WIDTH, 3), layout="constrained")
    axes.set(xlim=(-0.7, 5.5), ylim=(0, 3))
    axes.axis("off")
    for number, (function, data) in enumerate(steps):
        y = 2.7 - 0.8 * number
        axes.text(1.1, y, data, ha="center", va="center")
        if function:
            arrow(axes, style, (1.1, y - 0.16), (1.1, y - 0.64))
            box(axes, style, 3.6, y - 0.4, function, width=2.2, height=0.5, color=style.colors[0])
            axes.plot([1.15, 2.45], [y - 0.4, y - 0.4], color=style.faint, linewidth=1)
    return figure


PICTURES = [
    how_it_works,
    in_python,
    unlabelled_rows,
    review,
    thresholds,
    cross_validation,
    labels,
    text,
    graphs,
    clusters,
    prepare,
    embedding_c,
    *_explain_pictures.PICTURES,
    *_evidence_pictures.PICTURES,
]


def main() -> None:
    names = sys.argv[1:]
    for picture in PICTURES:
        if not names or picture.__name__ in names:
            both(FOLDER, picture.__name__, picture)


if __name__ == "__main__":
    main()
