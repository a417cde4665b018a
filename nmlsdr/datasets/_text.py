"""Guess the encoding, delimiter and decimal mark of a text file from its first bytes."""

import codecs
import re
from typing import NamedTuple

SAMPLE = 1 << 16  # bytes that are looked at
DELIMITERS = ",;\t|"
BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
QUOTED = re.compile(r'"[^"]*"')
COMMA_NUMBER = re.compile(r"[ \t]*[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")
POINT_NUMBER = re.compile(r"[ \t]*[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t]*")


class Dialect(NamedTuple):
    """How a table of text is written."""

    delimiter: str
    decimal: str


def guess_encoding(sample: bytes) -> str:
    """Return UTF-8 wherever the bytes allow it, UTF-16 behind its mark, else Windows-1252.

    Examples
    --------
    >>> guess_encoding("Größe".encode()), guess_encoding("Größe".encode("cp1252")), guess_encoding("x".encode("utf-16"))
    ('utf-8', 'cp1252', 'utf-16')
    """
    for mark, name in BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return name
    if b"\0" in sample:  # not a text file; the reader raises the error
        return "utf-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # a character may be cut off at the end
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def guess_dialect(text: str, delimiter: str | None, decimal: str | None) -> Dialect:
    """Return how the first lines of a table are written; what is given is not guessed.

    The delimiter is the one of , ; tab | that is most frequent in the first line. The decimal mark is a comma if the
    delimiter is not, some cell is a number with a comma, and no cell is a number with a point.

    Examples
    --------
    >>> guess_dialect("a;b\\n1,5;2\\n", None, None)
    Dialect(delimiter=';', decimal=',')
    """
    lines = text.removeprefix("\ufeff").split("\n")
    lines = lines[:-1] or lines  # the last may be cut off
    if delimiter is None:
        head = QUOTED.sub("", lines[0])
        counts = {candidate: head.count(candidate) for candidate in DELIMITERS}
        delimiter = max(DELIMITERS, key=lambda candidate: counts[candidate])  # the first of equals: a comma
    if decimal is None:
        decimal = "."
        if delimiter != ",":
            cells = [cell for line in lines[1:] for cell in line.rstrip("\r").replace('"', "").split(delimiter)]
            commas = any(COMMA_NUMBER.fullmatch(cell) for cell in cells)
            if commas and not any(POINT_NUMBER.fullmatch(cell) for cell in cells):
                decimal = ","
    return Dialect(delimiter, decimal)
