"""Where Dask rows come from: blocks that are made again, files of NumPy and stores of zarr."""

import pickle

import numpy as np
import pytest
from dask_cases import assert_same_fit, draw

import nmlsdr
import nmlsdr.dask
from nmlsdr.dask import open_rows
from nmlsdr.dask._blocks import Blocks

da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'nmlsdr[dask]'")

pytestmark = pytest.mark.usefixtures("quiet")


def test_a_block_is_made_again_but_what_all_need_is_made_once():
    """The blocks of X are in no recipe's needs; the mean and the deviation are, once each."""
    X = da.random.default_rng(0).normal(size=(300, 7), chunks=(70, 7))
    blocks = Blocks.of((X - X.mean(axis=0)) / X.std(axis=0))
    assert len(blocks.inputs) == 2
    assert all(len(recipe.needs) == 2 for recipe in blocks.recipes)
    assert len(Blocks.of(X).inputs) == 0


def test_data_travels_once_and_not_with_every_recipe():
    X = np.zeros((1000, 200))
    blocks = Blocks.of(da.from_array(X, chunks=(250, -1)))
    assert len(blocks.inputs) == 4
    assert all(len(pickle.dumps(recipe)) < 10_000 for recipe in blocks.recipes)


@pytest.mark.parametrize("order", ["C", "F"])
def test_files_of_numpy_are_opened_by_name(rng, tmp_path, order):
    X, Y = draw(rng)
    X = np.asarray(X, np.float32, order=order)
    np.save(tmp_path / "x.npy", X)
    rows = open_rows(tmp_path / "x.npy", rows_per_block=40)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.compute(), X)
    assert all(len(pickle.dumps(recipe)) < 10_000 for recipe in Blocks.of(rows).recipes)
    expected = nmlsdr.MultiLabelPropagation(5).fit(X, Y)
    assert_same_fit(nmlsdr.dask.MultiLabelPropagation(5).fit(rows, Y), expected)
    np.testing.assert_array_equal(open_rows(tmp_path / "x.npy").compute(), X)


def test_zarr_stores(rng, tmp_path):
    zarr = pytest.importorskip("zarr", reason="needs zarr")
    X, Y = draw(rng)
    stored = zarr.create_array(str(tmp_path / "x.zarr"), shape=X.shape, chunks=(40, 4), dtype="float32")
    stored[:] = X
    rows = open_rows(tmp_path / "x.zarr")
    assert rows.dtype == np.float32
    expected = nmlsdr.NMLSDR(n_neighbors=5).fit(X.astype(np.float32), Y)
    assert_same_fit(nmlsdr.dask.NMLSDR(n_neighbors=5).fit(rows, Y), expected)
    assert open_rows(tmp_path / "x.zarr", rows_per_block=100).chunks[0] == (100, 50)


@pytest.mark.parametrize("source", ["nothing.txt", 3, np.zeros((3, 2)), "one dimension"])
def test_other_sources_are_refused(tmp_path, source):
    if isinstance(source, str) and source == "one dimension":
        np.save(tmp_path / "x.npy", np.zeros(3))
        source = tmp_path / "x.npy"
    with pytest.raises(ValueError, match=r"source must"):
        open_rows(source)
