/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A whole search of checked rows, or of an index of them, by either metric: for include/nmlsdr/neighbors.h and for Python.
 *
 *   nmlsdr_index_begin   what is prepared once: a copy, rows of length 1 for angles, packed rows (index.h)
 *   nmlsdr_query_begin   queries of length 1 for angles, and the strategy that suits their number
 *   nmlsdr_query_start   its memory
 *   nmlsdr_query_step    a part of its work; call it until it returns 0
 *   nmlsdr_query_end     puts rows of zeros into the lists, and gives the memory back
 *   nmlsdr_index_search  all of these
 *   nmlsdr_index_end     gives the memory of the index back
 *
 * `_search/strategy.py` looks for structure in large tables between begin and start.  All strategies give the same bits, so
 * the choice changes only the time.
 * By angle the rows are searched as rows of length 1.  A row of zeros has no direction; it is kept apart, at the squared
 * distance NMLSDR_ZERO_ROW from every other.
 */
#ifndef NMLSDR_SEARCH_H
#define NMLSDR_SEARCH_H

#include "few.h"
#include "index.h"
#include "products.h"
#include "tree.h"

/* Sizes, all measured (docs/neighbours.md). */
#define NMLSDR_FEW_QUERIES 24    /* at most; for more it pays to pack the rows or to build a tree */
#define NMLSDR_INDEX_QUERIES 249 /* at most; for more it pays to pack the queries with the rows again */
#define NMLSDR_MOST_KEPT 4e6     /* neighbours in the lists of all threads, 16 bytes each, for few queries */
#define NMLSDR_TREE_FEATURES 8
#define NMLSDR_TREE_ROWS 2000 /* fewer: half of the features */
#define NMLSDR_ZERO_ROW 2.0 /* the squared distance of a row of zeros to any other by angle */
#define NMLSDR_WINDOW_BYTES 256e6 /* packed rows in memory at most, unless one pair of blocks is larger */
/* Pairs times features and about ten for each neighbour kept, or values of prepared rows: about 2.5 ms.  With less for each
 * thread a team gains up to half of the time on a free machine, and loses it many times over on a busy one, where its threads wait for
 * each other.  One query among prepared rows of 100 features, two threads, mean time compared with one thread (two cores):
 *
 *   values          1e6    4e6    16e6   24e6   32e6   48e6   64e6
 *   no other load   .63    .52    .55    .61    .53    .44    .54
 *   1 busy process  46     9.6    1.1    2.0    1.4    .9     .8
 *   2               33     4.8    1.1    2.0    .7     .5     .6
 *
 * 16 and 100 queries break even at the same time of one thread, about 5 ms. */
#define NMLSDR_WORK_OF_THREAD 1.5e7
#define NMLSDR_VALUES_OF_THREAD 250e3 /* that are read once or sorted, as a part of a larger search */

struct nmlsdr_index {
    nmlsdr_memory memory;
    int by_angle;
    int level, n_threads;  /* for the search that comes next: the caller sets them in a copy */
    ptrdiff_t n;           /* rows in all */
    nmlsdr_rows rows;      /* those that are searched */
    ptrdiff_t *number;     /* (n) their numbers, then those of the rows of zeros from the end on; NULL: all, as they come */
    nmlsdr_search *packed; /* or NULL */
};

/* How a search goes, by the names of `_search`. */
enum { NMLSDR_BY_NOTHING, NMLSDR_BY_FEW, NMLSDR_BY_TREE, NMLSDR_BY_PACKED, NMLSDR_BY_PRODUCTS };

/* A search of an index. */
typedef struct {
    union {
        nmlsdr_memory memory; /* the first field of each */
        nmlsdr_few few;
        nmlsdr_tree tree;
        nmlsdr_views views;
        nmlsdr_search products;
    } by;
    int way;
    double threads; /* that are worth waking */
    const struct nmlsdr_index *x;
    const unsigned char *allowed; /* (n of x) rows that may be neighbours of the queries; NULL: all */
    const unsigned char *near_allowed; /* the same of the rows that are searched */
    nmlsdr_within *within; /* all rows within a radius (radius.h), instead of the k nearest; or NULL */
    struct nmlsdr_index units; /* the queries by angle */
    const nmlsdr_rows *queries; /* those that are searched for; NULL: the rows themselves */
    nmlsdr_rows own, wide; /* of doubles, where the others are */
    ptrdiff_t k, n, n_found; /* neighbours of a query; lists that are searched for, and how long they are */
    double *squared, *near;
    ptrdiff_t *indices, *row; /* (n, n_found) row and near: those of the caller, unless rows of zeros come between */
} nmlsdr_query;

