"""Noisy multi-label semi-supervised dimensionality reduction.

For tables in which a row can have several labels, many rows are not labelled, and some labels are wrong.  Start with
`ResidualPropagation`: it classifies, embeds, and finds the annotations to check first.  `NMLSDR` followed by
`SemiSupervisedMLkNN` is the method of Mikalsen, Soguero-Ruiz, Bianchi and Jenssen, Pattern Recognition 90, 2019, which
is called "the article" in this package.

The layers of the package, for those who change it. A file imports only from its own layer and the layers below it,
and never in a circle.

    4 doors       cli.py  _cli/           ``nmlsdr ...``; nothing imports it
                  c_api.pyx  include/     for the Cython and C code of other packages; neighbors.h needs no Python
                  share/                  how CMake and pkg-config find include/
                  _headers.py             the folder of headers that ``python -m nmlsdr --export`` writes
    3 rooms       datasets/               toy data, the article's sets, noise, simulated cohort
                  experiments/            the article's experiments again; in experiments/benchmarks.py the Toy set
                                          (Table 1), the ten data sets, the case study
                  inspection/             which annotations to review first, which to ask about next, the page to
                                          check them on (review*); pictures of fits
                  _article_methods.py     the article's methods by name
                  model_file.py           fitted models as data, not code
                  _model/                 the checks, reading and writing that model_file.py uses
                  _report/                facts and template of `nmlsdr report`
    2 tables      tables/                 raw tables: files, columns, what each becomes; features and labels; a new
                                          table beside that of the fit; it knows no neighbour, graph or estimator
    2 estimators  dask/                   NMLSDR, ResidualPropagation, MDDM, MultiLabelCCA, SSMLDR,
                                          MultiLabelPropagation and both ML-kNN classifiers for Dask arrays
                  _estimators/            ResidualPropagation, NMLSDR, MDDM, MLDA, MVMD, MultiLabelCCA, SSMLDR,
                                          MultiLabelPropagation, MLkNN, SemiSupervisedMLkNN, and the exact search
                                          as a transformer
                  model_selection.py      LabeledRowsSplit, SCORERS, cross_val_proba
                  _colors.py              colours of the pictures
    1 core        graph.py                neighbours, W by the OR rule, T             article eq. (2)-(5)
                  propagation.py          soft labels F                               article eq. (6)-(8)
                  _solvers/               solvers of eq. (8) for propagation.py; they do not store T
                  projection.py           HSIC projection P, weights of features      article eq. (9)-(14)
                  _projections/           eigenproblems of the baselines; label weightings of MLDA
                                          (`MLDA._weights` in _estimators/_supervised.py chooses)
                  _ridge/                 ridge regression of the labels on the features; its cross-validation;
                                          probabilities from its scores, by a link of each label and a Newton step
                  mlknn.py                ML-kNN counts and posterior
                  forest.py, _boosting.py the forests of ResidualPropagation, and its boosted trees
                  _tree_checks.py         trees as arrays, and the checks of arrays from elsewhere
                  _float32.py             rows as the forests read them
                  metrics.py              the seven measures                          article eq. (15)-(21)
                  _thresholds.py          flip rate and thresholds, from scores of labelled rows
                  _row_order.py           rows in an order by their content, in which fits search and draw them
                  _group_folds.py         folds that keep groups of rows together
                  _search/                the exact neighbour search that graph.py uses
                  _checks/                checks of input: labels, numbers, rows and graphs
                  _errors.py              InputError
                  _refit.py               a fit that fails leaves nothing behind
                  _resources.py           JSON files of the package
                  _moments.py             sums over rows: means, Gram matrices, products with labels
                  _label_sums.py          sums over the rows where labels are known
                  _output.py              writes a result file completely or not at all
                  _process/               number of threads, the BLAS limit, how idle threads wait
    0 kernels     _graph.pyx              the kernels of the exact neighbour search
                  _weights.pyx            W~ (eq. 4) and T (eq. 5)
                  _propagation.pyx        sweeps and elimination of the solvers
                  _mlknn.pyx              label counts among neighbours, the posterior
                  _forest.pyx             growing trees (in _c/forest.h), adding up their leaves
                  _link.pyx               probabilities from the scores of a ridge regression
                  _dependence.pyx         MLDA's "dependence" label weights
                  _lapack.pyx             Cholesky factors and Gram matrices that do not hold the GIL
                  _c/                     the C code of the kernels: of the search (tree*.h by a k-d tree, few*.h,
                                          products*.h, index.h), of propagation and of growing forests (forest*.h)

A fit runs through it in this order: check -> neighbours -> graph -> propagation -> projection -> fitted attributes.
A cell of a raw table takes another way: file -> columns of different texts -> roles -> plan -> encoded columns.
"""

# ruff: noqa: F405  (the names of the estimators come by a star)

from typing import TYPE_CHECKING, Any

from ._errors import InputError as InputError  # for those who catch it; a ValueError
from ._process.openmp import sleeping_threads
from ._version import __version__

try:
    with sleeping_threads():
        import nmlsdr._graph  # noqa: F401
except ImportError as error:  # one sentence instead of a chain of tracebacks
    if "subinterpreter" in str(error):
        raise ImportError(
            f"An isolated subinterpreter cannot load nmlsdr ({error}); import it in the main interpreter, and use "
            "threads or processes there."
        ) from None
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
    "ExactNeighborsTransformer",
    "MLkNN",
    "MultiLabelCCA",
    "MultiLabelPropagation",
    "ResidualPropagation",
    "SemiSupervisedMLkNN",
    "__version__",
    "get_include",
]


def get_include() -> str:
    """Return the folder of the headers for C and C++: ``nmlsdr/neighbors.h``, which needs no Python, and ``nmlsdr.h``.

    ``python -m nmlsdr --includedir`` prints it, and works also where nmlsdr is installed without the packages that it
    depends on (``pip install --no-deps nmlsdr``).

    Returns
    -------
    str
        Absolute path of the folder.

    Examples
    --------
    >>> import nmlsdr, os
    >>> sorted(os.listdir(nmlsdr.get_include()))
    ['nmlsdr', 'nmlsdr.h']
    """
    from pathlib import Path

    return str(Path(__file__).resolve().parent / "include")


if TYPE_CHECKING:
    from . import dask as dask
    from . import datasets as datasets
    from . import forest as forest
    from . import graph as graph
    from . import inspection as inspection
    from . import metrics as metrics
    from . import mlknn as mlknn
    from . import model_file as model_file
    from . import model_selection as model_selection
    from . import projection as projection
    from . import propagation as propagation
    from . import tables as tables
    from ._estimators import *  # noqa: F403
else:  # PEP 562: scikit-learn is loaded by the first use of an estimator, so that the core and --help do without

    def __getattr__(name: str) -> Any:
        from importlib import import_module, util

        if name in __all__:
            globals()[name] = value = getattr(import_module(f"{__name__}._estimators"), name)
            return value
        if not name.startswith("_") and util.find_spec(f"{__name__}.{name}"):
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        from pkgutil import iter_modules

        modules = {module.name for module in iter_modules(__path__) if not module.name.startswith("_")}
        return sorted({*__all__} | modules - {"cli", "experiments", "c_api"})  # reached by commands, and from C
