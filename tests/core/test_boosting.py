"""Boosted trees: the kernel is its plain twin in every bit, for any level, thread, storage and part of the rounds."""

import forest_reference as twin
import numpy as np
import pytest
from forest_reference import CASES, LEVELS, assert_equals_twin, labels, zeros_stored
from model_files import assert_same
from scipy import sparse

from nmlsdr import ResidualPropagation, _boosting, _forest, forest
from nmlsdr._boosting import Limits, boost_trees
from nmlsdr._errors import InputError
from nmlsdr._estimators import _learners
from nmlsdr._thresholds import rank_scores
from nmlsdr._tree_checks import arrays_of, checked_trees
from nmlsdr.forest import BoostedTrees, score_by_forests, to_sklearn
from nmlsdr.graph import neighbor_graph, transition_matrix
from nmlsdr.model_file import load_model, save_model


def contest(monkeypatch, *contest):
    monkeypatch.setattr(_boosting, "_CANDIDATES", contest)


NAMES = (
    "bell-shaped",
    "one label",
    "votes",
    "thirty labels",
    "ties",
    "mostly 0",
    "one feature",
    "one of many varies",
    "constant",
    "equal rows",
    "pure",
    "seven rows",
    "huge",
    "denormal",
    "heavy tails",
    "neighbouring floats",
    "signs of 0",
    "a chain",
)


@pytest.mark.parametrize("name", NAMES)
def test_boosted_trees_are_those_of_the_twin(name, rng, monkeypatch):
    """With unknown entries; more levels with leaves of three rows, fewer with leaves of ten; votes beyond -2 and 2.

    Some are split by sums of the labels.
    """
    X, Y = CASES[name](rng)
    n_sums = {"votes": 1, "thirty labels": 7, "mostly 0": 6}.get(name, 62)
    monkeypatch.setattr(_boosting, "_SUMS", n_sums)
    monkeypatch.setattr(_boosting, "_MOST_LABELS", n_sums)
    monkeypatch.setattr(_boosting, "column_order", lambda labels: np.arange(labels.shape[1]))  # as the twin draws signs
    Y = 8 * Y - 4 if name == "votes" else Y
    X = np.asarray(X, dtype=np.float64)
    Y = np.where(rng.random(Y.shape) < 0.1, np.nan, Y)
    monkeypatch.setattr(forest, "WORTH_A_THREAD", 1)
    depth, leaf = ((2, 10), (10, 3))[len(X) % 4 == 2]
    contest(monkeypatch, (depth, leaf))
    most_draws = 20 if name == "ties" else 5000
    monkeypatch.setattr(_boosting, "_MOST_ROWS", most_draws)
    models, errors = twin.boost(X, Y, 5, depth, leaf, 3, most_draws=most_draws, n_sums=n_sums)
    n_trees = 1 + int(errors.argmin())
    fold = np.random.default_rng(0).permutation(len(X)) % 4
    expected = np.zeros(Y.shape)
    for i, x in enumerate(np.clip(X, -1e30, 1e30).astype(np.float32)):
        for tree in models[fold[i]][: n_trees + 1]:
            expected[i] += tree[3][twin.leaf_of(tree, x)]
    expected_trees = [tree for trees in models for tree in trees[: n_trees + 1]]
    kernel = _forest.boost
    calls = []
    monkeypatch.setattr(_forest, "boost", lambda **arguments: calls.append(arguments["errors"]) or kernel(**arguments))
    for level in LEVELS:
        monkeypatch.setenv("NMLSDR_SIMD", level)
        for n_jobs, layout in ((1, np.asfortranarray), (2, np.float32), (2, sparse.csr_array), (1, zeros_stored)):
            if layout is np.float32 and name == "huge":
                continue
            boosted, O = boost_trees(layout(X), Y, limits=Limits(3), random_state=5, n_jobs=n_jobs)
            assert_equals_twin(boosted, expected_trees)
            np.testing.assert_array_equal(O, expected)
            np.testing.assert_allclose(calls[-1].sum(axis=1), errors, rtol=1e-9, atol=1e-12)  # of known entries alone
    total = np.zeros(Y.shape)
    for tree in expected_trees:
        for i, x in enumerate(np.clip(X, -1e30, 1e30).astype(np.float32)):
            total[i] += tree[3][twin.leaf_of(tree, x)]
    np.testing.assert_array_equal(score_by_forests([boosted], X, 1)[0], total / 4)


