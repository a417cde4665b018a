"""What differs from the table of the fit is said, with both figures, and nothing else is."""

import json
import warnings

import numpy as np
import pytest
from campaigns import comparison
from commands import assert_done, assert_refused, ran, write_csv

from nmlsdr.tables import Column, DataFileError, Profile, TableEncoder, read_table
from nmlsdr.tables._columns import Numbers, Texts
from nmlsdr.tables._comparison import differences, is_sum_of_others, profile_of, shift

pandas = pytest.importorskip("pandas")

QUICK = ("--label-columns", "y", "--n-neighbors", "3", "-q")


def warnings_of(old, new, **other_columns):
    """The warnings of `transform` for a column `v` that was `old` at the fit and is `new` now."""
    frame = lambda v: pandas.DataFrame({"v": v, "w": np.arange(len(v)) % 7 * 1.5} | other_columns)
    encoder = TableEncoder().fit(frame(old))
    with warnings.catch_warnings(record=True, action="always") as caught_warnings:
        values = encoder.transform(frame(new))[:, 0]
    return [str(warning.message) for warning in caught_warnings], values


def test_a_line_has_both_figures():
    values = [30 + i * 37 % 60 for i in range(60)]
    messages, _ = warnings_of([f"{value} %" for value in values], [f"{value / 100} %" for value in values])
    assert messages == [
        "In X, column 'v': the median is 0.59, 59 at the fit; decimals in 100% of the cells, 0% at the fit."
    ]


def test_a_hundredth_of_few_numbers_is_told(rng):
    for _ in range(20):
        values, later = rng.normal(68, 12, (2, 60)).round(1)
        messages, _ = warnings_of(values, later / 100)
        assert "at the fit" in messages[0]
        assert warnings_of(values, later)[0] == []


def test_units_that_the_fit_did_not_have_are_converted_and_that_is_said():
    messages, values = warnings_of([f"{i + 100} cm" for i in range(60)], [f"{i + 1000} mm" for i in range(600, 660)])
    assert values == pytest.approx([160 + i / 10 for i in range(60)])
    assert "'mm' in 100% of the cells, 0% at the fit" in messages[0]
    assert messages[0].endswith("units are converted to those of the fit.")
    mixed = [f"{i + 100}{' cm' * (i % 4 > 0)}" for i in range(60)]
    with pytest.warns(UserWarning, match="15 without a unit are read as 'cm'"):
        messages, _ = warnings_of(mixed, [str(i + 100) for i in range(60)])  # a unit that is gone is not converted
    assert "'cm' in 0% of the cells, 75% at the fit" in messages[0]
    assert "converted" not in messages[0]


def test_signs_that_the_fit_did_not_have_are_told():
    messages, _ = warnings_of(
        [f"{i * 1.1:.1f}" for i in range(60)], ["<0.5"] * 30 + [f"{i * 1.1:.1f}" for i in range(30, 60)]
    )
    assert "the sign '<' in 50% of the cells, 0% at the fit" in messages[0]


def test_thousands_with_a_mark_are_told_where_the_fit_saw_whole_numbers_below_a_thousand():
    messages, _ = warnings_of([str((i * 37) % 997) for i in range(60)], ["987", "1.234", "12.345", "650"] * 15)
    assert "decimals in 50% of the cells, 0% at the fit" in messages[0]


def test_a_row_of_sums_at_the_end_is_told():
    values = [(i * 37) % 101 + 0.5 for i in range(60)]
    messages, _ = warnings_of(values, [*values[:-1], sum(values[:-1])])
    assert messages == ["In X, column 'v': the last row is the sum of the others; remove it if it is a total."]


@pytest.mark.parametrize(("values", "is_sum"), [([1.5] * 10, True), ([1.5] * 9, False), ([1.5] * 9 + [0] * 9, False)])
def test_ten_values_and_their_sum_are_no_chance(values, is_sum):
    assert is_sum_of_others(np.array([*values, sum(values)])) == is_sum
    assert not is_sum_of_others(np.array([*values, sum(values) + 1e-7]))
    assert [is_sum_of_others(np.array([1e9] * 10 + [1e10 + d])) for d in (1, 100)] == [True, False]  # of large ones


