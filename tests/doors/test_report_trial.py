"""The trial of the report: methods compared by cross-validation, significance, rare labels, the learning curve."""

import numpy as np
import pytest
from report_cases import Knn, two_groups
from sklearn.preprocessing import StandardScaler

from nmlsdr import MLkNN
from nmlsdr._report import trial as trials
from nmlsdr._report.curve import curve_picture
from nmlsdr._report.rivals import STRENGTHS, TunedLogistic
from nmlsdr._report.scores import describe_rare
from nmlsdr._report.significance import against_best, describe_signal, holm
from nmlsdr.metrics import score_table

pytest.importorskip("jinja2")


def test_the_trial_scores_rows_that_were_not_fitted_on(rng):
    """A method that remembers its rows finds none of those it is asked about; labels of test rows are no use to it."""
    X, y = two_groups(rng)
    X[:, 0] = np.arange(len(X))  # names the row
    test_folds = []

    class Remembers(Knn):
        def fit(self, X, y):
            super().fit(X, y)  # which forgets what an earlier fit set
            self.rows_ = {int(v) for v in X[:, 0]}
            return self

        def predict_proba(self, X):
            test_rows = {int(v) for v in X[:, 0]}
            assert not test_rows & self.rows_
            test_folds.append(test_rows)
            return super().predict_proba(X)

    facts = trials.run_trial({"it": ("", Remembers(3))}, trials.Labelled(None, X, y), list("abc"), n_folds=4)
    labeled = set(np.flatnonzero((y != -1).any(axis=1)).tolist())
    assert set.union(*test_folds) == labeled
    assert sum(map(len, test_folds)) == len(labeled) == facts["n_rows"]


