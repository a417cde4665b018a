"""Texts in plain characters before they are read, notations that are not read, and codes for missing values."""

import numpy as np
import pytest
from table_files import dense, read_table

from nmlsdr.tables import TableEncoder
from nmlsdr.tables._columns import Numbers
from nmlsdr.tables._facts import Facts
from nmlsdr.tables._planner import Choices
from nmlsdr.tables._sentinels import missing_codes
from nmlsdr.tables._unread import find_unread

pandas = pytest.importorskip("pandas")
N = 60


def column_and_values(cells, **other_columns):
    table = pandas.DataFrame({"w": np.arange(len(cells)) % 7 * 1.5, "v": cells} | other_columns)
    encoder = TableEncoder()
    features = dense(encoder.fit_transform(table))
    return encoder.plan_.columns[1], features[:, 1:]


@pytest.mark.parametrize(
    ("wide", "plain"),
    [
        ("１，２００．５", "1,200.5"),
        ("３．５ ｋｇ", "3.5 kg"),
        ("８０％", "80%"),
        ("７㎏", "7 kg"),
        ("（５）", "(5)"),
        ("－３", "-3"),
    ],
)
def test_cells_of_full_width_are_read_as_plain_ones(wide, plain):
    plain_cells = [plain if i % 3 == 0 else f"{i}{plain[-2:] if plain[-1] in 'g%' else ''}" for i in range(N)]
    wide_cells = [wide if i % 3 == 0 else cell for i, cell in enumerate(plain_cells)]
    expected, values = column_and_values(plain_cells)
    column, wide_values = column_and_values(wide_cells)
    assert (column.kind, column.factors) == (expected.kind, expected.factors)
    np.testing.assert_array_equal(wide_values, values)


def test_levels_of_half_width_are_those_of_full_width():
    column, _ = column_and_values(["ｶｰﾄﾞ", "カード", "現金"] * 20)
    assert [*column.levels] == ["カード", "現金"]


def test_superscripts_stay_what_they_are():
    assert column_and_values([f"{i} m²" for i in range(N)])[0].factors == {"m²": 1.0}
    assert column_and_values(["5²", "7²", "9²"] * 20)[1][:, 0].max() < 10
    _, values = column_and_values([f"{i} ㎍" if i % 2 else f"{i} µg" for i in range(N)])
    assert values[:, 0].tolist() == [*range(N)]


def test_a_dash_of_full_width_alone_is_a_missing_value():
    column, values = column_and_values([f"{i / 4}" if i % 5 else "－" for i in range(N)])
    assert column.kind == "number"
    assert values[0, 0] == np.median([i / 4 for i in range(N) if i % 5])


def test_names_of_columns_and_labels_are_plain(tmp_path):
    lines = "".join(f"{i / 3},{'ab'[i % 2]},{'ｶｰﾄﾞ;現金' if i % 3 else 'カード'}\n" for i in range(N))
    (tmp_path / "t.csv").write_text("ｻｲｽﾞ,ｗ,tags\n" + lines, encoding="utf-8")
    table = read_table(tmp_path / "t.csv", plan=Choices(), label_list="tags")
    assert [column.name for column in table.plan.columns] == ["サイズ", "w"]
    assert table.label_names == ["カード", "現金"]


# ---------------------------------------------------------------- notations that are not read


CALENDAR = "dates of a calendar that is not read"
POWER = "numbers with a word for a power of ten, which is not read"
DURATIONS = "durations in several units, which are not read"


@pytest.mark.parametrize(
    ("cells", "notation"),
    [
        ([f"令和{i % 5 + 1}年4月{i % 28 + 1}日" for i in range(N)], CALENDAR),
        ([f"R{i % 5 + 1}.4.{i % 28 + 1}" for i in range(N)], CALENDAR),
        ([f"{i + 1}万円" for i in range(N)], POWER),
        ([f"{i + 1}千" for i in range(N)], POWER),
        ([f"{i % 3 + 1}時間{i % 50 + 10}分" for i in range(N)], DURATIONS),
    ],
)
def test_notations_that_are_not_read_stay_texts_and_are_named(cells, notation):
    remark = f"{N} cells look like {notation}: {cells[0]}"
    table = pandas.DataFrame({"w": np.arange(N) % 7 * 1.5, "v": cells})
    encoder = TableEncoder()
    with pytest.warns(UserWarning, match=remark):
        encoder.fit(table)
    column = encoder.plan_.columns[1]
    assert column.kind not in ("number", "date")
    assert column.reason.endswith(remark)


