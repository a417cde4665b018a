"""The study of what came after the article: its regimes, its cells, and what its report may say."""

import csv
import hashlib
import json
from dataclasses import replace

import beyond
import beyond_section
import numpy as np
import pytest
import run
from beyond import BASE, BEYOND_METHODS, REGIMES
from beyond_section import P1, RANKING, SEVEN
from scipy import stats
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from views import gaps, holm, percent

from nmlsdr import ResidualPropagation
from nmlsdr._report import rivals
from nmlsdr.experiments import protocol
from nmlsdr.experiments.protocol import draw, measures
from nmlsdr.experiments.results import Results, collect
from nmlsdr.experiments.store import CellFolder, CellKey

MEASURE_NAMES = list(protocol.MEASURE_NAMES)
METHODS = ("Residual", "NMLSDR", "Ridge")


def reproduce(*words):
    return run.main(["beyond", *map(str, words)])


def results(gains, methods=METHODS, seeds=2, regime=BASE):
    """A regime in which method j is the given gain of each set below the first one."""
    datasets = regime.datasets[: len(gains[0])]
    values = np.full((len(datasets), len(methods), 7, seeds), 0.6) + 0.01 * np.arange(seeds)
    for j, gain in enumerate(gains, start=1):
        values[:, j] -= np.asarray(gain)[:, None, None] / 100
    seconds = np.ones((len(datasets), len(methods), seeds))
    parts = {"metrics": values, "f1": np.full_like(values, np.nan), "p1": values}
    return Results(regime, datasets, methods, tuple(range(seeds)), parts, seconds, [])


# ---- what the study is


def test_this_study_does_not_change_the_settings_of_the_articles_studies(monkeypatch):
    """Their settings, and so their fingerprints, say what a study is and nothing more."""
    monkeypatch.setattr(protocol, "versions", lambda: {"nmlsdr": "0"})
    settings = {
        "toy": {"name": "toy", "flip": 0.1, "labeled": 0.5, "n_components": 3, "end_to_end": True, "drawn": ()},
        "benchmarks": {
            "name": "benchmarks",
            "flip": 0.1,
            "labeled": 0.3,
            "n_components": None,
            "end_to_end": False,
            "drawn": (),
        },
        "case-study": {
            "name": "case-study",
            "flip": 0.0,
            "labeled": 1.0,
            "n_components": 2,
            "end_to_end": True,
            "drawn": (1000, 1000),
        },
    }
    assert settings.keys() == protocol.STUDIES.keys()
    for name, study in protocol.STUDIES.items():
        study_settings = {**settings[name], "dropped": 0.0, "noise": ""}  # and no revision
        parts = {"settings": study_settings, "size": "full", "data": "drawn", "versions": {"nmlsdr": "0"}}
        mark = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
        assert protocol.fingerprint(study, "Toy", "full", None) == mark


def test_every_regime_has_its_own_fingerprint():
    marks = [protocol.fingerprint(regime, "Toy", "small", None) for regime in REGIMES.values()]
    assert len(set(marks)) == len(marks) == 9
    assert not REGIMES.keys() & protocol.STUDIES.keys()


def test_cells_of_other_methods_by_the_same_names_are_not_mixed_with_these(tmp_path, capfd):
    """An earlier run's cells had another fingerprint: the command refuses to go on in their folder."""
    marks = {protocol.fingerprint(replace(BASE, revision=n), "Toy", "small", None) for n in (0, 1, BASE.revision)}
    assert len(marks) == 3
    earlier = protocol.fingerprint(replace(BASE, revision=0), "Toy", "small", None)
    CellFolder(tmp_path).write(
        {
            "study": "beyond",
            "dataset": "Toy",
            "method": "Ridge",
            "seed": 0,
            "error": None,
            "fingerprint": earlier,
            "times": {},
        }
    )
    assert reproduce("--size", "small", "--seeds", 1, "--datasets", "toy", "--methods", "ridge", "--out", tmp_path) == 2
    assert "have other settings, data or versions" in capfd.readouterr().err


