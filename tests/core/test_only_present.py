"""Labels of which only presences are known (positive-unlabelled data) are named, and predicted for no row."""

import warnings

import numpy as np
import pytest

import nmlsdr
from nmlsdr._thresholds import NEVER

N = 120


@pytest.fixture
def data():
    """Label 0 is known to be present or absent, label 1 only to be present, label 2 is 1 in every row."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, 4))
    y = np.full((N, 3), 1)
    y[:, 0] = X[:, 0] > 0
    y[:, 1] = np.where(X[:, 1] > 0.5, 1, -1)
    return X, y


def classifiers(threshold):
    trees = {"n_estimators": 5, "n_jobs": 1}
    return [
        nmlsdr.ResidualPropagation(threshold=threshold, **trees),
        nmlsdr.MultiLabelPropagation(threshold=threshold),
        nmlsdr.SemiSupervisedMLkNN(threshold=threshold),
        nmlsdr.SemiSupervisedMLkNN(threshold=threshold, at_least_one=True),
    ]


@pytest.mark.parametrize("threshold", [0.5, [0.2, 0.0, 0.3], "f1", "macro", "prior"])
def test_a_label_of_presences_alone_is_named_and_never_predicted(data, threshold):
    X, y = data
    for model in classifiers(threshold):
        with pytest.warns(UserWarning, match=r"1 of 3 labels has no known 0 \('label 1'\), so predict never gives it"):
            model.fit(X, y)
        predictions = model.predict(X)
        assert predictions[:, 1].sum() == 0
        assert 0 < predictions[:, 0].sum() < N
        assert predictions[:, 2].all()  # all rows are known to have it
        assert model.thresholds_[1] == NEVER
        assert np.isfinite(model.predict_proba(X)).all()
        if isinstance(threshold, float):
            model.set_params(threshold=0.1)
            assert model.predict(X)[:, 1].sum() == 0


def test_every_row_without_a_label_gets_a_likely_one_that_can_be_learned():
    X = np.random.default_rng(0).standard_normal((N, 2))
    y = np.stack([X[:, 0] > 1, np.where(X[:, 1] > 0, 1, -1)], axis=1).astype(int)
    with pytest.warns(UserWarning, match="no known 0"):
        model = nmlsdr.SemiSupervisedMLkNN(at_least_one=True).fit(X, y)
    predictions = model.predict(X)
    assert predictions[:, 0].all()
    assert not predictions[:, 1].any()
    with pytest.warns(UserWarning, match="2 of 2 labels have no known 0"):
        model.fit(X, np.where(y == 1, 1, np.nan))
    assert not model.predict(X).any()


def test_supervised_neighbours_never_give_it(data):
    X, y = data
    labels = np.where(y[:, 1] == 1, 1, np.nan)[:, None]
    with pytest.warns(UserWarning, match="no known 0"):
        model = nmlsdr.MLkNN().fit(X, labels)
    assert not model.predict(X).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nmlsdr.MLkNN().fit(X, np.ones((N, 1))).predict(X).all()


def test_zeros_that_labeled_makes_known_are_the_way_out(data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = nmlsdr.ResidualPropagation(n_estimators=5, n_jobs=1)
        model.fit(X, np.where(y == -1, 0, y), labeled=np.ones(N, bool))
    assert 0 < model.predict(X)[:, 1].sum() < N


@pytest.mark.parametrize("threshold", ["f1", "macro", 0.5])
@pytest.mark.parametrize("verdict", [0, 1])
def test_a_verdict_that_a_label_does_not_apply_is_a_known_zero(data, threshold, verdict):
    X, y = data
    verdicts = np.full(y.shape, -1)
    verdicts[:, 1] = np.where(X[:, 1] < -0.5, verdict, -1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* no known 0|.* never predicted|No verdict of")
        model = nmlsdr.ResidualPropagation(n_estimators=5, n_jobs=1, threshold=threshold)
        model.fit(X, y, verdicts=verdicts)
    n_predicted = model.predict(X)[:, 1].sum()
    assert 0 < n_predicted < N if verdict == 0 else n_predicted == 0


def test_names_of_such_labels_are_said_and_no_more_than_three():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = pandas.DataFrame(np.where(np.random.default_rng(1).random((40, 9)) < 0.5, 1, np.nan), columns=list("abcdefghi"))
    with pytest.warns(UserWarning, match="9 of 9 labels have no known 0 .'a', 'b', 'c' and 6 more.,"):
        nmlsdr.MultiLabelPropagation().fit(X, y)


def test_classes_need_no_zeros():
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = np.where(X[:, 0] > 0, 2, 3)
    y[::3] = -1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nmlsdr.MultiLabelPropagation().fit(X, y)


def test_a_projection_learns_nothing_from_a_label_without_a_known_0_and_says_so(rng):
    X = rng.standard_normal((40, 5))
    Y = (X[:, :2] > 0).astype(int)
    Y[:, 1] = 1
    Y[30:] = -1
    with pytest.warns(UserWarning, match=r"has no known 0 \('label 1'\), so the fit learns nothing from it"):
        components = nmlsdr.MDDM(1).fit(X, Y).components_
    np.testing.assert_allclose(components, nmlsdr.MDDM(1).fit(X, Y[:, :1]).components_, atol=1e-12)
