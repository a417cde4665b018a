"""include/nmlsdr/neighbors.h in programs without Python: bits, by several compilers, sanitizers and SIMD levels."""

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from c_headers import (
    BAD_GRAPH,
    BAD_K,
    BAD_SIZE,
    BAD_VALUE,
    MEMORY,
    NOT_FINITE,
    NULL_POINTER,
    OK,
    RACES,
    SOURCES,
    UNKNOWN_NAME,
    WARNINGS,
    compiled,
    learned_bits,
    output,
    shared_library,
)
from neighbor_cases import LEVELS, MAKERS, assert_same, make
from scipy import sparse

import nmlsdr
from nmlsdr import _graph
from nmlsdr.graph import kneighbors, radius_neighbors

EXACT = {
    "gcc": ["gcc", "-std=c99", "-O1"],
    "gcc, OpenMP, this processor": ["gcc", "-std=gnu11", "-O3", "-march=native", "-fopenmp"],  # GCC would fuse here
    "plain numbers": ["gcc", "-std=c99", "-O2", "-DNMLSDR_SCALAR", "-DNMLSDR_PORTABLE_ONLY"],
    "gcc, memory": ["gcc", "-std=c99", "-O0", *MEMORY],  # -O1 takes seven times as long to compile
    "clang, memory": ["clang", "-std=c99", "-O0", *MEMORY],
    "clang, races": ["clang", "-std=c99", "-O1", *RACES],
}
CPP = {"g++, memory": ["g++", "-O0", *MEMORY], "g++, races": ["g++", "-O1", *RACES], "clang++": ["clang++", "-O1"]}


def parts(rows):
    """The arrays of rows, in the order in which the program reads them."""
    if not sparse.issparse(rows):
        return [rows]
    return [rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data]


def request_bytes(X, k, Q=None, metric="euclidean", n_threads=2):
    numbers = [int(X.dtype == np.float64), int(metric == "cosine"), int(sparse.issparse(X)), *X.shape]
    numbers += [-1 if Q is None else Q.shape[0], k, n_threads]
    arrays = [np.array(numbers, np.int64), *parts(X), *([] if Q is None else parts(Q))]
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


def answers(program, cases, **environment):
    """What the program finds for (X, k, Q, metric, ...): code, distances, neighbours, and rows within a radius."""
    requests = b"".join(request_bytes(*case) for case in cases)
    process = subprocess.run(
        [program], input=requests, capture_output=True, env={**os.environ, **environment}, check=False
    )
    assert process.returncode == 0, process.stderr.decode()
    outputs = []
    at = 0
    for X, k, Q, *_ in cases:
        shape = X.shape[0] if Q is None else Q.shape[0], k
        size = shape[0] * k
        code = np.frombuffer(process.stdout, np.int64, 1, at)[0]
        distances = np.frombuffer(process.stdout, np.float64, size, at + 8).reshape(shape)
        neighbors = np.frombuffer(process.stdout, np.int64, size, at + 8 + 8 * size).reshape(shape)
        at += 8 + 16 * size
        near = np.frombuffer(process.stdout, np.int64, shape[0] + 2, at)  # the code, and indptr
        at += near.nbytes
        within = np.frombuffer(process.stdout, np.float64, near[-1], at)
        columns = np.frombuffer(process.stdout, np.int32, near[-1], at + 8 * near[-1])
        at += 12 * near[-1]
        outputs.append((code, distances, neighbors, near, within, columns))
    assert at == len(process.stdout)
    return outputs


