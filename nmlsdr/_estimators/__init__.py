"""The estimators, layer 2 of the package (see `nmlsdr`).

Each is a dataclass: its fields are the parameters, and the `__init__` that the decorator writes stores them unchanged,
as scikit-learn requires.
"""

from ._mlknn import MLkNN, SemiSupervisedMLkNN
from ._nmlsdr import NMLSDR
from ._propagator import MultiLabelPropagation
from ._residual import ResidualPropagation
from ._ssmldr import SSMLDR
from ._supervised import MDDM, MLDA, MVMD, MultiLabelCCA
from ._transformer import ExactNeighborsTransformer

__all__ = [
    "MDDM",
    "MLDA",
    "MVMD",
    "NMLSDR",
    "SSMLDR",
    "ExactNeighborsTransformer",
    "MLkNN",
    "MultiLabelCCA",
    "MultiLabelPropagation",
    "ResidualPropagation",
    "SemiSupervisedMLkNN",
]
