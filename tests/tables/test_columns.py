"""Columns of tables: what one is follows from all its different texts, in any order of rows and in every notation."""

import datetime
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from campaigns import notations
from hypothesis import given, settings
from hypothesis import strategies as st
from table_files import read_table

from nmlsdr.tables import DataFileError, TableEncoder, _csv, _files
from nmlsdr.tables._columns import Numbers, Texts, row_numbers
from nmlsdr.tables._objects import typed_column
from nmlsdr.tables._planner import Choices, Planner

pandas = pytest.importorskip("pandas")


def kinds(table):
    return [column.kind for column in TableEncoder().fit(table).plan_.columns]


# ---------------------------------------------------------------- all texts, in any order


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
def test_marks_between_thousands_may_come_late(order, rng):
    amounts = np.sort(rng.integers(1, 1150, 3000))
    if order == "shuffled":
        rng.shuffle(amounts)
    table = pandas.DataFrame({"amount": [f"{value:,}" for value in amounts]})
    np.testing.assert_array_equal(TableEncoder().fit_transform(table)[:, 0], amounts)


def test_many_texts_of_which_a_few_look_like_numbers_are_no_numbers(rng):
    codes = [f"{code:08x}" for code in rng.integers(0, 2**32, 6000)]
    assert any(code.isdecimal() for code in codes)
    assert kinds(pandas.DataFrame({"code": codes, "size": rng.normal(size=6000)})) == ["identifier", "number"]


TEXTS = ["1", "2.5", "1.200", "x", "X", "y ", "", "ja", "nein", "2020-01-02", "n/a"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(TEXTS), min_size=2, max_size=24), st.randoms(use_true_random=False))
def test_what_a_column_is_does_not_depend_on_the_order_of_the_rows(cells, random):
    """But for what compares rows, and the example of a date."""
    plans = []
    for _ in range(2):
        plans.append(Planner({"a": typed_column(cells)}, len(cells), Choices()).plan())
        cells = random.sample(cells, len(cells))
    (column,), (shuffled_column,) = (plan.columns for plan in plans)
    assert (column.kind, column.levels, column.decimal, column.thousands) == (
        shuffled_column.kind,
        shuffled_column.levels,
        shuffled_column.decimal,
        shuffled_column.thousands,
    )
    assert plans[0].missing == plans[1].missing
    assert column.reason == shuffled_column.reason or column.kind == "date"


# ---------------------------------------------------------------- every dtype


FRAME = {
    "flag": [True, False] * 20,
    "gaps": [True, None, False, True] * 10,
    "wood": ["oak", "ash"] * 20,
    "few": ["u", "v", None, "u"] * 10,
    "age": [7 * i % 31 for i in range(40)],
    "holes": [1, None, 3, 4] * 10,
    "size": [i / 8 if i % 3 else 0.5 for i in range(40)],
    "comma": ["1,5", "2,25"] * 20,
    "code": ["007", "012"] * 20,
}


def variants():
    frame = pandas.DataFrame(FRAME).assign(day=pandas.date_range("2020-01-01", periods=40))
    yield "pandas", frame
    yield "nullable", frame.convert_dtypes()
    yield "objects", frame.astype(object)
    categories = {name: frame[name].astype("category") for name in ("flag", "wood", "few", "code", "age")}
    yield "categories", frame.assign(**categories, holes=frame["holes"].astype("Int64"))
    yield "booleans", frame.astype({"gaps": "boolean", "wood": "string"})
    if "pyarrow" in sys.modules:
        yield "arrow", frame.convert_dtypes(dtype_backend="pyarrow")
    try:
        import polars
    except ImportError:
        return
    polars_frame = polars.DataFrame({**FRAME, "day": frame["day"].to_numpy()})
    yield "polars", polars_frame
    wood = polars.col("wood")
    day = polars.col("day")
    yield "polars categories", polars_frame.with_columns(wood.cast(polars.Categorical), day.cast(polars.Date))


