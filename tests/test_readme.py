"""The README is executed: its Python runs as printed and prints what its comments say; its files exist."""

import contextlib
import gzip
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


def test_the_eight_lines_run_as_printed():
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), {})
    promised = re.search(r"print\(.*#\s*([0-9.]+)", block)[1]
    assert printed.getvalue().strip() == promised


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
    head = "@relation r\n@attribute x real\n@attribute z real\n@attribute flu {0,1}\n@attribute cold {0,1}\n@data\n"
    for name in ("train", "test"):
        Y = rng.integers(0, 2, (40, 2))
        rows = [f"{x:.3f},{z:.3f},{a},{b}" for (a, b), (x, z) in zip(Y, Y + rng.normal(0, 0.2, (40, 2)), strict=True)]
        (tmp_path / f"{name}.arff.gz").write_bytes(gzip.compress((head + "\n".join(rows)).encode()))
        (tmp_path / f"{name}.csv").write_text("x,z,flu,cold\n" + "\n".join(rows) + "\n")
    (tmp_path / "names.xml").write_text('<labels><label name="flu"/><label name="cold"/></labels>')
    commands = shell_block("nmlsdr fit").splitlines()
    assert len(commands) == 5
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "nmlsdr"
        assert main([*words, "--jobs", "1"]) == 0, command
    assert {"model.npz", "predicted.csv", "review.csv"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(os.name != "posix", reason="the block is a shell's")
def test_first_command_and_eight_lines_work_in_the_checkout(tmp_path):
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
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__")
    shutil.copytree(ROOT / "nmlsdr", here / "nmlsdr", ignore=compiled)
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
    block = shell_block("pip install -e")
    assert "nmlsdr reproduce toy" in block
    shell(block.replace("reproduce toy", reduced))
    assert Path(shell("python -c 'import nmlsdr; print(nmlsdr.__file__)'").strip()).parent == here / "nmlsdr"
    assert shell("python -m nmlsdr --version").startswith("nmlsdr ")
    (lines,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (here / "notebook.py").write_text(lines)
    promised = re.search(r"print\(.*#\s*([0-9.]+)", lines)[1]
    assert shell("python -c \"exec(open('notebook.py').read())\"").strip() == promised
