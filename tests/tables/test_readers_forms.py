"""Tables as people have them: delimiters, decimal commas, encodings, ids, lists of labels, words for yes and no."""

import csv
import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_files import read_table

from nmlsdr._cli.reading import as_list
from nmlsdr.tables import DataFileError, _csv, _files
from nmlsdr.tables._planner import Choices


@pytest.fixture
def read(tmp_path):
    def read(text, name="t.csv", **how):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_table(tmp_path / name, **how)

    return read


def outcome(path, **how):
    """What a reader answers: the table, or the sentence."""
    try:
        table = read_table(path, **how)
    except DataFileError as error:
        return str(error)
    target = None if table.target is None else table.target.tolist()
    data = np.asarray(table.data)
    return data.shape, data.tobytes(), target, table.feature_names, table.label_names, table.ids, table.unused


def read_plainly(text, delimiter, features, labels):
    """The values of some columns, by the rules and nothing else; the number of the first bad line if there is one."""
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    names = lines[0].split(delimiter)
    values = []
    target = []
    for number, line in enumerate(lines[1:], start=2):
        cells = dict(zip(names, next(csv.reader([line], delimiter=delimiter)) if line else [], strict=False))
        if len(cells) != len(names) or line.count(delimiter) != len(names) - 1:
            return number
        try:
            feature_cells = [cells[name].strip(" \t") for name in features]
            holes = ("", "?", "na", "n/a", "nan", "null")
            values.append([np.nan if cell.lower() in holes else float(cell) for cell in feature_cells])
            target.append([LABELS[cells[name].strip(" ").lower()] for name in labels])
        except (ValueError, KeyError):
            return number
        if "_" in "".join(feature_cells) or not "".join(feature_cells).isascii() or np.isinf(values[-1]).any():
            return number
    return values, target


CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from(
        [
            "0",
            "1",
            "-0",
            "+1",
            " 2",
            "3 ",
            "1e5",
            "1E-3",
            ".5",
            "5.",
            "1e400",
            "1e-400",
            "nan",
            "inf",
            "NA",
            "null",
            "",
            "0x1p3",
            "1_0",
            "1,5",
            "true",
            '"7"',
            "٣",
            "1\x1c",
            "5e-324",
            "123456789012345678901234567890",
        ]
    ),
)
LABELS = {"0": 0, "1": 1, "": -1, "-1": -1, "?": -1, "yes": 1, "no": 0, "y": 1, "true": 1, "1.0": 1}
ODD_LABELS = st.sampled_from([*LABELS, "No", "2", " 1"])


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, ODD_LABELS, ODD_LABELS, st.sampled_from(["a", "b c", "", "ü"])), max_size=6),
    all_sound=st.booleans(),
    delimiter=st.sampled_from([";", "\t", "|"]),
    end=st.sampled_from(["\n", "\r\n", "\n\n", ""]),
    line_break=st.sampled_from(["\n", "\n", "\r\n", "\n\n"]),
    how=st.sampled_from([{}, {"id_column": "id"}, {"drop": ["id"]}, {"feature_columns": ["p"]}]),
    block=st.sampled_from([1, 20, 1 << 16]),
)
def test_a_table_is_read_as_by_hand(tmp_path_factory, rows, all_sound, delimiter, end, line_break, how, block):
    """However many cells are turned into numbers at once."""
    if all_sound:
        rows = [(f"{i}.25", "7", "01"[i % 2], "1", "a") for i, _ in enumerate(rows)]
        line_break = "\n" if line_break == "\n\n" else line_break
    text = line_break.join(delimiter.join(row) for row in [("p", "q", "y", "z", "id"), *rows]) + end
    path = tmp_path_factory.getbasetemp() / "example.csv"  # a folder for each would take longer
    path.write_bytes(text.encode())
    features = how.get("feature_columns") or ["p", "q", *(["id"] if not how else [])]
    expected_values = read_plainly(text, delimiter, features, ["y", "z"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_csv, "WAITING_CELLS", block)
        patch.setattr(_files, "BLOCK", block)
        outcome_read = outcome(path, label_columns=["y", "z"], delimiter=delimiter, decimal=".", **how)
    if isinstance(expected_values, int):
        assert f"line {expected_values}" in outcome_read
    elif isinstance(outcome_read, str):
        assert not rows or "is not a number" in outcome_read
    else:
        assert np.array_equal(
            np.frombuffer(outcome_read[1]).reshape(outcome_read[0]), expected_values[0], equal_nan=True
        )
        assert outcome_read[2] == expected_values[1]
        assert outcome_read[5] == ([row[4] for row in rows] if "id_column" in how else None)


def test_a_number_beyond_float64_is_reported_before_crosses_mixed_with_zeros(read):
    with pytest.raises(DataFileError, match="line 4"):
        read("p,y\n1,0\n1,x\n1e400,0\n", label_columns=["y"])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.text("a\",;\n\r\ufeff \t'\\#", max_size=4), min_size=2, max_size=2), min_size=1, max_size=5)
)
def test_cells_are_those_of_csv_reader(tmp_path_factory, rows):
    """Quotes, line breaks in quotes, marks of byte order, comments that are none: what was written is what is read."""
    path = tmp_path_factory.getbasetemp() / "example.csv"  # a folder for each would take longer
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
            [["id", "x"], *([r[0], "1"] for r in rows)]
        )
    ids = read_table(path, id_column="id", delimiter=",").ids
    assert ids == [re.sub("\r*\n", "\n", row[0]) for row in rows]  # a line break is one character


