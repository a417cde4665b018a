"""Forged model files: what no fit gives is refused when it is read, in one sentence."""

import json
import sys
import zipfile

import numpy as np
import pytest
from model_files import (
    assert_forgery_is_refused,
    assert_same,
    attribute,
    forge,
    learner,
    members,
    nodes,
    part,
    plain,
    write_members,
)
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

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
from nmlsdr._model.reading import open_model
from nmlsdr._model.schema import Field, Refused, check_value
from nmlsdr.model_file import ModelFileError, load_model, save_model


@pytest.fixture
def samples(rng):
    """Rows and labels, some rows unlabelled."""
    Y = (rng.random((40, 3)) < 0.4).astype(int)
    X = rng.normal(size=(40, 5)) + np.hstack([2 * Y, np.zeros((40, 2))])
    Y[::4] = -1
    return X, Y


MAKE = {
    "StandardScaler": StandardScaler,
    "MaxAbsScaler": MaxAbsScaler,
    "Normalizer": Normalizer,
    "NMLSDR": lambda: nmlsdr.NMLSDR(2, n_neighbors=4),
    "MLDA": lambda: nmlsdr.MLDA(2),
    "MultiLabelPropagation": lambda: nmlsdr.MultiLabelPropagation(4),
    "ResidualPropagation": lambda: nmlsdr.ResidualPropagation(n_neighbors=4, n_estimators=2),
    "MLkNN": lambda: nmlsdr.MLkNN(4),
    "SemiSupervisedMLkNN": lambda: nmlsdr.SemiSupervisedMLkNN(4),
}


@pytest.fixture
def refused(tmp_path, samples):
    """Forge one attribute or parameter of a model and check the sentence."""

    def refused(name, attribute_name, change, message):
        X, Y = samples
        path = tmp_path / "m.skops"
        save_model(path, MAKE[name]().fit(X, Y))
        assert_forgery_is_refused(path, attribute(attribute_name, change), message)

    return refused


