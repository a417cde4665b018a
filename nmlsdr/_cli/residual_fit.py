"""The fit of ResidualPropagation for `review` and `report`: its settings from the arguments, and how long it takes."""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .. import ResidualPropagation
from .._checks.words import UNCLEAR
from .._estimators._learners import boosts
from .._process.threads import check_n_jobs, single_threaded_blas
from ..inspection import rank_suspects
from ..tables import scaler_of
from .reviewed import fit_reviewed
from .table import Table

NAME = "ResidualPropagation"
WORDS = "a weighted mean of a ridge regression and two forests, plus its errors on nearby rows"
TREES = 100  # of each of the method's forests; the tests lower it
ROUNDS = 150  # of boosted trees: half of the fits of tables need fewer
SMALL = 2e8  # rows times features times 100 labels, or a tenth of the rows: less takes seconds and is not measured


class Pieces(NamedTuple):
    """Seconds of the pieces of the work on one table."""

    trees: float  # one tree of each forest on the labelled rows
    search: float  # the nearest neighbours of all rows
    ridge: float  # everything else in a fit of ResidualPropagation
    logistic: float  # a tuned logistic regression of every label
    n_threads: int
    n_bytes: int  # of the lists of neighbours
    boosted: float = 0.0  # boosted trees, if there are any

    def fit(self, n_trees: int) -> float:
        """Seconds of a fit with so many trees in each forest; its other searches are in a few dimensions."""
        return (self.trees * n_trees + self.boosted) / self.n_threads + self.ridge + 1.4 * self.search


def measure(X: Any, y: Any, args: argparse.Namespace) -> Pieces | None:
    """Measure the pieces on a table of numbers, in about a second; None where all of the work is small."""
    from .._boosting import Limits, boost_trees
    from .._report.rivals import TUNING_LABELS, TUNING_ROWS, logistic
    from .._search.estimate import estimate_search
    from ..forest import grow_forests

    rows = np.flatnonzero((y != -1).any(axis=1))
    n, D = X.shape
    C = y.shape[1]
    l = len(rows)
    if n * D * max(n / 10, 100 * C) < SMALL or l < 20:
        return None
    near = X[rows]
    Y = y[rows]
    targets = np.where(Y == 1, 1.0, 0.0)
    settings: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    tuning_rows = np.arange(l) if l <= TUNING_ROWS else np.linspace(0, l - 1, 2 * TUNING_ROWS // 3).astype(np.intp)
    common = np.argsort(-targets.sum(axis=0), kind="stable")[: min(3, C)]
    square = np.full((400, 400), 1e-3)
    with single_threaded_blas():
        grow_forests(near[:20], targets[:20], n_estimators=1, **settings)  # imports take a while
        trees = _seconds(lambda: grow_forests(near, targets, n_estimators=2, **settings)) / 2
        boosted = 0.0
        if boosts(l, C):
            two_rounds, six_rounds = (
                _seconds(partial(boost_trees, near, targets, limits=Limits(n), **settings)) for n in (2, 6)
            )
            # Of the first ten rounds each takes twice the time.
            boosted = two_rounds + ROUNDS * max(0.0, six_rounds - two_rounds) / 8
        seconds = _seconds(lambda: logistic(near[tuning_rows], Y[tuning_rows][:, common], near[:1], 0.1))
        product = min(_seconds(lambda: square @ square) for _ in range(5)) / 400**3
    one_label = seconds / len(common)
    m = min(l, D, 3000)
    # Multiplications of the cross-validated ridge regression, and of the propagation for each row and label, from fits
    # of 2000 to 20 000 rows with 60 to 1000 features.
    ridge = (6.0 * m**3 + 1.5 * l * D * m + 1.3e4 * n * C) * product
    n_fits = 15 * min(C, TUNING_LABELS) + 3 * C + C * max(1.0, l / len(tuning_rows))
    search = estimate_search(X, args.n_neighbors, n_jobs=args.jobs)
    return Pieces(trees, search.seconds, ridge, one_label * n_fits, check_n_jobs(args.jobs), search.bytes, boosted)


Later = Callable[[Pieces], float]


def expect_fit(X: Any, y: Any, args: argparse.Namespace, console: Any, later: Later = lambda pieces: 0.0) -> None:
    """Announce how long one fit of ResidualPropagation on these rows will take, with what comes later."""
    pieces = measure(X, y, args)
    if pieces is not None:
        console.expect(pieces.fit(TREES) + later(pieces), pieces.n_bytes)


def _seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def scaler_for(args: argparse.Namespace, table: Table) -> Any:
    """Return what puts the features of a table on one scale and keeps sparse rows sparse, not fitted, or None."""
    if args.no_standardize:
        return None
    blocks = table.plan.blocks if table.plan is not None else ((), ())
    return scaler_of(blocks, sparse.issparse(table.data))


def graph_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the graph, and the alphas that were given."""
    alphas = {name: getattr(args, name) for name in ("alpha_labeled", "alpha_unlabeled")}
    settings = {"n_neighbors": args.n_neighbors, "metric": args.metric, "n_jobs": args.jobs}
    return settings | {name: value for name, value in alphas.items() if value is not None}


def fit_method(
    table: Table, args: argparse.Namespace, console: Any, kind: Any = None, later: Later = lambda pieces: 0.0
) -> Any:
    """Fit the method on the table, which holds numbers; the parameters are those of `fit_and_rank`."""
    X = table.data
    scaler = scaler_for(args, table)
    if scaler is not None:
        with console.step("standardize"):
            X = scaler.fit_transform(X)
    expect_fit(X, table.target, args, console, later)
    with console.step(f"fit {NAME}"):
        method = (kind or ResidualPropagation)(n_estimators=TREES, **graph_settings(args))
        return fit_reviewed(method, X, table)


def fit_and_rank(
    table: Table, args: argparse.Namespace, console: Any, kind: Any = None, later: Later = lambda pieces: 0.0
) -> tuple[Any, Any]:
    """Fit the method on the table, which holds numbers, and rank the given labels.

    Parameters
    ----------
    table : Table
    args : Namespace
    console : Console
    kind : type, default=ResidualPropagation
        The class of the method.
    later : callable, default: none
        Seconds of what comes after the fit, for the estimate of time.

    Returns
    -------
    method : estimator
        It embeds, predicts, and scores the given labels.
    found : Suspects
        The annotations in the order of review.
    """
    method = fit_method(table, args, console, kind, later)
    labels = table.file_labels
    verdicts = table.verdicts
    first = getattr(args, "audit", 0)
    if table.votes is not None:  # what the fit has seen; half of the votes cannot be wrong
        verdicts = np.where((labels == -1) & (verdicts == -1), UNCLEAR, verdicts)
        labels = table.votes
    return method, rank_suspects(method, labels, kind=args.kind, verdicts=verdicts, audit=first)
