"""Draw the pictures of the pages into docs/_static/pictures: `python docs/pictures.py [NAME...]`.

Each function draws one picture, of the name of the function.  Data are simulated on the spot, or come from the tables
of the studies and of the benchmarks, which their commands write.
"""

from __future__ import annotations

import csv
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from _drawing import MARKERS, WIDTH, Style, arrow, both, box, dots, legend_above, plt  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from nmlsdr import MultiLabelPropagation, ResidualPropagation  # noqa: E402
from nmlsdr.datasets import flip_labels, make_toy, mask_labels  # noqa: E402
from nmlsdr.graph import neighbor_graph  # noqa: E402
from nmlsdr.inspection import rank_suspects  # noqa: E402

FOLDER = HERE / "_static" / "pictures"
STUDIES, RESULTS = HERE / "reproduction", HERE.parent / "bench" / "results"


def study(name: str) -> list[dict[str, str]]:
    (path,) = STUDIES.rglob(f"{name}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def result(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return rows


def numbers(rows: list[dict[str, str]], column: str) -> list[float]:
    return [float(row[column]) if row[column] not in ("-", "–", "") else np.nan for row in rows]


# ---------------------------------------------------------------- how it works


@cache
def two_groups() -> tuple[np.ndarray, np.ndarray]:
    """Twenty points in two groups, and the group of each."""
    rng = np.random.default_rng(5)
    group = np.repeat([0, 1], 10)
    return rng.normal(size=(20, 2)) * 0.55 + np.where(group[:, None], [1.5, 0.7], [-0.6, -0.7]), group


def how_it_works(style: Style) -> Any:
    """Six steps from the table to the verdicts."""
    figure, panels = plt.subplots(2, 3, figsize=(7.6, 5.4), layout="constrained")
    titles = ("1. A table", "2. Rows", "3. A graph of neighbours", "4. Spread labels", "5. Projection and scores",
              "6. A list to check")  # fmt: skip
    points, group = two_groups()
    yes, no, *_ = style.colors
    given = np.full(20, -1)
    labelled = [0, 2, 3, 6, 7, 8, 10, 13, 16]
    given[labelled] = group[labelled]
    given[3] = 1  # the wrong annotation
    for axes, title in zip(panels.flat, titles, strict=True):
        axes.set(xticks=[], yticks=[], title=title)
        for side in axes.spines.values():
            side.set_visible(True)
            side.set_color(style.faint)
    table, rows, graph, spread, projection, checked = panels.flat

    cells = [("age", "ward", "flu"), ("61", "east", "1"), ("34", "west", ""), ("47", "east", "0"), ("52", "", "1"),
             ("29", "west", "")]  # fmt: skip
    for i, line in enumerate(cells):
        for j, text in enumerate(line):
            wrong = (i, j) == (4, 2)
            table.text(0.2 + 0.3 * j, 0.87 - 0.15 * i, text or "?", ha="center", va="center",
                       color=style.colors[1] if wrong else style.grey if not text else style.text,
                       fontweight="bold" if i == 0 or wrong else "normal")  # fmt: skip
    table.hlines(0.79, 0.05, 0.95, color=style.faint)
    table.set(xlim=(0, 1), ylim=(0, 1))

    W = neighbor_graph(points, 3).tocoo()
    columns = np.column_stack([given, np.where(given < 0, -1, 1 - given)])
    F = MultiLabelPropagation(n_neighbors=3, alpha_labeled=0.9).fit(points, columns).label_distributions_
    soft = F[:, 0] / F.sum(axis=1)
    for axes in (rows, graph, spread):
        if axes is not rows:
            for i, j in zip(W.row, W.col, strict=True):
                axes.plot(*points[[i, j]].T, color=style.faint, linewidth=1, zorder=1)
        axes.set(xlim=(-2.1, 3), ylim=(-2.2, 2.3))
    for axes in (rows, graph):
        axes.scatter(*points[given < 0].T, s=32, facecolors="none", edgecolors=style.grey, zorder=3)
        axes.scatter(*points[given == 1].T, s=46, color=yes, zorder=3)
        axes.scatter(*points[given == 0].T, s=46, color=no, marker="s", zorder=3)
    spread.scatter(*points[soft > 0.5].T, s=46, color=yes, zorder=3)
    spread.scatter(*points[soft <= 0.5].T, s=46, color=no, marker="s", zorder=3)
    for axes in (rows, graph, spread):  # the wrong annotation
        axes.scatter(*points[3], s=190, facecolors="none", edgecolors=style.text, linewidths=1.5, zorder=4)

    direction = points[group == 1].mean(axis=0) - points[group == 0].mean(axis=0)
    place = points @ direction / np.linalg.norm(direction)
    projection.hlines(0.62, place.min() - 0.3, place.max() + 0.3, color=style.grey, linewidth=1)
    projection.scatter(place[soft > 0.5], np.full((soft > 0.5).sum(), 0.62), s=40, color=yes, zorder=3)
    projection.scatter(place[soft <= 0.5], np.full((soft <= 0.5).sum(), 0.62), s=40, color=no, marker="s", zorder=3)
    projection.text(place.mean(), 0.82, "few columns (transform)", ha="center", fontsize=9)
    projection.text(place.mean(), 0.3, "a score for each label\n(predict, flip_scores_)", ha="center", fontsize=9)
    projection.set(ylim=(0.1, 1), xlim=(place.min() - 0.6, place.max() + 0.6))

    lines = [("row 4", "flu: 1", "0.97", "wrong"), ("row 9", "flu: 0", "0.81", "wrong"),
             ("row 1", "flu: 1", "0.40", "right")]  # fmt: skip
    for j, head in enumerate(("", "given", "score", "verdict")):
        checked.text(0.14 + 0.25 * j, 0.86, head, ha="center", fontsize=9, color=style.grey)
    for i, line in enumerate(lines):
        for j, text in enumerate(line):
            checked.text(0.14 + 0.25 * j, 0.68 - 0.18 * i, text, ha="center", va="center", fontsize=9,
                         color=style.colors[1] if text == "wrong" else style.text)  # fmt: skip
    checked.text(0.5, 0.1, "your verdicts go back\ninto the table", ha="center", fontsize=9)
    checked.set(xlim=(0, 1), ylim=(0, 1))
    return figure


def front(style: Style) -> Any:
    """New rows in the embedding; wrong annotations found against annotations checked."""
    _, truth, noisy, y, X_new, new_truth = toy()
    embedding = model_of_toy().transform(X_new)
    n_given, listed = int((y >= 0).sum()), 300
    in_turn = rank_suspects(model_of_toy(), y)
    wrong = (noisy != truth)[in_turn.row, in_turn.label]

    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.8), layout="constrained")
    only_one = new_truth.sum(axis=1) == 1
    for label in range(4):
        rows = only_one & (new_truth[:, label] == 1)
        left.scatter(*embedding[rows, :2].T, s=12, color=style.colors[label], marker=MARKERS[label], alpha=0.7,
                     linewidths=0, label=f"label {label + 1}")  # fmt: skip
    left.set(title="New rows in the learned embedding", xlabel="first column", ylabel="second column")
    left.set(xticks=[], yticks=[])
    left.legend(markerscale=2)
    checked = np.arange(1, listed + 1)
    right.plot(checked, np.cumsum(wrong)[:listed], color=style.colors[0], label="the two lists, in turn")
    right.plot(checked, wrong.mean() * checked, color=style.grey, linestyle="--", label="in random order")
    right.set(title=f"Finding the {wrong.sum()} wrong annotations\namong {n_given}")
    right.set(xlabel="annotations checked by a person", ylabel="wrong annotations found")
    right.set(xlim=(0, listed), ylim=(0, None))
    right.legend()
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


