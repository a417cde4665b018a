"""What the texts of a raw table mean: crosses, words for missing values, and what a person is told about them."""

import warnings

import numpy as np
import pytest
from commands import assert_done, assert_refused, ran, read_csv, write_csv

from nmlsdr._checks.words import MISSING
from nmlsdr.tables import TableEncoder

QUICK = ["--n-components", "1", "--method", "MDDMp", "--classifier", "mlknn"]
pandas = pytest.importorskip("pandas")


def test_every_word_for_a_missing_value_means_no_in_a_column_of_crosses():
    table = pandas.DataFrame({"age": np.arange(50) % 17 + 20.5, "smoker": ["x"] * 35 + [""] * 15})
    encoder = TableEncoder(missing=["pending"]).fit(table)
    assert encoder.plan_.columns[1].kind == "yes/no"
    for word in [*MISSING, " NA ", "Pending", None]:
        assert encoder.transform(pandas.DataFrame({"age": [20.5], "smoker": [word]}))[0, 1] == 0, word
    assert encoder.transform(pandas.DataFrame({"age": [20.5], "smoker": ["X"]}))[0, 1] == 1


def odd_frame(n=60):
    """A column of numbers with a word that no table knows, one with a table's word, and one with two readings."""
    cells = [["sans", "n/a"][i % 2] if i % 5 == 0 else f"{i / 4}" for i in range(n)]
    weights = ["n/a" if i % 5 == 0 else f"{i / 8}" for i in range(n)]
    return pandas.DataFrame({"size": cells, "weight": weights, "y": [f"{1 + i}.{i + 100}" for i in range(n)]})


def test_one_warning_names_the_words_that_were_taken_for_missing_values_and_their_columns():
    with pytest.warns(UserWarning, match=r".") as caught_warnings:
        TableEncoder().fit(odd_frame().drop(columns="y"))
    assert len(caught_warnings) == 1
    text = str(caught_warnings[0].message)
    assert text.startswith("Words among numbers or dates were taken for missing values: 'sans' (6) in column 'size'. ")
    assert "missing=['sans']" in text
    assert "weight" not in text
    with warnings.catch_warnings(action="error"):  # the advice works
        encoder = TableEncoder(missing=["sans"]).fit(odd_frame().drop(columns="y"))
        assert np.isfinite(encoder.transform(odd_frame().drop(columns="y"))).all()


def test_a_warning_names_a_column_of_numbers_with_two_readings():
    table = odd_frame()[["y"]]
    with pytest.warns(UserWarning, match=r"column 'y': numbers such as '1\.100' are read as decimals"):
        TableEncoder().fit(table)
    for parameters in ({"thousands": "."}, {"decimal": "."}):
        with warnings.catch_warnings(action="error"):
            features = TableEncoder(**parameters).fit_transform(table)
        assert features[0, 0] == (1100 if "thousands" in parameters else 1.1)


def test_the_option_that_an_error_names_makes_predict_go_on(run, tmp_path):
    rows = [[round(np.sin(i), 3), ["oak", "ash"][i % 3 > 0], int(np.sin(i) > 0)] for i in range(60)]
    write_csv(tmp_path / "train.csv", ["a", "wood", "p"], rows)
    write_csv(tmp_path / "new.csv", ["a", "wood"], [["pending", "ash"], ['in "x", soon', "oak"], ["", "oak"]])
    assert_done(run("fit", "train.csv", "--label-columns", "p", *QUICK, "-o", "m.skops"))
    refused = run("predict", "m.skops", "new.csv", "-o", "out.csv")
    assert_refused(refused, "2 cells are not what the column holds", """--missing 'pending,"in ""x"", soon"'""")
    assert_done(run("predict", "m.skops", "new.csv", "--missing", 'Pending,"in ""x"", soon"', "-o", "out.csv"))
    labels = [row[-1] for row in read_csv(tmp_path / "out.csv")[1]]
    assert labels[1] == labels[2]  # both are filled by the median, in a row of oak


