"""Model files forged under a right checksum: what no fit gives is refused when it is read, in one sentence."""

import zipfile

import numpy as np
import pytest
from model_files import forge, members, npy, write_members
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

import nmlsdr
from nmlsdr.model_file import ModelFileError, load_model, open_model, save_model


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
    "MLkNN": lambda: nmlsdr.MLkNN(4),
    "SemiSupervisedMLkNN": lambda: nmlsdr.SemiSupervisedMLkNN(4),
}


@pytest.fixture
def refused(tmp_path, samples):
    """Forge one attribute or parameter of a model and check the sentence."""

    def refused(name, what, change, message):
        X, Y = samples
        path = tmp_path / "m.npz"
        save_model(path, MAKE[name]().fit(X, Y))

        def forger(header, arrays):
            node = header["model"]
            if what in node["parameters"]:
                node["parameters"][what] = change
            elif isinstance(node["fitted"][what], str) and node["fitted"][what] in arrays:
                stored = node["fitted"][what]
                arrays[stored] = change(arrays[stored])
                if arrays[stored] is None:
                    del arrays[stored]
                    node["fitted"][what] = None
            else:
                node["fitted"][what] = change(node["fitted"][what])

        forge(path, forger)
        with pytest.raises(ModelFileError, match=message) as caught:
            load_model(path)
        assert "\n" not in str(caught.value)
        assert str(caught.value).endswith(".")

    return refused


def put(value):
    """Replace the second value."""

    def change(array):
        array = array.copy()
        array.flat[1] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "what", "change", "message"),
    [
        ("MLkNN", "n_jobs", 100_000, r"MLkNN\(n_jobs=100000\) must be None or a whole number from 1 to 1024"),
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
        ("MLkNN", "neighbors", "precomputed", "contradict"),
        ("MultiLabelPropagation", "neighbors", "precomputed", "neighbors='precomputed'"),
        ("NMLSDR", "neighbors", "precomputed", "neighbors='precomputed'"),
        ("StandardScaler", "with_mean", 1, "with_mean=1"),
        ("StandardScaler", "with_mean", None, "with_mean=None"),
        ("StandardScaler", "mean_", lambda array: None, r"StandardScaler\(with_mean=True\) has no mean_"),
        ("StandardScaler", "scale_", lambda array: None, r"StandardScaler\(with_std=True\) has no scale_"),
        ("StandardScaler", "scale_", put(0.0), "scale_ holds 0.0, which lies outside"),
        ("StandardScaler", "scale_", put(np.nan), "scale_ holds a value that is not finite"),
        ("StandardScaler", "var_", put(-1.0), "var_ holds -1.0"),
        ("StandardScaler", "mean_", lambda array: array.astype(">f8"), "mean_ holds >f8"),
        ("StandardScaler", "mean_", lambda array: array.astype(int), "mean_ holds <i8, not float64 or float32"),
        ("MaxAbsScaler", "scale_", put(-1.0), "scale_ holds -1.0"),
        ("Normalizer", "norm", "l3", r"Normalizer\(norm='l3'\) must be 'l1', 'l2' or 'max'"),
        ("NMLSDR", "components_", put(np.inf), "components_ holds a value that is not finite"),
        ("NMLSDR", "mean_", put(np.nan), "mean_ holds a value that is not finite"),
        ("NMLSDR", "label_distributions_", put(1.5), "label_distributions_ holds 1.5, which lies outside 0 to 1"),
        ("NMLSDR", "label_flips_", lambda array: array.astype(int), "label_flips_ holds <i8"),
        ("NMLSDR", "residual_", lambda value: -1.0, "residual_ holds -1.0"),
        ("NMLSDR", "transduction_", put(7), "transduction_ holds what is none of its classes"),
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
        ("MLkNN", "labeled_rows_", lambda array: array[::-1].copy(), "not in increasing order"),
        ("MLkNN", "training_rows_", lambda array: None, "contradict"),
        ("MLkNN", "n_neighbors_", lambda value: 10**9, r"need \(3, 1000000000\+1\)"),
        ("MLDA", "label_weights_", put(np.nan), "label_weights_ holds a value that is not finite"),
        ("SemiSupervisedMLkNN", "posterior_", put(-1e-9), "posterior_ holds -1e-09"),
    ],
)  # fmt: skip
def test_what_no_fit_gives_is_refused(refused, name, what, change, message):
    refused(name, what, change, message)


