"""Model files of every class, and how a random generator forges their arrays, types and members."""

import functools
import io
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
from model_files import npy
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import nmlsdr
from nmlsdr.model_file import save_model
from nmlsdr.tables import TableEncoder


@functools.cache
def model_bytes():
    """Model files of every class, and pipelines."""
    rng = np.random.default_rng(0)
    Y = (rng.random((30, 2)) < 0.4).astype(int)
    Y[:4] = [[0, 1], [1, 0], [1, 1], [0, 0]]
    X = np.round(rng.normal(size=(30, 3)) + np.hstack([Y, np.zeros((30, 1))]), 2)
    Y[::5] = -1
    k = {"n_neighbors": 3}
    contents = []
    words = np.array(["a", "b", "c"])[np.arange(30) % 3]
    table = np.column_stack([X[:, :2].astype(object), words.astype(object)])
    for estimator, rows, labels in (
        (StandardScaler(), X, Y),
        (MaxAbsScaler(), X, Y),
        (nmlsdr.NMLSDR(2, **k), X, Y),
        (nmlsdr.MLDA(1), X, Y),
        (nmlsdr.MultiLabelPropagation(**k), X, Y),
        (nmlsdr.MultiLabelPropagation(**k), X, words),
        (nmlsdr.MLkNN(**k), X, Y),
        (nmlsdr.MLkNN(**k), sparse.csr_array(X), Y),
        (nmlsdr.MLkNN(neighbors="precomputed", **k), np.abs(X[:, :1] - X[:, :1].T), Y),
        (nmlsdr.SemiSupervisedMLkNN(**k), X, words),
        (nmlsdr.ResidualPropagation(2, **k), X, Y),
        (make_pipeline(TableEncoder(), nmlsdr.ResidualPropagation(2, **k)), table, Y),
        (make_pipeline(StandardScaler(), nmlsdr.NMLSDR(2, **k), nmlsdr.SemiSupervisedMLkNN(**k)), X, Y),
    ):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "m.skops")
            names = list("xyz") if rows.shape[1] == 3 else None
            save_model(path, estimator.fit(rows, labels), feature_names=names)
            contents.append(path.read_bytes())
    return tuple(contents)


