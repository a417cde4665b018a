"""A package of Cython, C and C++ that is built against this one, as tests/embedding shows: the bits of Python."""

import contextlib
import importlib
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from c_api_table import case
from c_headers import NOT_FINITE
from neighbor_cases import assert_same, scan

import nmlsdr
from nmlsdr import graph, propagation


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


@pytest.mark.slow
def test_the_c_module_is_of_the_stable_abi(small_package):
    assert os.name == "nt" or len([*small_package.glob("spread.abi3.*"), *small_package.glob("threads.abi3.*")]) == 2


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


# ---------------------------------------------------------------- a program with its own main


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
