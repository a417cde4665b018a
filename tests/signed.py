"""`propagate_signed` for graphs and numbers as a test writes them."""

import numpy as np

from nmlsdr import propagation
from nmlsdr._checks.arguments import check_graph


def propagate_signed(W, R, alpha, *, labeled, **settings):
    """Numbers of unlabelled rows and unknown entries may be anything."""
    known = labeled if labeled.ndim == 2 else labeled[:, None]
    return propagation.propagate_signed(check_graph(W), np.where(known, R, 0.0), alpha, labeled=labeled, **settings)
