"""The review of the study of what came after the article: its lists, cleanlab's, and what the report says of them."""

import beyond
import numpy as np
import pytest
import run
from beyond import REVIEWERS, REVIEWS, beyond_cells, precisions
from beyond_section import with_chance
from sklearn.metrics import average_precision_score

from nmlsdr import ResidualPropagation
from nmlsdr.experiments import protocol
from nmlsdr.experiments.results import Results, collect
from nmlsdr.experiments.store import CellKey
from nmlsdr.inspection import rank_suspects

FLIPS, DROPPED = REVIEWS.values()


@pytest.fixture(scope="module")
def toy():
    return protocol.draw(DROPPED, "Toy", 0, "small", None)


def results(gains, seeds=5, regime=FLIPS):
    """Reviews in which Residual gains so much over Propagation on each set."""
    values = np.full((len(gains), 3, 4, seeds), 0.5)
    values[:, 0] += np.asarray(gains)[:, None, None] / 100
    values[:, 2] = 0.1
    methods = ("Residual", "Propagation", "chance")
    datasets = regime.datasets[: len(gains)]
    return Results(regime, datasets, methods, tuple(range(seeds)), {"metrics": values}, values[:, :, 0], [])


# ---- lists


def test_precision_of_a_list_counted_by_hand():
    """Wrong at rank 1 and 3 of all: (1/1 + 2/3) / 2; of given 0s at rank 2; of given 1s at rank 1."""
    labels = np.array([[1, 0], [0, 1]])
    wrong = np.array([[True, False], [True, False]])
    scores = np.array([[0.9, 0.8], [0.7, 0.1]])
    by_list = precisions(scores, labels, wrong)
    assert by_list.pop("unknown") is None
    assert by_list == pytest.approx({"both": 5 / 6, "missing": 0.5, "spurious": 1.0})


def test_the_list_of_unknown_kind_is_that_of_rank_suspects():
    """Where no given 1 is wrong, all of them come last; where 0s are five times as often wrong, one comes first."""
    labels = np.tile([1, 0, 1, 0], (25, 1))  # so many rows that scores to .9 are not clipped
    wrong = np.zeros(labels.shape, dtype=bool)
    scores = np.zeros(labels.shape)
    wrong[0, 1] = True
    scores[0] = [0.9, 0.5, 0.8, 0.2]
    assert precisions(scores, labels, wrong)["both"] == pytest.approx(1 / 3)
    assert precisions(scores, labels, wrong, (0.0, 1.0))["unknown"] == 1.0
    assert precisions(scores, labels, wrong, (0.1, 0.5))["unknown"] == pytest.approx(1 / 2)


def test_a_list_in_no_order_has_the_share_of_its_wrong_labels():
    labels = np.array([[1, 0, 0, 0]])
    wrong = np.array([[False, True, False, False]])
    by_list = precisions(np.zeros((1, 4)), labels, wrong)
    assert (by_list["both"], by_list["missing"], by_list["spurious"]) == (0.25, pytest.approx(1 / 3), None)
    assert precisions(np.zeros((1, 4)), labels, wrong, (0.0, 0.0))["unknown"] == 0.25


@pytest.mark.slow
def test_no_reviewer_sees_true_labels(toy):
    pytest.importorskip("cleanlab")
    blind = toy._replace(target=None, test_target=None)
    for name, review in REVIEWERS.items():
        blind_review = review(blind)
        full_review = review(toy)
        assert blind_review.scores.shape == (toy.labeled.sum(), 4), name
        np.testing.assert_array_equal(blind_review.scores, full_review.scores)
        assert (blind_review.adjusted is None) == (not name.startswith("cleanlab"))


def test_the_score_is_that_of_the_fit(toy):
    labels = toy.given[toy.labeled]
    wrong = labels != toy.target[toy.labeled]
    model = ResidualPropagation(n_jobs=1).fit(toy.train, toy.given)
    np.testing.assert_array_equal(REVIEWERS["Residual"](toy).scores, model.flip_scores_[toy.labeled])
    unknown = rank_suspects(model, toy.given)
    order = (np.cumsum(toy.labeled) - 1)[unknown.row], unknown.label
    expected = average_precision_score(wrong[order], unknown.score)
    made = beyond.measure_review("Residual", toy)[0]
    assert made["metrics"]["unknown"] == pytest.approx(expected, abs=1e-12)
    assert made["chance"]["unknown"] == made["chance"]["both"]
    assert beyond.measure_review("Propagation", toy)[0]["metrics"]["unknown"] is None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "predictions"), [("forest", beyond.out_of_bag), ("logistic", beyond.out_of_fold)])
