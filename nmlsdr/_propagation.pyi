import numpy as np
from numpy.typing import NDArray

_Float32 = NDArray[np.float32]
_Float64 = NDArray[np.float64]
_Int32 = NDArray[np.int32]
_Int64 = NDArray[np.int64]
_UInt8 = NDArray[np.uint8]
_UInt16 = NDArray[np.uint16]

MAX_WIDTH: int

def residual(
    indptr: _Int64,
    indices: _Int32,
    values: _Float64,
    gain: _Float64,
    h: _Float64,
    m: _Float64,
    gains: _Float64,
    weights: _Float32,
    B: _Float64,
    F: _Float64,
    take: _Int32,
    restart: bool,
    z: _Float32,
    p: _UInt16,
    rho: _Float64,
    along: _Float64,
    peak: _Float64,
    partial: _Float64,
    block: int,
    n_threads: int,
    level: int,
) -> None: ...
def flush(
    gain: _Float64,
    h: _Float64,
    take: _Int32,
    clip: bool,
    x: _Float32,
    F: _Float64,
    block: int,
    n_threads: int,
    level: int,
) -> None: ...
def cg_sweeps(
    indptr: _Int64,
    indices: _Int32,
    values: _Float32,
    k: _Float32,
    m: _Float64,
    ks: _Float32,
    weights: _Float32,
    e: _Float32,
    x: _Float32,
    z: _Float32,
    p: _UInt16,
    y: _Float32,
    rho: _Float64,
    along: _Float64,
    peak: _Float64,
    partial: _Float64,
    tops: _Float32,
    tol: float,
    block: int,
    n_sweeps: int,
    n_threads: int,
    level: int,
) -> int: ...
def fixed_point_sweep(
    indptr: _Int64,
    indices: _Int32,
    values: _Float64,
    gain: _Float64,
    own: _Float64,
    gains: _Float64,
    owns: _Float64,
    h: _Float64,
    Y: _Float64,
    F: _Float64,
    out: _Float64,
    tops: _Float64,
    block: int,
    n_threads: int,
) -> float: ...
def eliminate(P: _Float64, slack: _Float64, B: _Float64, first: int, last: int, n_threads: int) -> None: ...
def substitute(P: _Float64, pivot: _Float64, B: _Float64) -> None: ...
def multiply(indptr: _Int64, indices: _Int32, h: _Float64, out: _Float64, n_threads: int) -> None: ...
def reach(indptr: _Int64, indices: _Int32, values: _Float64, reached: _UInt8, queue: _Int32) -> None: ...
def breadth_first(indptr: _Int64, indices: _Int32, order: _Int32, place: _Int32) -> None: ...
def arrange(
    indptr: _Int64,
    indices: _Int32,
    values: _Float64,
    sweep_values: _Float32,
    order: _Int32,
    place: _Int32,
    new_indptr: _Int64,
    new_indices: _Int32,
    new_values: _Float64,
    new_sweep_values: _Float32,
    n_threads: int,
) -> None: ...
def load_columns(
    values: _Float64, factor: _Float64, order: _Int32, columns: _Int32, out: _Float64, n_threads: int
) -> None: ...
def store_columns(
    values: _Float64, take: _Int32, order: _Int32, columns: _Int32, out: _Float64, n_threads: int
) -> None: ...
