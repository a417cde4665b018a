"""Which rows a model was fitted on: salted hashes, so that the file holds no row and `evaluate` can tell known rows.

Whoever has the file and a row, or an id, can test whether it was in the fit; nothing else can be read from the hashes.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

_BYTES = 8  # of a hash: two of a million different rows have the same one with a probability of 3 in 100 million
_LEVEL = 0.001  # of the test whether equal features are more frequent than chance explains

#: Keys of the arrays of hashes; those of ids are there only if the fit had ids that name its rows.
KEYS = ("labeled", "others")
ID_KEYS = ("labeled_ids", "other_ids")


class Overlap(NamedTuple):
    """Rows of a table that a fit may have used.

    Attributes
    ----------
    by_id : bool
        Whether rows were compared by their ids; otherwise by their features.
    labeled, unlabeled : ndarray (n,), bool
        Rows that are equal to a labelled row of the fit, and to an unlabelled one.
    is_chance : bool
        Whether as many labelled rows are equal by chance: rows of the fit are equal to each other as often.
    by_group : bool
        Whether ids name groups of rows: several rows of the fit had one id.
    """

    by_id: bool
    labeled: NDArray[np.bool_]
    unlabeled: NDArray[np.bool_]
    is_chance: bool
    by_group: bool = False


def fitted_rows(X: Any, labeled: NDArray[np.bool_], ids: Sequence[str] | None = None) -> dict[str, Any]:
    """What a model file keeps of the rows of a fit.

    Parameters
    ----------
    X : ndarray or csr_array (n, D)
        Complete numbers.
    labeled : ndarray (n,), bool
    ids : sequence of str, length n, default=None
        Names of the rows. Numbers that count the rows name nobody, and are not kept.

    Returns
    -------
    dict
        ``salt``, and the sorted hashes of the labelled rows and of the others, and those of their ids.

    Examples
    --------
    >>> fitted = fitted_rows(np.array([[1.0, 2.0], [3.0, np.nan]]), np.array([True, False]))
    >>> overlap = find_overlap(np.array([[3.0, np.nan], [5.0, 6.0], [1.0, 2.0]]), fitted)
    >>> overlap.labeled.tolist(), overlap.unlabeled.tolist()
    ([False, False, True], [True, False, False])
    """
    salt = secrets.token_hex(16)
    fitted = _by_kind(KEYS, _hashes(X, salt), labeled)
    if ids is not None and not _counts_rows(ids):
        fitted |= _by_kind(ID_KEYS, _hashes_of_texts(ids, salt), labeled)
    return {"salt": salt, **fitted}


def find_overlap(X: Any, fitted: dict[str, Any], ids: Sequence[str] | None = None) -> Overlap:
    """Find the rows that a fit may have used: by their ids if both tables have ids, else by their features."""
    if ids is not None and ID_KEYS[0] in fitted:
        hashes = _hashes_of_texts(ids, fitted["salt"])
        labeled, unlabeled = (np.isin(hashes, fitted[key]) for key in ID_KEYS)
        names = np.concatenate([fitted[key] for key in ID_KEYS])
        return Overlap(True, labeled, unlabeled, is_chance=False, by_group=len(np.unique(names)) < len(names))
    hashes = _hashes(X, fitted["salt"])
    labeled, unlabeled = (np.isin(hashes, fitted[key]) for key in KEYS)
    _, counts = np.unique(fitted[KEYS[0]], return_counts=True)
    repeated = float(1 - (counts == 1).sum() / counts.sum()) if len(counts) else 0.0
    n_equal = int(labeled.sum())
    at_least_as_many = special.bdtrc(n_equal - 1, len(labeled), repeated)  # not scipy.stats, which takes long to load
    is_chance = n_equal > 0 and bool(at_least_as_many >= _LEVEL)
    return Overlap(False, labeled, unlabeled, is_chance)


def _by_kind(keys: tuple[str, str], hashes: NDArray[np.uint64], labeled: NDArray[np.bool_]) -> dict[str, Any]:
    return dict(zip(keys, (np.sort(hashes[labeled]), np.sort(hashes[~labeled])), strict=True))


def _counts_rows(ids: Sequence[str]) -> bool:
    """Whether the ids are consecutive whole numbers, in any order."""
    if not all(name.isdecimal() for name in ids):
        return False
    numbers = {int(name) for name in ids}
    return len(numbers) == len(ids) == max(numbers) - min(numbers) + 1


def _hashes_of_texts(texts: Iterable[str], salt: str) -> NDArray[np.uint64]:
    return _digests((text.encode("utf-8", "surrogatepass") for text in texts), salt)


def _hashes(X: Any, salt: str) -> NDArray[np.uint64]:
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.eliminate_zeros()
        X.sort_indices()
        columns = X.indices.astype(np.int64)
        return _digests((columns[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr.tolist())), salt)
    numbers = np.asarray(X, dtype=np.float64) + 0.0  # -0 and 0 are one number
    numbers[np.isnan(numbers)] = np.nan
    return _digests((row.tobytes() for row in numbers), salt)


def _digests(parts: Iterable[bytes], salt: str) -> NDArray[np.uint64]:
    key = salt.encode()
    digests = b"".join(hashlib.blake2b(part, digest_size=_BYTES, key=key).digest() for part in parts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
