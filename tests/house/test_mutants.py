"""The campaign of deliberate errors: what it breaks is code, and only where it was asked to."""

from pathlib import Path

from campaigns import mutants, mutation

TESTS = Path(__file__).parents[1]


def test_random_errors_are_in_the_code_of_the_lines_that_were_asked_for():
    text = (mutation.PACKAGE / "graph.py").read_text().splitlines()
    lines = {i + 1 for i, line in enumerate(text) if " < " in line or "return" in line}
    mutants = mutation.random_mutants(["graph.py"], {"graph.py": lines}, 30, 1)
    assert len({mutant.broken for mutant in mutants}) == 30
    for mutant in mutants:
        compile(mutant.broken, "graph.py", "exec")
        broken = mutant.broken.splitlines()
        assert [i + 1 for i, (a, b) in enumerate(zip(text, broken, strict=True)) if a != b] == [
            int(mutant.name.split(":")[1].split()[0])
        ]
        assert int(mutant.name.split(":")[1].split()[0]) in lines
    assert mutants == mutation.random_mutants(["graph.py"], {"graph.py": lines}, 30, 1)


def test_every_row_of_the_tables_names_what_is_there():
    assert mutation.kept_mutants()
    for row, tests in mutants.TESTS.items():
        assert [*mutation.PACKAGE.glob(f"{row}*")], row
        assert [each for each in tests.split() if not (TESTS / each).exists()] == []
    assert all(mutation.tests_of(file) for file, *_ in mutants.KEPT)


def test_every_file_of_the_package_has_tests_that_are_asked():
    """A file without a row would never be drawn."""
    without = {file for file in mutation.package_files() if not mutation.tests_of(file)}
    assert without == set(mutants.WITHOUT_TESTS)
