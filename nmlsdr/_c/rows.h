/* Rows as callers hold them, dense or CSR: their entries, and the canonical distance of two. */
#ifndef NMLSDR_ROWS_H
#define NMLSDR_ROWS_H

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

/* Entry p of the stored values, of dense rows too. */
static inline double nmlsdr_entry_value(const nmlsdr_rows *x, ptrdiff_t p)
{
    return x->kind & 1 ? ((const double *)x->data)[p] : (double)((const float *)x->data)[p];
}

/* One dense row as float64. */
static inline void nmlsdr_dense_row(const nmlsdr_rows *x, ptrdiff_t row, double *to)
{
    const ptrdiff_t d = x->d;
    if (x->kind == NMLSDR_DENSE_F64) memcpy(to, (const double *)x->data + row * d, (size_t)d * sizeof(double));
    else for (ptrdiff_t j = 0; j < d; j++) to[j] = ((const float *)x->data)[row * d + j];
}

static double nmlsdr_canonical(const nmlsdr_rows *x, ptrdiff_t i, const nmlsdr_rows *y, ptrdiff_t j)
{
    const ptrdiff_t d = x->d;
    if (x->kind == NMLSDR_DENSE_F64 && y->kind == NMLSDR_DENSE_F32) /* queries of an index of float rows (index.h) */
        return nmlsdr_sqdist_f64_f32((const double *)x->data + i * d, (const float *)y->data + j * d, d);
    if (x->kind == NMLSDR_DENSE_F32)
        return nmlsdr_sqdist_f32((const float *)x->data + i * d, (const float *)y->data + j * d, d);
    if (x->kind == NMLSDR_DENSE_F64)
        return nmlsdr_sqdist_f64((const double *)x->data + i * d, (const double *)y->data + j * d, d);
    const ptrdiff_t p = x->indptr[i], pn = x->indptr[i + 1] - p, q = y->indptr[j], qn = y->indptr[j + 1] - q;
    const int32_t *columns = x->indices + p, *others = y->indices + q;
    if (x->kind == NMLSDR_CSR_F32)
        return nmlsdr_sqdist_csr_f32((const float *)x->data + p, columns, pn, (const float *)y->data + q, others, qn);
    return nmlsdr_sqdist_csr_f64((const double *)x->data + p, columns, pn, (const double *)y->data + q, others, qn);
}

/* Of a dense row. */
static inline void nmlsdr_prefetch_row(const nmlsdr_rows *x, ptrdiff_t row)
{
    const ptrdiff_t bytes = x->d * (x->kind == NMLSDR_DENSE_F32 ? 4 : 8);
    const char *from = (const char *)x->data + row * bytes;
    for (ptrdiff_t p = 0; p < bytes && p < 512; p += 64) NMLSDR_PREFETCH_NEAR(from + p);
}

#endif
