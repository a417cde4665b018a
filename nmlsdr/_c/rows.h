/* Rows as callers hold them, dense or CSR: their entries, and the canonical distance of two. */
#ifndef NMLSDR_ROWS_H
#define NMLSDR_ROWS_H

#include <stdint.h>
#include <string.h>

#include "distance.h"
#include "platform.h"

/* How the caller holds rows. */
enum { NMLSDR_DENSE_F32, NMLSDR_DENSE_F64, NMLSDR_CSR_F32_I32, NMLSDR_CSR_F64_I32, NMLSDR_CSR_F32_I64,
       NMLSDR_CSR_F64_I64 };

typedef struct {
    int kind;
    ptrdiff_t n, d;
    const void *data, *indices, *indptr; /* the last two for CSR only: sorted rows without repeats */
} nmlsdr_rows;

static inline ptrdiff_t nmlsdr_row_pointer(const nmlsdr_rows *x, ptrdiff_t row)
{
    return x->kind < NMLSDR_CSR_F32_I64 ? ((const int32_t *)x->indptr)[row] : (ptrdiff_t)((const int64_t *)x->indptr)[row];
}

static inline ptrdiff_t nmlsdr_entry_column(const nmlsdr_rows *x, ptrdiff_t p)
{
    return x->kind < NMLSDR_CSR_F32_I64 ? ((const int32_t *)x->indices)[p] : (ptrdiff_t)((const int64_t *)x->indices)[p];
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
    const ptrdiff_t p = nmlsdr_row_pointer(x, i), pn = nmlsdr_row_pointer(x, i + 1) - p;
    const ptrdiff_t q = nmlsdr_row_pointer(y, j), qn = nmlsdr_row_pointer(y, j + 1) - q;
#define NM_CSR(NAME, TYPE, INDEX) \
    return NAME((const TYPE *)x->data + p, (const INDEX *)x->indices + p, pn, \
                (const TYPE *)y->data + q, (const INDEX *)y->indices + q, qn)
    switch (x->kind) {
    case NMLSDR_CSR_F32_I32: NM_CSR(nmlsdr_sqdist_csr_f32_i32, float, int);
    case NMLSDR_CSR_F64_I32: NM_CSR(nmlsdr_sqdist_csr_f64_i32, double, int);
    case NMLSDR_CSR_F32_I64: NM_CSR(nmlsdr_sqdist_csr_f32_i64, float, long long);
    default: NM_CSR(nmlsdr_sqdist_csr_f64_i64, double, long long);
    }
#undef NM_CSR
}

/* Of a dense row. */
static inline void nmlsdr_prefetch_row(const nmlsdr_rows *x, ptrdiff_t row)
{
    const ptrdiff_t bytes = x->d * (x->kind == NMLSDR_DENSE_F32 ? 4 : 8);
    const char *from = (const char *)x->data + row * bytes;
    for (ptrdiff_t p = 0; p < bytes && p < 512; p += 64) NMLSDR_PREFETCH_NEAR(from + p);
}

#endif
