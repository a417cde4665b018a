"""Verdicts of people in the fit of ResidualPropagation: labels, rates, thresholds, forms that are taken and refused."""

import json
from pathlib import Path

import numpy as np
import pytest
import reference
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import cross_validate

from nmlsdr import ResidualPropagation
from nmlsdr._thresholds import rank_scores
from nmlsdr.graph import neighbor_graph
from nmlsdr.inspection import rank_suspects
from nmlsdr.metrics import macro_f1, micro_f1

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "residual_propagation.json").read_text())


def plain():
    return ResidualPropagation(n_neighbors=6, n_estimators=0)


def reviewed(rng, rate=0.1):
    """Rows, noisy labels of them, and right verdicts on the first 40 entries of the list."""
    Y = (rng.random((300, 3)) < 0.4).astype(int)
    X = 2 * Y + rng.normal(size=Y.shape)
    noisy_labels = np.where(rng.random(Y.shape) < rate, 1 - Y, Y)
    noisy_labels[:40] = -1
    before = ResidualPropagation(n_neighbors=5, n_estimators=10).fit(X, noisy_labels)
    first = rank_suspects(before, noisy_labels).first(40)
    verdicts = np.full(Y.shape, -1)
    verdicts[first.row, first.label] = Y[first.row, first.label]
    return X, noisy_labels, verdicts, before


def test_verdicts_replace_labels_and_keep_the_rates_of_the_labels_as_given(rng):
    """Verdicts on the clearest mistakes take away the evidence of the others."""
    X, noisy_labels, verdicts, before = reviewed(rng)
    decided = verdicts != -1
    corrected = np.where(verdicts == -1, noisy_labels, verdicts)
    alpha = np.where(decided, 0.0, np.where(noisy_labels == -1, 0.999, 0.6))
    alone = clone(before).fit(X, corrected, alpha=alpha)
    model_of_both = clone(before).fit(X, noisy_labels, verdicts=np.where(decided, verdicts, np.nan))
    assert alone.flip_rate_ < 0.5 * before.flip_rate_
    assert (model_of_both.flip_rate_, model_of_both._forget_rate) == (before.flip_rate_, before._forget_rate)
    for name in ("flip_scores_", "coef_", "label_distributions_", "propagated_errors_", "learner_weights_"):
        np.testing.assert_array_equal(getattr(model_of_both, name), getattr(alone, name))
    np.testing.assert_array_equal(model_of_both.label_distributions_[decided], verdicts[decided])
    stated = clone(before).fit(X, noisy_labels, verdicts=verdicts, alpha=np.where(noisy_labels == -1, 0.999, 0.6))
    np.testing.assert_array_equal(rank_scores(stated, X), rank_scores(model_of_both, X))
    nothing = clone(before).fit(X, noisy_labels, verdicts=np.full(noisy_labels.shape, -2))
    for name in ("flip_scores_", "thresholds_", "propagated_errors_"):
        np.testing.assert_array_equal(getattr(nothing, name), getattr(before, name))
    with pytest.warns(UserWarning, match="No verdict of 40 differs from y"):
        clone(before).fit(X, corrected, verdicts=verdicts)


def scores_without_own_label(model, rows):
    """V, which flip scores hold: distances of V, within [0, 1], from the labels."""
    E = model.propagated_errors_
    k = 10
    places = model.embedding_, model.ridge_scores_
    V = sum(reference.transition_matrix(neighbor_graph(at, k)) @ e for at, e in zip(places, E, strict=True))
    return 0.375 * V[rows]


@pytest.mark.usefixtures("rows_as_they_stand")
@pytest.mark.parametrize("rule", ["f1", "macro", "prior"])
@pytest.mark.parametrize("removed", [True, False])
def test_thresholds_with_verdicts_by_the_definition(rng, rule, removed):
    """As many entries as before, and no lower; or the threshold as before if people added labels."""
    X, noisy_labels, verdicts, _ = reviewed(rng, 0.2)
    noisy_labels[60:70, 1] = -1  # partly known
    verdicts[verdicts == (1 if removed else 0)] = -1
    if removed:  # in all, but one label was added to
        verdicts[:, 0] = -1
        verdicts[np.flatnonzero(noisy_labels[:, 0] == 0)[:2], 0] = 1
    model = ResidualPropagation(n_neighbors=5, n_estimators=0, threshold=rule, random_state=0)
    answers = (noisy_labels == -1) & (verdicts != -1)  # are labels
    with_unknown = noisy_labels
    noisy_labels = np.where(answers, verdicts, noisy_labels)
    before = clone(model).fit(X, noisy_labels)
    after = clone(model).fit(X, with_unknown, verdicts=verdicts)
    corrected = np.where(verdicts == -1, noisy_labels, verdicts)
    rows = (noisy_labels != -1).any(axis=1)
    known = noisy_labels != -1
    added = np.where(known, corrected - noisy_labels, 0).sum(axis=0)
    assert (added.sum() < 0) == removed
    assert added[0] > 0
    V0, V1 = (each.ridge_scores_[rows] + scores_without_own_label(each, rows) for each in (before, after))
    if rule != "prior":
        groups = [np.ones(3, bool)] if rule == "f1" else np.eye(3, dtype=bool)
        for chosen in groups:  # of labels that share a threshold
            t0 = before.thresholds_[chosen][0]
            chosen_entries = known[rows] & chosen
            expected = t0
            if added[chosen].sum() <= 0:
                expected = max(t0, np.sort(V1[chosen_entries])[-int((V0[chosen_entries] > t0).sum())])
            np.testing.assert_allclose(after.thresholds_[chosen], expected, atol=1e-12)
    else:
        r = before.flip_rate_
        M = known.sum(axis=0)
        shares = np.clip((np.where(known, noisy_labels, 0).sum(axis=0) / M - r) / (1 - 2 * r), 0, 1)
        shares += 0 if removed else np.maximum(added, 0) / M
        expected = reference.prior_cutoffs(np.clip(V1, 0, 1), shares)
        np.testing.assert_allclose(after.thresholds_, expected, atol=1e-12)


