"""What every benchmark here shares: fair rounds, peak memory, the machine's limits, and result files.

A shared machine drifts by a factor of two within minutes, so nothing here compares times of different runs.
Contestants run in turns (:func:`alternate`), the order rotates, and the median of the better half of the
rounds is kept (:func:`better_half`).  A table holds ratios of such medians and is stored with
:func:`save_table`; ``tables.py`` writes it into the README files.

    python bench/bench_something.py        # a script that ends in save_table(...)
    python bench/bench_something.py --replace       # into bench/results, not into a folder of its own
    python bench/tables.py                 # fill the README files from bench/results/*.json
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

# Idle OpenMP threads of one contestant would otherwise spin for milliseconds on the cores of the next (libomp for
# 200 ms): suspected, not shown, in a run where ours took eight times as long beside faiss as beside scikit-learn.
# Read when such a library loads, so before any.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("KMP_BLOCKTIME", "0")

import _blas  # noqa: F401  (before NumPy: it chooses OpenBLAS's kernels)
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PACKAGES = [
    "nmlsdr",
    "numpy",
    "scipy",
    "scikit-learn",
    "threadpoolctl",
    "faiss-cpu",
    "scikit-multilearn-ng",
    "pynndescent",
    "hnswlib",
    "scikit-learn-intelex",
]
INTEL = "scikit-learn-intelex brute"


def by_intel(X: np.ndarray, k: int, n_threads: int) -> Callable[[], np.ndarray]:
    """The brute search of scikit-learn-intelex (oneDAL), which ignores ``n_jobs`` and has a number of threads itself.

    Raises ImportError if it is not installed.
    """
    daal4py = importlib.import_module("daal4py")
    sklearnex = importlib.import_module("sklearnex.neighbors")

    def search() -> np.ndarray:
        daal4py.daalinit(n_threads)
        return sklearnex.NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X).kneighbors(X)[1][:, 1:]

    return search


# ---------------------------------------------------------------- times


def alternate(
    contestants: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 8,
    warmup: int = 1,
    budget: float | None = None,
    min_rounds: int = 3,
) -> dict[str, list[float]]:
    """Time the contestants in turns and return the seconds of each round.

    Parameters
    ----------
    contestants : mapping of str to callable without arguments
        What to time.  A contestant that must start fresh builds its own state.
    rounds : int
        Each round runs every contestant once; the first one changes from round to round.
    warmup : int
        Untimed calls of each, for caches, lazy imports and just-in-time compilers.
    budget : float, optional
        Seconds after which no new round begins, once ``min_rounds`` are done.

    Returns
    -------
    dict of str to list of float
        One time per round, in seconds of the wall clock.
    """
    return alternate_with_cpu(contestants, rounds=rounds, warmup=warmup, budget=budget, min_rounds=min_rounds)[0]


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect garbage now, and not while something is timed."""
    was_collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


