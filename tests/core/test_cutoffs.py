"""Thresholds from the labels' shares: by hand, against the twin, in the classifiers, and labels never given."""

import warnings

import numpy as np
import pytest
import reference
from projections import draw_binary
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from nmlsdr import MLkNN, MultiLabelPropagation, ResidualPropagation, SemiSupervisedMLkNN, _thresholds, metrics, mlknn
from nmlsdr._checks.labels import check_labels
from nmlsdr._thresholds import f1_cutoff, learned_cutoffs, prior_cutoffs, rank_scores
from nmlsdr.graph import neighbor_graph, squared_neighbors, transition_matrix
from nmlsdr.model_file import load_model, save_model
from nmlsdr.model_selection import SCORERS

CLASSIFIERS = [MLkNN, SemiSupervisedMLkNN]
EVERY = [*CLASSIFIERS, MultiLabelPropagation, ResidualPropagation]


@pytest.fixture
def data(rng):
    """120 rows, one common label and two rare ones."""
    X, Y = draw_binary(rng, 120, 6, 3)
    Y[:, 1:] *= rng.random((120, 2)) < 0.25
    return X, Y


def test_prior_cutoffs_computed_by_hand():
    # 10 rows.  A share of .3: the third largest.  .25: 2.5 rows, half to even, so the second largest.
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    assert prior_cutoffs(scores[:, None], [0.3]).tolist() == [0.7]
    assert prior_cutoffs(scores[:, None], [0.25]).tolist() == [0.8]
    assert prior_cutoffs(scores[:, None], [0.0]).tolist() == [0.9]  # one row at least


def test_ties_that_would_predict_a_label_far_too_often_raise_the_cut_off():
    tied = np.array([0.9, *[0.4] * 7, 0.1, 0.1])
    # m = 2: .4, which 8 rows reach, more than max(4, 7): the next larger
    assert prior_cutoffs(tied[:, None], [0.2]).tolist() == [0.9]
    # m = 3: 8 is no more than max(6, 8)
    assert prior_cutoffs(tied[:, None], [0.3]).tolist() == [0.4]
    assert prior_cutoffs(np.zeros((10, 1)), [0.1]).tolist() == [np.inf]


@pytest.mark.parametrize("Classifier", [*CLASSIFIERS, MultiLabelPropagation, ResidualPropagation])
@pytest.mark.parametrize("n_rows", [4, 6, 12])
@pytest.mark.parametrize("rule", ["macro", "prior"])
def test_a_label_that_no_row_is_known_to_have_is_never_predicted(Classifier, n_rows, rule):
    X = np.arange(float(n_rows))[:, None]
    Y = np.column_stack([X[:, 0] < n_rows / 2, np.zeros(n_rows)]).astype(int)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 of 2 labels is never predicted")
        model = Classifier(n_neighbors=2, threshold=rule).fit(X, Y)
    assert model.thresholds_[1] == np.finfo(float).max
    assert not model.predict(X)[:, 1].any()
    assert model.predict(X)[:, 0].any()


def test_prior_cutoffs_equal_the_plain_implementation(rng):
    for decimals in (1, 2, 6):
        scores = rng.random((57, 9)).round(decimals)
        shares = rng.random(9) ** 3
        np.testing.assert_array_equal(prior_cutoffs(scores, shares), reference.prior_cutoffs(scores, shares))


def test_prior_is_learned_on_rows_left_out_of_their_own_neighbours(data):
    X, Y = data
    model = MLkNN(8, threshold="prior").fit(X, Y)
    _, indices = squared_neighbors(X, 8)
    table = mlknn.fit_posterior(Y, indices)
    scores = mlknn.posterior(table, Y, indices)
    expected = reference.prior_cutoffs(scores, without_flips(Y.mean(axis=0), scores, Y))
    np.testing.assert_array_equal(model.thresholds_, np.nextafter(expected, 0))
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) >= expected)


def test_prior_of_partly_labelled_rows_is_their_share(data):
    X, Y = data
    partial_labels = Y.copy()
    partial_labels[60:] = -1
    model = SemiSupervisedMLkNN(8, threshold="prior").fit(X, partial_labels)
    _, indices = squared_neighbors(X, 8)
    hard = (model.label_distributions_ > 0.5).astype(int)
    scores = mlknn.posterior(mlknn.fit_posterior(hard, indices), hard, indices)
    shares = without_flips(Y[:60].mean(axis=0), scores[:60], Y[:60])
    np.testing.assert_array_equal(model.thresholds_, np.nextafter(reference.prior_cutoffs(scores[:60], shares), 0))


def without_flips(shares, scores, labels):
    rate = reference.flip_rate(scores.ravel(), labels.ravel())
    return np.clip((shares - rate) / (1 - 2 * rate), 0, 1)