def test_the_base_regime_has_the_data_of_the_benchmarks():
    for seed in (0, 1):
        ours = draw(BASE, "Toy", seed, "small", None)
        article = draw(protocol.STUDIES["benchmarks"], "Toy", seed, "small", None)
        np.testing.assert_array_equal(ours.given, article.given)
        np.testing.assert_array_equal(ours.train, article.train)
        np.testing.assert_array_equal(ours.test_target, article.test_target)


def test_a_regime_differs_from_the_base_in_what_it_names():
    base = draw(BASE, "Toy", 0, "small", None)
    drawn = {name: draw(regime, "Toy", 0, "small", None) for name, regime in REGIMES.items()}
    for name, data in drawn.items():
        rows = data.labeled
        np.testing.assert_array_equal(data.target, base.target)
        assert rows.mean() == pytest.approx(REGIMES[name].labeled, abs=1e-3)
        wrong = data.given[rows] != data.target[rows]
        share = REGIMES[name].dropped or REGIMES[name].flip
        if REGIMES[name].dropped:
            assert not wrong[data.target[rows] == 0].any()
            wrong = wrong[data.target[rows] == 1]
        assert wrong.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / wrong.size))
    labeled_5 = drawn["beyond-labelled-5"].labeled
    labeled_50 = drawn["beyond-labelled-50"].labeled
    assert not (labeled_5 & ~base.labeled).any()
    assert not (base.labeled & ~labeled_50).any()
    draw_of_flips = drawn["beyond-flips-30"]
    rows = base.labeled
    assert (draw_of_flips.given != draw_of_flips.target)[rows][(base.given != base.target)[rows]].all()


# ---- a cell


@pytest.fixture(scope="module", autouse=True)
def blas_on_one_thread():
    """On so few rows, the threads of BLAS would mostly wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="module")
def toy():
    return draw(BASE, "Toy", 0, "small", None)


SLOW_METHODS = ["ExtraTrees", "RandomForest", "HistGradientBoosting", "Logistic-CV", "Average"]


@pytest.mark.parametrize(
    "method",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_METHODS else []) for name in BEYOND_METHODS],
)
def test_every_method_sees_given_labels_only(toy, method):
    """End to end, true labels and the labels of the test rows are not looked at."""
    scores = BEYOND_METHODS[method](toy).scores
    hidden = toy._replace(target=None, test_target=None)
    beyond._learned.clear()
    blind = BEYOND_METHODS[method](hidden).scores
    np.testing.assert_array_equal(scores, blind)
    assert scores.shape == toy.test_target.shape


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("Residual", {}),
        ("Residual-no-forest", {"n_estimators": 0}),
    ],
)
def test_the_method_is_measured_with_its_defaults_and_others(toy, method, settings):
    model = ResidualPropagation(n_jobs=1, **settings).fit(toy.train, toy.given)
    outcome = BEYOND_METHODS[method](toy)
    np.testing.assert_array_equal(outcome.predicted, model.predict(toy.test))
    assert (outcome.embedding is None) == bool(settings)
    made = beyond.measure_predictions(method, toy)[0]
    assert made["metrics"] == measures(toy.test_target, outcome.scores, outcome.predicted)
    assert made["f1"] is None


@pytest.mark.slow
def test_a_forest_tries_as_many_features_as_its_out_of_bag_error_says():
    """Where one of many features decides, a split has to try many of them; where all are noise, few do as well."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 60))
    for kind in (ExtraTreesRegressor, RandomForestRegressor):
        forest, left_out = beyond.grow_tuned_forest(kind, X, (X[:, :2] > 0).astype(int))
        assert isinstance(forest, kind)
        plain = kind(300, min_samples_leaf=3, max_features=1 / 3, bootstrap=True, oob_score=True, random_state=0)
        plain.fit(X, (X[:, :2] > 0).astype(int))
        np.testing.assert_allclose(left_out, plain.oob_prediction_)
        np.testing.assert_allclose(forest.predict(X), plain.predict(X))