def test_frames_of_every_dtype_give_the_same_plan_and_values():
    encoders = {name: (TableEncoder(), frame) for name, frame in variants()}
    features = {name: encoder.fit_transform(frame) for name, (encoder, frame) in encoders.items()}
    first = encoders["pandas"][0].plan_
    assert {column.name: column.kind for column in first.columns} == {
        "flag": "yes/no",
        "gaps": "yes/no",
        "wood": "category",
        "few": "category",
        "age": "number",
        "holes": "number",
        "size": "number",
        "comma": "number",
        "code": "number",
        "day": "date",
    }
    for name, (encoder, _) in encoders.items():
        assert encoder.plan_ == first, name
        np.testing.assert_array_equal(features[name], features["pandas"], name)


def test_booleans_are_yes_and_no_in_frames_and_in_texts(rng):
    table = pandas.DataFrame({"age": rng.integers(20, 90, 60), "smoker": rng.random(60) < 0.4})
    texts = table.astype(str)
    for fitted, new_table in ((texts, table), (table, texts)):
        np.testing.assert_array_equal(TableEncoder().fit(fitted).transform(new_table)[:, 1], table["smoker"])


def test_a_category_beside_a_nullable_column_is_taken():
    wood = pandas.Categorical(["oak", "ash", "elm"] * 10)
    age = pandas.Series([1, None, 3] * 10, dtype="Int64")
    assert kinds(pandas.DataFrame({"wood": wood, "age": age})) == ["category", "number"]


@pytest.mark.parametrize("number", range(3))
def test_every_notation_gives_the_same_plan_and_values(number, tmp_path):
    """A reduced campaign: tests/campaigns/notations.py draws a thousand tables."""
    for package in ("openpyxl", "polars", "pyarrow"):
        pytest.importorskip(package)
    assert notations.run([number], tmp_path) == []


def test_the_numbers_of_tomorrow_are_those_that_were_written_or_something_is_said():
    failures = [notations.tomorrow(number) for number in range(60)]
    assert [line for line in failures if line] == []
    assert failures.count("") >= 20


def test_consecutive_years_are_no_identifier():
    table = pandas.DataFrame({"year": range(1995, 2020), "size": np.arange(25) ** 0.5})
    assert kinds(table) == ["number", "number"]
    assert kinds(table.assign(year=range(7, 32))) == ["identifier", "number"]


# ---------------------------------------------------------------- numbers and texts


def test_what_a_number_would_lose_stays_a_text():
    for first in ("007", "1234567890123456", "1.200", "1e400", "1_0", "٣"):
        texts = [first, "2"]
        assert isinstance(typed_column(texts), Texts), texts
    for texts in (["7", "-1.25", ""], [" 2 ", "1e5"], ["1.200", "3.4"], ["5.", ".5"]):
        column = typed_column(texts)
        assert isinstance(column, Numbers), texts
        assert column.written
    assert typed_column([True, 1, 1.0, "x"]).different == ["True", "1", "x"]
    assert typed_column([{"a": 1.5}, None]).different == ['{"a": 1.5}', ""]  # as JSON, whose numbers are read


def test_a_float_among_texts_has_no_point_that_could_stand_between_thousands():
    assert typed_column([1.125, "x"]).different == ["1125e-3", "x"]
    assert typed_column([2.25, "1,5"]).different == ["225e-2", "1,5"]
    assert typed_column([1.125, 2.25, "x"]).different == ["1.125", "2.25", "x"]


