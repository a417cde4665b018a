/* A whole search of checked rows, or of an index of them, by either metric: what include/nmlsdr/neighbors.h offers.
 *
 *   nmlsdr_index_begin   what is prepared once: a copy, rows of length 1 for angles, packed rows (index.h)
 *   nmlsdr_index_search  the k nearest rows of each query, by the strategy that suits their number
 *   nmlsdr_index_end     gives the memory back
 *
 * The strategies are those of `_search/strategy.py` but for the two that look for structure in large tables.  All give the
 * same bits, so the choice changes only the time.
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
#define NMLSDR_ZERO_ROW 2.0 /* the squared distance of a row of zeros to any other by angle */
#define NMLSDR_WINDOW_BYTES 256e6 /* packed rows in memory at most, unless one pair of blocks is larger */
/* Pairs times features and about ten for each neighbour kept; values read; less for each thread, and waking it takes longer
 * than it helps. */
#define NMLSDR_WORK_OF_THREAD 1.5e7
#define NMLSDR_VALUES_OF_THREAD 250e3

struct nmlsdr_index {
    nmlsdr_memory memory;
    int by_angle;
    int level, n_threads;  /* for the search that comes next: the caller sets them in a copy */
    ptrdiff_t n;           /* rows in all */
    nmlsdr_rows rows;      /* those that are searched */
    ptrdiff_t *number;     /* (n) their numbers, then those of the rows of zeros from the end on; NULL: all, as they come */
    nmlsdr_search *packed; /* or NULL */
};

static void nmlsdr_index_end(struct nmlsdr_index *x)
{
    if (x->packed) nmlsdr_free_all(&x->packed->memory);
    nmlsdr_free_all(&x->memory);
}

