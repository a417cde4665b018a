"""read_table: every kind of file, and one clear sentence for every wrong one."""

import gzip

import numpy as np
import pytest
from table_files import read_table, refused

from nmlsdr.tables import DataFileError


def put(folder, name, text):
    file = folder / name
    data = text.encode() if isinstance(text, str) else text
    file.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return file


CSV = "a,flu,b,cold\n1,0,-2.5,1\n0,1,3e2,1\n4,,5,\n6,-1,7,-1\n8,0,9,0\n"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV", "t.tsv", "a.b.csv"])
def test_a_csv_file_is_read(tmp_path, name):
    text = CSV.replace(",", "\t") if "tsv" in name else CSV
    table = read_table(put(tmp_path, name, text), label_columns=["cold", "flu"])
    assert table.feature_names == ["a", "b"]
    assert table.label_names == ["flu", "cold"]
    assert table.data.tolist() == [[1, -2.5], [0, 300], [4, 5], [6, 7], [8, 9]]
    assert table.data.dtype == np.float64
    assert table.target.tolist() == [[0, 1], [1, 1], [-1, -1], [-1, -1], [0, 0]]
    assert table.target.dtype == np.int64
    assert table.labeled.tolist() == [True, True, False, False, True]


def test_a_csv_file_without_labels_is_read(tmp_path):
    table = read_table(put(tmp_path, "t.csv", "a,b\n1,2\n"))
    assert table.data.tolist() == [[1, 2]]
    assert table.target is None
    assert table.labeled is None
    assert table.label_names is None


@pytest.mark.parametrize(
    "text",
    ["a,b\r\n1,2\r\n3,4", "\ufeffa,b\n1,2\n3,4\n", '"a","b"\n"1", 2\n3,4\n\n\n', " a , b\n1,2\n3,4\n"],
    ids=["CRLF, no final newline", "BOM", "quotes, blanks, blank lines at the end", "blanks in names"],
)
def test_unusual_but_valid_csv_files_are_read(tmp_path, text):
    table = read_table(put(tmp_path, "t.csv", text))
    assert table.feature_names == ["a", "b"]
    assert table.data.tolist() == [[1, 2], [3, 4]]


def test_columns_to_drop_are_not_read(tmp_path):
    table = read_table(put(tmp_path, "t.csv", "id,a\nx,1\ny,2\n"), drop=["id"])
    assert table.feature_names == ["a"]
    assert table.data.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["line 1", "empty"]),
        ("\n1,2\n", ["line 1", "blank"]),
        ("1,2.5\n3,4\n", ["line 1", "only numbers"]),
        ("a,,b\n1,2,3\n", ["line 1", "column 2 has no name"]),
        ("a,b,a\n1,2,3\n", ["line 1", "'a'", "twice"]),
        ("a,b\n1,2\n3\n", ["line 3", "1 cells", "2"]),
        ("a,b\n1,2,3\n", ["line 2", "3 cells"]),
        ("a,b\n1,x\n", ["line 2", "column 'b'", "'x'"]),
        ("a,b\n-inf,2\n", ["line 2", "column 'a'", "finite"]),
        ("a,b\n1e999,2\n", ["line 2", "column 'a'", "finite"]),
        ("a,b\n1,1_0\n", ["line 2", "column 'b'", "'1_0'"]),
        ("a,b\n1,2\n\n3,4\n", ["line 3", "the line is blank, and rows follow it"]),
        ('a,b\n1,"2\n', ["CSV"]),
        (b"a,b\n1,\xff\n", ["line 2", "is not a number"]),
    ],
)
def test_wrong_csv_files_are_refused(tmp_path, text, words):
    refused(words, put(tmp_path, "t.csv", text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,y\n1,2\n", ["line 2", "column 'y'", "'2'"]),
        ("a,y\n1,0.5\n", ["line 2", "column 'y'"]),
        ("a,y\n1,maybe\n", ["line 2", "column 'y'", "'maybe'"]),
        ("a,b\n1,0\n", ["'y'", "no column"]),
    ],
)
def test_wrong_labels_are_refused(tmp_path, text, words):
    refused(words, put(tmp_path, "t.csv", text), label_columns=["y"])


def test_unknown_labels_of_a_row_are_minus_one(tmp_path):
    table = read_table(put(tmp_path, "t.csv", "a,y,z\n1,0,1\n1,0,\n1,?,-1\n"), label_columns=["y", "z"])
    assert table.target.tolist() == [[0, 1], [0, -1], [-1, -1]]
    assert table.labeled.tolist() == [True, True, False]


