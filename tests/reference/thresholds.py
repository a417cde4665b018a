"""The rates of label noise, and the decision thresholds by prior and by F1."""

import math

import numpy as np


def prior_cutoffs(scores, shares):
    """The m-th largest score, m the label's expected number of rows; if ties let far more reach it, the next larger."""
    cutoffs = []
    for column, share in zip(scores.T, shares, strict=True):
        m = max(1, round(share * len(column)))
        cutoff = sorted(column, reverse=True)[m - 1]
        if sum(column >= cutoff) > max(2 * m, m + 5):
            cutoff = min([s for s in column if s > cutoff], default=np.inf)
        cutoffs.append(cutoff)
    return np.array(cutoffs)


def flip_rate(scores, y):
    """The share of given 1s among the tenth of the labels with the smallest scores, at most .3."""
    m = max(1, len(y) // 10)
    return min(0.3, ones_among_smallest(scores, y, m) / m)


def ones_among_smallest(scores, labels, m):
    """The 1s among the m labels with the smallest scores; of equal scores at the limit each counts the same."""
    limit = sorted(scores)[m - 1]
    below = [y for s, y in zip(scores, labels, strict=True) if s < limit]
    equal = [y for s, y in zip(scores, labels, strict=True) if s == limit]
    return sum(below) + (m - len(below)) * sum(equal) / len(equal)


def forget_rate(scores, y, rate):
    """The share of given 0s among a tenth of as many labels as are truly 1, those with the largest scores."""
    M = len(y)
    r = max(rate, 1 / (2 * M))
    m = max(1, math.floor(min(max((sum(y) - r * M) / (1 - 2 * r), 0), M) / 10))
    h0 = (m - ones_among_smallest([-s for s in scores], y, m) + r) / (m + 1)
    return max((h0 + r) / 2, 1 / (2 * M))


def f1_cutoff(scores, rate):
    """Half of the best expected F1 of the scores without flips, with the flips again."""
    v = sorted(((s - rate) / (1 - 2 * rate) for s in scores), reverse=True)
    best = 0.0
    hits = 0.0
    for j, each in enumerate(v, start=1):
        hits += min(each, 1.0)
        best = max(best, 2 * hits / (max(1.0, sum(v)) + j))
    return rate + (1 - 2 * rate) * min(best, 1.0) / 2 if best > 0 else 0.5
