"""`nmlsdr review --out r.html`: the cells as they stand, what the page writes, the columns and pictures to show."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import assert_done, assert_refused, read_csv, write_csv
from review_page import unpack, write_verdicts

from nmlsdr.inspection import read_verdicts

pytest.importorskip("jinja2")


@pytest.fixture
def hospital(rng, tmp_path, monkeypatch):
    """t.csv: decimal commas, a category, a date, free text, ids that repeat, and a column filled in with the labels."""
    monkeypatch.chdir(tmp_path)
    n = 80
    truth = (rng.random((n, 2)) < 0.4).astype(int)
    rows = []
    for i, on in enumerate(truth):
        number = f"{1 + 2 * on[0] + rng.normal():.2f}".replace(".", ",")
        words = " ".join(rng.choice(list("abcdefghijklmnopq"), 9)) + f" visit {i}"
        label_cells = [*map(str, [f"0,{i}", *on])] if i < 40 else ["", "", ""]
        ward = "east" if on[1] else "west"
        rows.append([f"P{i // 2}", number, ward, f"2020-0{1 + i % 9}-11", words, f"x{i}.png", *label_cells])
    names = ["patient", "size", "ward", "day", "note", "photo", "certainty", "flu", "=cold"]
    write_csv("t.csv", names, rows, delimiter=";")
    return rows


AS = ["--label-columns", "flu,=cold", "--id", "patient", "--n-neighbors", "5", "--quiet"]


def test_the_cells_stand_as_they_stand_in_the_table(run, hospital):
    assert_done(run("review", "t.csv", *AS, "--out", "r.html", "--out", "r.csv"))
    page = unpack("r.html")
    assert set(page["columns"]) >= {"size", "ward", "day"}
    assert not set(page["columns"]) & {"patient", "flu", "=cold", "certainty"}
    for name, column in zip(page["columns"], page["cells"], strict=True):
        j = ["patient", "size", "ward", "day", "note", "photo"].index(name)
        assert column == [hospital[i][j] for i in page["rows"]]
    assert page["ids"] == [hospital[i][0] for i in page["rows"]]
    names, listed = read_csv("r.csv")
    assert len(listed) == 80
    assert names[:3] == [page["key"], "row", "label"]
    assert [entry["row"] for entry in page["entries"]] == [int(line[1]) for line in listed]
    digits = [line[3].split("e")[0].replace(".", "").lstrip("0") for line in listed]  # of the score
    assert all(len(written) <= 3 for written in digits)


def test_what_the_page_writes_is_taken_by_fit_review_and_python(run, hospital):
    assert_done(run("review", "t.csv", *AS, "--out", "r.html"))
    page = unpack("r.html")
    write_verdicts("v.csv", page, [1, 0, 1])
    assert_done(run("fit", "t.csv", *AS, "--reviewed", "v.csv", "--out", "m.skops"))
    assert_done(run("review", "t.csv", *AS, "--reviewed", "v.csv", "--out", "next.html", "--out", "next.csv"))
    later = unpack("next.html")
    assert len(later["earlier"]) == 3
    assert len(read_csv("next.csv")[1]) == 77
    file_labels = np.array([[int(v or -1) for v in row[-2:]] for row in hospital])
    cells = pd.read_csv("t.csv", sep=";")[["size", "ward", "day", "note", "photo", "certainty"]]
    verdicts = read_verdicts(
        "v.csv",
        pd.DataFrame(file_labels, columns=["flu", "=cold"]),
        table=cells,
        ids=[row[0] for row in hospital],
        id_name="patient",
    )
    assert (verdicts >= 0).sum() == 3
    for i, c, value, verdict in later["earlier"]:  # what was given before the verdict, not the verdict
        assert (value, verdict) == (file_labels[i, c], verdicts[i, c])
    write_verdicts("w.csv", later, [1])
    assert_done(run("review", "t.csv", *AS, "--reviewed", "w.csv", "--out", "third.csv"))
    assert len(read_csv("third.csv")[1]) == 76


def test_the_columns_that_are_shown_are_chosen_or_none(run, hospital):
    assert_done(run("review", "t.csv", *AS, "--show", "certainty,note", "--out", "r.html"))
    assert unpack("r.html")["columns"] == ["certainty", "note"]
    assert_done(run("review", "t.csv", *AS, "--no-cells", "--out", "r.html"))
    page = unpack("r.html")
    assert (page["columns"], page["cells"]) == ([], [])
    assert "what their cells hold" not in Path("r.html").read_text(encoding="utf-8")
    texts = json.dumps(page)
    assert not any(row[4] in texts for row in hospital)
    for options, words in (
        (["--show", "x"], ["no column 'x'", "--show"]),
        (["--image", "x"], ["no column 'x'", "--image"]),
        (["--show", "note", "--no-cells"], ["--show and --no-cells exclude each other"]),
    ):
        assert_refused(run("review", "t.csv", *AS, *options, "--out", "r.html"), *words)


def test_pictures_of_the_table_are_on_the_page(run, hospital, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for i in range(0, 80, 2):
        image.new("RGB", (8, 8), (3 * i, 0, 0)).save(f"x{i}.png")
    assert_done(run("review", "t.csv", *AS, "--image", "photo", "--out", "r.html"))
    page = unpack("r.html")
    assert "photo" not in page["columns"]
    for i, (name, uri) in zip(page["rows"], page["pictures"], strict=True):
        assert bool(uri) == (i % 2 == 0)
        assert name == f"x{i}.png" + ("" if uri else " (not a picture below the folder of the data)")
    n = sum(i % 2 for i in page["rows"])
    assert f"{n} pictures are not shown" in Path("r.html").read_text(encoding="utf-8")


def test_two_files_that_are_one_are_refused(run, hospital):
    assert_refused(run("review", "t.csv", *AS, "--out", "r.csv", "--out", "./r.csv"), "given twice")
    assert_refused(run("review", "t.csv", *AS, "--out", "r.csv", "--out", "r.txt"), "r.txt", ".html")
    assert_refused(run("review", "t.csv", *AS, "--out", "r.html", "--out", "t.csv"), "t.csv")
    assert not Path("r.csv").exists()


def test_where_ids_repeat_the_nearest_rows_have_their_number_too(run, hospital):
    assert_done(run("review", "t.csv", *AS, "--explain", "--top", "4", "--out", "r.csv"))
    names, lines = read_csv("r.csv")
    assert names[10:14] == ["near_1", "near_1_row", "near_1_given", "near_1_distance"]
    for line in lines:
        record = dict(zip(names, line, strict=True))
        assert all(hospital[int(record[f"near_{k}_row"])][0] == record[f"near_{k}"] for k in range(1, 6))


def test_rows_of_a_file_without_names_are_shown_as_numbers(run, rng, tmp_path):
    X = rng.normal(size=(40, 3))
    y = (rng.random((40, 2)) < 0.4).astype(int)
    np.savez("t.npz", X=X, y=y)
    assert_done(run("review", "t.npz", "--n-neighbors", "5", "--quiet", "--out", "r.html"))
    page = unpack("r.html")
    assert page["columns"] == ["feature_0", "feature_1", "feature_2"]
    assert page["cells"][1] == [f"{v:.6g}" for v in X[page["rows"], 1]]
    assert (page["key"], page["ids"][0]) == ("", None)


def test_a_page_needs_its_template_engine_before_any_work(run, hospital, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert_refused(run("review", "t.csv", *AS, "--out", "r.html"), "The review page needs jinja2", status=1)
