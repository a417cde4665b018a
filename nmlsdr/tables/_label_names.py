"""Names of labels from a Mulan XML file."""

from typing import Any
from xml.parsers import expat

from .._errors import shorten
from ._files import (
    MAX_FEATURES,
    DataFileError,
    Path_,
    allowance,
    check_size,
    existing_file,
    library_errors,
    open_unpacked,
)

#: Most bytes of a file of label names: a million labels take about as much.
MAX_XML = 64 * 2**20


def read_labels(xml: Path_, *, max_bytes: int | None = None, max_labels: int = MAX_FEATURES) -> dict[str, str]:
    """Return the names of the labels of a Mulan XML file, in its order, each with its place there.

    A document type or an entity declaration is refused: they can make a small file large, or reach other files.
    """
    path = existing_file(xml, "XML file of the labels")
    names: dict[str, int] = {}
    parser = expat.ParserCreate()

    def error(fault: str) -> DataFileError:
        return DataFileError(f", line {parser.CurrentLineNumber}: {fault}.")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] != "label":
            return
        name = attributes.get("name", "")
        if not name:
            raise error('a label has no name; write <label name="...">')
        if name in names:
            raise error(f"the label {shorten(name)!r} appears twice (first in line {names[name]}); remove one")
        if len(names) >= max_labels:
            raise error(f"more than {max_labels} labels; raise max_features if you trust the file")
        names[name] = parser.CurrentLineNumber

    def refuse(*_: Any) -> None:
        raise error("a DOCTYPE is refused, and so are its entities; remove it")

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    max_chars = min(MAX_XML, allowance(path, max_bytes))
    with library_errors(path):
        try:
            with open_unpacked(path) as file:
                text = file.read(max_chars + 1)
            check_size(path, len(text), "unpacks to", max_chars if max_chars == MAX_XML else max_bytes)
            # All at once: a parser that is fed by pieces begins one long name anew with every piece.
            parser.Parse(text, True)
        except expat.ExpatError as fault:
            raise error(f"not well-formed XML ({expat.ErrorString(fault.code)}); correct it") from fault
        if not names:
            raise DataFileError(': it names no label; write <labels><label name="..."></label></labels>.')
    return {name: f"{path}, line {line}" for name, line in names.items()}