def hostile(n=210):
    """Rows that break searches: few and many features and queries, zeros, dense and CSR, both types."""
    cases = []
    for number, name in enumerate(MAKERS):
        for d in (3, 20):
            X = make(name, (n, d), 5)
            Q = make(name, (30 if d == 20 else 260, d), 6)
            X[[5, 6, 100]] = 0
            Q[[2, 3]] = 0
            metric = "cosine" if number % 2 == d % 2 else "euclidean"
            cases += [(X, 7, None, metric), (X, 7, Q, metric), (X, 7, Q[:3], metric), (X[:9], 9, Q[:9], "cosine")]
            if np.abs(X).max() < 1e30 and np.abs(Q).max() < 1e30:
                narrow = X.astype(np.float32), 7, Q[:40].astype(np.float32)
                cases += [(*narrow, metric), (*narrow, "euclidean")]
            sparse_pair = sparse.csr_array(X * (make("gauss", X.shape, 1) < -1)), sparse.csr_array(Q * (Q < 0))
            cases += [(sparse_pair[0], 7, None, metric), (sparse_pair[0], 7, sparse_pair[1], metric)]
    stored = sparse_pair[0].copy()
    stored.data[stored.indptr[20] : stored.indptr[23]] = 0  # zeros that are stored
    cases += [(stored, 7, None, "cosine"), (stored, 7, sparse_pair[1], "cosine")]
    zeros = np.zeros((5, 12))
    cases += [
        (zeros, 4, None, "cosine"),
        (zeros, 5, zeros[:2] + 1, "cosine"),
        (zeros + np.eye(5, 12), 5, zeros, "cosine"),
    ]
    empty = sparse.csr_array((6, 9))
    return [*cases, (empty, 3, empty[:2], "euclidean"), (empty, 3, None, "cosine"), (X, 3, Q[:0], "cosine")]


@pytest.mark.slow
@pytest.mark.parametrize("compiler", [f"{name}-" for name in EXACT])
def test_a_program_without_python_finds_the_bits_of_python(compiler, tmp_path):
    """With one index for eight threads, which the program compares with itself."""
    command = EXACT[compiler[:-1]]
    program = compiled(command, "answer.c", tmp_path)
    cases = hostile()
    expected = [kneighbors(X, k, queries=Q, metric=metric) for X, k, Q, metric in cases]
    within = [
        radius_neighbors(X, distances[0, -1] if len(distances) else 0.0, queries=Q, metric=metric)
        for (X, _, Q, metric), (distances, _) in zip(cases, expected, strict=True)
    ]
    levels = LEVELS[:1] if compiler == "plain numbers-" else LEVELS if compiler == "gcc-" else LEVELS[-1:]
    for level in [_graph.SIMD_LEVELS[level] for level in levels]:
        every = zip(cases, answers(program, cases, NMLSDR_SIMD=level), expected, within, strict=True)
        for case, answer, expected_neighbors, near in every:
            assert answer[0] == 0
            distances = answer[1] if case[3] == "cosine" else np.sqrt(answer[1])
            assert_same((distances, answer[2]), expected_neighbors)
            assert answer[3].tolist() == [0, *near.indptr]
            assert (answer[4] if case[3] == "cosine" else np.sqrt(answer[4])).tobytes() == near.data.tobytes()
            assert answer[5].tolist() == near.indices.tolist()
    if shutil.which("ldd") and "memory" not in compiler and "races" not in compiler:
        assert "python" not in output("ldd", program)


FOUND = "0 1 2 3 k must be from 1 to the number of rows, or to one less where the rows search among themselves.\n"


@pytest.mark.slow
@pytest.mark.parametrize("compiler", CPP)
def test_threads_of_cpp_share_an_index(compiler, tmp_path):
    """And a k of 10^18 is refused before memory for so many neighbours is allocated."""
    assert output(compiled([*CPP[compiler], "-std=c++17"], "threads_alone.cpp", tmp_path)) == FOUND


