"""Model files: what is written comes back bit for bit, and nothing else is read."""

import pickle
import zipfile

import numpy as np
import pytest
from model_files import assert_same, forge, members, npy, write_members
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, StandardScaler

from nmlsdr._model.schema import table
from nmlsdr.model_file import ModelFileError, load_model, open_model, save_model


@pytest.fixture
def scaler(rng):
    return StandardScaler().fit(rng.normal(size=(20, 5)))


SCALERS = {
    "StandardScaler": lambda X: StandardScaler().fit(X),
    "StandardScaler without mean": lambda X: StandardScaler(with_mean=False).fit(X),
    "StandardScaler without scale": lambda X: StandardScaler(with_std=False).fit(X),
    "MaxAbsScaler": lambda X: MaxAbsScaler().fit(X),
    "Normalizer": lambda X: Normalizer(norm="l1").fit(X),
    "Pipeline": lambda X: make_pipeline(Normalizer(), Pipeline([("inner", StandardScaler())])).fit(X),
}


@pytest.mark.parametrize("name", SCALERS)
def test_scalers_come_back_bit_for_bit(tmp_path, rng, name):
    X = rng.normal(size=(20, 5))
    fitted = SCALERS[name](X)
    save_model(tmp_path / "m.npz", fitted)
    back = load_model(tmp_path / "m.npz")
    assert_same(fitted, back)
    assert fitted.transform(X).tobytes() == back.transform(X).tobytes()


def test_feature_names_seen_at_fit_come_back(tmp_path, rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rng.normal(size=(6, 2)), columns=["å", "b c"])
    save_model(tmp_path / "m.npz", StandardScaler().fit(frame))
    back = load_model(tmp_path / "m.npz")
    assert back.feature_names_in_.tolist() == ["å", "b c"]
    assert back.feature_names_in_.dtype == object
    back.transform(frame)


def test_names_and_versions(tmp_path, scaler):
    save_model(tmp_path / "m.npz", scaler, feature_names=list("abcde"), label_names=["x", "ü"])
    model = open_model(tmp_path / "m.npz")
    assert model.feature_names == list("abcde")
    assert model.label_names == ["x", "ü"]
    assert set(model.versions) == {"nmlsdr", "numpy", "scipy", "scikit-learn"}


def test_same_model_same_bytes(tmp_path, scaler):
    save_model(tmp_path / "a.npz", scaler)
    save_model(tmp_path / "b.npz", load_model(tmp_path / "a.npz"))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_numpy_reads_it_without_pickle(tmp_path, scaler):
    save_model(tmp_path / "m.npz", scaler)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays)


# --------------------------------------------------------------------------------------------------------- refused


def test_unfitted(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(tmp_path / "m.npz", StandardScaler())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: PCA(2).fit(X), "A PCA cannot be written to a model file, which holds only Pipeline, Standard"),
        (lambda X: make_pipeline(StandardScaler(), PCA(2)).fit(X), "A PCA cannot be written"),
    ],
)
def test_what_cannot_be_written(tmp_path, rng, make, message):
    (tmp_path / "m.npz").write_bytes(b"old")
    with pytest.raises(ModelFileError, match=message):
        save_model(tmp_path / "m.npz", make(rng.normal(size=(9, 4))))
    assert (tmp_path / "m.npz").read_bytes() == b"old"


def test_subclass_under_the_same_name_is_not_written(tmp_path, scaler):
    impostor = type("StandardScaler", (StandardScaler,), {})().fit(np.eye(2))
    with pytest.raises(ModelFileError, match="A StandardScaler cannot be written"):
        save_model(tmp_path / "m.npz", impostor)


