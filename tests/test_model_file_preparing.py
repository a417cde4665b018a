"""Model files of what prepares a table (imputers, encoders, columns, scalers): the same bits, and no forgery."""

import json
import re

import numpy as np
import pytest
from model_files import assert_same, attribute, forge, part, plain
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

import nmlsdr
from nmlsdr._model.reading import open_model
from nmlsdr.model_file import ModelFileError, load_model, save_model

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


def columns(**options):
    return ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median"), [0, 1, 3, 4]),
            ("categories", OneHotEncoder(handle_unknown="ignore"), [2, 5]),
        ],
        **options,
    )


def encode(X):
    return OneHotEncoder(handle_unknown="ignore").fit(X)


SCALERS = {
    "MinMaxScaler": MinMaxScaler,
    "MinMaxScaler, other range": lambda: MinMaxScaler((-1, 2.5), clip=True),
    "RobustScaler": RobustScaler,
    "RobustScaler, plain": lambda: RobustScaler(with_centering=False, with_scaling=False),
    "RobustScaler, other quantiles": lambda: RobustScaler(quantile_range=(10.0, 80.0), unit_variance=True),
    "TfidfTransformer": TfidfTransformer,
    "TfidfTransformer, plain": lambda: TfidfTransformer(norm=None, use_idf=False, sublinear_tf=True),
}


def kept(tmp_path, fitted):
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
    back = kept(tmp_path, fitted)
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
    back = kept(tmp_path, fitted)
    assert list(map(known, fitted.statistics_)) == list(map(known, back.statistics_))
    assert_same(fitted.transform(X[:9]), back.transform(X[:9]))
    assert np.isnan(back.missing_values)
    assert back.statistics_.dtype == fitted.statistics_.dtype


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
@pytest.mark.parametrize("sparse_output", [False, True])
@pytest.mark.parametrize("kind", ["objects", "characters", "numbers", "flags", "numbers as objects"])
def test_encoders_survive_a_round_trip_to_the_last_bit(tmp_path, rng, drop, sparse_output, kind):
    codes = np.column_stack([np.arange(40) % 3, np.arange(40) % 2])
    X = {"objects": WARDS[codes], "characters": WARDS[codes].astype(str), "numbers": codes, "flags": codes > 0}
    X = {**X, "numbers as objects": codes.astype(object)}[kind]
    fitted = OneHotEncoder(drop=drop, sparse_output=sparse_output, handle_unknown="ignore").fit(X)
    back = kept(tmp_path, fitted)
    assert_same(fitted, back)
    assert_same(fitted.transform(X[:9]), back.transform(X[:9]))
    assert list(fitted.get_feature_names_out()) == list(back.get_feature_names_out())


@pytest.mark.parametrize("sparse_threshold", [0, 1.0])
@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
def test_column_transformers_survive_a_round_trip_to_the_last_bit(tmp_path, mixed, sparse_threshold, remainder):
    X, _ = mixed
    extra = np.column_stack([X, np.arange(40.0)]).astype(object)
    fitted = columns(sparse_threshold=sparse_threshold, remainder=remainder).fit(extra)
    back = kept(tmp_path, fitted)
    new = extra[:9].copy()
    new[0, 2] = "never seen"
    assert_same(fitted.transform(new), back.transform(new))
    assert list(fitted.get_feature_names_out()) == list(back.get_feature_names_out())
    assert fitted.output_indices_ == back.output_indices_
    again = kept(tmp_path, back)
    assert_same(back.transform(new), again.transform(new))


@pytest.mark.parametrize("chosen", [[2, 1], [True, False, True, False], [-1, 0], np.array([2]), []])
def test_columns_are_kept_by_number(tmp_path, rng, chosen):
    X = rng.normal(size=(20, 4))
    fitted = ColumnTransformer([("a", StandardScaler(), chosen), ("b", "passthrough", [1]), ("c", "drop", [0])]).fit(X)
    back = kept(tmp_path, fitted)
    assert_same(fitted.transform(X), back.transform(X))


@pytest.mark.parametrize("chosen", [slice(2), lambda X: [0, 3]])
def test_columns_of_other_kinds_are_kept_by_number(tmp_path, rng, chosen):
    X = rng.normal(size=(20, 4))
    fitted = ColumnTransformer([("a", StandardScaler(), chosen)], remainder="passthrough").fit(X)
    np.testing.assert_array_equal(kept(tmp_path, fitted).transform(X), fitted.transform(X))


