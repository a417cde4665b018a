"""The pages that show commands: the commands run, and answer what the pages say."""

import contextlib
import importlib.util
import io
import re
import shlex
from pathlib import Path

import pytest

from nmlsdr import ResidualPropagation
from nmlsdr.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"

pytestmark = [
    pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def walk():
    spec = importlib.util.spec_from_file_location("walkthrough", DOCS / "_walkthrough.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def run(walk, tmp_path_factory):
    """The pages executed, and the folders of their files."""
    pytest.importorskip("jinja2")
    in_a_shell = walk._run

    def without_a_new_python(command, folder):
        """Run commands of nmlsdr in this process: to start Python and its imports takes longer than most of them."""
        if not command.startswith("nmlsdr ") or "|" in command:  # a pipe needs a shell
            return in_a_shell(command, folder)
        answer = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(answer), contextlib.redirect_stderr(answer):
            status = main(shlex.split(command)[1:])
        assert status in (0, 2), command
        return answer.getvalue().rstrip()

    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "_run", without_a_new_python)
        patch.setattr("nmlsdr._cli.residual_fit.TREES", 100)  # as users have it
        patch.setitem(ResidualPropagation.__init__.__kwdefaults__, "n_estimators", 100)
        for name, page in walk.PAGES.items():
            folder = tmp_path_factory.mktemp(name)
            made[name] = walk.execute(page.read_text(encoding="utf-8"), folder), folder
    return made


def answers(walk, page):
    """(command, lines of its answer) of a page."""
    command_answers = []
    for fence in walk.FENCE.findall(page):
        for line in fence.splitlines():
            if line.startswith("$ "):
                command_answers.append((line[2:], []))
            else:
                command_answers[-1][1].append(line)
    return command_answers


def test_the_pages_show_the_output_of_their_commands(walk, run):
    for name, page in walk.PAGES.items():
        shown = answers(walk, page.read_text(encoding="utf-8"))
        made = answers(walk, run[name][0])
        assert [command for command, _ in shown] == [command for command, _ in made]
        for (command, shown_lines), (_, lines) in zip(shown, made, strict=True):
            assert shown_lines == lines, command


def test_the_lists_find_most_mistakes_and_the_verdicts_help(walk, run):
    text = run["ten_minutes"][0]
    counts = [tuple(map(int, pair)) for pair in re.findall(r"(\d+) checked of \w+, (\d+) of them", text)]
    (wrong,) = {int(number) for number in re.findall(r"(\d+) of the \d+ annotations in the table were wrong", text)}
    assert sum(right for _, right in counts[:2]) > 0.8 * wrong
    scores = [[float(x) for x in line.split()] for line in re.findall(r"^(?: +0\.\d{3}){7}$", text, re.MULTILINE)]
    before, after = scores
    assert min(after[-2:]) > max(before[-2:])  # both F1


def test_the_files_match_the_page(run):
    from nmlsdr._model.reading import open_model

    _, folder = run["ten_minutes"]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>Report on digits.csv, " in page
    assert "Does the method help here?" in page
    model = open_model(folder / "model.skops")
    assert len(model.label_names) == 10
    kinds = {column.name: column.kind for column in model.plan.columns}
    assert (kinds["image"], kinds["pixel_3_3"], kinds["pixel_0_0"]) == ("identifier", "number", "constant")
    assert len((folder / "predicted.csv").read_text().splitlines()) == 398


def test_only_commands_are_typed(walk, tmp_path):
    """What stands below a command is replaced by its answer, also where that is a refusal."""
    text = "a\n```console\n$ echo 1\nlies\n$ nmlsdr fit no.csv --out m.skops\n```\nb\n```console\n$ echo $AS\n```\n"
    page = walk.execute(text, tmp_path)
    assert "lies" not in page
    assert "$ echo 1\n1\n" in page
    assert "nmlsdr: 'no.csv'" in page or "nmlsdr: no.csv" in page
    with pytest.raises(RuntimeError, match="status 7"):
        walk.execute("```console\n$ exit 7\n```\n", tmp_path)
