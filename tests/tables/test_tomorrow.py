"""Tomorrow's table differs in small ways from that of the fit: it is read as meant, or refused by what it is."""

import os
import warnings

import numpy as np
import pytest

from nmlsdr.tables import Choices, DataFileError, TableEncoder, read_table

pandas = pytest.importorskip("pandas")


def tomorrow(fitted, new, **choices):
    """What is said of a column of another table, and its numbers there; the fit may say what it likes."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        encoder = TableEncoder(**choices).fit(pandas.DataFrame({"v": fitted, "w": np.arange(len(fitted)) % 7 * 1.5}))
        said.clear()
        values = encoder.transform(pandas.DataFrame({"v": new, "w": np.arange(len(new)) % 7 * 1.5}))[:, 0]
    return [str(warning.message) for warning in said], values


def test_two_names_of_the_file_are_two_columns(tmp_path):
    """`temp` and `temp.2`, as R and pandas write them; only names that the reader made are told apart by order."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(mean, 3, 300).round(1) for mean in (5, 7)])
    for name in ("temp.2", "temp"):
        plan = _fit(tmp_path, ["temp", name], rows)
        _write(tmp_path, ["temp", name], rows + 15)
        if name == "temp":
            with pytest.raises(ValueError, match=r"'temp' and 'temp\.2' have one name in the file"):
                read_table(tmp_path / "t.csv", plan=plan)
        else:
            found = read_table(tmp_path / "t.csv", plan=plan).differences
            assert [line[: line.index(":")] for line in found] == ["column 'temp'", "column 'temp.2'"]


def _write(folder, names, rows):
    lines = [names, *np.asarray(rows).tolist()]
    (folder / "t.csv").write_text("".join(",".join(map(str, line)) + "\n" for line in lines))


def _fit(folder, names, rows):
    _write(folder, names, rows)
    table = read_table(folder / "t.csv", plan=Choices())
    return table.plan.filled(table.data)


def test_numbers_of_both_signs_are_no_sums_by_chance():
    rng = np.random.default_rng(0)
    answers = lambda n: rng.integers(-2, 3, n).tolist()
    found = [tomorrow(answers(60), answers(30))[0] for _ in range(100)]
    assert not any("sum" in line for said in found for line in said)
    for sign in (1, -1):
        values = [sign * (i * 37 % 101 + 0.5) for i in range(60)]
        (line,), _ = tomorrow(values, [*values[:-1], sum(values[:-1])])
        assert "the last row is the sum of the others" in line


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(DataFileError, match=r"t\.csv is a pipe or a device"):
        read_table(tmp_path / "t.csv")
