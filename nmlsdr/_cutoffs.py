"""From scores to labels: cut-offs that give every label about as many rows as it had among the labelled ones."""

from __future__ import annotations

import warnings

import numpy as np

__all__ = ["prior_cutoffs", "warn_never_predicted"]


def prior_cutoffs(scores: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """For each label the score that its expected number of training rows reach.

    With n rows and m = max(1, round(share n)), half to even: the m-th largest score.  Where ties let more than
    max(2 m, m + 5) rows reach it, the next larger score that occurs; where none does, infinity: no score says who.

    A fixed cut-off of 1/2 never predicts a rare label whose probability stays below it everywhere; the macro F1 of
    a score is largest at a cut-off of half the largest F1 (Lipton, Elkan and Naryanaswamy 2014), below 1/2 always.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_labels), float64
    shares : ndarray of shape (n_labels,)
        Share of the labelled rows that carry the label.

    Returns
    -------
    ndarray of shape (n_labels,), float64
    """
    n_samples = len(scores)
    cutoffs = np.empty(len(shares))
    for label, share in enumerate(shares):
        column = np.sort(scores[:, label])
        m = max(1, round(float(share) * n_samples))
        cutoff = column[n_samples - m]
        if n_samples - np.searchsorted(column, cutoff, side="left") > max(2 * m, m + 5):
            above = np.searchsorted(column, cutoff, side="right")
            cutoff = column[above] if above < n_samples else np.inf
        cutoffs[label] = cutoff
    return cutoffs


def warn_never_predicted(predicted: np.ndarray, advice: str, *, stacklevel: int = 3) -> None:
    """Say how many labels are not predicted at all; ``predicted`` says of each whether it ever is."""
    missing = int(np.count_nonzero(~predicted))
    if missing:
        said = f"{missing} of {len(predicted)} labels are never predicted; {advice}."
        warnings.warn(said, UserWarning, stacklevel=stacklevel + 1)
