"""What a learner of ResidualPropagation's trend is, and what it is fitted to."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .._errors import InputError
from .._group_folds import Groups
from .._process.threads import check_n_jobs
from .._ridge import CrossFit, Link, fit_link, fold_links, ridge_regression
from .._row_order import RowOrder
from ..forest import FEWEST_ROWS, KINDS, Forest, forest_seed, grow_forests
from ._steps import Steps

_LARGEST = 1e170  # sums of such coefficients are finite


@dataclass(eq=False)
class Training:
    """What learners are fitted to: the labelled rows, their labels, and the chosen ridge regression.

    Attributes
    ----------
    steps : Steps
        The estimator with its settings, its tasks, and how rows come into memory.
    sums : array, sparse matrix or RowSums of shape (n_labeled, n_features)
        The labelled rows, which need not be in memory.
    Y : ndarray of shape (n_labeled, n_labels)
        Observed labels.
    known : ndarray of shape (n_labeled, n_labels), bool, or None
        The entries that are known; None: all.
    has_links : bool
        Whether learners with a link of each label take part.
    order : ndarray of shape (n_labeled,), or None
        The numbers of the labelled rows in the order in which trees draw them.
    groups : ndarray of shape (n_labeled,), or None
        Rows of one group are predicted by trees that saw none of them.
    feature_weights : ndarray of shape (n_features,)
        Weights of the squared features.
    cross : CrossFit
        The chosen strengths, and the ridge regression's out-of-fold predictions.
    least_error : float
        The least sum of squared errors out of sample of the learners that are fitted so far.
    """

    steps: Steps
    sums: Any
    Y: np.ndarray
    known: np.ndarray | None
    has_links: bool
    order: RowOrder
    groups: Groups
    feature_weights: np.ndarray
    cross: CrossFit
    least_error: float = np.inf

    @cached_property
    def rows(self) -> Any:
        """The labelled rows in memory."""
        return self.steps.in_memory(self.sums)

    @cached_property
    def seed(self) -> int:
        """The seed of all trees, which is drawn once if the estimator has a generator."""
        return forest_seed(self.steps.estimator.random_state)

    @cached_property
    def ridge(self) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (n_labels, n_features) and intercepts of the ridge regression of all labelled rows."""
        strength = self.cross.ridge
        n_jobs = self.steps.estimator.n_jobs
        return ridge_regression(
            self.sums, self.Y, strength, feature_weights=self.feature_weights, known=self.known, n_jobs=n_jobs
        )

    @cached_property
    def links(self) -> list[Link]:
        """The link of the rows outside each fold."""
        return fold_links(self.cross.predictions, self.Y, self.known, self.cross.folds, self.n_threads)

    @cached_property
    def link(self) -> Link:
        """The link of all labelled rows."""
        return fit_link(self.cross.predictions, self.Y, self.known, n_threads=self.n_threads)

    @property
    def n_threads(self) -> int:
        """The number of threads."""
        return check_n_jobs(self.steps.estimator.n_jobs)

    @property
    def has_trees(self) -> bool:
        """Whether trees are wanted, and there are rows enough."""
        return self.steps.estimator.n_estimators > 0 and len(self.Y) >= FEWEST_ROWS

    def settings(self, callback: Any) -> dict[str, Any]:
        """The arguments that growing any trees takes."""
        rows = {"order": self.order, "groups": self.groups}
        return {"random_state": self.seed, "callback": callback, "n_jobs": self.n_threads, **rows}

    @cached_property
    def forests(self) -> dict[str, tuple[Forest, np.ndarray]]:
        """Each kind of forest with its out-of-bag predictions: grown together, because they share the drawn rows.

        The forests learn the predictions of the ridge regression for unknown entries.
        """
        O = self.cross.predictions
        n_estimators = self.steps.estimator.n_estimators
        targets = self.Y if self.known is None else np.where(self.known, self.Y, O)
        with self.steps.task("forests", "trees", None) as trees_done:
            settings = self.settings(trees_done)
            forests, predictions, left_out = grow_forests(self.rows, targets, n_estimators=n_estimators, **settings)
        for each in predictions:
            each[~left_out] = O[~left_out]
        return dict(zip(KINDS, zip(forests, predictions, strict=True), strict=True))


class NewRows(NamedTuple):
    """Rows to score, their scores by the ridge regression, and the number of threads (None: all cores)."""

    rows: Any
    ridge_scores: np.ndarray
    n_jobs: int | None


class Learner(ABC):
    """A fitted learner of the trend: what `LEARNERS` holds has these names.

    A new learner is a subclass in `LEARNERS`, behind those that are there, because the order decides in which order
    scores are added.  Its arrays are written to model files, and `checked` makes it of these again.

    Scores do not depend on the order of the rows (``training.order``; tests/core/test_row_order.py), and `fit` scores
    no row by rows of its group (``training.groups``; tests/core/test_groups.py).  ``training.rows`` are dense or CSR;
    to read them gathers the rows of Dask arrays, so `applies` does not.
    """

    name: ClassVar[str]  #: in model files and in messages

    @staticmethod
    @abstractmethod
    def applies(training: Training) -> bool:
        """Whether this learner takes part."""

    @classmethod
    @abstractmethod
    def fit(cls, training: Training) -> tuple[Self, np.ndarray]:
        """The fitted learner, and its scores (n_labeled, n_labels) of rows that it, or a part of it, did not see.

        A fit that takes long opens a task of ``training.steps`` and reports its progress there.
        """

    @abstractmethod
    def scores(self, new: NewRows) -> np.ndarray:
        """Scores (n_samples, n_labels) of new rows; an array that the caller does not change."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """What a model file keeps: arrays and CSR matrices by name."""

    @classmethod
    @abstractmethod
    def checked(cls, arrays: Mapping[str, Any], n_features: int, n_labels: int) -> Self:
        """The learner of arrays from elsewhere; `InputError` with what is wrong if no fit gives such arrays."""


def check_arrays(arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse arrays from elsewhere that are not finite float64 numbers in C order of these shapes."""
    if arrays.keys() != shapes.keys():
        raise InputError(f"its arrays are {', '.join(arrays)}, not {', '.join(shapes)}")
    for name, shape in shapes.items():
        array = arrays[name]
        if not isinstance(array, np.ndarray) or array.dtype.str != np.dtype(np.float64).str or array.shape != shape:
            raise InputError(f"its {name} is not an array of float64 of the shape {shape}")
        if not array.flags.c_contiguous:
            raise InputError(f"its {name} is not in C order")
        if not (np.abs(array) <= _LARGEST).all():
            raise InputError(f"its {name} holds a value that is not finite")
