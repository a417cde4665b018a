"""Kernels of the propagation solvers.

Every function fills buffers that its caller allocated and checked.  Rows are cut into blocks of
``block`` rows; a block leaves its partial sums in its own row of ``partial`` and they are added in
block order, so an answer does not depend on the number of threads.  The loop over rounds, and with
it Ctrl-C and the callback, is _solvers.py's, and so are the letters.

Every row has (and with an alpha per entry, every row of every label): gain, what multiplies the sum over
neighbours in eq. (4), 0 for an eliminated row; own, what multiplies Y; h, the scale from F to the sweep's
variable (x = h F); m, its weight in the inner product of the sweep.
"""

from cython.parallel cimport parallel, prange
from libc.float cimport FLT_MAX
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint16_t
from libc.string cimport memset

from ._typedefs cimport real_t

cdef extern from "_c/propagation.h" nogil:
    enum:
        NMLSDR_MAX_WIDTH
    ctypedef struct nmlsdr_loops:
        void (*residual)(
            Py_ssize_t lo, Py_ssize_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
            int64_t n_stored, const double *gain, const double *h, const double *m, const double *gains,
            const float *weights, const double *B, const double *F, const int32_t *take, int restart,
            float *z, uint16_t *p, double *dot, double *along, double *peak) noexcept nogil
        void (*flush)(
            Py_ssize_t lo, Py_ssize_t hi, const double *gain, const double *h, const int32_t *take, int clip,
            float *x, double *F) noexcept nogil
        void (*apply)(
            Py_ssize_t lo, Py_ssize_t hi, const int64_t *indptr, const int32_t *indices, const float *values,
            int64_t n_stored, const float *k, const double *m, const float *ks, const float *weights,
            const uint16_t *p, float *y, double *dot) noexcept nogil
        void (*reduce)(
            Py_ssize_t lo, Py_ssize_t hi, const double *m, const float *weights, const float *e, const float *a,
            const float *y, float *z, double *dot, float *peak) noexcept nogil
        void (*advance)(
            Py_ssize_t lo, Py_ssize_t hi, const double *m, const float *weights, const float *a, const float *b,
            const float *z, float *x, uint16_t *p, double *along) noexcept nogil
    const nmlsdr_loops *loops_of "nmlsdr_loops_of"(int level, int width)
    void gather "nmlsdr_gather"(
        const int64_t *indptr, const int32_t *indices, const double *values, const double *h, Py_ssize_t i,
        const double *F, Py_ssize_t n_labels, int count, double *sum)
    void prefetch "PREFETCH"(const void *address)
    enum:
        AHEAD

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


cdef void top_blocks(const real_t *partial, Py_ssize_t n_blocks, int width, double *total) noexcept nogil:
    cdef Py_ssize_t b
    cdef int c
    for c in range(width):
        total[c] = 0.0
    for b in range(n_blocks):
        for c in range(width):
            if partial[b * width + c] > total[c]:
                total[c] = partial[b * width + c]


cdef inline const double *values_or_null(const double[::1] values) noexcept nogil:
    return &values[0] if values.shape[0] else NULL


cdef inline const int32_t *indices_or_null(const int32_t[::1] indices) noexcept nogil:
    return &indices[0] if indices.shape[0] else NULL


