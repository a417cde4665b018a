"""What a review asks and learns: the order of unknown entries, and factors from the verdicts so far."""

import numpy as np

from .arrays import on_one_thread


@on_one_thread
def verdict_factors(odds, y, label, wrong, n_labels):
    """exp(effect of the kind + effect of the label) of a logistic model of verdicts, for each kind and label.

    log odds of a wrong label = log v + a_kind + b_label, with normal priors: deviation 2 for a, 1 for b; Newton.
    """
    names, place = np.unique(label, return_inverse=True)
    A = np.column_stack([y == 0, y == 1, np.eye(len(names))[place]]).astype(float)
    precision = np.array([1 / 4, 1 / 4] + [1.0] * len(names))
    effects = np.zeros(len(precision))
    for _ in range(30):
        p = 1 / (1 + np.exp(-(np.log(odds) + A @ effects)))
        slope = A.T @ (wrong - p) - precision * effects
        step = np.linalg.solve((A * (p * (1 - p))[:, None]).T @ A + np.diag(precision), slope)
        effects += step / max(1, np.abs(step).max())
        if np.abs(step).max() < 1e-4:
            break
    of_label = np.zeros(n_labels)
    of_label[names] = effects[2:]
    return np.exp(effects[:2, None] + of_label)


def rank_unknown(p, unknown, turns, by):
    """Pairs (row, label) to ask about: the labels take turns, each takes its entry, or row, with the largest p (1 - p).

    Of equal ones it takes the first row.
    """
    listed = []
    is_growing = True
    while is_growing:
        is_growing = False
        for c in turns:
            free = [i for i in range(len(p)) if unknown[i, c]]
            free = [i for i in free if (i, c) not in listed and not (by == "row" and i in [row for row, _ in listed])]
            if free:
                listed.append((max(free, key=lambda i: p[i, c] * (1.0 - p[i, c])), int(c)))
                is_growing = True
    return listed
