"""The package is typed: the marker is installed, and the stubs of the kernels say what the compiled modules do."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import nmlsdr

PACKAGE = Path(nmlsdr.__file__).parent
STUBS = sorted(PACKAGE.glob("*.pyi"))


def test_the_marker_and_the_stubs_are_installed():
    assert (PACKAGE / "py.typed").is_file()
    assert {"_graph.pyi", "_mlknn.pyi"} <= {stub.name for stub in STUBS}


def functions(body):
    return {item.name: item.args for item in body if isinstance(item, ast.FunctionDef)}


def public(thing):
    return {
        name
        for name, value in vars(thing).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == thing.__name__
    }


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.stem)
def test_stub_names_every_kernel_and_its_arguments(stub):
    module = importlib.import_module(f"nmlsdr.{stub.stem}")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    declared = functions(tree.body)
    classes = {item.name for item in tree.body if isinstance(item, ast.ClassDef)}
    assert set(declared) | classes == public(module)
    for name, arguments in declared.items():
        written = [argument.arg for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
        assert written == list(inspect.signature(getattr(module, name)).parameters), name
