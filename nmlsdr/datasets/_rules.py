"""Labelling patients by rules over diagnosis and drug codes (article, section 5.2); the rules are data."""

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._errors import InputError

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
    return load_json("cohort_rules.json")


def load_json(name: str) -> dict[str, Any]:
    """Return what a file of this folder holds."""
    found: dict[str, Any] = json.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return found


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
        If the number of names is not the number of columns, or a name has no system.

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
    rules = load_rules() if rules is None else rules
    present = np.asarray(counts) > 0
    if present.ndim != 2 or present.shape[1] != len(feature_names):
        raise InputError(f"counts has shape {present.shape} but {len(feature_names)} names; give one name per column.")
    codes = [_split(name) for name in feature_names]
    also = {_plain(alias): listed for alias, listed in rules["aliases"].items()}
    has = {}
    for name, by_system in rules["code_sets"].items():
        in_set = [
            any(matches(code, listed) or matches(also.get(code, code), listed) for listed in by_system.get(system, []))
            for system, code in codes
        ]
        has[name] = present[:, np.array(in_set, dtype=bool)].any(axis=1)
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


def _plain(code: str) -> str:
    return code.replace(".", "").replace(" ", "").upper()


def _split(name: str) -> tuple[str, str]:
    system, colon, code = str(name).partition(":")
    if not colon or not _plain(code):
        raise InputError(f"The feature name {name!r} has no coding system; write it like 'ICD9:250.02' or 'ATC:C09AA'.")
    return system.strip().upper(), _plain(code)