FOREIGN = {
    "empty": (b"", "is empty"),
    "text": (b"row,label\n", "is not a model file"),
    "pickle": (pickle.dumps({"a": 1}), "looks like a pickle, which could run code"),
    "npy": (npy(np.eye(2)), "is not a model file"),
    "cut zip": (b"PK\x03\x04" + b"\0" * 50, "is damaged"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_file(tmp_path, name):
    content, message = FOREIGN[name]
    (tmp_path / "m.npz").write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as error:
        load_model(tmp_path / "m.npz")
    assert "\n" not in str(error.value)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "m.npz")


class Bomb:
    """Would write a file if it were unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


@pytest.mark.parametrize("member", ["header.npy", "a0.npy"])
def test_pickle_inside_is_never_run(tmp_path, scaler, member):
    save_model(tmp_path / "m.npz", scaler)
    parts = members(tmp_path / "m.npz")
    parts[member] = npy(np.array([Bomb(tmp_path / "run")], dtype=object), allow_pickle=True)
    write_members(tmp_path / "m.npz", parts)
    with pytest.raises(ModelFileError, match=r"is damaged .*holds object"):
        load_model(tmp_path / "m.npz")
    assert not (tmp_path / "run").exists()


def test_other_npz(tmp_path):
    np.savez(tmp_path / "m.npz", X=np.eye(3))
    with pytest.raises(ModelFileError, match=r"is an \.npz file but not a model file"):
        load_model(tmp_path / "m.npz")


@pytest.mark.parametrize("header", [b"[]", b"{}", b"{", b"\xff", b'{"format": NaN}', b"[" * 100_000])
def test_header_that_is_not_ours(tmp_path, header):
    write_members(tmp_path / "m.npz", {"header.npy": npy(np.frombuffer(header, np.uint8))})
    with pytest.raises(ModelFileError, match="is not a model file"):
        load_model(tmp_path / "m.npz")


def test_every_flipped_byte_is_noticed(tmp_path, scaler):
    """Or does not matter: zip stores some facts twice and keeps fields that no reader looks at."""
    path = tmp_path / "m.npz"
    save_model(path, scaler)
    whole = path.read_bytes()
    unnoticed = 0
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            assert_same(scaler, load_model(path))
            unnoticed += 1
        except ModelFileError:
            pass
    assert unnoticed < len(whole) / 7 / 4


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_cut_file(tmp_path, scaler, keep):
    save_model(tmp_path / "m.npz", scaler)
    whole = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "m.npz").write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tmp_path / "m.npz")


def test_array_changed_without_the_checksum(tmp_path, scaler):
    save_model(tmp_path / "m.npz", scaler)
    parts = members(tmp_path / "m.npz")
    parts["a0.npy"] = npy(np.arange(5.0))
    write_members(tmp_path / "m.npz", parts)
    with pytest.raises(ModelFileError, match="checksum does not match"):
        load_model(tmp_path / "m.npz")


def test_header_changed_without_the_checksum(tmp_path, scaler):
    save_model(tmp_path / "m.npz", scaler, label_names=["a"])
    parts = members(tmp_path / "m.npz")
    parts["header.npy"] = parts["header.npy"].replace(b'"label_names":["a"]', b'"label_names":["b"]')
    write_members(tmp_path / "m.npz", parts)
    with pytest.raises(ModelFileError, match="checksum does not match"):
        load_model(tmp_path / "m.npz")


def newer(header, arrays):
    header["format_version"] = 2


def no_version(header, arrays):
    del header["format_version"]


def unknown_class(header, arrays):
    header["model"]["class"] = "os.system"


def listless_class(header, arrays):
    header["model"]["class"] = ["StandardScaler"]


def unknown_parameter(header, arrays):
    header["model"]["parameters"]["command"] = "x"


def parameter_list(header, arrays):
    header["model"]["parameters"]["copy"] = [1]


def unknown_attribute(header, arrays):
    header["model"]["fitted"]["transform"] = "a0"


def missing_attribute(header, arrays):
    del header["model"]["fitted"]["n_features_in_"]


def missing_array(header, arrays):
    del arrays["a0"]


def wrong_length(header, arrays):
    arrays["a0"] = np.zeros(6)


def wrong_dimension(header, arrays):
    arrays["a1"] = np.zeros((5, 1))


def text_array(header, arrays):
    arrays["a1"] = np.array(list("abcde"))


def negative_count(header, arrays):
    header["model"]["fitted"]["n_features_in_"] = -5


def no_model(header, arrays):
    del header["model"]


def deep(header, arrays):
    for _ in range(100):
        header["model"] = {"class": "Pipeline", "steps": [["a", header["model"]]]}
    header["model"]["steps"] += [["a", header["model"]["steps"][0][1]]]


def names_that_are_numbers(header, arrays):
    header["feature_names"] = [1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (newer, "has format 2 and nmlsdr .* reads up to format 1; install a newer nmlsdr"),
        (no_version, "no format version"),
        (unknown_class, r"holds the class 'os\.system'"),
        (listless_class, "holds the class"),
        (unknown_parameter, "holds StandardScaler.command, which nmlsdr .* does not know"),
        (parameter_list, "parameter that is not a number or text"),
        (unknown_attribute, "holds StandardScaler.transform, which nmlsdr .* does not know"),
        (missing_attribute, "StandardScaler.n_features_in_ is missing"),
        (missing_array, "header is incomplete"),
        (wrong_length, r"StandardScaler.mean_ has shape \(6,\) where the others need \(5\)"),
        (wrong_dimension, r"StandardScaler.var_ has shape \(5, 1\)"),
        (text_array, "header is incomplete"),
        (negative_count, "header is incomplete"),
        (no_model, "header is incomplete"),
        (deep, "steps have no names of their own"),
        (names_that_are_numbers, "header is incomplete"),
    ],
)
def test_forged_file_with_a_right_checksum(tmp_path, scaler, change, message):
    save_model(tmp_path / "m.npz", scaler)
    forge(tmp_path / "m.npz", change)
    with pytest.raises(ModelFileError, match=message) as error:
        load_model(tmp_path / "m.npz")
    assert "\n" not in str(error.value)


def test_more_than_max_bytes(tmp_path, rng):
    save_model(tmp_path / "m.npz", StandardScaler().fit(rng.normal(size=(3, 500))))
    with pytest.raises(ModelFileError, match="unpacks to more than 9000 bytes"):
        load_model(tmp_path / "m.npz", max_bytes=9000)


def test_array_that_claims_more_than_it_holds(tmp_path, scaler):
    """No memory is taken for a shape that the member cannot fill."""
    save_model(tmp_path / "m.npz", scaler)
    parts = members(tmp_path / "m.npz")
    parts["a0.npy"] = parts["a0.npy"].replace(b"(5,), }          ", b"(5000000000000,), }")[: len(parts["a0.npy"])]
    assert b"5000000000000" in parts["a0.npy"]
    write_members(tmp_path / "m.npz", parts)
    with pytest.raises(ModelFileError, match="another size than it says"):
        load_model(tmp_path / "m.npz")


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packed_members_are_refused(tmp_path, scaler, compression):
    save_model(tmp_path / "m.npz", scaler)
    write_members(tmp_path / "m.npz", members(tmp_path / "m.npz"), compression=compression)
    with pytest.raises(ModelFileError, match="its members are packed"):
        load_model(tmp_path / "m.npz")


def test_table_names_real_classes():
    from nmlsdr._model.schema import class_of

    for name in table:
        assert class_of(name).__name__ == name
