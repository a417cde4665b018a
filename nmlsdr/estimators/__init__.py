"""Estimators: floor 2."""

from ._cca import MultiLabelCCA
from ._mddm import MDDM
from ._mlda import MLDA
from ._mlknn import MLkNN, SemiSupervisedMLkNN
from ._mvmd import MVMD
from ._nmlsdr import NMLSDR
from ._propagator import MultiLabelPropagation
from ._residual import ResidualPropagation
from ._ssmldr import SSMLDR

__all__ = [
    "MDDM",
    "MLDA",
    "MVMD",
    "NMLSDR",
    "SSMLDR",
    "MLkNN",
    "MultiLabelCCA",
    "MultiLabelPropagation",
    "ResidualPropagation",
    "SemiSupervisedMLkNN",
]