@pytest.mark.slow
def test_the_cut_off_of_a_rival_is_that_of_the_method_from_its_own_out_of_bag_scores(toy):
    """It ranks as before, and so differs in the three measures of decisions alone."""
    rows = toy.labeled
    forest, left_out = beyond.grow_tuned_forest(ExtraTreesRegressor, toy.train[rows], toy.given[rows])
    made = beyond.measure_predictions("ExtraTrees", toy)[0]
    scores = forest.predict(toy.test)
    cutoff = rivals.f1_cutoff_of(left_out, toy.given[rows])
    assert 0 < cutoff < 0.5
    assert made["metrics"] == measures(toy.test_target, scores, (scores >= 0.5).astype(int))
    assert made["f1"] == measures(toy.test_target, scores, (scores >= cutoff).astype(int))
    assert [m for m in MEASURE_NAMES if made["metrics"][m] != made["f1"][m]] == ["HL'", "MaF1", "MiF1"]


@pytest.mark.slow
def test_the_average_is_that_of_its_three_learners(toy):
    """Each is fitted once for a draw; its seconds are the sum of theirs."""
    beyond._learned.clear()
    outcomes = {name: BEYOND_METHODS[name](toy) for name in (*beyond.LEARNERS, "Average")}
    *parts, average = outcomes.values()
    np.testing.assert_allclose(average.scores, np.mean([part.scores for part in parts], axis=0))
    assert average.seconds == sum(beyond._learned[name][1] for name in beyond.LEARNERS) > 0
    assert [part.seconds for part in parts] == [0, 0, 0]
    rows = toy.labeled
    left_out = [beyond._learned[name][0][1] for name in beyond.LEARNERS]
    assert average.cutoff == rivals.f1_cutoff_of(np.mean(left_out, axis=0), toy.given[rows])


@pytest.mark.parametrize("shape", [(40, 90), (90, 12)])
@pytest.mark.parametrize("strength", [0.01, 10.0])
def test_logistic_regression_is_that_of_the_rows_as_they_are(shape, strength):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    queries = rng.standard_normal((20, shape[1]))
    Y = (X[:, :2] + rng.standard_normal((shape[0], 2)) > 0.4).astype(int)
    probabilities = rivals.logistic(X, Y, queries, strength, solver="newton-cholesky", tol=1e-8)
    for c in range(2):
        model = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000).fit(X, Y[:, c])
        np.testing.assert_allclose(probabilities[:, c], model.predict_proba(queries)[:, 1], atol=1e-5)


def test_regressions_work_with_labels_of_one_value():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    Y = np.zeros((30, 3), dtype=int)
    Y[:, 1] = 1
    for predict in (rivals.logistic, beyond.boosted_trees, beyond.ridge):
        np.testing.assert_allclose(predict(X, Y, X[:5]), np.tile([0.0, 1.0, 0.0], (5, 1)), atol=1e-12)