def test_big_numbers_do_not_look_infinite(tmp_path):
    table = read_table(put(tmp_path, "t.csv", "a,b\n1.7e308,1.7e308\n"))
    assert table.data.tolist() == [[1.7e308, 1.7e308]]


def test_numbered_header_is_a_header(tmp_path):
    assert read_table(put(tmp_path, "t.csv", "0,1,2\n5,6,7\n")).feature_names == ["0", "1", "2"]


def test_labels_are_read_from_a_second_file(tmp_path):
    data = put(tmp_path, "x.csv", "a\n1\n2\n3\n")
    labels = put(tmp_path, "y.csv", "u,v\n0,1\n\n-1,-1\n")
    table = read_table(data, label_file=labels)
    assert table.target.tolist() == [[0, 1], [-1, -1], [-1, -1]]
    assert table.label_names == ["u", "v"]
    assert table.labeled.tolist() == [True, False, False]


def test_label_file_with_one_column_and_blank_lines(tmp_path):
    data = put(tmp_path, "x.csv", "a\n1\n2\n3\n")
    labels = put(tmp_path, "y.csv", "u\n1\n\n\n")
    assert read_table(data, label_file=labels).target.tolist() == [[1], [-1], [-1]]


def test_label_file_of_another_length(tmp_path):
    data = put(tmp_path, "x.csv", "a\n1\n2\n3\n")
    labels = put(tmp_path, "y.csv", "u\n1\n")
    with pytest.raises(DataFileError, match=r"y\.csv: 1 rows of labels, but .*x\.csv has 3 rows"):
        read_table(data, label_file=labels)


@pytest.mark.parametrize("text", ["1\n0\n1\n", "labeled\n1\n0\n1\n", "True\nFalse\nTrue"])
def test_a_mask_hides_the_labels_of_some_rows(tmp_path, text):
    data = put(tmp_path, "t.csv", "a,y\n1,0\n2,1\n3,1\n")
    for mask in (put(tmp_path, "m.txt", text), [1, 0, 1], np.array([True, False, True])):
        table = read_table(data, label_columns=["y"], mask=mask)
        assert table.target.tolist() == [[0], [-1], [1]]
        assert table.labeled.tolist() == [True, False, True]


def test_a_wrong_mask_is_refused(tmp_path):
    data = put(tmp_path, "t.csv", "a,y\n1,0\n2,1\n")
    refused(["no labels"], data, mask=[1, 0])
    refused(["shape (1,)"], data, label_columns=["y"], mask=[1])
    refused(["neither 0 nor 1"], data, label_columns=["y"], mask=[2, 0])
    with pytest.raises(DataFileError, match=r"m\.txt, line 2: 'x' is neither"):
        read_table(data, label_columns=["y"], mask=put(tmp_path, "m.txt", "1\nx\n"))


def test_one_source_of_labels(tmp_path):
    file = put(tmp_path, "t.csv", CSV)
    refused(["label_columns and label_file", "choose one"], file, label_columns=["flu"], label_file=file)


def test_missing_file_folder_and_suffix(tmp_path):
    refused(["does not exist"], tmp_path / "no.csv")
    refused(["is a folder"], tmp_path)
    refused(["suffix"], put(tmp_path, "t.ods", "x"))
    refused(["not a readable Excel file"], put(tmp_path, "t.xlsx", "PK\x03\x04"))
    refused(["suffix"], put(tmp_path, "t", "x"))
    refused(["suffix"], put(tmp_path, "t.gz", "x"))
    refused(["suffix"], put(tmp_path, ".csv", "x"))
    refused(["suffix"], put(tmp_path, "t.npz.gz", "x"))


def test_csv_files_larger_than_the_limits_are_refused(tmp_path):
    file = put(tmp_path, "t.csv.gz", "a,b\n" + "0,0\n" * 10**5)
    refused(["line", "max_bytes=1000"], file, max_bytes=1000)
    refused(["max_features=1"], file, max_features=1)
    assert read_table(file, max_bytes=4 + 4 * 10**5).data.shape == (10**5, 2)


def test_a_damaged_gzip_file_is_refused(tmp_path):
    file = put(tmp_path, "t.csv.gz", "a,b\n" + "0,0\n" * 1000)
    file.write_bytes(file.read_bytes()[:-20])
    refused(["get the file again"], file)
