"""Checks of numbers, arrays, rows, graphs and alpha (labels: labels.py; numbers of threads: _process/threads.py).

Each function returns a value that the kernels may trust, or raises one sentence that says what was wrong, what was
given and what to do.
"""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import IO, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._errors import InputError
from .cells import describe_bad_cell, name_column, refuse_lazy

# The choices of parameters, for type checkers; `check_choice` refuses others.  `_search/metrics.py` has the metrics.
Metric = Literal["euclidean", "cosine"]
PropagationSolver = Literal["auto", "cg", "lu", "fixed_point"]
EigenSolver = Literal["auto", "eigsh", "svd"]
Threshold = float | Literal["f1", "macro", "prior"] | Sequence[float] | NDArray[Any]


def contiguous(values: Any, dtype: Any = None) -> np.ndarray:
    """In C order and aligned: what came in a message may begin at any byte, and kernels read whole numbers."""
    array = np.asarray(values, dtype, order="C")
    return array if array.flags.aligned else array.copy()


def aligned(X: Any) -> Any:
    """Dense or CSR rows whose arrays are `contiguous`."""
    if not sparse.issparse(X):
        return contiguous(X)
    parts = X.data, X.indices, X.indptr
    sound = all(part.flags.aligned and part.flags.c_contiguous for part in parts)
    return X if sound else _with_parts(X, *map(contiguous, parts))


def refuse_broken(matrix: Any, name: str) -> None:
    """Refuse a CSR or CSC matrix that points outside of itself: compiled code, SciPy's too, would read and write there.

    SciPy's `check_format` looks at nothing where the last pointer is 0.
    """
    if not sparse.issparse(matrix) or matrix.format not in ("csr", "csc"):
        return
    size, bound = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    indptr = matrix.indptr
    indices = matrix.indices
    sound = len(indptr) == size + 1 and indptr[0] == 0 and bool((indptr[:-1] <= indptr[1:]).all())
    if sound and indptr[-1] > 0:
        stored = indices[: indptr[-1]]
        sound = indptr[-1] <= min(len(indices), len(matrix.data)) and stored.min() >= 0 and stored.max() < bound
    if not sound:
        rule = f"indptr must increase from 0 to the number of stored entries and indices lie from 0 to {bound - 1}"
        raise InputError(f"{name} is a broken {matrix.format.upper()} matrix: {rule}; build it again.")


