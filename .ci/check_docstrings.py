"""Check that the docstring of every public thing says all parameters, types, descriptions and returns (numpydoc)."""

import dataclasses
import importlib
import inspect
import sys

from numpydoc.validate import validate

import nmlsdr

CODES = {
    "GL03",
    "GL08",
    "SS01",  # blank lines; a docstring; a summary
    "PR01",
    "PR02",
    "PR03",
    "PR04",
    "PR07",
    "PR10",  # parameters: all, none unknown, in order, type, description, colon
    "RT01",
    "RT03",
    "YD01",  # what is returned or yielded
}


def places():
    """Public names, and the public methods that their classes define or inherit from this package."""
    for name in (*sorted({*dir(nmlsdr)} - {*nmlsdr.__all__}), "cli"):
        module = importlib.import_module(f"nmlsdr.{name}")
        for public in module.__all__:
            thing = getattr(module, public)
            if not callable(thing):
                continue
            yield f"nmlsdr.{name}.{public}", thing
            for base in thing.__mro__ if inspect.isclass(thing) else ():
                for member, value in vars(base).items() if base.__module__.startswith("nmlsdr") else ():
                    if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, classmethod)):
                        yield f"nmlsdr.{name}.{public}.{member}", value


problems = []
seen = set()
for place, thing in places():
    if id(thing) in seen:
        continue
    seen.add(id(thing))
    record = inspect.isclass(thing) and (issubclass(thing, (tuple, Exception)) or dataclasses.is_dataclass(thing))
    for code, message in validate(place)["errors"]:  # a record's fields are its Attributes; an error takes a sentence
        if code in CODES and not (record and code == "PR01"):
            problems.append(f"{place}: {code} {message}")
print(f"{len(seen)} docstrings, {len(problems)} problems")
sys.exit("\n".join(problems) or (None if len(seen) > 50 else "no docstring was found"))
