"""Model files of this package's estimators: the same bits and the same answers, in every form of rows and labels."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import ran, write_csv
from model_files import assert_forgery_is_refused, assert_same, attribute, forge, part
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr.model_file import TRUSTED_TYPES, ModelFileError, load_model, save_model
from nmlsdr.tables import TableEncoder


@pytest.fixture
def samples(rng):
    """Rows, labels with some rows unlabelled, and new rows."""
    Y = (rng.random((60, 3)) < 0.4).astype(int)
    X = rng.normal(size=(60, 6)) + np.hstack([2 * Y, np.zeros((60, 3))])
    Y[::3] = -1
    return X, Y, rng.normal(size=(15, 6))


ESTIMATORS = {
    "NMLSDR": lambda: nmlsdr.NMLSDR(2, n_neighbors=5),
    "NMLSDR, shrunken": lambda: nmlsdr.NMLSDR(2, shrinkage=1.0, n_neighbors=5),
    "ResidualPropagation": lambda: nmlsdr.ResidualPropagation(2, ridge=(1.0, 3.0), threshold="prior", n_neighbors=5),
    "MDDM": lambda: nmlsdr.MDDM(2, constraint="features"),
    "MVMD": lambda: nmlsdr.MVMD(2),
    "MultiLabelCCA": lambda: nmlsdr.MultiLabelCCA(2),
    "MLDA": lambda: nmlsdr.MLDA(2),
    "MLDA with dependence weights": lambda: nmlsdr.MLDA(2, label_weights="dependence", random_state=3),
    "SSMLDR": lambda: nmlsdr.SSMLDR(2, n_neighbors=5),
    "MultiLabelPropagation": lambda: nmlsdr.MultiLabelPropagation(n_neighbors=5),
    "MLkNN": lambda: nmlsdr.MLkNN(5, smoothing=0.5),
    "SemiSupervisedMLkNN": lambda: nmlsdr.SemiSupervisedMLkNN(5, at_least_one=True, threshold=0.4),
}


def assert_same_answers(fitted, back, X):
    for method in ("transform", "predict", "predict_proba", "decision_function"):
        if hasattr(fitted, method):
            assert_same(getattr(fitted, method)(X), getattr(back, method)(X), method)


@pytest.mark.quick_cases("dense", "CSR array")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("form", ["dense", "float32", "CSR array", "CSR matrix"])
def test_estimators_survive_a_round_trip_to_the_last_bit(tmp_path, samples, name, form):
    convert = {
        "dense": lambda X: X,
        "float32": lambda X: X.astype(np.float32),
        "CSR array": lambda X: sparse.csr_array(np.where(X > 0, X, 0)),
        "CSR matrix": lambda X: sparse.csr_matrix(np.where(X > 0, X, 0)),
    }[form]
    X, Y, new = samples
    fitted = ESTIMATORS[name]().fit(convert(X), Y)
    save_model(tmp_path / "m.skops", fitted)
    back = load_model(tmp_path / "m.skops")
    assert_same(fitted, back)
    assert_same_answers(fitted, back, convert(new))


@pytest.mark.quick_cases("classes1")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("classes", [[3, 5, 7], ["a", "bb", "c"], np.array(["x", "yy", "z"], dtype=object)])
def test_models_fitted_on_classes_are_saved(tmp_path, samples, name, classes):
    X, _, new = samples
    y = np.asarray(classes)[np.argmax(X[:, :3], axis=1)]
    fitted = ESTIMATORS[name]().fit(X, y)
    save_model(tmp_path / "m.skops", fitted)
    back = load_model(tmp_path / "m.skops")
    assert_same(fitted, back)
    assert_same_answers(fitted, back, new)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_names_from_data_frames_survive_a_round_trip(tmp_path, samples, name):
    pd = pytest.importorskip("pandas")
    X, Y, _ = samples
    frame = pd.DataFrame(X, columns=list("abcdef"))
    fitted = ESTIMATORS[name]().fit(frame, pd.DataFrame(Y, columns=["p", "q", "r"]))
    save_model(tmp_path / "m.skops", fitted)
    back = load_model(tmp_path / "m.skops")
    assert_same(fitted, back)
    assert list(back.label_names_in_) == ["p", "q", "r"]


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("name", [*ESTIMATORS, "ExactNeighborsTransformer"])
def test_skops_alone_reads_what_it_writes_if_it_trusts_the_list_of_types(samples, name, classes):
    """mlflow does the same; unlike `load_model` neither looks at the values."""
    X, Y, new = samples
    fitted = ESTIMATORS[name]() if name in ESTIMATORS else nmlsdr.ExactNeighborsTransformer()
    pipeline = make_pipeline(StandardScaler(), fitted).fit(X, Y.argmax(axis=1) if classes else Y)
    written = skops.io.dumps(pipeline)
    needed = skops.io.get_untrusted_types(data=written)
    assert {*needed} <= {*TRUSTED_TYPES}
    back = skops.io.loads(written, trusted=TRUSTED_TYPES)
    for method in ("transform", "predict_proba"):
        if hasattr(fitted, method):
            answers, expected = (getattr(model, method)(new) for model in (back, pipeline))
            np.testing.assert_array_equal(*(sparse.csr_array(answer).toarray() for answer in (answers, expected)))


def test_precomputed_neighbours_survive_a_round_trip(tmp_path, samples):
    X, Y, _ = samples
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    fitted = nmlsdr.MLkNN(5, neighbors="precomputed").fit(distances, Y)
    save_model(tmp_path / "m.skops", fitted)
    back = load_model(tmp_path / "m.skops")
    assert_same(fitted, back)
    assert_same_answers(fitted, back, distances)


def test_neighbour_plug_ins_are_not_written(tmp_path, samples):
    X, Y, _ = samples
    plugin = KNeighborsTransformer(n_neighbors=8)
    fitted = nmlsdr.MLkNN(5, neighbors=plugin).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"MLkNN\(neighbors=...\) holds a KNeighborsTransformer, and a model file"):
        save_model(tmp_path / "m.skops", fitted)


def test_generators_are_not_written(tmp_path, samples):
    X, Y, _ = samples
    fitted = nmlsdr.MLDA(2, random_state=np.random.RandomState(0)).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"MLDA\(random_state=...\) holds a RandomState, and a model file"):
        save_model(tmp_path / "m.skops", fitted)


def test_lists_of_another_length_are_refused(tmp_path, samples):
    """A forged list of training rows must not reach a kernel."""
    X, Y, _ = samples
    save_model(tmp_path / "m.skops", nmlsdr.MLkNN(5).fit(X, Y))
    cut = attribute("training_labels_", lambda array: array[:7])
    assert_forgery_is_refused(
        tmp_path / "m.skops", cut, r"MLkNN\.training_labels_ has shape \(7, 3\) where .* need \(40, 3\)"
    )


def parts_of_rows(position, change):
    """A change of the data (0), indices (1) or pointers (2) of sparse training rows."""

    def forger(schema, arrays):
        node = part(schema, "model", "training_rows_", "parts", position)
        arrays[node["file"]] = change(arrays[node["file"]])

    return forger


def with_nan(array):
    array = array.copy()
    array.flat[3] = np.nan
    return array


@pytest.mark.parametrize(
    ("position", "change"),
    [
        (0, with_nan),
        (0, lambda data: data[:-1]),
        (0, lambda data: data.astype(complex)),
        (1, lambda indices: indices + 1),
        (1, lambda indices: indices - 1),
        (2, lambda indptr: indptr[:-1]),
        (2, lambda indptr: np.r_[indptr[:-1], 0].astype(indptr.dtype)),  # sorting such rows wrote past their end
        (2, lambda indptr: np.r_[indptr[:-1], 10**6].astype(indptr.dtype)),
        (2, lambda indptr: np.r_[0, indptr[:0:-1]].astype(indptr.dtype)),
    ],
)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_invalid_sparse_rows_are_refused(tmp_path, samples, form, position, change):
    X, Y, _ = samples
    save_model(tmp_path / "m.skops", nmlsdr.MLkNN(5).fit(form(X), Y))
    assert_forgery_is_refused(tmp_path / "m.skops", parts_of_rows(position, change))


def test_forged_training_rows_that_are_not_finite_are_refused(tmp_path, samples):
    X, Y, _ = samples
    save_model(tmp_path / "m.skops", nmlsdr.MLkNN(5).fit(X, Y))
    assert_forgery_is_refused(tmp_path / "m.skops", attribute("training_rows_", with_nan), "not finite|NaN or infin")


@pytest.mark.parametrize("change", [np.asfortranarray, lambda rows: rows.astype(np.float16).astype(np.float32)])
def test_forged_training_rows_of_another_form_are_made_right(tmp_path, samples, change):
    X, Y, new = samples
    X = np.round(X, 1).astype(np.float16).astype(float)
    fitted = nmlsdr.MLkNN(5).fit(X, Y)
    save_model(tmp_path / "m.skops", fitted)
    forge(tmp_path / "m.skops", attribute("training_rows_", change))
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").predict_proba(new), fitted.predict_proba(new))


@pytest.mark.parametrize("encoded", [False, True])
def test_a_model_of_the_command_has_the_names_of_its_labels(run, rng, encoded):
    """They order the columns of a data frame in `score`, and are kept when the model is written again."""
    X = rng.normal(size=(60, 3)).round(3)
    Y = (X[:, :2] > 0).astype(int)
    cells = X.astype(object)
    if encoded:  # a column of words
        cells[:, 2] = np.where(X[:, 2] > 0, "high", "low")
    write_csv("t.csv", ["a", "b", "c", "flu", "cold"], np.hstack([cells, Y]).tolist())
    ran(run("fit", "t.csv", "--label-columns", "flu,cold", "--out", "m.skops"))
    model = load_model("m.skops")
    assert model[-1].label_names_in_.tolist() == ["flu", "cold"]
    table = pd.read_csv("t.csv", dtype=str)[["a", "b", "c"]] if encoded else X
    assert isinstance(model[0], TableEncoder) == encoded
    y = pd.DataFrame(Y, columns=["flu", "cold"])
    assert model.score(table, y[["cold", "flu"]]) == model.score(table, Y) > 0.5
    save_model("again.skops", model)
    assert load_model("again.skops")[-1].label_names_in_.tolist() == ["flu", "cold"]


def test_names_of_the_classes_of_one_column_are_no_names_of_labels(rng, tmp_path):
    X = rng.normal(size=(30, 3))
    classes = np.where(X[:, 0] > 0, "ill", "well")
    save_model(tmp_path / "m.skops", nmlsdr.MultiLabelPropagation(3).fit(X, classes), label_names=["ill", "well"])
    model = load_model(tmp_path / "m.skops")
    assert not hasattr(model, "label_names_in_")
    assert model.score(X, classes) > 0.5
