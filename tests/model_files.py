"""What the tests of model files share: how to compare two estimators, and how to take a file apart and forge one."""

import io
import json
import zipfile

import numpy as np

from nmlsdr._model import form


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
    else:
        assert a == b, where


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
    """Rewrite a model file after `change(header, arrays)`, with a checksum that is right."""
    arrays = dict(np.load(path, allow_pickle=False))
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    header["checksum"] = form.checksum(header, arrays)
    arrays = {"header": np.frombuffer(form.canonical(header), np.uint8), **arrays}
    write_members(path, {f"{name}.npy": npy(array) for name, array in arrays.items()})
