"""The label rule: whatever people have as y, every estimator reads it with the right meaning or says one sentence."""

import inspect
import itertools
import re

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, make
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler

import nmlsdr
from nmlsdr import InputError
from nmlsdr._checks.labels import check_entries, check_labels
from nmlsdr.model_selection import LabeledRowsSplit

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAMES = ["cough", "fever", "rash"]
N = 40


def rows_and_labels():
    """Rows, 0/1 labels that follow them, and known entries: all but some rows, and all but those and others."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, 4))
    Y = (X @ rng.standard_normal((4, 3)) + 0.4 * rng.standard_normal((N, 3)) > 0).astype(int)
    Y[:2] = [[1, 0, 1], [0, 1, 0]]
    rows = np.ones((N, 3), dtype=bool)
    rows[3::4] = False
    partly = rows & (rng.random((N, 3)) > 0.2)
    partly[:3] = True
    return X, Y, rows, partly


X, Y, ROWS, PARTLY = rows_and_labels()
CODES = Y @ [1, 2, 0] % 3  # one of three classes for each row
CLASSES = np.array(["high", "low", "mid"])
SETS = [{name for name, present in zip(NAMES, row, strict=True) if present} for row in Y]


def with_unknown(known, unknown, dtype=object):
    values = Y.astype(dtype)
    values[~known] = unknown
    return values


def in_words(known, yes, no, unknown=None):
    words = {1: yes, 0: no, -1: unknown}
    return np.array([[words[value] for value in row] for row in with_unknown(known, -1, int).tolist()], dtype=object)


def frame(dtype, known=None, unknown=None):
    values = Y.astype(object) if known is None else with_unknown(known, unknown)
    return pd.DataFrame(values, columns=NAMES).astype(dtype)


def polars_frame(dtype):
    return pl.DataFrame(with_unknown(PARTLY, None).tolist(), schema=dict.fromkeys(NAMES, dtype), orient="row")


def arrow_columns(known):
    return {name: pa.array(column) for name, column in zip(NAMES, with_unknown(known, None).T.tolist(), strict=True)}


def unlabelled(values, unknown=None):
    """A list with ``unknown`` in place of the unlabelled rows' values."""
    return [value if known else unknown for value, known in zip(values, ROWS[:, 0], strict=True)]


STRINGS = getattr(np.dtypes, "StringDType", lambda na_object: object)  # from NumPy 2
CLASS_LIST = unlabelled(CLASSES[CODES].tolist())
ALL = np.ones((N, 3), dtype=bool)

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


def outcome(model):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.transform(X)


