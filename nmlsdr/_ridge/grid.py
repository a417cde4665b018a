"""The strengths that a cross-validation tries."""

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

from .._checks.arguments import check_real
from .._errors import InputError


def check_grid(values: Any, name: str) -> tuple[float, ...]:
    """The strengths to try, from a number or a sequence of them: shrinkages in [0, 1], ridges above 0."""
    high, low_open = (1.0, False) if name == "shrinkage" else (math.inf, True)
    strengths = (values,) if isinstance(values, (Real, str)) else values
    if not isinstance(strengths, Iterable):
        raise InputError(f"{name} must be a number or a sequence of numbers, got {values!r}.")
    grid = tuple(check_real(value, name, 0.0, high, low_open=low_open) for value in strengths)
    if not grid:
        raise InputError(f"{name} is empty; give at least one strength.")
    return grid
