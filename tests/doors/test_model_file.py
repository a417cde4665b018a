"""Model files: what is written comes back bit for bit, and nothing else is read."""

import datetime
import functools
import io
import operator
import pickle
import sys
import tempfile
import tracemalloc
import zipfile

import numpy as np
import pytest
import skops.io
from model_files import (
    assert_forgery_is_refused,
    assert_same,
    attribute,
    forge,
    members,
    npy,
    part,
    plain,
    write_members,
)
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, Normalizer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from nmlsdr import ResidualPropagation
from nmlsdr._model import large_arrays
from nmlsdr._model.reading import FORMAT, open_model
from nmlsdr.model_file import TRUSTED_TYPES, ModelFileError, load_model, save_model


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
def test_scalers_survive_a_round_trip_to_the_last_bit(tmp_path, rng, name):
    X = rng.normal(size=(20, 5))
    fitted = SCALERS[name](X)
    save_model(tmp_path / "m.skops", fitted)
    back = load_model(tmp_path / "m.skops")
    assert_same(fitted, back)
    assert fitted.transform(X).tobytes() == back.transform(X).tobytes()


def test_feature_names_seen_at_fit_survive_a_round_trip(tmp_path, rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rng.normal(size=(6, 2)), columns=["å", "b c"])
    save_model(tmp_path / "m.skops", StandardScaler().fit(frame))
    back = load_model(tmp_path / "m.skops")
    assert back.feature_names_in_.tolist() == ["å", "b c"]
    assert back.feature_names_in_.dtype == object
    back.transform(frame)


def test_a_model_file_contains_names_and_versions(tmp_path, scaler):
    save_model(tmp_path / "m.skops", scaler, feature_names=list("abcde"), label_names=["x", "ü"])
    model = open_model(tmp_path / "m.skops")
    assert model.feature_names == list("abcde")
    assert model.label_names == ["x", "ü"]
    assert set(model.versions) == {"nmlsdr", "numpy", "scipy", "scikit-learn"}


def test_skops_reads_it_with_the_list_of_types(tmp_path, scaler):
    """The file is skops's own format: its reader makes the scaler, without what a fit adds beside the list."""
    save_model(tmp_path / "m.skops", scaler)
    assert skops.io.get_untrusted_types(file=tmp_path / "m.skops") == []
    content = skops.io.load(tmp_path / "m.skops")
    assert content["format"] == FORMAT
    assert_same(content["model"].mean_, scaler.mean_)


def test_large_arrays_come_back_and_skops_reads_them_too(tmp_path, rng, monkeypatch):
    """Every array but single numbers counts as large: a mark stands for it while skops writes or reads the others."""
    monkeypatch.setattr(large_arrays, "LARGE", 150)
    X = rng.normal(size=(40, 5))
    Y = (X[:, :3] + rng.normal(size=(40, 3)) > 0).astype(int)
    model = make_pipeline(StandardScaler(), ResidualPropagation(n_neighbors=4, n_estimators=2)).fit(X, Y)
    save_model(tmp_path / "m.skops", model)
    with zipfile.ZipFile(tmp_path / "m.skops") as archive:
        assert archive.testzip() is None
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    assert sum(sizes.values()) > model[-1].propagated_errors_.nbytes
    back = load_model(tmp_path / "m.skops")
    assert_same(model, back)
    assert model.predict_proba(X).tobytes() == back.predict_proba(X).tobytes()
    content = skops.io.load(tmp_path / "m.skops", trusted=TRUSTED_TYPES)
    assert_same(content["model"].steps[0][1].mean_, model[0].mean_)
    monkeypatch.undo()
    assert_same(model, load_model(tmp_path / "m.skops"))


def test_an_array_that_stands_twice_is_written_once(tmp_path, rng):
    rows = rng.normal(size=(1000, 200))
    draft = io.BytesIO()
    large_arrays.write_archive(draft, {"rows": rows, "others": [rows]}, skops.io.dumps)
    assert len(draft.getvalue()) < 1.1 * rows.nbytes
    content = large_arrays.read_archive(draft, skops.io.load)
    assert_same(content["rows"], rows)
    assert_same(content["others"][0], rows)


def test_large_arrays_are_written_and_read_without_a_copy(tmp_path, rng):
    rows = rng.normal(size=(2000, 1000))
    with tempfile.TemporaryFile() as draft:
        tracemalloc.start()
        try:
            large_arrays.write_archive(draft, {"rows": rows}, skops.io.dumps)
            of_writing = tracemalloc.get_traced_memory()[1]
            tracemalloc.reset_peak()
            content = large_arrays.read_archive(draft, skops.io.load)
            of_reading = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert_same(content["rows"], rows)
    assert of_writing < 1.3 * rows.nbytes  # NumPy writes parts of 16 MiB
    assert of_reading < 1.3 * rows.nbytes


