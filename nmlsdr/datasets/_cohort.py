"""A simulated cohort of the shape of the article's case study (section 5); no number of it is a patient's."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._errors import InputError
from ._random import COHORT, generator
from ._rules import apply_rules, load_rules, matches

LABELS = ("healthy", "hypertension", "diabetes")
GROUPS = ("healthy", "hypertension", "diabetes", "hypertension and diabetes")
GROUP_LABELS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]])
TEST_SHARE = 0.2
FEWEST_PATIENTS = 10  # a code seen in fewer training patients is dropped
N_ICD, N_ATC = 267, 188  # codes that stay
N_ICD_ALL, N_ATC_ALL = 1517, 746  # codes in all

# How often a record of each group (rows: GROUPS) holds: a diagnosis 401-405, a diagnosis 250, another indicator of
# hypertension, another indicator of diabetes. Solved from the article's counts of rule labels (1734 healthy, 2547
# hypertension, 1971 diabetes, 1302 of them both, 1982 unlabelled among 6932), with about one patient in eight of
# the diseased groups recorded without a fitting diagnosis.
RECORDED = np.array(
    [
        [0.005, 0.003, 0.105, 0.005],
        [0.686, 0.020, 0.749, 0.030],
        [0.043, 0.800, 0.532, 0.550],
        [0.830, 0.845, 0.840, 0.574],
    ]
)

# Relative frequencies of what is recorded when one of the four is; columns as GROUPS. Drugs without an entry are
# RARE_DRUG, the first RARE_DRUGS of them (in the table's order, from its end) nearly never.
HYPERTENSION_DIAGNOSES = {
    "401.1": (2, 2, 1, 2), "401.9": (9, 9, 9, 9), "402.90": (0, 1, 0, 1), "402.91": (0, 0.5, 0, 0.7),
    "403.90": (0, 0.4, 0.3, 1), "404.90": (0, 0.2, 0.1, 0.3), "405.99": (0, 0.2, 0, 0.2),
}  # fmt: skip
DIABETES_DIAGNOSES = {
    "250.00": (9, 7, 7, 7), "250.01": (0.5, 0.3, 1.5, 0.7), "250.02": (1, 1, 2, 2.5), "250.40": (0, 0, 0.4, 0.8),
    "250.50": (0, 0, 0.6, 0.8), "250.60": (0, 0, 0.3, 0.5), "250.70": (0, 0, 0.2, 0.6),
}  # fmt: skip
HYPERTENSION_INDICATORS = {
    "ATC:C09AA": (0.5, 6, 1.2, 5), "ATC:C09CA": (0.3, 4, 0.6, 4), "ATC:C09DA": (0.2, 5, 0.3, 5),
    "ATC:C09BA": (0.1, 2, 0.2, 2), "ATC:C08CA": (0.2, 3, 0.3, 3), "ATC:C07AB": (1, 2.5, 0.5, 2.5),
    "ATC:C03AA": (0.2, 2, 0.2, 1.5), "ATC:C03CA": (0.5, 1.5, 0.6, 2), "ATC:C03BA": (0.1, 0.8, 0.1, 0.7),
    "ATC:C10AA": (4, 4, 9, 8), "ATC:C10AB": (0.5, 0.5, 1.5, 1), "ATC:C10AX": (0.5, 0.5, 1, 1),
    "ATC:C05AA": (3, 0.8, 0.8, 0.6), "ATC:C05CA": (3, 1, 0.8, 0.7), "ATC:C05BA": (2, 0.5, 0.5, 0.4),
    "ATC:C04AD": (0.3, 0.4, 0.8, 0.8), "ATC:C02CA": (0.2, 0.8, 0.2, 1), "ATC:C07AA": (1, 0.8, 0.3, 0.5),
    "ICD9:362.01": (0.05, 0.05, 1.2, 1), "ICD9:362.50": (0.3, 0.3, 0.3, 0.3),
}  # fmt: skip
DIABETES_INDICATORS = {
    "ATC:A10BA": (4, 4, 8, 8), "ATC:A10BB": (1, 1, 3, 3), "ATC:A10BD": (1, 1, 4, 4), "ATC:A10BH": (0.5, 0.5, 2, 2),
    "ATC:A10AE": (0.5, 0.5, 3, 3), "ATC:A10AB": (0.3, 0.3, 1.5, 1.5), "ATC:A10AD": (0.2, 0.2, 1.5, 1.5),
    "ATC:A10AC": (0.2, 0.2, 0.8, 0.8), "ATC:A10BX": (0.2, 0.2, 1.5, 1.5), "ATC:A10BF": (0.1, 0.1, 0.3, 0.3),
    "ATC:A10BG": (0.1, 0.1, 0.5, 0.5), "ICD9:588.81": (0.2, 0.3, 0.3, 0.6), "ICD9:648.03": (1.5, 0.5, 0.5, 0.2),
}  # fmt: skip
RARE_DRUG = (0.12, 0.12, 0.12, 0.12)
RARE_DRUGS = 12
# Mean number of further codes of the same kind, by group.
MORE_DIAGNOSES = ((0.2, 0.2, 0.2, 0.2), (0.3, 0.3, 0.3, 0.3))
MORE_CODES = (0.2, 1.6, 1.2, 2.2)
MORE_DIABETES = (0.2, 0.3, 0.9, 1.1)

# Contact with the health system: shape and mean of a gamma variable, by group.
ACTIVITY_SHAPE = 2.0
ACTIVITY = (0.7, 1.0, 1.0, 1.3)
TYPICAL_SHARE = (0.005, 0.25)  # of the patients who have an ordinary code, log-uniform
# Ordinary codes that are more, or less, frequent with a disease, and the standard deviation of their log ratio.
# Chosen among five pairs so that the measures of CCA, MDDMp, SSMLDR and NMLSDR come near the article's: with 60 codes
# and .6, HL' is .76 for CCA as for MDDMp; with these .80 and .87 (the article: .78 and .88).
LINKED_CODES = 200
LINK_STRENGTH = 1.0

DESCRIPTION = """\
SIMULATED cohort of the shape of the case study in Mikalsen et al., "Noisy multi-label semi-supervised dimensionality
reduction", section 5. The article's hospital data are private; no number in here comes from a patient.

