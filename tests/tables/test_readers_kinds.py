"""read_table on .npz and Parquet files."""

import contextlib
import io
import pickle
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from table_files import read_table, refused

from nmlsdr.tables import DataFileError

X = np.array([[1.5, 0.0, -2.0], [0.0, 0.0, 3.0]])
Y = np.array([[0, 1], [-1, -1]])


# ---------------------------------------------------------------- npz


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_npz_file_that_holds_an_array_twice_is_refused(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((3, 2)), y=np.ones(3))
    with zipfile.ZipFile(tmp_path / "t.npz", "a") as archive:
        archive.writestr("X.npy", archive.read("X.npy"))
    refused(["'X'", "twice"], tmp_path / "t.npz")


@pytest.mark.parametrize(("x", "y"), [("X", "y"), ("data", "target")])
def test_an_npz_file_is_read(tmp_path, x, y):
    file = tmp_path / "t.npz"
    np.savez_compressed(file, **{x: X, y: Y}, feature_names=["a", "b", "c"], label_names=["u", "v"])
    table = read_table(file)
    assert np.array_equal(table.data, X)
    assert np.array_equal(table.target, Y)
    assert table.target.dtype == np.int64
    assert table.labeled.tolist() == [True, False]
    assert table.feature_names == ["a", "b", "c"]
    assert table.label_names == ["u", "v"]


def test_npz_without_names_and_labels(tmp_path):
    np.savez(tmp_path / "t.npz", X=X)
    table = read_table(tmp_path / "t.npz")
    assert table.target is table.labeled is table.feature_names is table.label_names is None


@pytest.mark.parametrize(
    ("dtype", "read"),
    [("f4", "f4"), ("f2", "f4"), ("f8", "f8"), (">f8", "f8"), ("i4", "f8"), ("u1", "f8"), ("?", "f8")],
)
def test_npz_files_of_every_number_type_are_read(tmp_path, dtype, read):
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2), dtype=dtype))
    assert read_table(tmp_path / "t.npz").data.dtype == np.dtype(read)
    assert read_table(tmp_path / "t.npz").data.dtype.isnative


def test_an_npz_file_in_fortran_order_is_read(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.asfortranarray(X))
    assert np.array_equal(read_table(tmp_path / "t.npz").data, X)


@pytest.mark.parametrize("build", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_an_npz_file_with_sparse_rows_is_read(tmp_path, build):
    sparse.save_npz(tmp_path / "t.npz", build(X))
    np.savez(tmp_path / "y.npz", y=Y)
    table = read_table(tmp_path / "t.npz", label_file=tmp_path / "y.npz")
    assert isinstance(table.data, sparse.csr_array)
    assert np.array_equal(table.data.toarray(), X)
    assert np.array_equal(table.target, Y)


def test_an_npz_file_without_labels_is_no_label_file(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.eye(2))
    np.savez(tmp_path / "z.npz", z=np.eye(2))
    with pytest.raises(DataFileError, match=r"z\.npz: it holds no array y or target \(it has z\)"):
        read_table(tmp_path / "x.npz", label_file=tmp_path / "z.npz")


def test_sparse_npz_files_with_labels_are_read(tmp_path):
    A = sparse.csr_array(X)
    parts = {"format": b"csr", "shape": A.shape, "data": A.data, "indices": A.indices, "indptr": A.indptr}
    np.savez(tmp_path / "t.npz", **parts, y=Y)
    table = read_table(tmp_path / "t.npz")
    assert np.array_equal(table.data.toarray(), X)
    assert np.array_equal(table.target, Y)


def test_npz_float_labels_with_nan(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=[[0.0, 1.0], [np.nan, np.nan]])
    assert np.array_equal(read_table(tmp_path / "t.npz").target, Y)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"Z": X}, ["X or data", "Z"]),
        ({"X": X[0]}, ["shape (3,)"]),
        ({"X": X.astype(complex)}, ["'X'", "complex"]),
        ({"X": X.astype(str)}, ["dtype"]),
        ({"X": [[1, np.inf]]}, ["row 1", "column '1'", "not finite"]),
        ({"X": [[1, 2], [np.inf, 2]], "feature_names": ["a", "b"]}, ["row 2", "column 'a'"]),
        ({"X": X, "y": Y[:1]}, ["1 rows", "2"]),
        ({"X": X, "y": Y[:, 0]}, ["shape (2,)"]),
        ({"X": X, "y": [[0, 2], [0, 0]]}, ["row 1", "column '1'", "is 2"]),
        ({"X": X, "y": [[0, 1], [0, 3]], "label_names": ["u", "v"]}, ["row 2", "column 'v'", "is 3"]),
        ({"X": X, "feature_names": ["a"]}, ["feature_names", "3"]),
        ({"X": X, "feature_names": ["a", "b", "a"]}, ["feature_names"]),
        ({"X": X[:0]}, ["0 rows"]),
        ({"X": X[:, :0]}, ["0 features"]),
        ({}, ["X or data"]),
    ],
)
def test_wrong_npz_files_are_refused(tmp_path, arrays, words):
    np.savez(tmp_path / "t.npz", **arrays)
    refused(words, tmp_path / "t.npz")


