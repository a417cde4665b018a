"""Levels that share the feature "(other)": whether those of tomorrow's table are new."""

import json

import numpy as np
import pytest

from nmlsdr.tables import Choices, read_table
from nmlsdr.tables._bloom_filter import digest_of, may_hold
from nmlsdr.tables._plan import Plan

N = 4000


def write(path, machines, rng):
    numbers = rng.standard_normal(len(machines)).round(3)
    lines = [f"{machine},{number}" for machine, number in zip(machines, numbers, strict=True)]
    path.write_text("\n".join(["machine,x", *lines]) + "\n")
    return path


def machines_of(rng, n, n_machines=600, first=0):
    shares = 1 / np.arange(20, n_machines + 20)
    return [f"M-{first + k:04d}-{'ab'[k % 2]}" for k in rng.choice(n_machines, n, p=shares / shares.sum())]


@pytest.fixture
def plan(tmp_path, rng):
    path = write(tmp_path / "t.csv", machines_of(rng, N), rng)
    table_plan = read_table(path, plan=Choices(one_hot=("machine",))).plan
    assert [column.has_other for column in table_plan.used] == [True, False]
    return Plan.from_json(table_plan.to_json())


def differences(plan, tmp_path, machines, rng):
    return read_table(write(tmp_path / "new.csv", machines, rng), plan=plan).differences


def test_rows_with_unseen_levels_are_reported(plan, tmp_path, rng):
    (message,) = differences(plan, tmp_path, machines_of(rng, 400, first=5000), rng)
    assert "400 rows have a level that the fit has not seen, such as 'M-5" in message
    assert "only '(other)' stands for it" in message


@pytest.mark.parametrize("n_new", [40, 100, 200])
def test_some_rows_with_unseen_levels_are_counted(plan, tmp_path, rng, n_new):
    machines = machines_of(rng, 400 - n_new) + [f"Z{k % 9}" for k in range(n_new)]
    (message,) = differences(plan, tmp_path, machines, rng)
    n_told = int(message.partition(" rows have")[0].rpartition(" ")[2])
    assert n_new <= n_told <= n_new + 10
    assert "such as " in message


def test_rows_like_those_of_the_fit_are_not_reported(plan, tmp_path):
    n_told = sum(
        bool(differences(plan, tmp_path, machines_of(np.random.default_rng(seed), 400), np.random.default_rng(seed)))
        for seed in range(40)
    )
    assert n_told <= 1


def test_the_plan_holds_no_rare_level_in_words(plan):
    column, _ = plan.used
    profile, _ = plan.profiles
    rare = next(name for name in machines_of(np.random.default_rng(1), N) if name.lower() not in column.levels)
    assert rare not in plan.to_json()
    assert may_hold(profile.rare, rare.lower())
    assert profile.n_once >= 0


@pytest.mark.parametrize("n", [1, 3, 1000])
def test_a_digest_forgets_no_word_and_takes_few_others_for_known(n):
    known = [f"known {k}" for k in range(n)]
    digest = digest_of(known)
    assert all(may_hold(digest, word) for word in known)
    assert sum(may_hold(digest, f"new {k}") for k in range(5000)) <= 15
    assert digest == digest_of([*known[::-1], *known])


@pytest.mark.parametrize(("rare", "n_once"), [("ä", 0), ("A", 0), ("", -1), ("", 10**9), (1, 0), ("", "1")])
def test_a_forged_digest_is_refused(plan, rare, n_once):
    values = json.loads(plan.to_json())
    values["profiles"][0][-2:] = [rare, n_once]
    with pytest.raises(ValueError, match="no plan of a table"):
        Plan.from_json(json.dumps(values))


def test_a_plan_of_before_has_no_digest(plan, tmp_path, rng):
    values = json.loads(plan.to_json())
    values["profiles"] = [profile[:5] for profile in values["profiles"]]
    assert differences(Plan.from_json(json.dumps(values)), tmp_path, machines_of(rng, 400, first=5000), rng) == []
