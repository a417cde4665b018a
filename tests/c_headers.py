"""Programs that are compiled from the headers, and what they should print."""

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


def output(*command, **environment):
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(command, source, folder, *more):
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    program = folder / "program"
    command = [*command, *WARNINGS, f"-I{nmlsdr.get_include()}", SOURCES / source, "-o", program, "-lm", *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def learned_bits():
    """What embedding/learn.c prints of the bits of its probabilities, computed by Python."""
    n = 200
    d = 6
    n_labels = 3
    new = 5
    k = 10
    state = 1
    numbers = np.empty((n + new) * d)
    for p in range(len(numbers)):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers[p] = (state >> 40) / 2**24
    X, queries = np.split(numbers.reshape(-1, d), [n])
    Y = X[:, :n_labels] + X[:, 1 : n_labels + 1] > 1
    table = mlknn.fit_posterior(Y, kneighbors(X, k)[1])
    bits = table.look_up(kneighbors(X, k, queries=queries)[1]).view(np.uint64)
    return "".join(" ".join(f"{one:016x}" for one in row) + "\n" for row in bits.tolist())