def curved(rng, n_rows, n_features=6):
    X = rng.standard_normal((n_rows, n_features))
    return X, (np.column_stack([np.sin(3 * X[:, 0]), X[:, 1] * X[:, 2]]) > 0.2).astype(float)


def test_more_than_255_numbers_of_a_column_are_binned_evenly(rng):
    X = np.column_stack([rng.standard_normal(3000), np.arange(3000) % 255, np.arange(3000) % 256]).astype(np.float32)
    columns, codes, cuts = _boosting._binned(X, 0)
    codes = codes.astype(int) + 128
    assert columns.tolist() == [0, 1, 2]
    for x, code, cut in zip(X.T, codes, cuts, strict=True):
        np.testing.assert_array_equal(code, (x[:, np.newaxis] > cut).sum(axis=1))
    assert np.bincount(codes[0]).max() - np.bincount(codes[0]).min() <= 7  # 3000 / 255 is 11.8
    np.testing.assert_array_equal(codes[1], X[:, 1])
    assert codes[2].max() == 254


def test_of_very_many_columns_those_with_most_numbers_are_used(rng, monkeypatch):
    monkeypatch.setattr(_boosting, "_CODES", 0)
    X = np.zeros((40, 1500))
    X[:3, :500] = rng.random((3, 500))
    X[:, 500:] = rng.random((40, 1000))
    for layout in (np.asarray, sparse.csr_array, zeros_stored):
        assert _boosting._binned(layout(X), 0)[0].tolist() == list(range(500, 1500))


@pytest.mark.slow
def test_all_rounds_are_one_whatever_their_parts_and_the_best_contender_goes_on(rng, monkeypatch):
    X, Y = curved(rng, 400)
    options = {"limits": Limits(60), "random_state": 3, "n_jobs": 1}
    boosted, O = boost_trees(X, Y, **options)
    monkeypatch.setattr(_boosting, "_ROUNDS_AT_ONCE", 1)
    calls = []
    again, repeated_scores = boost_trees(X, Y, callback=lambda: calls.append(None), **options)
    assert_same(again, boosted)
    assert_same(repeated_scores, O)
    alone = []
    for number, (depth, leaf) in enumerate(_boosting._CANDIDATES):
        models, errors = twin.boost(X[:, :], Y, 3, depth, leaf, 10, number)
        alone.append((errors[9], number, models))
    best = min(alone, key=lambda contender: contender[:2])[2]
    n_trees = len(boosted.roots) // 4 - 1
    assert len(calls) in range(20 + n_trees - 10, 20 + n_trees + 1)
    for a in range(4):
        root = boosted.roots[a * (n_trees + 1) + 1]
        feature, threshold, *_ = best[a][1]
        assert boosted.feature[root : root + len(feature)].tolist() == feature
        np.testing.assert_array_equal(boosted.threshold[root : root + len(feature)], np.array(threshold, np.float32))


def test_it_ends_ten_rounds_after_the_least_error():
    run = _boosting._Boosting(6, 10, 0, np.empty(0), [], np.empty(0), [])
    for errors, expected in (
        ([3.0, 2.0, 2.0], (1, False)),
        ([3.0, 2.0, *[2.0] * 9], (1, False)),
        ([3.0, 2.0, *[2.0] * 10], (1, True)),
        ([3.0, 2.0, *[2.5] * 10, 1.0], (1, True)),  # grown together with the tenth, but after it
        ([3.0, 2.0, *[2.5] * 9, 1.0], (11, False)),
    ):
        run.errors = errors
        assert run.best() == expected


