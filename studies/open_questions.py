"""The study of what the article left open: a kernel, label weights, other classifiers and other graphs for NMLSDR.

Each method is NMLSDR with its classifier, ML-kNN, where one thing is changed; the first word of its name is the
question. A cell has three results, which differ in the labels that the classifier gets for the embedded rows:
``p1`` has the true labels of all training rows, as in the article; ``metrics`` (end to end) has the noisy labels
propagated over the embedding, which for ML-kNN is the semi-supervised ML-kNN; ``given`` has the noisy labels of the
labelled rows alone.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from beyond import BASE, SIX_SETS
from beyond_section import TEXTS, titled
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import cosine_similarity, pairwise_kernels
from sklearn.neighbors import KNeighborsRegressor, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils import gen_batches
from views import View, percent

from nmlsdr import MLDA, NMLSDR, MLkNN, MultiLabelPropagation
from nmlsdr._report.rivals import choose_strength, logistic
from nmlsdr.experiments.protocol import N_NEIGHBORS, Draw, Measured, Study, measures
from nmlsdr.experiments.results import Entry, Results, ResultTable, Section, best_in_bold, mean, number, std
from nmlsdr.graph import kneighbors
from nmlsdr.projection import hsic_projection

Floats = NDArray[np.float64]
Embedding = tuple[Floats, Floats]  # of the training and the test rows
Classifier = Callable[[Any, Any, Any], Any]  # from rows, their labels, and the test rows to scores

REFERENCE = "NMLSDR"
DISTANCES = {"rbf": "sqeuclidean", "laplacian": "cityblock"}  # what the exponent of each kernel is proportional to
EXPONENT = 0.4  # of a pair of rows at the median distance
OTHER_EXPONENTS = (0.1, 1.6)
LANDMARKS = 400
BLOCK = 1000  # rows of the kernel matrix that are computed at a time


# ---------------------------------------------------------------- a kernel


def corrected_labels(data: Draw) -> Floats:
    """F~ of NMLSDR: hard labels on the labelled rows, soft ones on the others."""
    F = NMLSDR(n_jobs=1).fit(data.train, data.given, graph=data.graph()).label_distributions_
    return np.where(data.given != -1, F > 0.5, F)


def kernel_gamma(train: Floats, kernel: str, exponent: float = EXPONENT) -> float:
    """The width of a kernel, from the median distance of two training rows."""
    return exponent / float(np.median(pdist(train, DISTANCES[kernel])))


def kernel_nmlsdr(
    train: Floats, test: Floats, F: Floats, kernel: str, gamma: float | None = None, *, block: int = BLOCK
) -> Embedding:
    """NMLSDR in the feature space of a kernel, without an approximation.

    There, P = X'H F~ V L^-1/2 has orthonormal columns, with F~'H K H F~ = V L V' (C x C), so the embedding of the
    training rows is Z = H N V L^-1/2 with N = K H F~. Only blocks of rows of the kernel matrix K are ever formed.
    """
    centred = F - F.mean(axis=0)
    products = []
    for rows in (train, test):
        batches = gen_batches(len(rows), block)
        kernels = (pairwise_kernels(rows[b], train, metric=kernel, filter_params=True, gamma=gamma) for b in batches)
        products.append(np.concatenate([K @ centred for K in kernels]))
    eigenvalues, V = np.linalg.eigh(centred.T @ products[0])
    kept = eigenvalues > eigenvalues[-1] * len(F) * np.finfo(float).eps
    directions = (V[:, kept] / np.sqrt(eigenvalues[kept]))[:, ::-1]
    average = products[0].mean(axis=0)
    return (products[0] - average) @ directions, (products[1] - average) @ directions


def _kernel(kernel: str, data: Draw) -> Embedding:
    F, gamma = corrected_labels(data), kernel_gamma(data.train, kernel)
    return kernel_nmlsdr(data.train, data.test, F, kernel, gamma)


def _nystroem(kernel: str, data: Draw, exponent: float = EXPONENT, *, project: bool = True) -> Embedding:
    landmarks, gamma = min(LANDMARKS, len(data.train)), kernel_gamma(data.train, kernel, exponent)
    approximation = Nystroem(kernel, gamma=gamma, n_components=landmarks, random_state=data.random_state)
    model = make_pipeline(approximation, NMLSDR(n_jobs=1)) if project else approximation
    return data.embedded(model.fit(data.train, data.given))


# ---------------------------------------------------------------- label weights


def _weighted(weights: Any, data: Draw) -> Embedding:
    """The projection from MLDA's weights of the hard labels 1[F > 1/2] of all rows."""
    hard = (corrected_labels(data) > 0.5).astype(np.int64)
    model = MLDA(label_weights=weights, random_state=data.random_state).fit(data.train, hard)
    return _projected(model.label_weights_, data)


