"""Kernels of the propagation solvers.

Every function fills buffers that its caller allocated and checked.  Rows are cut into blocks of
``block`` rows; a block leaves its partial sums in its own row of ``partial`` and they are added in
block order, so an answer does not depend on the number of threads.  The loop over rounds, and with
it Ctrl-C and the callback, is that of `_solvers/conjugate_gradients.py`.
"""

from cython.parallel cimport parallel, prange
from libc.float cimport FLT_MAX
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

cdef extern from "_c/propagation.h" nogil:
    enum:
        NMLSDR_MAX_WIDTH
    ctypedef struct nmlsdr_batch:
        Py_ssize_t n, block
        const int64_t *indptr
        const int32_t *indices
        const double *values
        const float *sweep_values
        const double *h
        const float *inverse_h
        int per_entry
        const double *gain
        const double *m
        const float *k
        const double *B
        double *F
        float *x
        float *z
        float *y
        uint16_t *p
    ctypedef struct nmlsdr_columns:
        const int32_t *take
        int restart, clip
        const float *step
        const float *turn
        double *dot
        double *along
        double *peak
        float *top
    ctypedef void (*nmlsdr_loop)(const nmlsdr_batch *s, const nmlsdr_columns *columns, Py_ssize_t b) noexcept nogil
    ctypedef struct nmlsdr_loops:
        nmlsdr_loop residual, flush, apply, reduce, advance
    const nmlsdr_loops *loops_of "nmlsdr_loops_of"(int level, int width)

cdef extern from "_c/platform.h" nogil:
    int member "nmlsdr_thread"()

cdef extern from "_c/team.h" nogil:
    ctypedef struct nmlsdr_meeting:
        pass
    int members "nmlsdr_members"()
    void meet "nmlsdr_meet"(nmlsdr_meeting *meeting, int members)

MAX_WIDTH = NMLSDR_MAX_WIDTH


cdef inline float float_or_zero(double value) noexcept nogil:
    """0 for NaN and for what no float can hold, which would make every vector of the column NaN."""
    return <float>value if fabs(value) <= FLT_MAX else 0.0


ctypedef fused stored_t:
    int32_t
    float
    double


cdef inline const stored_t *first_or_null(const stored_t[::1] stored) noexcept nogil:
    return &stored[0] if stored.shape[0] else NULL


cdef void add_blocks(const double *partial, Py_ssize_t n_blocks, int width, double *total) noexcept nogil:
    cdef Py_ssize_t b
    cdef int c
    for c in range(width):
        total[c] = 0.0
    for b in range(n_blocks):
        for c in range(width):
            total[c] += partial[b * width + c]


cdef struct Sweeps:  # what the threads of `BatchKernels.sweeps` share
    nmlsdr_batch s
    const nmlsdr_loops *loops
    Py_ssize_t n_blocks, n_sweeps, made
    int width
    const double *tol
    double *rho
    double *along
    double *peak
    int64_t *counts
    double *curvatures   # partial sums of <p, y>, of <z, z> and of <p, z>: a thread may be reading those of the last
    double *norms        # pass while another writes those of the next
    double *alongs
    float *tops
    nmlsdr_meeting meeting


