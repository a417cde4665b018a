"""Pictures of the pages with evidence, from the tables that studies and benchmarks wrote."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from _drawing import MARKERS, WIDTH, Style, dots, legend_above
from matplotlib.ticker import LogLocator, NullFormatter

from nmlsdr.metrics import MEASURES

HERE = Path(__file__).resolve().parent
STUDIES = HERE / "reports"
RESULTS = HERE.parent / "bench" / "results"


def study(name: str) -> list[dict[str, str]]:
    (path,) = STUDIES.rglob(f"{name}.csv")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def result(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return rows


def numbers(rows: list[dict[str, str]], column: str) -> list[float]:
    return [float(row[column]) if row[column] not in ("-", "–", "") else np.nan for row in rows]


RIVALS = {
    "ExtraTrees-f1": "extremely randomised\ntrees",
    "RandomForest-f1": "random forest",
    "CatBoost-f1": "CatBoost",
    "CatBoost-one-f1": "CatBoost, one leaf step",
    "LightGBM-f1": "LightGBM",
    "Logistic-CV-f1": "logistic regression",
    "Average-f1": "average of three",
    "NMLSDR": "the article's pipeline",
}
SOURCES = "the article's data sets", "simulated tables"


def forests_regimes(style: Style) -> Any:
    names = {
        "Residual": "ResidualPropagation",
        "ExtraTrees-f1": "extremely randomised trees",
        "RandomForest-f1": "random forest",
        "Average-f1": "average of three",
        "Logistic-CV-f1": "logistic regression",
        "NMLSDR": "the article's pipeline",
    }
    rows = study("beyond-regimes")
    figure, axes = plt.subplots(figsize=(WIDTH, 4.4), layout="constrained")
    shown = {text: numbers(rows, column) for column, text in names.items()}
    dots(axes, style, [row["Regime"] for row in rows], shown, best=names["Residual"])
    axes.set_xlabel("mean of all seven measures, %")
    legend_above(figure, axes, 2)
    return figure


def _compared(rows: list[dict[str, str]], rival: str) -> list[float]:
    """The gains of ResidualPropagation over a rival, data set by data set."""
    mine = [row for row in rows if row[next(iter(row))] != "mean" and row.get(rival, "-") != "-"]
    return [float(row["Residual"]) - float(row[rival]) for row in mine]


def forests(style: Style) -> Any:
    """Gains over each rival: every table, and the mean with its standard error."""
    real = study("beyond-end-to-end")
    flips = [row for row in result("rivals") if row["noise"] == "10 % flips"]
    drawn, six = ([row for row in flips if row["tables"] == part] for part in ("simulated", "article"))
    measured = {*real[0], *(key.replace("seven_", "") + "-f1" for key in drawn[0])}
    rivals = {name: label for name, label in RIVALS.items() if name in measured}
    figure, axes = plt.subplots(figsize=(WIDTH, 1.5 + 0.62 * len(rivals)), layout="constrained")
    for place, name in enumerate(list(rivals)[::-1]):
        plain = name.removesuffix("-f1")
        simulated, article = (
            [row["seven_Residual"] - row[f"seven_{plain}"] for row in rows if f"seven_{plain}" in row]
            for rows in (drawn, six)
        )
        for number, gains in enumerate((_compared(real, name) or article, simulated)):
            if not gains:
                continue
            height = place + 0.17 - 0.34 * number
            color = style.colors[number]
            axes.scatter(gains, np.full(len(gains), height), s=14, color=color, alpha=0.6, linewidths=0)
            axes.errorbar(
                np.mean(gains),
                height,
                xerr=np.std(gains, ddof=1) / np.sqrt(len(gains)),
                fmt=MARKERS[number],
                color=color,
                markersize=8,
                linewidth=2.4,
                capsize=3,
                label=SOURCES[number] if place == len(rivals) - 1 else None,
            )
    axes.axvline(0, color=style.grey, linewidth=1)
    axes.set_yticks(range(len(rivals)), list(rivals.values())[::-1])
    axes.set_xscale("symlog", linthresh=3)
    axes.set_xticks([-2, -1, 0, 1, 2, 5, 10, 20, 40], ["-2", "-1", "0", "1", "2", "5", "10", "20", "40"])
    axes.grid(axis="x", linewidth=0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("gain of ResidualPropagation, points of the seven measures")
    legend_above(figure, axes, 2)
    return figure


def forests_gain(style: Style) -> Any:
    """What each method gains over a random forest on the simulated tables, for three kinds of labels."""
    every = [row for row in result("rivals_gains") if row["tables"] == "simulated"]
    names = {"Residual": "ResidualPropagation"} | {
        name.removesuffix("-f1"): label for name, label in RIVALS.items() if name not in ("RandomForest-f1", "NMLSDR")
    }
    kinds = list(dict.fromkeys(row["noise"] for row in every))
    figure, axes = plt.subplots(figsize=(WIDTH, 1.5 + 0.66 * len(names)), layout="constrained")
    for number, kind in enumerate(kinds):
        methods = {row["method"]: row for row in every if row["noise"] == kind}
        mine = [methods[name] for name in names if name in methods]
        heights = np.arange(len(mine))[::-1] + 0.22 * (len(kinds) / 2 - 0.5 - number)
        shown = f"{kind} ({mine[0]['won'].split()[-1]} tables)"
        axes.errorbar(
            [row["gain"] for row in mine],
            heights,
            xerr=[row["error"] for row in mine],
            fmt=MARKERS[number],
            color=style.colors[number],
            markersize=7,
            linewidth=2,
            capsize=3,
            label=shown,
        )
    times = {row["method"]: row["cost"] for row in every if row["noise"] == kinds[0]}
    shown = [f"{label}\n{times[name]:.1f} x the time" if name != "Residual" else label for name, label in names.items()]
    axes.axvline(0, color=style.grey, linewidth=1)
    axes.set_yticks(range(len(names)), shown[::-1])
    axes.grid(axis="x", linewidth=0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("gain over a random forest, points of the seven measures")
    legend_above(figure, axes, 1)
    return figure


def article_scores(style: Style) -> Any:
    """Two measures of the article's ten methods."""
    means = {}
    for measure, name in (("AP", "average precision"), ("MaF1", "macro F1")):
        rows = study(f"benchmarks-{measure}")
        rows = rows[: [row["Data set"] for row in rows].index("# best")]
        means[name] = {method: np.mean([float(row[method]) for row in rows]) for method in list(rows[0])[1:]}
    methods = sorted(means["average precision"], key=lambda method: -means["average precision"][method])
    figure, axes = plt.subplots(figsize=(WIDTH, 4), layout="constrained")
    dots(axes, style, methods, {name: [100 * values[method] for method in methods] for name, values in means.items()})
    axes.set_xlabel("mean over the article's ten data sets, %")
    legend_above(figure, axes, 2)
    return figure


