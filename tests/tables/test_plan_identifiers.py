"""Columns that name what a row is about: ids that are proposed, and rows with one id as one group."""

import numpy as np
import pytest
from commands import write_csv
from table_files import read_table

from nmlsdr.tables._columns import Numbers
from nmlsdr.tables._planner import Choices
from nmlsdr.tables._row_groups import repeating_id


def test_rows_that_appear_twice_or_have_one_id_are_one_group(decide):
    text = "who,a,w\n" + "".join(f"p{i},{i / 4},{'uv'[i % 2]}\n" for i in [*range(10), 3, 7])
    table, kinds = decide(text)
    assert kinds["who"] == "identifier"
    assert table.groups[10:].tolist() == [table.groups[3], table.groups[7]]
    assert len(set(table.groups)) == 10
    table, _ = decide("who,a\n" + "".join(f"p{i % 4},{i / 4}\n" for i in range(10)), id_column="who")
    assert table.groups.tolist() == [i % 4 for i in range(10)]
    assert decide("a,b\n1,2\n3,4\n")[0].groups is None


@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_an_id_that_repeats_is_proposed_where_other_columns_depend_on_it(run, tmp_path, rng, kind):
    """Visits of patients: sex and birthday belong to the patient. A ward has as many rows; nothing depends on it."""
    of = rng.integers(0, 60, 240)
    ward = rng.integers(0, 60, 240)
    sex = rng.integers(0, 2, 60)
    born = rng.integers(1950, 1990, 60)
    names = [f"P-{i}" if kind == "texts" else 4000 + i for i in of]
    rows = [
        [name, f"W{w}", "fm"[sex[i]], born[i], f"{x:.3f}", int(x > 0)]
        for i, w, x, name in zip(of, ward, rng.normal(size=240), names, strict=True)
    ]
    write_csv(tmp_path / "t.csv", ["the number", "ward", "sex", "born", "x", "y"], rows)
    result = run("plan", "t.csv", "--label-columns", "y")
    assert "rows with the same 'the number' (" in result.out
    assert "also have the same 'sex' and 'born'" in result.out
    assert "add --id 'the number', so that its rows stay together in cross-validation" in result.out
    assert "1 label, 240 rows labelled; the label is 'y' (" in result.out
    result = run("plan", "t.csv", "--label-columns", "y", "--id", "the number")
    assert "the id 'the number' repeats (" in result.out
    assert "stay together in cross-validation, and that" not in result.out
    table = read_table(tmp_path / "t.csv", label_columns=["y"], plan=Choices())
    assert any("--id 'the number'" in note for note in table.notes)
    for drop in (["sex"], ["the number"]):  # one column that depends on another is a postal code and its town
        table = read_table(tmp_path / "t.csv", label_columns=["y"], drop=drop, plan=Choices())
        assert table.notes == []


@pytest.mark.parametrize("name", ["patient", "Patient_ID", "Kunde", "id", "subjectId"])
@pytest.mark.parametrize("kind", ["texts", "numbers"])
def test_an_id_that_repeats_is_proposed_by_its_name(run, tmp_path, rng, name, kind):
    """100 patients, 30 rows of each: as texts they would become 100 features, as numbers one that means nothing."""
    of = rng.permutation(3000) // 30
    cells = [f"P-{i:03}" if kind == "texts" else 4000 + i for i in of]
    rows = [[f"{x:.3f}", cell, int(x > 0)] for x, cell in zip(rng.normal(size=3000), cells, strict=True)]
    write_csv(tmp_path / "t.csv", ["crp", name, "y"], rows)
    note = f"the column {name!r} has 100 different cells in 3000 rows; if it names whom several rows are about"
    assert note in run("plan", "t.csv", "--label-columns", "y").out
    result = run("plan", "t.csv", "--label-columns", "y", "--id", name)
    assert "if it names" not in result.out
    assert f"the id {name!r} repeats (100 different), and rows with one id stay together" in result.out
    assert "the columns give 1 feature" in result.out


@pytest.mark.parametrize(("name", "n_texts"), [("ward", 100), ("icd code", 100), ("patient", 9), ("patient", 151)])
def test_an_id_is_not_proposed_by_other_names_or_for_few_or_many_texts(name, n_texts):
    """9 texts are a category; of 151 in 300 rows most stand alone."""
    values = np.arange(300) % n_texts
    assert repeating_id({"x": Numbers(np.arange(300.0) % 7), name: Numbers(values.astype(float))}) == []
    assert len(repeating_id({"x": Numbers(np.arange(300.0) % 7), "patient": Numbers(np.arange(300.0) % 150)})) == 1


@pytest.mark.parametrize("n_slips", [0, 1])
def test_an_id_is_not_proposed_if_a_column_differs_in_the_last_row_of_a_text(n_slips):
    ids = np.arange(200) // 4
    columns = {name: np.random.default_rng(j).integers(0, 5, 50)[ids] for j, name in enumerate(("sex", "ward"))}
    columns["ward"][200 - n_slips :] += 1
    identifiers = repeating_id(
        {name: Numbers(values.astype(float)) for name, values in {"number": ids, **columns}.items()}
    )
    assert len(identifiers) == 1 - n_slips
