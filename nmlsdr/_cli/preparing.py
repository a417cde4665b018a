"""From the features of a raw table to complete numbers."""

import argparse
from typing import Any


def prepare(table: Any, args: argparse.Namespace) -> Any:
    """Fill missing values in, in place, by the median or the mean of their columns (--impute).

    Returns
    -------
    TableEncoder or None
        The fitted step that does with new rows what was done with these; None if these were complete numbers. Then
        ``table.plan``, if there is one, needs no step, and says how missing values of new rows are filled.
    """
    import numpy as np

    from nmlsdr.datasets._encoder import encoder_of
    from nmlsdr.datasets._plan import Column, Plan

    plan, named = table.plan, table.feature_names is not None
    if plan is None and args.impute is not None and isinstance(table.data, np.ndarray):
        names = table.feature_names or map(str, range(table.data.shape[1]))
        plan = Plan(tuple(Column(name, "number") for name in names))
    if plan is None:
        return None
    table.plan = plan.filled(table.data, args.impute or "median")
    if args.impute is None and plan.is_plain and not np.isnan(table.data).any():
        return None
    table.data = table.plan.fill_in(table.data)
    return encoder_of(table.plan, args.impute or "median", named)
