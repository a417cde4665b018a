"""The label rule: whatever form of y people have, every estimator reads it with the same meaning."""

import re

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, make
from label_cases import (
    ALL,
    CLASSES,
    CODES,
    NAMES,
    PARTLY,
    ROWS,
    SETS,
    X,
    Y,
    frame,
    in_words,
    outcome,
    polars_frame,
    propagates,
    unlabelled,
    with_unknown,
)
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

import nmlsdr
from nmlsdr import InputError
from nmlsdr._checks.labels import check_labels

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def arrow_columns(known):
    return {name: pa.array(column) for name, column in zip(NAMES, with_unknown(known, None).T.tolist(), strict=True)}


STRINGS = getattr(np.dtypes, "StringDType", lambda na_object: object)  # from NumPy 2
CLASS_LIST = unlabelled(CLASSES[CODES].tolist())
# name: (y, known entries, whether y has names); further arguments of fit stand last
COLUMNS = {
    "int array": (Y, ALL, False),
    "bool array": (Y == 1, ALL, False),
    "rows of -1": (with_unknown(ROWS, -1, int), ROWS, False),
    "int8, entries of -1": (with_unknown(PARTLY, -1, np.int8), PARTLY, False),
    "float array, NaN": (with_unknown(PARTLY, np.nan, float), PARTLY, False),
    "float32 array, NaN rows": (with_unknown(ROWS, np.nan, np.float32), ROWS, False),
    "object array, None": (with_unknown(PARTLY, None), PARTLY, False),
    "list of lists": (Y.tolist(), ALL, False),
    "list of lists, None": (with_unknown(PARTLY, None).tolist(), PARTLY, False),
    "list of tuples": ([tuple(row) for row in Y.tolist()], ALL, False),
    "list of arrays": ([*Y], ALL, False),
    "frame of int64": (frame("int64"), ALL, True),
    "frame of float64, NaN": (frame("float64", PARTLY, np.nan), PARTLY, True),
    "frame of bool": (frame("bool"), ALL, True),
    "frame of Int64, NA": (frame("Int64", PARTLY, pd.NA), PARTLY, True),
    "frame of Float64, NA": (frame("Float64", PARTLY, pd.NA), PARTLY, True),
    "frame of boolean, NA": (frame("boolean", PARTLY, pd.NA), PARTLY, True),
    "frame of objects, None": (frame("object", PARTLY, None), PARTLY, True),
    "frame of categories, NaN": (frame("category", PARTLY, np.nan), PARTLY, True),
    "frame of string, NA": (frame("Int64", PARTLY, pd.NA).astype("string"), PARTLY, True),
    "frame of several types": (frame("object").astype({"cough": bool, "fever": "Int64", "rash": float}), ALL, True),
    "polars frame, null": (polars_frame(pl.Int64), PARTLY, True),
    "polars frame of Boolean, null": (polars_frame(pl.Boolean), PARTLY, True),
    "pyarrow table, null": (pa.table(arrow_columns(PARTLY)), PARTLY, True),
    "pyarrow record batch": (pa.table(arrow_columns(ALL)).to_batches()[0], ALL, True),
    "masked array": (np.ma.masked_array(Y, ~PARTLY), PARTLY, False),
    "array of yes and no": (in_words(ALL, "yes", "No"), ALL, False),
    "frame of ja and nein, None": (pd.DataFrame(in_words(PARTLY, "ja", "nein", None), columns=NAMES), PARTLY, True),
    "frame of string, empty": (
        pd.DataFrame(in_words(PARTLY, "TRUE", "false", ""), columns=NAMES, dtype="string"),
        PARTLY,
        True,
    ),
    "polars frame of y and n, null": (
        pl.DataFrame(in_words(PARTLY, "y", " n", None).tolist(), NAMES, orient="row"),
        PARTLY,
        True,
    ),
    "frame of crosses and blanks": (pd.DataFrame(in_words(ALL, "x", np.nan), columns=NAMES), ALL, True),
    "sparse": (sparse.csr_array(Y), ALL, False),
    "sparse, labeled= by row": (sparse.csr_matrix(Y), ROWS, False, {"labeled": ROWS[:, 0]}),
    "sparse, labeled= by entry": (sparse.csc_array(Y), PARTLY, False, {"labeled": PARTLY}),
    "list of sets": (SETS, ALL, True),
    "list of sets, None": (unlabelled(SETS), ROWS, True),
    "list of lists of names": ([sorted(row) for row in SETS], ALL, True),
    "list of tuples of names": ([tuple(row) for row in SETS], ALL, True),
    "object array of frozensets": (np.array([frozenset(row) for row in SETS], dtype=object), ALL, True),
    "series of sets, None": (pd.Series(unlabelled(SETS)), ROWS, True),
    "series of lists, NaN": (pd.Series(unlabelled([[*row] for row in SETS], np.nan)), ROWS, True),
    "series of tuples": (pd.Series([tuple(row) for row in SETS]), ALL, True),
    "pyarrow lists, null": (pa.array(unlabelled([sorted(row) for row in SETS])), ROWS, True),
    "pyarrow lists in chunks": (pa.chunked_array([[sorted(row) for row in SETS]]), ALL, True),
    "polars series of lists, null": (pl.Series(unlabelled([sorted(row) for row in SETS])), ROWS, True),
}
SINGLE = {
    "list of strings, '-1'": unlabelled(CLASSES[CODES].tolist(), "-1"),
    "array of strings, '-1'": np.array(unlabelled(CLASSES[CODES].tolist(), "-1")),
    "object array, None": np.array(CLASS_LIST, dtype=object),
    "series of objects, None": pd.Series(CLASS_LIST, dtype=object),
    "series of string, NA": pd.Series(CLASS_LIST, dtype="string"),
    "categorical, NaN": pd.Series(pd.Categorical(CLASS_LIST, categories=CLASSES[::-1])),
    "polars series, null": pl.Series(CLASS_LIST),
    "pyarrow strings, null": pa.array(CLASS_LIST),
    "masked strings": np.ma.masked_array(CLASSES[CODES], ~ROWS[:, 0]),
    "StringDType, None": np.array(CLASS_LIST, STRINGS(na_object=None)),
    "StringDType, NaN": np.array(unlabelled(CLASSES[CODES].tolist(), np.nan), STRINGS(na_object=np.nan)),
    "ints, -1": np.array(unlabelled(CODES, -1)),
    "Int64, NA": pd.Series(unlabelled(CODES, pd.NA), dtype="Int64"),
    "floats, NaN": np.array(unlabelled(CODES.astype(float), np.nan)),
    "polars ints, null": pl.Series(unlabelled(CODES.tolist())),
    "masked ints": np.ma.masked_array(CODES, ~ROWS[:, 0]),
}
NUMBERS = ("ints, -1", "Int64, NA", "floats, NaN", "polars ints, null", "masked ints")