# ------------------------------------------------------------------------------------------------------- blank lines

BLANK = ["", " ", "\t", "  \t "]


@pytest.mark.parametrize("blank", BLANK, ids=repr)
@pytest.mark.parametrize("place", [1, 2, 3])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("names", ["id,a,y", "a"])
def test_a_blank_line_among_the_rows_is_an_error_that_names_it(read, blank, place, line_break, names):
    lines = [names, *(["p,1,1", "q,2,0", "r,3,1"] if "," in names else ["1", "2", "3"])]
    lines.insert(place, blank)
    how = {"id_column": "id", "label_columns": ["y"]} if "," in names else {}
    with pytest.raises(DataFileError, match=f"line {place + 1}: the line is blank, and rows follow it; remove it"):
        read(line_break.join(lines) + line_break, **how)


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n\r\n", "\n \n\t\n", "\n\n\n "], ids=repr)
def test_blank_lines_at_the_end_are_ignored(read, end):
    assert read("a,b\n1,2\n3,4" + end).data.tolist() == [[1, 2], [3, 4]]
    assert read("a\n1\n3" + end).data.tolist() == [[1], [3]]


def test_a_blank_line_in_quotes_is_part_of_its_cell(read):
    table = read('id,a\n"p\n\nq",1\n"\n",2\n\n', id_column="id")
    assert table.ids == ["p\n\nq", "\n"]
    assert table.data.tolist() == [[1], [2]]
    with pytest.raises(DataFileError, match="line 5: the line is blank"):
        read('id,a\n"p\n\nq",1\n\n"\n",2\n', id_column="id")


def test_a_missing_value_of_one_column_is_written_out(read):
    assert np.isnan(read('a\n1\n""\nNA\n').data).tolist() == [[False], [True], [True]]
    with pytest.raises(DataFileError, match=r"line 3: .*\(write NA for a missing value\)"):
        read("a\n1\n\n3\n")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("y,z\n1,0\n\n0,1\n\n\n", [[1, 0], [-1, -1], [0, 1], [-1, -1], [-1, -1]]),
        ("y\n1\n\n0\n", [[1], [-1], [0]]),
        ("y\n\n1\n0\n \n", [[-1], [1], [0], [-1]]),
        ("y,z\n,\n1,1\n", [[-1, -1], [1, 1]]),
    ],
)
def test_a_blank_line_of_a_label_file_is_an_unlabelled_row(read, tmp_path, text, target):
    (tmp_path / "l.csv").write_text(text)
    assert read("a\n" + "1\n" * len(target), label_file=tmp_path / "l.csv").target.tolist() == target


# ------------------------------------------------------------------------------------------------------------ limits


def test_readers_of_all_forms_respect_the_limits(read):
    packed = gzip.compress(b"a,b\n" + b"0,0\n" * 100_000)
    with pytest.raises(DataFileError, match="max_bytes=1000"):
        read(packed, "t.csv.gz", max_bytes=1000)
    with pytest.raises(DataFileError, match="max_features=1"):
        read("a,b\n1,2\n", max_features=1)


def test_tiny_lines_count_for_more_than_their_bytes(read, monkeypatch):
    """A million empty lines are little text and much work."""
    monkeypatch.setattr("nmlsdr.tables._files.ALWAYS_ALLOWED", 1 << 18)
    packed = gzip.compress(b"a\n" + b"1\n" * 20_000)
    with pytest.raises(DataFileError, match="it unpacks to more than 262144 bytes"):
        read(packed, "t.csv.gz")
    assert read(gzip.compress(b"a\n" + b"1\n" * 3_000), "t.csv.gz").data.shape == (3000, 1)


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_row_of_far_too_many_cells_is_refused_before_it_is_split(read, monkeypatch, kind):
    between = "," if kind == "csv" else "\t"
    in_quotes = f'a\n{between * 2500}"\n"{between * 2500}\n'  # one row of two lines
    for text in (between * 5000 + "\n", "a" + between + "b\n" + between * 5000 + "\n", in_quotes):
        with pytest.raises(DataFileError, match="the row has 5000 cells or more"):
            read(text, f"t.{kind}", max_features=1000)


