"""What the tests of the review page in a browser share: a table, its page, and a window that shows it.

The tests need Chromium and Playwright (the extra `browser`) and skip without them; `nox -s browser` runs them.
doors/conftest.py offers the fixtures.
"""

import csv
import io
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import chromium
from commands import write_csv

from nmlsdr import ResidualPropagation, inspection
from nmlsdr.cli import main

LABELS = ["flu", "=cold", "<b>gout"]
write_review = partial(inspection.write_review, audit=0)  # most tests are about the plain list


@pytest.fixture(scope="module")
def browser():
    with chromium() as chromium_browser:
        yield chromium_browser


@pytest.fixture(scope="module")
def frame():
    """Rows with ids, numbers and texts, and labels some of which are wrong: (table, X, y)."""
    rng = np.random.default_rng(0)
    Y = (rng.random((90, 3)) < 0.4).astype(int)
    X = 2 * Y + rng.normal(size=Y.shape)
    noisy_labels = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
    noisy_labels[80:] = -1
    table = pd.DataFrame(X.round(2), columns=["a", "b", "c"])
    table["note"] = [f"note {i % 7}" for i in range(90)]
    return table, X, pd.DataFrame(noisy_labels, columns=LABELS)


@pytest.fixture(scope="module")
def page_file(frame, tmp_path_factory):
    table, X, y = frame
    model = ResidualPropagation(n_neighbors=6).fit(X, y)
    path = tmp_path_factory.mktemp("page") / "review.html"
    write_review(path, model, X, y, table=table, ids=[f"P{i // 2}" for i in range(90)], title="t.csv")
    return path


@pytest.fixture
def hospital_page(tmp_path, rng):
    """The page of a command, with pictures."""
    image = pytest.importorskip("PIL.Image")
    n = 40
    y = (rng.random((n, 2)) < 0.4).astype(int)
    cells = [[v, f"{i}.png", *on] for i, (v, on) in enumerate(zip(rng.normal(size=n), y.tolist(), strict=True))]
    write_csv(tmp_path / "t.csv", ["a", "photo", "flu", "cold"], cells)
    for i in range(n):
        image.new("RGB", (8, 8), (i, 0, 0)).save(tmp_path / f"{i}.png")
    words = ["--label-columns", "flu,cold", "--image", "photo", "--n-neighbors", "5", "--quiet", "--out"]
    assert main(["review", str(tmp_path / "t.csv"), *words, str(tmp_path / "r.html")]) == 0
    return tmp_path / "r.html"


class Visit:
    """A page in a window, what it wrote on the console, and what it asked for."""

    def __init__(self, context, path):
        self.page = context.new_page()
        self.console_messages = []
        self.requests = []
        self.page.on("console", lambda message: self.console_messages.append(message.text))
        self.page.on("pageerror", lambda error: self.console_messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_selector("html[data-review=ready]")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def text(self, name):
        return self.page.inner_text(f"#rv-{name}")

    def checked(self):
        return int(self.text("progress").split()[0])

    def until_checked(self, n):
        self.page.wait_for_selector(f'#rv-progress:has-text("{n} of")')  # a selector needs no eval

    def place(self):
        """Of the entry in its list, from 1."""
        chosen = "[...document.querySelectorAll('[role=option]')].findIndex((one) => one.ariaSelected === 'true') + 1"
        return self.page.evaluate(chosen)

    def saved(self):
        with self.page.expect_download() as started:
            self.page.click("#rv-save")
        return Path(started.value.path()).read_bytes()


@pytest.fixture
def visit(browser, page_file):
    """Open the page in a new profile; at the end nothing was asked for but the file, and nothing said."""
    contexts = []
    visits = []

    def call(path=page_file, *, context=None, **options):
        if context is None:
            context = browser.new_context(**options)
            contexts.append(context)
        visits.append(Visit(context, path))
        return visits[-1]

    yield call
    for window in visits:
        assert window.console_messages == []
        assert all(url.startswith(("file:", "data:image/", "blob:")) for url in window.requests), window.requests
    for context in contexts:
        context.close()


def lines(written):
    assert written.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(written.decode("utf-8-sig"), newline="")))


def drop(page, text, name="v.csv"):
    page.evaluate(
        """([text, name]) => {
            const data = new DataTransfer();
            data.items.add(new File([text], name));
            document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true, cancelable: true}));
        }""",
        [text, name],
    )
