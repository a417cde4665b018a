"""The first contact with exports of offices: what stands around a table, sheets, other containers, and odd labels.

The files are on disk.
"""

import numpy as np
import pytest
from commands import ran, spawn
from table_files import read_table, write_sheets

from nmlsdr.tables import DataFileError, TableEncoder
from nmlsdr.tables._planner import Choices

N = 60
PLACES = ["Nord", "Süd", "Ost"]
FAULTS = ["leck", "rost", "leck|rost", "keine"]
NAMES = ["Nr", "Ort", "Druck", "Wert", "Schaden"]


def german(value, digits=2):
    return f"{value:,.{digits}f}".replace(",", "_").replace(".", ",").replace("_", ".")


@pytest.fixture
def rows(rng):
    """Texts of a table with an id, a category, two numbers, and a list of labels that depend on the numbers."""
    made = []
    for i in range(N):
        pressure = rng.normal(50, 10)
        fault = int(rng.integers(4))
        number = german(pressure + 12 * (fault % 2))
        made.append([f"K{i:03d}", PLACES[i % 3], number, german(1000 * pressure + 9000 * (fault > 1)), FAULTS[fault]])
    return made


@pytest.fixture
def write(tmp_path):
    """Write lines of cells, with semicolons between them, as a file of this name."""

    def make(name, *lines):
        texts = [line if isinstance(line, str) else ";".join(line) for line in lines]
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
        return tmp_path / name

    return make


def read(path, **how):
    return read_table(path, plan=Choices(), **{"label_list": "Schaden", **how})


def kinds(table):
    return {column.name: column.kind for column in table.plan.columns}


# ---------------------------------------------------------------- above and below the rows


@pytest.mark.parametrize(
    ("above", "lines"),
    [
        (["Bericht 2024;;;;", ""], [1]),
        (["Bericht 2024"], [1]),
        (["Bericht, Stand 2024"], [1]),  # which has another character that stands between cells
        ([";;Messung;;"], [1]),
        (["Anlage;;Messung;;Befund"], [1]),
        (["Anlage;Anlage;Messung;Messung;Befund"], [1]),
        (["sep=;", "Bericht;;;;"], [1, 2]),
    ],
)
def test_titles_and_merged_names_stand_above_names_of_which_two_are_equal(write, rows, above, lines):
    names = ["Nr", "Ort", "Wert", "Wert", "Schaden"]
    table = read(write("t.csv", *above, names, *rows))
    assert table.label_names == ["leck", "rost"]
    assert [*kinds(table)] == ["Nr", "Ort", "Wert", "Wert.2"]
    assert len(table.data) == N
    skipped = [f"line {number} stands above the names of the columns and is skipped" for number in lines]
    assert [note for note in table.notes if "above" in note] == skipped


def test_a_cell_that_is_the_name_of_a_label_is_no_head(write):
    """The person took a label for its column: the error names the columns of the first line."""
    path = write("t.csv", "Ort;Art", "Nord;leck", "Ost;rost")
    with pytest.raises(DataFileError, match=r"line 1: there is no column 'leck' among its 2 \('Ort', 'Art'\)"):
        read(path, label_list="leck")


@pytest.mark.parametrize(
    "below",
    [
        ["TOTAL;;;5.726.003,81;"],
        ["Summe: ;;1,5;5.726.003,81;", ";;;;", "Erstellt am 3.4.2024;;;;"],
        ["", "Erstellt am 3.4.2024"],
        ["Total general;;;7"],
        ["Quelle: SAP"],
        [";;;;", ";;;;", ";;;;"],
        ["", ";;;5,0;"],
    ],
)
def test_totals_remarks_and_empty_rows_below_a_table_are_no_rows(write, rows, below):
    whole = read(write("whole.csv", NAMES, *rows))
    table = read(write("t.csv", NAMES, *rows, *below))
    assert table.ids == whole.ids
    np.testing.assert_array_equal(table.data, whole.data)
    np.testing.assert_array_equal(table.target, whole.target)
    note = f"what stands below line {N + 1} (totals, a remark, or empty rows) is left out"
    assert table.notes == [*whole.notes, note]
    assert kinds(table) == kinds(whole)


