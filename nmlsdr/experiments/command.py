"""``nmlsdr reproduce``: run the article's experiments and later ones, or continue an interrupted run."""

import argparse
import shlex
import sys
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from .._errors import InputError, import_extra, printable
from .._methods import METHODS, find_method
from .._output import replace_file
from .._search.estimate import duration
from ..datasets import dataset_info
from . import beyond, open_questions
from .benchmarks import benchmarks_section, case_study_section, toy_section
from .beyond_section import beyond_section
from .protocol import STUDIES, cells_of, fingerprint, measure_article, run_cell
from .report import write_report
from .results import Results, Section, collect
from .store import CellFolder, CellKey, Record, run_cells

COMMANDS = "commands.txt"
OK, FAILED, INTERRUPTED = 0, 1, 130
BEYOND, OPEN = "beyond", "open"
SETTINGS = {**STUDIES, **beyond.REGIMES, **beyond.REVIEWS, OPEN: open_questions.OPEN}
SECTIONS: dict[str, Callable[..., Section]] = {
    "toy": toy_section,
    "benchmarks": benchmarks_section,
    "case-study": case_study_section,
    BEYOND: beyond_section,
    OPEN: open_questions.open_section,
}
MEASURES = {**dict.fromkeys(STUDIES, measure_article), OPEN: open_questions.measure}
KNOWN = {BEYOND: [*beyond.BEYOND_METHODS, *beyond.REVIEWERS], OPEN: open_questions.VARIANTS}
SHOWN = {"toy": ("toy", "toy-agreement"), "case-study": ("case-study-counts", "case-study")}
WITHOUT = "cleanlab is not installed, so its lists are left out; pip install cleanlab and start the same command again."


