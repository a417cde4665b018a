"""Columns whose cells are vectors, such as embeddings: features of one block, in frames and in Parquet files."""

import json

import numpy as np
import pytest
from commands import ran
from table_files import read_table, refused

from nmlsdr import InputError
from nmlsdr.tables import TableEncoder, TableScaler
from nmlsdr.tables._columns import Vectors
from nmlsdr.tables._objects import typed_column, vectors_of
from nmlsdr.tables._plan import Plan
from nmlsdr.tables._planner import Choices

pandas = pytest.importorskip("pandas")
N = 60


@pytest.fixture
def vectors(rng):
    return rng.normal(size=(N, 12)).astype(np.float32)


def test_lists_and_arrays_of_one_length_are_vectors(vectors):
    numbers = np.arange(N) % 7 / 2
    forms = [[*vectors], [row.tolist() for row in vectors], [tuple(row.tolist()) for row in vectors]]
    for cells in forms:
        table = pandas.DataFrame({"size": numbers, "embedding": cells, "tall": numbers > 1})
        encoder = TableEncoder()
        features = encoder.fit_transform(table)
        assert [column.kind for column in encoder.plan_.columns] == ["number", "vector", "yes/no"]
        assert encoder.plan_.columns[1].reason == "vectors of 12 numbers, which count as one block"
        assert encoder.get_feature_names_out()[1:3].tolist() == ["embedding [0]", "embedding [1]"]
        np.testing.assert_array_equal(features[:, 1:13], vectors)
        np.testing.assert_array_equal(encoder.transform(table[4:9]), features[4:9])


def test_a_frame_of_polars_has_vectors_too(vectors):
    polars = pytest.importorskip("polars")
    for kind in (polars.List(polars.Float64), polars.Array(polars.Float64, 12)):
        frame = polars.DataFrame({"size": np.arange(N) / 3, "v": polars.Series(vectors.tolist(), dtype=kind)})
        np.testing.assert_array_equal(TableEncoder().fit_transform(frame)[:, 1:], vectors)


def test_a_missing_vector_is_the_median(vectors):
    cells = [None if i == 3 else vectors[i] for i in range(N)]
    encoder = TableEncoder()
    features = encoder.fit_transform(pandas.DataFrame({"size": np.arange(N) / 3, "v": cells}))
    assert encoder.plan_.columns[1].reason.endswith("; missing in 1 row")
    np.testing.assert_allclose(features[3, 1:], np.median(np.delete(vectors, 3, 0), axis=0), rtol=1e-6)


def test_tables_of_parquet_have_vectors(tmp_path, vectors):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, kind in (
        ("list", pyarrow.list_(pyarrow.float32())),
        ("large", pyarrow.large_list(pyarrow.float64())),
        ("fixed", pyarrow.list_(pyarrow.float32(), 12)),
    ):
        for rows in (vectors.tolist(), [None, *vectors[1:].tolist()]):
            columns = {"size": np.arange(N) / 3, "v": pyarrow.array(rows, kind), "y": np.arange(N) % 2}
            parquet.write_table(pyarrow.table(columns), tmp_path / f"{name}.parquet")
            table = read_table(tmp_path / f"{name}.parquet", plan=Choices(), label_columns=["y"])
            assert [column.kind for column in table.plan.columns] == ["number", "vector"]
            np.testing.assert_array_equal(table.data[1:, 1:], vectors[1:])
            assert np.isnan(table.data[0, 1:]).all() == (rows[0] is None)
    ragged = pyarrow.array([[1.5, 2.5], [3.5]] * 30, pyarrow.list_(pyarrow.float32()))
    parquet.write_table(pyarrow.table({"size": np.arange(N), "v": ragged}), tmp_path / "ragged.parquet")
    refused(["column 'v'", "have different lengths", "--drop"], tmp_path / "ragged.parquet", plan=Choices())