def quick_start(style: Style) -> Any:
    """New rows in the embedding."""
    *_, X_new, truth = toy()
    embedding = model_of_toy().transform(X_new)
    figure, axes = plt.subplots(figsize=(WIDTH, 4), layout="constrained")
    only_one = truth.sum(axis=1) == 1
    for label in range(truth.shape[1]):
        rows = only_one & (truth[:, label] == 1)
        axes.scatter(*embedding[rows, :2].T, s=22, color=style.colors[label], marker=MARKERS[label], alpha=0.8,
                     linewidths=0, label=f"label {label}")  # fmt: skip
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
    for axes, y, title in zip(panels, (flipped, forgotten), ("10 % of all entries flipped", "30 % of the 1s forgotten"),
                              strict=True):  # fmt: skip
        model = ResidualPropagation().fit(X, y)
        for number, kind in enumerate(("all", "forgotten", "wrong")):
            found = rank_suspects(model, y, kind=kind).first(first[-1])
            wrong = np.cumsum((y != drawn.target)[found.row, found.label])[first - 1] / first
            axes.plot(first, 100 * wrong, color=style.colors[number], linestyle=("-", "--", ":")[number],
                      label=f'kind="{kind}"')  # fmt: skip
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
        right, total = (predicted & (truth == 1)).sum(axis=0), predicted.sum(axis=0) + truth.sum(axis=0)
        return 2 * right.sum() / total.sum(), float(np.mean(2 * right / np.maximum(total, 1)))

    curves = np.array([f1(cut) for cut in grid])
    figure, axes = plt.subplots(figsize=(WIDTH, 3.6), layout="constrained")
    for number, name in enumerate(("micro F1", "macro F1")):
        axes.plot(grid, curves[:, number], color=style.colors[number], linestyle=("-", "--")[number], label=name)
    chosen = float(np.mean(model.thresholds_))
    for cut, text_, color in ((chosen, 'chosen by "f1"', style.text), (0.5, "1/2", style.grey)):
        axes.axvline(cut, color=color, linewidth=1.2)
        axes.text(cut + 0.012, 0.97, text_, color=color, va="top", fontsize=10)
    axes.set(xlabel="threshold for all labels", ylabel="F1 on new rows", ylim=(0, 1), xlim=(0, 1))
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
                axes.text(row + 0.5, 2 - number + 0.5, "1" if known[row] else "?", ha="center", va="center", fontsize=9)
        axes.set(xlim=(0, 12), ylim=(0, 3), title=title, yticks=[0.5, 1.5, 2.5], xticks=[])
        axes.set_yticklabels(["fold 3", "fold 2", "fold 1"])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    panels[-1].set_xlabel("rows: 1 labelled, ? unlabelled; orange: tested, grey: in the training set")
    return figure


