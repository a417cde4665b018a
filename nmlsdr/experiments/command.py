"""``nmlsdr reproduce``: run the article's experiments, or continue an interrupted run; studies run by it too."""

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from .._article_methods import METHODS, class_named, find_method
from .._errors import InputError, import_extra, printable
from .._output import write_file
from .._search.estimate import duration
from ..datasets import dataset_info
from .benchmarks import benchmarks_section, case_study_section, toy_section
from .protocol import STUDIES, TEN_SETS, Measure, Study, cells_of, fingerprint, measure_article, run_cell
from .report import write_report
from .results import Results, Section, collect
from .store import CellFolder, CellKey, Record, run_cells

COMMANDS = "commands.txt"
OK = 0
FAILED = 1
INTERRUPTED = 130


def article_cells(study: str, **chosen: Any) -> list[CellKey]:
    """The cells of one of the article's experiments, or of "all"."""
    return cells_of(STUDIES.values() if study == "all" else [STUDIES[study]], **chosen)


@dataclass(frozen=True)
class Experiments:
    """What a command runs and reports; by default the article's experiments.

    Attributes
    ----------
    command : str
        The words before its arguments.
    studies : dict of str to Study
    sections : dict of str to callable
        Section of the report by the name of a study; the last has all studies that have none of their own.
    measure : callable
        As `measure_article`.
    cells : callable
        From the study named on the command line, and the arguments ``chosen`` of `cells_of`, to cells.
    methods : iterable of str
        That may be named.
    title : str or None
        Of the report; None: that of the article's experiments.
    """

    command: str
    studies: dict[str, Study]
    sections: dict[str, Callable[..., Section]]
    measure: Measure
    cells: Callable[..., list[CellKey]]
    methods: Iterable[str]
    title: str | None = None


ARTICLE = Experiments(
    "nmlsdr reproduce",
    STUDIES,
    {"toy": toy_section, "benchmarks": benchmarks_section, "case-study": case_study_section},
    measure_article,
    article_cells,
    METHODS,
)


def run(args: argparse.Namespace, console: Any = None, experiments: Experiments = ARTICLE) -> int:
    """Run the studies that the arguments name.

    Parameters
    ----------
    args : argparse.Namespace
        study, size, seeds, datasets, methods, jobs, data_home, out, force_new, as ``nmlsdr reproduce --help`` says.
    experiments : Experiments

    Returns
    -------
    int
        0; 1 if a cell failed; 130 if interrupted. Messages go to stderr, tables to stdout.

    Raises
    ------
    InputError
        For names that do not exist, data files that cannot be read, and a folder that cannot be used.
    ImportError
        Without matplotlib or jinja2.
    """
    try:
        return _run(args, experiments)
    except KeyboardInterrupt:
        print(f"\nInterrupted; the finished cells are in {args.out}, and the same command goes on.", file=sys.stderr)
        return INTERRUPTED
    except (TerminatedWorkerError, BrokenProcessPool):
        text = "A worker process died, perhaps for lack of memory; the finished cells are in"
        print(f"\n{text} {args.out}, and the same command with fewer --jobs goes on.", file=sys.stderr)
        return FAILED


def _run(args: argparse.Namespace, experiments: Experiments) -> int:
    selection = _selection(args, experiments)
    for package in ("matplotlib", "jinja2"):
        import_extra(package, "The report", "cli")  # before hours of work, not after
    start = time.monotonic()
    folder = CellFolder(args.out)
    if args.force_new and (aside := folder.set_aside()):
        print(f"The earlier cells are now in {aside.name}.", file=sys.stderr)
    cells = experiments.cells(args.study, seeds=args.seeds, **selection)
    if not cells:
        raise InputError(f"{args.study} has no cells of these data sets and methods; choose others.")
    marks = _fingerprints(cells, folder, args, experiments.studies)
    work = partial(_work, experiments=experiments, size=args.size, data_home=args.data_home, marks=marks)
    run_cells(cells, work, folder, jobs=args.jobs or joblib.cpu_count())
    failed = [key for key in cells if not folder.finished(key)]
    page = _report(folder, _command(args, experiments), {key.study for key in cells}, experiments)
    print(f"\n{len(cells)} cells, {len(failed)} failed, {duration(time.monotonic() - start)} wall time; report: {page}")
    return FAILED if failed else OK


def _selection(args: argparse.Namespace, experiments: Experiments) -> dict[str, Any]:
    """The names of the data sets and methods to run; None for all."""
    datasets = _named(args.datasets, find_dataset)
    if datasets is not None and args.study in ("toy", "case-study"):
        raise InputError(f"{args.study} has one data set; leave --datasets out.")
    return {"datasets": datasets, "methods": _named(args.methods, partial(_find_method, experiments=experiments))}


