"""From scores to labels: cut-offs that give every label about as many rows as it had among the labelled ones."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np

from .._checks.arguments import check_real
from .._errors import InputError

__all__ = ["check_threshold", "prior_cutoffs", "thresholds_of", "warn_never_predicted"]


def check_threshold(threshold: Any) -> None:
    """A number in [0, 1], "prior", or numbers in [0, 1]."""
    if isinstance(threshold, str) and threshold == "prior":
        return
    if np.ndim(threshold) == 1 and len(threshold):
        for value in np.asarray(threshold).tolist():
            check_real(value, "each threshold", 0.0, 1.0)
        return
    if not isinstance(threshold, Real):
        raise InputError(f'threshold must be a number, "prior", or one number per label, got {threshold!r}.')
    check_real(threshold, "threshold", 0.0, 1.0)


def thresholds_of(threshold: Any, n_labels: int) -> np.ndarray:
    """One cut-off per label from a checked threshold; 1/2 for "prior", which scores decide."""
    if np.ndim(threshold) == 1 and len(threshold) != n_labels:
        raise InputError(f"threshold has {len(threshold)} numbers for {n_labels} labels; give one per label.")
    return np.array(np.broadcast_to(0.5 if isinstance(threshold, str) else threshold, (n_labels,)), dtype=np.float64)


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
