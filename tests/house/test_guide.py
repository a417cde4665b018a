"""The pages run: the Python of a page is one program, in a folder of its own."""

import contextlib
import io
import re
import shlex
import warnings
from pathlib import Path

import pytest

from nmlsdr import InputError
from nmlsdr.cli import _parser

DOCS = Path(__file__).resolve().parents[2] / "docs"
DOCUMENTS = [*sorted(DOCS.glob("*.md")), *DOCS.parent.glob("*.md"), DOCS.parent / "bench" / "README.md"]
ELSEWHERE = {"give_neighbours"}  # tests/optional runs it, beside the programs that it is about
PAGES = sorted(
    page for page in DOCS.glob("*.md") if "```python" in page.read_text(encoding="utf-8") and page.stem not in ELSEWHERE
)
# more than a second each
LONG_PROGRAMS = {"article", "deploy", "forests", "how_many_wrong", "label_errors", "review", "thresholds"}
# pages of which a program needs a package that may be missing
NEEDED = {"dask": "dask", "deploy": "fastapi", "forests": "lightgbm"}


def programs_of(page):
    """The programs of a page in their order, each with the output that the page shows below it, or nothing."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, re.DOTALL)


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)")
def test_there_are_pages_with_programs():
    assert len(PAGES) >= 11


@pytest.mark.usefixtures("default_forest")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in LONG_PROGRAMS else [])
        for page in PAGES
    ],
)
def test_the_programs_of_a_page_run_and_print_what_it_shows(page, tmp_path, monkeypatch, capsys):
    if page.stem in NEEDED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the package's own import
            pytest.importorskip(NEEDED[page.stem], exc_type=ImportError)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    printed = ""
    with warnings.catch_warnings(action="error"):
        warnings.filterwarnings("ignore", r"\d+ of \d+ labels (is|are) never predicted")  # advice for small data
        for program, shown in programs_of(page):
            exec(compile(program, str(page), "exec"), names)
            output = capsys.readouterr().out
            assert shown in ("", output)
            printed += output
    assert printed or not any("print(" in program for program, _ in programs_of(page))


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)")
def test_the_page_for_beginners_shows_the_output_of_each_program():
    assert all(shown for _, shown in programs_of(DOCS / "in_python.md"))


# ---------------------------------------------------------------- pages in a clone, without the site


@pytest.mark.parametrize("page", DOCUMENTS, ids=[page.stem for page in DOCUMENTS])
def test_the_links_and_pictures_of_a_page_are_files_of_the_repository(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        made = target.startswith(("http", "reports/digits/", "mailto:"))
        assert made or (page.parent / target).exists(), f"{page.name}: {target}"
    assert not re.findall(r"\{(?:picture|figure|toctree|literalinclude|py:\w+)\}", page.read_text(encoding="utf-8"))


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)")
def test_the_index_lists_every_page():
    listed = set(re.findall(r"\]\((\w+\.md)", (DOCS / "index.md").read_text(encoding="utf-8")))
    assert listed == {page.name for page in DOCS.glob("*.md")} - {"index.md", "README.md"}


# ---------------------------------------------------------------- what pages tell the reader to type


def commands_of(line):
    """The arguments of every `nmlsdr ...` in a line for a shell, which may hold several commands and a comment."""
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    commands = []
    words.whitespace_split = True
    for word in words:
        if word == "nmlsdr":
            commands.append([])
        elif re.fullmatch(r"[;&|<>()]+", word):
            commands.append(None)
        elif commands and commands[-1] is not None:
            commands[-1].append(word)
    return [arguments for arguments in commands if arguments is not None]


def typed(text):
    """Every command of the shell blocks of a page; where lines have a prompt, the others are what was printed."""
    variables = {}
    for block in re.findall(r"```(?:sh|bash|console|shell)\n(.*?)```", text, re.DOTALL):
        lines = block.replace("\\\n", " ").splitlines()
        if any(line.startswith("$ ") for line in lines):
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        for line in lines:
            for name, value in variables.items():
                line = line.replace(f"${name}", value)
            if assignment := re.fullmatch(r"(\w+)=([\"'])(.*)\2", line):
                variables[assignment[1]] = assignment[3]
            else:
                yield from commands_of(line)


def refusal(arguments):
    """What the parsers say against the arguments, or nothing; the files that pages speak of are not here."""
    if arguments and arguments[0] in ("--includedir", "--cmakedir", "--pkgconfigdir"):  # of ``python -m nmlsdr``
        return ""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):  # --help and --version
            _parser().parse_args(arguments)
    except InputError as error:
        return "" if "No such file" in str(error) else str(error)
    return ""


def known(arguments):
    """Whether the parsers know a command and its options as a sentence mentions them, values left out."""
    arguments = arguments[1:] if arguments[0] in ("help", "version") else arguments  # answered before the parser
    parser = _parser()
    options = set(parser._option_string_actions)
    for word in arguments:
        if word.startswith("-"):
            if word.partition("=")[0] not in options:
                return False
            continue
        children = [action for action in parser._actions if isinstance(action.choices, dict)]
        if not children:
            continue
        if word not in children[0].choices:
            return False
        parser = children[0].choices[word]
        options |= set(parser._option_string_actions)
    return True


@pytest.mark.parametrize("page", DOCUMENTS, ids=[page.stem for page in DOCUMENTS])
def test_commands_of_a_page_are_known_to_the_command_line(page):
    text = page.read_text(encoding="utf-8")
    for arguments in typed(text):
        assert refusal(arguments) == "", f"{page.name}: nmlsdr {shlex.join(arguments)}"
    for span in re.findall(r"(?<!`)`nmlsdr ([a-z][^`]*)`(?!`)", text):
        arguments = [word for word in span.split() if word.isascii() and not word.isupper() and word != "..."]
        assert known(arguments), f"{page.name}: nmlsdr {span}"


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)")
def test_the_examples_of_the_command_line_reference_are_known_to_the_command_line(tmp_path, monkeypatch):
    pytest.importorskip("sphinx", reason="the reference is made by Sphinx")
    monkeypatch.syspath_prepend(DOCS)
    import _generate

    _generate.write_command_line(tmp_path)
    pages = {page.stem: page.read_text(encoding="utf-8") for page in tmp_path.glob("command_*.md")}
    text = "\n".join(pages.values())
    shown = re.findall(r"^  (nmlsdr .*)$", text, re.MULTILINE)
    assert len(shown) > 40
    for line in shown:
        (arguments,) = commands_of(line)
        assert refusal(arguments) == "", line
    for command in _generate.COMMANDS:  # every option is described once
        options = set(_parser()._subparsers._group_actions[0].choices[command]._option_string_actions)
        described = re.findall(r"^`(.*)`$", pages[f"command_{command}"], re.MULTILINE)
        assert {word.split()[0] for entry in described for word in entry.split(", ") if word[0] == "-"} == options


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)")
def test_the_live_pages_of_the_tutorial_are_embedded_by_the_site(monkeypatch):
    """In a clone the same line is a picture that links to the page."""
    pytest.importorskip("sphinx", reason="the site is made by Sphinx")
    monkeypatch.syspath_prepend(DOCS)
    import _generate

    for name in ("index", "ten_minutes"):
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        pages = [page for _, page, _ in _generate.LIVE.findall(text)]
        assert pages == ["reports/digits/review.html", "reports/digits/report.html"]
        made = [text]
        _generate.adapt_to_site(None, name, made)
        assert made[0].count('loading="lazy"></iframe>') == 2
        assert made[0].count('" target="_blank" rel="noopener">Open ') == 2


@pytest.mark.skipif(not (DOCS.parent / ".ci").is_dir(), reason="the programs of CI are not beside the tests")
def test_each_block_that_is_not_run_is_on_its_page(monkeypatch):
    """`nox -s pages` runs the others; a reason for a block that is gone would hide the next one with its words."""
    monkeypatch.syspath_prepend(DOCS.parent / ".ci")
    import run_pages

    left_out = [
        (page.stem, reason)
        for page in run_pages.PAGES
        for _, text, _ in run_pages.blocks_of(page)
        if (reason := run_pages.reason_not_to_run(page.stem, text))
    ]
    assert {page for page, _ in left_out} == {page for page, _, _ in run_pages.NOT_RUN}
    assert {reason for _, reason in left_out} == {reason for _, _, reason in run_pages.NOT_RUN}
    assert len(left_out) <= 20
    assert sum(len(run_pages.blocks_of(page)) for page in run_pages.PAGES) - len(left_out) >= 60


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)")
def test_commands_are_found_in_the_pages():
    assert sum(len(list(typed(page.read_text(encoding="utf-8")))) for page in DOCUMENTS) >= 10


def test_an_unknown_command_or_option_is_detected():
    assert commands_of("cd x && nmlsdr fit a.csv --out b.npz || mail -s 'no nmlsdr' me # nmlsdr no") == [
        ["fit", "a.csv", "--out", "b.npz"]
    ]
    assert refusal(["fit", "a.csv", "--label-columns", "flu", "--out", "b.npz"]) == ""
    assert "--label-column" in refusal(["fit", "a.csv", "--label-colums", "flu", "--out", "b.npz"])
    assert "fti" in refusal(["fti", "a.csv"])
    assert known(["reproduce", "toy", "--size"])
    assert not known(["fti"])
    assert not known(["fit", "--outt"])


@pytest.mark.parametrize("page", DOCUMENTS, ids=[page.stem for page in DOCUMENTS])
def test_no_line_of_a_paragraph_begins_with_a_comment(page):
    """Markdown would end the paragraph there: in the middle of a sentence."""
    assert re.findall(r"^\s*<!-- (?:bench|study):value.*$", page.read_text(encoding="utf-8"), re.MULTILINE) == []
