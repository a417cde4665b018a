"""Pages that are derived and never edited: the API from `__all__`, the command line from its parsers."""

import argparse
import csv
import importlib
import inspect
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import nmlsdr

# in the order in which a reader needs them
MODULES = [
    "estimators", "inspection", "model_selection", "metrics", "tables", "datasets", "model_file", "graph",
    "propagation", "projection", "mlknn", "dask", "cli",
]  # fmt: skip


# The gallery begins with a table, its list and verdicts.
GALLERY = ["table_to_verdicts", "embedding", "suspect_neighbours", "review_precision", "thresholds",
           "noise_and_share", "graph_reach", "eigenvalues"]  # fmt: skip


def gallery_place(file: str) -> tuple[int, str]:
    """Where an example stands in the gallery; examples that are not listed come last, by name."""
    name = Path(file).stem.removeprefix("plot_")
    return GALLERY.index(name) if name in GALLERY else len(GALLERY), name


def public_modules() -> list[str]:
    """All public modules: those listed above in that order, then new ones."""
    served = ["estimators", *nmlsdr._MODULES, "cli"]
    return [name for name in MODULES if name in served] + sorted(set(served) - set(MODULES))


def path_of(name: str) -> str:
    return "nmlsdr" if name == "estimators" else f"nmlsdr.{name}"


def summary(name: str) -> str:
    """What a module has: the first paragraph of its docstring, in one line."""
    if name == "estimators":
        return "The estimators: classifiers, projections, label propagation, and the exact neighbour search."
    return " ".join((inspect.getdoc(importlib.import_module(path_of(name))) or "").split("\n\n")[0].split())


# The sections of the page of estimators, in the order in which a user meets them; what is in none follows.
SECTIONS = {
    "Start here": ["ResidualPropagation"],
    "The article's method and its parts": ["NMLSDR", "SemiSupervisedMLkNN", "MultiLabelPropagation", "MLkNN"],
    "Methods that the article compares NMLSDR with": ["MDDM", "MVMD", "MultiLabelCCA", "MLDA", "SSMLDR"],
}


def in_sections(names: list[str], module: str) -> list[tuple[str, list[str]]]:
    """The names of a page, each list with its title; a page without sections has one list without a title."""
    if module != "estimators":
        return [("", names)]
    listed = {name for section in SECTIONS.values() for name in section}
    return [*SECTIONS.items(), ("Others", [name for name in names if name not in listed])]


def write_api(folder: Path) -> None:
    lines = [
        "# API reference",
        "",
        "Import estimators and `InputError` from `nmlsdr` itself, and everything else from its module. Start with "
        "[ResidualPropagation](api/nmlsdr.ResidualPropagation.rst).",
        "",
        "| module | what it has |",
        "|---|---|",
        *(f"| [`{path_of(name)}`](api_{name}.rst) | {summary(name)} |" for name in public_modules()),
        "",
        ":::{toctree}",
        ":hidden:",
        *(f"api_{name}" for name in public_modules()),
        ":::",
    ]
    replace(folder / "api.md", lines)
    for name in public_modules():
        path = path_of(name)
        module = importlib.import_module(path)
        names = [public for public in module.__all__ if public != "__version__"]
        lines = [path, "=" * len(path), "", summary(name), ""]
        lines += [f".. currentmodule:: {path}", ""]
        data = [public for public in names if not callable(getattr(module, public, nmlsdr.InputError))]
        for title, listed in in_sections([public for public in names if public not in data], name):
            lines += [title, "-" * len(title), ""] if title else []
            lines += [".. autosummary::", "   :toctree: api/", "   :nosignatures:", ""]
            lines += [*(f"   {public}" for public in listed), ""]
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
    first = ["speed", "neighbours", "propagation", "methods", "dask", "from_scikit_multilearn"]
    found = sorted(page.stem for page in folder.glob("*.md") if page.stem not in {"README", "index", "reference"})
    pages = [name for name in first if name in found] + [name for name in found if name not in first]
    lines = ["# How it works", ""]
    lines += ["These pages explain the methods, the algorithms, and what to do with large data.", ""]
    reports = [f"../reproduction/{name}report" for name in ("", "beyond/", "open/")]
    lines += [":::{toctree}", ":maxdepth: 1", "", *(f"../{name}" for name in pages), "benchmarks", *reports, ":::"]
    replace(folder / "generated" / "how_it_works.md", lines)