def test_columns_of_one_name_in_another_order_are_refused(run, tmp_path):
    rows = [[i % 9, 400 + i * 7 % 50, i % 2] for i in range(80)]
    write_csv(tmp_path / "t.csv", ["Valor", "Valor", "y"], rows)
    assert run("fit", "t.csv", *QUICK, "-o", "m.skops").status == 0
    assert run("predict", "m.skops", "t.csv", "-q", "-o", "p.csv").err == ""  # nothing that the fit's table gets too
    write_csv(tmp_path / "new.csv", ["Valor", "Valor", "y"], [[b, a, c] for a, b, c in rows])
    assert_refused(run("predict", "m.skops", "new.csv", "-q", "-o", "p.csv"), "'Valor' and 'Valor.2' have one name")


def test_strict_stops_at_a_line(run, tmp_path):
    write_csv(tmp_path / "t.csv", ["a", "b", "y"], [[i * 7 % 50, i % 9 / 2, i % 2] for i in range(80)])
    assert_done(run("fit", "t.csv", *QUICK, "-o", "m.skops"))
    write_csv(tmp_path / "new.csv", ["a", "b", "y"], [[i * 7 % 50 + 900, i % 9 / 2, i % 2] for i in range(80)])
    result = ran(run("predict", "m.skops", "new.csv", "-q", "-o", "p.csv"))
    assert "new.csv: column 'a': the median is 925, 25 at the fit." in result.err
    for verb in ("predict", "transform", "evaluate"):
        out = [] if verb == "evaluate" else ["-o", "q.csv"]
        result = run(verb, "m.skops", "new.csv", "--strict", "-q", *out)
        assert result.status == 2, result
        assert result.err.splitlines()[-1] == (
            "nmlsdr: new.csv is not as the table of the fit; mend it, or leave --strict out."
        )


def test_a_typed_number_has_no_decimal_mark_to_dispute():
    """Numbers with decimal commas at the fit; typed numbers beside a word tomorrow, as in a workbook."""
    values = [i * 37 % 60 / 8 for i in range(60)]
    new = pandas.Series([*values[:-1], "n/d"], dtype=object)
    messages, values_read = warnings_of([f"{value}".replace(".", ",") for value in values], new)
    assert (messages, values_read[:-1].tolist()) == ([], values[:-1])


def test_answers_of_one_language_are_the_same_in_short_and_in_full():
    messages, answers = warnings_of(["S", "N", "N"] * 20, ["Sim", "Não", "N"] * 20)
    assert (messages, answers.tolist()) == ([], [1, 0, 0] * 20)
    with pytest.raises(ValueError, match="not what the column holds"):
        warnings_of(["S", "N", "N"] * 20, ["Sim", "Nein", "N"] * 20)


def test_a_unit_of_the_same_dimension_is_converted_and_said():
    centimetres = [f"{i * 37 % 60 + 100} cm" for i in range(60)]
    messages, heights = warnings_of(centimetres, [f"{i * 37 % 60 / 100 + 1:.2f} m" for i in range(60)])
    np.testing.assert_allclose(heights, [i * 37 % 60 + 100 for i in range(60)], rtol=1e-12)
    (line,) = messages
    assert "'m' in 100% of the cells, 0% at the fit" in line
    with pytest.raises(ValueError, match="not what the column holds"):
        warnings_of(centimetres, [f"{i} kg" for i in range(60)])


def test_numbers_without_the_only_unit_of_the_fit_are_counted():
    percent = [f"{i * 37 % 60 + 1} %" for i in range(60)]
    messages, values = warnings_of(percent, ["0.268", *percent[1:40], *[f"0.{i}" for i in range(41, 61)]])
    assert len({*values[[0, *range(40, 60)]]}) == 1  # the median of the fit
    assert "21 numbers such as '0.268' without the unit of the fit, read as missing" in messages[0]


