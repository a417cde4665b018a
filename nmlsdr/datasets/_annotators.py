"""Find columns that annotators filled in together with the labels: as features they would leak the labels."""

import math
import re
from typing import Any

import numpy as np
from scipy import sparse

from ._cells import HOLES
from ._files import BLANKS

ONLY_WHERE_LABELED = "filled only where labels are"
WORDS_OF_LABELS = "made of the labels' words"
CHANCE = 1e-6  # accepted probability that a column without any link to the labels is filled on labelled rows only
SEPARATORS = re.compile("[;|,]")


def columns_like_labels(table: Any) -> dict[str, str]:
    """Return the features that look like labels, and why.

    Parameters
    ----------
    table : Bunch
        As `nmlsdr.datasets.read_table` gives it, read with labels and with missing values.

    Returns
    -------
    dict of str to str
        Name of the column to `ONLY_WHERE_LABELED` or `WORDS_OF_LABELS`.
    """
    if table.target is None or table.feature_names is None or sparse.issparse(table.data):
        return {}
    labeled = np.asarray(table.labeled)
    if not labeled.any():
        return {}
    # So many filled cells are not all in labelled rows by chance; if all rows are labelled, this cannot be decided.
    enough = math.inf if labeled.all() else math.log(CHANCE) / math.log(labeled.mean())
    labels = {name.strip(BLANKS).casefold() for name in table.label_names or ()}
    found = {}
    for name, column in zip(table.feature_names, table.data.T, strict=True):
        if name in table.text_names:
            filled = np.array([cell.strip(BLANKS).lower() not in HOLES for cell in column], dtype=bool)
            parts = {part.strip(BLANKS).casefold() for cell in set(column[filled]) for part in SEPARATORS.split(cell)}
            if 0 < len(parts) <= 2 * len(parts & labels):
                found[name] = WORDS_OF_LABELS
                continue
        else:
            filled = ~np.isnan(column.astype(np.float64))
        if filled.sum() >= enough and not filled[~labeled].any():
            found[name] = ONLY_WHERE_LABELED
    return found
