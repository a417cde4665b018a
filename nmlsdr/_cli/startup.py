"""What the libraries of a command need not load."""

import sys
from typing import Any


def load_little() -> None:
    """Load scikit-learn without what no command uses, and keep skops from loading all of it.

    This is only for a process that runs a single command: afterwards scikit-learn does not know pandas, and skops
    trusts no class by itself (`nmlsdr._model.archive` names the classes that a model file may hold). A fit of 300 rows
    and 20 columns takes about two thirds of the processor time that it takes without this function.
    """
    # skops looks for each of the functions in it in all modules that were loaded before it.
    import scipy.special  # noqa: F401

    modules: dict[str, Any] = sys.modules
    if "pandas" not in modules:
        modules["pandas"] = None  # its import fails, as where it is not installed
        import sklearn.utils.fixes

        del modules["pandas"]
    import sklearn.utils

    sklearn.utils.all_estimators = list  # which skops imports one by one, for its list of classes to trust
