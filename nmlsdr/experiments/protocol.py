"""What the article's experiments are: studies, their settings, and the data of one seed.

A cell is one (study, data set, method, seed). Its random numbers come from a SeedSequence of (study, data set, seed),
so that noise, mask and draw are the same for all methods of a seed and do not depend on the order of the cells.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zlib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from .. import __version__
from ..datasets import (
    dataset_info,
    flip_labels,
    list_datasets,
    make_cohort,
    make_toy,
    mask_labels,
    paper_split,
    verify_dataset,
)
from ..graph import neighbor_graph
from .store import CellKey

__all__ = ["METRICS", "STUDIES", "Draw", "Study", "cells_of", "draw", "fingerprint", "load", "versions"]

METRICS = ("HL'", "RL'", "AP", "OE'", "Cov'", "MaF1", "MiF1")
N_NEIGHBORS = 10
TOY_SAMPLES, PATIENTS_PER_GROUP = 8000, 2166
TEN_METHODS = ("CCA", "MVMD", "MDDMp", "MDDMf", "wMLDAb", "wMLDAe", "wMLDAc", "wMLDAd", "SSMLDR", "NMLSDR")
TWELVE_METHODS = (*TEN_METHODS[:8], "SSMLDR*", "SSMLDR", "NMLSDR*", "NMLSDR")
FILE_SETS = tuple(list_datasets())
TEN_SETS = (*FILE_SETS[:8], "Toy", *FILE_SETS[8:])

# Sizes of a quick run that shows that everything works; its numbers do not belong beside the article's.
SMALL = {"toy_samples": 1200, "rows": 240, "patients_per_group": 500, "labeled": 200, "unlabeled": 200}


@dataclass(frozen=True)
class Study:
    """The settings of one of the article's experiments.

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
        True: the classifier sees what the method saw (the semi-supervised ML-kNN after the semi-supervised methods,
        else ML-kNN on the labelled rows). False: ML-kNN with the true labels of all training rows.
    drawn : tuple of int
        Patients drawn for a repetition: labelled by the rules, and not; empty where the study has no rules.
    """

    name: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    flip: float
    labeled: float
    n_components: int | None
    end_to_end: bool
    drawn: tuple[int, ...] = ()


STUDIES = {
    study.name: study
    for study in (
        # name, data sets, methods, flip, labeled, n_components, end_to_end, drawn      (sections 4.4, 4.5 and 5)
        Study("toy", ("Toy",), TWELVE_METHODS, 0.1, 0.5, 3, True),
        Study("benchmarks", TEN_SETS, TWELVE_METHODS, 0.1, 0.3, None, False),
        Study("case-study", ("Cohort",), TWELVE_METHODS, 0.0, 1.0, 2, True, (1000, 1000)),
    )
}


@dataclass(frozen=True)
class Draw:
    """The data that all methods of one (study, data set, seed) share.

    Attributes
    ----------
    train : ndarray (n, D), test : ndarray (m, D)
        Standardised by the mean and standard deviation of the training rows.
    target : ndarray (n, C), test_target : ndarray (m, C)
        True labels, 0/1.
    given : ndarray (n, C)
        What the methods see: noisy labels, rows of -1 for unlabelled rows.
    random_state : int
        For methods that draw.
    base : Base
        The rows that the draw shares with other seeds.
    """

    base: Base
    given: NDArray[np.int64]
    random_state: int

    @property
    def train(self) -> NDArray[np.float64]:
        return self.base.train

    @property
    def test(self) -> NDArray[np.float64]:
        return self.base.test

    @property
    def target(self) -> NDArray[np.int64]:
        return self.base.target

    @property
    def test_target(self) -> NDArray[np.int64]:
        return self.base.test_target

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """Which training rows have labels."""
        rows: NDArray[np.bool_] = (self.given != -1).all(axis=1)
        return rows

    @property
    def graph(self) -> csr_array:
        """Neighbour graph of the training rows, the same for every method that uses one."""
        return self.base.graph


class Base:
    """Standardised rows and true labels, with the neighbour graph made on first use."""

    def __init__(self, bunch: Bunch) -> None:
        scaler = StandardScaler().fit(_dense(bunch.data))
        self.train: NDArray[np.float64] = scaler.transform(_dense(bunch.data))
        self.test: NDArray[np.float64] = scaler.transform(_dense(bunch.test_data))
        self.target: NDArray[np.int64] = np.asarray(bunch.target)
        self.test_target: NDArray[np.int64] = np.asarray(bunch.test_target)

    @cached_property
    def graph(self) -> csr_array:
        return neighbor_graph(self.train, N_NEIGHBORS, n_jobs=1)


def cells_of(
    study: Study, *, seeds: int, datasets: tuple[str, ...] | None = None, methods: tuple[str, ...] | None = None
) -> list[CellKey]:
    """The cells of a study, seed by seed, so that a run that is cut short has all data sets at fewer seeds."""
    return [
        CellKey(study.name, dataset, method, seed)
        for seed in range(seeds)
        for dataset in (study.datasets if datasets is None else datasets)
        for method in (study.methods if methods is None else methods)
    ]


def seed_sequence(study: str, dataset: str, seed: int) -> np.random.SeedSequence:
    """The source of all random numbers of a cell; the method's name is not part of it."""
    return np.random.SeedSequence([zlib.crc32(study.encode()), zlib.crc32(dataset.encode()), seed])


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
        return make_cohort(n_per_group=n_per_group, random_state=source)
    bunch = paper_split(dataset, data_home)
    if size == "small":
        rng = np.random.default_rng(source)
        for part in ("", "test_"):
            rows = np.sort(rng.permutation(bunch[part + "data"].shape[0])[: SMALL["rows"]])
            bunch[part + "data"], bunch[part + "target"] = bunch[part + "data"][rows], bunch[part + "target"][rows]
    return bunch