def test_the_error_without_skops_names_it(tmp_path, scaler, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for action in (lambda: save_model(tmp_path / "m.skops", scaler), lambda: load_model(tmp_path / "m.skops")):
        with pytest.raises(ImportError, match=r"A model file needs skops; .* pip install 'nmlsdr\[cli\]'"):
            action()
    assert not (tmp_path / "m.skops").exists()


def change_version(schema, arrays):
    part(schema, "versions")["content"]["scikit-learn"] = plain("1.5.9")


def test_another_version_of_scikit_learn_gives_its_own_warning(tmp_path, scaler):
    save_model(tmp_path / "m.skops", scaler)
    forge(tmp_path / "m.skops", change_version)
    with pytest.warns(InconsistentVersionWarning, match=r"StandardScaler from version 1\.5\.9") as caught_warnings:
        back = load_model(tmp_path / "m.skops")
    assert len(caught_warnings) == 1
    assert_same(scaler, back)


def test_a_model_that_predicts_differently_is_refused(tmp_path, scaler, monkeypatch):
    """As another version of a library may: the scaler divides where it subtracted."""
    save_model(tmp_path / "m.skops", scaler)
    monkeypatch.setattr(StandardScaler, "transform", lambda self, X: X / self.mean_)
    with pytest.raises(ModelFileError, match="it predicts differently from when it was written; fit the model again"):
        load_model(tmp_path / "m.skops")


def test_a_forged_version_does_not_reach_the_terminal_raw(tmp_path, scaler):
    save_model(tmp_path / "m.skops", scaler)

    def change(schema, arrays):
        part(schema, "versions")["content"]["scikit-learn"] = plain("\x1b[2J\ud800")

    forge(tmp_path / "m.skops", change)
    with pytest.warns(InconsistentVersionWarning, match=r"version \\x1b\[2J\\ud800"):
        load_model(tmp_path / "m.skops")


class Elsewhere(StandardScaler):
    """An estimator that was fitted elsewhere and predicts as a plain one."""

    def to_local(self):
        scaler = StandardScaler()
        vars(scaler).update({name: value for name, value in vars(self).items() if name != "site"})
        return scaler


@pytest.mark.parametrize("in_pipeline", [False, True])
def test_an_estimator_is_written_in_its_plain_form(tmp_path, rng, in_pipeline):
    X = rng.normal(size=(20, 5))
    fitted = Elsewhere().fit(X)
    fitted.site = object()
    save_model(tmp_path / "m.skops", make_pipeline(fitted) if in_pipeline else fitted)
    back = load_model(tmp_path / "m.skops")
    assert type(back[0] if in_pipeline else back) is StandardScaler
    assert fitted.transform(X).tobytes() == back.transform(X).tobytes()


# --------------------------------------------------------------------------------------------------------- refused


def test_an_unfitted_estimator_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(tmp_path / "m.skops", StandardScaler())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda X: PCA(2).fit(X),
            "cannot be written to .*: it is a PCA, and a model file holds only Pipeline, Standard",
        ),
        (lambda X: make_pipeline(StandardScaler(), PCA(2)).fit(X), "it is a PCA"),
    ],
)
def test_objects_that_cannot_be_written_are_refused(tmp_path, rng, make, message):
    (tmp_path / "m.skops").write_bytes(b"old")
    with pytest.raises(ModelFileError, match=message):
        save_model(tmp_path / "m.skops", make(rng.normal(size=(9, 4))))
    assert (tmp_path / "m.skops").read_bytes() == b"old"


def test_subclass_under_the_same_name_is_not_written(tmp_path, scaler):
    impostor = type("StandardScaler", (StandardScaler,), {})().fit(np.eye(2))
    with pytest.raises(ModelFileError, match="it is a StandardScaler, and"):
        save_model(tmp_path / "m.skops", impostor)


