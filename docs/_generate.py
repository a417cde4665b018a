"""Pages that are derived and never edited: the API from `__all__`, the command line from its parsers."""

import argparse
import csv
import importlib
import inspect
import re
from pathlib import Path

import nmlsdr

# in the order of a data point's way
MODULES = [
    "estimators", "inspection", "model_selection", "metrics", "datasets", "model_file", "graph", "propagation",
    "projection", "mlknn", "dask", "cli",
]  # fmt: skip


def public_modules() -> list[str]:
    """Every module that the package serves, known ones in reading order, new ones behind them."""
    served = ["estimators", *nmlsdr._MODULES, "cli"]
    return [name for name in MODULES if name in served] + sorted(set(served) - set(MODULES))


def write_api(folder: Path) -> None:
    lines = [
        "# API reference",
        "",
        "Estimators and `InputError` are importable from `nmlsdr` itself, all else from the module that is named.",
        "",
        ":::{toctree}",
        ":maxdepth: 1",
        *(f"api_{name}" for name in public_modules()),
        ":::",
    ]
    replace(folder / "api.md", lines)
    for name in public_modules():
        path = "nmlsdr" if name == "estimators" else f"nmlsdr.{name}"
        module = importlib.import_module(path)
        names = [public for public in module.__all__ if public != "__version__"]
        lines = [path, "=" * len(path), "", (inspect.getdoc(module) or "").split("\n\n")[0], ""]
        lines += [f".. currentmodule:: {path}", ""]
        data = [public for public in names if not callable(getattr(module, public, nmlsdr.InputError))]
        lines += [".. autosummary::", "   :toctree: api/", "   :nosignatures:", ""]
        lines += [f"   {public}" for public in names if public not in data]
        for public in data:
            lines += ["", f".. autodata:: {public}", "   :no-value:"]
        replace(folder / f"api_{name}.rst", lines)


def escape_prose(app, what, name, thing, options, lines: list[str]) -> None:
    """Take bars and final underscores for what they are: docstrings write |x| and mean_, not reStructuredText."""
    literal = None  # the indentation of the paragraph that announced a literal block
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "..")):
            parts = re.split(r"(``.*?``|:?\w*:?`[^`]*`_?)", line)
            parts[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]]
            lines[number] = "".join(parts)
        if literal is None and line.rstrip().endswith("::"):
            literal = indent


def write_scores(folder: Path, tables: Path) -> None:
    """A table of the reproduction's means over the article's ten sets, from its result files."""
    measures = {"AP": "average precision", "MaF1": "macro F1", "MiF1": "micro F1", "HL": "1 - Hamming loss"}
    means: dict[str, list[float]] = {}
    for measure in measures:
        with (tables / f"benchmarks-{measure}.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        rows = rows[: [row["Data set"] for row in rows].index("# best")]  # below stand counts and tests
        if not len(rows) == 10 or not all(0 <= float(value) <= 1 for row in rows for value in list(row.values())[1:]):
            raise ValueError(f"benchmarks-{measure}.csv does not begin with the scores of ten data sets.")
        for method in list(rows[0])[1:]:
            means.setdefault(method, []).append(sum(float(row[method]) for row in rows) / len(rows))
    lines = ["| method | " + " | ".join(measures.values()) + " |", "|---|" + "---:|" * len(measures)]
    for method, values in sorted(means.items(), key=lambda item: -item[1][0]):
        lines.append(f"| {method} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
    replace(folder / "scores.md", ["---", "orphan: true", "---", "", *lines])


def write_how_it_works(folder: Path) -> None:
    """Every page that stands beside conf.py, in this order, new ones behind: none is left out of the site."""
    first = ["neighbours", "propagation", "methods", "dask", "from_scikit_multilearn"]
    found = sorted(page.stem for page in folder.glob("*.md") if page.stem not in {"README", "index", "reference"})
    pages = [name for name in first if name in found] + [name for name in found if name not in first]
    lines = ["# How it works", "", "The mathematics, the proofs and the measurements behind each step.", ""]
    lines += [":::{toctree}", ":maxdepth: 1", "", *(f"../{name}" for name in pages), "../reproduction/report",
              "../reproduction/beyond/report", ":::"]  # fmt: skip
    replace(folder / "generated" / "how_it_works.md", lines)


def write_command_line(folder: Path) -> None:
    from nmlsdr.cli import _parser

    lines = [
        "# Command line reference",
        "",
        "Made from the parsers: what `nmlsdr COMMAND --help` prints. Exit status: 0 done, 1 a run failed, 2 bad input, "
        "130 interrupted.",
        "",
    ]
    replace(folder / "command_line.md", lines + list(describe(_parser(), 2)))


def describe(parser: argparse.ArgumentParser, level: int):
    """A heading, the usage, and each argument of every command below this one."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
                yield f"{'#' * level} {child.prog}"
                yield ""
                yield from [inspect.cleandoc(child.description or ""), "", "```text", *usage(child), "```", ""]
                yield from arguments(child)
                yield from describe(child, level + 1)


def usage(parser: argparse.ArgumentParser) -> list[str]:
    return parser.format_usage().rstrip().replace("usage: ", "", 1).split("\n")


def arguments(parser: argparse.ArgumentParser):
    formatter = parser._get_formatter()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help is argparse.SUPPRESS:
            continue
        shown = formatter._format_action_invocation(action)
        text = formatter._expand_help(action) if action.help else ""
        yield from [f"`{shown}`", f": {' '.join(text.split()).replace('<', chr(92) + '<')}", ""]


def replace(path: Path, lines: list[str]) -> None:
    """Write, but leave a page that says the same alone: Sphinx reads again what is newer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