def _with_parts(X: Any, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> Any:
    """X in these arrays; the constructor would choose the type of the indices."""
    changed = sparse.csr_array(X.shape, dtype=X.dtype)
    changed.data = data
    changed.indices = indices
    changed.indptr = indptr
    return changed


def check_array_header(file: IO[bytes], size: int, name: str, kinds: str) -> None:
    """Refuse an array whose header declares another size than that of its file, or a dtype that is none of `kinds`.

    NumPy alone would take whatever memory the header declares before it reads the values.
    """
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read_header(file)
    except Exception:  # NumPy passes on whatever Python's parser raises; some of its texts show a memory address
        raise InputError(f"{name} has a damaged header") from None
    if dtype.hasobject or dtype.kind not in kinds or not dtype.itemsize:
        raise InputError(f"{name} holds {dtype}, not numbers or text (a pickle is never read)")
    if min(shape, default=0) < 0 or file.tell() + math.prod(shape) * dtype.itemsize != size:
        raise InputError(f"{name} has another size than its header says")


# The square of a difference of two such numbers is finite, and so is the sum of 10^8 of them.
LARGEST_VALUE = 1e150
# Rows are checked for finiteness in pieces of this many values (.5 MiB), so that a memory map is read once, by blocks,
# and the second look at a block finds it in the cache.  A dot product would do in one, but BLAS wakes its threads.
_CHECK_VALUES = 1 << 16


def refuse_weights(estimator: Any, unknown: dict[str, Any]) -> None:
    """Refuse arguments of a fit that it does not have; for weights of rows, say what takes their place."""
    fit = f"{type(estimator).__name__}.fit()"
    if "sample_weight" in unknown:
        raise TypeError(f"{fit} takes no sample_weight; pass alpha, larger for labels that should count less.")
    if unknown:
        raise TypeError(f"{fit} got an unexpected keyword argument {next(iter(unknown))!r}")


def check_count(value: Any, name: str, *, least: int = 1) -> int:
    """An integer of at least ``least``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be an integer of at least {least}, got {value!r}.")
    return int(value)


def check_n_neighbors(value: Any, n_samples: int, *, exclude_self: bool) -> int:
    """k neighbours among n samples, of which a query that is one of them is none."""
    k = check_count(value, "n_neighbors")
    if k > n_samples - exclude_self:
        least = "more than" if exclude_self else "at least"
        raise InputError(f"n_neighbors={k} needs {least} {k} samples, got {n_samples}; lower n_neighbors.")
    return k


def asks_exact(neighbors: Any) -> bool:
    """Whether a ``neighbors`` parameter is "exact"; otherwise it is a transformer, or refused."""
    if isinstance(neighbors, str) and neighbors == "exact":
        return True
    if isinstance(neighbors, str | type) or not hasattr(neighbors, "fit_transform"):
        raise InputError(f'neighbors must be "exact" or a transformer that returns CSR distances, got {neighbors!r}.')
    return False


def check_choice(value: Any, name: str, *choices: str | int) -> Any:
    """One of a few words or numbers."""
    if not (isinstance(value, str | int) and value in choices):
        *choice_list, last = (f'"{choice}"' if isinstance(choice, str) else str(choice) for choice in choices)
        raise InputError(f"{name} must be {', '.join(choice_list)} or {last}, got {value!r}.")
    return value


def refuse_text(value: Any, name: str) -> None:
    """An error for one text where a sequence of texts is expected, whose letters would be taken one by one."""
    if isinstance(value, str):
        raise InputError(f"{name} must be a sequence of texts, got the text {value!r}; write [{value!r}].")


def check_metric(metric: Any) -> str:
    """The name of a distance."""
    return str(check_choice(metric, "metric", *get_args(Metric)))


def check_real(value: Any, name: str, low: float, high: float, *, low_open: bool = False) -> float:
    """A finite number in [low, high], or in (low, high] with ``low_open``; high may be infinite."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) else np.nan
    if not (np.isfinite(number) and low <= number <= high) or (low_open and number == low):
        interval = f"{'(' if low_open else '['}{low:g}, {high:g}{']' if np.isfinite(high) else ')'}"
        raise InputError(f"{name} must be a number in {interval}, got {value!r}.")
    return number


# ---------------------------------------------------------------- rows of features


# Types whose values are all values of float32: a search finds the same distances, in half of the memory.
_SMALL_TYPES = ("bool", "int8", "uint8", "int16", "uint16", "float16")


def _searched_type(dtype: Any, small: str) -> Any:
    """The type of checked rows of this type."""
    if dtype in (np.float32, np.float64):
        return dtype
    return np.dtype(small) if dtype.name in _SMALL_TYPES else np.float64


def check_rows(X: Any, name: str = "X", *, dtype: Any = None, small: str = "float64") -> Any:
    """Rows for the kernels: C-contiguous float32/float64, or CSR with sorted indices and no repeats.

    float32 and float64 stay what they are unless ``dtype`` asks; integers of up to 16 bits, booleans and float16 become
    ``small``, which searches set to float32; anything else becomes float64.
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
    refuse_lazy(X, name)
    X = _from_dlpack(X, name)
    rows = X if sparse.issparse(X) else np.asarray(X)
    if rows.ndim != 2:
        raise InputError(
            f"{name} must be a 2-D array of shape (n_samples, n_features), got {rows.ndim} dimension(s). "
            "Reshape your data: X.reshape(-1, 1) for one feature or X.reshape(1, -1) for one sample."
        )
    if rows.dtype.kind == "c":
        raise InputError(f"Complex data not supported: {name} has dtype {rows.dtype}; pass real numbers.")
    row_dtype = dtype or _searched_type(rows.dtype, small)
    return _check_csr(X, name, row_dtype) if sparse.issparse(X) else _check_dense(X, rows, name, row_dtype)


def _from_dlpack(X: Any, name: str) -> Any:
    """An array of another library as one of NumPy, if it has no other interface; anything else as it is."""
    if not hasattr(X, "__dlpack__") or hasattr(X, "__array__"):
        return X
    try:
        return np.from_dlpack(X)
    except (BufferError, RuntimeError) as error:
        raise InputError(f"{name} is no array that NumPy can read ({error}); copy it to the CPU first.") from None


def _check_csr(X: Any, name: str, dtype: Any) -> Any:
    """A sparse matrix as CSR with sorted indices and no repeats; finite values only."""
    refuse_broken(X, name)
    rows = sparse.csr_array(X) if X.format != "csr" else X
    rows = rows.astype(dtype, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    _check_finite(rows.data, name)
    return aligned(rows)


def _check_dense(X: Any, rows: np.ndarray, name: str, dtype: Any) -> np.ndarray:
    """The array ``rows`` of X in C order; finite numbers only."""
    try:
        if cell := describe_bad_cell(X, rows):  # NumPy would read dates as numbers of days or nanoseconds
            raise InputError(cell)
        numbers = contiguous(rows, dtype)
    except (TypeError, ValueError) as error:
        kind = InputError if isinstance(error, ValueError) else TypeError
        raise kind(f"{name} must hold numbers, but {error}; encode it by nmlsdr.tables.TableEncoder.") from None
    _check_finite(numbers, name, X)
    return numbers


def refuse_unequal_features(n: int, n_asked: int) -> None:
    if n != n_asked:
        raise InputError(f"queries has {n_asked} features, but X has {n} features; pass the same columns.")


def check_row_pair(X: Any, queries: Any) -> tuple[Any, Any]:
    """Both sets of rows in one storage and one dtype, with the same number of features.

    float32 against float64 becomes float64 and dense against sparse becomes CSR: both are exact.
    """
    return match_rows(check_rows(X, small="float32"), check_rows(queries, "queries", small="float32"))


def match_rows(rows: Any, queries: Any) -> tuple[Any, Any]:
    """`check_row_pair` of rows that are checked."""
    rows = aligned(rows)
    queries = aligned(queries)
    refuse_unequal_features(rows.shape[1], queries.shape[1])
    if sparse.issparse(rows) != sparse.issparse(queries):
        rows = sparse.csr_array(rows)
        queries = sparse.csr_array(queries)
    if rows.dtype == np.float32 and queries.dtype == np.float64:
        queries = narrowed(queries)  # a few queries from a list of Python's numbers must not cost a copy of all rows
    if rows.dtype != queries.dtype:
        rows = rows.astype(np.float64, copy=False)
        queries = queries.astype(np.float64, copy=False)
    return rows, queries


def narrowed(rows: Any) -> Any:
    """float64 rows in float32 if each of their values is one."""
    with np.errstate(over="ignore"):
        narrow = rows.astype(np.float32)
    values, float32 = (rows.data, narrow.data) if sparse.issparse(rows) else (rows, narrow)
    return narrow if np.array_equal(values, float32) else rows


def _check_finite(values: np.ndarray, name: str, table: Any = None) -> None:
    """Raise for a number that is not finite or too large; `table` is what the values were read from, for its names."""
    width = max(1, values.size // max(1, len(values)))
    step = max(1, _CHECK_VALUES // width)
    for first in range(0, len(values), step):
        block = values[first : first + step]
        low = float(block.min(initial=0.0))
        high = float(block.max(initial=0.0))
        if low >= -LARGEST_VALUE and high <= LARGEST_VALUE:  # false for NaN too
            continue
        if np.isfinite(low) and np.isfinite(high):
            raise InputError(f"{name} holds magnitudes above {LARGEST_VALUE:g}; rescale it.")
        where = ""
        if values.ndim == 2:
            row, column = np.argwhere(~np.isfinite(block))[0].tolist()
            where = f" in row {first + row}, {name_column(table, column)}"
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
        raise InputError(f"Found {formula} = {bound}: no direction can be found; give more rows or labels.")
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
    refuse_broken(W, name)
    matrix = W if sparse.issparse(W) else np.asarray(W)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or isinstance(W, np.ma.MaskedArray):
        fault = (
            "a masked array; fill its masked entries first" if isinstance(W, np.ma.MaskedArray) else type(W).__name__
        )
        raise InputError(f"{name} must be a sparse or 2-D numeric matrix, got {fault}.")
    W = sparse.csr_array(matrix).astype(np.float64, copy=False)
    _check_square(W.shape, name, n_samples)
    if not W.has_canonical_format:
        W = W.copy()
        W.sum_duplicates()
    _check_weights(W, name)
    rows = np.repeat(np.arange(len(W.indptr) - 1, dtype=W.indices.dtype), np.diff(W.indptr))
    off = rows != W.indices  # slicing keeps explicit zeros; subtracting the diagonal would drop them
    if not off.all():
        W = sparse.csr_array((W.data[off], (rows[off], W.indices[off])), shape=W.shape)
    W = _symmetric(W, name)
    if W.indices.dtype != W.indptr.dtype:  # one type for both
        W = _with_parts(W, W.data, W.indices.astype(np.int64), W.indptr.astype(np.int64))
    return aligned(W)


def _check_square(shape: tuple[int, ...], name: str, n_samples: int | None) -> None:
    if shape[0] == shape[1] and n_samples in (None, shape[0]):
        return
    expected = "square"
    advice = "give one row and one column for each sample"
    if n_samples is not None:
        expected = f"of shape ({n_samples}, {n_samples})"
        advice = "cross-validation cannot split a graph: use the parameter neighbors instead"
    raise InputError(f"{name} must be {expected}, got {shape}; {advice}.")


def _check_weights(W: sparse.csr_array, name: str) -> None:
    """Raise for weights that are not finite, or negative."""
    smallest, largest = (W.data.min(), W.data.max()) if W.nnz else (0.0, 0.0)
    if not (np.isfinite(smallest) and np.isfinite(largest)):
        raise InputError(f"{name} contains NaN or infinite weights; drop those edges.")
    if smallest < 0:
        raise InputError(f"{name} contains a negative weight ({smallest:g}); weights must be 0 or more.")


def _symmetric(W: sparse.csr_array, name: str) -> sparse.csr_array:
    mirror = sparse.csr_array(W.T)
    mirror.sort_indices()
    if all(np.array_equal(getattr(W, part), getattr(mirror, part)) for part in ("indptr", "indices", "data")):
        return W
    worst = abs(W - mirror).max()
    if worst > 1e-12 * W.data.max():
        raise InputError(f"{name} is not symmetric (|W - W'| up to {worst:g}); pass W.maximum(W.T) or (W + W.T) / 2.")
    W = sparse.csr_array(W + (mirror - W) * 0.5)  # the sum of the largest weights is infinite, half of the least one 0
    W.sort_indices()
    return W


def check_alpha(alpha: Any, n_samples: int, name: str = "alpha", *, n_labels: int | None = None) -> np.ndarray:
    """alpha_i in [0, 1) for every row, from a number or an array of shape (n_samples,); or (n_samples, n_labels)."""
    try:
        values = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers in [0, 1), got {alpha!r:.60}.") from None
    shapes: list[tuple[int, ...]] = [(n_samples,)] if n_labels is None else [(n_samples,), (n_samples, n_labels)]
    if values.shape != () and values.shape not in shapes:
        accepted = " or ".join(map(str, shapes))
        raise InputError(f"{name} must be a number or of shape {accepted}, got shape {values.shape}.")
    good = (values >= 0) & (values < 1)
    if not good.all():
        at = tuple(int(index) for index in np.argwhere(~good)[0])
        where = "".join(f"{word} {index}" for word, index in zip((" in row", ", label"), at, strict=False))
        meaning = "0 keeps given labels, and numbers near 1 follow the neighbours"
        raise InputError(f"{name} must lie in [0, 1), got {values[at]}{where}; {meaning}.")
    return contiguous(np.full(n_samples, values) if values.ndim == 0 else values)
