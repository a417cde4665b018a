"""The record store: one line of JSON per finished cell, on the disk before the next cell starts.

``records.jsonl`` only grows. Each line ends with a checksum of what stands before it, so that a line which a crash cut
short is told from a whole one: as the last line it is dropped, in the middle it is reported and its cell runs again.
One process at a time holds the folder, by a lock that the system releases when the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
import socket
import warnings
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from .._errors import InputError
from .._output import names_file

__all__ = ["CellKey", "RecordStore", "StoreError", "decode_line", "encode_line"]

RECORDS = "records.jsonl"
LOCK = ".lock"
CHECKSUM_DIGITS = 16


class StoreError(InputError):
    """The folder cannot be used: another run holds it, or its records are of another kind."""


class CellKey(NamedTuple):
    """What names a cell: the same key is never computed twice."""

    study: str
    dataset: str
    method: str
    seed: int


def encode_line(record: dict[str, Any]) -> bytes:
    """One record as a line of JSON whose last member, ``checksum``, covers all bytes before it.

    Examples
    --------
    >>> line = encode_line({"seed": 3})
    >>> line
    b'{"seed":3,"checksum":"951f6eaee8e3f672"}\\n'
    >>> decode_line(line)
    {'seed': 3}
    """
    body = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()[:-1]
    return body + b',"checksum":"' + _checksum(body) + b'"}\n'


def decode_line(line: bytes) -> dict[str, Any] | None:
    """The record of a line, or None if the line is not exactly what `encode_line` wrote."""
    body, mark, tail = line.rpartition(b',"checksum":"')
    if not mark or tail != _checksum(body) + b'"}\n':
        return None
    record = json.loads(body + b"}")
    return record if isinstance(record, dict) else None


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:CHECKSUM_DIGITS].encode()


class RecordStore:
    """The finished cells of one output folder; a context manager that holds the folder's lock.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.
    command : str
        What the holder is doing, shown to whoever finds the folder locked.

    Attributes
    ----------
    records : dict of CellKey to dict
        The newest record of each cell, failed ones included.
    notes : list of str
        What was found wrong in the file, one sentence each.

    Raises
    ------
    StoreError
        If another process holds the folder.
    """

    def __init__(self, folder: str | os.PathLike[str], *, command: str = "") -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"The output folder {str(folder)!r} cannot be made ({error.strerror}); "
                             "choose another --out.") from None  # fmt: skip
        self.path = self.folder / RECORDS
        self.records: dict[CellKey, dict[str, Any]] = {}
        self.notes: list[str] = []
        self._lock = _lock(self.folder / LOCK, command)
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
            self._read()
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> RecordStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        os.close(self._lock)  # closing releases the lock

    def append(self, record: dict[str, Any]) -> None:
        """Add one record; when this returns, it is on the disk."""
        line = encode_line(record)
        view = memoryview(line)
        with names_file(self.path):
            while view:
                view = view[os.write(self._descriptor, view) :]
            os.fsync(self._descriptor)
        self.records[_key(record)] = record

    def finished(self, key: CellKey) -> bool:
        """Whether the cell has a result; a failed cell has none and runs again on the next start."""
        record = self.records.get(key)
        return record is not None and record.get("error") is None

    def set_aside(self) -> Path | None:
        """Keep the records under another name and go on with none; returns the new name."""
        if os.fstat(self._descriptor).st_size == 0:
            return None
        number = 1
        while (aside := self.folder / f"records.{number}.jsonl").exists():
            number += 1
        os.close(self._descriptor)
        os.replace(self.path, aside)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self.records.clear()
        return aside

    def _read(self) -> None:
        with open(self.path, "rb") as file:
            lines = file.readlines()
        kept = 0
        for number, line in enumerate(lines, start=1):
            record = decode_line(line)
            if record is not None:
                self.records[_key(record)] = record
            elif number == len(lines):
                self.notes.append(f"The last line of {RECORDS} was cut short and is dropped; its cell runs again.")
                os.ftruncate(self._descriptor, kept)
                os.fsync(self._descriptor)
            else:
                self.notes.append(f"Line {number} of {RECORDS} is damaged and is not used; its cell runs again.")
            kept += len(line)
        os.lseek(self._descriptor, 0, os.SEEK_END)


def _key(record: dict[str, Any]) -> CellKey:
    return CellKey(record["study"], record["dataset"], record["method"], record["seed"])


def _lock(path: Path, command: str) -> int:
    """Take the lock of a folder, or say who has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    if not _try_lock(descriptor):
        try:
            holder = json.loads(os.read(descriptor, 4096))
            who = f"process {holder['pid']} on {holder['host']} ({holder['command']}, since {holder['since']})"
        except (OSError, ValueError, KeyError, TypeError):
            who = "another process"
        os.close(descriptor)
        raise StoreError(
            f"The output folder {str(path.parent)!r} is in use by {who}; wait for it, or choose another --out."
        )
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": command,
        "since": datetime.datetime.now().isoformat(timespec="seconds"),
    }
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, json.dumps(holder).encode())
    return descriptor


def _try_lock(descriptor: int) -> bool:
    """Lock an open file without waiting; on a system with neither kind of lock, warn and go on."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # some network file systems have no locks
        warnings.warn(f"This folder cannot be locked ({error.strerror}); start only one run on it.", stacklevel=2)
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import msvcrt

    locking: Any = getattr(msvcrt, "locking")  # noqa: B009  (absent from the type stubs of other systems)
    with contextlib.suppress(OSError):
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # beyond the holder's name, which others must be able to read
        locking(descriptor, getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
        return True
    return False
