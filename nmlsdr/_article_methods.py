"""The article's methods by name, for `nmlsdr fit` and the experiments.

Every entry is called like a constructor, ``METHODS["MDDMp"](n_components, n_neighbors, ...)``, and returns an estimator
that is not fitted. The settings are those that reproduce the article's columns (ridge 0.1, beta = mu = 0.5). A starred
name is the same method with the given labels clamped, alpha_labeled = 0 (article, section 4.4).
"""

import difflib
import importlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ._errors import InputError


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Attributes
    ----------
    name : str
        As the article prints it.
    estimator : str
        The class of this package, or "module:Class" for another.
    settings : dict
        Its parameters that make the method.
    """

    name: str
    estimator: str
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def semi_supervised(self) -> bool:
        """Whether the method reads the unlabelled rows; the others fit on the labelled rows alone."""
        return self.estimator in ("NMLSDR", "SSMLDR")

    @property
    def custom(self) -> bool:
        """Whether its class is that of "module:Class", and not one of this package."""
        return ":" in self.estimator

    @property
    def clamped(self) -> bool:
        """Whether the method keeps the given labels as they are (a starred name)."""
        return self.name.endswith("*")

    def check_alpha(self, alpha_labeled: Any) -> None:
        """Raise if a starred method gets a number other than 0, its own; None is no number."""
        if self.clamped and alpha_labeled not in (None, 0):
            raise InputError(f"{self.name} has alpha_labeled=0, got {alpha_labeled}; use {self.name.rstrip('*')}.")

    def __call__(self, n_components: int | None = None, n_neighbors: int = 10, **settings: Any) -> Any:
        """Return the method's estimator.

        Settings that the estimator does not have are left out, and None stands for its own default.  A starred method
        has alpha_labeled = 0 and raises an error for another value.
        """
        self.check_alpha(settings.get("alpha_labeled"))
        cls = class_named(self.estimator if self.custom else f"nmlsdr:{self.estimator}")
        arguments = {**settings, "n_components": n_components, "n_neighbors": n_neighbors, **self.settings}
        names = cls._get_param_names()
        return cls(**{name: value for name, value in arguments.items() if name in names and value is not None})


_ALL = (  # in the article's order, then one that is not in its tables
    Method("CCA", "MultiLabelCCA"),
    Method("MVMD", "MVMD"),
    Method("MDDMp", "MDDM", {"constraint": "projection"}),
    Method("MDDMf", "MDDM", {"constraint": "features"}),
    Method("wMLDAb", "MLDA", {"label_weights": "binary"}),
    Method("wMLDAe", "MLDA", {"label_weights": "entropy"}),
    Method("wMLDAc", "MLDA", {"label_weights": "correlation"}),
    Method("wMLDAd", "MLDA", {"label_weights": "dependence"}),
    Method("SSMLDR", "SSMLDR"),
    Method("NMLSDR", "NMLSDR"),
    Method("SSMLDR*", "SSMLDR", {"alpha_labeled": 0.0}),
    Method("NMLSDR*", "NMLSDR", {"alpha_labeled": 0.0}),
    Method("wMLDAf", "MLDA", {"label_weights": "fuzzy"}),
)
METHODS = {method.name: method for method in _ALL}


def method_named(name: str) -> Method:
    """The method of a name that `find_method` returned, or of "module:Class"."""
    return METHODS.get(name) or Method(name, name)


def class_named(name: str) -> Any:
    """The transformer class of "module:Class"; the module is also looked for in the working directory."""
    module, _, attribute = name.partition(":")
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        transformer = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"The method {name!r} cannot be imported ({error}); start in its folder.") from error
    if not (
        isinstance(transformer, type) and all(hasattr(transformer, each) for each in ("get_params", "fit", "transform"))
    ):
        raise InputError(f"The method {name!r} must be a transformer class: BaseEstimator with fit and transform.")
    return transformer


def find_method(name: str, known: Iterable[str] = METHODS) -> str:
    """Return a name as it is spelled in `known`, whatever the case it is given in.

    Parameters
    ----------
    name : str
        One of `known`, in any case.
    known : iterable of str
        By default the keys of `METHODS`, which are spelled as in the article.

    Returns
    -------
    str
        The name as in `known`.

    Raises
    ------
    ValueError
        The name is unknown.

    Examples
    --------
    >>> find_method("mddmP")
    'MDDMp'
    >>> find_method("nmlsdr*")
    'NMLSDR*'
    """
    keys = {key.lower(): key for key in known}
    folded = name.strip().lower()
    if folded in keys:
        return keys[folded]
    near = difflib.get_close_matches(folded, keys, n=1)
    hint = f"did you mean {keys[near[0]]}?" if near else f"choose one of {', '.join(keys.values())}."
    raise InputError(f"There is no method named {name!r}; {hint}")
