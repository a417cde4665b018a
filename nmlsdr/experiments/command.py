"""``nmlsdr reproduce``: run the article's experiments and what came after, or go on with a run that was cut short."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import shlex
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import joblib

from .._errors import InputError, printable
from .._methods import find_method
from .._output import replace_file
from ..datasets import dataset_info
from .benchmarks import benchmarks_section
from .beyond import REGIMES, beyond_cells, run_beyond_cell
from .beyond_review import (
    REVIEWS,
    WITHOUT,
    collect_review,
    find_beyond_method,
    has_cleanlab,
    review_cells,
    run_review_cell,
)
from .beyond_section import beyond_section, collect_regime
from .case_study import case_study_section
from .cell import run_cell
from .protocol import STUDIES, Study, cells_of, fingerprint
from .report import write_report
from .results import Results, collect
from .runner import Progress, clock, run_cells
from .section import Section
from .store import CellKey, RecordStore, StoreError
from .toy import toy_section

__all__ = ["run"]

COMMANDS = "commands.txt"
OK, FAILED, INTERRUPTED = 0, 1, 130
SECTIONS: dict[str, Callable[..., Section]] = {
    "toy": toy_section,
    "benchmarks": benchmarks_section,
    "case-study": case_study_section,
}
BEYOND = "beyond"
SETTINGS = {**STUDIES, **REGIMES, **REVIEWS}
SHOWN = {"toy": ("toy", "toy-agreement"), "case-study": ("case-study-counts", "case-study")}


def run(args: argparse.Namespace) -> int:
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


def _run(args: argparse.Namespace) -> int:
    datasets = None if args.datasets is None else tuple(dict.fromkeys(map(find_dataset, args.datasets)))
    if datasets is not None and args.study not in ("benchmarks", BEYOND, "all"):
        raise InputError(
            f"--datasets is for benchmarks and {BEYOND}; {args.study} has one data set of its own, so leave it out."
        )
    find = find_beyond_method if args.study == BEYOND else find_method
    methods = None if args.methods is None else tuple(dict.fromkeys(map(find, args.methods)))
    for package in ("matplotlib", "jinja2"):
        if importlib.util.find_spec(package) is None:  # told before hours of work, not after
            raise ImportError(f"the report needs {package}; install it with 'pip install \"nmlsdr[cli]\"'.")
    jobs = args.jobs or joblib.cpu_count()
    start = time.monotonic()
    command = _command(args)
    progress = Progress()
    with RecordStore(args.out, command=command) as store:
        for note in [*store.notes, *([WITHOUT] if args.study == BEYOND and not has_cleanlab() else [])]:
            print(f"nmlsdr reproduce: {printable(note)}", file=sys.stderr)
        if args.force_new and (aside := store.set_aside()):
            print(f"The earlier records are now in {aside.name}.", file=sys.stderr)
        cells = _cells(args, datasets, methods)
        marks = _fingerprints(cells, args.size, args.data_home)
        _check_fingerprints(store, marks)
        work = partial(_work, size=args.size, data_home=args.data_home, marks=marks)
        try:
            run_cells(cells, work, store, jobs=jobs, progress=progress)
        except KeyboardInterrupt:
            progress.interrupt()
            raise
        failed = [key for key in cells if not store.finished(key)]
        page = _report(store, command, {key.study for key in cells})
    print(f"\n{len(cells)} cells, {len(failed)} failed, {clock(time.monotonic() - start)} wall time; report: {page}")
    return FAILED if failed else OK


def _cells(
    args: argparse.Namespace, datasets: tuple[str, ...] | None, methods: tuple[str, ...] | None
) -> list[CellKey]:
    """What the arguments ask for; "all" is the article's experiments."""
    if args.study == BEYOND:
        chosen = {"seeds": args.seeds, "datasets": datasets, "methods": methods}
        return beyond_cells(**chosen) + review_cells(**chosen)
    return [
        key
        for study in (STUDIES.values() if args.study == "all" else [STUDIES[args.study]])
        for key in cells_of(
            study, seeds=args.seeds, datasets=datasets if study.name == "benchmarks" else None, methods=methods
        )
    ]