cdef class BatchKernels:
    """The kernels over the arrays of one batch of labels; `nmlsdr_batch` in propagation.h describes each array.

    The arrays rho, along and peak of the methods contain sum m z^2, sum m p z and max |z / h| of each column.
    """

    cdef Sweeps w
    cdef int n_threads
    cdef object arrays

    def __init__(
        self,
        const int64_t[::1] indptr,          # IN  (n + 1), n of 1 or more
        const int32_t[::1] indices,         # IN  (nnz)
        const double[::1] values,           # IN  (nnz) or empty
        const float[::1] sweep_values,      # IN  (nnz) or empty
        const double[::1] h,                # IN  (n)
        const float[::1] inverse_h,         # IN  (n) 1 / h
        const double[:, ::1] gain,          # IN  (n, 1) or (n, width)
        const double[:, ::1] m,             # IN  as gain
        const float[:, ::1] k,              # IN  as gain
        const double[:, ::1] B,             # IN  (n, width)
        double[:, ::1] F,                   # IN, OUT (n, width)
        float[:, ::1] x,                    # IN, OUT (n, width)
        float[:, ::1] z,                    # IN, OUT (n, width)
        float[:, ::1] y,                    # scratch (n, width)
        uint16_t[:, ::1] p,                 # IN, OUT (n, width)
        double[:, :, ::1] partial,          # scratch (3, n_blocks, width)
        float[:, ::1] tops,                 # scratch (n_blocks, width)
        Py_ssize_t block,
        int n_threads,
        int level,                          # of SIMD
    ):
        self.arrays = indptr, indices, values, sweep_values, h, inverse_h, gain, m, k, B, F, x, z, y, p, partial, tops
        self.n_threads = n_threads
        self.w.n_blocks, self.w.width = partial.shape[1], <int>x.shape[1]
        self.w.loops = loops_of(level, self.w.width)
        self.w.curvatures, self.w.norms, self.w.alongs = &partial[0, 0, 0], &partial[1, 0, 0], &partial[2, 0, 0]
        self.w.tops = &tops[0, 0]
        self.w.s = nmlsdr_batch(
            n=x.shape[0], block=block, indptr=&indptr[0], indices=first_or_null(indices),
            values=first_or_null(values), sweep_values=first_or_null(sweep_values),
            h=&h[0], inverse_h=&inverse_h[0], per_entry=gain.shape[1] > 1, gain=&gain[0, 0], m=&m[0, 0], k=&k[0, 0],
            B=&B[0, 0], F=&F[0, 0], x=&x[0, 0], z=&z[0, 0], y=&y[0, 0], p=&p[0, 0])

    cdef void each_block(self, nmlsdr_loop loop, const nmlsdr_columns *columns) noexcept:
        cdef const nmlsdr_batch *s = &self.w.s
        cdef Py_ssize_t b
        cdef int n_threads = self.n_threads
        for b in prange(self.w.n_blocks, nogil=True, num_threads=n_threads, schedule="static",
                        use_threads_if=n_threads > 1):
            loop(s, columns, b)

    def residual(self, const int32_t[::1] take, bint restart, double[::1] rho, double[::1] along, double[::1] peak):
        """Residual of eq. (8) in float64 from F, for the columns to take; with ``restart`` it is the direction too."""
        cdef Sweeps *w = &self.w
        cdef double sums[2][NMLSDR_MAX_WIDTH]
        cdef nmlsdr_columns columns
        cdef Py_ssize_t b
        cdef int c
        columns.take, columns.restart = &take[0], restart
        columns.dot, columns.along, columns.peak = w.curvatures, w.norms, w.alongs
        self.each_block(w.loops.residual, &columns)
        add_blocks(columns.dot, w.n_blocks, w.width, sums[0])
        add_blocks(columns.along, w.n_blocks, w.width, sums[1])
        for c in range(w.width):
            if take[c]:
                rho[c] = sums[0][c]
                along[c] = sums[1][c]
                peak[c] = 0.0
                for b in range(w.n_blocks):
                    peak[c] = max(peak[c], columns.peak[b * w.width + c])

    def flush(self, const int32_t[::1] take, bint clip):
        """F += x / h for the columns to take, clipped to [0, 1] on demand; their x is 0 then."""
        cdef nmlsdr_columns columns
        columns.take, columns.clip = &take[0], clip
        self.each_block(self.w.loops.flush, &columns)

    def sweeps(
        self,
        const double[::1] tol,              # IN  (width) a column with peak <= tol stays as it is
        Py_ssize_t n_sweeps,
        double[::1] rho,                    # IN, OUT (width)
        double[::1] along,                  # IN, OUT (width)
        double[::1] peak,                   # IN, OUT (width)
        int64_t[::1] counts,                # IN, OUT (width) sweeps of each column
    ):
        """Up to ``n_sweeps`` sweeps of conjugate gradients with K = I - diag(k) V; the number made.

        Ends early when no column is above ``tol``.  All sweeps are one parallel region.
        """
        cdef Sweeps *w = &self.w
        cdef int n_threads = self.n_threads
        w.n_sweeps = n_sweeps
        w.tol = &tol[0]
        w.rho = &rho[0]
        w.along = &along[0]
        w.peak = &peak[0]
        w.counts = &counts[0]
        w.made = 0
        memset(&w.meeting, 0, sizeof(w.meeting))
        with nogil, parallel(num_threads=n_threads, use_threads_if=n_threads > 1):
            sweep_together(w, member(), members())
        return w.made


