"""The link of each label, from scores to probabilities."""

import numpy as np


def linked(scores, numbers):
    """p of scores, with a, c, b, the mean and the scale of each label."""
    a, c, b, mean, scale = numbers
    z = (scores - mean) / scale
    return 1.0 / (1.0 + np.exp(-(a * z + c * np.arcsinh(z) + b)))


def fit_link(scores, Y, known):
    """a, c, b, mean and scale (5, C): Newton steps of common slopes, then of each label's, label by label."""
    C = Y.shape[1]
    mean = np.zeros(C)
    b = np.zeros(C)
    scale = np.ones(C)
    varies = np.zeros(C, dtype=bool)
    features = []
    labels = []
    for j in range(C):
        y = Y[known[:, j], j]
        s = scores[known[:, j], j]
        least = 0.5 / (len(y) or len(Y))
        if len(y):
            mean[j] = y.mean()
            scale[j] = np.sqrt(((s - mean[j]) ** 2).mean()) or 1.0
            varies[j] = y.max() > 0 and y.min() < 1
        q = min(max(mean[j], least), 1 - least)
        b[j] = np.log(q / (1 - q))
        z = (s - mean[j]) / scale[j]
        features.append(np.column_stack([z, np.arcsinh(z), np.ones(len(z))]))
        labels.append(y)

    def derivatives(j, slopes):
        p = 1.0 / (1.0 + np.exp(-features[j] @ [*slopes, b[j]]))
        H = features[j].T @ (features[j] * (p * (1 - p))[:, None])
        H[2, 2] += 1e-9
        return features[j].T @ (p - labels[j]), H

    common = np.array([0.5, 0.5])
    for _ in range(15 if varies.any() else 0):
        each = {j: derivatives(j, common) for j in np.flatnonzero(varies)}
        S = 1e-6 * np.eye(2) + sum(H[:2, :2] - np.outer(H[:2, 2], H[:2, 2]) / H[2, 2] for _, H in each.values())
        r = sum(g[:2] - H[:2, 2] * g[2] / H[2, 2] for g, H in each.values())
        free = [k for k in (0, 1) if common[k] > 0 or r[k] <= 0]
        step = np.zeros(2)
        if free:
            step[free] = np.linalg.solve(S[np.ix_(free, free)], r[free])
        after = np.maximum(common - step / max(1.0, np.abs(step).max()), 0.0)
        moves = {j: np.clip((g[2] - H[:2, 2] @ (common - after)) / H[2, 2], -2, 2) for j, (g, H) in each.items()}
        largest = max(np.abs(common - after).max(), *np.abs(list(moves.values())))
        common = after
        for j, move in moves.items():
            b[j] -= move
        if largest < 0.01:
            break

    slopes = np.tile(common[:, None], (1, C))
    for _ in range(15 if varies.any() else 0):
        largest = 0.0
        for j in np.flatnonzero(varies):
            g, H = derivatives(j, slopes[:, j])
            g[:2] += 3.0 * (slopes[:, j] - common)
            H[[0, 1], [0, 1]] += 3.0
            free = [k for k in (0, 1) if slopes[k, j] > 0 or g[k] <= 0] + [2]
            step = np.zeros(3)
            step[free] = np.linalg.solve(H[np.ix_(free, free)], g[free])
            step /= max(1.0, np.abs(step).max())
            largest = max(largest, np.abs(step).max())
            slopes[:, j] = np.maximum(slopes[:, j] - step[:2], 0.0)
            b[j] -= step[2]
        if largest < 0.01:
            break
    slopes[:, ~varies] = 0.0
    return np.array([*slopes, b, mean, scale])
