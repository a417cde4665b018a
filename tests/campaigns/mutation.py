"""Whether the tests notice errors: one line at a time is broken in a copy of the project, and its tests are run.

    python tests/campaigns/mutation.py                 all mutants
    python tests/campaigns/mutation.py search/ -v      those whose name contains "search/", with the tests' output
    python tests/campaigns/mutation.py --sample 40     forty of them, drawn at random
    python tests/campaigns/mutation.py --list          print the table; what no longer applies is marked
    python tests/campaigns/mutation.py --record        write the results to last_mutants.json beside this file

For each mutant the quick tests of its row run first, those that plain pytest runs.  Only where they all pass, the slow
tests of the same files follow.  The result says which tier noticed the error.

Each mutant of a kernel is a build of some 30 seconds, and its tests run in a new process; those of a mutant of Python
run in a fork of a process that has imported the big libraries.  The mutants are in the tables mutants_*.py beside this
file: for each file and its tests, rows of a name, a function, a pattern in it and what replaces the pattern.  places.py
finds them, also in another file if the function has moved.  A mutant whose function or pattern is gone is reported as
"gone": the table needs a new row or one less.  It is no error here, but tests/house/test_mutants.py fails.  Mutants
that no test notices are in ``SURVIVORS`` with the reason why they stay.  The exit status is 1 if a mutant lives that is
not in it, or if one in it was noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
import places
from record import commit_and_date

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIERS = {"quick": "not slow", "slow": "slow"}  # of the tests, by the expression for pytest -m
RESULTS = HERE / "last_mutants.json"
COMPILED = (".h", ".pyx", ".pxd")
LIBRARIES = [
    *("numpy", "scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.stats", "pandas", "polars", "joblib", "pytest"),
    *("sklearn.pipeline", "sklearn.datasets", "sklearn.model_selection", "threadpoolctl"),
]


class Mutant(NamedTuple):
    """One broken line."""

    name: str  # family/what is broken
    file: str  # in the package
    function: str  # or class; "" for a line outside of functions
    old: str  # occurs exactly once in it
    new: str
    tests: tuple[str, ...]  # arguments of pytest


def tables() -> tuple[list[Mutant], dict[str, str]]:
    """All mutants, and the survivors with their reasons."""
    mutants: list[Mutant] = []
    survivors: dict[str, str] = {}
    for path in sorted(HERE.glob("mutants_*.py")):
        module = import_module(path.stem)
        for (file, tests), rows in module.MUTANTS.items():
            mutants += [Mutant(name, file, *place, tests) for name, *place in rows]
        survivors.update(module.SURVIVORS)
    names = [mutant.name for mutant in mutants]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated or not survivors.keys() <= set(names):
        raise SystemExit(f"repeated or unknown names: {sorted(repeated | (survivors.keys() - set(names)))}")
    return mutants, survivors


def copy_of_the_project(to: Path) -> None:
    """Sources, tests and build, with their times, so that nothing is built that is not stale."""
    skipped = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "dist", ".hypothesis")
    shutil.copytree(ROOT, to, ignore=skipped, symlinks=True)
    setup = to / "setup.py"  # half the time to compile, and the same bits
    setup.write_text(setup.read_text().replace('"-O3"', '"-O1"'))


def build(copy: Path) -> str:
    """Compile what is stale; the compiler's words if it refuses."""
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def run_tests(copy: Path, tests: tuple[str, ...], timeout: float, tier: str, *, fork: bool) -> tuple[bool, str]:
    """Whether all pass, and what they say.  A test that hangs has noticed."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "-m", tier, *tests]
    said = copy.parent / "said.txt"
    with said.open("w") as out:
        child = os.fork()
        if child == 0:
            os.setsid()
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
            os.chdir(copy)
            os.environ.update(
                PYTHONPATH=str(copy),
                NMLSDR_TEST_CHECKOUT="1",
                NMLSDR_SHARED=os.environ.get("NMLSDR_SHARED", str(ROOT.parent / "shared")),
                PYTHONDONTWRITEBYTECODE="1",
            )
            if not fork:
                os.execv(sys.executable, [sys.executable, "-m", "pytest", *options])
            sys.dont_write_bytecode = True
            sys.path[0] = str(copy)
            status = 3
            try:
                status = int(import_module("pytest").main(options))
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(status)
    code = wait_for(child, timeout)
    if code is None:
        return False, f"no answer in {timeout:.0f} s"
    if code == 5:
        return True, "no test of this tier"
    if code in (3, 4):  # pytest's own errors, a wrong argument
        raise SystemExit(f"pytest could not run {tests}:\n{said.read_text()}")
    return code == 0, said.read_text()


def wait_for(child: int, timeout: float) -> int | None:
    """The exit status of a process that leads its own session; None if it was ended because it took too long."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.2)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def first_failure(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else output.strip().splitlines()[-1] if output.strip() else "no output"


