"""Whether the tests notice errors: one place at a time is broken in a copy of the project, and its tests are run.

    python tests/campaigns/mutation.py --since main                 30 random errors in the lines changed since main
    python tests/campaigns/mutation.py tables/_number_parsing.py -n 100    100 in this file, or in all files of a folder
    python tests/campaigns/mutation.py --kept                       the errors of several words in mutants.py

A random error changes one operator, word or number, leaves out a condition, or does not execute a line (`EDITS`), drawn
by --seed.  For each, the tests run first that noticed an earlier error of the file, then the quick ones that mutants.py
names for it; only where they all pass, the slow ones of the same files follow.  The result says which noticed the
error.  One that lives is a question to a person: is it the same program, or is a test missing?  The exit status is 1 if
one lives.

An error in a kernel is a build of some 30 seconds, and its tests run in a new process; those of an error in Python run
in a fork of a process that has imported the big libraries.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mutants import KEPT, TESTS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "nmlsdr"
TIERS = {"quick": "not slow", "slow": "slow"}  # of the tests, by the expression for pytest -m
COMPILED = (".h", ".hpp", ".pyx", ".pxd")
KINDS = (".py", ".js", *COMPILED)
LIBRARIES = [
    *("numpy", "scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.stats", "pandas", "polars", "joblib", "pytest"),
    *("sklearn.pipeline", "sklearn.datasets", "sklearn.model_selection", "threadpoolctl", "pyarrow.csv", "hypothesis"),
]

# What is not code: strings, comments and, in C, what the preprocessor reads.
_STRINGS = r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'"
_NO_CODE = {
    ".py": re.compile(_STRINGS + r"|#[^\n]*"),
    ".js": re.compile(_STRINGS + r"|`[^`]*`|//[^\n]*|/\*[\s\S]*?\*/"),
    ".h": re.compile(_STRINGS + r"|^\s*#(?:[^\n]*\\\n)*[^\n]*|//[^\n]*|/\*[\s\S]*?\*/", re.M),
}
_PAIRS = [
    "< <=",
    "> >=",
    "== !=",
    "+ -",
    "* /",
    "&& ||",
    "and or",
    "any all",
    "min max",
    "True False",
    "true false",
    "break continue",
]
_OTHER = {a: b for pair in map(str.split, _PAIRS) for a, b in (pair, pair[::-1])}
# (what is found, what it becomes); the function gets the match
EDITS = [
    (r"(?<=[\w)\]] )(?:[<>=!]=|[<>+*/-]|&&|\|\|)(?= )", lambda m: _OTHER[m[0]]),
    (r"(?<!strict=)\b(?:and|or|any|all|min|max|True|False|true|false|break|continue)\b", lambda m: _OTHER[m[0]]),
    (r"\bnot |!(?=[\w(])", lambda m: ""),
    (r"(?<![\w.])\d+(?![\w.])", lambda m: str(int(m[0]) + 1)),
    (r"(?<![\w.])\d*\.\d+(?:e-?\d+)?\b", lambda m: repr(1.5 * float(m[0]))),
    (r"(?:\b(?:and|or)|&&|\|\|) [^():,\n]+(?=[:)\n])", lambda m: ""),
    (r"(?<=\n)( *)(?:[\w.\[\]]+ [+|-]?= |return |raise |yield |[\w.]+\().*(?=\n)", lambda m: m[1] + "pass"),
    (r"(?<=\bif )[^:\n]+(?=:\n)", lambda m: "True"),
]


class Mutant(NamedTuple):
    """A file of the package in which one place is broken."""

    name: str
    file: str
    broken: str  # the text of the file


def tests_of(file: str) -> tuple[str, ...]:
    """The tests of a file: of the row of `TESTS` that names it most closely."""
    rows = [row for row in TESTS if file.startswith(row)]
    return tuple(f"tests/{each}" for each in TESTS[max(rows, key=len)].split()) if rows else ()


def package_files() -> list[str]:
    """All files of the package that hold code of a person."""
    files = [path for path in PACKAGE.rglob("*") if path.suffix in KINDS]
    return sorted(path.relative_to(PACKAGE).as_posix() for path in files)


def random_mutants(files: list[str], lines: dict[str, set[int]], n: int, seed: int) -> list[Mutant]:
    """Draw n errors in the code of files, only in the given lines of a file if it has any."""
    places = []
    for file in files:
        path = PACKAGE / file
        text = path.read_text(encoding="utf-8")
        kind = {".pyx": ".py", ".pxd": ".py", ".hpp": ".h"}.get(path.suffix, path.suffix)
        hidden = _NO_CODE[kind].sub(lambda m: re.sub(r"[^\n]", "\0", m[0]), text)
        starts = [0, *(m.end() for m in re.finditer("\n", text))]
        for pattern, becomes in EDITS[: None if kind == ".py" else -2]:
            for match in re.finditer(pattern, hidden):
                line = text.count("\n", 0, match.start()) + 1
                if "\0" not in match[0] and line in lines.get(file, {line}) and becomes(match) != match[0]:
                    broken = text[: match.start()] + becomes(match) + text[match.end() :]
                    shown = " ".join(broken[starts[line - 1] :].split("\n")[0].split())
                    places.append(Mutant(f"{file}:{line} {shown}", file, broken))
    random.Random(seed).shuffle(places)
    return [mutant for mutant in places if is_python(mutant)][:n]


def is_python(mutant: Mutant) -> bool:
    """Whether it has no error of syntax; what is not Python is for the compiler to say."""
    with suppress(SyntaxError):
        compile(mutant.broken if mutant.file.endswith(".py") else "", mutant.file, "exec")
        return True
    return False


def kept_mutants() -> list[Mutant]:
    """The errors of mutants.py; one whose pattern the file does not have exactly once is an error."""
    mutants = []
    for file, name, old, new in KEPT:
        text = (PACKAGE / file).read_text(encoding="utf-8")
        pattern = re.compile(r"\s+".join(map(re.escape, old.split())))
        if len(pattern.findall(text)) != 1:
            raise SystemExit(f"{name}: {file} has {old!r} not once; correct the row, or delete it")
        mutants.append(Mutant(name, file, pattern.sub(lambda _, new=new: new, text)))
    return mutants


def changed_since(revision: str) -> dict[str, set[int]]:
    """The lines of each file of the package that differ from a revision."""
    command = ["git", "diff", "-U0", revision, "--", "nmlsdr"]
    diff = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines: dict[str, set[int]] = {}
    file = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = line.removeprefix("+++ b/nmlsdr/")
        elif hunk := re.match(r"@@ \S+ \+(\d+)(?:,(\d+))? @@", line):
            first = int(hunk[1])
            lines.setdefault(file, set()).update(range(first, first + int(hunk[2] or 1)))
    return {file: lines for file, lines in lines.items() if (PACKAGE / file).exists()}


def copy_of_the_project(to: Path) -> None:
    """Sources, tests and build, with their times, so that nothing is built that is not stale."""
    skipped = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "dist", ".hypothesis")
    shutil.copytree(ROOT, to, ignore=skipped, symlinks=True)
    setup = to / "setup.py"  # half the time to compile, and the same bits
    setup.write_text(setup.read_text().replace('"-O3"', '"-O1"'))


def build(copy: Path) -> str:
    """Compile what is stale; the compiler's words if it refuses."""
    process = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if process.returncode == 0 else process.stdout + process.stderr


