"""Forged learners in model files: trees, boosted trees, coefficients, links and Newton steps that no fit gives."""

import numpy as np
import pytest
from model_files import (
    assert_forgery_is_refused,
    assert_same,
    attribute,
    learner,
    part,
    plain,
)
from scipy import sparse

import nmlsdr
from nmlsdr import forest as forests
from nmlsdr._errors import InputError
from nmlsdr._estimators._learners import (
    Boosting,
    ExtraTrees,
    LinkedRidge,
    NewtonStep,
    RidgeRegression,
    check_learners,
)
from nmlsdr.model_file import load_model, save_model


def forest(change, kind=ExtraTrees):
    """A change of the arrays of a learner."""

    def forger(schema, arrays):
        stored = learner(schema, kind)["content"]
        files = {name: node["file"] for name, node in stored.items() if "file" in node}
        stored = {name: arrays[file] for name, file in files.items()}
        change(stored)
        arrays.update({files[name]: array for name, array in stored.items()})

    return forger


# ---------------------------------------------------------------- trees


def put(name, position, value):
    """A number in place of another one."""
    return forest(lambda stored: stored[name].__setitem__(position, value))


def put_in(name, change):
    return forest(lambda stored: stored.update({name: change(stored[name])}))


def child_before_parent(stored):
    """The same tree under other numbers: the children of the root come after those of one of them."""
    feature, left_children, threshold = (stored[name] for name in ("feature", "left", "threshold"))
    parent = 1 + int(feature[1] < 0)
    assert (left_children[0], left_children[parent]) == (1, 3)
    left_children[0] = 3
    left_children[parent] = 1
    for array in (feature, left_children, threshold):
        array[[1, 2, 3, 4]] = array[[3, 4, 1, 2]]


def children_in_the_next_tree(stored):
    """The roots of two trees have each other's children, so that each node still has one parent."""
    left_children = stored["left"]
    second = int(stored["roots"][1])
    left_children[[0, second]] = left_children[[second, 0]]


def leaves_in_the_next_tree(stored):
    """The first leaves of two trees have each other's numbers."""
    leaves = np.flatnonzero(stored["feature"] < 0)
    second = stored["roots"][1]
    first_leaves = leaves[0], leaves[leaves > second][0]
    stored["left"][[*first_leaves]] = stored["left"][[*first_leaves[::-1]]]


def no_nodes(stored):
    stored.update({name: array[:0] for name, array in stored.items()})


def roots_beyond_int64(stored):
    """Trees whose sizes, in 64 bits, have the number of nodes as their sum."""
    stored["roots"] = np.concatenate([stored["roots"][:1], np.cumsum([2**62] * 3), stored["roots"][-1:]])


BELOW = "not the child of one node before it in its tree"
TOGETHER = "its arrays do not fit together"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (forest(child_before_parent), BELOW),
        (put("left", 0, 0), BELOW),  # an endless loop
        (put("left", 0, 10**9), BELOW),  # a crash
        (put("left", 0, 2**31 - 1), BELOW),
        (put("left", 0, -2), BELOW),
        (put("left", 0, 2), BELOW),
        (forest(children_in_the_next_tree), BELOW),  # nodes of another tree
        (put("feature", 0, -1), BELOW),
        (put("feature", 0, 5), "asks for a feature beyond the 5"),
        (put("feature", 0, -2), "asks for a feature beyond the 5"),
        (put("left", -1, 0), "not numbered each once"),
        (put("left", -1, 10**9), "not numbered each once"),
        (forest(leaves_in_the_next_tree), "not numbered tree by tree"),  # values of another tree
        (put("threshold", 0, np.nan), "thresholds that are not finite"),
        (put("threshold", 0, np.inf), "thresholds that are not finite"),
        (put("labels", (0, 0), 1025), "labels outside"),
        (put("labels", (0, 0), -1), "labels outside"),
        (put_in("labels", lambda labels: labels[:0]), "rows beyond the 0 "),
        (put_in("labels", lambda labels: labels[:-1]), "rows beyond the 39 "),
        (put("rows", 0, 40), "rows beyond the 40 "),  # beyond the memory of the labels
        (put("rows", 0, -1), "rows beyond the 40 "),
        (put("times", 0, 0), "rows that were not drawn"),
        (put("times", 0, 10_001), "more than 10000 draws"),
        (put("ends", 0, 1), "leaves without rows"),
        (put("ends", 1, 0), "leaves without rows"),
        (put("ends", 1, 2**31 - 1), "leaves without rows"),
        (put("ends", -1, 10**9), "leaves without rows"),
        (put("ends", slice(1, 4), [2**31 - 1, -(2**31), -1]), "leaves without rows"),  # all differences are above 0
        (put_in("labels", lambda labels: 1024 - labels), "predicts differently"),
        (put_in("rows", lambda rows: rows[::-1].copy()), "predicts differently"),
        (put_in("times", lambda times: times + (np.arange(len(times)) % 3 == 0).astype("i2")), "predicts differently"),
        (put_in("rows", lambda rows: rows[:-1]), TOGETHER),
        (put_in("times", lambda times: times[:-1]), TOGETHER),
        (put_in("ends", lambda ends: ends[:-1]), "not numbered each once"),
        (put_in("labels", lambda labels: labels[:, :1]), TOGETHER),
        (put_in("labels", np.asfortranarray), TOGETHER),
        (put_in("labels", lambda labels: labels.astype(float)), TOGETHER),
        (put_in("rows", lambda rows: rows.astype(np.int64)), TOGETHER),
        (put_in("times", lambda times: times.astype(np.int32)), TOGETHER),
        (put_in("ends", lambda ends: ends.astype(np.int64)), TOGETHER),
        (put_in("feature", lambda feature: feature[:-1]), TOGETHER),
        (put_in("left", lambda left_children: left_children[:-1]), TOGETHER),
        (put_in("threshold", lambda threshold: threshold[:, None]), TOGETHER),
        (put_in("roots", lambda roots: roots[:, None]), TOGETHER),
        (put_in("roots", lambda roots: roots[1:]), TOGETHER),
        (put_in("roots", lambda roots: np.insert(roots, 1, 0)), TOGETHER),  # a tree without nodes
        (put_in("roots", lambda roots: roots + [0, 1, 0]), BELOW),
        (put("roots", -1, 1), TOGETHER),
        (forest(no_nodes), TOGETHER),
        (forest(roots_beyond_int64), TOGETHER),
        (attribute("n_features_in_", lambda value: 3), "where the others need"),
    ],
)
def test_forged_trees_are_refused(tmp_path, rng, change, message):
    X = rng.normal(size=(40, 5))
    Y = (X[:, :2] > 0).astype(int)
    model = nmlsdr.ResidualPropagation(n_neighbors=5, n_estimators=2).fit(X, Y)
    save_model(tmp_path / "m.skops", model)
    assert_forgery_is_refused(tmp_path / "m.skops", change, message)


