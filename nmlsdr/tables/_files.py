"""What all readers of data files share: their errors, the form of a text file, and lines of bounded length and number.

Files come from anywhere, so a reader streams, counts what it unpacks, and never trusts a size that a file states
about itself.

A reader of a format is entered in `_formats.READERS`, by the suffixes of its files.  There are two kinds:

* A reader of files whose columns have names is a class. ``Reader(source, form, column_names)`` opens the file, where
  `source` is a path, or `Lines` for text, and `column_names` are names of columns that are looked for (None: the file
  is no raw table). It has ``path``, the ``names`` of the columns in the file's order, and the ``line`` of the names, or
  None. ``read(split)`` is called once and returns a `Table` of the columns ``split.column_names`` in that order, one
  row for each row of the file, with the number of the line or row on which each ends.
* A reader of files without names is a function, and stands in `_formats.WITHOUT_NAMES`. ``read(path, form, labels)``
  returns a Bunch with data, target, feature_names and label_names.

Both raise `DataFileError` and nothing else, whatever the bytes are: with the file, the place, and what to do.  They
check the limits ``form.max_bytes`` and ``form.max_features`` before they use memory.  Calls of libraries stand in
`library_errors`, which turns their errors into such ones.  Features are finite or NaN, labels 1, 0 or -1.
`tests/tables/test_readers_all.py` holds every entry of READERS to this, with damaged files of each; it fails for an
entry of which it cannot write a file.  Its files hold numbers only:
lists, decimals and dates of a format with types, which `_parquet.py` and `_arrow.py` check, need other tests.
"""

import contextlib
import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from .._errors import InputError, shorten
from ._encodings import guess_encoding

SAMPLE = 1 << 16  # bytes of a file by which its encoding and its delimiter are guessed
DELIMITERS = ",;\t|"
QUOTED = re.compile(r'"[^"]*"')
#: Most bytes that a reader takes from one file.
MAX_BYTES = 4 * 2**30
#: Most columns that a reader accepts.
MAX_FEATURES = 10**6
#: Most bytes of one line: a row of MAX_FEATURES numbers takes about 25 MB.
MAX_LINE = 64 * 2**20
#: How many times its size a file may unpack to, or declare, unless the caller gives max_bytes. Real gzipped tables
#: unpack to at most 111 times their size if they are small, and 70 times if they are not; a zip bomb to 1000 times.
MAX_GROWTH = 64
#: Bytes that any file may unpack to: many small tables are mostly zeros, which pack well.
ALWAYS_ALLOWED = 32 * 2**20
#: Bytes of a text file that are read at once.
BLOCK = 1 << 21
#: Bytes that a line of a packed file counts in addition to its own: a million empty lines take much work.
LINE_COST = 64

Path_ = str | os.PathLike[str]


