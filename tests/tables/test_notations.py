"""What a column needs for each notation beside plain numbers and dates, and what is said of texts that only look so."""

import json
import warnings

import numpy as np
import pytest
from table_files import dense

from nmlsdr.tables import TableEncoder
from nmlsdr.tables._dates import find_months, numeric_date, read_date
from nmlsdr.tables._plan import Plan

pandas = pytest.importorskip("pandas")
N = 60


def encoded(cells, **other_columns):
    """The plan of a column `v`, what it becomes, and what was warned of."""
    table = pandas.DataFrame({"w": np.arange(len(cells)) % 7 * 1.5, "v": cells} | other_columns)
    with warnings.catch_warnings(record=True, action="always") as caught_warnings:
        encoder = TableEncoder()
        X = dense(encoder.fit_transform(table))[:, 1:]
        plan = encoder.plan_
        assert np.array_equal(dense(Plan.from_json(plan.to_json()).fill_in(encoder.transform(table)))[:, 1:], X)
    return plan.columns[1], X, " ".join(str(warning.message) for warning in caught_warnings)


def mixed(rare, usual=str, every=3):
    """Cells of which one of three is written in a rare way."""
    return [rare(i) if i % every == 0 else usual(i) for i in range(N)]


# ---------------------------------------------------------------- numbers

MIDDLE = [i + 1 if i % 3 == 0 else i for i in range(N)]


@pytest.mark.parametrize(
    ("rare", "mark", "values"),
    [
        (lambda i: f"aprox. {i}", "~", [*range(N)]),
        (lambda i: f"Ca {i}", "~", [*range(N)]),
        (lambda i: f"~{i}", "~", [*range(N)]),
        (lambda i: f"{i}-{i + 2}", "between", MIDDLE),
        (lambda i: f"{i} – {i + 2}", "between", MIDDLE),
        (lambda i: f"{i} a {i + 2}", "between", MIDDLE),
    ],
)
def test_an_estimate_and_a_range_have_a_mark_beside_the_number(rare, mark, values):
    column, X, _ = encoded(mixed(rare))
    assert (column.kind, column.marks) == ("number", (mark,))
    assert X[:, 0].tolist() == values
    assert X[:, 1].tolist() == [float(i % 3 == 0) for i in range(N)]


@pytest.mark.parametrize("rare", [lambda i: f"({i})", lambda i: f"{i}-", lambda i: f"(${i})" if i % 2 else f"({i})"])
def test_numbers_in_brackets_are_negative_among_others(rare):
    column, X, _ = encoded(mixed(rare))
    assert column.kind == "number"
    assert X[:, 0].tolist() == [-i if i % 3 == 0 else i for i in range(N)]
    assert "20 in brackets or with a minus sign behind them are negative" in column.reason


@pytest.mark.parametrize(
    "rare",
    [lambda i: f"({i})", lambda i: f"{i}-", lambda i: f"{i}-{i + 2}", lambda i: f"{i} to {i + 2}", lambda i: f"CA {i}"],
)
def test_a_rare_notation_in_most_cells_is_none(rare):
    """Such as footnotes (1), classes of age 18-25, results of matches, and codes."""
    assert encoded([rare(i % 20) for i in range(N)])[0].kind in ("category", "text", "words", "identifier")
    assert encoded(mixed(rare, every=2))[0].kind == "number"
    assert encoded([rare(i % 20) if i % 20 else str(i) for i in range(N)])[0].kind != "number"


def test_ranges_ascend_or_are_codes():
    cells = mixed(lambda i: f"{i}-{i + 2}")
    assert encoded(cells)[0].kind == "number"
    assert encoded([*cells[:-1], "9-7"])[0].kind != "number"
    encoder = TableEncoder().fit(pandas.DataFrame({"v": cells}))
    with pytest.raises(ValueError, match="3 cells are not what the column holds"):
        encoder.transform(pandas.DataFrame({"v": [*cells[:-3], "9-7", "8-8", "7-6"]}))


