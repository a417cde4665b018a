"""The form of a model file: its name and version, the header's text, the checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._errors import InputError

__all__ = ["ARRAYS", "FORMAT", "FORMAT_VERSION", "KINDS", "ModelFileError", "Refused", "canonical", "checksum"]

FORMAT = "nmlsdr-model"
FORMAT_VERSION = 1
ARRAYS = ("array", "rows", "classes", "targets")  # kinds of fields that are stored as arrays
KINDS = "biufU"  # dtype kinds that need no pickle: flags, integers, floats, text


class ModelFileError(InputError):
    """A file is not a model that this version reads, or an object cannot be written as one."""


class Refused(Exception):
    """The end of a sentence that begins with the file's name."""


def canonical(header: Mapping[str, Any]) -> bytes:
    """Return the one text that a header has."""
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def checksum(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over the header without its checksum and every array's name, dtype, shape, order and bytes."""
    digest: Any = hashlib.sha256(canonical({key: value for key, value in header.items() if key != "checksum"}))
    for name in sorted(arrays):
        array = arrays[name]
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        digest.update(f"\n{name} {array.dtype.str} {array.shape} {order}\n".encode())
        digest.update(np.frombuffer(array.tobytes(order="A"), np.uint8) if array.size else b"")
    return f"sha256:{digest.hexdigest()}"
