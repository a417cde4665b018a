"""Kernels of the link: from a ridge regression's scores to probabilities, label by label.

Every function fills buffers that `_ridge/link.py` allocated.  A thread owns a block of labels, or a block of rows.
"""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t

cdef extern from "_c/link.h" nogil:
    enum:
        NMLSDR_LINK_LANES
        NMLSDR_LINK_FACTS
        NMLSDR_LINK_SUMS
    ctypedef struct nmlsdr_link_data:
        Py_ssize_t n_rows, n_labels
        const int64_t *rows
        const double *scores
        const double *labels
        const uint8_t *known
    void link_features "nmlsdr_link_features"(
        const nmlsdr_link_data *d, Py_ssize_t first, double *facts, float *z, float *bent, int level)
    void link_sums "nmlsdr_link_sums"(
        const float *z, const float *bent, Py_ssize_t n, const double *a, const double *c, const double *b,
        double *sums, int level)
    void link_apply "nmlsdr_link_apply"(
        const double *scores, Py_ssize_t n, const double *numbers, double *p, int level)

LANES = NMLSDR_LINK_LANES
N_FACTS = NMLSDR_LINK_FACTS
N_SUMS = NMLSDR_LINK_SUMS


def features(
    const double[:, ::1] scores,          # IN  (n, C) out of fold
    const double[:, ::1] labels,          # IN  (n, C)
    const uint8_t[:, ::1] known,          # IN  (n, C) or (0, C): all
    const int64_t[::1] rows,              # IN  (m) of these, which are used
    double[:, :, ::1] facts,              # OUT (blocks, N_FACTS, LANES)
    float[:, :, ::1] z,                   # OUT (blocks, m, LANES)
    float[:, :, ::1] bent,                # OUT (blocks, m, LANES) asinh z
    int n_threads,
    int level,                            # of SIMD
):
    """What link.h calls the facts of each label, and z and asinh z; both are 0 where a label is unknown."""
    cdef Py_ssize_t b
    cdef nmlsdr_link_data data
    if rows.shape[0] == 0 or scores.shape[1] == 0:
        return
    data.n_rows, data.n_labels, data.rows = rows.shape[0], scores.shape[1], &rows[0]
    data.scores, data.labels = &scores[0, 0], &labels[0, 0]
    data.known = &known[0, 0] if known.shape[0] else NULL
    for b in prange(facts.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic",
                    use_threads_if=n_threads > 1):
        link_features(&data, NMLSDR_LINK_LANES * b, &facts[b, 0, 0], &z[b, 0, 0], &bent[b, 0, 0], level)


def sums(
    const float[:, :, ::1] z,             # IN  (blocks, m, LANES)
    const float[:, :, ::1] bent,          # IN  (blocks, m, LANES)
    const int64_t[::1] selected,         # IN  (j) blocks whose sums are computed
    const double[:, :, ::1] numbers,      # IN  (blocks, 3, LANES) a, c, b
    double[:, :, ::1] total,              # OUT (blocks, N_SUMS, LANES) of these blocks
    int n_threads,
    int level,                            # of SIMD
):
    """What link.h calls the sums of each label, over all rows."""
    cdef Py_ssize_t j, b, n = z.shape[1]
    if n == 0:
        return
    for j in prange(selected.shape[0], nogil=True, num_threads=n_threads, schedule="dynamic",
                    use_threads_if=n_threads > 1):
        b = selected[j]
        link_sums(&z[b, 0, 0], &bent[b, 0, 0], n, &numbers[b, 0, 0], &numbers[b, 1, 0], &numbers[b, 2, 0],
                  &total[b, 0, 0], level)


def apply(
    const double[:, ::1] scores,          # IN  (n, C)
    const int64_t[::1] rows,              # IN  (m) of these, which are linked
    const double[:, ::1] numbers,         # IN  (5, C) a, c, b, mean, scale
    double[:, ::1] p,                     # OUT (n, C) in these rows
    int n_threads,
    int level,                            # of SIMD
):
    """Probabilities of the scores of these rows."""
    cdef Py_ssize_t i
    if scores.shape[1] == 0:
        return
    for i in prange(rows.shape[0], nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n_threads > 1):
        link_apply(&scores[rows[i], 0], scores.shape[1], &numbers[0, 0], &p[rows[i], 0], level)