def propagates(name):
    return "graph" in inspect.signature(ESTIMATORS[name].fit).parameters


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
def test_propagating_methods_accept_votes(name):
    votes = Y * 0.75 + 0.125
    if propagates(name):
        F = make(name).fit(X, votes).label_distributions_
        np.testing.assert_allclose(F, 0.75 * make(name).fit(X, Y).label_distributions_ + 0.125, atol=1e-6)
        return
    sentence = r"got 0.875 in row 0, label 0; round votes first: y > 0.5 \(NMLSDR"
    with pytest.raises(InputError, match=sentence):
        make(name).fit(X, votes)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (pd.Series([[0, 1], [1, 0]]), "contains lists of 0 and 1 .or yes and no.: if columns, use an array"),
        ([["0", "1"], ["1", "0"]], "contains lists of 0 and 1"),
        ([[0, 1], [1]], "contains lists of 0 and 1"),
        ([{"a"}, "b"], "y holds str 'b' among label sets; write every row as a set"),
        ([{"a", 1}, {"b"}], "mixes labels that cannot be ordered"),
        ([{"a", None}, {"b"}], "has a null in the label set of row 0; remove it"),
        ([set(), set()], "has no label in any of its 2 label sets"),
        ([None, None, {"a"}][:2], "no labelled row"),
        (np.array([["cough", "rash"], ["cough", "fever"]]), "column 0 holds text: 'cough' in row 0; .*names as a set"),
        (pd.DataFrame({"rash": [0, 1], "flu": ["no", "perhaps"]}), "column 'flu' holds text: 'perhaps' in row 1"),
        (pd.DataFrame({"rash": [0, 1], "flu": ["no", "x"]}), "column 'flu' of y mixes crosses"),
        ([["yes", "no"], ["no", "no"]], "contains lists of 0 and 1 .or yes and no."),
        ([[1, 0], [0, 2]], "must contain only 0, 1 or -1 .unknown., got 2 in row 1, label 1"),
        ([[1, 0], [0, -0.5]], "got -0.5 in row 1, label 1"),
        ([[1, 0], [0, np.inf]], "got inf in row 1, label 1"),
        ([[1, 0], [0, 1j]], "Complex data not supported"),
        (np.array(["2020-01-01"], dtype="M8[D]")[:, None], "must be a 0/1 array.* holds dates: '2020-01-01' in row 0"),
        ([{"a": 1}, {"b": 2}], "cannot be ordered"),
        (pd.Series([{"a"}, {"b"}, 3]), "holds int 3 among label sets"),
        ([[1, -1], [-1, 1]], r"contains -1 and \+1 \(row 0\).*\(y \+ 1\) // 2"),
        (
            np.array([[1.0, -1.0], [-1.0, 1.0]], dtype=object),
            r"contains -1 and \+1 \(row 0\)",
        ),  # as frames of mixed types
        ([1, -1, 1], r"contains -1 and \+1 \(row 1\), but -1 means unknown"),
        ([0.0, np.inf], r"y is inf in row 1; give classes \(-1: unknown"),
        ([0.5, 1.5], "Unknown label type: continuous"),
        (np.zeros((2, 0)), "no columns"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (None, "target y is None"),
    ],
)
def test_ambiguous_labels_raise_a_clear_error(y, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        check_labels(y)
    assert str(error.value).endswith((".", "// 2."))


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


def test_minus_one_is_not_a_class_even_with_labeled():
    """1-D y as 2-D y: what `labeled` leaves out is ignored, and -1 is unlabelled where it does not."""
    marked = np.array([True, True, True, False])
    labels = check_labels([0, 2, -1, 7], labeled=marked)
    assert labels.classes.tolist() == [0, 2]
    assert labels.labeled.tolist() == [True, True, False, False]
    words = check_labels(["a", "-1", "b", "-1"], labeled=marked)
    assert words.classes.tolist() == ["a", "b"]
    assert words.labeled.tolist() == [True, False, True, False]
    assert check_labels(np.array([b"a", b"-1"])).labeled.tolist() == [True, False]
    columns = check_labels([[0], [1], [-1], [1]], labeled=marked)
    assert columns.labeled.tolist() == [True, True, False, False]
    with pytest.raises(InputError, match=r"contains -1 and \+1 \(row 1\), but -1 means unknown; write 0"):
        check_labels([1, -1, 1, 3], labeled=marked)
    with pytest.raises(InputError, match="has no labelled row"):
        check_labels([-1, -1, -1, 3], labeled=marked)


@pytest.mark.parametrize("to_fit", [False, True])
def test_columns_of_minus_one_and_one_are_refused_and_one_column_may_be_measured(to_fit):
    """A single column of -1 and 1 may be unknown and known entries, as long as nothing is learned from them."""
    for y in ([[1, -1], [-1, 1]], [[1, -1], [-1, -1]]):
        with pytest.raises(InputError, match=r"y contains -1 and \+1 \(row 0\), but -1 means unknown"):
            check_entries(y, to_fit=to_fit)
    _, known = check_entries([[1, 1], [-1, -1]], to_fit=to_fit)  # an unlabelled row
    assert known.tolist() == [[True, True], [False, False]]
    if to_fit:
        with pytest.raises(InputError, match=r"y contains -1 and \+1 \(row 1\)"):
            check_entries([[1], [-1]], to_fit=True)
    else:
        assert check_entries([[1], [-1]])[1].tolist() == [[True], [False]]


def test_unknown_entries_are_not_listed_as_suspects():
    suspects = nmlsdr.inspection.rank_suspects([[0.9, 0.2], [0.3, 0.1]], [[1, np.nan], [0, 1]])
    assert [*zip(suspects.row.tolist(), suspects.label.tolist(), strict=True)] == [(0, 0), (1, 0), (1, 1)]


def test_entries_left_out_by_labeled_are_not_read():
    wrong = [[0, 7], [np.inf, 1], [1, 0]]
    Y_, known = check_entries(wrong, labeled=np.array([[True, False], [False, True], [True, True]]))
    assert Y_.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert known.tolist() == [[True, False], [False, True], [True, True]]
    with pytest.raises(InputError, match=r"labeled must be .* of shape \(3,\) or \(3, 2\), got"):
        check_entries(wrong, labeled=np.array([True, False]))


# ---------------------------------------------------------------- what unknown entries do


@pytest.mark.parametrize("constraint", ["projection", "features"])
def test_mddm_centres_each_label_over_its_known_rows(constraint):
    """M by its definition, one label at a time, and the eigenproblem of M M' as a dense one."""
    M = np.zeros((4, 3))
    for c in range(3):
        rows = PARTLY[:, c]
        M[:, c] = (X[rows] - X[rows].mean(axis=0)).T @ (Y[rows, c] - Y[rows, c].mean())
    labelled = PARTLY.any(axis=1)
    Xc = X[labelled] - X[labelled].mean(axis=0)
    B = np.eye(4) if constraint == "projection" else 0.5 * Xc.T @ Xc + 0.5 * np.eye(4)
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(B, M @ M.T)).real)[::-1][:3]
    model = nmlsdr.MDDM(constraint=constraint).fit(X, with_unknown(PARTLY, -1, int))
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-10)
    P = model.components_.T
    np.testing.assert_allclose(M @ (M.T @ P), B @ P * model.eigenvalues_, atol=1e-9 * expected[0])


