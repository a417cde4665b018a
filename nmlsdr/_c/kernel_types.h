/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the kernels that have SIMD levels take, and the table of those of one level (kernels.h). */
#ifndef NMLSDR_KERNEL_TYPES_H
#define NMLSDR_KERNEL_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* One leaf of queries of the tree. */
enum { NMLSDR_LEAF = 64 }; /* the largest leaf: one bit for each of its rows */
typedef struct {
    const double *value;       /* (d, leaf) */
    double worst[NMLSDR_LEAF]; /* the k-th squared distance so far of each; -1 where there is no query */
    ptrdiff_t d, leaf;
} nmlsdr_leaf_queries;

/* One query and the dense rows that it is compared with. */
typedef struct {
    const double *query; /* (d) */
    const void *rows;    /* of doubles if wide, of floats if not */
    int wide;
    ptrdiff_t d;
} nmlsdr_encounter;

/* The products of one sparse row with the frequent features of a block. */
typedef struct {
    float *sums;         /* one for each row of the block: -h_j and the products by postings */
    const float *value;  /* the row's values, */
    const int32_t *slot; /* and the columns that they are multiplied with */
    ptrdiff_t n_columns;
} nmlsdr_sparse_row;

typedef struct nmlsdr_pair nmlsdr_pair; /* two blocks: products_candidates.h */

typedef struct {
    int lanes; /* floats in a vector */
    /* Nanoseconds per pair of rows on one thread (measured): a feature in packed blocks, one of a query that is a column. */
    double packed_ns, column_ns;
    void (*products)(const nmlsdr_pair *);
    void (*sweep)(const nmlsdr_pair *, ptrdiff_t row, const nmlsdr_sparse_row *);
    void (*int16)(const nmlsdr_pair *); /* NULL at levels where integers are not faster than floats (measured) */
    unsigned long long (*near)(const nmlsdr_leaf_queries *, const double *box);
    unsigned long long (*scan)(const nmlsdr_leaf_queries *, const double *rows, const double *query, double limit,
                               double *squared);
    void (*distances)(const nmlsdr_encounter *, const ptrdiff_t *which, ptrdiff_t n, double *squared);
} nmlsdr_kernels;

#endif
