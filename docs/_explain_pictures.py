"""Pictures of the pages that explain: how ResidualPropagation, propagation, the search and the intervals work."""

from __future__ import annotations

from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from _drawing import MARKERS, WIDTH, Style, legend_above
from matplotlib.colors import LinearSegmentedColormap
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from nmlsdr import MDDM, MLDA, NMLSDR, SSMLDR, MultiLabelCCA, MultiLabelPropagation, ResidualPropagation
from nmlsdr.datasets import flip_labels, make_toy, mask_labels
from nmlsdr.graph import kneighbors, neighbor_graph, transition_matrix
from nmlsdr.model_selection import cross_val_proba

BACK = {"light": "#ffffff", "dark": "#14181e"}


def scale_of(style: Style, low: str, high: str) -> LinearSegmentedColormap:
    """A colour scale from `low` over the page's background to `high`."""
    return LinearSegmentedColormap.from_list("", [low, BACK[style.name], high])


# ---------------------------------------------------------------- ResidualPropagation, on two bent groups


@cache
def moons() -> tuple[Any, ...]:
    """Rows, given labels (three of them wrong), the trend and the corrected model; the second label is not drawn."""
    X, group = make_moons(260, noise=0.1, random_state=3)
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(6)
    y = np.full((260, 2), -1)
    labelled = rng.choice(260, 64, replace=False)
    y[labelled] = np.column_stack([group, X[:, 0] > 0])[labelled]
    wrong = rng.choice(labelled, 3, replace=False)
    y[wrong, 0] = 1 - y[wrong, 0]
    options = {"n_neighbors": 4, "n_estimators": 0}  # the ridge regression alone, so that the trend is easy to see
    trend = ResidualPropagation(residual_weight=0, **options).fit(X, y)
    return X, y, wrong, trend, ResidualPropagation(**options).fit(X, y)


def scores(model: ResidualPropagation, X: np.ndarray) -> np.ndarray:
    return (model.decision_function(X) + model.thresholds_)[:, 0]


