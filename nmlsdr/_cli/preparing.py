"""From a raw table to numbers: missing values are filled in, and categories are one-hot encoded."""

import argparse
from typing import Any


def preparation(table: Any, args: argparse.Namespace) -> Any:
    """Return an unfitted ColumnTransformer for --impute and --one-hot, or None if the table needs neither.

    Parameters
    ----------
    table : Bunch
        As `nmlsdr.datasets.read_table` gives it.
    args : Namespace
        With impute, "median", "mean" or None.
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = set(table.text_names)
    if args.impute is None and not words:
        return None
    if args.impute is not None:
        fill: Any = SimpleImputer(strategy=args.impute, keep_empty_features=True)
    else:
        fill = StandardScaler(with_mean=False, with_std=False)  # keeps the values, and converts objects to numbers
    names = table.feature_names or range(table.data.shape[1])  # an .npz file may have none, and then no words either
    numbers = [j for j, name in enumerate(names) if name not in words]
    categories = [j for j, name in enumerate(names) if name in words]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps = [("numbers", fill, numbers), ("categories", encoder, categories)]
    return ColumnTransformer([step for step in steps if step[2]], sparse_threshold=0)


def prepare(table: Any, args: argparse.Namespace, console: Any) -> None:
    """Turn the table's features into numbers, in place, for commands that write no model."""
    step = preparation(table, args)
    if step is None:
        return
    with console.step("fill in and encode"):
        table.data = step.fit_transform(table.data)
        if table.feature_names is None:
            return
        names: list[str] = []
        for role, fitted, columns in step.transformers_:
            if role == "numbers":
                names += [table.feature_names[j] for j in columns]
            elif role == "categories":
                found = zip(columns, fitted.categories_, strict=True)
                names += [f"{table.feature_names[j]}={value}" for j, values in found for value in values]
        table.feature_names = names