def test_the_lock_of_an_open_workbook_is_named(tmp_path):
    (tmp_path / "~$t.xlsx").write_bytes(b"x" * 165)
    with pytest.raises(DataFileError, match="it is the lock of a workbook that is open"):
        read_table(tmp_path / "~$t.xlsx")


# ---------------------------------------------------------------- limits, with profiles as the plan keeps them

HOW = frozenset({""}), False  # the words that mean a missing value, and whether case matters


def differences_from(kind, was, new, *, rare=0.005, **column):
    """What is said of numbers, or of the texts of a category or list, beside a profile of 100 rows."""
    cells = Numbers(np.asarray(new, float)) if kind == "number" else Texts.of(new, np.arange(len(new)))
    values = cells.values if kind == "number" else np.full(len(new), np.nan)
    return differences(Column("v", kind, **column), Profile(100, *was), cells, values, HOW, rare)


SEVEN = (0.0, 5.0, 25.0, 50.0, 75.0, 95.0, 100.0)


def test_the_ends_and_quantiles_of_a_column_are_kept():
    values = np.arange(100.0)
    profile = profile_of(Column("v", "number"), Numbers(values), values, HOW)
    assert profile.quantiles == (0, 4, 24, 49, 74, 94, 99)
    assert (profile.n_rows, profile.missing, profile.shares) == (100, 0, {"0": 0.01})
    assert profile.drift == -profile_of(Column("v", "number"), Numbers(-values), -values, HOW).drift
    assert profile.drift == pytest.approx(1 - 1.5 / 50**0.5)
    assert profile_of(Column("v", "number"), Numbers(values[:1]), values[:1], HOW).drift == 0
    assert shift(SEVEN, np.repeat([-1.0, 200.0], 50)) == 0.5  # as many below as above: above
    assert profile_of(Column("v", "number"), Numbers(np.array([np.nan])), np.array([np.nan]), HOW).missing == 1


@pytest.mark.parametrize(
    ("far", "drift", "is_told"),
    [
        ([-100] * 3, 0, False),  # no further beyond the end than the ends lie apart
        ([-101] * 3, 0, True),
        ([-101] * 2, 0, False),  # 2 of 1000 rows are chance, as none of 100 was
        ([-101, -102, -103], 0, False),  # so many values are a tail
        ([-101] * 3 + [-500, 900], 0, True),
        ([-101] * 3 + [-500, 900, 901], 0, False),
        ([200] * 3, 0, False),
        ([201] * 3, 0, True),
        ([1e30] * 3, 1, True),
        ([2200] * 3, 1, False),  # rising values go on 10 times as far, and once more for each 100 of the 1000 rows
        ([2201] * 3, 1, True),
        ([-101] * 3, 1, True),
        ([-2100] * 3, -1, False),
        ([-2101] * 3, -1, True),
        ([201] * 3, -1, True),
    ],
)
def test_few_values_far_beyond_the_ends_are_told(far, drift, is_told):
    new = [*far, *np.linspace(0, 100, 1000 - len(far))]
    messages, is_elsewhere, _ = differences_from("number", (0, SEVEN, drift, {"0": 0.01, "decimals": 0.9}), new)
    assert bool(messages) == is_told, messages
    assert not is_elsewhere
    if is_told:
        assert messages[0].startswith(f"{'values such as ' * (len({*far}) > 1)}{far[0]:.6g} in 0.")
        assert messages[0].endswith("% of the cells; the fit had 0 to 100")


