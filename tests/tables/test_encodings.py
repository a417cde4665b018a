"""Files that are not UTF-8: which encoding is chosen, by which evidence, and that a person is told."""

import gzip
import re

import numpy as np
import pytest
from commands import assert_done, assert_refused, ran
from hypothesis import given, settings
from hypothesis import strategies as st

from nmlsdr.inspection import read_verdicts
from nmlsdr.model_file import open_model
from nmlsdr.tables import DataFileError, Form, Roles, read_table
from nmlsdr.tables._encodings import guess_encoding
from nmlsdr.tables._files import Lines, guess_delimiter
from nmlsdr.tables._planner import Choices

#: Names of columns as people of a country write them, and the Windows page of the country.
HEADERS = [
    ("płeć;wiek", "cp1250"),
    ("województwo;łódź", "cp1250"),
    ("zażółć gęślą jaźń", "cp1250"),
    ("věk;pohlaví", "cp1250"),
    ("počet", "cp1250"),
    ("père", "cp1252"),
    ("příznaky;horečka;kašel", "cp1250"),
    ("teplota °C;diagnóza;zánět", "cp1250"),
    ("dĺžka;kašeľ", "cp1250"),
    ("köhögés;hőmérséklet", "cp1250"),
    ("groznica;šećer", "cp1250"),
    ("înălţime;greaţă", "cp1250"),
    ("fièvre;père;élève", "cp1252"),
    ("où;à;n°", "cp1252"),
    ("cœur", "cp1252"),
    ("Größe;Fläche m²;Volumen m³", "cp1252"),
    ("¿dolor?;año;tamaño", "cp1252"),
    ("città;perché;sì", "cp1252"),
    ("região;não;pressão", "cp1252"),
    ("køn;vægt;år", "cp1252"),
    ("ålder;kön", "cp1252"),
    ("þyngd;hæð", "cp1252"),
    ("zoë;coördinaat", "cp1252"),
    ("возраст;пол", "cp1251"),
    ("вік;стать", "cp1251"),
    ("ηλικία;φύλο", "cp1253"),
    ("öksürük;ateş", "cp1254"),
    ("vecums;svars;klepus;ģimene;ārsts", "cp1257"),
]


@pytest.mark.parametrize(("text", "encoding"), HEADERS)
def test_letters_show_the_page_of_a_language(text, encoding):
    guess, reason = guess_encoding(f"{text}\n".encode(encoding))
    assert f"{text}\n".encode(encoding).decode(guess) == f"{text}\n"
    assert reason == "judging by its letters"


@pytest.mark.parametrize(("name", "encoding"), [("病名", "cp932"), ("诊断", "gb18030"), ("진단", "cp949")])
def test_encodings_of_east_asia_are_found_by_known_names_alone(name, encoding, tmp_path):
    data = f"id,{name}\n1,a\n".encode(encoding)
    assert guess_encoding(data, [name]) == (encoding, "in which known names occur")
    assert guess_encoding(data, [], encoding) == (encoding, "like another file of its origin")
    assert guess_encoding(data)[0] not in ("cp932", "gb18030", "cp949")
    (tmp_path / "a.csv").write_bytes(b"id,\x81\x8d\x8f\x90\x9d\xff\x98\n1,2\n")
    with pytest.raises(DataFileError, match=r"give its encoding \(cp932 for Japanese, gb18030 for Chinese"):
        read_table(tmp_path / "a.csv")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.lists(st.text(max_size=5)), st.sampled_from([None, "cp1250", "rot13", "?"]))
def test_every_file_gets_an_encoding_and_a_reason_unless_it_is_certain(sample, words, likely):
    guess, reason = guess_encoding(sample, words, likely)
    if guess.startswith("utf"):
        assert reason == ""
    elif reason:
        sample.decode(guess, "replace")
        assert guess != likely or likely == "cp1250"


def test_known_words_decide_before_the_file_of_the_fit_and_this_before_letters():
    sample = "roènice;pøíjem\n".encode("cp1252")  # as letters of Central Europe: ročnice, příjem
    assert guess_encoding(sample) == ("cp1250", "judging by its letters")
    assert guess_encoding(sample, likely="cp1252") == ("cp1252", "like another file of its origin")
    assert guess_encoding(sample, ["pøíjem", "x"], "cp1250") == ("cp1252", "in which known names occur")
    # "têtno" could be French
    assert guess_encoding("tętno\n".encode("cp1250")) == ("cp1252", "judging by its letters")
    assert guess_encoding("tętno\n".encode("cp1250"), ["tętno"])[0] == "cp1250"
    assert guess_encoding("日本".encode("cp932"), likely="cp932")[0] == "cp932"
    assert guess_encoding("tętno\n".encode(), ["tętno"], "cp1250") == ("utf-8", "")  # UTF-8 is certain


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_a_note_says_how_a_table_was_read(tmp_path, packed, late):
    filler = "1;0;y\n" * (30_000 if late else 1)  # a first letter behind the bytes that are looked at
    content = ("a;b;płeć\n" if not late else "a;b;c\n") + filler + "1;0;płeć łódź\n" + "0;1;y\n"
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content.encode("cp1250")) if packed else content.encode("cp1250"))
    table = read_table(path, Roles(label_columns=["a"]), plan=Choices())
    assert table.encoding == table.plan.encoding == "cp1250"
    assert [note for note in table.notes if "is not UTF-8" in note] == [
        "it is not UTF-8 and is read as cp1250, judging by its letters; if texts look wrong, give another "
        "encoding with --encoding"
    ]
    table_of_cp1250 = read_table(path, Roles(label_columns=["a"]), Form(encoding="cp1250"), plan=Choices())
    assert table_of_cp1250.notes == []
    assert table_of_cp1250.plan == table.plan


