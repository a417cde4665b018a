"""`score` of labels in every form: rows with an unknown label, labels by name, labels of another fit."""

import numpy as np
import pytest
from label_cases import ALL, CLASSES, CODES, NAMES, ROWS, SETS, N, X, Y, frame, in_words, unlabelled, with_unknown
from sklearn.model_selection import cross_val_score

import nmlsdr
from nmlsdr import InputError
from nmlsdr.model_selection import LabeledRowsSplit

pd = pytest.importorskip("pandas")


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
