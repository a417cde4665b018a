"""Eight estimators for Dask arrays: X need not fit into the memory of one process.

Each estimator is a subclass of the estimator of the same name in `nmlsdr`. It can be fitted to Dask arrays, and
returns Dask arrays for Dask arrays. Soft labels, neighbours, counts, and the probabilities of both ML-kNN classifiers
and of MultiLabelPropagation equal those of one process to the last bit, however the rows are divided into blocks.
This is so because every distance is computed by the same formula, and lists are merged in the order (squared
distance, row index). Components are sums over blocks: they agree to 1e-10, and so do the results computed from them,
such as all of ResidualPropagation.

Dask is imported by the first call that needs it (``pip install "nmlsdr[dask]"``). The settings of Dask decide whether
tasks run in threads, in processes or on a cluster.
"""

from . import _estimators
from ._blocks import open_rows
from ._estimators import *  # noqa: F403

__all__ = ["open_rows", *_estimators.__all__]