@pytest.mark.parametrize(
    "cells",
    [
        [[1, 2], [3, 4]] * 30,  # codes
        [["a", "b"], ["b", "c"]] * 30,
        [[1.5], [2.5, 3.5]] * 30,
        [[1.5], [2.5]] * 30,
        [[[1.5, 2.5]], [[1.5, 3.5]]] * 30,
        ["ab", "cd"] * 30,
    ],
)
def test_other_lists_are_no_vectors(cells):
    assert not isinstance(typed_column(cells), Vectors)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_an_error(vectors, value):
    vectors[3, 4] = value
    with pytest.raises(InputError, match="A vector holds NaN or infinity"):
        TableEncoder().fit(pandas.DataFrame({"v": [*vectors]}))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_array_of_polars_that_is_not_finite_is_an_error(vectors, value):
    polars = pytest.importorskip("polars")
    vectors[3, 4] = value
    frame = polars.DataFrame({"v": polars.Series(vectors.tolist(), dtype=polars.Array(polars.Float64, 12))})
    with pytest.raises(InputError, match="A vector holds NaN or infinity"):
        TableEncoder().fit(frame)


@pytest.mark.parametrize(("length", "is_vector"), [(12, True), (2, False)])
def test_whole_numbers_in_an_array_of_polars_are_as_in_lists(length, is_vector):
    polars = pytest.importorskip("polars")
    rows = (np.arange(N * length).reshape(N, length) % 7).tolist()
    columns = []
    for dtype in (polars.List(polars.Int64), polars.Array(polars.Int64, length)):
        frame = polars.DataFrame({"size": np.arange(N) / 3, "v": polars.Series(rows, dtype=dtype)})
        columns.append(TableEncoder().fit(frame).plan_.columns[1])
    assert columns[0] == columns[1]
    assert (columns[0].kind == "vector") == is_vector


def test_an_array_of_polars_with_one_number_is_a_number():
    polars = pytest.importorskip("polars")
    rows = [[number / 3] for number in range(N)]
    frame = polars.DataFrame({"v": polars.Series(rows, dtype=polars.Array(polars.Float64, 1))})
    plan = TableEncoder().fit(frame).plan_
    assert [column.kind for column in plan.columns] == ["number"]
    assert Plan.from_json(plan.to_json()) == plan


def test_vectors_of_another_length_are_an_error_tomorrow(vectors):
    numbers = np.arange(N) % 7
    encoder = TableEncoder().fit(pandas.DataFrame({"size": numbers, "v": [*vectors]}))
    for cells in ([*vectors[:, :5]], ["none"] * N):
        with pytest.raises(InputError, match="The column 'v' differs: its vectors have 12 numbers at the fit"):
            encoder.transform(pandas.DataFrame({"size": numbers, "v": cells}))


def test_a_plan_with_vectors_is_data(vectors):
    encoder = TableEncoder().fit(pandas.DataFrame({"size": np.arange(N) % 7, "v": [*vectors]}))
    assert Plan.from_json(encoder.plan_.to_json()) == encoder.plan_
    for change in ({"length": 0}, {"length": 11}, {"length": 10**12}, {"kind": "number"}):
        plan = json.loads(encoder.plan_.to_json())
        plan["columns"][1] |= change
        with pytest.raises(InputError, match="impossible values of the column 'v'"):
            Plan.from_json(json.dumps(plan))


def test_commands_take_vectors_as_a_block(run, tmp_path, rng):
    pytest.importorskip("pyarrow")
    pytest.importorskip("skops")
    X = rng.normal(size=(90, 16))
    y = (X[:, 0] > 0).astype(int)
    frame = pandas.DataFrame({"size": rng.normal(size=90), "v": [*X], "y": y})
    frame.to_parquet(tmp_path / "t.parquet")
    plan = ran(run("plan", "t.parquet", "--label-columns", "y")).out
    assert "vectors of 16 numbers, which count as one block" in plan
    ran(run("fit", "t.parquet", "--label-columns", "y", "--out", "m.skops"))
    assert "TableScaler(blocks=(1, 17)" in ran(run("info", "m.skops")).out
    ran(run("predict", "m.skops", "t.parquet", "--out", "p.csv"))
    predictions = pandas.read_csv(tmp_path / "p.csv")["y"]
    assert (predictions == y).mean() > 0.9
    ran(run("review", "t.parquet", "--label-columns", "y", "--out", "r.html"))
    assert TableScaler((1, 17), (1.0,)).fit(np.column_stack([frame["size"], X])).scale_[1:].std() == 0


@pytest.mark.parametrize("cell", [7, 0.5, "text"])
def test_a_column_of_vectors_has_no_other_cell(cell):
    assert vectors_of([[0.5, 1.0], cell]) is None
    assert len(vectors_of([[0.5, 1.0], None]).rows) == 2