def test_decimal_points_are_refused_where_the_plan_has_decimal_commas(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n" + "".join(f"{i},5;{i % 7}\n" for i in range(30)))
    plan = read_table(tmp_path / "a.csv", plan=Choices()).plan
    (tmp_path / "b.csv").write_text("a;b\n3;1\n12.5;2\n4.0;3\n")
    with pytest.raises(DataFileError, match=r"1 cell is not what the column holds: line 3, column 'a': '12\.5'"):
        read_table(tmp_path / "b.csv", plan=plan)
    (tmp_path / "b.csv").write_text("a;b\n3;1\n12;2\n")
    assert read_table(tmp_path / "b.csv", plan=plan).data[:, 0].tolist() == [3, 12]


def test_points_between_thousands_are_read_where_the_numbers_of_the_fit_were_smaller(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n" + "".join(f"{i},5 cm;{i % 7}\n" for i in range(30)))
    plan = read_table(tmp_path / "a.csv", plan=Choices()).plan
    (tmp_path / "b.csv").write_text("a;b\n1.160 mm;1\n45 mm;2\n1.203,5 cm;3\n")
    assert read_table(tmp_path / "b.csv", plan=plan).data[:, 0].tolist() == [116, 4.5, 1203.5]


def test_long_ids_are_identifiers_in_every_reader(tmp_path):
    """As floats they were equal, so the column was left out as a constant."""
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame({"id": 2**60 + np.arange(30), "x": np.arange(30) ** 0.5})
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        stored_table = read_table(tmp_path / name, plan=Choices())
        assert stored_table.plan.identifier == "id"
        assert stored_table.ids == list(map(str, table["id"]))
        assert read_table(tmp_path / name).data[0, 0] == 2.0**60  # without a plan all columns are said to be numbers
    for frame in (table, table.astype(object), table.astype({"id": "uint64"}), table.astype({"id": "Int64"})):
        assert kinds(frame) == ["identifier", "number"]
    table["id"] = -(10**15) + 7 * np.arange(1, 31)  # 15 digits
    table.to_parquet(tmp_path / "a.parquet")
    assert read_table(tmp_path / "a.parquet", plan=Choices()).plan.columns[0].kind == "identifier"
    assert kinds(table) == ["identifier", "number"]
    assert kinds(table.rename(columns={"id": "length"})) == kinds(table[["x", "id"]]) == ["number", "number"]


def test_cells_of_python_are_the_numbers_that_they_are():
    table = pandas.DataFrame({"a": [Fraction(k, 3) for k in range(9)], "b": [Decimal(k) / 8 for k in range(9)]})
    np.testing.assert_allclose(TableEncoder().fit_transform(table), np.c_[np.arange(9) / 3, np.arange(9) / 8])
    with pytest.raises(ValueError, match="X contains complex numbers"):
        TableEncoder().fit(table.assign(b=1j * np.arange(9)))


def test_python_warns_of_numbers_without_a_unit():
    with pytest.warns(UserWarning, match=r"may have been misread: column 'w': 3 without a unit are read as 'kg'\."):
        TableEncoder().fit(pandas.DataFrame({"w": [*(f"{k} kg" for k in range(9)), "3", "4", "5"]}))


def test_durations_are_hours_in_every_reader(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    cells = [datetime.timedelta(minutes=90 * k * k) for k in range(24)]
    frame = pandas.DataFrame({"d": [None, *cells], "x": range(25)})
    frame.to_parquet(tmp_path / "a.parquet")
    sheet = openpyxl.Workbook()
    for row in [("d", "x"), (None, 0), *((cell, k + 1) for k, cell in enumerate(cells))]:
        sheet.active.append(row)
    sheet.save(tmp_path / "a.xlsx")
    expected = [np.nan, *(1.5 * k * k for k in range(24))]
    for name in ("a.parquet", "a.xlsx"):
        np.testing.assert_array_equal(read_table(tmp_path / name, plan=Choices()).data[:, 0], expected)
    for table in (frame, polars.from_pandas(frame), frame.astype(object)):
        np.testing.assert_array_equal(TableEncoder().fit_transform(table)[1:, 0], expected[1:])


def test_numbers_with_the_other_decimal_mark_are_no_missing_values(tmp_path):
    """They were taken for a word that means a missing value, since they recur."""
    (tmp_path / "a.csv").write_text("a;b\n" + "1,5;1\n" * 40 + "2.5;3\n" * 20)
    with pytest.raises(DataFileError, match=r"20 cells are not what the column holds: line 42, column 'a': '2\.5'"):
        read_table(tmp_path / "a.csv", plan=Choices())


@pytest.mark.parametrize("mark", ".,")
def test_one_mark_is_not_for_decimals_and_thousands(tmp_path, mark):
    (tmp_path / "a.csv").write_text("a;b\n" + "1,5;1\n" * 40)
    with pytest.raises(ValueError, match=f"decimal and thousands are both '[{mark}]'; give different marks"):
        read_table(tmp_path / "a.csv", plan=Choices(decimal=mark, thousands=mark))


def test_a_row_of_sums_below_the_table_is_named(tmp_path):
    rows = "".join(f"{i},{i * i}.5\n" for i in range(30))
    for below, advice in (("Total,9\n", "If the last row is a sum or a remark below the table, remove it."), ("", "")):
        (tmp_path / "a.csv").write_text(f"n,x\n{rows}{below or 'Total,9' + chr(10) + rows}")
        with pytest.raises(DataFileError) as error_info:
            read_table(tmp_path / "a.csv", plan=Choices())
        assert str(error_info.value).endswith(f"with --missing Total. {advice}".rstrip())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([0.0, -0.0, 1.5, float("nan")])), max_size=12))
