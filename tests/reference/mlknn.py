"""ML-kNN: counts of labels among neighbours, and their posterior."""

import numpy as np


def count_neighbor_labels(Y, indices):
    """delta_ij: how many of row i's neighbours carry label j."""
    return np.array([[sum(int(Y[m][j]) for m in row) for j in range(len(Y[0]))] for row in indices], dtype=np.int32)


def label_histogram(Y, delta, n_neighbors):
    """(2, C, k + 1): [1, j, d] = c_j[d] = #{i: y_ij = 1, delta_ij = d}; [0, j, d] = c'_j[d]."""
    histogram = np.zeros((2, len(Y[0]), n_neighbors + 1), dtype=np.int64)
    for labels, counts in zip(Y, delta, strict=True):
        for j, (y, d) in enumerate(zip(labels, counts, strict=True)):
            histogram[int(y), j, d] += 1
    return histogram


def mlknn_posterior(Y, indices, query_indices, s=1.0):
    """(Prior, P(d|1), P(d|0), r): ML-kNN with Python's numbers, one row and one label at a time."""
    n = len(Y)
    C = len(Y[0])
    k = len(indices[0])
    c = label_histogram(Y, count_neighbor_labels(Y, indices), k)
    prior = [(s + sum(int(y[j]) for y in Y)) / (2 * s + n) for j in range(C)]
    likelihoods = [
        [[(s + int(c[y, j, d])) / (s * (k + 1) + int(c[y, j].sum())) for d in range(k + 1)] for j in range(C)]
        for y in (0, 1)
    ]
    posterior = np.empty((len(query_indices), C))
    for i, counts in enumerate(count_neighbor_labels(Y, query_indices)):
        for j, d in enumerate(counts):
            for_it = prior[j] * likelihoods[1][j][d]
            against = (1 - prior[j]) * likelihoods[0][j][d]
            posterior[i, j] = for_it / (for_it + against)
    return np.array(prior), np.array(likelihoods[1]), np.array(likelihoods[0]), posterior
