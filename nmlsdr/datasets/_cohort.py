"""A simulated cohort of the shape of the article's case study (section 5); it contains no patient data."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._checks.arguments import check_count
from .._resources import load_json
from ._bunch import Bunch
from ._toy import COHORT, generator

Counts = dict[str, NDArray[np.int16]]  # of each code, by its name

GROUP_LABELS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])  # healthy, hypertension, diabetes, both
TEST_SHARE = 0.2
FEWEST_PATIENTS = 10  # a code seen in fewer training patients is dropped
CODES = {"ICD9": (267, 1517), "ATC": (188, 746)}  # of each system: codes that stay, and codes in all

# Contact with the health system: shape and mean of a gamma variable, by group.
ACTIVITY_SHAPE = 2.0
ACTIVITY = (0.7, 1.0, 1.0, 1.3)
TYPICAL_SHARE = (0.005, 0.25)  # of the patients who have an ordinary code, log-uniform
# Ordinary codes that are more, or less, frequent with a disease, and the standard deviation of their log ratio.
# Chosen among five pairs so that the measures of CCA, MDDMp, SSMLDR and NMLSDR come near the article's: with 60 codes
# and .6, HL' is .76 for CCA as for MDDMp; with these .80 and .87 (the article: .78 and .88).
LINKED_CODES = 200
LINK_STRENGTH = 1.0


def make_cohort(*, n_per_group: int = 2166, random_state: Any = None) -> Bunch:
    """Simulate a cohort like that of the article's case study (section 5), with labels from the article's rules.

    The hospital data of the article are private. This simulation has the same sizes: four groups of 2166 patients,
    6932 training and 1732 test rows, and the 267 ICD-9-CM and 188 ATC codes that remain of 1517 and 746. It is
    calibrated so that the article's rules label about as many patients as in the article, with each count within 5 %.
    The strength of the relation between ordinary codes and diseases was chosen so that the measures of four methods
    come near those of the article. Therefore results on this cohort do not confirm the results of the article.
    The codes of the article's table keep their names; the names of all others only have the form of the
    classifications.

    Parameters
    ----------
    n_per_group : int, default=2166
        Number of patients in each of the four groups, at least 500; with fewer, too few patients have the rarer
        codes.
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the random numbers. An integer gives the same result in every call; None gives another one each time.

    Returns
    -------
    Bunch
        data : ndarray of shape (n_train, n_features), float64
            How often each code was recorded for each patient; 455 codes at the default sizes.
        target : ndarray of shape (n_train, 3), int64
            True labels: healthy, hypertension, diabetes. A patient of the fourth group has the last two.
        rule_target : ndarray of shape (n_train, 3), int64
            Labels that the rules give. A row of -1 is a patient whom no rule labels.
        test_data, test_target : ndarray
            The same as data and target for the other 20 % of the patients.
        feature_names : list of str
            Names of the codes: "ICD9:401.9", ..., "ATC:C09AA", ...
        label_names : list of str
            "healthy", "hypertension", "diabetes".
        DESCR : str
            Description of the simulation.

    Raises
    ------
    ValueError
        If `n_per_group` is not an integer of at least 500.

    Notes
    -----
    The rules depend on four kinds of codes. The number of patients with each combination of them is fixed for each
    group, and only the choice of patients is random. So the counts of the labels from the rules vary only because of
    the train/test split.

    Examples
    --------
    >>> from nmlsdr.datasets import make_cohort
    >>> cohort = make_cohort(random_state=0)
    >>> cohort.data.shape, cohort.test_data.shape
    ((6932, 455), (1732, 455))
    >>> cohort.label_names
    ['healthy', 'hypertension', 'diabetes']
    """
    n = 4 * check_count(n_per_group, "n_per_group", least=500)
    rng = generator(random_state, COHORT)
    group = np.repeat(np.arange(4), n // 4)
    names, counts = _records(group, rng)

    order = rng.permutation(n)
    n_test = int(TEST_SHARE * n)
    train = order[n_test:]
    test = order[:n_test]
    rule_target = apply_rules(counts[train], names)
    columns = np.flatnonzero((counts[train] > 0).sum(axis=0) >= FEWEST_PATIENTS)
    target = GROUP_LABELS[group].astype(np.int64)
    return Bunch(
        data=counts[np.ix_(train, columns)].astype(np.float64),
        target=target[train],
        rule_target=rule_target,
        test_data=counts[np.ix_(test, columns)].astype(np.float64),
        test_target=target[test],
        feature_names=[names[j] for j in columns],
        label_names=list(load_rules()["labels"]),
        DESCR=f"SIMULATED cohort: {n} patients ({train.size} train, {test.size} test), {columns.size} codes that at "
        f"least {FEWEST_PATIENTS} training patients have. No number in here comes from a patient.",
    )


def _records(group: NDArray[np.intp], rng: np.random.Generator) -> tuple[list[str], NDArray[np.int16]]:
    """Draw the counts of all codes, kept and rare: names, and int16 (n, n_codes) with diagnoses first."""
    kinds = load_json(__package__, "_cohort.json")["kinds"]
    flags = _recorded(group, np.transpose([kind["share_of_patients"] for kind in kinds]), rng)
    parts: Counts = {}
    for kind, flag in zip(kinds, flags.T, strict=True):
        parts.update(_listed_codes(kind, flag, group, rng))
    frequent = []
    rare = []
    for system, (n_kept, n_all) in CODES.items():
        listed = [name for name in parts if name.startswith(system)]
        n_other = n_kept - sum(int((parts[name] > 0).sum() >= 2 * FEWEST_PATIENTS) for name in listed)
        unlisted = _other_codes(system, n_all - len(listed))
        frequent += unlisted[:n_other]
        rare += unlisted[n_other:]
    parts.update(_ordinary_codes(frequent, group, rng))
    for name in rare:  # of at most nine patients, so that the selection of codes drops it again
        parts[name] = np.zeros(group.size, dtype=np.int16)
        parts[name][rng.integers(group.size, size=rng.integers(1, FEWEST_PATIENTS))] = 1
    names = sorted(parts, key=lambda name: (not name.startswith("ICD9"), name))
    return names, np.column_stack([parts[name] for name in names])


def _recorded(group: NDArray[np.intp], shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which kinds of codes (columns of `shares`) each record holds: numbers fixed by group, places random."""
    flags = np.zeros((group.size, 4), dtype=bool)
    patterns = np.array(list(product([False, True], repeat=4)))
    for g in range(4):
        rows = rng.permutation(np.flatnonzero(group == g))
        ends = np.rint(np.cumsum(np.where(patterns, shares[g], 1.0 - shares[g]).prod(axis=1)) * rows.size)
        # Rounded in sum, the shares of the patterns make up all rows.
        flags[rows] = np.repeat(patterns, np.diff(ends, prepend=0).astype(int), axis=0)
    return flags