/* Rows of length 1 in place of the rows, those of zeros apart. */
static void nmlsdr_take_units(nmlsdr_memory *memory, struct nmlsdr_index *x, const nmlsdr_rows *given)
{
    ptrdiff_t near = 0, zeros = 0;
    x->n = given->n;
    x->rows = nmlsdr_copy_rows(memory, given, 1);
    x->number = (ptrdiff_t *)nmlsdr_new(memory, given->n, sizeof(ptrdiff_t));
    if (memory->failed) return;

    double *value = (double *)x->rows.data;
    int32_t *feature = (int32_t *)x->rows.indices;
    int64_t *pointer = (int64_t *)x->rows.indptr;
    for (ptrdiff_t i = 0; i < given->n; i++) {
        const ptrdiff_t from = nmlsdr_row_pointer(given, i), size = nmlsdr_row_pointer(given, i + 1) - from;
        const ptrdiff_t to = pointer ? (ptrdiff_t)pointer[near] : near * given->d;
        if (!nmlsdr_unit_row(&x->rows, i)) {
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

/* lasts: copy and pack the rows; 0 if they remain as they are as long as the index.  -1: out of memory; end it in any case. */
static int nmlsdr_index_begin(struct nmlsdr_index *x, const nmlsdr_rows *rows, int by_angle, int lasts)
{
    x->by_angle = by_angle;
    x->n = rows->n;
    x->rows = *rows;
    if (by_angle) nmlsdr_take_units(&x->memory, x, rows);
    else if (lasts) x->rows = nmlsdr_copy_rows(&x->memory, rows, rows->kind & 1);
    if (!lasts || x->memory.failed || x->rows.n == 0) return -x->memory.failed; /* without rows all are zeros */
    x->packed = (nmlsdr_search *)nmlsdr_new(&x->memory, 1, sizeof(nmlsdr_search));
    if (!x->packed) return -1;
    memset(x->packed, 0, sizeof(nmlsdr_search));
    return nmlsdr_packed_begin(x->packed, &x->rows, -1, x->level, NMLSDR_WINDOW_BYTES, x->n_threads);
}

static int nmlsdr_worthwhile(int n_threads, double threads)
{
    return threads < 2 ? 1 : threads < n_threads ? (int)threads : n_threads;
}

/* Whether there are so few queries of dense rows that any preparation takes longer than it saves. */
static int nmlsdr_few_are(const struct nmlsdr_index *x, const nmlsdr_rows *rows, ptrdiff_t n, ptrdiff_t k)
{
    return !rows->indptr && n <= NMLSDR_FEW_QUERIES && (double)n * (double)k * x->n_threads <= NMLSDR_MOST_KEPT;
}

/* By the packed rows: 0, -1 if there is no memory, or 1 if they do not take these queries. */
static int nmlsdr_find_packed(const struct nmlsdr_index *x, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                              ptrdiff_t *indices, nmlsdr_memory *memory)
{
    const double stored = (double)nmlsdr_row_pointer(&x->rows, x->rows.n), q = (double)queries->n;
    const int n_threads = nmlsdr_worthwhile(x->n_threads, stored * (1 + q / 16) / NMLSDR_VALUES_OF_THREAD);
    if (!nmlsdr_packed_takes(x->packed, queries)) return 1;
    nmlsdr_views views = {*memory, NULL, 0, 0, {0}};
    const int failed = nmlsdr_views_begin(&views, x->packed, queries, k, squared, indices, n_threads);
    *memory = views.memory;
    if (!failed) nmlsdr_views_step(&views, INFINITY);
    return failed;
}

/* By what suits rows that nobody packed. */
static int nmlsdr_find_unpacked(const struct nmlsdr_index *x, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                                ptrdiff_t *indices, nmlsdr_memory *memory)
{
    const nmlsdr_rows *rows = &x->rows;
    nmlsdr_rows wide;
    const double pairs = (double)rows->n * (queries ? (double)queries->n : (double)rows->n / 2);
    const int n_threads = nmlsdr_worthwhile(x->n_threads, pairs * ((double)rows->d + 10.0 * (double)k) / NMLSDR_WORK_OF_THREAD);

    if (queries && nmlsdr_few_are(x, rows, queries->n, k)) {
        nmlsdr_few few = {*memory};
        const int failed = nmlsdr_few_begin(&few, rows, queries, k, squared, indices, x->level, n_threads);
        *memory = few.memory;
        if (!failed) nmlsdr_few_step(&few, INFINITY);
        return failed;
    }

    if (queries && queries->kind > rows->kind) { /* doubles among floats */
        wide = nmlsdr_copy_rows(memory, rows, 1);
        rows = &wide;
        if (memory->failed) return -1;
    }
    if (!rows->indptr && rows->d <= NMLSDR_TREE_FEATURES) {
        nmlsdr_tree tree = {*memory};
        const int failed = nmlsdr_tree_begin(&tree, rows, queries, k, squared, indices, x->level, n_threads);
        *memory = tree.memory;
        if (!failed) nmlsdr_tree_step(&tree, INFINITY);
        return failed;
    }
    nmlsdr_search search = {*memory};
    const int failed = nmlsdr_search_begin(&search, rows, queries, k, NULL, squared, indices, -1, -1, x->level,
                                           NMLSDR_WINDOW_BYTES, n_threads);
    *memory = search.memory;
    while (!failed && nmlsdr_search_step(&search, INFINITY)) continue;
    return failed;
}

/* The rows that are searched, and queries of their storage of either type; NULL: themselves. */
static int nmlsdr_find_among(const struct nmlsdr_index *x, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                             ptrdiff_t *indices, nmlsdr_memory *memory)
{
    nmlsdr_rows own;
    int code = 1;

    if (queries && queries->kind < x->rows.kind) { /* floats among doubles */
        own = nmlsdr_copy_rows(memory, queries, 1);
        queries = &own;
        if (memory->failed) return -1;
    }
    if (x->packed && queries && queries->n <= NMLSDR_INDEX_QUERIES
        && (queries->kind == x->rows.kind || !x->rows.indptr)
        && (double)queries->n * (double)k * x->n_threads <= NMLSDR_MOST_KEPT)
        code = nmlsdr_find_packed(x, queries, k, squared, indices, memory);
    return code == 1 ? nmlsdr_find_unpacked(x, queries, k, squared, indices, memory) : code;
}

/* The k first of a list of n, sorted, and of the rows of zeros. */
static void nmlsdr_with_zeros(const struct nmlsdr_index *x, ptrdiff_t k, const double *near, const ptrdiff_t *row, ptrdiff_t n,
                              double *squared, ptrdiff_t *indices)
{
    const ptrdiff_t zeros = x->n - x->rows.n;
    for (ptrdiff_t z = 0, p = 0; z + p < k;) {
        const ptrdiff_t zero = z < zeros ? x->number[x->n - 1 - z] : -1, to = z + p;
        const ptrdiff_t found = p == n ? -1 : x->number ? x->number[row[p]] : row[p];
        const int takes_zero = z < zeros && (p == n || nmlsdr_worse(near[p], found, NMLSDR_ZERO_ROW, zero));
        squared[to] = takes_zero ? NMLSDR_ZERO_ROW : near[p];
        indices[to] = takes_zero ? zero : found;
        z += takes_zero;
        p += !takes_zero;
    }
}

static int nmlsdr_search_angles(const struct nmlsdr_index *x, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                                ptrdiff_t *indices, nmlsdr_memory *memory)
{
    struct nmlsdr_index units;
    const struct nmlsdr_index *u = queries ? &units : x;
    const ptrdiff_t others = queries ? 0 : 1;
    if (queries) nmlsdr_take_units(memory, &units, queries);
    if (memory->failed) return -1;

    const ptrdiff_t m = u->rows.n, left = x->rows.n - others, n_found = k < left ? k : left < 0 ? 0 : left;
    const int plain = m == u->n && x->rows.n == x->n; /* no row of zeros */
    double *near = plain ? squared : (double *)nmlsdr_new(memory, m * n_found, sizeof(double));
    ptrdiff_t *row = plain ? indices : (ptrdiff_t *)nmlsdr_new(memory, m * n_found, sizeof(ptrdiff_t));
    if (memory->failed) return -1;
    if (m && n_found && nmlsdr_find_among(x, queries ? &u->rows : NULL, n_found, near, row, memory)) return -1;

    for (ptrdiff_t i = 0; i < u->n && !plain; i++) {
        const ptrdiff_t query = u->number[i], at = query * k;
        if (i < m) {
            nmlsdr_with_zeros(x, k, near + i * n_found, row + i * n_found, n_found, squared + at, indices + at);
            continue;
        }
        for (ptrdiff_t p = 0; p < k; p++) { /* all are as far from a row of zeros: the first */
            squared[at + p] = NMLSDR_ZERO_ROW;
            indices[at + p] = p + (others && p >= query);
        }
    }
    return 0;
}

/* Fill squared and indices (n queries, k); queries NULL: the rows themselves.  -1: out of memory. */
static int nmlsdr_index_search(const struct nmlsdr_index *x, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                               ptrdiff_t *indices)
{
    enum { SPARE = 1 << 15 }; /* enough for a query of some hundred features: malloc took a third of its time */
    NM_ALIGNED double spare[SPARE / sizeof(double)];
    nmlsdr_memory memory = {NULL, 0, SPARE, (char *)spare};
    if (queries && queries->n == 0) return 0;
    const int failed = x->by_angle ? nmlsdr_search_angles(x, queries, k, squared, indices, &memory)
                                   : nmlsdr_find_among(x, queries, k, squared, indices, &memory);
    nmlsdr_free_all(&memory);
    return failed;
}

#endif
