"""Sound files of every kind, and how a random generator damages them."""

import copy
import functools
import gzip
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
from nmlsdr.cli import main as command
from nmlsdr.model_file import save_model
from nmlsdr.tables import TableEncoder

KINDS = ("arff-dense", "arff-sparse", "xml", "csv", "svmlight", "npz", "parquet", "model", "plan", "command")


def _npz(write=np.savez, **arrays):
    file = io.BytesIO()
    write(file, **arrays)
    return file.getvalue()


def _parquet():
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return []
    contents = []
    for compression in ("snappy", "zstd", "none"):
        file = io.BytesIO()
        table = pyarrow.table(
            {"x": [1.0, 2, 3], "z": ["a", "b", "c"], "y1": [0, 1, None], "y2": [True, False, None], "i": [1, 2, 3]}
        )
        pyarrow.parquet.write_table(table, file, compression=compression)
        contents.append(file.getvalue())
    return contents


_CSR = sparse.csr_array(np.eye(4)[:, :3])
_NAMES = {"feature_names": np.array(["a", "b", "c"]), "label_names": np.array(["y1", "y2"])}
SEEDS = {
    "arff-dense": [
        b"@relation r\n@attribute x numeric\n@attribute 'a b' {0,1}\n@attribute z {A,'B c'}\n@attribute y1 {0,1}\n"
        b"@attribute y2 {NO,YES}\n@data\n1.5,0,A,1,NO\n7,1,'B c',0,YES\n2e5,1,A,?,?\n",
        b'% c\n@RELATION \'x: -C 2\'\n\n@ATTRIBUTE "q\\"q" NUMERIC\n@attribute z string\n@attribute y1 {0,1}\n'
        b"@attribute y2 {1,0}\n@DATA\n1,'a, b',0,1\n2,\"it\\'s\",1,0\n",
    ],
    "arff-sparse": [
        b"@relation r\n@attribute x numeric\n@attribute f1 real % c\n@attribute f2 integer\n@attribute y1 {0,1}\n"
        b"@attribute y2 {0,1}\n@data\n{0 1.5,3 1}\n{1 2,4 1}\n{}\n{2 '7',3 1,4 1}\n",
        b"@relation r\n@attribute x {3,1}\n@attribute 'o k' {YES,NO}\n@attribute y1 {0,1}\n@attribute y2 {0,1}\n@data\n"
        b"{ 0 1 , 2 1 }\n{1 NO,3 1}\n",
    ],
    "xml": [
        b'<?xml version="1.0" encoding="utf-8"?><labels xmlns="http://mulan.sourceforge.net/labels">'
        b'<label name="y1"></label><label name="y2"/></labels>',
        b'<labels><label name="y1"><label name="y2"/></label></labels>',
    ],
    "csv": [
        b'x,"a,b",y1,y2\n1.5,2,0,1\n2.5,3,,\n1e3,-4,1,0\n',
        b"\xef\xbb\xbfx,y1,y2\r\n1,true,no\r\n2,false,yes\r\n",
        b'"x\ny",y1,y2\n"1\n",0,1\n2,1,0\n',
    ],
    "svmlight": [b"1,2 1:0.5 7:1e3\n2 2:1\n 3:1\n-1 1:2\n", b"# c\n1 1:1\n2,1 2:2 # x\n"],
    "npz": [
        _npz(X=np.arange(12.0).reshape(4, 3), y=np.eye(4, dtype=int)[:, :2], **_NAMES),
        _npz(np.savez_compressed, X=np.ones((4, 3), np.float32), y=np.array([[0, 1], [-1, -1], [1, 1], [0, 0]])),
        _npz(
            data=_CSR.data,
            indices=_CSR.indices,
            indptr=_CSR.indptr,
            shape=np.array(_CSR.shape),
            format=np.array("csr"),
            y=np.eye(4)[:, :2],
        ),
        _npz(
            data=_CSR.tocsc().data,
            indices=_CSR.tocsc().indices,
            indptr=_CSR.tocsc().indptr,
            shape=np.array(_CSR.shape),
            format=np.array("csc"),
        ),
    ],
    "parquet": _parquet(),
}
if not SEEDS["parquet"]:
    KINDS = tuple(kind for kind in KINDS if kind != "parquet")