# --------------------------------------------------------------------------------------------------------- the form


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("a,b,y\n1.5,2,1\n", {}),
        ("a;b;y\n1.5;2;1\n", {}),
        ("a;b;y\n1,5;2;1\n", {}),
        ("a\tb\ty\n1,5\t2\t1\n", {}),
        ("a|b|y\n1.5|2|1\n", {}),
        ("a;b;y\n1,5;2;1\n", {"delimiter": ";", "decimal": ","}),
        ('"a";"b";"y"\n"1,5";"2";"1"\n', {}),
        ('"a,x";"b";"y"\n1,5;2;1\n', {}),
        ('a,b,y\n"1,5",2,1\n', {}),
        ("a§b§y\n1,5§2§1\n", {"delimiter": "§"}),
    ],
)
def test_delimiter_and_decimal_mark(tmp_path, text, how):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    assert read_table(tmp_path / "t.csv", label_columns=["y"], **how).data.tolist() == [[1.5, 2]]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_a_cell_of_a_file_of_one_column_may_hold_a_delimiter(tmp_path, mark):
    (tmp_path / "t.csv").write_text(f"tags\nflu{mark}cold\n" + "flu\ncold\n" * 8)
    table = read_table(tmp_path / "t.csv", plan=Choices())
    assert table.plan.names == ["tags"]
    assert table.columns["tags"].text(0) == f"flu{mark}cold"
    for title, odd in (("A title", ""), ("A title, 2024", "x, y")):  # a mark in some of the rows is none
        (tmp_path / "t.csv").write_text(f"{title}\na{mark}b\n" + f"1{mark}2{odd}\n" * 5 + f"2{mark}1\n" * 5)
        assert read_table(tmp_path / "t.csv", plan=Choices()).plan.names == ["a", "b"]


def test_a_text_behind_a_closing_quote_is_refused(read):
    with pytest.raises(DataFileError, match="line 3: not a CSV row"):
        read('a,b\n1,2\n"x"y,1\n')


def test_points_and_commas_in_one_file_are_not_guessed(read):
    with pytest.raises(DataFileError, match="line 3, column 'a': '1,5' is not a number"):
        read("a;b\n1.5;1\n1,5;1\n")
    with pytest.raises(DataFileError, match="is not a number"):
        read("a;b\n1,5;1\n1.500;1\n", decimal=",")  # a point may stand for thousands
    for cell in ("1,234", "Smith, John"):  # which may be a number with thousands, and is none
        with pytest.raises(DataFileError, match=f"line 2, column 'b': '{cell}' is not a number"):
            read(f'a,b\n1.5,"{cell}"\n')


@pytest.mark.parametrize(
    ("encoding", "encoding_option", "expected_encoding"),
    [
        ("utf-8", None, "utf-8"),
        ("utf-8-sig", None, "utf-8"),
        ("utf-16", None, "utf-16"),
        ("cp1252", None, "cp1252"),
        ("latin-1", "latin-1", "latin-1"),
        ("cp1251", "cp1251", "cp1251"),
        ("utf-16-le", "utf-16-le", "utf-16-le"),
    ],
)
def test_encodings_are_guessed_or_given(read, encoding, encoding_option, expected_encoding):
    name = "Größe" if encoding != "cp1251" else "рост"
    for packed in (False, True):
        content = f"{name},y\r\n1,0\r\n2,1\r\n".encode(encoding)
        table = read(
            gzip.compress(content) if packed else content,
            "t.csv.gz" if packed else "t.csv",
            label_columns=["y"],
            encoding=encoding_option,
        )
        assert table.feature_names == [name]
        assert table.data.tolist() == [[1], [2]]
        assert table.encoding == expected_encoding


@pytest.mark.parametrize(
    ("encoding", "words"), [("latin-99", "'latin-99' is not known"), ("ascii", "is not ascii text")]
)
def test_a_wrong_encoding_is_refused(read, encoding, words):
    with pytest.raises(DataFileError, match=words):
        read("Größe\n1\n", encoding=encoding)


# ------------------------------------------------------------------------------------------------------ columns


def test_ids_and_only_the_columns_of_a_model(read):
    text = "name,x,when,z,y\np-1,1,2020-01-01,3,1\np-2,2,,4,0\n"
    table = read(text, id_column="name", label_columns=["y"], feature_columns=["z", "x"])
    assert table.ids == ["p-1", "p-2"]
    assert table.feature_names == ["x", "z"]
    assert table.unused == ["when"]
    assert table.data.tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize("kind", ["arff", "parquet"])
