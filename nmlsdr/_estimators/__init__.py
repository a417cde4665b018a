"""The estimators, layer 2 of the package (see `nmlsdr`).

Each is a dataclass: its fields are the parameters, and the `__init__` that the decorator writes stores them unchanged,
as scikit-learn requires. Its `fit` names the steps in the article's order:

    rows, labels -> weights of the features -> W -> soft labels F -> directions -> attributes

    _steps.py         what fits share: reading rows and labels, neighbours, W, F; `nmlsdr.dask` overrides four of them
    _shrinkage.py     weights of the features, and the directions of the weighted features
    _learner.py       what a learner of ResidualPropagation's trend is, and what it is fitted to
    _linked.py        learners with a link of each label
    _learners.py      the trend: ridge regression, forests, the linked ones, and how much each counts
    _projection.py    what scikit-learn's transformers inherit: tags, `transform`
    _classifier.py    what its classifiers inherit: tags, `predict` and its kin, by blocks of rows
    _callbacks.py     progress of a fit for scikit-learn's callbacks
    _prepared.py      training rows that are prepared for many small predictions
    the other files   the estimators
"""

from ._mlknn import MLkNN as MLkNN
from ._mlknn import SemiSupervisedMLkNN as SemiSupervisedMLkNN
from ._nmlsdr import NMLSDR as NMLSDR
from ._propagator import MultiLabelPropagation as MultiLabelPropagation
from ._residual import ResidualPropagation as ResidualPropagation
from ._ssmldr import SSMLDR as SSMLDR
from ._supervised import MDDM as MDDM
from ._supervised import MLDA as MLDA
from ._supervised import MVMD as MVMD
from ._supervised import MultiLabelCCA as MultiLabelCCA
from ._transformer import ExactNeighborsTransformer as ExactNeighborsTransformer
