"""Every peer works as it would alone: OpenBLAS with the best kernels, scikit-learn with all threads.

Import it before NumPy.  An OpenBLAS that does not know a processor falls back to the kernels of old ones: that of
faiss-cpu 1.15 takes SSE2 kernels on Zen 5, at a quarter of the rate of its AVX-512 kernels.  OPENBLAS_CORETYPE is read
when the library loads.

During a search scikit-learn holds every BLAS to one thread that was loaded when it first searched.  The OpenBLAS of
faiss uses the OpenMP of scikit-learn, which would then have one thread too.  So scikit-learn searches here, before
anything loads faiss.
"""

import os
from pathlib import Path


def best_kernels(cpuinfo: str) -> str | None:
    """OpenBLAS's name for the kernels that a processor of these flags can run; None: leave the choice to it."""
    flags = next((set(line.split()) for line in cpuinfo.splitlines() if line.startswith("flags")), set())
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= flags else None


_cpuinfo = Path("/proc/cpuinfo")
if _cpuinfo.exists() and (_best := best_kernels(_cpuinfo.read_text(encoding="utf-8", errors="replace"))):
    os.environ["OPENBLAS_CORETYPE"] = _best

from sklearn.neighbors import NearestNeighbors  # noqa: E402  (after the choice of the kernels)

NearestNeighbors(n_neighbors=1, algorithm="brute").fit([[0.0], [1.0]]).kneighbors()
