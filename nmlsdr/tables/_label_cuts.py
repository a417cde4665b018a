"""Hierarchical codes as labels: codes are cut, equal ones fall together, and labels that few rows have are left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._errors import InputError, plural
from ._files import DataFileError

FEW_ROWS = 10  # labels with fewer rows are counted in the plan


@dataclass(frozen=True)
class LabelCut:
    """Where the names of labels end.

    Attributes
    ----------
    prefix : int or None
        How many characters are kept.
    until : str or None
        The text before whose first occurrence a label ends; a label that begins with it, or lacks it, is kept whole.
    """

    prefix: int | None = None
    until: str | None = None

    def check(self) -> None:
        """Raise for a length below 1, an empty text, or both at once."""
        if self.prefix is not None and self.until is not None:
            raise InputError("label_prefix and label_until are both given; choose one.")
        if self.prefix is not None and self.prefix < 1:
            raise InputError(f"label_prefix must be at least 1, got {self.prefix}.")
        if self.until == "":
            raise InputError("label_until is empty; give the text before which labels end, such as '.'.")

    @property
    def is_whole(self) -> bool:
        """Whether labels are not cut."""
        return self.prefix is None and self.until is None

    def __call__(self, name: str) -> str:
        """Return a label as it is cut.

        Examples
        --------
        >>> LabelCut(prefix=3)("E11.9"), LabelCut(until="::")("role::program"), LabelCut(until=".")("J45")
        ('E11', 'role', 'J45')
        """
        if self.until is not None:
            name = name.partition(self.until)[0].rstrip() or name
        return (name[: self.prefix].rstrip() or name) if self.prefix is not None else name

    def note(self, n_before: int, n_after: int) -> list[str]:
        """Return what the cut does to the number of labels, in words, if there is one."""
        return [] if self.is_whole else [f"{plural(n_before, 'code')} become {n_after}"]


def merge_labels(
    labels: NDArray[np.int64], names: Sequence[str], cut: Callable[[str], str]
) -> tuple[NDArray[np.int64], list[str]]:
    """Return labels (n, C) of which those with one name after the cut have fallen together, and their names.

    A row has such a label if it has one of them, lacks it if it lacks all of them, and else it is not known. The
    first of them gives the place.

    Examples
    --------
    >>> merge_labels(np.array([[1, 0, 0], [0, -1, 1], [0, 0, 1]]), ["E11.9", "E11.2", "J45"], LabelCut(prefix=3))
    (array([[ 1,  0],
           [-1,  1],
           [ 0,  1]]), ['E11', 'J45'])
    """
    members: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        members.setdefault(cut(name), []).append(place)
    merged = np.empty((len(labels), len(members)), np.int64)
    for column, places in zip(merged.T, members.values(), strict=True):
        part = labels[:, places]
        column[:] = np.where((part == 1).any(axis=1), 1, np.where((part == 0).all(axis=1), 0, -1))
    return merged, list(members)


def frequent_labels(labels: NDArray[np.int64], min_count: int) -> NDArray[np.bool_]:
    """Return which labels so many rows have; an error if there is none."""
    n_rows = (labels == 1).sum(axis=0)
    is_frequent: NDArray[np.bool_] = n_rows >= min_count
    if not is_frequent.any():
        fact = f"the most frequent label has {plural(int(n_rows.max(initial=0)), 'row')}"
        raise DataFileError(f": no label has min_count={min_count} rows, {fact}; lower it.")
    return is_frequent
