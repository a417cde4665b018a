"""The finished cells of a folder: ``cells/``, one JSON file each, which appears whole or not at all.

A killed run leaves the files of the cells that were finished, and the next start computes the others.  Two runs on one
folder compute some cells twice and write the same files.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from .._errors import InputError
from .._output import replace_file

CELLS = "cells"
Record = dict[str, Any]


class CellKey(NamedTuple):
    """The identity of a cell; no cell is computed twice."""

    study: str
    dataset: str
    method: str
    seed: int

    @classmethod
    def of(cls, record: Record) -> "CellKey":
        """The key of a record."""
        return cls(*(record[field] for field in cls._fields))

    def file_name(self) -> str:
        """The name of the cell's file, with characters that every file system allows.

        Examples
        --------
        >>> CellKey("toy", "Toy", "NMLSDR*", 3).file_name()
        'toy.Toy.NMLSDR-star.3.json'
        """
        return f"{'.'.join(map(str, self))}.json".replace("*", "-star")


class CellFolder:
    """The cells of one output folder, failed ones included.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.

    Attributes
    ----------
    records : dict of CellKey to dict

    Raises
    ------
    InputError
        If the folder cannot be made, or if a file in it is not a cell.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.cells = self.folder / CELLS
        self.records: dict[CellKey, Record] = {}
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"The output folder {str(folder)!r} cannot be made ({error.strerror}); "
                             "choose another --out.") from None  # fmt: skip
        for path in sorted(self.cells.glob("*.json")):
            try:
                record = json.loads(path.read_bytes())
                self.records[CellKey.of(record)] = record
            except (ValueError, KeyError, TypeError):
                raise InputError(f"{path} is not a cell of an experiment; remove the file, so that its cell "
                                 "runs again.") from None  # fmt: skip

    def write(self, record: Record) -> None:
        """Add one cell; its file is on the disk when this returns."""
        key = CellKey.of(record)
        with replace_file(self.cells / key.file_name()) as file:
            file.write(json.dumps(record, indent=1, allow_nan=False).encode() + b"\n")
        self.records[key] = record

    def finished(self, key: CellKey) -> bool:
        """Whether the cell has a result; a failed cell has none and runs again on the next start."""
        record = self.records.get(key)
        return record is not None and record["error"] is None

    def set_aside(self) -> Path | None:
        """Move the cells to another folder, which is returned, and continue without cells."""
        if not self.records:
            return None
        number = 1
        while (aside := self.folder / f"{CELLS}.{number}").exists():
            number += 1
        self.cells.rename(aside)
        self.cells.mkdir()
        self.records.clear()
        return aside