@pytest.mark.parametrize("Classifier", [*CLASSIFIERS, MultiLabelPropagation])
def test_f1_and_macro_are_cut_offs_from_the_scores_of_the_labelled_rows(data, Classifier):
    X, Y = data
    partial_labels = Y.copy()
    partial_labels[60:] = -1
    model = Classifier(8, threshold="f1").fit(X, partial_labels)
    n = len(model.training_rows_)
    _, indices = squared_neighbors(X[:n], 8)
    if Classifier is MultiLabelPropagation:
        scores = transition_matrix(neighbor_graph(X, 8)) @ model.label_distributions_
    else:
        hard = model.training_labels_.astype(int)
        scores = mlknn.posterior(mlknn.fit_posterior(hard, indices), hard, indices)
    rate = reference.flip_rate(scores[:60].ravel(), Y[:60].ravel())
    cutoff = reference.f1_cutoff(scores[:60].ravel(), rate)
    np.testing.assert_allclose(model.thresholds_, np.full(3, cutoff), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > model.thresholds_)
    model.set_params(threshold="macro").fit(X, partial_labels)
    cutoffs = [reference.f1_cutoff(column, rate) for column in scores[:60].T]
    np.testing.assert_allclose(model.thresholds_, cutoffs, rtol=1e-12)


def test_f1_cutoffs_computed_by_hand():
    """Scores 1, .6, .2: the best expected F1 takes two of them, 2 (1 + .6) / (1.8 + 2)."""
    assert f1_cutoff(np.array([0.2, 1.0, 0.6]), 0.0) == pytest.approx(1.6 / 3.8)
    assert f1_cutoff(np.zeros(4), 0.0) == 0.5
    assert f1_cutoff(np.array([-1.0, -2.0]), 0.0) == 0.5
    assert f1_cutoff(np.array([5.0, 7.0]), 0.0) == pytest.approx(2 / 14)  # no score counts as more than one hit
    nowhere_given = check_labels(np.zeros((4, 1)))
    assert learned_cutoffs("f1", nowhere_given, 0.0, np.array([[0.2], [1.0], [0.6], [0.1]])).tolist() == [0.5]
    # with a flip rate of .1 a true share v is given as .1 + .8 v
    flipped = 0.1 + 0.8 * np.array([0.2, 1.0, 0.6])
    assert f1_cutoff(flipped, 0.1) == pytest.approx(0.1 + 0.8 * 1.6 / 3.8)


def test_f1_cutoffs_equal_the_plain_implementation_whatever_is_summed_together(rng, monkeypatch):
    for at_once in [1, 3, 39, 40, 41] * 40:
        scores = rng.normal(0.2, 0.5, 40)
        rate = rng.choice([0.0, 0.1, 0.3])
        before = scores.copy()
        whole = f1_cutoff(scores, rate)
        assert whole == pytest.approx(reference.f1_cutoff(scores, rate), abs=1e-12)
        with monkeypatch.context() as smaller:
            smaller.setattr(_thresholds, "_AT_ONCE", at_once)
            assert f1_cutoff(scores, rate) == whole
        np.testing.assert_array_equal(scores, before)  # a view of what the caller goes on to use