def test_a_row_that_only_looks_like_a_total_stays(write, rows):
    """Total is a value of the first column elsewhere too; a last row may lack cells; a short row is an error."""
    full = [*rows[:-1], ["Total", *rows[-1][1:]]]
    assert len(read(write("full.csv", NAMES, *full)).data) == N
    for k in (3, 9, N - 1):
        rows[k][0] = "Total"
        rows[k][2] = ""
    assert len(read(write("t.csv", NAMES, *rows)).data) == N
    assert len(read(write("u.csv", NAMES, *rows[:-1], "K999;Nord;;;")).data) == N
    with pytest.raises(DataFileError, match="line 3: 1 cells, but the header has 5; complete the row"):
        read(write("v.csv", NAMES, rows[0], "Notiz", rows[1]))
    with pytest.raises(DataFileError, match="line 3: the line is blank, and rows follow it"):
        read(write("w.csv", NAMES, rows[0], "", rows[1]))


def test_a_total_never_receives_a_label(run, write, rows, tmp_path):
    result = ran(run("fit", write("train.csv", NAMES, *rows), "--label-list", "Schaden", "--out", tmp_path / "m.skops"))
    new = write("new.csv", NAMES[:4], *(row[:4] for row in rows[:9]), "TOTAL;;;5.726.003,81")
    result = ran(run("predict", tmp_path / "m.skops", new, "--out", "-"))
    assert [line.split(",")[0] for line in result.out.splitlines()] == ["Nr", *(row[0] for row in rows[:9])]
    assert "what stands below line 10 (totals, a remark, or empty rows) is left out" in result.err


# ---------------------------------------------------------------- workbooks


@pytest.fixture
def book(tmp_path):
    """Write a workbook: a list of rows for each sheet."""
    return lambda name, **sheets: write_sheets(tmp_path / name, **sheets)


def typed(rows):
    """Rows with numbers in the cells of numbers, as a spreadsheet stores them."""
    number = lambda text: float(text.replace(".", "").replace(",", "."))
    return [[number(cell) if cell[-1:].isdigit() and "," in cell else cell or None for cell in row] for row in rows]


def test_the_sheet_with_the_columns_asked_for_is_read(book, rows):
    cover = [["Export", None], ["Stand", "2024"]]
    path = book("t.xlsx", Deckblatt=cover, Daten=[["Bericht"], [None], NAMES, *typed(rows)])
    table = read(path)
    assert len(table.data) == N
    assert "of 2 sheets 'Daten' is read; --sheet names another ('Deckblatt')" in table.notes
    assert "row 1 stands above the names of the columns and is skipped" in table.notes
    with pytest.raises(DataFileError, match="no column 'Schaden'"):
        read(path, sheet="Deckblatt")
    assert len(read(book("u.xlsx", Leer=[], Daten=[NAMES, *typed(rows)]), label_list=None).data) == N


def test_totals_and_remarks_below_a_sheet_are_no_rows(book, rows):
    below = [["Gesamtsumme", None, None, 5726003.81, None], [None] * 5, ["Quelle: SAP"]]
    table = read(book("t.xlsx", A=[NAMES, *typed(rows), *below]))
    assert len(table.data) == N
    assert f"what stands below row {N + 1} (totals, a remark, or empty rows) is left out" in table.notes
    with pytest.raises(DataFileError, match="row 4: the row is blank, and rows follow it"):
        read(book("u.xlsx", A=[NAMES, *typed(rows[:2]), [None] * 5, *typed(rows[2:])]))


def test_a_workbook_tomorrow_for_a_model_from_csv(run, write, book, rows, tmp_path):
    """A typed number has no decimal mark to dispute, and n/d beside it is a missing value."""
    names = NAMES[:4]
    new = [row[:4] for row in rows[:20]]
    new[4][3] = new[7][2] = "n/d"
    new[5][3] = "1.234,00"  # typed 1234; 1.234 would be another number as a text
    new[6][2] = "1,234"
    ran(run("fit", write("train.csv", NAMES, *rows), "--label-list", "Schaden", "--out", tmp_path / "m.skops"))
    answers = [
        run("predict", tmp_path / "m.skops", path, "--out", "-", "--probabilities")
        for path in (write("new.csv", names, *new), book("new.xlsx", A=[names, *typed(new)]))
    ]
    assert [done.status for done in answers] == [0, 0], answers
    assert answers[0].out == answers[1].out
    assert answers[0].err == answers[1].err.replace("new.xlsx", "new.csv")


