"""Tomorrow's table differs in small ways from that of the fit: it is read as meant, or refused by what it is."""

import os
import warnings

import numpy as np
import pytest
from commands import write_csv

from nmlsdr.tables import Choices, DataFileError, TableEncoder, read_table
from nmlsdr.tables._labels import similar_names

pandas = pytest.importorskip("pandas")


def tomorrow(fitted, new, **choices):
    """What is said of a column of another table, and its numbers there; the fit may say what it likes."""
    with warnings.catch_warnings(record=True, action="always") as caught_warnings:
        encoder = TableEncoder(**choices).fit(pandas.DataFrame({"v": fitted, "w": np.arange(len(fitted)) % 7 * 1.5}))
        caught_warnings.clear()
        values = encoder.transform(pandas.DataFrame({"v": new, "w": np.arange(len(new)) % 7 * 1.5}))[:, 0]
    return [str(warning.message) for warning in caught_warnings], values


def test_two_names_of_the_file_are_two_columns(tmp_path):
    """`temp` and `temp.2`, as R and pandas write them; only names that the reader made are told apart by order."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(mean, 3, 300).round(1) for mean in (5, 7)])
    for name in ("temp.2", "temp"):
        plan = _fit(tmp_path, ["temp", name], rows)
        write_csv(tmp_path / "t.csv", ["temp", name], rows + 15)
        if name == "temp":
            with pytest.raises(ValueError, match=r"'temp' and 'temp\.2' have one name in the file"):
                read_table(tmp_path / "t.csv", plan=plan)
        else:
            differences = read_table(tmp_path / "t.csv", plan=plan).differences
            assert [line[: line.index(":")] for line in differences] == ["column 'temp'", "column 'temp.2'"]


def _fit(folder, names, rows):
    write_csv(folder / "t.csv", names, rows)
    table = read_table(folder / "t.csv", plan=Choices())
    return table.plan.filled(table.data)


def test_numbers_of_both_signs_are_no_sums_by_chance():
    rng = np.random.default_rng(0)
    answers = lambda n: rng.integers(-2, 3, n).tolist()
    message_lists = [tomorrow(answers(60), answers(30))[0] for _ in range(100)]
    assert not any("sum" in line for messages in message_lists for line in messages)
    for sign in (1, -1):
        values = [sign * (i * 37 % 101 + 0.5) for i in range(60)]
        (line,), _ = tomorrow(values, [*values[:-1], sum(values[:-1])])
        assert "the last row is the sum of the others" in line


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(DataFileError, match=r"t\.csv is a pipe or a device"):
        read_table(tmp_path / "t.csv")


VALUES = [i * 37 % 60 / 8 for i in range(60)]


@pytest.mark.parametrize("typed", [VALUES, [*VALUES[:-1], "n/a"]])
def test_typed_numbers_leave_the_decimal_mark_to_the_next_table(typed):
    commas = [str(value).replace(".", ",") for value in VALUES]
    new = [*commas[:-1], "1.234,5"]
    messages, values_read = tomorrow(pandas.Series(typed, dtype=object), new)
    assert values_read.tolist() == [*VALUES[:-1], 1234.5]
    assert not any("decimal" in line for line in messages)
    grouped = tomorrow(typed, ["1.234", *map(str, VALUES[1:])])[1]  # as a decimal point elsewhere says
    assert grouped[0] == 1.234
    assert tomorrow(typed, ["1 234", *["7"] * 59])[1][0] == 1234  # either reading is the same
    with pytest.raises(ValueError, match="with another decimal mark"):
        tomorrow(typed, [*commas[:30], *map(str, VALUES[30:])])
    with pytest.raises(ValueError, match="with another decimal mark"):
        tomorrow(typed, commas, decimal=".")  # as a person said


def test_a_workbook_and_the_text_of_the_same_program_give_the_same_columns(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    shares = [value / 100 for value in VALUES]
    for row in [["crp", "share"], *zip(VALUES, shares, strict=True)]:
        book.active.append(row)
    for (cell,) in book.active.iter_rows(min_row=2, min_col=2):
        cell.number_format = "0.00%"
    book.save(tmp_path / "t.xlsx")
    fit = read_table(tmp_path / "t.xlsx", plan=Choices())
    rows = [f"{value};{share * 100:.2f}%".replace(".", ",") for value, share in zip(VALUES, shares, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["crp;share", *rows]) + "\n")
    text_table = read_table(tmp_path / "t.csv", plan=type(fit.plan).from_json(fit.plan.filled(fit.data).to_json()))
    assert text_table.differences == []
    np.testing.assert_allclose(text_table.data, fit.data, atol=0.005)


def test_another_decimal_mark_is_named_once():
    written = [str(value) for value in VALUES]
    with pytest.raises(ValueError, match="not what the column holds") as error_info:
        tomorrow(written, [text.replace(".", ",") for text in written])
    message = str(error_info.value)
    assert "row 0, column 'v': '0,0' (60 cells) with another decimal mark" in message, message
    assert message.endswith("; write all numbers of a column with one decimal mark, that of the fit.")
    assert "missing=" not in message
    message, values_read = tomorrow(written * 2, [*written * 2][:-1] + ["4,5"])
    assert values_read[-1] == np.median(VALUES)
    assert message == [
        "In X, column 'v': new since the fit, and read as missing values: '4,5' (1) with another decimal mark."
    ]


@pytest.mark.parametrize("answers", [("T", "N"), ("x", ""), ("pozytywny", "negatywny")])
def test_truths_are_known_beside_any_answers(answers):
    yes, no = answers
    choices = {} if yes in "Tx" else {"yes": yes, "no": no}
    messages, truths = tomorrow([yes, no, no] * 20, [True, False, False] * 20, **choices)
    assert (messages, truths.tolist()) == ([], [1, 0, 0] * 20)


@pytest.mark.parametrize(("unit", "word"), [(" %", "około"), ("", "ok."), (" mg", "nie więcej niż")])
def test_words_before_numbers_make_them_missing_and_not_words(unit, word):
    """Numbers stay numbers although a fifth of them, or half, has a word in front; no new sign is read."""
    for share in (5, 2):
        cells = [f"{word} " * (i % share == 0) + f"{i * 37 % 60 / 10:.1f}{unit}".replace(".", ",") for i in range(60)]
        encoder = TableEncoder()
        with pytest.warns(UserWarning, match=f"{60 // share} numbers behind words are missing: '{word.strip('.')}'"):
            X = encoder.fit_transform(pandas.DataFrame({"v": cells}))
        assert (encoder.plan_.columns[0].kind, X.shape) == ("number", (60, 1))
        known = [i * 37 % 60 / 10 for i in range(60) if i % share]
        assert X[1, 0] == 3.7
        assert X[0, 0] == pytest.approx(np.median(known))
        assert not any(missing_word.startswith(f"{word} ") for missing_word in encoder.plan_.missing)
        later, values_read = tomorrow(cells, [f"{word} 99{unit}", *cells[1:]])
        assert (later, values_read[0]) == ([], X[0, 0])
        with pytest.raises(ValueError, match="not what the column holds"):  # behind another word
            tomorrow(cells, [f"ponad 99{unit}"] * 30 + cells[30:])


def test_codes_behind_words_are_no_numbers():
    cells = ["room 1", "room 2", "3"] * 20
    assert TableEncoder().fit(pandas.DataFrame({"v": cells})).plan_.columns[0].kind == "category"


ALIKE = [
    ["Flu", "flu"],
    ["angle left", "left angle"],
    ["Ménière", "Meniere"],
    ["anaemia", "anemia"],
    ["łokieć", "lokieć"],
]
DIFFERENT = ["gout", "hepatitis A", "hepatitis B", "type 1 diabetes", "type 2 diabetes", "gait"]


@pytest.mark.parametrize("as_columns", [False, True])
def test_the_plan_names_all_labels_and_those_that_are_spellings_of_one(tmp_path, run, as_columns):
    names = [*(name for pair in ALIKE for name in pair), *DIFFERENT]
    labels_of = lambda i: [names[i % len(names)], names[i * 7 % len(names)]]
    if as_columns:
        rows = [[i % 9, *(int(name in labels_of(i)) for name in names)] for i in range(80)]
        write_csv(tmp_path / "t.csv", ["x", *names], rows)
        result = run("plan", "t.csv", "--label-columns", ",".join(names))
    else:
        write_csv(tmp_path / "t.csv", ["x", "y"], [[i % 9, ";".join(labels_of(i))] for i in range(80)])
        result = run("plan", "t.csv", "--label-list", "y", "--no-label", "")
    assert result.status == 0, result.err
    assert all(f"{name!r} (" in result.out for name in names)
    advice = result.out[result.out.index("the labels '") : result.out.index("first.")]
    assert advice.endswith(
        "2 more pairs differ only in case, accents, a letter or the order of words; "
        "if they mean the same, make spellings equal "
    )
    for k, pair in enumerate(ALIKE):
        alone = similar_names(dict.fromkeys([*pair, *DIFFERENT], 3 + k))
        assert [f"{pair[0]!r} (" in note and f"{pair[1]!r} (" in note for note in alone] == [True]
    assert similar_names(dict.fromkeys(DIFFERENT, 1)) == []


@pytest.mark.parametrize("last", ["inf", "1e999"])
def test_a_number_of_arff_that_is_not_finite_is_no_number_of_a_plan(tmp_path, last):
    rows = "".join(f"{i / 4},{i % 3}\n" for i in range(40))
    head = "@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n"
    (tmp_path / "t.arff").write_text(f"{head}{rows}{last},1\n")
    with pytest.raises(DataFileError, match=f"'{last}'"):
        read_table(tmp_path / "t.arff", plan=Choices())


def test_an_object_without_the_numbers_of_the_fit_is_missing():
    cells = [f'{{"w": {i}}}' for i in range(60)]
    _, values_read = tomorrow(cells, ['{"x": 1}', *cells[1:]])
    assert values_read[:2].tolist() == [29.5, 1]
    with pytest.raises(ValueError, match="not what the column holds"):
        tomorrow(cells, ["oak"] * 30 + cells[30:])
