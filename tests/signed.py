"""`propagate_signed` for graphs and numbers as a test writes them."""

import numpy as np

from nmlsdr import propagation
from nmlsdr._checks.arguments import check_alpha, check_graph
from nmlsdr._solvers.system import Goal, System


def propagate_signed(W, R, alpha, *, labeled, **settings):
    """Numbers of unlabelled rows and unknown entries may be anything."""
    known = labeled if labeled.ndim == 2 else labeled[:, None]
    alpha = check_alpha(alpha, len(R), n_labels=np.shape(R)[1])
    system = System(check_graph(W), np.where(known, R, 0.0), alpha, labeled, 1, clip=False)
    return propagation.propagate_signed(system, Goal(**{"tol": 1e-8, **settings}))
