"""Reading arrays of foreign ``.npy`` bytes: numbers and text only, and never more memory than the bytes fill.

NumPy's own reader evaluates the header as Python and, on a damaged one, raises whatever its tokenizer, its parser or a
type happens to raise. The header of a plain array is one fixed form, so it is matched here, and what does not match is
refused. NumPy and the standard library only: any floor may use it.
"""

from __future__ import annotations

import math
import re
from typing import Any, BinaryIO

import numpy as np

__all__ = ["NpyError", "read_npy"]

KINDS = "biufSU"  # flags, integers, floats, bytes, text: none can hold a Python object
_CHUNK = 1 << 20
_MAX_HEADER = 10_000  # NumPy's own limit
_MAX_DIMENSIONS = 8
_DESCR = r"(?P<q>['\"])descr(?P=q)\s*:\s*(?P<r>['\"])(?P<descr>[<>|=]?[a-zA-Z][0-9]{0,9})(?P=r)"
_ORDER = r"['\"]fortran_order['\"]\s*:\s*(?P<order>True|False)"
_SHAPE = r"['\"]shape['\"]\s*:\s*\((?P<shape>[0-9,\s]*)\)"
_HEADER = re.compile(rf"\s*\{{\s*{_DESCR}\s*,\s*{_ORDER}\s*,\s*{_SHAPE}\s*,?\s*\}}\s*")


class NpyError(ValueError):
    """The bytes are not a plain array of numbers or text; the text is a clause that says why."""


def read_npy(file: BinaryIO | Any, name: str, size: int) -> np.ndarray:
    """Read the array that `size` bytes of a file hold.

    Parameters
    ----------
    file : binary file
        At the first byte of the array.
    name : str
        What to call the array in an error.
    size : int
        How many bytes there are; a header that needs fewer or more is refused before memory is taken.

    Returns
    -------
    ndarray
        In C or Fortran order, as it was written.

    Raises
    ------
    NpyError
        The bytes are no array, one of objects or records, of another size than the header says, or of text with
        characters that are none.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.array([1.5, 2.5]))
    >>> size = file.seek(0, io.SEEK_END)
    >>> _ = file.seek(0)
    >>> read_npy(file, "a", size)
    array([1.5, 2.5])
    """
    dtype, is_fortran, shape, length = _header(file, name)
    n_bytes = math.prod(shape) * dtype.itemsize
    if length + n_bytes != size:
        raise NpyError(f"array {name!r} has another size than it says")
    array = np.empty(math.prod(shape), dtype=dtype)
    raw: Any = array.view(np.uint8) if n_bytes else array
    view = memoryview(raw)
    read = 0
    while read < n_bytes:
        chunk = file.read(min(_CHUNK, n_bytes - read))
        if not chunk:
            raise NpyError(f"array {name!r} ends early")
        view[read : read + len(chunk)] = chunk
        read += len(chunk)
    if dtype.kind == "U":
        _check_characters(array, name)
    return array.reshape(shape[::-1]).T if is_fortran else array.reshape(shape)


def _header(file: BinaryIO | Any, name: str) -> tuple[np.dtype[Any], bool, tuple[int, ...], int]:
    """Return dtype, order, shape, and how many bytes all of this took."""
    start = file.read(8)
    versions = {b"\x93NUMPY\x01\x00": 2, b"\x93NUMPY\x02\x00": 4, b"\x93NUMPY\x03\x00": 4}
    if start not in versions:
        raise NpyError(f"{name!r} is not an array, or in an unknown array format")
    counted = file.read(versions[start])
    length = int.from_bytes(counted, "little")
    text = file.read(length) if length <= _MAX_HEADER else b""
    if len(counted) != versions[start] or len(text) != length:
        raise NpyError(f"array {name!r} has a header that is cut short or too long")
    match = _HEADER.fullmatch(text.decode("latin-1"))
    if match is None:
        kind = "objects or records" if b"O'" in text or b"[" in text else "no plain numbers or text"
        raise NpyError(f"array {name!r} holds {kind} by its header (a pickle is never read)")
    try:
        dtype = np.dtype(match["descr"])
    except (TypeError, ValueError):
        raise NpyError(f"array {name!r} has the unknown dtype {match['descr']!r}") from None
    if dtype.kind not in KINDS or dtype.itemsize == 0:
        raise NpyError(f"array {name!r} holds {dtype}, not numbers or text (a pickle is never read)")
    sizes = [part.strip() for part in match["shape"].split(",") if part.strip()]
    if len(sizes) > _MAX_DIMENSIONS or not all(part.isdigit() and len(part) < 19 for part in sizes):
        raise NpyError(f"array {name!r} has the impossible shape ({match['shape'][:40]})")
    return dtype, match["order"] == "True", tuple(map(int, sizes)), 8 + len(counted) + length


def _check_characters(array: np.ndarray, name: str) -> None:
    """Refuse code points beyond Unicode, which Python cannot show, and halves of a pair, which nothing can print."""
    order = array.dtype.byteorder
    codes = array.view(f"{order if order in '<>' else '='}u4")
    if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
        raise NpyError(f"array {name!r} holds text with characters that are none")