def takes_partly_known_rows(name):
    return name == "MDDM" or propagates(name)


@pytest.fixture(scope="module")
def fitted():
    """What an estimator says after a fit on plain labels, once for each estimator and set of known entries."""
    outcomes = {}

    def answer(name, known, single=None):
        key = name, known.tobytes(), single
        if key not in outcomes:
            outcomes[key] = outcome(
                make(name).fit(X, with_unknown(known, -1, int) if single is None else SINGLE[single])
            )
        return outcomes[key]

    return answer


@pytest.mark.filterwarnings("ignore:y. empty cells are read as 0")
@pytest.mark.quick_cases("NMLSDR", "ResidualPropagation")
@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_kind_of_columns_means_the_same_to_every_estimator(name, kind, fitted):
    y, known, named, *fit_arguments = COLUMNS[kind]
    model = make(name)
    fit_arguments = fit_arguments[0] if fit_arguments else {}
    if known is PARTLY and not takes_partly_known_rows(name):
        row = int(np.argmax((~PARTLY & ROWS).any(axis=1)))
        sentence = rf"{name} needs every label of a labelled row, but row {row} of y lacks \d of 3"
        with pytest.raises(InputError, match=sentence):
            model.fit(X, y, **fit_arguments)
        return
    model.fit(X, y, **fit_arguments)
    np.testing.assert_array_equal(outcome(model), fitted(name, known))
    assert [classes.tolist() for classes in model.classes_] == [[0, 1]] * 3
    assert [*getattr(model, "label_names_in_", [])] == (NAMES if named else [])


@pytest.mark.quick_cases("NMLSDR", "ResidualPropagation", "MLkNN", "MLDA")
@pytest.mark.parametrize("kind", SINGLE)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_kind_of_classes_means_the_same_to_every_estimator(name, kind, fitted):
    plain = "ints, -1" if kind in NUMBERS else "array of strings, '-1'"
    model = make(name).fit(X, SINGLE[kind])
    np.testing.assert_array_equal(outcome(model), fitted(name, ROWS, plain))
    assert model.classes_.tolist() == ([0, 1, 2] if kind in NUMBERS else CLASSES.tolist())
    if kind in NUMBERS:
        assert model.classes_.dtype.kind in "if"
    if hasattr(model, "predict"):
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
        assert model.predict(X).tolist() == model.classes_[proba.argmax(axis=1)].tolist()


DATES = unlabelled(pd.to_datetime(CODES, unit="D"))


