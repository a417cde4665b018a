"""What a loader returns, with types for type checkers: scikit-learn's Bunch has none."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:

    class Bunch(dict[str, Any]):
        target: NDArray[np.int64]
        test_target: NDArray[np.int64]
        feature_names: list[str]
        label_names: list[str]
        DESCR: str

        def __getattr__(self, name: str) -> Any: ...  # data and test_data, arrays or sparse matrices

else:
    from sklearn.utils import Bunch as Bunch
