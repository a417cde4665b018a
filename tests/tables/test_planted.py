"""Errors that were planted into the readers of tables and that no test noticed then: each turns one of these red."""

import warnings

import numpy as np
import pytest

from nmlsdr.tables import Choices, DataFileError, TableEncoder, read_table
from nmlsdr.tables._lists import find_items
from nmlsdr.tables._number_parsing import Notation, find_notation

pandas = pytest.importorskip("pandas")


def encoded(cells):
    frame = pandas.DataFrame({"v": pandas.Series(cells, dtype=object), "w": np.arange(len(cells)) % 7 * 1.5})
    with warnings.catch_warnings(action="ignore"):
        encoder = TableEncoder()
        return encoder.fit_transform(frame), encoder.plan_.columns[0]


def test_a_missing_number_has_no_mark():
    X, column = encoded(["<5"] * 7 + ["6", "7.5", "9"] + [None] * 2)
    assert column.marks == ("<",)
    assert X[-2:, 1].tolist() == [0, 0]


def test_floats_among_texts_with_commas_are_the_numbers_that_they_are():
    X, column = encoded([1.5, "2,5", 3.25, 1.125] * 10)
    assert X[:4, 0].tolist() == [1.5, 2.5, 3.25, 1.125], column


def test_a_unit_that_is_rare_in_a_large_table_is_no_slip():
    _, column = encoded([f"{i % 90} kg" for i in range(996)] + ["3 sacks"] * 4)
    assert (column.kind, column.marks) == ("number", ("kg", "sacks"))


def test_so_many_groups_of_three_digits_are_no_decimals():
    texts = {f"{k}.{100 + 37 * k % 900}": 1 for k in range(1, 23)}
    assert find_notation({**texts, "987": 1}, ".")[0] == Notation(",", ".")
    texts.pop("1.137")
    assert find_notation({**texts, "987": 1}, ".")[0] == Notation(".", "")


def test_whole_numbers_from_a_thousand_on_leave_the_mark_open():
    assert find_notation({"12.345": 1, "999": 1}) == (Notation(",", "."), "")
    notation, doubt = find_notation({"12.345": 1, "1000": 1})
    assert (notation, bool(doubt)) == (Notation(".", ""), True)
    assert find_notation({"12.345": 1, "10000": 1}) == (Notation(".", ""), "")


def test_lists_in_a_tenth_of_the_cells_are_enough():
    texts = {"skin": 45, "heart": 45, "skin;heart": 5, "heart;skin": 5}
    assert find_items(texts) is not None
    assert find_items({**texts, "skin": 46}) is None


def test_items_stand_in_five_cells_on_average():
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("b", "a"), ("c", "b"), ("a", "b")]
    texts = {f"{a};{b}": 1 for a, b in pairs}
    assert find_items({**texts, "a": 2, "b": 1}) is not None  # 15 of three items
    assert find_items({**texts, "a": 2}) is None


def test_cells_of_a_workbook_are_counted(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for i in range(300):
        book.active.append(["a", "b"] if i == 0 else [i, i / 2])
    book.save(tmp_path / "t.xlsx")
    monkeypatch.setattr("nmlsdr.tables._excel.check_size", lambda *arguments: None)
    for allowed, fits in ((8 * 598, True), (8 * 598 - 1, False)):
        monkeypatch.setattr("nmlsdr.tables._excel.allowance", lambda *arguments, allowed=allowed: allowed)
        if fits:
            assert len(read_table(tmp_path / "t.xlsx", plan=Choices()).data) == 299
        else:
            with pytest.raises(DataFileError, match="holds cells that fill more than"):
                read_table(tmp_path / "t.xlsx", plan=Choices())