@pytest.mark.parametrize(
    "change",
    [
        {"indices": [0, 2, 3]},
        {"indices": [0, -1, 2]},
        {"indptr": [0, 3, 2]},
        {"indptr": [0, 2]},
        {"indptr": [1, 2, 3]},
        {"indices": [0, 0, 2]},
        {"indices": [0.0, 2.0, 2.0]},
        {"shape": [2]},
        {"shape": [-2, 3]},
        {"format": b"coo"},
        {"data": [1.0, np.nan, 1.0]},
        {"data": [[1.0, 1.0, 1.0]]},
    ],
)
def test_npz_sparse_parts_refused(tmp_path, change):
    parts = {"format": b"csr", "shape": (2, 3), "data": [1.0, 2, 3], "indices": [0, 2, 2], "indptr": [0, 2, 3]}
    np.savez(tmp_path / "t.npz", **parts)
    assert read_table(tmp_path / "t.npz").data.shape == (2, 3)
    np.savez(tmp_path / "t.npz", **{**parts, **change})
    refused([], tmp_path / "t.npz")


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_npz_never_loads_a_pickle(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.array([[Bomb()]], dtype=object))
    refused(["'X'", "object", "pickle"], tmp_path / "t.npz")
    (tmp_path / "t.npz").write_bytes(pickle.dumps(Bomb()))
    refused(["not a readable"], tmp_path / "t.npz")
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", pickle.dumps(Bomb()))
    refused(["not a readable"], tmp_path / "t.npz")


def test_npz_files_respect_max_bytes(tmp_path):
    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 100)))
    refused(["max_bytes=1000"], tmp_path / "t.npz", max_bytes=1000)
    refused(["max_features=99"], tmp_path / "t.npz", max_features=99)
    assert read_table(tmp_path / "t.npz", max_features=100).data.shape == (1000, 100)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**7, 10**7)})
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue() + b"\0" * 8)
    refused(["another size than its header says"], tmp_path / "t.npz")


def test_damaged_npz_files_are_refused(tmp_path):
    file = tmp_path / "t.npz"
    np.savez(file, X=X, y=Y)
    whole = file.read_bytes()
    for damaged in (b"", whole[:100], whole[:-30], whole[:150] + b"\xff" * 20 + whole[170:]):
        file.write_bytes(damaged)
        refused([], file)


def test_every_flipped_byte_is_noticed_or_harmless(tmp_path):
    """A damaged file gives a table or a DataFileError, nothing else."""
    file = tmp_path / "t.npz"
    np.savez(file, X=X, y=Y)
    whole = file.read_bytes()
    for place in range(0, len(whole), 3):
        for flip in (0x01, 0x80, 0xFF):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ flip]) + whole[place + 1 :])
            with contextlib.suppress(DataFileError):
                assert read_table(file).data.ndim == 2


def test_label_columns_do_not_fit_an_npz_file(tmp_path):
    np.savez(tmp_path / "t.npz", X=X, y=Y)
    refused(["y"], tmp_path / "t.npz", label_columns=["u"])
    refused(["drop"], tmp_path / "t.npz", drop=["u"])


