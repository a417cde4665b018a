"""Forged archives of model files: members that are there twice, overlap or are too large, and types off the list."""

import sys
import zipfile

import numpy as np
import pytest
from model_files import (
    assert_forgery_is_refused,
    members,
    write_members,
)
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr._model.schema import Field, Refused, check_value
from nmlsdr.model_file import ModelFileError, load_model, save_model


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