@lru_cache(maxsize=16)
def _file_base(dataset: str, size: str, data_home: str | None) -> Base:
    return Base(load(dataset, size, data_home))


def base_rows(dataset: str, source: np.random.SeedSequence, size: str, data_home: str | None) -> Base:
    """The rows of a benchmark data set: the Toy set drawn from `source`, the files' as they are."""
    if dataset == "Toy":
        n_samples = SMALL["toy_samples"] if size == "small" else TOY_SAMPLES
        return Base(make_toy(n_samples=n_samples, random_state=source))
    return _file_base(dataset, size, data_home)


@lru_cache(maxsize=2)
def draw(study_name: str, dataset: str, seed: int, size: str, data_home: str | None) -> Draw:
    """The data of one seed.

    Parameters
    ----------
    study_name : str
        A key of STUDIES.
    dataset : str
        One of the study's data sets.
    seed : int
    size : {"small", "full"}
    data_home : str or None

    Returns
    -------
    Draw
    """
    study = STUDIES[study_name]
    source = seed_sequence(study_name, dataset, seed)
    random_state = int(source.generate_state(1)[0])
    if study.drawn:
        bunch, given = _drawn_patients(study, source, size)
        return Draw(Base(bunch), given, random_state)
    base = base_rows(dataset, source, size, data_home)
    noisy = flip_labels(base.target, study.flip, random_state=source)
    return Draw(base, mask_labels(noisy, study.labeled, random_state=source), random_state)


def _drawn_patients(study: Study, source: np.random.SeedSequence, size: str) -> tuple[Bunch, NDArray[np.int64]]:
    """One repetition of the case study: some patients that the rules label and some that they do not."""
    cohort = load("Cohort", size, None)
    n_labeled, n_unlabeled = (SMALL["labeled"], SMALL["unlabeled"]) if size == "small" else study.drawn
    rng = np.random.default_rng(source)
    has_labels = (cohort.rule_target != -1).all(axis=1)
    rows = np.concatenate(
        [
            rng.choice(np.flatnonzero(has_labels), n_labeled, replace=False),
            rng.choice(np.flatnonzero(~has_labels), n_unlabeled, replace=False),
        ]
    )
    bunch = Bunch(
        data=cohort.data[rows],
        target=cohort.target[rows],
        test_data=cohort.test_data,
        test_target=cohort.test_target,
    )
    return bunch, cohort.rule_target[rows]


def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    return {
        "nmlsdr": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def fingerprint(study: Study, dataset: str, size: str, data_home: str | None) -> str:
    """A short name of everything that the numbers of a study on a data set depend on, but for method and seed.

    Settings, sizes, versions, and the checksums of the files that the data are read from.
    """
    settings = {key: value for key, value in dataclasses.asdict(study).items() if key not in ("datasets", "methods")}
    data = _data_checksum(dataset, data_home) if dataset in FILE_SETS else "drawn"
    parts = {"settings": settings, "size": SMALL if size == "small" else size, "data": data, "versions": versions()}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache(maxsize=16)
def _data_checksum(dataset: str, data_home: str | None) -> str:
    """A checksum of the files of a data set, the same for a packed and an unpacked copy of the right ones."""
    report = verify_dataset(dataset, data_home)
    if any(entry["state"] == "missing" for entry in report):
        paper_split(dataset, data_home)  # raises: says which file and where to put it
    digest = hashlib.sha256()
    files = dataset_info(dataset)["files"]
    for entry in report:
        if entry["state"] == "ok":
            digest.update(files[entry["role"]]["sha256"].encode())
        else:
            with open(entry["file"], "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _dense(array: Any) -> NDArray[Any]:
    return array.toarray() if hasattr(array, "toarray") else np.asarray(array)
