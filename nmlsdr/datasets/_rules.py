"""Labelling patients by rules over diagnosis and drug codes (article, section 5.2); the rules are data."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._errors import InputError

# A code of the table with fewer characters stands for all codes that begin with it: C02K, 401.
EXACT_LENGTH = 5


def load_rules(path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Read labelling rules: the article's, or a file of the same form.

    Parameters
    ----------
    path : path-like or None, default=None
        A JSON file; None: the article's table of codes and its rules (``cohort_rules.json`` in this package, to be
        copied and changed).

    Returns
    -------
    dict
        ``labels`` (list of names), ``code_sets`` (name -> coding system -> codes), ``aliases`` (code -> code of the
        table) and ``rules`` (in order, each with ``labels``, ``all_of`` and ``none_of``).

    Raises
    ------
    ValueError
        If a part is missing, or a rule names a label or a code set that is not there.

    Examples
    --------
    >>> rules = load_rules()
    >>> rules["code_sets"]["diabetes indicator"]["ICD9"]
    ['250', '588', '648', '775']
    >>> len(rules["code_sets"]["hypertension indicator"]["ATC"])
    63
    """
    if path is None:
        text = resources.files("nmlsdr.datasets").joinpath("cohort_rules.json").read_text(encoding="utf-8")
    else:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    rules = json.loads(text)
    _check_rules(rules)
    checked: dict[str, Any] = rules
    return checked


def matches(code: str, listed: str) -> bool:
    """Whether a patient's code is meant by a code of the table.

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
    code, listed = _plain(code), _plain(listed)
    return code.startswith(listed) if len(listed) < EXACT_LENGTH else code == listed


def apply_rules(
    counts: ArrayLike, feature_names: Sequence[str], *, rules: dict[str, Any] | None = None
) -> NDArray[np.int64]:
    """Label patients by the first rule that applies to the codes they have.

    Parameters
    ----------
    counts : array-like of shape (n_patients, n_codes)
        How often each code was recorded; a patient has a code if its count is above 0.
    feature_names : sequence of str, length n_codes
        ``"SYSTEM:code"``, for example ``"ICD9:250.02"`` or ``"ATC:C09AA"``. A code of one system never matches the
        table of another.
    rules : dict or None, default=None
        As :func:`load_rules` returns them; None: the article's.

    Returns
    -------
    ndarray of shape (n_patients, n_labels), int64
        Columns in the order of ``rules["labels"]``; a row of -1 where no rule applies.

    Raises
    ------
    ValueError
        If the number of names is not the number of columns, a name has no system, or the rules are damaged.

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
    if rules is None:
        rules = load_rules()
    else:
        _check_rules(rules)
    present = np.asarray(counts) > 0
    if present.ndim != 2 or present.shape[1] != len(feature_names):
        raise InputError(
            f"counts has shape {present.shape} for {len(feature_names)} feature_names; give one name per column."
        )
    codes = [_split(name) for name in feature_names]
    has = {
        name: present[:, _columns(codes, by_system, rules["aliases"])].any(axis=1)
        for name, by_system in rules["code_sets"].items()
    }
    labels = list(rules["labels"])
    target = np.full((present.shape[0], len(labels)), -1, dtype=np.int64)
    open_rows = np.ones(present.shape[0], dtype=bool)
    for rule in rules["rules"]:
        applies = open_rows.copy()
        for name in rule["all_of"]:
            applies &= has[name]
        for name in rule["none_of"]:
            applies &= ~has[name]
        target[applies] = [int(label in rule["labels"]) for label in labels]
        open_rows &= ~applies
    return target


def _columns(
    codes: list[tuple[str, str]], by_system: dict[str, list[str]], aliases: dict[str, str]
) -> NDArray[np.bool_]:
    """Which columns hold a code of the set."""
    also = {_plain(alias): _plain(listed) for alias, listed in aliases.items()}

    def listed_in_set(system: str, code: str) -> bool:
        listed = by_system.get(system, [])
        return any(matches(code, entry) or matches(also.get(code, code), entry) for entry in listed)

    return np.array([listed_in_set(system, code) for system, code in codes], dtype=bool)


def _plain(code: str) -> str:
    return code.replace(".", "").replace(" ", "").upper()


def _split(name: str) -> tuple[str, str]:
    system, colon, code = str(name).partition(":")
    if not colon or not _plain(code):
        raise InputError(f"The feature name {name!r} has no coding system; write it like 'ICD9:250.02' or 'ATC:C09AA'.")
    return system.strip().upper(), _plain(code)


def _check_rules(rules: Any) -> None:
    """Raise unless the rules are whole."""
    if not isinstance(rules, dict):
        raise InputError("The rules are not a JSON object; start from a copy of cohort_rules.json.")
    missing = [key for key in ("labels", "code_sets", "aliases", "rules") if key not in rules]
    if missing:
        raise InputError(f"The rules have no {missing[0]!r}; start from a copy of cohort_rules.json.")
    for number, rule in enumerate(rules["rules"], start=1):
        for key in ("labels", "all_of", "none_of"):
            if not isinstance(rule.get(key), list):
                raise InputError(f"Rule {number} has no list {key!r}; add it, empty if nothing is meant.")
        unknown = [name for name in rule["all_of"] + rule["none_of"] if name not in rules["code_sets"]]
        unknown += [name for name in rule["labels"] if name not in rules["labels"]]
        if unknown:
            raise InputError(f"Rule {number} names {unknown[0]!r}, not a code set or label of the file.")