def test_a_message_counts_the_different_words():
    encoder = TableEncoder().fit(pandas.DataFrame({"a": [f"{i / 3}" for i in range(30)]}))
    with pytest.raises(
        ValueError, match=r"20 cells are not what the column holds \(2 different texts\): "
    ) as error_info:
        encoder.transform(pandas.DataFrame({"a": ["big", "small"] * 10}))
    assert "row 0, column 'a': 'big' (10 cells); row 1, column 'a': 'small' (10 cells)" in str(error_info.value)
    assert str(error_info.value).endswith("with missing=['big', 'small'].")


# ---------------------------------------------------------------- words that the fit did not see


@pytest.mark.parametrize(("n_new", "n_rows"), [(1, 100), (2, 200), (1, 99), (3, 200)])
def test_new_words_in_one_percent_of_a_column_are_missing_values_with_a_note(n_new, n_rows):
    numbers = [f"{i % 40} kg" for i in range(n_rows)]
    encoder = TableEncoder().fit(pandas.DataFrame({"a": numbers, "b": np.arange(n_rows) % 7 * 1.5}))
    new = pandas.DataFrame({"a": ["pending", "5 lat", "9 min"][:n_new] + numbers[n_new:], "b": np.arange(n_rows) % 7})
    if n_new <= n_rows / 100:
        with pytest.warns(UserWarning, match=r"column 'a': new since the fit, and read as .*: 'pending' \(1\)"):
            features = encoder.transform(new)
        assert features[:n_new, 0].tolist() == [np.median([i % 40 for i in range(n_rows)])] * n_new
        assert features[n_new:, 0].tolist() == [float(i % 40) for i in range(n_new, n_rows)]
    else:
        with pytest.raises(ValueError, match=r"not what the column holds.*missing=\['pending'"):
            encoder.transform(new)


def test_a_note_of_predict_names_new_words_and_labels_are_never_guessed(run, tmp_path):
    rows = [[f"{i / 4:.2f}".replace(".", ","), ["oak", "ash"][i % 3 > 0], i % 2] for i in range(120)]
    write_csv(tmp_path / "train.csv", ["a", "wood", "p"], rows)
    assert_done(run("fit", "train.csv", "--label-columns", "p", *QUICK, "-o", "m.skops"))
    rows[7][0] = "soon"
    write_csv(tmp_path / "new.csv", ["a", "wood", "p"], rows)
    result = ran(run("predict", "m.skops", "new.csv", "-o", "out.csv"))
    assert "new.csv: column 'a': new since the fit, and read as missing values: 'soon' (1)." in result.err
    assert_refused(run("fit", "new.csv", "--label-columns", "p", *QUICK, "-o", "n.skops"), "line 9, column 'a': 'soon'")
    rows[7][0] = "7"
    rows[8][2] = "perhaps"
    write_csv(tmp_path / "new.csv", ["a", "wood", "p"], rows)
    assert_refused(run("evaluate", "m.skops", "new.csv"), "line 10, column 'p': 'perhaps'", "write a label as 0, 1")


# ---------------------------------------------------------------- words in several columns


def cultures(n=60):
    crp = ["negative" if i % 3 == 0 else f"{i / 4}" for i in range(n)]
    culture = [["positive", "negative", "mixed"][i % 3] for i in range(n)]
    ward = ["negative" if i % 30 == 0 else ["east", "west"][i % 2] for i in range(n)]
    return pandas.DataFrame({"crp": crp, "culture": culture, "ward": ward})


@pytest.mark.filterwarnings("ignore:Words among numbers")
def test_a_word_for_a_missing_value_is_one_in_other_columns_unless_it_is_a_level_there():
    encoder = TableEncoder().fit(cultures())
    names = encoder.get_feature_names_out().tolist()
    assert names[:4] == ["crp", "culture=mixed", "culture=negative", "culture=positive"]
    assert names[4:] == ["ward=east", "ward=west", "ward=(missing)"]
    reason = encoder.plan_.columns[1].reason
    assert "'negative' is a level here, although it means a missing value among numbers (--missing negative" in reason
    assert encoder.transform(cultures())[0, 1:].tolist() == [0, 0, 1, 0, 0, 1]
    encoder_of_choice = TableEncoder(missing=["negative"]).fit(cultures())
    assert encoder_of_choice.get_feature_names_out().tolist()[1:4] == [
        "culture=mixed",
        "culture=positive",
        "culture=(missing)",
    ]
    assert TableEncoder(one_hot=["crp"]).fit(cultures()).plan_.columns[0].kind == "category"


