"""TableEncoder: the plan of a raw table as the first step of a pipeline."""

import pickle

import numpy as np
import pytest
from commands import assert_done, ran
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.metrics import average_precision_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nmlsdr import ResidualPropagation
from nmlsdr.model_file import ModelFileError, load_model, save_model
from nmlsdr.tables import TableEncoder, TableScaler

pandas = pytest.importorskip("pandas")


BY_NAME = {"check_dataframe_column_names_consistency": "columns of a data frame are found by name, in any order"}


@parametrize_with_checks(
    [TableEncoder(), TableEncoder(standardize=True)], expected_failed_checks=lambda estimator: BY_NAME
)
def test_scikit_learn_accepts_the_encoder(estimator, check):
    check(estimator)


@pytest.fixture
def frame(rng):
    n = 60
    return pandas.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "size": [f"{x:.2f}".replace(".", ",") if i % 9 else "k.A." for i, x in enumerate(rng.normal(size=n))],
            "age": np.where(np.arange(n) % 7 == 0, np.nan, rng.integers(20, 80, n)),
            "seen": pandas.to_datetime("2020-01-01") + pandas.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "ward": pandas.Categorical(["east", "west", None][i % 3] for i in range(n)),
            "smoker": np.arange(n) % 2 == 0,
            "code": np.arange(n) % 3,
        }
    )


def test_a_data_frame_of_every_kind_of_column_is_encoded(frame):
    encoder = TableEncoder(one_hot=["code"]).set_output(transform="pandas")
    features = encoder.fit_transform(frame)
    names = [
        "size",
        "age",
        "seen (year)",
        "seen (month)",
        "ward=east",
        "ward=west",
        "ward=(missing)",
        "smoker",
        "code=0",
        "code=1",
        "code=2",
    ]
    assert features.columns.tolist() == names
    assert np.isfinite(features.to_numpy()).all()
    assert features["age"][0] == frame["age"].median()
    assert features["code=2"].tolist() == [float(i % 3 == 2) for i in range(60)]
    pandas.testing.assert_frame_equal(encoder.transform(frame), features)
    new = frame.head(2).assign(ward=["north", "west"])
    with pytest.warns(UserWarning, match="'ward': 1 row has a level that the fit has not seen"):
        wards = encoder.transform(new)
    wards = wards[["ward=east", "ward=west", "ward=(missing)"]]
    assert wards.to_numpy().tolist() == [[0, 0, 0], [0, 1, 0]]


def test_columns_that_go_with_the_labels_are_left_out(frame, rng):
    y = np.full((60, 2), -1)
    y[::3] = rng.integers(0, 2, (20, 2))
    sure = np.where(np.arange(60) % 3 == 0, rng.random(60), np.nan)
    encoder = TableEncoder().fit(frame.assign(sure=sure), y)
    assert {column.name: column.kind for column in encoder.plan_.columns}["sure"] == "like the labels"
    assert "sure" in TableEncoder().fit(frame.assign(sure=sure)).get_feature_names_out()


def test_it_stands_first_in_a_pipeline_and_in_a_model_file(frame, rng, tmp_path):
    y = rng.integers(0, 2, (60, 2))
    model = make_pipeline(TableEncoder(), StandardScaler(), ResidualPropagation(n_estimators=0, n_neighbors=5))
    model.fit(frame, y)
    scores = model.predict_proba(frame)
    assert pickle.loads(pickle.dumps(model)).predict_proba(frame).tolist() == scores.tolist()
    assert clone(model).fit(frame, y).predict_proba(frame).tolist() == scores.tolist()
    save_model(tmp_path / "m.skops", model)
    np.testing.assert_allclose(load_model(tmp_path / "m.skops").predict_proba(frame), scores)


def test_errors_name_the_column_and_the_cell(frame):
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match=r"1 cell is not what the column holds: row 1, column 'size': 'big'"):
        encoder.transform(frame.assign(size=["1,5", "big", *frame["size"][2:]]))
    with pytest.raises(ValueError, match="There is no column 'wards'"):
        TableEncoder(drop=["wards"]).fit(frame)
    with pytest.raises(ValueError, match='impute must be "median" or "mean", got \'mode\''):
        TableEncoder(impute="mode").fit(frame)


