"""What the article's experiments are: studies, their settings, the data of a seed, one cell.

A cell is one (study, data set, method, seed). Its random numbers come from a SeedSequence of (study, data set, seed),
so that noise, mask and draw are the same for all methods of a seed and do not depend on the order of the cells.
"""

import hashlib
import json
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch
from threadpoolctl import threadpool_limits

from .. import MLkNN, SemiSupervisedMLkNN, datasets
from .._article_methods import Method, method_named
from .._output import versions
from ..graph import neighbor_graph
from ..metrics import score_table
from .store import CellKey, Record

MEASURE_NAMES = ("HL'", "RL'", "AP", "OE'", "Cov'", "MaF1", "MiF1")
N_NEIGHBORS = 10
TOY_SAMPLES = 8000
PATIENTS_PER_GROUP = 2166
TEN_METHODS = ("CCA", "MVMD", "MDDMp", "MDDMf", "wMLDAb", "wMLDAe", "wMLDAc", "wMLDAd", "SSMLDR", "NMLSDR")
TWELVE_METHODS = (*TEN_METHODS[:8], "SSMLDR*", "SSMLDR", "NMLSDR*", "NMLSDR")
FILE_SETS = tuple(datasets.list_datasets())
TEN_SETS = (*FILE_SETS[:8], "Toy", *FILE_SETS[8:])

# Sizes of a quick run that shows that everything works; its numbers cannot be compared with the article's.
SMALL = {"toy_samples": 1200, "rows": 240, "patients_per_group": 500, "labeled": 200, "unlabeled": 200}


@dataclass(frozen=True)
class Study:
    """The settings of an experiment.

    Attributes
    ----------
    name : str
        As on the command line.
    datasets, methods : tuple of str
        In the article's order.
    flip : float
        Probability that a label entry of the training rows is flipped.
    labeled : float
        Share of the training rows that keep their labels.
    n_components : int or None
        Columns of the embedding; None: as many as the method has, at most C (C - 1 for the LDA family).
    end_to_end : bool
        True: the classifier gets the same labels as the method (the semi-supervised ML-kNN after the semi-supervised
        methods, else ML-kNN on the labelled rows). False: ML-kNN with the true labels of all training rows.
    drawn : tuple of int
        Patients drawn for a repetition: labelled by the rules, and not; empty where the study has no rules.
    dropped : float
        Probability that a given 1 of a training row is forgotten, as well.
    title : str
        The regime of noise, as the tables of the study beyond the article name it.
    noise : str
        The study whose random numbers it shares, "" for its own.
    measures : tuple of str
        What is measured.
    parts : tuple of str
        Members of a cell's record that hold these measures.
    revision : int
        Raised where methods of the same names are no longer the same, so that old and new cells are never mixed.
    """

    name: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    flip: float
    labeled: float
    n_components: int | None
    end_to_end: bool
    drawn: tuple[int, ...] = ()
    dropped: float = 0.0
    title: str = ""
    noise: str = ""
    measures: tuple[str, ...] = MEASURE_NAMES
    parts: tuple[str, ...] = ("metrics",)
    revision: int = 0


STUDIES = {
    study.name: study
    for study in (
        # name, data sets, methods, flip, labeled, n_components, end_to_end, drawn      (sections 4.4, 4.5 and 5)
        Study("toy", ("Toy",), TWELVE_METHODS, 0.1, 0.5, 3, True),
        Study("benchmarks", TEN_SETS, TWELVE_METHODS, 0.1, 0.3, None, False),
        Study("case-study", ("Cohort",), TWELVE_METHODS, 0.0, 1.0, 2, True, (1000, 1000)),
    )
}