def run_tests(copy: Path, tests: tuple[str, ...], timeout: float, tier: str, *, fork: bool) -> tuple[bool, str]:
    """Whether all pass, and what they say.  A test that hangs has noticed."""
    options = ["-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "-m", tier, *tests]
    output_file = copy.parent / "said.txt"
    with output_file.open("w") as out:
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
    if code in (3, 4) and "\nERROR tests/" not in output_file.read_text():  # pytest's own errors, a wrong argument
        raise SystemExit(f"pytest could not run {tests}:\n{output_file.read_text()}")
    return code == 0, output_file.read_text()


def wait_for(child: int, timeout: float) -> int | None:
    """The exit status of a process that leads its own session; None if it was ended because it took too long."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        finished_child, status = os.waitpid(child, os.WNOHANG)
        if finished_child:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.2)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def first_failure(output: str) -> str:
    lines = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0] if lines else output.strip().splitlines()[-1] if output.strip() else "no output"


class Copy:
    """A copy of the project, in which errors are tried one after the other."""

    def __init__(self, folder: Path, timeout: float, verbose: bool) -> None:
        self.root = folder
        self.timeout = timeout
        self.verbose = verbose
        copy_of_the_project(folder)
        self.build_is_sound = False
        self.noticed: dict[str, list[str]] = {}  # of each file the tests that noticed an error, the last one ahead

    def check_that_tests_pass(self, mutants: list[Mutant]) -> None:
        """Without an error the quick tests pass here: else any of them would seem to notice any error."""
        files = sorted({each for mutant in mutants for each in tests_of(mutant.file)})
        refused = build(self.root)
        if refused:
            raise SystemExit(refused)
        self.build_is_sound = True
        passed, output = run_tests(self.root, tuple(files), 10 * self.timeout, TIERS["quick"], fork=True)
        if not passed:
            raise SystemExit(f"tests fail in the copy without an error:\n{output[-3000:]}")

    def try_mutant(self, mutant: Mutant) -> tuple[str, str]:
        """("quick" | "slow" | "lives" | "refused", what was seen)."""
        path = self.root / "nmlsdr" / mutant.file
        source = path.read_text()
        compiled = path.suffix in COMPILED
        try:
            path.write_text(mutant.broken)
            if compiled or not self.build_is_sound:  # also if the error before this one broke a kernel
                refused = build(self.root)
                self.build_is_sound = not compiled and not refused
                if refused:
                    return "refused", refused[-300:]
            ahead = tuple(self.noticed.setdefault(mutant.file, []))
            for tier, tests in [("quick", ahead)] * bool(ahead) + [(tier, tests_of(mutant.file)) for tier in TIERS]:
                passed, output = run_tests(self.root, tests, self.timeout, TIERS[tier], fork=not compiled)
                if self.verbose:
                    print(output)
                if not passed:
                    report = first_failure(output)
                    if failed_test := re.match(r"FAILED (\S+::\w+)", report):
                        self.noticed[mutant.file] = list(dict.fromkeys([failed_test[1], *ahead]))
                    return tier, report
            return "lives", ""
        finally:
            path.write_text(source)
            os.utime(path)  # stale again: the next build of this kernel starts from the sound source


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="files and folders below nmlsdr/; default: all")
    parser.add_argument("--since", metavar="REV", help="only in lines that differ from a revision")
    parser.add_argument("--kept", action="store_true", help="the errors of mutants.py instead of random ones")
    parser.add_argument("-n", type=int, default=30, help="number of random errors (default: 30)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for the tests of one error")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    lines = changed_since(args.since) if args.since else {}
    path_prefixes = tuple(args.files) or ("",)
    files = [
        file
        for file in package_files()
        if file.startswith(path_prefixes) and tests_of(file) and (not lines or file in lines)
    ]
    mutants = kept_mutants() if args.kept else random_mutants(files, lines, args.n, args.seed)
    mutants = [mutant for mutant in mutants if mutant.file in files]
    for library in [*LIBRARIES, *(point.module for point in entry_points(group="pytest11"))]:
        with suppress(ImportError):
            import_module(library)
    names_by_outcome: dict[str, list[str]] = {"quick": [], "slow": [], "lives": [], "refused": []}
    with tempfile.TemporaryDirectory(prefix="nmlsdr-mutation-") as folder:
        copy = Copy(Path(folder) / "project", args.timeout, args.verbose)
        copy.check_that_tests_pass(mutants)
        # Those of one kernel one after the other: each build is then of one kernel.
        for mutant in sorted(mutants, key=lambda each: each.file):
            began = time.perf_counter()
            outcome, report = copy.try_mutant(mutant)
            names_by_outcome[outcome].append(mutant.name)
            print(f"{outcome:7} {time.perf_counter() - began:5.0f} s  {mutant.name:90} {report}", flush=True)
    print(", ".join(f"{len(names)} {outcome}" for outcome, names in names_by_outcome.items()))
    for name in names_by_outcome["lives"]:
        print(f"noticed by no test: {name}")
    return 1 if names_by_outcome["lives"] else 0


if __name__ == "__main__":
    sys.exit(main())