def unlabelled(style: Style) -> Any:
    """What alpha does with one wrong label among right ones."""
    line = np.arange(11, dtype=float)[:, None]
    y = np.ones((11, 1))
    y[5], y[[2, 8]] = 0, -1
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    for number, alpha in enumerate((0.0, 0.3, 0.6, 0.9)):
        soft = MultiLabelPropagation(n_neighbors=2, alpha_labeled=alpha).fit(line, y).label_distributions_[:, 0]
        axes.plot(line[:, 0], soft, color=style.colors[number], marker=MARKERS[number], label=f"alpha_labeled={alpha}")
    axes.axhline(0.5, color=style.grey, linewidth=1, linestyle=":")
    names = ["1"] * 11
    names[5], names[2], names[8] = "0", "?", "?"
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
    axes.annotate("the same text, norm 1", 2.2 * counts[0] / np.linalg.norm(counts[0]), (2.9, 0.12),
                  arrowprops={"arrowstyle": "-", "color": style.grey})  # fmt: skip
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


def own_data(style: Style) -> Any:
    """What becomes of the columns of a table."""
    columns = [("age", "number", "1 column"), ("admitted", "date", "year, month"), ("ward", "category", "1 per level"),
               ("smoker", "yes/no", "1 column"), ("patient", "identifier", "copied, not used"),
               ("diagnoses", "labels", "1 per diagnosis")]  # fmt: skip
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
    steps = [("nearest,\nindex_query", "rows"), ("neighbor_graph", "lists of neighbours"),
             ("transition_matrix,\npropagate", "graph W"), ("", "T and soft labels F")]  # fmt: skip
    figure, axes = plt.subplots(figsize=(WIDTH, 3), layout="constrained")
    axes.set(xlim=(0, 6.2), ylim=(0, 3))
    axes.axis("off")
    for number, (function, data) in enumerate(steps):
        y = 2.7 - 0.8 * number
        axes.text(1.1, y, data, ha="center", va="center")
        if function:
            arrow(axes, style, (1.1, y - 0.16), (1.1, y - 0.64))
            box(axes, style, 3.6, y - 0.4, function, width=2.2, height=0.5, color=style.colors[0])
            axes.plot([1.15, 2.45], [y - 0.4, y - 0.4], color=style.faint, linewidth=1)
    return figure