@pytest.mark.parametrize(
    "dates",
    [
        pd.Series(DATES, dtype="M8[ns]"),
        pd.Series(DATES, dtype="M8[ns, UTC]"),
        pd.Series(DATES, dtype="M8[ns]") - pd.Timestamp(2000, 1, 1),
        np.array([None if date is None else date.to_datetime64() for date in DATES], "M8[D]"),
        np.array([np.datetime64("NaT") if date is None else date.to_datetime64() for date in DATES], dtype=object),
        pl.Series(DATES),
        pl.Series(DATES, dtype=pl.Date),
    ],
    ids=["pandas", "with a time zone", "durations", "numpy", "objects", "polars", "polars dates"],
)
def test_classes_that_are_dates_are_unlabelled_where_they_are_nulls(dates):
    labels = check_labels(dates)
    np.testing.assert_array_equal(labels.labeled, ROWS[:, 0])
    np.testing.assert_array_equal(labels.Y.argmax(axis=1)[labels.labeled], CODES[labels.labeled])
    assert len(labels.classes) == 3


def test_a_lazy_frame_of_polars_is_to_be_collected():
    """Warnings are errors here: polars warns of looking at the columns of one."""
    rows = pl.DataFrame(X).lazy()
    labels = polars_frame(pl.Int64).lazy()
    model = make("MultiLabelPropagation").fit(X, Y)
    for name, call in [
        ("X", lambda: make("NMLSDR").fit(rows, Y)),
        ("X", lambda: model.predict(rows)),
        ("X", lambda: nmlsdr.graph.kneighbors(rows, 3)),
        ("X", lambda: nmlsdr.tables.TableEncoder().fit(rows)),
        ("y", lambda: make("NMLSDR").fit(X, labels)),
        ("y", lambda: model.score(X, labels)),
        ("Y", lambda: nmlsdr.metrics.hamming_loss(labels, Y)),
    ]:
        with pytest.raises(InputError, match=rf"^{name} is a polars LazyFrame.*; pass {name}.collect\(\)"):
            call()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_column_of_yes_and_no_is_two_classes_with_the_given_names(name):
    words = np.array(["no", "yes"])[Y[:, 0]]
    model = make(name).fit(X, words)
    plain = make(name).fit(X, Y[:, 0])
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(outcome(model), outcome(plain))
    if hasattr(model, "predict"):
        assert model.predict(X).tolist() == np.array(["no", "yes"])[plain.predict(X)].tolist()
        assert model.score(X, words) == plain.score(X, Y[:, 0])


def test_labels_x_and_y_in_lists_stay_names():
    assert check_labels([["x"], ["x", "y"], ["y"]]).names.tolist() == ["x", "y"]
    assert check_labels([["x"], ["yes", "no"], ["no"]]).names.tolist() == ["no", "x", "yes"]


def test_names_that_are_split_at_commas_have_no_blanks_around_them():
    """The advice of our own warning, y.str.split(","), made two labels of "flu" and " flu"."""
    texts = pd.Series(["flu, cold", "cold,flu ", "flu", None, "cold, "])
    labels = check_labels(texts.str.split(","))
    assert labels.names.tolist() == ["cold", "flu"]
    assert labels.Y.tolist() == [[1, 1], [1, 1], [0, 1], [0, 0], [1, 0]]
    assert labels.labeled.tolist() == [True, True, True, False, True]
    assert check_labels([{"caf\u00e9"}, {"cafe\u0301"}]).names.tolist() == ["café"]
    with pytest.raises(InputError, match="empty label in row 1; write None for an unlabelled row"):
        check_labels(pd.Series(["flu", " "]).str.split(","))


def test_rows_without_a_cross_are_0_with_a_warning():
    frame = pd.DataFrame({"p": ["x", "", None, ""], "q": ["", "X ", "", None], "r": [0, 1, 1, 0]})
    sentence = (
        "y: empty cells are read as 0 in columns of x and empty cells; this also makes the labels of 2 of 4 "
        "rows without any x 0; pass labeled=, False for rows that are unlabelled."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(sentence)}$") as caught_warnings:
        labels = check_labels(frame)
    assert len(caught_warnings) == 1
    assert labels.Y.tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert labels.known.all()
    check_labels(frame, labeled=np.array([True, True, False, False]))  # no warning: it is said
    every = check_labels(frame.assign(q=["", "x", "x", "x"]))  # no warning: each row has one
    assert every.Y[:, 1].tolist() == [0, 1, 1, 1]


def test_sets_are_columns_through_multilabelbinarizer(rng):
    names = np.array([f"code {c:03d}" for c in range(60)])
    sets = [set(rng.choice(names, size=rng.integers(0, 6), replace=False)) for _ in range(200)]
    labels = check_labels(sets)
    binarizer = MultiLabelBinarizer()
    np.testing.assert_array_equal(labels.Y, binarizer.fit_transform(sets))
    assert labels.names.tolist() == binarizer.classes_.tolist()
    assert check_labels([{7, 11}, {101}]).names.tolist() == ["7", "11", "101"]
