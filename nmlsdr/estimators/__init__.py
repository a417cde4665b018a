"""Estimators: floor 2."""

from ._mlknn import MLkNN, SemiSupervisedMLkNN

__all__ = [
    "MLkNN",
    "SemiSupervisedMLkNN",
]