def reproducibility(style: Style) -> Any:
    """Rows at equal distance: those with the lower numbers come first."""
    from nmlsdr.graph import kneighbors

    rows = np.array([(-3, -4), (0, 5), (4, -3), (5, 0), (-3, 4), (0, -5), (4, 3), (-5, 0)]) / 5
    found = kneighbors(5 * rows, 3, queries=np.zeros((1, 2)))[1][0]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    axes.add_patch(plt.Circle((0, 0), 1, fill=False, color=style.faint))
    axes.scatter(0, 0, s=90, color=style.text, marker="*")
    for number, (x, y) in enumerate(rows):
        chosen = number in found
        axes.scatter(x, y, s=330, facecolors=style.colors[0] if chosen else "none", edgecolors=style.grey, zorder=3)
        axes.text(x, y, str(number), ha="center", va="center", color="white" if chosen else style.text, zorder=4)
    axes.text(1.7, 0, "n_neighbors=3:\nrows 0, 1 and 2,\non every machine", va="center")
    axes.set(xlim=(-1.4, 3.6), ylim=(-1.35, 1.35), aspect="equal")
    axes.axis("off")
    return figure


# ---------------------------------------------------------------- tables as pictures


def _rivals(name: str, names: dict[str, str], style: Style, height: float, label: str) -> Any:
    rows = study(name)
    shown = {text: numbers(rows, column) for column, text in names.items() if column in rows[0]}
    figure, axes = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    dots(axes, style, [row[next(iter(row))] for row in rows], shown, best=next(iter(shown)))
    axes.set_xlabel(label)
    legend_above(figure, axes, 2)
    return figure


RANKED = {"Residual": "ResidualPropagation", "RandomForest": "random forest", "Average": "average of three",
          "Logistic-CV": "logistic regression", "NMLSDR": "the article's pipeline"}  # fmt: skip
DECIDED = {"Residual": "ResidualPropagation", "RandomForest-f1": "random forest", "Average-f1": "average of three",
           "Logistic-CV-f1": "logistic regression", "NMLSDR": "the article's pipeline"}  # fmt: skip


def choosing_rankings(style: Style) -> Any:
    return _rivals("beyond-rankings", RANKED, style, 4.6, "mean of the four ranking measures, %")


def choosing_all(style: Style) -> Any:
    return _rivals("beyond-end-to-end", DECIDED, style, 4.6, "mean of all seven measures, %")


def choosing_regimes(style: Style) -> Any:
    names = {"Residual": "ResidualPropagation", "ExtraTrees-f1": "extremely randomised trees",
             "Average-f1": "average of three", "Logistic-CV-f1": "logistic regression",
             "NMLSDR": "the article's pipeline"}  # fmt: skip
    return _rivals("beyond-regimes", names, style, 4.4, "mean of all seven measures, %")


