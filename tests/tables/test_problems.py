"""Cells that are not what their column holds: in which order they are named, what is advised, and which are errors."""

import numpy as np
import pytest

from nmlsdr.tables._problems import NO_UNIT, OTHER_MARK, Problem, errors_and_remarks, problems_in_words


def problem(name, rows, text, is_label=False, why=""):
    return Problem(name, np.array(rows), text, is_label, why)


WORD = problem("size", [7], "pending")
LABEL = problem("flu", [3], "maybe", is_label=True, why="'maybe' is not a label")
BARE = problem("mass", [5, 8], "12", why=NO_UNIT)
MARK = problem("price", [2], "1,5", why=OTHER_MARK)


def test_cells_are_counted_and_named_in_the_order_of_their_rows():
    sentence = problems_in_words([WORD, BARE, MARK], "line")
    assert sentence.startswith("4 cells are not what the column holds (3 different texts): line 2, column 'price'")
    places = [sentence.index(place) for place in ("line 2", "line 5, column 'mass': '12' (2 cells)", "line 7")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("cells", "advice"),
    [(WORD, "--missing pending"), (LABEL, "write a label"), (BARE, "the unit of the fit"), (MARK, "one decimal mark")],
)
def test_each_kind_of_cell_has_its_own_advice(cells, advice):
    other_advice = {"--missing", "write a label", "the unit of the fit", "one decimal mark"} - {
        advice.partition(" p")[0]
    }
    sentence = problems_in_words([cells], "line")
    assert advice in sentence
    assert not [unfit_advice for unfit_advice in other_advice if unfit_advice in sentence]
    assert all(advice in problems_in_words([WORD, LABEL, BARE, MARK], "line") for advice in [advice, *other_advice])


def test_only_ten_cells_and_ten_words_are_shown():
    sentence = problems_in_words([problem("a", [row], f"word{row:02}") for row in range(13)], "row", in_python=True)
    assert "'word09'" in sentence
    assert "word10" not in sentence
    assert "and 3 more texts" in sentence
    assert sentence.endswith("'word09'] and 3 others.")


@pytest.mark.parametrize(
    ("n_words", "n_bare", "is_error"), [(1, 0, False), (2, 0, True), (0, 50, False), (0, 51, True), (1, 1, True)]
)
def test_few_cells_of_new_rows_are_tolerated(n_words, n_bare, is_error):
    """Of 100 cells one word, or 50 numbers without the unit of the others."""
    words = [problem("a", [row], "pending") for row in range(n_words)]
    bare = [problem("a", range(50, 50 + n_bare), "12", why=NO_UNIT)] * bool(n_bare)
    errors, remarks = errors_and_remarks([*words, *bare], 100)
    assert (errors == [*words, *bare]) == is_error
    assert ([*remarks] == ["a"]) == (not is_error)


def test_a_label_is_never_tolerated_and_another_column_is_judged_for_itself():
    errors, remarks = errors_and_remarks([LABEL, WORD], 10_000)
    assert errors == [LABEL]
    assert [*remarks] == ["size"]
