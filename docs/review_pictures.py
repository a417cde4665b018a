"""Make the pictures of the review page: docs/_static/review-{list,entry,verdict,estimate}.png.

    python docs/review_pictures.py      # needs Chromium and Playwright (the extra browser); half a minute

The page is that of the simulated hospital of `hospital.py`. Its entries are answered by what is true.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
N_CHECKED = 80  # the audit of 8 labels, and 40 after it
# name: width and height of the window, dark or not, and how far down the picture begins (an element of the page)
PICTURES = {
    "list": (1400, 800, False, "h1"),
    "entry": (1000, 900, False, "#rv-entry"),
    "verdict": (420, 760, True, "#rv-question"),
    "estimate": (640, 400, False, "#rv-tabs"),
}


def main() -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as api:
        for command in (
            [sys.executable, HERE / "hospital.py", "write"],
            ["nmlsdr", "review", "hospital.csv", "--label-list", "diagnoses", "--quiet", "--out", "review.html"],
        ):
            subprocess.run(command, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        with open(Path(scratch, "hospital.truth.csv"), newline="", encoding="utf-8") as file:
            truth = list(csv.DictReader(file))
        chromium = api.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for name, (width, height, dark, top) in PICTURES.items():
            page = chromium.new_page(
                viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
            )
            page.goto(Path(scratch, "review.html").as_uri())
            page.wait_for_selector("html[data-review=ready]")
            for _ in range({"list": 6, "entry": 1, "verdict": 3, "estimate": N_CHECKED}[name]):
                answer(page, truth)
            if name == "verdict":
                page.keyboard.press("k")
            page.locator(top).evaluate("element => scrollTo(0, element.getBoundingClientRect().top + scrollY - 12)")
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            picture.quantize(128, dither=Image.Dither.NONE).save(HERE / "_static" / f"review-{name}.png", optimize=True)
        chromium.close()


def answer(page, truth) -> None:
    """Press the key that is right."""
    row, label = re.search(r"row\s(\d+)\) have “(.+)”", page.inner_text("#rv-question")).groups()
    page.keyboard.press(truth[int(row)][label])


if __name__ == "__main__":
    main()