@pytest.mark.parametrize(("k", "rare", "is_told"), [(7, 0.005, False), (8, 0.005, True), (8, 1 / 256, False)])
def test_chance_is_a_binomial_of_the_rows_of_both_tables(k, rare, is_told):
    """None of 100 rows and k of 100 others: all stand in one table with probability 2^-k, 1/256 for 8."""
    ordinary = (0, SEVEN, 0, {"decimals": 1.0})
    ordinary_values = np.linspace(1.5, 99.5, 100 - k)
    far = [*np.linspace(300, 310, k), *ordinary_values]  # different values
    assert bool(differences_from("number", ordinary, far, rare=rare)[0]) == is_told
    messages = differences_from("number", ordinary, [0] * k + [*ordinary_values], rare=rare)[0]
    assert messages == [f"0 in {k}% of the cells, 0% at the fit"] * is_told
    assert bool(differences_from("number", ordinary, [np.nan] * k + [*ordinary_values], rare=rare)[0]) == is_told
    items = {"levels": {"a": "a", "b": "b"}, "separator": ";"}
    lists = [""] * k + ["a;b"] * (100 - k)
    assert bool(differences_from("list", (0, (), 0, {"a": 0.9, "b": 0.5}), lists, rare=rare, **items)[0]) == is_told


def test_the_level_is_one_percent_for_all_columns_together():
    """Two columns, 60 rows and 90: k missing cells all stand among the 90 with probability .6^k, .0060 for k = 10."""
    values = [i * 37 % 60 + 0.5 for i in range(90)]
    assert warnings_of(values[:60], [None] * 10 + values[10:])[0] == []
    assert warnings_of(values[:60], [None] * 11 + values[11:])[0] != []


def test_rare_levels_that_share_a_feature_may_be_new():
    texts = ["a"] * 99 + ["new"]
    assert differences_from("category", (0, (), 0, {"a": 1.0}), texts, levels={"a": "A"}, has_other=True)[0] == []


def test_chance_counts_the_rows_with_a_value():
    zeros = [0] * 30 + [*np.linspace(1.5, 99.5, 70)]
    assert differences_from("number", (0, SEVEN, 0, {"decimals": 1.0}), zeros)[0] != []
    assert differences_from("number", (0.9, SEVEN, 0, {"decimals": 1.0}), zeros)[0] == []  # 10 at the fit


def test_three_times_as_many_are_needed_of_what_the_fit_had():
    new = [*[0] * 375, *np.linspace(1, 99, 625)]
    assert differences_from("number", (0, SEVEN, 0, {"0": 0.125, "decimals": 0.7}), new)[0] == []
    messages = differences_from("number", (0, SEVEN, 0, {"0": 0.12, "decimals": 0.7}), new)[0]
    assert messages == ["0 in 38% of the cells, 12% at the fit"]


def test_a_change_is_told_from_four_tenths_of_the_rows_on_and_more_where_they_are_few():
    """The limit for 100 rows is .4 + 1.5 / 10."""
    for share, is_told in ((0.79, False), (0.81, True)):
        new = ["a"] * round(100 * share) + ["b"] * round(100 - 100 * share)
        messages = differences_from("category", (0, (), 0, {"a": 0.25, "b": 0.75}), new, levels={"a": "A", "b": "B"})[0]
        assert (
            messages == ["'A' in 81% of the cells, 25% at the fit", "'B' in 19% of the cells, 75% at the fit"] * is_told
        )
        messages = differences_from(
            "category", (0, (), 0, {"a": 0.25, "b": 0.75}), new, levels={"a": "A" * 31, "b": "B" * 30}
        )[0]
        assert [fact.split("'")[1] for fact in messages] == ["A" * 27 + "...", "B" * 30] * is_told
        beyond = round(100 * (share - 0.25))
        moved = [*np.linspace(101, 150, beyond), *np.linspace(1.5, 99.5, 100 - beyond)]
        for drift, wider in ((0, is_told), (0.004, is_told), (0.007, False)):  # twice the drift wider
            assert differences_from("number", (0, SEVEN, drift, {"decimals": 1.0}), moved)[1] == wider


