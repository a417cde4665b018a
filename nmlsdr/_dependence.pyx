"""Kernel of the dependence weights: one pass that assigns each row to the best of its labels.

The objective is |A|^2 for A = (W o Y)' Xc (C x D).  The gain of row i at label k is g_k = A_k x_i - w_ik |x_i|^2, where
the second term removes the row's own part of A_k.  Assigning the row to another label changes only the rows of A of its
labels: m dot products and m updates of D numbers for a row with m labels.  Each row needs A as the previous row has
left it, so the pass is sequential and has no n_threads.  In NumPy the same pass needs six calls for each row and takes
five to ten times as long (the arithmetic of a row takes half a microsecond).

Dot products are eight partial sums over j mod 8, folded as in the canonical distance: the same bits everywhere.
"""

from libc.math cimport fabs

from ._typedefs cimport real_t

cdef extern from "_c/distance.h" nogil:
    double dot "nmlsdr_dot_f64"(const double *x, const double *y, Py_ssize_t d)


def dependence_sweep(
    const real_t[:, ::1] X,               # IN  (m, D) rows, not centred
    const double[::1] mean,               # IN  (D,)
    const Py_ssize_t[::1] visited,        # IN  (v,) the rows to visit, in this order
    const Py_ssize_t[::1] place,          # IN  (v,) where they stand in X
    const Py_ssize_t[::1] indptr,         # IN  (l + 1,) row i has the labels indices[indptr[i]:indptr[i + 1]]
    const Py_ssize_t[::1] indices,        # IN  (nnz,)
    double[::1] share,                    # INOUT (nnz,) the weights of these labels
    double[:, ::1] A,                     # INOUT (C, D) weighted sums of the centred rows
    double[::1] scratch,                  # (D + the most labels of a row,)
):
    """Give each visited row to its best label; return how many rows changed their weights."""
    cdef Py_ssize_t t, i, j, changed = 0, d = X.shape[1]
    if visited.shape[0] == 0 or d == 0:
        return 0
    with nogil:
        for t in range(visited.shape[0]):
            i = visited[t]
            if indptr[i] == indptr[i + 1]:
                continue
            for j in range(d):
                scratch[j] = X[place[t], j] - mean[j]
            changed += move_row(
                &scratch[0], d, &indices[indptr[i]], indptr[i + 1] - indptr[i], &share[indptr[i]], &A[0, 0],
                &scratch[0] + d)
    return changed


cdef int move_row(
    const double *x, Py_ssize_t d, const Py_ssize_t *labels, Py_ssize_t m, double *share, double *A, double *g,
) noexcept nogil:
    cdef Py_ssize_t a, j, best = 0, current = 0
    cdef double step, largest = 0.0, square = dot(x, x, d)
    cdef double *row
    for a in range(m):
        g[a] = dot(A + labels[a] * d, x, d) - share[a] * square
        largest = max(largest, fabs(g[a]))
        if g[a] > g[best]:
            best = a
        if share[a] > share[current]:
            current = a
    # A gain below rounding is none: the row stays, or two equal labels would take turns for ever.
    if share[current] == 1.0 and g[best] - g[current] <= 1e-13 * (largest + square):
        return 0
    for a in range(m):
        step = (1.0 if a == best else 0.0) - share[a]
        share[a] = 1.0 if a == best else 0.0
        if step != 0.0:
            row = A + labels[a] * d
            for j in range(d):
                row[j] += step * x[j]
    return 1
