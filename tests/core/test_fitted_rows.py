"""A model file knows the rows of its fit by hashes: evaluate counts them, and the file holds no row."""

import datetime

import numpy as np
import pytest
from commands import label_columns, write_csv
from scipy import sparse

from nmlsdr._model.fitted_rows import find_overlap, fitted_rows
from nmlsdr._model.reading import open_model
from nmlsdr.model_file import ModelFileError, save_model

pytest.importorskip("skops")


def counts(X, row_hashes):
    overlap = find_overlap(X, row_hashes)
    return [int(overlap.labeled.sum()), int(overlap.unlabeled.sum())]


@pytest.mark.parametrize("form", ["numbers", "sparse"])
def test_the_same_rows_are_known_in_any_order_and_others_are_not(rng, form):
    X = np.where(rng.random((40, 3)) < 0.4, 0.0, rng.normal(size=(40, 3)).round(2) + 5)
    X[:, 0] += np.arange(40)
    if form == "sparse":
        X = sparse.csr_array(X)
    row_hashes = fitted_rows(X[:30], np.arange(30) < 20)
    order = rng.permutation(40)
    assert counts(X[order], row_hashes) == [20, 10]
    assert counts(X[30:], row_hashes) == [0, 0]


def test_stored_zeros_do_not_count_and_stay_in_the_rows(rng):
    X = sparse.csr_array(rng.integers(1, 9, (6, 4)).astype(float))
    X.data[::5] = 0.0
    stored = X.copy()
    assert counts(X.toarray(), fitted_rows(X, np.ones(6, dtype=bool))) == [0, 0]  # dense rows have other hashes
    assert counts(X, fitted_rows(X, np.ones(6, dtype=bool))) == [6, 0]
    np.testing.assert_array_equal(X.data, stored.data)
    np.testing.assert_array_equal(X.indices, stored.indices)


def test_every_file_has_a_salt_of_its_own(rng):
    X = rng.normal(size=(5, 2))
    labeled = np.ones(5, dtype=bool)
    hashes = fitted_rows(X, labeled)
    hashes_of_second_file = fitted_rows(X, labeled)
    assert hashes["salt"] != hashes_of_second_file["salt"]
    assert not np.isin(hashes["labeled"], hashes_of_second_file["labeled"]).any()


def test_minus_zero_and_every_kind_of_nan_are_the_same(rng):
    X = np.array([[0.0, np.nan]])
    equal_row = np.array([[-0.0, np.frombuffer(b"\x01\0\0\0\0\0\xf8\xff", dtype="<f8")[0]]])
    assert counts(equal_row, fitted_rows(X, np.array([True]))) == [1, 0]


def test_evaluate_says_how_many_rows_were_fitted(run, tables):
    columns = ["--label-columns", label_columns()]
    settings = ["--method", "MDDMp", "--classifier", "mlknn"]
    assert run("fit", "train.csv", *columns, *settings, "--out", "m.skops").status == 0
    outcome = run("evaluate", "m.skops", "train.csv", *columns)
    assert "60 of these 60 rows have the features of labelled rows of the fit; if they are the same rows" in outcome.out
    outcome = run("evaluate", "m.skops", "test.csv", *columns)
    assert "The fit used 0 of these 25 rows with their labels.\n" in outcome.out
    assert "too good" not in outcome.out


@pytest.mark.parametrize("names", ["people", "numbers", "no ids"])
def test_rows_of_few_values_are_known_by_their_ids_and_equal_ones_are_chance(run, tmp_path, names):
    """Other people whose few values are equal: no row of the fit. Numbers that count the rows name nobody."""
    rng = np.random.default_rng(0)
    for file in ("fit", "new"):
        cells = np.c_[rng.integers(0, 3, (200, 2)), rng.integers(0, 2, (200, 2))].tolist()
        ids = {"people": [[f"{file[0].upper()}{i:03}"] for i in range(200)], "numbers": [[i] for i in range(200)]}
        rows = [i + c for i, c in zip(ids.get(names, [[]] * 200), cells, strict=True)]
        write_csv(tmp_path / f"{file}.csv", ["person", "a", "b", "flu", "cold"][names == "no ids" :], rows)
    columns = ["--label-columns", "flu,cold", "--classifier", "mlknn", "--method", "MDDMp"]
    assert run("fit", "fit.csv", *columns, "--out", "m.skops").status == 0
    (first_line,) = run("evaluate", "m.skops", "new.csv", "-q").out.splitlines()[:1]
    (same,) = run("evaluate", "m.skops", "fit.csv", "-q").out.splitlines()[:1]
    if names == "people":
        assert first_line == "The fit used 0 of these 200 rows with their labels."
        assert same == "The fit used 200 of these 200 rows with their labels; on these the measures are too good."
    else:
        assert first_line == same
        assert first_line.endswith("no more than by chance: rows of the fit are equal as often.")