class Draw(NamedTuple):
    """The data that all methods of one (study, data set, seed) share.

    Attributes
    ----------
    train : ndarray (n, D), test : ndarray (m, D)
        Standardised by the mean and standard deviation of the training rows.
    target : ndarray (n, C), test_target : ndarray (m, C)
        True labels, 0/1.
    graph : callable
        Returns the neighbour graph of the training rows, which all methods share; computed by the first call.
    given : ndarray (n, C)
        What the methods see: noisy labels, rows of -1 for unlabelled rows.
    random_state : int
        For methods that draw.
    """

    train: NDArray[np.float64]
    test: NDArray[np.float64]
    target: NDArray[np.int64]
    test_target: NDArray[np.int64]
    graph: Callable[[], csr_array]
    given: NDArray[np.int64]
    random_state: int

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """Which training rows have labels."""
        return np.asarray((self.given != -1).all(axis=1))

    def embedded(self, fitted: Any) -> tuple[Any, Any]:
        """The training and the test rows in a fitted embedding."""
        return fitted.transform(self.train), fitted.transform(self.test)


def standardised(bunch: Bunch) -> tuple[Any, Any, Any, Any, Any]:
    """The first fields of a `Draw`: rows, true labels and graph of a data set, which do not depend on the seed."""
    scaler = StandardScaler().fit(bunch.data)
    train = scaler.transform(bunch.data)
    test = scaler.transform(bunch.test_data)
    graph = cache(partial(neighbor_graph, train, N_NEIGHBORS, n_jobs=1))  # the training rows do not change
    return train, test, bunch.target, bunch.test_target, graph


def cells_of(
    studies: Iterable[Study],
    *,
    seeds: int,
    datasets: tuple[str, ...] | None = None,
    methods: tuple[str, ...] | None = None,
) -> list[CellKey]:
    """The cells of studies, seed by seed, so that a run that is cut short has all data sets at fewer seeds.

    ``datasets`` is ignored by studies with one data set. The article's studies accept all of its ``methods``, also
    those that it does not show for the study.
    """
    return [
        CellKey(study.name, dataset, method, seed)
        for seed in range(seeds)
        for study in studies
        for dataset in study.datasets
        if datasets is None or dataset in datasets or len(study.datasets) == 1
        for method in (study.methods if methods is None else methods)
        if method in study.methods or study.name in STUDIES
    ]


def seed_sequence(study: str, dataset: str, seed: int) -> np.random.SeedSequence:
    """The source of all random numbers of a cell; the method's name is not part of it."""
    return np.random.SeedSequence([zlib.crc32(study.encode()), zlib.crc32(dataset.encode()), seed])


# The caches of this module assume that the files in data_home do not change while a process runs.  Callers share the
# results and must not change them.
@lru_cache(maxsize=16)
def load(dataset: str, size: str, data_home: str | None) -> Bunch:
    """Raw rows of a data set that are the same for every seed.

    Parameters
    ----------
    dataset : str
        One of FILE_SETS, or "Cohort".
    size : {"small", "full"}
    data_home : str or None
        Folder of the files, as for :func:`nmlsdr.datasets.paper_split`.
    """
    source = seed_sequence("data", dataset, 0)
    if dataset == "Cohort":
        n_per_group = SMALL["patients_per_group"] if size == "small" else PATIENTS_PER_GROUP
        return datasets.make_cohort(n_per_group=n_per_group, random_state=source)
    bunch = datasets.paper_split(dataset, data_home)
    if size == "small":
        rng = np.random.default_rng(source)
        for part in ("", "test_"):
            rows = np.sort(rng.permutation(bunch[part + "data"].shape[0])[: SMALL["rows"]])
            for name in (part + "data", part + "target"):
                bunch[name] = bunch[name][rows]
    return bunch


@lru_cache(maxsize=16)
def _file_rows(dataset: str, size: str, data_home: str | None) -> tuple[Any, Any, Any, Any, Any]:
    return standardised(load(dataset, size, data_home))


