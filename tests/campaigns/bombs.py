"""Small files that want much: deep, wide, repeated, of declared sizes, one giant token; opt-in.

    python tests/campaigns/bombs.py [NAME ...]

Each is written, held to a megabyte, and read in a process of its own whose time and memory are measured. The exit
status is 1 if one takes more than 10 seconds of the processor or a gigabyte, or ends in a traceback.
"""

import gzip
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

SECONDS = 10
MEGABYTES = 1024
LARGEST = 2**20

READ = """
import json, resource, sys, traceback
from pathlib import Path
from nmlsdr._errors import InputError
path, how = sys.argv[1], json.loads(sys.argv[2])
try:
    if how.pop("model", False):
        from nmlsdr._model.reading import open_model
        open_model(path)
        ended = "read"
    elif how.pop("command", False):
        from nmlsdr.cli import main
        ended = f"status {main(['fit', path, '--label-columns', 'y', '-q', '--out', path + '.npz'])}"
    else:
        from nmlsdr.tables import read_table
        table = read_table(path, **how)
        ended = f"read {table.data.shape}"
except InputError as error:
    ended = "refused: " + str(error)[-110:]
except BaseException as error:
    ended = "TRACEBACK " + traceback.format_exc().splitlines()[-1][:100]
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([ended, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def packed(*parts):
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=9, mtime=0) as out:
        for part, times in parts:
            block = part * max(1, min(times, (1 << 20) // max(1, len(part))))
            for _ in range(times // (len(block) // len(part))):
                out.write(block)
    return file.getvalue()


def npz(deflated=True, **arrays):
    file = io.BytesIO()
    (np.savez_compressed if deflated else np.savez)(file, **arrays)
    return file.getvalue()


def schema(text, compression=zipfile.ZIP_STORED):
    """A model file of nothing but a schema."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr("schema.json", text)
    return file.getvalue()