def test_files_whose_names_say_another_format(write, book, rows, tmp_path):
    whole = read(write("t.csv", NAMES, *rows))
    table = read(write("t.xlsx", NAMES, *rows))
    np.testing.assert_array_equal(table.data, whole.data)
    book("u.xlsx", A=[NAMES, *typed(rows)]).rename(tmp_path / "u.csv")
    assert len(read(tmp_path / "u.csv").data) == N
    for name, content, words in (
        ("~$t.xlsx", b"\x05owner", "the lock of a workbook that is open; close it"),
        ("old.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel file, or has a password"),
        ("web.xlsx", b"\xef\xbb\xbf\n<HTML><table>", "a web page; open it in a spreadsheet"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataFileError, match=words):
            read(tmp_path / name)


# ---------------------------------------------------------------- lists as values


PARTS = [["Pumpe", "Ventil"], ["Rohr"], [], ["Rohr", "Pumpe"], ["Ventil"], ["Ventil", "Rohr"]]


def test_columns_of_lists_are_items_in_parquet_pandas_and_polars(tmp_path, rows, rng):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow.parquet")
    parts = [PARTS[i % 6] for i in range(N)]
    faults = [[] if row[4] == "keine" else row[4].split("|") for row in rows]
    faults[3] = None  # not known; an empty list has none of the labels
    frame = pandas.DataFrame({"x": rng.normal(size=N), "Teile": parts, "Schaden": faults})
    frame.to_parquet(tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    assert kinds(table) == {"x": "number", "Teile": "list"}
    assert table.feature_names == ["x", "Teile=[]", "Teile=Pumpe", "Teile=Rohr", "Teile=Ventil"]
    assert table.label_names == ["leck", "rost"]
    expected = [[-1, -1] if fault is None else ["leck" in fault, "rost" in fault] for fault in faults]
    assert table.target.tolist() == expected
    again = read_table(tmp_path / "t.parquet", plan=table.plan, label_list="Schaden")
    np.testing.assert_array_equal(again.data, table.data)
    tuples = frame.drop(columns="Schaden").assign(Teile=[tuple(part) for part in parts])
    frames = [frame.drop(columns="Schaden"), tuples]
    if polars := pytest.importorskip("polars"):
        frames.append(polars.DataFrame({"x": frame["x"].to_numpy(), "Teile": parts}))
    for table_frame in frames:
        np.testing.assert_array_equal(TableEncoder().fit_transform(table_frame), table.data)


# ---------------------------------------------------------------- words and labels


@pytest.mark.parametrize("word", ["n/d", "s/d", "k.A.", "н/д"])
def test_missing_words_do_not_count_against_the_share_of_units(write, rows, word):
    cells = [[word if i % 4 == 0 else f"{row[2]} kg", row[4]] for i, row in enumerate(rows)]
    table = read(write("t.csv", ["Masse", "Schaden"], *cells))
    (column,) = table.plan.columns
    assert (column.kind, [*column.factors]) == ("number", ["kg"])
    assert np.isnan(table.data[:, 0]).sum() == len(cells[::4])


@pytest.mark.parametrize("cells", [["leck"], ["leck", ""]])
def test_one_label_value_alone_asks_for_a_word_for_none(run, write, rows, cells):
    path = write("t.csv", ["Druck", "Schaden"], *([row[2], cells[i % len(cells)]] for i, row in enumerate(rows)))
    for verb in (["plan", path], ["fit", path, "--out", path.with_suffix(".skops")]):
        result = run(*verb, "--label-list", "Schaden")
        assert result.status == 2
        assert "no row is known to lack the label 'leck'" in result.err
        assert "--no-label none" in result.err
        assert "// 2" not in result.err


def test_plus_and_minus_one_are_not_read_as_yes_and_unknown(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n" + "1,-1\n2,1\n" * 20)
    np.savez(tmp_path / "t.npz", X=[[1.0], [2.0]] * 20, y=[[-1], [1]] * 20)
    (tmp_path / "t.svm").write_text("1 1:1\n-1 1:2\n" * 20)
    for name, options in (("t.csv", ["--label-columns", "y"]), ("t.npz", []), ("t.svm", [])):
        result = run("fit", tmp_path / name, *options, "--out", tmp_path / "m.skops")
        assert result.status == 2
        assert "write 0 where somebody looked" in result.err
        assert ("--empty-is" in result.err) == bool(options), result


def test_labels_that_differ_by_a_letter_are_said(write, rows):
    labels = ["vazamento", "ruido", "vazamento|ruido", "desgaste 1", "desgaste 2"]
    lines = [[row[2], labels[min(i % 53, 2)]] for i, row in enumerate(rows * 5)]
    lines[5][1] = "vasamento"
    lines[6][1] = "desgaste 1"
    lines[7][1] = "zzz"
    for line in lines[8:16]:  # too many for a slip of the pen
        line[1] = "ruidos|vazamento"
    table = read(write("t.csv", ["Druck", "Schaden"], *lines), separator="|")
    (spelling_note,) = [note for note in table.notes if "spellings" in note]
    assert "'vazamento' (2" in spelling_note
    assert ") and 'vasamento' (1) differ only in case, accents, a letter or the order of words" in spelling_note


def test_words_for_a_missing_value_are_unknown_labels(write, rows):
    lines = [[row[2], ["ja", "nein", "k. A."][i % 3]] for i, row in enumerate(rows)]
    table = read(write("t.csv", ["Druck", "y"], *lines), label_list=None, label_columns=["y"])
    assert table.target[:3].tolist() == [[1], [0], [-1]]
    lines[4][1] = "vielleicht"
    with pytest.raises(DataFileError, match=r"line 6, column 'y': 'vielleicht'; write a label"):
        read(write("t.csv", ["Druck", "y"], *lines), label_list=None, label_columns=["y"])


def test_the_line_of_a_cross_among_other_labels_is_named(write, rows):
    lines = [[row[2], "x" if i == 9 else str(i % 2)] for i, row in enumerate(rows)]
    with pytest.raises(DataFileError, match=r"line 11, column 'y': crosses \(x\) are mixed"):
        read(write("t.csv", ["Druck", "y"], *lines), label_list=None, label_columns=["y"])


def test_a_file_of_labels_may_hold_the_ids_of_the_table(write, rows, tmp_path):
    path = write("t.csv", ["Nr", "Druck"], *([row[0], row[2]] for row in rows))
    labels = [[row[0], str(i % 2)] for i, row in enumerate(rows)]
    how = {"label_list": None, "id_column": "Nr", "label_file": write("y.csv", ["Nr", "leck"], *labels)}
    table = read(path, **how)
    assert table.label_names == ["leck"]
    assert table.target[:, 0].tolist() == [i % 2 for i in range(len(rows))]
    write("y.csv", ["Nr", "leck"], *labels[::-1])
    with pytest.raises(DataFileError, match=r"y\.csv: its column 'Nr' differs from that of .*t\.csv; order the rows"):
        read(path, **how)


def test_the_plan_counts_in_words_of_one_and_tells_what_is_labelled_in_part(write, rows):
    lines = [[f"{40 + i},5", str(i % 2), "" if i % 5 else str(i % 2)] for i in range(len(rows))]
    lines[7] = lines[6]
    process = spawn("plan", write("t.csv", ["Druck", "y", "z"], *lines), "--label-columns", "y,z")
    assert "2 labels, 60 rows labelled (48 of them in part)" in process.stdout
    assert "1 row is equal to another one, and such rows stay together" in process.stdout


def test_a_cover_sheet_names_the_other_sheets(tmp_path, rows):
    cover = [["Bericht"], [], ["Autor", "N. N."], ["Stand", "2024", "x"]]
    path = write_sheets(tmp_path / "t.xlsx", Deckblatt=cover, Daten=[NAMES, *rows], Ort=[["a"], ["b"]])
    with pytest.raises(DataFileError, match=r"row 4: 3 cells.*or name another sheet with --sheet \('Daten', 'Ort'\)"):
        read(path, label_list=None)
    assert "--sheet names another ('Deckblatt', 'Ort')" in read(path).notes[0]


@pytest.mark.parametrize(
    "cell", [lambda i: f"{1 + i % 28:02d}.03.2024", lambda i: str(1 + i % 5), lambda i: german(3.7 * i)]
)
def test_dates_ratings_and_amounts_are_asked_about_and_not_taken_as_labels(write, rows, cell):
    lines = [[row[2], cell(i) if i % 9 else "k.A."] for i, row in enumerate(rows)]
    path = write("t.csv", ["Druck", "Schaden"], *lines)
    with pytest.raises(DataFileError, match=r"column 'Schaden': its cells are numbers or dates .* --separator ';'"):
        read(path)
    assert len(read(path, separator=";").label_names) >= 5  # the person is sure


def test_short_answers_at_the_fit_and_long_ones_tomorrow_are_the_same(write, rows, tmp_path):
    short, long = (
        write(name, ["Druck", "Raro", "Schaden"], *([row[2], words[i % 3 == 0], row[4]] for i, row in enumerate(rows)))
        for name, words in (("short.csv", "SN"), ("long.csv", ["Sim", "Não"]))
    )
    fitted = read(short)
    new = read_table(long, plan=fitted.plan)
    np.testing.assert_array_equal(new.data, fitted.data)
    assert new.differences == []


def test_words_of_a_column_of_few_levels_are_no_missing_values(write, rows):
    floors = ["T", "1", "2", "3", "Attico"]
    lines = [[f"Nº{i}", floors[i % 5], str(i % 7) if i % 9 else "defekt", row[4]] for i, row in enumerate(rows)]
    table = read(write("t.csv", ["Nº", "Piano", "Stufe", "Schaden"], *lines))
    assert kinds(table) == {"Nº": "identifier", "Piano": "category", "Stufe": "category"}
    assert table.feature_names[:5] == ["Piano=1", "Piano=2", "Piano=3", "Piano=Attico", "Piano=T"]


# ---------------------------------------------------------------- a review beside the table of a fit


def test_review_says_where_a_table_is_not_as_at_the_fit_of_a_model(run, write, rows, tmp_path):
    model = tmp_path / "m.skops"
    out = tmp_path / "r.csv"
    rows = rows * 4
    train = write("train.csv", NAMES, *rows)
    assert run("fit", train, "--label-list", "Schaden", "--out", model).status == 0
    thousandth = [[*row[:3], row[3].replace(".", ""), row[4]] for row in rows]
    for row in thousandth:
        row[2] = german(float(row[2].replace(",", ".")) / 100, 4)
    new = write("new.csv", NAMES, *thousandth)
    options = ["--label-list", "Schaden", "--out", out, "--model", model]
    result = ran(run("review", train, *options))
    assert "at the fit" not in result.err
    result = ran(run("review", new, *options))
    messages = [line for line in result.err.splitlines() if "at the fit" in line]
    assert len(messages) == 1
    assert messages[0].startswith(f"nmlsdr: {new}: column 'Druck': the median is ")
    result = run("review", new, *options, "--strict")
    assert result.status == 2
    assert "is not as the table of the fit" in result.err
    result = run("review", write("less.csv", NAMES[2:], *(row[2:] for row in rows)), *options)
    assert result.status == 2
    assert "it lacks 2 of the 4 columns that the model was fitted on: 'Nr', 'Ort'" in result.err
    odd = ([*row[:2], f"ca {row[2]} bar?", *row[3:]] for row in rows)
    result = run("review", write("odd.csv", NAMES, *odd), *options)
    n_texts = len({row[2] for row in rows})
    sentence = f"240 cells are not what the column holds ({n_texts} different texts): line 2, column 'Druck': 'ca "
    assert sentence in result.err