@lru_cache(maxsize=2)
def draw(study: Study, dataset: str, seed: int, size: str, data_home: str | None) -> Draw:
    """The data of one seed.

    Studies that share their random numbers differ in their settings alone: the rows labelled at 5 % are a subset of
    those at 30 %, and a label that is flipped at 10 % is flipped at 20 %.

    Parameters
    ----------
    study : Study
    dataset : str
        One of the study's data sets.
    seed : int
    size : {"small", "full"}
    data_home : str or None

    Returns
    -------
    Draw
    """
    source = seed_sequence(study.noise or study.name, dataset, seed)
    random_state = int(source.generate_state(1)[0])
    if study.drawn:
        bunch, labels = _drawn_patients(study, source, size)
        return Draw(*standardised(bunch), labels, random_state)
    if dataset == "Toy":
        n_samples = SMALL["toy_samples"] if size == "small" else TOY_SAMPLES
        rows = standardised(datasets.make_toy(n_samples=n_samples, random_state=source))
    else:
        rows = _file_rows(dataset, size, data_home)
    labels = datasets.flip_labels(rows[2], study.flip, random_state=source)
    if study.dropped:
        labels = np.where(np.random.default_rng(source).random(labels.shape) < study.dropped, 0, labels)
    return Draw(*rows, datasets.mask_labels(labels, study.labeled, random_state=source), random_state)


def _drawn_patients(study: Study, source: np.random.SeedSequence, size: str) -> tuple[Bunch, NDArray[np.int64]]:
    """One repetition of the case study: some patients that the rules label and some that they do not."""
    cohort = load("Cohort", size, None)
    n_labeled, n_unlabeled = (SMALL["labeled"], SMALL["unlabeled"]) if size == "small" else study.drawn
    rng = np.random.default_rng(source)
    has_labels = (cohort.rule_target != -1).all(axis=1)
    labeled = rng.choice(np.flatnonzero(has_labels), n_labeled, replace=False)
    rows = np.concatenate([labeled, rng.choice(np.flatnonzero(~has_labels), n_unlabeled, replace=False)])
    test = {"test_data": cohort.test_data, "test_target": cohort.test_target}
    return Bunch(data=cohort.data[rows], target=cohort.target[rows], **test), cohort.rule_target[rows]


