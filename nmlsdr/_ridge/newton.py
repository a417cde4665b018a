r"""One Newton step from the ridge regression through its link towards a logistic regression of each label.

    f(x) = link(s(x)) + (x - mean)' B + v,    p = 1 / (1 + exp(-f)),

where s(x) is the ridge regression's score and link(s) = a z + c asinh z + b.  At B = 0 this is `link`.  With p and
h = p (1 - p) there, on l rows S = (x - mean)' diag(w)^1/2 that a model learns from, the step minimises

    (p - y)' (S B + v) + 1/2 sum_i h_i (S B + v)_i^2 + lambda/2 |B|^2,    lambda = strength mean(h) |S|_F^2 / l,

for each label by four conjugate gradients with the diagonal as preconditioner; v is eliminated, so that neither the
start nor the mean of the rows matters.  The step is halved until the penalised loss is not larger, at most six times,
and is 0 otherwise, and for a label that does not vary.  Unknown entries have h = 0 and take no part.

The strength is common to all labels: of `STRENGTHS` that with the least log loss of the first fold, whose rows took
part neither in its ridge regression nor in its link.

Labels are solved in blocks, and a thread owns a block: what a label becomes does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._moments import RowSums
from .._process.threads import in_threads, single_threaded_blas, worthwhile_threads
from .folds import FoldRidge, masks_of_tests
from .iterative import dots, project, weighted_rows
from .link import Link

STRENGTHS = (3.0, 30.0, 300.0)
_STEPS = 4  # of conjugate gradients
_HALVINGS = 6
_WIDTH = 64  # labels of a block
_WORTH_A_THREAD = 1e5  # entries in a thread, some ms
_TINY = np.finfo(np.float64).tiny


@dataclass(eq=False)
class Newton(Link):
    """The numbers of each label: those of the link, v added to its offset, and B.

    Attributes
    ----------
    coef : ndarray of shape (n_labels, n_features)
    center : ndarray of shape (n_features,)
        The mean that is subtracted from rows.
    """

    coef: np.ndarray
    center: np.ndarray

    def probabilities(self, rows: Any, ridge_scores: np.ndarray) -> np.ndarray:
        """p (n_samples, n_labels) of rows and their scores by the ridge regression."""
        f = self.logits(ridge_scores)
        f += project(RowSums.of(rows, checked=True), self.coef.T, self.center)
        return _Logistic.of(f).p


class _Logistic(NamedTuple):
    """p, and log(1 + exp(f)), of f."""

    p: np.ndarray
    softplus: np.ndarray

    @staticmethod
    def of(f: np.ndarray) -> _Logistic:
        e = np.exp(-np.abs(f))
        p = np.where(f < 0, e, 1.0)
        p /= 1.0 + e
        return _Logistic(p, np.log1p(e) + np.maximum(f, 0.0))


@dataclass(eq=False)
class _Start:
    """Rows that a step learns from, and where it begins.

    Attributes
    ----------
    X : RowSums of shape (n_rows, n_features)
    Y, known : ndarray of shape (n_rows, n_labels)
        ``known`` is None if all labels are known.
    ridge : FoldRidge
    link : Link
    mean : ndarray of shape (n_features,)
        Of all labelled rows.
    """

    X: RowSums
    Y: np.ndarray
    known: np.ndarray | None
    ridge: FoldRidge
    link: Link
    mean: np.ndarray

    def __post_init__(self) -> None:
        w = self.ridge.weights
        self.columns = np.flatnonzero(w)
        self.root = np.sqrt(w[self.columns])[:, None]
        self.rows = weighted_rows(self.X, self.columns, self.root)
        self.squares = (w * self.X.squares(self.X.means()))[self.columns]

    def logits(self, X: RowSums, part: slice) -> np.ndarray:
        """Logits of some labels by the linked ridge regression alone."""
        scores = project(X, self.ridge.coef[:, part], self.mean)
        scores += self.ridge.at_mean[part]
        return self.link.logits(scores, part)

    def step(self, part: slice, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """B (n_features, m), and f - link(s) at the mean (m,), of the labels of a block."""
        y = self.Y[:, part]
        known = None if self.known is None else self.known[:, part]
        count = len(y) if known is None else np.maximum(known.sum(axis=0), 1)
        f = self.logits(self.X, part)
        at_start = _Logistic.of(f)
        g = at_start.p - y
        h = at_start.p * (1.0 - at_start.p)
        if known is not None:
            g *= known
            h *= known
        total = h.sum(axis=0) + 1e-9
        by_offset = g.sum(axis=0)
        level = strength * self.squares.sum() / len(y) * total / count
        multiply = partial(self._multiply, h, total, level)
        g -= h * (by_offset / total)
        right = -self.rows.transposed_times(g, np.zeros((len(self.columns), y.shape[1])))
        diagonal = np.maximum(self.squares[:, None] * (total / len(y)) + level, _TINY)  # 0 if no feature varies
        B, change = _conjugate_gradients(multiply, diagonal, right)
        v = -(by_offset + (h * change).sum(axis=0)) / total
        change += v
        penalty = 0.5 * level * (B * B).sum(axis=0)
        size = self._size(y, known, f, change, penalty) * _varies(y, known)
        V = np.zeros((self.X.shape[1], y.shape[1]))
        V[self.columns] = self.root * B * size
        return V, size * v + (self.mean - self.X.means()) @ V

    def _multiply(
        self, h: np.ndarray, total: np.ndarray, level: np.ndarray, B: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The system times B, and S B."""
        image = self.rows.times(B)
        weighted = h * image
        weighted -= h * (weighted.sum(axis=0) / total)
        return self.rows.transposed_times(weighted, level * B), image

    @staticmethod
    def _size(
        y: np.ndarray, known: np.ndarray | None, f: np.ndarray, change: np.ndarray, penalty: np.ndarray
    ) -> np.ndarray:
        """1 for each label, or the largest of its halves that does not raise the penalised loss, or 0."""
        size = np.ones(y.shape[1])
        before = losses(f, y, known)
        for _ in range(_HALVINGS):
            worse = losses(f + size * change, y, known) + size * size * penalty > before
            if not worse.any():
                return size
            size[worse] /= 2.0
        size[worse] = 0.0
        return size