def _plane(style: Style, model: ResidualPropagation | None = None) -> tuple[Any, Any]:
    """Axes with the unlabelled rows, and the scores of a model as the background."""
    X, y, *_ = moons()
    figure, axes = plt.subplots(figsize=(WIDTH, 3.5), layout="constrained")
    low = X.min(axis=0) - 0.25
    high = X.max(axis=0) + 0.25
    if model is not None:
        across, up = np.meshgrid(np.linspace(low[0], high[0], 130), np.linspace(low[1], high[1], 90))
        value = scores(model, np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
        axes.imshow(
            value,
            origin="lower",
            extent=(low[0], high[0], low[1], high[1]),
            vmin=-0.3,
            vmax=1.3,
            alpha=0.55,
            cmap=scale_of(style, style.colors[1], style.colors[0]),
            aspect="auto",
        )
        axes.contour(across, up, value, [0.5], colors=[style.text], linewidths=1)
    axes.set(xticks=[], yticks=[], xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    unknown = y[:, 0] < 0
    axes.scatter(*X[unknown].T, s=7, color=style.grey, label="unlabelled", zorder=2)
    return figure, axes


def _labelled(axes: Any, style: Style) -> None:
    X, y, wrong, *_ = moons()
    for value, name in ((1, "given 1"), (0, "given 0")):
        mine = y[:, 0] == value
        axes.scatter(*X[mine].T, s=38, color=style.colors[1 - value], marker=MARKERS[1 - value], label=name, zorder=3)
    axes.scatter(*X[wrong].T, s=190, facecolors="none", edgecolors=style.text, linewidths=1.6, label="wrong", zorder=4)


def residual_1(style: Style) -> Any:
    """The trend: it is a straight border through bent groups."""
    figure, axes = _plane(style, moons()[3])
    _labelled(axes, style)
    legend_above(figure, axes, 4)
    return figure


def residual_2(style: Style) -> Any:
    """The residuals of labelled rows."""
    X, y, wrong, trend, _ = moons()
    known = y[:, 0] >= 0
    predicted = cross_val_proba(trend, X, y, cv=5)[:, 0]
    residual = y[known, 0] - predicted[known]
    figure, axes = _plane(style)
    for sign, name in ((1, "more given than predicted"), (-1, "less given than predicted")):
        mine = sign * residual > 0
        axes.scatter(
            *X[known][mine].T,
            s=160 * np.abs(residual[mine]),
            label=name,
            zorder=3,
            color=style.colors[0 if sign > 0 else 1],
            marker=MARKERS[0 if sign > 0 else 1],
        )
    axes.scatter(*X[wrong].T, s=260, facecolors="none", edgecolors=style.text, linewidths=1.6, zorder=4)
    legend_above(figure, axes, 3)
    return figure


def residual_3(style: Style) -> Any:
    """Residuals after they were spread over the graph."""
    X, _, wrong, _, model = moons()
    spread = model.propagated_errors_.mean(axis=0)[:, 0]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.5), layout="constrained")
    W = neighbor_graph(X, 4).tocoo()
    for i, j in zip(W.row, W.col, strict=True):
        axes.plot(*X[[i, j]].T, color=style.faint, linewidth=0.7, zorder=1)
    for sign, name in ((1, "score is raised"), (-1, "score is lowered")):
        mine = sign * spread > 0
        axes.scatter(
            *X[mine].T,
            s=150 * np.abs(spread[mine]) + 3,
            label=name,
            zorder=3,
            color=style.colors[0 if sign > 0 else 1],
            marker=MARKERS[0 if sign > 0 else 1],
        )
    axes.scatter(*X[wrong].T, s=190, facecolors="none", edgecolors=style.text, linewidths=1.6, zorder=4)
    axes.set(xticks=[], yticks=[])
    legend_above(figure, axes, 3)
    return figure


def residual_4(style: Style) -> Any:
    """Corrected scores, and the annotations with the largest flip scores."""
    X, _, _, _, model = moons()
    figure, axes = _plane(style, model)
    _labelled(axes, style)
    for row in np.argsort(-model.flip_scores_[:, 0])[:3]:
        frame = {"boxstyle": "round,pad=0.15", "facecolor": BACK[style.name], "edgecolor": "none"}
        text = f"{model.flip_scores_[row, 0]:.2f}"
        axes.annotate(text, X[row], (9, 9), textcoords="offset points", zorder=5, bbox=frame)
    legend_above(figure, axes, 4)
    return figure


# ---------------------------------------------------------------- propagation and projections


def propagation(style: Style) -> Any:
    """Given labels, two steps of the rule, and the solution."""
    rng = np.random.default_rng(2)
    points = np.vstack([rng.normal((0, 0), 0.55, (16, 2)), rng.normal((2.6, 0.7), 0.55, (16, 2))])
    truth = np.arange(32) // 16
    y = np.full((32, 1), -1.0)
    known = [0, 3, 5, 9, 16, 20, 24, 28]
    y[known, 0] = truth[known]
    wrong = 5
    y[wrong] = 1
    W = neighbor_graph(points, 4)
    T = transition_matrix(W)
    labels = np.maximum(y, 0)
    alpha = np.where(y < 0, 0.999, 0.6)
    steps = labels
    for _ in range(2):
        steps = alpha * (T @ steps) + (1 - alpha) * labels
    solved = MultiLabelPropagation(n_neighbors=4).fit(points, y).label_distributions_
    figure, panels = plt.subplots(1, 3, figsize=(7.4, 2.9), layout="constrained")
    for axes, value, title in zip(
        panels, (np.where(y < 0, np.nan, y), steps, solved), ("given labels", "two steps", "solution"), strict=True
    ):
        edges = W.tocoo()
        for i, j in zip(edges.row, edges.col, strict=True):
            axes.plot(*points[[i, j]].T, color=style.faint, linewidth=0.9, zorder=1)
        unknown = np.isnan(value[:, 0])
        axes.scatter(*points[unknown].T, s=45, facecolors=BACK[style.name], edgecolors=style.grey, zorder=2)
        axes.scatter(
            *points[~unknown].T,
            s=55,
            c=value[~unknown, 0],
            vmin=0,
            vmax=1,
            edgecolors=style.grey,
            zorder=3,
            cmap=scale_of(style, style.colors[1], style.colors[0]),
        )
        axes.scatter(*points[wrong], s=210, facecolors="none", edgecolors=style.text, linewidths=1.6, zorder=4)
        axes.set(title=title, xticks=[], yticks=[])
    return figure


