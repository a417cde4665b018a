"""Model files of this package's estimators: the same bits and the same answers, in every form of rows and labels."""

import numpy as np
import pytest
from model_files import assert_same, forge
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr.model_file import ModelFileError, load_model, save_model


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
    "ResidualPropagation": lambda: nmlsdr.ResidualPropagation(2, ridge=(1.0, 3.0), decision="prior", n_neighbors=5),
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


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("form", ["dense", "float32", "CSR array", "CSR matrix"])
def test_estimators_come_back_bit_for_bit(tmp_path, samples, name, form):
    convert = {
        "dense": lambda X: X,
        "float32": lambda X: X.astype(np.float32),
        "CSR array": lambda X: sparse.csr_array(np.where(X > 0, X, 0)),
        "CSR matrix": lambda X: sparse.csr_matrix(np.where(X > 0, X, 0)),
    }[form]
    X, Y, new = samples
    fitted = ESTIMATORS[name]().fit(convert(X), Y)
    save_model(tmp_path / "m.npz", fitted)
    back = load_model(tmp_path / "m.npz")
    assert_same(fitted, back)
    assert_same_answers(fitted, back, convert(new))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("classes", [[3, 5, 7], ["a", "bb", "c"], np.array(["x", "yy", "z"], dtype=object)])
def test_one_class_a_row(tmp_path, samples, name, classes):
    X, _, new = samples
    y = np.asarray(classes)[np.arange(60) % 3]
    fitted = ESTIMATORS[name]().fit(X, y)
    save_model(tmp_path / "m.npz", fitted)
    back = load_model(tmp_path / "m.npz")
    assert_same(fitted, back)
    assert_same_answers(fitted, back, new)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_names_from_data_frames_come_back(tmp_path, samples, name):
    pd = pytest.importorskip("pandas")
    X, Y, _ = samples
    frame = pd.DataFrame(X, columns=list("abcdef"))
    fitted = ESTIMATORS[name]().fit(frame, pd.DataFrame(Y, columns=["p", "q", "r"]))
    save_model(tmp_path / "m.npz", fitted)
    back = load_model(tmp_path / "m.npz")
    assert_same(fitted, back)
    assert list(back.label_names_in_) == ["p", "q", "r"]


def test_pipeline_of_the_article_comes_back(tmp_path, samples):
    X, Y, new = samples
    fitted = make_pipeline(StandardScaler(), nmlsdr.NMLSDR(), nmlsdr.SemiSupervisedMLkNN()).fit(X, Y)
    save_model(tmp_path / "m.npz", fitted)
    assert_same_answers(fitted, load_model(tmp_path / "m.npz"), new)


def test_precomputed_neighbours_come_back(tmp_path, samples):
    X, Y, _ = samples
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    fitted = nmlsdr.MLkNN(5, neighbors="precomputed").fit(distances, Y)
    save_model(tmp_path / "m.npz", fitted)
    back = load_model(tmp_path / "m.npz")
    assert_same(fitted, back)
    assert_same_answers(fitted, back, distances)


def test_neighbour_plug_ins_are_not_written(tmp_path, samples):
    X, Y, _ = samples
    plugin = KNeighborsTransformer(n_neighbors=8)
    fitted = nmlsdr.MLkNN(5, neighbors=plugin).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"MLkNN\(neighbors=...\) holds a KNeighborsTransformer, and a model file"):
        save_model(tmp_path / "m.npz", fitted)


def test_generators_are_not_written(tmp_path, samples):
    X, Y, _ = samples
    fitted = nmlsdr.MLDA(2, random_state=np.random.RandomState(0)).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"MLDA\(random_state=...\) holds a RandomState, and a model file"):
        save_model(tmp_path / "m.npz", fitted)


def test_lists_of_another_length_are_refused(tmp_path, samples):
    """A forged list of training rows must not reach a kernel."""
    X, Y, _ = samples
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(5).fit(X, Y))

    def change(header, arrays):
        name = header["model"]["fitted"]["training_labels_"]
        arrays[name] = arrays[name][:7]

    forge(tmp_path / "m.npz", change)
    with pytest.raises(ModelFileError, match=r"MLkNN\.training_labels_ has shape \(7, 3\) where .* need \(40, 3\)"):
        load_model(tmp_path / "m.npz")


def test_sparse_rows_with_an_index_outside_are_refused(tmp_path, samples):
    X, Y, _ = samples
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(5).fit(sparse.csr_array(X), Y))

    def change(header, arrays):
        name = header["model"]["fitted"]["training_rows_"]["parts"][1]
        arrays[name] = arrays[name] + 1

    forge(tmp_path / "m.npz", change)
    with pytest.raises(ModelFileError, match="header is incomplete"):
        load_model(tmp_path / "m.npz")


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_forged_training_rows_that_are_not_finite_are_refused(tmp_path, samples, sparse_rows):
    X, Y, _ = samples
    convert = sparse.csr_array if sparse_rows else np.asarray
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(5).fit(convert(X), Y))

    def spoil(header, arrays):
        stored = header["model"]["fitted"]["training_rows_"]
        name = stored["parts"][0] if sparse_rows else stored
        arrays[name] = arrays[name].copy()
        arrays[name].flat[3] = np.nan

    forge(tmp_path / "m.npz", spoil)
    with pytest.raises(ModelFileError, match="header is incomplete"):
        load_model(tmp_path / "m.npz")


@pytest.mark.parametrize("change", [np.asfortranarray, np.rint, lambda rows: np.rint(rows).astype(np.int8)])
def test_forged_training_rows_of_another_form_are_made_right(tmp_path, samples, change):
    X, Y, new = samples
    fitted = nmlsdr.MLkNN(5).fit(X, Y)
    save_model(tmp_path / "m.npz", fitted)

    def turn(header, arrays):
        name = header["model"]["fitted"]["training_rows_"]
        arrays[name] = change(arrays[name])

    forge(tmp_path / "m.npz", turn)
    fitted.training_rows_ = np.ascontiguousarray(change(fitted.training_rows_), dtype=float)
    assert_same_answers(fitted, load_model(tmp_path / "m.npz"), new)