cdef void sweep_together(Sweeps *w, int thread, int team) noexcept nogil:
    """One thread's blocks of every pass.  All threads add all partial sums, which is less work than to wait for one."""
    cdef Py_ssize_t first = w.n_blocks * thread // team, last = w.n_blocks * (thread + 1) // team, made = 0, b
    cdef int width = w.width, c, left = 0
    cdef double ratio
    cdef double total[NMLSDR_MAX_WIDTH]
    cdef double rho[NMLSDR_MAX_WIDTH]
    cdef double along[NMLSDR_MAX_WIDTH]
    cdef double peak[NMLSDR_MAX_WIDTH]
    cdef int64_t counts[NMLSDR_MAX_WIDTH]
    cdef float step[NMLSDR_MAX_WIDTH]
    cdef float turn[NMLSDR_MAX_WIDTH]
    cdef nmlsdr_columns columns
    columns.step, columns.turn, columns.along, columns.top = step, turn, w.alongs, w.tops
    for c in range(width):
        rho[c] = w.rho[c]
        along[c] = w.along[c]
        peak[c] = w.peak[c]
        counts[c] = w.counts[c]
        left += peak[c] > w.tol[c]

    while made < w.n_sweeps and left > 0:
        columns.dot = w.curvatures
        for b in range(first, last):
            w.loops.apply(&w.s, &columns, b)
        meet(&w.meeting, team)
        add_blocks(w.curvatures, w.n_blocks, width, total)
        for c in range(width):  # step 0: a column that has converged, or rounding has eaten its direction
            ratio = along[c] / total[c] if peak[c] > w.tol[c] and total[c] > 0.0 else 0.0
            step[c] = float_or_zero(ratio)
            counts[c] += peak[c] > w.tol[c]

        columns.dot = w.norms
        for b in range(first, last):
            w.loops.reduce(&w.s, &columns, b)
        meet(&w.meeting, team)
        add_blocks(w.norms, w.n_blocks, width, total)
        left = 0
        for c in range(width):
            ratio = total[c] / rho[c] if step[c] != 0.0 else 0.0
            turn[c] = float_or_zero(ratio)
            rho[c] = total[c]
            peak[c] = 0.0
        for b in range(w.n_blocks):
            for c in range(width):
                peak[c] = max(peak[c], w.tops[b * width + c])
        for c in range(width):
            left += peak[c] > w.tol[c]

        for b in range(first, last):
            w.loops.advance(&w.s, &columns, b)
        meet(&w.meeting, team)
        add_blocks(w.alongs, w.n_blocks, width, along)
        made += 1

    if thread == 0 and made > 0:
        for c in range(width):
            w.rho[c] = rho[c]
            w.along[c] = along[c]
            w.peak[c] = peak[c]
            w.counts[c] = counts[c]
        w.made = made


def eliminate(
    double[:, ::1] A,                # IN, OUT (n, n + 1 + n_labels) P, slack and B side by side; F in place of B
):
    """F = P F + B without a subtraction; slack is 1 - the row sums of P, whose diagonal is not used.

    Row q gives its part to the rows before it.  1 - P_qq is the sum of what else the row has.
    """
    cdef Py_ssize_t n = A.shape[0], width = A.shape[1], q, i, j
    cdef double pivot, share
    with nogil:
        for q in range(n - 1, -1, -1):
            pivot = A[q, n]
            for j in range(q):
                pivot += A[q, j]
            for i in range(q):
                if A[i, q] != 0.0:
                    share = A[i, q] / pivot
                    for j in range(q):
                        A[i, j] += share * A[q, j]
                    for j in range(n, width):
                        A[i, j] += share * A[q, j]
            A[q, n] = pivot
        for q in range(n):
            for i in range(q):
                if A[q, i] != 0.0:
                    for j in range(n + 1, width):
                        A[q, j] += A[q, i] * A[i, j]
            for j in range(n + 1, width):
                A[q, j] /= A[q, n]
