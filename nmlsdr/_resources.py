"""Files of the package that are data: tables of words, units, settings."""

import functools
import json
from importlib import resources
from typing import Any


@functools.cache  # the files of the package do not change while a process runs; callers only read what this returns
def load_json(package: str, name: str) -> dict[str, Any]:
    """Return what a JSON file of a folder of this package holds."""
    return json.loads(resources.files(package).joinpath(name).read_text(encoding="utf-8"))
