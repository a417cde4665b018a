"""A link of each label, from a ridge regression's scores to probabilities.

    p = 1 / (1 + exp(-(a z + c asinh z + b))),    z = (s - mean y) / scale,    a, c >= 0,

where scale is the root mean square of the out-of-fold scores about the mean label.  With many labels the scores of a
ridge regression rank the rows of a label well, but those of different labels are not on one scale; five numbers a label
mend that.  asinh bends the line: few scores are far from their mean.

`fit_link` minimises the log loss of known entries by Newton steps: first with slopes that all labels share and an
offset b for each, then with slopes of each label, which a penalty of 3/2 for the squared distance draws to the common
ones.  A slope stays at 0 where the loss would take it below: scores never count against their label.
"""

from dataclasses import dataclass

import numpy as np

import nmlsdr._link as kernels

from .._process.threads import simd, worthwhile_threads
from .folds import masks_of_tests

_PENALTY = 3.0  # curvature of the penalty
_ROUNDS = 15  # Newton steps at most
_SMALL = 1e-2  # the largest step of the last round
_NEGLIGIBLE = 1e-4  # a label whose step was smaller is solved: its next step would be near the square of this
_LONGEST_OFFSET = 2.0  # step of b; slopes take steps of at most 1
_WORTH_A_THREAD = 1e5  # entries in a thread of a kernel, about .3 ms
_FARTHEST = 1e150  # z, of a size whose square is a number, as in link_loops.h
_EMPTY = np.empty((0, 0), np.uint8)