def test_a_tie_at_a_given_threshold_is_a_label_except_in_propagation(data):
    X, Y = data
    for Classifier in (*CLASSIFIERS, MultiLabelPropagation):
        model = Classifier(8).fit(X, Y)
        scores = model.predict_proba(X)
        at = float(np.sort(scores[scores > 0])[(scores > 0).sum() // 2])  # a score that occurs
        model.set_params(threshold=at)
        reached = scores > at if Classifier is MultiLabelPropagation else scores >= at
        np.testing.assert_array_equal(model.predict(X), reached)


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_one_cut_off_per_label(data, Classifier):
    X, Y = data
    model = Classifier(8, threshold=(0.2, 0.5, 0.9)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) >= [0.2, 0.5, 0.9])
    again = clone(Classifier(8, threshold=np.array([0.2, 0.5, 0.9]))).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("Classifier", EVERY)
def test_cut_offs_that_are_set_after_the_fit_are_used_and_shown(data, Classifier):
    X, Y = data
    model = Classifier(n_neighbors=8, threshold="f1").fit(X, Y)
    scores = rank_scores(model, X)
    learned = model.thresholds_
    predicted = model.predict(X)
    for threshold in (0.2, [0.05, 0.5, 0.95], np.array([0.3, 0.2, 0.1])):
        model.set_params(threshold=threshold)
        np.testing.assert_allclose(model.thresholds_, np.broadcast_to(threshold, 3), rtol=1e-15)
        np.testing.assert_array_equal(model.predict(X), scores > model.thresholds_)
        if hasattr(model, "decision_function"):
            np.testing.assert_allclose(model.decision_function(X) + model.thresholds_, scores, atol=1e-15)
    model.set_params(threshold="f1")  # the rule of the fit
    np.testing.assert_array_equal(model.thresholds_, learned)
    np.testing.assert_array_equal(model.predict(X), predicted)


@pytest.mark.parametrize("Classifier", EVERY)
@pytest.mark.parametrize("threshold", ["prior", 0.5])
def test_a_rule_that_is_set_after_the_fit_raises_until_the_next_fit(data, Classifier, threshold, tmp_path):
    X, Y = data
    model = Classifier(n_neighbors=8, threshold=threshold).fit(X, Y)
    p = model.predict_proba(X)
    model.set_params(threshold="f1")
    for answer in (model.predict, lambda _: model.thresholds_, lambda _: save_model(tmp_path / "m.skops", model)):
        with pytest.raises(ValueError, match="threshold='f1' was set after the fit"):
            answer(X)
    np.testing.assert_array_equal(model.predict_proba(X), p)
    fresh = Classifier(n_neighbors=8, threshold="f1").fit(X, Y)
    np.testing.assert_array_equal(model.fit(X, Y).predict(X), fresh.predict(X))
    save_model(tmp_path / "m.skops", model)
    back = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(back.thresholds_, fresh.thresholds_)
    with pytest.raises(ValueError, match="threshold='prior' was set after the fit"):
        back.set_params(threshold="prior").predict(X)
    for bad, sentence in ((2.0, r"threshold must be a number in \[0, 1\]"), ([0.5], "1 numbers for 3 labels")):
        with pytest.raises(ValueError, match=sentence):
            model.set_params(threshold=bad).predict(X)
    assert not hasattr(clone(model), "thresholds_")


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_classes_do_not_need_a_cut_off(data, Classifier):
    X, Y = data
    model = Classifier(8).fit(X, Y[:, 0])
    prior_model = Classifier(8, threshold="prior").fit(X, Y[:, 0])
    np.testing.assert_array_equal(model.predict(X), prior_model.predict(X))
    np.testing.assert_array_equal(model.set_params(threshold="f1").predict(X), prior_model.predict(X))
    assert model.thresholds_.shape == (2,)


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
@pytest.mark.parametrize(
    ("threshold", "sentence"),
    [
        ("half", 'threshold must be a number, "f1", "macro", "prior", or one number per label, got .half.'),
        ((0.5, 2.0, 0.1), r"each threshold must be a number in \[0, 1\], got 2"),
        ((0.5, 0.5), "threshold has 2 numbers for 3 labels; give one per label"),
    ],
)
def test_bad_cut_offs_raise_a_clear_error(data, Classifier, threshold, sentence):
    with pytest.raises(ValueError, match=sentence):
        Classifier(8, threshold=threshold).fit(*data)


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_labels_that_are_never_predicted_are_counted(data, Classifier):
    X, Y = data
    with pytest.warns(UserWarning, match="3 of 3 labels are never predicted"):
        model = Classifier(8, threshold=1.0).fit(X, Y)
    assert not model.predict(X).any()


def test_a_search_over_cut_offs_sees_a_difference(data):
    X, Y = data
    grid = {"threshold": [0.1, 0.5, "prior"]}
    search = GridSearchCV(MLkNN(8), grid, scoring=SCORERS["macro_f1"], refit=False, cv=3).fit(X, Y)
    assert len(set(search.cv_results_["mean_test_score"])) == 3
    ranked = GridSearchCV(MLkNN(8), grid, scoring=SCORERS["average_precision"], refit=False, cv=3).fit(X, Y)
    assert len(set(ranked.cv_results_["mean_test_score"])) == 1


def test_scorers_use_predictions_for_hard_measures(data):
    X, Y = data
    model = MLkNN(8, threshold="prior").fit(X, Y)
    for name, sign in (("hamming_loss", -1), ("macro_f1", 1), ("micro_f1", 1)):
        expected = getattr(metrics, name)(Y, model.predict(X))
        assert SCORERS[name](model, X, Y) == pytest.approx(sign * expected)


@pytest.mark.parametrize("Classifier", [*CLASSIFIERS, ResidualPropagation])
def test_classes_have_no_flip_rate(Classifier, rng):
    """Their wrong ones are not among the smallest scores of a class, and would make every probability extreme."""
    X = rng.normal(size=(90, 3))
    y = np.where(rng.random(90) < 0.3, rng.integers(0, 3, 90), np.digitize(X[:, 0], [-0.5, 0.5]))
    model = Classifier(
        n_neighbors=5, threshold="f1", **({"n_estimators": 3} if Classifier is ResidualPropagation else {})
    )
    by_number = clone(model).set_params(threshold=0.5).fit(X, y)
    assert getattr(model.fit(X, y), "flip_rate_", 0.0) == 0.0
    np.testing.assert_array_equal(model.predict_proba(X), by_number.predict_proba(X))
    if Classifier is ResidualPropagation:
        scores = np.clip(model.decision_function(X), 0.5 / 90, 1 - 0.5 / 90)
        np.testing.assert_allclose(model.predict_proba(X), scores / scores.sum(axis=1, keepdims=True), rtol=1e-12)
