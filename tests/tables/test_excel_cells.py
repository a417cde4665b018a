"""Cells of Excel: percent, units and currencies of formats, and rows far below the table."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest

from nmlsdr.tables import Choices, DataFileError, Roles, read_table

openpyxl = pytest.importorskip("openpyxl")
ROLES = Roles(label_columns=["flu"])


def write_book(path, rows, form="General"):
    book = openpyxl.Workbook()
    book.active.append(["share", "w", "flu"])
    for i, row in enumerate(rows):
        book.active.append(row)
        book.active.cell(i + 2, 1).number_format = form
    book.save(path)


@pytest.mark.parametrize(
    ("form", "text", "factor"),
    [
        ("0%", "{:g}%", 100),
        ("0.0%", "{:g} %", 100),
        ('0.00" kg"', "{:g} kg", 1),
        ("#,##0.00\\ [$€-407]", "{:g} €", 1),
        ("[$$-409]#,##0.00", "${:g}", 1),
    ],
)
@pytest.mark.parametrize("mark", [".", ","])
def test_what_a_format_shows_is_the_unit_of_a_number(tmp_path, form, text, factor, mark):
    values = [round((i * 37 % 60 + 1) / 8, 4) for i in range(60)]
    write_book(tmp_path / "t.xlsx", [[value, i * 1.5, i % 2] for i, value in enumerate(values)], form)
    cells = [
        [text.format(v * factor).replace(".", mark), f"{i * 1.5}".replace(".", mark), i % 2]
        for i, v in enumerate(values)
    ]
    lines = ["share;w;flu", *(";".join(map(str, row)) for row in cells)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    fit = read_table(tmp_path / "t.csv", ROLES, plan=Choices())
    new = read_table(tmp_path / "t.xlsx", ROLES, plan=fit.plan)
    np.testing.assert_allclose(new.data, fit.data, rtol=1e-12)
    assert new.differences == []


def test_a_number_without_the_percent_sign_of_all_others_is_missing_or_an_error(tmp_path):
    rows = [[(i * 37 % 60 + 1) / 100, i * 1.5, i % 2] for i in range(60)]
    (tmp_path / "t.csv").write_text("share,w,flu\n" + "".join(f"{100 * a:.0f}%,{b},{c}\n" for a, b, c in rows))
    fit = read_table(tmp_path / "t.csv", ROLES, plan=Choices())
    write_book(tmp_path / "t.xlsx", rows)
    message = r"t\.xlsx: 60 cells are not what the column holds.*; write the unit of the fit behind numbers\.$"
    with pytest.raises(DataFileError, match=message):
        read_table(tmp_path / "t.xlsx", ROLES, plan=fit.plan)
    mixed = [f"{a},{b},{c}\n" if i < 20 else f"{100 * a:.0f}%,{b},{c}\n" for i, (a, b, c) in enumerate(rows)]
    (tmp_path / "m.csv").write_text("share,w,flu\n" + "".join(mixed))
    new = read_table(tmp_path / "m.csv", ROLES, plan=fit.plan)
    assert any("column 'share': 33% of the rows have no known value" in line for line in new.differences)


def change_sheet(path, old, new):
    """Write a workbook whose first sheet has another text in its XML."""
    write_book(path.with_name("plain.xlsx"), [[1, 2, 1], [2, 3, 0]])
    with zipfile.ZipFile(path.with_name("plain.xlsx")) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            text = source.read(name)
            target.writestr(name, text.replace(old, new) if name.endswith("sheet1.xml") else text)


CODE = """
import sys
from nmlsdr.tables import DataFileError, Roles, read_table
for path in sys.argv[1:]:
    try:
        read_table(path, Roles(label_columns=["flu"]))
    except DataFileError as error:
        print(error)
"""


def test_a_row_far_below_the_table_is_refused_soon(tmp_path):
    """In a process of its own, since it took for ever."""
    cases = {
        (99_999_999_999, "A2"): "row numbers above 1048576",
        (1_048_576, "XFD1048576"): "the row is blank, and rows",
    }
    paths = [tmp_path / f"{cell}.xlsx" for _, cell in cases]
    for path, (row, cell) in zip(paths, cases, strict=True):
        change_sheet(path, b"</sheetData>", f'<row r="{row}"><c r="{cell}"><v>1</v></c></row></sheetData>'.encode())
    command = [sys.executable, "-P", "-c", CODE, *map(str, paths)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    for line, message in zip(process.stdout.splitlines(), cases.values(), strict=True):
        assert message in line
