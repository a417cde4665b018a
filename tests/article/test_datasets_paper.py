"""paper_split against the counts the article prints, the catalogue, fetch and verify."""

import gzip
import http.server
import json
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from nmlsdr.datasets import _catalog as catalog_module
from nmlsdr.datasets import fetch_dataset, paper_split
from nmlsdr.datasets._catalog import dataset_info, list_datasets, verify_dataset
from nmlsdr.tables import DataFileError

NINE = ["Birds", "Corel", "Emotions", "Enron", "Genbase", "Medical", "Scene", "Tmc2007", "Yeast"]

# Where labels per training row are not what the article prints: its draw of 3000 rows of Tmc2007 is not known (2.25),
# its Corel number is the mean over all ten parts of Corel16k (2.87), its Enron number is cut, not rounded (3.38).
CARDINALITY = {"Corel": 3.085, "Enron": 3.3865, "Tmc2007": 2.182}


@pytest.mark.quick_cases("Birds", "Emotions", "Medical", "Yeast")
@pytest.mark.shared
@pytest.mark.parametrize("name", NINE)
def test_counts_are_the_article_s(shared, name):
    printed = json.loads((shared / "paper" / "tables.json").read_text())["data"]
    train, test, attributes, labels, cardinality = printed["rows"][name]
    split = paper_split(name, shared / "data")
    assert split.data.shape == (train, attributes)
    assert split.test_data.shape == (test, attributes)
    assert split.target.shape == (train, labels)
    assert split.test_target.shape == (test, labels)
    assert abs(split.target.sum() / train - CARDINALITY.get(name, cardinality)) < 0.0051
    for X in (split.data, split.test_data):
        assert X.dtype == np.float64
        assert np.isfinite(X).all()
    for Y in (split.target, split.test_target):
        assert Y.dtype == np.int64
        assert set(np.unique(Y)) == {0, 1}
    assert (split.data.std(axis=0) > 0).all()
    assert split.target.any(axis=0).all()
    assert len(split.feature_names) == attributes
    assert len(split.label_names) == labels
    assert f"{train} train and {test} test rows" in split.DESCR
    assert dataset_info(name)["paper"] == dict(zip(printed["columns"], printed["rows"][name], strict=True))


def test_the_catalogue_describes_the_nine_data_sets():
    assert list_datasets() == NINE
    for name in NINE:
        info = dataset_info(name)
        assert dataset_info(info["folder"].upper()) == info
        for file in info["files"].values():
            assert file["url"].startswith("https://")
            assert len(file["sha256"]) == 64


@pytest.mark.parametrize("name", ["nothing", "", None, 3])
def test_an_unknown_data_set_is_refused_with_the_known_names(name):
    with pytest.raises(DataFileError, match="choose one of Birds, Corel"):
        paper_split(name)


def test_toy_has_no_files():
    with pytest.raises(DataFileError, match="make_toy"):
        paper_split("toy")


# ---------------------------------------------------------------- a small set of our own in the catalogue

ARFF = """@relation r
@attribute row {a,b,c,d}
@attribute zero numeric
@attribute x numeric
@attribute z {YES,NO}
@attribute y2 {0,1}
@attribute y1 {1,0}
@attribute never {0,1}
@data
"""
TRAIN = ARFF + "a,0,1,YES,1,0,0\nb,0,2,NO,0,1,0\nc,0,3,NO,0,1,1\n"
TEST = ARFF + "d,5,1,NO,1,0,1\n"
XML = '<labels><label name="y1"/><label name="never"/><label name="y2"/></labels>'


