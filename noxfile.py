"""The project's verbs.  `.ci/run` and the forge's workflows call the same ones: what they do can be done at home.

    nox -s build     rebuild the kernels in place, in the environment that is active; it says how long that took
    nox -s tests     the quick tests against the installed package; arguments after -- go to pytest
    nox -s slow      the slow tests, which plain pytest leaves out
    nox -s optional  the tests that need Dask, cleanlab, faiss, rich, or a program that takes our neighbours
    nox -s peers     test files of other packages with our search in place, by the versions of tests/campaigns/peers.txt
    nox -s browser   the tests of pages in a Chromium that is installed; they skip without one
    nox -s lint      ruff, clang-format, cython-lint, mypy, the form of pyproject.toml, subjects of the last commits
    nox -s pages     every block of the pages as it stands, each page in a fresh folder
    nox -s docs      the documentation site, warnings as errors, public docstrings (numpydoc), every link within it
    nox -s figures   make the pictures of the pages again; -- NAME... says which (docs/figures.py)
    nox -s studies   the studies and the article's experiments again, which takes hours; -- NAME... says which
    nox -s bench     the benchmark suite, as bench/README.md describes it
    nox -s wheel     sdist and wheel, repaired and checked, in dist/
    nox -s portable  the suite's kernels without SIMD and OpenMP, from a build of its own
    nox -s cross     the kernels' C compiled for four systems by zig's clang, without OpenMP; that of 64-bit ARM
                     runs in an emulator, where qemu-user is installed
    nox -s release   what must be true before a person uploads

`nox --no-venv --no-install -s NAME` runs a verb in the environment that is active.
"""

import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["lint", "tests"]

BROWSER_TESTS = [
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "doors").glob("test_*_browser*.py")),
    "tests/doors/test_review_texts.py",
]


def kernel_tests() -> list[str]:
    """Without SIMD and OpenMP only the kernels differ, so these builds run the tests of the kernels alone."""
    rows = runpy.run_path(str(ROOT / "tests" / "campaigns" / "mutants.py"))["TESTS"]
    kernels = {path.stem for path in (ROOT / "nmlsdr").glob("*.pyx")}
    files = {
        file
        for row, files in rows.items()
        if row.startswith(("_c/", "_search/")) or row in kernels
        for file in files.split()
    }
    return [f"tests/{file}" for file in sorted(files) if file.startswith("core/")]


def c_files() -> list[str]:
    """C and C++ code of a person: Cython writes the other .c files beside its sources."""
    folders = [ROOT / "nmlsdr" / "_c", ROOT / "nmlsdr" / "include", ROOT / "tests" / "embedding", ROOT / ".ci"]
    suffixes = {".c", ".h", ".cpp", ".hpp"}
    return sorted(str(path) for folder in folders for path in folder.rglob("*") if path.suffix in suffixes)


def long_subjects() -> list[str]:
    """The subjects of the last twenty commits that have more than 72 characters; none where git or a history lacks."""
    log = ["git", "log", "-20", "--no-merges", "--format=%s"]
    done = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=False)
    return [subject for subject in done.stdout.splitlines() if len(subject) > 72]


def group(name: str) -> list[str]:
    return nox.project.dependency_groups(PROJECT, name)


@nox.session(venv_backend="none")
def build(session: nox.Session) -> None:
    session.run("python", "setup.py", "-q", "build_ext", "--inplace")