def put(value):
    """Replace the second value."""

    def change(array):
        array = array.copy()
        array.flat[1] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "attribute_name", "change", "message"),
    [
        ("MLkNN", "n_jobs", 100_000, r"MLkNN\(n_jobs=100000\) .* must be None or a whole number from 1 to 1024"),
        ("MLkNN", "n_jobs", -(2**40), "n_jobs"),
        ("MLkNN", "n_jobs", 0, "n_jobs"),
        ("MLkNN", "n_jobs", True, "n_jobs"),
        ("MLkNN", "n_jobs", 2.0, "n_jobs"),
        ("NMLSDR", "n_jobs", 2**32, r"NMLSDR\(n_jobs=4294967296\)"),
        ("MLkNN", "threshold", 1.5, "threshold=1.5"),
        ("MLkNN", "threshold", "half", "threshold='half'"),
        ("MLkNN", "threshold", None, "threshold=None"),
        ("MLkNN", "at_least_one", 1, "at_least_one=1"),
        ("MLkNN", "neighbors", None, "neighbors=None"),
        ("MLkNN", "neighbors", "annoy", "neighbors='annoy'"),
        ("MLkNN", "neighbors", "precomputed", "differently|damaged"),
        ("MultiLabelPropagation", "neighbors", "precomputed", "neighbors='precomputed'"),
        ("NMLSDR", "neighbors", "precomputed", "neighbors='precomputed'"),
        ("StandardScaler", "with_mean", 1, "with_mean"),
        ("StandardScaler", "with_mean", None, "with_mean"),
        ("StandardScaler", "mean_", lambda array: None, "damaged"),
        ("StandardScaler", "scale_", lambda array: None, "damaged|differently"),
        ("StandardScaler", "scale_", put(0.0), "scale_ holds 0.0, which lies outside"),
        ("StandardScaler", "scale_", put(np.nan), "scale_ holds a value that is not finite"),
        ("StandardScaler", "var_", put(-1.0), "var_ holds -1.0"),
        ("StandardScaler", "mean_", lambda array: array.astype(">f8"), "mean_ holds >f8"),
        ("StandardScaler", "mean_", lambda array: array.astype(int), "mean_ holds <i8, not float64 or float32"),
        ("MaxAbsScaler", "scale_", put(-1.0), "scale_ holds -1.0"),
        ("Normalizer", "norm", "l3", "norm"),
        ("NMLSDR", "components_", put(np.inf), "components_ holds a value that is not finite"),
        ("NMLSDR", "mean_", put(np.nan), "mean_ holds a value that is not finite"),
        ("NMLSDR", "label_distributions_", put(1.5), "label_distributions_ holds 1.5, which lies outside 0 to 1"),
        ("NMLSDR", "label_flips_", lambda array: array.astype(int), "label_flips_ holds <i8"),
        ("NMLSDR", "residual_", lambda value: -1.0, "residual_ holds -1.0"),
        ("MultiLabelPropagation", "label_distributions_", put(np.nan), "label_distributions_ holds a value that is"),
        ("MultiLabelPropagation", "label_distributions_", np.asfortranarray, "label_distributions_ is not in C order"),
        ("MultiLabelPropagation", "row_weights_", put(-1.0), "row_weights_ holds -1.0"),
        ("MultiLabelPropagation", "row_weights_", put(0.0), "row_weights_ holds 0.0"),
        ("MultiLabelPropagation", "row_weights_", put(1e300), r"row_weights_ holds 1e\+300"),
        ("MLkNN", "posterior_", lambda array: array * 1000, "posterior_ holds .*, which lies outside 0 to 1"),
        ("MLkNN", "posterior_", lambda array: array.astype(np.float32), "posterior_ holds <f4, not float64"),
        ("MLkNN", "posterior_", np.asfortranarray, "posterior_ is not in C order"),
        ("MLkNN", "prior_", put(-0.1), "prior_ holds -0.1"),
        ("MLkNN", "training_labels_", put(2), "training_labels_ holds 2"),
        ("MLkNN", "training_labels_", lambda array: array.astype(bool), r"training_labels_ holds \|b1, not uint8"),
        ("MLkNN", "labeled_rows_", put(-1), "labeled_rows_ holds -1"),
        ("MLkNN", "_row_order", put(-1), "_row_order must hold each row number once"),
        ("MLkNN", "_row_order", put(10**9), "_row_order must hold each row number once"),
        ("MultiLabelPropagation", "_row_order", lambda order: np.zeros_like(order), "must hold each row number once"),
        ("ResidualPropagation", "_row_order", lambda order: order.astype(float), "must hold each row number once"),
        ("SemiSupervisedMLkNN", "_row_order", lambda order: order[:-1], "must hold each row number once|has shape"),
        ("MLkNN", "training_rows_", lambda array: None, "damaged"),
        ("MLkNN", "n_neighbors_", lambda value: 10**9, "n_neighbors_ is 1000000000 with 30 training rows"),
        ("MLDA", "label_weights_", put(np.nan), "label_weights_ holds a value that is not finite"),
        ("SemiSupervisedMLkNN", "posterior_", put(-1e-9), "posterior_ holds -1e-09"),
        ("MLkNN", "posterior_", put(1e300), r"posterior_ holds 1e\+300, which lies outside 0 to 1"),
        ("MLkNN", "thresholds_", put(-0.1), r"thresholds_ holds -0.1, which lies outside"),
        (
            "ResidualPropagation",
            "flip_rate_",
            lambda stored_value: 0.4,
            "flip_rate_ holds 0.4, which lies outside 0 to 0.3",
        ),
        ("ResidualPropagation", "n_labeled_", lambda stored_value: 0, "n_labeled_ holds 0.0"),
        ("MLkNN", "thresholds_", put(-np.inf), "thresholds_ holds a value that is not finite"),
        ("NMLSDR", "components_", put(1e300), r"components_ holds 1e\+300"),
    ],
)
def test_values_that_no_fit_produces_are_refused(refused, name, attribute_name, change, message):
    refused(name, attribute_name, change, message)


def arrays_of(schema, *keys):
    """The member of each attribute that is one array."""
    fitted = part(schema, "model")["content"]["content"]
    return {name: node["file"] for name, node in fitted.items() if node["__loader__"] == "NdArrayNode"}


def test_every_attribute_is_checked_for_numbers_that_are_none(tmp_path, samples):
    """Whatever a class stores as floats, a NaN in it is refused: no attribute is forgotten in the schema."""
    X, Y = samples
    for name, make in MAKE.items():
        save_model(tmp_path / "m.skops", make().fit(X, Y))
        whole = (tmp_path / "m.skops").read_bytes()
        stored_arrays = {}
        forge(
            tmp_path / "m.skops",
            lambda schema, arrays, stored_arrays=stored_arrays: stored_arrays.update(arrays_of(schema)),
        )
        with zipfile.ZipFile(tmp_path / "m.skops") as archive:
            floats = [key for key, file in stored_arrays.items() if np.load(archive.open(file)).dtype.kind == "f"]
        for key in floats:
            (tmp_path / "m.skops").write_bytes(whole)
            assert_forgery_is_refused(tmp_path / "m.skops", attribute(key, put_first))
            assert name


