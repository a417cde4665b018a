"""The estimators, layer 2 of the package (see `nmlsdr`).

Each is a dataclass: its fields are the parameters, and the `__init__` that the decorator writes stores them unchanged,
as scikit-learn requires. Its `fit` names the steps in the article's order:

    rows, labels -> weights of the features -> W -> soft labels F -> directions -> attributes

    _steps.py         what fits share: reading rows and labels, neighbours, W, F; `nmlsdr.dask` overrides four of them
    _shrinkage.py     weights of the features, and the directions of the weighted features
    _learners.py      the trend of ResidualPropagation: ridge regression, forests, and how much each counts
    _projection.py    what scikit-learn's transformers inherit: tags, `transform`
    _classifier.py    what its classifiers inherit: tags, `predict` and its kin, by blocks of rows
    _callbacks.py     progress of a fit for scikit-learn's callbacks
    _prepared.py      training rows that are prepared for many small predictions
    the other files   the estimators
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