def test_rows_of_one_group_stay_in_one_fold(rng):
    X, y = two_groups(rng)
    groups = np.arange(len(X)) // 4
    X[:, 0] = groups
    test_rows = []

    class Sees(Knn):
        def fit(self, X, y, groups):
            super().fit(X, y)  # which forgets what an earlier fit set
            assert np.array_equal(groups, X[:, 0])
            self.groups_ = set(X[(y != -1).any(axis=1), 0])
            return self

        def predict_proba(self, X):
            assert not self.groups_ & set(X[:, 0])
            test_rows.extend(X[:, 0])
            return super().predict_proba(X)

    methods = {"it": ("", Sees(3))}
    assert trials.run_trial(methods, trials.Labelled(None, X, y, groups), list("abc"), n_folds=4) is not None
    assert len(test_rows) == (y != -1).any(axis=1).sum()
    assert trials.run_trial(methods, trials.Labelled(None, X, y, groups // 4), list("abc"), n_folds=4) is None


def test_the_trial_is_the_mean_over_folds_of_the_measures(rng):
    from sklearn.model_selection import KFold

    from nmlsdr.model_selection import LabeledRowsSplit

    X, y = two_groups(rng)
    methods = {"ours": ("", Knn(3)), "rival": ("", MLkNN(9))}
    facts = trials.run_trial(methods, trials.Labelled(StandardScaler(), X, y), list("abc"), n_folds=3)
    for row, (_, method) in zip(facts["methods"], methods.values(), strict=True):
        folds = []
        for train, test in LabeledRowsSplit(KFold(3, shuffle=True, random_state=0)).split(X, y):
            scaler = StandardScaler().fit(X[train])
            scores = method.fit(scaler.transform(X[train]), y[train]).predict_proba(scaler.transform(X[test]))
            folds.append(list(score_table(y[test], scores).values()))
        assert [cell["mean"] for cell in row["cells"]] == pytest.approx(np.mean(folds, axis=0))
        assert [cell["std"] for cell in row["cells"]] == pytest.approx(np.std(folds, axis=0, ddof=1))
    by_label = {row["label"]: row for row in facts["per_label"]}
    assert by_label["a"]["positives"] == (y[:, 0] == 1).sum()
    assert by_label["c"]["recall"] is None
    assert by_label["c"]["ap"] is None


def test_too_few_rows_for_folds_are_no_trial(rng):
    X, y = two_groups(rng)
    y[9:] = -1
    assert trials.run_trial({"it": ("", Knn(2))}, trials.Labelled(None, X, y), list("abc"), n_folds=5) is None


def test_the_rival_is_tuned_and_knows_labels_of_one_value(rng):
    X, y = two_groups(rng, 200)
    rival = TunedLogistic().fit(X, y)
    assert rival.strength_ in STRENGTHS
    scores = rival.predict_proba(X)
    labeled = y[:, 0] != -1
    assert ((scores[labeled, 0] > 0.5) == (y[labeled, 0] == 1)).mean() > 0.95
    assert (scores[:, 2] == 0).all()


# ---------------------------------------------------------------- what follows from the folds


def test_nothing_is_claimed_on_noise_and_a_signal_is_seen(rng):
    """Labels that two of eight features give, and the same labels in another order."""
    X = rng.normal(size=(120, 8))
    Y = (X[:, :2] + 0.5 * rng.normal(size=(120, 2)) > 0).astype(int)
    methods = {"ours": ("", Knn(5)), "rival": ("", MLkNN(15))}
    for labels, informative in ((Y, True), (Y[rng.permutation(120)], False)):
        trial = trials.run_trial(methods, trials.Labelled(None, X, labels), list("ab"))
        assert trial["signal"]["informative"] == informative
        if not informative:
            assert not trial["rare"]["recommended"]
            assert not any(comparison["significant"] for comparison in trial["against_best"].values())
    assert trial["signal"]["auc"] == pytest.approx(0.5, abs=0.12)


def test_a_rival_that_leads_by_chance_is_not_the_better_choice():
    """Of five folds the mean must be 2.78 standard errors from 0, for one rival; for more of them more.

    The variance is that of overlapping training sets: 1/5 + 1/4 in place of 1/5.
    """
    ours = np.zeros(5)
    folds = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    standard_error = folds.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    for n_errors, expected in ((2.76, False), (2.79, True)):
        comparison = against_best({"ours": ours, "b": folds + n_errors * standard_error}, informative=True)
        assert (comparison["significant"], comparison["gap"] < 0) == (expected, True)
    scores_of_three_rivals = {"ours": ours, "b": folds + 2.79 * standard_error, "c": folds, "d": folds}
    assert not against_best(scores_of_three_rivals, informative=True)["significant"]
    assert not describe_signal({"ours": np.array([0.3, 0.31, 0.29, 0.3, 0.32])})["informative"]  # worse than chance
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_the_report_does_not_promise_fewer_mistakes_than_were_made(rng):
    """Two of five labels are forgotten, and hardly any 0 becomes a 1; the flip rate alone saw nothing of that."""
    truth = rng.random((400, 3)) < 0.3
    X = truth @ rng.normal(size=(3, 6)) * 3 + rng.normal(size=(400, 6))
    y = (truth & (rng.random(truth.shape) > 0.4)).astype(int)
    mistakes = trials.EveryRule(n_neighbors=5, n_estimators=10, n_jobs=1).fit(X, y).mistakes_
    assert mistakes.forgotten[0] <= (y != truth).sum() <= mistakes.forgotten[1]
    assert mistakes.wrong[1] < (y != truth).sum()


def test_rare_labels_are_counted_under_each_rule():
    row = {"label": "a", "positives": 4, "predicted": 0, "f1": 0.0, "hits": 0, "known": 100}
    common = row | {"label": "b", "positives": 40}
    better = row | {"hits": 3, "predicted": 5, "f1": 2 / 3}
    rare_labels = describe_rare({"f1": [common, row], "prior": [common, better]})
    assert rare_labels["labels"] == ["a"]
    assert rare_labels["best"] == {"threshold": "prior", "hits": 3, "given": 4, "predicted": 5, "f1": 2 / 3}


# ---------------------------------------------------------------- the learning curve


def test_the_learning_curve_uses_fewer_labels_of_the_same_rows(rng):
    X, y = two_groups(rng)
    fit_sizes = []

    class Counts(trials.EveryRule):
        def fit(self, X, y):
            fit_sizes.append((len(X), int((y != -1).any(axis=1).sum())))
            return super().fit(X, y)

    curve = trials.learning_curve(
        Counts(n_neighbors=3, n_estimators=0), trials.Labelled(StandardScaler(), X, y), informative=True
    )
    assert [labeled / fit_sizes[3][1] for _, labeled in fit_sizes[:4]] == pytest.approx(trials.CURVE_SHARES, abs=0.03)
    assert len({rows for rows, _ in fit_sizes[:4]}) == 1
    assert len(curve["points"]) == 4
    assert curve["half"] == curve["points"][1]
    assert curve["gap"] == pytest.approx(curve["points"][3]["f1"] - curve["points"][1]["f1"])
    assert trials.learning_curve(Counts(), trials.Labelled(None, X[:15], y[:15]), informative=True) is None


@pytest.mark.parametrize("f1", [0.0, 0.5, 1.0])
def test_a_flat_learning_curve_has_a_scale(f1):
    picture = curve_picture([{"rows": rows, "f1": f1, "std": 0.0} for rows in (25, 50, 75, 100)])
    assert len(picture["ticks"]) == 2
    assert all(picture["top"] <= place["y"] <= picture["bottom"] for place in picture["points"])