def run_with(errors, linear_error):
    run = _boosting._Boosting(6, 10, 0, np.empty(0), [], np.empty(0), [], linear_error)
    run.errors = errors
    return run.best()


@pytest.mark.parametrize(
    ("rounds", "linear_error", "expected"),
    [
        (49, 1.0, (48, False)),  # no forecast yet, however far the linear learner is ahead
        (50, 1.0, (49, True)),
        (60, 699.99, (49, True)),  # 935 - 20 x 10 is 735, above 1.05 x 699.99
        (60, 700.0, (59, False)),  # and not above 1.05 x 700; errors fall on
        (60, np.inf, (59, False)),
    ],
)
def test_it_ends_where_a_linear_learner_stays_out_of_reach(rounds, linear_error, expected):
    """Each round takes 1 off the error."""
    assert run_with([984.0 - number for number in range(rounds)], linear_error) == expected


def test_an_error_that_rises_is_no_forecast_of_larger_ones():
    """The last error is 4 above that of ten rounds before, and less than 5 % above that of the linear learner."""
    errors = [700.0 - number for number in range(41)]
    errors += [660.5] * 4 + [659.0] + [659.5] * 4 + [664.0]
    assert run_with(errors, 640.0) == (45, False)


def test_the_end_is_that_of_the_twin(rng):
    ends = {"early": 0, "late": 0, "never": 0}
    for _ in range(400):
        floor = rng.uniform(0.1, 0.9)
        halving = rng.uniform(5, 200)
        errors = (floor + (1 - floor) * 0.5 ** (np.arange(120) / halving) + 1e-3 * rng.standard_normal(120)).tolist()
        linear_error = rng.uniform(0.1, 1.2)
        n_rounds, ended = twin.rounds_kept(errors, linear_error)
        assert run_with(errors, linear_error) == (n_rounds - 1, ended)
        ends["never" if not ended else "early" if n_rounds < twin.rounds_kept(errors, np.inf)[0] else "late"] += 1
    assert min(ends.values()) >= 10


def test_an_early_end_is_the_same_whatever_the_parts_of_the_rounds(rng, monkeypatch):
    X, Y = curved(rng, 200)
    options = {"limits": Limits(90, linear_error=1e-3), "random_state": 3}
    grown = []
    for at_once, n_jobs in ((5, 1), (1, 1), (5, 2), (7, 2)):
        monkeypatch.setattr(_boosting, "_ROUNDS_AT_ONCE", at_once)
        grown.append(boost_trees(X, Y, n_jobs=n_jobs, **options))
    boosted, O = grown[0]
    without_end, _ = boost_trees(X, Y, limits=Limits(90), random_state=3, n_jobs=1)
    assert 4 * 51 < len(boosted.roots) < len(without_end.roots)
    for trees_of_parts, scores in grown[1:]:
        assert_same(trees_of_parts, boosted)
        np.testing.assert_array_equal(scores, O)


def test_no_row_is_predicted_by_a_model_that_saw_it(rng, monkeypatch):
    """Labels of noise: out of fold nothing is learned, and another label in a fold changes none of its predictions."""
    monkeypatch.setattr(
        _boosting, "_CANDIDATES", _boosting._CANDIDATES[:1]
    )  # the labels of all folds decide on the depth
    X = rng.standard_normal((600, 5))
    Y = labels(rng, (600, 2))
    options = {"limits": Limits(20), "random_state": 0, "n_jobs": 1}
    fold = np.random.default_rng(0).permutation(600) % 4
    trees, O = boost_trees(X, Y, **options)
    assert ((O - Y) ** 2).mean() > 0.98 * Y.var()
    flipped = np.where((fold == 2)[:, np.newaxis], 1 - Y, Y)
    trees_of_flipped, _ = boost_trees(X, flipped, **options)
    fold_values = []
    for model in (trees, trees_of_flipped):
        first = len(model.roots) // 4 * 2  # the mean labels of the other folds, and a tree
        part = slice(*model.roots[[first, first + 2]])
        leaves = model.left[part][model.feature[part] < 0]
        fold_values.append(model.values[leaves])
    np.testing.assert_array_equal(fold_values[0], fold_values[1])