def test_cross_validation_chooses_the_strength_that_predicts_best(monkeypatch):
    """Noise wants the strongest regularisation, a clean and strong rule does not."""
    rng = np.random.default_rng(0)
    noisy = rng.standard_normal((200, 60))
    clean = rng.standard_normal((200, 5))
    strengths = []
    real = rivals.logistic
    monkeypatch.setattr(rivals, "logistic", lambda *args, **how: strengths.append(args[3]) or real(*args, **how))
    for X, Y in ((noisy, rng.integers(0, 2, (200, 2))), (clean, (clean[:, :2] > 0).astype(int))):
        rivals.TunedLogistic().fit(X, Y).predict_proba(X)
    first = strengths[: len(strengths) // 2]
    assert first[-1] == rivals.STRENGTHS[0]
    assert strengths[-1] == rivals.STRENGTHS[-1]


# ---- the command


def lines(folder, name):
    return list(csv.reader((folder / "tables" / f"{name}.csv").read_text().splitlines()))


@pytest.mark.slow
def test_a_small_run_resumes_and_reports(tmp_path, capfd):
    words = ("--size", "small", "--seeds", 1, "--jobs", 1, "--datasets", "toy", "--out", tmp_path)
    assert reproduce(*words, "--methods", "residual", "NMLSDR") == 0
    first = {path: path.read_bytes() for path in (tmp_path / "cells").iterdir()}
    assert len(first) == 2
    methods_to_add = ("nmlsdr", "Residual-no-forest", "extratrees", "ridge", "NMLSDR*")
    assert reproduce(*words, "--methods", "Residual", *methods_to_add) == 0
    assert len(list((tmp_path / "cells").iterdir())) == 6
    assert first == {path: path.read_bytes() for path in first}
    out, err = capfd.readouterr()
    assert "In the folder already: 2 of 6 cells" in err
    assert "6 cells, 0 failed" in out
    assert [row[0] for row in lines(tmp_path, "beyond-end-to-end")] == ["Data set", "Toy", "mean"]
    assert lines(tmp_path, "beyond-p1")[0] == ["Data set", "Residual", "NMLSDR", "NMLSDR*"]
    methods = ["Residual", "Residual-no-forest", "ExtraTrees", "ExtraTrees-f1", "Ridge", "NMLSDR", "NMLSDR*"]
    assert lines(tmp_path, "beyond-rankings")[0] == ["Data set", *methods[:3], *methods[4:]]  # thresholds rank nothing
    assert [row[0] for row in lines(tmp_path, "beyond-measures")] == ["Method", *methods]
    assert len(lines(tmp_path, "beyond-cells")) == 1 + 7 * (6 + 1 + 3)
    assert (tmp_path / "times.csv").read_text().count("\nbeyond,Toy,") == 6
    page = (tmp_path / "report.html").read_text()
    for sentence in (
        "was designed on these ten data sets",
        "loses on",
        "to say that it is better than forests in general",
        "A reduced run",
    ):
        assert sentence in page
    assert '<li class="yes">' not in page
    assert str(tmp_path) not in page
    assert "<h1>ResidualPropagation compared with other classifiers</h1>" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--methods", "CCA"), "no method named 'CCA'; choose one of Residual"), (("--datasets", "bird"), "'bird'")],
)
def test_unknown_names_raise_a_clear_error(tmp_path, capfd, words, message):
    assert reproduce(*words, "--out", tmp_path / "out") == 2
    err = capfd.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1


# ---- what the report says


def record(dataset, method, seed, value, p1=None, **fields):
    values = dict.fromkeys(MEASURE_NAMES, value)
    beside = p1 and dict.fromkeys(MEASURE_NAMES, p1)
    return {"metrics": values, "f1": None, "p1": beside, "times": {"classify": 2.0}, "error": None, **fields}


def test_records_become_arrays_of_both_parts():
    records = {
        CellKey("beyond", "Yeast", "Residual", 0): record("Yeast", "Residual", 0, 0.5, 0.75),
        CellKey("beyond", "Birds", "Ridge", 1): record("Birds", "Ridge", 1, 0.25),
        CellKey("beyond", "Birds", "Residual", 1): record("Birds", "Residual", 1, 0, error="ValueError: no"),
        CellKey("beyond-flips-0", "Birds", "Ridge", 0): record("Birds", "Ridge", 0, 0.9),
    }
    collected = collect(BASE, records)
    assert (collected.datasets, collected.methods, collected.seeds) == (
        ("Birds", "Yeast"),
        ("Residual", "Ridge"),
        (0, 1),
    )
    assert percent(collected)[1, 0, 0] == 50
    assert percent(collected, P1)[1, 0, 0] == 75
    assert percent(collected)[0, 1, 1] == 25
    assert np.isnan(percent(collected, P1)[0, 1, 1])
    assert np.isnan(percent(collected)).sum() == 6
    assert collected.failures == ["beyond, Birds, Residual, seed 1: ValueError: no"]
    assert collect(REGIMES["beyond-flips-20"], records) is None


def test_holms_correction_computed_by_hand():
    # 4 p-values, sorted .005 .01 .03 .04, times 4 3 2 1, then never falling
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1.0, 1.0])


