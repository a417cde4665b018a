"""Forged model files: what no fit gives is refused when it is read, in one sentence."""

import json
import zipfile

import numpy as np
import pytest
from model_files import (
    assert_forgery_is_refused,
    attribute,
    forge,
    nodes,
    part,
    plain,
)
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

import nmlsdr
from nmlsdr._model.reading import open_model
from nmlsdr.model_file import ModelFileError, save_model

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


@pytest.mark.parametrize("Classifier", [nmlsdr.MLkNN, nmlsdr.SemiSupervisedMLkNN])
def test_missing_training_rows_are_noticed(tmp_path, samples, Classifier):
    """They may be None, with precomputed neighbours: predict then found no such attribute."""
    save_model(tmp_path / "m.skops", Classifier(4).fit(*samples))
    assert_forgery_is_refused(tmp_path / "m.skops", attribute("training_rows_", lambda array: None), "damaged")


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0], [0, 2, 1]])
def test_steps_that_do_not_follow_each_other(tmp_path, samples, order):
    X, Y = samples
    model = make_pipeline(StandardScaler(), nmlsdr.NMLSDR(2, n_neighbors=4), nmlsdr.MLkNN(4)).fit(X, Y)
    save_model(tmp_path / "m.skops", model)

    def shuffle(schema, arrays):
        steps = part(schema, "model", "steps")
        steps["content"] = [steps["content"][i] for i in order]

    assert_forgery_is_refused(tmp_path / "m.skops", shuffle, r"is damaged|is refused")


# ---------------------------------------------------------------- names


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
