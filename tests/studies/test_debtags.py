"""The study of software packages and their tags, on a package index of a few invented packages."""

import debtags
import numpy as np
import pytest

pytest.importorskip("debian")

PARAGRAPH = """Package: {name}
Version: 1.0
Architecture: all
Maintainer: nobody <nobody@example.org>
Depends: {depends}
Section: {section}
Description: {description}
{tag}
"""
KINDS = {
    "gtk": ("libgtk-3-0 (>= 3.2), libc6", "window editor for pictures", "role::program, uitoolkit::{gtk,sdl}"),
    "perl": ("perl:any, libwww-perl | liblwp-perl", "module for parsing lists", "devel::library, implemented-in::perl"),
    "data": ("fonts-dejavu", "pictures and sounds of a game", "role::app-data"),
}


@pytest.fixture
def index(tmp_path):
    """Twenty packages of each kind; every fourth has no tags, and every fifth that needs GTK lacks its tag."""
    path = tmp_path / "Packages"
    with path.open("w", encoding="utf-8") as file:
        for number in range(60):
            kind = list(KINDS)[number % 3]
            depends, description, tags = KINDS[kind]
            if kind == "gtk" and number % 5 == 0:
                tags = "role::program"
            file.write(
                PARAGRAPH.format(
                    name=f"{kind}-{number}",
                    depends=depends,
                    section=kind,
                    description=f"{description} number {number}",
                    tag="" if number % 4 == 0 else f"Tag: {tags}\n",
                )
            )
    return debtags.read_index(path)


def test_a_package_index_is_read_with_groups_of_tags_and_alternatives(index):
    assert index.columns["name"][:3] == ["gtk-0", "perl-1", "data-2"]
    assert index.columns["description"][1] == "module for parsing lists number 1"
    assert index.tags[0] == []
    assert index.tags[3] == ["role::program", "uitoolkit::gtk", "uitoolkit::sdl"]
    assert index.dependencies[1] == ["liblwp-perl", "libwww-perl", "perl"]
    assert index.facts["packages"] == 60
    assert index.facts["tagged"] == 45
    assert len(index.facts["sha256"]) == 64


def test_a_dependency_is_evidence_only_for_the_tag_of_its_rule(index):
    has_rule, confirmed = debtags.evidence(index.dependencies, ["uitoolkit::gtk", "role::program", "devel::lang:perl"])
    assert has_rule.tolist() == [True, False, True]
    kinds = np.array([name.partition("-")[0] for name in index.columns["name"]])
    assert np.array_equal(confirmed[:, 0], kinds == "gtk")
    assert not confirmed[:, 1].any()
    assert np.array_equal(confirmed[:, 2], kinds == "perl")


def test_missing_tags_are_counted_beside_chance():
    tags = np.array([[0, 0], [0, 1], [0, 0], [1, 0]])
    confirmed = np.array([[True, False], [False, False], [False, False], [True, False]])
    has_rule = np.array([True, False])
    lists = {"both": (np.array([0, 0, 1]), np.array([0, 1, 0]))}
    first = debtags.missing_tags(tags, lists, has_rule, confirmed)[0]
    assert (first["judged"], first["confirmed"]) == (2, 1)
    assert first["chance"] == pytest.approx(2 / 3)  # one of the three absent entries of the label is confirmed


def test_the_ranking_measures_of_two_rows():
    truth = np.array([[1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0]])
    scores = np.array([[0.9, 0.8, 0.1, 0.2, 0.3, 0.7], [0.9, 0.8, 0.1, 0.2, 0.3, 0.0]])
    measures = debtags.ranking_measures(truth, scores)
    assert measures["p1"] == 50
    assert measures["p5"] == pytest.approx(100 * 3 / 10)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of few rows
def test_the_study_measures_three_tables(index, monkeypatch):
    monkeypatch.setattr(debtags, "MIN_COUNT", 3)
    monkeypatch.setattr(debtags, "STRENGTHS", (1.0,))
    monkeypatch.setattr(debtags, "LENGTHS", (3, 10))  # fewer than there are absent tags
    monkeypatch.setattr(debtags, "RIVALS", {"ML-kNN": debtags.nearest_packages})
    monkeypatch.setattr(debtags, "cleanlab_order", debtags.list_of_probabilities)  # an optional package
    tables = debtags.measure(index, 30, 15, 15)
    assert tables.keys() == debtags.COLUMNS.keys()
    for name, columns in debtags.COLUMNS.items():
        assert all(row[key] is not None for row in tables[name] for key, *_ in columns)
    best = tables["debtags-missing"][0]
    assert best["method"] == "ResidualPropagation"
    assert best["confirmed"] > best["chance"]
    assert tables["debtags-ranking"][0]["p1"] > 90
    assert tables["debtags-untagged"][0]["confirmed"] > tables["debtags-untagged"][0]["chance"]


def test_a_table_is_written_and_a_review_list_judged(index, tmp_path, capsys):
    debtags.write_table(index, tmp_path / "packages.csv", 20, 5)
    lines = (tmp_path / "packages.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "name,section,description,tags"
    assert len(lines) == 26
    assert sum(line.endswith(",") for line in lines) == 5
    review = tmp_path / "review.csv"
    review.write_text("name,label,verdict\ngtk-0,uitoolkit::gtk,\ngtk-0,role::program,\nperl-1,uitoolkit::gtk,\n")
    debtags.judge(index, review, tmp_path / "checked.csv")
    checked = (tmp_path / "checked.csv").read_text(encoding="utf-8").splitlines()
    assert [line.rpartition(",")[2] for line in checked] == ["verdict", "1", "", ""]
    assert "3 entries, 2 with a rule, 1 confirmed" in capsys.readouterr().out
