"""read_table on svmlight files: scikit-learn reads ordinary lines and `_by_line` all others, with one result."""

import gzip
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from table_files import refused

from nmlsdr.datasets import DataFileError, _svmlight, read_table


def svm(folder, text, name="t.svm"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_svmlight(tmp_path):
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


def test_svmlight_without_labels(tmp_path):
    table = read_table(svm(tmp_path, "1:1 2:2\n2:5\n"))
    assert table.target is None
    assert table.data.toarray().tolist() == [[1, 2], [0, 5]]


def test_svmlight_from_zero(tmp_path):
    assert read_table(svm(tmp_path, "1 0:1 2:2\n"), zero_based=True).data.toarray().tolist() == [[1, 0, 2]]


@pytest.mark.parametrize(
    ("text", "how", "words"),
    [
        ("1 0:1\n", {}, ["line 1", "zero_based"]),
        ("1 1:1\n1 2:x\n", {}, ["line 2", "column '2'", "'x'"]),
        ("1 1:nan\n", {}, ["line 1", "finite"]),
        ("1 1:1 1:2\n", {}, ["line 1", "twice"]),
        ("1 2\n", {}, ["line 1", "'2'"]),
        ("1 qid:3 1:1\n", {}, ["line 1", "'qid:3'"]),
        ("1 -1:3\n", {}, ["line 1", "'-1:3'"]),
        ("a 1:1\n", {}, ["line 1", "'a'"]),
        ("1.5 1:1\n", {}, ["line 1", "'1.5'"]),
        ("1,,2 1:1\n", {}, ["line 1", "no label"]),
        ("1,1 1:1\n", {}, ["line 1", "twice"]),
        ("1,-1 1:1\n", {}, ["line 1", "unlabelled"]),
        ("1 1:1\n\n1 1:1\n", {}, ["line 3", "line 2 is blank"]),
        ("1 9999999:1\n", {}, ["line 1", "max_features"]),
        ("1 1" + "0" * 5000 + ":1\n", {}, ["line 1"]),
        ("1 4:1\n", {"n_features": 3}, ["line 1", "n_features=3"]),
        ("1 1:1\n2 1:1\n", {"label_columns": ["1"]}, ["line 2", "label 2"]),
        ("1 1:1\n-1 1:1\n", {}, ["1 and -1", "label_columns"]),
        ("", {}, ["0 rows"]),
        ("1\n", {}, ["0 features"]),
        ("1 1:1\n" * 100, {"max_bytes": 50}, ["max_bytes=50"]),
    ],
)
def test_svmlight_refused(tmp_path, text, how, words):
    refused(words, svm(tmp_path, text), **how)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans())
