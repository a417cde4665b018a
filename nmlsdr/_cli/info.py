"""info: the versions and settings of this installation, or the contents of a model file."""

import argparse
import os
import platform
from importlib import metadata
from typing import Any

from .. import __version__, _graph
from .._errors import plural, printable
from .._process.threads import SIMD_LEVELS, check_n_jobs, simd
from .._thresholds import NEVER
from .console import Console

MOST = 50  # columns or categories that are listed by name

# The purpose of each optional package.
OPTIONAL = {
    "pooch": "fetches data sets; pip install 'nmlsdr[datasets]'",
    "matplotlib": "draws figures; pip install 'nmlsdr[cli]'",
    "skops": "reads and writes model files; pip install 'nmlsdr[cli]'",
    "pyarrow": "reads CSV, reads and writes Parquet; pip install 'nmlsdr[cli]'",
    "openpyxl": "reads Excel files; pip install 'nmlsdr[excel]'",
}


def info(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr info``."""
    lines = _model_lines(args.model) if args.model is not None else _installation_lines()
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(printable(f"{name:<{width}}  {value}"))
    return 0


def _installation_lines() -> list[tuple[str, str]]:
    lines = [("nmlsdr", __version__), ("python", f"{platform.python_version()} on {platform.platform()}")]
    for name in ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", *OPTIONAL):
        try:
            lines.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            lines.append((name, f"not installed ({OPTIONAL.get(name, 'needed')})"))
    facts = _graph.build_facts()  # how the kernels were compiled, and what they use here
    openmp = facts["openmp"]
    used = SIMD_LEVELS[simd()] + " in use" + " (NMLSDR_SIMD)" * bool(os.environ.get("NMLSDR_SIMD", "").strip())
    compiled = SIMD_LEVELS[: facts["n_simd_levels"]]
    best = SIMD_LEVELS[_graph.best_simd_level()]
    return [
        *lines,
        ("compiler", facts["compiler"]),
        ("debug build", "yes (NMLSDR_DEBUG=1)" if facts["debug"] else "no"),
        ("OpenMP", f"yes ({openmp})" if openmp else "no: kernels run on one thread"),
        ("threads", str(check_n_jobs(None) if openmp else 1)),
        ("SIMD", f"{used}; compiled: {', '.join(compiled)}; this processor has {best}"),
    ]


def _model_lines(path: str) -> list[tuple[str, str]]:
    from sklearn.pipeline import Pipeline

    from .._model.reading import open_model

    model = open_model(path)
    steps = model.estimator.steps if isinstance(model.estimator, Pipeline) else [("model", model.estimator)]
    lines = [(name, " ".join(repr(step).split())) for name, step in steps]
    lines.append(("features", str(model.estimator.n_features_in_)))
    lines += _columns(model.plan, model.feature_names or [])
    if model.label_names is not None:
        lines.append(("labels", _few(model.label_names)))
    lines += _decision(steps[-1][1])
    if model.fitted is not None:
        counts = [len(set(model.fitted[key].tolist())) for key in ("labeled", "others")]
        lines.append(("fitted on", f"{sum(counts)} different rows, {counts[0]} of them labelled"))
    lines.append(("date", model.date))
    lines.append(("written by", ", ".join(f"{name} {version}" for name, version in model.versions.items())))
    return lines


def _columns(plan: Any, names: list[str]) -> list[tuple[str, str]]:
    """The columns by name: those with levels with them, and the others together by their kind."""
    columns = [(name, "number", [""]) for name in names]
    if plan:
        columns = [(c.name, c.kind, [*c.words, *c.levels.values()]) for c in plan.columns]
    worded = ("category", "list", "words")
    lines = [(name, f"{kind}, {_few(levels)}") for name, kind, levels in columns if kind in worded]
    kinds = dict.fromkeys(kind for _, kind, _ in columns if kind not in worded)
    return [
        *(
            (f"column: {shown_kind}", _few([name for name, kind, _ in columns if kind == shown_kind]))
            for shown_kind in kinds
        ),
        *lines,
    ]


def _few(names: list[str]) -> str:
    """How many there are, and the first of them."""
    return f"{len(names)}: {'; '.join(names[:MOST])}" + ("; ..." if len(names) > MOST else "")


def _decision(step: Any) -> list[tuple[str, str]]:
    """From which score on the classifier predicts a label, and the rule that found it."""
    if not hasattr(step, "thresholds_"):
        return []
    can_be_predicted = step.thresholds_ < NEVER
    if not can_be_predicted.any():
        return [("threshold", "no label is ever predicted")]
    low, high = (f"{end(step.thresholds_[can_be_predicted]):.3g}" for end in (min, max))
    values = low if low == high else f"{low} to {high}"
    rule = f" ({step.threshold})" if isinstance(step.threshold, str) else ""
    never = int((~can_be_predicted).sum())
    never_predicted = f"; {plural(never, 'label')} {'is' if never == 1 else 'are'} never predicted" if never else ""
    return [("threshold", f"a label is predicted from {values} on{rule}{never_predicted}")]
