/* Leaf loops of the propagation solvers: one block of rows, all columns of a batch.
 *
 * A batch is a row-major (n, width) array, so one gather of a neighbour's row serves every column
 * and the loops over columns become SIMD.  The width is a compile-time constant in each copy of the
 * loops (1, 2, 4, 8, 16).  A column's arithmetic does not depend on the other columns, so neither
 * the width nor the instruction set nor the number of threads can change a bit of the answer
 * (-ffp-contract=off: multiply and add stay two roundings).
 *
 * Letters (see propagation.py): the operator is K = I - diag(k) V with V the stored graph; k = 0
 * marks an eliminated row; m = 1 / k is the weight of the inner product in which K is self-adjoint;
 * e is the scale between the iteration's residual and that of eq. (8).
 */
#ifndef NMLSDR_PROPAGATION_H
#define NMLSDR_PROPAGATION_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER)
#define NMLSDR_INLINE static __forceinline
#else
#define NMLSDR_INLINE static inline __attribute__((always_inline))
#endif

#define NMLSDR_MAX_WIDTH 16

/* sum_j v_ij p_j over the stored entries of row i, in stored order; values == NULL: all ones */
NMLSDR_INLINE void nmlsdr_gather(
    const int64_t *indptr, const int32_t *indices, const double *values, ptrdiff_t i, const double *p,
    double *sum, const int width)
{
    for (int c = 0; c < width; c++) sum[c] = 0.0;
    if (values == NULL) {
        for (int64_t t = indptr[i]; t < indptr[i + 1]; t++) {
            const double *row = p + (ptrdiff_t)indices[t] * width;
            for (int c = 0; c < width; c++) sum[c] += row[c];
        }
    } else {
        for (int64_t t = indptr[i]; t < indptr[i + 1]; t++) {
            const double *row = p + (ptrdiff_t)indices[t] * width, v = values[t];
            for (int c = 0; c < width; c++) sum[c] += v * row[c];
        }
    }
}

/* z = (f + k V x) - x; p = z; dot = sum m z^2; peak = max |e z| */
NMLSDR_INLINE void nmlsdr_residual_loop(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
    const double *k, const double *m, const double *e, const double *f, const double *x, double *z, double *p,
    double *dot, double *peak, const int width)
{
    double sum[NMLSDR_MAX_WIDTH], d[NMLSDR_MAX_WIDTH], top[NMLSDR_MAX_WIDTH];
    for (int c = 0; c < width; c++) d[c] = top[c] = 0.0;
    for (ptrdiff_t i = lo; i < hi; i++) {
        double *zi = z + i * width, *pi = p + i * width;
        const double *fi = f + i * width, *xi = x + i * width;
        if (k[i] == 0.0) {
            for (int c = 0; c < width; c++) zi[c] = pi[c] = 0.0;
            continue;
        }
        nmlsdr_gather(indptr, indices, values, i, x, sum, width);
        for (int c = 0; c < width; c++) {
            const double r = (fi[c] + k[i] * sum[c]) - xi[c], size = fabs(e[i] * r);
            zi[c] = pi[c] = r;
            d[c] += (m[i] * r) * r; /* m may be 1e200 where r^2 is 0 */
            top[c] = size > top[c] ? size : top[c];
        }
    }
    for (int c = 0; c < width; c++) { dot[c] = d[c]; peak[c] = top[c]; }
}

/* y = p - k V p; dot = sum m p y */
NMLSDR_INLINE void nmlsdr_apply_loop(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
    const double *k, const double *m, const double *p, double *y, double *dot, const int width)
{
    double sum[NMLSDR_MAX_WIDTH], d[NMLSDR_MAX_WIDTH];
    for (int c = 0; c < width; c++) d[c] = 0.0;
    for (ptrdiff_t i = lo; i < hi; i++) {
        double *yi = y + i * width;
        const double *pi = p + i * width;
        if (k[i] == 0.0) {
            for (int c = 0; c < width; c++) yi[c] = 0.0;
            continue;
        }
        nmlsdr_gather(indptr, indices, values, i, p, sum, width);
        for (int c = 0; c < width; c++) {
            yi[c] = pi[c] - k[i] * sum[c];
            d[c] += (m[i] * pi[c]) * yi[c];
        }
    }
    for (int c = 0; c < width; c++) dot[c] = d[c];
}