def one_member(name, header, zeros):
    """An .npz of one array of so many zero bytes under this header."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open(name, "w") as member,
    ):
        text = header.ljust(117).encode() + b"\n"
        member.write(b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text)
        for _ in range(zeros >> 20):
            member.write(bytes(1 << 20))
    return file.getvalue()


def columns(n, line=b"@attribute a%d numeric\n"):
    return b"".join(line % j for j in range(n))


HEAD = b"@relation r\n@attribute x numeric\n@attribute y {0,1}\n@data\n"
XML = {"labels_xml": None}
# name: suffix, how it is read, its bytes
BOMBS = {
    "csv: wide": (
        ".csv.gz",
        {},
        lambda: packed((b",".join(b"%x" % j for j in range(120_000)) + b"\n", 1), (b"1," * 119_999 + b"1\n", 200)),
    ),
    "csv: one giant header line": (".csv.gz", {}, lambda: packed((b"ab,", 80_000_000))),
    "csv: one giant row": (".csv.gz", {}, lambda: packed((b"a\n", 1), (b"1,", 120_000_000))),
    "csv: one giant cell": (".csv.gz", {}, lambda: packed((b'a\n"', 1), (b"1", 240_000_000))),
    "csv: a quote that never closes": (".csv.gz", {}, lambda: packed((b'a\n"', 1), (b"1\n", 40_000_000))),
    "csv: numbers": (
        ".csv.gz",
        {"label_columns": ["y"]},
        lambda: packed((b"a,b,c,d,e,f,g,y\n", 1), (b"1,2,3,4,5,6,7,1\n", 3_800_000)),
    ),
    "csv: tiny rows": (".csv.gz", {}, lambda: packed((b"a\n", 1), (b"1\n", 30_000_000))),
    "csv: blank lines": (".csv.gz", {}, lambda: packed((b"a\n", 1), (b"\n", 200_000_000))),
    "csv: plain, tiny rows": (".csv", {}, lambda: b"a\n" + b"1\n" * 500_000),
    "csv: list of labels": (
        ".csv",
        {"label_list": "t"},
        lambda: b"x,t\n" + b"".join(b"1,%x\n" % j for j in range(120_000)),
    ),
    "csv: an emoji makes every letter four bytes": (
        ".csv.gz",
        {},
        lambda: packed(("😀".encode(), 1), (b"a", 60_000_000)),
    ),
    "csv: fit": (
        ".csv.gz",
        {"command": True},
        lambda: packed((b"a,b,c,d,e,f,g,y\n", 1), (b"1,2,3,4,5,6,7,1\n1,2,4,4,5,6,8,0\n", 1000)),
    ),
    "arff: many attributes": (
        ".arff.gz",
        {},
        lambda: packed((b"@relation r\n" + columns(380_000) + b"@data\n{0 1}\n", 1)),
    ),
    "arff: many values": (
        ".arff.gz",
        {},
        lambda: packed(
            (b"@relation r\n@attribute a {" + b",".join(b"%x" % j for j in range(400_000)) + b"}\n@data\n0\n", 1)
        ),
    ),
    "arff: values left out are one": (
        ".arff.gz",
        {},
        lambda: packed(
            (b"@relation r\n" + columns(1000, b"@attribute a%d {1,0}\n") + b"@data\n", 1), (b"{}\n", 10_000_000)
        ),
    ),
    "arff: tiny sparse rows": (".arff.gz", {"label_columns": ["y"]}, lambda: packed((HEAD, 1), (b"{}\n", 20_000_000))),
    "arff: labels left out": (
        ".arff.gz",
        {"label_columns": [f"y{c}" for c in range(1000)]},
        lambda: packed(
            (b"@relation r\n@attribute x real\n" + columns(1000, b"@attribute y%d {0,1}\n") + b"@data\n", 1),
            (b"{0 1}\n", 10_000_000),
        ),
    ),
    "arff: an index twice": (
        ".arff.gz",
        {},
        lambda: packed(
            (
                b"@relation r\n"
                + columns(60_000)
                + b"@data\n{"
                + b",".join(b"%d 1" % j for j in range(60_000))
                + b",59999 2}\n",
                1,
            )
        ),
    ),
    "arff: escaped quotes": (".arff", {}, lambda: HEAD + b"'" + b"\\'" * 500_000),
    "arff: comments": (".arff.gz", {}, lambda: packed((HEAD, 1), (b"%\n", 100_000_000))),
    "xml: one giant name": (".xml", XML, lambda: b'<labels><label name="' + b"a" * 1_000_000 + b'"/></labels>'),
    "xml: packed giant name": (
        ".xml",
        XML,
        lambda: packed((b'<labels><label name="', 1), (b"a", 80_000_000), (b'"/></labels>', 1)),
    ),
    "xml: deep": (".xml", XML, lambda: b"<a>" * 340_000),
    "xml: many attributes": (
        ".xml",
        XML,
        lambda: b"<labels " + b"".join(b'a%x="" ' % j for j in range(90_000)) + b"/>",
    ),
    "xml: entities": (
        ".xml",
        XML,
        lambda: b'<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><labels>&b;</labels>',
    ),
    "svmlight: a label a row": (".svm", {}, lambda: b"".join(b"%d 1:1\n" % j for j in range(90_000))),
    "svmlight: tiny rows": (".svm.gz", {}, lambda: packed((b"1 1:1\n", 40_000_000))),
    "svmlight: a giant index": (".svm", {}, lambda: b"1 999999999999999999:1\n"),
    "npz: zeros": (
        ".npz",
        {},
        lambda: one_member("X.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (131072, 1000), }", 1000 << 20),
    ),
    "npz: a shape that is not there": (
        ".npz",
        {},
        lambda: one_member("X.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999), }", 0),
    ),
    "npz: rows of a CSC matrix": (
        ".npz",
        {},
        lambda: npz(
            data=np.ones(1),
            indices=np.array([0]),
            indptr=np.array([0, 1, 1, 1]),
            shape=np.array([1_500_000_000, 3]),
            format=np.array("csc"),
        ),
    ),
    "npz: no bytes and many rows": (
        ".npz",
        {},
        lambda: one_member("X.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999, 0), }", 0),
    ),
    "npz: many members": (".npz", {}, lambda: npz(False, **{f"a{j}": np.zeros(0) for j in range(3000)})),
    "model: a packed schema": (".skops", {"model": True}, lambda: schema(b" " * (240 << 20), zipfile.ZIP_DEFLATED)),
    "model: deep schema": (".skops", {"model": True}, lambda: schema(b"[" * 1_000_000)),
    "model: schema of lists": (".skops", {"model": True}, lambda: schema(b"[" + b"[]," * 340_000 + b"[]]")),
    "model: deep parts": (
        ".skops",
        {"model": True},
        lambda: schema(
            b'{"protocol":2,"__loader__":"ListNode","__module__":"builtins","__class__":"list","__id__":1,"content":['
            * 9_000
        ),
    ),
}


def detonate(name, folder):
    suffix, how, make = BOMBS[name]
    content = make()
    path = folder / f"bomb{suffix}"
    path.write_bytes(content)
    if "labels_xml" in how:
        (folder / "bomb.csv").write_text("x,y\n1,0\n")
        how = {"labels_xml": str(path)}
        path = folder / "bomb.csv"
    process = subprocess.run([sys.executable, "-c", READ, str(path), json.dumps(how)], capture_output=True, text=True)
    if process.returncode:
        return len(content), f"TRACEBACK process ended with {process.returncode}", 0.0, 0.0
    return (len(content), *json.loads(process.stdout.splitlines()[-1]))


def main():
    names = [name for name in BOMBS if not sys.argv[1:] or any(part in name for part in sys.argv[1:])]
    bad = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            size, ended, seconds, megabytes = detonate(name, Path(folder))
        fails = ended.startswith("TRACEBACK") or seconds > SECONDS or megabytes > MEGABYTES
        mark = "FAILS" if fails and size <= LARGEST * 1.1 else "large" if size > LARGEST * 1.1 else "ok"
        bad += mark == "FAILS"
        print(f"{mark:5} {name:45} {size / 1e6:6.3f} MB {seconds:6.1f} s {megabytes:6.0f} MB  {ended}", flush=True)
    print(f"{len(names)} bombs, {bad} went off")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
