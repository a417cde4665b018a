"""A process that holds the work of one checkout, and times it or measures its memory when told to.

compare.py keeps two of them; the suite keeps one for memory.

Reads one JSON object a line and answers with one:

    {"case": NAME, "size": {...}, "threads": T}     -> {"ready": true} or {"absent": "reason"}
        with "alone": true, the kernels are timed without the checks around them where the case has them apart
    {"repeat": R}                                    -> {"seconds": of R calls}
    {"memory": true}                                 -> {"bytes": peak of one call over what was resident before}

With ``--count CASE PACKAGE`` it runs the small size of a case and ends: what callgrind counts.  The package's
``__init__`` is left out then, because importing scikit-learn under valgrind takes a minute.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
import types
from pathlib import Path


def answer(content: dict) -> None:
    print(json.dumps(content), flush=True)


def serve() -> None:
    import _cases
    from _harness import threads

    work = None
    call = None
    n_threads = 1
    for line in sys.stdin:
        request = json.loads(line)
        if "case" in request:
            n_threads = request["threads"]
            alone = request.get("alone", False)
            try:
                work = _cases.build(request["case"], request["size"])
                call = (work.alone if alone else None) or work.run
                with threads(n_threads):
                    call(n_threads)
            except _cases.NotHere as error:
                answer({"absent": str(error)})
                continue
            answer({"ready": True})
        elif "memory" in request:
            with threads(n_threads):
                answer({"bytes": peak_over(work.run, n_threads)})
        else:
            with threads(n_threads):
                gc.collect()
                gc.disable()
                start = time.perf_counter()
                for _ in range(request["repeat"]):
                    call(n_threads)
                seconds = time.perf_counter() - start
                gc.enable()
            answer({"seconds": seconds})


def peak_over(call, n_threads: int) -> int | None:
    """Peak resident bytes of a call beyond what was resident before; None where Linux's counters are missing.

    The freed heap is given back first, or the call would be served from what an earlier one left behind.
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts again here
        before = resident("VmRSS")
        result = call(n_threads)
        over = max(0, resident("VmHWM") - before)
    except (OSError, AttributeError):
        return None
    del result
    return over


def resident(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


def count(name: str, package: str) -> None:
    module = types.ModuleType("nmlsdr")
    module.__path__ = [package]
    sys.modules["nmlsdr"] = module
    import _cases

    work = _cases.build(name, _cases.CASES[name].small)
    for _ in range(5):  # so that what `build` itself called weighs little
        work.run(1)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--count":
        count(sys.argv[2], sys.argv[3])
    else:
        import _harness  # noqa: F401  before the package, because it sets how idle threads wait

        import nmlsdr

        answer({"package": str(Path(nmlsdr.__file__).resolve().parent)})
        serve()
