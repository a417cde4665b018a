"""Pictures and tables of the pages are current: no default, rule or program that made them has changed since."""

import dataclasses
import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(
    not (TOP / "docs" / "figures.py").is_file(), reason="the documents are not beside the tests (an installed copy)"
)


@pytest.fixture(scope="module")
def figures():
    spec = importlib.util.spec_from_file_location("figures", TOP / "docs" / "figures.py")
    module = sys.modules["figures"] = importlib.util.module_from_spec(spec)  # where dataclasses look for its names
    spec.loader.exec_module(module)
    return module


def names():
    text = (TOP / "docs" / "figures.py").read_text(encoding="utf-8") if (TOP / "docs").is_dir() else ""
    return [line.split('"')[1] for line in text.splitlines() if line.startswith('    "') and ": Product(" in line]


@pytest.mark.usefixtures("default_forest")
@pytest.mark.parametrize("name", names())
def test_a_product_is_current_and_was_made_from_a_clean_tree(figures, name):
    reasons = figures.reasons_to_make_again(name)
    if name in figures.OUT_OF_DATE:  # then the pages say so, see bench/tables.py
        is_current = not reasons and not figures.PRODUCTS[name].finished  # of which no program can be compared
        assert not is_current, f"{name} is current; remove it from OUT_OF_DATE"
    else:
        assert reasons == []


@pytest.fixture
def small(figures, monkeypatch, tmp_path):
    """A product in a folder of its own: its maker, its golden rows and its provenance."""
    (tmp_path / "tests" / "golden").mkdir(parents=True)
    (tmp_path / "tests" / "golden" / "residual.json").write_text("[1]")
    (tmp_path / "draw.py").write_text("draw()")
    product = figures.Product(("python", "draw.py"), ("ResidualPropagation",), ("draw.py",), ("a.svg",), "")
    monkeypatch.setitem(figures.PRODUCTS, "small", product)
    facts = {**figures.present("small", tmp_path), "commit": "0" * 40, "clean": True, "date": "2026-01-01"}
    (tmp_path / "small.provenance.json").write_text(json.dumps(facts))
    return tmp_path, facts


def reasons(figures, folder):
    return " ".join(figures.reasons_to_make_again("small", folder))


def test_every_reason_to_make_a_product_again_is_found(figures, small):
    folder, facts = small
    file = folder / "small.provenance.json"
    assert reasons(figures, folder) == ""
    file.write_text(json.dumps({**facts, "clean": False, "classes": {"ResidualPropagation": {"n_estimators": 7}}}))
    assert "uncommitted changes" in reasons(figures, folder)
    assert "ResidualPropagation with former default parameters" in reasons(figures, folder)
    file.write_text(json.dumps(facts))
    for name, word in (("tests/golden/residual.json", "golden rows"), ("draw.py", "program")):
        (folder / name).write_text("another")
        assert f"before a change of the {word} {name}" in reasons(figures, folder)
    (folder / "tests" / "golden" / "residual_two.json").write_text("[2]")
    assert "residual_two.json" in reasons(figures, folder)
    file.unlink()
    assert "has no small.provenance.json" in reasons(figures, folder)


def test_a_finished_study_is_judged_by_its_golden_rows_and_not_made_again(figures, small, monkeypatch):
    folder, facts = small
    product = dataclasses.replace(figures.PRODUCTS["small"], makers=(), finished=True)
    monkeypatch.setitem(figures.PRODUCTS, "small", product)
    monkeypatch.setattr(figures, "provenance_file", lambda name, top=None: folder / f"{name}.provenance.json")
    assert reasons(figures, folder) == ""
    (folder / "tests" / "golden" / "residual.json").write_text("[2]")
    assert "before a change of the golden rows tests/golden/residual.json" in reasons(figures, folder)
    assert "its program is in the history" in reasons(figures, folder)
    with pytest.raises(SystemExit, match=f"its program is at commit {facts['commit']}: python draw.py"):
        figures.make("small")


def test_every_class_of_a_product_exists_and_every_output_is_there(figures):
    for name, product in figures.PRODUCTS.items():
        assert figures.defaults(product.classes).keys() == set(product.classes), name
        for output in product.outputs:
            assert any(TOP.glob(f"{output}*")) or name in figures.OUT_OF_DATE, (name, output)


