"""The pages of the user guide run: the Python of a page is one program, in a folder of its own."""

import re
import warnings
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guide"
PAGES = sorted(page for page in GUIDE.glob("*.md") if "```python" in page.read_text(encoding="utf-8"))


@pytest.mark.skipif(not GUIDE.is_dir(), reason="the documents are not beside the tests (an installed copy)")
def test_there_are_pages_with_programs():
    assert len(PAGES) >= 8


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_programs_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", r"\d+ of \d+ labels are never predicted")  # advice, which small data earn
        exec(compile(program, str(page), "exec"), {"__name__": "page"})
    assert "print(" not in program or capsys.readouterr().out