def test_macro_takes_the_verdicts_of_a_label_that_only_they_give(data):
    X, Y, _ = data
    noisy_labels = Y.copy()
    verdicts = np.full(Y.shape, -1)
    noisy_labels[:45, 2] = 0
    verdicts[:8, 2] = 1
    model = plain().set_params(threshold="macro")
    with pytest.warns(UserWarning, match="1 of 4 labels is never predicted"):
        assert clone(model).fit(X, noisy_labels).thresholds_[2] == np.finfo(float).max
    after = model.fit(X, noisy_labels, verdicts=verdicts)
    V = (
        after.ridge_scores_[:45]
        + 0.375
        * sum(
            reference.transition_matrix(neighbor_graph(at, 12)) @ E
            for at, E in zip((after.embedding_, after.ridge_scores_), after.propagated_errors_, strict=True)
        )[:45]
    )
    assert after.thresholds_[2] == pytest.approx(reference.f1_cutoff(V[:, 2], after.flip_rate_), abs=1e-9)


@pytest.mark.usefixtures("rows_as_they_stand")
@pytest.mark.usefixtures("default_forest")
@pytest.mark.shared
@pytest.mark.quick_cases("Emotions 1", "Birds 1")
@pytest.mark.parametrize("case", GOLDEN["verdicts"], ids=lambda case: f"{case['dataset']} {case['seed']}")
def test_fits_with_a_hundred_verdicts_equal_the_stored_numbers(case, shared):
    from nmlsdr.datasets import flip_labels, mask_labels
    from nmlsdr.experiments.protocol import STUDIES, draw

    d = draw(STUDIES["benchmarks"], case["dataset"], case["seed"], "full", str(shared / "data"))
    y = mask_labels(flip_labels(d.target, 0.1, random_state=case["seed"]), 0.3, random_state=case["seed"])
    before = ResidualPropagation(n_jobs=1).fit(d.train, y)
    first = rank_suspects(before, y).first(100)
    verdicts = np.full(y.shape, -1)
    verdicts[first.row, first.label] = d.target[first.row, first.label]
    after = clone(before).fit(d.train, y, verdicts=verdicts)
    corrected = np.where(verdicts == -1, y, verdicts)
    next_suspects = rank_suspects(after, y, verdicts=verdicts).first(100)
    wrong = (
        corrected[next_suspects.row, next_suspects.label] != d.target[next_suspects.row, next_suspects.label]
    ).sum()
    values = [after.flip_rate_, before.thresholds_[0], after.thresholds_[0]]
    for measure in (micro_f1, macro_f1):
        values += [measure(d.test_target, model.predict(d.test)) for model in (before, after)]
    np.testing.assert_allclose(values, case["values"], atol=GOLDEN["tolerance"])
    assert abs(wrong - case["wrong"]) <= 3


def test_verdicts_on_classes_replace_them(data):
    X, _, new = data
    names = np.array(["low", "mid", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])].astype(object)
    names[45:] = -1
    verdicts = np.full(90, None)
    verdicts[:3] = ["high", "low", "mid"]
    verdicts[50] = "high"
    corrected = np.where(verdicts == None, names, verdicts)  # noqa: E711
    model = plain().fit(X, names, verdicts=verdicts)
    alpha = np.where(corrected == -1, 0.999, np.where(corrected == verdicts, 0.0, 0.6))
    expected = plain().fit(X, corrected, alpha=alpha)
    np.testing.assert_allclose(rank_scores(model, new), rank_scores(expected, new), atol=1e-9)
    with pytest.raises(ValueError, match="verdicts is 'none' in row 0, a class that no row of y has"):
        plain().fit(X, names, verdicts=["none"] * 90)


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        (np.zeros((90, 3)), r"verdicts must have the shape of y, \(90, 4\), got \(90, 3\)"),
        (np.full((90, 4), 0.5), "verdicts must contain 1, 0, and -1 or NaN where nobody decided, got 0.5 in row 0"),
        (sparse.csr_array((90, 4)), "verdicts is sparse, and its empty cells would be verdicts of 0"),
    ],
)
def test_verdicts_of_another_form_are_refused(data, verdicts, sentence):
    with pytest.raises(ValueError, match=sentence):
        plain().fit(data[0], data[1], verdicts=verdicts)


