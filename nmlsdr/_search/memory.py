"""How much memory this machine has, and rows that lie in a file because it is not enough."""

import os
from typing import Any

import numpy as np


def memory_bytes() -> float:
    """Bytes of this machine's memory; infinite where the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def is_memory_map(rows: Any) -> bool:
    """Whether dense rows lie in a file that is mapped into memory."""
    while isinstance(rows, np.ndarray) and not isinstance(rows, np.memmap):
        rows = rows.base
    return isinstance(rows, np.memmap)


def is_out_of_core(rows: Any) -> bool:
    """Whether dense rows are a memory map of more than half of the memory: to be read in order.

    A smaller map, such as joblib makes for its workers, is as good as an array.
    """
    return is_memory_map(rows) and rows.nbytes > memory_bytes() / 2
