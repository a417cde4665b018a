"""What the tests of model files share: how to compare two estimators, and how to take a file apart and forge one."""

import io
import json
import zipfile
import zlib

import numpy as np
import pytest

from nmlsdr._estimators._learner import Learner
from nmlsdr._thresholds import rank_scores
from nmlsdr.forest import Trees
from nmlsdr.model_file import ModelFileError, load_model, save_model


@pytest.fixture
def samples(rng):
    """Rows and labels, some rows unlabelled."""
    Y = (rng.random((40, 3)) < 0.4).astype(int)
    X = rng.normal(size=(40, 5)) + np.hstack([2 * Y, np.zeros((40, 2))])
    Y[::4] = -1
    return X, Y


def assert_same(a, b, where="estimator"):
    """Equal in type, dtype, shape, memory order and every bit."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype, where
        assert a.shape == b.shape, where
        assert a.flags.f_contiguous == b.flags.f_contiguous, where
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes(), where
    elif hasattr(a, "indptr"):
        assert a.shape == b.shape, where
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(a, part), getattr(b, part), f"{where}.{part}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif hasattr(a, "get_params"):
        assert_same(sorted(a.get_params(deep=False)), sorted(b.get_params(deep=False)), where)
        for name in sorted(vars(a)):
            assert name in vars(b), f"{where}.{name} was not kept"
            assert_same(vars(a)[name], vars(b)[name], f"{where}.{name}")
    elif isinstance(a, Trees | Learner):
        for name in vars(a):
            assert_same(getattr(a, name), getattr(b, name), f"{where}.{name}")
    else:
        assert a == b, where


def same_by_threads_and_file(fit, X, Y, path):
    """A fit, in which neither two threads nor a model file change a bit."""
    model = fit(X, Y)
    np.testing.assert_array_equal(rank_scores(model, X), rank_scores(fit(X, Y, n_jobs=2), X))
    save_model(path, model)
    back = load_model(path)
    assert_same(back.learners_, model.learners_)
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    return model


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, parts, *, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), **options)
    return file.getvalue()


def forge(path, change):
    """Rewrite a model file after `change(schema, arrays)`; the arrays are those of the members, by name."""
    parts = members(path)
    schema = json.loads(parts.pop("schema.json"))
    arrays = {name: np.load(io.BytesIO(part)) for name, part in parts.items()}
    change(schema, arrays)
    stored = {name: npy(array) for name, array in arrays.items()}
    write_members(path, {**stored, "schema.json": json.dumps(schema)})


def assert_forgery_is_refused(path, change, message=None):
    """In one sentence, which `message` matches."""
    forge(path, change)
    with pytest.raises(ModelFileError, match=message) as error_info:
        load_model(path)
    assert "\n" not in str(error_info.value)
    assert str(error_info.value).endswith((".", "?"))


def part(schema, *keys):
    """The node of a schema behind keys of dictionaries, attributes of objects and positions of lists."""
    node = schema
    for key in keys:
        if node["__loader__"] == "ObjectNode":
            node = node["content"]
        node = node["content"][key]
    return node


def learner(schema, kind):
    """The node of the arrays of a learner of this class, in the schema of a trend."""
    stored = part(schema, "model", "learners_")["content"]
    return next(node for node in stored if json.loads(node["content"]["learner"]["content"]) == kind.name)


def plain(value):
    """A number, text, True, False or None as a node; its id is that of no other node."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
        "__id__": (1 << 40) + zlib.crc32(json.dumps(value).encode()),
    }


def nodes(values, like):
    """A list of plain nodes in place of another list."""
    return {**like, "__id__": like["__id__"] + (1 << 41), "content": [plain(value) for value in values]}


def attribute(name, change, *keys):
    """A change of an attribute or parameter, of the estimator behind further keys: its array, or its plain value."""

    def forger(schema, arrays):
        keeper = part(schema, "model", *keys)
        where = keeper["content"]["content"]
        node = where.get(name)
        objects = False
        while node is not None and node["__loader__"] in ("ListNode", "DictNode"):
            inner = node["content"]
            objects = "objects" in inner
            node = inner[0] if isinstance(inner, list) else inner["objects"] if objects else next(iter(inner.values()))
        if node is not None and "file" in node:
            changed = change(arrays[node["file"]])
            if changed is None:
                del arrays[node["file"]]
                where[name] = plain(None)
            else:
                arrays[node["file"]] = np.asarray(changed)
        elif objects:
            changed = np.asarray(change(np.array(json.loads(json.loads(node["content"])), dtype=object)))
            node.update(plain(json.dumps(changed.ravel().tolist())))
            inner["shape"] = nodes(list(changed.shape), inner["shape"])
        elif node is not None and callable(change):
            node.update(plain(change(json.loads(node["content"]))))
        else:
            where[name] = plain(change)
            if node is None:  # a new attribute has a key of its own
                keys_of = keeper["content"]["key_types"]["content"]
                keys_of.append(keys_of[0])

    return forger
