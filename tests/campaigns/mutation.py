"""Whether a test notices: one line at a time is broken in a copy of the project, and the tests it concerns are run.

    python tests/campaigns/mutation.py                 all mutants
    python tests/campaigns/mutation.py search/ -v      those whose name holds "search/", with the tests' output
    python tests/campaigns/mutation.py --tier quick    whether the tests that plain pytest runs notice
    python tests/campaigns/mutation.py --list

Opt-in: each mutant of a kernel is a build of some 30 seconds, and its tests run in a new process; those of a mutant of
Python run in a fork of a process that has imported the big libraries.  The mutants are in mutants_*.py beside this
file, those that no test kills in ``SURVIVORS`` with the reason why they stay.  The exit status is 1 if a mutant lives
that is not in it, if one in it died, or if a pattern does not occur exactly once any more.
"""

from __future__ import annotations

import argparse
import os
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

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIERS = {"all": "", "quick": "not slow", "slow": "slow"}  # of the tests, by the expression for pytest -m
COMPILED = (".h", ".pyx", ".pxd")
LIBRARIES = [
    *("numpy", "scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.stats", "pandas", "polars", "joblib", "pytest"),
    *("sklearn.pipeline", "sklearn.datasets", "sklearn.model_selection", "threadpoolctl"),
]


class Mutant(NamedTuple):
    """One broken line."""

    name: str  # family/what is broken
    file: str  # in the project
    old: str  # occurs exactly once in it
    new: str
    tests: tuple[str, ...]  # arguments of pytest


def tables() -> tuple[list[Mutant], dict[str, str]]:
    """All mutants, and the survivors with their reasons."""
    sys.path.insert(0, str(HERE))
    mutants: list[Mutant] = []
    survivors: dict[str, str] = {}
    for path in sorted(HERE.glob("mutants_*.py")):
        module = import_module(path.stem)
        mutants += [Mutant(*row) for row in module.MUTANTS]
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
    if code == 5 and tier:
        return True, "no test of this tier"
    if code in (3, 4, 5):  # pytest's own errors, a wrong argument, no tests
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


def verdict(mutant: Mutant, copy: Path, timeout: float, tier: str, verbose: bool) -> tuple[str, str]:
    """("killed" | "lives" | "stale", what was seen)."""
    path = copy / mutant.file
    source = path.read_text()
    if source.count(mutant.old) != 1:
        return "stale", f"the pattern occurs {source.count(mutant.old)} times in {mutant.file}"
    compiled = path.suffix in COMPILED
    try:
        path.write_text(source.replace(mutant.old, mutant.new))
        refused = build(copy) if compiled else ""
        if refused:
            return "stale", f"it does not compile: {refused[-300:]}"
        passed, output = run_tests(copy, mutant.tests, timeout, tier, fork=not compiled)
    finally:
        path.write_text(source)
        os.utime(path)  # stale again: the next build of this kernel starts from the sound source
    if verbose:
        print(output)
    return ("lives", "") if passed else ("killed", first_failure(output))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="mutants whose name holds one of these; default: all")
    parser.add_argument("--record", action="store_true", help="write the counts to last_runs.json")
    parser.add_argument("--list", action="store_true", help="print the table and stop")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for the tests of one mutant")
    parser.add_argument("--tier", choices=TIERS, default="all", help="the tests that run; plain pytest runs quick")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    mutants, survivors = tables()
    chosen = [m for m in mutants if not arguments.names or any(name in m.name for name in arguments.names)]
    if arguments.list:
        for mutant in chosen:
            print(f"{mutant.name:60} {mutant.file:32} {survivors.get(mutant.name, '')}")
        return 0
    for library in LIBRARIES:
        with suppress(ImportError):
            import_module(library)
    counts = {"killed": 0, "lives": 0, "stale": 0}
    wrong = []
    with tempfile.TemporaryDirectory(prefix="nmlsdr-mutation-") as folder:
        copy = Path(folder) / "project"
        copy_of_the_project(copy)
        refused = build(copy)
        if refused:
            raise SystemExit(refused)
        for mutant in chosen:
            began = time.perf_counter()
            outcome, seen = verdict(mutant, copy, arguments.timeout, TIERS[arguments.tier], arguments.verbose)
            counts[outcome] += 1
            expected = "lives" if mutant.name in survivors else "killed"
            if outcome != expected:
                wrong.append(mutant.name)
            took = time.perf_counter() - began
            print(f"{outcome:6} {took:5.0f} s  {mutant.name:56} {seen}", flush=True)
    print(f"{len(chosen)} mutants: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    if arguments.record:
        from record import save

        words = [*arguments.names, "--tier", arguments.tier]
        save("mutation.py " + " ".join(words), {"mutants": len(chosen), **counts, "not as the table says": len(wrong)})
    for name in wrong:
        print(f"not as the table says: {name}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
