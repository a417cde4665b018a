"""The plain twin: one NumPy function per kernel, written to be read as a proof.

Imported by tests and benchmarks only; the package never falls back to it.
The kernels must equal these functions bit for bit.

    graph.py            distances, neighbours, the graph and its transition matrix
    propagation.py      label propagation: closed form, iterative solver, elimination
    projection.py       the HSIC projection, feature weights, eigenproblems of the baselines
    label_weights.py    weights of the labels of a row in wMLDA
    ridge.py            ridge regression, its cross-validation, the Newton step
    mlknn.py            ML-kNN
    link.py             from scores to probabilities
    thresholds.py       rates of label noise, decision thresholds
    methods.py          NMLSDR and ResidualPropagation as a whole
    review.py           the order of questions, what verdicts tell
    canonical_order.py  the canonical order of rows
    arrays.py           what the others share
"""

from .canonical_order import row_order
from .graph import kneighbors, metric_distances, neighbor_graph, radius_neighbors, transition_matrix, unit_rows
from .label_weights import (
    correlation_weights,
    dependence_sweep,
    dependence_weights,
    dot,
    entropy_weights,
    fuzzy_weights,
)
from .link import fit_link, linked
from .methods import learner_weights, nmlsdr, residual_propagation
from .mlknn import count_neighbor_labels, label_histogram, mlknn_posterior
from .projection import (
    cca_matrices,
    feature_weights,
    generalized_projection,
    hsic_projection,
    mddm_matrices,
    mvmd_matrix,
    weighted_lda_matrices,
)
from .propagation import bfloat16, cg_sweeps, eliminate, flush, propagate, residual
from .review import rank_unknown, verdict_factors
from .ridge import cross_fit, newton_step, ridge_regression
from .thresholds import f1_cutoff, flip_rate, forget_rate, prior_cutoffs