@dataclass(frozen=True)
class Form:
    """How a file is written, and how large it may be; what is not given is found from the file.

    Parameters
    ----------
    delimiter, decimal : str, default=None
        For CSV: the character between cells, and the decimal mark. None: found from the file.
    encoding : str, default=None
        Encoding of a text file. None: UTF-8, UTF-16 if the file begins with a byte order mark, or a Windows page such
        as cp1252 or cp1250 if the first bytes are not UTF-8; a note says which.
    known_words : sequence of str, default=()
        Words that the file probably contains. If it is not UTF-8, the encoding in which most of
        them occur is chosen.
    likely_encoding : str, default=None
        Encoding of a file of the same origin. It is chosen if this file is not UTF-8 and the words do not decide.
    sheet : str, default=None
        For Excel: name of the sheet. None: the first that has the most of the columns asked for.
    n_features : int, default=None
        For svmlight: number of feature columns. None: the largest index.
    zero_based : bool, default=False
        For svmlight: whether indices start from 0 instead of 1.
    max_bytes : int, default=None
        Largest size in bytes that a file may unpack to or declare; an error is raised above it. None: 4 GiB, and for
        a packed file at most 64 times its own size or 32 MiB, whichever is more. Real tables seldom exceed this, but
        zip bombs do.
    max_features : int, default=10**6
        Largest number of columns; an error is raised above it.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    known_words: Sequence[str] = ()
    likely_encoding: str | None = None
    sheet: str | None = None
    n_features: int | None = None
    zero_based: bool = False
    max_bytes: int | None = None
    max_features: int = MAX_FEATURES


class DataFileError(InputError):
    """A data file that cannot be used; the message names the file and the place in it, and says what to do."""


def place(line: int | None = None, column: str | None = None, row: int | None = None) -> str:
    """Return a place in a file, as it stands behind its name: "", ", line 3" or ", row 3, column 'x'".

    A message that begins with this, or with a colon, is given the name of the file by `named`; `row` counts from 0.
    """
    shown = ("row", None if row is None else row + 1), ("column", None if column is None else repr(shorten(column)))
    return "".join(f", {unit} {value}" for unit, value in (("line", line), *shown) if value is not None)


def allowance(path: Path_, max_bytes: int | None) -> int:
    """Return how many bytes a file may unpack to, or declare that it holds: `max_bytes`, or by its own size."""
    if max_bytes is not None:
        return max_bytes
    return min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_GROWTH * os.path.getsize(path)))


def too_large(path: Path_, amount: str, max_bytes: int | None, line: int | None = None) -> DataFileError:
    """Return the error that a file holds or declares more than its `allowance`; `amount` begins with a verb."""
    allowed = allowance(path, max_bytes)
    size = f"max_bytes={allowed}"
    if max_bytes is None and allowed < MAX_BYTES:
        size = f"{allowed} bytes, which is much for a file of {os.path.getsize(path)}"
    return DataFileError(f"{path}{place(line)}: it {amount} more than {size}; raise max_bytes if you trust the file.")


def check_size(path: Path_, n_bytes: int, amount: str, max_bytes: int | None) -> None:
    """Raise if a file declares more bytes than its `allowance`."""
    if n_bytes > allowance(path, max_bytes):
        raise too_large(path, amount, max_bytes)


def check_width(n_columns: int, max_features: int, line: int | None = None) -> None:
    """Raise if a file has more columns than `max_features`."""
    if n_columns > max_features:
        raise DataFileError(f"{place(line)}: {n_columns} columns; raise max_features={max_features} if you trust it.")


@contextlib.contextmanager
def named(path: Path_) -> Iterator[None]:
    """Put the name of the file in front of an error that begins with a `place` in it."""
    try:
        yield
    except DataFileError as error:
        if str(error).startswith((":", ",")):
            error.args = DataFileError(f"{os.fspath(path)}{error}").args
        raise


@contextlib.contextmanager
def library_errors(path: Path_, fault: str = "it cannot be read", advice: str = "get the file again") -> Iterator[None]:
    """Turn an error of a library about a damaged file into a DataFileError with file and cause.

    A lack of memory, a missing package and an interrupt pass: they are not the file's.
    """
    try:
        with named(path):
            yield
    except (DataFileError, ImportError):
        raise
    except Exception as error:
        kind = type(error).__name__
        if isinstance(error, MemoryError) and kind != "ArrowMemoryError":  # pyarrow's: a damaged file declares a size
            raise
        reason = " ".join(str(error).split()).rstrip(".")
        cause = reason if isinstance(error, InputError) else f"{kind}: {reason}"
        raise DataFileError(f"{os.fspath(path)}: {fault} ({shorten(cause, 150)}); {advice}.") from error


def existing_file(path: Path_, purpose: str = "data file") -> Path:
    """Return `path` as a Path, or raise if no such file exists."""
    file = Path(path)
    if file.is_dir():
        raise DataFileError(f"{file} is a folder; give the {purpose} itself.")
    if not file.exists():
        raise DataFileError(f"{file} does not exist; check the path of the {purpose}.")
    if not file.is_file():
        raise DataFileError(f"{file} is a pipe or a device, which can be read only once; copy it to a file first.")
    return file


def guess_delimiter(text: str) -> str:
    """Return what stands between the cells of a table that begins with this text.

    It is the one of , ; tab | that is most frequent in the first line that has one. If it is not in each line behind
    it, that line may be a title, and the delimiter is that of the first lines that all have one.

    Examples
    --------
    >>> guess_delimiter("a;b\\n1,5;2\\n"), guess_delimiter("Prices, in euros\\na;b\\n1;2\\n")
    (';', ';')
    """
    lines = text.split("\n")
    lines = lines[:-1] or lines  # the last may be cut off
    bare = [QUOTED.sub("", line) for line in lines[:10] if line.strip()]
    first = next((k for k, line in enumerate(bare) if not set(line).isdisjoint(DELIMITERS)), None)
    if first is None:
        return ","
    delimiter = max(DELIMITERS, key=bare[first].count)  # the first of equals
    if _is_in_all(delimiter, bare[first:]):
        return delimiter
    delimiters = sorted(DELIMITERS, key=lambda mark: mark != delimiter)
    for start in range(first + 1, len(bare) - 1):
        for mark in delimiters:
            if _is_in_all(mark, bare[start:]):
                return mark
    return "," if first else delimiter


def _is_in_all(mark: str, lines: Sequence[str]) -> bool:
    """Whether a character is in each of some lines."""
    return all(mark in line for line in lines)


class Lines(contextlib.AbstractContextManager["Lines"]):
    """The lines of a plain or gzipped UTF-8 text file, one at a time and bounded.

    ``number`` and ``text`` are those of the line read last, for error messages.
    """

    def __init__(self, path: Path_, form: Form = Form()) -> None:
        self.path = existing_file(path)
        self.number = 0
        self.text = ""
        self.notes: list[str] = []  # what a person should know about the file
        self._form = form
        max_bytes = form.max_bytes
        self._file: IO[bytes] = open_unpacked(self.path)
        packed = isinstance(self._file, gzip.GzipFile)
        self.allowed = allowance(self.path, max_bytes)
        self._left = self.allowed if packed or max_bytes is not None else MAX_BYTES
        self._line_cost = LINE_COST if packed and max_bytes is None else 0
        self._ahead = io.BytesIO()  # of a block that is not read yet
        self._codec = "utf-8"
        self.encoding = form.encoding or self._guess(self._peek())
        self._is_guess = form.encoding is None and self.encoding == "utf-8"  # as long as all lines are ASCII
        if self.encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
            self._recode()

    def delimiter(self, delimiter: str | None) -> str:
        """Return what stands between the cells of a table: as given, tabs for the suffix .tsv, or guessed."""
        is_tsv = self.path.name.lower().removesuffix(".gz").endswith(".tsv")
        return delimiter or ("\t" if is_tsv else guess_delimiter(self.peek()))

    def peek(self) -> str:
        """Return the begin of the text, which is still to be read."""
        return self._peek().decode("utf-8", "ignore").removeprefix("\ufeff")

    def _peek(self) -> bytes:
        """Return the first bytes, up to some thousand."""
        try:
            return self._file.peek(SAMPLE)[:SAMPLE]  # type: ignore[attr-defined]
        except (EOFError, OSError, zlib.error):  # reading the first line raises it again
            return b""

    def _recode(self) -> None:
        """Read the whole file and replace it by its text in UTF-8, in which a line break is one byte."""
        try:
            with self._file as file:
                text = file.read(self._left + 1)
            if len(text) > self._left:
                raise self.too_large("unpacks to")
            self._file = io.BufferedReader(io.BytesIO(text.decode(self.encoding).encode("utf-8")))
        except LookupError:
            raise DataFileError(f"{self.path}: the encoding {self.encoding!r} is not known; try cp1252.") from None
        except UnicodeError as error:
            known = "cp932 for Japanese, gb18030 for Chinese, cp949 for Korean"
            raise DataFileError(f"{self.path}: it is not {self.encoding} text; give its encoding ({known}).") from error

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        limit = min(self._left, MAX_LINE)
        raw = self._ahead.readline(limit + 1)
        if not raw.endswith(b"\n"):
            raw += self._file.readline(limit + 1 - len(raw))
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) > limit:
            if limit < self._left:
                raise self.error(f"longer than {MAX_LINE} bytes; this is not a table")
            raise self.too_large("unpacks to")
        self._left = max(0, self._left - len(raw) - self._line_cost)
        self._guess_again(raw)
        try:
            text = raw.decode(self._codec)
        except UnicodeDecodeError as error:
            raise self.error(f"not UTF-8 text ({error.reason}); save the file as UTF-8") from error
        if self.number == 1:
            text = text.removeprefix("\ufeff")
        if "\0" in text:
            raise self.error("the line has a NUL character; this is not a text file")
        self.text = text.rstrip("\r\n")
        return self.text

    def _guess(self, sample: bytes) -> str:
        """Return the encoding of the text that begins so, and note why if it is not certain."""
        encoding, why = guess_encoding(sample, self._form.known_words, self._form.likely_encoding)
        if why:
            reading = f"it is not UTF-8 and is read as {encoding}, {why}"
            self.notes.append(f"{reading}; if texts look wrong, give another encoding with --encoding")
        return encoding

    def _guess_again(self, raw: bytes) -> None:
        """Guess the encoding from the first line that is not ASCII."""
        if self._is_guess and not raw.isascii():
            self._is_guess = False
            place = int(np.argmax(np.frombuffer(raw, np.uint8) > 127))
            self.encoding = self._codec = self._guess(raw[raw.rfind(b"\n", 0, place) + 1 :].partition(b"\n")[0])

    def blocks(self, delimiter: str) -> Iterator[tuple[bytes, NDArray[np.int64]]]:
        """Yield rows of a table in UTF-8, many at once, and the number of the line on which each ends.

        These are rows whose quotes surround whole cells, within all limits, without blank lines between them. A block
        counts as read when the next one is asked for; what is not read so is still to be read line by line.
        """
        parts = iter(lambda: self._file.read(min(BLOCK, self._left)) + self._file.readline(MAX_LINE), b"")
        for raw in parts:
            while raw.count(b'"') % 2 and len(raw) < MAX_LINE and (continuation := next(parts, b"")):
                raw += continuation
            self._ahead = io.BytesIO(raw)
            block = raw.replace(b"\r\n", b"\n").removesuffix(b"\n") + b"\n"
            n_lines = block.count(b"\n")
            cost = len(raw) + self._line_cost * n_lines
            is_odd = raw.count(b'"') % 2 or b"\0" in raw or b"\r" in block
            if is_odd or len(raw) >= MAX_LINE or cost > self._left:
                return
            self._guess_again(raw)
            try:
                block = block.decode(self._codec).encode()
            except UnicodeDecodeError:
                return
            if (ends := row_ends(block, delimiter.encode())) is None:
                return
            yield block, self.number + ends
            self.number = self.number + n_lines
            self._left = self._left - cost
            self._ahead = io.BytesIO()

    def too_large(self, amount: str) -> DataFileError:
        """Return the error that the file holds or declares too much, at the line read last."""
        return too_large(self.path, amount, self._form.max_bytes, self.number)

    def error(self, fault: str, column: str | None = None) -> DataFileError:
        """Return the error `fault` at the line read last."""
        return DataFileError(f"{self.path}{place(self.number, column)}: {fault}.")


def row_ends(block: bytes, delimiter: bytes) -> NDArray[np.int64] | None:
    """Return after how many line breaks each row of a block ends; None if a line is blank, or a quote in a cell.

    Examples
    --------
    >>> row_ends(b'a,"b\\nc"\\nd,e\\n', b","), row_ends(b'a"b",c\\n', b","), row_ends(b"a,b\\n\\n", b",")
    (array([2, 3]), None, None)
    """
    data = np.frombuffer(block, np.uint8)
    breaks = np.flatnonzero(data == ord("\n"))
    ends = np.arange(1, len(breaks) + 1)
    if b'"' in block:
        quotes = np.flatnonzero(data == ord('"'))
        first = quotes[::2]
        last = quotes[1::2]
        around = np.frombuffer(b"\n" + block + b"\n", np.uint8)  # at place + 1
        is_doubled = first[1:] == last[:-1] + 1
        is_opening = np.isin(around[first], [ord("\n"), ord(delimiter)])
        is_closing = np.isin(around[last + 2], [ord("\n"), ord(delimiter)])
        is_opening[1:] |= is_doubled
        is_closing[:-1] |= is_doubled
        if not (is_opening.all() and is_closing.all()):
            return None
        outside = np.searchsorted(quotes, breaks) % 2 == 0
        breaks = breaks[outside]
        ends = ends[outside]
    return None if (np.diff(breaks, prepend=-1) == 1).any() else ends


def open_unpacked(path: Path_) -> IO[bytes]:
    """Open a file for reading bytes; a gzipped one (by its first two bytes) is unpacked while it is read."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        return cast(IO[bytes], gzip.open(path, "rb")) if packed else open(path, "rb", buffering=SAMPLE)
    except OSError as error:
        raise DataFileError(f"{path} cannot be opened ({error.strerror}); check its permissions.") from error