def _listed_codes(kind: Any, flag: NDArray[np.bool_], group: NDArray[np.intp], rng: np.random.Generator) -> Counts:
    """Draw the codes of one kind: at least one for each record that has the flag, none for the others."""
    table = kind["codes"]
    weights = np.array(list(table.values()), dtype=np.float64)
    counts = np.zeros((group.size, len(table)), dtype=np.int16)
    for g in range(4):
        rows = np.flatnonzero(flag & (group == g))
        draws = 1 + rng.poisson(kind["further_codes"][g], size=rows.size)
        owner = np.repeat(rows, draws)
        code = rng.choice(len(table), size=owner.size, p=weights[:, g] / weights[:, g].sum())
        np.add.at(counts, (owner, code), _repeats(owner.size, rng))
    return {name: counts[:, j] for j, name in enumerate(table)}


def _ordinary_codes(names: list[str], group: NDArray[np.intp], rng: np.random.Generator) -> Counts:
    """Draw codes that the rules do not use; some are more or less frequent with a disease."""
    activity = rng.gamma(ACTIVITY_SHAPE, np.array(ACTIVITY)[group] / ACTIVITY_SHAPE)
    low, high = np.log(TYPICAL_SHARE)
    rates = np.exp(rng.uniform(low, high, size=len(names)))
    links = np.zeros((len(names), 2))
    linked = rng.choice(len(names), size=LINKED_CODES, replace=False)
    links[linked] = rng.normal(0.0, LINK_STRENGTH, size=(LINKED_CODES, 2))
    diseases = GROUP_LABELS[:, 1:].astype(np.float64)
    parts = {}
    for name, rate, link in zip(names, rates, links, strict=True):
        ratio = np.exp(diseases @ link)
        has = rng.random(group.size) < -np.expm1(-rate * (ratio / ratio.mean())[group] * activity)
        column = np.zeros(group.size, dtype=np.int16)
        column[has] = _repeats(int(has.sum()), rng)
        parts[name] = column
    return parts


