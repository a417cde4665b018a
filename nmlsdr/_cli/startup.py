"""What the libraries of a command need not load."""

import sys
import types
from typing import Any


class _NoPandas:
    """Lets the import of pandas fail, as where it is not installed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


class _NoNames(types.ModuleType):
    """Stands for the module of skops that looks up, in all loaded modules, what skops trusts by itself."""

    def __getattr__(self, name: str) -> list[str]:
        if name.startswith("__"):
            raise AttributeError(name)
        return []


def load_little() -> None:
    """Let no library load pandas, and let skops trust no class by itself.

    This is only for a process that runs a single command: `nmlsdr._model.archive` names the classes that a model file
    may hold. A fit of 300 rows and 20 columns takes about half of the processor time that it takes without this
    function.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)  # for good: pyarrow looks for it again and again
    sys.modules.setdefault("skops.io._trusted_types", _NoNames("skops.io._trusted_types"))