def fingerprint(study: Study, dataset: str, size: str, data_home: str | None) -> str:
    """A hash of everything that the numbers of a study on a data set depend on, except for method and seed.

    These are settings, sizes, versions, and the checksums of the files that the data are read from.
    """
    # No number of a cell depends on these, nor on the first revision.
    shown = ["datasets", "methods", "title", "measures", "parts", *["revision"] * (study.revision == 0)]
    settings = {key: value for key, value in asdict(study).items() if key not in shown}
    data = _data_checksum(dataset, data_home) if dataset in FILE_SETS else "drawn"
    parts = {"settings": settings, "size": SMALL if size == "small" else size, "data": data, "versions": versions()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache(maxsize=16)
def _data_checksum(dataset: str, data_home: str | None) -> str:
    """A checksum of the files of a data set, the same for a packed and an unpacked copy of the right ones."""
    report = datasets.verify_dataset(dataset, data_home)
    if any(entry["state"] == "missing" for entry in report):
        datasets.paper_split(dataset, data_home)  # raises: says which file and where to put it
    digest = hashlib.sha256()
    files = datasets.dataset_info(dataset)["files"]
    for entry in report:
        if entry["state"] == "ok":
            digest.update(files[entry["role"]]["sha256"].encode())
        else:
            with open(entry["file"], "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


# ---------------------------------------------------------------- one cell: fit, classify, measure


ALPHA_LABELED = 0.6
Measured = tuple[Record, dict[str, float]]  # members of a record, and seconds
Measure = Callable[[Study, str, Draw], Measured]


def run_cell(
    key: CellKey, study: Study, measure: Measure, *, size: str, data_home: str | None, fingerprint: str
) -> Record:
    """Compute one cell on one thread; an error becomes part of the record.

    Parameters
    ----------
    key : CellKey
    study : Study
    measure : callable
        From study, name of the method and data to members of the record and seconds, as `measure_article`.
    size : {"small", "full"}
    data_home : str or None
    fingerprint : str
        Copied into the record.

    Returns
    -------
    dict
        study, dataset, method, seed, fingerprint, metrics (None for a measure without a value), times (seconds),
        versions, warnings, error (None or text), and what else `measure` gives.
    """
    record: Record = {**key._asdict(), "size": size, "fingerprint": fingerprint, "versions": versions()}
    scores: Record = {"metrics": dict.fromkeys(MEASURE_NAMES)}
    times: dict[str, float] = {}
    error = None
    # One thread, because scikit-learn's searches break ties otherwise with two: 28 % of Genbase's neighbours by L1.
    with warnings.catch_warnings(record=True, action="always") as caught, threadpool_limits(limits=1):
        try:
            scores, times = measure(study, key.method, draw(study, key.dataset, key.seed, size, data_home))
        except Exception as exception:
            where = traceback.extract_tb(exception.__traceback__)[-1]
            error = f"{type(exception).__name__}: {exception} ({where.name}, line {where.lineno})"
    messages = list(dict.fromkeys(f"{item.category.__name__}: {item.message}" for item in caught))
    return {**record, **scores, "times": times, "warnings": messages, "error": error}


def measures(target: NDArray[Any], scores: NDArray[Any], predicted: NDArray[Any] | None = None) -> dict[str, Any]:
    """The seven measures, None for one without a value; HL' and both F1 of `predicted` where it is given."""
    table = score_table(target, scores, predictions=predicted, coverage_empty=-1)
    return {name: float(table[name]) if np.isfinite(table[name]) else None for name in MEASURE_NAMES}


def embed(study: Study, method: str, data: Draw) -> tuple[NDArray[Any], NDArray[Any]]:
    """Fit a method on the labels given and map the training and the test rows."""
    kind = method_named(method)
    seed = data.random_state
    # A method of one's own gets what the article's supervised methods see.
    rows: Any = data.labeled if kind.custom else slice(None)
    n_components = study.n_components or (min(data.given.shape[1], data.train.shape[1]) if kind.custom else None)
    graph = {"graph": data.graph()} if kind.semi_supervised else {}
    reducer: Any = kind(n_components, N_NEIGHBORS, random_state=seed, n_jobs=1)
    return data.embedded(reducer.fit(data.train[rows], data.given[rows], **graph))


def measure_article(study: Study, method: str, data: Draw) -> Measured:
    """One of the article's methods: the measures on the test rows, and the seconds of fitting and of classifying."""
    kind = method_named(method)
    if kind.semi_supervised:
        data.graph()  # not timed, because all methods of a seed share it
    start = time.perf_counter()
    train, test = embed(study, method, data)
    embedded = time.perf_counter()
    scores = classify(train, test, data, end_to_end=study.end_to_end, kind=kind)
    times = {"embed": embedded - start, "classify": time.perf_counter() - embedded}
    return {"metrics": measures(data.test_target, scores)}, times


def classify(
    train: NDArray[Any], test: NDArray[Any], data: Draw, *, end_to_end: bool, kind: Method | None = None
) -> NDArray[np.float64]:
    """Scores of the test rows by the classifier that goes with an embedding.

    Parameters
    ----------
    train : ndarray (n, d), test : ndarray (m, d)
    data : Draw
    end_to_end : bool
        As of :class:`Study`.
    kind : Method or None, default=None
        The method of the embedding; None: one that does not use unlabelled rows.

    Returns
    -------
    ndarray (m, C)
    """
    if not end_to_end:
        classifier: Any = MLkNN(N_NEIGHBORS, n_jobs=1).fit(train, data.target)
    elif kind is not None and kind.semi_supervised:
        alpha = 0.0 if kind.clamped else ALPHA_LABELED
        classifier = SemiSupervisedMLkNN(N_NEIGHBORS, alpha_labeled=alpha, n_jobs=1).fit(train, data.given)
    else:
        rows = data.labeled
        classifier = MLkNN(N_NEIGHBORS, n_jobs=1).fit(train[rows], data.given[rows])
    return np.asarray(classifier.predict_proba(test), dtype=np.float64)
