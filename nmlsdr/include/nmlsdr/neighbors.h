/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact nearest neighbours for C99 and C++17, without Python: nothing is linked but libm.
 *
 *     #include <nmlsdr/neighbors.h>
 *
 *     nmlsdr_rows rows = nmlsdr_dense(NMLSDR_FLOAT64, data, n, d);
 *     nmlsdr_index *index;
 *     int code = nmlsdr_index_new(&rows, NMLSDR_EUCLIDEAN, &index, 0);
 *     if (code == NMLSDR_OK) code = nmlsdr_index_query(index, &queries, k, distances, neighbors, 1);
 *     if (code != NMLSDR_OK) puts(nmlsdr_message(code));
 *     nmlsdr_index_free(index);
 *
 * The results have the bits of `graph.kneighbors` in Python, whatever the compiler, its options (those of -ffast-math are refused), the
 * number of threads and the processor.  docs/give_neighbours_c.md has whole programs, and how CMake finds this file.
 *
 * * Threads.  Any number of threads may query one index at once.  n_threads: of one call, if OpenMP is switched on
 *   (-fopenmp); at most as many as are of use; 0 or less: those that OpenMP would take.  A forked child of a process
 *   that has used several must pass 1.
 * * Vectors.  GCC and clang compile the kernels for several processors, and the best one is chosen when a function is
 *   called.  The environment variable NMLSDR_SIMD may name another: portable, avx2, vnni; neon.
 *   -DNMLSDR_PORTABLE_ONLY leaves the others out.
 * * Files.  Everything here is static, so a file that includes this header compiles the kernels, which takes about five
 *   seconds.  Where several do, compile them with -DNMLSDR_EXTERN, which leaves only declarations, and one C file that
 *   defines NMLSDR_IMPLEMENTATION, too.
 * * A long search cannot be stopped.  Input must not change during a call; after an error, what the outputs hold is
 *   undefined.
 *
 * Beside `include/` lies the folder `_c/`, which this file includes: copy both to take them into a project.
 */
#ifndef NMLSDR_NEIGHBORS_H
#define NMLSDR_NEIGHBORS_H

#include "begin.h"

#ifdef NMLSDR_IMPLEMENTATION
#include "../../_c/radius.h"
#else
#include "../../_c/rows.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Rows or queries, as the caller holds them: n rows of d numbers in C order; type: NMLSDR_FLOAT32 or NMLSDR_FLOAT64.  Rows
 * of float32 are compared in float64. */
NMLSDR_FUNCTION nmlsdr_rows nmlsdr_dense(int type, const void *data, ptrdiff_t n, ptrdiff_t d);

/* n rows of d numbers as CSR: those of row i that are not 0 are data[indptr[i]] .. data[indptr[i + 1] - 1], in the columns
 * of the same places, which increase within a row.  indptr[0] is 0. */
NMLSDR_FUNCTION nmlsdr_rows nmlsdr_csr(int type, const void *data, const int32_t *columns, const int64_t *indptr, ptrdiff_t n,
                                       ptrdiff_t d);

/* Find the k nearest rows of each of the queries, or, if queries is NULL, the k nearest other rows of each row.  An equal row
 * is another row, at distance 0.
 * In: rows and queries, both dense or both CSR, of either type; 1 <= k <= n < 2^31 - 1, without queries k < n; d >= 1.
 * Out: distances and row numbers of the neighbours (queries x k), ordered by (distance, row).
 * Distances are squared for NMLSDR_EUCLIDEAN, and 1 - cos of the angle for NMLSDR_COSINE, where a row of zeros is at 1 from
 * every other. */
NMLSDR_FUNCTION int nmlsdr_nearest(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, ptrdiff_t k,
                                   double *distances, ptrdiff_t *neighbors, int n_threads);

/* Count the rows within a radius of each of the queries, or, if queries is NULL, the other rows within it of each row.
 * In: rows, queries and metric as above; radius >= 0, also infinity: a distance.  A row is within it if its squared distance is at
 * most radius * radius in double (NMLSDR_COSINE: its 1 - cos at most the radius).
 * Out: indptr (queries + 1), which nmlsdr_radius_fill takes: 0, and then after each query the number of rows so far. */
NMLSDR_FUNCTION int nmlsdr_radius_count(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, double radius,
                                        int64_t *indptr, int n_threads);