# The options of the commands that read tables, in the order in which a beginner meets them. The other groups are
# those of `nmlsdr COMMAND --help`.
FIRST_OPTIONS = ["--label-columns", "--label-list", "--out", "--id", "--drop", "--missing"]

# What each command reads and writes in the examples, and what follows an option there.
COMMANDS = {
    "fit": ("train.csv", "model.skops"),
    "transform": ("model.skops test.csv", "embedding.csv"),
    "predict": ("model.skops test.csv", "predicted.csv"),
    "evaluate": ("model.skops test.csv", "scores.csv"),
    "review": ("train.csv", "review.csv"),
    "report": ("train.csv", "report.html"),
}
EXAMPLES = {
    "--label-columns": "flu,cold", "--label-list": "diagnoses", "--impute": "mean", "--one-hot": "ward",
    "--missing": "k.A.,unclear", "--annotators": "anna,ben,chris", "--thousands": "'.'", "--keep-case": "",
    "--id": "patient", "--labels": "names.xml", "--label-file": "labels.csv", "--drop": "admitted,note",
    "--mask": "use.csv", "--threshold": "0.5", "--n-neighbors": "15", "--kind": "forgotten", "--scores": "",
    "--compare": "train.csv", "--delimiter": "tab", "--jobs": "2", "--reviewed": "checked.csv", "--folds": "3",
    "--separator": "','", "--top": "50", "--yes": "tak --no nie",
}  # fmt: skip
LABEL_OPTIONS = ("--label-columns", "--label-list", "--annotators", "--labels", "--label-file")


def example(command: str, option: str) -> str:
    """A command line that shows one option."""
    reads, writes = COMMANDS[command]
    shown = f"{option} {EXAMPLES.get(option, '')}".strip()
    needs_labels = command not in ("transform", "predict") and option not in LABEL_OPTIONS
    words = ["nmlsdr", command, reads, "--label-columns flu,cold" if needs_labels else "",
             shown if option != "--out" else "", f"--out {writes}"]  # fmt: skip
    return " ".join(filter(None, words))


def write_benchmarks(folder: Path, readme: Path) -> None:
    """The page of the benchmarks, with links to the pages of the site."""
    text = readme.read_text(encoding="utf-8").replace("](../docs/", "](../")
    pair = r'<picture>\n.*\n<img alt="([^"]+)" src="../docs/_static/([^"]+)-light.svg">\n</picture>'
    text = re.sub(pair, r"```{picture} \2.svg\n\1\n```", text)
    replace(folder / "benchmarks.md", text.replace("](results/", "](../../bench/results/").splitlines())


def adapt_to_site(app, name: str, source: list[str]) -> None:
    """Make a page of the repository a page of the site.

    Links to bench/README.md become links to the page of the benchmarks. In the tables of the reports, what stands in
    parentheses behind a number begins a new line.
    """
    source[0] = source[0].replace("](../bench/README.md)", "](generated/benchmarks.md)")
    if name.startswith("reproduction/"):
        source[0] = re.sub(r"(?m)^\|.*$", lambda row: re.sub(r" \((?=[\d±+-])", "<br>(", row[0]), source[0])
        source[0] = fold_tables(source[0])
    if name == "reproduction/report":  # the picture of the differences first, then the numbers
        (picture,) = re.findall(r"(?m)^!\[.*\]\(figures/differences.png\)\n", source[0])
        text = source[0].replace(picture, "")
        source[0] = re.sub(r"(?m)^(## Benchmarks.*\n)", lambda head: f"{head[0]}\n{picture}", text)