def test_gaps_are_paired_by_seed():
    """A rival with one seed is compared on that seed, not with the mean over others."""
    paired = results([[1.0], [2.0]])
    paired.values[:, 2, :, 1] = np.nan
    np.testing.assert_allclose(gaps(paired, "Residual", "Ridge"), [2.0])
    assert percent(paired)[0, 0, 1] > percent(paired)[0, 0, 0]


def test_wilcoxon_tests_are_scipy_s_and_corrected_together():
    rng = np.random.default_rng(1)
    gains = [rng.normal(2, 2, 10), rng.normal(0.2, 2, 10)]
    table = beyond_section.test_table(results(gains), SEVEN)
    p = [stats.wilcoxon(gain, method="exact").pvalue for gain in gains]
    order = np.argsort(p)
    corrected = {order[0]: min(1, 2 * p[order[0]]), order[1]: max(2 * p[order[0]], p[order[1]])}
    for j, (name, entries) in enumerate(table.rows):
        assert name == METHODS[j + 1]
        assert [e.text for e in entries] == [
            f"{gains[j].mean():+.2f}",
            f"{gains[j].std(ddof=1):.2f}",
            str((gains[j] > 0).sum()),
            str((gains[j] < 0).sum()),
            f"{p[j]:.3g}",
            f"{min(1, corrected[j]):.3g}",
            ", ".join(name for name, gain in zip(BASE.datasets, gains[j], strict=True) if gain < 0) or "none",
        ]


def test_ranking_measures_are_separate_and_only_complete_methods_are_compared():
    compared = results([[1.0] * 10, [2.0] * 10])
    compared.values[:, :, [MEASURE_NAMES.index(name) for name in ("HL'", "MaF1", "MiF1")]] = 0.2
    compared.values[compared.datasets.index("Corel"), 2] = np.nan
    table = beyond_section.measure_table(compared)
    assert table.header[1:] == ["RL'", "AP", "OE'", "Cov'", "mean of 4", "HL'", "MaF1", "MiF1", "mean of 7"]
    assert [name for name, _ in table.rows] == ["Residual", "NMLSDR"]
    for name, entries in table.rows:
        four = 60.5 - METHODS.index(name)
        texts = [entry.text for entry in entries]
        assert texts == [f"{four:.2f}"] * 5 + ["20.00"] * 3 + [f"{(4 * four + 60) / 7:.2f}"]
    assert beyond_section.set_table(compared, RANKING).rows[0][1][0].text == "60.50"
    assert beyond_section.set_table(compared, SEVEN).rows[0][1][0].text == "43.14"
    assert beyond_section.set_table(compared, P1).name == "beyond-p1"


def test_the_rule_for_the_cut_off_is_shown_as_a_method_of_its_own():
    ruled = results([[1.0], [2.0]])
    ruled.parts["f1"][:, 1] = 0.9
    shown = beyond_section.with_variant(ruled, "f1")
    assert shown.methods == ("Residual", "NMLSDR", "NMLSDR-f1", "Ridge")
    assert shown.values[0, :, 0, 0] == pytest.approx([0.6, 0.59, 0.9, 0.58])
    assert shown.seconds.shape == (1, 4, 2)


@pytest.mark.usefixtures("default_forest", "rows_as_they_stand")
@pytest.mark.shared
def test_cells_hold_the_known_means_of_emotions(shared):
    """Figures of programs written apart from this one (ResidualPropagation: the twin), on the benchmarks' noise."""
    for method, p1, end_to_end in (("Residual", 0.7235, 0.7351), ("NMLSDR", 0.7212, 0.6644)):
        key = CellKey("beyond", "Emotions", method, 0)
        made = protocol.run_cell(
            key, BASE, beyond.measure, size="full", data_home=str(shared / "data"), fingerprint="x"
        )
        assert made["error"] is None
        assert np.mean([*made["p1"].values()]) == pytest.approx(p1, abs=0.003)
        assert np.mean([*made["metrics"].values()]) == pytest.approx(end_to_end, abs=0.003)
