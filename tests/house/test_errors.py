"""Errors: what a check refuses is an InputError, so that a ValueError of any other kind is known to be a bug."""

import ast
import pickle
from pathlib import Path

import pytest

import nmlsdr
from nmlsdr import InputError
from nmlsdr.model_file import ModelFileError
from nmlsdr.tables import DataFileError

PACKAGE = Path(nmlsdr.__file__).parent
# Where ValueError is raised as such, and why.
PLAIN = {
    "datasets/_binary.py": "caught in the same file and told with the file's name",
    "datasets/_cells.py": "caught in the same file and told with line and column",
    "tables/_plan.py": "caught in the same file and told as what a model file holds",
    "inspection/_images.py": "caught in the same file; the picture is left out and counted",
}


def raised_names(path):
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "ValueError" in text else ():
        if isinstance(node, ast.Raise) and node.exc is not None:
            called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(called, ast.Name):
                yield called.id, node.lineno


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_checks_raise_input_errors(path):
    if path.relative_to(PACKAGE).as_posix() in PLAIN:
        return
    assert [line for name, line in raised_names(path) if name == "ValueError"] == []


def test_errors_of_files_are_input_errors_and_those_are_value_errors():
    for kind in (DataFileError, ModelFileError):
        assert issubclass(kind, InputError)
    assert issubclass(InputError, ValueError)


def test_an_input_error_crosses_processes():
    error = pickle.loads(pickle.dumps(InputError("n_neighbors must be 1.")))
    assert type(error) is InputError
    assert str(error) == "n_neighbors must be 1."


def test_an_input_error_shows_control_characters_escaped():
    assert str(InputError("column 'a\x1b[2J' is missing")) == r"column 'a\x1b[2J' is missing"
