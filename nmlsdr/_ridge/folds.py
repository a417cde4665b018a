"""The folds of a cross-validation of ridge regressions, and what they share."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial, reduce
from itertools import product
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas

from .._label_sums import LabelSet, label_sets
from .._moments import RowSums, n_stored, symmetric
from .._process.threads import in_threads
from ..projection import kappa_of_sets, shrunken_weights
from . import regression
from .iterative import PartlyKnownRows, WeightedSystems
from .regression import by_factors, from_gram, from_row_gram, partly_known_rows, predicted_at, solve_shifted

# With that many times as many tested rows as features, errors come from sums over these rows, not from predictions.
SUMS_FROM = 2

# What one fold or one pass computes and another needs is kept up to this many numbers (512 MB).
_KEPT_NUMBERS = 1 << 26


def masks_of_tests(folds: np.ndarray) -> list[np.ndarray]:
    """The tested rows of each fold, as masks."""
    return [folds == t for t in np.unique(folds)]


class FoldRidge(NamedTuple):
    """The ridge regression that the rows outside a fold gave, about the mean of all labelled rows.

    Attributes
    ----------
    weights : ndarray of shape (n_features,)
        Of the squared features.
    coef : ndarray of shape (n_features, n_labels)
    at_mean : ndarray of shape (n_labels,)
        What is predicted at that mean.
    """

    weights: np.ndarray
    coef: np.ndarray
    at_mean: np.ndarray


# labels, numbers of c; of each c the predictions of the tested rows, or the sum of squared errors of each label
Answer = tuple[np.ndarray, slice, Any]
Callback = Callable[[int], object] | None
# the tested rows of a fold, as a mask, their predictions, and the regression that gave them if it is kept
Predicted = tuple[np.ndarray, list[Answer], FoldRidge | None]


class Rounds:
    """The folds of some rows, and the threads that compute them."""

    def __init__(
        self, X: RowSums, Y: np.ndarray, known: np.ndarray | None, folds: np.ndarray, n_pairs: int, n_threads: int
    ) -> None:
        self.shared = _Shared(X, known)
        self.Y = Y
        self._n_threads = n_threads
        self.folds = list(
            in_threads(lambda test: Fold(self.shared, Y, test, n_pairs), masks_of_tests(folds), n_threads)
        )
        if all(fold.of_tested is not None for fold in self.folds):
            sums = [fold.of_tested for fold in self.folds]
            self.shared.once(0, lambda: reduce(operator.iadd, sums, np.zeros_like(sums[0])), X.shape[1] ** 2)

    def run(
        self, answers: Callable[[Fold, int], Iterator[Answer]], folds: slice, numbers: list[int], callback: Callback
    ) -> Iterator[tuple[int, int, list[Answer]]]:
        """The answers of these folds for each of the numbers, in this order: (fold, number, answers)."""
        tasks = list(product(range(len(self.folds))[folds], numbers))
        results = in_threads(lambda task: list(answers(self.folds[task[0]], task[1])), tasks, self._n_threads)
        for (t, i), each in zip(tasks, results, strict=True):
            yield t, i, each
            if callback is not None and i == numbers[-1]:
                callback(t + 1)

    def predict(self, strengths: tuple[float, float], callback: Callback, keep_ridge: bool) -> Iterator[Predicted]:
        """The tested rows of each fold, as a mask, and their predictions by one pair of strengths."""
        b = strengths[0]
        c = np.array(strengths[1:])
        for fold in self.folds:
            fold.keep_ridge(b, keep_ridge)
        for t, _, answers in self.run(lambda fold, _: fold.answers(b, c), slice(None), [0], callback):
            yield self.folds[t].test, answers, self.folds[t].ridge


class _Shared:
    """What the folds share: the rows, their means and their Gram matrices, each formed where a fold needs it."""

    def __init__(self, X: RowSums, known: np.ndarray | None) -> None:
        self.X = X
        self.known = known
        self._kept: dict[Any, Any] = {}
        self._locks: dict[Any, Lock] = {}
        self._room: float = _KEPT_NUMBERS

    def once(self, key: Any, make: Callable[[], Any], size: float) -> Any:
        """What ``make`` gives, kept under ``key`` if there is room for this many numbers.

        A thread that wants what another one makes waits for it.
        """
        with self._locks.setdefault(key, Lock()):
            if key in self._kept:
                return self._kept[key]
            made = make()
            if size <= self._room:
                self._room -= size
                self._kept[key] = made
            return made

    @cached_property
    def mean(self) -> np.ndarray:
        return self.X.means()

    @cached_property
    def has_few_known_rows(self) -> bool:
        """Whether the rows of each label have smaller matrices K, together, than all rows have.

        That is so if people label single entries: each row then has few known labels, and each label few known rows.
        A matrix of all rows above `LARGEST_GRAM` is never formed.
        """
        if self.known is None:
            return False
        n_rows = self.X.shape[0]
        counts = self.known.sum(axis=0, dtype=np.float64)
        return n_rows > regression.LARGEST_GRAM or bool(counts @ counts < n_rows**2)

    def of_rows(self, key: bytes, w: np.ndarray) -> np.ndarray:
        """K(w), kept for the fold of this key."""
        return self.once((key, "K"), lambda: self.X.row_gram(w), self.X.shape[0] ** 2)

    def of_features(self, label: int) -> np.ndarray:
        """Xc'Xc of the rows where this label is known, Xc about the mean of all rows."""
        label = 0 if self.known is None else label

        def gram() -> np.ndarray:
            return (self.X if self.known is None else self.X.take(self.known[:, label])).gram(self.mean)

        return self.once(label, gram, self.X.shape[1] ** 2)