static void nmlsdr_index_end(struct nmlsdr_index *x)
{
    if (x->packed) nmlsdr_free_all(&x->packed->memory);
    nmlsdr_free_all(&x->memory);
}

/* Rows of length 1 in place of the rows, those of zeros apart. */
static void nmlsdr_take_units(nmlsdr_memory *memory, struct nmlsdr_index *x, const nmlsdr_rows *given, int n_threads)
{
    ptrdiff_t near = 0, zeros = 0, row;
    x->n = given->n;
    x->rows = nmlsdr_copy_rows(memory, given, 1);
    x->number = (ptrdiff_t *)nmlsdr_new(memory, given->n, sizeof(ptrdiff_t));
    unsigned char *kept = (unsigned char *)nmlsdr_new(memory, given->n, 1);
    if (memory->failed) return;

    n_threads = nmlsdr_worthwhile(n_threads, (double)nmlsdr_row_pointer(given, given->n) / NMLSDR_VALUES_OF_THREAD);
    NMLSDR_OMP(parallel for num_threads(n_threads) schedule(static))
    for (row = 0; row < given->n; row++) kept[row] = (unsigned char)nmlsdr_unit_row(&x->rows, row);

    double *value = (double *)x->rows.data;
    int32_t *feature = (int32_t *)x->rows.indices;
    int64_t *pointer = (int64_t *)x->rows.indptr;
    for (ptrdiff_t i = 0; i < given->n; i++) {
        const ptrdiff_t from = nmlsdr_row_pointer(given, i), size = nmlsdr_row_pointer(given, i + 1) - from;
        const ptrdiff_t to = pointer ? (ptrdiff_t)pointer[near] : near * given->d;
        if (!kept[i]) {
            x->number[given->n - ++zeros] = i;
            continue;
        }
        x->number[near++] = i;
        if (from > to) memmove(value + to, value + from, (size_t)size * sizeof(double));
        if (feature && from > to) memmove(feature + to, feature + from, (size_t)size * sizeof(int32_t));
        if (pointer) pointer[near] = to + size;
    }
    x->rows.n = near;
}

/* lasts: 2: copy and pack the rows; 1: pack them; 0: they are searched once.  -1: out of memory; end it in any case. */
static int nmlsdr_index_begin(struct nmlsdr_index *x, const nmlsdr_rows *rows, int by_angle, int lasts, int integers)
{
    x->by_angle = by_angle;
    x->n = rows->n;
    x->rows = *rows;
    if (by_angle || rows->d == 0) nmlsdr_take_units(&x->memory, x, rows, x->n_threads); /* without features all are zeros */
    else if (lasts > 1) x->rows = nmlsdr_copy_rows(&x->memory, rows, rows->kind & 1);
    if (!lasts || x->memory.failed || x->rows.n == 0) return -x->memory.failed; /* without rows all are zeros */
    x->packed = (nmlsdr_search *)nmlsdr_new(&x->memory, 1, sizeof(nmlsdr_search));
    if (!x->packed) return -1;
    memset(x->packed, 0, sizeof(nmlsdr_search));
    return nmlsdr_packed_begin(x->packed, &x->rows, integers, x->level, NMLSDR_WINDOW_BYTES, x->n_threads);
}

/* The strategy, and the threads for it. */
static void nmlsdr_choose_way(nmlsdr_query *a)
{
    const struct nmlsdr_index *x = a->x;
    const nmlsdr_rows *rows = &x->rows, *queries = a->queries;
    const double n = (double)rows->n, q = (double)a->n, k = (double)a->n_found;
    const int dense = !rows->indptr, few = queries && !a->within && q * k * x->n_threads <= NMLSDR_MOST_KEPT;
    a->threads = n * (queries ? q : n / 2) * ((double)rows->d + 10 * k) / NMLSDR_WORK_OF_THREAD;
    a->way = NMLSDR_BY_PRODUCTS;
    if (a->n == 0 || a->n_found == 0 || rows->n == 0) {
        a->way = NMLSDR_BY_NOTHING;
    } else if (few && x->packed && a->n <= NMLSDR_INDEX_QUERIES && (dense || queries->kind == rows->kind) &&
               nmlsdr_packed_takes(x->packed, queries)) {
        a->way = NMLSDR_BY_PACKED;
        a->threads = (double)nmlsdr_row_pointer(rows, rows->n) * (dense ? 1 + q / 16 : q) / NMLSDR_WORK_OF_THREAD;
    } else if (few && dense && a->n <= NMLSDR_FEW_QUERIES) { /* any preparation would take longer than it saves */
        a->way = NMLSDR_BY_FEW;
    } else if (dense && rows->d <= NMLSDR_TREE_FEATURES / (rows->n < NMLSDR_TREE_ROWS ? 2 : 1) &&
               !(a->within && queries && a->n <= NMLSDR_FEW_QUERIES)) {
        a->way = NMLSDR_BY_TREE;
    }
}

