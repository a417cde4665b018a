"""LabeledRowsSplit and SCORERS in scikit-learn's searches, at one, two and three labels."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    PredefinedSplit,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import NMLSDR, MLkNN, MultiLabelPropagation, SemiSupervisedMLkNN, metrics
from nmlsdr.model_selection import SCORERS, LabeledRowsSplit, cross_val_proba

LOSSES = "hamming_loss", "ranking_loss", "one_error", "coverage"
SIGNS = {name: -1 if name in LOSSES else 1 for name in metrics.__all__ if name != "score_table"}


class NearestRow(ClassifierMixin, BaseEstimator):
    """A classifier with this package's form: list classes_, (n, C) probabilities; unlabelled rows are allowed."""

    def __init__(self, certainty=0.8):
        self.certainty = certainty

    def fit(self, X, y):
        y = np.asarray(y)
        self.n_unlabelled_ = int((y == -1).all(axis=1).sum())
        known = ~(y == -1).all(axis=1)
        self.X_ = np.asarray(X)[known]
        self.y_ = y[known]
        self.classes_ = [np.array([0, 1]) for _ in range(y.shape[1])]
        return self

    def predict_proba(self, X):
        nearest = ((np.asarray(X)[:, None] - self.X_[None]) ** 2).sum(axis=2).argmin(axis=1)
        return np.where(self.y_[nearest] == 1, self.certainty, 1 - self.certainty)

    def predict(self, X):
        return (self.predict_proba(X) >= 0.5).astype(int)


def make_data(rng, n_labels, *, n_samples=60, unlabelled=0.4):
    X = rng.standard_normal((n_samples, 4))
    signal = X[:, [0]] * [1, -1, 0][:n_labels] + X[:, 1:2]
    y = (signal + 0.3 * rng.standard_normal((n_samples, n_labels)) > 0).astype(int)
    y[rng.random(n_samples) < unlabelled] = -1
    return X, y


def unlabelled_rows(y):
    y = np.asarray(y)
    return np.flatnonzero((y.reshape(len(y), -1) == -1).all(axis=1))


def assert_fair(splits, y):
    """Test sides labelled, no row on both sides, every unlabelled row in train."""
    hidden = set(unlabelled_rows(y).tolist())
    for train, test in splits:
        assert train.dtype == test.dtype == np.intp
        assert test.size
        assert not hidden & set(test.tolist())
        assert hidden <= set(train.tolist())
        assert not set(train.tolist()) & set(test.tolist())
        assert (np.diff(train) > 0).all()


# ---------------------------------------------------------------- the splitter

SPLITTERS = [
    2,
    5,
    KFold(3),
    KFold(3, shuffle=True, random_state=0),
    LeaveOneOut(),
    ShuffleSplit(4, random_state=1),
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=str)
@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_folds_of_any_splitter(rng, cv, n_labels):
    X, y = make_data(rng, n_labels)
    splitter = LabeledRowsSplit(cv)
    splits = list(splitter.split(X, y))
    assert_fair(splits, y)
    assert len(splits) == splitter.get_n_splits(X, y)
    if not isinstance(cv, ShuffleSplit):  # every labelled row is tested exactly once
        tested = np.sort(np.concatenate([test for _, test in splits]))
        assert np.array_equal(tested, np.setdiff1d(np.arange(len(y)), unlabelled_rows(y)))


def test_folds_are_those_of_the_labelled_rows_alone(rng):
    X, y = make_data(rng, 3)
    rows = np.setdiff1d(np.arange(len(y)), unlabelled_rows(y))
    for (train, test), (inner_train, inner_test) in zip(
        LabeledRowsSplit(KFold(4)).split(X, y), KFold(4).split(X[rows]), strict=True
    ):
        assert np.array_equal(test, rows[inner_test])
        assert np.array_equal(train, np.setdiff1d(np.arange(len(y)), rows[inner_test]))
        assert np.isin(rows[inner_train], train).all()


@pytest.mark.parametrize("classes", [[0, 1, 2], ["a", "b", "c"]])
def test_one_column_of_classes_is_stratified(rng, classes):
    y = np.array(classes, dtype=object)[rng.integers(0, 3, 90)]
    y[::3] = -1
    X = np.zeros((90, 2))
    for cv in (3, StratifiedKFold(3)):
        splits = list(LabeledRowsSplit(cv).split(X, y))
        assert_fair(splits, np.where(y == -1, -1, 0))
        counts = [[(y[test] == label).sum() for label in classes] for _, test in splits]
        assert np.ptp(counts, axis=0).max() <= 1


