"""What the C functions refuse, by which code: graphs, arguments out of range, NULL, errors of Python."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest
from c_api_table import (
    COSINE,
    EUCLIDEAN,
    FLOAT64,
    Quality,
    at,
    case,
    neighbor_graph,
    new_index,
    propagate,
    table,
    transition,
)
from c_headers import BAD_GRAPH, BAD_K, BAD_SIZE, BAD_VALUE, CODES, FAILED, NO_MEMORY, NOT_FINITE, NULL_POINTER, OK
from neighbor_cases import assert_same
from scipy import sparse

import nmlsdr
from nmlsdr import graph, propagation


@pytest.mark.parametrize(
    ("indptr", "columns", "weights", "answer"),
    [
        ([1, 1, 2], [0, 1], None, BAD_GRAPH),  # does not begin at 0
        ([0, 2, 1], [1, 0], None, BAD_GRAPH),  # falls
        ([0, 1, 2], [1, 2], None, BAD_GRAPH),  # no such row
        ([0, 1, 2], [-1, 0], None, BAD_GRAPH),
        ([0, 1, 2], [0, 1], None, BAD_GRAPH),  # a diagonal
        ([0, 2, 3, 4], [2, 1, 0, 0], None, BAD_GRAPH),  # not increasing
        ([0, 2, 2], [1, 1], None, BAD_GRAPH),  # twice
        ([0, 1, 1], [1], None, BAD_VALUE),  # one direction only
        ([0, 1, 2], [1, 0], [1.0, 2.0], BAD_VALUE),  # not symmetric
        ([0, 1, 2], [1, 0], [-1.0, -1.0], BAD_VALUE),
        ([0, 1, 2], [1, 0], [np.nan, np.nan], NOT_FINITE),
    ],
)
def test_an_invalid_graph_is_refused(indptr, columns, weights, answer):
    weights = None if weights is None else np.array(weights)
    code, values = transition(indptr, columns, weights)
    assert code == answer
    assert np.isnan(values).all()


@pytest.mark.parametrize("lists", [[[1], [1]], [[2], [0]], [[-1], [0]], [[1, 1], [0, 2], [0, 1]]])
def test_invalid_lists_are_refused(lists):
    assert neighbor_graph(lists)[0] == BAD_GRAPH


def test_arguments_out_of_range_are_refused():
    X, Y, alpha, _ = case(60)
    W = graph.neighbor_graph(X, 5)
    assert propagate(W, Y, alpha)[0] == 0
    for wrong in ({"Y": Y + 0.5}, {"alpha": alpha + 0.1}, {"alpha": -alpha}, {"tol": 0.0}, {"tol": np.nan}):
        values = {"Y": Y, "alpha": alpha, "tol": 1e-8} | wrong
        assert propagate(W, values["Y"], values["alpha"], None, values["tol"])[0] == BAD_VALUE
    for wrong in ({"Y": np.where(Y == 1, np.inf, Y)}, {"alpha": np.full(60, np.nan)}):
        values = {"Y": Y, "alpha": alpha} | wrong
        assert propagate(W, values["Y"], values["alpha"])[0] == NOT_FINITE
    assert propagate(W, Y[:, :0], alpha)[0] == BAD_SIZE
    assert transition(W.indptr, W.indices, n=0)[0] == BAD_SIZE
    assert neighbor_graph(np.zeros((2, 2), int))[0] == BAD_K  # k must be below n


def test_null_is_refused_wherever_the_header_does_not_allow_it():
    """A failed malloc of the caller is NULL; NumPy would make memory of its own for it."""
    X, Y, alpha, _ = case(60)
    W = graph.neighbor_graph(X, 5)
    lists = graph.kneighbors(X, 5)[1]
    indptr = W.indptr.astype(np.int64)
    columns = W.indices.astype(np.int32)
    squared = np.zeros((60, 5))
    indices = np.zeros((60, 5), np.intp)
    F = np.zeros_like(Y)
    values = np.zeros(W.nnz)
    pointers = np.zeros(61, np.int64)
    space = np.zeros(600, np.int32)
    index = new_index(X)[1]
    x = at(X)
    out = (at(squared), at(indices))
    quality_struct = Quality()
    graph_of = (at(indptr), at(columns))
    quality = ctypes.addressof(quality_struct)
    held = ctypes.addressof(index)
    calls = {  # the arguments, and the places of the pointers that may be NULL
        "nearest": ((FLOAT64, COSINE, x, 60, x, 60, 7, 5, *out, 1), ()),
        "neighbor_graph": ((at(lists), 60, 5, at(pointers), at(space), 1), ()),
        "transition_matrix": ((*graph_of, at(W.data), 60, at(values), 1), (2,)),
        "propagate": ((*graph_of, at(W.data), 60, at(Y), 3, at(alpha), None, 1e-8, at(F), quality, 1), (2, 10)),
        "index_new": ((FLOAT64, EUCLIDEAN, x, 60, 7, held, 1), ()),
        "index_query": ((index, FLOAT64, x, 60, 7, 5, *out, 1), ()),
    }
    assert {*calls} == {name for name, _ in table()._fields_} - {"version", "index_free", "message"}
    for name, (arguments, optional) in calls.items():
        places = [i for i, kind in enumerate(getattr(table(), name).argtypes) if kind is ctypes.c_void_p]
        for place in places:
            changed_arguments = [None if i == place else argument for i, argument in enumerate(arguments)]
            expected = arguments[place] is None or place in optional
            answer = getattr(table(), name)(*changed_arguments)
            assert (answer >= 0) if expected else (answer == NULL_POINTER), (name, place)
        if name != "index_new":
            assert getattr(table(), name)(*arguments) >= 0
    # no queries: success that writes nothing, but never the rows themselves, which NULL stands for in `nearest`
    squared[:] = -1
    indices[:] = -1
    assert table().index_query(index, FLOAT64, x, 0, 7, 5, *out, 1) == OK
    assert table().index_query(index, FLOAT64, None, 0, 7, 5, *out, 1) == NULL_POINTER
    assert (squared == -1).all()
    assert (indices == -1).all()
    table().index_free(index)
    # what has no entries needs no memory
    assert transition_of_nothing() == OK
    assert table().nearest(FLOAT64, EUCLIDEAN, x, 60, x, 0, 7, 5, None, None, 1) == OK
    assert table().nearest(FLOAT64, EUCLIDEAN, x, 60, None, 0, 7, 5, *out, 1) == OK  # the rows themselves
    assert_same((np.sqrt(squared), indices), graph.kneighbors(X, 5))


def transition_of_nothing():
    """T of two rows without an edge."""
    indptr = np.zeros(3, np.int64)
    return table().transition_matrix(at(indptr), None, None, 2, None, 1)


# ---------------------------------------------------------------- codes


@pytest.mark.parametrize(("error", "code"), [(MemoryError, NO_MEMORY), (RuntimeError, FAILED), (KeyError, FAILED)])
def test_errors_of_python_become_error_codes(monkeypatch, error, code):
    def stopped(*arguments, **options):
        raise error

    monkeypatch.setattr(propagation, "propagate_checked", stopped)
    _, Y, alpha, _ = case(60)
    W = sparse.csr_array((60, 60))
    assert propagate(W, Y, alpha)[0] == code


def test_every_code_has_a_name_in_both_headers_and_a_sentence():
    include = Path(nmlsdr.get_include())
    header = (include / "nmlsdr" / "codes.h").read_text()
    pxd = (include.parent / "c_api.pxd").read_text()
    codes = dict(zip(CODES, range(0, -len(CODES), -1), strict=True))
    assert {name: int(code) for name, code in re.findall(r"NMLSDR_(\w+) = (0|-\d+)\b", header)} == codes | {
        "FLOAT32": 0,
        "EUCLIDEAN": 0,
    }
    assert {name: int(code) for name, code in re.findall(r"^    (\w+) = (0|-\d+)$", pxd, re.MULTILINE)} == codes | {
        "FLOAT32": 0,
        "EUCLIDEAN": 0,
    }
    words = "Success memory NULL NaN k n_labels NMLSDR_SIMD indptr symmetric Ctrl-C error"
    for code, word in zip(codes.values(), words.split(), strict=True):
        sentence = table().message(code).decode()
        assert re.fullmatch(r"[A-Za-z][^.]*\.", sentence.replace("1e150.", "1e150 ."))
        assert word in sentence
    for code in (1, -len(CODES), -(2**31), 2**31 - 1):
        assert table().message(code) == b"Not a code of nmlsdr."