def _named(words: list[str] | None, find: Callable[[str], str]) -> tuple[str, ...] | None:
    """The names that words of the command line stand for, each once; None for no choice."""
    return None if words is None else tuple(dict.fromkeys(map(find, words)))


def _find_method(word: str, experiments: Experiments) -> str:
    """The name of a method; another, "module:Class", is imported now and not in the first cell."""
    if ":" in word and experiments is ARTICLE:
        class_named(word)
        return word
    return find_method(word, experiments.methods)


def _work(key: CellKey, *, experiments: Experiments, marks: dict[tuple[str, str], str], **where: Any) -> Record:
    return run_cell(key, experiments.studies[key.study], experiments.measure, fingerprint=marks[key[:2]], **where)


def find_dataset(name: str) -> str:
    """A benchmark data set by name, in any case, or by the name of its folder.

    Examples
    --------
    >>> find_dataset("tmc2007-500"), find_dataset("BIRDS")
    ('Tmc2007', 'Birds')
    """
    word = name.strip()
    if word.lower() == "toy":  # which has no files
        return "Toy"
    try:
        return str(dataset_info(word)["name"])
    except InputError:
        raise InputError(f"The data set {word!r} is not known; choose one of {', '.join(TEN_SETS)}.") from None


def _fingerprints(
    cells: list[CellKey], folder: CellFolder, args: argparse.Namespace, studies: dict[str, Study]
) -> dict[tuple[str, str], str]:
    """The fingerprint of each (study, data set), which the cells of the folder must have.

    This reads the files, so a missing one raises an error before any work.
    """
    pairs = dict.fromkeys(key[:2] for key in cells)
    marks = {pair: fingerprint(studies[pair[0]], pair[1], args.size, args.data_home) for pair in pairs}
    for key, record in folder.records.items():
        mark = marks.get(key[:2])
        if mark is not None and record.get("fingerprint", mark) != mark:
            problem = f"The cells of {key.study}/{key.dataset} in {folder.folder} have other settings, data or versions"
            raise InputError(f"{problem}; choose another --out, or --force-new to set them aside and begin anew.")
    return marks


def _report(folder: CellFolder, command: str, run: set[str], experiments: Experiments) -> Path:
    """Write the report of every study in the folder and print the tables of those that were run."""
    sections = []
    for name, group in _results_by_section(folder, experiments).items():
        studies = {results.study.name for results in group}
        sections.append(experiments.sections[name](group, size=_size(folder, studies)))
        if studies & run:
            _print(sections[-1])
    return write_report(folder, sections, commands=_commands(folder, command), title=experiments.title)


def _results_by_section(folder: CellFolder, experiments: Experiments) -> dict[str, list[Results]]:
    """The results in the folder by the section that shows them; a study without a section is shown in the last one."""
    groups: dict[str, list[Results]] = {}
    for study in experiments.studies.values():
        if results := collect(study, folder.records):
            name = study.name if study.name in experiments.sections else [*experiments.sections][-1]
            groups.setdefault(name, []).append(results)
    return {name: groups[name] for name in experiments.sections if name in groups}


def _size(folder: CellFolder, studies: set[str]) -> str:
    """The size of these studies: "full" if that of all their cells is, else "small"."""
    sizes = {record.get("size", "full") for key, record in folder.records.items() if key.study in studies}
    return "full" if sizes == {"full"} else "small"


def _commands(folder: CellFolder, command: str) -> list[str]:
    """All commands that have written cells of the folder, this one the last; kept in ``commands.txt``."""
    path = folder.folder / COMMANDS
    earlier = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    commands = [*dict.fromkeys([*earlier, command])]
    write_file(path, "".join(f"{line}\n" for line in commands))
    return commands


def _print(section: Section) -> None:
    print(f"\n{section.title}\n")
    for table in section.tables:
        if table.rows and not table.name.endswith("-differences"):
            print("\n".join(map(printable, table.to_text().split("\n"))) + "\n")
    for text, holds in section.claims:
        print(f"{'--' if holds is None else 'yes' if holds else 'NO':3s}  {text}")


def _command(args: argparse.Namespace, experiments: Experiments) -> str:
    """The command of this run, without options such as folders and jobs that only concern this machine."""
    words = [*experiments.command.split(), args.study, "--size", args.size, "--seeds", str(args.seeds)]
    for option in ("datasets", "methods"):
        if getattr(args, option):
            words += [f"--{option}", *getattr(args, option)]
    return shlex.join(words)