class Fold:
    """One fold: it learns from the rows of the others.

    The labels of the tested rows are only compared with what is predicted, and of their features only sums that
    cancel are read before.

    Attributes
    ----------
    ridge : FoldRidge or None
        What `answers` fills after a call of `keep_ridge`.
    of_tested : ndarray of shape (n_features, n_features), or None
        Xc'Xc of the tested rows, Xc about the mean of all rows; None where several matrices or none are needed.
    """

    def __init__(self, shared: _Shared, Y: np.ndarray, test: np.ndarray, n_pairs: int) -> None:
        self.shared = shared
        self.test = test
        self.ridge: FoldRidge | None = None
        self._Y = Y
        self._key = test.tobytes()
        self.known = None if shared.known is None else shared.known[~test]
        rows = self.rows
        self.sets = label_sets(rows, self.Y, self.known)
        kappa = kappa_of_sets(self.sets, rows.shape[1])
        self.kappa = kappa if kappa.any() else np.ones_like(kappa)
        self.by_factors = by_factors(self.sets, rows, n_pairs)
        is_single = self.by_factors and self.known is None and self.sets[0].is_narrow()
        self.of_tested = self.tested.gram(shared.mean) if is_single else None

    @property
    def rows(self) -> RowSums:
        return self.shared.X.take(~self.test)

    @property
    def Y(self) -> np.ndarray:
        return self._Y[~self.test]

    def _partly_known(self) -> PartlyKnownRows:
        rows = self.rows
        size = n_stored(rows.rows) + 2 * rows.shape[1] ** 2
        return self.shared.once((self._key, "partly known"), lambda: partly_known_rows(rows, self.known), size)

    @property
    def tested(self) -> RowSums:
        return self.shared.X.take(self.test)

    def keep_ridge(self, shrinkage: float, is_kept: bool) -> None:
        """Let the next call of `answers`, for this shrinkage and one strength, keep its regression, if wanted."""
        if is_kept:
            w = shrunken_weights(self.kappa, shrinkage)
            self.ridge = FoldRidge(w, np.zeros((len(w), self._Y.shape[1])), np.zeros(self._Y.shape[1]))

    def _keep(self, labels: np.ndarray, V: np.ndarray, mean: np.ndarray, at_mean: np.ndarray) -> None:
        if self.ridge is not None:
            self.ridge.coef[:, labels] = V
            self.ridge.at_mean[labels] = at_mean + (self.shared.mean - mean) @ V

    def answers(
        self,
        shrinkage: float,
        ridges: np.ndarray,
        dtype: type = np.float64,
        compare: bool = False,
        n_threads: int = 1,
    ) -> Iterator[Answer]:
        """The predictions of the tested rows; with ``compare`` the errors in their place."""
        w = shrunken_weights(self.kappa, shrinkage)
        if not self.by_factors:
            every = np.arange(self._Y.shape[1])
            for j, predictions in enumerate(self._iteratively(w, ridges, n_threads)):
                yield every, slice(j, j + 1), self._missed(every, predictions) if compare else predictions
            return
        on_few_rows: list[LabelSet] = []
        on_many_rows: list[LabelSet] = []
        for each in self.sets:
            (on_few_rows if self._is_known_on_few_rows(each, w) else on_many_rows).append(each)
        if on_few_rows:
            labels, predictions = self._by_gram_of_each_set(on_few_rows, w, ridges)
            yield labels, slice(None), self._missed(labels, predictions) if compare else predictions
        for each in on_many_rows:
            yield each.labels, slice(None), self._of_set(each, shrinkage, w, ridges, dtype, compare)

    def _iteratively(self, w: np.ndarray, ridges: np.ndarray, n_threads: int) -> Iterator[np.ndarray]:
        """The predictions of all labels for each of the ridges, by conjugate gradients."""
        partly = self._partly_known()
        systems = WeightedSystems(partly, self.sets, w)
        tested = self.tested
        mean = partly.X.means()
        for c in ridges:
            V = systems.solve([c * each.variation(w) for each in self.sets], n_threads)
            at_mean = predicted_at(mean, V, self.sets)
            self._keep(np.arange(V.shape[1]), V, mean, at_mean)
            yield np.asarray(tested.project(V, mean))[None] + at_mean

    def _of_set(
        self, each: LabelSet, shrinkage: float, w: np.ndarray, ridges: np.ndarray, dtype: type, compare: bool
    ) -> np.ndarray:
        """The predictions of labels that are known on the same rows, or their errors, by Cholesky factors."""
        level = each.variation(w)
        if level == 0:
            predictions = np.zeros((len(ridges), 1, 1))
            self._keep(each.labels, np.zeros((len(w), len(each.labels))), each.mean, each.label_mean)
        elif not each.is_narrow():
            predictions = self._by_rows(each, shrinkage, w, ridges * level, dtype)
        else:
            key = (self._key, each.labels[0])
            size = len(w) * (2 * len(w) + len(each.labels))
            of_training, of_tested = self.shared.once(key, partial(self._sums, each), size)
            V = from_gram(of_training.astype(dtype, copy=False), each.moment, w, ridges * level)
            self._keep(each.labels, V[0], each.mean, each.label_mean)
            if compare and of_tested:
                gram, moment, squares = of_tested  # sum |Y - X V|^2 of each label from X'X, X'Y and |Y|^2
                fitted = np.einsum("cij,cij->cj", V, gram @ V - 2.0 * moment)
                return np.maximum(squares + fitted, 0.0)
            predictions = self._project(V, each.mean)
        predictions = predictions + each.label_mean
        return self._missed(each.labels, predictions) if compare else predictions

    def _project(self, V: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """The tested rows minus a mean, times V of each level (n_levels, n_tested, n_labels), by one product."""
        image = self.tested.project(np.hstack(list(V)), mean)
        return np.asarray(image.reshape(len(image), len(V), -1).swapaxes(0, 1))

    def _missed(self, labels: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """The sums of the squared errors of predictions."""
        missed = self._Y[self.test][:, labels] - predictions
        if self.shared.known is not None:
            missed *= self.shared.known[self.test][:, labels]
        return np.einsum("cij,cij->cj", missed, missed)

    def _sums(self, each: LabelSet) -> tuple[np.ndarray, tuple[np.ndarray, ...] | None]:
        """Xc'Xc of the training rows where these labels are known, and sums of the tested rows where these suffice.

        The latter are X'X, X'Y and |Y|^2, with X and Y minus the means of the training rows.  They do not suffice for
        labels that are known on other tested rows than the first of them.
        """
        origin = self.shared.mean
        known = slice(None)
        tested = self.tested
        of_tested = self.of_tested
        self.of_tested = None
        is_alike = True
        if self.shared.known is not None:
            of_labels = self.shared.known[np.ix_(self.test, each.labels)]
            known = of_labels[:, 0]
            is_alike = bool((of_labels == known[:, None]).all())
            tested = tested.take(known)
        if of_tested is None:
            of_tested = tested.gram(origin)
        shift = each.mean - origin
        of_training = self.shared.of_features(each.labels[0]) - of_tested
        of_training = blas.dsyr(-each.count, shift, a=of_training, lower=1, overwrite_a=1)
        if not is_alike or tested.is_sparse or tested.shape[0] < SUMS_FROM * len(shift):
            return of_training, None
        Y = self._Y[self.test][known][:, each.labels] - each.label_mean
        about = tested.cross_moment(np.column_stack([Y, np.ones(len(Y))]), origin)
        moment = about[:, :-1] - np.outer(shift, Y.sum(axis=0))
        sums = about[:, -1]
        lower = blas.dsyr2(-1.0, shift, sums - 0.5 * len(Y) * shift, a=of_tested, lower=1, overwrite_a=1)
        return of_training, (symmetric(lower), moment, np.einsum("ij,ij->j", Y, Y))

    def _is_known_on_few_rows(self, each: LabelSet, w: np.ndarray) -> bool:
        """Whether the Gram matrix of the rows of these labels alone gives their coefficients."""
        return self.shared.has_few_known_rows and not each.is_narrow() and each.variation(w) > 0

    def _chosen(self, each: LabelSet) -> np.ndarray:
        """The training rows where these labels are known, as a mask of all rows."""
        chosen = ~self.test
        if each.known is not None:
            chosen[chosen] = each.known
        return chosen

    def _by_rows(self, each: LabelSet, b: float, w: np.ndarray, levels: np.ndarray, dtype: type) -> np.ndarray:
        """K A + 1 mu', where (K + lambda I) A = Yc - 1 mu' and 1'A = 0."""
        chosen = self._chosen(each)
        parts = ((1.0 - b, b"", np.ones_like(self.kappa)), (b, self._key, self.kappa))
        shares = [share for share, _, _ in parts if share]
        grams = [self.shared.of_rows(key, w) for share, key, w in parts if share]

        def combined(blocks: Iterable[np.ndarray]) -> np.ndarray:
            scaled = (np.multiply(share, block, dtype=dtype) for share, block in zip(shares, blocks, strict=True))
            return reduce(operator.iadd, scaled)

        K = combined(gram.T[chosen].compress(chosen, axis=1) for gram in grams).T
        # of an entry and its mirror image one is 0
        tested = combined(gram.T[self.test][:, chosen] + gram[self.test][:, chosen] for gram in grams)
        Yc = each.centred(self.Y)
        A = solve_shifted(K, levels, np.column_stack([Yc, np.ones(len(Yc))]))
        sums = A.sum(axis=1, keepdims=True)
        means = sums[..., :-1] / sums[..., -1:]
        if self.ridge is not None:
            V = w[:, None] * each.rows(self.rows).cross_moment(A[0, :, :-1] - A[0, :, -1:] * means[0], each.mean)
            self._keep(each.labels, V, each.mean, each.label_mean)
        products = tested @ A
        return np.asarray(products[..., :-1] + (1.0 - products[..., -1:]) * means)

    def _by_gram_of_each_set(
        self, sets: list[LabelSet], w: np.ndarray, ridges: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """These labels, and their predictions, from K of the rows of each set; all are predicted by one product."""
        labels = np.concatenate([each.labels for each in sets])
        V = np.empty((len(ridges), len(w), len(labels)))
        at_mean = np.empty((len(ridges), 1, len(labels)))
        first = 0
        for each in sets:
            chosen = self._chosen(each)
            part = slice(first, first + len(each.labels))
            first = part.stop
            centred = self._Y[np.ix_(chosen, each.labels)] - each.label_mean
            V[..., part] = from_row_gram(self.shared.X.take(chosen), centred, each.mean, w, ridges * each.variation(w))
            at_mean[:, 0, part] = each.predicted_at(self.shared.mean, V[..., part])
            self._keep(each.labels, V[0, :, part], each.mean, each.label_mean)
        return labels, self._project(V, self.shared.mean) + at_mean


def predict_once(
    X: RowSums,
    Y: np.ndarray,
    known: np.ndarray | None,
    folds: np.ndarray,
    strengths: tuple[float, float],
    n_threads: int,
    callback: Callback,
    keep_ridge: bool,
) -> Iterator[Predicted]:
    """As `Rounds.predict`; no fold is kept.

    Systems of sparse rows that are too large for factors are solved by all threads, one fold after the other: the sums
    of one fold are in memory at a time, and no thread is idle while the last fold is solved.
    """
    b = strengths[0]
    c = np.array(strengths[1:])
    shared = _Shared(X, known)
    tests = masks_of_tests(folds)
    n_training = min(np.count_nonzero(~test) for test in tests)
    by_labels = X.is_sparse and known is None and n_training > regression.LARGEST_GRAM
    n_outer, n_inner = (1, n_threads) if by_labels else (n_threads, 1)

    def predict(test: np.ndarray) -> Predicted:
        fold = Fold(shared, Y, test, 1)
        fold.keep_ridge(b, keep_ridge)
        return test, list(fold.answers(b, c, n_threads=n_inner)), fold.ridge

    for t, predicted in enumerate(in_threads(predict, tests, n_outer)):
        yield predicted
        if callback is not None:
            callback(t + 1)
