"""What the texts of a raw table mean: crosses, words for missing values, and what a person is told about them."""

import warnings

import numpy as np
import pytest
from commands import assert_done, assert_refused, read_csv, run, write_csv  # noqa: F401

from nmlsdr._checks.words import MISSING
from nmlsdr.datasets import TableEncoder

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
    other = ["n/a" if i % 5 == 0 else f"{i / 8}" for i in range(n)]
    return pandas.DataFrame({"size": cells, "weight": other, "y": [f"{1 + i}.{i + 100}" for i in range(n)]})


def test_one_warning_names_the_words_that_were_taken_for_missing_values_and_their_columns():
    with pytest.warns(UserWarning, match=r".") as found:
        TableEncoder().fit(odd_frame().drop(columns="y"))
    assert len(found) == 1
    text = str(found[0].message)
    assert text.startswith("Words among numbers or dates were taken for missing values: 'sans' (6) in column 'size'. ")
    assert "missing=['sans']" in text
    assert "weight" not in text
    with warnings.catch_warnings():  # the advice works
        warnings.simplefilter("error")
        encoder = TableEncoder(missing=["sans"]).fit(odd_frame().drop(columns="y"))
        assert np.isfinite(encoder.transform(odd_frame().drop(columns="y"))).all()


def test_a_warning_names_a_column_of_numbers_with_two_readings():
    table = odd_frame()[["y"]]
    with pytest.warns(UserWarning, match=r"column 'y': numbers such as '1\.100' are read as decimals"):
        TableEncoder().fit(table)
    for parameters in ({"thousands": "."}, {"decimal": "."}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = TableEncoder(**parameters).fit_transform(table)
        assert found[0, 0] == (1100 if "thousands" in parameters else 1.1)


def test_the_option_that_an_error_names_makes_predict_go_on(run, tmp_path):  # noqa: F811
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
    with pytest.raises(ValueError, match=r"20 cells are not what the column holds \(2 different texts\): ") as found:
        encoder.transform(pandas.DataFrame({"a": ["big", "small"] * 10}))
    assert "row 0, column 'a': 'big' (10 cells); row 1, column 'a': 'small' (10 cells)" in str(found.value)
    assert str(found.value).endswith("with missing=['big', 'small'].")
