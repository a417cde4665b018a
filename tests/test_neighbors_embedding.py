"""Another package's Cython cimports the search: a small one is built against this installation and run."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import nmlsdr
from nmlsdr import graph

MODULE = """
    # cython: language_level=3
    cimport nmlsdr._graph as nearest

    def abi():
        return nearest.ABI, nearest.abi_number()

    def own(const double[:, ::1] X, double[:, ::1] squared, Py_ssize_t[:, ::1] indices, Py_ssize_t k):
        cdef int code
        with nogil:
            code = nearest.nearest_f64(&X[0, 0], X.shape[0], X.shape[1], k, &squared[0, 0], &indices[0, 0], 2)
        return code

    def to(const float[:, ::1] X, const float[:, ::1] Q, double[:, ::1] squared, Py_ssize_t[:, ::1] indices):
        cdef int code
        with nogil:
            code = nearest.nearest_to_f32(&X[0, 0], X.shape[0], &Q[0, 0], Q.shape[0], X.shape[1], squared.shape[1],
                                          &squared[0, 0], &indices[0, 0], 1)
        return code
"""
SETUP = """
    from Cython.Build import cythonize
    from setuptools import Extension, setup
    setup(name="embedder", ext_modules=cythonize([Extension("embedder", ["embedder.pyx"])]))
"""


@pytest.mark.slow
def test_a_package_that_cimports_the_search(tmp_path, monkeypatch, rng):
    pytest.importorskip("Cython", reason="building the small package needs Cython")
    (tmp_path / "embedder.pyx").write_text(textwrap.dedent(MODULE))
    (tmp_path / "setup.py").write_text(textwrap.dedent(SETUP))
    environment = {**os.environ, "PYTHONPATH": str(Path(nmlsdr.__file__).parent.parent)}
    built = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    embedder = __import__("embedder")

    assert embedder.abi() == (1, 1)
    X = rng.standard_normal((230, 6))
    squared, indices = np.empty((230, 5)), np.empty((230, 5), np.intp)
    assert embedder.own(X, squared, indices, 5) == 0
    expected = graph.squared_neighbors(X, 5)
    np.testing.assert_array_equal(squared, expected[0])
    np.testing.assert_array_equal(indices, expected[1])
    assert embedder.own(X, squared, indices, 230) == -2  # k must be below n

    X, Q = X.astype(np.float32), rng.standard_normal((7, 6)).astype(np.float32)
    squared, indices = np.empty((7, 3)), np.empty((7, 3), np.intp)
    assert embedder.to(X, Q, squared, indices) == 0
    expected = graph.squared_neighbors(X, 3, queries=Q)
    np.testing.assert_array_equal(squared, expected[0])
    np.testing.assert_array_equal(indices, expected[1])
