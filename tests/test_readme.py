"""The README is executed: its Python runs as printed and prints what its comments say; its files exist."""

import contextlib
import csv
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from nmlsdr.cli import main

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


FIRST_STEPS, REVIEW = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
(PROMISED,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
@pytest.mark.default_forest
def test_the_first_steps_print_what_the_readme_shows():
    names = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(FIRST_STEPS, "README.md", "exec"), names)
    assert printed.getvalue() == PROMISED
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(REVIEW, "README.md", "exec"), names)
    wrong = names["noisy"] != names["toy"].target
    first = names["suspects"].first(50)
    assert wrong[first.row, first.label].mean() > 0.8


def test_the_readme_is_short_and_has_no_hidden_comments():
    assert len(README.splitlines()) <= 120
    assert "<!--" not in README


def test_where_the_default_leads_and_loses_is_what_the_study_found():
    """README has no markers for the script that fills the guide."""
    tables = ROOT / "docs" / "reproduction" / "beyond" / "tables"
    if not tables.is_dir():
        pytest.skip("the documents are not beside the tests (an installed copy)")

    def against(table, rival):
        with (tables / f"beyond-tests-{table}.csv").open(encoding="utf-8", newline="") as file:
            return next(row for row in csv.DictReader(file) if row["Against"] == rival)

    forest, logistic = (against("rankings", rival) for rival in ("RandomForest", "Logistic-CV"))
    both = [against("end-to-end", f"{rival}-f1") for rival in ("RandomForest", "Logistic-CV")]
    text = " ".join(README.split())
    assert f"ahead of a random forest on {forest['wins']} of 10 sets (not on {forest['loses on']})" in text
    assert f"and of logistic regression on {logistic['wins']}. Averaged over seven" in text
    assert f"ahead of the random forest on {both[0]['wins']} of 10 sets" in text
    assert f"and of logistic regression on {both[1]['wins']}." in text
    assert "No lead over the forest is [significant]" in text
    assert min(float(row["p, Holm"]) for row in (forest, both[0])) > 0.05


def test_links_point_at_files_that_exist():
    if not (ROOT / "docs").is_dir():
        pytest.skip("the documents are not beside the tests (an installed copy)")
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in t]
    assert targets
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert not missing


def shell_block(first_words):
    """The shell block of README.md in which a line begins with these words."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    (block,) = [block for block in blocks if re.search(rf"^{re.escape(first_words)}", block, re.MULTILINE)]
    return block


def test_the_commands_on_files_run_as_printed(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.chdir(tmp_path)
    for name in ("train", "test"):
        Y = rng.integers(0, 2, (40, 2))
        rows = [f"{x:.3f},{z:.3f},{a},{b}" for (a, b), (x, z) in zip(Y, Y + rng.normal(0, 0.2, (40, 2)), strict=True)]
        (tmp_path / f"{name}.csv").write_text("x,z,flu,cold\n" + "\n".join(rows) + "\n")
    commands = shell_block("nmlsdr fit").splitlines()
    assert len(commands) == 3
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "nmlsdr"
        assert main([*words, "--jobs", "1"]) == 0, command
    assert {"model.skops", "predicted.csv", "report.html"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(os.name != "posix", reason="the block is a shell's")
def test_the_first_command_and_the_first_steps_work_in_the_checkout(tmp_path):
    """The very folder where README is read: `import nmlsdr` there meets the sources, and finds the compiled part."""
    if not (ROOT / "setup.py").is_file():
        pytest.skip("the sources are not beside the tests")
    pytest.importorskip("Cython")
    pytest.importorskip("setuptools")
    pytest.importorskip("pip")
    here = tmp_path / "checkout"
    here.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, here)
    # What is compiled here is copied too, so that only the rest is built: .ci/run builds all by README's other command.
    shutil.copytree(ROOT / "nmlsdr", here / "nmlsdr", ignore=shutil.ignore_patterns("__pycache__"))
    # An environment of its own that borrows the dependencies, so that nothing is fetched; its pip is this one's.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    scripts, python = tmp_path / "venv" / "bin", tmp_path / "venv" / "bin" / "python"
    own = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
                         capture_output=True, text=True, check=True)  # fmt: skip
    Path(own.stdout.strip(), "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = scripts / "pip"
    pip.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m pip --python {shlex.quote(str(python))} "$@"\n')
    pip.chmod(0o755)
    settings = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PYTHONSAFEPATH": ""}
    environment = {**os.environ, **settings, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}

    def shell(command):
        done = subprocess.run(
            ["bash", "-e", "-c", command], cwd=here, env=environment, capture_output=True, text=True, timeout=1500
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return done.stdout

    reduced = "reproduce toy --size small --seeds 1"
    block = shell_block("# install")
    assert "nmlsdr reproduce toy" in block
    shell(block.replace("reproduce toy", reduced))
    assert Path(shell("python -c 'import nmlsdr; print(nmlsdr.__file__)'").strip()).parent == here / "nmlsdr"
    assert shell("python -m nmlsdr --version").startswith("nmlsdr ")
    (here / "notebook.py").write_text(FIRST_STEPS)
    assert shell("python -c \"exec(open('notebook.py').read())\"") == PROMISED