@pytest.mark.slow
@pytest.mark.parametrize(
    ("compiler", "standard", "source"), [("gcc", "c99", "answer.c"), ("g++-posix", "c++17", "threads_alone.cpp")]
)
def test_mingw_compiles_and_links_for_windows(compiler, standard, source, tmp_path):
    """The programs are not run: there is no Windows here."""
    program = compiled([f"x86_64-w64-mingw32-{compiler}", "-O1", f"-std={standard}"], source, tmp_path)
    assert program.with_suffix(".exe").read_bytes()[:2] == b"MZ"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where the files are, as a Python tells that finds none of the packages that nmlsdr depends on."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(nmlsdr.__file__).parent, site / "nmlsdr", ignore=shutil.ignore_patterns("__pycache__", "*.c"))
    # -S: no site-packages
    return lambda option: output(sys.executable, "-S", "-m", "nmlsdr", option, PYTHONPATH=str(site)).strip()


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("g++")), reason="no CMake, or no g++")
def test_cmake_finds_the_headers_where_nothing_else_is_installed(installed, tmp_path):
    project = shutil.copytree(SOURCES, tmp_path / "project") / "CMakeLists.txt"
    configure = ["cmake", "-S", project.parent, "-B", tmp_path, f"-Dnmlsdr_DIR={installed('--cmakedir')}"]
    output(*configure)
    output("cmake", "--build", tmp_path)
    assert output(tmp_path / "neighbors") == FOUND
    assert output(tmp_path / "learn", "bits") == learned_bits()
    if shutil.which("ldd"):
        for program in ("neighbors", "learn"):
            assert "python" not in output("ldd", tmp_path / program)
    example = project.read_text()
    for version in ("0.0.1", nmlsdr.__version__):
        project.write_text(example.replace("find_package(nmlsdr", f"find_package(nmlsdr {version}"))
        output(*configure)
    for version in ("0.999", "1", "99"):
        project.write_text(example.replace("find_package(nmlsdr", f"find_package(nmlsdr {version}"))
        with pytest.raises(AssertionError, match=f"version: {nmlsdr.__version__}"):
            output(*configure)


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_pkg_config_finds_the_headers(installed):
    folder = {"PKG_CONFIG_PATH": installed("--pkgconfigdir")}
    flags = output("pkg-config", "--cflags", "nmlsdr", **folder)
    assert Path(flags.strip().removeprefix("-I")).resolve() == Path(installed("--includedir"))
    assert output("pkg-config", "--modversion", "nmlsdr", **folder).strip() == nmlsdr.__version__


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("-Ofast", "-ffast-math"),
        ("-ffinite-math-only", "-ffinite-math-only"),
        ("-funsafe-math-optimizations", "-funsafe-math-optimizations"),
        ("-fassociative-math -fno-signed-zeros -fno-trapping-math", "-fassociative-math"),
        ("-freciprocal-math", "-freciprocal-math"),
        ("-mfpmath=387", "-mfpmath=387"),
    ],
)
def test_options_that_change_results_are_refused(option, sentence, tmp_path):
    if "387" in option and platform.machine() != "x86_64":
        pytest.skip("an option of x86")
    with pytest.raises(AssertionError, match=f"error: #error .*{sentence}"):
        compiled(["gcc", "-fsyntax-only", *option.split()], "alone.c", tmp_path)
    assert compiled(["gcc", "-fsyntax-only", "-O3", "-march=native"], "alone.c", tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_a_file_may_have_declarations_alone(tmp_path):
    header = Path(nmlsdr.get_include(), "nmlsdr", "neighbors.h")
    objects = [tmp_path / "first.o", tmp_path / "second.o"]
    base = ["gcc", "-std=c99", *WARNINGS, f"-I{nmlsdr.get_include()}", "-DNMLSDR_EXTERN", "-c"]
    output(*base, SOURCES / "alone.c", "-o", objects[0])
    output(*base, "-DNMLSDR_IMPLEMENTATION", "-x", "c", header, "-o", objects[1])
    output("gcc", *objects, "-lm", "-o", tmp_path / "program")
    assert output(tmp_path / "program") == "0: 2\n1: 2\n2: 0\n3: 1\n"
    assert objects[0].stat().st_size < 15_000


class Rows(ctypes.Structure):
    _fields_ = (
        *(("kind", ctypes.c_int), ("n", ctypes.c_ssize_t), ("d", ctypes.c_ssize_t)),
        *((name, ctypes.c_void_p) for name in ("data", "columns", "indptr")),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return shared_library(tmp_path_factory.mktemp("library"), "neighbors.h")


def described(rows, **changes):
    held = parts(rows)
    kind = int(rows.dtype == np.float64) + 2 * sparse.issparse(rows)
    at = [array.ctypes.data for array in reversed(held)] + [None] * (3 - len(held))
    made = Rows(kind, *rows.shape, *at)
    for name, value in changes.items():
        setattr(made, name, value)
    made.held = held
    return made


def nearest(library, rows, queries=None, metric=0, k=2, **outputs):
    """The code of a search of rows, or of an index."""
    out = {"distances": np.empty(400), "neighbors": np.empty(400, np.intp)} | outputs  # 20 rows, k up to 20
    at = [None if array is None else array.ctypes for array in out.values()]
    pointers = [None if struct is None else ctypes.byref(struct) for struct in (rows, queries)]
    if isinstance(rows, ctypes.c_void_p):
        return library.nmlsdr_index_query(rows, pointers[1], ctypes.c_ssize_t(k), *at, 1)
    return library.nmlsdr_nearest(*pointers, metric, ctypes.c_ssize_t(k), *at, 1)


def test_the_header_refuses_what_is_out_of_range(library, rng, monkeypatch):
    X = rng.standard_normal((20, 9))
    Q = rng.standard_normal((3, 9))
    S = sparse.csr_array(X * (X > 0))
    for rows, query_rows in ((X, Q), (S, sparse.csr_array(Q))):
        row_struct = described(rows)
        queries = described(query_rows)
        assert nearest(library, row_struct, queries) == OK
        for changes, code in (
            *((({"kind": kind}), UNKNOWN_NAME) for kind in (-1, 4)),
            *((({"n": n}), BAD_SIZE) for n in (-1, 0, 2**31 - 1, 2**62)),
            *((({"d": d}), BAD_SIZE) for d in (0, -1, 2**31 - 1 if query_rows is not Q else 2**63 // 48 + 1, 2**62)),
            ({"data": None}, NULL_POINTER),
        ):
            assert nearest(library, described(rows, **changes), queries) == code, changes
            if changes != {"n": 0}:
                assert nearest(library, row_struct, described(query_rows, **changes)) == code, changes
        nothing = {"distances": None, "neighbors": None}
        for k, code in ((1, OK), (0, BAD_K)):
            assert nearest(library, row_struct, described(query_rows, n=0, data=None), k=k, **nothing) == code
        assert nearest(library, row_struct, described(query_rows, d=8)) == (BAD_SIZE if query_rows is Q else BAD_GRAPH)
        for k, code in ((0, BAD_K), (20, OK), (21, BAD_K), (2**62, BAD_K)):
            assert nearest(library, row_struct, queries, k=k) == code
        for k, code in ((19, OK), (20, BAD_K)):
            assert nearest(library, row_struct, k=k) == code
        for metric in (-1, 2):
            assert nearest(library, row_struct, metric=metric) == UNKNOWN_NAME
        for name in ("distances", "neighbors"):
            assert nearest(library, row_struct, **{name: None}) == NULL_POINTER
        for value in (np.nan, np.inf, -1e151):
            wrong = rows.copy()
            parts(wrong)[-1].reshape(-1)[-1] = value
            assert nearest(library, described(wrong)) == nearest(library, row_struct, described(wrong)) == NOT_FINITE
        narrow = rows.astype(np.float32)
        parts(narrow)[-1].reshape(-1)[0] = -np.inf
        assert nearest(library, described(narrow)) == NOT_FINITE
    assert nearest(library, described(X), described(S)) == BAD_SIZE
    assert nearest(library, None, described(X)) == NULL_POINTER
    monkeypatch.setenv("NMLSDR_SIMD", "sse9")
    assert nearest(library, described(X)) == UNKNOWN_NAME
    assert library.nmlsdr_index_new(ctypes.byref(described(X)), 0, None, 1) == UNKNOWN_NAME
    monkeypatch.delenv("NMLSDR_SIMD")
    assert library.nmlsdr_index_new(ctypes.byref(described(X)), 0, None, 1) == NULL_POINTER
    assert nearest(library, ctypes.c_void_p(), described(X)) == NULL_POINTER

    held = ctypes.c_void_p(7)
    wrong = np.full_like(Q, np.nan)
    for rows, metric, code in (
        (None, 0, NULL_POINTER),
        (described(X, n=0), 0, BAD_SIZE),
        (described(wrong), 1, NOT_FINITE),
        (described(X), 2, UNKNOWN_NAME),
        (described(X, kind=4), 0, UNKNOWN_NAME),
        (described(X), 1, OK),
    ):
        assert held.value == 7  # what it was before
        row_struct = None if rows is None else ctypes.byref(rows)
        assert library.nmlsdr_index_new(row_struct, metric, ctypes.byref(held), 1) == code
    for rows, k, outputs, code in (
        (Q, 20, {}, OK),
        (Q, 21, {}, BAD_K),
        (Q, 0, {}, BAD_K),
        (Q[:, :8].copy(), 2, {}, BAD_SIZE),
        (S, 2, {}, BAD_SIZE),
        (wrong, 2, {}, NOT_FINITE),
        (Q, 2, {"neighbors": None}, NULL_POINTER),
        (Q[:0], 2, nothing, OK),
    ):
        assert nearest(library, held, described(rows), k=k, **outputs) == code
    assert nearest(library, held, None) == NULL_POINTER
    monkeypatch.setenv("NMLSDR_SIMD", "sse9")
    assert nearest(library, held, described(Q)) == UNKNOWN_NAME
    for index in (held, None):
        library.nmlsdr_index_free(index)


def test_broken_csr_rows_are_refused(library):
    def code(pointers, places, neighbors=None, **changes):
        held = np.ones(len(places)), np.array(places, np.int32), np.array(pointers, np.int64)
        rows = Rows(3, 2, 4, *(array.ctypes.data for array in held))
        for name, value in changes.items():
            setattr(rows, name, value)
        return nearest(library, rows, k=1, **({} if neighbors is None else {"neighbors": neighbors}))

    assert code([0, 2, 4], [0, 3, 1, 2]) == OK
    for indptr, columns in (
        ([1, 2, 4], [0, 3, 1, 2]),
        ([0, 3, 2], [0, 1, 2, 3]),
        ([0, 2, 4], [3, 0, 1, 2]),
        ([0, 2, 4], [0, 3, 1, 1]),
        ([0, 2, 4], [0, 4, 1, 2]),
        ([0, 2, 4], [-1, 3, 1, 2]),
    ):
        assert code(indptr, columns) == BAD_GRAPH, (indptr, columns)
    assert code([0, 2, 4], [0, 3, 1, 2], indptr=None) == NULL_POINTER
    assert code([0, 2, 4], [0, 3, 1, 2], columns=None) == NULL_POINTER
    neighbor_indices = np.empty(400, np.intp)
    assert code([0, 0, 0], [0], columns=None, data=None, neighbors=neighbor_indices) == OK  # nothing is stored
    assert neighbor_indices[:2].tolist() == [1, 0]


def test_the_header_refuses_a_radius_that_is_out_of_range(library, rng):
    X = rng.standard_normal((20, 9))
    row_struct = described(X)
    indptr = np.zeros(21, np.int64)
    distances = np.empty(400)
    columns = np.empty(400, np.int32)

    def count(radius=2.0, queries=None, metric=0, out=indptr, rows=row_struct):
        query_pointer = None if queries is None else ctypes.byref(queries)
        held = None if rows is None else ctypes.byref(rows)
        at = None if out is None else out.ctypes
        return library.nmlsdr_radius_count(held, query_pointer, metric, ctypes.c_double(radius), at, 2)

    def fill(radius, pointers, where=distances, numbers=columns):
        at = [None if array is None else array.ctypes for array in (pointers, where, numbers)]
        return library.nmlsdr_radius_fill(ctypes.byref(row_struct), None, 0, ctypes.c_double(radius), *at, 2)

    assert count() == OK
    assert fill(2.0, indptr) == OK
    expected = radius_neighbors(X, 2.0)
    assert indptr.tolist() == expected.indptr.tolist()
    assert np.sqrt(distances[: expected.nnz]).tobytes() == expected.data.tobytes()
    assert columns[: expected.nnz].tolist() == expected.indices.tolist()
    for radius in (0.0, 1.0, 3.0):  # indptr belongs to another radius
        assert fill(radius, indptr) == BAD_SIZE
    for wrong in (indptr + 1, indptr[::-1].copy()):
        assert fill(2.0, wrong) == BAD_SIZE
    assert fill(2.0, None) == fill(2.0, indptr, where=None) == fill(2.0, indptr, numbers=None) == NULL_POINTER
    assert count(out=None) == count(rows=None) == NULL_POINTER
    for radius in (-1.0, np.nan):
        assert count(radius) == BAD_VALUE
    assert count(np.inf) == OK
    assert indptr[-1] == 380
    assert count(metric=2) == UNKNOWN_NAME
    assert count(queries=described(X[:3, :8].copy())) == BAD_SIZE
    assert count(queries=described(np.full((3, 9), np.nan))) == NOT_FINITE
    assert count(queries=described(X, n=-1)) == count(queries=described(X, n=2**31)) == BAD_SIZE