def _conjugate_gradients(
    multiply: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], diagonal: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """B after `_STEPS` steps from 0, and S B."""
    B = np.zeros(right.shape)
    change: Any = 0.0
    residual = right
    scaled = residual / diagonal
    direction = scaled
    energy = dots(residual, scaled)
    for number in range(_STEPS):
        product, image = multiply(direction)
        length = energy / np.maximum(dots(direction, product), _TINY)
        B += length * direction
        change = change + length * image
        if number + 1 == _STEPS:
            break
        residual = residual - length * product
        scaled = residual / diagonal
        before = energy
        energy = dots(residual, scaled)
        direction = scaled + (energy / np.maximum(before, _TINY)) * direction
    return B, change


def _varies(y: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Whether a known entry of a label is above 0, and one below 1; other labels stay as their link has them."""
    entries = np.ones(y.shape, dtype=bool) if known is None else known
    return ((y > 0) & entries).any(axis=0) & ((y < 1) & entries).any(axis=0)


def losses(f: np.ndarray, Y: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """The log loss of each label over its known entries."""
    loss = _Logistic.of(f).softplus
    loss -= Y * f
    if known is not None:
        loss *= known
    return np.asarray(loss.sum(axis=0))


def cross_newton(
    X: Any,
    Y: np.ndarray,
    known: np.ndarray | None,
    folds: np.ndarray,
    ridges: Sequence[FoldRidge],
    links: Sequence[Link],
    n_threads: int = 1,
) -> tuple[float, np.ndarray]:
    """The strength, and out-of-fold probabilities (n_samples, n_labels).

    ``ridges`` and ``links`` are those of the other rows, for each number in ``folds`` in increasing order.
    """
    X = RowSums.of(X, checked=True)
    mean = X.means()
    strengths: tuple[float, ...] = STRENGTHS
    out = np.empty(Y.shape)
    for test, ridge, link in zip(masks_of_tests(folds), ridges, links, strict=True):
        near = _Start(X.take(~test), Y[~test], None if known is None else known[~test], ridge, link, mean)
        far = X.take(test)
        truth = Y[test], None if known is None else known[test]
        candidates = {each: _predict(near, far, each, n_threads) for each in strengths}
        if len(strengths) > 1:
            loss = {each: float(losses(f, *truth).sum()) for each, f in candidates.items()}
            strengths = (min(loss, key=loss.__getitem__),)
        out[test] = _Logistic.of(candidates[strengths[0]]).p
    return strengths[0], out


def _predict(near: _Start, far: RowSums, strength: float, n_threads: int) -> np.ndarray:
    """Logits (n_rows, n_labels) of other rows after a step."""
    f = np.empty((far.shape[0], near.Y.shape[1]))

    def fill(part: slice) -> None:
        V, at_mean = near.step(part, strength)
        block = near.logits(far, part)
        block += project(far, V, near.mean)
        block += at_mean
        f[:, part] = block

    _each_block(near, fill, n_threads)
    return f


def fit_newton(
    X: Any,
    Y: np.ndarray,
    known: np.ndarray | None,
    ridge: FoldRidge,
    link: Link,
    strength: float,
    n_threads: int = 1,
) -> Newton:
    """The step of all rows; ``ridge`` is about their mean."""
    X = RowSums.of(X, checked=True)
    mean = X.means()
    start = _Start(X, Y, known, ridge, link, mean)
    coef = np.empty((Y.shape[1], X.shape[1]))
    offset = np.empty(Y.shape[1])

    def fill(part: slice) -> None:
        V, at_mean = start.step(part, strength)
        coef[part] = V.T
        offset[part] = link.offset[part] + at_mean

    _each_block(start, fill, n_threads)
    return Newton(link.slope, link.bend, offset, link.mean, link.scale, coef, mean)


def _each_block(start: _Start, fill: Callable[[slice], None], n_threads: int) -> None:
    """Call ``fill`` for each block of labels."""
    n_labels = start.Y.shape[1]
    parts = [slice(first, min(first + _WIDTH, n_labels)) for first in range(0, n_labels, _WIDTH)]
    n_threads = min(len(parts), worthwhile_threads(n_threads, start.Y.size, _WORTH_A_THREAD))
    with single_threaded_blas():
        list(in_threads(fill, parts, n_threads))