{n} patients in four groups of equal size ({n_train} train, {n_test} test): healthy, hypertension, diabetes, and both.
Counts of {n_features} codes (ICD-9-CM diagnoses, then ATC drugs) that {fewest} training patients or more have.
The codes of the article's table keep their names; the names of all others only have the form of the classifications.
target and test_target hold the true labels; rule_target holds what the article's rules (apply_rules) make of the
training records: noisy labels, and rows of -1 where no rule applies.
"""


def make_cohort(*, n_per_group: int = 2166, random_state: Any = None) -> Bunch:
    """Simulate a cohort of the shape of the article's case study (section 5), with its rule labels.

    The article's hospital data are private. This simulation has their sizes (four groups of 2166 patients, 6932
    train and 1732 test, 267 ICD-9-CM and 188 ATC codes that stay of 1517 and 746) and is calibrated so that the
    article's rules label about as many patients as in the article, each count within 5 %. How strongly ordinary codes
    go along with a disease was chosen so that the measures of four methods come near the article's; results on it
    are no evidence for the article's.

    Parameters
    ----------
    n_per_group : int, default=2166
        Patients in each of the four groups, at least 500 (below, too few patients have the rarer codes).
    random_state : int, SeedSequence, Generator, RandomState or None, default=None
        Seed of the draw; an integer gives the same cohort on every call.

    Returns
    -------
    Bunch
        data : ndarray (n_train, 455), float64
            How often each code was recorded.
        target : ndarray (n_train, 3), int64
            True labels: healthy, hypertension, diabetes; a patient of the fourth group has the last two.
        rule_target : ndarray (n_train, 3), int64
            The labels of the rules; a row of -1 is a patient whom no rule labels.
        test_data, test_target : ndarray
            The same for the other 20 %.
        feature_names : list of str
            "ICD9:401.9", ..., "ATC:C09AA", ...
        label_names : list of str
            "healthy", "hypertension", "diabetes".
        DESCR : str
            How it was drawn.

    Raises
    ------
    ValueError
        If `n_per_group` is not an integer of at least 500.

    See Also
    --------
    apply_rules : The rules.

    Notes
    -----
    What a record holds of the four things that the rules ask for is fixed in number for each group (only who it is
    is random), so the counts of rule labels vary between seeds by the train/test split alone.

    Examples
    --------
    >>> from nmlsdr.datasets import make_cohort
    >>> cohort = make_cohort(random_state=0)
    >>> cohort.data.shape, cohort.test_data.shape
    ((6932, 455), (1732, 455))
    >>> cohort.label_names
    ['healthy', 'hypertension', 'diabetes']
    """
    if not isinstance(n_per_group, (int, np.integer)) or isinstance(n_per_group, bool) or n_per_group < 500:
        raise InputError(f"n_per_group={n_per_group!r} is not an integer of at least 500; give one.")
    rng = generator(random_state, COHORT)
    n = 4 * int(n_per_group)
    group = np.repeat(np.arange(4), n_per_group)
    rules = load_rules()
    names, counts = _records(group, rules, rng)

    order = rng.permutation(n)
    n_test = int(TEST_SHARE * n)
    train, test = order[n_test:], order[:n_test]
    rule_target = apply_rules(counts[train], names, rules=rules)
    kept = np.flatnonzero((counts[train] > 0).sum(axis=0) >= FEWEST_PATIENTS)
    target = GROUP_LABELS[group].astype(np.int64)
    return Bunch(
        data=counts[np.ix_(train, kept)].astype(np.float64),
        target=target[train],
        rule_target=rule_target,
        test_data=counts[np.ix_(test, kept)].astype(np.float64),
        test_target=target[test],
        feature_names=[names[j] for j in kept],
        label_names=list(LABELS),
        DESCR=DESCRIPTION.format(
            n=n, n_train=train.size, n_test=test.size, n_features=kept.size, fewest=FEWEST_PATIENTS
        ),
    )


def _records(
    group: NDArray[np.intp], rules: dict[str, Any], rng: np.random.Generator
) -> tuple[list[str], NDArray[np.int16]]:
    """Draw the counts of all codes, kept and rare: names, and int16 (n, n_codes) with diagnoses first."""
    flags = _recorded(group, rng)
    parts: dict[str, NDArray[np.int16]] = {}
    hypertension = _with_rare_drugs(HYPERTENSION_INDICATORS, "hypertension indicator", rules)
    diabetes = _with_rare_drugs(DIABETES_INDICATORS, "diabetes indicator", rules)
    kinds: list[tuple[Mapping[str, tuple[float, ...]], tuple[float, ...]]] = [
        ({f"ICD9:{code}": shares for code, shares in HYPERTENSION_DIAGNOSES.items()}, MORE_DIAGNOSES[0]),
        ({f"ICD9:{code}": shares for code, shares in DIABETES_DIAGNOSES.items()}, MORE_DIAGNOSES[1]),
        (hypertension, MORE_CODES),
        (diabetes, MORE_DIABETES),
    ]
    for flag, (table, more) in enumerate(kinds):
        parts.update(_listed_codes(table, more, flags[:, flag], group, rng))

    frequent, rare = {}, {}
    for system, n_kept, n_all in (("ICD9", N_ICD, N_ICD_ALL), ("ATC", N_ATC, N_ATC_ALL)):
        listed = [name for name in parts if name.startswith(system)]
        n_listed = sum(int((parts[name] > 0).sum() >= 2 * FEWEST_PATIENTS) for name in listed)
        other = _other_codes(system, n_all - len(listed), rules)
        frequent[system] = other[: n_kept - n_listed]
        rare[system] = other[n_kept - n_listed :]
    parts.update(_ordinary_codes(frequent["ICD9"] + frequent["ATC"], group, rng))
    parts.update(_rare_codes(rare["ICD9"] + rare["ATC"], group.size, rng))
    names = sorted(parts, key=lambda name: (not name.startswith("ICD9"), name))
    return names, np.column_stack([parts[name] for name in names])


def _recorded(group: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which of the four things (columns of RECORDED) each record holds: numbers fixed by group, places random."""
    flags = np.zeros((group.size, 4), dtype=bool)
    patterns = np.array(list(product([False, True], repeat=4)))
    for g in range(4):
        rows = rng.permutation(np.flatnonzero(group == g))
        shares = np.where(patterns, RECORDED[g], 1.0 - RECORDED[g]).prod(axis=1)
        ends = np.rint(np.cumsum(shares) * rows.size).astype(int)
        for pattern, first, last in zip(patterns, [0, *ends[:-1]], ends, strict=True):
            flags[rows[first:last]] = pattern
    return flags


