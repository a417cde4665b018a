"""Make the pictures and tables of the pages again, and store how each was made.

    nox -s figures                        # what takes minutes: the pictures, the pages that show commands
    nox -s studies                        # the studies, which take hours; -- NAME... says which
    nox -s figures -- --check             # say what is out of date, and change nothing

The program of a finished study is in the history only, at the commit of its provenance; what it made stays, and is
compared with the present classes and golden rows like everything else.

Beside what it makes, each product has a file ``NAME.provenance.json``: the command, the commit, the classes with their
default parameters, and digests of the golden rows and of the files that made it (of Python programs without their
format and comments).  `reasons_to_make_again` compares
them with the present; a test fails if there is a reason.  The commit must be that of a clean tree.
"""

from __future__ import annotations

import argparse
import ast
import datetime
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
KEPT = TOP / "docs" / "_build" / "studies"  # an interrupted study continues here
DATA = "--data-home", os.environ.get("NMLSDR_DATA", "data")

# The rows that pin down what a class computes: another digest means that a rule has changed.
GOLDEN = {
    "ResidualPropagation": "residual*.json",
    "MLkNN": "zhang_ties*.npz",
    "SemiSupervisedMLkNN": "zhang_ties*.npz",
    "MDDM": "mlfe_tiny*.npz",
    "MVMD": "mlfe_tiny*.npz",
    "MLDA": "mlfe_*.npz",
    "MultiLabelCCA": "mlfe_tiny*.npz",
}


@dataclass(frozen=True)
class Product:
    """Pictures or tables that one command makes."""

    command: tuple[str, ...]
    classes: tuple[str, ...]  # whose defaults and rules it shows
    makers: tuple[str, ...]  # files that draw it, or hold what it draws
    outputs: tuple[str, ...]  # what it writes; a folder stands for all files in it
    place: str  # the folder of its provenance
    study: str = ""  # a study with cells, whose report and tables are copied to `place`
    long: bool = False
    finished: bool = False  # its program is in the history: `command` runs at the commit of the provenance


BASELINES = ("MDDM", "MVMD", "MultiLabelCCA", "MLDA", "SSMLDR")
PRODUCTS = {
    "pictures": Product(
        ("python", "docs/pictures.py"),
        ("ResidualPropagation", "NMLSDR", "MLkNN", "MultiLabelPropagation"),
        (
            "docs/pictures.py",
            "docs/_e*_pictures.py",
            "docs/_drawing.py",
            "docs/reports/article/tables/benchmarks-[AM]*.csv",
            "docs/reports/beyond/tables/beyond-[er]*.csv",
            "docs/reports/open/tables/open-?????*.csv",
            "docs/reports/films/tables/films-*.csv",
            "bench/results/review_cleanlab.json",
            "bench/results/rivals.json",
            "bench/results/panel.json",
            "bench/results/peers.json",
            "bench/results/residual-cost.json",
            "bench/results/neighbours.json",
            "bench/results/growth.json",
            "bench/results/next.json",
        ),
        ("docs/_static/pictures",),
        "docs/_static/pictures",
    ),
    "review": Product(
        ("python", "docs/review_pictures.py"),
        ("ResidualPropagation",),
        ("docs/review_pictures.py", "docs/hospital.py", "nmlsdr/inspection/review*"),
        ("docs/_static/review-",),
        "docs/_static",
    ),
    "walkthrough": Product(
        ("python", "docs/_walkthrough.py", "--pictures"),
        ("ResidualPropagation",),
        (
            "docs/_walkthrough.py",
            "docs/digits.py",
            "docs/hospital.py",
            "nmlsdr/inspection/review*",
            "nmlsdr/_report/page*",
        ),
        ("docs/ten_minutes.md", "docs/prepare.md", "docs/_static/report-"),
        "docs/_static",
    ),
    "films": Product(
        ("python", "docs/films.py", "find"),
        ("ResidualPropagation",),
        ("docs/films.py",),
        ("docs/reports/films",),
        "docs/reports/films",
    ),
    "comparison": Product(
        ("python", "studies/review.py", "--replace"),
        ("ResidualPropagation", "MultiLabelPropagation"),
        (),
        ("bench/results/review.", "bench/results/review_"),
        "bench/results",
        finished=True,
    ),
    "rivals": Product(
        ("python", "studies/rivals.py", "--replace", *DATA),
        ("ResidualPropagation", "NMLSDR", "SemiSupervisedMLkNN"),
        (),
        ("bench/results/rivals",),
        "bench/results",
        finished=True,
    ),
    "scores": Product(
        ("python", "studies/review_scores.py", "--replace", *DATA),
        ("ResidualPropagation",),
        (),
        ("bench/results/review-scores",),
        "bench/results",
        finished=True,
    ),
    "mistakes": Product(
        ("python", "studies/mistakes.py", "test", "--replace"),
        ("ResidualPropagation",),
        (),
        ("bench/results/mistakes_",),
        "bench/results",
        finished=True,
    ),
    "article": Product(
        ("nmlsdr", "reproduce", "all", "--seeds", "10", *DATA),
        ("NMLSDR", "MLkNN", "SemiSupervisedMLkNN", *BASELINES),
        (),
        ("docs/reports/article/",),
        "docs/reports/article",
        study="all",
        long=True,
    ),
    "beyond": Product(
        (
            "python",
            "studies/run.py",
            "beyond",
            "--seeds",
            "1",
            "--methods",
            "Residual",
            "Residual-no-forest",
            "ExtraTrees",
            "RandomForest",
            "Logistic-CV",
            "Average",
            "Ridge",
            "NMLSDR",
            "NMLSDR*",
            "MLkNN-cosine",
            "Propagation",
            "cleanlab-forest",
            "cleanlab-logistic",
            *DATA,
        ),
        ("ResidualPropagation", "NMLSDR", "MLkNN", "SemiSupervisedMLkNN", "MultiLabelPropagation"),
        (),
        ("docs/reports/beyond",),
        "docs/reports/beyond",
        study="beyond",
        long=True,
    ),
    "open": Product(
        ("python", "studies/run.py", "open", "--seeds", "2", *DATA),
        ("NMLSDR", "MLkNN", "SemiSupervisedMLkNN"),
        (),
        ("docs/reports/open",),
        "docs/reports/open",
        finished=True,
    ),
}


