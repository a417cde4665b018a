"""Lists written by hand, because they are read before anything is imported, or by people: they are complete."""

import argparse
import re
from pathlib import Path
from typing import get_args

import pytest

from nmlsdr import _thresholds
from nmlsdr._article_methods import METHODS
from nmlsdr._checks.arguments import Metric
from nmlsdr._cli import values, verbs
from nmlsdr._search.metrics import METRICS
from nmlsdr.experiments import protocol
from nmlsdr.tables import _formats

ROOT = Path(__file__).resolve().parents[2]
FORMATS = {
    _formats.ArffFile: "ARFF",
    _formats.CsvFile: "CSV",
    _formats.ExcelFile: "Excel",
    _formats.ParquetFile: "Parquet",
    _formats.read_npz: "npz",
    _formats.read_svmlight: "svmlight",
}


@pytest.fixture(scope="module")
def options():
    """The options of `nmlsdr fit`, by name."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(parser_class=verbs.Parser)
    verbs._add_tables(commands)
    actions = commands.choices["fit"]._actions
    return {(action.option_strings or [action.dest])[-1]: action for action in actions}


def words(text):
    return set(re.findall(r"[\w*-]+", text))


def test_choices_of_the_command_line_are_those_of_the_package(options):
    assert values.RULES == _thresholds.RULES
    assert words(options["--threshold"].help) >= {*_thresholds.RULES}
    assert words(options["--method"].help) >= {*METHODS}
    assert options["--metric"].choices == get_args(Metric) == (*METRICS,)
    assert words(options["--metric"].help) >= {*METRICS}
    assert set(verbs.STUDIES) == set(protocol.STUDIES)


def test_every_format_has_a_name_and_the_help_names_it(options):
    assert FORMATS.keys() == {*_formats.READERS.values()}
    assert {name for name in FORMATS.values() if name not in words(options["data"].help)} == set()


def sentences():
    """Sentences of the pages that name at least four formats."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for sentence in re.split(r"(?<=[.:])\s+(?=[A-Z*])|\n\n", page.read_text(encoding="utf-8")):
            if len(words(sentence) & {*FORMATS.values()}) >= 4:
                yield page.name, sentence


def test_pages_that_list_the_formats_list_all():
    if not (ROOT / "README.md").exists():
        pytest.skip("the pages are in a checkout")
    listed = [*sentences()]
    assert len(listed) >= 3
    for page, sentence in listed:
        assert {*FORMATS.values()} <= words(sentence), (page, sentence)