def test_every_attribute_is_checked_for_numbers_that_are_none(tmp_path, samples):
    """Whatever a class stores as floats, a NaN in it is refused: no attribute is forgotten in the schema."""
    X, Y = samples
    for name, make in MAKE.items():
        save_model(tmp_path / "m.npz", make().fit(X, Y))
        whole = (tmp_path / "m.npz").read_bytes()
        stored = {key: value for key, value in np.load(tmp_path / "m.npz").items() if value.dtype.kind == "f"}
        for key in stored:
            (tmp_path / "m.npz").write_bytes(whole)
            forge(tmp_path / "m.npz", lambda header, arrays, key=key: arrays.update({key: put_first(arrays[key])}))
            with pytest.raises(ModelFileError):
                load_model(tmp_path / "m.npz")
            assert name


def put_first(array):
    array = array.copy()
    array.flat[0] = np.nan
    return array


def classes(*values):
    def change(header, arrays):
        for stored in header["model"]["fitted"]["classes_"]["list"]:
            arrays[stored] = np.array(values)

    return change


@pytest.mark.parametrize("values", [(1, 0), (0, 2), (0,), (0, 1, 2)])
def test_classes_of_a_label_are_0_and_1(tmp_path, samples, values):
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(4).fit(*samples))
    forge(tmp_path / "m.npz", classes(*values))
    with pytest.raises(ModelFileError, match="must be 0 and 1 for every label"):
        load_model(tmp_path / "m.npz")


def test_precomputed_columns_outside(tmp_path, samples):
    X, Y = samples
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(4, neighbors="precomputed").fit(distances, Y))

    def outside(header, arrays):
        stored = header["model"]["fitted"]["labeled_rows_"]
        arrays[stored] = arrays[stored] + 5

    forge(tmp_path / "m.npz", outside)
    with pytest.raises(ModelFileError, match=r"labeled_rows_ holds 44, beyond 40 rows"):
        load_model(tmp_path / "m.npz")


@pytest.mark.parametrize("order", [[1, 0, 2], [2, 1, 0], [0, 2, 1]])
def test_steps_that_do_not_follow_each_other(tmp_path, samples, order):
    X, Y = samples
    model = make_pipeline(StandardScaler(), nmlsdr.NMLSDR(2, n_neighbors=4), nmlsdr.MLkNN(4)).fit(X, Y)
    save_model(tmp_path / "m.npz", model)

    def shuffle(header, arrays):
        header["model"]["steps"] = [header["model"]["steps"][i] for i in order]

    forge(tmp_path / "m.npz", shuffle)
    with pytest.raises(ModelFileError, match=r"takes \d columns and gets \d|transforms nothing and is not the last"):
        load_model(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("key", "names", "message"),
    [
        ("feature_names", list("abcd"), "4 feature_names for 5 columns"),
        ("feature_names", list("abcda"), "a name stands twice in its feature_names"),
        ("label_names", ["p", "q"], "2 label_names for 3 columns"),
    ],
)
def test_names_of_other_columns(tmp_path, samples, key, names, message):
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(4).fit(*samples))
    forge(tmp_path / "m.npz", lambda header, arrays: header.update({key: names}))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "m.npz")


def test_half_characters_in_names(tmp_path, samples):
    """They could be read, and every attempt to print or write them would fail."""
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(4).fit(*samples), label_names=["p", "q", "\ud800"])
    with pytest.raises(ModelFileError, match="is not a model file"):
        load_model(tmp_path / "m.npz")


# -------------------------------------------------------------------------------------------------------- the archive


def test_a_member_that_is_there_twice(tmp_path, samples):
    """Two arrays of one name: a reader that takes the first and one that takes the last would see two models."""
    path = tmp_path / "m.npz"
    save_model(path, StandardScaler().fit(samples[0]))
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("a0.npy", members(path)["a0.npy"])
    with pytest.raises(ModelFileError, match="a member is there twice"):
        load_model(path)


