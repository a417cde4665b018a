"""The report in a real browser: its script runs to its end, also with hostile names; `nox -s browser` runs this."""

import re
import subprocess

import pytest
from browser import BROWSER, OPTIONS
from report_cases import HOSTILE, Shape, with_names

from nmlsdr._report.page import render

pytest.importorskip("jinja2")


@pytest.fixture
def browse(tmp_path):
    """The document that a headless browser has after running the page's script."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed")

    def call(page):
        options = [*OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom"]
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        process = subprocess.run([BROWSER, *options, path.as_uri()], capture_output=True, text=True, timeout=120)
        if process.returncode != 0 or not process.stdout:
            pytest.skip(f"the browser does not run here: {process.stderr[-200:]}")
        return process.stdout

    return call


def test_the_page_works_in_a_browser(facts, browse):
    """The script runs to its end under the page's policy: points are coloured and the controls appear."""
    document = browse(render(facts))
    assert 'data-ready="yes"' in document
    assert 'class="controls needs-script"' in document
    assert "hidden" not in re.search(r'<div class="controls needs-script"[^>]*>', document)[0]
    first = facts["labels"]["labels"][0]
    assert len(re.findall(r'<circle[^>]*class="[^"]*\bon\b', document)) == first["positives"]


@pytest.mark.slow
def test_hostile_names_do_nothing_in_a_browser(facts, browse):
    document = browse(render(with_names(facts, HOSTILE)))
    assert 'data-ready="yes"' in document
    assert "<title>taken</title>" not in document
    tags = Shape(document).tags
    assert not {tag for tag, _ in tags} & {"img", "iframe", "object", "embed"}
    assert not [name for _, attributes in tags for name in attributes if name.startswith("on")]