def test_nmlsdr_projects_hard_labels_on_known_entries_and_soft_ones_on_the_others():
    model = nmlsdr.NMLSDR(n_neighbors=5).fit(X, with_unknown(PARTLY, -1, int))
    F = model.label_distributions_
    expected = nmlsdr.projection.hsic_projection(X, np.where(PARTLY, F > 0.5, F))[1]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["NMLSDR", "SSMLDR", "MultiLabelPropagation", "SemiSupervisedMLkNN"])
@pytest.mark.parametrize("alpha_labeled", [0.6, (0.9, 0.1), [0.2, 0.2]], ids=str)
def test_each_label_solves_its_own_system(name, alpha_labeled):
    """F against the dense solve, one label at a time, with votes, unknown entries and trust by what is given."""
    votes = np.where(np.arange(N)[:, None] % 5 == 0, 0.5 * Y + 0.25, Y)
    y = np.where(PARTLY, votes, np.nan)
    model = make(name).set_params(alpha_labeled=alpha_labeled, tol=1e-12).fit(X, y)
    W = nmlsdr.graph.neighbor_graph(X, 5)
    T = nmlsdr.graph.transition_matrix(W).toarray()
    absent, present = alpha_labeled if np.ndim(alpha_labeled) else (alpha_labeled, alpha_labeled)
    for c in range(3):
        v = np.where(PARTLY[:, c], votes[:, c], 0)
        alpha = np.where(PARTLY[:, c], (1 - v) * absent + v * present, 0.999)
        F = np.linalg.solve(np.eye(N) - alpha[:, None] * T, (1 - alpha) * v)
        np.testing.assert_allclose(model.label_distributions_[:, c], F, atol=1e-10)
    flips = ((model.label_distributions_ > 0.5) != (votes > 0.5)) & (votes != 0.5) & PARTLY
    np.testing.assert_array_equal(model.label_flips_, flips)


def test_a_vote_of_one_half_is_no_flip():
    model = make("MultiLabelPropagation").fit(X, np.where(Y == 1, 0.5, 0.0))
    assert not model.label_flips_[Y == 1].any()
    model = make("MultiLabelPropagation").fit(X, np.where(Y == 1, 1.0, 0.5))
    assert (model.transduction_[Y == 0] == 1).any()
    assert not model.label_flips_[Y == 0].any()


def test_a_pair_of_alphas_applies_to_one_dimensional_labels_too():
    y = np.array(unlabelled(CODES, -1))
    model = make("MultiLabelPropagation").set_params(alpha_labeled=(0.9, 0.1)).fit(X, y)
    columns = np.where(ROWS, CODES[:, None] == np.arange(3), -1)
    model_of_columns = make("MultiLabelPropagation").set_params(alpha_labeled=(0.9, 0.1)).fit(X, columns)
    np.testing.assert_array_equal(model.label_distributions_, model_of_columns.label_distributions_)


@pytest.mark.parametrize("pair", [(0.1, 0.2, 0.3), (0.1, 1.0), ("a", "b"), (0.5,)], ids=str)
def test_alpha_labeled_is_a_number_or_a_pair(pair):
    with pytest.raises((InputError, TypeError, ValueError)):
        make("NMLSDR").set_params(alpha_labeled=pair).fit(X, Y)