def test_a_model_file_holds_the_encoder_and_names_it_in_place_of_scikit_learns(frame, tmp_path, run):
    wards = ["east" if i % 3 else "west" for i in range(60)]
    X = pandas.DataFrame({"age": frame["age"].fillna(50), "ward": wards})
    y = np.column_stack([X["age"] > X["age"].median(), X["ward"] == "east"]).astype(int)
    steps = ColumnTransformer([("ward", OneHotEncoder(), ["ward"])], remainder="passthrough", sparse_threshold=0)
    with pytest.raises(ModelFileError, match=r"ColumnTransf.* TableEncoder \(of nmlsdr.tables, for raw columns\)"):
        save_model(tmp_path / "m.skops", steps.fit(X))
    X.to_csv(tmp_path / "t.csv", index=False)
    model = make_pipeline(TableEncoder(), ResidualPropagation(n_estimators=0, n_neighbors=5)).fit(X, y)
    save_model(tmp_path / "m.skops", model, label_names=["a", "b"])
    assert_done(run("predict", "m.skops", "t.csv", "-o", "p.csv"))


# ---------------------------------------------------------------- cells with types of their own


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_beside_numbers_alone_become_year_and_month(library):
    frames = pytest.importorskip(library)
    days = np.array(["2020-01-01", "2021-05-02", "2022-07-09"], dtype="datetime64[us]")
    table = frames.DataFrame({"day": days, "x": [1.5, 2, 5]})
    features = TableEncoder().fit_transform(table)
    np.testing.assert_array_equal(features[:, 1:], [[1, 1.5], [5, 2], [7, 5]])
    np.testing.assert_array_equal(np.floor(features[:, 0]), [2020, 2021, 2022])


def test_a_missing_date_beside_whole_numbers_is_filled_in():
    table = pandas.DataFrame({"day": pandas.to_datetime(["2020-02-01", None, "2020-04-01"]), "x": [1, 2, 5]})
    np.testing.assert_array_equal(TableEncoder().fit_transform(table)[:, 1:], [[2, 1], [3, 2], [4, 5]])


@pytest.mark.parametrize("other_columns", [{}, {"people": [7 * (i % 30) for i in range(300)]}])
def test_a_category_on_which_every_other_column_depends_is_no_identifier(other_columns):
    table = pandas.DataFrame({"town": [f"town{i % 30}" for i in range(300)], **other_columns})
    assert TableEncoder().fit(table).plan_.columns[0].kind == "category"


