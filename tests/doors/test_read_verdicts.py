"""`read_verdicts`: the verdicts of a file as an array, and the row of the table that each line means."""

import re

import numpy as np
import pandas as pd
import pytest
from review_page import unpack, write_verdicts
from scipy import sparse

from nmlsdr import ResidualPropagation
from nmlsdr.inspection import read_verdicts, write_review
from nmlsdr.inspection._row_checks import check_rows, hash_rows

pytest.importorskip("jinja2")


def test_verdicts_come_back_as_arrays(fitted, tmp_path):
    model, X, y = fitted
    y = pd.DataFrame(y, columns=["flu", "=cold", "gout, acute"])
    model = model.fit(X, y)
    ids = [f"P{i % 40}" for i in range(60)]  # some rows share one
    write_review(tmp_path / "a.html", model, X, y, ids=ids)
    page = unpack(tmp_path / "a.html")
    write_verdicts(tmp_path / "v.csv", page, [1, 0, 1, 0])
    verdicts = read_verdicts(tmp_path / "v.csv", y, table=X, ids=ids)
    places = [(entry["row"], entry["label"]) for entry in page["entries"][:4]]
    assert [verdicts[place] for place in places] == [1, 0, 1, 0]
    assert (verdicts >= 0).sum() == 4
    again = ResidualPropagation(n_neighbors=5).fit(X, y, verdicts=verdicts)
    write_review(tmp_path / "b.html", again, X, y, ids=ids, verdicts=verdicts)
    later = unpack(tmp_path / "b.html")
    assert not {(entry["row"], entry["label"]) for entry in later["entries"]} & set(places)
    write_verdicts(tmp_path / "w.csv", later, [])  # the earlier verdicts are in the next file
    np.testing.assert_array_equal(read_verdicts(tmp_path / "w.csv", y, table=X, ids=ids), verdicts)
    assert later["digest"] != page["digest"]
    for i, on in zip(later["rows"], later["has"], strict=True):  # neighbours are those of the labels with verdicts
        assert on == [c for c in range(3) if (verdicts[i, c] if verdicts[i, c] >= 0 else y.iloc[i, c]) == 1]


@pytest.mark.parametrize("words", [("0", "1"), ("1", "0"), ("1", "unclear"), ("unclear", "0")])
def test_two_different_verdicts_on_one_entry_are_refused_in_either_order(words, tmp_path):
    file = tmp_path / "v.csv"
    file.write_text("id,label,verdict\n" + "".join(f"0,label_0,{word}\n" for word in words))
    with pytest.raises(ValueError, match="line 3: a second and different verdict"):
        read_verdicts(file, [[1, 0], [0, 1]], ids=[0, 1])
    file.write_text(f"id,label,verdict\n0,label_0,{words[0]}\n")
    expected_verdict = {"unclear": -2}.get(words[0], words[0])  # y may be votes
    assert read_verdicts(file, [[0.5, 0], [0, 1]], ids=np.arange(2)).tolist() == [[int(expected_verdict), -1], [-1, -1]]


def test_who_cannot_tell_leaves_the_entry_as_it_is(tmp_path):
    file = tmp_path / "v.csv"
    file.write_text("id,label,verdict\n0,label_0,Unclear\n1,label_1,0\n")
    np.testing.assert_array_equal(read_verdicts(file, [[1, 0], [0, 1]], ids=[0, 1]), [[-2, -1], [-1, 0]])


def test_labels_that_were_corrected_since_the_list_are_said_and_keep_is_what_stood_there(table, tmp_path):
    X, y = table
    file = write_lines(tmp_path / "v.csv", X, y, [4, 8, 11], "keep")
    expected = read_verdicts(file, y, table=X)
    assert [expected[i, i % 3] for i in (4, 8, 11)] == [y[i, i % 3] for i in (4, 8, 11)]
    later = y.copy()
    later[8, 2] = 1 - y[8, 2]
    with pytest.warns(UserWarning, match="1 label of the table changed since the list was made") as caught_warnings:
        np.testing.assert_array_equal(read_verdicts(file, later, table=X), expected)
    assert caught_warnings[0].filename == __file__


