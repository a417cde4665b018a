"""Which reader takes a file, by its suffix and its first bytes."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._arff import ArffFile
from ._csv import CsvFile
from ._excel import ExcelFile
from ._files import DataFileError, Form, Lines, Path_, existing_file, library_errors, open_unpacked
from ._npz import read_npz
from ._parquet import ParquetFile
from ._svmlight import read_svmlight

READERS = {
    ".arff": ArffFile,
    **dict.fromkeys((".csv", ".tsv"), CsvFile),
    **dict.fromkeys((".parquet", ".pq"), ParquetFile),
    **dict.fromkeys((".xlsx", ".xlsm"), ExcelFile),
    ".npz": read_npz,
    **dict.fromkeys((".svmlight", ".svm", ".libsvm"), read_svmlight),
}
_SHEET = "save the sheet as CSV (Save As, CSV UTF-8) and give that file"
_FRAME = "load it with pandas and write it with to_parquet"
#: How to convert files that are not read.
OTHER_KINDS = {
    **dict.fromkeys((".xls", ".ods", ".numbers"), _SHEET),
    **dict.fromkeys((".json", ".jsonl", ".pkl", ".feather", ".sav", ".dta", ".sas7bdat", ".h5"), _FRAME),
    **dict.fromkeys((".txt", ".dat"), "rename it to .csv, or to .tsv if tabs are between its cells"),
    **dict.fromkeys((".zip", ".7z", ".xz", ".bz2"), "unpack it and give the table in it"),
    ".skops": "this is a model file; give a table",
}
WITHOUT_NAMES = (read_npz, read_svmlight)  # of columns
UNPACKED = (read_npz, ParquetFile, ExcelFile)  # which are no text, and not gzipped


def suffix_of(path: Path_) -> str:
    """Return the suffix that a file should have by its first bytes."""
    with library_errors(path), open_unpacked(path) as file:
        begin = file.read(1 << 16)
    if begin.startswith(b"\xd0\xcf\x11\xe0"):
        raise DataFileError(f"{path}: it is an old Excel file, or has a password; {_SHEET}.")
    if begin.lstrip(b"\xef\xbb\xbf \t\r\n")[:20].lower().startswith((b"<html", b"<!doctype html", b"<table")):
        raise DataFileError(f"{path}: it is a web page; open it in a spreadsheet, and {_SHEET}.")
    is_arff = any(line.strip().lower().startswith(b"@relation") for line in begin.split(b"\n"))
    kinds = {b"PAR1": ".parquet", b"PK\x03\x04": ".npz" if b".npy" in begin[:100] else ".xlsx"}
    return kinds.get(begin[:4], ".arff" if is_arff else ".csv")


def reader_of(path: Path_) -> Any:
    """Return the reader of a file by its suffix; tables of spreadsheets are renamed, and their first bytes decide."""
    file = existing_file(path)
    name = file.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    reader = READERS.get(suffix)
    if file.name.startswith("~$"):
        raise DataFileError(f"{file}: it is the lock of a workbook that is open; close it, and give the file itself.")
    if reader is None or (name.endswith(".gz") and reader in UNPACKED):
        advice = OTHER_KINDS.get(suffix, "rename or convert the file")
        raise DataFileError(f"{file}: the suffix is none of {', '.join(READERS)} (text also with .gz); {advice}.")
    if reader in (CsvFile, ExcelFile) and not name.endswith(".gz"):
        kind = READERS[suffix_of(path)]
        reader = kind if kind in (CsvFile, ExcelFile) else reader
    return reader


@contextlib.contextmanager
def open_table(path: Path_, reader: Any, form: Form, column_names: list[str] | None = None) -> Iterator[Any]:
    """Open a file whose columns have names."""
    with contextlib.nullcontext(path) if reader in UNPACKED else Lines(path, form) as source:
        yield reader(source, form, column_names)
