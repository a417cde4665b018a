"""The campaign of deliberate errors: its tables have a sound form, and its patterns find their place."""

from pathlib import Path

import pytest
from campaigns import mutation, places

TESTS = Path(__file__).parents[1]

PYTHON = '''
LIMIT = 3

def other(x):
    return x + 1

class Thing:
    def add(
        self, x,
    ):
        """Add."""
        if x:
            return x + 1
        return 0

    def drop(self):
        return LIMIT
'''

C = """
#define LIMIT 3
static NM_INLINE double add(double x,
                            double y)
{
    return x + y;
}

int drop(int x) {
    if (x > 0) { return x + y; }
    return 0;
}
"""


@pytest.mark.parametrize(
    ("source", "suffix", "function", "old", "line"),
    [
        (PYTHON, ".py", "other", "x + 1", "    return broken"),
        (PYTHON, ".py", "add", "x  +\n1", "            return broken"),
        (PYTHON, ".pyx", "drop", "LIMIT", "        return broken"),
        (PYTHON, ".py", "Thing", "return 0", "        broken"),
        (PYTHON, ".py", "", "LIMIT = 3", "broken"),
        (C, ".h", "add", "x + y", "    return broken;"),
        (C, ".h", "drop", "x + y", "    if (x > 0) { return broken; }"),
    ],
)
def test_a_pattern_is_replaced_only_in_its_function(source, suffix, function, old, line):
    found = places.replaced(source, suffix, function, old, "broken")
    (changed,) = set(found.splitlines()) - set(source.splitlines())
    assert changed == line


@pytest.mark.parametrize(("function", "old"), [("", "x + 1"), ("add", "x + 2"), ("gone", "x + 1")])
def test_a_pattern_that_is_not_there_exactly_once_is_reported(function, old):
    with pytest.raises(places.Missing, match=r"is there [02] times"):
        places.replaced(PYTHON, ".py", function, old, "broken")


def test_a_function_is_found_after_it_has_moved_to_another_file(tmp_path):
    (tmp_path / "new.py").write_text(PYTHON)
    mutant = mutation.Mutant("name", "old.py", "add", "x + 1", "x", ())
    path, broken = places.mutated(tmp_path, mutant)
    assert path.name == "new.py"
    assert broken != PYTHON
    with pytest.raises(places.Missing, match=r"no old\.py"):
        places.mutated(tmp_path, mutant._replace(function="gone"))


def test_the_tables_have_no_name_twice_and_name_test_files_that_exist():
    mutants, _ = mutation.tables()
    named = {each for mutant in mutants for each in mutant.tests if each.endswith(".py")}
    assert len(mutants) > 250
    assert sorted(name for name in named if not (TESTS.parent / name).exists()) == []


def test_every_pattern_of_the_tables_is_in_the_package():
    """Otherwise correct the row in the table, or delete it if its code was deleted on purpose."""
    mutants, _ = mutation.tables()
    assert [f"{mutant.name}: {what}" for mutant in mutants if (what := mutation.gone(mutant))] == []
