"""Estimators, neighbours and graphs for Dask arrays: X need not fit into the memory of one process.

Each estimator is a subclass of the one of the same name in `nmlsdr`, fits Dask arrays, and answers them with Dask
arrays.  F, neighbours, counts and probabilities have the bits of one process however the rows are cut into blocks,
because every distance is the canonical one and lists are merged by (squared distance, row index).

Dask is imported by the first call that needs it (``pip install "nmlsdr[dask]"``).  Whether the tasks run in threads,
in processes or on a cluster is decided by Dask's own settings.
"""

from ._estimators import (
    MDDM,
    NMLSDR,
    SSMLDR,
    MLkNN,
    MultiLabelCCA,
    MultiLabelPropagation,
    ResidualPropagation,
    SemiSupervisedMLkNN,
)
from ._files import open_rows
from ._functions import kneighbors, neighbor_graph

__all__ = [
    "MDDM",
    "NMLSDR",
    "SSMLDR",
    "MLkNN",
    "MultiLabelCCA",
    "MultiLabelPropagation",
    "ResidualPropagation",
    "SemiSupervisedMLkNN",
    "kneighbors",
    "neighbor_graph",
    "open_rows",
]