def test_verdicts_on_unlabelled_rows_and_with_names(data):
    pandas = pytest.importorskip("pandas")
    X, Y, new = data
    verdicts = pandas.DataFrame(np.full((90, 4), -1), columns=list("dcba"))
    verdicts.loc[60, "a"] = 1
    model = plain().fit(X, pandas.DataFrame(Y, columns=list("abcd")), verdicts=verdicts)
    assert model.n_labeled_ == 46
    assert model.label_distributions_[60, 0] == 1
    assert model.label_distributions_[60, 1:].max() < 1
    assert np.isfinite(rank_scores(model, new)).all()


def test_verdicts_are_routed_with_their_rows(rng):
    Y = (rng.random((80, 2)) < 0.4).astype(int)
    X = 2 * Y + rng.normal(size=Y.shape)
    routed_calls = []

    class Recorded(ResidualPropagation):
        def fit(self, X, y, *, graph=None, alpha=None, labeled=None, verdicts=None):
            routed_calls.append((np.asarray(X), verdicts))
            return super().fit(X, 1 - y, graph=graph, alpha=alpha, labeled=labeled, verdicts=verdicts)

    with config_context(enable_metadata_routing=True):
        model = Recorded(n_neighbors=4, n_estimators=0).set_fit_request(verdicts=True)
        cross_validate(model, X, Y, cv=3, params={"verdicts": Y}, scoring="neg_mean_squared_error")
    assert len(routed_calls) == 3
    for rows, verdicts in routed_calls:
        assert verdicts.tolist() == [Y[np.flatnonzero((row == X).all(axis=1))[0]].tolist() for row in rows]


def test_answers_to_unknown_entries_are_labels_in_both_fits(rng):
    """Rate, thresholds and shares are those of the same answers in y; neighbours do not change the answers."""
    X, noisy_labels, _, _ = reviewed(rng, 0.2)
    y = noisy_labels.astype(float)
    y[rng.random(len(y)) < 0.5] = -1
    answers = (y == -1) & (noisy_labels != -1) & (rng.random(y.shape) < 0.5)
    verdicts = np.where(answers, noisy_labels, -1)
    for rule in ("f1", "macro", "prior"):
        model = ResidualPropagation(n_neighbors=5, n_estimators=3, threshold=rule)
        observed = clone(model).fit(X, np.where(answers, noisy_labels, y))
        model_of_answers = clone(model).fit(X, y, verdicts=verdicts)
        assert model_of_answers.flip_rate_ == observed.flip_rate_ != clone(model).fit(X, y).flip_rate_
        assert model_of_answers.n_labeled_ == observed.n_labeled_
        if rule == "f1":
            assert (model_of_answers.thresholds_ >= observed.thresholds_).all()
    alpha = np.where(answers, 0.0, np.where(y != -1, 0.6, 0.999))
    np.testing.assert_allclose(
        model_of_answers.label_distributions_,
        clone(model).fit(X, np.where(answers, noisy_labels, y), alpha=alpha).label_distributions_,
    )


@pytest.mark.parametrize("undecided", [-1, None])
def test_a_class_that_is_called_minus_two_can_be_decided(rng, undecided):
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] > 0.5, 2, np.where(X[:, 0] < -0.5, -2, 0))
    model = ResidualPropagation(n_estimators=0)
    verdicts = np.full(60, undecided, dtype=object if undecided is None else int)
    assert_same = np.testing.assert_array_equal
    verdicts[:10] = -2
    corrected = y.copy()
    corrected[:10] = -2
    decided = clone(model).fit(X, y, verdicts=verdicts)
    alpha = np.where(np.arange(60) < 10, 0.0, 0.6)
    assert_same(decided.decision_function(X), clone(model).fit(X, corrected, alpha=alpha).decision_function(X))
    verdicts[3] = 7
    with pytest.raises(ValueError, match="verdicts is 7 in row 3, a class that no row of y has"):
        clone(model).fit(X, y, verdicts=verdicts)
    numbers = np.where(X[:, 0] > 0, 1, 0)
    ignored = np.full(60, -2)
    ignored[0] = 1 - numbers[0]
    single_verdict = np.where(np.arange(60) == 0, 1 - numbers[0], -1)
    by_minus_two = clone(model).fit(X, numbers, verdicts=ignored).decision_function(X)
    assert_same(by_minus_two, clone(model).fit(X, numbers, verdicts=single_verdict).decision_function(X))
