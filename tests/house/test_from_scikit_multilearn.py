"""docs/from_scikit_multilearn.md: what runs on this package runs as printed."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from_scikit_multilearn.md"


def blocks():
    if not PAGE.is_file():
        pytest.skip("the documents are not beside the tests (an installed copy)")
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def run(block):
    names = {}
    exec(compile(block, PAGE.name, "exec"), names)
    return names


def test_the_program_with_nmlsdr_is_no_longer_than_that_with_scikit_multilearn():
    before, after, _ = blocks()
    lines = [len([line for line in block.splitlines() if line.strip()]) for block in (before, after)]
    assert lines[1] <= lines[0] <= 8
    names = run(after)
    assert names["labels"].shape == names["scores"].shape == (100, 5)
    np.testing.assert_array_equal(names["labels"], names["scores"] >= 0.5)


def test_the_grid_search_of_the_page_runs():
    names = run(blocks()[2])
    assert names["search"].best_params_.keys() == names["grid"].keys()