@dataclass(eq=False)
class Link:
    """The numbers of each label, each of shape (n_labels,): see the formula above."""

    slope: np.ndarray
    bend: np.ndarray
    offset: np.ndarray
    mean: np.ndarray
    scale: np.ndarray

    def logits(self, scores: np.ndarray, labels: slice = slice(None)) -> np.ndarray:
        """a z + c asinh z + b of the scores of all rows, or of some labels of these."""
        z = np.clip((scores - self.mean[labels]) / self.scale[labels], -_FARTHEST, _FARTHEST)
        f = self.slope[labels] * z
        f += self.bend[labels] * np.arcsinh(z)
        f += self.offset[labels]
        return np.asarray(f)

    def apply(self, scores: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """Probabilities (n_samples, n_labels) of the ridge regression's scores of rows."""
        rows = np.arange(len(scores))
        return self.apply_to(np.ascontiguousarray(scores), rows, np.empty(scores.shape), n_threads)

    def apply_to(self, scores: np.ndarray, rows: np.ndarray, out: np.ndarray, n_threads: int) -> np.ndarray:
        """The same for some of the rows, written to these rows of ``out``."""
        numbers = np.array([self.slope, self.bend, self.offset, self.mean, self.scale])
        n_threads = worthwhile_threads(n_threads, len(rows) * scores.shape[1], each=_WORTH_A_THREAD)
        kernels.apply(scores=scores, rows=rows, numbers=numbers, p=out, n_threads=n_threads, level=simd())
        return out


def fold_links(
    scores: np.ndarray, Y: np.ndarray, known: np.ndarray | None, folds: np.ndarray, n_threads: int = 1
) -> list[Link]:
    """For each number in ``folds``, in increasing order, the link of the rows of all others."""
    return [fit_link(scores, Y, known, np.flatnonzero(~test), n_threads) for test in masks_of_tests(folds)]


def cross_link(scores: np.ndarray, folds: np.ndarray, links: list[Link], n_threads: int = 1) -> np.ndarray:
    """Out-of-fold probabilities (n_samples, n_labels): each fold by the link of the other folds (`fold_links`).

    ``scores`` are out of fold already, but a link that learns from the labels of a row flatters its error, 3.90 for
    4.03 thousandths on 469 labels.
    """
    p = np.empty(scores.shape)
    for test, link in zip(masks_of_tests(folds), links, strict=True):
        link.apply_to(scores, np.flatnonzero(test), p, n_threads)
    return p


def fit_link(
    scores: np.ndarray,
    Y: np.ndarray,
    known: np.ndarray | None = None,
    rows: np.ndarray | None = None,
    n_threads: int = 1,
) -> Link:
    """The link of each label.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_labels), float64
        Out-of-fold scores of the ridge regression.
    Y : ndarray of shape (n_samples, n_labels), float64
        Labels, in [0, 1].
    known : ndarray of shape (n_samples, n_labels), bool, default=None
        The entries of Y that are known; None: all.
    rows : ndarray of shape (m,), int64, default=None
        The rows to learn from; None: all.
    n_threads : int, default=1
        Number of threads. It does not change the result.

    Returns
    -------
    Link
        A label that is the same in all known entries has slopes of 0: its p is its mean, clipped to
        [1/(2 m), 1 - 1/(2 m)].
    """
    data = _Data(scores, Y, known, np.arange(len(Y)) if rows is None else rows, n_threads)
    slopes = np.full((2, data.n_labels), 0.5)
    offset = data.logit.copy()
    if data.varies.any():
        _fit_common(data, slopes, offset)
        _fit_each(data, slopes, offset)
    slopes[:, ~data.varies] = 0.0
    return Link(slopes[0], slopes[1], offset, data.mean, data.scale)


class _Data:
    """The rows of a fit as the kernel reads them.

    Attributes
    ----------
    n_labels : int
    mean, scale, logit : ndarray of shape (n_labels,)
        Of the labels; of their scores; the logarithm of the odds of the clipped mean.
    varies : ndarray of shape (n_labels,), bool
        Whether a known entry is above 0, and one below 1.
    """

    def __init__(
        self, scores: np.ndarray, Y: np.ndarray, known: np.ndarray | None, rows: np.ndarray, n_threads: int
    ) -> None:
        self.n_labels = Y.shape[1]
        self._n_threads = worthwhile_threads(n_threads, len(rows) * self.n_labels, each=_WORTH_A_THREAD)
        n_blocks = -(-self.n_labels // kernels.LANES)
        self._z = np.empty((n_blocks, len(rows), kernels.LANES), np.float32)
        self._bent = np.empty(self._z.shape, np.float32)
        self._sums = np.zeros((n_blocks, kernels.N_SUMS, kernels.LANES))
        facts = np.empty((n_blocks, kernels.N_FACTS, kernels.LANES))
        kernels.features(
            scores=np.ascontiguousarray(scores),
            labels=np.ascontiguousarray(Y),
            known=_EMPTY if known is None else np.ascontiguousarray(known).view(np.uint8),
            rows=rows,
            facts=facts,
            z=self._z,
            bent=self._bent,
            n_threads=self._n_threads,
            level=simd(),
        )
        count, self.mean, self.scale, minimum, maximum, *self._of_labels = self._by_label(facts)
        self._n_unknown = len(rows) - count
        smallest = 0.5 / np.where(count > 0, count, max(1, len(rows)))
        q = np.clip(self.mean, smallest, 1.0 - smallest)
        self.logit = np.log(q / (1.0 - q))
        self.varies = (maximum > 0) & (minimum < 1) & (count > 0)

    def _by_label(self, blocks: np.ndarray) -> np.ndarray:
        """Rows of numbers of the labels, from the blocks of a kernel."""
        return blocks.transpose(1, 0, 2).reshape(blocks.shape[1], -1)[:, : self.n_labels].copy()

    def derivatives(self, slopes: np.ndarray, offset: np.ndarray, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (3, n_labels) and second derivatives (3, 3, n_labels) of the log loss by a, c and b.

        Blocks without a ``moving`` label keep those of the call before.
        """
        numbers = np.zeros((3, self._z.shape[0] * kernels.LANES))
        numbers[:2, : self.n_labels] = slopes
        numbers[2, : self.n_labels] = offset
        blocks = np.ascontiguousarray(numbers.reshape(3, -1, kernels.LANES).transpose(1, 0, 2))
        selected = np.unique(np.flatnonzero(moving) // kernels.LANES)
        kernels.sums(
            z=self._z,
            bent=self._bent,
            selected=selected,
            numbers=blocks,
            total=self._sums,
            n_threads=self._n_threads,
            level=simd(),
        )
        p, h, pz, ps, hz, hs, hzz, hzs, hss = self._by_label(self._sums)
        unknown = 1.0 / (1.0 + np.exp(-offset))  # p where z is 0
        p -= self._n_unknown * unknown
        h -= self._n_unknown * unknown * (1.0 - unknown)
        y, yz, ys = self._of_labels
        gradient = np.array([pz - yz, ps - ys, p - y])
        return gradient, np.array([[hzz, hzs, hz], [hzs, hss, hs], [hz, hs, h + 1e-9]])


def _fit_common(data: _Data, slopes: np.ndarray, offset: np.ndarray) -> None:
    """Newton steps of slopes that all labels share; the offsets are eliminated, and follow."""
    varies = data.varies
    common = slopes[:, 0].copy()
    for _ in range(_ROUNDS):
        gradient, curvature = data.derivatives(slopes, offset, varies)
        g = gradient[:2]
        by_offset = gradient[2]
        cross = curvature[:2, 2]
        of_offset = curvature[2, 2]
        reduced = curvature[:2, :2] - cross[:, None] * cross[None] / of_offset
        system = reduced[:, :, varies].sum(axis=2) + 1e-6 * np.eye(2)
        right = (g - cross * by_offset / of_offset)[:, varies].sum(axis=1)
        free = (common > 0) | (right <= 0)
        step = np.zeros(2)
        step[free] = np.linalg.solve(system[np.ix_(free, free)], right[free])
        step /= max(1.0, np.abs(step).max())
        before = common
        common = np.maximum(common - step, 0.0)
        step = before - common
        slopes[:] = common[:, None]
        moved = (by_offset - cross.T @ step) / of_offset
        moved = np.where(varies, np.clip(moved, -_LONGEST_OFFSET, _LONGEST_OFFSET), 0.0)
        offset -= moved
        if max(np.abs(step).max(), np.abs(moved).max()) < _SMALL:
            return


def _fit_each(data: _Data, slopes: np.ndarray, offset: np.ndarray) -> None:
    """Newton steps of each label's slopes and offset, the slopes drawn to the common ones."""
    varies = data.varies
    common = slopes.copy()
    moving = varies.copy()
    for _ in range(_ROUNDS):
        gradient, curvature = data.derivatives(slopes, offset, moving)
        gradient[:2] += _PENALTY * (slopes - common)
        for k in (0, 1):
            curvature[k, k] += _PENALTY
        for k in (0, 1):
            stays = (slopes[k] <= 0) & (gradient[k] > 0)
            curvature[k][:, stays] = 0.0
            curvature[:, k][:, stays] = 0.0
            curvature[k, k, stays] = 1.0
            gradient[k, stays] = 0.0
        step = np.linalg.solve(curvature.transpose(2, 0, 1), gradient.T[:, :, None])[:, :, 0].T
        step /= np.maximum(1.0, np.abs(step).max(axis=0))
        step[:, ~moving] = 0.0
        slopes[:] = np.maximum(slopes - step[:2], 0.0)
        offset -= step[2]
        longest = np.abs(step).max(axis=0)
        if longest.max() < _SMALL:
            return
        moving &= longest >= _NEGLIGIBLE
