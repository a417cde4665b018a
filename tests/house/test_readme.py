"""The README is executed: its Python runs as printed and prints what its comments say; its files exist."""

import contextlib
import csv
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nmlsdr
from nmlsdr.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


(FIRST_STEPS,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
(PROMISED,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
@pytest.mark.usefixtures("default_forest")
def test_the_first_steps_print_what_the_readme_shows():
    names = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(FIRST_STEPS, "README.md", "exec"), names)
    assert printed.getvalue() == PROMISED
    assert names["wrong"].mean() > 0.8


def test_the_readme_is_short_and_has_no_hidden_comments():
    assert len(README.splitlines()) <= 120
    assert "<!--" not in README


def test_the_real_mistakes_are_counted_as_in_the_study():
    table = ROOT / "docs" / "reports" / "films" / "tables" / "films-short.csv"
    if not table.is_file():
        pytest.skip("the documents are not beside the tests (an installed copy)")
    with table.open(encoding="utf-8", newline="") as file:
        (rule,) = (row for row in csv.DictReader(file) if row["Rule for Short"] == "less than 45 minutes")
    assert f'{rule["contradict it"]} labels "Short"' in README
    assert f"{rule['first 100 of its list']} of them among its first 100" in README


def test_the_questions_that_found_a_label_error_are_counted_as_in_the_tutorial():
    tutorial = ROOT / "docs" / "ten_minutes.md"
    if not tutorial.is_file():
        pytest.skip("the documents are not beside the tests (an installed copy)")
    counts = re.findall(r"^review\.csv: (\d+) checked of \w+, (\d+) of them", tutorial.read_text("utf-8"), re.MULTILINE)
    checked, wrong = (sum(map(int, column)) for column in zip(*counts, strict=True))
    for page in (README, (ROOT / "docs" / "index.md").read_text(encoding="utf-8")):
        assert f"{wrong} of the first {checked} questions found a label error" in " ".join(page.split())


def test_links_point_at_files_that_exist():
    if not (ROOT / "docs").is_dir():
        pytest.skip("the documents are not beside the tests (an installed copy)")
    linked = re.findall(r"\]\(([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", README)
    targets = [target for pair in linked for target in pair if target and "://" not in target]
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
    words = {"0,0": "none", "1,0": "flu", "0,1": "cold", "1,1": "flu;cold"}
    lists = [f"{row[:-3]}{words[row[-3:]]}" for row in rows[:-1]] + ["0,0,"]  # the last row is not labelled
    (tmp_path / "visits.csv").write_text("x,z,diagnoses\n" + "\n".join(lists) + "\n")
    commands = shell_block("nmlsdr fit").splitlines()
    assert len(commands) == 4
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "nmlsdr"
        assert main([*words, "--jobs", "1"]) == 0, command
    assert {"model.skops", "predicted.csv", "review.html", "report.html"} <= {path.name for path in tmp_path.iterdir()}


def test_both_installations_are_the_same_command():
    """Continuous integration runs it once, for the tests, and then the rest of the first block."""
    install, experiment = shell_block("# install").splitlines()[1].split(" && ")
    assert experiment == "nmlsdr reproduce toy"
    assert shell_block("# tests").splitlines()[1] == f"{install} && pytest -n 2"


@pytest.mark.slow
def test_the_first_steps_work_in_the_folder_of_the_readme(tmp_path):
    """There `import nmlsdr` finds the sources, with the compiled part that README's command has put beside them."""
    if not any(ROOT.glob("nmlsdr/_graph*.so")):
        pytest.skip("the kernels are not in the folder of the sources: README's command has not been run here")
    script = tmp_path / "notebook.py"
    script.write_text(FIRST_STEPS)
    program = f"import nmlsdr; print(nmlsdr.__file__); exec(open({str(script)!r}).read())"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    process = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    file, printed = process.stdout.split("\n", 1)
    assert Path(file).parent == ROOT / "nmlsdr"
    assert printed == PROMISED


def test_a_clone_in_the_folder_of_work_does_not_hide_the_installed_package(tmp_path):
    """Where one has cloned, there is a folder named nmlsdr without a package in it, and Python looks there first."""
    if any(name.startswith("__editable___nmlsdr") for name in sys.modules):
        pytest.skip("this environment was made when an editable install was no path: install again")
    (tmp_path / "nmlsdr" / "nmlsdr").mkdir(parents=True)
    (tmp_path / "nmlsdr" / "README.md").touch()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    program = "import nmlsdr; print(nmlsdr.__version__, nmlsdr.MLkNN)"
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert process.stdout.startswith(nmlsdr.__version__), process.stderr
