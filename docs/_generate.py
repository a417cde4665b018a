"""Pages that are derived and never edited: the API from `__all__`, the command line from its parsers."""

import argparse
import importlib
import inspect
import re
import shutil
from pathlib import Path

import matplotlib
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import nmlsdr

# in the order in which a reader needs them
MODULES = [
    "estimators",
    "inspection",
    "model_selection",
    "metrics",
    "tables",
    "datasets",
    "model_file",
    "graph",
    "propagation",
    "projection",
    "mlknn",
    "dask",
    "cli",
]


# The gallery begins with a table, its list and verdicts.
GALLERY = [
    "table_to_verdicts",
    "embedding",
    "suspect_neighbours",
    "review_precision",
    "thresholds",
    "noise_and_share",
    "graph_reach",
    "eigenvalues",
]


def gallery_place(file: str) -> tuple[int, str]:
    """Where an example stands in the gallery; examples that are not listed come last, by name."""
    name = Path(file).stem.removeprefix("plot_")
    return GALLERY.index(name) if name in GALLERY else len(GALLERY), name


def draw_for_both_pages(*_: object) -> None:
    """Pictures of the gallery without a background, with text that can be read on a light and on a dark page."""
    grey = "#808080"
    colors = ("#2C8AC7", "#DE6A1E", "#12A67A", "#CC79A7")
    matplotlib.rcParams.update(
        {
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "text.color": grey,
            "axes.labelcolor": grey,
            "axes.edgecolor": grey,
            "xtick.color": grey,
            "ytick.color": grey,
            "font.size": 11,
            "legend.frameon": False,
            "lines.linewidth": 2,
            "axes.prop_cycle": matplotlib.cycler(color=colors),
        }
    )


def public_modules() -> list[str]:
    """All public modules: those listed above in that order, then new ones."""
    served = ["estimators", *sorted({*dir(nmlsdr)} - {*nmlsdr.__all__}), "cli"]
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
        replace(folder / f"api_{name}.rst", module_page(name))


def module_page(name: str) -> list[str]:
    """The lines of the page of one module: its classes and functions by section, then its data."""
    path = path_of(name)
    module = importlib.import_module(path)
    names = [public for public in module.__all__ if public != "__version__"]
    lines = [path, "=" * len(path), "", summary(name), "", f".. currentmodule:: {path}", ""]
    data = [public for public in names if not callable(getattr(module, public, nmlsdr.InputError))]
    for title, listed in in_sections([public for public in names if public not in data], name):
        lines += [title, "-" * len(title), ""] if title else []
        lines += [".. autosummary::", "   :toctree: api/", "   :nosignatures:", ""]
        lines += [*(f"   {public}" for public in listed), ""]
    for public in data:
        lines += ["", f".. autodata:: {public}", "   :no-value:"]
    return lines


def escape_prose(app, kind, name, member, options, lines: list[str]) -> None:
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
    "--label-columns": "flu,cold",
    "--label-list": "diagnoses",
    "--impute": "mean",
    "--one-hot": "ward",
    "--missing": "k.A.,unclear",
    "--annotators": "anna,ben,chris",
    "--thousands": "'.'",
    "--keep-case": "",
    "--id": "patient",
    "--labels": "names.xml",
    "--label-file": "labels.csv",
    "--drop": "admitted,note",
    "--mask": "use.csv",
    "--threshold": "0.5",
    "--n-neighbors": "15",
    "--kind": "forgotten",
    "--probabilities": "",
    "--delimiter": "tab",
    "--jobs": "2",
    "--reviewed": "checked.csv",
    "--folds": "3",
    "--separator": "','",
    "--empty-is": "no",
    "--label-prefix": "3",
    "--label-until": "'.'",
    "--min-count": "10",
    "--top": "50",
    "--yes": "tak --no nie",
    "--model": "model.skops",
}
LABEL_OPTIONS = ("--label-columns", "--label-list", "--annotators", "--labels", "--label-file")


def example(command: str, option: str) -> str:
    """A command line that shows one option."""
    reads, writes = COMMANDS[command]
    shown = f"{option} {EXAMPLES.get(option, '')}".strip()
    needs_labels = command not in ("transform", "predict") and option not in LABEL_OPTIONS
    words = [
        "nmlsdr",
        command,
        reads,
        "--label-columns flu,cold" if needs_labels else "",
        shown if option != "--out" else "",
        f"--out {writes}",
    ]
    return " ".join(filter(None, words))


def write_benchmarks(folder: Path, readme: Path) -> None:
    """The page of the benchmarks, with links to the pages of the site."""
    text = readme.read_text(encoding="utf-8").replace("](../docs/", "](../")
    replace(folder / "benchmarks.md", text.replace("](results/", "](../../bench/results/").splitlines())


# The lists of the index, each of which is a page of the site.
SECTION = re.compile(r"^### ([\w ]+)\n\n(.+?)(?=^### |^[^*\s]|\Z)", re.M | re.S)


NO_SEARCH = "---\nnosearch: true\n---\n"  # lists of links only stand before the pages that readers search for


def section_name(title: str) -> str:
    return f"section_{title.lower().replace(' ', '_')}"


def write_sections(folder: Path, index: Path) -> None:
    """A page for each list of the index, with its links."""
    for title, text in SECTION.findall(index.read_text(encoding="utf-8")):
        entries = text.replace("(examples/README.rst)", "(gallery/index.rst)").strip().replace("](", "](../")
        replace(folder / f"{section_name(title)}.md", [NO_SEARCH, f"# {title}", "", entries])


# What a page of the repository links to, and the page of the site that has it.
PLACES = {
    "bench/README.md": "generated/benchmarks.md",
    "nmlsdr/__init__.py": "generated/api.md",
    "nmlsdr/cli.py": "generated/command_line.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
}
LANGUAGES = {"c": "c", "h": "c", "cpp": "c++", "pyx": "cython"}