def test_alpha_of_fit_may_be_one_for_each_entry():
    alpha = np.where(np.arange(3) == 1, 0.2, np.full((N, 3), 0.7))
    distributions = make("MultiLabelPropagation").fit(X, Y, alpha=alpha).label_distributions_
    for c, value in enumerate((0.7, 0.2, 0.7)):
        distributions_of_one_alpha = make("MultiLabelPropagation").fit(X, Y, alpha=value).label_distributions_
        np.testing.assert_allclose(distributions[:, c], distributions_of_one_alpha[:, c], atol=1e-7)


def test_marking_every_entry_known_changes_no_bit():
    y = with_unknown(ROWS, -1, int)
    known = np.repeat(ROWS[:, :1], 3, axis=1)
    for name in ESTIMATORS:
        if has_labeled := "labeled" in inspect.signature(ESTIMATORS[name].fit).parameters:
            np.testing.assert_array_equal(outcome(make(name).fit(X, y)), outcome(make(name).fit(X, Y, labeled=known)))
        assert has_labeled


# ---------------------------------------------------------------- data frames


ORDERS = {
    "another order": lambda y: y.iloc[::-1],
    "other entries": lambda y: y.set_axis(range(100, 100 + len(y))),
    "text": lambda y: y.set_axis([f"p{i}" for i in range(len(y))]),
}


@pytest.fixture
def frames(rng):
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    return X, pd.DataFrame({"u": (X.a > 0).astype(int), "v": (X.b > 0).astype(int)})


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "name", ["NMLSDR", "MLkNN", "MDDM", "MultiLabelPropagation", "SemiSupervisedMLkNN", "ResidualPropagation", "MLDA"]
)
def test_different_indexes_cause_a_warning_that_names_them(frames, name, order):
    """Rows are matched by position, which is wrong where y stands in another order."""
    X, y = frames
    y = ORDERS[order](y)
    with pytest.warns(
        UserWarning, match=r"X and y have different indexes \(row 0 is 0 in X and .* in y\)"
    ) as caught_warnings:
        getattr(nmlsdr, name)().fit(X, y)
    assert sum("different indexes" in str(warning.message) for warning in caught_warnings) == 1


def test_behind_a_scaler_the_index_is_lost(frames):
    """As the page on data frames says, and pandas output keeps it."""
    from sklearn.pipeline import make_pipeline

    X, y = frames
    model = make_pipeline(StandardScaler(), nmlsdr.MLkNN(3))
    model.fit(X, y.iloc[::-1])
    with pytest.warns(UserWarning, match="different indexes"):
        model.set_output(transform="pandas").fit(X, y.iloc[::-1])


def test_equal_indexes_and_arrays_cause_no_warning(frames):
    X, y = frames
    X.index = y.index = [f"p{i // 2}" for i in range(len(X))]
    nmlsdr.MLkNN(3).fit(X, y)
    nmlsdr.MLkNN(3).fit(X, y.u)
    nmlsdr.MLkNN(3).fit(X, y.iloc[::-1].to_numpy())
    nmlsdr.MLkNN(3).fit(X.to_numpy(), y.iloc[::-1])


@pytest.mark.parametrize("separator", ["|", ";", ","])
def test_texts_that_list_labels_cause_a_warning(separator):
    texts = ["a", "a|b", "b", "c", "b|c", "a|b|c"] * 2
    texts = [text.replace("|", separator) for text in texts]
    series = pd.Series(texts)
    for y, advice in ((series, f"y.str.split('{separator}')"), (texts, f"[text.split('{separator}') for text in y]")):
        with pytest.warns(UserWarning, match="6 different texts that consist of 3 words") as caught_warnings:
            labels = check_labels(y)
        assert advice in str(caught_warnings[0].message)
        assert len(labels.classes) == 6
    assert list(check_labels(series.str.split(separator)).names) == ["a", "b", "c"]
    with pytest.warns(UserWarning, match="3 different texts that consist of 2 words"):  # two lengths are enough
        check_labels(["a", "b", f"a{separator}b"])


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "b", "c"],
        ["New York, NY", "Albany, NY"],
        [f"{letter},{i}" for letter in "xyz" for i in range(3)],
        ["a|b", "c"],
    ],
)
def test_texts_that_are_classes_are_not(texts):
    assert len(check_labels(texts).classes) == len(set(texts))


