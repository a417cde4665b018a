"""The skops file of a model: its members and types are checked against our own short list before skops reads it.

skops itself trusts all classes of scikit-learn and the functions of NumPy and SciPy, and it decompresses members. Here
a file holds members that are not compressed, do not overlap and lie within the file; plain arrays; the classes of
`schema.table` and Pipeline; and dictionaries, lists, tuples, text and numbers. Functions, methods and all other types
are refused.
"""

import json
import os
import warnings
import zipfile
from typing import Any, BinaryIO

from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline

from .._checks.arguments import check_array_header
from .._errors import import_extra
from .large_arrays import read_archive
from .schema import Refused, full_name, table

_SCHEMA = "schema.json"
_SCHEMA_BYTES = 64 << 20  # parsed text takes many times its size; the names of a million features fit
_DEPTH = 24  # how deeply the parts of a model may be nested
_PROTOCOL = 1  # of skops; older files are read by other code of skops, which our list does not cover
_SCALARS = ("bool", "bool_", "int32", "int64", "uint8", "float32", "float64")

#: Kind of node in the schema -> the types that it may make.
_TYPES = {
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "TupleNode": {"builtins.tuple"},
    "JsonNode": {"builtins.str"},  # numbers, text and None
    "TypeNode": {"builtins.str"},  # the keys of dictionaries
    "NdArrayNode": {"numpy.ndarray", *(f"numpy.{name}" for name in _SCALARS)},
    "ObjectNode": {*table, full_name(Pipeline)},
}


def need_skops() -> Any:
    """Return the module that reads and writes skops files."""
    return import_extra("skops.io", "A model file", "cli").io


def read(file: BinaryIO, max_bytes: int) -> Any:
    """Return the content of a file after checks of its members and types; its values are not checked yet."""
    magic = file.read(4)
    if magic != b"PK\x03\x04":
        content_kind = (
            "a pickle, which could run code" if magic[:1] == b"\x80" else "not a model file" if magic else "empty"
        )
        raise Refused(f"it is {content_kind}; give a file that nmlsdr fit or save_model wrote")
    with zipfile.ZipFile(file) as archive:
        members = _members(archive, os.fstat(file.fileno()).st_size, max_bytes)
        schema = json.loads(archive.read(_SCHEMA))
        if type(schema["protocol"]) is not int or schema["protocol"] < _PROTOCOL:
            raise Refused(f"it is of the protocol {schema['protocol']!r} of skops, which is older than {_PROTOCOL}")
        files: dict[str, int] = {}
        _check_node(schema, {}, files, 0)
        if files.keys() | {_SCHEMA} != members.keys():
            raise Refused("its members are not those that its schema names")
        for name in files:
            with archive.open(name) as member:
                check_array_header(member, members[name].file_size, "an array", "biufUV")
    file.seek(0)
    trusted = [name for names in _TYPES.values() for name in names]
    # skops warns once for every class; `reading` warns once for the file.
    with warnings.catch_warnings(action="ignore", category=InconsistentVersionWarning):
        return read_archive(file, lambda draft: need_skops().load(draft, trusted=trusted))


def _members(archive: zipfile.ZipFile, n_bytes: int, max_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name if they are not compressed, not too large, and do not overlap."""
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    members = {info.filename: info for info in infos}
    if _SCHEMA not in members:
        raise Refused("it is an archive but not a model file of this version; fit and write the model again")
    if len(members) != len(infos):
        raise Refused("a member appears twice")
    if _end_of_members(infos) > n_bytes:
        raise Refused("its members are larger than the file")
    if sum(info.file_size for info in infos) > max_bytes:
        raise Refused(f"it takes more than {max_bytes} bytes; raise max_bytes to read it")
    if members[_SCHEMA].file_size > _SCHEMA_BYTES:
        raise Refused("its schema is too long")
    return members


def _end_of_members(infos: list[zipfile.ZipInfo]) -> int:
    """Return the byte after the last of the members, in the order of their places; none is compressed or overlaps."""
    end = 0
    for info in infos:
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise Refused("its members are compressed, which nmlsdr never does")
        if info.header_offset < end:
            raise Refused("its members overlap")
        end = info.header_offset + 30 + len(info.filename) + info.file_size
    return end


def _check_node(node: dict[str, Any], nodes_by_id: dict[int, Any], files: dict[str, int], depth: int) -> None:
    """Refuse a node of the schema, or a node within it, that has a type outside the list or refers to another node.

    skops reads two nodes with the same ``__id__`` as one: with other content under the same id a short text would make
    a large object, or one that contains itself.
    """
    loader = node["__loader__"]
    kind = f"{node['__module__']}.{node['__class__']}"
    identity = node["__id__"]
    if kind not in _TYPES.get(loader, ()):
        raise Refused(
            f"it holds {kind} ({loader}), which is not on the list of what a model file may hold; if an earlier "
            "version of nmlsdr wrote the file, fit and write the model again"
        )
    if type(identity) is not int or identity < 1 or depth > _DEPTH or nodes_by_id.setdefault(identity, node) != node:
        raise Refused("its schema refers to other parts of itself")
    if loader == "NdArrayNode" and (node["type"] != "numpy" or files.setdefault(node["file"], identity) != identity):
        raise Refused("an array has no member of its own")
    for child in _children(node, loader):
        _check_node(child, nodes_by_id, files, depth + 1)


def _children(node: dict[str, Any], loader: str) -> list[Any]:
    """Return the nodes within a node of the schema; the keys of a dictionary must be text."""
    if loader == "DictNode":
        key_types = node["key_types"]["content"]
        if any(key_type["__loader__"] != "TypeNode" for key_type in key_types):  # skops calls these types
            raise Refused("the keys of a dictionary are no text")
        return [*node["content"].values(), node["key_types"]]
    if loader == "ObjectNode":
        return [node["content"]]
    return node["content"] if loader in ("ListNode", "TupleNode") else []
