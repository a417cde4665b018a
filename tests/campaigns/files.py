"""Sound files of every kind, and the same ones as a random generator damages or forges them."""

import gzip
import io
import zipfile

import numpy as np
from scipy import sparse

from campaigns.damage import mutated
from campaigns.forged_models import forged, model_bytes
from campaigns.forged_plans import files_of_a_plan

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


def damaged(kind, rng):
    """The file, or for "command" the files by name, of this random generator."""
    if kind == "model":
        content = rng.choice(model_bytes())
        return mutated(content, rng) if rng.random() < 0.2 else forged(content, rng)
    if kind == "command":
        return _files_of_a_command(rng)
    if kind == "plan":
        return files_of_a_plan(rng)
    content = rng.choice(SEEDS[kind])
    if kind == "npz" and rng.random() < 0.7:
        return _with_damaged_members(content, rng)
    content = mutated(content, rng)
    if kind in ("arff-dense", "arff-sparse", "xml", "csv", "svmlight") and rng.random() < 0.1:
        content = gzip.compress(content, 1, mtime=0)
        if rng.random() < 0.5:
            content = mutated(content, rng)
    return content


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
