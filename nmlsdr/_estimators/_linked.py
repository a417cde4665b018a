"""Learners that bring scores of many labels to one scale: the linked ridge regression, and a Newton step from it."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np

from .._errors import InputError
from .._moments import RowSums
from .._process.threads import check_n_jobs, single_threaded_blas
from .._ridge import FoldRidge, Link, Newton, cross_link, cross_newton, fit_newton
from ._learner import Learner, NewRows, Training, check_arrays


class _LinkLearner(Link, Learner):
    """A learner that takes part where labels have links, and whose arrays begin with the numbers of a link."""

    @staticmethod
    def applies(training: Training) -> bool:
        return training.has_links

    def arrays(self) -> dict[str, Any]:
        return vars(self)

    @classmethod
    def checked(cls, arrays: Mapping[str, Any], n_features: int, n_labels: int) -> Self:
        check_arrays(arrays, cls.shapes(n_features, n_labels))
        learner = cls(**arrays)
        _check_link(learner)
        return learner

    @classmethod
    def shapes(cls, n_features: int, n_labels: int) -> dict[str, tuple[int, ...]]:
        """The shape of each array."""
        return {part.name: (n_labels,) for part in fields(Link)}


class LinkedRidge(_LinkLearner):
    """The ridge regression through a link of each label, which brings the scores of many labels to one scale."""

    name = "linked ridge regression"

    @classmethod
    def fit(cls, training: Training) -> tuple[Self, np.ndarray]:
        out_of_fold = cross_link(training.cross.predictions, training.cross.folds, training.links, training.n_threads)
        return cls(**vars(training.link)), out_of_fold

    def scores(self, new: NewRows) -> np.ndarray:
        return self.apply(new.ridge_scores, check_n_jobs(new.n_jobs))


class NewtonStep(Newton, _LinkLearner):
    """The linked ridge regression after one Newton step towards a logistic regression of each label."""

    name = "Newton step"

    @classmethod
    def fit(cls, training: Training) -> tuple[Self, np.ndarray]:
        cross = training.cross
        n_threads = training.n_threads
        data = training.rows, training.Y, training.known
        with training.steps.task("Newton step"):
            strength, out_of_fold = cross_newton(*data, cross.folds, cross.ridges, training.links, n_threads)
            coef, intercept = training.ridge
            at_mean = coef @ RowSums.of(training.rows, checked=True).means() + intercept
            ridge = FoldRidge(training.feature_weights, coef.T, at_mean)
            step = fit_newton(*data, ridge, training.link, strength, n_threads)
        return cls(**vars(step)), out_of_fold

    def scores(self, new: NewRows) -> np.ndarray:
        with single_threaded_blas():
            return self.probabilities(new.rows, new.ridge_scores)

    @classmethod
    def shapes(cls, n_features: int, n_labels: int) -> dict[str, tuple[int, ...]]:
        return super().shapes(n_features, n_labels) | {"coef": (n_labels, n_features), "center": (n_features,)}


def _check_link(link: Link) -> None:
    """Refuse numbers of a link from elsewhere that no fit gives."""
    if (link.slope < 0).any() or (link.bend < 0).any():
        raise InputError("it has slopes below 0")
    if (link.scale <= 0).any():
        raise InputError("it has scales that are not above 0")
