"""Model files of what prepares a table (imputers, scalers, TableEncoder): the same bits, and no forgery."""

import dataclasses
import json

import numpy as np
import pytest
import skops.io
from model_files import assert_forgery_is_refused, assert_same, attribute
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, OneHotEncoder, StandardScaler

import nmlsdr
from nmlsdr._errors import InputError
from nmlsdr._model.reading import open_model
from nmlsdr.model_file import TRUSTED_TYPES, ModelFileError, load_model, save_model
from nmlsdr.tables import TableEncoder
from nmlsdr.tables._plan import Column, Plan

WARDS = np.array(["east", "", "Süd", "west"], dtype=object)


@pytest.fixture
def rows(rng):
    """Numbers with holes, one column with none."""
    X = rng.normal(size=(40, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.fixture
def mixed(rng, rows):
    """Numbers with holes and two columns of text, as objects, and labels."""
    texts = np.column_stack([WARDS[rng.integers(4, size=40)], WARDS[rng.integers(2, size=40)]])
    Y = (rng.random((40, 3)) < 0.4).astype(int)
    Y[::4] = -1
    return np.column_stack([rows[:, :2], texts[:, :1], rows[:, 2:], texts[:, 1:]]).astype(object), Y


SCALERS = {"StandardScaler": StandardScaler, "MaxAbsScaler": MaxAbsScaler, "Normalizer": Normalizer}


def stored_pipeline(tmp_path, fitted):
    save_model(tmp_path / "m.skops", fitted)
    return load_model(tmp_path / "m.skops")


def known(value):
    """The value, None if it is NaN."""
    return value if value == value else None


@pytest.mark.parametrize("name", SCALERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scalers_survive_a_round_trip_to_the_last_bit(tmp_path, rng, name, dtype):
    X = np.abs(rng.normal(size=(30, 4))).astype(dtype)
    fitted = SCALERS[name]().fit(X)
    back = stored_pipeline(tmp_path, fitted)
    assert_same(fitted, back)
    assert_same(fitted.transform(X[:7]), back.transform(X[:7]))


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
@pytest.mark.filterwarnings("ignore:Skipping features")
def test_imputers_survive_a_round_trip_to_the_last_bit(tmp_path, rows, strategy, empty, dtype):
    rows[:, 1] = np.nan
    X = rows.astype(dtype)
    if dtype is object and strategy in ("most_frequent", "constant"):
        X = np.column_stack([WARDS[np.arange(40) % 4], WARDS[np.arange(40) % 3]])
        X[::5] = np.nan
    fitted = SimpleImputer(strategy=strategy, keep_empty_features=empty).fit(X)
    back = stored_pipeline(tmp_path, fitted)
    assert list(map(known, fitted.statistics_)) == list(map(known, back.statistics_))
    assert_same(fitted.transform(X[:9]), back.transform(X[:9]))
    assert np.isnan(back.missing_values)
    assert back.statistics_.dtype == fitted.statistics_.dtype


def test_a_pipeline_from_raw_rows_predicts_the_same(tmp_path, mixed):
    X, Y = mixed
    model = make_pipeline(TableEncoder(), StandardScaler(), nmlsdr.ResidualPropagation(2, n_neighbors=5))
    fitted = model.fit(X, Y)
    save_model(tmp_path / "m.skops", fitted, feature_names=list("abcdef"))
    back = open_model(tmp_path / "m.skops").estimator
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        assert_same(getattr(fitted, method)(X[:20]), getattr(back, method)(X[:20]), method)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda X: SimpleImputer(add_indicator=True).fit(X[:, :2]),
            r"add_indicator=True\) cannot be used: it must be False",
        ),
        (lambda X: OneHotEncoder().fit(X[:, 2:3]), "it is a OneHotEncoder, and a model file holds only Pipeline, "),
        (lambda X: SimpleImputer(strategy="most_frequent").fit(np.array([[1, "a"]], object)), "neither all numbers"),
    ],
)
def test_attributes_that_are_not_data_are_not_written(tmp_path, mixed, make, message):
    with pytest.raises(ModelFileError, match=message):
        save_model(tmp_path / "m.skops", make(mixed[0]))
    assert not (tmp_path / "m.skops").exists()


# ---------------------------------------------------------------------------------------------------------- forgeries


def put(value):
    def change(array):
        array = array.copy()
        array.flat[0] = value
        return array

    return change


