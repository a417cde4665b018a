"""Labels that are given as lists: one cell ``flu;cold`` for a row with two labels."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import MultiLabelBinarizer

from ._columns import Wanted
from ._files import BLANKS, DataFileError, Path_, check_size, place, shorten

SEPARATORS = (";", "|", ",", "/", "+", "\n")
NO_LABEL = ("none", "no", "nothing", "nil", "-", "--", "n/a", "na", "0", "keine", "keines", "nichts", "ohne", "aucun",
            "ninguno", "nessuno", "geen")  # fmt: skip
CHANCE = 1e-4  # accepted probability that a label of its frequency never stands beside another


class Lists(NamedTuple):
    """What separates the labels of a list, and the word in place of a list without labels."""

    separator: str = ";"
    no_label: str | None = None

    def tags(self, cell: str) -> set[str]:
        """Return the labels of one cell."""
        return {tag for part in cell.split(self.separator) if (tag := part.strip(BLANKS))}


def find_lists(cells: Sequence[str], separator: str | None, no_label: str | None) -> Lists:
    """Return how labels are listed, by what the separator and the word do; what is given is not looked for.

    The separator leaves the fewest different labels. The word never stands beside another label, although it is so
    frequent that a label would; or it is one of the usual words. An empty `no_label` says that there is none.

    Examples
    --------
    >>> find_lists(["flu|cold", "flu", "cold", "keine", "keine", "flu|gout", "gout, acute|cold"], None, None)
    Lists(separator='|', no_label='keine')
    """
    counts = Counter(cells)
    if separator is None:
        found = [mark for mark in SEPARATORS if any(mark in cell for cell in counts)]
        n_tags = {mark: len(set().union(*map(Lists(mark).tags, counts))) for mark in found}
        separator = min(found, key=lambda mark: n_tags[mark], default=";")
        n_recurring = sum(len(Lists(separator).tags(cell)) for cell in counts) - n_tags.get(separator, 0)
        if separator not in (";", "|") and not n_recurring:
            separator = next((mark for mark in found if mark in (";", "|")), ";")
    lists = Lists(separator, no_label or None)
    if no_label is not None:
        return lists
    alone, beside = Counter[str](), Counter[str]()
    for cell, count in counts.items():
        tags = lists.tags(cell)
        for tag in tags:
            (alone if len(tags) == 1 else beside)[tag] += count
    share = sum(beside.values()) / max(1, sum(beside.values()) + sum(alone.values()))
    for tag, count in alone.most_common():
        # Labels stand alone in this share of their cells; so many of them in a row are no chance.
        frequent = (1 - share) ** count < CHANCE
        if tag not in beside and (frequent or tag.casefold() in NO_LABEL):
            return lists._replace(no_label=tag)
    return lists


def listed_labels(
    path: Path_, cells: Sequence[str], lists: Lists, wanted: Wanted
) -> tuple[NDArray[np.int64], list[str]]:
    """Return labels (n, C), and their names in alphabetical order.

    An empty cell is a row of -1, the word for no label a row of 0.
    """
    no_label = lists.no_label
    rows = [lists.tags(cell) for cell in cells]
    names = sorted(set().union(*rows) - {no_label})
    if not names:
        raise DataFileError(f"{place(path)}: its column of lists contains no label; give another column.")
    if len(names) > wanted.max_features:
        raise DataFileError(f"{place(path)}: {len(names)} labels are more than max_features; check the separator.")
    for i, row in enumerate(rows):
        if no_label in row and len(row) > 1:
            both = f"{shorten(str(no_label))!r} (--no-label) and {shorten(min(row - {no_label}))!r}"
            raise DataFileError(f"{place(path, row=i)}: it has both {both}; correct the cell or the option.")
    target = indicator(path, [row - {no_label} for row in rows], names, wanted)
    target[[not row for row in rows]] = -1
    return target, names


def indicator(path: Path_, rows: Sequence[set[Any]], names: Sequence[str], wanted: Wanted) -> NDArray[np.int64]:
    """Return labels (n, C): 1 for each of the names that a row has, 0 for the others."""
    declared = f"has {len(rows)} rows and {len(names)} labels, a table of"
    check_size(path, len(rows) * len(names) * 8, declared, wanted.max_bytes)
    return np.asarray(MultiLabelBinarizer(classes=list(names)).fit_transform(rows), dtype=np.int64)


def votes_of(labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the share of annotators who gave each label, and what most of them say; -1 where that is not known.

    Parameters
    ----------
    labels : ndarray of shape (n_annotators, n_samples, n_labels)
        1, 0, and -1 where an annotator did not vote.

    Returns
    -------
    votes, target : ndarray of shape (n_samples, n_labels)

    Examples
    --------
    >>> votes_of(np.array([[[1, 0]], [[1, -1]], [[0, 1]]]))
    (array([[0.66666667, 0.5       ]]), array([[ 1, -1]]))
    """
    n_votes = (labels != -1).sum(axis=0)
    votes = np.where(n_votes, (labels == 1).sum(axis=0) / np.maximum(n_votes, 1), -1.0)
    return votes, np.where((n_votes == 0) | (votes == 0.5), -1, (votes > 0.5).astype(np.int64))
