"""The gatekeeper: the only place that casts, copies or checks what a user passed.

Each function answers with arrays that the kernels may trust, or raises one sentence that says what
was wrong, what was given and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import aligned, contiguous, long_indices
from ._errors import InputError

__all__ = ["Labels", "check_alpha", "check_count", "check_graph", "check_labels", "check_row_pair", "check_rows"]

# The square of a difference of two such numbers is finite, and so is the sum of 10^8 of them.
LARGEST_VALUE = 1e150
# Rows are checked for finiteness in pieces of this many values (.5 MiB), so that a memory map is read once, by blocks,
# and the second look at a block finds it in the cache.  A dot product would do in one, but BLAS wakes its threads.
_CHECK_VALUES = 1 << 16


def check_count(value: Any, name: str, *, least: int = 1) -> int:
    """An integer of at least ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_n_neighbors(value: Any, n_samples: int, *, exclude_self: bool) -> int:
    """k neighbours among n samples, of which a query that is one of them is none."""
    k = check_count(value, "n_neighbors")
    if k > n_samples - exclude_self:
        raise InputError(
            f"n_neighbors={k} needs {'more than' if exclude_self else 'at least'} {k} samples, got {n_samples}; "
            "lower n_neighbors."
        )
    return k


def asks_exact(neighbors: Any) -> bool:
    """Whether a ``neighbors`` parameter is "exact"; otherwise it is a transformer, or refused."""
    if isinstance(neighbors, str) and neighbors == "exact":
        return True
    if isinstance(neighbors, str | type) or not hasattr(neighbors, "fit_transform"):
        raise InputError(
            'neighbors must be "exact" or a transformer whose fit_transform gives a CSR matrix of distances, '
            f"got {neighbors!r}."
        )
    return False