MAKE = {
    "SimpleImputer": lambda X: SimpleImputer().fit(X[:, :2]),
    "imputer of text": lambda X: SimpleImputer(strategy="most_frequent").fit(X[:, [2, 5]]),
}
REFUSED = "is damaged|is refused"
FORGERIES = [
    ("SimpleImputer", attribute("statistics_", put(np.inf)), "statistics_ holds a value that is not finite"),
    ("SimpleImputer", attribute("statistics_", lambda a: a[:1]), "statistics_ has shape"),
    ("SimpleImputer", attribute("statistics_", lambda a: a[None]), "must be one list"),
    ("SimpleImputer", attribute("statistics_", lambda a: a.astype(int)), "must be one list of numbers or text"),
    ("SimpleImputer", attribute("statistics_", lambda a: a.astype(str)), "must be one list of numbers or text"),
    ("SimpleImputer", attribute("strategy", "os.system"), "strategy"),
    ("SimpleImputer", attribute("missing_values", [1]), "no number or text"),
    ("SimpleImputer", attribute("add_indicator", True), "add_indicator=True"),
    ("SimpleImputer", attribute("callback", 1), "does not know"),
    ("imputer of text", attribute("strategy", "mean"), REFUSED),
]


@pytest.mark.parametrize(("name", "change", "message"), FORGERIES)
def test_values_that_no_fit_produces_are_refused(tmp_path, mixed, name, change, message):
    save_model(tmp_path / "m.skops", MAKE[name](mixed[0]))
    assert_forgery_is_refused(tmp_path / "m.skops", change, message)


def test_steps_that_do_not_follow_are_refused(tmp_path, mixed):
    """The width of what a TableEncoder gives is known: levels count."""
    save_model(tmp_path / "m.skops", make_pipeline(TableEncoder(), StandardScaler()).fit(mixed[0]))
    added_level = attribute("plan_", lambda text: text.replace('"süd": "Süd"', '"süd": "Süd", "x": "x"'), "steps", 0, 1)
    assert_forgery_is_refused(tmp_path / "m.skops", added_level, "X has 10 features, .* expecting 9 features")


# ----------------------------------------------------------------------------------------------------- forged plans


PLAN = Plan(
    (
        Column("age", "number", fill=(40.0,)),
        Column("seen", "date", month_first=True, fill=(2020.0, 5.0)),
        Column("smoker", "yes/no", levels={"yes": "1", "no": "0"}, fill=(0.0,)),
        Column("ward", "category", "2 levels", levels={"east": "East", "west": "West"}, has_missing=True),
        Column("note", "words", words=("ache", "cough"), idf=(2.5, 1.5)),
        Column("id", "identifier"),
    ),
    ("", "n/a"),
    labels={"label_list": "tags", "separator": ";", "no_label": "none"},
)
WRONG = [None, True, 0, 10**9, 10**400, 0.5, float("nan"), "x", "\ud800", [], {}, ["a"], [1], {"a": 1}, {"a": "b"}]


def test_a_plan_survives_a_round_trip():
    assert Plan.from_json(PLAN.to_json()) == PLAN
    for labels in ({}, {"label_columns": ["a"]}, {"annotators": ["a", "b"], "separator": ",", "no_label": ""}):
        assert Plan.from_json(dataclasses.replace(PLAN, labels=labels).to_json()).labels == labels


def assert_no_plan(plan, message):
    with pytest.raises(InputError, match=f"no plan of a table .*{message}"):
        Plan.from_json(json.dumps(plan))


def types_in(value):
    """The type of a value and of what it holds."""
    parts = [part for pair in value.items() for part in pair] if isinstance(value, dict) else value
    return type(value), {type(part) for part in parts} if isinstance(value, dict | tuple) else set()


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_a_plan_takes_no_value_of_another_type(value):
    """Whatever the fields of a plan and of a column are, as fields are added, their types decide."""
    n_refused = 0
    full = {"fill": (1.0,), "factors": {"kg": 1.0}, "marks": ("<",)}
    for kind, right in ((Plan, PLAN), (Column, dataclasses.replace(PLAN.columns[3], **full))):
        for field in dataclasses.fields(kind):
            plan = json.loads(PLAN.to_json())
            record = plan if kind is Plan else plan["columns"][3]
            record[field.name] = value
            try:
                plan_read = Plan.from_json(json.dumps(plan))
            except InputError as error:
                assert "no plan of a table" in str(error)  # noqa: PT017
                n_refused += 1
                continue
            outer, inner = types_in(getattr(plan_read if kind is Plan else plan_read.columns[3], field.name))
            right_outer, right_inner = types_in(getattr(right, field.name))
            assert outer is right_outer, field.name
            assert inner <= right_inner, field.name
    assert n_refused > 6