def test_boosted_trees_become_a_forest_of_scikit_learn(rng):
    X, Y = curved(rng, 300)
    boosted, _ = boost_trees(X, Y, limits=Limits(15), random_state=0, n_jobs=1)
    new = rng.standard_normal((40, 6)).astype(np.float32)
    np.testing.assert_allclose(to_sklearn(boosted).predict(new), score_by_forests([boosted], new, 1)[0], atol=1e-6)
    assert set(np.argsort(boosted.feature_importances_)[-3:]) == {0, 1, 2}
    assert boosted.feature_importances_.sum() == pytest.approx(1)


def test_boosted_trees_are_made_again_of_their_arrays(rng):
    X, Y = curved(rng, 300)
    boosted, _ = boost_trees(X, Y, limits=Limits(5), random_state=0, n_jobs=1)
    assert boosted.values.min() < 0
    assert_same(checked_trees(BoostedTrees, arrays_of(boosted), 6, 2), boosted)
    arrays = arrays_of(boosted)
    arrays["values"] = arrays["values"] - np.float32(3)
    with pytest.raises(InputError, match=r"outside \[-2, 2\]"):
        checked_trees(BoostedTrees, arrays, 6, 2)
    arrays_of_three = {
        "roots": np.arange(4),
        "feature": np.full(3, -1, np.int32),
        "threshold": np.zeros(3, np.float32),
        "left": np.arange(3, dtype=np.int32),
        "values": np.zeros((3, 1), np.float32),
        "weights": np.ones(3, np.int32),
    }
    with pytest.raises(InputError, match="3 trees in 4 models"):
        checked_trees(BoostedTrees, arrays_of_three, 1, 1)


def test_no_memory_is_an_error(rng, monkeypatch):
    monkeypatch.setattr(_forest, "boost", lambda **_: False)
    with pytest.raises(MemoryError, match="not enough memory to grow"):
        boost_trees(*curved(rng, 40), limits=Limits(2), random_state=0, n_jobs=1)


# ---------------------------------------------------------------- in ResidualPropagation


@pytest.fixture
def many_rows(rng, monkeypatch):
    """60 labelled rows count as many; some entries are unknown."""
    monkeypatch.setattr(_learners, "MANY_ROWS", 60)
    X, Y = curved(rng, 200)
    Y[rng.random(Y.shape) < 0.1] = -1
    Y[150:] = -1
    return X, Y


def weights_by_learner(model):
    return dict(zip(map(type, model.learners_), model.learner_weights_, strict=True))


def learner_of(model, kind):
    return next(learner for learner in model.learners_ if isinstance(learner, kind))


def fit(X, Y, **parameters):
    return ResidualPropagation(n_neighbors=5, **{"n_estimators": 4, "n_jobs": 1, **parameters}).fit(X, Y)