def _mixed(data: Draw) -> Embedding:
    """The projection from F~ C, where C has the cosines of the angles between the columns of F~."""
    F = corrected_labels(data)
    return _projected(F @ cosine_similarity(F.T), data)


def _shared(data: Draw) -> Embedding:
    """The projection from F~ with every row divided by its sum: the weights "entropy" for soft labels."""
    F = corrected_labels(data)
    total = F.sum(axis=1, keepdims=True)
    return _projected(np.divide(F, total, out=np.zeros_like(F), where=total > 0), data)


def _projected(labels: Any, data: Draw) -> Embedding:
    components, _ = hsic_projection(data.train, labels)
    average = data.train.mean(axis=0)
    return (data.train - average) @ components.T, (data.test - average) @ components.T


# ---------------------------------------------------------------- graphs and classifiers


def _graph(settings: dict[str, Any], data: Draw) -> Embedding:
    return data.embedded(NMLSDR(n_jobs=1, **settings).fit(data.train, data.given))


def mutual_graph(rows: Floats, n_neighbors: int = N_NEIGHBORS) -> sparse.csr_array:
    """The graph of the AND rule: an edge joins two rows if each is among the neighbours of the other."""
    indices = kneighbors(rows, n_neighbors, n_jobs=1)[1]
    starts = n_neighbors * np.arange(len(rows) + 1)
    lists = sparse.csr_array((np.ones(indices.size), indices.ravel(), starts), shape=(len(rows), len(rows)))
    return sparse.csr_array(lists.multiply(lists.T))


def _mutual(data: Draw) -> Embedding:
    return data.embedded(NMLSDR(n_jobs=1).fit(data.train, data.given, graph=mutual_graph(data.train)))


def _features(data: Draw) -> Embedding:
    return data.train, data.test


def logistic_cv(X: Any, Y: Any, queries: Any) -> Any:
    """Logistic regressions, in few dimensions by Newton's method, which finds the minimum to many digits."""
    newton: dict[str, Any] = {"solver": "newton-cholesky", "tol": 1e-8} if min(X.shape) <= 350 else {}
    return logistic(X, Y, queries, choose_strength(X, Y, **newton), **newton)


def mlknn(n_neighbors: int, X: Any, Y: Any, queries: Any) -> Any:
    """Scores by ML-kNN."""
    return MLkNN(n_neighbors, n_jobs=1).fit(X, Y).predict_proba(queries)


def _regressor(regressor: Any, X: Any, Y: Any, queries: Any) -> Any:
    """Scores by a regression of the labels 0 and 1: shares of neighbours, or means of the leaves of trees."""
    return regressor.fit(X, Y).predict(queries)


class Variant(NamedTuple):
    """An embedding and the classifier behind it."""

    embed: Callable[[Draw], Embedding] = partial(_graph, {})
    classify: Classifier = partial(mlknn, N_NEIGHBORS)


def _graphs(**settings: Any) -> Variant:
    return Variant(partial(_graph, settings))


def _neighbours(weights: str) -> Variant:
    return Variant(classify=partial(_regressor, KNeighborsRegressor(N_NEIGHBORS, weights=weights)))