def test_pages_and_products_do_not_make_the_tree_unclean(figures, monkeypatch):
    changed = "docs/review.md\ndocs/_static/pictures/front-dark.svg\nnmlsdr/graph.py\n"
    monkeypatch.setattr(figures, "_git", lambda *arguments, top: changed)
    assert figures.uncommitted(()) == ["nmlsdr/graph.py"]


def test_judgements_of_films_are_joined_and_counted(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("films", TOP / "docs" / "films.py")
    films = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(films)
    head = ",".join(films.SHEET)
    sheet_lines = [f"{i + 1},Film {i},2000,90,{('Drama', 'Comedy')[i // 2]},yes," for i in range(4)]
    (tmp_path / "sheet_2.csv").write_text("\n".join([head, *sheet_lines]))
    (tmp_path / "key.csv").write_text("entry,origin\n1,first\n2,random\n3,first\n4,first")
    judgements = ("wrong", "right", "wrong", "cannot tell"), ("wrong", "wrong", "right", "right")
    files = [str(tmp_path / f"judge_{i}.csv") for i in (1, 2)]
    for file, words in zip(files, judgements, strict=True):
        Path(file).write_text("\n".join([head, *map("".join, zip(sheet_lines, words, strict=True))]))
    monkeypatch.setattr(films, "PLACE", tmp_path)
    monkeypatch.setattr(sys, "argv", ["films.py", "join", str(tmp_path), *files])
    films.main()
    assert films.read_csv(tmp_path / "judgements.csv")[3] == {
        "film": "Film 3 (2000)",
        "label": "Comedy",
        "judgement 1": "cannot tell",
        "judgement 2": "right",
    }
    lines = films.read_csv(tmp_path / "tables" / "films-genres.csv")
    counts = {line.pop("Genre"): [*map(int, line.values())] for line in lines}
    assert counts["Comedy, first 30"] == [1, 0, 1, 0, 2, 0, 0, 1, 0]  # the last three: both wrong, told, equal
    assert counts["all six, first"] == [2, 0, 1, 1, 2, 0, 1, 2, 1]
    assert counts["all six, random"] == [0, 1, 0, 1, 0, 0, 0, 1, 0]
    Path(files[1]).write_text(Path(files[1]).read_text().replace("yes,right", "yes,perhaps"))
    with pytest.raises(SystemExit, match="entry 3: write one of wrong, right, cannot tell, not 'perhaps'"):
        films.main()


# ---------------------------------------------------------------- numbers of the pages come from files

# What needs no record: numbers that programs write, code, formulas, links and what pictures show.
RECORDED = re.compile(
    r"<!-- (?:bench|study):(?:value|table|provenance).*?<!-- bench:end -->|```.*?```|`[^`]*`|\$[^$]+\$"
    r"|!?\[[^\]]*\]\([^)]*\)",
    re.DOTALL,
)
RESULT = re.compile(
    r"(?<![\w.])(?:\d+\.\d+(?![\w.])|\d+(?: to \d+)? (?:times|points)\b|(?!\d*[05] |1 )\d+ %)"  # 5 %, 30 %: settings
)
# Numbers that are no results: parameters, limits, versions, licences, the noise of an experiment, an example.
NO_RESULTS = {
    "README": "3.11 4.0",
    "article": "0.02 0.05",
    "glossary": "0.6 0.999",
    "in_python": "96 %",
    "install": "1.6 3.11 3.12 3.14",
    "label_errors": "0.1",
    "label_formats": "0.6 0.999",
    "prepare": "2017.65",
    "questions": "0.4 0.6 0.999 1.0 1.9",
    "residual_propagation": "0.6 0.75 0.999 1.05",
    "review": "16.4",
    "tags": "2.5",
    "ten_minutes": "4.0",
    "theory": "0.6 0.999",
    "thresholds": "0.3 0.6 2 %",
}


PAGES = [*TOP.glob("docs/[!R]*.md"), TOP / "README.md", TOP / "paper.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_result_on_a_page_is_written_from_a_file(page):
    results = set(RESULT.findall(RECORDED.sub("", page.read_text(encoding="utf-8"))))
    assert results == set(re.findall(r"[\d.]+(?: %)?", NO_RESULTS.get(page.stem, "")))
