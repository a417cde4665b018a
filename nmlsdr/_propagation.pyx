"""Kernels of the propagation solvers: sweeps over a batch of label columns.

Every function fills buffers that its caller allocated and checked.  Rows are cut into blocks of
``block`` rows; a block leaves its partial sums in its own row of ``partial`` and they are added in
block order, so an answer does not depend on the number of threads.  The loop over rounds, and with
it Ctrl-C and the callback, is propagation.py's.
"""

from cython.parallel cimport prange
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t

cdef extern from "_propagation.h" nogil:
    const int NMLSDR_MAX_WIDTH
    void gather "nmlsdr_gather"(
        const int64_t *indptr, const int32_t *indices, const double *values, Py_ssize_t i, const double *p,
        double *sum, const int width)
    void residual_block "nmlsdr_residual_block"(
        Py_ssize_t lo, Py_ssize_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
        const double *k, const double *m, const double *e, const double *f, const double *x, double *z, double *p,
        double *dot, double *peak, int width)
    void apply_block "nmlsdr_apply_block"(
        Py_ssize_t lo, Py_ssize_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
        const double *k, const double *m, const double *p, double *y, double *dot, int width)
    void reduce_block "nmlsdr_reduce_block"(
        Py_ssize_t lo, Py_ssize_t hi, const double *m, const double *e, const double *a, const double *y, double *z,
        double *dot, double *peak, int width)
    void advance_block "nmlsdr_advance_block"(
        Py_ssize_t lo, Py_ssize_t hi, const double *a, const double *b, const double *z, double *x, double *p,
        int width)
    void step_block "nmlsdr_step_block"(
        Py_ssize_t lo, Py_ssize_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
        const double *k, const double *e, const double *f, const double *x, double *y, double *peak, int width)

MAX_WIDTH = NMLSDR_MAX_WIDTH


