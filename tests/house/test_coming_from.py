"""docs/coming_from.md: the program on this package is no longer than that which it replaces, and gives the same."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming_from.md"


def blocks():
    if not PAGE.is_file():
        pytest.skip("the documents are not beside the tests (an installed copy)")
    return re.findall(r"```(?:text|python)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_program_with_nmlsdr_is_no_longer_than_that_with_scikit_multilearn():
    before, after, grid, *_ = blocks()
    assert "skmultilearn" in before
    lines = [len([line for line in block.splitlines() if line.strip()]) for block in (before, after)]
    assert lines[1] <= lines[0] <= 8
    names = {}
    exec(compile(after, PAGE.name, "exec"), names)
    assert names["labels"].shape == names["scores"].shape == (100, 5)
    np.testing.assert_array_equal(names["labels"], names["scores"] >= 0.5)
    exec(compile(grid, PAGE.name, "exec"), names)
    assert names["search"].best_params_.keys() == names["grid"].keys()


def test_the_page_quotes_the_error_that_scikit_multilearn_meets():
    with pytest.raises(TypeError) as caught:
        NearestNeighbors(10)
    blocks()  # skips without the page
    assert f"`TypeError: {caught.value}`" in PAGE.read_text(encoding="utf-8")
