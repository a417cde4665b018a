"""What the libraries of a command need not load."""

import sys
from typing import Any


class _NoPandas:
    """Lets the import of pandas fail, as where it is not installed."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def load_little() -> None:
    """Load scikit-learn and pyarrow without what no command uses, and keep skops from loading all of it.

    This is only for a process that runs a single command: afterwards they do not know pandas, and skops
    trusts no class by itself (`nmlsdr._model.archive` names the classes that a model file may hold). A fit of 300 rows
    and 20 columns takes about two thirds of the processor time that it takes without this function.
    """
    # skops looks for each of the functions in it in all modules that were loaded before it.
    import scipy.special  # noqa: F401

    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)  # for good: pyarrow looks for it again and again
    import sklearn.utils

    sklearn.utils.all_estimators = list  # which skops imports one by one, for its list of classes to trust