def test_more_of_what_is_no_form_is_no_mistake():
    """A third as many had the level at the fit, as next year's flu."""
    was = (0, (), 0, {"a": 0.1, "b": 0.9})
    levels = {"a": "A", "b": "B"}
    assert differences_from("category", (0, (), 0, {"a": 0.45, "b": 0.55}), ["a"] * 100, levels=levels) == (
        [],
        False,
        "",
    )
    assert differences_from("category", (0, (), 0, {"a": 0.44, "b": 0.56}), ["a"] * 100, levels=levels)[2] != ""
    assert differences_from("category", was, ["a"] * 40 + ["b"] * 60, levels=levels)[0] == []


def test_a_file_of_one_level_says_that_once():
    frame = lambda wards: pandas.DataFrame({"ward": wards, "floor": [w[0] for w in wards], "x": range(len(wards))})
    encoder = TableEncoder().fit(frame(["east", "west", "north"] * 20))
    (line,) = comparison.lines(encoder, frame(["west"] * 60))
    assert line == "In X, column 'ward': all rows have 'west', 33% at the fit (there is one level also in 'floor')."
    assert comparison.lines(encoder, frame(["west"] * 20)) == []  # the limit for few rows is wider
    assert "a level that the fit has not seen, such as 'south'" in comparison.lines(encoder, frame(["south"] * 60))[0]


@pytest.mark.parametrize(
    ("new", "is_told"),
    [
        (
            range(16),
            False,
        ),  # four rows of 100 were alone with their level; 16 or more of 20 are new with probability .0059
        (range(17), True),
        (
            [0] * 9,
            False,
        ),  # one new level has all 9 of its rows in the later half with probability .002, and there are 5
        ([0] * 10, True),
    ],
)
def test_new_levels_are_chance_where_the_fit_has_such_that_stand_in_one_row(new, is_told):
    levels = {level: level.upper() for level in "abcde"}
    later = [*(f"new {k}" for k in new), *["a"] * (100 - len(new))]
    was = {"a": 0.96} | dict.fromkeys("bcde", 0.01)
    messages = differences_from("category", (0, (), 0, was), later, levels=levels)[0]
    unseen_levels = "a level that the fit has not seen, such as 'new 0'"
    assert messages == [f"{len(new)} rows have {unseen_levels}: no feature stands for it"] * is_told
    twice = {"a": 0.92} | dict.fromkeys("bcde", 0.02)
    assert (
        differences_from("category", (0, (), 0, twice), ["new 0", *later[len(new) :]], levels=levels)[0] != []
    )  # at the first


def test_ten_columns_are_named_and_the_others_counted(rng):
    for n, last_lines in ((10, []), (11, ["1 more column differs"]), (12, ["2 more columns differ"])):
        frame = pandas.DataFrame(rng.normal(size=(60, n)), columns=[f"c{k}" for k in range(n)])
        lines = comparison.lines(TableEncoder().fit(frame), frame + 1000)
        assert [line[: line.index(":")] for line in lines[:10]] == [f"In X, column 'c{k}'" for k in range(10)]
        assert lines[10:] == [f"In X, {last_line} from the fit." for last_line in last_lines]


# ---------------------------------------------------------------- kinds of columns


def test_an_empty_cell_is_told_where_yes_and_no_or_a_category_had_none():
    for values in (["yes", "no", "yes"], ["east", "west", "north"]):
        messages, _ = warnings_of(values * 20, ["", *values * 70])
        assert messages == ["In X, column 'v': 0.5% of the rows have no known value, 0% at the fit."]
        assert warnings_of(["", *values * 20], ["", *values * 70])[0] == []
    assert warnings_of(list(range(60)), [None, *range(60)] * 4)[0] == []


