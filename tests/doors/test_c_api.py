"""Other packages' Cython and C call search, graph, T and propagation, as tests/embedding does; and every refusal."""

import contextlib
import ctypes
import importlib
import multiprocessing
import os
import pydoc
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from neighbor_cases import assert_same, scan
from scipy import sparse

import nmlsdr
from nmlsdr import c_api, graph, propagation


def case(n=400, d=7, n_labels=3, n_isolated=0):
    """Rows in two far groups, a tenth labelled, all of them in the first group if `n_isolated`."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X[n - n_isolated :] += 100
    Y = (rng.random((n, n_labels)) < 0.4).astype(float)
    labeled = (np.arange(n) % 10 == 0) & (np.arange(n) < n - n_isolated)
    return X, Y, np.where(labeled, 0.2, 0.95), labeled


# ---------------------------------------------------------------- a package that was built against this one


@pytest.fixture(scope="module")
def small_package(tmp_path_factory):
    """The folder where the small package of tests/embedding was built against this installation."""
    pytest.importorskip("Cython", reason="building the small package needs Cython")
    folder = tmp_path_factory.mktemp("embedding")
    shutil.copytree(Path(__file__).parents[1] / "embedding", folder, dirs_exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(Path(nmlsdr.__file__).parent.parent), "CFLAGS": "-O0"}
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 8])
def test_cython_goes_from_rows_to_soft_labels_with_the_bits_of_python(small_package, k):
    embedder = importlib.import_module("embedder")
    X, Y, alpha, labeled = case()
    n = len(X)
    squared = np.empty((n, k))
    neighbors = np.empty((n, k), np.intp)
    indptr = np.empty(n + 1, np.int64)
    columns = np.full(2 * n * k, -7, np.int32)
    F = np.empty_like(Y)
    copies = [X.copy(), Y.copy(), alpha.copy(), labeled.copy()]
    edges, quality = embedder.soft_labels(X, Y, alpha, labeled.view(np.uint8), squared, neighbors, indptr, columns, F)
    for before, after in zip(copies, (X, Y, alpha, labeled), strict=True):
        np.testing.assert_array_equal(before, after)
    W = graph.neighbor_graph(X, k)
    assert edges == W.nnz
    np.testing.assert_array_equal(indptr, W.indptr)
    np.testing.assert_array_equal(columns[:edges], W.indices)
    assert (columns[edges:] == -7).all()
    with pytest.warns(UserWarning, match="without a labelled row") if k == 1 else contextlib.nullcontext():
        expected = propagation.propagate(W, Y, alpha, labeled=labeled)
    np.testing.assert_array_equal(F, expected.F)
    expected_quality = {name: getattr(expected, name) for name in ("residual", "error_bound", "n_iter", "n_unreached")}
    assert quality == expected_quality


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_c_fills_t_and_soft_labels_with_the_bits_of_python(small_package, weighted):
    spread = importlib.import_module("spread")
    X, Y, alpha, labeled = case()
    Y[~labeled] = 0
    W = graph.neighbor_graph(X, 8, edge_weights="rbf" if weighted else "binary")
    T = np.empty(W.nnz)
    F = np.empty_like(Y)
    weights = W.data if weighted else None
    residual = spread.spread(W.indptr.astype(np.int64), W.indices.astype(np.int32), weights, Y, alpha, T, F)
    np.testing.assert_array_equal(T, graph.transition_matrix(W).data)
    expected = propagation.propagate(W, Y, alpha)
    np.testing.assert_array_equal(F, expected.F)
    assert residual == expected.residual


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_cython_and_c_search_through_an_index(small_package, metric, rng):
    X = rng.integers(-3, 4, (300, 9)).astype(float)
    Q = rng.standard_normal((12, 9))
    expected = graph.kneighbors(X, 4, queries=Q, metric=metric)
    distances = np.empty((12, 4))
    indices = np.empty((12, 4), np.intp)
    cosine = metric == "cosine"
    assert importlib.import_module("nearest").through_index(X, Q, distances, indices, 4, cosine) == 0
    assert_same((distances if cosine else np.sqrt(distances), indices), expected)
    if cosine:
        distances[:] = -1
        indices[:] = -1
        assert importlib.import_module("spread").by_angle(X, Q, 9, 4, distances, indices) == 0
        assert_same((distances, indices), expected)
        Q[0, 0] = np.nan
        assert importlib.import_module("spread").by_angle(X, Q, 9, 4, distances, indices) == NOT_FINITE


@pytest.mark.slow
def test_threads_of_cpp_search_one_index_without_the_gil(small_package, rng):
    X = rng.integers(-3, 4, (301, 9)).astype(float)
    squared = np.empty((301, 4))
    indices = np.empty((301, 4), np.intp)
    by_threads = importlib.import_module("threads").by_threads
    by_threads(X, 9, 4, squared, indices)
    assert_same((np.sqrt(squared), indices), graph.kneighbors(X, 4, queries=X))
    with pytest.raises(RuntimeError, match="nmlsdr: k must be from 1"):
        by_threads(X[:3].copy(), 9, 4, squared, indices)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["spread", "threads", "embedder", "nearest"])
def test_a_module_loads_nmlsdr_in_a_process_that_has_imported_nothing(small_package, module):
    """Rows of one feature 0, 1, 3: searched by a module that is the first import of its process."""
    calls = {
        "spread": "f.by_angle(b(1, 2, 3), b(1, 1, 1), 1, 1, squared, found)",
        "threads": "f.by_threads(b(0, 1, 3), 1, 1, squared, found)",
    }
    program = f"""
