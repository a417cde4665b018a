"""Which rows a model was fitted on: a salted hash of each, so that the file holds no row and `evaluate` knows them."""

import hashlib
import secrets
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_BYTES = 8  # of a hash: two of a million different rows have the same one with a probability of 3 in 100 million


def fitted_rows(X: Any, labeled: NDArray[np.bool_]) -> dict[str, Any]:
    """What a model file keeps of the rows of a fit.

    Parameters
    ----------
    X : ndarray or csr_array (n, D)
        As read: numbers, or objects where columns hold texts.
    labeled : ndarray (n,), bool

    Returns
    -------
    dict
        ``salt``, and the sorted hashes of the labelled rows and of the others.

    Examples
    --------
    >>> kept = fitted_rows(np.array([[1.0, 2.0], [3.0, np.nan]]), np.array([True, False]))
    >>> with_labels, without = were_fitted(np.array([[3.0, np.nan], [5.0, 6.0], [1.0, 2.0]]), kept)
    >>> with_labels.tolist(), without.tolist()
    ([False, False, True], [True, False, False])
    """
    salt = secrets.token_hex(16)
    hashes = _hashes(X, salt)
    return {"salt": salt, "labeled": np.unique(hashes[labeled]), "others": np.unique(hashes[~labeled])}


def were_fitted(X: Any, kept: dict[str, Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether each row was in the fit as a labelled row, and as an unlabelled one."""
    hashes = _hashes(X, kept["salt"])
    return np.isin(hashes, kept["labeled"]), np.isin(hashes, kept["others"])


def _hashes(X: Any, salt: str) -> NDArray[np.uint64]:
    key = salt.encode()
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.eliminate_zeros()
        X.sort_indices()
        columns = X.indices.astype(np.int64)
        parts = (columns[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr.tolist()))
    elif X.dtype == object:
        cells = ((cell if isinstance(cell, str) else repr(float(cell)) for cell in row) for row in X)
        parts = ("\0".join(row).encode(errors="surrogatepass") for row in cells)
    else:
        numbers = np.asarray(X, dtype=np.float64) + 0.0  # -0 and 0 are one number
        numbers[np.isnan(numbers)] = np.nan
        parts = (row.tobytes() for row in numbers)
    digests = b"".join(hashlib.blake2b(part, digest_size=_BYTES, key=key).digest() for part in parts)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)