# ---------------------------------------------------------------- Parquet


@pytest.fixture
def parquet(tmp_path):
    """Write columns to a Parquet file."""
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    pq = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")

    def write(columns, **how):
        pq.write_table(pyarrow.table(columns), tmp_path / "t.parquet", **how)
        return tmp_path / "t.parquet"

    return write


def test_a_parquet_file_is_read(parquet):
    file = parquet(
        {"a": [1.5, 2, 3], "y.1": [1, None, 0], "b": [True, False, True], "z": [0, None, 1]}, row_group_size=2
    )
    table = read_table(file, label_columns=["z", "y.1"])
    assert table.feature_names == ["a", "b"]
    assert table.data.tolist() == [[1.5, 1], [2, 0], [3, 1]]
    assert table.data.dtype == np.float64
    assert table.label_names == ["y.1", "z"]
    assert table.target.tolist() == [[1, 0], [-1, -1], [0, 1]]


def test_parquet_features_are_float32_if_all_columns_are(parquet):
    narrow = read_table(parquet({"a": np.ones(2, dtype="f4"), "y": [0, 1]}), label_columns=["y"])
    assert narrow.data.dtype == np.float32
    wide = read_table(parquet({"a": np.ones(2, dtype="f4"), "b": [1, 2]}))
    assert wide.data.dtype == np.float64


def test_a_parquet_file_written_by_pandas_is_read(tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "y": [1, 0]}, index=["r1", "r2"])
    frame.to_parquet(tmp_path / "t.pq")
    table = read_table(tmp_path / "t.pq", label_columns=["y"])
    assert table.feature_names == ["a"]
    assert table.data.tolist() == [[1], [2]]


def test_a_parquet_file_can_be_the_label_file(parquet, tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n2\n")
    table = read_table(tmp_path / "x.csv", label_file=parquet({"u": [0, None], "v": [1, None]}))
    assert table.target.tolist() == [[0, 1], [-1, -1]]
    assert table.label_names == ["u", "v"]


@pytest.mark.parametrize(
    ("columns", "how", "words"),
    [
        ({"a": ["x", "y"]}, {}, ["row 1", "column 'a'", "'x' is not a number"]),
        ({"a": [["x", "y"], ["z"]]}, {}, ["row 1", "column 'a'", "'x;y' is not a number"]),
        ({"a": [[1.5], [2.5]]}, {}, ["column 'a'", "list"]),
        ({"a": [float("inf"), 1.0]}, {}, ["row 1", "column 'a'"]),
        ({"a": [1, 2], "y": [0, 2]}, {"label_columns": ["y"]}, ["row 2", "column 'y'"]),
        ({"a": [1, 2], "y": [0, 1], "z": [0, 5]}, {"label_columns": ["y", "z"]}, ["row 2", "column 'z'"]),
        ({"a": [1, 2]}, {"label_columns": ["y"]}, ["'y'", "no column"]),
        ({"a": [1, 2], "b": [1, 2]}, {"max_features": 1}, ["max_features=1"]),
        ({"a": [0.0] * 1000}, {"max_bytes": 1000}, ["max_bytes=1000"]),
        ({"a": np.zeros(0)}, {}, ["0 rows"]),
    ],
)
def test_wrong_parquet_files_are_refused(parquet, columns, how, words):
    refused(words, parquet(columns), **how)


@pytest.mark.parametrize("column", [[1, None], [1.0, float("nan")], [None, None]])
def test_a_missing_value_of_a_parquet_file_is_nan(parquet, column):
    assert np.isnan(read_table(parquet({"a": column})).data[1]).all()


def test_damaged_parquet_files_are_refused(parquet):
    file = parquet({"a": [1.0, 2.0]})
    whole = file.read_bytes()
    for damaged in (b"", b"PAR1", whole[:-20], b"a,b\n1,2\n"):
        file.write_bytes(damaged)
        refused(["not a readable"], file)


def test_parquet_without_pyarrow_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"")
    with pytest.raises(ImportError, match=r"needs pyarrow; .*nmlsdr\[parquet\]"):
        read_table(tmp_path / "t.parquet")