def test_the_options_of_a_plan_with_such_a_word_give_the_same_plan(run, tmp_path):
    table = cultures().assign(y=[i % 2 for i in range(60)])
    table["size"] = ["sans" if i % 10 == 0 else i / 8 for i in range(60)]
    table.to_csv(tmp_path / "t.csv", index=False)
    first = run("plan", "t.csv", "--label-columns", "y").out.splitlines()
    options = first[-1].removeprefix("The same as options: ").split()
    assert "--missing" not in options  # the words are found again
    second = run("plan", "t.csv", *options).out.splitlines()
    assert second[0] == first[0]
    assert second[-1] == first[-1]


@pytest.mark.parametrize(("word_elsewhere", "is_level"), [("1.5", True), ("NA", False)])
def test_na_among_codes_is_a_country_unless_the_table_has_it_elsewhere(word_elsewhere, is_level):
    country = ["NO", "NA", "SI", "IT", "DE"] * 12
    sizes = [word_elsewhere if i == 7 else f"{i / 4}" for i in range(60)]
    encoder = TableEncoder().fit(pandas.DataFrame({"country": country, "size": sizes}))
    assert ("country=NA" in encoder.get_feature_names_out()) == is_level
    assert ("'na' is a level here (--missing na" in encoder.plan_.columns[0].reason) == is_level
    encoder_of_choice = TableEncoder(missing=["NA"]).fit(pandas.DataFrame({"country": country, "size": sizes}))
    assert "country=NA" not in encoder_of_choice.get_feature_names_out()


# ---------------------------------------------------------------- yes and no that a person says


def test_words_for_yes_and_no_can_be_said_for_features_and_labels(run, tmp_path):
    table = pandas.DataFrame({"sex": ["m", "f", "F"] * 20, "a": np.arange(60) % 11 / 4})
    assert TableEncoder().fit(table).plan_.columns[0].kind == "category"
    encoder = TableEncoder(yes="F", no="m").fit(table)
    assert (encoder.plan_.columns[0].kind, encoder.transform(table)[:3, 0].tolist()) == ("yes/no", [0, 1, 1])
    table["y"] = [["pos", "neg", ""][i % 3] for i in range(60)]
    table.to_csv(tmp_path / "t.csv", index=False)
    refused = run("fit", "t.csv", "--label-columns", "y", *QUICK, "-o", "m.skops")
    assert_refused(refused, "'pos'", "write a label as 0, 1")
    result = run("plan", "t.csv", "--label-columns", "y", "--yes", "POS", "--no", "neg")
    assert "1 label, 40 rows labelled" in result.out, result
    assert "--yes POS --no neg" in result.out
    table["y"] = [["s", "n", ""][i % 3] for i in range(60)]
    table.to_csv(tmp_path / "t.csv", index=False)
    assert "40 rows labelled" in run("plan", "t.csv", "--label-columns", "y").out
    table["y"] = [["ja", "no", ""][i % 3] for i in range(60)]
    table.to_csv(tmp_path / "t.csv", index=False)
    assert_refused(run("plan", "t.csv", "--label-columns", "y"), "column 'y'", "'ja' and 'no'", "two languages")
    for arguments in (["--yes", "ja"], ["--no", "no"], ["--yes", "a", "--no", "A"]):
        assert_refused(run("plan", "t.csv", "--label-columns", "y", *arguments), "give")
    for parameters in ({"yes": "ja"}, {"no": "no"}, {"yes": "a", "no": "A "}):
        with pytest.raises(ValueError, match="give"):
            TableEncoder(**parameters).fit(table[["a"]])


# ---------------------------------------------------------------- units and lists