def fold_tables(text: str) -> str:
    """Tables of ten rows and more behind their titles, so that a reader of the page meets the sentences first."""

    def fold(found: re.Match[str]) -> str:
        title, table = found.groups()
        title = re.sub(r"[`*]", "", title)
        return f"<details>\n<summary>{title}</summary>\n\n{table}\n</details>\n" if table.count("\n") > 11 else found[0]

    return re.sub(r"\*\*([^*\n]+(?:\*[^*\n]*)*)\*\*\n\n((?:\|.*\n)+)", fold, text)


class Picture(SphinxDirective):
    """``{picture} pictures/NAME.svg``: NAME-light.svg and NAME-dark.svg; its content says what there is to see."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        place, _, kind = self.arguments[0].rpartition(".")
        made = []
        for style in ("light", "dark"):
            source = f"/_static/{place}-{style}.{kind}"
            made.append(nodes.image(uri=source, alt=" ".join(self.content), classes=[f"only-{style}", "picture"]))
        return made


def write_command_line(folder: Path) -> None:
    from nmlsdr.cli import _parser

    lines = [
        "# Command line reference",
        "",
        "`nmlsdr COMMAND --help` prints the same text. A command exits with status 0 if it succeeded, 1 if a run "
        "failed, 2 if an argument or a file is wrong, and 130 if it was interrupted.",
        "",
        "The commands that read tables have many options, and most of them are seldom needed. Each command below "
        "begins with the options to learn first, six at most. The others follow in groups, each with an example.",
        "",
    ]
    replace(folder / "command_line.md", lines + list(describe(_parser(), 2)))


def describe(parser: argparse.ArgumentParser, level: int):
    """A heading, the usage, and each argument of every command below this one."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
                name = child.prog.split()[-1]
                yield f"{'#' * level} {child.prog}"
                yield ""
                yield from [inspect.cleandoc(child.description or ""), ""]
                if name in COMMANDS:
                    yield from grouped(name, child)
                else:
                    yield from ["```text", *usage(child), "```", ""]
                    yield from arguments(child, child._actions)
                yield from describe(child, level + 1)


def grouped(command: str, parser: argparse.ArgumentParser):
    """The arguments of a command that reads a table: what it reads, six options with examples, then groups."""
    known = parser._option_string_actions
    yield from arguments(parser, [action for action in parser._actions if not action.option_strings])
    yield from ["**The first options:**", ""]
    for option in filter(known.get, FIRST_OPTIONS):
        yield from arguments(parser, [known[option]], example(command, option))
    first = [known.get(option) for option in FIRST_OPTIONS]
    _, last, *groups = parser._action_groups  # of argparse: arguments, options without a group, and our groups
    for group in groups:
        others = [action for action in group._group_actions if action not in first]
        if others:
            title = group.title.partition(" (")[0]
            yield from [f"**{title[0].upper()}{title[1:]}:**", ""]
            yield from arguments(parser, others[:1], example(command, others[0].option_strings[-1]))
            yield from arguments(parser, others[1:])
    yield from ["**Help:**", ""]
    yield from arguments(parser, last._group_actions)


def usage(parser: argparse.ArgumentParser) -> list[str]:
    return parser.format_usage().rstrip().replace("usage: ", "", 1).split("\n")


def arguments(parser: argparse.ArgumentParser, actions: list, shown_example: str = ""):
    """Each argument with its help, as a definition list; an example behind the last of them."""
    formatter = parser._get_formatter()
    for action in actions:
        if isinstance(action, argparse._SubParsersAction) or action.help is argparse.SUPPRESS:
            continue
        shown = formatter._format_action_invocation(action)
        text = formatter._expand_help(action) if action.help else ""
        yield from [f"`{shown}`", f": {' '.join(text.split()).replace('<', chr(92) + '<')}", ""]
    if shown_example:
        yield from ["  ```sh", f"  {shown_example}", "  ```", ""]


def replace(path: Path, lines: list[str]) -> None:
    """Write, but leave a page that says the same alone: Sphinx reads again what is newer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(lines) + "\n"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
