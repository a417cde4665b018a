"""Each study whose parts no other test runs: its program on small tables, from the first draw to the result files."""

import sys

import mistakes
import noise_tables
import numpy as np
import pytest
import review
import review_scores
import rivals
from sklearn.datasets import make_multilabel_classification

from nmlsdr.datasets import make_toy


@pytest.fixture
def run(monkeypatch):
    """Run the program of a study with other settings; return its result files, name: (rows, values)."""

    def run(study, *words, **settings):
        kept = {}

        def keep(name, *, rows, columns, values=None, **_):
            for key, heading, form in columns:  # a column that no row has would be shown as dashes
                found = [row[key] for row in rows if row.get(key) is not None]
                assert found, (name, heading)
                assert [format(one, form.split()[0]) for one in found], (name, heading)
            kept[name] = rows, values or {}

        for name, value in {**settings, "save_table": keep}.items():
            monkeypatch.setattr(study, name, value)
        monkeypatch.setattr(study, "choose_folder", lambda replace: None, raising=False)
        monkeypatch.setattr(sys, "argv", [study.__name__, *words])
        study.main()
        return kept

    return run


def bunch(*_, **__):
    return make_toy(n_samples=90, n_noise_blocks=1, random_state=0)


def test_mistakes(run):
    kept = run(
        mistakes,
        "test",
        "--draws",
        "1",
        "--tables",
        "machines",
        TREES=5,
        RATES={"none": (0.0,), "mixed": (0.3,)},
        BLIND={},
    )
    assert kept.keys() == {"mistakes_test", "mistakes_test_rules", "mistakes_test_each"}
    rows, values = kept["mistakes_test"]
    assert values["cells"] == 2 == rows[0]["cells"]
    assert len(kept["mistakes_test_rules"][0]) == len(mistakes.RULES)


def test_rivals(run, tmp_path):
    tables = {name: rivals.TABLES[name] for name in ("shifted means", "groups")}
    methods = (rivals.OURS, "Ridge", "NMLSDR")
    kept = run(
        rivals,
        "--sets",
        "--draws",
        "1",
        TABLES=tables,
        METHODS=methods,
        FOREST="Ridge",
        ROWS=150,
        KEPT=tmp_path / "kept.jsonl",
        commit=lambda: "here",
    )
    assert kept.keys() == {"rivals", "rivals_rankings", "rivals_tests", "rivals_gains"}
    assert len(kept["rivals"][0]) == len(tables) * len(rivals.NOISES)
    assert kept["rivals_tests"][1]["flips_NMLSDR_seven_won"] in (0, 1, 2)
    lines = (tmp_path / "kept.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(tables) * len(rivals.NOISES) * len(methods)


def test_review(run):
    kept = run(
        review,
        "--seeds",
        "1",
        SETS=("Toy",),
        paper_split=bunch,
        cleanlab_scores=lambda y, p: abs(y - p),
        cleanlab_mask=lambda y, p: abs(y - p) > 0.5,
    )
    assert kept.keys() == {"review", "review_cleanlab", "review_masks"}
    assert all(len(rows) == len(review.NOISES) for rows, _ in kept.values())


def test_review_scores(run):
    def topics(seed):
        X, truth = make_multilabel_classification(120, 20, n_classes=4, random_state=seed)
        return np.sqrt(X), truth

    kept = run(review_scores, "--seeds", "1", SETS=(), SIMULATED={"Topics": topics}, CHANGED=1)
    rows, values = kept["review-scores"]
    assert [row["data"] for row in rows] == ["Topics", "Topics", "mean", "mean"]
    assert values["flips_trend"] == rows[0]["trend"]


def test_noise_tables(run):
    rows, values = run(noise_tables, "--tables", "2", SHAPES={"40 rows": (40, 3)})["noise-tables"]
    assert [row["shape"] for row in rows] == ["40 rows", "all"]
    assert values["claims"] <= rows[0]["tables"] == 2


def test_each_claim_of_a_report_is_counted():
    compared = {"significant": False, "p": 0.5, "gap": 0.1, "std": 0.2}
    trial = {"against_best": {"MiF1": compared, "AP": None}, "signal": {"informative": False}}
    facts = {
        "trial": trial | {"rare": None},
        "curve": None,
        "notes": [],
        "wrong": {"forgotten": [0, 9], "wrong": [0.4, 2]},
    }
    assert not any(noise_tables.claims(facts).values())
    changes = {
        "comparison": {"trial": {**facts["trial"], "against_best": {"MiF1": {**compared, "significant": True}}}},
        "curve": {"curve": {**compared, "significant": True}},
        "threshold": {"trial": {**facts["trial"], "rare": {"recommended": True}}},
        "clearest": {"trial": {**facts["trial"], "signal": {"informative": True}}},
        "warning": {"notes": ["a feature alone predicts a label"]},
        "wrong": {"wrong": {"forgotten": [1.2, 9], "wrong": [0, 2]}},
    }
    for name, change in changes.items():
        claimed = {key for key, value in noise_tables.claims(facts | change).items() if value}
        assert claimed == {"claims", name}
