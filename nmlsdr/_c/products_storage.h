/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How sparse rows are stored for products: packed blocks like dense rows, or columns and postings.
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

#define NMLSDR_SPARSE_BLOCK 1024 /* rows in a block: sums of 4 kB; 512 and 2048 were within 5 % (measured) */
/* Columns of a block at most, unless it has 256 rows: the second-level cache.  With 300 to 1000 columns
 * blocks of 256 or 512 rows are 1.1 to 1.4 times faster than of 1024, with 100 columns 1.1 times slower
 * (measured). */
#define NMLSDR_COLUMN_BYTES 700000
/* from this share of the rows on a column costs less (measured, flat from .03 to .1) */
#define NMLSDR_FREQUENT 0.0625
/* Nanoseconds per pair of rows on one thread, and what they are multiplied by (measured; the others
 * depend on the level: kernels.h). */
#define NMLSDR_POSTING_NS 0.8 /* a product by postings */
#define NMLSDR_LOOKUP_NS 10.0 /* a feature of a query, per block */
#define NMLSDR_SWEEP_NS 0.25
#define NMLSDR_TILE_NS 0.4

/* Where products of 16-bit integers are chosen (measured, docs/neighbours.md). */
#define NMLSDR_INT16_ROWS 1000 /* rows, and 1/16 of it queries: choosing takes a few hundred distances */
#define NMLSDR_INT16_FEATURES 32
#define NMLSDR_INT16_SHARE 0.003 /* of all pairs may pass because of their slack */

/* The columns: features of the share NMLSDR_FREQUENT or more, fewer if their values would outgrow `bytes`. */
static void nmlsdr_choose_columns(nmlsdr_search *q, const int32_t *holders, double bytes)
{
    const double n = (double)q->rows->rows.n;
    nmlsdr_storage *stored = &q->storage;
    double least = NMLSDR_FREQUENT * n;

    do {
        stored->frequent = 0;

        for (ptrdiff_t f = 0; f < q->d; f++) stored->slot[f] = holders[f] >= least ? (int32_t)stored->frequent++ : -1;
        least *= 1.1;
    } while (stored->frequent && 4 * n * (double)stored->frequent > bytes);
}

/* Rows in a block of postings: eight blocks keep two threads busy; pointers must not outgrow the entries. */
static ptrdiff_t nmlsdr_posting_block(const nmlsdr_search *q)
{
    const nmlsdr_rows *x = &q->rows->rows, *y = &q->queries->rows;
    const double pointers = 4.0 * ((double)q->d + 2), allowance = 8.0 * (double)nmlsdr_row_pointer(x, x->n) + 32e6;
    const double most = allowance / pointers < 1 ? 1 : allowance / pointers;
    const ptrdiff_t larger = x->n > y->n ? x->n : y->n;
    ptrdiff_t rows = NMLSDR_SPARSE_BLOCK, block = 128; /* a multiple of 8 vectors at every level */
    while (rows > 256 && 4 * rows * q->storage.frequent > NMLSDR_COLUMN_BYTES) rows /= 2;
    while (block < larger && ((double)x->n / (double)block > most || (block < rows && 8 * block < larger))) block *= 2;

    return block;
}

/* Entry p of the rows, of feature j, centred and scaled.  Sparse rows have the centre 0. */
static inline double nmlsdr_scaled(const nmlsdr_search *q, const nmlsdr_rows *x, ptrdiff_t p, ptrdiff_t j)
{
    return (nmlsdr_entry_value(x, p) - q->scaling.centre[j]) * q->scaling.scale;
}

/* The nearest integer, of numbers below 2^51. */
static inline double nmlsdr_rounded(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* So many words of four bytes in a packed row, and passes of equal length. */
static void nmlsdr_set_words(nmlsdr_search *q, ptrdiff_t words)
{
    const ptrdiff_t passes = (words + NMLSDR_KC - 1) / NMLSDR_KC;
    q->storage.words = words;
    q->tuning.pass = (words + passes - 1) / passes;
}

/* Choose between the two: columns and postings if `sparse` is 1, packed blocks if it is 0, the cheaper if
 * it is -1. */
static int nmlsdr_choose_storage(nmlsdr_search *q, int sparse, double window_bytes)
{
    const nmlsdr_rows *x = &q->rows->rows, *y = &q->queries->rows;
    nmlsdr_storage *stored = &q->storage;
    nmlsdr_set_words(q, q->d);
    q->scaling.terms = q->tuning.pass + (q->d + q->tuning.pass - 1) / q->tuning.pass;
    stored->block = NMLSDR_BLOCK;
    stored->longest = q->d;
    if (x->kind <= NMLSDR_DENSE_F64) return 0;

    int32_t *holders = (int32_t *)calloc((size_t)q->d, sizeof(int32_t));
    stored->slot = (int32_t *)nmlsdr_new(&q->memory, q->d, sizeof(int32_t));

    if (!holders || !stored->slot) {
        free(holders);
        return -1;
    }

    for (ptrdiff_t p = 0; p < nmlsdr_row_pointer(x, x->n); p++) holders[x->indices[p]]++;
    nmlsdr_choose_columns(q, holders, window_bytes);
    double products = 0, columns = 0;

    for (ptrdiff_t p = 0; p < nmlsdr_row_pointer(y, y->n); p++) {
        const ptrdiff_t f = y->indices[p];
        if (stored->slot[f] < 0) products += holders[f];
        else columns++;
    }

    free(holders);

    stored->longest = 0;

    for (int s = 0; s < 2; s++) {
        const nmlsdr_rows *rows = &q->side[s].rows;

        for (ptrdiff_t i = 0; i < rows->n; i++) {
            const ptrdiff_t size = nmlsdr_row_pointer(rows, i + 1) - nmlsdr_row_pointer(rows, i);
            if (size > stored->longest) stored->longest = size;
        }
    }

    const double queries = (double)y->n, entries = (double)nmlsdr_row_pointer(y, y->n) / queries;
    const double by_postings = NMLSDR_POSTING_NS * products / (double)x->n / queries + q->kernels->column_ns * columns / queries +
                               NMLSDR_LOOKUP_NS * entries / NMLSDR_SPARSE_BLOCK + NMLSDR_SWEEP_NS;
    stored->sparse = sparse >= 0 ? sparse : by_postings < q->kernels->packed_ns * (double)q->d + NMLSDR_TILE_NS;
    if (!stored->sparse) return 0;
    q->scaling.terms = stored->longest + 1;
    stored->block = nmlsdr_posting_block(q);

    return 0;
}

#endif