/* The mask of the rows that are searched, and the number of them. */
static ptrdiff_t nmlsdr_mask(nmlsdr_query *a)
{
    const struct nmlsdr_index *x = a->x;
    a->near_allowed = a->allowed;
    if (!a->allowed) return x->rows.n;
    unsigned char *near = (unsigned char *)nmlsdr_new(&a->by.memory, x->rows.n, 1);
    ptrdiff_t n = 0;
    if (!near) return 0;
    for (ptrdiff_t i = 0; i < x->rows.n; i++) n += near[i] = a->allowed[x->number ? x->number[i] : i] != 0;
    a->near_allowed = near;
    return n;
}

/* a consists of zeros, but for memory of the caller's own, and a mask.  Queries of the storage of the rows, of either type; NULL: the rows
 * themselves.  To fill: squared and indices (n queries, k).  -1: out of memory; end it in any case. */
static int nmlsdr_query_begin(nmlsdr_query *a, const struct nmlsdr_index *x, const nmlsdr_rows *queries, ptrdiff_t k,
                              double *squared, ptrdiff_t *indices)
{
    nmlsdr_memory *memory = &a->by.memory;
    a->x = x;
    a->n = queries ? queries->n : x->rows.n;
    a->k = a->n_found = k;
    a->squared = a->near = squared;
    a->indices = a->row = indices;

    if (queries && x->number) {
        nmlsdr_take_units(memory, &a->units, queries, 1);
        a->queries = &a->units.rows;
    } else if (queries) { /* floats among doubles become doubles */
        a->own = queries->kind < x->rows.kind ? nmlsdr_copy_rows(memory, queries, 1) : *queries;
        a->queries = &a->own;
    }
    if (memory->failed) return -1;

    a->n = a->queries ? a->queries->n : a->n;
    if (!a->within && x->number && (x->rows.n < x->n || (queries && a->queries->n < queries->n))) {
        const ptrdiff_t left = nmlsdr_mask(a) - !queries;
        a->n_found = k < left ? k : left; /* -1 if there are no rows, and so no lists */
        a->near = (double *)nmlsdr_new(memory, a->n * a->n_found, sizeof(double));
        a->row = (ptrdiff_t *)nmlsdr_new(memory, a->n * a->n_found, sizeof(ptrdiff_t));
    } else if (a->allowed) {
        nmlsdr_mask(a);
    }
    nmlsdr_choose_way(a);
    return -memory->failed;
}

/* leads, sparse, integers, window_bytes: of nmlsdr_search_begin; n_threads 0: those that are worth waking.  -1: out of memory. */
static int nmlsdr_query_start(nmlsdr_query *a, const nmlsdr_leads *leads, int sparse, int integers, double window_bytes,
                              int n_threads)
{
    const nmlsdr_rows *rows = &a->x->rows, *queries = a->queries;
    const ptrdiff_t k = a->n_found;
    const int level = a->x->level, prepares = a->way == NMLSDR_BY_TREE || a->way == NMLSDR_BY_PRODUCTS;
    n_threads = n_threads ? n_threads : nmlsdr_worthwhile(a->x->n_threads, a->threads);
    if (prepares && queries && queries->kind > rows->kind) { /* doubles among floats */
        a->wide = nmlsdr_copy_rows(&a->by.memory, rows, 1);
        rows = &a->wide;
        if (a->by.memory.failed) return -1;
    }
    switch (a->way) {
    case NMLSDR_BY_NOTHING: return 0;
    case NMLSDR_BY_PACKED:
        return nmlsdr_views_begin(&a->by.views, a->x->packed, queries, k, a->near_allowed, a->near, a->row, n_threads);
    case NMLSDR_BY_FEW:
        a->by.few.allowed = a->near_allowed;
        return nmlsdr_few_begin(&a->by.few, rows, queries, k, a->near, a->row, level, n_threads);
    case NMLSDR_BY_TREE:
        a->by.tree.within = a->within;
        a->by.tree.allowed = a->near_allowed;
        return nmlsdr_tree_begin(&a->by.tree, rows, queries, k, a->near, a->row, level, n_threads);
    default:
        a->by.products.within = a->within;
        a->by.products.allowed = a->near_allowed;
        return nmlsdr_search_begin(&a->by.products, rows, queries, k, leads, a->near, a->row, sparse, integers, level,
                                   window_bytes, n_threads);
    }
}