def test_columns_by_name_follow_their_names(tmp_path, mixed):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(mixed[0], columns=list("abcdef"))
    fitted = ColumnTransformer(
        [("n", SimpleImputer(), list("abde")), ("c", OneHotEncoder(), ["c", "f"])], remainder="passthrough"
    ).fit(frame)
    back = kept(tmp_path, fitted)
    turned = frame[list("fedcba")].assign(more=1.0)
    assert_same(fitted.transform(turned), back.transform(turned))


def test_a_pipeline_from_raw_rows_predicts_the_same(tmp_path, mixed):
    X, Y = mixed
    model = make_pipeline(columns(sparse_threshold=0), StandardScaler(), nmlsdr.ResidualPropagation(2, n_neighbors=5))
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
        (lambda X: OneHotEncoder(min_frequency=2).fit(X[:, 2:3]), r"min_frequency=2\) cannot be used: it must be None"),
        (lambda X: OneHotEncoder(dtype=np.float32).fit(X[:, 2:3]), r"OneHotEncoder\(dtype=...\) holds a type"),
        (lambda X: OneHotEncoder(categories=[list("abc")]).fit([["a"]]), r"OneHotEncoder\(categories=...\) holds a"),
        (lambda X: OneHotEncoder().fit([[1.0], [np.nan]]), r"not in increasing order \(NaN has none"),
        (lambda X: SimpleImputer(strategy="most_frequent").fit(np.array([[1, "a"]], object)), "neither all numbers"),
        (lambda X: ColumnTransformer([("a", FunctionTransformer(abs), [0])]).fit(np.ones((1, 1))), "FunctionT"),
        (lambda X: columns(transformer_weights={"numbers": 2.0}).fit(X), "transformer_weights"),
        (lambda X: columns(remainder=StandardScaler()).fit(X), "remainder"),
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
    "MinMaxScaler": lambda X: MinMaxScaler().fit(X[:, :2].astype(float)),
    "RobustScaler": lambda X: RobustScaler().fit(X[:, :2].astype(float)),
    "TfidfTransformer": lambda X: TfidfTransformer().fit(sparse.csr_array(np.eye(3))),
    "SimpleImputer": lambda X: SimpleImputer().fit(X[:, :2]),
    "imputer of text": lambda X: SimpleImputer(strategy="most_frequent").fit(X[:, [2, 5]]),
    "OneHotEncoder": lambda X: OneHotEncoder().fit(X[:, [2, 5]]),
    "OneHotEncoder of numbers": lambda X: OneHotEncoder().fit([[1.0], [2.0]]),
}
REFUSED = "is damaged|is refused"
FORGERIES = [
    ("MinMaxScaler", attribute("scale_", put(np.nan)), "scale_ holds a value that is not finite"),
    ("MinMaxScaler", attribute("min_", put(np.inf)), "min_ holds a value that is not finite"),
    ("MinMaxScaler", attribute("min_", lambda a: a[:1]), "MinMaxScaler.min_ has shape"),
    ("MinMaxScaler", attribute("scale_", put(-1.0)), "scale_ holds -1.0"),
    ("MinMaxScaler", attribute("feature_range", [1, 0]), "feature_range"),
    ("MinMaxScaler", attribute("feature_range", [0, "1"]), "feature_range"),
    ("MinMaxScaler", attribute("clip", "yes"), REFUSED),
    ("RobustScaler", attribute("center_", put(np.nan)), "center_ holds a value that is not finite"),
    ("RobustScaler", attribute("scale_", put(0.0)), "scale_ holds 0.0"),
    ("RobustScaler", attribute("center_", lambda a: None), REFUSED),
    ("RobustScaler", attribute("scale_", lambda a: a.astype(str)), REFUSED),
    ("TfidfTransformer", attribute("idf_", put(np.nan)), "idf_ holds a value that is not finite"),
    ("TfidfTransformer", attribute("idf_", put(-1.0)), "idf_ holds -1.0"),
    ("TfidfTransformer", attribute("idf_", lambda a: a[:2]), "idf_ has shape"),
    ("TfidfTransformer", attribute("idf_", lambda a: None), REFUSED),
    ("TfidfTransformer", attribute("norm", "max"), "norm"),
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
    ("OneHotEncoder", attribute("categories_", lambda a: a[::-1]), "are not in increasing order"),
    ("OneHotEncoder", attribute("categories_", lambda a: a[[0, 0]]), "are not in increasing order"),
    ("OneHotEncoder", attribute("categories_", lambda a: a[:0]), "not in increasing order"),
    ("OneHotEncoder", attribute("categories_", lambda a: a[None]), REFUSED),
    ("OneHotEncoder", attribute("categories_", lambda a: np.arange(4) > 1), REFUSED),
    ("OneHotEncoder", lambda s, a: part(s, "model", "categories_")["content"].pop(), "categories_ has shape"),
    ("OneHotEncoder", attribute("drop", "last"), "drop"),
    ("OneHotEncoder", attribute("dtype", "float64"), REFUSED),
    ("OneHotEncoder", attribute("dtype", None), REFUSED),
    ("OneHotEncoder", attribute("categories", "all"), "categories='all'"),
    ("OneHotEncoder", attribute("max_categories", 3), REFUSED),
    ("OneHotEncoder", attribute("feature_name_combiner", "eval"), "feature_name_combiner"),
    ("OneHotEncoder of numbers", attribute("categories_", put(np.nan)), "not in increasing order"),
    ("OneHotEncoder of numbers", attribute("categories_", lambda a: a.astype(">f8")), REFUSED),
]  # fmt: skip