/* Store the rows that were counted, as a CSR matrix.
 * In: the arguments of nmlsdr_radius_count, and its indptr; NMLSDR_BAD_SIZE if it belongs to others.
 * Out: distances and row numbers (indptr[queries]); those of each query are ordered by (distance, row), and the distances are
 * squared as above. */
NMLSDR_FUNCTION int nmlsdr_radius_fill(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, double radius,
                                       const int64_t *indptr, double *distances, int32_t *columns, int n_threads);

/* Prepare rows for many searches with few queries each.  Out: an index, which contains a copy of the rows and must be passed
 * to nmlsdr_index_free in the end; after an error it is what it was before. */
NMLSDR_FUNCTION int nmlsdr_index_new(const nmlsdr_rows *rows, int metric, nmlsdr_index **index, int n_threads);

/* As nmlsdr_nearest with these queries, one or many. */
NMLSDR_FUNCTION int nmlsdr_index_query(const nmlsdr_index *index, const nmlsdr_rows *queries, ptrdiff_t k, double *distances,
                                       ptrdiff_t *neighbors, int n_threads);

/* As nmlsdr_index_query, among the rows i with allowed[i] not 0, of which there are at least k (otherwise NMLSDR_BAD_K).
 * In: allowed (one byte for each row of the index); NULL: all. */
NMLSDR_FUNCTION int nmlsdr_index_query_allowed(const nmlsdr_index *index, const nmlsdr_rows *queries, ptrdiff_t k,
                                               const unsigned char *allowed, double *distances, ptrdiff_t *neighbors,
                                               int n_threads);

/* Free an index; NULL is allowed. */
NMLSDR_FUNCTION void nmlsdr_index_free(nmlsdr_index *index);

#ifdef NMLSDR_IMPLEMENTATION

NMLSDR_FUNCTION nmlsdr_rows nmlsdr_dense(int type, const void *data, ptrdiff_t n, ptrdiff_t d)
{
    const nmlsdr_rows rows = {
        type == NMLSDR_FLOAT32 ? NMLSDR_DENSE_F32 : type == NMLSDR_FLOAT64 ? NMLSDR_DENSE_F64 : -1, n, d, data, NULL, NULL};
    return rows;
}

NMLSDR_FUNCTION nmlsdr_rows nmlsdr_csr(int type, const void *data, const int32_t *columns, const int64_t *indptr, ptrdiff_t n,
                                       ptrdiff_t d)
{
    const nmlsdr_rows rows = {
        type == NMLSDR_FLOAT32 ? NMLSDR_CSR_F32 : type == NMLSDR_FLOAT64 ? NMLSDR_CSR_F64 : -1, n, d, data, columns, indptr};
    return rows;
}

/* Whether these pointers of CSR rows stay inside, and columns increase. */
static int nmlsdr_csr_code(const nmlsdr_rows *x)
{
    if (!x->indptr) return NMLSDR_NULL_POINTER;
    if (x->indptr[0] != 0) return NMLSDR_BAD_GRAPH;
    for (ptrdiff_t i = 0; i < x->n; i++)
        if (x->indptr[i + 1] < x->indptr[i]) return NMLSDR_BAD_GRAPH;
    if (x->indptr[x->n] && !x->indices) return NMLSDR_NULL_POINTER;
    for (ptrdiff_t i = 0; i < x->n; i++) {
        int64_t last = -1;
        for (int64_t p = x->indptr[i]; p < x->indptr[i + 1]; last = x->indices[p++])
            if (x->indices[p] <= last || x->indices[p] >= x->d) return NMLSDR_BAD_GRAPH;
    }
    return NMLSDR_OK;
}

static int nmlsdr_rows_code(const nmlsdr_rows *x, ptrdiff_t least)
{
    enum { MOST = 2147483646 };
    int wrong = 0, code = NMLSDR_OK;
    if (!x) return NMLSDR_NULL_POINTER;
    if (x->kind < NMLSDR_DENSE_F32 || x->kind > NMLSDR_CSR_F64) return NMLSDR_UNKNOWN_NAME;
    if (x->n < least || x->n > MOST || x->d < 1) return NMLSDR_BAD_SIZE;
    if (x->kind > NMLSDR_DENSE_F64) code = x->d > MOST ? NMLSDR_BAD_SIZE : nmlsdr_csr_code(x);
    else if (x->n && x->d > PTRDIFF_MAX / 16 / x->n) code = NMLSDR_BAD_SIZE;
    if (code != NMLSDR_OK) return code;

    const ptrdiff_t stored = nmlsdr_row_pointer(x, x->n);
    if (stored && !x->data) return NMLSDR_NULL_POINTER;
    if (x->kind & 1)
        for (ptrdiff_t p = 0; p < stored; p++) wrong |= !(fabs(((const double *)x->data)[p]) <= 1e150);
    else
        for (ptrdiff_t p = 0; p < stored; p++) wrong |= !(fabsf(((const float *)x->data)[p]) <= 0x1.fffffep127f);
    return wrong ? NMLSDR_NOT_FINITE : NMLSDR_OK;
}