def put_first(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


@pytest.mark.parametrize("values", [(1, 0), (0, 2), (0,), (0, 1, 2)])
def test_classes_of_a_label_are_0_and_1(tmp_path, samples, values):
    save_model(tmp_path / "m.skops", nmlsdr.MLkNN(4).fit(*samples))
    change = attribute("classes_", lambda array: np.array(values))
    assert_forgery_is_refused(tmp_path / "m.skops", change, "must be 0 and 1 for every label")


def test_precomputed_columns_outside_of_the_rows_are_refused(tmp_path, samples):
    X, Y = samples
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    save_model(tmp_path / "m.skops", nmlsdr.MLkNN(4, neighbors="precomputed").fit(distances, Y))

    assert_forgery_is_refused(tmp_path / "m.skops", attribute("labeled_rows_", lambda array: array + 5), "damaged")


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0], [0, 2, 1]])
def test_steps_that_do_not_follow_each_other(tmp_path, samples, order):
    X, Y = samples
    model = make_pipeline(StandardScaler(), nmlsdr.NMLSDR(2, n_neighbors=4), nmlsdr.MLkNN(4)).fit(X, Y)
    save_model(tmp_path / "m.skops", model)

    def shuffle(schema, arrays):
        steps = part(schema, "model", "steps")
        steps["content"] = [steps["content"][i] for i in order]

    assert_forgery_is_refused(tmp_path / "m.skops", shuffle, r"is damaged|is refused")


@pytest.mark.parametrize(
    ("key", "names", "message"),
    [
        ("feature_names", list("abcd"), "4 feature_names for 5 columns"),
        ("feature_names", list("abcda"), "a name appears twice in its feature_names"),
        ("label_names", ["p", "q"], "2 label_names for 3 columns"),
    ],
)
def test_names_of_other_columns(tmp_path, samples, key, names, message):
    fitted = nmlsdr.MLkNN(4).fit(*samples)
    save_model(tmp_path / "m.skops", fitted, feature_names=list("abcde"), label_names=list("pqr"))
    assert_forgery_is_refused(tmp_path / "m.skops", put_names(key, names), message)


def put_names(key, names):
    """Names as text of a list, in place of names that are there."""

    def forger(schema, arrays):
        node = part(schema, key)["content"]
        node["objects"].update(plain(json.dumps(names)))
        node["shape"] = nodes([len(names)], node["shape"])

    return forger


@pytest.mark.parametrize("names", [["p", "q", "\ud800"], ["p", "q", 1], [["p", "q", "r"]], {"p": "q"}])
def test_names_that_are_no_text_are_neither_written_nor_read(tmp_path, samples, names):
    """Half of a pair of code points could be read, and every attempt to print or write it would fail."""
    fitted = nmlsdr.MLkNN(4).fit(*samples)
    save_model(tmp_path / "m.skops", fitted, label_names=list("pqr"))
    assert_forgery_is_refused(tmp_path / "m.skops", put_names("label_names", names))
    if isinstance(names, list):
        with pytest.raises(ModelFileError):
            save_model(tmp_path / "m.skops", fitted, label_names=names)


@pytest.mark.parametrize("name", ["\ud800", 3, "standardscaler"])
def test_names_of_steps_are_text_that_can_be_printed_and_different(tmp_path, samples, name):
    X, _ = samples
    save_model(tmp_path / "m.skops", make_pipeline(Normalizer(), StandardScaler()).fit(X))
    change = lambda schema, arrays: part(schema, "model", "steps", 0, 0).update(plain(name))
    assert_forgery_is_refused(tmp_path / "m.skops", change)


# -------------------------------------------------------------------------------------------------------- the archive


def array_of(path):
    return next(name for name in members(path) if name.endswith(".npy"))


def test_a_member_that_is_there_twice(tmp_path, samples):
    """Two arrays of one name: a reader that takes the first and one that takes the last would see two models."""
    path = tmp_path / "m.skops"
    save_model(path, StandardScaler().fit(samples[0]))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(array_of(path), members(path)[array_of(path)])
    with pytest.raises(ModelFileError, match="a member appears twice"):
        load_model(path)


def test_a_model_file_with_a_huge_schema_is_refused(tmp_path, samples, monkeypatch):
    """Text takes many times its size once it is parsed: it is refused before."""
    path = tmp_path / "m.skops"
    save_model(path, StandardScaler().fit(samples[0]))
    write_members(path, {**members(path), "schema.json": b" " * ((64 << 20) + 1)})
    monkeypatch.setattr("json.loads", None)  # never reached
    with pytest.raises(ModelFileError, match="its schema is too long"):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"__class__": "system", "__module__": "os"}, "it holds os.system .TypeNode., which is not on the list"),
        ({"__loader__": "JsonNode"}, "the keys of a dictionary are no text"),
    ],
)
def test_the_types_of_keys_are_on_the_list(tmp_path, samples, change, message):
    """skops would call them."""
    path = tmp_path / "m.skops"
    save_model(path, nmlsdr.MLkNN(4).fit(*samples))
    assert_forgery_is_refused(path, lambda schema, arrays: schema["key_types"]["content"][0].update(change), message)


