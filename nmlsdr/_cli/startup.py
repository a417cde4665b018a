"""What the libraries of a command need not load."""

import importlib.util
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
    """Stands for modules of skops: what it trusts by itself, and how it reads types that our files do not hold."""

    def __getattr__(self, name: str) -> list[str]:
        if name.startswith("__"):
            raise AttributeError(name)
        return []


class _LaterStats(types.ModuleType):
    """Stands for scipy.stats until it is used: scikit-learn imports it for functions that commands do not call."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        found = importlib.util.find_spec(name)
        self.__path__ = (found and found.submodule_search_locations) or []

    def __getattr__(self, name: str) -> Any:
        if name in ("chi2", "gmean", "rankdata", "spearmanr"):  # which scikit-learn imports by their names
            return _LaterPart(name)
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        return getattr(_stats(), name)


class _LaterPart:
    """Stands for a function or a distribution of scipy.stats until it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        return getattr(_stats(), self._name)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(_stats(), self._name), name)


def _stats() -> Any:
    """Return scipy.stats itself."""
    if isinstance(sys.modules.get("scipy.stats"), _LaterStats):
        del sys.modules["scipy.stats"]
    return importlib.import_module("scipy.stats")


def load_little() -> None:
    """Let no library load pandas, and scipy.stats only when it is used, and let skops trust no class by itself.

    This is only for a process that runs a single command: `nmlsdr._model.archive` names the classes that a model file
    may hold. A fit of 300 rows and 20 columns takes about half of the processor time that it takes without this
    function.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)  # for good: pyarrow looks for it again and again
    if "scipy.stats" not in sys.modules:
        sys.modules["scipy.stats"] = _LaterStats("scipy.stats")
    for name in ("_trusted_types", "_sklearn", "_quantile_forest"):
        sys.modules.setdefault(f"skops.io.{name}", _NoNames(f"skops.io.{name}"))
