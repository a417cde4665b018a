"""The forests: the kernel is its plain twin in every bit, for any level, thread, storage and part of the trees."""

import tracemalloc

import forest_reference as twin
import numpy as np
import pytest
from forest_reference import CASES, LEVELS, assert_equals_twin, labels, zeros_stored
from model_files import assert_same
from projections import draw_binary
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from nmlsdr import _float32, forest
from nmlsdr import _forest as kernels
from nmlsdr._errors import InputError
from nmlsdr._tree_checks import arrays_of, checked_trees
from nmlsdr.forest import KINDS, BoostedTrees, Forest, grow_forests, score_by_forests


@pytest.mark.parametrize("name", CASES)
def test_forests_are_those_of_the_twin(name, rng, monkeypatch):
    """Trees and predictions, out of bag too: for every level, one and two threads, dense and sparse rows."""
    X, Y = CASES[name](rng)
    X = np.asarray(X, dtype=np.float64)
    Y = np.round(Y * 1024) / 1024
    n_trees = 2 if len(X) > 1000 else 3
    expected = [twin.grow_forest(X, Y, 5, n_trees, several) for several in (0, 1)]
    out_of_bag = [twin.predict(trees, X, left_out) for trees, left_out in expected]
    new = np.vstack([X, 0.7 * X[::-1]])[:130]
    predicted = [twin.predict(trees, new) for trees, _ in expected]
    monkeypatch.setattr(forest, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(forest, "_WORTH_SCORING", 1)
    monkeypatch.setattr(_float32, "_SPREAD", 1000)  # rows are scored in parts
    for level in LEVELS:
        monkeypatch.setenv("NMLSDR_SIMD", level)
        for n_jobs, layout in ((1, np.asfortranarray), (2, np.float32), (2, sparse.csr_array), (1, zeros_stored)):
            if layout is np.float32 and name == "huge":
                continue
            options = {"n_estimators": n_trees, "random_state": 5, "n_jobs": n_jobs}
            forests, predictions, left_out = grow_forests(layout(X), Y, **options)
            for grown, (trees, rows_left_out), O, votes in zip(forests, expected, out_of_bag, predictions, strict=True):
                assert_equals_twin(grown, trees)
                np.testing.assert_array_equal(left_out, rows_left_out.any(axis=0))
                np.testing.assert_array_equal(votes, O)
            for scores, P in zip(score_by_forests(forests, layout(new), n_jobs), predicted, strict=True):
                np.testing.assert_array_equal(scores, P)


@pytest.mark.parametrize("name", ["bell-shaped", "votes", "thirty labels", "ties", "mostly 0", "rare labels"])
def test_trees_for_many_labels_are_split_by_sums_of_them(name, rng, monkeypatch):
    """And their leaves hold the means of all labels: the twin's in every bit, for every level and with threads."""
    X, Y = CASES[name](rng)
    Y = np.round(Y * 1024) / 1024
    n_sums = 3
    if name == "thirty labels":  # sums beyond 16 and -16
        Y = np.tile(Y, 100)
        n_sums = 1
    monkeypatch.setattr(forest, "_SUMS", n_sums)
    monkeypatch.setattr(forest, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(_float32, "_SPREAD", 1000)
    monkeypatch.setattr(forest, "column_order", lambda labels: np.arange(labels.shape[1]))  # as the twin draws signs
    expected = [twin.grow_forest(X, Y, 5, 3, several, n_sums=n_sums) for several in (0, 1)]
    for level in LEVELS:
        monkeypatch.setenv("NMLSDR_SIMD", level)
        for n_jobs, layout in ((1, np.asarray), (2, sparse.csr_array)):
            options = {"n_estimators": 3, "random_state": 5, "n_jobs": n_jobs}
            monkeypatch.setattr(forest, "MOST_LABELS", Y.shape[1])
            plain, *_ = grow_forests(layout(X), Y, **options)
            monkeypatch.setattr(forest, "MOST_LABELS", Y.shape[1] - 1)
            forests, predictions, _ = grow_forests(layout(X), Y, **options)
            assert forests[0].threshold.tobytes() != plain[0].threshold.tobytes()
            assert sparse.issparse(forests[0].labels) == (name == "rare labels")
            for grown_forest, (trees, rows_left_out), O in zip(forests, expected, predictions, strict=True):
                assert_equals_twin(grown_forest, trees)
                np.testing.assert_array_equal(O, twin.predict(trees, X, rows_left_out))
            assert_same(forest.to_sklearn(forests[0]).predict(X[:9]), score_by_forests(forests[:1], X[:9], 1)[0])


@pytest.mark.parametrize("changed", [{"leaf": 1}, {"leaf": 5}, {"tried": 2}, {"n_draws": 40}])
def test_the_twin_takes_other_settings_too(changed, rng, monkeypatch):
    X = rng.standard_normal((60, 8))
    Y = labels(rng, (60, 3))
    names = {"leaf": "_LEAF", "tried": "_MOST_FEATURES", "n_draws": "_ROWS_OF_A_TREE"}
    for name, value in changed.items():
        monkeypatch.setattr(forest, names[name], value)
    forests, *_ = grow_forests(X, Y, n_estimators=4, random_state=2, n_jobs=1)
    for several, grown_forest in enumerate(forests):
        settings = {} if several and "tried" in changed else changed
        assert_equals_twin(grown_forest, twin.grow_forest(X, Y, 2, 4, several, **settings)[0])


def grown_by_kernel(X, Y, kinds, n_draws, n_trees, level):
    """Trees of each kind, with leaves of three rows, for features that are tried in every node."""
    n, d = X.shape
    n_labels = Y.shape[1]
    nodes, n_leaves = forest.room(n_trees, len(kinds), n // 3)
    targets = np.int16(1024 * Y)
    draws = np.zeros((n_trees, n), np.int32)
    rows = np.empty((n_trees, len(kinds), min(n, n_draws)), np.int32)
    arguments = (
        np.float32(X).ravel(),
        np.empty(0, np.int32),
        d * np.arange(n + 1),
        d,
        targets,
        n_labels,
        np.int32(kinds),
    )
    assert kernels.grow(*arguments, 3, n_draws, 3, draws, nodes, n_leaves, rows, 0, n_trees, 1, level)
    for kind, counts in enumerate(n_leaves.T):
        grown = forest.joined(forest._used(nodes[:, kind], 2 * counts - 1), counts, d, np.cumsum(counts) - counts)
        yield Forest(**grown, labels=targets, **forest._drawn(rows[:, kind], draws))


@pytest.mark.parametrize("n_draws", [9000, 405])
@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_a_row_counts_as_often_as_it_was_drawn(level, n_draws, rng):
    """Some 1000 draws of each of nine rows, whose sums leave 16 and 24 bits, or 45, whose numbers just leave 16."""
    X = rng.standard_normal((9, 9)).astype(np.float32)
    Y = labels(rng, (9, 2))
    for several, by_kernel in enumerate(grown_by_kernel(X, Y, [[8, 0], [8, 1]], n_draws, 5, level)):
        expected, _ = twin.grow_forest(X, Y, 3, 5, several, n_draws=n_draws, tried=8)
        assert_equals_twin(by_kernel, expected)
        assert_same(score_by_forests([by_kernel], X, 1)[0], twin.predict(expected, X))


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_of_equally_good_splits_the_first_is_taken_whatever_float32_says(level):
    """Features that part one of three groups from the others, whose votes are the same in another order."""
    X = np.tile(np.repeat(np.eye(3), 3, axis=0), (1, 4)) * np.arange(1, 13)
    Y = np.array([[1023, 511, 77], [511, 77, 1023], [77, 1023, 511]])[np.arange(9) // 3] / 1024
    for several, by_kernel in enumerate(grown_by_kernel(X, Y, [[12, 0], [12, 1]], 27, 500, level)):
        assert_equals_twin(by_kernel, twin.grow_forest(np.float32(X), Y, 3, 500, several, n_draws=27, tried=12)[0])


def test_a_chain_as_long_as_its_rows_allow_is_grown(rng):
    """Each split takes a few equal rows from all others; a call for each node would be as deep."""
    X = sparse.csr_array(np.eye(700)[np.arange(7000) % 700])
    Y = rng.random((700, 1))[np.arange(7000) % 700]
    (grown_forest,), *_ = grow_forests(X, Y, kinds=KINDS[1:], n_estimators=1, random_state=0, n_jobs=1)
    depth = np.zeros(len(grown_forest.left), dtype=int)
    for node in np.flatnonzero(grown_forest.feature >= 0):  # children come after their parents
        depth[grown_forest.left[node] : grown_forest.left[node] + 2] = depth[node] + 1
    assert depth.max() > 300
    assert_same(checked_trees(Forest, arrays_of(grown_forest), 700, 1), grown_forest)


def test_sums_whose_squares_leave_float64_are_exact(rng, monkeypatch):
    """10 000 draws of more than some 80 labels: squares beyond 2^53, which are summed in int64."""
    X = rng.integers(0, 9, (11_000, 3))
    Y = 1.0 - (rng.random((11_000, 120)) < 0.01)
    forests_of_layouts = []
    for level in (LEVELS[0], LEVELS[-1]):
        monkeypatch.setenv("NMLSDR_SIMD", level)
        for layout in (np.asarray, sparse.csr_array):
            forests_of_layouts.append(grow_forests(layout(X), Y, n_estimators=1, random_state=0, n_jobs=1))
            assert_same(forests_of_layouts[-1], forests_of_layouts[0])


@pytest.mark.slow
def test_of_very_many_columns_a_tree_sees_some(rng):
    """A copy of the rows holds at most 2^24 numbers."""
    X = rng.standard_normal((31, 600_000)).astype(np.float32)
    Y = labels(rng, (31, 2))
    (grown_forest,), *_ = grow_forests(X, Y, kinds=KINDS[:1], n_estimators=1, random_state=0, n_jobs=1)
    assert_equals_twin(grown_forest, twin.grow_forest(X, Y, 0, 1, 0)[0])


def test_a_split_is_halfway_between_two_values(rng):
    """By hand: eight rows, of which the first four lack the label and the others have it."""
    X = np.arange(8.0)[:, np.newaxis]
    Y = np.repeat([[0.0], [1.0]], 4, axis=0)
    (grown_forest,), *_ = grow_forests(X, Y, kinds=KINDS[1:], n_estimators=30, random_state=0, n_jobs=1)
    inner = grown_forest.feature == 0
    assert inner.any()
    assert {3.5} < set(grown_forest.threshold[inner]) <= {2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 1.5, 2.0}
    assert grown_forest.values.min() == 0
    assert grown_forest.values.max() == 1
    np.testing.assert_array_equal(grown_forest.feature_importances_, [1.0])


def test_trees_do_not_depend_on_the_parts_in_which_they_grow_nor_on_the_other_kind(rng, monkeypatch):
    X = rng.standard_normal((80, 6))
    Y = labels(rng, (80, 3))
    options = {"n_estimators": 7, "random_state": 1, "n_jobs": 1}
    whole, predictions, left_out = grow_forests(X, Y, **options)
    monkeypatch.setattr(forest, "WORK", 1)
    callback_calls = []
    parts, predictions_in_parts, left_out_in_parts = grow_forests(
        X, Y, callback=lambda: callback_calls.append(None), **options
    )
    assert len(callback_calls) == 7
    assert_same(parts, whole)
    assert_same(predictions_in_parts, predictions)
    assert_same(left_out_in_parts, left_out)
    for kind, grown_forest in zip(KINDS, whole, strict=True):
        assert_same(grow_forests(X, Y, kinds=(kind,), **options)[0], [grown_forest])


def test_last_bits_and_order_of_targets_grow_the_same_trees(rng):
    """Dense and sparse rows give other last bits of predicted targets.  Equal columns tie in every split."""
    X = np.tile(rng.random((60, 8)) < 0.4, 2).astype(float)
    for _ in range(10):
        Y = rng.random((60, 4))
        order = rng.permutation(4)
        bits = Y * (1 + rng.choice([0, 2.0**-52], Y.shape))
        first, sparse_scores, turned = (
            np.array(grow_forests(X, targets, n_estimators=8, random_state=0, n_jobs=1)[1])
            for targets in (Y, bits, Y[:, order])
        )
        np.testing.assert_array_equal(sparse_scores, first)
        np.testing.assert_array_equal(turned, first[..., order])


def test_targets_outside_0_and_1_count_as_0_or_1(rng):
    X = rng.standard_normal((40, 4))
    Y = 3 * rng.standard_normal((40, 2))
    options = {"n_estimators": 3, "random_state": 1, "n_jobs": 1}
    assert_same(grow_forests(X, Y, **options)[0], grow_forests(X, np.clip(Y, 0, 1), **options)[0])


@pytest.mark.parametrize(("kind", "theirs"), [(KINDS[0], ExtraTreesRegressor), (KINDS[1], RandomForestRegressor)])
def test_forests_predict_as_well_as_those_of_scikit_learn(rng, kind, theirs):
    """The same kinds of trees: squared errors of new rows within a few percent of theirs."""
    X, Y = draw_binary(rng, 900, 12, 4)
    Y = Y.astype(float)
    train = slice(0, 400)
    test = slice(400, 900)
    (ours,), *_ = grow_forests(X[train], Y[train], kinds=(kind,), n_estimators=100, random_state=0, n_jobs=1)
    their_forest = theirs(
        100, min_samples_leaf=3, max_features=4 if kind == KINDS[0] else 3, bootstrap=True, random_state=0
    )
    errors = [
        ((predicted - Y[test]) ** 2).mean()
        for predicted in (
            score_by_forests([ours], X[test], 1)[0],
            their_forest.fit(X[train], Y[train]).predict(X[test]),
        )
    ]
    assert errors[0] < 1.05 * errors[1] < 0.7 * ((Y[train].mean(axis=0) - Y[test]) ** 2).mean() * 1.05


def test_the_values_of_trees_are_added_in_their_order():
    """Added to 1 one by one, two small values are lost; added to each other first they would not be."""
    values = np.array([[1.0], [2.0**-53], [2.0**-53]], dtype=np.float32)
    none = np.full(3, -1, dtype=np.int32)
    ends = np.arange(4)
    left_children = np.arange(3, dtype=np.int32)
    boosted_trees = BoostedTrees(ends, none, np.zeros(3, dtype=np.float32), left_children, 1, values, -none)
    assert score_by_forests([boosted_trees], np.zeros((1, 1)), 1)[0] == 1 / 4


def test_wide_sparse_rows_are_scored_without_a_dense_copy(rng):
    X = sparse.random_array((300, 200_000), density=1e-4, format="csr", rng=rng)
    Y = labels(rng, (300, 2))
    forests, *_ = grow_forests(X[:50], Y[:50], n_estimators=3, random_state=0, n_jobs=1)
    tracemalloc.start()
    score_by_forests(forests, X, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * 200_000 * 4 / 50


# ---------------------------------------------------------------- as scikit-learn's, and from elsewhere


@pytest.mark.parametrize("n_labels", [1, 4])
def test_a_forest_becomes_one_of_scikit_learn(rng, n_labels):
    X = rng.standard_normal((120, 9))
    Y = labels(rng, (120, n_labels))
    X[:, 0] += 3 * Y[:, 0]
    new = rng.standard_normal((50, 9)).astype(np.float32)
    for grown_forest in grow_forests(X, Y, n_estimators=12, random_state=0, n_jobs=1)[0]:
        same = forest.to_sklearn(grown_forest)
        (ours,) = score_by_forests([grown_forest], new, 1)
        np.testing.assert_array_equal(same.predict(new).reshape(ours.shape), ours)
        np.testing.assert_allclose(grown_forest.feature_importances_, _importances(grown_forest), atol=1e-6)
        assert grown_forest.feature_importances_.argmax() == 0
        assert {tree.get_n_leaves() for tree in same.estimators_} == {*_leaves(grown_forest)}
        root = same.estimators_[0].tree_
        draws = twin.drawn_rows(120, 120, twin.key(0, 0))
        np.testing.assert_allclose(root.value[0].ravel(), draws @ Y / 120, atol=1e-6)
        assert root.weighted_n_node_samples[0] == 120


def _importances(grown_forest):
    """By definition: what each split takes from the squared error, as a share of its tree's."""
    importances = np.zeros(grown_forest.n_features_in_)
    for root in grown_forest.roots[:-1]:
        gains = np.zeros_like(importances)

        def below(node, gains=gains):
            left_child = grown_forest.left[node]
            if grown_forest.feature[node] < 0:
                return grown_forest.weights[left_child], grown_forest.weights[left_child] * grown_forest.values[
                    left_child
                ].astype(float)
            v, S = below(left_child)
            w, T = below(left_child + 1)
            gains[grown_forest.feature[node]] += S @ S / v + T @ T / w - (S + T) @ (S + T) / (v + w)
            return v + w, S + T

        below(root)
        importances += gains / gains.sum()
    return importances / importances.sum()


def _leaves(grown_forest):
    return [
        int((grown_forest.feature[a:b] < 0).sum())
        for a, b in zip(grown_forest.roots, grown_forest.roots[1:], strict=False)
    ]


def test_shap_reads_the_forest(rng):
    shap = pytest.importorskip("shap")
    X = rng.standard_normal((60, 4))
    Y = labels(rng, (60, 2))
    for grown_forest in grow_forests(X, Y, n_estimators=5, random_state=0, n_jobs=1)[0]:
        explainer = shap.TreeExplainer(forest.to_sklearn(grown_forest))
        total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
        np.testing.assert_allclose(total, score_by_forests([grown_forest], X, 1)[0], atol=1e-5)


def test_a_forest_is_made_again_of_its_arrays(rng):
    X = rng.standard_normal((60, 4))
    Y = labels(rng, (60, 2))
    for grown_forest in grow_forests(X, Y, n_estimators=5, random_state=0, n_jobs=1)[0]:
        back = checked_trees(Forest, arrays_of(grown_forest), 4, 2)
        assert isinstance(back, Forest)
        assert_same(back, grown_forest)
        with pytest.raises(InputError, match="its arrays do not fit together"):
            checked_trees(Forest, arrays_of(grown_forest), 4, 3)
        with pytest.raises(InputError, match="labels outside"):
            checked_trees(Forest, arrays_of(grown_forest) | {"labels": sparse.csr_array((60, 2), dtype=np.int16)}, 4, 2)


def test_a_forest_takes_less_memory_than_its_values_and_rare_labels_may_all_be_missing(rng, monkeypatch):
    X = rng.standard_normal((200, 4))
    Y = labels(rng, (200, 99))
    (first_forest, second_forest), *_ = grow_forests(X, Y, n_estimators=9, random_state=0, n_jobs=1)
    assert first_forest.labels is second_forest.labels
    assert (
        sum(array.nbytes for name, array in arrays_of(first_forest).items() if name != "labels")
        < first_forest.values.nbytes / 4
    )
    monkeypatch.setattr(forest, "MOST_LABELS", 98)
    (none, _), *_ = grow_forests(X, 0 * Y, n_estimators=9, random_state=0, n_jobs=1)
    assert_same(checked_trees(Forest, arrays_of(none), 4, 99), none)
    assert not score_by_forests([none], X, 1)[0].any()


def test_a_child_in_another_tree_is_refused():
    """Each node is the child of one before it, but two nodes of the second tree are below the first."""
    arrays = {
        "roots": np.array([0, 3, 6]),
        "feature": np.array([0, 0, -1, -1, -1, -1], dtype=np.int32),
        "threshold": np.zeros(6, dtype=np.float32),
        "left": np.array([1, 4, 0, 1, 2, 3], dtype=np.int32),
        "values": np.zeros((4, 1), dtype=np.float32),
        "weights": np.ones(4, dtype=np.int32),
    }
    with pytest.raises(InputError, match="not the child of one node before it in its tree"):
        checked_trees(BoostedTrees, arrays, 1, 1)


def test_a_tree_without_splits_has_no_importances():
    X = np.ones((8, 3))
    Y = np.arange(16).reshape(8, 2) % 2
    for grown_forest in grow_forests(X, Y, n_estimators=3, random_state=0, n_jobs=1)[0]:
        assert grown_forest.roots.tolist() == [0, 1, 2, 3]
        np.testing.assert_array_equal(grown_forest.feature_importances_, np.zeros(3))
        assert forest.to_sklearn(grown_forest).estimators_[0].get_depth() == 0


def test_no_memory_is_an_error(rng, monkeypatch):
    monkeypatch.setattr(kernels, "grow", lambda **_: False)
    with pytest.raises(MemoryError, match="not enough memory to grow"):
        grow_forests(rng.standard_normal((20, 4)), labels(rng, (20, 2)), n_estimators=2, random_state=0, n_jobs=1)
