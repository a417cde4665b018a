"""One side of compare.py: holds the work of one checkout and times it when told to.

Reads one JSON object a line and answers with one:

    {"case": NAME, "size": {...}, "threads": T}     -> {"ready": true} or {"absent": "reason"}
    {"repeat": R}                                    -> {"seconds": of R calls}

With ``--count CASE PACKAGE`` it runs the small size of a case and ends: what callgrind counts.  The package's
``__init__`` is left out then, because importing scikit-learn under valgrind takes a minute.
"""

from __future__ import annotations

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

    work, n_threads = None, 1
    for line in sys.stdin:
        asked = json.loads(line)
        if "case" in asked:
            n_threads = asked["threads"]
            try:
                work = _cases.build(asked["case"], asked["size"])
                with threads(n_threads):
                    work.run(n_threads)
            except _cases.NotHere as error:
                answer({"absent": str(error)})
                continue
            answer({"ready": True})
        else:
            with threads(n_threads):
                gc.collect()
                gc.disable()
                start = time.perf_counter()
                for _ in range(asked["repeat"]):
                    work.run(n_threads)
                seconds = time.perf_counter() - start
                gc.enable()
            answer({"seconds": seconds})


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
        import nmlsdr

        answer({"package": str(Path(nmlsdr.__file__).resolve().parent)})
        serve()
