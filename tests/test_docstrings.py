"""Every example in a docstring runs as printed, and every public function has one."""

import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re

import pytest

import nmlsdr

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(nmlsdr.__path__, "nmlsdr.") if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run_as_printed(name):
    module = importlib.import_module(name)
    failures, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failures == 0


def public_objects():
    for name in MODULES:
        if any(part.startswith("_") or part == "experiments" for part in name.split(".")[1:]):
            continue  # the experiments are an application: their door is the command line
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            thing = getattr(module, public)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                yield f"{name}.{public}", thing


@pytest.mark.parametrize(("name", "thing"), list(public_objects()), ids=lambda v: v if isinstance(v, str) else "")
def test_public_things_are_documented_with_an_example(name, thing):
    text = inspect.getdoc(thing) or ""
    assert text, f"{name} has no docstring"
    if inspect.isclass(thing) and (issubclass(thing, (Exception, tuple)) or dataclasses.is_dataclass(thing)):
        return  # errors and records: the functions that give them have the examples
    assert ">>>" in text or _method_has_example(thing), f"{name} has no example"


def _method_has_example(thing):
    return inspect.isclass(thing) and any(">>>" in (inspect.getdoc(member) or "") for member in vars(thing).values())


def parameters_with_defaults():
    """(name, docstring, parameter, default) of what is public: functions, constructors and methods."""
    for name, thing in public_objects():
        members = [(name, thing, thing)]
        if inspect.isclass(thing):
            members = [(name, thing, thing.__init__)] if "__init__" in vars(thing) else []
            members += [(f"{name}.{key}", f, f) for key, f in inspect.getmembers(thing, inspect.isfunction)]
        for label, documented, function in members:
            text = inspect.getdoc(documented) or ""
            if label.rpartition(".")[2].startswith("_") or not function.__module__.startswith("nmlsdr"):
                continue
            if "Parameters\n" not in text:
                continue  # a helper whose one sentence says it all
            for parameter in inspect.signature(function).parameters.values():
                if parameter.default is not inspect.Parameter.empty:
                    yield pytest.param(text, parameter.name, parameter.default, id=f"{label}-{parameter.name}")


@pytest.mark.parametrize(("text", "parameter", "default"), list(parameters_with_defaults()))
def test_parameters_say_their_default(text, parameter, default):
    (line,) = re.findall(rf"^(?:.*, )?{parameter}(?:, .*)? : .*$", text, flags=re.MULTILINE)
    _, _, said = line.partition("default=")
    assert said, line
    assert eval(said.replace(" GiB", " * 2**30")) == default