def projections(style: Style) -> Any:
    """The first two columns of six methods."""
    drawn = make_toy(n_samples=2000, random_state=0)
    scaler = StandardScaler().fit(drawn.data)
    y = mask_labels(flip_labels(drawn.target, 0.1, random_state=0), 0.5, random_state=0)
    X = scaler.transform(drawn.data)
    new = scaler.transform(drawn.test_data)
    truth = drawn.test_target
    methods = {
        "PCA (no labels)": PCA(2, random_state=0),
        "MDDM": MDDM(),
        "MultiLabelCCA": MultiLabelCCA(),
        "MLDA": MLDA(),
        "SSMLDR": SSMLDR(),
        "NMLSDR": NMLSDR(),
    }
    figure, panels = plt.subplots(2, 3, figsize=(7.4, 4.8), layout="constrained")
    for axes, (name, method) in zip(panels.flat, methods.items(), strict=True):
        method.fit(X) if isinstance(method, PCA) else method.fit(X, y)
        embedding = method.transform(new)
        for label in range(truth.shape[1]):
            rows = (truth.sum(axis=1) == 1) & (truth[:, label] == 1)
            axes.scatter(
                *embedding[rows, :2].T, s=9, color=style.colors[label], marker=MARKERS[label], alpha=0.8, linewidths=0
            )
        axes.set(title=name, xticks=[], yticks=[])
    return figure


# ---------------------------------------------------------------- the search for neighbours


def neighbours_bound(style: Style) -> Any:
    """Approximate distances with their bounds, and which candidates remain."""
    rng = np.random.default_rng(1)
    exact = np.sort(rng.uniform(0.8, 3, 40))
    estimates = exact + rng.uniform(-0.16, 0.16, 40)
    order = np.argsort(estimates)
    exact = exact[order]
    estimates = estimates[order]
    line = np.sort(estimates + 0.2)[2]
    candidates = estimates - 0.2 <= line
    figure, axes = plt.subplots(figsize=(WIDTH, 3.4), layout="constrained")
    for mine, color, name in (
        (candidates, style.colors[0], "exact distance is computed"),
        (~candidates, style.grey, "excluded"),
    ):
        axes.errorbar(
            np.flatnonzero(mine),
            estimates[mine],
            yerr=0.2,
            fmt="o",
            markersize=4,
            color=color,
            linewidth=1.4,
            label=name,
        )
    axes.axhline(line, color=style.colors[1], linewidth=1.4, linestyle="--", label="third smallest upper end")
    axes.set(xlabel="candidates, by approximate distance", ylabel="distance", xticks=[], ylim=(0.4, None))
    legend_above(figure, axes, 2)
    return figure