# A picture that links to a page which is made with the site: there the page itself is shown in its place.
LIVE = re.compile(r"^\[!\[([^\]]+)\]\(_static/[\w-]+\.png\)\]\((reports/digits/(\w+)\.html)\)$", re.M)


def embedded(text: str, page: str, name: str) -> str:
    """A page within a page, which is loaded when it comes into view, and a link to it."""
    frame = f'<iframe src="{page}" title="{text}" loading="lazy"></iframe>'
    link = f'<a href="{page}" target="_blank" rel="noopener">Open {name}.html in a window of its own</a>'
    return f'<figure class="live">{frame}<figcaption>{link}</figcaption></figure>'


def adapt_to_site(app, name: str, source: list[str]) -> None:
    """Make a page of the repository a page of the site.

    Pictures get their dark variant; a link to a program, alone in its line, becomes the program, and a picture that
    links to a page which is made with the site becomes that page; links to files become links to the pages that are
    made from them; and the links of a list of contents become the navigation.
    """
    up = "../" * name.count("/")
    picture = r"^!\[(.*)\]\(_static/(.+)-light\.(svg|png)\)$"
    text = re.sub(picture, r"```{picture} \2.\3\n\1\n```", source[0], flags=re.M)
    text = re.sub(
        r"^((?:The file )?\[.+\]\((\.\./(?:tests|nmlsdr)/.+\.(c|h|cpp|pyx))\)):?$",
        lambda found: f"{found[1]}:\n\n```{{literalinclude}} {found[2]}\n:language: {LANGUAGES[found[3]]}\n```",
        text,
        flags=re.M,
    )
    text = LIVE.sub(lambda found: embedded(*found.groups()), text)
    text = re.sub(rf"\[([^\]]+)\]\({up}\.\./(?:RELEASING|SECURITY|CODE_OF_CONDUCT)\.md[^)]*\)", r"\1", text)
    for file, page in PLACES.items():
        text = text.replace(f"]({up}../{file})", f"]({up}{page})")
    text = re.sub(r"\]\(\.\./nmlsdr/(\w+)(?:\.py|/__init__\.py)\)", r"](generated/api_\1.rst)", text)
    text = re.sub(r"\]\(examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)
    text = text.replace("](examples/README.rst)", "](gallery/index.rst)")
    pages = []
    if name == "index":
        pages = [f"generated/{section_name(title)}" for title, _ in SECTION.findall(text)]
        text = NO_SEARCH + SECTION.sub(
            lambda section: f"### [{section[1]}](generated/{section_name(section[1])}.md)\n\n{section[2]}", text
        )
    elif "/section_" in name:
        pages = re.findall(r"^\* \[.+?\]\((.+?)\.(?:md|rst)\)", text, re.M)
    if pages:
        text += "\n".join(["", ":::{toctree}", ":hidden:", "", *pages, ":::", ""])
    source[0] = re.sub(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)*reports/[^)]+)\)", r'<a href="\2">\1</a>', text)


def copy_reports(app, error: Exception | None) -> None:
    """Reports are whole pages of their own: the site has them as they are."""
    if error is None:
        shutil.copytree(Path(app.srcdir) / "reports", Path(app.outdir) / "reports", dirs_exist_ok=True)


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


# The verbs in the order in which a user meets them; those that are not listed follow.
VERBS = ["review", "plan", "fit", "predict", "transform", "evaluate", "report"]


def write_command_line(folder: Path) -> None:
    """A page that lists the commands, and one for each of them."""
    from nmlsdr.cli import _parser

    (verbs,) = [action.choices for action in _parser()._actions if isinstance(action, argparse._SubParsersAction)]
    names = sorted(verbs, key=lambda name: VERBS.index(name) if name in VERBS else len(VERBS))
    lines = [
        "# Command line",
        "",
        "`nmlsdr COMMAND --help` prints the same text. A command exits with status 0 if it succeeded, 1 if a run "
        "failed, 2 if an argument or a file is wrong, and 130 if it was interrupted. The page of a command that reads "
        "tables begins with the options to learn first.",
        "",
        "| command | what it does |",
        "|---|---|",
        *(f"| [`nmlsdr {name}`](command_{name}.md) | {first_sentence(verbs[name])} |" for name in names),
        "",
        ":::{toctree}",
        ":hidden:",
        *(f"command_{name}" for name in names),
        ":::",
    ]
    replace(folder / "command_line.md", lines)
    for name in names:
        replace(folder / f"command_{name}.md", list(describe(verbs[name], 1)))


def first_sentence(parser: argparse.ArgumentParser) -> str:
    description = " ".join((parser.description or "").split()).partition(". ")[0].rstrip(".") + "."
    return description[:1].upper() + description[1:]


def describe(parser: argparse.ArgumentParser, level: int):
    """A heading, the usage, and each argument of a command and of every command below it."""
    name = parser.prog.split()[-1]
    yield f"{'#' * level} {parser.prog}"
    yield ""
    yield from [inspect.cleandoc(parser.description or ""), ""]
    if name in COMMANDS:
        yield from grouped(name, parser)
    else:
        yield from ["```text", *usage(parser), "```", ""]
        yield from arguments(parser, parser._actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in dict.fromkeys(action.choices.values()):
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
        group_options = [action for action in group._group_actions if action not in first]
        if group_options:
            title = group.title.partition(" (")[0]
            yield from [f"**{title[0].upper()}{title[1:]}:**", ""]
            yield from arguments(parser, group_options[:1], example(command, group_options[0].option_strings[-1]))
            yield from arguments(parser, group_options[1:])
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
