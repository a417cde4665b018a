"""Run the commands of a page and write their output below them: no answer on the page is typed by hand.

    python docs/_walkthrough.py                       # the pages of PAGES, about a minute
    python docs/_walkthrough.py --pictures            # and the report in a headless Chromium, into docs/_static

A page's fences of the kind ``console`` hold lines ``$ command``; what follows each is replaced by what it
answers, standard output and error in the order in which they came. All of a page run in one folder, in one shell
after another: what a line assigns to ``AS`` is known to the next.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = {name: HERE / f"{name}.md" for name in ("ten_minutes", "prepare")}
SCRIPTS = ("digits.py", "hospital.py")
MADE = ("report.html", "review.html")  # what the commands of the first page write, and the site shows
FENCE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)

# name: width and height of the window, dark or not, and which parts of the report are shown
PICTURES = {
    "report-wide": (1600, 1300, False, ("answers", "review")),
    "report-embedding": (1600, 1000, True, ("embedding",)),
    "report-narrow": (500, 1000, False, ("review",)),
}


def execute(text: str, folder: Path) -> str:
    """Return the page with the output of its commands."""
    for script in SCRIPTS:
        shutil.copy(HERE / script, folder)
    return FENCE.sub(lambda fence: _answers(fence[0], folder), text)


def write_pages(to: Path) -> None:
    """Run the commands of the first page that write the report and the list to check, and copy these two."""
    fences = FENCE.findall(PAGES["ten_minutes"].read_text(encoding="utf-8"))
    lines = [line for fence in fences for line in fence.splitlines() if line.startswith("$ ")]
    wanted = ("digits.py write", *(f"--out {page}" for page in MADE))
    needed = [line for line in lines if any(words in line for words in wanted)]
    with tempfile.TemporaryDirectory() as folder:
        execute("```console\n" + "\n".join(needed) + "\n```", Path(folder))
        to.mkdir(exist_ok=True)
        for page in MADE:
            shutil.copy(Path(folder, page), to)


def _answers(fence: str, folder: Path) -> str:
    lines = []
    for command in (line[2:] for line in fence.splitlines() if line.startswith("$ ")):
        lines += [f"$ {command}", *_run(command, folder).splitlines()]
    return "\n".join(lines) + "\n"


def _run(command: str, folder: Path) -> str:
    """Return what a command answers, and keep what it assigns to AS."""
    script = f"[ -f .as ] && . ./.as\n{command}\nstatus=$?\ndeclare -p AS > .as 2> /dev/null\nexit $status"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        timeout=1200,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode not in (0, 2) or "Traceback" in done.stdout:
        raise RuntimeError(f"$ {command}\n{done.stdout}\nstatus {done.returncode}")
    return done.stdout.rstrip()


def photograph(report: Path, folder: Path) -> None:
    """Write the pictures of a report: a part of it, as Chromium shows it, in at most 64 colours."""
    from PIL import Image

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    page = report.read_text(encoding="utf-8")
    for name, (width, height, dark, parts) in PICTURES.items():
        with tempfile.TemporaryDirectory() as profile:
            shown = Path(profile, "page.html")
            shown.write_text(_only(page, parts), encoding="utf-8")
            shot = Path(profile, "page.png")
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
            options += [f"--user-data-dir={profile}/p", f"--window-size={width},{height}", f"--screenshot={shot}"]
            options += ["--virtual-time-budget=3000", f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
            subprocess.run([browser, *options, shown.as_uri()], check=True, capture_output=True, timeout=120)
            Image.open(shot).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(
                folder / f"{name}.png", optimize=True
            )


def _only(page: str, parts: tuple[str, ...]) -> str:
    """Return the page with the sections of these names, and those alone between its head and its script."""
    head, _, _ = page.partition("<section")
    found = {match[1]: match[0] for match in re.finditer(r'<section id="(\w+)">.*?</section>', page, re.DOTALL)}
    script = page[page.index('<script type="application/json"') :]
    return head + "".join(found[part] for part in parts) + script


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pictures", action="store_true", help="photograph the report too")
    parser.add_argument("--folder", type=Path, help="where the commands run, and their files stay")
    args = parser.parse_args()
    for name, page in PAGES.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = args.folder or Path(scratch)
            page.write_text(execute(page.read_text(encoding="utf-8"), folder), encoding="utf-8")
            if args.pictures and name == "ten_minutes":
                photograph(folder / "report.html", HERE / "_static")


if __name__ == "__main__":
    main()