import {module} as f
from array import array
b = lambda *numbers: array("d", map(float, numbers))
squared, found = b(9, 9, 9), array("q", [-1] * 3)
{calls.get(module, "found = [0] * 3")}
print(*found)
"""
    environment = {**os.environ, "PYTHONPATH": str(small_package)}
    process = subprocess.run(
        [sys.executable, "-P", "-c", program], env=environment, capture_output=True, text=True, check=False
    )
    expected = "0 1 2" if module == "threads" else "0 0 0"
    assert process.stdout.split() == expected.split(), process.stderr


@pytest.mark.skipif(not shutil.which("g++"), reason="no g++")
@pytest.mark.parametrize(("source", "standard"), [("spread.c", "c11"), ("program.c", "c11"), ("threads.cpp", "c++17")])
def test_the_examples_and_the_header_compile_without_a_warning(source, standard):
    """Python's own headers are not asked for more than they promise."""
    compiler = "g++" if source.endswith("cpp") else "gcc"
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    folders = ["-isystem", sysconfig.get_path("include"), f"-I{nmlsdr.get_include()}"]
    file = Path(__file__).parents[1] / "embedding" / source
    command = [compiler, f"-std={standard}", *warnings, *folders, "-fsyntax-only", file]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The example with main(), compiled."""
    library = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("LDLIBRARY") or "none")
    if not shutil.which("gcc") or library.suffix != ".so" or not library.is_file():
        pytest.skip("no gcc, or this Python has no shared library")
    folders = [f"-I{sysconfig.get_path('include')}", f"-I{nmlsdr.get_include()}"]
    file = Path(__file__).parents[1] / "embedding" / "program.c"
    program = tmp_path_factory.mktemp("main") / "program"
    subprocess.run(["gcc", *folders, file, library, f"-Wl,-rpath,{library.parent}", "-o", program], check=True)
    return program


@pytest.mark.slow
def test_a_program_with_main_links_python_and_finds_neighbours(program):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert process.stdout == "0: 2 1\n1: 2 0\n2: 0 1\n3: 1 2\n", process.stderr


@pytest.mark.slow
def test_a_program_is_told_why_nmlsdr_could_not_be_imported(program, tmp_path):
    (tmp_path / "nmlsdr").mkdir()
    (tmp_path / "nmlsdr" / "__init__.py").write_text("import a_package_that_is_missing")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    process = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert "No module named 'a_package_that_is_missing'" in process.stderr
    assert process.returncode == 1


def test_the_capsule_is_found_by_a_process_that_has_imported_nothing():
    """What nmlsdr_import() of the header calls."""
    program = """