def test_cleanlab_judges_out_of_sample_predictions(toy, name, predictions):
    """Its self-confidence is the probability of what is given."""
    pytest.importorskip("cleanlab")
    labels = toy.given[toy.labeled]
    O = np.clip(predictions(toy.train[toy.labeled], labels), 0, 1)
    reviewed = REVIEWERS[f"cleanlab-{name}"](toy)
    np.testing.assert_allclose(reviewed.scores, np.abs(labels - O), atol=1e-12)
    assert (np.abs(reviewed.adjusted - reviewed.scores) > 1e-3).any()


# ---- cells and the command


def test_cells_of_the_review(monkeypatch):
    def review_cells(**chosen):
        return [key for key in beyond_cells(**chosen) if key.study in REVIEWS]

    monkeypatch.setattr(beyond, "has_cleanlab", lambda: True)
    cells = review_cells(seeds=2)
    assert len(set(cells)) == len(cells) == 2 * 2 * 6 * len(REVIEWERS)
    monkeypatch.setattr(beyond, "has_cleanlab", lambda: False)
    assert {key.method for key in review_cells(seeds=1)} == {"Residual", "Propagation"}
    assert review_cells(seeds=1, datasets=("Toy",)) == []
    assert len(review_cells(seeds=1, datasets=("Birds",), methods=("Residual", "Ridge"))) == 2


@pytest.mark.slow
@pytest.mark.shared
def test_a_small_review_resumes_when_cleanlab_is_there(tmp_path, capfd, shared, monkeypatch):
    pytest.importorskip("cleanlab")
    words = [
        "beyond",
        "--size",
        "small",
        "--seeds",
        "1",
        "--jobs",
        "1",
        "--datasets",
        "emotions",
        "--methods",
        "cleanlab-logistic",
        "Propagation",
        "--out",
        str(tmp_path),
        "--data-home",
        str(shared / "data"),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(beyond, "has_cleanlab", lambda: False)
        assert run.main(words) == 0
    output = capfd.readouterr()
    assert "cleanlab is not installed, so its lists are left out" in output.err
    assert "2 cells, 0 failed" in output.out
    assert run.main(words) == 0
    output = capfd.readouterr()
    assert "not installed" not in output.err
    assert "4 cells, 0 failed" in output.out
    table = (tmp_path / "tables" / "beyond-review.csv").read_text().splitlines()
    assert table[0] == '"Noise, list",Propagation,cleanlab-logistic,cleanlab-logistic-adjusted,chance'
    assert [line.split(",")[0] for line in table[1:]] == [*['"10 % flips'] * 3, *['"40 % of the positives dropped'] * 2]


# ---- what the report says


def test_records_become_arrays_and_failures_are_reported():
    good = {
        "metrics": {"both": 0.5, "unknown": None, "missing": 0.25, "spurious": None},
        "adjusted": None,
        "chance": {"both": 0.1, "unknown": 0.1, "missing": 0.1, "spurious": None},
        "times": {},
        "error": None,
    }
    records = {
        CellKey(FLIPS.name, "Birds", "Residual", 0): good,
        CellKey(FLIPS.name, "Yeast", "Propagation", 0): {**good, "error": "ValueError: no"},
    }
    collected = with_chance(collect(FLIPS, records))
    assert (collected.datasets, collected.methods) == (("Birds", "Yeast"), ("Residual", "Propagation", "chance"))
    np.testing.assert_array_equal(collected.values[0, 0, :, 0], [0.5, np.nan, 0.25, np.nan])
    np.testing.assert_array_equal(collected.values[0, 2, :, 0], [0.1, 0.1, 0.1, np.nan])
    assert np.isnan(collected.values[1]).all()
    assert collected.failures == ["beyond-review-flips, Yeast, Propagation, seed 0: ValueError: no"]
    assert collect(DROPPED, records) is None