def test_rows_with_equal_cells_have_one_number(rows):
    words, values = ([row[k] for row in rows] for k in (0, 1))
    numbers = row_numbers([typed_column(words), Numbers(np.array(values, float))], len(rows))
    row_keys = [(word, "nan" if value != value else value + 0.0) for word, value in zip(words, values, strict=True)]
    for i in range(len(rows)):
        for j in range(i):
            assert (numbers[i] == numbers[j]) == (row_keys[i] == row_keys[j])


# ---------------------------------------------------------------- blocks of a CSV file


def test_a_csv_file_needs_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"Reading CSV files needs pyarrow; install it with: .*nmlsdr\[cli\]"):
        read_table(tmp_path / "t.csv")


ROWS = ["1,x", '2,"a\nb"', '3,"q""q"', '4,"5"" pipe"', "5,", "6,é"]
ODD = ['7,a"b', '8, "c"', "9,\td"]


@settings(max_examples=80, deadline=None)
@given(
    rows=st.lists(st.sampled_from([*ROWS, *ODD]), min_size=1, max_size=12),
    line_break=st.sampled_from(["\n", "\r\n"]),
    block=st.integers(1, 60),
)
def test_blocks_and_single_rows_give_the_same_columns_and_lines(tmp_path_factory, rows, line_break, block):
    """A block of irregular rows, and all after it, are read row by row."""
    path = tmp_path_factory.getbasetemp() / "blocks.csv"
    path.write_bytes(line_break.join(["k,w", *rows, "oops,z", ""]).encode())
    outcomes = []
    for size in (block, 1 << 21):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_files, "BLOCK", size)
            patch.setattr(
                _csv.CsvFile, "_regular_blocks", _csv.CsvFile._regular_blocks if size == block else lambda *_: iter(())
            )
            table = read_table(path, id_column="w", plan=Choices(one_hot=["k"]))
            with pytest.raises(DataFileError) as error_info:
                read_table(path, id_column="w")
            outcomes.append((table.ids, table.columns["k"].texts.all(), table.data.tolist(), str(error_info.value)))
    assert outcomes[0] == outcomes[1]
    assert f"line {2 + sum(row.count(chr(10)) + 1 for row in rows)}, column 'k': 'oops'" in outcomes[0][3]


@pytest.mark.parametrize("cell", ["x" * 100_000, "a\nb" * 10_000], ids=["long", "of many lines"])
def test_a_cell_may_be_larger_than_a_block(tmp_path, monkeypatch, cell):
    monkeypatch.setattr(_files, "BLOCK", 1000)
    (tmp_path / "t.csv").write_text(f'id,a\n"{cell}",1\nq,2\n')
    assert read_table(tmp_path / "t.csv", id_column="id").ids == [cell, "q"]