def _with_rare_drugs(
    table: Mapping[str, tuple[float, ...]], code_set: str, rules: dict[str, Any]
) -> dict[str, tuple[float, ...]]:
    """Add the drugs of the article's table that have no frequency of their own."""
    known = [name.partition(":")[2] for name in table]
    aliases = {listed: alias for alias, listed in rules["aliases"].items()}
    listed = [aliases.get(code, code) for code in rules["code_sets"][code_set]["ATC"]]
    missing = [code if len(code) >= 5 else code + "X" * (5 - len(code)) for code in listed if code not in known]
    usual = missing[: max(0, len(missing) - RARE_DRUGS)]
    return {**table, **{f"ATC:{code}": RARE_DRUG for code in usual}}


def _listed_codes(
    table: Mapping[str, tuple[float, ...]],
    more: tuple[float, ...],
    flag: NDArray[np.bool_],
    group: NDArray[np.intp],
    rng: np.random.Generator,
) -> dict[str, NDArray[np.int16]]:
    """Draw the codes of one kind: at least one for each record that has the flag, none for the others."""
    weights = np.array(list(table.values()), dtype=np.float64)
    counts = np.zeros((group.size, len(table)), dtype=np.int16)
    for g in range(4):
        rows = np.flatnonzero(flag & (group == g))
        draws = 1 + rng.poisson(more[g], size=rows.size)
        owner = np.repeat(rows, draws)
        code = rng.choice(len(table), size=owner.size, p=weights[:, g] / weights[:, g].sum())
        np.add.at(counts, (owner, code), _repeats(owner.size, rng))
    return {name: counts[:, j] for j, name in enumerate(table)}


