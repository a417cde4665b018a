"""A headless Chromium for the tests of pages, where one is installed and Playwright too."""

import contextlib
import shutil

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@contextlib.contextmanager
def chromium():
    """Yield a browser of Playwright's, with a new profile; skip without one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="could not import playwright: extra browser")
    if BROWSER is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        yield browser
        browser.close()