FOREIGN = {
    "empty": (b"", "it is empty; give a file"),
    "text": (b"row,label\n", "is not a model file"),
    "pickle": (pickle.dumps({"a": 1}), "it is a pickle, which could run code"),
    "npy": (npy(np.eye(2)), "is not a model file"),
    "cut zip": (b"PK\x03\x04" + b"\0" * 50, "is damaged"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_another_kind_is_refused(tmp_path, name):
    content, message = FOREIGN[name]
    (tmp_path / "m.skops").write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as error:
        load_model(tmp_path / "m.skops")
    assert "\n" not in str(error.value)


def test_a_missing_model_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "m.skops")


def test_zip_archives_of_another_kind_are_refused(tmp_path):
    np.savez(tmp_path / "m.npz", X=np.eye(3))
    with pytest.raises(ModelFileError, match="is an archive but not a model file"):
        load_model(tmp_path / "m.npz")
    skops.io.dump(StandardScaler().fit(np.eye(3)), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="is not a model file of this version"):
        load_model(tmp_path / "m.skops")
    skops.io.dump({"format": "nmlsdr-model 99"}, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="a later version of nmlsdr wrote it; upgrade nmlsdr"):
        load_model(tmp_path / "m.skops")


def test_every_flipped_byte_is_noticed(tmp_path, scaler):
    """Or does not matter: zip stores some facts twice and keeps fields that no reader looks at."""
    path = tmp_path / "m.skops"
    save_model(path, scaler)
    whole = path.read_bytes()
    unnoticed = 0
    for position in range(0, len(whole), 23):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        try:
            assert_same(scaler, load_model(path))
            unnoticed += 1
        except ModelFileError:
            pass
    assert unnoticed < len(whole) / 23 / 4


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_model_file_is_refused(tmp_path, scaler, keep):
    save_model(tmp_path / "m.skops", scaler)
    whole = (tmp_path / "m.skops").read_bytes()
    (tmp_path / "m.skops").write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(ModelFileError, match="is damaged"):
        load_model(tmp_path / "m.skops")


class Bomb:
    """Would write a file if it were unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_pickle_inside_is_never_run(tmp_path, scaler):
    save_model(tmp_path / "m.skops", scaler)
    parts = members(tmp_path / "m.skops")
    member = next(name for name in parts if name.endswith(".npy"))
    parts[member] = npy(np.array([Bomb(tmp_path / "run")], dtype=object), allow_pickle=True)
    write_members(tmp_path / "m.skops", parts)
    with pytest.raises(ModelFileError, match="an array holds object, not numbers or text"):
        load_model(tmp_path / "m.skops")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "make",
    [
        lambda: FunctionTransformer(),
        lambda: FunctionTransformer(np.exp),
        lambda: PCA(2).fit(np.eye(3)),
        lambda: functools.partial(int, "7"),
        lambda: np.sin,
        lambda: np.random.default_rng(0),
        lambda: np.dtype(float),
        lambda: StandardScaler,
        lambda: [].append,
        lambda: operator.itemgetter(0),
        lambda: slice(1, 2),
        lambda: {1},
        lambda: b"bytes",
        lambda: np.ma.MaskedArray([1]),
        lambda: {"a": datetime.UTC},
        lambda: sparse.csr_array(np.eye(2)),
        lambda: DecisionTreeRegressor().fit(np.eye(3), [0, 1, 2]).tree_,
    ],
)
def test_untrusted_types_are_refused_before_skops_creates_objects(tmp_path, scaler, monkeypatch, make):
    """skops itself trusts most of these; a file with one of them is not even given to it."""
    skops.io.dump({"format": FORMAT, "model": make()}, tmp_path / "m.skops")
    monkeypatch.setattr(skops.io, "load", None)  # never reached
    with pytest.raises(ModelFileError, match="not on the list of what a model file may hold"):
        load_model(tmp_path / "m.skops")


def deep(schema, arrays):
    for level in range(400):
        content = [part(schema, "model")]
        node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": content}
        schema["content"]["model"] = {**node, "__id__": 10**9 + level}


def same_id(schema, arrays):
    part(schema, "versions")["__id__"] = part(schema, "model")["__id__"]


def same_member(schema, arrays):
    fitted = part(schema, "model")["content"]["content"]
    fitted["var_"]["file"] = fitted["mean_"]["file"]


def many_rows(schema, arrays):
    name = part(schema, "rows")["file"]
    arrays[name] = np.tile(arrays[name], (10, 1))


def at_model(**changes):
    return lambda schema, arrays: part(schema, "model").update(changes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, a: s.update(protocol=0), "is of the protocol 0 of skops"),
        (lambda s, a: s.update(protocol=True), "is of the protocol True of skops"),
        (at_model(__class__="system", __module__="os"), r"holds os\.system \(ObjectNode\), which is not on the list"),
        (at_model(__loader__="FunctionNode"), r"StandardScaler \(FunctionNode\), which is not on the list"),
        (lambda s, a: s["key_types"]["content"][0].update(__class__="eval"), r"holds builtins\.eval \(TypeNode\)"),
        (lambda s, a: s["key_types"]["content"].__setitem__(0, plain("abc")), "the keys of a dictionary are no text"),
        (same_id, "refers to other parts of itself"),
        (lambda s, a: part(s, "model").pop("__id__"), "is damaged"),
        (deep, "refers to other parts of itself"),
        (same_member, "an array has no member of its own"),
        (lambda s, a: a.update({"more.npy": np.eye(2)}), "its members are not those that its schema names"),
        (lambda s, a: a.pop(part(s, "model", "mean_")["file"]), "its members are not those that its schema names"),
        (
            lambda s, a: part(s, "model", "mean_").update(type="json", content=[], shape=plain([5])),
            "no member of its own",
        ),
        (lambda s, a: s["content"].pop("model"), "its members are not those"),
        (lambda s, a: s["content"].update(model=plain("model")), "its members are not those"),
        (lambda s, a: s["content"].update(feature_names=plain([1, 2])), "is damaged"),
        (many_rows, "it contains 30 rows for checking its predictions"),
        (attribute("command", "x"), r"holds StandardScaler\.command, which this version does not know; write"),
        (attribute("copy", [1]), r"StandardScaler\(copy=\.\.\.\) is no number or text"),
        (attribute("transform", "a0"), r"holds StandardScaler\.transform, which"),
        (attribute("mean_", lambda a: np.zeros(6)), r"mean_ has shape \(6,\) where the others need \(5\)"),
        (attribute("var_", lambda a: a[:, None]), r"StandardScaler\.var_ has shape \(5, 1\)"),
        (attribute("var_", lambda a: np.array(list("abcde"))), r"var_ holds <U1, not float64 or float32"),
        (attribute("n_features_in_", -5), "n_features_in_ cannot be this value of the type int"),
        (attribute("n_features_in_", True), "n_features_in_ cannot be this value of the type bool"),
    ],
)
def test_a_model_file_with_changed_content_is_refused(tmp_path, scaler, change, message):
    save_model(tmp_path / "m.skops", scaler)
    assert_forgery_is_refused(tmp_path / "m.skops", change, message)


def test_file_of_a_newer_protocol(tmp_path, scaler):
    """skops refuses a protocol that it does not know; 0.13 and 0.14 read the parts on our list as their own."""
    save_model(tmp_path / "m.skops", scaler)
    forge(tmp_path / "m.skops", lambda schema, arrays: schema.update(protocol=99))
    if skops.__version__.startswith(("0.13.", "0.14.")):
        assert load_model(tmp_path / "m.skops").mean_.tolist() == scaler.mean_.tolist()
        return
    with pytest.raises(ModelFileError, match="skops protocol 99, but this version"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize("schema", [b"[]", b"{}", b"{", b"\xff", b'{"protocol": NaN}', b"[" * 100_000])
def test_schema_that_is_not_ours(tmp_path, schema):
    write_members(tmp_path / "m.skops", {"schema.json": schema})
    with pytest.raises(ModelFileError, match=r"is damaged|is refused"):
        load_model(tmp_path / "m.skops")


def test_more_than_max_bytes(tmp_path, rng):
    save_model(tmp_path / "m.skops", StandardScaler().fit(rng.normal(size=(3, 500))))
    with pytest.raises(ModelFileError, match="takes more than 9000 bytes; raise max_bytes"):
        load_model(tmp_path / "m.skops", max_bytes=9000)
    load_model(tmp_path / "m.skops", max_bytes=(tmp_path / "m.skops").stat().st_size)


@pytest.mark.parametrize("shape", [b"(5000000000000,), }", b"(-5,), }", b"(4,), }"])
def test_array_that_claims_another_size_than_it_has(tmp_path, scaler, shape):
    """No memory is taken for a shape that the member cannot fill."""
    save_model(tmp_path / "m.skops", scaler)
    parts = members(tmp_path / "m.skops")
    name = next(name for name, content in parts.items() if b"(5,), }" in content)
    parts[name] = parts[name].replace(b"(5,), }".ljust(len(shape)), shape)
    write_members(tmp_path / "m.skops", parts)
    with pytest.raises(ModelFileError, match="another size than its header says"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compressed_members_are_refused(tmp_path, scaler, compression):
    save_model(tmp_path / "m.skops", scaler)
    write_members(tmp_path / "m.skops", members(tmp_path / "m.skops"), compression=compression)
    with pytest.raises(ModelFileError, match="its members are compressed"):
        load_model(tmp_path / "m.skops")