/* The level and the number of threads of the next search; an error code. */
static int nmlsdr_set_out(struct nmlsdr_index *x, int metric, int n_threads)
{
    if (metric != NMLSDR_EUCLIDEAN && metric != NMLSDR_COSINE) return NMLSDR_UNKNOWN_NAME;
    x->level = nmlsdr_wanted_level();
    x->n_threads = nmlsdr_threads(n_threads);
    return x->level < 0 ? NMLSDR_UNKNOWN_NAME : NMLSDR_OK;
}

/* Search for queries that were checked, or NULL. */
static int nmlsdr_fill(const struct nmlsdr_index *x, const nmlsdr_rows *queries, ptrdiff_t k, const unsigned char *allowed,
                       double *distances, ptrdiff_t *neighbors)
{
    ptrdiff_t n = x->n;
    for (ptrdiff_t i = 0; allowed && i < x->n; i++) n -= !allowed[i];
    const ptrdiff_t q = queries ? queries->n : x->n;
    if (queries && (queries->d != x->rows.d || !queries->indptr != !x->rows.indptr)) return NMLSDR_BAD_SIZE;
    if (k < 1 || k > n - !queries) return NMLSDR_BAD_K;
    if (q && k > PTRDIFF_MAX / 64 / q) return NMLSDR_BAD_SIZE;
    if (q && (!distances || !neighbors)) return NMLSDR_NULL_POINTER;
    if (nmlsdr_index_search(x, queries, k, allowed, distances, neighbors)) return NMLSDR_NO_MEMORY;
    for (ptrdiff_t p = 0; x->by_angle && p < q * k; p++) distances[p] *= 0.5; /* 1 - cos of rows of length 1 */
    return NMLSDR_OK;
}

NMLSDR_FUNCTION int nmlsdr_nearest(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, ptrdiff_t k,
                                   double *distances, ptrdiff_t *neighbors, int n_threads)
{
    struct nmlsdr_index x = {{NULL}};
    int code = nmlsdr_set_out(&x, metric, n_threads);
    if (code == NMLSDR_OK) code = nmlsdr_rows_code(rows, 1);
    if (code == NMLSDR_OK && queries) code = nmlsdr_rows_code(queries, 0);
    if (code != NMLSDR_OK) return code;
    if (nmlsdr_index_begin(&x, rows, metric == NMLSDR_COSINE, 0, -1)) code = NMLSDR_NO_MEMORY;
    else code = nmlsdr_fill(&x, queries, k, NULL, distances, neighbors);
    nmlsdr_index_end(&x);
    return code;
}

/* Count with an indptr of NULL, otherwise fill. */
static int nmlsdr_radius_run(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, double radius, int64_t *count,
                             const int64_t *indptr, double *distances, int32_t *columns, int n_threads)
{
    struct nmlsdr_index x = {{NULL}};
    const int by_angle = metric == NMLSDR_COSINE;
    int code = nmlsdr_set_out(&x, metric, n_threads);
    if (code == NMLSDR_OK) code = nmlsdr_rows_code(rows, 1);
    if (code == NMLSDR_OK && queries) code = nmlsdr_rows_code(queries, 0);
    if (code != NMLSDR_OK) return code;
    if (queries && (queries->d != rows->d || !queries->indptr != !rows->indptr)) return NMLSDR_BAD_SIZE;
    if (!(radius >= 0)) return NMLSDR_BAD_VALUE;
    nmlsdr_within within = {nmlsdr_radius_limit(radius, by_angle), count, indptr, distances, columns, NULL, NULL};
    int failed = nmlsdr_index_begin(&x, rows, by_angle, 0, -1);
    if (!failed) failed = nmlsdr_radius_search(&x, queries, &within);
    nmlsdr_index_end(&x);
    return failed < 0 ? NMLSDR_NO_MEMORY : failed ? NMLSDR_BAD_SIZE : NMLSDR_OK;
}

