"""Eight estimators, neighbours and graphs for Dask arrays: X need not fit into the memory of one process.

Each estimator is a subclass of the one of the same name in `nmlsdr`. It fits Dask arrays, and answers them with Dask
arrays. F, neighbours, counts and the probabilities of both ML-kNN classifiers and of MultiLabelPropagation have the
bits of one process however the rows are cut into blocks, because every distance is computed by the same formula and
lists are merged by (squared distance, row index). Components are sums over blocks: they agree to 1e-10, and so do the
results computed from them, such as all of ResidualPropagation.

Dask is imported by the first call that needs it (``pip install "nmlsdr[dask]"``). Dask's own settings decide whether
tasks run in threads, in processes or on a cluster.
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