/* Run about `budget` pairs of blocks, leaves of queries or thousands of pairs.  1: call again; 0: done. */
static int nmlsdr_query_step(nmlsdr_query *a, double budget)
{
    switch (a->way) {
    case NMLSDR_BY_NOTHING: return 0;
    case NMLSDR_BY_PACKED: return nmlsdr_views_step(&a->by.views, budget);
    case NMLSDR_BY_FEW: return nmlsdr_few_step(&a->by.few, budget);
    case NMLSDR_BY_TREE: return nmlsdr_tree_step(&a->by.tree, budget);
    default: return nmlsdr_search_step(&a->by.products, budget);
    }
}

/* The first row of zeros from number z on that may be a neighbour, as a number of them. */
static ptrdiff_t nmlsdr_next_zero(const nmlsdr_query *a, ptrdiff_t z)
{
    const struct nmlsdr_index *x = a->x;
    while (a->allowed && z < x->n - x->rows.n && !a->allowed[x->number[x->n - 1 - z]]) z++;
    return z;
}

/* The k first of a list, sorted, and of the rows of zeros. */
static void nmlsdr_with_zeros(const nmlsdr_query *a, ptrdiff_t list, double *squared, ptrdiff_t *indices)
{
    const struct nmlsdr_index *x = a->x;
    const double *near = a->near + list * a->n_found;
    const ptrdiff_t zeros = x->n - x->rows.n, *row = a->row + list * a->n_found;
    ptrdiff_t z = nmlsdr_next_zero(a, 0), p = 0;
    for (ptrdiff_t to = 0; to < a->k; to++) {
        const ptrdiff_t zero = z < zeros ? x->number[x->n - 1 - z] : -1;
        const ptrdiff_t found = p == a->n_found ? -1 : x->number[row[p]];
        const int takes_zero = z < zeros && (p == a->n_found || nmlsdr_worse(near[p], found, NMLSDR_ZERO_ROW, zero));
        squared[to] = takes_zero ? NMLSDR_ZERO_ROW : near[p];
        indices[to] = takes_zero ? zero : found;
        if (takes_zero) z = nmlsdr_next_zero(a, z + 1);
        else p++;
    }
}

/* Lists of the caller are complete from now on, unless something failed. */
static void nmlsdr_query_end(nmlsdr_query *a)
{
    const struct nmlsdr_index *u = a->queries ? &a->units : a->x;
    for (ptrdiff_t i = 0; a->near != a->squared && !a->by.memory.failed && i < u->n; i++) {
        const ptrdiff_t query = u->number[i], at = query * a->k;
        if (i < a->n) nmlsdr_with_zeros(a, i, a->squared + at, a->indices + at);
        for (ptrdiff_t p = 0, row = 0; i >= a->n && p < a->k; row++) { /* all are as far from a row of zeros: the first */
            if ((!a->queries && row == query) || (a->allowed && !a->allowed[row])) continue;
            a->squared[at + p] = a->x->by_angle ? NMLSDR_ZERO_ROW : 0;
            a->indices[at + p++] = row;
        }
    }
    nmlsdr_free_all(&a->by.memory);
}

/* Fill squared and indices (n queries, k); queries NULL: the rows themselves.  allowed: the rows that may be neighbours of queries,
 * at least k; NULL: all.  -1: out of memory. */
static int nmlsdr_index_search(const struct nmlsdr_index *x, const nmlsdr_rows *queries, ptrdiff_t k,
                               const unsigned char *allowed, double *squared, ptrdiff_t *indices)
{
    enum { SPARE = 1 << 15 }; /* enough for a query of some hundred features: malloc took a third of its time */
    NM_ALIGNED double spare[SPARE / sizeof(double)];
    nmlsdr_query a;
    memset(&a, 0, sizeof a);
    a.allowed = allowed;
    a.by.memory.left = SPARE;
    a.by.memory.spare = (char *)spare;
    int failed = nmlsdr_query_begin(&a, x, queries, k, squared, indices);
    if (!failed) failed = nmlsdr_query_start(&a, NULL, -1, -1, NMLSDR_WINDOW_BYTES, 0);
    while (!failed && nmlsdr_query_step(&a, INFINITY)) continue;
    nmlsdr_query_end(&a);
    return failed;
}

#endif