def check_real(value: Any, name: str, low: float, high: float, *, low_open: bool = False) -> float:
    """A finite number in [low, high], or in (low, high] with ``low_open``; high may be infinite."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) else np.nan
    if not (np.isfinite(number) and low <= number <= high) or (low_open and number == low):
        interval = f"{'(' if low_open else '['}{low:g}, {high:g}{']' if np.isfinite(high) else ')'}"
        raise InputError(f"{name} must be a number in {interval}, got {value!r}.")
    return number


# ---------------------------------------------------------------- rows of features


def check_rows(X: Any, name: str = "X", *, dtype: Any = None) -> Any:
    """Rows for the kernels: C-contiguous float32/float64, or CSR with sorted indices and no repeats.

    float32 and float64 stay what they are unless ``dtype`` asks; anything else becomes float64.
    An array that already has the form is returned as it is (a memory map is not read into memory).

    Raises
    ------
    ValueError
        Not 2-D, not numeric, non-finite, or a magnitude above 1e150.
    TypeError
        An entry that is no number at all, such as a dict.
    """
    if isinstance(X, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; fill or drop its masked entries first.")
    if sparse.issparse(X):
        if np.issubdtype(X.dtype, np.complexfloating):
            raise InputError(f"Complex data not supported: {name} has dtype {X.dtype}; pass real numbers.")
        rows = sparse.csr_array(X) if X.format != "csr" else X
        rows = rows.astype(_float_type(rows.dtype, dtype), copy=False)
        if not rows.has_canonical_format:
            if rows is X:
                rows = rows.copy()
            rows.sum_duplicates()
        _check_finite(rows.data, name)
        return aligned(rows)
    rows = np.asarray(X)
    if rows.ndim != 2:
        raise InputError(
            f"{name} must be a 2-D array of shape (n_samples, n_features), got {rows.ndim} dimension(s). "
            "Reshape your data: X.reshape(-1, 1) for one feature or X.reshape(1, -1) for one sample."
        )
    if np.issubdtype(rows.dtype, np.complexfloating):
        raise InputError(f"Complex data not supported: {name} has dtype {rows.dtype}; pass real numbers.")
    try:
        rows = contiguous(rows, _float_type(rows.dtype, dtype))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else InputError
        raise kind(f"{name} must hold numbers only: {error}; encode text and categories first.") from None
    _check_finite(rows, name)
    return rows


def refuse_unequal_features(n: int, n_asked: int, names: tuple[str, str] = ("X", "queries")) -> None:
    if n != n_asked:
        raise InputError(
            f"{names[1]} has {n_asked} features, but {names[0]} has {n} features; pass the same columns."
        )


def check_row_pair(X: Any, queries: Any, names: tuple[str, str] = ("X", "queries")) -> tuple[Any, Any]:
    """Both sets of rows in one storage and one dtype, with the same number of features.

    float32 against float64 becomes float64 and dense against sparse becomes CSR: both are exact.
    """
    return match_rows(check_rows(X, names[0]), check_rows(queries, names[1]), names)


def match_rows(rows: Any, asked: Any, names: tuple[str, str] = ("X", "queries")) -> tuple[Any, Any]:
    """`check_row_pair` of rows that are checked."""
    rows, asked = aligned(rows), aligned(asked)
    refuse_unequal_features(rows.shape[1], asked.shape[1], names)
    if sparse.issparse(rows) != sparse.issparse(asked):
        rows, asked = sparse.csr_array(rows), sparse.csr_array(asked)
    if rows.dtype != asked.dtype:
        rows, asked = rows.astype(np.float64, copy=False), asked.astype(np.float64, copy=False)
    if sparse.issparse(rows) and rows.indices.dtype != asked.indices.dtype:
        rows, asked = long_indices(rows), long_indices(asked)
    return rows, asked


def _float_type(given: Any, wanted: Any) -> Any:
    if wanted is not None:
        return wanted
    return given if given in (np.float32, np.float64) else np.float64


def _check_finite(values: np.ndarray, name: str) -> None:
    width = max(1, values.size // max(1, len(values)))
    step = max(1, _CHECK_VALUES // width)
    for first in range(0, len(values), step):
        block = values[first : first + step]
        if block.size == 0:
            continue
        low, high = float(block.min()), float(block.max())
        if low >= -LARGEST_VALUE and high <= LARGEST_VALUE:  # false for NaN too
            continue
        if np.isfinite(low) and np.isfinite(high):
            raise InputError(f"{name} holds magnitudes above {LARGEST_VALUE:g}; rescale it.")
        where = "" if values.ndim == 1 else f" in row {first + int(np.argmin(np.isfinite(block).all(axis=1)))}"
        raise InputError(f"{name} contains NaN or infinity{where}; impute or drop such values first.")


def check_row_weights(F: Any, name: str, n_samples: int) -> np.ndarray:
    """Finite float64 labels or weights of shape (n_samples, n_labels), one row for each row of X."""
    F = check_rows(F, name, dtype=np.float64)
    if sparse.issparse(F):
        F = F.toarray()
    if F.shape[0] != n_samples or F.shape[1] == 0:
        raise InputError(f"{name} must have {n_samples} rows, as X has, and a column per label, got shape {F.shape}.")
    return np.asarray(F)


def check_components(n_components: int | None, bound: int, formula: str) -> int:
    """The number of directions to compute: ``n_components``, or the bound for None."""
    if bound < 1:
        raise InputError(f"Found {formula} = {bound}: there is nothing to project on; give more rows or labels.")
    if n_components is None:
        return bound
    if check_count(n_components, "n_components") > bound:
        raise InputError(f"n_components={n_components} is above {formula} = {bound}; lower it, or pass None.")
    return int(n_components)


# ---------------------------------------------------------------- graphs


def check_graph(W: Any, name: str = "W", *, n_samples: int | None = None) -> sparse.csr_array:
    """A symmetric non-negative graph as a float64 csr_array with sorted indices and no diagonal.

    ``|W - W'| <= 1e-12 max W`` is taken as rounding and (W + W')/2 is used.  Explicit zeros are
    kept (they are edges of weight 0); a stored diagonal is dropped.

    Raises
    ------
    ValueError
        Not square, the wrong size, negative or non-finite weights, or not symmetric.
    """
    if isinstance(W, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; fill its masked entries first.")
    given = W
    if not sparse.issparse(W):
        W = np.asarray(W)
        if W.ndim != 2 or W.dtype.kind not in "biuf":
            raise InputError(f"{name} must be a sparse or 2-D numeric matrix, got {type(given).__name__}.")
    W = sparse.csr_array(W).astype(np.float64, copy=False)
    if W.shape[0] != W.shape[1] or (n_samples is not None and W.shape[0] != n_samples):
        wanted = "square" if n_samples is None else f"of shape ({n_samples}, {n_samples})"
        raise InputError(
            f"{name} must be {wanted}, got {W.shape}; a graph cannot be sliced by cross-validation: "
            "pass neighbors= instead."
        )
    if not W.has_canonical_format:
        W = W.copy()
        W.sum_duplicates()
    if W.nnz and not np.isfinite(W.data).all():
        raise InputError(f"{name} contains NaN or infinite weights; drop those edges.")
    if W.nnz and W.data.min() < 0:
        raise InputError(f"{name} contains a negative weight ({W.data.min():g}); weights must be 0 or more.")
    W = _without_diagonal(W)
    W = _symmetric(W, name)
    if W.indices.dtype != W.indptr.dtype:
        W = long_indices(W)
    return aligned(W)


def _without_diagonal(W: sparse.csr_array) -> sparse.csr_array:
    rows = np.repeat(np.arange(W.shape[0], dtype=W.indices.dtype), np.diff(W.indptr))
    keep = rows != W.indices
    if keep.all():
        return W
    indptr = np.zeros_like(W.indptr)
    np.cumsum(np.bincount(rows[keep], minlength=W.shape[0]), out=indptr[1:])
    return sparse.csr_array((W.data[keep], W.indices[keep], indptr), shape=W.shape)


def _symmetric(W: sparse.csr_array, name: str) -> sparse.csr_array:
    mirror = sparse.csr_array(W.T)
    mirror.sort_indices()
    if np.array_equal(W.indptr, mirror.indptr) and np.array_equal(W.indices, mirror.indices):
        if np.array_equal(W.data, mirror.data):
            return W
        worst = np.abs(W.data - mirror.data).max()
    else:
        difference = W - mirror
        worst = np.abs(difference.data).max() if difference.nnz else 0.0
    if worst > 1e-12 * W.data.max():
        raise InputError(
            f"{name} is not symmetric (largest |W - W'| is {worst:g}); "
            "symmetrise it, for example with W.maximum(W.T) or (W + W.T) / 2."
        )
    W = sparse.csr_array((W + mirror) * 0.5)
    W.sort_indices()
    return W


def check_alpha(alpha: Any, n_samples: int, name: str = "alpha") -> np.ndarray:
    """alpha_i in [0, 1) for every row, from a number or an array of shape (n_samples,)."""
    values = np.asarray(alpha, dtype=np.float64)
    if values.shape not in ((), (n_samples,)):
        raise InputError(f"{name} must be a number or of shape ({n_samples},), got shape {values.shape}.")
    values = np.broadcast_to(values, (n_samples,))
    bad = ~((values >= 0) & (values < 1))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{name} must lie in [0, 1), got {values[row]} (row {row}); 0 keeps given labels as they are.")
    return contiguous(values)


# ---------------------------------------------------------------- labels: the one rule for every estimator


@dataclass(frozen=True)
class Labels:
    """Labels after the rule of DESIGN: what every estimator works on.

    Attributes
    ----------
    Y : ndarray of shape (n_samples, n_labels), float64
        0/1; rows that are not labelled are 0.
    labeled : ndarray of shape (n_samples,), bool
    classes : list of ndarray, or ndarray
        One array [0, 1] per label for 2-D y; the sorted classes for 1-D y.
    names : ndarray of str, or None
        Column names of a data frame.
    single : bool
        True for 1-D y: one column of Y per class, each labelled row has exactly one.
    """

    Y: np.ndarray
    labeled: np.ndarray
    classes: Any
    names: np.ndarray | None
    single: bool


def check_labels(y: Any, *, n_samples: int | None = None, labeled: Any = None, name: str = "y") -> Labels:
    """Read labels by the one rule that all estimators share.

    2-D: entries 0/1 (bool, integer or float), a row of -1 is unlabelled, a row of 0 is a labelled row
    without any label.  1-D: one column per class, -1 (or the string "-1") is unlabelled.
    Sparse y is read as the dense array it stands for.  ``labeled`` (bool, one per row) marks the
    labelled rows instead of -1; what the other rows hold is ignored.

    Raises
    ------
    ValueError
        Names the first bad row and the fix: NaN, masked arrays, labels coded -1/+1, other values, rows that
        mix -1 with 0/1, no labelled row at all, or a length other than ``n_samples``.
    """
    if y is None:
        raise InputError(f"requires {name} to be passed, but the target {name} is None.")
    values, names = _dense_labels(y, name), _column_names(y)
    if values.ndim not in (1, 2):
        raise InputError(f"{name} must be 1-D or 2-D, got {values.ndim} dimensions.")
    if n_samples is not None and len(values) != n_samples:
        raise InputError(
            f"Found input variables with inconsistent numbers of samples: X has {n_samples} rows, {name} has "
            f"{len(values)}; give one row of {name} per row of X."
        )
    mask = None if labeled is None else check_mask(labeled, len(values))
    if values.ndim == 1:
        return _single_labels(values, mask, name)
    return _multi_labels(values, mask, names, name)


def _dense_labels(y: Any, name: str) -> np.ndarray:
    if isinstance(y, np.ma.MaskedArray):
        raise InputError(f"{name} is a masked array; set its masked rows to -1 (unlabelled) with {name}.filled(-1).")
    return to_dense(y)


def _column_names(y: Any) -> np.ndarray | None:
    columns = getattr(y, "columns", None)
    if columns is None or not all(isinstance(column, str) for column in columns):
        return None
    return np.asarray(list(columns), dtype=object)


def check_mask(labeled: Any, n_samples: int) -> np.ndarray:
    """``labeled`` as a boolean array with one entry per row."""
    mask = np.asarray(labeled)
    if mask.shape != (n_samples,) or mask.dtype != np.bool_:
        raise InputError(
            f"labeled must be a boolean array of shape ({n_samples},), got shape {mask.shape} and dtype {mask.dtype}."
        )
    return mask


def check_label_rows(y: Any, *, labeled: np.ndarray | None = None, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """What may stand in 2-D labels: rows of 0/1 and rows of -1.  Returns the numbers and which rows are unlabelled.

    ``labeled`` as in `check_labels`.  There may be no labelled row: whether that is enough is for the caller to say.

    Raises
    ------
    ValueError
        Names the first bad row and the fix.
    """
    values = _dense_labels(y, name)
    if values.ndim != 2:
        raise InputError(
            f"{name} must be 2-D (n_samples, n_labels), got {values.ndim}-D; one label is a column: {name}[:, None]."
        )
    if values.shape[1] == 0:
        raise InputError(f"{name} has no columns; give one column of 0/1 per label.")
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"{name} must be a 0/1 array of shape (n_samples, n_labels), got dtype {values.dtype}; "
                "turn lists of label names into columns with MultiLabelBinarizer first."
            ) from None
    unlabelled = (values == -1).all(axis=1) if labeled is None else ~labeled
    good = ((values == 0) | (values == 1)).all(axis=1) | unlabelled
    if not good.all():
        row = int(np.argmin(good))
        _refuse_row(values[row], row, _is_plus_minus_one(values), name)
    return values, unlabelled


def _is_plus_minus_one(values: np.ndarray) -> bool:
    """Whether the labels are coded as -1 and +1: both occur, and nothing else."""
    present, absent = values == 1, values == -1
    return bool((present | absent).all() and present.any() and absent.any())


def _multi_labels(y: Any, mask: np.ndarray | None, names: np.ndarray | None, name: str) -> Labels:
    values, unlabelled = check_label_rows(y, labeled=mask, name=name)
    if values.shape[1] == 1 and _is_plus_minus_one(values):
        raise InputError(
            f"{name} holds only -1 and +1 (first at row 0), where -1 would mean unlabelled; "
            "code an absent label as 0: (y + 1) // 2."
        )
    _refuse_no_labels(~unlabelled, name)
    Y = np.where(unlabelled[:, None], 0.0, values)
    classes = [np.array([0, 1]) for _ in range(values.shape[1])]
    return Labels(Y, ~unlabelled, classes, names, single=False)


def _refuse_row(row_values: np.ndarray, row: int, coded: bool, name: str) -> None:
    if np.isnan(row_values.astype(np.float64)).any():
        raise InputError(f"{name} contains NaN in row {row}; an unlabelled row is a row of -1.")
    if coded:
        raise InputError(
            f"{name} codes labels as -1/+1 (row {row}); code an absent label as 0, for example (y + 1) // 2, "
            "and an unlabelled row as a row of -1."
        )
    if (row_values == -1).any():
        raise InputError(
            f"{name} mixes -1 with other values in row {row}; "
            "a row is unlabelled as a whole (all -1) or holds 0/1 only."
        )
    wrong = row_values[(row_values != 0) & (row_values != 1)][0]
    raise InputError(f"{name} must hold 0, 1 or rows of -1, got {wrong} in row {row}; threshold or encode it first.")


def _single_labels(values: np.ndarray, mask: np.ndarray | None, name: str) -> Labels:
    if values.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} has dtype {values.dtype}.")
    if values.dtype.kind == "f":
        kept = np.ones(len(values), dtype=bool) if mask is None else mask
        if not np.isfinite(values[kept]).all():
            row = int(np.argmin(np.isfinite(values) | ~kept))
            raise InputError(f"{name} contains NaN or infinity in row {row}; an unlabelled row is -1.")
        if (values[kept] != np.floor(values[kept])).any():
            row = int(np.argmax((values != np.floor(values)) & kept))
            raise InputError(
                f"Unknown label type: continuous, {name} is {values[row]} in row {row}; give class labels."
            )
    unlabelled = _is_minus_one(values, name) if mask is None else ~mask
    _refuse_no_labels(~unlabelled, name)
    try:
        classes, codes = np.unique(values[~unlabelled], return_inverse=True)
    except TypeError:
        raise InputError(f"{name} mixes types that cannot be ordered; use only strings or only numbers.") from None
    if mask is None and unlabelled.any() and len(classes) == 1 and classes[0] == 1:
        raise InputError(
            f"{name} holds only -1 and +1 (first -1 at row {int(np.argmax(unlabelled))}), where -1 means unlabelled; "
            "code the two classes as 0 and 1: (y + 1) // 2."
        )
    Y = np.zeros((len(values), len(classes)))
    Y[np.flatnonzero(~unlabelled), codes] = 1.0
    return Labels(Y, ~unlabelled, classes, None, single=True)


def _is_minus_one(values: np.ndarray, name: str) -> np.ndarray:
    if values.dtype.kind in "US":
        return values == ("-1" if values.dtype.kind == "U" else b"-1")
    if values.dtype.kind == "O":
        for row, value in enumerate(values):
            if value is None or value != value:
                raise InputError(f"{name} contains NaN or None in row {row}; an unlabelled row is -1.")
        return np.array([value == -1 or (isinstance(value, str) and value == "-1") for value in values], dtype=bool)
    return np.asarray(values == -1)


def _refuse_no_labels(labeled: np.ndarray, name: str) -> None:
    if not labeled.any():
        raise InputError(f"{name} has no labelled row ({len(labeled)} rows, all unlabelled); label some of them.")


# ---------------------------------------------------------------- truth and scores


def check_measured(Y: Any, scores: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the truth as bool and the scores as float64, both (n_samples, n_labels), or raise one sentence."""
    truth, values = _numbers(Y, "Y"), _numbers(scores, "scores")
    if truth.ndim != 2 or values.ndim != 2:
        raise InputError(
            f"Y and scores must be 2-D (n_samples, n_labels), got {truth.ndim}-D and {values.ndim}-D; "
            "one label is a column: Y[:, None]."
        )
    if truth.shape != values.shape:
        raise InputError(f"Y has shape {truth.shape} but scores has shape {values.shape}; they must be equal.")
    if 0 in truth.shape:
        raise InputError(f"Y has shape {truth.shape}; at least one row and one label are needed.")
    bad = (truth != 0) & (truth != 1)
    if bad.any():
        row, label = (int(i) for i in np.argwhere(bad)[0])
        value = truth[row, label]
        advice = "drop the unlabelled rows" if value == -1 else "code relevant as 1 and irrelevant as 0"
        raise InputError(f"Y must hold only 0 and 1, got {value:g} in row {row}, label {label}; {advice}.")
    missing = np.isnan(values)
    if missing.any():
        row, label = (int(i) for i in np.argwhere(missing)[0])
        raise InputError(f"scores holds NaN, first in row {row}, label {label}; every label needs a score.")
    return truth == 1, values


def _numbers(array: Any, name: str) -> np.ndarray:
    if np.ma.isMaskedArray(array):
        raise InputError(f"{name} is a masked array; pass a plain array of the rows that count.")
    try:
        given = to_dense(array)
        if given.dtype.kind == "c":
            raise TypeError("complex values")
        numbers: np.ndarray = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} could not be read as numbers ({error}); pass a 2-D array of numbers.") from None
    return numbers


def to_dense(array: Any) -> np.ndarray:
    """The array that a sparse matrix, frame or list stands for."""
    is_sparse: bool = sparse.issparse(array)
    return np.asarray(array.toarray() if is_sparse else array)