def article_agreement(style: Style) -> Any:
    """How many numbers of the reproduction are near the article's."""
    rows = [row for row in study("benchmarks-agreement") if row["Measure"].endswith(("'", "P", "1"))]
    limits = ("within 0.01", "within 0.02", "within 0.05")
    series = {limit: [float(row[limit].partition("(")[2].partition(" %")[0]) for row in rows] for limit in limits}
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    names = [MEASURES[row["Measure"]].function.__name__.replace("_f1", " F1").replace("_", " ") for row in rows]
    dots(axes, style, names, series)
    axes.set(xlabel="numbers that are as near as this to the article's, %", xlim=(None, 102))
    legend_above(figure, axes, 3)
    return figure


def cleanlab(style: Style) -> Any:
    """Lists of nmlsdr and of cleanlab."""
    rows = result("review_cleanlab")
    kinds = [
        ("a fifth of the positives forgotten", "missing", "A fifth of the 1s forgotten: list of given 0s"),
        ("10 % of all entries flipped", "spurious", "10 % of all entries flipped: list of given 1s"),
    ]
    figure, panels = plt.subplots(2, 1, figsize=(WIDTH, 6), sharex=True, layout="constrained")
    for axes, (noise, kind, title) in zip(panels, kinds, strict=True):
        mine = [row for row in rows if row["noise"] == noise]
        shown = {
            "flip_scores_ (nmlsdr)": f"ours_{kind}",
            "cleanlab, logistic regression": f"logistic_{kind}",
            "cleanlab, ResidualPropagation": f"residual_{kind}",
        }
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
        axes.errorbar(
            gain,
            places + 0.22 * (1 - number),
            xerr=error,
            fmt=MARKERS[number],
            color=style.colors[number],
            markersize=6,
            linewidth=1,
            label=text_,
        )
    axes.axvline(0, color=style.grey, linewidth=1)
    axes.set_yticks(places, [row["Method"].partition("-")[2] for row in rows])
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
        axes.plot(
            [row["n"] for row in mine],
            [row["seconds"] for row in mine],
            linestyle=line,
            label=shown,
            color=style.colors[number],
            marker=MARKERS[number],
            markersize=5,
        )
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
    axes.set_yticks(places, [f"{row['peer']}\n{row['work'].split(' float')[0]}" for row in rows], fontsize=9)
    axes.set(xscale="log", xlabel="the other library's time divided by that of nmlsdr", xlim=(0.8, 200))
    return figure