def test_equal_features_are_reported_if_the_rows_of_the_fit_are_not_as_equal(rng):
    """Every fifth row of the fit has a twin. Of new rows 40 in 200 may be equal by chance, 80 may not."""
    X = np.repeat(np.arange(90.0), [2] * 10 + [1] * 80)[:, None]
    row_hashes = fitted_rows(X, np.ones(100, dtype=bool))
    for n_equal, is_chance in ((0, False), (40, True), (80, False)):
        overlap = find_overlap(np.r_[np.arange(n_equal) % 90, 1000.0 + np.arange(200 - n_equal)][:, None], row_hashes)
        assert (overlap.labeled.sum(), overlap.is_chance, overlap.by_id) == (n_equal, is_chance, False)


def test_ids_decide_where_both_tables_have_them(rng):
    X = rng.normal(size=(4, 2))
    row_hashes = fitted_rows(X, np.array([True, True, False, False]), ["ann", "bob", "cid", "dee"])
    overlap = find_overlap(X[::-1], row_hashes, ["cid", "eve", "bob", "\ud800"])
    assert overlap.by_id
    assert overlap.labeled.tolist() == [False, False, True, False]
    assert overlap.unlabeled.tolist() == [True, False, False, False]
    assert not find_overlap(X, row_hashes).by_id
    assert not find_overlap(X, fitted_rows(X, np.ones(4, dtype=bool), ["7", "5", "6", "4"]), ["7", "5", "6", "4"]).by_id
    assert find_overlap(X, fitted_rows(X, np.ones(4, dtype=bool), ["7", "7", "6", "4"]), ["7", "5", "6", "4"]).by_id
    assert find_overlap(X, fitted_rows(X, np.ones(4, dtype=bool), ["7", "5", "6", "9"]), ["7", "5", "6", "4"]).by_id


def test_info_prints_columns_cutoffs_rows_and_date(run, rng):
    rows = [[i % 7, "uvw"[i % 3], rng.normal(), int(i % 7 > 3)] for i in range(40)]
    write_csv("a.csv", ["age", "ward", "x", "flu"], rows)
    settings = ["--one-hot", "ward", "--method", "MDDMp", "--classifier", "mlknn"]
    assert run("fit", "a.csv", "--label-columns", "flu", *settings, "--out", "m.skops").status == 0
    info_text = " ".join(run("info", "m.skops").out.split())
    assert "column: number 2: age; x" in info_text
    assert "ward category, 3: u; v; w" in info_text
    assert "threshold a label is predicted from 0.5 on" in info_text
    assert "fitted on 40 different rows, 40 of them labelled" in info_text
    assert f"date {datetime.date.today().isoformat()}" in info_text


def test_a_file_without_hashes_is_read_and_forged_ones_are_refused(tmp_path, rng):
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(rng.normal(size=(5, 2)))
    path = tmp_path / "m.skops"
    save_model(path, scaler)
    assert open_model(path).fitted is None
    good = fitted_rows(rng.normal(size=(5, 2)), np.ones(5, dtype=bool))
    for forged in (
        {"salt": 1},
        {"salt": "x" * 100},
        {"labeled": np.zeros(3)},
        {"others": np.zeros((2, 2), np.uint64)},
        {"labeled_ids": np.zeros(3), "other_ids": np.zeros(3)},
    ):
        save_model(path, scaler, fitted={**good, **forged})
        with pytest.raises(ModelFileError):
            open_model(path)