def residual(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz) W~, or empty: v_ij = h_j
    const double[::1] gain,          # IN  (n)
    const double[::1] h,             # IN  (n)
    const double[::1] m,             # IN  (n)
    const double[:, ::1] gains,      # IN  (n, width) alpha per entry: instead of gain; or empty
    const float[:, ::1] weights,     # IN  (n, width) instead of m; or empty
    const double[:, ::1] B,          # IN  (n, width) (I - A) Y
    const double[:, ::1] F,          # IN  (n, width)
    const int32_t[::1] take,         # IN  (width) 1 = answer this column
    bint restart,                    # also set p = z, rounded to its 16 bits
    float[:, ::1] z,                 # OUT (n, width) h (B - (I - A T) F)
    uint16_t[:, ::1] p,              # IN, OUT (n, width) search direction, as bfloat16
    double[::1] rho,                 # OUT (width) sum m z^2
    double[::1] along,               # OUT (width) sum m p z
    double[::1] peak,                # OUT (width) max |B - (I - A T) F|
    double[:, :, ::1] partial,       # scratch (3, n_blocks, width)
    Py_ssize_t block,
    int n_threads,
    int level,                       # of SIMD
):
    """Residual of eq. (8) in float64 from F, for the columns to take; the others stay as they are."""
    cdef Py_ssize_t n = gain.shape[0], n_blocks = partial.shape[1], b
    cdef int width = <int>z.shape[1], c
    cdef const nmlsdr_loops *loops = loops_of(level, width)
    cdef const double *v = values_or_null(values)
    cdef const int32_t *neighbors = indices_or_null(indices)
    cdef double total[NMLSDR_MAX_WIDTH]
    cdef double with_p[NMLSDR_MAX_WIDTH]
    cdef double top[NMLSDR_MAX_WIDTH]
    if n == 0:
        return
    for b in prange(n_blocks, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        loops.residual(
            b * block, lesser((b + 1) * block, n), &indptr[0], neighbors, v, indices.shape[0], &gain[0], &h[0], &m[0],
            &gains[0, 0] if gains.shape[0] else NULL, &weights[0, 0] if weights.shape[0] else NULL,
            &B[0, 0], &F[0, 0], &take[0], restart, &z[0, 0], &p[0, 0], &partial[0, b, 0], &partial[1, b, 0],
            &partial[2, b, 0])
    add_blocks(&partial[0, 0, 0], n_blocks, width, total)
    add_blocks(&partial[1, 0, 0], n_blocks, width, with_p)
    top_blocks[double](&partial[2, 0, 0], n_blocks, width, top)
    for c in range(width):
        if take[c]:
            rho[c] = total[c]
            along[c] = with_p[c]
            peak[c] = top[c]


def flush(
    const double[::1] gain,          # IN  (n)
    const double[::1] h,             # IN  (n)
    const int32_t[::1] take,         # IN  (width)
    bint clip,                       # to [0, 1]
    float[:, ::1] x,                 # IN, OUT (n, width) what the sweeps gathered; 0 on return
    double[:, ::1] F,                # IN, OUT (n, width)
    Py_ssize_t block,
    int n_threads,
    int level,                       # of SIMD
):
    """F += x / h for the columns to take; eliminated rows stay."""
    cdef Py_ssize_t n = gain.shape[0], n_blocks = (n + block - 1) // block, b
    cdef const nmlsdr_loops *loops = loops_of(level, <int>x.shape[1])
    for b in prange(n_blocks, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        loops.flush(b * block, lesser((b + 1) * block, n), &gain[0], &h[0], &take[0], clip, &x[0, 0], &F[0, 0])


def cg_sweeps(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const float[::1] values,         # IN  (nnz) V, or empty: every stored entry is 1
    const float[::1] k,              # IN  (n) 0 = eliminated
    const double[::1] m,             # IN  (n)
    const float[:, ::1] ks,          # IN  (n, width) alpha per entry: instead of k, where that is not 0; or empty
    const float[:, ::1] weights,     # IN  (n, width) instead of m; or empty
    const float[::1] e,              # IN  (n) 1 / h
    float[:, ::1] x,                 # IN, OUT (n, width) change of the iterate since the last flush
    float[:, ::1] z,                 # IN, OUT (n, width) its residual
    uint16_t[:, ::1] p,              # IN, OUT (n, width) search direction, as bfloat16
    float[:, ::1] y,                 # scratch (n, width) K p
    double[::1] rho,                 # IN, OUT (width) sum m z^2
    double[::1] along,               # IN, OUT (width) sum m p z
    double[::1] peak,                # IN, OUT (width) max |e z|
    double[:, :, ::1] partial,       # scratch (3, n_blocks, width)
    float[:, ::1] tops,              # scratch (n_blocks, width)
    double tol,                      # a column with peak <= tol is left as it is
    Py_ssize_t block,
    Py_ssize_t n_sweeps,
    int n_threads,
    int level,                       # of SIMD
):
    """Up to ``n_sweeps`` sweeps of conjugate gradients with K = I - diag(k) V; the number made.

    Ends early when no column is above ``tol``.  All sweeps are one parallel region.
    """
    cdef Sweeps s
    if k.shape[0] == 0:
        return 0
    s.loops = loops_of(level, <int>x.shape[1])
    s.n = k.shape[0]
    s.block = block
    s.n_blocks = partial.shape[1]
    s.width = <int>x.shape[1]
    s.n_sweeps = n_sweeps
    s.tol = tol
    s.indptr = &indptr[0]
    s.indices = indices_or_null(indices)
    s.n_stored = indices.shape[0]
    s.values = &values[0] if values.shape[0] else NULL
    s.k = &k[0]
    s.m = &m[0]
    s.ks = &ks[0, 0] if ks.shape[0] else NULL
    s.weights = &weights[0, 0] if weights.shape[0] else NULL
    s.e = &e[0]
    s.x = &x[0, 0]
    s.z = &z[0, 0]
    s.p = &p[0, 0]
    s.y = &y[0, 0]
    s.rho = &rho[0]
    s.along = &along[0]
    s.peak = &peak[0]
    s.curvatures = &partial[0, 0, 0]
    s.norms = &partial[1, 0, 0]
    s.alongs = &partial[2, 0, 0]
    s.tops = &tops[0, 0]
    s.made = 0
    memset(&s.meeting, 0, sizeof(s.meeting))
    with nogil, parallel(num_threads=n_threads, use_threads_if=n_threads > 1):
        sweep_together(&s, member(), members())
    return s.made


cdef struct Sweeps:  # the arguments of `cg_sweeps`, for every thread
    const nmlsdr_loops *loops
    Py_ssize_t n, block, n_blocks, n_sweeps, made
    int width
    double tol
    const int64_t *indptr
    const int32_t *indices
    int64_t n_stored
    const float *values
    const float *k
    const double *m
    const float *ks
    const float *weights
    const float *e
    float *x
    float *z
    uint16_t *p
    float *y
    double *rho
    double *along
    double *peak
    double *curvatures   # partial sums of <p, y>, of <z, z> and of <p, z>: a thread may be reading those of the last
    double *norms        # pass while another writes those of the next
    double *alongs
    float *tops
    nmlsdr_meeting meeting


cdef void sweep_together(Sweeps *s, int thread, int team) noexcept nogil:
    """One thread's blocks of every pass.  All threads add all partial sums, which is less work than to wait for one."""
    cdef Py_ssize_t first = s.n_blocks * thread // team, last = s.n_blocks * (thread + 1) // team, made = 0, b
    cdef int width = s.width, c, left = 0
    cdef double ratio
    cdef double total[NMLSDR_MAX_WIDTH]
    cdef double rho[NMLSDR_MAX_WIDTH]
    cdef double along[NMLSDR_MAX_WIDTH]
    cdef double peak[NMLSDR_MAX_WIDTH]
    cdef float step[NMLSDR_MAX_WIDTH]
    cdef float turn[NMLSDR_MAX_WIDTH]
    for c in range(width):
        rho[c] = s.rho[c]
        along[c] = s.along[c]
        peak[c] = s.peak[c]
        left += peak[c] > s.tol
    while made < s.n_sweeps and left > 0:
        for b in range(first, last):
            s.loops.apply(
                b * s.block, lesser((b + 1) * s.block, s.n), s.indptr, s.indices, s.values, s.n_stored, s.k, s.m,
                s.ks, s.weights, s.p, s.y, s.curvatures + b * width)
        meet(&s.meeting, team)
        add_blocks(s.curvatures, s.n_blocks, width, total)
        for c in range(width):  # step 0: a column that has converged, or rounding has eaten its direction
            ratio = along[c] / total[c] if peak[c] > s.tol and total[c] > 0.0 else 0.0
            step[c] = float_or_zero(ratio)
        for b in range(first, last):
            s.loops.reduce(
                b * s.block, lesser((b + 1) * s.block, s.n), s.m, s.weights, s.e, step, s.y, s.z,
                s.norms + b * width, s.tops + b * width)
        meet(&s.meeting, team)
        add_blocks(s.norms, s.n_blocks, width, total)
        top_blocks[float](s.tops, s.n_blocks, width, peak)
        left = 0
        for c in range(width):
            ratio = total[c] / rho[c] if step[c] != 0.0 else 0.0
            turn[c] = float_or_zero(ratio)
            rho[c] = total[c]
            left += peak[c] > s.tol
        for b in range(first, last):
            s.loops.advance(
                b * s.block, lesser((b + 1) * s.block, s.n), s.m, s.weights, step, turn, s.z, s.x, s.p,
                s.alongs + b * width)
        meet(&s.meeting, team)
        add_blocks(s.alongs, s.n_blocks, width, along)
        made += 1
    if thread == 0 and made > 0:
        for c in range(width):
            s.rho[c] = rho[c]
            s.along[c] = along[c]
            s.peak[c] = peak[c]
        s.made = made


cdef void step_rows(
    Py_ssize_t lo, Py_ssize_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
    const double *gain, const double *own, const double *gains, const double *owns, const double *h, const double *Y,
    const double *F, Py_ssize_t n_labels, double *out, double *peak,
) noexcept nogil:
    cdef Py_ssize_t i, first, at
    cdef int c, count
    cdef double a, b
    cdef double total[NMLSDR_MAX_WIDTH]
    peak[0] = 0.0
    for i in range(lo, hi):
        first = 0
        while first < n_labels:
            count = <int>lesser(NMLSDR_MAX_WIDTH, n_labels - first)
            at = i * n_labels + first
            first += count
            if gain[i] == 0.0:
                for c in range(count):
                    out[at + c] = F[at + c]
                continue
            gather(indptr, indices, values, h, i, F + (first - count), n_labels, count, total)
            for c in range(count):
                a = gain[i] if gains == NULL else gains[at + c]
                b = own[i] if owns == NULL else owns[at + c]
                out[at + c] = b * Y[at + c] + a * total[c]
                if fabs(out[at + c] - F[at + c]) > peak[0]:
                    peak[0] = fabs(out[at + c] - F[at + c])


def fixed_point_sweep(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz) W~, or empty: v_ij = h_j
    const double[::1] gain,          # IN  (n)
    const double[::1] own,           # IN  (n)
    const double[:, ::1] gains,      # IN  (n, n_labels) alpha per entry: instead of gain; or empty
    const double[:, ::1] owns,       # IN  (n, n_labels) instead of own; or empty
    const double[::1] h,             # IN  (n)
    const double[:, ::1] Y,          # IN  (n, n_labels)
    const double[:, ::1] F,          # IN  (n, n_labels)
    double[:, ::1] out,              # OUT (n, n_labels) A T F + (I - A) Y
    double[:, ::1] tops,             # scratch (n_blocks, 1)
    Py_ssize_t block,
    int n_threads,
):
    """One sweep of eq. (4); the residual max |out - F| of F."""
    cdef Py_ssize_t n = gain.shape[0], n_blocks = tops.shape[0], n_labels = F.shape[1], b
    cdef const double *v = values_or_null(values)
    cdef const int32_t *neighbors = indices_or_null(indices)
    cdef double top = 0.0
    if n == 0 or n_labels == 0:
        return 0.0
    for b in prange(n_blocks, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        step_rows(
            b * block, lesser((b + 1) * block, n), &indptr[0], neighbors, v, &gain[0], &own[0],
            &gains[0, 0] if gains.shape[0] else NULL, &owns[0, 0] if owns.shape[0] else NULL,
            &h[0], &Y[0, 0], &F[0, 0], n_labels, &out[0, 0], &tops[b, 0])
    top_blocks[double](&tops[0, 0], n_blocks, 1, &top)
    return top


def eliminate(
    double[:, ::1] P,                # IN, OUT (n, n) A T among the rows that are sought; the diagonal is not used
    double[::1] slack,               # IN, OUT (n) 1 - the row's sum of P, known without a subtraction; then the pivot
    double[:, ::1] B,                # IN, OUT (n, n_labels) what a row has from elsewhere
    Py_ssize_t first,                # rows first - 1, first - 2, ..., last go
    Py_ssize_t last,
    int n_threads,
):
    """Take rows out of F = P F + B: the right-hand side of F_q goes into the rows before q.

    1 - P_qq is the sum of what else the row has, so nothing is subtracted anywhere and every entry keeps its
    relative accuracy (Grassmann, Taksar and Heyman 1985; Alfa, Xue and Ye 2002).
    """
    cdef Py_ssize_t n_labels = B.shape[1], q, i, j
    cdef double pivot, rest
    cdef double *own
    if P.shape[0] == 0:
        return
    own = &B[0, 0] if n_labels else NULL  # without labels there is no entry to point to
    for q in range(first - 1, last - 1, -1):
        rest = slack[q]
        pivot = rest
        for j in range(q):
            pivot += P[q, j]
        slack[q] = pivot
        for i in prange(q, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
            take_out(
                &P[i, 0], &P[q, 0], q, P[i, q] / pivot, rest, &slack[i], own + i * n_labels, own + q * n_labels,
                n_labels)


cdef inline void take_out(
    double *row, const double *gone, Py_ssize_t q, double share, double rest, double *slack, double *own,
    const double *gone_own, Py_ssize_t n_labels,
) noexcept nogil:
    cdef Py_ssize_t j
    if share == 0.0:
        return
    for j in range(q):
        row[j] += share * gone[j]
    slack[0] += share * rest
    for j in range(n_labels):
        own[j] += share * gone_own[j]


def substitute(
    const double[:, ::1] P,          # IN  (n, n) as `eliminate` left it
    const double[::1] pivot,         # IN  (n)
    double[:, ::1] B,                # IN, OUT (n, n_labels) F on return
):
    """F_q = (sum_{j < q} P_qj F_j + B_q) / pivot_q, row after row."""
    cdef Py_ssize_t n = P.shape[0], n_labels = B.shape[1], q, j, c
    with nogil:
        for q in range(n):
            for j in range(q):
                if P[q, j] != 0.0:
                    for c in range(n_labels):
                        B[q, c] += P[q, j] * B[j, c]
            for c in range(n_labels):
                B[q, c] /= pivot[q]


def multiply(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] h,             # IN  (n)
    double[::1] out,                 # OUT (n) sum of h over the neighbours, in stored order
    int n_threads,
):
    """Product of a binary graph and a vector."""
    cdef Py_ssize_t n = h.shape[0], i
    cdef const int32_t *neighbors = indices_or_null(indices)
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        sum_row(&indptr[0], neighbors, &h[0], i, &out[i])


cdef inline void sum_row(
    const int64_t *indptr, const int32_t *indices, const double *h, Py_ssize_t i, double *out,
) noexcept nogil:
    cdef int64_t t
    cdef double total = 0.0
    for t in range(indptr[i], indptr[i + 1]):
        total += h[indices[t]]
    out[0] = total


def reach(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz), or empty: every stored entry is positive
    unsigned char[::1] reached,      # IN, OUT (n) 1 = labelled; on return 1 = in a component with a label
    int32_t[::1] queue,              # scratch (n)
):
    """Breadth-first search from the labelled rows along edges of positive weight."""
    cdef Py_ssize_t n = reached.shape[0], head = 0, tail = 0, i
    cdef const int32_t *neighbors = indices_or_null(indices)
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
            if head + AHEAD < tail:
                prefetch(neighbors + indptr[queue[head + AHEAD]])
            for t in range(indptr[i], indptr[i + 1]):
                j = indices[t]
                if not reached[j] and (plain or values[t] > 0.0):
                    reached[j] = 1
                    queue[tail] = j
                    tail += 1


def breadth_first(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    int32_t[::1] order,              # OUT (n) rows in the order in which they are met
    int32_t[::1] place,              # OUT (n) order[place[i]] = i
):
    """Breadth-first search from the first row, and from the first row not met where a component ends."""
    cdef Py_ssize_t n = order.shape[0], head = 0, tail = 0, first, i
    cdef const int32_t *neighbors = indices_or_null(indices)
    cdef int64_t t
    cdef int32_t j
    with nogil:
        for i in range(n):
            place[i] = -1
        for first in range(n):
            if place[first] < 0:
                place[first] = <int32_t>tail
                order[tail] = <int32_t>first
                tail += 1
            while head < tail:
                i = order[head]
                head += 1
                if head + AHEAD < tail:
                    prefetch(neighbors + indptr[order[head + AHEAD]])
                for t in range(indptr[i], indptr[i + 1]):
                    j = indices[t]
                    if place[j] < 0:
                        place[j] = <int32_t>tail
                        order[tail] = j
                        tail += 1


def arrange(
    const int64_t[::1] indptr,       # IN  (n + 1)
    const int32_t[::1] indices,      # IN  (nnz)
    const double[::1] values,        # IN  (nnz) or empty
    const float[::1] sweep_values,   # IN  (nnz) or empty
    const int32_t[::1] order,        # IN  (n) row i of the new graph is row order[i] of the old one
    const int32_t[::1] place,        # IN  (n) its inverse
    const int64_t[::1] new_indptr,   # IN  (n + 1)
    int32_t[::1] new_indices,        # OUT (nnz)
    double[::1] new_values,          # OUT as values
    float[::1] new_sweep_values,     # OUT as sweep_values
    int n_threads,
):
    """Rows of a graph in another order; within a row the order of the entries, and so of its sums, stays."""
    cdef Py_ssize_t n = order.shape[0], i
    cdef int64_t t, shift
    cdef bint has_values = values.shape[0] > 0, has_sweep_values = sweep_values.shape[0] > 0
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        shift = indptr[order[i]] - new_indptr[i]
        if i + AHEAD < n and indices.shape[0] > 0:
            prefetch(&indices[0] + indptr[order[i + AHEAD]])
        for t in range(new_indptr[i], new_indptr[i + 1]):
            new_indices[t] = place[indices[t + shift]]
            if has_values:
                new_values[t] = values[t + shift]
            if has_sweep_values:
                new_sweep_values[t] = sweep_values[t + shift]


def load_columns(
    const double[:, ::1] values,     # IN  (n, n_labels)
    const double[::1] factor,        # IN  (n) of the rows of out; or empty: 1
    const int32_t[::1] order,        # IN  (n) row i of out is row order[i] of values; or empty: row i
    const int32_t[::1] columns,      # IN  (count) column c of out is column columns[c] of values
    double[:, ::1] out,              # OUT (n, width) 0 from column count on
    int n_threads,
):
    """Some columns of an array, scaled, in the order of the sweeps."""
    cdef Py_ssize_t n = out.shape[0], n_labels = values.shape[1], i
    cdef int count = <int>columns.shape[0], width = <int>out.shape[1]
    cdef const double *scale = &factor[0] if factor.shape[0] else NULL
    cdef const int32_t *rows = &order[0] if order.shape[0] else NULL
    if n == 0 or count == 0:
        return
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        if rows != NULL and i + AHEAD < n:
            prefetch_row(&values[0, 0] + rows[i + AHEAD] * n_labels + columns[0], count)
        load_row(
            &values[0, 0] + (rows[i] if rows != NULL else i) * n_labels, scale[i] if scale != NULL else 1.0,
            &columns[0], count, width, &out[i, 0])


cdef inline void prefetch_row(const double *values, int count) noexcept nogil:
    cdef int c
    for c in range(0, count, 8):
        prefetch(values + c)


cdef inline void load_row(
    const double *values, double scale, const int32_t *columns, int count, int width, double *out,
) noexcept nogil:
    cdef int c
    for c in range(count):
        out[c] = scale * values[columns[c]]
    for c in range(count, width):
        out[c] = 0.0


def store_columns(
    const double[:, ::1] values,     # IN  (n, width)
    const int32_t[::1] take,         # IN  (count) columns of values
    const int32_t[::1] order,        # IN  (n) row i of values is row order[i] of out; or empty: row i
    const int32_t[::1] columns,      # IN  (count) where they go
    double[:, ::1] out,              # OUT (n, n_labels)
    int n_threads,
):
    """The way back from `load_columns`."""
    cdef Py_ssize_t n = values.shape[0], n_labels = out.shape[1], i
    cdef int count = <int>columns.shape[0]
    cdef const int32_t *rows = &order[0] if order.shape[0] else NULL
    if n == 0 or count == 0:
        return
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        if rows != NULL and i + AHEAD < n:
            prefetch_row(&out[0, 0] + rows[i + AHEAD] * n_labels + columns[0], count)
        store_row(
            &values[i, 0], &take[0], &columns[0], count,
            &out[0, 0] + (rows[i] if rows != NULL else i) * n_labels)


cdef inline void store_row(
    const double *values, const int32_t *take, const int32_t *columns, int count, double *out,
) noexcept nogil:
    cdef int c
    for c in range(count):
        out[columns[c]] = values[take[c]]