def choosing_simulated(style: Style) -> Any:
    """The simulated tables, with flips above and with forgotten labels below."""
    columns = {"seven_Residual": "ResidualPropagation", "seven_RandomForest": "random forest",
               "seven_Average": "average of three", "seven_Logistic-CV": "logistic regression",
               "seven_NMLSDR": "the article's pipeline"}  # fmt: skip
    every = result("rivals")
    noises = list(dict.fromkeys(row["noise"] for row in every))
    figure, places = plt.subplots(len(noises), 1, figsize=(WIDTH, 7), layout="constrained", sharex=True)
    for axes, noise in zip(places, noises, strict=True):
        rows = [row for row in every if row["noise"] == noise]
        shown = {text: [row[column] for row in rows] for column, text in columns.items()}
        dots(axes, style, [row["table"] for row in rows], shown, best="ResidualPropagation")
        axes.set_title(noise)
    axes.set_xlabel("mean of all seven measures, %")
    legend_above(figure, axes, 2)
    return figure


def comparison(style: Style) -> Any:
    """Lists of nmlsdr and of cleanlab."""
    rows = result("review_cleanlab")
    kinds = [("a fifth of the positives forgotten", "missing", "A fifth of the 1s forgotten: list of given 0s"),
             ("10 % of all entries flipped", "spurious", "10 % of all entries flipped: list of given 1s")]  # fmt: skip
    figure, panels = plt.subplots(2, 1, figsize=(WIDTH, 6), sharex=True, layout="constrained")
    for axes, (noise, kind, title) in zip(panels, kinds, strict=True):
        mine = [row for row in rows if row["noise"] == noise]
        shown = {"flip_scores_ (nmlsdr)": f"ours_{kind}", "cleanlab, logistic regression": f"logistic_{kind}",
                 "cleanlab, ResidualPropagation": f"residual_{kind}"}  # fmt: skip
        series = {name: [row[key] if row[key] is not None else np.nan for row in mine] for name, key in shown.items()}
        dots(axes, style, [row["set"] for row in mine], series, best="flip_scores_ (nmlsdr)")
        axes.set_title(title, loc="left")
    panels[-1].set(xlabel="wrong annotations among the first 100, %", xlim=(0, 103))
    legend_above(figure, panels[0], 2)
    return figure