def test_an_entry_that_is_unknown_by_now_was_not_corrected(table, tmp_path):
    X, y = table
    file = write_lines(tmp_path / "v.csv", X, y, [4], "keep")
    later = np.where(np.arange(40)[:, None] == 4, -1, y)
    assert read_verdicts(file, later, table=X)[4, 1] == y[4, 1]


# ---------------------------------------------------------------- which row a line means


@pytest.fixture
def table(rng):
    """Forty rows that differ, and labels."""
    return rng.normal(size=(40, 3)).round(2), rng.integers(0, 2, (40, 3))


def write_lines(path, X, y, rows, verdict="0", **columns):
    """A list with a verdict on label r % 3 of each of some rows; `columns` take the place of its own."""
    checks = check_rows(X, np.asarray(y))
    default_columns = {
        "row": rows,
        "label": [f"label_{i % 3}" for i in rows],
        "check": [checks[i] for i in rows],
        "suggest": [["add", "remove"][y[i, i % 3]] for i in rows],
        "verdict": [verdict] * len(rows),
    }
    lines = pd.DataFrame({name: value for name, value in (default_columns | columns).items() if value is not None})
    lines.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        sparse.csr_array,
        lambda X: pd.DataFrame(X, columns=list("abc")),
        lambda X: pd.DataFrame(X.astype(str), columns=list("abc")),
    ],
)
def test_a_verdict_finds_its_row_wherever_it_stands(table, tmp_path, rng, form):
    """In a table that was sorted and grew; a row that is gone is named, and not another one taken for it."""
    X, y = table
    file = write_lines(tmp_path / "v.csv", form(X), y, list(range(0, 40, 2)))
    expected = np.full(y.shape, -1)
    expected[range(0, 40, 2), [i % 3 for i in range(0, 40, 2)]] = 0
    order = rng.permutation(40)
    longer_table = np.vstack([X[order], rng.normal(size=(3, 3))]), np.vstack([y[order], y[:3]])
    np.testing.assert_array_equal(
        read_verdicts(file, longer_table[1], table=form(longer_table[0]))[:40], expected[order]
    )
    for gone in range(5):
        words = f"v.csv, line {gone // 2 + 2}: no row of the table has the check" if gone % 2 == 0 else None
        shorter_table = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
        if words is None:
            np.testing.assert_array_equal(
                read_verdicts(file, shorter_table[1], table=form(shorter_table[0])), np.delete(expected, gone, 0)
            )
        else:
            with pytest.raises(ValueError, match=re.escape(words)):
                read_verdicts(file, shorter_table[1], table=form(shorter_table[0]))


def test_a_list_of_another_table_is_refused(table, tmp_path, rng):
    """Without ids, verdicts on forgotten labels fitted a table with one row less in half of the trials."""
    X, y = table
    file = write_lines(tmp_path / "v.csv", X, y, [3, 5, 7])
    with pytest.raises(
        ValueError, match=r"line 2: no row of the table .*, and 2 more lines of 3 cannot be placed; give"
    ):
        read_verdicts(file, y, table=rng.normal(size=(40, 3)))
    for how, words in (({}, "pass table= or ids="), ({"ids": range(40)}, "lacks the column 'id'")):
        with pytest.raises(ValueError, match=words):
            read_verdicts(file, y, **how)
    with pytest.raises(ValueError, match="lacks the column 'check'"):
        read_verdicts(write_lines(file, X, y, [3], check=None), y, table=X)


def test_equal_rows_are_told_apart_by_their_labels_and_then_counted(tmp_path):
    """Rows 0 to 4 are equal, 0 and 1 in their labels, too; whoever cannot be told is refused."""
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], [5, 1], axis=0)
    y = np.eye(6, 3, dtype=int)
    y[:5] = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert len(set(check_rows(X, y))) == 6
    file = write_lines(tmp_path / "v.csv", X, y, [0, 1, 2, 3, 5])
    order = [5, 3, 0, 2, 1, 4]
    expected = read_verdicts(file, y, table=X)
    assert (expected == 0).sum() == 5
    np.testing.assert_array_equal(read_verdicts(file, y[order], table=X[order]), expected[order])
    for row_subset in ([1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5, 0]):  # one less or more of those that are equal in all
        with pytest.raises(ValueError, match=r"line 2: no row .* and 1 more line of 5 cannot be placed"):
            read_verdicts(file, y[row_subset], table=X[row_subset])
    remaining_rows = [0, 1, 2, 3, 5]
    np.testing.assert_array_equal(
        read_verdicts(file, y[remaining_rows], table=X[remaining_rows]), expected[remaining_rows]
    )
    whole = y.copy()
    whole[5] = 1 - whole[5]  # which changes no check of a row that has no equal
    np.testing.assert_array_equal(check_rows(X, whole), check_rows(X, y))


