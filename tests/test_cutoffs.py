"""Cut-offs from the labels' shares: by hand, against the twin, in the classifiers, and labels that are never given."""

import numpy as np
import pytest
import reference
from projections import draw_binary
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from nmlsdr import MLkNN, SemiSupervisedMLkNN, metrics, mlknn
from nmlsdr._estimators._thresholds import prior_cutoffs
from nmlsdr.graph import squared_neighbors
from nmlsdr.model_selection import SCORERS

CLASSIFIERS = [MLkNN, SemiSupervisedMLkNN]


@pytest.fixture
def data(rng):
    """120 rows, one common label and two rare ones."""
    X, Y = draw_binary(rng, 120, 6, 3)
    Y[:, 1:] *= rng.random((120, 2)) < 0.25
    return X, Y


def test_by_hand():
    # 10 rows.  A share of .3: the third largest.  .25: 2.5 rows, half to even, so the second largest.
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    assert prior_cutoffs(scores[:, None], [0.3]).tolist() == [0.7]
    assert prior_cutoffs(scores[:, None], [0.25]).tolist() == [0.8]
    assert prior_cutoffs(scores[:, None], [0.0]).tolist() == [0.9]  # one row at least


def test_ties_that_let_far_too_many_in_raise_the_bar():
    tied = np.array([0.9, *[0.4] * 7, 0.1, 0.1])
    # m = 2: .4, which 8 rows reach, more than max(4, 7): the next larger
    assert prior_cutoffs(tied[:, None], [0.2]).tolist() == [0.9]
    # m = 3: 8 is no more than max(6, 8)
    assert prior_cutoffs(tied[:, None], [0.3]).tolist() == [0.4]
    assert prior_cutoffs(np.zeros((10, 1)), [0.1]).tolist() == [np.inf]


def test_equals_the_twin(rng):
    for decimals in (1, 2, 6):
        scores = rng.random((57, 9)).round(decimals)
        shares = rng.random(9) ** 3
        np.testing.assert_array_equal(prior_cutoffs(scores, shares), reference.prior_cutoffs(scores, shares))


def test_prior_is_learned_on_rows_left_out_of_their_own_neighbours(data):
    X, Y = data
    model = MLkNN(8, threshold="prior").fit(X, Y)
    _, indices = squared_neighbors(X, 8)
    table = mlknn.fit_posterior(Y, indices)
    expected = reference.prior_cutoffs(mlknn.posterior(table, Y, indices), Y.mean(axis=0))
    np.testing.assert_array_equal(model.thresholds_, expected)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) >= expected)


def test_prior_of_partly_labelled_rows_is_their_share(data):
    X, Y = data
    given = Y.copy()
    given[60:] = -1
    model = SemiSupervisedMLkNN(8, threshold="prior").fit(X, given)
    _, indices = squared_neighbors(X, 8)
    hard = (model.label_distributions_ > 0.5).astype(int)
    scores = mlknn.posterior(mlknn.fit_posterior(hard, indices), hard, indices)
    np.testing.assert_array_equal(model.thresholds_, reference.prior_cutoffs(scores, Y[:60].mean(axis=0)))


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_one_cut_off_per_label(data, Classifier):
    X, Y = data
    model = Classifier(8, threshold=(0.2, 0.5, 0.9)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) >= [0.2, 0.5, 0.9])
    again = clone(Classifier(8, threshold=np.array([0.2, 0.5, 0.9]))).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
def test_classes_do_not_need_a_cut_off(data, Classifier):
    X, Y = data
    one, two = Classifier(8).fit(X, Y[:, 0]), Classifier(8, threshold="prior").fit(X, Y[:, 0])
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@pytest.mark.parametrize("Classifier", CLASSIFIERS)
@pytest.mark.parametrize(
    ("threshold", "sentence"),
    [
        ("half", 'threshold must be a number, "prior", or one number per label, got .half.'),
        ((0.5, 2.0, 0.1), r"each threshold must be a number in \[0, 1\], got 2"),
        ((0.5, 0.5), "threshold has 2 numbers for 3 labels; give one per label"),
    ],
)
def test_bad_cut_offs_are_one_sentence(data, Classifier, threshold, sentence):
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