def test_rows_of_a_group_stay_in_one_fold(rng):
    X, y = make_data(rng, 2)
    groups = rng.integers(0, 10, len(y))
    splitter = LabeledRowsSplit(GroupKFold(3))
    splits = list(splitter.split(X, y, groups))
    assert_fair(splits, y)
    for train, test in splits:
        known = np.setdiff1d(train, unlabelled_rows(y))
        assert not set(groups[known]) & set(groups[test])
    assert splitter.get_n_splits(X, y, groups) == 3


def test_pairs_and_predefined_folds_refer_to_all_rows(rng):
    X, y = make_data(rng, 2)
    half = np.arange(len(y)) < 30
    pairs = [(np.flatnonzero(half), np.flatnonzero(~half)), (~half, half)]
    fold = half.astype(int)
    for cv in (pairs, PredefinedSplit(fold)):
        splitter = LabeledRowsSplit(cv)
        assert splitter.get_n_splits(X, y) == splitter.get_n_splits() == 2
        splits = list(splitter.split(X, y))
        assert_fair(splits, y)
        assert {half[test].all() for _, test in splits} == {half[test].any() for _, test in splits} == {True, False}


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, lambda y: pd.DataFrame(y).astype(float), np.ndarray.tolist])
def test_every_form_of_y_gives_the_same_folds(rng, form):
    X, y = make_data(rng, 3)
    for (train, test), (same_train, same_test) in zip(
        LabeledRowsSplit(3).split(X, form(y)), LabeledRowsSplit(3).split(None, y), strict=True
    ):
        assert np.array_equal(train, same_train)
        assert np.array_equal(test, same_test)