PIECES = [
    b"@attribute ",
    b"@data",
    b"{",
    b"}",
    b"'",
    b'"',
    b",",
    b"\\",
    b"%",
    b"nan",
    b"inf",
    b"1e999",
    b"-0",
    b"\0",
    b"\xff",
    b"\r",
    b"\n",
    b"\t",
    b" ",
    b"1_0",
    b"?",
    b"-1",
    b"99999999999999999999",
    b"{0 1,0 2}",
    b'<!DOCTYPE a [<!ENTITY b "c">]>',
    b'<label name="',
    b"&#0;",
    b"&#xD800;",
    b"&amp;",
    b'xmlns:a="b"',
    b"relational",
    b'date "yyyy"',
    b"string",
    b"\\u0041",
    b"\\ud800",
    b"\\777",
    b"\xe2\x80\xae",
    b"\x1b[31m",
    b"0x10",
    b"1e308",
    b"1d5",
    b"True",
    b"''",
    b'""',
    b":",
    b"0:1",
    b"1:",
    b"#",
    b"{{",
    b",,",
    b"\x1f\x8b",
    b"\x1c5",
    b"\x85",
    b"\xd9\xa3",
    b'encoding="rot13"',
    b'encoding="utf-16"',
    b"\xff\xfe",
    b"(",
    b"[",
    b"'descr': ",
    b"<U0",
    b"|O",
    b"-1,",
    b"9" * 18,
]


def damaged(kind, rng):
    """The file, or for "command" the files by name, of this random generator."""
    if kind == "model":
        content = rng.choice(model_bytes())
        return mutated(content, rng) if rng.random() < 0.2 else forged(content, rng)
    if kind == "command":
        return _files_of_a_command(rng)
    if kind == "plan":
        return _files_of_a_plan(rng)
    content = rng.choice(SEEDS[kind])
    if kind == "npz" and rng.random() < 0.7:
        return _with_damaged_members(content, rng)
    content = mutated(content, rng)
    if kind in ("arff-dense", "arff-sparse", "xml", "csv", "svmlight") and rng.random() < 0.1:
        content = gzip.compress(content, 1, mtime=0)
        if rng.random() < 0.5:
            content = mutated(content, rng)
    return content


