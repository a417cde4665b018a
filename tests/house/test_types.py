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


def test_the_marker_of_a_typed_package_is_installed():
    assert (Path(nmlsdr.__file__).parent / "py.typed").is_file()


@pytest.mark.slow
def test_mypy_finds_misspelt_parameters_unknown_choices_and_wrong_results(tmp_path):
    pytest.importorskip("mypy", reason="mypy checks a small program")
    (tmp_path / "program.py").write_text(PROGRAM)
    where = {**os.environ, "MYPYPATH": str(Path(nmlsdr.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "mypy", "--config-file=", f"--cache-dir={tmp_path}", "program.py"],
        cwd=tmp_path,
        env=where,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^program.py:(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    expected = [
        (str(number), line.rpartition("# error: ")[2])
        for number, line in enumerate(PROGRAM.splitlines(), 1)
        if "# error: " in line
    ]
    assert found == expected, done.stdout + done.stderr