def test_two_units_in_a_cell_are_one_number():
    years = [f"{i // 12 + 1} ano{'s' * (i >= 12)}" for i in range(N)]
    ages = [f"{year} e {i % 12} meses" if i % 12 else year for i, year in enumerate(years)]
    column, X, _ = encoded(ages)
    assert column.kind == "number"
    assert X[:, 0] == pytest.approx([12 + i for i in range(N)])  # months, which are more frequent
    assert encoded([f"{i % 9 + 1} m e {i} kg" for i in range(N)])[0].kind != "number"  # no unit of the other's kind
    assert encoded([f"{i % 9 + 1} cm e {i} m" for i in range(N)])[0].kind != "number"  # the larger one is second


# ---------------------------------------------------------------- dates


@pytest.mark.parametrize("form", ["%d/%m/%Y %Hh%M", "%d.%m.%Y %Hh%M Uhr", "%Y-%m-%d %Hh%M"])
def test_the_hours_of_a_date_may_have_an_h(form):
    days = pandas.date_range("2025-01-01", periods=N, freq="31h")
    column, X, _ = encoded(days.strftime(form).tolist())
    assert column.kind == "date"
    assert X.tolist() == [list(read_date(day)) for day in days.strftime("%Y-%m-%d")]


WRITTEN = {
    "pt": "{d} de {m} de {y}",
    "es": "{d} de {m} de {y}",
    "en": "{m} {d}, {y}",
    "cs": "{d}. {m} {y}",
    "fr": "{d} {m} {y}",
    "de": "{d}. {m} {y} 12:30",
    "tr": "{d} {m} {y}",
    "ru": "{d} {m} {y}",
    "hu": "{y}. {m} {d}.",
    "fi": "{d}. {m} {y}",
}


@pytest.mark.parametrize("language", WRITTEN)
@pytest.mark.parametrize("width", ["wide", "abbreviated"])
def test_the_names_of_months_are_those_of_a_language(language, width):
    babel = pytest.importorskip("babel")
    names = babel.Locale(language).months["format"][width]
    days = pandas.date_range("2019-01-01", periods=N, freq="23D")
    cells = [WRITTEN[language].format(d=day.day, m=names[day.month].title(), y=day.year) for day in days]
    column, X, warning = encoded(cells)
    assert (column.kind, warning) == ("date", "")
    assert X.tolist() == [list(read_date(day)) for day in days.strftime("%Y-%m-%d")]


def test_a_plan_reads_months_without_babel(monkeypatch):
    pytest.importorskip("babel")
    cells = [f"{i % 28 + 1} mai 2024" if i % 2 else f"{i % 28 + 1} juin 2024" for i in range(N)]
    encoder = TableEncoder().fit(pandas.DataFrame({"v": cells}))
    monkeypatch.setattr("nmlsdr.tables._dates._languages", list)
    assert encoder.transform(pandas.DataFrame({"v": ["3 août 2024"]})).tolist() == [list(read_date("2024-08-03"))]
    column, _, warning = encoded(cells)
    assert column.kind in ("category", "words")
    assert "it looks like a date in 100% of its cells, but its months are in no known language" in column.reason
    assert "may have been misread: column 'v': it looks like a date" in warning


def test_a_month_that_languages_do_not_share_is_no_month():
    pytest.importorskip("babel")
    assert find_months(["maj", "lip"])["lip"] == "7"  # Polish
    assert find_months(["svi", "lip"])["lip"] == "6"  # Croatian
    assert find_months(["listopad"]) == find_months(["kg"]) == find_months(["mai", "sacks"]) == {}
    months = find_months(["maio"])
    for text in ("maio 2024", "3 maio", "3 maio 4 2024", "3 maio # 2024", "3 maio maio", "3 kg 2024"):
        assert numeric_date(text, months) == text


