"""Fixtures of the suite: the machine's limits in this run, pinned threads, and the opt-in for the long sizes."""

import os
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests")]  # the plain twin is in tests/

import _harness  # noqa: E402


def pytest_addoption(parser):
    parser.addoption(
        "--full",
        action="store_true",
        default=os.environ.get("NMLSDR_BENCH_FULL", "0") not in ("", "0"),
        help="also run the large sizes (an hour; default: NMLSDR_BENCH_FULL)",
    )
    parser.addoption("--no-memory", action="store_true", help="do not measure peak memory in a child process")


def pytest_benchmark_update_machine_info(config, machine_info):
    """pytest-benchmark's own record, without the host's name, and of ours what two commits on one machine share."""
    machine_info.pop("node", None)
    facts = _harness.machine_facts()
    machine_info["nmlsdr"] = {name: fact for name, fact in facts.items() if name not in ("commit", "date")}


@pytest.fixture(scope="session")
def limits():
    """sgemm and dgemm peak and copy bandwidth, measured in this run, by thread count."""
    return {n_threads: _harness.limits(n_threads=n_threads) for n_threads in (1, 2)}


@pytest.fixture
def measure(benchmark, limits, request):
    """Time one call within about a second and note what everyone wants to know of it."""

    def run(call, *, n_threads, amount=None, limit=None, budget=0.5, **info):
        with _harness.threads(n_threads):
            call()
            once = _harness.alternate({"call": call}, rounds=1, warmup=0)["call"][0]
            rounds = max(3, min(30, round(budget / max(once, 1e-4))))
            benchmark.pedantic(call, rounds=rounds, iterations=max(1, round(2e-3 / max(once, 1e-6))), warmup_rounds=0)
        benchmark.extra_info.update(info, threads=n_threads, commit=_harness.commit())
        if benchmark.stats is not None:  # --benchmark-disable runs the call once and keeps no times
            seconds = _harness.better_half(benchmark.stats.stats.data)
            benchmark.extra_info["seconds"] = seconds
            if amount and limit:
                benchmark.extra_info.update(
                    limit=limit, share=amount / seconds / 1e9 / limits[n_threads][limit], limits=limits[n_threads]
                )
        return benchmark.extra_info

    return run


@pytest.fixture(scope="session")
def child(request):
    """A process of its own for memory: call it with a case, a size and threads for the peak bytes, or None."""
    if request.config.getoption("--no-memory"):
        yield lambda case, size, n_threads: None
        return
    from compare import Side

    import nmlsdr

    side = Side(Path(nmlsdr.__file__).resolve().parents[1])

    def peak(case, size, n_threads):
        side.ask(case=case, size=size, threads=n_threads)
        return side.ask(memory=True)["bytes"]

    yield peak
    side.close()