def speed_fit(style: Style) -> Any:
    """CPU seconds of a fit."""
    rows = result("residual-cost")
    names = {
        "default": "ResidualPropagation",
        "nmlsdr": "NMLSDR",
        "logistic": "logistic regression, tuned",
        "forest": "300 extremely randomised trees",
        "random_forest": "RandomForestClassifier(100)",
    }
    figure, axes = plt.subplots(figsize=(WIDTH, 5.4), layout="constrained")
    shown = [f"{row['n']} rows, {row['l']} labelled,\n{row['D']} features, {row['C']} labels" for row in rows]
    series = {text_: [row[key] for row in rows] for key, text_ in names.items()}
    dots(axes, style, shown, series, best="ResidualPropagation")
    axes.set(xscale="log", xlabel="CPU seconds of a fit")
    legend_above(figure, axes, 2)
    return figure


def speed_growth(style: Style) -> Any:
    """CPU seconds of a fit against the number of rows, labels and features."""
    points = json.loads((RESULTS / "growth.json").read_text(encoding="utf-8"))["values"]["points"]
    titles = {
        "rows": "rows (50 features, 10 labels)",
        "labels": "labels (5000 rows, 100 features)",
        "features": "features (2000 rows, 10 labels)",
        "text": "texts (50 000 words, 20 labels)",
    }
    figure, panels = plt.subplots(2, 2, figsize=(WIDTH, 6.4), layout="constrained")
    for axes, (axis, title) in zip(panels.flat, titles.items(), strict=True):
        for number, method in enumerate(("nmlsdr", "random forest", "LightGBM")):
            curve = sorted(
                (each["value"], each["steps"]["fit"]["cpu"])
                for each in points
                if (each["axis"], each["method"]) == (axis, method)
            )
            axes.plot(
                *zip(*curve, strict=True),
                label=method,
                color=style.colors[number],
                marker=MARKERS[number],
                markersize=5,
            )
        axes.set(xscale="log", yscale="log", xlabel=title)
        axes.yaxis.set(major_locator=LogLocator(subs=(1, 3)), major_formatter="{x:g}", minor_formatter=NullFormatter())
        axes.grid(linewidth=0.6)
    for axes in panels[:, 0]:
        axes.set_ylabel("CPU seconds of a fit")
    legend_above(figure, panels[0, 0], 3)
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