import ctypes
find = ctypes.pythonapi.PyCapsule_Import
find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
print(find(b"nmlsdr.c_api.TABLE", 0) is not None)
"""
    process = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert process.stdout == "True\n", process.stderr


@pytest.mark.slow
def test_the_c_module_is_of_the_stable_abi(small_package):
    assert os.name == "nt" or len([*small_package.glob("spread.abi3.*"), *small_package.glob("threads.abi3.*")]) == 2


# ---------------------------------------------------------------- the search from such a package


@pytest.fixture(scope="module")
def nearest(small_package):
    return importlib.import_module("nearest")


def neighbors(nearest, X, k, queries=None, n_threads=2):
    shape = (len(X if queries is None else queries), k)
    squared = np.full(shape, np.nan)
    indices = np.full(shape, -1, np.intp)
    if queries is None:
        code = nearest.own(X, squared, indices, k, n_threads)
    else:
        code = nearest.to(X, queries, squared, indices, k, n_threads)
    assert code == 0
    return squared, indices


@pytest.mark.slow
def test_the_number_of_the_interface_is_stated(nearest):
    assert nearest.abi() == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [6, 20])  # by the tree, by products
@pytest.mark.parametrize("n_queries", [None, 7, 300])  # among themselves, pair by pair, by the tree or products
def test_every_entry_point_gives_the_bits_of_the_package(nearest, dtype, d, n_queries):
    """More block pairs than one step does, on one thread and on three."""
    rng = np.random.default_rng(0)
    n = 5000 if d == 20 and n_queries is None else 700
    X = rng.standard_normal((n, d)).astype(dtype)
    Q = None if n_queries is None else rng.standard_normal((n_queries, d)).astype(dtype)
    expected = scan(X, 5, Q)
    for n_threads in (1, 3):
        assert_same(neighbors(nearest, X, 5, Q, n_threads), expected)


@pytest.mark.slow
@pytest.mark.parametrize("d", [6, 20])
def test_a_search_with_an_absurd_number_of_threads_has_as_many_as_it_can_use(nearest, rng, d):
    """100 000 threads would end the process, 5000 take minutes."""
    X = rng.standard_normal((300, d))
    for n_threads in (5000, 100_000, 2**31 - 1):
        assert_same(neighbors(nearest, X, 5, None, n_threads), scan(X, 5))
        assert_same(neighbors(nearest, X, 5, X[:4], n_threads), scan(X, 5, X[:4]))


# ---------------------------------------------------------------- the table itself, without a compiler


def table():
    """The functions of the capsule, as include/nmlsdr.h declares them."""
    P = ctypes.c_void_p
    size = ctypes.c_ssize_t
    number = ctypes.c_int
    kinds = [number]
    kinds += [ctypes.CFUNCTYPE(number, number, number, P, size, P, size, size, size, P, P, number)]
    kinds += [ctypes.CFUNCTYPE(size, P, size, size, P, P, number)]
    kinds += [ctypes.CFUNCTYPE(number, P, P, P, size, P, number)]
    kinds += [ctypes.CFUNCTYPE(number, P, P, P, size, P, size, P, P, ctypes.c_double, P, P, number)]
    kinds += [ctypes.CFUNCTYPE(number, number, number, P, size, size, P, number)]
    kinds += [ctypes.CFUNCTYPE(number, P, number, P, size, size, size, P, P, number)]
    kinds += [ctypes.CFUNCTYPE(None, P)]
    kinds += [ctypes.CFUNCTYPE(ctypes.c_char_p, number)]
    names = [
        "version",
        "nearest",
        "neighbor_graph",
        "transition_matrix",
        "propagate",
        "index_new",
        "index_query",
        "index_free",
        "message",
    ]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = P
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    kind = type("Table", (ctypes.Structure,), {"_fields_": list(zip(names, kinds, strict=True))})
    return kind.from_address(pointer(c_api.TABLE, b"nmlsdr.c_api.TABLE"))


class Quality(ctypes.Structure):
    _fields_ = (
        ("residual", ctypes.c_double),
        ("error_bound", ctypes.c_double),
        ("n_iter", ctypes.c_ssize_t),
        ("n_unreached", ctypes.c_ssize_t),
    )


def at(array):
    return None if array is None else array.ctypes.data


def transition(indptr, columns, weights=None, n=None, n_threads=1):
    values = np.full(max(len(columns), 1), np.nan)
    indptr = np.asarray(indptr, np.int64)
    columns = np.asarray(columns, np.int32)
    n = len(indptr) - 1 if n is None else n
    return table().transition_matrix(at(indptr), at(columns), at(weights), n, at(values), n_threads), values


def neighbor_graph(lists, n_threads=1):
    lists = np.ascontiguousarray(lists, np.intp)
    n, k = lists.shape
    indptr = np.empty(n + 1, np.int64)
    columns = np.empty(2 * n * k, np.int32)
    return table().neighbor_graph(at(lists), n, k, at(indptr), at(columns), n_threads), indptr, columns


def propagate(W, Y, alpha, labeled=None, tol=1e-8, quality=None, n_threads=2):
    F = np.full_like(Y, np.nan)
    indptr = W.indptr.astype(np.int64)
    columns = W.indices.astype(np.int32)
    quality_address = None if quality is None else ctypes.addressof(quality)
    code = table().propagate(
        at(indptr),
        at(columns),
        at(W.data),
        len(Y),
        at(Y),
        Y.shape[1],
        at(alpha),
        at(labeled),
        tol,
        at(F),
        quality_address,
        n_threads,
    )
    return code, F


def test_get_include_returns_the_folder_of_the_header_with_the_version_of_the_table():
    header = (Path(nmlsdr.get_include()) / "nmlsdr.h").read_text()
    assert f"#define NMLSDR_API {table().version}\n" in header


FLOAT32 = 0
FLOAT64 = 1
EUCLIDEAN = 0
COSINE = 1
CODES = [
    "OK",
    "NO_MEMORY",
    "NULL_POINTER",
    "NOT_FINITE",
    "BAD_K",
    "BAD_SIZE",
    "UNKNOWN_NAME",
    "BAD_GRAPH",
    "BAD_VALUE",
    "INTERRUPTED",
    "FAILED",
]
(OK, NO_MEMORY, NULL_POINTER, NOT_FINITE, BAD_K, BAD_SIZE, UNKNOWN_NAME, BAD_GRAPH, BAD_VALUE, INTERRUPTED, FAILED) = (
    range(0, -len(CODES), -1)
)


def search(rows, k, queries=None, metric=EUCLIDEAN, *, kind=None, index=None, n_threads=2):
    """What `nearest` answers, or `index_query` of an index; with the arrays that it filled."""
    shape = (len(rows if queries is None else queries), max(k, 0))
    distances = np.full(shape, np.nan)
    indices = np.full(shape, -1, np.intp)
    kind = int(rows.dtype == np.float64) if kind is None else kind
    n, d = rows.shape
    if index is None:
        q = 0 if queries is None else len(queries)
        code = table().nearest(kind, metric, at(rows), n, at(queries), q, d, k, at(distances), at(indices), n_threads)
    else:
        code = table().index_query(index, kind, at(queries), len(queries), d, k, at(distances), at(indices), n_threads)
    return code, distances, indices


def new_index(rows, metric=EUCLIDEAN):
    index = ctypes.c_void_p()
    kind = int(rows.dtype == np.float64)
    return table().index_new(kind, metric, at(rows), *rows.shape, ctypes.addressof(index), 2), index


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_nearest_and_an_index_return_the_bits_of_kneighbors(dtype, metric, rng):
    X = rng.integers(-2, 3, (300, 9)).astype(dtype)
    Q = rng.standard_normal((40, 9)).astype(dtype)
    # rows without a direction
    X[[3, 7]] = 0
    Q[2] = 0
    number = COSINE if metric == "cosine" else EUCLIDEAN

    def same(distances):
        return distances if metric == "cosine" else np.sqrt(distances)

    for queries in (None, Q):
        code, distances, indices = search(X, 5, queries, number)
        expected = graph.kneighbors(X, 5, queries=queries, metric=metric)
        assert code == 0
        assert_same((same(distances), indices), expected)
    code, index = new_index(X, number)
    assert code == 0
    expected = graph.kneighbors(X, 5, queries=Q, metric=metric)
    # the index has a copy
    copied_rows = X.copy()
    X[:] = 9
    for queries in (Q, Q.astype(np.float64)):  # of both types, and twice
        code, distances, indices = search(X, 5, queries, index=index, kind=int(queries.dtype == np.float64))
        assert code == 0
        assert_same((same(distances), indices), expected)
    assert search(X, 5, Q[:0], index=index)[0] == 0
    assert search(copied_rows, 301, Q, index=index)[0] == BAD_K
    assert search(copied_rows[:, :4].copy(), 3, Q[:, :4].copy(), index=index)[0] == BAD_SIZE
    table().index_free(index)
    table().index_free(None)


@pytest.mark.parametrize("n_threads", [0, -1, -(2**31)])
def test_a_number_of_threads_below_one_stands_for_all_cores(n_threads, monkeypatch):
    from nmlsdr._process import threads

    X, Y, alpha, _ = case(60)
    arguments = X, Y, alpha, graph.neighbor_graph(X, 5)
    expected = _every_function(*arguments)
    thread_requests = []
    monkeypatch.setattr(threads, "check_n_jobs", lambda n_jobs: thread_requests.append(n_jobs) or 2)
    outputs = _every_function(*arguments, n_threads=n_threads)
    assert thread_requests.count(None) == 1  # of `propagate`, the only call of Python
    for before, after in zip(expected, outputs, strict=True):
        np.testing.assert_array_equal(after, before)


def _every_function(X, Y, alpha, W, n_threads=2):
    """What each function of the table answers, in eight calls."""
    outputs = []
    for rows in (X.astype(np.float32), X):
        search_outputs = search(rows, 5, n_threads=n_threads)
        edges, indptr, columns = neighbor_graph(search_outputs[2], n_threads)
        outputs += [*search_outputs, *search(rows, 5, rows, n_threads=n_threads)]
    code, F = propagate(W, Y, alpha, n_threads=n_threads)
    T = transition(W.indptr, W.indices, W.data, n_threads=n_threads)
    return [*outputs, edges, indptr, columns[: max(edges, 0)], code, F, *T]


def _child(pipe, *arguments):
    pipe.send(_every_function(*arguments))
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
# Python 3.12 warns of any fork in a process with threads; libgomp's workers are threads.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("d", [7, 20])  # by the tree, by products
def test_every_function_works_in_a_forked_child(d):
    """The parent has run a team of two threads, which its child does not have."""
    X, Y, alpha, _ = case(3000, d)
    arguments = X, Y, alpha, graph.neighbor_graph(X, 5)
    expected = _every_function(*arguments)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, *arguments))
    child.start()
    theirs.close()
    try:
        assert ours.poll(60), "the forked child hangs"
        outputs = ours.recv()
        child.join(30)
    finally:
        child.kill()
    for before, after in zip(expected, outputs, strict=True):
        np.testing.assert_array_equal(after, before)


def test_the_forced_simd_level_applies_to_c_too(monkeypatch):
    X, Y, alpha, _ = case(3000, 20)
    W = graph.neighbor_graph(X, 5)
    arguments = X, Y, alpha, W
    expected = _every_function(*arguments)
    monkeypatch.setenv("NMLSDR_SIMD", "portable")
    outputs = _every_function(*arguments)
    for before, after in zip(expected, outputs, strict=True):
        np.testing.assert_array_equal(after, before)
    monkeypatch.setenv("NMLSDR_SIMD", "sse9")
    squared = np.empty((3000, 5))
    indices = np.empty((3000, 5), np.intp)
    arguments = at(X), 3000, None, 0, 20, 5, at(squared), at(indices), 2
    assert table().nearest(FLOAT64, EUCLIDEAN, *arguments) == UNKNOWN_NAME
    assert propagate(W, Y, alpha)[0] == UNKNOWN_NAME


def test_unreached_rows_are_counted_without_a_warning():
    """Warnings are errors in this suite; for C there are numbers."""
    X, Y, alpha, labeled = case(n_isolated=40)
    quality = Quality()
    code, F = propagate(graph.neighbor_graph(X, 5), Y, alpha, labeled.astype(np.uint8), quality=quality)
    assert code == 0
    assert quality.n_unreached == 40
    assert not F[-40:].any()
    assert quality.residual <= 1e-8
    assert quality.error_bound < 1e-6


def test_a_tolerance_that_is_not_reached_shows_in_the_residual():
    X, Y, alpha, labeled = case()
    quality = Quality()
    code, F = propagate(graph.neighbor_graph(X, 5), Y, alpha, labeled.astype(np.uint8), 1e-30, quality)
    assert code == 0
    assert 1e-30 < quality.residual < 1e-14
    assert np.isfinite(F).all()


def test_rows_without_edges_and_graphs_without_edges():
    code, values = transition([0, 0, 1, 2], [2, 1])
    assert (code, values.tolist()) == (0, [1.0, 1.0])
    assert transition([0, 0, 0], [])[0] == 0
    code, F = propagate(sparse.csr_array((2, 2)), np.array([[1.0], [0.0]]), np.array([0.5, 0.5]))
    assert (code, F.tolist()) == (0, [[0.5], [0.0]])  # (1 - alpha) Y


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


def test_absurd_thread_counts_are_clipped():
    X, Y, alpha, _ = case(60)
    W = graph.neighbor_graph(X, 5)
    np.testing.assert_array_equal(propagate(W, Y, alpha, n_threads=2**31 - 1)[1], propagate(W, Y, alpha)[1])


def test_help_shows_the_table_alone():
    text = pydoc.plain(pydoc.render_doc(c_api))
    assert re.findall(r"^(CLASSES|FUNCTIONS)", text, re.MULTILINE) == []
    assert c_api.__all__ == ["TABLE"]


@pytest.mark.parametrize(("error", "code"), [(MemoryError, NO_MEMORY), (RuntimeError, FAILED), (KeyError, FAILED)])
def test_errors_of_python_become_error_codes(monkeypatch, error, code):
    def stopped(*arguments, **options):
        raise error

    monkeypatch.setattr(propagation, "propagate_checked", stopped)
    _, Y, alpha, _ = case(60)
    W = sparse.csr_array((60, 60))
    assert propagate(W, Y, alpha)[0] == code


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