def run(args: argparse.Namespace, console: Any = None) -> int:
    """Run the studies that the arguments name.

    Parameters
    ----------
    args : argparse.Namespace
        study, size, seeds, datasets, methods, jobs, data_home, out, force_new, as ``nmlsdr reproduce --help`` says.

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
        return _run(args)
    except KeyboardInterrupt:
        print(f"\nInterrupted; the finished cells are in {args.out}, and the same command goes on.", file=sys.stderr)
        return INTERRUPTED
    except (TerminatedWorkerError, BrokenProcessPool):
        text = "A worker process died, perhaps for lack of memory; the finished cells are in"
        print(f"\n{text} {args.out}, and the same command with fewer --jobs goes on.", file=sys.stderr)
        return FAILED


def _run(args: argparse.Namespace) -> int:
    datasets = _named(args.datasets, find_dataset)
    if datasets is not None and args.study in ("toy", "case-study"):
        raise InputError(f"{args.study} has one data set; leave --datasets out.")
    methods = _named(args.methods, partial(find_method, known=KNOWN.get(args.study, METHODS)))
    for package in ("matplotlib", "jinja2"):
        import_extra(package, "The report", "cli")  # before hours of work, not after
    start = time.monotonic()
    folder = CellFolder(args.out)
    if args.study == BEYOND and not beyond.has_cleanlab():
        print(f"nmlsdr reproduce: {WITHOUT}", file=sys.stderr)
    if args.force_new and (aside := folder.set_aside()):
        print(f"The earlier cells are now in {aside.name}.", file=sys.stderr)
    chosen = {"seeds": args.seeds, "datasets": datasets, "methods": methods}
    if args.study == BEYOND:
        cells = beyond.beyond_cells(**chosen)
    else:  # "all" is the article's experiments
        cells = cells_of(STUDIES.values() if args.study == "all" else [SETTINGS[args.study]], **chosen)
    if not cells:
        raise InputError(f"{args.study} has no cells of these data sets and methods; choose others.")
    marks = _fingerprints(cells, folder, args.size, args.data_home)
    work = partial(_work, size=args.size, data_home=args.data_home, marks=marks)
    run_cells(cells, work, folder, jobs=args.jobs or joblib.cpu_count())
    failed = [key for key in cells if not folder.finished(key)]
    page = _report(folder, _command(args), {key.study for key in cells})
    print(f"\n{len(cells)} cells, {len(failed)} failed, {duration(time.monotonic() - start)} wall time; report: {page}")
    return FAILED if failed else OK


def _named(words: list[str] | None, find: Callable[[str], str]) -> tuple[str, ...] | None:
    """The names that words of the command line stand for, each once; None for no choice."""
    return None if words is None else tuple(dict.fromkeys(map(find, words)))


def _work(key: CellKey, *, size: str, data_home: str | None, marks: dict[tuple[str, str], str]) -> Record:
    measure = MEASURES.get(key.study, beyond.measure)
    return run_cell(key, SETTINGS[key.study], measure, size=size, data_home=data_home, fingerprint=marks[key[:2]])


def find_dataset(name: str) -> str:
    """A benchmark data set by name, in any case, or by the name of its folder.

    Examples
    --------
    >>> find_dataset("tmc2007-500"), find_dataset("BIRDS")
    ('Tmc2007', 'Birds')
    """
    return "Toy" if name.strip().lower() == "toy" else str(dataset_info(name.strip())["name"])


def _fingerprints(
    cells: list[CellKey], folder: CellFolder, size: str, data_home: str | None
) -> dict[tuple[str, str], str]:
    """The fingerprint of each (study, data set), which the cells of the folder must have.

    This reads the files, so a missing one raises an error before any work.
    """
    pairs = dict.fromkeys(key[:2] for key in cells)
    marks = {pair: fingerprint(SETTINGS[pair[0]], pair[1], size, data_home) for pair in pairs}
    for key, record in folder.records.items():
        mark = marks.get(key[:2])
        if mark is not None and record.get("fingerprint", mark) != mark:
            raise InputError(
                f"The cells of {key.study}/{key.dataset} in {folder.folder} were made with other settings, data or "
                "versions; choose another --out, or --force-new to set them aside and begin anew."
            )
    return marks


def _report(folder: CellFolder, command: str, run: set[str]) -> Path:
    """Write the report of every study in the folder and print the tables of those that were run."""
    found: dict[str, list[Results]] = {name: [] for name in SECTIONS}
    for study in SETTINGS.values():
        if results := collect(study, folder.records):
            found[study.name if study.name in SECTIONS else BEYOND].append(results)
    sections = []
    for name, group in found.items():
        if group:
            studies = {results.study.name for results in group}
            sizes = {record.get("size", "full") for key, record in folder.records.items() if key.study in studies}
            sections.append(SECTIONS[name](group, size="full" if sizes == {"full"} else "small"))
            if studies & run:
                _print(sections[-1])
    return write_report(folder, sections, commands=_commands(folder, command))


def _commands(folder: CellFolder, command: str) -> list[str]:
    """All commands that have written cells of the folder, this one the last; kept in ``commands.txt``."""
    path = folder.folder / COMMANDS
    earlier = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    commands = [*dict.fromkeys([*earlier, command])]
    with replace_file(path) as file:
        file.write("".join(f"{line}\n" for line in commands).encode())
    return commands


def _print(section: Section) -> None:
    print(f"\n{section.title}\n")
    shown = SHOWN.get(section.name)
    for table in section.tables:
        if table.rows and (shown is None or table.name in shown) and not table.name.endswith("-differences"):
            print("\n".join(map(printable, table.to_text().split("\n"))) + "\n")
    for text, holds in section.claims:
        print(f"{'--' if holds is None else 'yes' if holds else 'NO':3s}  {text}")


def _command(args: argparse.Namespace) -> str:
    """The command of this run, without options such as folders and jobs that only concern this machine."""
    words = ["nmlsdr", "reproduce", args.study, "--size", args.size, "--seeds", str(args.seeds)]
    for option in ("datasets", "methods"):
        if getattr(args, option):
            words += [f"--{option}", *getattr(args, option)]
    return shlex.join(words)