def test_check_and_id_find_a_row_each_and_must_not_contradict(table, tmp_path):
    X, y = table
    ids = [f"P{i}" for i in range(40)]
    file = tmp_path / "v.csv"
    at = {"table": X, "ids": ids}
    expected_places = [(4, 1), (8, 2)]

    def places_by(**columns):
        return list(map(tuple, np.argwhere(read_verdicts(write_lines(file, X, y, [4, 8], **columns), y, **at) == 0)))

    assert (
        places_by(id=["P4", "P8"])
        == places_by(id=["", "P8"])
        == places_by(check=None, id=["P4", "P8"])
        == expected_places
    )
    assert places_by(id=["P4", "P8"], check=["", check_rows(X, y)[8]]) == expected_places
    with pytest.warns(UserWarning, match="has the check of 1 verdict; the other column found the row"):
        assert places_by(id=["P4", "P8"], check=["abadcafe", check_rows(X, y)[8]]) == expected_places
    with pytest.warns(
        UserWarning, match="no row of the table has the id of 2 verdicts; the other column found the row"
    ):
        assert places_by(id=["Q4", "Q8"]) == expected_places
    with pytest.raises(ValueError, match=r"line 3: the check '.+' and the id 'P9' belong to two rows, 8 and 9"):
        places_by(id=["P4", "P9"])
    with pytest.raises(ValueError, match="no row of the table has the check 'b0' and the id 'Q9'; give the list"):
        places_by(id=["P4", "Q9"], check=[check_rows(X, y)[4], "b0"])
    at["ids"] = [f"P{i // 2}" for i in range(40)]
    assert places_by(id=["P2", "P4"]) == expected_places
    with pytest.raises(ValueError, match="line 2: 2 rows of the table have the id 'P2', the first is row 4"):
        places_by(id=["P2", "P4"], check=["", ""])


def test_the_column_that_was_named_goes_before_one_that_is_called_id(table, tmp_path):
    X, y = table
    file = write_lines(tmp_path / "v.csv", X, y, [4], check=None, id=["P9"], Patient=["P4"])
    verdicts = read_verdicts(file, y, ids=[f"P{i}" for i in range(40)], id_name="patient")
    assert np.argwhere(verdicts != -1).tolist() == [[4, 1]]


# ---------------------------------------------------------------- checks of rows


def test_a_number_counts_by_its_value_and_a_check_is_no_number(table):
    X, y = table
    checks = check_rows(X, y)
    assert all(re.fullmatch("[ab][0-9a-f]{7}", check) for check in checks)  # spreadsheets read 12345678 and 1234e567
    np.testing.assert_array_equal(check_rows(np.where(X == 0, -0.0, X), y), checks)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    np.testing.assert_array_equal(check_rows(frame[["c", "a", "b"]], y), check_rows(frame, y))
    texts = [pd.DataFrame({"a": [f"1.5{end}", "x", null, "e\u0301"]}) for end, null in (("", None), ("0", np.nan))]
    small = np.zeros((4, 1))
    np.testing.assert_array_equal(*(check_rows(text, small) for text in texts))
    assert check_rows(texts[0], small)[3] == check_rows(pd.DataFrame({"a": ["\u00e9", "y"]}), small[:2])[0]
    assert len(set(check_rows([["x", "y"], ["y", "x"], ["x", ""], ["", "x"]], small))) == 4


def test_checks_are_spread_evenly():
    """Of 100 000 rows of three small numbers as many pairs are equal as chance has: 9.3 of the 29 bits."""
    X = np.column_stack(np.unravel_index(np.arange(100_000), (50, 50, 40))).astype(float)
    n_equal = len(X) - len(np.unique(hash_rows(X, len(X)) >> np.uint64(35)))
    assert 1 <= n_equal <= 22
