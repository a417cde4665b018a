"""The page that walks through a raw table: its commands run, on a smaller table, and answer what the page says."""

import contextlib
import importlib.util
import io
import re
import shlex
from pathlib import Path

import pytest

from nmlsdr.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"

pytestmark = [
    pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)"),
    pytest.mark.slow,
]
SMALL = " --rows 1600 --columns 40"


@pytest.fixture(scope="module")
def walk():
    spec = importlib.util.spec_from_file_location("walkthrough", DOCS / "_walkthrough.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def small(walk, tmp_path_factory):
    """The page executed on a small table, and the folder of its files."""
    pytest.importorskip("jinja2")
    folder = tmp_path_factory.mktemp("hospital")
    page = walk.PAGE.read_text(encoding="utf-8")
    (options,) = re.findall(r'^\$ AS="(.*)"$', page, re.MULTILINE)
    in_a_shell = walk._run

    def without_a_new_python(command, folder):
        """Run commands of nmlsdr in this process: to start Python and its imports takes longer than most of them."""
        if not command.startswith("nmlsdr ") or "|" in command:  # a pipe needs a shell
            return in_a_shell(command, folder)
        answer = io.StringIO()
        words = shlex.split(command.replace("$AS", options))[1:]
        with contextlib.chdir(folder), contextlib.redirect_stdout(answer), contextlib.redirect_stderr(answer):
            status = main(words)
        assert status in (0, 2), command
        return answer.getvalue().rstrip()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "_run", without_a_new_python)
        return walk.execute(page, folder, SMALL), folder


def answers(walk, page):
    """(command, lines of its answer) of a page."""
    found = []
    for fence in walk.FENCE.findall(page):
        for line in fence.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def masked(lines):
    """What does not depend on the data: sentences without their numbers and examples, of tables the first line."""
    said = [line for line in lines if line.startswith("nmlsdr: ")]
    other = [line for line in lines if line and not line.startswith("nmlsdr: ")]
    return [re.sub(r"\d[\d.]*", "#", re.sub(r"\('.*?'\)", "(...)", line)) for line in [*said, *other[:1]]]


def test_the_page_shows_the_output_of_its_commands(walk, small):
    page = answers(walk, walk.PAGE.read_text(encoding="utf-8"))
    run = answers(walk, small[0])
    assert [command for command, _ in page] == [command for command, _ in run]
    for (command, said), (_, lines) in zip(page, run, strict=True):
        if not command.startswith("head -2 tomorrow"):  # its columns are others
            assert masked(said) == masked(lines), command


def test_the_lists_find_what_was_forgotten(walk, small):
    """The first is far above the share of wrong entries among given 0s; with the next it finds most of them."""
    text = "\n".join(line for _, lines in answers(walk, small[0]) for line in lines)
    found = re.findall(r"(\d+) checked of missing, (\d+) of them", text)
    (checked, wrong), (_, more) = (map(int, pair) for pair in found)
    # 1.25 diagnoses a row of 8, of which 30 % are forgotten, stand among 7.1 given 0s
    assert wrong / checked > 3 * 0.3 * 1.25 / 7.1
    assert wrong + more > 0.5 * 0.3 * 1.25 * 400
    (total, left), (_, fewer) = (map(int, pair) for pair in re.findall(r"(\d+) annotations .*, (\d+) are left", text))
    assert 0 < fewer < left < total


def test_the_files_match_the_page(small):
    from nmlsdr._model.reading import open_model

    _, folder = small
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h1>Report on hospital.csv, " in page
    assert "Does the method help here?" in page
    model = open_model(folder / "reviewed.skops")
    assert len(model.label_names) == 8
    kinds = {column.name: column.kind for column in model.plan.columns}
    assert (kinds["patient"], kinds["admitted"], kinds["ward"]) == ("identifier", "date", "category")
    assert (kinds["smoker"], kinds["lab_000"]) == ("yes/no", "number")
    assert "diagnoses" not in kinds
    assert len((folder / "predicted.csv").read_text().splitlines()) == 161


def test_only_commands_are_typed(walk, tmp_path):
    """What stands below a command is replaced by its answer, also where that is a refusal."""
    text = "a\n```console\n$ echo 1\nlies\n$ nmlsdr fit no.csv --out m.skops\n```\nb\n```console\n$ echo $AS\n```\n"
    page = walk.execute(text, tmp_path)
    assert "lies" not in page
    assert "$ echo 1\n1\n" in page
    assert "nmlsdr: 'no.csv'" in page or "nmlsdr: no.csv" in page
    with pytest.raises(RuntimeError, match="status 7"):
        walk.execute("```console\n$ exit 7\n```\n", tmp_path)
