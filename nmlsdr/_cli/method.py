"""The method that `review` and `report` use, and its settings from the arguments."""

import argparse
from typing import Any

from .clock import Later, expect_fit

NAME = "ResidualPropagation"
WORDS = "the mean of a ridge regression and a forest, plus their errors on nearby rows of the embedding"
TREES = 100  # of the method's forest; the tests lower it


def scaler_for(args: argparse.Namespace, X: Any) -> Any:
    """Return a StandardScaler that keeps sparse rows sparse, or None."""
    from scipy import sparse
    from sklearn.preprocessing import StandardScaler

    return None if args.no_standardize else StandardScaler(with_mean=not sparse.issparse(X))


def graph_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the graph, and the alphas that were given."""
    alphas = {name: getattr(args, name) for name in ("alpha_labeled", "alpha_unlabeled")}
    settings = {"n_neighbors": args.n_neighbors, "metric": args.metric, "n_jobs": args.jobs}
    return settings | {name: value for name, value in alphas.items() if value is not None}


def fit_and_rank(
    table: Any, args: argparse.Namespace, console: Any, kind: Any = None, later: Later = lambda pieces: {}
) -> tuple[Any, Any, str | None]:
    """Fit the method on the table, which holds numbers, and rank the given labels.

    Parameters
    ----------
    table : Bunch
    args : Namespace
    console : Console
    kind : type, default=ResidualPropagation
        The class of the method.
    later : callable, default: none
        Gives the steps that come after the fit, for the estimate of time.

    Returns
    -------
    method : estimator
        It embeds, predicts, and scores the given labels.
    found : Suspects
        The annotations in the order of review.
    buried : str or None
        A note where nearly all of the first annotations are of one kind, and hide the other.
    """
    import nmlsdr
    from nmlsdr.inspection import rank_suspects
    from nmlsdr.inspection._suspects import buried_kind

    from .reviewed import fit_reviewed

    X, scaler = table.data, scaler_for(args, table.data)
    if scaler is not None:
        with console.step("standardize"):
            X = scaler.fit_transform(X)
    expect_fit(X, table.target, args, console, later)
    with console.step(f"fit {NAME}"):
        method = (kind or nmlsdr.ResidualPropagation)(n_estimators=TREES, **graph_settings(args))
        method = fit_reviewed(method, X, table)
    found = rank_suspects(
        method.flip_scores_, table.target, kind=args.kind, flip_rate=method.flip_rate_, reviewed=table.reviewed
    )
    buried = buried_kind(found) if args.kind == "both" else None
    if buried is None:
        return method, found, None
    filling, hidden, reason = ("1s", "0s", "forgotten") if buried == "missing" else ("0s", "1s", "added carelessly")
    note = (
        f"nearly all of the first 100 annotations are given {filling}, which hide the given {hidden}; where labels are "
        f"{reason}, read the list of --kind {buried}."
    )
    return method, found, note
