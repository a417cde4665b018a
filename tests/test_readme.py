"""The README is executed: its Python runs as printed and prints what its comments say; its files exist."""

import contextlib
import io
import re
from pathlib import Path

import pytest

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