def test_a_label_file_is_read_as_its_table_and_its_notes_are_kept(tmp_path):
    (tmp_path / "x.csv").write_bytes("tętno;płeć\n1;2\n3;4\n".encode("cp1250"))
    (tmp_path / "y.csv").write_bytes("tętno\n1\n0\n".encode("cp1250"))
    table = read_table(tmp_path / "x.csv", Roles(label_file=tmp_path / "y.csv"))
    assert table.label_names == ["tętno"]
    assert [note for note in table.notes if "y.csv" in note and "read as cp1250, like another file" in note]


def test_arff_files_take_an_encoding_too(tmp_path):
    text = "@relation r\n@attribute tętno real\n@attribute y {0,1}\n@data\n1,1\n2,0\n"
    (tmp_path / "t.arff").write_bytes(text.encode("cp1250"))
    assert read_table(tmp_path / "t.arff", form=Form(encoding="cp1250")).feature_names == ["tętno", "y"]
    assert read_table(tmp_path / "t.arff", Roles(label_columns=["y"], feature_columns=["tętno"])).encoding == "cp1250"


def test_the_encoding_of_the_fit_reaches_the_next_files(run, rng, tmp_path):
    pytest.importorskip("skops")
    rows = "".join(f"{x:.3f};{x > 0:d};{'tak' if x > 0 else 'nie'};{'têtno'}\n" for x in rng.normal(size=40))
    text = "ciêcie;y;miejsce;p\n" + rows  # letters that cp1252 has too, so that they do not decide
    (tmp_path / "train.csv").write_bytes(text.encode("cp1252"))
    assert_done(run("fit", "train.csv", "--label-columns", "y", "--encoding", "cp1250", "--out", "m.skops"))
    model = open_model("m.skops")
    assert model.plan.encoding == "cp1250"
    assert "cięcie" in model.feature_names
    for verb in ("predict", "transform"):
        outcome = ran(run(verb, "m.skops", "train.csv", "--out", "p.csv"))
        assert "it is not UTF-8 and is read as cp1250, in which known names occur" in outcome.err
    (tmp_path / "next.csv").write_text((tmp_path / "train.csv").read_text(encoding="cp1250"), encoding="utf-8")
    outcome = run("predict", "m.skops", "next.csv", "--out", "p.csv")  # UTF-8 stays UTF-8
    assert_done(outcome)
    assert "UTF-8" not in outcome.err


# ---------------------------------------------------------------- a list of verdicts from a spreadsheet


@pytest.mark.parametrize(
    ("encoding", "yes", "no", "labels"),
    [
        ("cp1252", "ja", "nein", ["Grösse", "Übelkeit"]),
        ("cp1250", "tak", "nie", ["tętno", "płeć"]),
        ("cp1250", "TAK", "Nie", ["żelazo", "był"]),
        ("utf-16", "ano", "ne", ["věk", "ø"]),
        ("utf-8-sig", "1", "0", ["é", "b"]),
    ],
)
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_list_that_a_spreadsheet_saved_is_read(tmp_path, encoding, yes, no, labels, delimiter):
    rows = [
        ["id", "label", "score", "suggest", "kind", "rank", "check", "verdict"],
        ["2", labels[1], "0,974", "add", "forgotten", "1", "a1", yes],
        ["0", labels[0], "0,5", "remove", "wrong", "1", "a2", no],
        ["1", labels[0], "0,25", "", "", "2", "", ""],
    ]
    text = "\r\n".join(delimiter.join(row) for row in rows) + "\r\n" + delimiter * 7 + "\r\n"
    (tmp_path / "checked.csv").write_bytes(text.encode(encoding))
    y = np.array([[1, 0], [1, 0], [0, 0]])
    verdicts = read_verdicts(tmp_path / "checked.csv", y, ids=range(3), label_names=labels)
    assert verdicts.tolist() == [[0, -1], [-1, -1], [-1, 1]]