def test_a_huge_header(tmp_path, samples, monkeypatch):
    """Text takes many times its size once it is parsed: it is refused before."""
    path = tmp_path / "m.npz"
    save_model(path, StandardScaler().fit(samples[0]))
    parts = members(path)
    header = npy(np.full((64 << 20) + 1, ord(" "), np.uint8))
    write_members(path, {**parts, "header.npy": header})
    monkeypatch.setattr("nmlsdr._model.reading._header_in", None)  # never reached
    with pytest.raises(ModelFileError, match="its header is too long"):
        load_model(path)


def test_members_that_overlap(tmp_path, samples):
    """Many entries for the same bytes: a small archive that unpacks to much."""
    path = tmp_path / "m.npz"
    save_model(path, StandardScaler().fit(samples[0]))
    content = path.read_bytes()
    with zipfile.ZipFile(path, "a") as archive:
        info = archive.getinfo("a0.npy")
        for number in range(5000):
            copy = zipfile.ZipInfo(f"a{100 + number}.npy")
            copy.header_offset, copy.CRC, copy.file_size = info.header_offset, info.CRC, info.file_size
            copy.compress_size, copy.compress_type = info.compress_size, info.compress_type
            archive.filelist.append(copy)
            archive.NameToInfo[copy.filename] = copy
        archive._didModify = True
    assert len(path.read_bytes()) < len(content) + 5000 * 60
    with pytest.raises(ModelFileError, match=r"overlap|Overlapped"):
        load_model(path)


# ------------------------------------------------------------------------------------------- names by default


@pytest.mark.parametrize("pipeline", [False, True])
def test_names_that_the_estimator_saw_are_kept(tmp_path, samples, pipeline):
    pd = pytest.importorskip("pandas")
    X, Y = samples
    frame, labels = pd.DataFrame(X, columns=list("abcde")), pd.DataFrame(Y, columns=["p", "q", "r"])
    model = make_pipeline(StandardScaler(), nmlsdr.MLkNN(4)) if pipeline else nmlsdr.MLkNN(4)
    save_model(tmp_path / "m.npz", model.fit(frame, labels))
    read = open_model(tmp_path / "m.npz")
    assert read.feature_names == list("abcde")
    assert read.label_names == ["p", "q", "r"]
    save_model(tmp_path / "m.npz", model, feature_names=list("vwxyz"))  # what is given goes first
    assert open_model(tmp_path / "m.npz").feature_names == list("vwxyz")
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(4).fit(sparse.csr_array(X), Y))
    assert open_model(tmp_path / "m.npz")[1:3] == (None, None)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_rows_that_point_outside_of_themselves_are_refused(tmp_path, samples, form):
    """The last pointer 0 and the ones before it not: sorting such rows wrote past the end of their arrays."""
    X, Y = samples
    save_model(tmp_path / "m.npz", nmlsdr.MLkNN(4).fit(form(X), Y))

    def forger(header, arrays):
        parts = header["model"]["fitted"]["training_rows_"]["parts"]
        arrays[parts[2]] = np.r_[arrays[parts[2]][:-1], 0].astype(arrays[parts[2]].dtype)

    forge(tmp_path / "m.npz", forger)
    with pytest.raises(ModelFileError):
        open_model(tmp_path / "m.npz")


@pytest.mark.parametrize("Classifier", [nmlsdr.MLkNN, nmlsdr.SemiSupervisedMLkNN])
def test_rows_that_are_not_named_at_all_are_missed(tmp_path, samples, Classifier):
    """They may be null, with precomputed neighbours: predict then found no such attribute."""
    save_model(tmp_path / "m.npz", Classifier(4).fit(*samples))
    forge(tmp_path / "m.npz", lambda header, arrays: header["model"]["fitted"].pop("training_rows_"))
    with pytest.raises(ModelFileError, match="training_rows_ is missing"):
        open_model(tmp_path / "m.npz")
