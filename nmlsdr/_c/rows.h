/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows as callers hold them, dense or CSR: their entries, and the canonical distance of two. */
#ifndef NMLSDR_ROWS_H
#define NMLSDR_ROWS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "distance.h"
#include "platform.h"

/* How the caller holds rows. */
enum { NMLSDR_DENSE_F32, NMLSDR_DENSE_F64, NMLSDR_CSR_F32, NMLSDR_CSR_F64 };

typedef struct {
    int kind;
    ptrdiff_t n, d;
    const void *data;
    const int32_t *indices; /* for CSR only, as indptr: sorted rows without repeats */
    const int64_t *indptr;
} nmlsdr_rows;

/* The first stored value of a row. */
static inline ptrdiff_t nmlsdr_row_pointer(const nmlsdr_rows *x, ptrdiff_t row)
{
    return x->indptr ? (ptrdiff_t)x->indptr[row] : row * x->d;
}

/* Entry p of the stored values, of dense rows too: doubles if `wide`. */
static inline double nmlsdr_entry(const nmlsdr_rows *x, ptrdiff_t p, const int wide)
{
    return wide ? ((const double *)x->data)[p] : (double)((const float *)x->data)[p];
}

static inline double nmlsdr_entry_value(const nmlsdr_rows *x, ptrdiff_t p)
{
    return nmlsdr_entry(x, p, x->kind & 1);
}

/* One dense row as float64. */
static inline void nmlsdr_dense_row(const nmlsdr_rows *x, ptrdiff_t row, double *to)
{
    const ptrdiff_t d = x->d;
    if (x->kind == NMLSDR_DENSE_F64) memcpy(to, (const double *)x->data + row * d, (size_t)d * sizeof(double));
    else
        for (ptrdiff_t j = 0; j < d; j++) to[j] = ((const float *)x->data)[row * d + j];
}

