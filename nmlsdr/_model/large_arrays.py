"""Large arrays of a model file, written and read without a second copy of them.

skops keeps the members of a file in memory before it writes them, and again before it makes arrays of them.  So each
large array is replaced by a mark, a short array of random bytes, while skops writes or reads the others.
"""

import io
import secrets
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

LARGE = 1 << 20  # bytes


class Marks:
    """Arrays by the bytes of the marks that stand for them; no other array is equal to a mark."""

    def __init__(self) -> None:
        self._arrays: dict[bytes, Any] = {}
        self._marks: dict[int, np.ndarray] = {}

    def put(self, array: Any) -> np.ndarray:
        """Keep an array, or what stands for it, and return its mark, which is the same for the same object."""
        if id(array) not in self._marks:
            mark = secrets.token_bytes(16)
            self._arrays[mark] = array
            self._marks[id(array)] = np.frombuffer(mark, dtype=np.uint8)
        return self._marks[id(array)]

    def get(self, array: np.ndarray) -> Any:
        """What a mark stands for; None of another array."""
        return self._arrays.get(array.tobytes()) if array.dtype == np.uint8 and array.shape == (16,) else None


def write_archive(file: BinaryIO, content: Any, dumps: Callable[[Any], bytes]) -> None:
    """Write what ``dumps`` writes of the content to a file that is open for writing."""
    marks = Marks()
    draft = io.BytesIO(dumps(with_arrays(content, lambda array: marks.put(array) if array.nbytes >= LARGE else array)))
    with zipfile.ZipFile(draft) as members, zipfile.ZipFile(file, "w") as archive:
        for info in members.infolist():
            member = members.read(info)
            is_array = info.filename.endswith(".npy")
            array = marks.get(np.load(io.BytesIO(member), allow_pickle=False)) if is_array else None
            if array is None:
                archive.writestr(info.filename, member)
                continue
            with archive.open(info.filename, "w", force_zip64=array.nbytes >= 1 << 31) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)


def read_archive(file: BinaryIO, loads: Callable[[BinaryIO], Any]) -> Any:
    """Return what ``loads`` makes of the members of a file that were checked before."""
    marks = Marks()
    draft = io.BytesIO()
    with zipfile.ZipFile(file) as archive:
        with zipfile.ZipFile(draft, "w") as members:
            for info in archive.infolist():
                if info.filename.endswith(".npy") and info.file_size >= LARGE:
                    mark = io.BytesIO()
                    np.save(mark, marks.put(info.filename))
                    members.writestr(info.filename, mark.getvalue())
                else:
                    members.writestr(info.filename, archive.read(info))

        def array_of(array: np.ndarray) -> np.ndarray:
            name = marks.get(array)
            if name is None:
                return array
            with archive.open(name) as member:
                return np.asarray(np.lib.format.read_array(member, allow_pickle=False))

        draft.seek(0)
        return with_arrays(loads(draft), array_of)


def with_arrays(value: Any, replaced: Callable[[np.ndarray], Any]) -> Any:
    """Return a value in which each array, of its parts too, is replaced by what a function gives for it."""
    if type(value) is np.ndarray:
        return replaced(value)
    if type(value) in (list, tuple):
        return type(value)(with_arrays(item, replaced) for item in value)
    if type(value) is dict:
        return {key: with_arrays(item, replaced) for key, item in value.items()}
    if hasattr(value, "get_params"):
        parts = object.__new__(type(value))
        vars(parts).update(with_arrays(vars(value), replaced))
        return parts
    return value