@pytest.mark.parametrize("kind", ["classes", "column"])
def test_lists_in_another_byte_order_are_refused(kind):
    """A kernel would read other numbers."""
    field = Field(kind, "C", dtypes="fi")
    swapped = np.array([1.0, 2.0]).astype(">f8" if sys.byteorder == "little" else "<f8")
    check_value("classes_", np.array([1.0, 2.0]), field, {})
    with pytest.raises(Refused, match="classes_ must be one list of numbers or text"):
        check_value("classes_", swapped, field, {})


@pytest.mark.parametrize("n_copies", [1, 5000])
def test_archive_members_that_overlap_are_refused(tmp_path, samples, n_copies):
    """Many entries for the same bytes: a small archive that unpacks to much."""
    path = tmp_path / "m.skops"
    save_model(path, StandardScaler().fit(samples[0]))
    with zipfile.ZipFile(path, "a") as archive:
        info = archive.getinfo(array_of(path))
        for number in range(n_copies):
            copy = zipfile.ZipInfo(f"{number}.npy")
            copy.header_offset = info.header_offset
            copy.CRC = info.CRC
            copy.file_size = info.file_size
            copy.compress_size = info.compress_size
            copy.compress_type = info.compress_type
            archive.filelist.append(copy)
            archive.NameToInfo[copy.filename] = copy
        archive._didModify = True
    with pytest.raises(ModelFileError, match="its members overlap"):
        load_model(path)


@pytest.mark.parametrize("extra_bytes", [1, 10**6])
def test_members_larger_than_the_file_are_refused(tmp_path, samples, extra_bytes):
    path = tmp_path / "m.skops"
    save_model(path, StandardScaler().fit(samples[0]))
    with zipfile.ZipFile(path, "a") as archive:
        info = archive.infolist()[-1]
        info.file_size += extra_bytes
        info.compress_size += extra_bytes
        archive._didModify = True
    with pytest.raises(ModelFileError, match=r"its members are larger than the file|is damaged"):
        load_model(path)


# -------------------------------------------------------------------------------------------------------- trees


def forest(change, kind=ExtraTrees):
    """A change of the arrays of a learner."""

    def forger(schema, arrays):
        stored = learner(schema, kind)["content"]
        files = {name: node["file"] for name, node in stored.items() if "file" in node}
        stored = {name: arrays[file] for name, file in files.items()}
        change(stored)
        arrays.update({files[name]: array for name, array in stored.items()})

    return forger


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


def another_order(stored):
    stored[1:] = stored[:0:-1]


def one_twice(stored):
    stored.append(stored[-1])


def unknown_name(stored):
    stored[-1]["content"]["learner"].update(plain("oracle"))


@pytest.mark.parametrize("change", [another_order, one_twice, unknown_name])
def test_lists_of_learners_that_no_fit_gives_are_refused(tmp_path, samples, change):
    save_model(tmp_path / "m.skops", MAKE["ResidualPropagation"]().fit(*samples))

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
    save_model(tmp_path / "m.skops", MAKE["ResidualPropagation"]().fit(*samples))
    assert_forgery_is_refused(tmp_path / "m.skops", forest(change, RidgeRegression), message)


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


# ------------------------------------------------------------------------------------------- names by default


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


@pytest.mark.parametrize("pipeline", [False, True])
def test_names_that_the_estimator_saw_are_kept(tmp_path, samples, pipeline):
    pd = pytest.importorskip("pandas")
    X, Y = samples
    frame = pd.DataFrame(X, columns=list("abcde"))
    labels = pd.DataFrame(Y, columns=["p", "q", "r"])
    model = make_pipeline(StandardScaler(), nmlsdr.MLkNN(4)) if pipeline else nmlsdr.MLkNN(4)
    save_model(tmp_path / "m.skops", model.fit(frame, labels))
    read = open_model(tmp_path / "m.skops")
    assert read.feature_names == list("abcde")
    assert read.label_names == ["p", "q", "r"]
    save_model(tmp_path / "m.skops", model, feature_names=list("vwxyz"))  # what is given goes first
    assert open_model(tmp_path / "m.skops").feature_names == list("vwxyz")
    save_model(tmp_path / "m.skops", nmlsdr.MLkNN(4).fit(sparse.csr_array(X), Y))
    assert open_model(tmp_path / "m.skops")[1:3] == (None, None)


@pytest.mark.parametrize("Classifier", [nmlsdr.MLkNN, nmlsdr.SemiSupervisedMLkNN])
def test_missing_training_rows_are_noticed(tmp_path, samples, Classifier):
    """They may be None, with precomputed neighbours: predict then found no such attribute."""
    save_model(tmp_path / "m.skops", Classifier(4).fit(*samples))
    assert_forgery_is_refused(tmp_path / "m.skops", attribute("training_rows_", lambda array: None), "damaged")
