"""Two other lists of annotations: unknown labels that a person is asked about, and a random sample.

`Suspects` has the known labels that are doubtful. A list of unknown labels (kind "open") has -1 in place of the given
label and the predicted probability in place of the score. A random sample (kind "random") has known labels, and no
score: it shows how many labels are wrong whatever a model thinks of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._review import Suspects
from ._unknown import Queries

Columns = list[NDArray[Any]]


def list_queries(queries: Queries) -> Suspects:
    """Return unknown labels as a list."""
    columns = _columns(queries.row, queries.label, np.full(len(queries.row), -1), queries.probability, "open")
    return Suspects(lambda n: [values[:n] for values in columns], len(queries.row))


def list_in_turn(suspects: Suspects, queries: Queries) -> Suspects:
    """Return doubtful and unknown labels in turn, a doubtful one first; behind them the rest of the longer list."""
    n_suspects = suspects._n
    unknown = list(list_queries(queries))
    n_unknown = len(queries.row)

    def find(n: int | None) -> Columns:
        n_all = n_suspects + n_unknown
        n_listed = n_all if n is None else min(n, n_all)
        n_doubtful = min(n_suspects, max((n_listed + 1) // 2, n_listed - n_unknown))
        doubtful = list(suspects.first(n_doubtful))
        # A doubtful label stands at an even place, and an unknown one behind it, while there are both.
        order = np.argsort(
            np.append(2 * np.arange(n_doubtful), 2 * np.arange(n_listed - n_doubtful) + 1), kind="stable"
        )
        parts = zip(doubtful, unknown, strict=True)
        return [np.append(known, values[: n_listed - n_doubtful])[order] for known, values in parts]

    return Suspects(find, n_suspects + n_unknown)


def list_random(labels: NDArray[Any], verdicts: NDArray[Any], n: int, random_state: Any = 0) -> Suspects:
    """Return a uniform random sample of the known labels that have no verdict.

    Parameters
    ----------
    labels : ndarray of shape (n_samples, n_labels)
        1, 0, and -1 where a label is unknown.
    verdicts : ndarray of shape (n_samples, n_labels)
        -1 where there is no verdict.
    n : int
        Number of labels.
    random_state : int, Generator or None, default=0

    Examples
    --------
    >>> sample = list_random(np.array([[1, -1], [0, 1]]), np.full((2, 2), -1), 2)
    >>> len(sample.row), {*sample.kind.tolist()}
    (2, {'random'})
    """
    places = np.flatnonzero((labels != -1) & (verdicts == -1))
    row, label = divmod(np.random.default_rng(random_state).permutation(places)[:n], labels.shape[1])
    columns = _columns(row, label, labels[row, label].astype(np.int64), np.zeros(len(row)), "random")
    return Suspects(lambda k: [values[:k] for values in columns], len(row))


def _columns(row: NDArray[Any], label: NDArray[Any], labels: NDArray[Any], score: NDArray[Any], kind: str) -> Columns:
    """The attributes of `Suspects` for a list of one kind."""
    n = len(row)
    return [row, label, labels, score, np.full(n, kind), np.arange(1, n + 1), np.zeros(n), np.zeros(n, dtype=bool)]