/* The canonical distance of two CSR rows (distance.h). */
static inline double nmlsdr_merge(const nmlsdr_rows *x, ptrdiff_t i, const nmlsdr_rows *y, ptrdiff_t j, const int wide)
{
    ptrdiff_t p = x->indptr[i], q = y->indptr[j];
    const ptrdiff_t p_end = x->indptr[i + 1], q_end = y->indptr[j + 1];
    double a[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    while (p < p_end && q < q_end) {
        const int32_t f = x->indices[p], g = y->indices[q];
        const double u = f <= g ? nmlsdr_entry(x, p++, wide) : 0, v = g <= f ? nmlsdr_entry(y, q++, wide) : 0;
        a[(f < g ? f : g) & 7] += (u - v) * (u - v);
    }
    for (; p < p_end; p++) a[x->indices[p] & 7] += nmlsdr_entry(x, p, wide) * nmlsdr_entry(x, p, wide);
    for (; q < q_end; q++) a[y->indices[q] & 7] += nmlsdr_entry(y, q, wide) * nmlsdr_entry(y, q, wide);
    return nmlsdr_fold8(a);
}

/* Of two dense rows. */
static inline double nmlsdr_gap(const nmlsdr_rows *x, ptrdiff_t i, const nmlsdr_rows *y, ptrdiff_t j, const int wide)
{
    const ptrdiff_t d = x->d, p = i * d, q = j * d;
    double a[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (ptrdiff_t first = 0; first < d; first += 8)
        for (ptrdiff_t m = 0; m < 8 && first + m < d; m++) {
            const double gap = nmlsdr_entry(x, p + first + m, wide) - nmlsdr_entry(y, q + first + m, wide);
            a[m] += gap * gap;
        }
    return nmlsdr_fold8(a);
}

/* Of two rows of one kind. */
static double nmlsdr_canonical(const nmlsdr_rows *x, ptrdiff_t i, const nmlsdr_rows *y, ptrdiff_t j)
{
    if (!x->indptr) return x->kind & 1 ? nmlsdr_gap(x, i, y, j, 1) : nmlsdr_gap(x, i, y, j, 0);
    return x->kind & 1 ? nmlsdr_merge(x, i, y, j, 1) : nmlsdr_merge(x, i, y, j, 0);
}

/* Divide n values of one row by its norm; returns 0 for a row of zeros.  feature: of a sparse row.  The row is first multiplied
 * by the power of two that brings its largest magnitude to [1/2, 1), so that no square overflows, or underflows and counts; then
 * rows x and 2^e x become the same bits.  The squared norm is the canonical squared distance from a row of zeros: dense rows, CSR
 * and float32 copies of equal values have the same. */
static int nmlsdr_to_unit(double *value, const int32_t *feature, ptrdiff_t n)
{
    double a[8] = {0, 0, 0, 0, 0, 0, 0, 0}, top[8] = {0, 0, 0, 0, 0, 0, 0, 0}, largest = 0;
    int exponent;
    for (ptrdiff_t p = 0; p < n; p++) top[p & 7] = fabs(value[p]) > top[p & 7] ? fabs(value[p]) : top[p & 7];
    for (int m = 0; m < 8; m++) largest = top[m] > largest ? top[m] : largest;
    if (largest == 0) return 0;
    frexp(largest, &exponent);
    /* one factor, or two that both enlarge a denormal: nothing is rounded twice */
    const double factor = ldexp(1.0, exponent < -1000 ? 1000 : -exponent);
    const double rest = exponent < -1000 ? ldexp(1.0, -exponent - 1000) : 1.0;
    for (ptrdiff_t p = 0; p < n; p++) {
        value[p] = value[p] * factor * rest;
        if (feature) a[feature[p] & 7] += value[p] * value[p];
    }
    const double norm = sqrt(feature ? nmlsdr_fold8(a) : nmlsdr_dot_f64(value, value, n));
    for (ptrdiff_t p = 0; p < n; p++) value[p] /= norm;
    return 1;
}

/* Divide row i, of doubles, by its norm, in place; returns 0 for a row of zeros. */
static inline int nmlsdr_unit_row(const nmlsdr_rows *x, ptrdiff_t i)
{
    const ptrdiff_t from = nmlsdr_row_pointer(x, i), size = nmlsdr_row_pointer(x, i + 1) - from;
    return nmlsdr_to_unit((double *)x->data + from, x->indices ? x->indices + from : NULL, size);
}

/* A copy in memory of its own, of doubles if `wide`, as it must be for doubles; memory->failed if there is none. */
static nmlsdr_rows nmlsdr_copy_rows(nmlsdr_memory *memory, const nmlsdr_rows *x, int wide)
{
    const ptrdiff_t stored = nmlsdr_row_pointer(x, x->n);
    nmlsdr_rows copy = *x;
    void *data = nmlsdr_new(memory, stored, wide ? sizeof(double) : sizeof(float));
    if (x->indptr) {
        int32_t *indices = (int32_t *)nmlsdr_new(memory, stored, sizeof(int32_t));
        int64_t *indptr = (int64_t *)nmlsdr_new(memory, x->n + 1, sizeof(int64_t));
        if (memory->failed) return copy;
        if (stored) memcpy(indices, x->indices, (size_t)stored * sizeof(int32_t));
        memcpy(indptr, x->indptr, (size_t)(x->n + 1) * sizeof(int64_t));
        copy.indices = indices;
        copy.indptr = indptr;
    }
    if (memory->failed) return copy;
    if (wide > (x->kind & 1))
        for (ptrdiff_t p = 0; p < stored; p++) ((double *)data)[p] = ((const float *)x->data)[p];
    else if (stored) memcpy(data, x->data, (size_t)stored * (wide ? sizeof(double) : sizeof(float)));
    copy.data = data;
    copy.kind = (x->kind & ~1) | wide;
    return copy;
}

#endif
