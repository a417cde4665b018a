"""Make the picture of the front page: review-question-{light,dark}.png, the first question of a review page.

    python docs/question_picture.py review.html     # needs Chromium and Playwright (the extra browser)

The page is that of the tutorial `tags.md`, whose table is the package index of Debian 12. The picture has the question,
the texts with their marks, and the buttons; it ends above the table of similar rows, so that it can be read on a
telephone.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
WINDOW = {"width": 600, "height": 1000}  # of which a telephone shows two thirds
MARGIN = 8  # pixels around the frame of the question
ENDS = "() => ['#rv-entry', '.rv-buttons'].map(name => document.querySelector(name).getBoundingClientRect().toJSON())"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, help="a page that `nmlsdr review` wrote")
    page_file = parser.parse_args().page.resolve()
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as api:
        chromium = api.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
        for style in ("light", "dark"):
            page = chromium.new_page(viewport=WINDOW, color_scheme=style, device_scale_factor=2)
            page.goto(page_file.as_uri())
            page.wait_for_selector("html[data-review=ready]")
            frame, buttons = page.evaluate(ENDS)
            clip = {
                "x": frame["x"] - MARGIN,
                "y": frame["y"] - MARGIN,
                "width": frame["width"] + 2 * MARGIN,
                "height": buttons["bottom"] - frame["y"] + 2 * MARGIN,
            }
            picture = Image.open(io.BytesIO(page.screenshot(clip=clip, full_page=True))).convert("RGB")
            target = HERE / "_static" / f"review-question-{style}.png"
            picture.quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)
        chromium.close()


if __name__ == "__main__":
    main()