# ---------------------------------------------------------------- scores of unlabelled rows


@pytest.mark.parametrize("y", [with_unknown(ROWS, -1, int), unlabelled(CODES, -1)], ids=["columns", "classes"])
def test_a_plain_cross_validation_scores_the_labelled_rows_and_names_the_splitter(y):
    model = nmlsdr.MLkNN(3)
    with pytest.warns(UserWarning, match=r"Unknown labels leave \d+ of \d+ rows unscored.*LabeledRowsSplit"):
        assert (cross_val_score(model, X, y, cv=2, error_score="raise") > 0.2).all()
    assert (cross_val_score(model, X, y, cv=LabeledRowsSplit(2)) > 0.2).all()


def test_score_leaves_out_rows_with_an_unknown_label_and_says_so():
    model = nmlsdr.MLkNN(3).fit(X, Y)
    weights = np.arange(N) + 1.0
    partial_labels = Y.astype(float)
    partial_labels[::3, 0] = -1
    partial_labels[1] = np.nan
    known = (np.arange(N) % 3 != 0) & (np.arange(N) != 1)
    with pytest.warns(UserWarning, match=f"leave {(~known).sum()} of {N} rows unscored; .*SCORERS"):
        score = model.score(X, partial_labels, sample_weight=weights)
    assert score == model.score(X[known], Y[known], sample_weight=weights[known])
    with pytest.raises(InputError, match=f"leave {N} of {N} rows unscored"):
        model.score(X, np.where(np.arange(Y.shape[1]) == 0, -1, Y))