def two_trees_each(stored):
    """Without the last tree of the last model."""
    n_nodes = stored["roots"][-2]
    stored["roots"] = stored["roots"][:-1]
    n_leaves = int((stored["feature"][:n_nodes] < 0).sum())
    stored.update({name: stored[name][:n_nodes] for name in ("feature", "threshold", "left")})
    stored.update({name: stored[name][:n_leaves] for name in ("values", "weights")})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (forest(lambda stored: stored["values"].__setitem__((0, 0), 2.5), Boosting), r"values outside \[-2, 2\]"),
        (forest(lambda stored: stored["values"].__setitem__((0, 0), -0.5), Boosting), "predicts differently"),
        (forest(lambda stored: stored["values"].__setitem__((0, 0), np.nan), Boosting), r"values outside \[-2, 2\]"),
        (forest(lambda stored: stored["weights"].__setitem__(0, 0), Boosting), "leaves without rows"),
        (forest(lambda stored: stored["left"].__setitem__(1, 0), Boosting), BELOW),
        (forest(two_trees_each, Boosting), "trees in 4 models"),
        (attribute("learner_weights_", lambda weights: weights[:-1]), "where the others need"),
    ],
)
def test_forged_boosted_trees_are_refused(tmp_path, rng, monkeypatch, change, message):
    monkeypatch.setattr("nmlsdr._estimators._learners.MANY_ROWS", 30)
    X = rng.normal(size=(60, 5))
    Y = (X[:, :2] * X[:, 1:3] > 0).astype(int)
    model = nmlsdr.ResidualPropagation(n_neighbors=5, n_estimators=2).fit(X, Y)
    save_model(tmp_path / "m.skops", model)
    assert_forgery_is_refused(tmp_path / "m.skops", change, message)


@pytest.mark.parametrize(
    ("position", "change", "message"),
    [
        (0, lambda data: data * 3, "labels outside"),
        (0, lambda data: data * 0, "labels outside"),
        (0, lambda data: data.astype(float), TOGETHER),
        (1, lambda columns: columns + 4, "broken CSR"),
        (1, lambda columns: columns.astype(np.float64), "broken CSR|together"),
        (2, lambda ends: ends[::-1], "broken CSR|index pointer|must"),
        (2, lambda ends: ends[:-1], "broken CSR|index pointer|together"),
    ],
)
def test_forged_labels_that_are_rare_are_refused(tmp_path, rng, monkeypatch, position, change, message):
    """Of trees that are split by random sums: CSR rows."""
    monkeypatch.setattr(forests, "MOST_LABELS", 3)
    X = rng.standard_normal((60, 3))
    Y = (rng.random((60, 40)) < 0.04).astype(int)
    model = nmlsdr.ResidualPropagation(n_neighbors=4, n_estimators=3).fit(X, Y)
    path = tmp_path / "m.skops"
    save_model(path, model)
    assert_same(load_model(path).forests_, model.forests_)
    assert sparse.issparse(model.forests_[0].labels)

    def forger(schema, arrays):
        parts = learner(schema, ExtraTrees)["content"]["labels"]["content"]["parts"]["content"][position]
        arrays[parts["file"]] = change(arrays[parts["file"]])

    assert_forgery_is_refused(path, forger, message)


