"""Stubs for imports that a single command does not need: pandas, scipy.stats and parts of skops, which take long."""

import importlib.util
import pkgutil
import sys
import types
from typing import Any


def _find_no_pandas(name: str, *place: Any) -> None:
    """Let the import of pandas fail, as where it is not installed."""
    if name == "pandas":
        raise ModuleNotFoundError(name)


class _NoNames(types.ModuleType):
    """Stands for modules of skops: what it trusts by itself, and how it reads types that our files do not hold."""

    def __getattr__(self, name: str) -> list[str]:
        if name.startswith("__"):
            raise AttributeError(name)
        return []


class _Later(types.ModuleType):
    """Stands for scipy.stats, or for one of its functions and distributions, until it is used.

    scikit-learn imports it for functions that commands do not call.
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._found()(*args, **options)

    def __getattr__(self, name: str) -> Any:
        if self.__name__ == "scipy.stats" and name in ("chi2", "gmean", "rankdata", "spearmanr"):
            return _Later(f"scipy.stats.{name}")  # scikit-learn imports these by their names
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        return getattr(self._found(), name)

    def _found(self) -> Any:
        """Return what it stands for."""
        if isinstance(sys.modules.get("scipy.stats"), _Later):
            del sys.modules["scipy.stats"]
        return pkgutil.resolve_name(self.__name__)


def stub_heavy_imports() -> None:
    """Let no library load pandas, and scipy.stats only when it is used, and let skops trust no class by itself.

    This is only for a process that runs a single command: `nmlsdr._model.archive` names the classes that a model file
    may hold. A fit of 300 rows and 20 columns takes about half of the processor time that it takes without this
    function.
    """
    if "pandas" not in sys.modules:
        finder: Any = types.SimpleNamespace(find_spec=_find_no_pandas)
        sys.meta_path.insert(0, finder)  # for good: pyarrow looks for it again and again
    if "scipy.stats" not in sys.modules:
        spec = importlib.util.find_spec("scipy.stats")
        later = _Later("scipy.stats")
        later.__path__ = spec.submodule_search_locations  # type: ignore
        sys.modules["scipy.stats"] = later
    for name in ("_trusted_types", "_sklearn", "_quantile_forest"):
        sys.modules.setdefault(f"skops.io.{name}", _NoNames(f"skops.io.{name}"))