@pytest.mark.parametrize("n_powers", [4, 30])
def test_a_power_of_ten_makes_a_column_no_number(n_powers):
    cells = [f"{i + 1}万円" if i < n_powers else f"{i + 1}000円" for i in range(300)]
    encoder = TableEncoder()
    with pytest.warns(UserWarning, match=f"{n_powers} cells look like numbers with a word for a power of ten"):
        encoder.fit(pandas.DataFrame({"w": np.arange(300) % 7 * 1.5, "v": cells}))
    assert encoder.plan_.columns[1].kind not in ("number", "date")


def test_a_single_power_of_ten_is_an_error_and_never_a_small_number():
    cells = [f"{i + 1}万円" if i == 7 else f"{i + 1}000円" for i in range(300)]
    with pytest.raises(ValueError, match="8万円"):
        TableEncoder().fit(pandas.DataFrame({"w": np.arange(300) % 7 * 1.5, "v": cells}))


def test_fewer_than_three_cells_are_no_notation():
    assert find_unread([("3万円", 2)]) is None
    assert find_unread([]) is None


def test_brackets_of_a_unit_are_no_minus_sign():
    column, values = column_and_values([f"{i} dB(A)" for i in range(N)])
    assert "negative" not in column.reason
    assert values[:, 0].tolist() == [*range(N)]
    column, values = column_and_values([f"{i}" if i % 5 else f"({i})" for i in range(1, N)])
    assert "11 in brackets or with a minus sign behind them are negative" in column.reason
    assert values[4, 0] == -5


# ---------------------------------------------------------------- serial numbers of Excel


def test_serial_numbers_of_tomorrow_are_dates_and_named():
    days = pandas.date_range("2019-01-01", periods=200, freq="5D")
    encoder = TableEncoder().fit(pandas.DataFrame({"day": days.strftime("%Y-%m-%d"), "w": np.arange(200) % 7}))
    serial = (days - pandas.Timestamp("1899-12-30")).days
    expected = encoder.transform(pandas.DataFrame({"day": days.strftime("%Y-%m-%d"), "w": np.arange(200) % 7}))
    for cells in (serial, [str(day) for day in serial], [f"{day}.25" for day in serial]):
        with pytest.warns(UserWarning, match="dates as serial numbers of Excel in 100% of the cells, 0% at the fit"):
            dates = encoder.transform(pandas.DataFrame({"day": cells, "w": np.arange(200) % 7}))
        np.testing.assert_array_equal(dates, expected)


def test_serial_numbers_among_dates_are_said():
    days = pandas.date_range("2019-01-01", periods=60, freq="5D").strftime("%d.%m.%Y").tolist()
    column, values = column_and_values([*days, "45292", "45293"])
    assert "2 serial numbers of Excel are read as dates" in column.reason
    assert values[-2].tolist() == [2024.0, 1.0]
    with pytest.raises(ValueError, match="is not what the column holds"):
        column_and_values([*days, "99"])


# ---------------------------------------------------------------- codes for missing values


def test_codes_for_missing_values_are_pointed_out(tmp_path, rng):
    X = rng.normal(20, 3, (500, 14)).round(2)
    X[rng.random(X.shape) < 0.04] = -999
    lines = "\n".join(",".join(map(str, [*row, i % 2])) for i, row in enumerate(X.tolist()))
    (tmp_path / "t.csv").write_text(",".join(f"s{j}" for j in range(14)) + ",y\n" + lines + "\n")
    table = read_table(tmp_path / "t.csv", plan=Choices(), label_columns=["y"])
    share = f"{100 * np.mean([(column == -999).mean() for column in X.T]):.2g}"
    assert f"-999 in {share} % of the cells of 14 columns, far outside the others: --missing -999" in table.notes
    again = read_table(tmp_path / "t.csv", plan=Choices(missing=["-999"]), label_columns=["y"])
    assert not any("-999" in note for note in again.notes)
    assert np.isnan(again.data).sum() == (X == -999).sum()


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, 3.0, -999.0, -999.0],  # two cells
        [-999.0, -900.0, -500.0, 3.0, -999.0, -999.0, 12.0, 5.0],  # not far outside
        [-998.0] * 4 + [1.0, 2.0, 3.0, 1.5, 2.5],  # no code
        [99.0] * 5,
        [99.0] * 5 + [1.0] * 3,  # most cells
    ],
)
def test_ordinary_numbers_are_no_codes(values):
    assert missing_codes([Facts("t", Numbers(np.array(values)), frozenset())]) == []


def test_every_code_is_named_with_its_columns():
    columns = [
        Facts("a", Numbers(np.array([1.0, 2, 3, 4, 9999, 9999, 9999])), frozenset()),
        Facts("b", Numbers(np.array([1.0, 2, 3, 4, -99, -99, -99])), frozenset()),
    ]
    assert [line.split(" in ")[0] for line in missing_codes(columns)] == ["-99", "9999"]