def test_a_number_among_texts_is_read_as_itself_whatever_the_decimal_mark():
    cells = [1.125, -3.375, 1e-7, 1e22, 2.0, "4,5", "5,5", "6,25"]
    numbers = [1.125, -3.375, 1e-7, 1e22, 2.0, 4.5, 5.5, 6.25]
    encoder = TableEncoder()
    table = pandas.DataFrame({"x": pandas.Series(cells, dtype=object)})
    np.testing.assert_array_equal(encoder.fit_transform(table)[:, 0], numbers)
    np.testing.assert_array_equal(encoder.transform(pandas.DataFrame({"x": numbers}))[:, 0], numbers)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"missing": "n/a"}, r"missing must be a sequence of texts, got the text 'n/a'; write \['n/a'\]"),
        ({"drop": "ab"}, "drop must be a sequence"),
        ({"one_hot": "ab"}, "one_hot must be a sequence"),
        ({"decimal": ";"}, "decimal must be"),
        ({"thousands": "x"}, "thousands must be"),
        ({"decimal": ",", "thousands": ","}, "decimal and thousands are both ','"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        TableEncoder(**parameters).fit([["1,5", "a"], ["2,5", "b"]])


def test_infinity_among_texts_is_refused():
    with pytest.raises(ValueError, match="X contains infinity"):
        TableEncoder().fit(np.array([[1, "u"], [np.inf, "v"]], dtype=object))


def test_advice_in_python_names_the_parameter():
    encoder = TableEncoder().fit(np.array([["1"], ["2"], ["3"], ["5"]], dtype=object))
    with pytest.raises(ValueError, match=r"with missing=\['kA'\]\.$"):
        encoder.transform(np.array([["kA"]], dtype=object))


def test_a_table_of_dask_is_refused(frame):
    dask_frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    encoder = TableEncoder().fit(frame)
    for call in (encoder.transform, TableEncoder().fit, TableEncoder().fit_transform):
        with pytest.raises(ValueError, match=r"TableEncoder takes tables in memory, got one of Dask; pass X\.compute"):
            call(dask_frame)


def mixed_table(rng, n=160):
    """A text, a category and a number, and two labels that follow them."""
    words = [f"word{i}" for i in range(30)]
    table = pandas.DataFrame(
        {
            "note": [" ".join(rng.choice(words, 6)) for _ in range(n)],
            "ward": rng.choice(["east", "west", "north"], n),
            "size": rng.normal(20, 7, n),
        }
    )
    y = np.column_stack([table["note"].str.contains("word1"), table["size"] > 22]).astype(int)
    return table, pandas.DataFrame(y, columns=["flu", "cold"])


@pytest.mark.parametrize("columns", [["note", "ward", "size"], ["ward", "size"]])
def test_standardized_features_are_those_of_the_scaler_of_the_plan(columns, rng):
    table, y = mixed_table(rng)
    table = table[columns]
    raw = TableEncoder().fit(table, y)
    scaled = TableEncoder(standardize=True).fit(table, y)
    features = raw.transform(table)
    blocks, weights = raw.plan_.blocks
    assert bool(blocks) == ("note" in columns)
    scaler = TableScaler(blocks, weights) if blocks else StandardScaler()
    expected = scaler.fit_transform(features)
    for result in (scaled.transform(table), scaled.fit_transform(table, y)):
        assert (abs(result - expected)).max() == 0
    assert raw.scaler_ is None
    assert scaled.set_params(standardize=False).fit(table, y).scaler_ is None


def test_a_pipeline_with_standardized_texts_is_cross_validated_and_stored(rng, tmp_path):
    table, y = mixed_table(rng)
    model = make_pipeline(TableEncoder(standardize=True), ResidualPropagation(n_estimators=5, n_neighbors=5))
    scores = cross_val_score(model, table, y, cv=KFold(3), scoring="average_precision")
    for score, (train, test) in zip(scores, KFold(3).split(table), strict=True):
        encoder = TableEncoder().fit(table.iloc[train], y.iloc[train])
        scaler = TableScaler(*encoder.plan_.blocks)
        method = ResidualPropagation(n_estimators=5, n_neighbors=5)
        method.fit(scaler.fit_transform(encoder.transform(table.iloc[train])), y.iloc[train])
        ranking = method.decision_function(scaler.transform(encoder.transform(table.iloc[test])))
        assert score == pytest.approx(average_precision_score(y.iloc[test], ranking), abs=1e-9)
    save_model(tmp_path / "m.skops", model.fit(table, y))
    back = load_model(tmp_path / "m.skops")
    assert (back.predict_proba(table) == model.predict_proba(table)).all()
    model[0].scaler_ = StandardScaler().fit(table[["size"]])
    with pytest.raises(ModelFileError, match=r"TableEncoder\.scaler_ is no scaler of \d+ features"):
        save_model(tmp_path / "m.skops", model)


def test_the_pipeline_and_the_command_predict_the_same(rng, tmp_path, run):
    table, y = mixed_table(rng, 220)
    old = table[:160]
    new = table[160:]
    pandas.concat([old, y[:160]], axis=1).to_csv("old.csv", index=False)
    new.to_csv("new.csv", index=False)
    ran(run("fit", "old.csv", "--label-columns", "flu,cold", "--out", "command.skops"))
    model = make_pipeline(TableEncoder(standardize=True), ResidualPropagation()).fit(old, y[:160])
    save_model("python.skops", model)
    expected = model.predict_proba(new)
    for name in ("command.skops", "python.skops"):
        ran(run("predict", name, "new.csv", "--probabilities", "--out", "out.csv"))
        probabilities = pandas.read_csv("out.csv")[["probability:flu", "probability:cold"]].to_numpy()
        np.testing.assert_allclose(probabilities, expected, atol=1e-6, err_msg=name)


def test_a_fit_needs_no_frame_of_its_features(rng):
    pandas = pytest.importorskip("pandas")
    words = ["red", "green", "blue", "cat", "dog", "fox", "runs", "sleeps", "eats"]
    table = pandas.DataFrame({"note": [" ".join(rng.choice(words, 6)) for _ in range(60)]})
    encoder = TableEncoder().set_output(transform="pandas").fit(table)
    assert encoder.plan_ == TableEncoder().fit(table).plan_
    with pytest.raises(ValueError, match="sparse"):
        encoder.transform(table)


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_a_doubt_of_a_fit_is_said_of_the_line_that_calls_it(method):
    table = np.array([["1"], ["2"], ["unk"]] * 10, dtype=object)
    with pytest.warns(UserWarning, match="misread") as warned:
        getattr(TableEncoder(), method)(table)
    assert [warning.filename for warning in warned] == [__file__]


def test_a_doubt_of_a_transform_is_said_of_the_line_that_calls_it():
    encoder = TableEncoder().fit(np.array([*"abbb"] * 25, dtype=object)[:, None])
    with pytest.warns(UserWarning, match="'a' in 90% of the cells") as warned:
        encoder.transform(np.array([*"aaaaaaaaab"] * 10, dtype=object)[:, None])
    assert [warning.filename for warning in warned] == [__file__]