@nox.session
def tests(session: nox.Session) -> None:
    session.install(".[test]")
    session.run("python", "-P", "-m", "pytest", "-n", "2", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    session.install(".[test]")
    session.run("python", "-P", "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", "slow", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    session.install(".[test,browser]")
    session.run("python", "-P", "-m", "pytest", "-m", "", *BROWSER_TESTS, *session.posargs)


@nox.session
def optional(session: nox.Session) -> None:
    """Every test of the files that name one of these packages, the slow ones too."""
    session.install(".[test]", *group("optional"))
    wanted = re.compile(r"\b(dask|cleanlab|faiss|rich|scanpy)\b")
    files = [str(file) for file in sorted(Path("tests").glob("*/test_*.py")) if wanted.search(file.read_text("utf-8"))]
    session.run("python", "-P", "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", "", *files, *session.posargs)


@nox.session
def peers(session: nox.Session) -> None:
    session.install(".", "pip", "pytest", "-r", "tests/campaigns/peers.txt")
    session.run("python", "-P", "tests/campaigns/peers.py", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    session.install(".[cli,parquet]", *group("lint"))
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("clang-format", "--dry-run", "-Werror", *c_files())
    session.run("cython-lint", "nmlsdr", "tests/embedding")
    session.run("mypy")
    session.run("validate-pyproject", "pyproject.toml")
    if subjects := long_subjects():
        session.error("a subject has at most 72 characters:\n" + "\n".join(subjects))


@nox.session
def docs(session: nox.Session) -> None:
    session.install(".[cli]", *group("docs"))
    build = ["-W", "--keep-going", "-q", "-d", "docs/_build/doctrees", "docs", "docs/_build/html"]
    session.run("python", "-P", "-m", "sphinx", *build)
    site = str(ROOT / "docs" / "_build" / "html")
    templates = "_static/webpack-macros"  # of the theme: no page of the site
    links = ["--offline", "--include-fragments", "--no-progress", "--exclude-path", templates, "--root-dir", site, site]
    session.run("lychee", *links)


@nox.session
def pages(session: nox.Session) -> None:
    """Blocks of the page that needs six programs more run in `optional`."""
    session.install(".[cli,dask]", *group("pages"))
    session.run("python", "-P", ".ci/run_pages.py", *session.posargs)


@nox.session
def figures(session: nox.Session) -> None:
    session.install(".[cli]", *group("docs"), *group("optional"))
    session.run("python", "docs/figures.py", *session.posargs)


@nox.session
def studies(session: nox.Session) -> None:
    session.install(".[cli]", *group("optional"))
    session.run("python", "docs/figures.py", *(session.posargs or ["--studies"]))


@nox.session
def bench(session: nox.Session) -> None:
    session.install(".[peers]")
    session.run("python", "bench/run.py", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Random errors in the lines changed since main, which the tests should notice; `-- FILE -n N` elsewhere."""
    session.install("-e", ".[test]", *group("build"))
    session.run("python", "tests/campaigns/mutation.py", *(session.posargs or ["--since", "main"]))


@nox.session
def wheel(session: nox.Session) -> None:
    """Build from the sdist, so that what is uploaded is what was built; `-- DIR` says where to."""
    session.install(*group("wheel"), *group("build"))
    dist = Path(session.posargs[0] if session.posargs else ROOT / "dist")
    shutil.rmtree(dist, ignore_errors=True)
    offline = {"PIP_NO_INDEX": "1"}
    session.run("python", "-m", "build", "--no-isolation", "--outdir", str(dist), ".", env=offline)
    (built,) = dist.glob("*.whl")
    session.run("python", ".ci/check_packages.py", str(dist))
    if sys.platform == "linux":  # delocate and delvewheel do this on the other systems: see [tool.cibuildwheel]
        session.run("auditwheel", "repair", "--wheel-dir", str(dist / "repaired"), str(built))
        built.unlink()
        (repaired,) = (dist / "repaired").glob("*.whl")
        built = Path(shutil.move(repaired, dist))
        (dist / "repaired").rmdir()
    if "-abi3-" in built.name:
        session.run("abi3audit", "--strict", str(built))
    session.run("check-wheel-contents", str(built))
    session.run("twine", "check", "--strict", *map(str, dist.iterdir()))
    session.run("pyroma", "--min", "10", ".")
    session.log(f"{built.name}: {built.stat().st_size / 1e6:.2f} MB")


@nox.session
def portable(session: nox.Session) -> None:
    session.install(".[test]", *group("build"))
    with tempfile.TemporaryDirectory() as folder:
        flags = {"CFLAGS": "-DNMLSDR_SCALAR -DNMLSDR_PORTABLE_ONLY", "NMLSDR_NO_OPENMP": "1"}
        own_build = ["-b", f"{folder}/base", "--build-lib", f"{folder}/lib"]
        session.run("python", "setup.py", "-q", "build", *own_build, env=flags)
        shutil.copytree(ROOT / "tests", f"{folder}/tests")
        shutil.copy(ROOT / "pyproject.toml", folder)
        with session.chdir(folder):
            own = {"PYTHONPATH": f"{folder}/lib"}
            session.run("python", "-P", "-c", "from nmlsdr.cli import main; main(['info'])", env=own)
            session.run("python", "-P", "-m", "pytest", "-q", "-m", "not slow", *kernel_tests(), env=own)


@nox.session
def cross(session: nox.Session) -> None:
    session.install(*group("cross"), *group("build"))
    if not (ROOT / "nmlsdr" / "_graph.c").exists():
        session.run("python", "setup.py", "-q", "build_ext", "--inplace")
    session.run("python", ".ci/cross_compile.py")


@nox.session(venv_backend="none")
def release(session: nox.Session) -> None:
    """Refuse while something is missing that only a person can give."""
    missing = []
    if ".invalid" in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        missing.append("pyproject.toml: an address that is read, for authors")
    for name in ("Homepage", "Documentation", "Source", "Issues", "Changelog"):
        if name not in PROJECT["project"]["urls"]:
            missing.append(f"pyproject.toml: project.urls.{name}")
    if not re.search(r"^doi:|^    doi:", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE):
        missing.append("CITATION.cff: the article's DOI")
    if "unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        missing.append("CHANGELOG.md: the date of the release")
    if missing:
        session.error("not ready to be uploaded:\n" + "\n".join(missing))
