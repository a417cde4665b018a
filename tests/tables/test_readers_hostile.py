"""Foreign bytes: values that only look like numbers, bombs, tokens without end, and files damaged at random.

Whatever a file holds, a reader answers with a table or one sentence, in time and memory that grow with the file.
"""

import gzip
import io
import subprocess
import sys
import time
import warnings
import zipfile

import numpy as np
import pytest
from campaigns import readers as campaign
from scipy import sparse
from table_files import read_table

from nmlsdr.datasets import load_mulan
from nmlsdr.tables import DataFileError, _files, _label_names, _npz, read_labels
from nmlsdr.tables._files import MAX_GROWTH, library_errors

HEAD = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute c numeric\n@attribute y {0,1}\n@data\n"
ODD = ["\x1c5", "5\x1f", "\x1d5", "\x1e.5", "\x85" + "5", "\xa0" + "5", "\u20035", "٣", "１", "5\u200b", "1_0"]


@pytest.fixture
def read(tmp_path):
    """Write a file and read it; the label is y."""

    def read(name, content, **how):
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return read_table(tmp_path / name, **how)

    return read


@pytest.mark.parametrize("value", ODD, ids=ascii)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", 'a,b,c,y\n7,2,"VALUE",1\n'),
        ("t.csv", "a,b,c,y\n7,2,VALUE,1\n"),
        ("t.tsv", "a\tb\tc\ty\n7\t2\tVALUE\t1\n"),
        ("t.arff", HEAD + "7,2,'VALUE',1\n"),
        ("t.arff", HEAD + "7,2,VALUE,1\n"),
        ("t.arff", HEAD + "{0 7,1 2,2 'VALUE',3 1}\n"),
        ("t.arff", HEAD + "{0 7,2 VALUE,3 1}\n"),
    ],
)
def test_what_only_looks_like_a_number_is_refused(read, name, text, value):
    """Never read as a number, never dropped, and no later cell of the row with it."""
    with pytest.raises(DataFileError, match=r"line \d+, column 'c': .* is not a number"):
        read(name, text.replace("VALUE", value), label_columns=["y"])


@pytest.mark.parametrize("value", ODD, ids=ascii)
def test_what_only_looks_like_a_number_is_refused_in_svmlight(read, value):
    with pytest.raises(DataFileError, match="line 1"):
        read("t.svm", f"1 1:7 3:{value}\n")


def test_a_number_with_a_line_break_in_quotes_is_checked_too(read):
    assert read("t.csv", 'a,y\n"1\n",1\n2,0\n', label_columns=["y"]).data.tolist() == [[1], [2]]
    with pytest.raises(DataFileError, match="line 3, column 'a': '1_0' is not a number"):
        read("t.csv", 'a,y\n"1_0\n",1\n', label_columns=["y"])


def test_escapes_of_half_a_character_do_not_reach_a_name(read):
    text = "@relation r\n@attribute '\\ud83d\\ude00' real\n@attribute '\\ud83d' real\n@data\n1,2\n"
    assert read("t.arff", text).feature_names == ["😀", "\ufffd"]


def test_an_unexpected_error_names_the_file_and_its_cause(tmp_path):
    with (
        pytest.raises(DataFileError, match=r"t\.csv: it cannot be read \(KeyError: 'x'\); get the file again\."),
        library_errors(tmp_path / "t.csv"),
    ):
        raise KeyError("x")
    for error in (MemoryError, KeyboardInterrupt, ImportError):
        with pytest.raises(error), library_errors(tmp_path / "t.csv"):
            raise error


@pytest.mark.parametrize("encoding", ["foo", "rot13", "idna", "utf-7", "undefined", "big5", "cp037", "mbcs"])
def test_xml_files_that_declare_an_impossible_encoding_are_refused(tmp_path, encoding):
    (tmp_path / "a.arff").write_text(HEAD + "1,2,3,1\n")
    (tmp_path / "a.xml").write_text(f'<?xml version="1.0" encoding="{encoding}"?><labels><label name="y"/></labels>')
    with pytest.raises(DataFileError, match=r"a\.xml"):
        load_mulan(tmp_path / "a.arff", tmp_path / "a.xml")


