"""What differs from the table of the fit is said, with both figures, and nothing else is."""

import warnings

import numpy as np
import pytest
from campaigns import comparison
from commands import assert_done, assert_refused, run, write_csv

from nmlsdr.tables import DataFileError, TableEncoder, read_table

pandas = pytest.importorskip("pandas")

__all__ = ["run"]  # a fixture, used by its name
QUICK = ("--label-columns", "y", "--n-neighbors", "3", "-q")


@pytest.mark.parametrize("name", ["barley (German)", "leaks (English)"])
def test_changes_are_told_and_ordinary_files_are_not(name):
    """A reduced campaign: tests/campaigns/comparison.py has 14 tables."""
    (found, n_changes, *wrong, beside), missed, said = comparison.rates(1, [name])
    assert (found, missed, beside) == (n_changes, {}, 0)
    assert wrong[0] == 0, said


def said_of(old, new, **other):
    """The warnings of `transform` for a column `v` that was `old` at the fit and is `new` now."""
    frame = lambda v: pandas.DataFrame({"v": v, "w": np.arange(len(v)) % 7 * 1.5} | other)
    encoder = TableEncoder().fit(frame(old))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        values = encoder.transform(frame(new))[:, 0]
    return [str(warning.message) for warning in said], values


def test_a_line_has_both_figures():
    values = [30 + i * 37 % 60 for i in range(60)]
    said, _ = said_of([f"{value} %" for value in values], [f"{value / 100} %" for value in values])
    assert said == [
        "In X, column 'v': the median is 0.59, 59 at the fit; decimals in 100% of the cells, 0% at the fit."
    ]


def test_a_hundredth_of_few_numbers_is_told(rng):
    for _ in range(20):
        values, later = rng.normal(68, 12, (2, 60)).round(1)
        said, _ = said_of(values, later / 100)
        assert "at the fit" in said[0]
        assert said_of(values, later)[0] == []


def test_units_that_the_fit_did_not_have_are_converted_and_that_is_said():
    said, values = said_of([f"{i + 100} cm" for i in range(60)], [f"{i + 1000} mm" for i in range(600, 660)])
    assert values == pytest.approx([160 + i / 10 for i in range(60)])
    assert "'mm' in 100% of the cells, 0% at the fit" in said[0]
    assert said[0].endswith("units are converted to those of the fit.")
    mixed = [f"{i + 100}{' cm' * (i % 4 > 0)}" for i in range(60)]
    with pytest.warns(UserWarning, match="15 without a unit are read as 'cm'"):
        said, _ = said_of(mixed, [str(i + 100) for i in range(60)])  # a unit that is gone is not converted
    assert "'cm' in 0% of the cells, 75% at the fit" in said[0]
    assert "converted" not in said[0]


def test_signs_that_the_fit_did_not_have_are_told():
    said, _ = said_of([f"{i * 1.1:.1f}" for i in range(60)], ["<0.5"] * 30 + [f"{i * 1.1:.1f}" for i in range(30, 60)])
    assert "the sign '<' in 50% of the cells, 0% at the fit" in said[0]


def test_thousands_with_a_mark_are_told_where_the_fit_saw_whole_numbers_below_a_thousand():
    said, _ = said_of([str((i * 37) % 997) for i in range(60)], ["987", "1.234", "12.345", "650"] * 15)
    assert "decimals in 50% of the cells, 0% at the fit" in said[0]


def test_a_row_of_sums_at_the_end_is_told():
    values = [(i * 37) % 101 + 0.5 for i in range(60)]
    said, _ = said_of(values, [*values[:-1], sum(values[:-1])])
    assert said == ["In X, column 'v': the last row is the sum of the others; remove it if it is no row."]


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
    found = run("predict", "m.skops", "new.csv", "-q", "-o", "p.csv")
    assert found.status == 0
    assert "new.csv: column 'a': the median is 925, 25 at the fit." in found.err
    for verb in ("predict", "transform", "evaluate"):
        out = [] if verb == "evaluate" else ["-o", "q.csv"]
        found = run(verb, "m.skops", "new.csv", "--strict", "-q", *out)
        assert found.status == 2, found
        assert found.err.splitlines()[-1] == (
            "nmlsdr: new.csv is not as the table of the fit; mend it, or leave --strict out."
        )


def test_a_typed_number_has_no_decimal_mark_to_dispute():
    """Numbers with decimal commas at the fit; typed numbers beside a word tomorrow, as in a workbook."""
    values = [i * 37 % 60 / 8 for i in range(60)]
    new = pandas.Series([*values[:-1], "n/d"], dtype=object)
    said, found = said_of([f"{value}".replace(".", ",") for value in values], new)
    assert (said, found[:-1].tolist()) == ([], values[:-1])


def test_answers_of_one_language_are_the_same_in_short_and_in_full():
    said, found = said_of(["S", "N", "N"] * 20, ["Sim", "Não", "N"] * 20)
    assert (said, found.tolist()) == ([], [1, 0, 0] * 20)
    with pytest.raises(ValueError, match="not what the column holds"):
        said_of(["S", "N", "N"] * 20, ["Sim", "Nein", "N"] * 20)


def test_a_unit_of_the_same_dimension_is_converted_and_said():
    centimetres = [f"{i * 37 % 60 + 100} cm" for i in range(60)]
    said, found = said_of(centimetres, [f"{i * 37 % 60 / 100 + 1:.2f} m" for i in range(60)])
    np.testing.assert_allclose(found, [i * 37 % 60 + 100 for i in range(60)], rtol=1e-12)
    (line,) = said
    assert "'m' in 100% of the cells, 0% at the fit" in line
    with pytest.raises(ValueError, match="not what the column holds"):
        said_of(centimetres, [f"{i} kg" for i in range(60)])


def test_numbers_without_the_only_unit_of_the_fit_are_counted():
    percent = [f"{i * 37 % 60 + 1} %" for i in range(60)]
    said, found = said_of(percent, ["0.268", *percent[1:40], *[f"0.{i}" for i in range(41, 61)]])
    assert len({*found[[0, *range(40, 60)]]}) == 1  # the median of the fit
    assert "21 numbers such as '0.268' without the unit of the fit, read as missing" in said[0]


def test_the_lock_of_an_open_workbook_is_named(tmp_path):
    (tmp_path / "~$t.xlsx").write_bytes(b"x" * 165)
    with pytest.raises(DataFileError, match="it is the lock of a workbook that is open"):
        read_table(tmp_path / "~$t.xlsx")