@pytest.mark.parametrize(
    ("cv", "y", "sentence"),
    [
        (2, None, "needs y to find the labelled rows, got None"),
        (2, np.full((6, 2), -1), "no labelled row"),
        (2, np.array([[0, 1], [2, 1], [1, 0], [0, 0], [1, 1], [0, 1]]), "got 2 in row 1, label 0"),
        (2, np.zeros((5, 2), dtype=int), "inconsistent numbers of samples|X has 6 rows"),
        ([(range(5), [5])], np.array([[0, 1]] * 5 + [[-1, -1]]), "no labelled row, so nothing can be scored"),
        ([(range(5), [6])], np.array([[0, 1]] * 6), "cv returned row 6, but received 6 rows to split"),
    ],
)
def test_bad_requests_raise_a_clear_error(cv, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        list(LabeledRowsSplit(cv).split(np.zeros((6, 2)), y))


def test_a_splitter_that_ignores_its_rows_is_refused():
    class Deaf:
        def split(self, X, y=None, groups=None):
            yield np.arange(3), np.array([5])

        def get_n_splits(self, X=None, y=None, groups=None):
            return 1

    y = np.array([[0], [1], [-1], [1], [0], [1]])
    with pytest.raises(ValueError, match="received 5 rows to split; use a splitter that numbers"):
        list(LabeledRowsSplit(Deaf()).split(np.zeros((6, 1)), y))


# ---------------------------------------------------------------- the scorers


def test_seven_scorers_with_their_signs():
    assert set(SCORERS) == set(SIGNS)
    for name, scorer in SCORERS.items():
        assert scorer._sign == SIGNS[name]
        assert f"({name}, " in repr(scorer)
        assert repr(pickle.loads(pickle.dumps(scorer))) == repr(scorer)


@pytest.mark.filterwarnings("ignore:.*no label or all labels:RuntimeWarning")  # three measures of one label
@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_scorers_equal_the_signed_measures(rng, n_labels):
    X, y = make_data(rng, n_labels)
    model = NearestRow().fit(X, y)
    X_new, y_new = make_data(rng, n_labels)
    known = np.setdiff1d(np.arange(len(y_new)), unlabelled_rows(y_new))
    for name, scorer in SCORERS.items():
        expected = SIGNS[name] * getattr(metrics, name)(y_new[known], model.predict_proba(X_new[known]))
        for form in (np.asarray, pd.DataFrame):
            assert scorer(model, X_new, form(y_new)) == pytest.approx(expected, nan_ok=True)


SCIKIT_LEARN = [MultiOutputClassifier(LogisticRegression()), RandomForestClassifier(5, random_state=0)]


@pytest.mark.parametrize("model", SCIKIT_LEARN, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_lists_of_probabilities_of_scikit_learn_are_accepted(rng, model, n_labels):
    X, y = make_data(rng, n_labels, unlabelled=0)
    model = clone(model).fit(X, y)
    stacked = np.column_stack([column[:, 1] for column in model.predict_proba(X)])
    for name, scorer in SCORERS.items():
        expected = SIGNS[name] * getattr(metrics, name)(y, stacked)
        assert scorer(model, X, y) == pytest.approx(expected)
        assert scorer._score_func(y, model.predict_proba(X)) == pytest.approx(SIGNS[name] * expected)


def test_one_label_in_every_form_of_scikit_learn_is_accepted(rng):
    X, y = make_data(rng, 1, unlabelled=0)
    model = MultiOutputClassifier(LogisticRegression()).fit(X, y)
    single = LogisticRegression().fit(X, y[:, 0])
    expected = -metrics.hamming_loss(y, single.predict_proba(X)[:, 1:])
    for fitted in (model, single):
        assert SCORERS["hamming_loss"](fitted, X, y) == expected
    for form in (single.predict_proba(X), single.predict_proba(X)[:, 1]):
        assert SCORERS["hamming_loss"]._score_func(y, form) == -expected


def test_one_dimensional_y_is_refused(rng):
    X, y = make_data(rng, 2)
    with pytest.raises(ValueError, match="SCORERS compare a 2-D y"):
        SCORERS["macro_f1"](NearestRow().fit(X, y), X, y[:, 0])


# ---------------------------------------------------------------- metadata


@pytest.mark.parametrize("routing", [False, True])
def test_groups_reach_the_splitter(rng, routing):
    X, y = make_data(rng, 2)
    groups = np.arange(len(y)) % 6
    cv = LabeledRowsSplit(GroupKFold(3))
    with sklearn.config_context(enable_metadata_routing=routing):
        passed = {"params": {"groups": groups}} if routing else {"groups": groups}
        scores = cross_val_score(NearestRow(), X, y, cv=cv, scoring=SCORERS["macro_f1"], error_score="raise", **passed)
        search = GridSearchCV(NearestRow(), {"certainty": [0.9]}, cv=cv, scoring=SCORERS["macro_f1"])
        search.fit(X, y, groups=groups)
    assert np.array_equal(scores, [search.cv_results_[f"split{i}_test_score"][0] for i in range(3)])


def test_routing_works_with_folds_without_metadata(rng):
    X, y = make_data(rng, 2)
    with sklearn.config_context(enable_metadata_routing=True):
        for cv in (3, [(range(30), range(30, 60))]):
            scores = cross_val_score(
                NearestRow(), X, y, cv=LabeledRowsSplit(cv), scoring=SCORERS["macro_f1"], error_score="raise"
            )
            assert np.isfinite(scores).all()


# ---------------------------------------------------------------- this package's classifiers


def test_search_over_the_whole_framework(rng):
    """The article's pipeline: reduce with all rows, classify, choose by the labelled rows of each fold."""
    X, y = make_data(rng, 3, n_samples=90)
    framework = make_pipeline(StandardScaler(), NMLSDR(n_jobs=1), SemiSupervisedMLkNN(5, n_jobs=1))
    search = GridSearchCV(
        framework,
        {"nmlsdr__n_components": [1, 2]},
        scoring=SCORERS,
        refit="average_precision",
        cv=LabeledRowsSplit(3),
        error_score="raise",
    ).fit(X, y)
    assert search.best_params_["nmlsdr__n_components"] in (1, 2)
    assert search.best_score_ > 0.7
    assert search.predict_proba(X).shape == (90, 3)


# ---------------------------------------------------------------- unknown entries and out-of-fold probabilities


def with_holes(rng, n_labels=3):
    X, y = make_data(rng, n_labels)
    holes = rng.random(y.shape) < 0.2
    holes[:4] = False
    return X, np.where(holes, -1, y)


@pytest.mark.parametrize(
    "form", [np.asarray, lambda y: np.where(y == -1, np.nan, y), pd.DataFrame, lambda y: y.tolist()]
)
def test_rows_with_any_known_entry_are_tested(rng, form):
    X, y = with_holes(rng)
    known = (y != -1).any(axis=1)
    assert ((y == -1).any(axis=1) & known).any()
    splits = [*LabeledRowsSplit(KFold(4)).split(X, form(y))]
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.flatnonzero(known))
    assert_fair(splits, y)


@pytest.mark.parametrize("name", SIGNS)
def test_scorers_leave_unknown_entries_out(rng, name):
    X, y = with_holes(rng)
    model = SemiSupervisedMLkNN(5).fit(X, y)
    scorer = SCORERS[name]
    measure = getattr(metrics, name)
    expected = SIGNS[name] * measure(y, model.predict_proba(X))
    for form in (y, np.where(y == -1, np.nan, y), pd.DataFrame(y)):
        assert scorer(model, X, form) == pytest.approx(expected, rel=1e-12)
    assert scorer(model, X, y) != scorer(model, X, np.where(y == -1, 0, y))


def test_every_known_row_is_predicted_by_a_model_fitted_without_it(rng):
    X, y = with_holes(rng)
    model = SemiSupervisedMLkNN(5)
    proba = cross_val_proba(model, X, y, cv=KFold(4))
    known = (y != -1).any(axis=1)
    assert np.isnan(proba[~known]).all()
    for train, test in LabeledRowsSplit(KFold(4)).split(X, y):
        assert not np.isnan(proba[test]).any()
        np.testing.assert_array_equal(proba[test], clone(model).fit(X[train], y[train]).predict_proba(X[test]))
    assert metrics.average_precision(y, proba) > 0.5  # the measures take it as it is


def test_out_of_fold_probabilities_of_classes_keep_their_columns(rng):
    X, _ = make_data(rng, 1)
    y = np.array(["high", "low", "mid"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    y[::5] = "-1"
    y[np.flatnonzero(y == "high")[1:]] = "low"  # one row is "high": no training side that tests it has the class
    proba = cross_val_proba(MLkNN(5), X, y, cv=KFold(3))
    assert proba.shape == (len(y), 3)
    np.testing.assert_allclose(proba[y != "-1"].sum(axis=1), 1)
    assert proba[y == "high", 0] == 0


@pytest.mark.parametrize("form", ["object", "StringDType"])
def test_out_of_fold_probabilities_of_classes_with_nulls(rng, form):
    strings = getattr(np.dtypes, "StringDType", lambda na_object: object)  # from NumPy 2
    dtype = strings(na_object=None) if form == "StringDType" else object
    X = rng.standard_normal((24, 2))
    y = ["high", "low", None] * 8
    expected = cross_val_proba(MLkNN(3), X, np.array(["high", "low", "-1"] * 8), 2)
    np.testing.assert_array_equal(cross_val_proba(MLkNN(3), X, np.array(y, dtype), 2), expected)


def test_scikit_learn_classifiers_give_out_of_fold_probabilities(rng):
    X, y = make_data(rng, 2, unlabelled=0.0)
    y[:, 1] = 0
    y[0, 1] = 1
    probabilities = cross_val_proba(KNeighborsClassifier(), X, y, cv=KFold(3))
    assert probabilities.shape == y.shape
    expected = KNeighborsClassifier().fit(X[20:], y[20:, 0]).predict_proba(X[:20])[:, 1]
    np.testing.assert_array_equal(probabilities[:20, 0], expected)
    assert (probabilities[:20, 1] == 0).all()  # that training side has no row with the label


def test_arguments_of_fit_are_sliced(rng):
    X, y = with_holes(rng)
    alpha = rng.random(len(y)) * 0.9
    probabilities = cross_val_proba(SemiSupervisedMLkNN(5), X, y, cv=KFold(4), params={"alpha": alpha})
    train, test = next(iter(LabeledRowsSplit(KFold(4)).split(X, y)))
    expected = SemiSupervisedMLkNN(5).fit(X[train], y[train], alpha=alpha[train]).predict_proba(X[test])
    np.testing.assert_array_equal(probabilities[test], expected)


def test_folds_must_part_the_rows(rng):
    X, y = make_data(rng, 2)
    twice = [*LabeledRowsSplit(KFold(3)).split(X, y)] * 2
    for cv in (ShuffleSplit(3, random_state=0), twice):
        with pytest.raises(ValueError, match="test sets of cv, but must be in exactly one; use folds"):
            cross_val_proba(NearestRow(), X, y, cv=cv)


@pytest.mark.filterwarnings("ignore:A column-vector y:sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("classifier", [RandomForestClassifier(5, random_state=0), KNeighborsClassifier(1), MLkNN(1)])
def test_a_label_that_no_training_row_has_gets_probability_0(classifier):
    X = np.arange(6.0)[:, None]
    y = np.array([[0], [0], [0], [1], [1], [0]])
    folds = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])]
    probabilities = cross_val_proba(classifier, X, y, folds)
    probabilities_of_two_labels = cross_val_proba(classifier, X, np.hstack([y, y]), folds)
    np.testing.assert_array_equal(probabilities, probabilities_of_two_labels[:, :1])
    if not isinstance(classifier, MLkNN):  # whose probabilities are never 0
        assert (probabilities[3:] == 0).all()


def test_a_row_on_both_sides_of_a_fold_is_refused():
    with pytest.raises(ValueError, match="row 1 both for training and for testing"):
        cross_val_proba(MLkNN(1), np.eye(4), np.eye(4, 2, dtype=int), [([1, 2, 3], [0, 1]), ([0, 1], [2, 3])])


@pytest.mark.parametrize(
    ("test", "words"),
    [([3, -1], "row -1"), ([1.9], "float64"), ([True, False], "bool"), ([[1]], r"shape \(1, 1\)")],
)
def test_row_numbers_that_are_none_are_refused(test, words):
    with pytest.raises(ValueError, match=words):
        list(LabeledRowsSplit([([0], test)]).split(np.eye(5), np.eye(5, 2, dtype=int)))


@pytest.mark.filterwarnings("ignore:.* rows lies? in components of the graph")  # of so few rows, for some seeds
@pytest.mark.filterwarnings("ignore:.* no known 0")
def test_nulls_stay_nulls_where_all_known_entries_of_a_fold_are_1(rng):
    X = rng.standard_normal((12, 2))
    y = np.full((12, 1), np.nan)
    y[:4] = 1
    y[11] = 0
    model = MultiLabelPropagation(2)
    # the second training side has only 1s
    first = [0, 1, 4, 11]
    second = [2, 3]
    proba = cross_val_proba(model, X, y, cv=[(first, second), (second, first)])
    train = np.setdiff1d(np.arange(12), [0, 1, 11])
    expected = clone(model).fit(X[train], y[train]).predict_proba(X[[0, 1, 11]])
    np.testing.assert_array_equal(proba[[0, 1, 11]], expected)
    np.testing.assert_array_equal(
        proba, cross_val_proba(model, X, pd.DataFrame(y), cv=[(first, second), (second, first)])
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_matrix, sparse.dia_array, sparse.bsr_array])
def test_a_graph_of_any_form_cannot_be_split(rng, form):
    X, y = make_data(rng, 2, unlabelled=0.0)
    with pytest.raises(
        ValueError, match=r"graph must be of shape \(30, 30\), got \(30, 60\); cross-validation cannot split"
    ):
        cross_val_proba(MultiLabelPropagation(2), X, y, cv=2, params={"graph": form(np.eye(60))})
    np.testing.assert_array_equal(cross_val_proba(MLkNN(2), form(X), y, 2), cross_val_proba(MLkNN(2), X, y, 2))


def test_pairs_of_a_generator_are_kept(rng):
    X, y = make_data(rng, 2)
    splitter = LabeledRowsSplit(KFold(3).split(X))
    plain = LabeledRowsSplit([*KFold(3).split(X)])
    assert splitter.get_n_splits(X, y) == splitter.get_n_splits(X, y) == 3
    for each in (splitter, clone(splitter, safe=False), pickle.loads(pickle.dumps(splitter))):
        for split, expected in zip(each.split(X, y), plain.split(X, y), strict=True):
            np.testing.assert_array_equal(split[0], expected[0])
            np.testing.assert_array_equal(split[1], expected[1])
    search = GridSearchCV(
        MLkNN(3), {"n_neighbors": [2, 3]}, cv=LabeledRowsSplit(KFold(3).split(X)), error_score="raise"
    )
    assert search.fit(X, y).n_splits_ == 3