def _repeats(size: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """How often a code is recorded, given that it is: geometric with mean 2.5."""
    return np.minimum(rng.geometric(0.4, size=size), 200).astype(np.int16)


def _other_codes(system: str, n_codes: int) -> list[str]:
    """Names in the form of the classification that no entry of the article's table matches."""
    rules = load_rules()
    listed = [code for by_system in rules["code_sets"].values() for code in by_system.get(system, [])]
    listed += list(rules["aliases"])
    if system == "ICD9":
        candidates = (f"{category:03d}.{digit}" for digit in (9, 0, 8) for category in range(1, 1000))
    else:
        parts = product("ABCX", (1, 2, 3, 4, 5, 6, 7, 9), "ABDGHJLMNPRSV", "ABCD")
        candidates = (f"{part}{level:02d}{a}{b}" for b, level, part, a in parts)
    free = [code for code in candidates if not any(matches(code, entry) for entry in listed)]
    return [f"{system}:{code}" for code in free[:n_codes]]


# ---------------------------------------------------------------- labels by rules over codes


# A code of the table with fewer characters matches all codes that begin with it: C02K, 401.
EXACT_LENGTH = 5


def load_rules() -> dict[str, Any]:
    """Return the article's table of codes and its labelling rules.

    ``labels`` is a list of names, ``code_sets`` name -> coding system -> codes, ``aliases`` code -> code of the table,
    and ``rules`` are in order, each with ``labels``, ``all_of`` and ``none_of``.

    Examples
    --------
    >>> rules = load_rules()
    >>> rules["code_sets"]["diabetes indicator"]["ICD9"]
    ['250', '588', '648', '775']
    >>> len(rules["code_sets"]["hypertension indicator"]["ATC"])
    63
    """
    return load_json(__package__, "cohort_rules.json")


def matches(code: str, listed: str) -> bool:
    """Whether a patient's code matches a code of the table.

    A listed code of fewer than five characters matches every code that begins with it, a longer one matches itself.
    Dots, blanks and case do not matter.

    Parameters
    ----------
    code : str
        From the record, for example "250.02".
    listed : str
        From the table, for example "250".

    Examples
    --------
    >>> matches("250.02", "250"), matches("C02KX01", "C02K"), matches("C01AA05", "C01AA"), matches("C01AA", "C01AA")
    (True, True, False, True)
    """
    code = _plain(code)
    listed = _plain(listed)
    return code.startswith(listed) if len(listed) < EXACT_LENGTH else code == listed


def apply_rules(counts: ArrayLike, feature_names: Sequence[str]) -> NDArray[np.int64]:
    """Label patients by the first rule that applies to the codes they have.

    Parameters
    ----------
    counts : array-like of shape (n_patients, n_codes)
        How often each code was recorded; a patient has a code if its count is above 0.
    feature_names : sequence of str, length n_codes
        ``"SYSTEM:code"``, for example ``"ICD9:250.02"`` or ``"ATC:C09AA"``. A code of one system never matches the
        table of another.

    Returns
    -------
    ndarray of shape (n_patients, n_labels), int64
        Healthy, hypertension, diabetes; a row of -1 where no rule applies.

    Notes
    -----
    Article, section 5.2. Its rules: diagnoses 250 and 401-405: both diseases; 250 and no indicator of hypertension:
    diabetes; 401-405 and no indicator of diabetes: hypertension; no listed code at all: healthy; else no label.

    Examples
    --------
    >>> apply_rules([[1, 0, 2], [0, 0, 1], [0, 0, 0], [1, 1, 0]], ["ICD9:401.9", "ICD9:250.00", "ATC:C09AA"])
    array([[ 0,  1,  0],
           [-1, -1, -1],
           [ 1,  0,  0],
           [ 0,  1,  1]])
    """
    rules = load_rules()
    present = np.asarray(counts) > 0
    codes = [name.upper().split(":") for name in feature_names]
    also = rules["aliases"]
    has = {}
    for name, by_system in rules["code_sets"].items():
        in_set = [
            any(matches(code, listed) or matches(also.get(code, code), listed) for listed in by_system.get(system, []))
            for system, code in codes
        ]
        has[name] = present[:, np.array(in_set, dtype=bool)].any(axis=1)
    labels = list(rules["labels"])
    target = np.full((present.shape[0], len(labels)), -1, dtype=np.int64)
    for rule in reversed(rules["rules"]):  # so that the first one that applies is the last to write
        applies = np.all([*(has[name] for name in rule["all_of"]), *(~has[name] for name in rule["none_of"])], axis=0)
        target[applies] = [int(label in rule["labels"]) for label in labels]
    return target


def _plain(code: str) -> str:
    return code.replace(".", "").replace(" ", "").upper()
