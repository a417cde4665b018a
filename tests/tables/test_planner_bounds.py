"""Each bound by which a column is decided, on both of its sides."""

import datetime
import warnings

import numpy as np
import pytest

from nmlsdr.tables import TableEncoder
from nmlsdr.tables._dates import read_date

pandas = pytest.importorskip("pandas")


def kind(cells, y=None, **parameters):
    with warnings.catch_warnings(action="ignore"):
        table = pandas.DataFrame({"a": cells, "b": np.arange(len(cells)) % 7 + 0.5})
        return TableEncoder(**parameters).fit(table, y).plan_.columns[0].kind


@pytest.mark.parametrize("written", [str, float])
def test_a_number_that_means_a_missing_value_is_filled_in_plain_columns_too(written):
    cells = [written(999 if i % 4 == 0 else i) for i in range(40)]
    known = [i for i in range(40) if i % 4]
    encoder = TableEncoder(missing=["999"]).fit(pandas.DataFrame({"a": cells}))
    values = encoder.transform(pandas.DataFrame({"a": cells}))[:, 0]
    assert values.tolist() == [float(i) if i % 4 else np.median(known) for i in range(40)]
    assert kind([written(999 if i % 4 == 0 else 5) for i in range(40)], missing=["999"]) == "yes/no"  # 5 or nothing