def forged(content, rng):
    """A model file of which some values, arrays, types or members are others."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members.pop("schema.json"))
    arrays = {name: np.load(io.BytesIO(member)) for name, member in members.items()}
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        kind = rng.random()
        if kind < 0.45:
            name = rng.choice(sorted(arrays))
            arrays[name] = _other_array(arrays[name], rng)
        elif kind < 0.95:
            _change_node(schema, rng)
        else:
            arrays[rng.choice(["more.npy", "../x.npy", "header.npy", rng.choice(sorted(arrays))])] = np.eye(2)
    packed = io.BytesIO()
    trick = rng.random()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED if trick < 0.01 else zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            archive.writestr(name, npy(array))
        archive.writestr("schema.json", json.dumps(schema))
        if 0.01 < trick < 0.05:  # lies of the directory
            info = rng.choice(archive.filelist)
            field = rng.choice(["header_offset", "file_size", "compress_size", "CRC", "filename", "flag_bits"])
            other_values = [getattr(member_info, field) for member_info in archive.filelist]
            value = rng.choice(["x", "schema.json"] if field == "filename" else [0, 1, 60_000, *other_values])
            setattr(info, field, value)
            if rng.random() < 0.5:
                archive.filelist.append(info)
            archive._didModify = True
    return packed.getvalue()


def _other_array(array, rng):
    """Another dtype, shape, order, or other values."""
    change = rng.randrange(9)
    array = np.array(array)
    if array.dtype.names and change > 3 and array.size:  # the nodes of a tree
        name = rng.choice(array.dtype.names)
        value = rng.choice([-2, -1, 0, 1, 2, 7, 10**6, len(array) - 1, len(array)])
        array[name][rng.randrange(len(array))] = abs(value) % 256 if array[name].dtype == np.uint8 else value
        return array
    numbers = array.dtype.kind in "iufb"
    if change == 0 and numbers:
        return array.astype(rng.choice(["<f4", ">f8", "<f2", "<i8", "<i4", "u1", "i1", "?", "<f8"]))
    if change == 1 and array.ndim == 2:
        return np.asfortranarray(array) if rng.random() < 0.5 else np.ascontiguousarray(array.T)
    if change == 2 and array.ndim:
        return array[: rng.randrange(len(array) + 1)]
    if change == 3:
        return array.ravel() if rng.random() < 0.5 else array[None]
    if change == 4 and array.ndim:
        return np.concatenate([array, array[:1]])
    if numbers and array.size:
        values = [np.nan, np.inf, -np.inf, -1, 0, 1, 2, 1e308, -1e308, 5e-324, 1000, 2**31, -(2**63), 2**63 - 1, 0.5]
        with np.errstate(all="ignore"):
            if change == 5:
                return (array * np.float64(rng.choice([-1, 0, 1000, 1e-300]))).astype(array.dtype)
            flat = array.reshape(-1)
            value = rng.choice(values)
            if array.dtype.kind != "f":
                value = np.int64(np.clip(np.nan_to_num(value), -(2.0**62), 2.0**62))
            flat[rng.randrange(array.size)] = np.asarray(value).astype(array.dtype)
    return array


VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    10**9,
    10**30,
    0.5,
    1e308,
    -0.5,
    "",
    "x",
    "\ud800",
    "\x1b[2J",
    [],
    {},
    ["a"],
    [["a"]],
    [1] * 100,
    "precomputed",
    "exact",
    "array",
    float("nan"),
    '["a", "b"]',
    "passthrough",
]
_TYPES = [
    ("os", "system"),
    ("builtins", "eval"),
    ("builtins", "str"),
    ("builtins", "dict"),
    ("builtins", "list"),
    ("builtins", "tuple"),
    ("builtins", "set"),
    ("builtins", "map"),
    ("numpy", "ndarray"),
    ("numpy", "float64"),
    ("numpy", "int64"),
    ("numpy", "load"),
    ("functools", "partial"),
    ("subprocess", "Popen"),
    ("collections", "OrderedDict"),
    ("sklearn.preprocessing._function_transformer", "FunctionTransformer"),
    ("sklearn.tree._tree", "Tree"),
    ("sklearn.pipeline", "Pipeline"),
    ("sklearn.preprocessing._data", "StandardScaler"),
    ("sklearn.preprocessing._data", "MaxAbsScaler"),
    ("nmlsdr.tables._encoder", "TableEncoder"),
    ("nmlsdr._estimators._mlknn", "MLkNN"),
    ("nmlsdr._estimators._nmlsdr", "NMLSDR"),
    ("", ""),
    (None, None),
]
_LOADERS = [
    "DictNode",
    "ListNode",
    "TupleNode",
    "JsonNode",
    "TypeNode",
    "NdArrayNode",
    "ObjectNode",
    "FunctionNode",
    "MethodNode",
    "PartialNode",
    "TreeNode",
    "CachedNode",
    "SparseMatrixNode",
    "ConstructorFromReduceNode",
    "BytesNode",
    "SetNode",
    "SliceNode",
    "DTypeNode",
    "RandomStateNode",
    "OperatorFuncNode",
    "x",
    None,
]


def places_of(node):
    """Every part within a value of JSON, as what holds it and its key there."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield node, key
        yield from places_of(value)


def _change_node(schema, rng):
    """Change a value, a type or a reference somewhere in the schema, or replace, delete, double or add a part."""
    places = list(places_of(schema))
    parts = [schema, *(holder[key] for holder, key in places)]
    nodes = [part for part in parts if isinstance(part, dict) and "__loader__" in part]
    node = rng.choice(nodes)
    values = [json_node for json_node in nodes if json_node["__loader__"] == "JsonNode"] or nodes
    kind = rng.randrange(12)
    if kind < 5:
        rng.choice(values).update(content=json.dumps(rng.choice(VALUES)), __id__=rng.randrange(1, 1 << 48))
    elif kind == 5:
        node["__module__"], node["__class__"] = rng.choice(_TYPES)
    elif kind == 6:
        node["__loader__"] = rng.choice(_LOADERS)
    elif kind == 7:
        node["__id__"] = rng.choice([rng.choice(nodes).get("__id__"), 0, None, -1, "x", True, [], 1 << 80])
    elif kind == 8:
        copied_node = json.loads(json.dumps(rng.choice(nodes)))
        if rng.random() < 0.5:
            copied_node["__id__"] = rng.randrange(1, 1 << 48)
        parent, key = rng.choice([(p, k) for p, k in places if isinstance(p[k], dict)])
        parent[key] = copied_node
    elif kind == 9:
        parent, key = rng.choice(places)
        del parent[key]
    elif kind == 10 and isinstance(node.get("content"), dict) and "key_types" in node:
        node["content"][rng.choice(["more", "n_jobs", "mean_", "steps", "neighbors", "threshold"])] = {
            **rng.choice(values),
            "content": json.dumps(rng.choice(VALUES)),
            "__id__": rng.randrange(1, 1 << 48),
        }
        keys = node["key_types"]["content"]
        keys.append(keys[0])
        node["key_types"]["__id__"] = rng.randrange(1, 1 << 48)
    else:
        parent, key = rng.choice(places)
        parent[key] = rng.choice(VALUES)