def test_verdicts_are_read_in_the_encoding_of_their_table(run, rng, tmp_path):
    """Neither ids nor labels show the encoding of this list, which a person sent on in that of the table."""
    x = rng.normal(size=(40, 2))
    rows = "".join(f"あ{i};{a:.3f};{b:.3f};{a > 0:d}\n" for i, (a, b) in enumerate(x))
    (tmp_path / "t.csv").write_bytes(("番号;a;b;陽性\n" + rows).encode("cp932"))
    how = ["review", "t.csv", "--label-columns", "陽性", "--id", "番号", "--encoding", "cp932", "--out", "list.csv"]
    assert_done(run(*how))
    assert re.search("^あ3,", (tmp_path / "list.csv").read_text(encoding="utf-8"), re.MULTILINE)
    (tmp_path / "checked.csv").write_bytes("番号;label;verdict\nあ3;陽性;はい\n".encode("cp932"))
    assert_done(run(*how, "--reviewed", "checked.csv"))
    assert not re.search("^あ3,", (tmp_path / "list.csv").read_text(encoding="utf-8"), re.MULTILINE)
    (tmp_path / "checked.csv").write_bytes("番号;label;verdict\nあ99;陽性;はい\n".encode("cp932"))
    assert_refused(run(*how, "-q", "--reviewed", "checked.csv"), "no row of the table has the 番号 'あ99'")


def test_lines_are_the_same_whatever_is_read_first(tmp_path):
    (tmp_path / "t.txt").write_bytes("płeć\nżelazo\n".encode("cp1250"))
    with Lines(tmp_path / "t.txt") as lines:
        assert list(lines) == ["płeć", "żelazo"]
        assert lines.encoding == "cp1250"


JAPANESE = "患者,苦情\n1,胸が痛いと言っている。\n2,よく眠れない、せきが出る\n3,めまいがする\n"


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp"])
@pytest.mark.parametrize("words", [[], ["苦情"], ["めまい"]])
def test_japanese_is_told_by_its_kana(encoding, words):
    assert guess_encoding(JAPANESE.encode(encoding), words)[0] == encoding
    assert guess_encoding(("id;text\n" + "1;はい\n").encode(encoding), ["はい"])[0] == encoding


CHINESE = "诊断;年龄\n高血压;三十\n"
WESTERN = "größe;père\n"
RUSSIAN = "диагноз;возраст\nгрипп;12\n"
KOREAN = "진단;나이\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, "gb18030") for text in (CHINESE, WESTERN, RUSSIAN, KOREAN)),
        *((text, "cp949") for text in (RUSSIAN, KOREAN)),
        *((RUSSIAN, encoding) for encoding in ("cp1251", "koi8_r")),
        *((WESTERN, encoding) for encoding in ("cp1252", "latin-1")),
    ],
)
def test_other_texts_are_not_taken_for_japanese(text, encoding):
    data = text.encode(encoding)
    assert guess_encoding(data)[0] not in ("cp932", "euc_jp")
    assert guess_encoding(data, ["诊断"])[0] not in ("cp932", "euc_jp")


def test_predictions_and_lists_have_a_mark_for_spreadsheets(run, tmp_path, rng):
    pytest.importorskip("pyarrow")
    X = rng.standard_normal((60, 2)).round(2)
    for name, label in (("a", "flu"), ("b", "喘息")):
        lines = [f"{x},{z},{int(x > 0)}" for x, z in X.tolist()]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"x,z,{label}", *lines]) + "\n", encoding="utf-8")
        label_options = ["--label-columns", label, "-q"]
        assert run("fit", f"{name}.csv", *label_options, "--out", f"{name}.skops").status == 0
        assert run("predict", f"{name}.skops", f"{name}.csv", "--out", f"{name}_p.csv", "-q").status == 0
        assert run("review", f"{name}.csv", *label_options, "--out", f"{name}_l.csv").status == 0
        for out in ("p", "l"):
            data = (tmp_path / f"{name}_{out}.csv").read_bytes()
            assert data.startswith(b"\xef\xbb\xbf") == (name == "b")
            assert data.count(b"\xef\xbb\xbf") == (name == "b")
        list_ = (tmp_path / f"{name}_l.csv").read_text(encoding="utf-8-sig").splitlines()
        place = list_[0].split(",").index("verdict")
        filled = [",".join([*line.split(",")[:place], "keep", *line.split(",")[place + 1 :]]) for line in list_[1:4]]
        text = "\n".join([list_[0], *filled]) + "\n"
        (tmp_path / "done.csv").write_text(text, encoding="utf-8-sig" if name == "b" else "utf-8")
        result = run("fit", f"{name}.csv", "--label-columns", label, "--reviewed", "done.csv", "--out", f"{name}.skops")
        assert "done.csv: 3 verdicts" in result.err
    result = run("predict", "b.skops", "b.csv", "--out", "-")
    assert result.out.startswith("row,喘息\n")


def test_a_title_and_a_last_line_alone_do_not_choose_the_delimiter():
    assert guess_delimiter("Prices, in euros\nof 2020\na;b\n") == ","
    assert guess_delimiter("Prices, in euros\nof 2020\na;b\n1;2\n") == ";"