/* z -= a y; dot = sum m z^2; peak = max |e z| */
NMLSDR_INLINE void nmlsdr_reduce_loop(
    ptrdiff_t lo, ptrdiff_t hi, const double *m, const double *e, const double *a, const double *y, double *z,
    double *dot, double *peak, const int width)
{
    double d[NMLSDR_MAX_WIDTH], top[NMLSDR_MAX_WIDTH];
    for (int c = 0; c < width; c++) d[c] = top[c] = 0.0;
    for (ptrdiff_t i = lo; i < hi; i++) {
        double *zi = z + i * width;
        const double *yi = y + i * width;
        for (int c = 0; c < width; c++) {
            const double r = zi[c] - a[c] * yi[c], size = fabs(e[i] * r);
            zi[c] = r;
            d[c] += (m[i] * r) * r;
            top[c] = size > top[c] ? size : top[c];
        }
    }
    for (int c = 0; c < width; c++) { dot[c] = d[c]; peak[c] = top[c]; }
}

/* x += a p; p = z + b p */
NMLSDR_INLINE void nmlsdr_advance_loop(
    ptrdiff_t lo, ptrdiff_t hi, const double *a, const double *b, const double *z, double *x, double *p,
    const int width)
{
    for (ptrdiff_t i = lo; i < hi; i++) {
        double *xi = x + i * width, *pi = p + i * width;
        const double *zi = z + i * width;
        for (int c = 0; c < width; c++) {
            xi[c] = xi[c] + a[c] * pi[c];
            pi[c] = zi[c] + b[c] * pi[c];
        }
    }
}

/* y = f + k V x on rows with k != 0, y = x elsewhere; peak = max |e (y - x)|: eq. (4) */
NMLSDR_INLINE void nmlsdr_step_loop(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
    const double *k, const double *e, const double *f, const double *x, double *y, double *peak, const int width)
{
    double sum[NMLSDR_MAX_WIDTH], top[NMLSDR_MAX_WIDTH];
    for (int c = 0; c < width; c++) top[c] = 0.0;
    for (ptrdiff_t i = lo; i < hi; i++) {
        double *yi = y + i * width;
        const double *fi = f + i * width, *xi = x + i * width;
        if (k[i] == 0.0) {
            for (int c = 0; c < width; c++) yi[c] = xi[c];
            continue;
        }
        nmlsdr_gather(indptr, indices, values, i, x, sum, width);
        for (int c = 0; c < width; c++) {
            const double next = fi[c] + k[i] * sum[c], size = fabs(e[i] * (next - xi[c]));
            yi[c] = next;
            top[c] = size > top[c] ? size : top[c];
        }
    }
    for (int c = 0; c < width; c++) peak[c] = top[c];
}

#define NMLSDR_BY_WIDTH(CALL) \
    switch (width) { \
    case 1: CALL(1); break; \
    case 2: CALL(2); break; \
    case 4: CALL(4); break; \
    case 8: CALL(8); break; \
    default: CALL(16); break; \
    }

static void nmlsdr_residual_block(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
    const double *k, const double *m, const double *e, const double *f, const double *x, double *z, double *p,
    double *dot, double *peak, int width)
{
#define CALL(W) nmlsdr_residual_loop(lo, hi, indptr, indices, values, k, m, e, f, x, z, p, dot, peak, W)
    NMLSDR_BY_WIDTH(CALL)
#undef CALL
}

static void nmlsdr_apply_block(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
    const double *k, const double *m, const double *p, double *y, double *dot, int width)
{
#define CALL(W) nmlsdr_apply_loop(lo, hi, indptr, indices, values, k, m, p, y, dot, W)
    NMLSDR_BY_WIDTH(CALL)
#undef CALL
}

static void nmlsdr_reduce_block(
    ptrdiff_t lo, ptrdiff_t hi, const double *m, const double *e, const double *a, const double *y, double *z,
    double *dot, double *peak, int width)
{
#define CALL(W) nmlsdr_reduce_loop(lo, hi, m, e, a, y, z, dot, peak, W)
    NMLSDR_BY_WIDTH(CALL)
#undef CALL
}

static void nmlsdr_advance_block(
    ptrdiff_t lo, ptrdiff_t hi, const double *a, const double *b, const double *z, double *x, double *p, int width)
{
#define CALL(W) nmlsdr_advance_loop(lo, hi, a, b, z, x, p, W)
    NMLSDR_BY_WIDTH(CALL)
#undef CALL
}

static void nmlsdr_step_block(
    ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
    const double *k, const double *e, const double *f, const double *x, double *y, double *peak, int width)
{
#define CALL(W) nmlsdr_step_loop(lo, hi, indptr, indices, values, k, e, f, x, y, peak, W)
    NMLSDR_BY_WIDTH(CALL)
#undef CALL
}

#endif
