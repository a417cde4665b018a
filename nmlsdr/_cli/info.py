"""info: what this installation is made of, and what a model file holds."""

from __future__ import annotations

import argparse
from typing import Any

from .arguments import add_quiet
from .console import Console

__all__ = ["add_parsers"]

# What each package that may be missing is for.
OPTIONAL = {
    "liac-arff": "reads ARFF; pip install 'nmlsdr[datasets]'",
    "pooch": "fetches data sets; pip install 'nmlsdr[datasets]'",
    "matplotlib": "draws figures; pip install 'nmlsdr[cli]'",
    "pyarrow": "reads and writes Parquet; pip install 'nmlsdr[parquet]'",
}


def add_parsers(verbs: Any) -> None:
    """Describe the verb."""
    parser = verbs.add_parser(
        "info",
        help="versions, threads, SIMD; or what a model file holds",
        description="Print versions, OpenMP, threads and SIMD level, or with a model file what it holds.",
    )
    parser.add_argument("model", nargs="?", metavar="MODEL.npz", help="a model file to describe")
    add_quiet(parser)
    parser.set_defaults(run=info)


def info(args: argparse.Namespace, console: Console) -> int:
    """Run ``nmlsdr info``."""
    lines = _model_lines(args.model) if args.model is not None else _installation_lines()
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")
    return 0


def _installation_lines() -> list[tuple[str, str]]:
    import platform
    from importlib import metadata

    from nmlsdr import __version__, _graph, _threads

    lines = [("nmlsdr", __version__), ("python", f"{platform.python_version()} on {platform.platform()}")]
    for name in ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", *OPTIONAL):
        try:
            lines.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            lines.append((name, f"not installed ({OPTIONAL.get(name, 'needed')})"))
    openmp = bool(_graph.has_openmp())
    lines.append(("OpenMP", "yes" if openmp else "no: kernels run on one thread"))
    lines.append(("threads", str(_threads.check_n_jobs(None) if openmp else 1)))
    best, asked = _threads.SIMD_LEVELS[_graph.best_simd_level()], _threads.simd_level()
    lines.append(("SIMD", best if asked is None else f"{asked} (asked by NMLSDR_SIMD; the best here is {best})"))
    return lines


def _model_lines(path: str) -> list[tuple[str, str]]:
    from sklearn.pipeline import Pipeline

    from nmlsdr.model_file import open_model

    model = open_model(path)
    steps = model.estimator.steps if isinstance(model.estimator, Pipeline) else [("model", model.estimator)]
    lines = [(name, " ".join(repr(step).split())) for name, step in steps]
    lines.append(("features", str(model.estimator.n_features_in_)))
    if model.label_names is not None:
        lines.append(("labels", f"{len(model.label_names)}: {'; '.join(model.label_names)}"))
    lines.append(("written by", ", ".join(f"{name} {version}" for name, version in model.versions.items())))
    return lines
