"""Groups of rows: out of fold, a row is predicted by the rows of other groups alone."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from nmlsdr import ResidualPropagation, _boosting
from nmlsdr._boosting import Limits, boost_trees
from nmlsdr._group_folds import check_groups, group_folds, labeled_groups
from nmlsdr._ridge import cross_fit
from nmlsdr.forest import FOLDS, grow_forests


def patients(rng, n_patients=60, n_visits=5, n_features=8):
    """Visits of a patient are alike, and so are their labels. Only the first label depends on the features."""
    of = np.repeat(np.arange(n_patients), n_visits)
    center = rng.normal(size=(n_patients, n_features))
    y = rng.integers(0, 2, (n_patients, 3))
    y[:, 0] = center[:, 0] > 0
    order = rng.permutation(len(of))
    X = center[of] + 0.1 * rng.normal(size=(len(of), n_features))
    return X[order], y[of][order], of[order]


def scores_of(model, y):
    return np.where(y == 1, 1 - model.flip_scores_, model.flip_scores_)


def test_folds_are_those_of_scikit_learn_with_groups_numbered_by_their_first_row(rng):
    groups = rng.choice([3, 5, 9, 11, 20, 21], 40, p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.1])
    rows = rng.permutation(40)
    folds = group_folds(groups, 3, rows)
    number = {group: i for i, group in enumerate(dict.fromkeys(groups[rows].tolist()))}
    expected = np.empty(40, dtype=int)
    for fold, (_, test) in enumerate(GroupKFold(3).split(rows, groups=[number[g] for g in groups[rows].tolist()])):
        expected[rows[test]] = fold
    assert folds.tolist() == expected.tolist()
    assert all(len(set(folds[groups == group])) == 1 for group in set(groups.tolist()))
    names = np.array([f"group {-g}" for g in groups.tolist()])
    assert group_folds(check_groups(names, 40), 3, rows).tolist() == expected.tolist()
    assert set(group_folds(groups, 50, rows)) == set(range(len(set(groups.tolist()))))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "groups has the shape"),
        ([[1], [2], [3]], "groups has the shape"),
        ([1.0, np.nan, 2.0], "groups is missing for row 1"),
        (["a", None, "b"], "groups is missing for row 1"),
        (np.array(["a", 1, "b"], dtype=object), "groups holds values of several types"),
    ],
)
def test_groups_that_cannot_be_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        check_groups(groups, 3)


def test_one_group_of_labelled_rows_is_refused_and_single_rows_are_no_groups(rng):
    X, y, _ = patients(rng)
    with pytest.raises(ValueError, match="are of one group"):
        ResidualPropagation(n_estimators=5).fit(X, y, groups=np.zeros(len(X)))
    labeled = np.arange(6) < 3
    assert labeled_groups(np.array([0, 1, 2, 2, 2, 0]), labeled) is None
    assert labeled_groups(np.array([0, 1, 1, 2, 2, 0]), labeled).tolist() == [0, 1, 1]


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_a_label_acts_on_no_out_of_fold_score_of_its_group(rng, layout, monkeypatch):
    """The labels of one group are turned round: ridge, forests and boosted trees predict the group as before.

    The mean of a learner may see other groups; of rows of the group no score may move.  The errors of all rows choose
    the depth and the number of rounds of boosted trees, which are fixed here.
    """
    monkeypatch.setattr(_boosting, "_CANDIDATES", _boosting._CANDIDATES[:1])
    monkeypatch.setattr(_boosting._Boosting, "best", lambda run: (len(run.errors) - 1, False))
    X, y, of = patients(rng, 40, 4)
    turned = y.copy()
    turned[of == 7] = 1 - y[of == 7]
    group = of == 7
    options = {"random_state": 0, "n_jobs": 1, "order": rng.permutation(len(X))}

    def out_of_fold(labels, groups):
        labels = labels.astype(float)
        ridge = cross_fit(X, labels, groups=groups, shrinkage=1.0, ridge=1.0).predictions
        _, forests, left_out = grow_forests(layout(X), labels, n_estimators=40, groups=groups, **options)
        assert left_out.all()
        _, boosted = boost_trees(layout(X), labels, limits=Limits(12), groups=groups, **options)
        return [ridge, *forests, boosted]

    for before, after in zip(out_of_fold(y, of), out_of_fold(turned, of), strict=True):
        assert np.array_equal(before[group], after[group])
        assert not np.array_equal(before[~group], after[~group])
    for before, after in zip(out_of_fold(y, None), out_of_fold(turned, None), strict=True):
        assert not np.array_equal(before[group], after[group])  # the test can fail


def test_each_tree_leaves_out_the_groups_of_a_fold_and_its_leaves_have_the_rows_it_drew(rng):
    X, y, of = patients(rng, 30, 5)
    forests, _, _ = grow_forests(X, y.astype(float), n_estimators=13, random_state=3, n_jobs=1, groups=of)
    folds = group_folds(of, FOLDS, np.random.default_rng(3).permutation(len(X)))
    ends = np.arange(FOLDS + 1) * 13 // FOLDS
    for forest in forests:
        leaf_tree = np.repeat(np.arange(13), np.diff(forest.roots) // 2 + 1)
        tree = np.repeat(leaf_tree, np.diff(forest.ends))
        for fold in range(FOLDS):
            drawn = forest.rows[(tree >= ends[fold]) & (tree < ends[fold + 1])]
            assert set(folds[drawn]) == set(range(FOLDS)) - {fold}
        # A leaf of a tree holds rows that go to it.
        leaf = np.repeat(np.arange(len(forest.ends) - 1), np.diff(forest.ends))
        for row, number, t in zip(forest.rows.tolist(), leaf.tolist(), tree.tolist(), strict=True):
            node = forest.roots[t]
            while forest.feature[node] >= 0:
                node = forest.left[node] + (np.float32(X[row, forest.feature[node]]) > forest.threshold[node])
            assert forest.left[node] == number


@pytest.mark.parametrize("n_patients", [60, 240])  # 240: 1200 rows, with boosted trees, the link and its Newton step
def test_labels_that_only_patients_have_in_common_are_not_predicted_out_of_fold(rng, n_patients):
    """Without groups AUC is near 1 for labels that no new patient's features tell; with groups it is near 1/2.

    240 patients: an AUC of labels of patients by chance has a standard error of .04, 60: of .08.
    """
    X, y, of = patients(rng, n_patients)
    n_trees = {"n_estimators": 40}
    rows = ResidualPropagation(**n_trees).fit(X, y)
    groups = ResidualPropagation(**n_trees).fit(X, y, groups=of)
    by_rows = [roc_auc_score(y[:, c], scores_of(rows, y)[:, c]) for c in range(3)]
    by_groups = [roc_auc_score(y[:, c], scores_of(groups, y)[:, c]) for c in range(3)]
    assert min(by_rows) > 0.95
    assert by_groups[0] > 0.95
    assert max(by_groups[1:]) < 0.7
    assert len(groups.learners_) == (6 if n_patients == 240 else 3)


def test_a_label_error_on_all_rows_of_a_patient_is_found_with_groups_only(rng):
    X, y, of = patients(rng, 80, 6)
    wrong = of == 3
    y[wrong, 0] = 1 - y[wrong, 0]
    ranks = {}
    for name, groups in (("rows", None), ("groups", of)):
        scores = ResidualPropagation(n_estimators=40).fit(X, y[:, :1], groups=groups).flip_scores_[:, 0]
        ranks[name] = np.argsort(np.argsort(-scores))[wrong]
    assert ranks["groups"].max() < 40
    assert ranks["groups"].mean() < ranks["rows"].mean()


def test_groups_of_one_row_change_nothing(rng):
    X, y, _ = patients(rng)
    plain = ResidualPropagation(n_estimators=10).fit(X, y)
    single = ResidualPropagation(n_estimators=10).fit(X, y, groups=rng.permutation(len(X)))
    for name in ("flip_scores_", "thresholds_", "propagated_errors_", "learner_weights_"):
        assert np.array_equal(getattr(plain, name), getattr(single, name))


@pytest.mark.parametrize("single", [False, True])
def test_the_order_of_rows_and_the_names_of_groups_do_not_count(rng, single):
    X, y, of = patients(rng, 30, 4)
    y = y[:, 0] if single else np.where(rng.random(y.shape) < 0.2, -1, y)
    order = rng.permutation(len(X))
    first = ResidualPropagation(n_estimators=12).fit(X, y, groups=of)
    names = np.array([f"P{(7 * i) % 30:02}" for i in of])
    second = ResidualPropagation(n_estimators=12).fit(X[order], y[order], groups=names[order])
    assert np.allclose(first.flip_scores_[order], second.flip_scores_, atol=1e-6)
    assert np.allclose(first.thresholds_, second.thresholds_, atol=1e-6)


def test_verdicts_and_unlabelled_rows_go_with_groups(rng):
    X, y, of = patients(rng, 40, 4)
    y[rng.random(len(y)) < 0.4] = -1
    verdicts = np.full(y.shape, -1)
    rows = np.flatnonzero(y[:, 0] != -1)[:10]
    verdicts[rows, 0] = 1 - y[rows, 0]
    model = ResidualPropagation(n_estimators=12).fit(X, y, groups=of.astype(str), verdicts=verdicts)
    assert np.isfinite(model.predict_proba(X)).all()
    model_without_verdicts = ResidualPropagation(n_estimators=12).fit(X, y, groups=of)
    assert not np.array_equal(model.flip_scores_, model_without_verdicts.flip_scores_)
