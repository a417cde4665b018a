"""Many texts at once: equal ones, and the shapes of their digits."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Coded(NamedTuple):
    """The different ones of some things, in the order in which they occur first, and the number of each thing."""

    different: list[Any]
    codes: NDArray[np.int32]


def coded(items: Sequence[Any]) -> Coded:
    """Return the different items of a sequence, and for each item the number of its equal among them.

    Examples
    --------
    >>> coded("aba")
    Coded(different=['a', 'b'], codes=array([0, 1, 0], dtype=int32))
    """
    different = list(dict.fromkeys(items))
    place = {item: code for code, item in enumerate(different)}
    return Coded(different, np.fromiter(map(place.__getitem__, items), np.int32, len(items)))


def rows_of(codes: NDArray[np.int32], chosen: Any) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each of the chosen codes that occurs, and its rows."""
    rows = np.flatnonzero(np.isin(codes, np.asarray(chosen, np.int64))) if len(chosen) else np.zeros(0, np.int64)
    order = np.argsort(codes[rows], kind="stable")
    for part in np.split(rows[order], np.flatnonzero(np.diff(codes[rows[order]])) + 1):
        if len(part):
            yield int(codes[part[0]]), part


def shapes_of(texts: Sequence[str]) -> Coded:
    """Return the shapes of texts, in which each digit is a 1, except that a zero with no digit in front of it stays.

    A text is a number, a date, or has a unit behind its number, exactly if its shape is and has.

    Examples
    --------
    >>> shapes_of(["2.350,75 kg", "0,5", "9.120,30 kg"]).different
    ['1.111,11 kg', '0,1']
    """
    shapes = _shape("\n".join(texts)).split("\n")
    if len(shapes) != len(texts):  # some text has a line break
        shapes = [_shape(text) for text in texts]
    return coded(shapes)


def _shape(text: str) -> str:
    """Return the shape of one text, or of several with line breaks between them."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    is_digit = (data - ord("0")) < 10
    behind = np.concatenate([[False], is_digit[:-1]]) if len(data) else is_digit
    shape = np.where(is_digit & (behind | (data != ord("0"))), np.uint8(ord("1")), data)
    return shape.tobytes().decode("utf-8", "surrogatepass")
