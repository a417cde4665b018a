"""read_table on svmlight files."""

import gzip

import numpy as np
import pytest
from campaigns import tiny_svmlight
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from table_files import read_table, refused

from nmlsdr.tables import _svmlight


def svm(folder, text, name="t.svm"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_an_svmlight_file_is_read(tmp_path):
    file = svm(tmp_path, "# head\n3,10 1:0.5 4:-2 # note\n 2:1\n-1 1:3 3:0\n10 5:0\n")
    table = read_table(file)
    assert isinstance(table.data, sparse.csr_array)
    assert table.data.toarray().tolist() == [[0.5, 0, 0, -2, 0], [0, 1, 0, 0, 0], [3, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
    assert table.label_names == ["3", "10"]
    assert table.target.tolist() == [[1, 1], [0, 0], [-1, -1], [0, 1]]
    assert table.data.has_canonical_format
    assert table.data.nnz == 4  # no zero is stored
    assert table.data.indices.dtype == table.data.indptr.dtype == np.int32
    chosen = read_table(file, label_columns=["10", "7", "3"], n_features=6)
    assert chosen.target[:2].tolist() == [[1, 0, 1], [0, 0, 0]]
    assert chosen.data.shape == (4, 6)
    assert read_table(file, n_features=3 * 10**9, max_features=10**10).data.indices.dtype == np.int64
    wide = read_table(svm(tmp_path, "1 3000000000:1\n"), max_features=10**10).data  # beyond the integers of 32 bits
    assert wide.indices.tolist() == [3 * 10**9 - 1]


def test_an_svmlight_file_without_labels_is_read(tmp_path):
    table = read_table(svm(tmp_path, "1:1 2:2\n2:5\n"))
    assert table.target is None
    assert table.data.toarray().tolist() == [[1, 2], [0, 5]]


def test_feature_numbers_of_svmlight_can_begin_at_0(tmp_path):
    assert read_table(svm(tmp_path, "1 0:1 2:2\n"), zero_based=True).data.toarray().tolist() == [[1, 0, 2]]


@pytest.mark.parametrize(
    ("text", "how", "words"),
    [
        ("1 0:1\n", {}, ["line 1", "zero_based"]),
        ("1 1:1\n1 2:x\n", {}, ["line 2", "'2:x'"]),
        ("1 1:nan\n", {}, ["line 1", "'1:nan'"]),
        ("1 1:1 1:2\n", {}, ["line 1", "'1:2'", "above the one before"]),
        ("1 1:1\n1 7:1 3:2 # note\n", {}, ["line 2", "'3:2'", "above the one before"]),
        ("1 1:1\n\n# c\n2 1:1e400 2:1\n", {}, ["line 2", "blank"]),
        ("1 1:1\n# c\n2 1:1 3:-1e400\n", {}, ["line 3", "'3:-1e400'", "finite"]),
        ("1 2\n", {}, ["line 1", "'2'"]),
        ("1 qid:3 1:1\n", {}, ["line 1", "'qid:3'"]),
        ("1 -1:3\n", {}, ["line 1", "'-1:3'"]),
        ("a 1:1\n", {}, ["line 1", "'a'"]),
        ("1.5 1:1\n", {}, ["line 1", "'1.5' is not a whole number"]),
        ("1,,2 1:1\n", {}, ["line 1", "'1,,2'"]),
        ("1,1 1:1\n", {}, ["line 1", "twice"]),
        ("1,-1 1:1\n", {}, ["line 1", "unlabelled"]),
        ("1 1:1\n\n1 1:1\n", {}, ["line 2", "the line is blank"]),
        ("1 9999999:1\n", {}, ["line 1", "max_features"]),
        ("1 1" + "0" * 5000 + ":1\n", {}, ["line 1"]),
        ("1 4:1\n", {"n_features": 3}, ["line 1", "n_features=3"]),
        ("1 1:1\n2 1:1\n", {"label_columns": ["1"]}, ["line 2", "label '2' is not among"]),
        ("", {}, ["0 rows"]),
        ("1\n", {}, ["0 features"]),
        ("1 1:1\n" * 100, {"max_bytes": 50}, ["max_bytes=50"]),
    ],
)
def test_wrong_svmlight_files_are_refused(tmp_path, text, how, words):
    refused(words, svm(tmp_path, text), **how)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_svmlight_files_of_scikit_learn_are_read(tmp_path_factory, n_rows, n_features, n_labels, seed, zero_based):
    """What scikit-learn writes is what is read, bit for bit."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((n_rows, n_features)) * 10.0 ** rng.integers(-30, 30, size=(n_rows, n_features))
    data[rng.random(data.shape) < 0.4] = 0
    data[:, 0] = 1
    target = rng.integers(0, 2, size=(n_rows, n_labels))
    file = tmp_path_factory.getbasetemp() / "example.svm"
    dump_svmlight_file(data, target, str(file), zero_based=zero_based, multilabel=True)
    ids = [str(c) for c in range(n_labels)]
    table = read_table(file, label_columns=ids, n_features=n_features, zero_based=zero_based)
    assert np.array_equal(table.data.toarray(), data) or np.allclose(table.data.toarray(), data, rtol=1e-15)
    assert np.array_equal(table.target, target)


# ---------------------------------------------------------------- odd files


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("3,10 1:0.5 4:-2\n 2:1\n-1 1:3 3:0\n10 5:0\n", [[0.5, 0, 0, -2, 0], [0, 1, 0, 0, 0], [3, *[0] * 4], [0] * 5]),
        ("1\t2:3\t\t4:.5 \r\n0,10  1:1e+05\r\n", [[0, 3, 0, 0.5], [1e5, 0, 0, 0]]),
        ("# head\n #\n1 1:1 # ü\n#\n\n\n# end\n", [[1]]),
        ("\ufeff1 1:1\n2 1:0.000000000000000000000001", [[1], [1e-24]]),
        (
            "7\n1 000000001:1\n+1\n1e22,2 1:123456789012345678901234567890 2:5e-324 3:1e-400\n",
            [[0, 0, 0], [1, 0, 0], [0, 0, 0], [123456789012345678901234567890.0, 5e-324, 0]],
        ),
        (gzip.compress(b"1 1:1\n" * 50, mtime=0), [[1]] * 50),
    ],
)
def test_odd_files_that_are_sound(tmp_path, text, rows):
    assert read_table(svm(tmp_path, text)).data.toarray().tolist() == rows


@pytest.mark.parametrize(
    "line",
    [
        *("1 +1:1", "+1:1", "-0:1", "1\t-0:1", "1 0000000000000000001:1", "1 2147483648:1"),
        *("1 99999999999999999999:1",),
        *("1,1 1:1", "0,-0 1:1", "1,-1 1:1", "-1,-1 1:1", "1.5 1:1", "1e400 1:1", "1 1:1e400", "1 1:1_0", "1_0 1:1"),
        *("1 1_0:1", "nan 1:1", "1 1:inf", "1 qid:1 1:1", "1 1:1\r2:1", "1 1:1\x0b2:1", "1 1:1\x1c", "\x1c"),
        *("1 1:1\x002:1",),
        *("1 1:1\u20282:1", "1 1:٣", "1:", "1 1:1:1", "1 1", ", 1:1", "1, 1:1", "1 1:0x1", "1 1: 2:1", "1 1:1e"),
        *("1 :1",),
        *("1 1.0:1", "1 1e0:1", "1 -1:1", "1 0:1", "1:1 1", "1 1:1,2:1", "1 1:1 1:1", "1 2:1 1:1", "1 1:1\x85"),
        *("--1 1:1",),
    ],
)
@pytest.mark.parametrize("before", ["", "1 1:1\n", "# c\n1 1:1\n2\n"])
def test_the_error_names_a_damaged_line(tmp_path, line, before):
    refused([f"line {before.count(chr(10)) + 1}"], svm(tmp_path, before + line + "\n1 1:1\n"))


@pytest.mark.parametrize("blank", ["", " ", "\t"])
def test_blank_lines_are_allowed_at_the_end_only(tmp_path, blank):
    lines = ["1 1:1", "2 1:2"]
    assert read_table(svm(tmp_path, "\n".join([*lines, blank, blank]))).data.toarray().tolist() == [[1], [2]]
    for place in range(2):
        refused(
            [f"line {place + 1}: the line is blank"], svm(tmp_path, "\n".join([*lines[:place], blank, *lines[place:]]))
        )


def test_all_files_of_up_to_three_letters_are_read_or_refused(tmp_path):
    """Of up to 3 letters; tests/campaigns/tiny_svmlight.py goes to 6."""
    counts = tiny_svmlight.run(3, tmp_path)
    assert counts["read"] > 50
    assert counts["refused"] > 100


@settings(max_examples=100, deadline=None)
@given(text=st.text("01 :-.eE+,\t", max_size=30), times=st.integers(1, 10_000))
def test_the_pattern_takes_time_that_grows_with_the_line(text, times):
    """A pattern that goes back would not end."""
    _svmlight.ROW.fullmatch(text * times + "x")


def test_svmlight_files_respect_the_limits(tmp_path, monkeypatch):
    monkeypatch.setattr("nmlsdr.tables._files.ALWAYS_ALLOWED", 1 << 18)
    refused(["more than"], svm(tmp_path, gzip.compress(b"1 1:1\n" * 20_000), "t.svm.gz"))
    refused(["more than"], svm(tmp_path, b"1 1:1\n" * 100), max_bytes=50)


def test_a_table_of_labels_is_bounded_by_the_size_of_the_file(tmp_path):
    refused(["3000 rows and 3000 labels, a table of"], svm(tmp_path, "".join(f"{j} 1:1\n" for j in range(3000))))


def test_no_file_is_left_open(tmp_path):
    """A file of another encoding is read whole; pytest turns what Python says of an open file into an error."""
    refused(["max_bytes=3"], svm(tmp_path, "1 1:1\n".encode("utf-16")), max_bytes=3)