cdef inline Py_ssize_t lesser(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return a if a < b else b


cdef void add_blocks(const double *partial, Py_ssize_t n_blocks, int width, double *total) noexcept nogil:
    cdef Py_ssize_t b
    cdef int c
    for c in range(width):
        total[c] = 0.0
    for b in range(n_blocks):
        for c in range(width):
            total[c] += partial[b * width + c]


cdef void top_blocks(const double *partial, Py_ssize_t n_blocks, int width, double *total) noexcept nogil:
    cdef Py_ssize_t b
    cdef int c
    for c in range(width):
        total[c] = 0.0
    for b in range(n_blocks):
        for c in range(width):
            if partial[b * width + c] > total[c]:
                total[c] = partial[b * width + c]


def start(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz), or empty: every stored entry is 1
    const double[::1] k,             # IN  (n) row factors, 0 = eliminated
    const double[::1] m,             # IN  (n) weights of the inner product
    const double[::1] e,             # IN  (n) scale of the residual
    const double[:, ::1] f,          # IN  (n, width) right-hand side
    const double[:, ::1] x,          # IN  (n, width) iterate
    double[:, ::1] z,                # OUT (n, width) residual f + k V x - x
    double[:, ::1] p,                # OUT (n, width) = z
    double[::1] rho,                 # OUT (width) sum m z^2
    double[::1] peak,                # OUT (width) max |e z|
    double[:, :, ::1] partial,       # scratch (2, n_blocks, width)
    Py_ssize_t block,
    int n_threads,
):
    """Residual of the iterate, and the first search direction."""
    cdef Py_ssize_t n = k.shape[0], n_blocks = partial.shape[1], b
    cdef int width = <int>x.shape[1]
    cdef const double *v = &values[0] if values.shape[0] else NULL
    cdef const int32_t *columns = &indices[0] if indices.shape[0] else NULL
    if n == 0 or width == 0:
        return
    for b in prange(n_blocks, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        residual_block(
            b * block, lesser((b + 1) * block, n), &indptr[0], columns, v, &k[0], &m[0], &e[0],
            &f[0, 0], &x[0, 0], &z[0, 0], &p[0, 0], &partial[0, b, 0], &partial[1, b, 0], width)
    add_blocks(&partial[0, 0, 0], n_blocks, width, &rho[0])
    top_blocks(&partial[1, 0, 0], n_blocks, width, &peak[0])


def cg_sweeps(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz), or empty: every stored entry is 1
    const double[::1] k,             # IN  (n) row factors, 0 = eliminated
    const double[::1] m,             # IN  (n) weights of the inner product
    const double[::1] e,             # IN  (n) scale of the residual
    double[:, ::1] x,                # IN, OUT (n, width) iterate
    double[:, ::1] z,                # IN, OUT (n, width) its residual
    double[:, ::1] p,                # IN, OUT (n, width) search direction
    double[:, ::1] y,                # scratch (n, width)
    double[::1] rho,                 # IN, OUT (width) sum m z^2
    double[::1] peak,                # IN, OUT (width) max |e z|
    double[:, :, ::1] partial,       # scratch (2, n_blocks, width)
    double[:, ::1] scalars,          # scratch (3, width)
    double tol,                      # a column with peak <= tol is left as it is
    Py_ssize_t block,
    Py_ssize_t n_sweeps,
    int n_threads,
):
    """Up to ``n_sweeps`` sweeps of conjugate gradients; the number made.

    Returns early as soon as a column converges, so that the caller can take it out.
    """
    cdef Py_ssize_t n = k.shape[0], n_blocks = partial.shape[1], b, sweep, made = 0
    cdef int width = <int>x.shape[1], c, active = 0, left
    cdef const double *v = &values[0] if values.shape[0] else NULL
    cdef const int32_t *columns = &indices[0] if indices.shape[0] else NULL
    cdef double *step
    cdef double *turn
    cdef double *fresh
    if n == 0 or width == 0:
        return 0
    step, turn, fresh = &scalars[0, 0], &scalars[1, 0], &scalars[2, 0]
    for c in range(width):
        active += peak[c] > tol
    with nogil:
        for sweep in range(n_sweeps):
            for b in prange(n_blocks, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
                apply_block(
                    b * block, lesser((b + 1) * block, n), &indptr[0], columns, v, &k[0], &m[0],
                    &p[0, 0], &y[0, 0], &partial[0, b, 0], width)
            add_blocks(&partial[0, 0, 0], n_blocks, width, fresh)
            for c in range(width):
                step[c] = rho[c] / fresh[c] if peak[c] > tol and fresh[c] > 0.0 else 0.0
                if not isfinite(step[c]):
                    step[c] = 0.0
            for b in prange(n_blocks, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
                reduce_block(
                    b * block, lesser((b + 1) * block, n), &m[0], &e[0], step, &y[0, 0], &z[0, 0],
                    &partial[0, b, 0], &partial[1, b, 0], width)
            add_blocks(&partial[0, 0, 0], n_blocks, width, fresh)
            top_blocks(&partial[1, 0, 0], n_blocks, width, &peak[0])
            left = 0
            for c in range(width):
                turn[c] = fresh[c] / rho[c] if step[c] > 0.0 else 0.0
                if not isfinite(turn[c]):
                    turn[c] = 0.0
                rho[c] = fresh[c]
                left += peak[c] > tol
            for b in prange(n_blocks, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
                advance_block(
                    b * block, lesser((b + 1) * block, n), step, turn, &z[0, 0], &x[0, 0], &p[0, 0], width)
            made = sweep + 1
            if left < active:
                break
    return made


def fixed_point_sweeps(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz), or empty: every stored entry is 1
    const double[::1] k,             # IN  (n) row factors, 0 = eliminated
    const double[::1] e,             # IN  (n) scale of the residual
    const double[:, ::1] f,          # IN  (n, width) right-hand side
    double[:, ::1] x,                # IN, OUT (n, width) iterate
    double[:, ::1] y,                # scratch (n, width)
    double[::1] peak,                # OUT (width) residual before the last sweep
    double[:, :, ::1] partial,       # scratch (2, n_blocks, width)
    double tol,
    Py_ssize_t block,
    Py_ssize_t n_sweeps,
    int n_threads,
):
    """Up to ``n_sweeps`` sweeps of eq. (4), in pairs x -> y -> x; the number made."""
    cdef Py_ssize_t n = k.shape[0], n_blocks = partial.shape[1], b, sweep, made = 0
    cdef int width = <int>x.shape[1], c, half, left
    cdef const double *v = &values[0] if values.shape[0] else NULL
    cdef const int32_t *columns = &indices[0] if indices.shape[0] else NULL
    cdef double *old
    cdef double *new
    if n == 0 or width == 0:
        return 0
    with nogil:
        for sweep in range((n_sweeps + 1) // 2):
            for half in range(2):
                old = &y[0, 0] if half else &x[0, 0]
                new = &x[0, 0] if half else &y[0, 0]
                for b in prange(n_blocks, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
                    step_block(
                        b * block, lesser((b + 1) * block, n), &indptr[0], columns, v, &k[0], &e[0],
                        &f[0, 0], old, new, &partial[1, b, 0], width)
            top_blocks(&partial[1, 0, 0], n_blocks, width, &peak[0])
            left = 0
            for c in range(width):
                left += peak[c] > tol
            made = 2 * (sweep + 1)
            if left == 0:
                break
    return made


def reach(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz), or empty: every stored entry is 1
    unsigned char[::1] reached,      # IN, OUT (n) 1 = labelled; on return 1 = in a component with a label
    int32_t[::1] queue,              # scratch (n)
):
    """Breadth-first search from the labelled rows along edges of positive weight."""
    cdef Py_ssize_t n = reached.shape[0], head = 0, tail = 0, i
    cdef int64_t t
    cdef int32_t j
    cdef bint plain = values.shape[0] == 0
    with nogil:
        for i in range(n):
            if reached[i]:
                queue[tail] = <int32_t>i
                tail += 1
        while head < tail and tail < n:
            i = queue[head]
            head += 1
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                if not reached[j] and (plain or values[t] > 0.0):
                    reached[j] = 1
                    queue[tail] = j
                    tail += 1


def multiply(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz), or empty: every stored entry is 1
    const double[::1] x,             # IN  (n)
    double[::1] out,                 # OUT (n) V x, summed in stored order
    int n_threads,
):
    """Product of the stored graph and a vector."""
    cdef Py_ssize_t n = x.shape[0], i
    cdef const double *v = &values[0] if values.shape[0] else NULL
    cdef const int32_t *columns = &indices[0] if indices.shape[0] else NULL
    if n == 0:
        return
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        gather(&indptr[0], columns, v, i, &x[0], &out[i], 1)