def alternate_with_cpu(
    contestants: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 8,
    warmup: int = 1,
    budget: float | None = None,
    min_rounds: int = 3,
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """`alternate`, and the seconds that all threads of this process worked or spun in each round."""
    names = list(contestants)
    for name in names:
        for _ in range(warmup):
            contestants[name]()
    times: dict[str, list[float]] = {name: [] for name in names}
    worked: dict[str, list[float]] = {name: [] for name in names}
    began = time.perf_counter()
    for turn in range(rounds):
        if budget is not None and turn >= min_rounds and time.perf_counter() - began > budget:
            break
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            with no_garbage_collection():
                start = time.perf_counter()
                cpu = time.process_time()
                contestants[name]()
                times[name].append(time.perf_counter() - start)
                worked[name].append(time.process_time() - cpu)
    return times, worked


def better_half(times: Sequence[float]) -> float:
    """Median of the faster half of the times (at least one): steady against bursts of other work."""
    fast_half = sorted(times)[: max(1, (len(times) + 1) // 2)]
    return float(statistics.median(fast_half))


def ratios(times: Mapping[str, Sequence[float]], ours: str) -> dict[str, float]:
    """How many times slower each other contestant is than ``ours``, by :func:`better_half`."""
    base = better_half(times[ours])
    return {name: better_half(values) / base for name, values in times.items() if name != ours}


@contextmanager
def threads(n_threads: int):
    """Hold BLAS and OpenMP pools of this process at ``n_threads`` (pass it as ``n_jobs`` as well)."""
    with threadpool_limits(limits=n_threads):
        yield


# It ends with the process that started it, however that ends.
SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100_000))
"""


@contextmanager
def busy(count: int):
    """Run the body beside so many processes that do nothing, as fast as they can; 0: beside none."""
    processes = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(count)]
    try:
        if processes:
            time.sleep(1.0)  # until they have started
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


# ---------------------------------------------------------------- memory


CHILD = """
import json, os, resource, sys

def status(key):
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return None

{setup}
try:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")          # the high-water mark starts again here
except OSError:
    pass
before = status("VmRSS")
{statement}
peak = status("VmHWM")
if before is None or peak is None:
    scale = 1 if sys.platform == "darwin" else 1024
    before, peak = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
print(json.dumps(dict(before=before, peak=peak, over=max(0, peak - before))))
"""


def peak_memory(setup: str, statement: str, *, env: Mapping[str, str] | None = None, timeout: float = 600) -> dict:
    """Run ``statement`` after ``setup`` in a fresh process and return its peak resident memory in bytes.

    Both are program text.  Returns ``before`` (resident after the set-up: interpreter, libraries, inputs),
    ``peak`` and ``over`` = peak - before, which is what the statement needed beyond its inputs.  Let the set-up
    call the function once on small data where libraries load lazily.
    """
    program = CHILD.replace("{setup}", textwrap.dedent(setup)).replace("{statement}", textwrap.dedent(statement))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)]), **(env or {})}
    child = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )
    if child.returncode:
        raise RuntimeError(f"the measured process failed:\n{child.stderr.strip()[-2000:]}")
    return json.loads(child.stdout.strip().splitlines()[-1])


# ---------------------------------------------------------------- the machine


def machine_facts() -> dict[str, Any]:
    """Processor, caches, memory, versions, commit and date; no host name, no user, no path."""
    return {
        "processor": _processor(),
        "cores": available_cores(),
        "caches": _caches(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "blas": sorted(
            {
                " ".join(str(pool[key]) for key in ("internal_api", "version", "architecture") if pool.get(key))
                for pool in threadpool_info()
            }
        ),
        "simd": os.environ.get("NMLSDR_SIMD", "auto"),
        "versions": {name: release for name in PACKAGES if (release := _version(name))},
        "commit": commit(),
        "date": date.today().isoformat(),
    }


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def commit() -> str:
    """Short hash of the checkout, with + if a program of it has changes; "unknown" outside one."""
    programs = (":/", ":(top,exclude)bench/results", ":(top,exclude)*.md")  # a run writes results, one after the other
    try:
        shown = subprocess.run(
            ["git", "describe", "--always", "--exclude=*"], cwd=HERE, capture_output=True, text=True, check=True
        )
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", *programs], cwd=HERE, check=False)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return shown.stdout.strip() + ("+" if changed.returncode else "")


def _version(name: str) -> str | None:
    try:  # a checkout of nmlsdr that is on the path has no metadata
        return str(importlib.import_module(name).__version__) if name == "nmlsdr" else version(name)
    except ImportError:  # as `compare.py` may be, without one of the two that it builds
        return None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _caches() -> list[str]:
    caches = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            caches.append(f"L{level} {size}")
    return caches


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, ValueError, OSError):
        return None


# ---------------------------------------------------------------- physical limits


def gemm_gflops(dtype: Any = np.float32, *, n_threads: int = 2, size: int = 2048, rounds: int = 5) -> float:
    """Best rate of a square matrix product (2 size^3 flops) in GFLOP/s."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size)).astype(dtype) for _ in range(2))
    out = np.empty((size, size), dtype)
    with threads(n_threads):
        best = min(alternate({"gemm": lambda: np.matmul(a, b, out=out)}, rounds=rounds)["gemm"])
    return 2 * size**3 / best / 1e9


def copy_gbytes(*, n_threads: int = 2, megabytes: int = 256, rounds: int = 5) -> float:
    """Best rate of copying an array larger than the caches, bytes read plus bytes written, in GB/s."""
    from concurrent.futures import ThreadPoolExecutor

    source = np.ones(megabytes * 2**17)
    target = np.zeros_like(source)
    parts = list(zip(np.array_split(target, n_threads), np.array_split(source, n_threads), strict=True))
    with ThreadPoolExecutor(n_threads) as pool:  # NumPy releases the lock while it copies
        best = min(alternate({"copy": lambda: list(pool.map(lambda p: np.copyto(*p), parts))}, rounds=rounds)["copy"])
    return 2 * source.nbytes / best / 1e9


def limits(*, n_threads: int = 2) -> dict[str, float]:
    """The physical limits of this machine at this moment; measure them in the run whose numbers they judge."""
    return {
        "threads": n_threads,
        "sgemm_gflops": gemm_gflops(np.float32, n_threads=n_threads),
        "dgemm_gflops": gemm_gflops(np.float64, n_threads=n_threads),
        "copy_gbytes": copy_gbytes(n_threads=n_threads),
    }


# ---------------------------------------------------------------- result files


def kept(path: Path) -> list[Any]:
    """What interrupted runs have kept in a file by `keep`; nothing, if there is none."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def keep(path: Path, record: Any) -> None:
    """Add to a file what is finished, a line of JSON, so that an interrupted run can go on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def save_table(
    name: str,
    *,
    title: str,
    command: str,
    columns: Sequence[tuple[str, str, str]],
    rows: Sequence[Mapping[str, Any]],
    values: Mapping[str, Any] | None = None,
    notes: str = "",
    facts: Mapping[str, Any] | None = None,
    runs: Mapping[str, Any] | None = None,
    folder: Path | None = None,
) -> Path:
    """Store one table as NAME.json, print it, and return where it is.

    Without a folder it goes to one that this run has for itself, or with ``--replace`` (`choose_folder`) to
    bench/results, from where ``tables.py`` shows it where a README asks for it.

    Parameters
    ----------
    name : str
        File name without ending; a README shows the table between ``<!-- bench:table NAME -->`` and
        ``<!-- bench:end -->``.
    title, command, notes : str
        Heading, the command that makes this file, and remarks under the table.
    columns : sequence of (key, heading, format)
        In order of appearance; the format is a format specification such as ``.2f``, ``d``, ``s`` or ``.1f x``
        (what follows a space is a unit).
    rows : sequence of mappings
        One value per key; a missing key or None is shown as a dash.
    values : mapping, optional
        Single numbers that a text quotes: ``<!-- bench:value NAME KEY .1f -->1.8<!-- bench:end -->``.
    facts : mapping, optional
        Further facts; :func:`machine_facts` is always stored.
    runs : mapping, optional
        The facts of earlier runs, by the ``run`` of the rows that are theirs (`carried`).  Other rows get this one.
    """
    import tables

    folder = _own_folder() if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    machine = {**machine_facts(), **(facts or {})}
    run = f"{machine['date']} {machine['commit']}"
    stamped = [{"run": run, **row} for row in rows]
    content = {
        "name": name,
        "title": title,
        "command": command,
        "notes": notes,
        "machine": machine,
        "runs": {key: {**(runs or {}), run: machine}[key] for key in sorted({row["run"] for row in stamped})},
        "columns": [list(column) for column in columns],
        "rows": stamped,
        "values": dict(values or {}),
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=1, default=_plain) + "\n", encoding="utf-8")
    print(tables.render(json.loads(path.read_text(encoding="utf-8"))))
    print(f"{title}: {len(rows)} rows -> {path.name} in {folder.name}")
    return path


_folder: Path | None = Path(os.environ["BENCH_RESULTS"]) if "BENCH_RESULTS" in os.environ else None


def add_replace(parser: Any) -> None:
    """The option that every script has; give its value to `choose_folder`."""
    parser.add_argument(
        "--replace", action="store_true", help="replace the committed results (else: a folder of this run's own)"
    )


def choose_folder(replace: bool) -> None:
    """Where the tables of this run go."""
    global _folder
    _folder = RESULTS if replace else None


def _own_folder() -> Path:
    global _folder
    if _folder is None:
        _folder = HERE / "runs" / time.strftime("%Y%m%d-%H%M%S")
    return _folder


def carried(stored: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of an earlier result file, each with the run that made it, and these runs' facts."""
    machine = stored["machine"]
    earlier = f"{machine['date']} {machine['commit']}"
    return [{"run": earlier, **row} for row in stored["rows"]], {earlier: machine, **stored.get("runs", {})}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be stored in a result file.")