def test_a_fold_without_labelled_rows_names_the_splitter():
    y = np.where(np.arange(N)[:, None] < N // 2, Y, -1)
    with pytest.raises(InputError, match=r"no labelled row.*LabeledRowsSplit"):
        cross_val_score(nmlsdr.MLkNN(3), X, y, cv=2, error_score="raise")


def test_score_is_the_share_of_rows_without_a_wrong_label():
    model = nmlsdr.MLkNN(3).fit(X, Y)
    expected = (model.predict(X) == Y).all(axis=1)
    assert model.score(X, Y) == model.score(X, in_words(ALL, "yes", "no")) == expected.mean()
    weights = np.arange(N)
    assert model.score(X, Y, sample_weight=weights) == pytest.approx(expected @ weights / weights.sum())
    with pytest.raises(InputError, match=r"got 0.75 in row 0, label 0; round votes first"):
        model.score(X, Y * 0.75)


def test_score_matches_labels_by_name():
    model = nmlsdr.MLkNN(3).fit(X, frame("int64"))
    expected = (model.predict(X) == Y).all(axis=1)
    assert model.score(X, frame("int64")[NAMES[::-1]]) == model.score(X, SETS) == expected.mean()
    assert nmlsdr.MLkNN(3).fit(X, SETS).score(X, Y) == expected.mean()  # columns without names count by position
    for selection in (~Y.any(axis=1), Y[:, 0] == 0, Y.sum(axis=1) == 1):  # sets that lack labels of the fit
        sets = [row for row, is_selected in zip(SETS, selection, strict=True) if is_selected]
        assert model.score(X[selection], sets) == expected[selection].mean()
    assert model.score(X, [row | {"flu"} if i % 2 else row for i, row in enumerate(SETS)]) == expected[::2].sum() / N


@pytest.mark.parametrize(
    ("fitted_on", "y", "sentence"),
    [
        (frame("int64"), frame("int64")[NAMES[:2]], "y lacks the column 'rash'; pass the 3 columns that the model"),
        (frame("int64"), frame("int64").assign(flu=0), "y has the column 'flu' in addition; pass the 3 columns"),
        (frame("int64"), Y[:, :2], r"y has shape \(40, 2\), but the predictions have shape \(40, 3\); give the labels"),
        (frame("int64"), CODES, r"y has shape \(40,\), but the predictions have shape"),
        (Y, Y[:-1], r"y has shape \(39, 3\), but the predictions have shape"),
        (Y, SETS, "y has label sets, but fit received no names of labels; give y in the form given to fit"),
        (CODES, CLASSES[CODES], "y holds '.*', but fit received classes such as [0-2]; give y the same classes"),
    ],
)
def test_score_refuses_labels_of_another_fit(fitted_on, y, sentence):
    with pytest.raises(InputError, match=sentence):
        nmlsdr.MLkNN(3).fit(X, fitted_on).score(X, y)


@pytest.mark.parametrize("values", [CODES, CODES == 1, CLASSES[CODES], np.array(CODES, "M8[D]")], ids=lambda y: y.dtype)
def test_score_accepts_classes_in_an_array_of_objects(values):
    model = nmlsdr.MLkNN(3).fit(X, values)
    objects = pd.Series(list(values), dtype=object)
    assert model.score(X, objects) == model.score(X, values) == (model.predict(X) == values).mean() > 0.5
    assert nmlsdr.MLkNN(3).fit(X, objects).score(X, objects) == model.score(X, values)


def test_score_takes_one_label_as_a_column_or_as_classes():
    column = nmlsdr.MLkNN(3).fit(X, Y[:, :1])
    classes = nmlsdr.MLkNN(3).fit(X, Y[:, 0])
    assert column.score(X, Y[:, 0]) == column.score(X, Y[:, :1])
    assert classes.score(X, Y[:, :1]) == classes.score(X, Y[:, 0])


# ---------------------------------------------------------------- one column: a label, or classes


@pytest.mark.parametrize(
    "column",
    [
        [0, 1, 2, 1],
        [1, 2, -1, 2],
        [3.0, np.nan, 4.0, 4.0],
        ["flu", "cold", "flu", None],
        [-2, 5, 5, 7],
    ],
)
@pytest.mark.parametrize("form", [np.array, pd.Series], ids=["array", "frame"])
def test_a_column_of_classes_is_raveled_with_the_warning_of_scikit_learn(column, form):
    flat_classes = np.array(column) if not isinstance(column[0], str) else np.array(column, object)
    y = flat_classes[:, None] if form is np.array else pd.DataFrame({"class": flat_classes})
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
        labels = check_labels(y)
    expected = check_labels(flat_classes)
    assert labels.single
    assert labels.classes.tolist() == expected.classes.tolist()
    np.testing.assert_array_equal(labels.Y, expected.Y)
    np.testing.assert_array_equal(labels.known, expected.known)


@pytest.mark.parametrize("entries", [*itertools.product([0, 1, -1, np.nan, 0.5], repeat=3)])
def test_a_column_of_0_1_and_unknown_entries_stays_one_label(entries):
    column = np.array(entries)[:, None]
    known = ~np.isnan(column) & (column != -1)
    if not known.any():
        with pytest.raises(InputError, match="no labelled row"):
            check_labels(column)
    elif set(column[known].tolist()) == {1} and (column == -1).any():
        with pytest.raises(InputError, match="contains -1 and \\+1"):
            check_labels(column)
    else:
        labels = check_labels(column)
        assert not labels.single
        assert labels.Y.shape == (3, 1)
        np.testing.assert_array_equal(labels.known, known)


def test_a_column_of_classes_takes_a_mask_and_other_columns_stay_errors():
    y = np.array([[4], [5], [6]])
    labeled = np.array([[True], [True], [False]])
    with pytest.warns(DataConversionWarning):
        assert check_labels(y, labeled=labeled).classes.tolist() == [4, 5]
    with pytest.raises(InputError, match=r"got 2\.5"):
        check_labels(np.array([[0], [2.5]]))
    with pytest.raises(InputError, match="'maybe'"):
        check_labels(np.array([["yes"], ["maybe"]]))
    with pytest.raises(InputError, match="got 2 in row 1"):
        check_labels(np.array([[0, 1], [2, 1]]))


@pytest.mark.parametrize("ignored", [-1, 5, 0.5, np.nan, "no class", None])
@pytest.mark.parametrize("entries", [False, True])
def test_what_is_not_labeled_may_hold_anything(ignored, entries):
    """In a column of its own, too, where it would be a class."""
    labeled = np.arange(8) < 6
    expected = check_labels(np.where(labeled, [0, 1, 0, 1, 1, 0, 0, 0], -1)[:, None])
    y = np.array([0, 1, 0, 1, 1, 0, ignored, ignored], dtype=object if isinstance(ignored, str | None) else float)
    labels = check_labels(y[:, None], labeled=labeled[:, None] if entries else labeled)
    assert labels.single is False
    np.testing.assert_array_equal(labels.Y, expected.Y)
    np.testing.assert_array_equal(labels.known, expected.known)
    two_columns = check_labels(np.c_[y, y], labeled=labeled)
    np.testing.assert_array_equal(two_columns.known, np.c_[expected.known, expected.known])
