"""The whole methods: NMLSDR by Algorithm 1 of the article, and ResidualPropagation."""

import itertools

import forest_reference
import numpy as np

from .arrays import on_one_thread
from .graph import kneighbors, neighbor_graph, transition_matrix
from .projection import feature_weights, hsic_projection
from .propagation import propagate
from .ridge import cross_fit, ridge_regression
from .thresholds import f1_cutoff, flip_rate, prior_cutoffs


@on_one_thread
def nmlsdr(X, Y, labeled, n_components, n_neighbors=10, alpha_labeled=0.6, alpha_unlabeled=0.999, shrinkage=0.0):
    """Algorithm 1 of the article, on features shrunken by b: (P' diag(w)^1/2, eigenvalues, F, F~)."""
    w = 1.0 - shrinkage * (1.0 - feature_weights(X[labeled], Y[labeled]))
    root = np.sqrt(w if w.any() else np.ones(len(w)))
    X = X * root
    W = neighbor_graph(X, n_neighbors)
    F = propagate(W, Y, np.where(labeled, alpha_labeled, alpha_unlabeled), labeled)
    F_tilde = np.where(labeled[:, None], F > 0.5, F)
    components, eigenvalues = hsic_projection(X, F_tilde, n_components)
    return components * root, eigenvalues, F, F_tilde


def learner_weights(predictions, Y):
    """Halfway between equal weights and those of the smallest squared error, with weights >= 0 that sum to 1."""
    n_learners = len(predictions)
    misses = np.array([(Y - O).ravel() for O in predictions]).T
    best = None
    smallest = np.inf
    for face in itertools.chain.from_iterable(itertools.combinations(range(n_learners), m) for m in (3, 2, 1)):
        first, *followers = face  # the weight of the first is what the others leave
        a = np.zeros(n_learners)
        differences = misses[:, [first]] - misses[:, followers]
        a[followers] = np.linalg.lstsq(differences, misses[:, first], rcond=None)[0] if followers else []
        a[first] = 1.0 - a.sum()
        if (a >= 0).all() and np.sum((misses @ a) ** 2) < smallest:
            best = a
            smallest = np.sum((misses @ a) ** 2)
    return (best + 1.0 / n_learners) / 2.0


def residual_propagation(
    X, Y, labeled, queries, n_components, n_neighbors=10, n_trees=0, weight=0.75, a_L=0.6, a_U=0.999
):
    """The whole of it: weights, rate, E, scores of the queries, thresholds by "f1" and "prior", flip scores."""
    Y = np.where(labeled[:, None], Y, 0.0)
    b, c, O1, _ = cross_fit(X[labeled], Y[labeled])
    components, *_ = nmlsdr(X, Y, labeled, n_components, n_neighbors, a_L, a_U, shrinkage=b)
    w = 1.0 - b * (1.0 - feature_weights(X[labeled], Y[labeled]))
    coef, intercept = ridge_regression(X[labeled], Y[labeled], c, w if w.any() else np.ones(len(w)))

    # 1, 2: the learners and their weights
    kinds = (0, 1) if n_trees and labeled.sum() >= 6 else ()
    grown = [forest_reference.grow_forest(X[labeled], Y[labeled], 0, n_trees, several) for several in kinds]
    predictions = [O1]
    for trees, left_out in grown:
        out_of_bag = forest_reference.predict(trees, X[labeled], left_out)
        predictions.append(np.where(left_out.any(axis=0)[:, None], out_of_bag, O1))
    a = learner_weights(predictions, Y[labeled])
    O = sum(share * each for share, each in zip(a, predictions, strict=True))

    def trend(rows):
        learned = [rows @ coef.T + intercept, *(forest_reference.predict(trees, rows) for trees, _ in grown)]
        return sum(share * each for share, each in zip(a, learned, strict=True))

    # 3, 4: the residuals over two graphs
    R = np.zeros(Y.shape)
    R[labeled] = Y[labeled] - O
    P = X @ coef.T + intercept
    P[labeled] = O1
    mean = X.mean(axis=0)
    k = min(2 * n_neighbors, len(X) - 1)
    A = np.diag(np.where(labeled, a_L, a_U))
    E = []
    scores = trend(queries)
    V = O.copy()
    places = ((X - mean) @ components.T, (queries - mean) @ components.T), (P, queries @ coef.T + intercept)
    for rows, new in places:
        T = transition_matrix(neighbor_graph(rows, k))
        solve = np.linalg.inv(np.eye(len(X)) - A @ T) @ (np.eye(len(X)) - A)
        E.append(solve @ R)
        V += weight / 2 * (T @ E[-1])[labeled]
        scores += weight / 2 * E[-1][kneighbors(rows, k, queries=new)[1]].mean(axis=1)

    # 5: thresholds and review
    rate = flip_rate(O.ravel(), Y[labeled].ravel())
    u = np.clip(V, 0.0, 1.0)
    flip_scores = np.zeros(Y.shape)
    flip_scores[labeled] = np.where(Y[labeled] == 1, 1.0 - u, u)
    shares = np.clip((Y[labeled].mean(axis=0) - rate) / (1 - 2 * rate), 0.0, 1.0)
    return {
        "weights": a,
        "O": O,
        "rate": rate,
        "E": np.array(E),
        "scores": scores,
        "flip_scores": flip_scores,
        "f1": f1_cutoff(V.ravel(), rate),
        "macro": [f1_cutoff(column, rate) for column in V.T],
        "prior": prior_cutoffs(u, shares),
    }