# ---------------------------------------------------------------- the list of learners, and those without trees


def another_order(stored):
    stored[1:] = stored[:0:-1]


def one_twice(stored):
    stored.append(stored[-1])


def unknown_name(stored):
    stored[-1]["content"]["learner"].update(plain("oracle"))


@pytest.mark.parametrize("change", [another_order, one_twice, unknown_name])
def test_lists_of_learners_that_no_fit_gives_are_refused(tmp_path, samples, change):
    save_model(tmp_path / "m.skops", nmlsdr.ResidualPropagation(n_neighbors=4, n_estimators=2).fit(*samples))

    def forger(schema, arrays):
        change(part(schema, "model", "learners_")["content"])

    assert_forgery_is_refused(tmp_path / "m.skops", forger, "the learners .* are not those of a fit")


def test_a_list_of_learners_begins_with_the_ridge_regression():
    assert check_learners([RidgeRegression.name, Boosting.name]) == [RidgeRegression, Boosting]
    for names in ([], [ExtraTrees.name], [Boosting.name, RidgeRegression.name]):
        with pytest.raises(InputError, match="not those of a fit"):
            check_learners(names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: stored["coef"].__setitem__((0, 0), np.nan), "coef holds a value that is not finite"),
        (lambda stored: stored["intercept"].__setitem__(0, 1e300), "intercept holds a value that is not finite"),
        (lambda stored: stored.update(coef=stored["coef"][:, :4]), "coef is not an array of float64 of the shape"),
        (lambda stored: stored.update(coef=np.asfortranarray(stored["coef"])), "coef is not in C order"),
        (lambda stored: stored.update(coef=stored["coef"].astype(np.float32)), "coef is not an array of float64"),
        (lambda stored: stored.update(coef=stored["coef"] + 1), "predicts differently"),
    ],
)
def test_forged_coefficients_are_refused(tmp_path, samples, change, message):
    save_model(tmp_path / "m.skops", nmlsdr.ResidualPropagation(n_neighbors=4, n_estimators=2).fit(*samples))
    assert_forgery_is_refused(tmp_path / "m.skops", forest(change, RidgeRegression), message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: stored["slope"].__setitem__(0, -1e-9), "slopes below 0"),
        (lambda stored: stored["bend"].__setitem__(0, -1.0), "slopes below 0"),
        (lambda stored: stored["scale"].__setitem__(0, 0.0), "scales that are not above 0"),
        (lambda stored: stored["offset"].__setitem__(0, np.inf), "offset holds a value that is not finite"),
        (lambda stored: stored.update(mean=stored["mean"][:1]), "mean is not an array of float64 of the shape"),
        (lambda stored: stored["offset"].__iadd__(1.0), "predicts differently"),
    ],
)
def test_forged_links_are_refused(tmp_path, rng, monkeypatch, change, message):
    monkeypatch.setattr("nmlsdr._estimators._learners.MANY_ROWS", 30)
    X = rng.normal(size=(60, 5))
    Y = (X[:, :2] > 0).astype(int)
    save_model(tmp_path / "m.skops", nmlsdr.ResidualPropagation(n_neighbors=5, n_estimators=0).fit(X, Y))
    assert_forgery_is_refused(tmp_path / "m.skops", forest(change, LinkedRidge), message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: stored["slope"].__setitem__(0, -1e-9), "slopes below 0"),
        (lambda stored: stored["scale"].__setitem__(0, 0.0), "scales that are not above 0"),
        (lambda stored: stored["coef"].__setitem__((0, 0), np.nan), "coef holds a value that is not finite"),
        (lambda stored: stored.update(center=stored["center"][:1]), "center is not an array of float64 of the shape"),
        (lambda stored: stored["coef"].__iadd__(1.0), "predicts differently"),
    ],
)
def test_forged_newton_steps_are_refused(tmp_path, rng, monkeypatch, change, message):
    monkeypatch.setattr("nmlsdr._estimators._learners.MANY_ROWS", 30)
    X = rng.normal(size=(60, 5))
    Y = (X[:, :2] + rng.normal(size=(60, 2)) > 0).astype(int)
    save_model(tmp_path / "m.skops", nmlsdr.ResidualPropagation(n_neighbors=5, n_estimators=0).fit(X, Y))
    assert_forgery_is_refused(tmp_path / "m.skops", forest(change, NewtonStep), message)