def test_units_signs_and_lists_become_features(run, tmp_path):
    n = 120
    weight = [f"{i / 8:.3f} kg".replace(".", ",") if i % 3 else f"{i * 125}g" for i in range(1, n + 1)]
    crp = ["<0.5" if i % 4 == 0 else f"{i / 8}" for i in range(n)]
    organs = [["skin, kidney", "skin", "Kidney, heart", "heart, skin", "heart", "n/a"][i % 6] for i in range(n)]
    table = pandas.DataFrame({"weight": weight, "crp": crp, "seen": organs})
    encoder = TableEncoder().fit(table)
    names = ["weight", "crp", "crp (<)", "seen=heart", "seen=Kidney", "seen=skin"]
    assert encoder.get_feature_names_out().tolist() == names
    X = encoder.transform(table)
    np.testing.assert_allclose(X[:, 0], np.arange(1, n + 1) / 8)
    assert X[:, 2].tolist() == [float(i % 4 == 0) for i in range(n)]
    assert set(X[::4, 1]) == {0.5}
    assert X[:6, 3:].tolist() == [[0, 1, 1], [0, 0, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert "unit 'kg' (80), 'g' (40), converted to 'kg'" in encoder.plan_.columns[0].reason
    order = np.random.default_rng(0).permutation(n)
    again = TableEncoder().fit(table.iloc[order])
    assert again.plan_.columns == encoder.plan_.columns
    table["y"] = np.arange(n) % 2
    table.to_csv(tmp_path / "t.csv", index=False)
    assert_done(run("fit", "t.csv", "--label-columns", "y", *QUICK, "-o", "m.skops"))
    assert_done(run("predict", "m.skops", "t.csv", "-o", "p.csv"))
    text = encoder.plan_.to_json()
    assert type(encoder.plan_).from_json(text) == encoder.plan_
    for forged in ('"kg": 0.0', '"kg": -1.0', '"kg": 1e300', '"kg": "1"'):
        with pytest.raises(ValueError, match="no plan of a table"):
            type(encoder.plan_).from_json(text.replace('"kg": 1.0', forged))


def test_codes_with_digits_stay_categories():
    columns = {
        "icd": ["E66", "L01", "E11"] * 20,
        "range": ["3-5", "6-10", "11-20"] * 20,
        "time": ["8 am", "9 am", "9 pm"] * 20,
        "blood": ["A+", "0+", "AB-"] * 20,
        "version": ["1.2.3", "1.2.4", "2.0.1"] * 20,
    }
    encoder = TableEncoder().fit(pandas.DataFrame(columns))
    assert {column.kind for column in encoder.plan_.columns} == {"category"}


def test_a_column_with_more_than_five_percent_of_other_texts_has_no_unit():
    for n_other, kind in ((5, "number"), (6, "category")):
        cells = [f"{i % 20} kg" for i in range(100 - n_other)] + ["heavy"] * n_other
        with warnings.catch_warnings(action="ignore"):
            assert TableEncoder().fit(pandas.DataFrame({"a": cells})).plan_.columns[0].kind == kind


def test_a_rare_unit_is_a_slip_unless_it_is_known():
    def fit(*odd, base="{} "):
        cells = [base.format(i / 4) for i in range(200 - len(odd))] + [*odd]
        return TableEncoder().fit(pandas.DataFrame({"a": cells}))

    with pytest.warns(UserWarning, match="199 without a unit are read as 'kg'"):
        assert "unit 'kg' (1); 199 without a unit are read as 'kg'" in fit("12 kg").plan_.columns[0].reason
    with pytest.warns(UserWarning, match="'g' in 100% of the cells, 0.5% at the fit"):
        assert fit("850 g", base="{} kg").transform(pandas.DataFrame({"a": ["850 g"]}))[0, 0] == 0.85
    for odd in (["1o2"], ["1o2", "2o2"], ["1l"], ["2 h", "3 h"]):
        with pytest.raises(ValueError, match=f"{len(odd)} cells? (is|are) not what the column holds"):
            fit(*odd)


def test_a_column_of_numbers_with_much_that_cannot_be_read_says_so():
    """Such as minus signs that another encoding has turned into question marks."""
    cells = [f"{'?' * (i % 4 == 0)}{i % 60 / 10:.1f}".replace(".", ",") if i % 15 else "neměřeno" for i in range(900)]
    with pytest.warns(
        UserWarning,
        match=r"column 'a': it looks like a number in 70% of its cells, but not 'neměřeno' \(60\), '\?0,4' \(15\)",
    ):
        encoder = TableEncoder().fit(pandas.DataFrame({"a": cells}))
    assert encoder.plan_.columns[0].kind == "category"
    assert "it looks like a number in 70% of its cells, but not 'neměřeno' (60)" in encoder.plan_.columns[0].reason