def assert_forgery_is_refused(path, change, message):
    forge(path, change)
    with pytest.raises(ModelFileError, match=message) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(("name", "change", "message"), FORGERIES)
def test_values_that_no_fit_produces_are_refused(tmp_path, mixed, name, change, message):
    save_model(tmp_path / "m.skops", MAKE[name](mixed[0]))
    assert_forgery_is_refused(tmp_path / "m.skops", change, message)


def first(position, value):
    """Change name (0), node (1) or columns (2) of the first transformer."""

    def forger(schema, arrays):
        part(schema, "model", "transformers", 0)["content"][position] = (
            value if isinstance(value, dict) else plain(value)
        )

    return forger


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (first(0, "categories"), REFUSED),
        (first(0, "remainder"), REFUSED),
        (first(0, "a__b"), REFUSED),
        (first(0, 3), REFUSED),
        (first(1, "eval"), REFUSED),
        (first(1, None), REFUSED),
        (first(2, [0, 1, 3]), REFUSED),
        (first(2, [0, 1, 3, 6]), REFUSED),
        (first(2, "abcd"), REFUSED),
        (attribute("sparse_output_", 1), "sparse_output_ cannot be this value"),
        (attribute("n_features_in_", 10**12), "n_features_in_ is 1000000000000"),
        (attribute("n_features_in_", 5), REFUSED),
        (attribute("transformers", 1), REFUSED),
        (attribute("remainder", "keep"), "remainder='keep'"),
        (attribute("sparse_threshold", 2), "sparse_threshold"),
        (attribute("transformer_weights", 2), "transformer_weights=2"),
    ],
)
def test_columns_that_no_fit_produces_are_refused(tmp_path, mixed, change, message):
    save_model(tmp_path / "m.skops", columns().fit(mixed[0]))
    assert_forgery_is_refused(tmp_path / "m.skops", change, message)


def test_a_classifier_prepares_nothing(tmp_path, mixed, rng):
    X, Y = mixed
    save_model(tmp_path / "k.skops", nmlsdr.MLkNN(3).fit(rng.normal(size=(40, 4)), Y))
    save_model(tmp_path / "m.skops", columns().fit(X))
    other = {}
    forge(tmp_path / "k.skops", lambda schema, arrays: other.update(arrays, node=part(schema, "model")))
    node = json.dumps(other.pop("node"))

    def change(schema, arrays):
        taken = part(schema, "model", "transformers", 0)["content"][1]
        for name in re.findall(r"\d+\.npy", json.dumps(taken)):
            del arrays[name]
        used = {name: other[name] for name in re.findall(r"\d+\.npy", node)}
        arrays.update({f"9{name}": array for name, array in used.items()})
        renumbered = re.sub(r'"__id__": ', '"__id__": 9', node)
        part(schema, "model", "transformers", 0)["content"][1] = json.loads(
            re.sub(r'"(\d+\.npy)"', r'"9\1"', renumbered)
        )

    assert_forgery_is_refused(tmp_path / "m.skops", change, REFUSED)


def test_steps_that_do_not_follow_are_refused(tmp_path, mixed):
    """The width of what a ColumnTransformer gives is known: categories count."""
    X, _ = mixed
    save_model(tmp_path / "m.skops", make_pipeline(columns(sparse_threshold=0), StandardScaler()).fit(X))
    fewer = attribute("categories_", lambda array: array[:-1], "steps", 0, 1, "transformers", 1, 1)
    assert_forgery_is_refused(tmp_path / "m.skops", fewer, r"9 features.* 10 features|refused")
