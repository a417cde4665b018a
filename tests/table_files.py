"""What the tests of the readers share: tables by options, which are fields of Roles and Form, and how refusals read."""

import dataclasses

import pytest
from scipy import sparse

from nmlsdr import tables
from nmlsdr.tables import DataFileError, Form, Roles
from nmlsdr.tables._planner import Choices

SEMICOLONS = "Nr;Höhe;Material;Tags\n" + "".join(
    f"M{i};{i},5;{['Holz', 'Ton', 'holz '][i % 3]};{['a|b', 'keine', '', 'b', 'a'][i % 5]}\n" for i in range(30)
)
FORM = {field.name for field in dataclasses.fields(Form)}


def read_table(path, *, plan=None, **how):
    """Read a table; each option is a field of Roles or of Form."""
    form = {name: how.pop(name) for name in FORM & how.keys()}
    return tables.read_table(path, Roles(**how), Form(**form), plan=plan)


@pytest.fixture
def decide(tmp_path):
    """Read a text or bytes as a raw table; returns it, and the kind of each column."""

    def decide(content, name="t.csv", choices=None, **how):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        table = read_table(tmp_path / name, plan=choices or Choices(), **how)
        return table, {column.name: column.kind for column in table.plan.columns}

    return decide


def refused(words, path, **how):
    """One sentence that names the file and holds these words."""
    with pytest.raises(DataFileError) as error_info:
        read_table(path, **how)
    message = str(error_info.value)
    for word in words if "mask" in how else [path.name, *words]:  # a mask may be an array
        assert word in message
    assert message.endswith(".")
    assert "\n" not in message


def write_sheets(path, **sheets):
    """Write a workbook of these rows for each sheet; the path."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, rows in sheets.items():
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def dense(X):
    """Features as an array: they are sparse if a column of texts is among them."""
    return X.toarray() if sparse.issparse(X) else X