def test_dates_are_compared_by_year_and_order():
    days = pandas.date_range("2023-01-01", periods=600)
    later = pandas.date_range("2024-09-01", periods=30)
    fit = days.strftime("%Y-%m-%d").tolist()
    assert warnings_of(fit, later.strftime("%Y-%m-%d").tolist())[0] == []
    assert warnings_of(fit, later.strftime("%Y/%m/%d").tolist())[0] == []
    for year in (1, 1900, 9999):
        messages, _ = warnings_of(fit, [f"{year:04d}-12-31"] * 3 + fit[3:])
        assert messages == [f"In X, column 'v': {year} in 0.5% of the cells; the fit had 2023 to 2024."], year
    messages, _ = warnings_of(fit, later.strftime("%y-%m-%d").tolist())
    assert "values such as 2001 in 67% of the cells; the fit had 2023 to 2024; dates as 00/00/00 in 100%" in messages[0]
    messages, _ = warnings_of(fit, later.strftime("%d/%m/%Y").tolist())
    orders = "dates as 00/00/YYYY in 100% of the cells, 0% at the fit; dates as YYYY/00/00 in 0% of the cells, 100%"
    assert messages == [f"In X, column 'v': {orders} at the fit."]


def test_each_key_of_json_objects_is_compared(rng):
    vitals = [{"bp": int(bp), "hr": int(hr)} for bp, hr in rng.normal([120, 70], [10, 9], (300, 2))]
    warnings_of_objects = lambda objects: warnings_of(
        [json.dumps(vital) for vital in vitals], [json.dumps(vital) for vital in objects]
    )[0]
    assert warnings_of_objects(vitals) == []
    (line,) = warnings_of_objects([vital | {"hr": 10 * vital["hr"]} for vital in vitals])
    assert line.startswith("In X, column 'v': 'hr': the median is ")
    assert warnings_of_objects([{"bp": vital["bp"]} for vital in vitals]) == [
        "In X, column 'v': 'hr': 100% of the rows have no known value, 0% at the fit."
    ]


def test_items_and_words_that_the_fit_did_not_have_are_told(rng):
    def plants(*items):
        return ["; ".join(rng.permutation(items)[: rng.integers(1, 4)]) for _ in range(300)]

    fit = plants("reed", "sedge", "lily", "moss", "algae")
    assert warnings_of(fit, plants("reed", "sedge", "lily", "moss", "algae"))[0] == []
    messages, _ = warnings_of(fit, ["reed; Carex", *fit[1:]])
    assert messages[0].endswith(
        "1 row has an item that the fit has not seen, such as 'Carex': no feature stands for it."
    )

    def notes(*words):
        rare_words = [a + b for a in "abcdefghij" for b in "klmnopqrst"] * 3
        return [" ".join([*rng.choice(words, 6), word]) for word in rare_words]

    words = ["fever", "cough", "since", "monday", "patient", "tired", "the", "pain", "left", "knee"]
    fit = notes(*words)
    assert warnings_of(fit, notes(*words))[0] == []
    rare = [text + " zoster" * (i % 100 == 0) for i, text in enumerate(fit)]
    assert warnings_of(fit, rare)[0] == []  # texts always have new words
    messages, _ = warnings_of(fit, [text.replace("fever", "febris") for text in fit])
    assert "have a frequent word that the fit has not seen, such as 'febris'" in messages[0]


def test_typed_numbers_have_no_unit():
    mixed = [f"{i + 100}{' cm' * (i % 4 > 0)}" for i in range(60)]
    with pytest.warns(UserWarning, match="without a unit are read as 'cm'"):
        messages, _ = warnings_of(mixed, [i + 100.0 for i in range(60)])
    assert "no unit in 100% of the cells, 25% at the fit" in messages[0]


def test_what_stays_silent():
    """The page says so: where each value may be right, nothing tells a mistake."""
    values = [i * 37 % 60 + 100 for i in range(60)]
    for new in ([v - 10 for v in values], sorted(values), values[::-1]):
        assert warnings_of(values, new)[0] == []


# ---------------------------------------------------------------- at last, because it takes long


@pytest.mark.parametrize("name", ["barley (German)", "leaks (English)"])
def test_changes_are_told_and_ordinary_files_are_not(name):
    """A reduced campaign: tests/campaigns/comparison.py has 19 tables."""
    (n_found, n_changes, *wrong, beside), missed, false_alarms = comparison.rates(1, [name])
    assert (n_found, missed, beside) == (n_changes, {}, 0)
    assert wrong[0] == 0, false_alarms
