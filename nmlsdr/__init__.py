"""Noisy multi-label semi-supervised dimensionality reduction.

Where things live; imports point downward only.

    4 door        cli.py  _cli/           ``nmlsdr ...``; nothing imports it
                  c_api.pyx  include/     for other packages' Cython and C
    3 studies     datasets/               toy, Mulan reader, noise, simulated cohort
                  experiments/            protocol, runner, tables, figures, report of the article
                  _methods.py             the article's methods by name
                  model_file.py           fitted models as data, not code; behind it _model/
                  _report/                facts and template behind `nmlsdr report`
    2 estimators  estimators/             ResidualPropagation, NMLSDR, MultiLabelPropagation, ML-kNN, the nine baselines
                  model_selection.py      LabeledRowsSplit, SCORERS
                  inspection/             the annotations to review first; pictures of fits
                  _colors.py              colours of the pictures
    1 core        graph.py                neighbours, W by the OR rule, T             article eq. (2)-(5)
                  propagation.py          soft labels F                               article eq. (6)-(8)
                  _solvers.py  _solver_chain.py   its system; conjugate gradients; the other ways, and "auto"
                  projection.py           HSIC projection P, weights of features      article eq. (9)-(14)
                  ridge.py                cross-fitted trend of the labels over the features
                  scatter.py              generalised eigenproblems of the baselines
                  label_weights.py        weights of the labels for wMLDA
                  mlknn.py                ML-kNN counts and posterior
                  metrics.py              the seven measures                  article eq. (15)-(21)
                  distributed.py          neighbours and predictions over Dask arrays, in front of _dask/
                  _dask/  _remote.py      rows in no single process, and the tasks that read them
                  _search/                the exact neighbour search behind graph.py
                  _normal_equations.py  _masked_ridge.py  _cutoffs.py   how ridge.py solves; from scores to labels
                  _labels.py              the label rule, and the one check of 0/1
                  _validation.py          casts, copies and checks counts, rows and graphs
                  _directions.py          what every projection shares
                  _arrays.py  _errors.py  forms of arrays; InputError
                  _moments.py  _measures.py  means and Gram matrices; rankings and counts of labels
                  _npy.py  _output.py     arrays from foreign bytes; results whole or not at all
                  _threads.py  _openmp.py thread settings and the BLAS limit; how idle threads wait
    0 kernels     _graph.pyx  _weights.pyx  _propagation.pyx  _mlknn.pyx  _ridge.pyx  _dependence.pyx
                  _c/                     buffers in, buffers filled; the C that they are made of
    0r twin       _reference.py           the same in plain NumPy; tests and benchmarks only

A data point's way: validate -> neighbours -> graph -> propagate -> project -> estimator attributes.
"""

from typing import TYPE_CHECKING, Any

from ._errors import InputError
from ._openmp import sleeping_threads
from ._version import __version__

try:
    with sleeping_threads():
        from . import _graph as _graph
except ImportError as error:  # one sentence instead of a chain of tracebacks
    raise ImportError(
        f"The compiled part of nmlsdr is missing or does not load ({error}); "
        "in a source checkout run pip install -e . there, which builds it in place; elsewhere install the package."
    ) from None

__all__ = [
    "MDDM",
    "MLDA",
    "MVMD",
    "NMLSDR",
    "SSMLDR",
    "InputError",
    "MLkNN",
    "MultiLabelCCA",
    "MultiLabelPropagation",
    "ResidualPropagation",
    "SemiSupervisedMLkNN",
    "__version__",
    "get_include",
]


def get_include() -> str:
    """The folder of ``nmlsdr.h``, for the include folders of C code that calls nmlsdr.

    Returns
    -------
    str
        An absolute path.

    Examples
    --------
    >>> import nmlsdr, os
    >>> os.listdir(nmlsdr.get_include())
    ['nmlsdr.h']
    """
    from pathlib import Path

    return str(Path(__file__).resolve().parent / "include")


if TYPE_CHECKING:
    from . import datasets as datasets
    from . import distributed as distributed
    from . import estimators as estimators
    from . import graph as graph
    from . import inspection as inspection
    from . import label_weights as label_weights
    from . import metrics as metrics
    from . import mlknn as mlknn
    from . import model_file as model_file
    from . import model_selection as model_selection
    from . import projection as projection
    from . import propagation as propagation
    from . import ridge as ridge
    from . import scatter as scatter
    from .estimators import (
        MDDM,
        MLDA,
        MVMD,
        NMLSDR,
        SSMLDR,
        MLkNN,
        MultiLabelCCA,
        MultiLabelPropagation,
        ResidualPropagation,
        SemiSupervisedMLkNN,
    )
else:  # PEP 562: scikit-learn is loaded by the first use of an estimator, so that the core and --help do without
    _MODULES = (
        "datasets",
        "distributed",
        "estimators",
        "graph",
        "inspection",
        "label_weights",
        "metrics",
        "mlknn",
        "model_file",
        "model_selection",
        "projection",
        "propagation",
        "ridge",
        "scatter",
    )

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            globals()[name] = value = getattr(import_module(f"{__name__}.estimators"), name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_MODULES})
