"""The method that `review` and `report` use, chosen in one place, and how the arguments set it."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["alphas_of", "recommended", "scaler_for"]


def scaler_for(args: argparse.Namespace, X: Any) -> Any:
    """Return a StandardScaler that keeps sparse rows sparse, or None."""
    from scipy import sparse
    from sklearn.preprocessing import StandardScaler

    return None if args.no_standardize else StandardScaler(with_mean=not sparse.issparse(X))


def alphas_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the alphas that were given."""
    alphas = {name: getattr(args, name) for name in ("alpha_labeled", "alpha_unlabeled")}
    return {name: value for name, value in alphas.items() if value is not None}


def recommended(args: argparse.Namespace) -> tuple[str, str, Any]:
    """Return name, words and estimator of the method: it embeds, predicts, and scores the given labels."""
    import nmlsdr

    return (
        "ResidualPropagation",
        "features weighed by what they say of the labels, a ridge regression, and its residuals propagated over the "
        "graph of the embedding",
        nmlsdr.ResidualPropagation(
            n_neighbors=args.n_neighbors, metric=args.metric, n_jobs=args.jobs, **alphas_of(args)
        ),
    )
