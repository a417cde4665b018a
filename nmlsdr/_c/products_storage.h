/* How sparse rows are stored for products: packed blocks like dense rows, or columns and postings.
 *
 * A sparse row of B products with a block of B rows costs
 *   postings   one addition in memory per product that is not zero: f per pair, f the share of rows that hold
 *              a feature, for each feature of the query
 *   a column   the feature's B values one after another, zeros too: one fused operation per vector of them,
 *              whatever f is
 * so features that many rows hold become columns, the others postings.
 */
#ifndef NMLSDR_PRODUCTS_STORAGE_H
#define NMLSDR_PRODUCTS_STORAGE_H

#include "products_state.h"

#ifndef NMLSDR_SPARSE_BLOCK
#define NMLSDR_SPARSE_BLOCK 1024 /* rows in a block: sums of 4 kB; 512 and 2048 were within 5 % (measured) */
#endif
/* Columns of a block at most, unless it has 256 rows: the second-level cache.  With 300 to 1000 columns blocks of 256 or
 * 512 rows are 1.1 to 1.4 times faster than of 1024, with 100 columns 1.1 times slower (measured). */
#define NMLSDR_COLUMN_BYTES 700000
#ifndef NMLSDR_FREQUENT
#define NMLSDR_FREQUENT 0.0625 /* from this share of the rows on a column costs less (measured, flat from .03 to .1) */
#endif
/* Nanoseconds per pair of rows on one thread, and what they are multiplied by (measured; by level of simd.h). */
#define NMLSDR_POSTING_NS 0.8 /* a product by postings */
#ifdef __aarch64__ /* not measured there: those of 16-byte vectors on x86 */
static const double nmlsdr_column_ns[] = {0.075, 0.075};
static const double nmlsdr_packed_ns[] = {0.044, 0.044};
#else
static const double nmlsdr_column_ns[] = {0.075, 0.043, 0.034}; /* a feature of a query that is a column */
static const double nmlsdr_packed_ns[] = {0.044, 0.017, 0.009}; /* a feature in packed blocks */
#endif
#define NMLSDR_LOOKUP_NS 10.0 /* a feature of a query, per block */
#define NMLSDR_SWEEP_NS 0.25
#define NMLSDR_TILE_NS 0.4

/* The columns: features of the share NMLSDR_FREQUENT or more, fewer if their values would outgrow `bytes`. */
static int nmlsdr_choose_columns(nmlsdr_search *q, const int32_t *holders, double bytes)
{
    const double n = (double)q->rows->rows.n;
    q->slot = (int32_t *)malloc((size_t)q->d * sizeof(int32_t));
    if (!q->slot) return -1;
    double least = NMLSDR_FREQUENT * n;
    do {
        q->frequent = 0;
        for (ptrdiff_t f = 0; f < q->d; f++) q->slot[f] = holders[f] >= least ? (int32_t)q->frequent++ : -1;
        least *= 1.1;
    } while (q->frequent && 4 * n * (double)q->frequent > bytes);
    return 0;
}

/* Choose between the two by cost, then the block of the postings. */
static int nmlsdr_choose_storage(nmlsdr_search *q, double window_bytes)
{
    const nmlsdr_rows *x = &q->rows->rows, *y = &q->queries->rows;
    const double d = (double)q->d, packed = nmlsdr_packed_ns[q->level] * d + NMLSDR_TILE_NS;
    q->block = NMLSDR_BLOCK;
    q->pass = (q->d + NMLSDR_KC - 1) / NMLSDR_KC; /* passes of equal length */
    q->pass = (q->d + q->pass - 1) / q->pass;
    q->terms = q->pass + (q->d + q->pass - 1) / q->pass;
    q->longest = q->d;
    q->pair_ns = packed;
    q->decision_ns = 60 + 0.35 * d;
    if (x->kind <= NMLSDR_DENSE_F64) return 0;
    int32_t *holders = (int32_t *)calloc((size_t)q->d, sizeof(int32_t));
    if (!holders) return -1;
    for (ptrdiff_t p = 0; p < nmlsdr_row_pointer(x, x->n); p++) holders[nmlsdr_entry_column(x, p)]++;
    if (nmlsdr_choose_columns(q, holders, window_bytes)) {
        free(holders);
        return -1;
    }
    double products = 0, columns = 0;
    for (ptrdiff_t p = 0; p < nmlsdr_row_pointer(y, y->n); p++) {
        const ptrdiff_t f = nmlsdr_entry_column(y, p);
        if (q->slot[f] < 0) products += holders[f];
        else columns++;
    }
    free(holders);
    q->longest = 0;
    for (int s = 0; s < 2; s++) {
        const nmlsdr_rows *rows = &q->side[s].rows;
        for (ptrdiff_t i = 0; i < rows->n; i++) {
            const ptrdiff_t size = nmlsdr_row_pointer(rows, i + 1) - nmlsdr_row_pointer(rows, i);
            if (size > q->longest) q->longest = size;
        }
    }
    const double entries = (double)nmlsdr_row_pointer(y, y->n) / (double)y->n;
    const double by_postings = NMLSDR_POSTING_NS * products / (double)x->n / (double)y->n
        + nmlsdr_column_ns[q->level] * columns / (double)y->n + NMLSDR_LOOKUP_NS * entries / NMLSDR_SPARSE_BLOCK
        + NMLSDR_SWEEP_NS;
    q->decision_ns = 60 + 6.5 * entries;
    q->sparse = q->force_sparse >= 0 ? q->force_sparse : by_postings < packed;
    if (!q->sparse) return 0;
    q->pair_ns = by_postings;
    q->terms = q->longest + 1;
    /* eight blocks keep two threads busy; pointers must not outgrow the entries */
    const double pointers = 4.0 * (d + 2), allowance = 8.0 * (double)nmlsdr_row_pointer(x, x->n) + 32e6;
    const double most = allowance / pointers < 1 ? 1 : allowance / pointers;
    const ptrdiff_t larger = x->n > y->n ? x->n : y->n;
    ptrdiff_t rows = NMLSDR_SPARSE_BLOCK;
    while (rows > 256 && 4 * rows * q->frequent > NMLSDR_COLUMN_BYTES) rows /= 2;
    q->block = 128; /* a multiple of 8 vectors at every level */
    while (q->block < larger && ((double)x->n / (double)q->block > most || (q->block < rows && 8 * q->block < larger)))
        q->block *= 2;
    return 0;
}

#endif
