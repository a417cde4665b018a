"""scikit-learn's base classes, with types for type checkers.

scikit-learn has no types, and a class with a base of unknown type accepts any parameter: a misspelt one would pass.
"""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .._errors import InputError
from .._version import __version__

if TYPE_CHECKING:

    class BaseEstimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...  # fitted attributes, and what scikit-learn adds

    class CallbackSupportMixin:
        def set_callbacks(self, *callbacks: Any) -> Self: ...

    class ClassifierMixin: ...

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[np.floating[Any]]: ...
        def set_output(self, *, transform: Any = None) -> Self: ...

    def with_callbacks(fit: Any) -> Any: ...

else:
    import sklearn.base
    from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin  # noqa: F401

    class BaseEstimator(sklearn.base.BaseEstimator):
        """A pickle holds the version, and another version of the package does not read it."""

        def __getstate__(self) -> dict[str, Any]:
            return {**super().__getstate__(), "_nmlsdr_version": __version__}

        def __setstate__(self, state: dict[str, Any]) -> None:
            written = state.pop("_nmlsdr_version", "an earlier one")
            if written != __version__:
                raise InputError(
                    f"This {type(self).__name__} was written by nmlsdr {written}, and this is nmlsdr {__version__}; "
                    "fit again, or install that version."
                )
            super().__setstate__(state)

    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # before scikit-learn 1.9

        class CallbackSupportMixin:
            """Callbacks need scikit-learn 1.9."""

        def with_callbacks(fit: Any) -> Any:
            """Callbacks need scikit-learn 1.9."""
            return fit