def neighbours_blocks(style: Style) -> Any:
    """Half of the blocks of the matrix of distances."""
    figure, axes = plt.subplots(figsize=(WIDTH, 2.9), layout="constrained")
    for i in range(6):
        for j in range(6):
            color = style.colors[0] if j >= i else style.faint
            axes.add_patch(plt.Rectangle((j + 0.05, 5 - i + 0.05), 0.9, 0.9, color=color, alpha=0.75, linewidth=0))
    axes.text(4.5, 4.5, "b", ha="center", va="center", color="white", fontsize=13)
    for x, y, text, at in (
        (6.6, 4.5, "block b: rows of block 2\nwith rows of block 5", (5.0, 4.5)),
        (6.6, 1.5, "not computed: the same\ndistances as above", (2.5, 1.5)),
    ):
        axes.annotate(text, at, (x, y), va="center", arrowprops={"arrowstyle": "-", "color": style.grey})
    for k in range(6):
        axes.text(-0.3, 5.5 - k, str(k + 1), ha="center", va="center", color=style.grey)
        axes.text(k + 0.5, 6.3, str(k + 1), ha="center", va="center", color=style.grey)
    axes.set(xlim=(-0.7, 11), ylim=(-0.1, 6.7), aspect="equal")
    axes.axis("off")
    return figure


def reproducibility(style: Style) -> Any:
    """Rows at equal distance: those with the lower numbers come first."""
    rows = np.array([(-3, -4), (0, 5), (4, -3), (5, 0), (-3, 4), (0, -5), (4, 3), (-5, 0)]) / 5
    neighbours = kneighbors(5 * rows, 3, queries=np.zeros((1, 2)))[1][0]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    axes.add_patch(plt.Circle((0, 0), 1, fill=False, color=style.faint))
    axes.scatter(0, 0, s=90, color=style.text, marker="X")
    for number, (x, y) in enumerate(rows):
        chosen = number in neighbours
        axes.scatter(x, y, s=330, facecolors=style.colors[0] if chosen else "none", edgecolors=style.grey, zorder=3)
        color = style.text if not chosen else "white" if style.name == "light" else "#222832"
        axes.text(x, y, str(number), ha="center", va="center", color=color, zorder=4)
    axes.set(xlim=(-2.6, 2.6), ylim=(-1.35, 1.35), aspect="equal")
    axes.axis("off")
    return figure


# ---------------------------------------------------------------- how many are wrong


def mistakes(style: Style) -> Any:
    """Given 0s among the entries that look most like a 1, and given 1s among those that look most like a 0."""
    drawn = make_toy(n_samples=3000, random_state=0)
    X = StandardScaler().fit_transform(drawn.data)
    truth = drawn.target[:, 0]
    rng = np.random.default_rng(0)
    y = np.where(truth == 1, rng.random(truth.shape) >= 0.25, rng.random(truth.shape) < 0.08).astype(int)
    predicted = cross_val_proba(ResidualPropagation(), X, y[:, None], cv=5)[:, 0]
    figure, panels = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained", sharey=True)
    for axes, value, title in zip(panels, (1, 0), ("most like a 1: given 0s", "most like a 0: given 1s"), strict=True):
        order = np.argsort(-predicted if value else predicted, kind="stable")  # many are 0
        first = np.arange(100, 1201, 20)
        opposite = [100 * (y[order[:n]] != value).mean() for n in first]
        wrong = [100 * ((y[order[:n]] != value) & (truth[order[:n]] == value)).mean() for n in first]
        color = style.colors[1 - value]
        axes.plot(first, opposite, color=color, label="given otherwise")
        axes.plot(first, wrong, color=color, linestyle="--", label="of them truly wrong")
        rate = 100 * (y[truth == value] != value).mean()
        axes.axhline(rate, color=style.grey, linewidth=1.2)
        axes.text(first[-1], rate + (0.8 if value else 4), "true rate", ha="right", fontsize=9, color=style.grey)
        axes.set(title=title, xlabel="first entries", ylim=(0, 62))
        axes.legend(loc="upper left", fontsize=9)
    panels[0].set_ylabel("share, %")
    return figure


PICTURES = [
    residual_1,
    residual_2,
    residual_3,
    residual_4,
    propagation,
    projections,
    neighbours_bound,
    neighbours_blocks,
    reproducibility,
    mistakes,
]