def front(style: Style) -> Any:
    """Mistakes that people made: "Short" against a rule, in the order of two lists."""
    curves = study("films-curves")
    (rule,) = (row for row in study("films-short") if row["Rule for Short"] == "less than 45 minutes")
    figure, axes = plt.subplots(figsize=(WIDTH, 3.2), layout="constrained")
    checked = numbers(curves, "checked")
    wrong = float(rule["contradict it"])
    for number, (place, text) in enumerate({"its list": "the list of Short", "one list": "one list for all"}.items()):
        counts = numbers(curves, f"{rule['Rule for Short']}, {place}")
        axes.plot(checked, counts, color=style.colors[number], linestyle=("-", "--")[number], label=text)
    axes.axhline(wrong, color=style.grey, linewidth=1)
    axes.text(400, wrong + 1, "all of them", ha="right", va="bottom", color=style.grey)
    axes.set(xlabel="annotations checked, from the top of the list", ylabel='"Short" against the rule', ylim=(0, 100))
    axes.legend(loc="center right")
    return figure


def films(style: Style) -> Any:
    """Mistakes that people made: the first annotations of each genre's list, as judged."""
    figure, below = plt.subplots(figsize=(WIDTH, 3.4), layout="constrained")
    judged = {row["Genre"]: row for row in study("films-genres")}
    genres = sorted({name.partition(",")[0] for name in judged} - {"all six"})
    drawn = {"first 30": "first 30 of the list", "random 30": "30 random ones"}
    for number, (kind, text) in enumerate(drawn.items()):
        places = np.arange(len(genres))[::-1] + 0.2 - 0.4 * number
        wrong, open_ = (
            [
                np.mean(
                    [
                        float(value)
                        for column, value in judged[f"{genre}, {kind}"].items()
                        if column in (f"{answer} 1", f"{answer} 2")
                    ]
                )
                for genre in genres
            ]
            for answer in ("wrong", "cannot tell")
        )
        below.barh(places, wrong, 0.38, color=style.colors[number], label=f"wrong: {text}")
        below.barh(places, open_, 0.38, left=wrong, color=style.faint, label=("", "cannot tell")[number])
    below.set_yticks(np.arange(len(genres))[::-1], genres)
    below.set(xlabel="annotations, of 30", xlim=(0, 30))
    below.legend(loc="lower left", bbox_to_anchor=(-0.22, 1), ncols=3, fontsize=9, columnspacing=1, handlelength=1.2)
    return figure


STRATEGIES = {"random": "random rows", "rows": "rows by turns", "entries": "entries by turns"}
FIRST_ANSWERS = 100  # labelled rows at the start
ROUND_ANSWERS = 25  # rows of a round, or as many answers


def what_next(style: Style) -> Any:
    """Macro average precision of new rows against the answers that were spent, for each data set."""
    rows = [row for row in result("next") if row["set"] != "mean"]
    lines = (len(rows) + 1) // 2
    figure, panels = plt.subplots(lines, 2, figsize=(WIDTH, 0.8 + 1.75 * lines), layout="constrained", squeeze=False)
    for axes, row in zip(panels.flat, rows, strict=False):
        for k, (strategy, name) in enumerate(STRATEGIES.items()):
            curve = row["curves"][strategy]
            places = [FIRST_ANSWERS + ROUND_ANSWERS * i for i in range(len(curve))]
            axes.plot(places, curve, color=style.colors[(2, 1, 0)[k]], marker=MARKERS[k], markersize=4, label=name)
        axes.set_title(row["set"])
        axes.grid(axis="y", linewidth=0.6)
    for axes in panels.flat[len(rows) :]:
        axes.set_visible(False)
    figure.supxlabel("answers, as labelled rows", fontsize=11)
    figure.supylabel("macro average precision of new rows, %", fontsize=11)
    legend_above(figure, panels[0, 0])
    return figure


PICTURES = [
    forests,
    forests_gain,
    forests_regimes,
    cleanlab,
    front,
    films,
    article_scores,
    article_agreement,
    open_kernel,
    open_labels,
    open_classifier,
    open_graph,
    speed_search,
    speed_peers,
    speed_fit,
    speed_growth,
    speed_cases,
    what_next,
]
