"""Estimate and log the cost of a large search before it starts: over a minute of time, or half of the memory.

The first large search of a process also warns if the kernels were built without OpenMP or without the vector
instructions of x86 processors: the search then takes many times longer than necessary.

The estimate goes to the logger "nmlsdr" at level INFO.  The command line writes it to stderr; a program sees it after
``logging.basicConfig(level=logging.INFO)``.  If that level is disabled, nothing is measured.

The time is proportional to the number of pairs.  The time of a pair, with its features, is measured: some of the rows
are searched as queries on one thread.  A search of the rows among themselves computes each pair once, hence the
factor 1/2, and the work is assumed to divide evenly among the threads.  A tree (up to 8 features) computes fewer pairs,
in the measured part too.
"""

import functools
import logging
import platform
import time
from typing import Any, NamedTuple

import numpy as np

import nmlsdr._graph as _graph

from .._moments import n_stored
from .._process.threads import check_n_jobs, single_threaded_blas
from .memory import memory_bytes
from .run import squared_neighbors
from .strategy import LOGGER

LONG = 60.0  # seconds
_PROBED = 96, 768  # queries of the probe; a probe of 96 packs all rows too, which adds about a fifth to its time
_PROBE_WORK = 1e10  # queries times stored features of a probe, about .1 s
# With fewer pairs times stored features, no data set took a minute on one thread: the slowest were clusters whose rows
# only canonical distances can order (docs/neighbours.md).  It only decides whether to spend a second on a probe.
PROBE_FROM = 3e11
# Bytes at the peak: the lists of neighbours (16 bytes each), the graph made of them, and the arrays that
# `graph.union_graph` sorts; counted, and confirmed with tracemalloc.
BYTES_PER_NEIGHBOR = 56


class Estimate(NamedTuple):
    """What a search will cost."""

    seconds: float
    bytes: int  # in addition to the rows
    n_probed: int  # queries of the probe
    n_threads: int


def say_if_large(rows: Any, n_neighbors: int, *, n_queries: int | None = None, n_jobs: int | None = None) -> None:
    """Log the estimate of a search if it is large and the level INFO is enabled.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_samples, n_features)
        Checked rows.
    n_neighbors : int
        k, self excluded.
    n_queries : int, optional
        None: the rows among themselves.
    n_jobs : int, optional
        Threads; None: all that are allowed.
    """
    n = rows.shape[0]
    m = rows.shape[0] if n_queries is None else n_queries
    if float(m) * n_stored(rows) >= PROBE_FROM:
        _say_slow_build()
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    half_of_memory = memory_bytes() / 2
    if float(m) * n_stored(rows) < PROBE_FROM and BYTES_PER_NEIGHBOR * m * n_neighbors < half_of_memory:
        return
    estimate = estimate_search(rows, n_neighbors, n_queries=n_queries, n_jobs=n_jobs)
    if estimate.seconds < LONG and estimate.bytes < half_of_memory:
        return
    threads = f"{estimate.n_threads} thread{'s' if estimate.n_threads > 1 else ''}"
    pairs = f"{n} rows" if n_queries is None else f"{m} rows among {n}"
    LOGGER.info(
        f"The {n_neighbors} nearest neighbours of {pairs}, with {rows.shape[1]} features, will take about "
        f"{duration(estimate.seconds)} on {threads} and {estimate.bytes / 2**30:.1f} GiB in addition to the data; "
        f"this is an estimate from a probe of {estimate.n_probed} rows."
    )


@functools.cache  # no key: the build of the process never changes, and one warning is enough
def _say_slow_build() -> None:
    """Warn, once, of a build that leaves cores or vectors idle."""
    facts = _graph.build_facts()
    without = ["OpenMP (one thread does all)"] if not facts["openmp"] else []
    vectors = {"x86_64": "AVX2 and AVX-512", "amd64": "AVX2 and AVX-512", "aarch64": "NEON", "arm64": "NEON"}
    if facts["n_simd_levels"] == 1 and (missing := vectors.get(platform.machine().lower())):
        without.append(missing)
    if without:
        LOGGER.warning(
            f"The kernels of nmlsdr were built without {' and without '.join(without)}; large searches are slow. "
            "Install a wheel, or build with GCC or clang and OpenMP; `nmlsdr info` shows the build."
        )


def estimate_search(
    rows: Any, n_neighbors: int, *, n_queries: int | None = None, n_jobs: int | None = None
) -> Estimate:
    """Pairs of a search times the measured time of a pair; arguments as in `say_if_large`."""
    m = rows.shape[0] if n_queries is None else n_queries
    n_threads = check_n_jobs(n_jobs)
    probed = int(np.clip(_PROBE_WORK / max(1, n_stored(rows)), *_PROBED))
    pairs = m / 2 if n_queries is None else m  # for each row
    seconds = _probe(rows, n_neighbors, probed) / probed * pairs / n_threads
    return Estimate(seconds, BYTES_PER_NEIGHBOR * m * n_neighbors, probed, n_threads)


def _probe(rows: Any, n_neighbors: int, n_queries: int) -> float:
    """Seconds of this thread for so many queries."""
    n = rows.shape[0]
    queries = rows[np.linspace(0, n - 1, n_queries).astype(np.intp)]
    with single_threaded_blas():
        began = time.thread_time()
        squared_neighbors(rows, min(n_neighbors, n), queries=queries, n_jobs=1)
        return time.thread_time() - began


def duration(seconds: float) -> str:
    """Round to one or two digits, since an estimate is not more precise.

    Examples
    --------
    >>> duration(8.4), duration(130.0), duration(9000.0)
    ('8 s', '2 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