def npz_of(header, name="X", data=b"\0" * 64):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        text = header.ljust(117).encode("latin-1") + b"\n"
        archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + data)
    return packed.getvalue()


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9**9**9, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (8,), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (8,)",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 8}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (8,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (8,), }",
        "{'descr': '<Q99', 'fortran_order': False, 'shape': (8,), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (99999999999,), }",
        "{'descr': '<f8', 'fortran_order': 1, 'shape': (8,), }",
        "{'descr': '<M8', 'fortran_order': False, 'shape': (8,), }",
        "(" * 110,
        "-" * 9000 + "1",
        "[" * 9000,
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-8, -1), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-8,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (8, " + "1, " * 70 + "), }",
        "'''",
        "\x0c\x00\xff",
        "{'descr': f(), 'fortran_order': False, 'shape': (8,), }",
        "{x: 3}",
    ],
)
def test_damaged_headers_of_npz_arrays_are_refused(read, header):
    """NumPy answers these with TokenError, TypeError, SyntaxError, MemoryError ..., some with an address in memory."""
    with pytest.raises(DataFileError, match=r"t\.npz: not a readable \.npz file \(") as refused:
        read("t.npz", npz_of(header))
    assert " at 0x" not in str(refused.value)


@pytest.mark.parametrize("code", [0x110000, 0xFFFFFFFF, 0xD800])
def test_bytes_that_are_no_valid_text_are_refused(read, code):
    header = "{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }"
    packed = io.BytesIO(npz_of(header, "feature_names", code.to_bytes(4, "little")))
    with zipfile.ZipFile(packed, "a") as archive, archive.open("X.npy", "w") as file:
        np.save(file, np.ones((2, 1)))
    with pytest.raises(DataFileError, match="feature_names must be 1 different texts"):
        read("t.npz", packed.getvalue())


def test_headers_of_other_writers_are_read(read):
    values = np.arange(6.0)
    for header in (
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }",
        "{'descr':'<f8','fortran_order':False,'shape':(3,2)}",
        '{"descr": "<f8", "fortran_order": False, "shape": (3, 2)}',
    ):
        assert read("t.npz", npz_of(header, data=values.tobytes())).data.tolist() == values.reshape(3, 2).tolist()
    header = "{'descr': '>f8', 'fortran_order': True, 'shape': (3, 2), }"
    data = values.astype(">f8").tobytes()
    assert read("t.npz", npz_of(header, data=data)).data.tolist() == values.reshape(2, 3).T.tolist()


@pytest.mark.parametrize(("row", "count"), [("'1',2,3", 3), ("'1',2,3,1,5", 5), ("'1'", 1)])
def test_quoted_rows_of_a_wrong_length_are_refused(read, row, count):
    with pytest.raises(DataFileError, match=f"line 7: {count} values, but there are 4 attributes"):
        read("t.arff", HEAD + row + "\n")


def test_a_quoted_question_mark_is_a_value_and_no_gap(read):
    head = "@relation r\n@attribute a {0,1}\n@attribute b real\n@data\n"
    for row in ("'?','2'", "{0 '?'}"):
        with pytest.raises(DataFileError, match=r"column 'a': '\?' is not among the declared values"):
            read("t.arff", head + row + "\n")


def test_values_are_declared_within_bounds(read):
    values = ",".join(map(str, range(9)))
    with pytest.raises(DataFileError, match="declare too many values"):
        read("t.arff", f"@relation r\n@attribute a {{{values}}}\n@data\n1\n", max_features=2)
    assert read("t.arff", f"@relation r\n@attribute a {{{values}}}\n@data\n1\n", max_features=3).data.tolist() == [[1]]


# ------------------------------------------------------------------------------------- what a file may unpack to


@pytest.fixture
def little_allowed(monkeypatch):
    """As many bytes as any file may unpack to, but fewer, to keep the tests short."""
    monkeypatch.setattr(_files, "ALWAYS_ALLOWED", 1 << 20)
    return 1 << 20


