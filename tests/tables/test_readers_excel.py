"""Excel workbooks, titles above the names of the columns, and Excel files by another name."""

import datetime
import io
import zipfile

import numpy as np
import pytest
from table_files import read_table, refused, write_sheets

from nmlsdr.tables._planner import Choices

pytest.importorskip("openpyxl", reason="openpyxl is not installed")


@pytest.fixture
def book(tmp_path):
    """Write sheets of rows as t.xlsx."""
    return lambda **sheets: write_sheets(tmp_path / "t.xlsx", **sheets)


DAY = datetime.datetime
ROWS = [
    ["who", "size", "seen", "day", "wood", "y"],
    *(
        [
            "ab"[i % 2] + str(i),
            i / 8 if i % 9 else "n/a",
            bool(i % 2),
            DAY(2020, 1 + i % 9, 5),
            ["oak", "ash"][i % 2],
            i % 2,
        ]
        for i in range(40)
    ),
]


def test_a_sheet_is_read_with_typed_dates_and_booleans(book):
    table = read_table(book(Data=ROWS), label_columns=["y"], plan=Choices())
    kinds = {column.name: column.kind for column in table.plan.columns}
    assert kinds == {"who": "identifier", "size": "number", "seen": "yes/no", "day": "date", "wood": "category"}
    assert table.target[:, 0].tolist() == [i % 2 for i in range(40)]
    assert table.data[:3, 1].tolist() == [0, 1, 0]
    assert table.ids[:2] == ["a0", "b1"]
    assert table.notes == []
    assert table.columns["size"].text(1) == "0.125"
    assert table.columns["day"].text(0) == "2020-01-05"


def test_the_first_sheet_is_read_or_the_one_that_is_named(book):
    path = book(A=[["a", "b"], [1.5, 2], [3, 4]], B=[["c", "d"], [5, 6]])
    table = read_table(path)
    assert table.data.tolist() == [[1.5, 2], [3, 4]]
    assert table.notes == ["of 2 sheets 'A' is read; --sheet names another ('B')"]
    assert read_table(path, sheet="B").data.tolist() == [[5, 6]]
    refused(["no sheet 'C'", "A, B"], path, sheet="C")


def test_an_empty_sheet_in_front_is_passed_over(book):
    table = read_table(book(Cover=[], Data=[["a", "b"], [1.5, 2]]))
    assert table.data.tolist() == [[1.5, 2]]
    assert table.notes == ["of 2 sheets 'Data' is read; --sheet names another ('Cover')"]


def test_cells_that_a_row_lacks_at_its_end_are_empty(book):
    table = read_table(book(Data=[["a", "b", "c"], [1.5, 2, 3], [4], [5, 6]]))
    assert np.array_equal(table.data, [[1.5, 2, 3], [4, np.nan, np.nan], [5, 6, np.nan]], equal_nan=True)


def test_formulas_give_the_values_that_were_saved(book, tmp_path):
    assert np.isnan(read_table(book(A=[["a", "b"], [1, "=A2*2"]])).data[0, 1])  # nobody has computed it yet
    parts = {}
    with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = sheet.replace(b"<v></v>", b"<v>2</v>").replace(b"<v />", b"<v>2</v>")
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert read_table(tmp_path / "t.xlsx").data.tolist() == [[1, 2]]


def test_titles_and_blank_rows_above_the_names_are_skipped_with_a_note(book, tmp_path):
    table = read_table(book(A=[["Sales 2024"], [], ["a", "b"], [1.5, 2], [3, 4]]), plan=Choices())
    assert table.feature_names == ["a", "b"]
    assert table.notes == ["row 1 stands above the names of the columns and is skipped"]
    (tmp_path / "t.csv").write_text("Sales 2024\n\na;b;c\n1,5;x;2\n2,5;y;3\n1,5;x;7\n")
    table = read_table(tmp_path / "t.csv", plan=Choices())
    assert table.feature_names == ["a", "b=x", "b=y", "c"]
    assert table.notes == ["line 1 stands above the names of the columns and is skipped"]
    (tmp_path / "t.csv").write_text("a,,\n1,2,x\n3,4,y\n")  # a name, and two columns without one
    assert read_table(tmp_path / "t.csv", plan=Choices()).plan.names == ["a", "column 2", "column 3"]


def test_an_excel_file_by_another_name_is_recognised(book, tmp_path):
    path = book(A=ROWS)
    path.rename(tmp_path / "t.csv")
    table = read_table(tmp_path / "t.csv", label_columns=["y"], plan=Choices())
    assert table.data.shape[0] == 40
    assert table.notes == []
    (tmp_path / "old.csv").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    refused(["an old Excel file", "save the sheet as CSV"], tmp_path / "old.csv")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([], ["sheet is empty"]),
        ([["a", None, "b"], [1, 2, 3]], ["column 2 has no name"]),
        ([["a", "b"], [1, 2], [], [3, 4]], ["row 3", "the row is blank"]),
        ([["a", "b"], [1, 2, 3]], ["row 2", "3 cells"]),
        ([["a", "b"], [1, "x"]], ["row 2", "column 'b'", "'x' is not a number"]),
        ([["a", "a"], [1, 2]], ["'a'", "twice"]),
    ],
)
def test_wrong_sheets_are_refused(book, rows, words):
    refused(words, book(A=rows))


def test_damaged_workbooks_and_declared_entities_are_refused(book, tmp_path):
    path = book(A=[["a", "b"], [1, 2]])
    whole = path.read_bytes()
    for damaged in (b"", b"PK\x03\x04", whole[:-200], whole[:300] + b"\xff" * 40 + whole[340:]):
        path.write_bytes(damaged)
        refused(["t.xlsx"], path)
    for text in (b'<!DOCTYPE a [<!ENTITY b "c">]>', "<a/>".encode("utf-16")):
        made = io.BytesIO(whole)
        with zipfile.ZipFile(made, "a") as archive:
            archive.writestr("xl/more.xml", text)
        path.write_bytes(made.getvalue())
        refused(["DOCTYPE"], path)


def test_a_workbook_may_not_unpack_to_more_than_is_allowed(book):
    path = book(A=[["a", "b"], *([[0, 0]] * 3000)])
    refused(["unpacks to more than max_bytes=9000"], path, max_bytes=9000)
    refused(["max_features=1"], path, max_features=1)