@pytest.fixture
def small(monkeypatch):
    """Replace the catalogue by one with a set Small that needs every rule; return its files' content."""
    import hashlib

    content = {"train": ("s-train.arff", TRAIN), "test": ("s-test.arff", TEST), "labels": ("s.xml", XML)}
    files = {
        role: {"name": name, "bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for role, (name, text) in content.items()
    }
    entry = {
        "name": "Small",
        "folder": "small-1",
        "subject": "nothing",
        "remote": "far",
        "files": files,
        "rules": {"n_train": 2, "drop": ["row"]},
        "paper": {},
    }
    table = {"source": "http://127.0.0.1:1/", "home": "nowhere", "sets": {"Small": entry}}
    monkeypatch.setattr(catalog_module, "catalog", lambda: table)
    return dict(content.values())


def write(folder, files, *, packed=False):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if packed and name.endswith(".arff"):
            (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / name).write_text(text)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("where", ["small-1", "."])
def test_the_rules_of_a_data_set_drop_columns_and_labels(tmp_path, small, packed, where):
    write(tmp_path / where, small, packed=packed)
    split = paper_split("SMALL", tmp_path)
    # row: dropped by name; zero: constant on the first two rows; never: no positive on them
    assert split.feature_names == ["x", "z"]
    assert split.label_names == ["y2", "y1"]
    assert split.data.tolist() == [[1, 1], [2, 0]]
    assert split.target.tolist() == [[1, 0], [0, 1]]
    assert split.test_data.tolist() == [[1, 0]]
    assert split.test_target.tolist() == [[1, 0]]


def test_training_and_test_file_are_swapped_where_the_catalogue_says_so(tmp_path, small):
    catalog_module.catalog()["sets"]["Small"]["rules"] = {"swap": True, "drop": ["row"]}
    write(tmp_path / "small-1", {**small, "s-test.arff": ARFF + "d,5,1,NO,1,0,1\nd,5,4,NO,1,0,1\n"})
    split = paper_split("small", tmp_path)
    assert split.data.tolist() == [[1], [4]]
    assert split.test_data.tolist() == [[1], [2], [3]]
    assert "swapped" in split.DESCR


def test_environment_names_the_folder(tmp_path, small, monkeypatch):
    write(tmp_path / "small-1", small)
    monkeypatch.setenv("NMLSDR_DATA", str(tmp_path))
    assert paper_split("small").data.shape == (2, 2)
    with pytest.raises(DataFileError, match="elsewhere"):
        paper_split("small", tmp_path / "elsewhere")


@pytest.mark.parametrize("missing", ["s-train.arff", "s-test.arff", "s.xml"])
def test_the_error_for_a_missing_file_names_file_and_folder(tmp_path, small, missing):
    write(tmp_path / "small-1", {name: text for name, text in small.items() if name != missing})
    with pytest.raises(DataFileError) as error_info:
        paper_split("small", tmp_path)
    message = str(error_info.value)
    assert str(tmp_path / "small-1" / missing) in message
    assert "NMLSDR_DATA" in message
    assert "nmlsdr datasets fetch Small" in message


def test_files_that_do_not_belong_together(tmp_path, small):
    other_test_file = TEST.replace("attribute x ", "attribute w ")
    write(tmp_path / "small-1", {**small, "s-test.arff": other_test_file})
    with pytest.raises(DataFileError, match="get both files again"):
        paper_split("small", tmp_path)


def states(folder):
    return [entry["state"] for entry in verify_dataset("small", folder)]


def test_verify_reports_the_state_of_each_file(tmp_path, small):
    assert states(tmp_path) == ["missing"] * 3
    assert list(tmp_path.iterdir()) == []
    folder = tmp_path / "small-1"
    write(folder, small, packed=True)
    assert states(tmp_path) == ["ok"] * 3
    (folder / "s.xml").write_text(XML + " ")
    (folder / "s-test.arff.gz").write_bytes(gzip.compress(TEST[:-1].encode()))
    (folder / "s-train.arff.gz").write_bytes(gzip.compress(TRAIN.encode())[:-9])
    assert states(tmp_path) == ["unreadable", "wrong", "wrong"]
    assert verify_dataset("small", tmp_path)[1]["file"] == str(folder / "s-test.arff.gz")


@contextmanager
def server(folder):
    """Serve a folder on a loopback port."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def __init__(self, *args):
            super().__init__(*args, directory=str(folder))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{httpd.server_address[1]}"
        finally:
            httpd.shutdown()
            thread.join()


def test_fetched_files_are_unpacked_and_found(tmp_path, small):
    remote = tmp_path / "remote"
    home = tmp_path / "home"
    write(remote / "far", small)
    with server(remote) as address:
        files = fetch_dataset("small", home, source=address)
        assert [file.name for file in files] == ["s-train.arff", "s-test.arff", "s.xml"]
        assert states(home) == ["ok"] * 3
    # everything is there: nothing is asked for again, the address is dead
    assert fetch_dataset("small", home, source=address) == files
    assert paper_split("small", home).data.shape == (2, 2)


def test_fetch_checks_what_arrives(tmp_path, small):
    remote = tmp_path / "remote"
    home = tmp_path / "home"
    write(remote / "far", {**small, "s-test.arff": TEST + "% changed\n"})
    with server(remote) as address, pytest.raises(DataFileError, match=r"s-test\.arff could not .*another checksum"):
        fetch_dataset("small", home, source=address)
    assert states(home) == ["ok", "missing", "missing"]


def test_fetch_without_a_network_or_file(tmp_path, small):
    with pytest.raises(DataFileError, match=r"127\.0\.0\.1:1/far/s-train\.arff could not be fetched .* put s-train"):
        fetch_dataset("small", tmp_path)
    with server(tmp_path) as address, pytest.raises(DataFileError, match="could not be fetched"):
        fetch_dataset("small", tmp_path / "home", source=address)


def test_fetch_leaves_other_files_alone(tmp_path, small):
    write(tmp_path / "small-1", {"s-test.arff": "mine"})
    with pytest.raises(DataFileError, match="move it away"):
        fetch_dataset("small", tmp_path)
    assert (tmp_path / "small-1" / "s-test.arff").read_text() == "mine"