def _gains(name: str, style: Style, title: str) -> Any:
    rows = [row for row in study(name) if row["gain, P1"] != "-"]
    groups = {"P1: true labels": "P1", "end to end": "end to end", "labelled rows alone": "labelled rows alone"}
    columns = {text_: f"gain, {group}" for text_, group in groups.items()}
    figure, axes = plt.subplots(figsize=(WIDTH, 1.4 + 0.34 * len(rows)), layout="constrained")
    places = np.arange(len(rows))[::-1]
    for number, (text_, column) in enumerate(columns.items()):
        gain, error = zip(*(map(float, row[column].split(" ± ")) for row in rows), strict=True)
        axes.errorbar(gain, places + 0.22 * (1 - number), xerr=error, fmt=MARKERS[number], color=style.colors[number],
                      markersize=6, linewidth=1, label=text_)  # fmt: skip
    axes.axvline(0, color=style.grey, linewidth=1)
    axes.set_yticks(places, [row["Method"] for row in rows])
    axes.grid(axis="x", linewidth=0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(title)
    legend_above(figure, axes, 3)
    return figure


def open_kernel(style: Style) -> Any:
    return _gains("open-kernel", style, "gain over NMLSDR, points")


def open_labels(style: Style) -> Any:
    return _gains("open-labels", style, "gain over NMLSDR, points")


def open_classifier(style: Style) -> Any:
    return _gains("open-classifier", style, "gain over NMLSDR with ML-kNN, points")


def open_graph(style: Style) -> Any:
    return _gains("open-graph", style, "gain over NMLSDR, points")


# ---------------------------------------------------------------- how fast it is


def speed_search(style: Style) -> Any:
    """Seconds of exact and approximate searches against the number of rows."""
    rows = result("panel")
    names = {"nmlsdr": "-", "faiss IndexFlatL2": "-", "scikit-learn brute": "-", "pynndescent": "--", "hnswlib": "--"}
    figure, axes = plt.subplots(figsize=(WIDTH, 4.4), layout="constrained")
    for number, (name, line) in enumerate(names.items()):
        mine = [row for row in rows if row["who"] == name]
        shown = name if line == "-" else f"{name} ({mine[-1]['recall']:.0f} % found)"
        axes.plot([row["n"] for row in mine], [row["seconds"] for row in mine], linestyle=line, label=shown,
                  color=style.colors[number], marker=MARKERS[number], markersize=5)  # fmt: skip
    axes.set(xscale="log", yscale="log", ylabel="seconds, two threads")
    axes.set_xlabel("rows (100 features, ten neighbours of each)")
    axes.grid(linewidth=0.6)
    legend_above(figure, axes, 2)
    return figure


def speed_peers(style: Style) -> Any:
    """How many times as long other libraries take."""
    rows = sorted((row for row in result("peers") if row["peer"] != "plain NumPy"), key=lambda row: row["ratio"])
    figure, axes = plt.subplots(figsize=(WIDTH, 1.2 + 0.42 * len(rows)), layout="constrained")
    places = np.arange(len(rows))
    axes.barh(places, [row["ratio"] for row in rows], color=style.colors[0], height=0.55)
    for place, row in zip(places, rows, strict=True):
        axes.text(row["ratio"] * 1.05, place, f"{row['ratio']:.1f}", va="center", fontsize=10)
    axes.axvline(1, color=style.text, linewidth=1)
    axes.set_yticks(places, [f"{row['peer']}\n{row['work'].split(' float')[0]}" for row in rows], fontsize=8)
    axes.set(xscale="log", xlabel="the other library's time divided by that of nmlsdr", xlim=(0.8, 200))
    return figure


def speed_fit(style: Style) -> Any:
    """CPU seconds of a fit."""
    rows = result("residual-cost")
    names = {"default": "ResidualPropagation", "nmlsdr": "NMLSDR", "logistic": "logistic regression, tuned",
             "forest": "300 extremely randomised trees", "random_forest": "RandomForestClassifier(100)"}  # fmt: skip
    figure, axes = plt.subplots(figsize=(WIDTH, 5.4), layout="constrained")
    shown = [f"{row['n']} rows, {row['l']} labelled,\n{row['D']} features, {row['C']} labels" for row in rows]
    series = {text_: [row[key] for row in rows] for key, text_ in names.items()}
    dots(axes, style, shown, series, best="ResidualPropagation")
    axes.set(xscale="log", xlabel="CPU seconds of a fit")
    legend_above(figure, axes, 2)
    return figure


def speed_cases(style: Style) -> Any:
    """Every case of the benchmark of the exact search, by group."""
    rows = [row for row in result("neighbours") if row.get("ratio")]
    groups = list(dict.fromkeys(row["group"] for row in rows))[::-1]
    figure, axes = plt.subplots(figsize=(WIDTH, 1.2 + 0.4 * len(groups)), layout="constrained")
    for place, group in enumerate(groups):
        ratios = sorted(row["ratio"] for row in rows if row["group"] == group)
        spread = place + 0.24 * np.sin(np.arange(len(ratios)) * 2.4)
        slower = np.array(ratios) < 1
        for chosen, color in ((slower, style.colors[1]), (~slower, style.colors[0])):
            axes.scatter(np.array(ratios)[chosen], spread[chosen], s=14, color=color, alpha=0.8, linewidths=0)
    axes.axvline(1, color=style.text, linewidth=1)
    axes.set_yticks(range(len(groups)), groups)
    axes.set(xscale="log", xlabel="the other search's time divided by that of nmlsdr (left of 1: nmlsdr is slower)")
    return figure


PICTURES = [
    front, how_it_works, quick_start, review, thresholds, cross_validation, unlabelled, text, graphs, clusters,
    own_data, embedding_c, reproducibility, choosing_rankings, choosing_all, choosing_regimes,
    choosing_simulated, comparison, open_kernel,
    open_labels, open_classifier, open_graph, speed_search, speed_peers, speed_fit, speed_cases,
]  # fmt: skip


def main() -> None:
    wanted = sys.argv[1:]
    for picture in PICTURES:
        if not wanted or picture.__name__ in wanted:
            both(FOLDER, picture.__name__, picture)


if __name__ == "__main__":
    main()