@pytest.mark.usefixtures("rows_as_they_stand")
def test_beyond_a_number_of_labelled_rows_a_fourth_learner_is_boosted(many_rows, monkeypatch):
    X, Y = many_rows
    four = (_learners.RidgeRegression, _learners.ExtraTrees, _learners.RandomForest, _learners.Boosting)
    monkeypatch.setattr(_learners, "LEARNERS", four)
    model = fit(X, Y, random_state=7)
    labelled = (Y != -1).any(axis=1)
    boosted, O = boost_trees(
        X[labelled], np.where(Y < 0, np.nan, Y)[labelled], limits=Limits(20), random_state=7, n_jobs=1
    )
    assert_same(learner_of(model, _learners.Boosting).trees, boosted)
    V = np.where(Y[labelled] == 1, 1 - model.flip_scores_[labelled], model.flip_scores_[labelled])
    _, out_of_bag, left_out = forest.grow_forests(
        X[labelled],
        np.where(Y[labelled] < 0, model.ridge_scores_[labelled], Y[labelled]),
        n_estimators=4,
        random_state=7,
        n_jobs=1,
    )
    ridge = model.ridge_scores_[labelled]
    all_four = [ridge, *(np.where(left_out[:, None], forest_scores, ridge) for forest_scores in out_of_bag), O]
    np.testing.assert_allclose(
        model.learner_weights_, _learners.learner_weights(all_four, Y[labelled], Y[labelled] >= 0)
    )
    expected = np.einsum("m,mij->ij", model.learner_weights_, all_four)
    for rows, E in zip((model.embedding_, model.ridge_scores_), model.propagated_errors_, strict=True):
        expected += 0.375 * (60 / labelled.sum()) ** 0.25 * (transition_matrix(neighbor_graph(rows, 10)) @ E)[labelled]
    known = Y[labelled] >= 0
    np.testing.assert_allclose(V[known], np.clip(expected, 0, 1)[known], atol=1e-9)


def test_the_linear_error_is_the_least_of_the_learners_with_links(many_rows, monkeypatch):
    """Of known entries; a single label of several classes has no such learner."""
    X, Y = many_rows
    limits = []
    by_links = []
    weigh = _learners.learner_weights

    def boost(*arrays, **settings):
        limits.append(settings["limits"])
        return boost_trees(*arrays, **settings)

    def weigh_and_keep(predictions, Y, known):
        by_links.extend(((Y - O)[known] ** 2).sum() for O in predictions[-2:])
        return weigh(predictions, Y, known)

    monkeypatch.setattr(_learners, "boost_trees", boost)
    monkeypatch.setattr(_learners, "learner_weights", weigh_and_keep)
    fit(X, Y)
    assert limits == [(20, pytest.approx(min(by_links), rel=1e-12))]
    monkeypatch.setattr(_learners, "learner_weights", weigh)
    fit(X, np.where(Y[:, 0] < 0, -1, Y[:, 0] + 2 * Y[:, 1].clip(0)).astype(int))
    assert limits[1:] == [(20, np.inf)]


def test_storage_threads_and_a_model_file_change_no_bit(many_rows, tmp_path):
    X, Y = many_rows
    model = fit(X, Y)
    by_threads = fit(X, Y, n_jobs=2)
    np.testing.assert_array_equal(rank_scores(model, X), rank_scores(by_threads, X))
    save_model(tmp_path / "model.skops", model)
    back = load_model(tmp_path / "model.skops")
    assert_same(back.learners_, model.learners_)
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_allclose(rank_scores(fit(sparse.csr_array(X), Y), X), rank_scores(model, X), atol=1e-7)


def test_no_trees_are_no_boosted_trees_either_nor_for_many_labels(many_rows, monkeypatch):
    X, Y = many_rows
    assert fit(X, Y, n_estimators=0).forests_ == []
    monkeypatch.setattr(_learners, "MOST_LABELS", Y.shape[1] - 1)
    names = weights_by_learner(fit(X, Y))
    assert _learners.RandomForest in names
    assert _learners.Boosting not in names


def test_classes_and_votes_are_boosted_too(many_rows):
    X, Y = many_rows
    votes = fit(X, np.where(Y == 1, 0.8, Y))
    classes = fit(X, np.where(Y[:, 0] < 0, -1, Y[:, 0] + 2 * Y[:, 1].clip(0)).astype(int))
    for model in (votes, classes):
        assert _learners.Boosting in weights_by_learner(model)
    assert np.isfinite(rank_scores(votes, X)).all()
    np.testing.assert_allclose(classes.predict_proba(X).sum(axis=1), 1)