def mutated(content, rng):
    """Some bytes flipped, deleted, doubled, moved, cut off or replaced by what readers stumble over."""
    b = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3, 8])):
        size = len(b)
        start = rng.randrange(size + 1)
        end = min(size, start + rng.choice([1, 1, 2, 4, 8, 30]))
        kind = rng.randrange(9)
        if kind == 0 and size:
            b[min(start, size - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del b[start:end]
        elif kind == 2:
            b[start:start] = b[start:end] * rng.choice([1, 2, 20])
        elif kind == 3:
            b[start:start] = rng.choice(PIECES)
        elif kind == 4:
            b[start:end] = rng.choice(PIECES)
        elif kind == 5 and size:
            b[min(start, size - 1)] = rng.randrange(256)
        elif kind == 6:
            source_position = rng.randrange(size + 1)
            b[start:start] = b[source_position : source_position + 20]
        elif kind == 7 and rng.random() < 0.3:
            b = b[:start]
        elif kind == 8:
            b[start:start] = bytes(rng.randrange(256) for _ in range(rng.randrange(6)))
    return bytes(b)


def _with_damaged_members(content, rng):
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            member = old.read(name)
            if rng.random() < 0.4:
                member = mutated(member, rng)
            if rng.random() < 0.05:
                name = rng.choice(["../x.npy", "X.npy", "data.npy", "y", "shape.npy"])
            with_name = zipfile.ZipInfo(name)
            new.writestr(with_name, member)
    return packed.getvalue()


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


_VALUES = [
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


def _change_node(schema, rng):
    """Change a value, a type or a reference somewhere in the schema, or replace, delete, double or add a part."""
    nodes = []
    places = []

    def walk(node):
        if isinstance(node, dict) and "__loader__" in node:
            nodes.append(node)
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            places.append((node, key))
            walk(value)

    walk(schema)
    node = rng.choice(nodes)
    values = [json_node for json_node in nodes if json_node["__loader__"] == "JsonNode"] or nodes
    kind = rng.randrange(12)
    if kind < 5:
        rng.choice(values).update(content=json.dumps(rng.choice(_VALUES)), __id__=rng.randrange(1, 1 << 48))
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
            "content": json.dumps(rng.choice(_VALUES)),
            "__id__": rng.randrange(1, 1 << 48),
        }
        keys = node["key_types"]["content"]
        keys.append(keys[0])
        node["key_types"]["__id__"] = rng.randrange(1, 1 << 48)
    else:
        parent, key = rng.choice(places)
        parent[key] = rng.choice(_VALUES)


def _files_of_a_command(rng):
    """Sound files for every verb, one of which is damaged."""
    table = b"x,y,z,y1,y2\n" + b"".join(
        b"%d.5,%d,%d,%d,%d\n" % (i % 7, (3 * i) % 5, i, (i % 7) > 3, (3 * i) % 5 > 2) for i in range(12)
    )
    files = {
        "d.csv": table,
        "l.csv": b"p,q\n" + b"1,0\n0,1\n1,1\n0,0\n\n1,0\n" * 2,
        "l.xml": b'<labels><label name="y1"/><label name="y2"/></labels>',
        "k.txt": b"keep\n" + b"1\n0\n1\n1\n" * 3,
        "m.skops": model_bytes()[-1],
    }
    name = rng.choice(sorted(files))
    model = rng.random() < 0.5 and name == "m.skops"
    files[name] = forged(files[name], rng) if model else mutated(files[name], rng)
    return files


# ---------------------------------------------------------------- the plan of a table inside a model file

VICTIM = "victim.csv"  # a file in the folder of the command, which no model may name
_KEYS = [
    "out",
    "mask",
    "labels",
    "label_file",
    "reviewed",
    "encoding",
    "max_bytes",
    "data",
    "model",
    "id",
    "label_columns",
    "label_list",
    "annotators",
    "separator",
    "no_label",
    "kind",
    "fill",
    "levels",
    "name",
    "reason",
    "decimal",
    "thousands",
    "month_first",
    "has_missing",
    "has_other",
    "missing",
]
_WORDS = [
    VICTIM,
    "number",
    "date",
    "yes/no",
    "category",
    "words",
    "identifier",
    "text",
    ",",
    ".",
    "0",
    "1",
    "y1",
    "Tags",
    "x" * 10_000,
    *_VALUES,
    10**400,
    1e200,
    [1e200],
    {"a": "b"},
    {"yes": "2"},
    [[]],
]


@functools.cache
def models_of_tables():
    """For each of three kinds of tables: its bytes, and those of the model that was fitted on it."""
    numbers = ["x,y,y1,y2", *(f"{i % 7}.5,{3 * i % 5},{int(i % 7 > 3)},{int(3 * i % 5 > 2)}" for i in range(12))]
    raw = ["id,size,seen,smoker,ward,note,Tags"]
    raw += [
        f"p{i},{'n/a' if i % 9 == 4 else f'{i % 7},5'!r},2020-0{1 + i % 6}-15,{'yes' if i % 3 else 'no'},"
        f"{('east', 'west', '', 'Süd')[i % 4]},{('cough and fever', 'cough')[i % 2]} {i},"
        f"{('flu;cold', 'none', 'flu', 'cold', '')[i % 5]}".replace("'", '"')
        for i in range(40)
    ]
    options = ["--n-neighbors", "2", "--classifier", "mlknn", "--jobs", "1", "-q"]
    tables_and_models = []
    for lines, labels in (
        (numbers, ["--label-columns", "y1,y2"]),
        (raw, ["--label-list", "Tags"]),
        (raw, ["--annotators", "Tags", "--drop", "note"]),
    ):
        with tempfile.TemporaryDirectory() as folder:
            table = Path(folder, "t.csv")
            model = Path(folder, "m.skops")
            table.write_text("\n".join(lines) + "\n", encoding="utf-8")
            assert command(["fit", str(table), *labels, *options, "--out", str(model)]) == 0
            tables_and_models.append((table.read_bytes(), model.read_bytes()))
    return tuple(tables_and_models)


def _files_of_a_plan(rng):
    """A table, a model whose plan is another one, and a file that the plan may name."""
    table, model = rng.choice(models_of_tables())
    with zipfile.ZipFile(io.BytesIO(model)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["schema.json"] = with_another_plan(members["schema.json"].decode(), rng).encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return {"t.csv": table, "m.skops": packed.getvalue(), VICTIM: b"x,y1\n1,0\n"}


def _places(node):
    """Every part within a value of JSON, as what holds it and its key there."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield node, key
        yield from _places(value)


def with_another_plan(schema, rng):
    """The schema of a model file with some values of its plan changed."""
    schema = json.loads(schema)
    texts = [(node, key) for node, key in _places(schema) if key == "content" and '"keep_case' in str(node[key])]
    ((holder, _),) = [place for place in texts if place[0]["__loader__"] == "JsonNode"]
    plan = json.loads(json.loads(holder["content"]))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        places = list(_places(plan))
        if not places:
            break
        node, key = rng.choice(places)
        kind = rng.randrange(6)
        if kind <= 2:
            node[key] = copy.deepcopy(rng.choice(_WORDS))
        elif kind == 3:
            del node[key]
        elif kind == 4:
            other_node, place = rng.choice(places)
            node[key] = json.loads(json.dumps(other_node[place]))
        else:
            records = [plan, *(holder[key] for holder, key in places if isinstance(holder[key], dict))]
            rng.choice(records)[rng.choice(_KEYS)] = copy.deepcopy(rng.choice(_WORDS))
    text = json.dumps(plan)
    if rng.random() < 0.05:
        text = mutated(text.encode(), rng).decode("utf-8", "replace")
    holder["content"] = json.dumps(text)
    return json.dumps(schema)
