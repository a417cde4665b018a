"""Programs that are compiled from the headers, and what they should print."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nmlsdr
from nmlsdr import mlknn
from nmlsdr.graph import kneighbors

SOURCES = Path(__file__).parent / "embedding"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-pthread"]
MEMORY = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
RACES = ["-g", "-fsanitize=thread"]  # without OpenMP, whose own threads TSan does not know

# Return codes of nmlsdr/codes.h.
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


def output(*command, **environment):
    process = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


def compiled(command, source, folder, *options):
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    program = folder / "program"
    command = [*command, *WARNINGS, f"-I{nmlsdr.get_include()}", SOURCES / source, "-o", program, "-lm", *options]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return program


def shared_library(folder, *headers, code=""):
    """Headers, and more lines of C, as a shared library, which is how other languages call them."""
    if not shutil.which("gcc") or os.name == "nt":
        pytest.skip("no gcc")
    source = folder / "library.c"
    included = "".join(f"#include <nmlsdr/{header}>\n" for header in headers)
    source.write_text(f"#define NMLSDR_EXTERN\n#define NMLSDR_IMPLEMENTATION\n{included}{code}")
    file = folder / "library.so"
    options = ["-std=c99", "-O1", "-shared", "-fPIC", "-fopenmp", f"-I{nmlsdr.get_include()}", *WARNINGS]
    output("gcc", *options, source, "-o", file, "-lm")
    return ctypes.CDLL(str(file))


def drawn_rows():
    """Training rows, new rows and labels of the programs embedding/learn.c and learn.cpp."""
    n = 200
    d = 6
    n_labels = 3
    new = 5
    state = 1
    numbers = np.empty((n + new) * d)
    for p in range(len(numbers)):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers[p] = (state >> 40) / 2**24
    X, queries = np.split(numbers.reshape(-1, d), [n])
    return X, queries, X[:, :n_labels] + X[:, 1 : n_labels + 1] > 1


def learned_bits():
    """What embedding/learn.c prints of the bits of its probabilities, computed by Python."""
    X, queries, Y = drawn_rows()
    table = mlknn.fit_posterior(Y, kneighbors(X, 10)[1])
    bits = table.look_up(kneighbors(X, 10, queries=queries)[1]).view(np.uint64)
    return "".join(" ".join(f"{probability_bits:016x}" for probability_bits in row) + "\n" for row in bits.tolist())
