"""Labels that can be read in two ways are refused, or cause a warning: -1, text, one column, rows in another order."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr import InputError
from nmlsdr._checks.labels import check_entries, check_labels

pd = pytest.importorskip("pandas")


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


# ---------------------------------------------------------------- -1, and what labeled= leaves out


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


def test_entries_left_out_by_labeled_are_not_read():
    wrong = [[0, 7], [np.inf, 1], [1, 0]]
    Y_, known = check_entries(wrong, labeled=np.array([[True, False], [False, True], [True, True]]))
    assert Y_.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert known.tolist() == [[True, False], [False, True], [True, True]]
    with pytest.raises(InputError, match=r"labeled must be .* of shape \(3,\) or \(3, 2\), got"):
        check_entries(wrong, labeled=np.array([True, False]))


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


# ---------------------------------------------------------------- texts


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
