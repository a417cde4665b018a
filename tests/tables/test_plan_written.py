"""A plan that was written, as JSON or as options of a command, is the same one; a forged one is refused."""

import numpy as np
import pytest
from commands import assert_done, read_csv, write_csv
from sklearn.preprocessing import StandardScaler
from table_files import SEMICOLONS

from nmlsdr import tables
from nmlsdr.model_file import ModelFileError, save_model
from nmlsdr.tables import DataFileError, Profile
from nmlsdr.tables._plan import Column, Plan
from nmlsdr.tables._planner import Choices


def test_a_plan_is_the_same_after_it_was_written_as_text(decide):
    plan = decide(SEMICOLONS, label_list="Tags")[0].plan
    assert Plan.from_json(plan.to_json()) == plan
    unmarked = Plan((Column("a", "number", unmarked=True),))
    assert unmarked.is_plain
    assert Plan.from_json(unmarked.to_json()).columns[0].unmarked
    text = Plan((Column("", "text"),)).to_json()
    assert '"fill"' not in text  # nor anything else that is empty
    assert Plan.from_json(text).columns == (Column("", "text"),)


def test_the_plan_of_a_wide_table_of_numbers_is_short():
    plan = Plan(tuple(Column(f"g{j}", "number", fill=(j / 8,)) for j in range(10_000)))
    text = plan.to_json()
    assert len(text) < 20 * 10_000
    assert Plan.from_json(text) == plan


def test_the_options_of_a_plan_give_the_same_plan(run, tmp_path):
    (tmp_path / "t.csv").write_text(SEMICOLONS, encoding="utf-8")
    options = run("plan", "t.csv", "--label-list", "Tags").out.splitlines()[-1].removeprefix("The same as options: ")
    assert options == "--label-list Tags --separator '|' --no-label keine --id Nr --one-hot Material --decimal ,"
    once = ["--n-components", "2", "--classifier", "none", "--quiet"]
    assert_done(run("fit", "t.csv", "--label-list", "Tags", *once, "--out", "a.skops"))
    assert_done(run("fit", "t.csv", *options.replace("'", "").split(), *once, "--out", "b.skops"))
    for name in "ab":
        assert_done(run("transform", f"{name}.skops", "t.csv", "--out", f"{name}.csv"))
    assert read_csv(tmp_path / "a.csv") == read_csv(tmp_path / "b.csv")


def test_the_options_of_a_plan_take_names_with_commas_where_one_name_is_wanted(run, tmp_path):
    (tmp_path / "t.csv").write_text(SEMICOLONS.replace("Nr", "Nr, neu").replace("Tags", "Tags, alle"), encoding="utf-8")
    lines = run("plan", "t.csv", "--label-list", "Tags, alle").out.splitlines()
    assert "--label-list 'Tags, alle' --separator '|' --no-label keine --id 'Nr, neu' --one-hot" in lines[-1]


def test_plan_without_features_is_that_of_fit_and_finds_the_same_cells(tmp_path, rng):
    rows = [
        [f"{x:.2f}", "yes" if x > 0 else "no", f"2020-01-{i % 28 + 1:02d}", "ab"[i % 2]]
        for i, x in enumerate(rng.normal(size=60))
    ]
    write_csv(tmp_path / "t.csv", ["age", "smoker", "day", "ward"], rows)
    whole, checked = (tables.read_table(tmp_path / "t.csv", plan=Choices(only_checks=how)) for how in (False, True))
    assert checked.plan.columns == whole.plan.columns
    assert checked.data.shape == whole.data.shape
    assert np.isnan(checked.data).all()
    rows[7][0] = "1O.2"
    write_csv(tmp_path / "t.csv", ["age", "smoker", "day", "ward"], rows)
    messages = []
    for only_checks in (False, True):
        with pytest.raises(DataFileError, match=r"line 9, column 'age': '1O\.2'") as error_info:
            tables.read_table(tmp_path / "t.csv", plan=Choices(only_checks=only_checks))
        messages.append(str(error_info.value))
    assert messages[0] == messages[1]


# ---------------------------------------------------------------- forged


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (Column("a", "image"), "impossible values"),
        (Column("a", "number", decimal="x"), "impossible values"),
        (Column("a", "number", fill=(1.0, 2.0)), "impossible values"),
        (Column("a", "category", levels={"b": "b"}, fill=(1.0,)), "impossible values"),
        (Column("a", "JSON", levels={"b": "b"}, fill=(1.0,)), ""),
        (Column("a", "number", fill=(float("inf"),)), "impossible values"),
        (Column("a", "number", fill=(1e170,)), "impossible values"),
        (Column("a", "number", fill=(9e169,), factors={"g": 0.5, "": 9e169}), ""),
        (Column("a", "number", factors={"g": 0.0}), "impossible values"),
        (Column("a", "number", factors={"g": 1e170}), "impossible values"),
        (Column("\ud800", "number"), "surrogates"),
        (Column("a", "category", levels={"b": 1}), "1 is no str"),
        (Column("a", "yes/no", levels={"y": "2"}), "impossible values"),
        (Column("a", "date", levels={"may": "13"}), "impossible values"),
        (Column("a", "date", levels={"may": "12"}), ""),
        (Column("a", "list", levels={"b": "b"}), "impossible values"),
        (Column("a", "list", levels={"b": "b"}, separator=";"), ""),
    ],
)
def test_a_forged_plan_is_refused(column, message):
    assert_refused_plan(Plan((column,)), message)


@pytest.mark.parametrize(
    ("profile", "is_sound"),
    [
        ((0, 0.0), True),
        ((2**53 - 1, 1.0), True),
        ((2**53, 0.0), False),
        ((-1, 0.0), False),
        ((1, 1.5), False),
        ((1, 0.0, (0.0,) * 7, -1.0), True),
        ((1, 0.0, (0.0,) * 6), False),
        ((1, 0.0, (float("nan"),) * 7), False),
        ((1, 0.0, (), -1.5), False),
        ((1, 0.0, (), 0.0, {"a": 1.5}), False),
        ((1, 0.0, (), 0.0, {"a": -0.5}), False),
    ],
)
def test_a_forged_profile_is_refused(profile, is_sound):
    plan = Plan((Column("a", "number"),), profiles=(Profile(*profile),))
    assert_refused_plan(plan, "" if is_sound else "impossible shares")
    assert_refused_plan(Plan(plan.columns, profiles=plan.profiles * 2), "another number of profiles than of columns")


def assert_refused_plan(plan, message):
    """Without a message it is the same after it was written."""
    if message:
        with pytest.raises(ValueError, match=f"no plan of a table .*{message}"):
            Plan.from_json(plan.to_json())
    else:
        assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "plan",
    [
        Plan((Column("a", "number", fill=(0.0,)),)),
        Plan((Column("a", "number", fill=(0.0,)), Column("b", "number"))),
        Plan((Column("a", "number", fill=(0.0,)), Column("b", "yes/no", fill=(0.0,)))),
    ],
    ids=["a column too few", "nothing to fill with", "not a number"],
)
def test_a_plan_that_does_not_give_the_features_of_the_model_is_refused(tmp_path, plan):
    scaler = StandardScaler().fit([[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(ModelFileError, match="does not give the features"):
        save_model(tmp_path / "m.skops", scaler, feature_names=["a", "b"], plan=plan)