def test_what_is_left_as_text_says_what_it_looks_like():
    cells = [f"soon {'abcdefg'[i % 7]}" if i % 5 == 0 else f"{i % 28 + 1} May 2024" for i in range(N)]
    column, _, warning = encoded(cells)
    assert column.kind in ("category", "words")
    for text in (column.reason, warning):
        assert "it looks like a date in 80% of its cells, but not 'soon a'" in text
    sizes = [f"{i} mal {i + 20}" for i in range(N)]
    assert "looks like" not in encoded(sizes)[0].reason + encoded(sizes)[2]


# ---------------------------------------------------------------- JSON


def test_numbers_of_json_objects_are_columns_of_their_own():
    cells = [json.dumps({"w": i / 4, "wood": "oak", "n": i} | ({"h": 5} if i % 4 == 0 else {})) for i in range(N - 2)]
    column, X, _ = encoded([*cells, "", '{"wood": "ash"}'])
    assert (column.kind, column.feature_names) == ("JSON", ["v (n)", "v (w)"])
    assert X[:-2].tolist() == [[i, i / 4] for i in range(N - 2)]
    assert X[-2:].tolist() == [[28.5, 7.125]] * 2  # medians
    assert "missing: empty (1)" in column.reason
    assert encoded([*cells[:50], *["none"] * 10])[0].kind != "JSON"
    encoder = TableEncoder().fit(pandas.DataFrame({"v": cells}))
    with pytest.warns(UserWarning, match="'n': 100% of the rows have no known value"):
        assert encoder.transform(pandas.DataFrame({"v": ['{"n": 1e400, "w": 2}'] * 3})).tolist() == [[28.5, 2]] * 3
    with pytest.raises(ValueError, match="1 cell is not what the column holds"):
        encoder.transform(pandas.DataFrame({"v": ['{"n": ']}))


# ---------------------------------------------------------------- the identifier


def kinds(table):
    return {column.name: column.kind for column in TableEncoder().fit(table).plan_.columns}


ORDERS = [f"P{i - (i % 30 == 29)}" for i in range(N)]  # 97 % are different


@pytest.mark.parametrize("name", ["Order no.", "order_id", "OrderID", "Bestellnummer", "Número do pedido", "Код", "v"])
def test_the_identifier_has_the_name_or_the_place(name):
    postal = {"Postal": [f"{i * 7919 % 9000}-{i:03d}" for i in range(N)]}  # that happen to differ
    x = {"x": np.arange(N) % 7 / 2}
    is_named = name != "v"
    for columns, is_identifier in (({name: ORDERS} | postal | x, True), (x | postal | {name: ORDERS}, is_named)):
        kind_of_column = kinds(pandas.DataFrame(columns))
        assert (kind_of_column[name], kind_of_column["Postal"]) == (
            ("identifier", "text") if is_identifier else ("text", "identifier")
        )
    assert kinds(pandas.DataFrame({name: [f"P{i % 56}" for i in range(N)]} | postal | x))["Postal"] == "identifier"


@pytest.mark.parametrize(("n_different", "is_identifier"), [(95, True), (94, False)])
def test_95_of_100_cells_are_different_in_an_identifier_with_the_name(n_different, is_identifier):
    numbers = [(i % n_different) * 37 + 100 for i in range(100)]
    x = {"x": np.arange(100) / 2}
    whole = "identifier" if is_identifier else "number"
    assert kinds(pandas.DataFrame({"Kundennr": numbers} | x))["Kundennr"] == whole
    assert kinds(pandas.DataFrame({"Kunden": numbers} | x))["Kunden"] == "number"  # the place alone
    assert kinds(pandas.DataFrame(x | {"Kundennr": numbers}))["Kundennr"] == "number"  # the name alone
    texts = kinds(pandas.DataFrame(x | {"Kundennr": [f"K{number}" for number in numbers]}))
    assert (texts["Kundennr"] == "identifier") == is_identifier