_FOREST = partial(_regressor, ExtraTreesRegressor(100, min_samples_leaf=3, random_state=0, n_jobs=1))
_L1 = KNeighborsTransformer(n_neighbors=N_NEIGHBORS, metric="manhattan")
VARIANTS = {
    REFERENCE: Variant(),
    **{f"kernel-{kernel}": Variant(partial(_kernel, kernel)) for kernel in DISTANCES},
    **{f"kernel-{kernel}-nystroem": Variant(partial(_nystroem, kernel)) for kernel in DISTANCES},
    **{
        f"kernel-{kernel}-nystroem-{exponent}": Variant(partial(_nystroem, kernel, exponent=exponent))
        for kernel in DISTANCES
        for exponent in OTHER_EXPONENTS
    },
    "kernel-laplacian-features": Variant(partial(_nystroem, "laplacian", project=False)),
    "labels-mixed": Variant(_mixed),
    "labels-shared": Variant(_shared),
    **{
        f"labels-{weights}": Variant(partial(_weighted, weights))
        for weights in ("binary", "entropy", "correlation", "fuzzy", "dependence")
    },
    "classifier-mlknn-5": Variant(classify=partial(mlknn, 5)),
    "classifier-mlknn-20": Variant(classify=partial(mlknn, 20)),
    "classifier-knn": _neighbours("uniform"),
    "classifier-knn-distance": _neighbours("distance"),
    "classifier-logistic": Variant(classify=logistic_cv),
    "classifier-forest": Variant(classify=_FOREST),
    "classifier-mlknn-features": Variant(_features),
    "classifier-forest-features": Variant(_features, _FOREST),
    "graph-5": _graphs(n_neighbors=5),
    "graph-20": _graphs(n_neighbors=20),
    "graph-40": _graphs(n_neighbors=40),
    "graph-rbf": _graphs(edge_weights="rbf"),
    "graph-cosine": _graphs(metric="cosine"),
    "graph-manhattan": _graphs(neighbors=_L1),
    "graph-mutual": Variant(_mutual),
}
QUESTIONS = ("kernel", "labels", "classifier", "graph")
PARTS = {"p1": "P1", "metrics": "end to end", "given": "labelled rows alone"}
OPEN = replace(BASE, name="open", datasets=SIX_SETS, methods=tuple(VARIANTS), parts=tuple(PARTS))


def measure(study: Study, method: str, data: Draw) -> Measured:
    """The three results of a cell, and its seconds."""
    data.graph()  # not timed, because several methods of a seed share it
    variant, start = VARIANTS[method], time.perf_counter()
    train, test = variant.embed(data)
    embedded = time.perf_counter()
    propagated = MultiLabelPropagation(N_NEIGHBORS, n_jobs=1).fit(train, data.given).transduction_
    rows = data.labeled
    labels = {"p1": (train, data.target), "metrics": (train, propagated), "given": (train[rows], data.given[rows])}
    found = {part: measures(data.test_target, variant.classify(*known, test)) for part, known in labels.items()}
    return found, {"embed": embedded - start, "classify": time.perf_counter() - embedded}


# ---------------------------------------------------------------- the report


def open_section(found: list[Results], *, size: str) -> Section:
    """For each question a summary, and each result by data sets."""
    (results,) = found
    section = Section.begin("open", found, size, TEXTS, n_seeds=results.n_seeds, landmarks=LANDMARKS, exponent=EXPONENT)
    for question in QUESTIONS:
        some = results.of([REFERENCE, *(name for name in VARIANTS if name.split("-")[0] == question)])
        if set(some.methods) - {REFERENCE}:
            section.tables += [summary(some, question), *(set_table(some, question, part) for part in PARTS)]
    return section


def summary(results: Results, question: str) -> ResultTable:
    """The means over the data sets, their gains over NMLSDR, and the number of sets on which these are positive."""
    header = [f"{column}{title}" for title in PARTS.values() for column in ("", "gain, ", "better, ")]
    table = titled(f"open-{question}", ["Method", *header], "open", question=question, n_seeds=results.n_seeds)
    columns = []
    for part in PARTS:
        values = percent(results, View(part=part))  # (n_datasets, n_methods, n_seeds)
        columns.append(best_in_bold(mean(values).mean(axis=0), 2))
        gains, wins = [Entry("-") for _ in results.methods], [Entry("-") for _ in results.methods]
        for j, method in enumerate(results.methods if REFERENCE in results.methods else ()):
            if method != REFERENCE:
                gaps = values[:, j] - values[:, results.methods.index(REFERENCE)]
                gain, error = mean(gaps).mean(), np.sqrt((std(gaps) ** 2).mean() / gaps.size)
                gains[j] = Entry(f"{number(gain, 2, sign=True)} ± {number(error, 2)}")
                wins[j] = Entry(f"{(np.round(mean(gaps), 2) > 0).sum()} of {len(gaps)}")
        columns += [gains, wins]
    table.add_columns(results.methods, columns)
    return table


def set_table(results: Results, question: str, part: str) -> ResultTable:
    """Methods by data sets."""
    names = {"question": question, "part": PARTS[part], "n_seeds": results.n_seeds}
    table = titled(f"open-{question}-{part}", ["Method", *results.datasets], "open-set", **names)
    table.add_columns(results.methods, [best_in_bold(column, 2) for column in mean(percent(results, View(part=part)))])
    return table