def test_a_packed_file_may_unpack_up_to_the_limit_and_not_beyond(tmp_path, little_allowed):
    path = tmp_path / "t.csv.gz"
    row = b",".join([b"0"] * 500) + b"\n"
    head = b",".join(b"a%d" % j for j in range(500)) + b"\n"
    path.write_bytes(gzip.compress(head + row * (little_allowed // (len(row) + 64) - 100)))
    assert path.stat().st_size * MAX_GROWTH < little_allowed  # all of it is what any file is allowed
    assert read_table(path).data.shape[1] == 500
    path.write_bytes(gzip.compress(head + row * (little_allowed // len(row) + 1)))
    with pytest.raises(DataFileError, match=rf"line \d+: it unpacks to more than {little_allowed} bytes"):
        read_table(path)
    assert read_table(path, max_bytes=2 * little_allowed).data.shape[1] == 500  # whoever says so is believed


@pytest.mark.parametrize("text", ["{}\n", "{0 1}\n"])
def test_short_rows_with_many_labels_do_not_fill_the_memory(tmp_path, text, little_allowed):
    head = "@relation r\n@attribute x real\n" + "".join(f"@attribute y{c} {{0,1}}\n" for c in range(500)) + "@data\n"
    (tmp_path / "t.arff.gz").write_bytes(gzip.compress((head + text * 10_000).encode()))
    with pytest.raises(DataFileError, match="it leaves out labels that would fill more than"):
        read_table(tmp_path / "t.arff.gz", label_columns=[f"y{c}" for c in range(500)])


def test_blank_lines_with_many_labels_do_not_fill_the_memory(tmp_path, little_allowed):
    (tmp_path / "t.csv").write_text("x\n1\n")
    head = ",".join(f"y{c}" for c in range(1000))
    (tmp_path / "l.csv.gz").write_bytes(gzip.compress((head + "\n" * 10_000).encode()))
    with pytest.raises(DataFileError, match="it leaves out labels that would fill more than"):
        read_table(tmp_path / "t.csv", label_file=tmp_path / "l.csv.gz")


@pytest.mark.slow
def test_a_column_that_is_left_out_is_not_unpacked(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    long = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200, np.int32)), pa.array(["x" * (20 << 20)]))
    table = pa.table({"x": np.arange(200.0), "__index_level_0__": long, "note": long})
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd", store_schema=False)
    program = f"""
import resource
from nmlsdr.tables import Roles, read_table
import pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = read_table({str(tmp_path / "t.parquet")!r}, Roles(drop=["note"]))
print(table.feature_names, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024 < 60)
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert process.stdout == "['x'] True\n", process.stderr


def test_a_sparse_matrix_that_declares_missing_rows_is_refused(tmp_path):
    parts = {"data": np.ones(1), "indices": np.array([0]), "indptr": np.array([0, 1, 1, 1])}
    for rows, words in ((1_500_000_000, "declares 1500000000 rows"), (2**62, "declares 4611686018427387904 rows")):
        np.savez(tmp_path / "t.npz", **parts, shape=np.array([rows, 3]), format=np.array("csc"))
        with pytest.raises(DataFileError, match=words):
            read_table(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", **parts, shape=np.array([1000, 3]), format=np.array("csc"))
    assert read_table(tmp_path / "t.npz").data.shape == (1000, 3)


# ------------------------------------------------------------------------------------------------- linear in its size


def seconds(action):
    """The shortest of three."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        with pytest.raises(DataFileError):
            action()
        times.append(time.process_time() - begin)
    return min(times)


def sparse_row_with_an_index_twice(n):
    head = "".join(f"@attribute a{j} numeric\n" for j in range(n))
    return "a.arff", f"@relation r\n{head}@data\n{{" + ",".join(f"{j} 1" for j in range(n)) + f",{n - 1} 2}}\n"


LONG = {
    "name": lambda n: ("a.xml", '<labels><label name="' + "a" * (100 * n) + '"/></labels>'),
    "comment": lambda n: ("a.xml", "<labels><!--" + "a" * (100 * n) + "--></labels>"),
    "an index twice": sparse_row_with_an_index_twice,
    "a label asked for twice": lambda n: ("a.csv", ",".join(f"y{j}" for j in range(n)) + "\n"),
}


@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_the_time_to_read_grows_linearly_with_the_size_of_the_file(tmp_path, make):
    """Eight times the file takes about eight times as long, not 64: the bound lies between."""
    times = []
    for n in (1_250, 10_000):
        name, text = make(n)
        (tmp_path / name).write_text(text)
        (tmp_path / "b.csv").write_text("x,y\n1,0\n")
        if name == "a.xml":
            times.append(seconds(lambda: read_table(tmp_path / "b.csv", labels_xml=tmp_path / "a.xml")))
        else:
            names = [f"y{j}" for j in range(n)] + [f"y{n - 1}"] if name == "a.csv" else None
            times.append(seconds(lambda name=name, names=names: read_table(tmp_path / name, label_columns=names)))
    assert times[1] < 25 * times[0] + 0.05


def test_reading_time_of_a_row_does_not_grow_with_the_number_of_label_ids(tmp_path):
    (tmp_path / "t.svm").write_text("1,2,3,4,5 1:1\n" * 300)
    times = []
    for n in (100, 20_000):
        ids = [str(i) for i in range(n)]
        begin = time.process_time()
        read_table(tmp_path / "t.svm", label_columns=ids, max_bytes=2**30)
        times.append(time.process_time() - begin)
    assert times[1] < times[0] + 1  # a set of all ids for every label takes some seconds


# ---------------------------------------------------------------------------------------------------- damaged at random


@pytest.mark.parametrize(
    ("kind", "first", "last"),
    [*((kind, 0, 8) for kind in campaign.KINDS), ("plan", 70, 78)]  # 77: a level without letters
    + [pytest.param(kind, 8, 60 if kind == "command" else 200, marks=pytest.mark.slow) for kind in campaign.KINDS],
)
def test_damaged_files_are_read_or_raise_a_clear_error(kind, first, last, tmp_path):
    """A reduced campaign: tests/campaigns/readers.py runs a hundred thousand of each kind."""
    if kind == "plan":  # whose tables are CSV files
        pytest.importorskip("pyarrow", reason="needs pyarrow")
    with warnings.catch_warnings(action="ignore"):
        summary = campaign.run(kind, range(first, last), tmp_path)
    assert summary.failures == []
    assert sum(summary.counts.values()) == last - first
    assert "refused" in summary.counts
    assert "read" in summary.counts or last < 100  # few damaged model files are still read


def test_the_campaign_distinguishes_a_traceback_from_an_error_message(tmp_path, monkeypatch):
    """The check can fail."""

    def broken(*arguments, **options):
        raise KeyError("on purpose")

    monkeypatch.setattr(campaign, "read_table", broken)
    assert any("KeyError" in failure for failure in campaign.run("csv", range(5), tmp_path).failures)


def test_sparse_parts_survive_a_round_trip(tmp_path):
    X = sparse.random_array((20, 5), density=0.3, random_state=np.random.default_rng(0)).tocsc()
    sparse.save_npz(tmp_path / "t.npz", X)
    assert (read_table(tmp_path / "t.npz").data != X).nnz == 0


def test_seeds_of_the_campaign_are_files_that_are_read(tmp_path):
    for kind in campaign.KINDS:
        for content in campaign.SEEDS.get(kind, []):
            assert campaign.read(kind, content, tmp_path) is not None, (kind, content[:60])


def test_sparse_parts_with_a_last_pointer_of_0_are_refused(tmp_path):
    """SciPy's own check looks at nothing there, and sorting the rows then wrote past their arrays."""
    X = sparse.csr_array(np.eye(30))
    parts = {"data": X.data, "indices": X.indices, "shape": np.array(X.shape), "format": np.array(b"csr")}
    np.savez(tmp_path / "t.npz", indptr=np.r_[X.indptr[:-1], 0], **parts)
    with pytest.raises(DataFileError, match=r"sparse parts are not those of a matrix .*broken"):
        read_table(tmp_path / "t.npz")


def test_limits_of_archives_and_of_files_of_names_are_not_those_of_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(_npz, "MAX_MEMBERS", 1)
    np.savez(tmp_path / "t.npz", X=np.eye(2), y=np.eye(2))
    with pytest.raises(DataFileError, match="it holds 2 arrays; save X and y only"):
        read_table(tmp_path / "t.npz")
    monkeypatch.setattr(_label_names, "MAX_XML", 20)
    (tmp_path / "y.xml").write_text('<labels><label name="flu"/></labels>')
    with pytest.raises(DataFileError, match=r"y\.xml: .*unpacks to"):
        read_labels(tmp_path / "y.xml")