class Copy:
    """A copy of the project, in which mutants are tried one after the other."""

    def __init__(self, folder: Path, timeout: float, verbose: bool) -> None:
        self.root, self.timeout, self.verbose = folder, timeout, verbose
        copy_of_the_project(folder)
        self.build_is_sound = False

    def check_that_tests_pass(self, mutants: list[Mutant]) -> None:
        """Without a mutant the quick tests pass here: else any of them would seem to notice any error."""
        files = sorted({each for mutant in mutants for each in mutant.tests if each.endswith(".py")})
        refused = build(self.root)
        if refused:
            raise SystemExit(refused)
        self.build_is_sound = True
        passed, output = run_tests(self.root, tuple(files), 10 * self.timeout, TIERS["quick"], fork=True)
        if not passed:
            raise SystemExit(f"tests fail in the copy without a mutant:\n{output[-3000:]}")

    def try_mutant(self, mutant: Mutant) -> tuple[str, str]:
        """("quick" | "slow" | "lives" | "gone", what was seen)."""
        try:
            path, broken = places.mutated(self.root / "nmlsdr", mutant)
        except places.Missing as error:
            return "gone", str(error)
        source = path.read_text()
        compiled = path.suffix in COMPILED
        try:
            path.write_text(broken)
            if compiled or not self.build_is_sound:  # also if the mutant before this one broke a kernel
                refused = build(self.root)
                self.build_is_sound = not compiled and not refused
                if refused:
                    return "gone", f"it does not compile: {refused[-300:]}"
            for tier, expression in TIERS.items():
                passed, output = run_tests(self.root, mutant.tests, self.timeout, expression, fork=not compiled)
                if self.verbose:
                    print(output)
                if not passed:
                    return tier, first_failure(output)
            return "lives", ""
        finally:
            path.write_text(source)
            os.utime(path)  # stale again: the next build of this kernel starts from the sound source


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="mutants whose name contains one of these; default: all")
    parser.add_argument("--record", action="store_true", help=f"write the results to {RESULTS.name}")
    parser.add_argument("--list", action="store_true", help="print the table and stop")
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, drawn at random (seed 0)")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for the tests of one mutant")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    mutants, survivors = tables()
    chosen = [m for m in mutants if not arguments.names or any(name in m.name for name in arguments.names)]
    if arguments.sample is not None and arguments.sample < len(chosen):
        chosen = random.Random(0).sample(chosen, arguments.sample)
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.name:60} {mutant.file:32} {survivors.get(mutant.name, '') or gone(mutant)}")
        return 0
    for library in LIBRARIES:
        with suppress(ImportError):
            import_module(library)
    results: dict[str, dict[str, str]] = {"quick": {}, "slow": {}, "lives": {}, "gone": {}}
    with tempfile.TemporaryDirectory(prefix="nmlsdr-mutation-") as folder:
        copy = Copy(Path(folder) / "project", arguments.timeout, arguments.verbose)
        copy.check_that_tests_pass(chosen)
        # Those of one kernel one after the other: each build is then of one kernel.
        for mutant in sorted(chosen, key=lambda each: each.file):
            began = time.perf_counter()
            outcome, seen = copy.try_mutant(mutant)
            results[outcome][mutant.name] = seen
            print(f"{outcome:6} {time.perf_counter() - began:5.0f} s  {mutant.name:56} {seen}", flush=True)
    report(results, len(mutants), survivors)
    if arguments.record:
        record(results, len(mutants), survivors)
    return 1 if results["lives"].keys() ^ (survivors.keys() & {m.name for m in chosen} - results["gone"].keys()) else 0


def gone(mutant: Mutant) -> str:
    try:
        places.mutated(ROOT / "nmlsdr", mutant)
    except places.Missing as error:
        return f"gone: {error}"
    return ""


def report(results: dict[str, dict[str, str]], n_mutants: int, survivors: dict[str, str]) -> None:
    noticed = len(results["quick"]) + len(results["slow"])
    print(f"{sum(map(len, results.values()))} of {n_mutants} mutants tried; {noticed} noticed, "
          f"{len(results['quick'])} of them by the quick tests")  # fmt: skip
    for outcome, words in (("slow", "noticed by slow tests only"), ("gone", "no longer applies")):
        for name, seen in results[outcome].items():
            print(f"{words}: {name} ({seen})")
    for name in results["lives"].keys() - survivors.keys():
        print(f"noticed by no test: {name}")
    for name in survivors.keys() & (results["quick"].keys() | results["slow"].keys()):
        print(f"noticed, although listed as a survivor: {name}")


def record(results: dict[str, dict[str, str]], n_mutants: int, survivors: dict[str, str]) -> None:
    """Write commit, date, counts and the names that the quick tests do not notice."""
    commit, date = commit_and_date()
    tried = sum(map(len, results.values()))
    counts = {"in the tables": n_mutants, "tried": tried} | {tier: len(names) for tier, names in results.items()}
    lists = {
        "noticed by slow tests only": results["slow"],
        "noticed by no test": {name: survivors.get(name, "") for name in results["lives"]},
        "no longer applies": results["gone"],
    }
    text = json.dumps({"commit": commit, "date": date, "counts": counts, **lists}, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
