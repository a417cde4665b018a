"""Columns of new rows are found by name: in the encoder, and in a model that a command wrote."""

import numpy as np
import pytest
from commands import ran, write_csv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr.model_file import load_model
from nmlsdr.tables import TableEncoder

pandas = pytest.importorskip("pandas")


@pytest.fixture
def frame(rng):
    n = 80
    return pandas.DataFrame(
        {
            "note": ["x"] * n,
            "size": rng.normal(size=n).round(3),
            "patient": [f"P{i:03d}" for i in range(n)],
            "ward": [["east", "west", "north"][i % 3] for i in range(n)],
            "comment": [f"free text {i}" for i in range(n)],
            "age": rng.integers(20, 80, n),
        }
    )


def test_new_rows_need_only_the_columns_that_become_features_in_any_order(frame):
    encoder = TableEncoder(drop=["comment"]).fit(frame)
    assert [*encoder.feature_names_in_] == [*frame]
    expected = encoder.transform(frame)
    forms = [
        frame[[*frame][::-1]],
        frame[["age", "ward", "size"]],
        frame.assign(more=1.0),
        frame[["ward", "size", "age"]].assign(more="text"),
    ]
    if polars := pytest.importorskip("polars"):
        forms.append(polars.from_pandas(frame[["age", "ward", "size"]]))
    for form in forms:
        np.testing.assert_array_equal(encoder.transform(form), expected)
    with pytest.raises(ValueError, match="X lacks 1 column of the 3 that the fit used: 'ward'; pass a table"):
        encoder.transform(frame[["age", "size"]])
    with pytest.raises(ValueError, match="X has 2 columns called 'age'"):
        encoder.transform(pandas.concat([frame, frame[["age"]]], axis=1))
    with pytest.warns(UserWarning, match="does not have valid feature names"):  # then all, in their order
        np.testing.assert_array_equal(encoder.transform(frame.to_numpy()), expected)
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 6"),
    ):
        encoder.transform(frame[["age", "ward", "size"]].to_numpy())
    pipeline = make_pipeline(TableEncoder(drop=["comment"]), StandardScaler()).fit(frame)
    np.testing.assert_array_equal(pipeline.transform(forms[1]), pipeline.transform(frame))


@pytest.mark.parametrize("fit_options", [[], ["--id", "patient"]])
def test_the_model_of_a_command_takes_a_data_frame_in_any_order(run, tmp_path, frame, fit_options):
    y = (frame["size"] > 0).astype(int)
    table = frame.assign(flu=y)[["flu", *frame]]
    write_csv(tmp_path / "t.csv", [*table], table.to_numpy().tolist())
    ran(run("fit", "t.csv", "--label-columns", "flu", "--drop", "comment", *fit_options, "--out", "m.skops", "-q"))
    ran(run("predict", "m.skops", "t.csv", "--probabilities", "--out", "p.csv", "-q"))
    model = load_model(tmp_path / "m.skops")
    assert [*model.feature_names_in_] == [*frame]  # in the order of the file
    predicted = pandas.read_csv(tmp_path / "p.csv")
    for form in (table, frame, frame[["age", "size", "ward"]], frame[[*frame][::-1]]):
        np.testing.assert_array_equal(model.predict(form)[:, 0], predicted["flu"])
        np.testing.assert_allclose(model.predict_proba(form)[:, 0], predicted["probability:flu"], rtol=1e-12)
