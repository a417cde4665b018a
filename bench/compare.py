"""Is HEAD slower than BASE?  Decided on this machine, in this minute, on pairs.

    python bench/compare.py BASE [HEAD] [--cases PATTERN] [--pairs 15] [--load N] [--instructions auto|always|never]

Both commits are checked out into a temporary folder and built with the same command, each once: what was compiled is
kept in bench/runs/builds.  A case that says kernel times the kernels, not the checks around them.  Two processes, one
for each, then run every case in turns: a pair is the least of three turns of the one over the least of three turns of
the other, and the order of the turns alternates.  The processes are started anew every five pairs, because where a
process happens to lie in memory can make it a few percent faster for its whole life.  An unclear case gets more pairs,
three times as many at most, and is then decided on all of them.

``--load N`` runs both sides beside N busy processes.  The table goes to a folder of its own as compare-quiet or
compare-loaded, with --replace into the committed results.

A case is a regression if the bootstrap 95 % lower bound of the median of HEAD / BASE over at least 15 pairs is
above 1.10 AND, for kernels, callgrind counts more than 5 % more instructions (one thread, NMLSDR_SIMD=avx2, because
valgrind has no AVX-512).  The second test costs minutes and is only asked where the first one fails.  So a case
that became 10 % slower or less passes.  A case is "unclear" if its median is above 1.10 and the bound is not, or if the
bound is more than 10 % below the median, wherever it is: other work on the machine hides what there is.  A kernel that
became slower without more instructions (a lost parallel or cache path) is printed as "slower", so that a person can
look; `tests/core/test_speed_guards.py` guards those paths.

Exit status: 0 no regression, 1 a regression, 2 the comparison could not be made.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import fnmatch
import functools
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import _cases
import _harness
import numpy as np
from packaging.requirements import Requirement

HERE = Path(__file__).resolve().parent
SLOWER = 1.10  # lower bound of the median ratio that counts as slower
WIDE = 1.10  # a bound that is further below the median decides nothing
MORE_INSTRUCTIONS = 1.05
MIN_PAIRS = 15
PAIRS_PER_START = 5
MOST = 3  # times as many pairs for a case that the first ones leave undecided
TURNS = 3  # of each side in a pair; the least counts
TURN_SECONDS = 0.02  # a turn repeats the call until it takes about this long
RESAMPLES = 10_000
KEPT_BUILDS = 6
AT_ONCE = 4  # comparisons that share two processes and are printed together
CACHE = HERE / "runs" / "builds"


class Failure(Exception):
    """The comparison could not be made; the text is one sentence."""


# ---------------------------------------------------------------- the decision, pure and tested


class Verdict(NamedTuple):
    """What the pairs say of one case."""

    median: float  # median of HEAD / BASE
    low: float  # bootstrap 95 % lower bound of it
    instructions: float | None  # HEAD / BASE, None if not counted
    outcome: str  # "ok", "faster", "slower", "unclear" or "REGRESSION"


def lower_bound(ratios: Sequence[float], *, share: float = 0.95, seed: int = 0) -> float:
    """Bootstrap lower bound of the median: the (1 - share) quantile of the medians of resamples."""
    values = np.asarray(ratios, dtype=float)
    drawn = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    return float(np.quantile(np.median(values[drawn], axis=1), 1 - share))


def is_slower(ratios: Sequence[float]) -> bool:
    """The first half of the rule, on at least `MIN_PAIRS` pairs."""
    if len(ratios) < MIN_PAIRS:
        raise Failure(f"{len(ratios)} pairs cannot decide; at least {MIN_PAIRS} are needed.")
    if not (np.isfinite(ratios).all() and min(ratios) > 0):
        raise Failure(f"ratios must be positive numbers, got {min(ratios)}.")
    return lower_bound(ratios) > SLOWER


def is_open(ratios: Sequence[float]) -> bool:
    """Whether more pairs may change the outcome: the median is far from its bound, or the limit is between them."""
    median = float(np.median(ratios))
    return median > WIDE * lower_bound(ratios) or (median > SLOWER and not is_slower(ratios))


def decide(ratios: Sequence[float], kind: str, instructions: float | None = None) -> Verdict:
    """Join the pairs' ratios (HEAD / BASE) and the ratio of instruction counts into one verdict.

    Only kernels need the second.  Where it could not be counted (no valgrind), time alone decides.
    """
    unclear = is_open(ratios)
    slower = is_slower(ratios) and not unclear
    median = float(np.median(ratios))
    if slower and (kind != "kernel" or instructions is None or instructions > MORE_INSTRUCTIONS):
        outcome = "REGRESSION"
    elif slower:
        outcome = "slower"
    elif lower_bound([1 / ratio for ratio in ratios]) > SLOWER:
        outcome = "faster"
    else:
        outcome = "unclear" if unclear else "ok"
    return Verdict(median, lower_bound(ratios), instructions, outcome)


# ---------------------------------------------------------------- two checkouts


@contextmanager
def checkouts(revisions: Sequence[str], *, top: Path | None = None) -> Iterator[list[Path]]:
    """Check the revisions out side by side into a temporary folder that is removed afterwards."""
    top = top or HERE.parent
    with tempfile.TemporaryDirectory(prefix="nmlsdr-compare-") as folder, ExitStack() as stack:
        trees = []
        for number, revision in enumerate(revisions):
            commit = run(["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"], top, "no such commit")
            tree = Path(folder) / f"{'ABCDEFGH'[number]}"
            run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit.strip()], top, "no worktree")
            stack.callback(subprocess.run, ["git", "worktree", "remove", "--force", str(tree)], cwd=top, check=False)
            trees.append(tree)
        yield trees


def missing_to_build(top: Path | None = None) -> str:
    """What the environment lacks to build the kernels, and the command that installs it, in a sentence; or ""."""
    project = tomllib.loads(((top or HERE.parent) / "pyproject.toml").read_text(encoding="utf-8"))
    needed = []
    versions = []
    for requirement in map(Requirement, project["build-system"]["requires"]):
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            version = "none"
        if version == "none" or not requirement.specifier.contains(version, prereleases=True):
            needed.append(f'"{requirement.name}{requirement.specifier}"')
            versions.append(f"{requirement.name}: {version}")
    if not needed:
        return ""
    command = f"pip install {' '.join(needed)}"
    return f"both commits are built with {', '.join(needed)}, found {', '.join(versions)}; run: {command}"


def build_tree(tree: Path, *, cache: Path | None = None) -> bool:
    """Compile the kernels of a checkout in place, as an installation would; True if that was needed.

    With a ``cache`` what an earlier comparison compiled of the same sources, for this Python and with these flags, is
    taken from there.
    """
    stored = None if cache is None else cache / _build_key(tree)
    if stored is not None and stored.is_dir():
        shutil.copytree(stored, tree / "nmlsdr", dirs_exist_ok=True)
        return False
    run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], tree, "the build failed")
    if stored is not None:
        with tempfile.TemporaryDirectory(dir=_made(cache)) as folder:
            for library in (tree / "nmlsdr").glob("*.so"):
                shutil.copy2(library, folder)
            shutil.copytree(folder, stored)  # whole or not at all: a comparison that is stopped leaves no half
        for old in sorted(cache.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT_BUILDS]:
            shutil.rmtree(old, ignore_errors=True)
    return True


def _build_key(tree: Path) -> str:
    """Of what the kernels are made of, not of the commit: most commits change no kernel."""
    sources = "setup.py", "pyproject.toml", ":(glob)nmlsdr/**/*.pyx", ":(glob)nmlsdr/**/*.pxd", ":(glob)nmlsdr/**/*.h"
    listed = run(["git", "ls-files", "--stage", "--", *sources], tree, "no list of sources")
    settings = sys.version, *(os.environ.get(name, "") for name in ("CC", "CFLAGS", "LDFLAGS", "NMLSDR_DEBUG"))
    return hashlib.sha256(repr((listed, settings)).encode()).hexdigest()[:24]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(command: Sequence[str], folder: Path, failure: str, env: dict[str, str] | None = None) -> str:
    try:
        process = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)
    except OSError as error:
        raise Failure(f"{failure}: {command[0]} did not start ({error}).") from None
    if process.returncode:
        raise Failure(f"{failure}: {' '.join(command[:6])} said {(process.stderr or process.stdout).strip()[-1500:]}")
    return process.stdout


# ---------------------------------------------------------------- times


class Pair(NamedTuple):
    """Seconds of a call of BASE and of HEAD."""

    base: float
    head: float

    @property
    def ratio(self) -> float:
        return self.head / self.base


class Side:
    """A worker process on one checkout."""

    def __init__(self, tree: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "_worker.py")],
            env=environment(tree),
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        package = self.read()["package"]
        if Path(package) != (tree / "nmlsdr").resolve():
            raise Failure(f"the worker imported another nmlsdr than that of {tree.name}; uninstall editable installs.")

    def read(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"a worker ended: {self.process.stderr.read().strip()[-1500:]}")
        return json.loads(line)

    def ask(self, **content: Any) -> dict[str, Any]:
        self.process.stdin.write(json.dumps(content) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        self.process.wait(timeout=60)


def environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{HERE}", "PYTHONDONTWRITEBYTECODE": "1"}


def timed_pairs(
    base: Path, head: Path, cases: Sequence[tuple[str, int]], n_pairs: int, report: Any = lambda text: None
) -> tuple[dict[tuple[str, int], list[Pair]], dict[str, str]]:
    """``n_pairs`` pairs (more if these leave it open) by (case, threads); the cases a side lacks."""
    pairs_of: dict[tuple[str, int], list[Pair]] = {key: [] for key in cases}
    absent: dict[str, str] = {}
    open_cases = list(cases)
    while open_cases:
        with contextlib.ExitStack() as stack:
            sides = [stack.enter_context(contextlib.closing(Side(tree))) for tree in (base, head)]
            for case, n_threads in open_cases:
                if case not in absent:
                    pairs = pairs_of[case, n_threads]
                    target = n_pairs * (len(pairs) // n_pairs + 1)
                    reason = add_pairs(sides, case, n_threads, min(PAIRS_PER_START, target - len(pairs)), pairs)
                    absent.update({case: reason} if reason else {})
                    so_far = f"{np.median([pair.ratio for pair in pairs]):.3f}" if pairs else "none"
                    report(f"... {case} t{n_threads}: {len(pairs)} pairs, median {so_far}")
        open_cases = [key for key in open_cases if key[0] not in absent and wants_more(pairs_of[key], n_pairs)]
    return {key: pairs for key, pairs in pairs_of.items() if key[0] not in absent}, absent


def wants_more(pairs: Sequence[Pair], n_pairs: int) -> bool:
    if len(pairs) % n_pairs:
        return True
    return len(pairs) < MOST * n_pairs and is_open([pair.ratio for pair in pairs])


def add_pairs(sides: Sequence[Side], case: str, n_threads: int, count: int, pairs: list[Pair]) -> str | None:
    """Append ``count`` pairs, the order within a pair alternating; the reason if a side lacks the case."""
    for side in sides:
        alone = _cases.CASES[case].kind == "kernel"
        reply = side.ask(case=case, size=_cases.CASES[case].compare, threads=n_threads, alone=alone)
        if "absent" in reply:
            return reply["absent"]
    once = max(side.ask(repeat=1)["seconds"] for side in sides)
    repeat = max(1, min(1000, round(TURN_SECONDS / once)))
    for _ in range(count):
        order = (0, 1) if len(pairs) % 2 == 0 else (1, 0)
        least = [float("inf")] * 2
        for side_number in order * TURNS:
            least[side_number] = min(least[side_number], sides[side_number].ask(repeat=repeat)["seconds"])
        pairs.append(Pair(*(seconds / repeat for seconds in least)))
    return None


# ---------------------------------------------------------------- instructions


def instruction_count(tree: Path, case: str) -> int | None:
    """Instructions inside the compiled functions on the case's small size.

    None without valgrind or nm, and where a case spends nothing there.
    """
    if not (shutil.which("valgrind") and shutil.which("nm")):
        return None
    env = {**environment(tree), "NMLSDR_SIMD": "avx2"}
    env.pop("OPENBLAS_CORETYPE", None)  # of _blas.py: it may stand for AVX-512, which valgrind has not
    env.update(dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1"))
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [f"--toggle-collect={symbol}" for symbol in entry_points(tree)]
    command += [sys.executable, str(HERE / "_worker.py"), "--count", case, str(tree / "nmlsdr")]
    process = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    collected = re.search(r"Collected\s*:\s*(\d+)", process.stderr)
    if process.returncode or not collected:
        raise Failure(f"callgrind failed on {case}: {process.stderr.strip()[-800:]}")
    return int(collected[1]) or None


def instruction_ratio(base: Path, head: Path, case: str) -> float | None:
    """Instructions after the change over those before; None if they cannot be counted on both sides."""
    before = instruction_count(base, case)
    after = instruction_count(head, case)
    return None if before is None or after is None else after / before


def entry_points(tree: Path) -> list[str]:
    """The symbols that Python enters the kernels by.

    Cython writes a function of fused types as a dispatcher and its specialisations.  Entering a second toggled
    function would switch the count off again, so of those only the specialisations are taken.
    """
    symbols: set[str] = set()
    for library in (tree / "nmlsdr").glob("*.so"):
        for line in run(["nm", str(library)], tree, "nm failed").splitlines():
            name = line.split()[-1]
            if re.fullmatch(r"(__pyx_fuse_[0-9_]+)?__pyx_pw_6nmlsdr_\w+", name):
                symbols.add(name)

    def function(symbol: str) -> str:
        return re.sub(r"^.*__pyx_pw_6nmlsdr_(\d+)(_\w+?)_\d+(?=[a-z_])", r"\2:", symbol)

    fused = {function(name) for name in symbols if name.startswith("__pyx_fuse")}
    return sorted(name for name in symbols if name.startswith("__pyx_fuse") or function(name) not in fused)


# ---------------------------------------------------------------- the comparison


def wanted_cases(pattern: str, thread_counts: Sequence[int] = (1, 2)) -> list[tuple[str, int]]:
    """The cases that match, each with the numbers of threads it is to be timed on."""
    cases = [
        (case, n_threads)
        for case, spec in _cases.CASES.items()
        if spec.compare is not None and fnmatch.fnmatch(case, pattern)
        for n_threads in (thread_counts if spec.kind == "kernel" else thread_counts[-1:])
    ]
    if not cases:
        raise Failure(f"no case matches {pattern!r}; known are {', '.join(_cases.CASES)}.")
    return cases


def compare(
    base: Path,
    head: Path,
    *,
    pattern: str = "*",
    n_pairs: int = MIN_PAIRS,
    thread_counts: Sequence[int] = (1, 2),
    instructions: str = "auto",
    report: Any = print,
) -> list[dict[str, Any]]:
    """Compare two built checkouts, case by case; one record each."""
    cases = wanted_cases(pattern, thread_counts)
    records = []
    # One thread is counted, whatever was timed.
    ratio_of_instructions = functools.cache(lambda case: instruction_ratio(base, head, case))
    for (case, n_threads), pairs in _measured(base, head, cases, n_pairs, report):
        ratios = [pair.ratio for pair in pairs]
        kind = _cases.CASES[case].kind
        is_counted = kind == "kernel" and (instructions == "always" or (instructions == "auto" and is_slower(ratios)))
        instruction_share = ratio_of_instructions(case) if is_counted else None
        verdict = decide(ratios, kind, instruction_share)
        shown = f"{verdict.median:6.3f}  (95 % above {verdict.low:.3f}"
        shown += ")" if instruction_share is None else f", instructions {instruction_share:.3f})"
        report(f"{case:28s} t{n_threads}  {shown}  {verdict.outcome}")
        before, after = (1e3 * float(np.median(seconds)) for seconds in zip(*pairs, strict=True))
        records.append(
            {
                "case": case,
                "threads": n_threads,
                "pairs": len(pairs),
                "before": before,
                "after": after,
                **verdict._asdict(),
            }
        )
    if not records:
        raise Failure(f"neither commit can run a case that matches {pattern!r}.")
    return records


def _measured(
    base: Path, head: Path, cases: Sequence[tuple[str, int]], n_pairs: int, report: Any
) -> Iterator[tuple[tuple[str, int], list[Pair]]]:
    """The pairs of each comparison as soon as its group is done; processes are started for a few cases at a time."""
    for first in range(0, len(cases), AT_ONCE):
        pairs_of, absent = timed_pairs(base, head, cases[first : first + AT_ONCE], n_pairs, report)
        for case, reason in absent.items():
            report(f"{case:28s} skipped: {reason}")
        yield from pairs_of.items()


def store(records: Sequence[dict[str, Any]], base: str, head: str, load: int, command: str) -> None:
    """The table of this comparison; of a loaded machine it is another than of a quiet one."""
    name = "compare-loaded" if load else "compare-quiet"
    beside = "This comparison started no other processes."
    if load:
        beside = f"Measured while {load} other processes were busy."
    _harness.save_table(
        name,
        title=name,
        command=command,
        rows=records,
        columns=[
            ("case", "work", "s"),
            ("threads", "threads", "d"),
            ("before", "before", ".3f ms"),
            ("after", "after", ".3f ms"),
            ("median", "after / before", ".3f"),
            ("low", "95 % above", ".3f"),
            ("pairs", "pairs", "d"),
            ("outcome", "outcome", "s"),
        ],
        values={
            "median": float(np.median([record["median"] for record in records])),
            "regressions": sum(record["outcome"] == "REGRESSION" for record in records),
        },
        notes=f"Before: {base}; after: {head}. {beside} A pair is one time of each commit, the "
        f"smallest of {TURNS}. before, after: medians over the pairs. after / before: the median of the pairs' "
        "ratios; with 95 % confidence the true median is above the number in the next column. The load average "
        f"was {os.getloadavg()[0]:.1f} at the end.",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the speed of two commits on paired runs.")
    parser.add_argument("base", help="commit to compare with")
    parser.add_argument("head", nargs="?", default="HEAD", help="commit to judge (default: HEAD)")
    parser.add_argument("--cases", default="*", help='pattern such as "neighbours-*"')
    parser.add_argument("--pairs", type=int, default=MIN_PAIRS, help=f"at least {MIN_PAIRS}")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--instructions",
        choices=["auto", "always", "never"],
        default="auto",
        help="count them where the time suspects (default), everywhere, or nowhere",
    )
    parser.add_argument("--load", type=int, default=0, metavar="N", help="busy processes beside both (default: 0)")
    parser.add_argument("--json", type=Path, help="also write the records to this file")
    _harness.add_replace(parser)
    options = parser.parse_args(arguments)
    _harness.choose_folder(options.replace)
    if options.pairs < MIN_PAIRS:
        parser.error(f"--pairs must be at least {MIN_PAIRS}.")
    if isinstance(sys.stdout, io.TextIOWrapper):  # each comparison is shown when it is done, into a file too
        sys.stdout.reconfigure(line_buffering=True)
    try:
        records, names = compare_commits(options)
    except Failure as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    command_line = " ".join(arguments if arguments is not None else sys.argv[1:])
    store(records, *names, options.load, f"python bench/compare.py {command_line}")
    outcomes = collections.Counter(record["outcome"] for record in records)
    print(f"{len(records)} comparisons, {outcomes['REGRESSION']} regressions")
    if outcomes["unclear"]:
        print(f"{outcomes['unclear']} unclear: other work hides what there is; run these again when it is quieter.")
    return 1 if outcomes["REGRESSION"] else 0


def compare_commits(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[str]]:
    """Build both commits and compare them: the records, and the short names of the commits."""
    if sentence := missing_to_build():
        raise Failure(sentence)
    wanted_cases(options.cases)  # a mistyped pattern is told before minutes of building
    with checkouts([options.base, options.head]) as trees:
        for tree in trees:
            print(f"building {tree.name} ...", flush=True)
            if not build_tree(tree, cache=CACHE):
                print("... is built already", flush=True)
        names = [run(["git", "rev-parse", "--short", "HEAD"], tree, "no commit").strip() for tree in trees]
        print("A case that became up to 10 % slower passes.", flush=True)
        with _harness.busy(options.load):
            records = compare(
                *trees,
                pattern=options.cases,
                n_pairs=options.pairs,
                thread_counts=options.threads,
                instructions=options.instructions,
            )
    return records, names


if __name__ == "__main__":
    sys.exit(main())