def test_svmlight_round_trip(tmp_path_factory, n_rows, n_features, n_labels, seed, zero_based):
    """What scikit-learn writes is what is read, bit for bit."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((n_rows, n_features)) * 10.0 ** rng.integers(-30, 30, size=(n_rows, n_features))
    data[rng.random(data.shape) < 0.4] = 0
    data[:, 0] = 1
    target = rng.integers(0, 2, size=(n_rows, n_labels))
    file = tmp_path_factory.mktemp("svm") / "t.svm"
    dump_svmlight_file(data, target, str(file), zero_based=zero_based, multilabel=True)
    ids = [str(c) for c in range(n_labels)]
    table = read_table(file, label_columns=ids, n_features=n_features, zero_based=zero_based)
    assert np.array_equal(table.data.toarray(), data) or np.allclose(table.data.toarray(), data, rtol=1e-15)
    assert np.array_equal(table.target, target)


# ---------------------------------------------------------------- two ways, one result


def outcome(path, **how):
    """What the reader answers, to the bit: the table, or the sentence."""
    try:
        found = _svmlight.read_svmlight(path, **how)
    except DataFileError as error:
        return str(error)
    assert found.data.has_canonical_format
    arrays = [found.data.data, found.data.indices, found.data.indptr]
    arrays += [] if found.target is None else [found.target]
    return found.data.shape, [(array.dtype, array.tobytes()) for array in arrays], found.label_names


def both(path, **how):
    """The answers with scikit-learn and line by line."""
    quick = outcome(path, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_svmlight, "_ordinary", lambda *arguments: None)
        return quick, outcome(path, **how)


@pytest.mark.parametrize(
    "text",
    [
        "3,10 1:0.5 4:-2\n 2:1\n-1 1:3 3:0\n10 5:0\n",
        "1\t2:3\t\t4:.5 \r\n0,10  1:1e+05\r\n",
        "# head\n #\n1 1:1 # ü\n#\n\n\n# end\n",
        "\ufeff1 1:1\n2 1:0.000000000000000000000001",
        "7\n1 000000001:1\n+1\n1e22,2 1:123456789012345678901234567890 2:5e-324 3:1e-400\n",
        gzip.compress(b"1 1:1\n" * 50),
    ],
)
def test_ordinary_files_are_read_by_scikit_learn(tmp_path, monkeypatch, text):
    monkeypatch.setattr(_svmlight, "BATCH", 3)
    quick, slow = both(svm(tmp_path, text))
    assert quick == slow
    monkeypatch.setattr(_svmlight, "_by_line", None)
    assert outcome(tmp_path / "t.svm") == slow


@pytest.mark.parametrize(
    "text",
    [
        *(
            "1 +1:1\n",
            "+1:1\n",
            "1 1:1\n+1:1\n",
            "1\t+1:1\n",
            "1 1:1\n1 -0:1\n",
            "-0:1\n",
            "\t-0:1\n",
            "+12:1\n",
            "-00:1\n",
        ),
        *("1 0000000000000000001:1\n", "1 1:1\n0000000000000000001:1\n", "1\t0000000000000000001:1\n"),
        *("1 000000000000000001:1\n", "1 2147483648:1\n", "1 4294967297:1\n", "1 99999999999999999999:1\n"),
        *("1 1:1\n \n", "1 1:1\n\t\n1 1:1\n", "1 1:1\n\n\n1 1:1\n", "\n1 1:1\n", "\n# c\n", " ", "\n", ""),
        *("1 2:1 1:1\n", "1 1:1 1:1\n", "1 1:0 1:0\n", "1,1 1:1\n", "0,-0 1:1\n", "1,-1 1:1\n", "-1,-1 1:1\n"),
        *("1.5 1:1\n", "1e400 1:1\n", "1 1:1e400\n", "1 1:-1e400\n", "1 1:1_0\n", "1_0 1:1\n", "1 1_0:1\n"),
        *("nan 1:1\n", "1 1:inf\n", "1 qid:1 1:1\n", "1 1:1\r2:1\n", "1 1:1\x0b2:1\n", "1 1:1\x0c\n", "1 1:1\x1c\n"),
        *("1 1:1\x002:1\n", "1 1:1\u20282:1\n", "1 1:٣\n", "1 1:1\n1:\n", "1 1:1:1\n", "1 1\n", ", 1:1\n", "1, 1:1\n"),
        *(
            "1 1:0x1\n",
            "1 1: 2:1\n",
            "1 1:1e\n",
            "1 :1\n",
            "1 1.0:1\n",
            "1 1e0:1\n",
            "1 1:1 #\n\n1 1:1\n",
            "1\n\n# c c\n1 1:1\n",
            "1 -1:1\n",
        ),
        *("1 1:1\n-1 1:1\n", "-1 1:1\n", "5 12:1\n", "2 1:1\n", "1 0:1\n"),
        *(b"1 1:1\n\xff 1:1\n", b"\x1f\x8b", b"\xff\xfe1"),
    ],
)
@pytest.mark.parametrize(
    "how",
    [
        *({}, {"zero_based": True}, {"n_features": 3}, {"n_features": 3 * 10**9}, {"max_features": 10**19}),
        *({"label_ids": ["2", "1"]}, {"label_ids": []}, {"label_ids": ["1", "1"]}, {"max_bytes": 7}),
    ],
    ids=str,
)
def test_what_scikit_learn_reads_otherwise_is_read_as_before(tmp_path, monkeypatch, text, how):
    monkeypatch.setattr(_svmlight, "BATCH", 3)
    quick, slow = both(svm(tmp_path, text), **how)
    assert quick == slow


@pytest.mark.parametrize("end", ["", " 1:1\n"])
@pytest.mark.parametrize("most", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_all_tiny_files(tmp_path, end, most):
    for size in range(most + 1):
        for letters in itertools.product("10 :-\n#", repeat=size):
            quick, slow = both(svm(tmp_path, "".join(letters) + end), zero_based=size % 2 == 0)
            assert quick == slow, letters


WORDS = ["1", "0", "-1", "2,1", "1:1", "2:0", "3:-2.5e-3", "10:1e+5", "+3:1", "-0:1", "0:1", "0" * 18 + "4:1", "5:1_0",
         "5:1e999", "nan", "#", " ", "\t", "\n", "\r\n", "\r", "\x0b", "é"]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(
    words=st.lists(st.sampled_from(WORDS), max_size=12),
    glue=st.sampled_from([" ", " ", "\t", "\n", ""]),
    head=st.sampled_from(["1,2 1:0.5 7:1e3\n", "# c\n", ""]),
    how=st.sampled_from([{}, {"zero_based": True}, {"n_features": 7}, {"label_ids": ["1", "2"]}]),
    batch=st.sampled_from([0, 9, 1 << 18]),
)
def test_mixed_files(tmp_path_factory, words, glue, head, how, batch):
    path = svm(tmp_path_factory.mktemp("svm"), head + glue.join(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_svmlight, "BATCH", batch)
        quick, slow = both(path, **how)
    assert quick == slow


def test_limits_hold_with_scikit_learn(tmp_path, monkeypatch):
    monkeypatch.setattr("nmlsdr.datasets._files.ALWAYS_ALLOWED", 1 << 18)
    for text, name in ((gzip.compress(b"1 1:1\n" * 20_000), "t.svm.gz"), (b"1 1:1\n" * 100, "t.svm")):
        quick, slow = both(svm(tmp_path, text, name), max_bytes=None if name.endswith("gz") else 50)
        assert quick == slow
        assert "more than" in slow


def test_a_table_of_labels_is_bounded_by_the_size_of_the_file(tmp_path):
    refused(["3000 rows and 3000 labels, a table of"], svm(tmp_path, "".join(f"{j} 1:1\n" for j in range(3000))))


def test_no_file_is_left_open(tmp_path):
    """A file of another encoding is read whole; pytest turns what Python says of an open file into an error."""
    refused(["max_bytes=3"], svm(tmp_path, "1 1:1\n".encode("utf-16")), max_bytes=3)