def _work(key: CellKey, *, size: str, data_home: str | None, marks: dict[tuple[str, str], str]) -> dict[str, Any]:
    run = run_beyond_cell if key.study in REGIMES else run_review_cell if key.study in REVIEWS else run_cell
    return run(key, size=size, data_home=data_home, fingerprint=marks[key[:2]])


def find_dataset(name: str) -> str:
    """A benchmark data set by name, in any case, or by the name of its folder.

    Examples
    --------
    >>> find_dataset("tmc2007-500"), find_dataset("BIRDS")
    ('Tmc2007', 'Birds')
    """
    return "Toy" if name.strip().lower() == "toy" else str(dataset_info(name.strip())["name"])


def _fingerprints(cells: list[CellKey], size: str, data_home: str | None) -> dict[tuple[str, str], str]:
    """The fingerprint of each (study, data set); reads the files, so a missing one is told before any work."""
    pairs = dict.fromkeys(key[:2] for key in cells)
    return {pair: fingerprint(SETTINGS[pair[0]], pair[1], size, data_home) for pair in pairs}


def _check_fingerprints(store: RecordStore, marks: dict[tuple[str, str], str]) -> None:
    for key, record in store.records.items():
        mark = marks.get(key[:2])
        if mark is not None and record.get("fingerprint", mark) != mark:
            raise StoreError(
                f"The records of {key.study}/{key.dataset} in {store.folder} were made with other settings, data or "
                "versions; choose another --out, or --force-new to set them aside and begin anew."
            )


def _report(store: RecordStore, command: str, asked: set[str]) -> Path:
    """Write the report of every study in the store and print the tables of those asked for."""
    sections = []
    for study in STUDIES.values():
        results = collect(study, store.records)
        if results is None:
            continue
        section = SECTIONS[study.name](results, size=_size(study, store))
        section.settings = _settings(study, results)
        sections.append(section)
        if study.name in asked:
            _print(section)
    regimes = [found for regime in REGIMES.values() if (found := collect_regime(regime, store.records))]
    reviews = [review for regime in REVIEWS.values() if (review := collect_review(regime, store.records))]
    if regimes or reviews:
        shown = [*(found.regime for found in regimes), *(review.regime for review in reviews)]
        reduced = any(_size(regime, store) == "small" for regime in shown)
        sections.append(beyond_section(regimes, reviews, size="small" if reduced else "full"))
        if asked & {*REGIMES, *REVIEWS}:
            _print(sections[-1])
    return write_report(store.folder, sections, store.records, commands=_commands(store, command))


def _commands(store: RecordStore, command: str) -> list[str]:
    """All commands that have written records of the folder, this one the last; kept in ``commands.txt``."""
    path = store.folder / COMMANDS
    earlier = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    commands = [*dict.fromkeys([*earlier, command])]
    with replace_file(path) as file:
        file.write("".join(f"{line}\n" for line in commands).encode())
    return commands


def _size(study: Study, store: RecordStore) -> str:
    sizes = {record.get("size", "full") for key, record in store.records.items() if key.study == study.name}
    return "full" if sizes == {"full"} else "small"


def _settings(study: Study, results: Results) -> dict[str, Any]:
    settings = dataclasses.asdict(study)
    settings.update(datasets=results.datasets, methods=results.methods, seeds=results.n_seeds)
    return settings


def _print(section: Section) -> None:
    print(f"\n{section.title}\n")
    shown = SHOWN.get(section.name)
    for table in section.tables:
        if table.rows and (shown is None or table.name in shown) and not table.name.endswith("-differences"):
            print("\n".join(map(printable, table.to_text().split("\n"))) + "\n")
    for text, holds in section.claims:
        print(f"{'--' if holds is None else 'yes' if holds else 'NO':3s}  {text}")


def _command(args: argparse.Namespace) -> str:
    """The command that gives this run, without what only concerns this machine."""
    words = ["nmlsdr", "reproduce", args.study, "--size", args.size, "--seeds", str(args.seeds)]
    for option in ("datasets", "methods"):
        if getattr(args, option):
            words += [f"--{option}", *getattr(args, option)]
    return shlex.join(words)