@pytest.mark.parametrize("n_rows", [100, 400])
def test_more_than_ten_cells_and_five_percent_of_other_texts_are_words(n_rows):
    bound = max(10, n_rows // 20)
    for n_other in (bound, bound + 1):
        cells = [f"{i / 4}" for i in range(n_rows - n_other)] + [f"word{chr(97 + i)}" for i in range(n_other)]
        if n_other > bound:
            assert kind(cells) == "number"
        else:
            with pytest.raises(ValueError, match=f"{bound} cells are not what the column holds"):
                kind(cells)


@pytest.mark.parametrize(("n", "is_category"), [(2, False), (3, True)])
def test_a_word_that_stands_three_times_among_numbers_is_no_slip(n, is_category):
    cells = [f"{i / 4}" for i in range(100)] + ["sans"] * n
    if is_category:
        assert kind(cells) == "number"
    else:
        with pytest.raises(ValueError, match="2 cells are not what the column holds"):
            kind(cells)


def test_ten_different_texts_with_a_frequent_word_are_levels():
    for n_numbers, expected in ((9, "category"), (10, "number")):
        assert kind([str(i % n_numbers) for i in range(60)] + ["T"] * 20) == expected


@pytest.mark.parametrize("n_words", [5, 6])
def test_five_different_words_may_stand_in_half_of_the_cells(n_words):
    numbers = [f"{i / 4}" for i in range(60)]
    words = [f"word{chr(97 + i % n_words)}" for i in range(60)]
    assert (kind(numbers + words) == "number") == (n_words == 5)
    assert kind(numbers[:-1] + words) != "number"
    assert kind([f"{i / 4}" for i in range(240)] + words) == "number"  # four fifths
    assert (kind([f"{i / 4}" for i in range(239)] + words) == "number") == (n_words == 5)


@pytest.mark.parametrize(("n_rows", "expected_kind"), [(19, "number"), (20, "identifier")])
def test_twenty_rows_that_are_counted(n_rows, expected_kind):
    assert kind([str(i + 1) for i in range(n_rows)]) == expected_kind


def test_words_of_which_half_are_labels_are_like_the_labels():
    y = pandas.DataFrame({"flu": np.arange(60) % 2, "cold": np.arange(60) % 3 // 2})
    for words, is_like_labels in (
        (["flu", "Cold", "north", "south"], True),
        (["flu", "cold", "north", "south", "east"], False),
    ):
        assert (kind([words[i % len(words)] for i in range(60)], y) == "like the labels") == is_like_labels


@pytest.mark.parametrize(("n_filled", "is_like_labels"), [(19, False), (20, True)])
def test_a_column_is_filled_only_where_labels_are_if_chance_cannot_do_that(n_filled, is_like_labels):
    y = np.where(np.arange(80) < 40, np.arange(80) % 2, -1)[:, None]  # 2^-20 is less than a millionth
    cells = [f"{i / 4}" if i < n_filled else "" for i in range(80)]
    assert (kind(cells, y) == "like the labels") == is_like_labels


def test_years_of_two_digits_begin_in_1950():
    for year, text in ((1950, "50"), (1999, "99"), (2000, "00"), (2049, "49")):
        assert read_date(f"1/1/{text}") == (float(year), 1.0)


def column_of(cells, **parameters):
    with warnings.catch_warnings(record=True, action="always") as caught_warnings:
        encoder = TableEncoder(**parameters).fit(pandas.DataFrame({"a": cells}))
    return encoder.plan_.columns[0], " ".join(str(warning.message) for warning in caught_warnings)


def test_dates_in_which_nothing_decides_between_day_and_month_are_named():
    column, warning = column_of([f"{i % 12 + 1:02d}/05/2024" for i in range(40)])
    assert (column.kind, column.month_first) == ("date", False)
    for text in (column.reason, warning):
        assert "the day is read first, but nothing in the column decides between day and month" in text
    for last, first in (("13/05/2024", False), ("05/13/2024", True)):
        column, warning = column_of([f"{i % 12 + 1:02d}/05/2024" for i in range(40)] + [last])
        assert (column.month_first, "decides" in column.reason, warning) == (first, False, "")
    for form in ("{0:02d}.05.2024", "{0:02d}/{0:02d}/2024", "2024-05-{0:02d}"):
        column, warning = column_of([form.format(i % 12 + 1) for i in range(40)])
        assert (column.kind, "decides" in column.reason, warning) == ("date", False, ""), form


def test_two_words_of_the_labels_among_five_are_too_few():
    y = pandas.DataFrame({"flu": [0, 1] * 20, "cold": [1, 0] * 20, "gout": [0] * 40})
    for words, kind in ((["flu", "cold", "x", "y", "z"], "category"), (["flu", "cold", "x", "y"], "like the labels")):
        X = pandas.DataFrame({"a": [words[i * i % 7 % len(words)] for i in range(40)], "b": np.arange(40) / 4})
        X.loc[: len(words) - 1, "a"] = words
        assert TableEncoder().fit(X, y).plan_.columns[0].kind == kind, words


def test_phone_numbers_are_no_numbers():
    phones = [f"+48 {600 + i} {345 + i} {678 - i}" for i in range(40)]
    assert column_of(phones)[0].kind != "number"
    assert column_of([phone.replace("+48 ", "") for phone in phones])[0].kind == "number"
    assert column_of([f"+{i / 4}" for i in range(40)])[0].kind == "number"


def test_whole_numbers_with_leading_zeros_may_be_codes():
    advice = "leading zeros; if these are codes, give --one-hot"
    assert advice in column_of([f"{i * 997 % 90000:05d}" for i in range(40)])[0].reason
    assert advice not in column_of([f"{i * 997 % 90000}" for i in range(40)])[0].reason
    assert advice not in column_of([f"0,{i}" for i in range(40)])[0].reason


def test_a_star_behind_a_number_is_a_mark_and_no_unit():
    column, _ = column_of([f"{i / 4}" + "*" * (i % 10 == 0) for i in range(40)])
    assert (column.kind, column.marks) == ("number", ())
    assert "the mark '*' (4) behind numbers is left out" in column.reason
    assert "unit" not in column.reason


def test_a_number_that_means_a_missing_value_is_named():
    column, _ = column_of(["999" if i % 8 == 0 else f"{i / 4}" for i in range(40)], missing=["999"])
    assert "missing: '999' (5)" in column.reason


@pytest.mark.parametrize("form", ["%y-%m-%d", "%y/%m/%d"])
def test_years_of_two_digits_in_front_are_told_by_how_few_they_are(form):
    dates = [datetime.date(2021, 1, 1) + datetime.timedelta(9 * i) for i in range(120)]
    encoder = TableEncoder()
    dates_read = encoder.fit_transform(pandas.DataFrame({"d": [date.strftime(form) for date in dates]}))
    assert dates_read[:, 0].astype(int).tolist() == [date.year for date in dates]
    assert "the year stands first" in encoder.plan_.columns[0].reason
    days = [date.strftime("%d-%m-%y") for date in dates]
    assert encoder.fit_transform(pandas.DataFrame({"d": days}))[:, 0].tolist() == dates_read[:, 0].tolist()
    with pytest.warns(UserWarning, match="the year is read last, but nothing in the column decides"):
        TableEncoder().fit(pandas.DataFrame({"d": ["23-11-24", "24-10-23", "25-01-22"] * 10, "x": range(30)}))


def test_a_day_before_a_point_stands_first_although_months_do_in_other_dates():
    assert read_date("03.04.2024", month_first=True) == read_date("3.4.2024")
    assert read_date("03/04/2024", month_first=True)[1] == 3
