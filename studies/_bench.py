"""Makes the tools of bench/ importable.  Import it before NumPy, for the reason in bench/_blas.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import _blas  # noqa: F401
