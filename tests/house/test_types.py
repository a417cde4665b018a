"""The package is typed: a type checker of a user's program sees parameters, choices and results."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nmlsdr

PROGRAM = """\
import numpy as np
from nmlsdr import MDDM, MLkNN, MLDA, NMLSDR, MultiLabelPropagation, ResidualPropagation, SSMLDR
from nmlsdr.datasets import make_toy
from nmlsdr.graph import ExactIndex, kneighbors

MLkNN(n_neighbours=3)  # error: call-arg
NMLSDR(shrink=0.5)  # error: call-arg
ResidualPropagation(n_tree=3)  # error: call-arg
SSMLDR(edge_weights="rfb")  # error: arg-type
NMLSDR(metric="cosin")  # error: arg-type
MLDA(label_weights="fuzy")  # error: arg-type
MDDM(constraint="feature")  # error: arg-type
MLkNN(threshold="prio")  # error: arg-type
MultiLabelPropagation(propagation_solver="qr")  # error: arg-type
make_toy(noise="exac")  # error: arg-type
kneighbors([[1.0]], 1, metric="l1")  # error: arg-type
ExactIndex([[1.0]], metric="l1")  # error: arg-type
toy = make_toy(n_samples=100)
toy.target.shape + 1  # error: operator
model = MLkNN(3, threshold=[0.5, 0.2], metric="cosine").fit(toy.data, toy.target)
model.predict(toy.data).no_such_method()  # error: attr-defined
model.predict_proba(toy.data).no_such_method()  # error: attr-defined
NMLSDR(2, sigma=1.0).fit(toy.data, toy.target).transform(toy.data).no_such_method()  # error: attr-defined
NMLSDR(2).fit_transform(toy.data, toy.target).no_such_method()  # error: attr-defined
NMLSDR(2).fit(toy.data, toy.target).components_.shape
"""


# What a program of a user has without a comment for its type checker.  Pyright in strict mode reports `graph.shape`, as
# it does for a matrix that SciPy makes: SciPy has no annotations, and pyright infers None.  mypy takes it as Any.
CLIENT = """\
import numpy as np
from numpy.typing import NDArray
from nmlsdr import ExactNeighborsTransformer, get_include
from nmlsdr.graph import ExactIndex, kneighbors
from nmlsdr.mlknn import PosteriorTable, fit_posterior, posterior

X: NDArray[np.float64] = np.arange(12.0).reshape(6, 2)
Y: NDArray[np.int64] = np.array([[1], [1], [0], [0], [1], [0]])


def search(rows: NDArray[np.float64], k: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    return kneighbors(rows, k)


near, numbers = ExactIndex(X).query(X, 2, allowed=np.ones(6, dtype=bool))
total: float = float(near.sum())
first: NDArray[np.intp] = numbers[:, 0]
table: PosteriorTable = fit_posterior(Y, search(X, 2)[1])
shares: NDArray[np.float64] = table.look_up(numbers)
again: NDArray[np.float64] = posterior(table, Y, numbers)
graph = ExactNeighborsTransformer(2).fit_transform(X)
shape: tuple[int, ...] = graph.shape
alone: NDArray[np.intp] = ExactNeighborsTransformer(2).fit(X).kneighbors(X, return_distance=False)
folder: str = get_include()
reveal_type(kneighbors(X, 2)[0])
reveal_type(table.posterior)
"""


def test_the_marker_of_a_typed_package_is_installed():
    assert (Path(nmlsdr.__file__).parent / "py.typed").is_file()


def mypy(folder, program, *options):
    """What mypy prints about a program that is none of this repository."""
    pytest.importorskip("mypy", reason="mypy checks a small program")
    (folder / "program.py").write_text(program)
    process = subprocess.run(
        [sys.executable, "-P", "-m", "mypy", "--config-file=", f"--cache-dir={folder}", *options, "program.py"],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(Path(nmlsdr.__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    return process.stdout + process.stderr


@pytest.mark.slow
def test_a_client_is_typed_strictly(tmp_path):
    printed = mypy(tmp_path, CLIENT, "--strict")
    about = [line for line in printed.splitlines() if line.startswith("program.py")]
    assert [line for line in about if "note: Revealed" not in line] == [], printed
    assert sum("float64" in line for line in about) == 2, printed  # both have a dtype


@pytest.mark.slow
def test_mypy_finds_misspelt_parameters_unknown_choices_and_wrong_results(tmp_path):
    printed = mypy(tmp_path, PROGRAM)
    errors = re.findall(r"^program.py:(\d+): error: .*\[([\w-]+)\]$", printed, re.MULTILINE)
    expected = [
        (str(number), line.rpartition("# error: ")[2])
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "# error: " in line
    ]
    assert errors == expected, printed