# Products that are known to be out of date, and what their pages say about it.  A test fails if another one is.
OUT_OF_DATE: dict[str, str] = {
    "scores": "The scores of the review study were computed before folds and trees' rows were drawn by content.",
    "article": "Made before NMLSDR's embedding was rounded to eight digits, and before MLDA had a default seed.",
}


def provenance_file(name: str, top: Path = TOP) -> Path:
    return top / PRODUCTS[name].place / f"{name}.provenance.json"


def defaults(names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """The default parameters of each class, as JSON holds them."""
    import nmlsdr

    parameters = {name: getattr(nmlsdr, name)().get_params() for name in names}
    plain: dict[str, dict[str, Any]] = json.loads(json.dumps(parameters, sort_keys=True))
    return plain


def content(file: Path) -> bytes:
    """What a digest covers: the bytes of a file, or the syntax tree of a Python program, which no formatter changes."""
    data = file.read_bytes()
    if file.suffix != ".py":
        return data
    words = []
    for node in ast.walk(ast.parse(data)):
        values = [value for _, value in ast.iter_fields(node) if value is not None]
        words.append([type(node).__name__, *(repr(value) for value in values if not isinstance(value, ast.AST | list))])
    return json.dumps(words).encode()


def digests(patterns: list[str], top: Path = TOP) -> dict[str, str]:
    """SHA-256 of the content of every file that a pattern stands for."""
    files = sorted({file for pattern in patterns for file in top.glob(pattern)})
    return {file.relative_to(top).as_posix(): hashlib.sha256(content(file)).hexdigest() for file in files}


def present(name: str, top: Path = TOP) -> dict[str, Any]:
    """What a product's provenance must say to be current."""
    product = PRODUCTS[name]
    golden = [f"tests/golden/{GOLDEN[one]}" for one in product.classes if one in GOLDEN]
    command = [word for word in product.command if word not in DATA]  # where the data are is no part of it
    return {
        "command": " ".join(command),
        "classes": defaults(product.classes),
        "golden": digests(golden, top),
        "makers": digests(list(product.makers), top),
    }


def reasons_to_make_again(name: str, top: Path = TOP) -> list[str]:
    """Sentences that say why a product is out of date; none if it is current."""
    again = "its program is in the history" if PRODUCTS[name].finished else f"run: nox -s figures -- {name}"
    file = provenance_file(name, top)
    if not file.is_file():
        return [f"{name} has no {file.name}; {again}"]
    made = json.loads(file.read_text(encoding="utf-8"))
    current = present(name, top)
    reasons = []
    if not made["clean"]:
        reasons.append(f"{name} was made from a tree with uncommitted changes; commit them and {again}")
    for class_name, parameters in current["classes"].items():
        if made["classes"].get(class_name) != parameters:
            reasons.append(f"{name} shows {class_name} with former default parameters; {again}")
    sources = {"golden": "the golden rows", "makers": "the program"}
    if PRODUCTS[name].finished:
        del sources["makers"]
    for kind, source in sources.items():
        changed = [path for path in {**made[kind], **current[kind]} if made[kind].get(path) != current[kind].get(path)]
        if changed:
            reasons.append(f"{name} was made before a change of {source} {', '.join(sorted(changed))}; {again}")
    return reasons


def uncommitted(outputs: tuple[str, ...], top: Path = TOP) -> list[str]:
    """Tracked files with changes, without pages and what products write: these change while products are made."""
    names = _git("diff", "--name-only", "HEAD", top=top).splitlines()
    written = [*outputs, *(path for product in PRODUCTS.values() for path in product.outputs)]
    return [
        name
        for name in names
        if not name.endswith((".md", ".provenance.json")) and not any(name.startswith(path) for path in written)
    ]


def make(name: str) -> None:
    """Run the command of a product and write its provenance."""
    product = PRODUCTS[name]
    if product.finished:
        commit = json.loads(provenance_file(name).read_text(encoding="utf-8"))["commit"]
        raise SystemExit(
            f"{name}: the study is finished; its program is at commit {commit}: {' '.join(product.command)}"
        )
    changed = uncommitted(product.outputs)
    facts = present(name)
    commit = _git("rev-parse", "HEAD").strip()
    where = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    environment = {**os.environ, "PATH": os.pathsep.join(where), "BENCH_RESULTS": str(TOP / "bench" / "results")}
    command = list(product.command)
    if product.study:
        command += ["--out", str(KEPT / name)]
    print(f"{name}: {' '.join(command)}", flush=True)
    subprocess.run(command, cwd=TOP, env=environment, check=True)
    if product.study:
        _copy_study(KEPT / name, TOP / product.place)
    facts = {**facts, "commit": commit, "clean": not changed, "date": datetime.date.today().isoformat()}
    text = json.dumps(facts, indent=1, sort_keys=True) + "\n"
    provenance_file(name).write_text(text, encoding="utf-8")
    if changed:
        print(f"{name}: made with uncommitted changes in {', '.join(changed)}; commit them and make it again.")


def _copy_study(made: Path, place: Path) -> None:
    """The report as one page, its tables and its pictures; cells and times stay where they were made."""
    shutil.copy(made / "report.html", place)
    for part in ("tables", "figures"):
        if (place / part).is_dir():
            shutil.copytree(made / part, place / part, dirs_exist_ok=True)


def _git(*arguments: str, top: Path = TOP) -> str:
    return subprocess.run(["git", *arguments], cwd=top, check=True, capture_output=True, text=True).stdout


def usual_names(*, check: bool, studies: bool) -> list[str]:
    """The products that are checked, or made again, if none is named."""
    return [name for name, product in PRODUCTS.items() if check or (product.long == studies and not product.finished)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(PRODUCTS)}")
    parser.add_argument("--check", action="store_true", help="say what is out of date, and change nothing")
    parser.add_argument("--studies", action="store_true", help="make what takes hours")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in PRODUCTS]
    if unknown:
        parser.error(f"there is no product {unknown[0]!r}; choose from {', '.join(PRODUCTS)}")
    names = options.names or usual_names(check=options.check, studies=options.studies)
    if options.check:
        reasons = [reason for name in names for reason in reasons_to_make_again(name)]
        print("\n".join(reasons) or "Everything is current.")
        return 1 if reasons else 0
    for name in names:
        make(name)
    return subprocess.run([sys.executable, "bench/tables.py"], cwd=TOP, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