def test_ids_in_other_kinds(tmp_path, kind):
    if kind == "arff":
        text = "@relation r\n@attribute n string\n@attribute x real\n@attribute y {0,1}\n@data\n'p 1',1,1\nq,2,0\n"
        (tmp_path / "t.arff").write_text(text)
    else:
        pa = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"n": ["p 1", "q"], "x": [1.0, 2], "y": [1, 0]}), tmp_path / "t.parquet")
    table = read_table(tmp_path / f"t.{kind}", id_column="n", label_columns=["y"])
    assert table.ids == ["p 1", "q"]
    assert table.data.tolist() == [[1], [2]]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"id_column": "nam"}, "there is no column 'nam' .*; did you mean 'name'"),
        ({"id_column": "y", "label_columns": ["y"]}, "'y' is a label and the id column; choose one"),
        ({"id_column": "name", "drop": ["name"]}, "'name' is dropped and the id column"),
        ({"label_columns": ["y", "y"]}, "the label 'y' is given twice; name it once"),
        ({"label_list": "name", "id_column": "name"}, "the id column and a column of label lists"),
        ({"label_list": "name", "label_columns": ["y"]}, "choose one source of labels"),
        ({"label_list": "name", "separator": ""}, "the separator .* is empty"),
    ],
)
def test_columns_that_contradict_each_other_are_refused(read, how, words):
    with pytest.raises(DataFileError, match=words):
        read("name,x,y\na,1,1\n", **how)


def test_a_column_of_label_lists_becomes_one_column_for_each_label(read):
    text = "x,tags\n1,flu; cold\n2,\n3,cold;cold;\n4,\n"
    table = read(text, label_list="tags")
    assert table.label_names == ["cold", "flu"]
    assert table.target.tolist() == [[1, 1], [-1, -1], [1, 0], [-1, -1]]
    assert table.labeled.tolist() == [True, False, True, False]
    assert read("x,tags\n1,a|b\n2,b\n", label_list="tags", separator="|").target.tolist() == [[1, 1], [0, 1]]
    with pytest.raises(DataFileError, match="contains no label"):
        read("x,tags\n1,\n2,;\n", label_list="tags")
    table_text = "x,tags\n" + "".join(f"1,t{i}\n" for i in range(3000))
    with pytest.raises(DataFileError, match="3000 rows and 3000 labels, a table of"):
        read(table_text, label_list="tags")


@pytest.mark.parametrize(
    ("cells", "target"),
    [
        ("yes no Y n TRUE false", [1, 0, 1, 0, 1, 0]),
        ("x . x .", [1, 0, 1, 0]),
        ("X . . x", [1, 0, 0, 1]),
        ("1 . 0 .", [1, -1, 0, -1]),
    ],
)
def test_yes_and_no_are_read_as_labels(tmp_path, cells, target):
    rows = "".join(f"{i},{'' if cell == '.' else cell}\n" for i, cell in enumerate(cells.split(" ")))
    (tmp_path / "t.csv").write_text("a,y\n" + rows)
    assert read_table(tmp_path / "t.csv", label_columns=["y"]).target[:, 0].tolist() == target


def test_crosses_are_not_mixed_with_other_values_in_a_column(read):
    with pytest.raises(DataFileError, match="column 'y': crosses"):
        read("a,y\n1,x\n2,0\n", label_columns=["y"])
    # a blank among crosses is a no, so that a row of it and of zeros is known; one of another column is not
    assert read("a,y,z\n1,,1\n2,x,0\n", label_columns=["y", "z"]).target.tolist() == [[0, 1], [1, 0]]
    assert read("a,y,z\n1,1,\n2,0,1\n", label_columns=["y", "z"]).target.tolist() == [[1, -1], [0, 1]]


# ------------------------------------------------------------------------------------- what is not a number, at once


def test_a_slip_in_a_column_of_numbers_is_shown_where_it_is(read):
    with pytest.raises(DataFileError, match=r"line 4, column 'a': '3\.\.5' is not a number"):
        read("a,y\n1,1\n2,0\n3..5,1\n4,0\n", label_columns=["y"])


@pytest.mark.parametrize(
    ("names", "line"),
    [(["a", "b"], "a,b"), (["a b"], "'a b'"), (["a,b", "c"], "'\"a,b\",c'"), (["it's"], """'it'"'"'s'""")],
)
def test_names_are_written_as_an_option_takes_them(names, line):
    assert as_list(names) == line