@pytest.mark.parametrize(
    ("column", "changes", "message"),
    [
        (0, {"kind": "eval"}, "impossible values of the column 'age'"),
        (0, {"fill": [1.0, 2.0]}, "impossible values of the column 'age'"),
        (1, {"fill": [1.0]}, "impossible values of the column 'seen'"),
        (3, {"fill": [1.0]}, "impossible values of the column 'ward'"),
        (5, {"fill": [1.0]}, "impossible values of the column 'id'"),
        (0, {"fill": [float("nan")]}, "impossible values"),
        (0, {"fill": [1e170]}, "impossible values"),
        (0, {"decimal": ",", "thousands": ","}, "impossible values"),
        (2, {"levels": {"yes": "2"}}, "impossible values of the column 'smoker'"),
        (3, {"levels": {}, "has_missing": False}, "impossible values of the column 'ward'"),
        (4, {"words": [], "idf": []}, "impossible values of the column 'note'"),
        (4, {"words": ["ache"]}, "impossible values of the column 'note'"),
        (4, {"words": ["cough", "ache"]}, "impossible values of the column 'note'"),
        (4, {"words": ["ache", "ache"]}, "impossible values of the column 'note'"),
        (4, {"idf": [2.5]}, "impossible values of the column 'note'"),
        (4, {"idf": [2.5, float("nan")]}, "impossible values of the column 'note'"),
        (4, {"idf": [2.5, 0.5]}, "impossible values of the column 'note'"),
        (4, {"kind": "category"}, "impossible values of the column 'note'"),
        (5, {"is_identifier": True}, "impossible values of the column 'id'"),
        (4, {"name": "ward"}, "two columns of one name"),
        (4, {"weight": 1}, "the unknown key 'weight'"),
        (4, {"name": None}, "None is no str"),
    ],
)
def test_values_that_no_plan_has_are_refused(column, changes, message):
    plan = json.loads(PLAN.to_json())
    stored_column = plan["columns"][column]
    record = (
        stored_column
        if isinstance(stored_column, dict)
        else {"name": stored_column[0], "kind": "number", "fill": stored_column[1:]}
    )
    plan["columns"][column] = {**record, **changes}
    assert_no_plan(plan, message)


@pytest.mark.parametrize(
    "labels",
    [
        *({"label_columns": ["a"], name: "x"} for name in ("out", "mask", "label_file", "separator")),
        {"label_list": "a"},
        {"label_list": "a", "separator": ";"},
        {"label_list": "a", "annotators": ["a"], "separator": ";", "no_label": ""},
        {"separator": ";", "no_label": ""},
        {"label_columns": "a"},
        {"label_columns": [1]},
        {"label_list": ["a"], "separator": ";", "no_label": ""},
        {"annotators": "a", "separator": ";", "no_label": ""},
        {"label_list": "a", "separator": None, "no_label": ""},
        {"label_list": "a", "separator": ";", "no_label": 10**9},
        {"label_list": "\ud800", "separator": ";", "no_label": ""},
    ],
    ids=str,
)
def test_of_labels_a_plan_holds_what_a_fit_writes(labels):
    """Each of these would be set as an option of the command that uses the model."""
    assert_no_plan({**json.loads(PLAN.to_json()), "labels": labels}, "")


def test_a_forged_plan_is_refused_at_once_and_is_not_written(tmp_path):
    """It named a file to write, and some kilobytes asked for 8 GB."""
    frame = pytest.importorskip("pandas").DataFrame({"a": np.arange(30) * 0.5, "wood": ["oak", "ash", ""] * 10})
    encoder = TableEncoder().fit(frame)
    save_model(tmp_path / "m.skops", encoder)
    for old, new in (('"has_missing": true', '"has_missing": 1000000000'), ('"labels": {}', '"labels": {"out": "x"}')):
        save_model(tmp_path / "m.skops", encoder)
        change = attribute("plan_", lambda text, old=old, new=new: text.replace(old, new))
        assert_forgery_is_refused(tmp_path / "m.skops", change, "no plan of a table")
    encoder.plan_ = dataclasses.replace(encoder.plan_, labels={"label_columns": ["p"], "out": "x"})
    with pytest.raises(ModelFileError, match="'out'"):
        save_model(tmp_path / "no.skops", encoder)
    assert not (tmp_path / "no.skops").exists()


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "[]", '"columns"', "1e5", '{"columns": [[]]}', "{}"])
def test_a_text_that_is_no_plan_is_refused(text):
    with pytest.raises(InputError, match="no plan of a table"):
        Plan.from_json(text)


def test_skops_alone_reads_an_encoder_of_every_kind_of_column_if_it_trusts_the_list_of_types():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {
            "age": [31, 44, np.nan, 52] * 5,
            "weight": ["71 kg", "80.5 kg", "", "64 kg"] * 5,
            "seen": pd.to_datetime(["2020-01-01", "2020-03-01", "2021-02-03", None] * 5),
            "smoker": ["yes", "no", "", "yes"] * 5,
            "ward": ["east", "west", "south", "east"] * 5,
            "codes": ["a;b", "b", "c;a", ""] * 5,
            "fixed": [1] * 20,
        }
    )
    fitted = TableEncoder().fit(table)
    written = skops.io.dumps(fitted)
    assert {*skops.io.get_untrusted_types(data=written)} <= {*TRUSTED_TYPES}
    back = skops.io.loads(written, trusted=TRUSTED_TYPES)
    np.testing.assert_array_equal(back.transform(table), fitted.transform(table))