NMLSDR_FUNCTION int nmlsdr_radius_count(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, double radius,
                                        int64_t *indptr, int n_threads)
{
    if (!rows || !indptr) return NMLSDR_NULL_POINTER;
    const ptrdiff_t q = queries ? queries->n : rows->n;
    if (q < 0 || q >= INT32_MAX) return NMLSDR_BAD_SIZE;
    memset(indptr, 0, (size_t)(q + 1) * sizeof(int64_t));
    const int code = nmlsdr_radius_run(rows, queries, metric, radius, indptr + 1, NULL, NULL, NULL, n_threads);
    for (ptrdiff_t i = 0; code == NMLSDR_OK && i < q; i++) indptr[i + 1] += indptr[i];
    return code;
}

/* Whether these pointers, one for each query and one more, begin at 0 and never fall. */
static int nmlsdr_pointers_code(const int64_t *indptr, ptrdiff_t q)
{
    if (indptr[0] != 0) return NMLSDR_BAD_SIZE;
    for (ptrdiff_t i = 0; i < q; i++)
        if (indptr[i + 1] < indptr[i]) return NMLSDR_BAD_SIZE;
    return NMLSDR_OK;
}

NMLSDR_FUNCTION int nmlsdr_radius_fill(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, double radius,
                                       const int64_t *indptr, double *distances, int32_t *columns, int n_threads)
{
    if (!rows || !indptr) return NMLSDR_NULL_POINTER;
    const ptrdiff_t q = queries ? queries->n : rows->n;
    if (q < 0 || q >= INT32_MAX || nmlsdr_pointers_code(indptr, q) != NMLSDR_OK) return NMLSDR_BAD_SIZE;
    if (indptr[q] && (!distances || !columns)) return NMLSDR_NULL_POINTER;
    int64_t *count = (int64_t *)calloc((size_t)q + 1, sizeof(int64_t));
    if (!count) return NMLSDR_NO_MEMORY;
    const int code = nmlsdr_radius_run(rows, queries, metric, radius, count, indptr, distances, columns, n_threads);
    free(count);
    for (int64_t p = 0; metric == NMLSDR_COSINE && code == NMLSDR_OK && p < indptr[q]; p++) distances[p] *= 0.5;
    return code;
}

NMLSDR_FUNCTION int nmlsdr_index_new(const nmlsdr_rows *rows, int metric, nmlsdr_index **index, int n_threads)
{
    struct nmlsdr_index x = {{NULL}};
    int code = nmlsdr_set_out(&x, metric, n_threads);
    if (code == NMLSDR_OK && !index) code = NMLSDR_NULL_POINTER;
    if (code == NMLSDR_OK) code = nmlsdr_rows_code(rows, 1);
    if (code != NMLSDR_OK) return code;
    nmlsdr_index *made = (nmlsdr_index *)malloc(sizeof(nmlsdr_index));
    if (!made || nmlsdr_index_begin(&x, rows, metric == NMLSDR_COSINE, 2, -1)) {
        nmlsdr_index_end(&x);
        free(made);
        return NMLSDR_NO_MEMORY;
    }
    *made = x;
    *index = made;
    return NMLSDR_OK;
}

NMLSDR_FUNCTION int nmlsdr_index_query_allowed(const nmlsdr_index *index, const nmlsdr_rows *queries, ptrdiff_t k,
                                               const unsigned char *allowed, double *distances, ptrdiff_t *neighbors,
                                               int n_threads)
{
    if (!index) return NMLSDR_NULL_POINTER;
    struct nmlsdr_index x = *index; /* with a level and threads of its own */
    int code = nmlsdr_set_out(&x, NMLSDR_EUCLIDEAN, n_threads);
    if (code == NMLSDR_OK) code = nmlsdr_rows_code(queries, 0);
    return code == NMLSDR_OK ? nmlsdr_fill(&x, queries, k, allowed, distances, neighbors) : code;
}

NMLSDR_FUNCTION int nmlsdr_index_query(const nmlsdr_index *index, const nmlsdr_rows *queries, ptrdiff_t k, double *distances,
                                       ptrdiff_t *neighbors, int n_threads)
{
    return nmlsdr_index_query_allowed(index, queries, k, NULL, distances, neighbors, n_threads);
}

NMLSDR_FUNCTION void nmlsdr_index_free(nmlsdr_index *index)
{
    if (index) nmlsdr_index_end(index);
    free(index);
}

#endif

#ifdef __cplusplus
}
#endif

#include "end.h"

#endif