def _ordinary_codes(
    names: list[str], group: NDArray[np.intp], rng: np.random.Generator
) -> dict[str, NDArray[np.int16]]:
    """Draw codes that the rules do not ask for; some are more or less frequent with a disease."""
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


def _rare_codes(names: list[str], n: int, rng: np.random.Generator) -> dict[str, NDArray[np.int16]]:
    """Draw codes of at most nine patients, which the selection of codes drops again."""
    parts = {}
    for name in names:
        column = np.zeros(n, dtype=np.int16)
        column[rng.integers(n, size=rng.integers(1, FEWEST_PATIENTS))] = 1
        parts[name] = column
    return parts


def _repeats(size: int, rng: np.random.Generator) -> NDArray[np.int16]:
    """How often a code is recorded, given that it is: geometric with mean 2.5."""
    return np.minimum(rng.geometric(0.4, size=size), 200).astype(np.int16)


def _other_codes(system: str, n_codes: int, rules: dict[str, Any]) -> list[str]:
    """Names in the form of the classification that no entry of the article's table matches."""
    listed = [code for by_system in rules["code_sets"].values() for code in by_system.get(system, [])]
    listed += list(rules["aliases"])
    if system == "ICD9":
        candidates = (f"{category:03d}.{digit}" for digit in (9, 0, 8) for category in range(1, 1000))
    else:
        candidates = (
            f"{part}{level:02d}{a}{b}"
            for b in "ABCX"
            for level in (1, 2, 3, 4, 5, 6, 7, 9)
            for part in "ABDGHJLMNPRSV"
            for a in "ABCD"
        )
    free = [code for code in candidates if not any(matches(code, entry) for entry in listed)]
    return [f"{system}:{code}" for code in free[:n_codes]]
