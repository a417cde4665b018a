/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nmlsdr for C: exact neighbours, the graph W, its transition matrix T and the propagation of labels.
 *
 *     #include <Python.h>
 *     #include <nmlsdr.h>                          (add nmlsdr.get_include() to the include folders)
 *
 *     const nmlsdr_api *api = nmlsdr_import();     once, with the GIL; NULL with an exception set on failure
 *     code = api->nearest(NMLSDR_FLOAT64, NMLSDR_EUCLIDEAN, rows, n, NULL, 0, d, k, squared, neighbors, n_threads);
 *
 * A Python module needs no library for this.  A program with `main` links libpython and starts the interpreter first;
 * there must be no call after Py_FinalizeEx.  All but `propagate` needs no Python at all: see nmlsdr/neighbors.h, graph.h and
 * mlknn.h.
 *
 * Call every function without the GIL.  Only `propagate` acquires it, between the steps of its kernel; its first call imports
 * Python modules, which takes up to a second, and one of them handles SIGINT, unless your program has a handler already.  So a thread that waits for a calling thread, by a lock or a join, must not hold the GIL meanwhile:
 * both would wait for ever.  Input must not change during a call; after an error, what the outputs hold is undefined.
 * n_threads <= 0 stands for as many threads as OpenMP would take, in `propagate` for all cores that the process may use.
 * Threads that call at once have n_threads each.  In a forked child every function runs on one thread.
 *
 * In Cython, use `cimport nmlsdr.c_api`, which has the same functions and needs no header.
 *
 * NMLSDR_API increases when functions are added at the end of the table; the existing ones keep their position and
 * meaning.  A module works with the nmlsdr that it was compiled against, and with every later version that has the same
 * NMLSDR_API_NAME.
 */
#ifndef NMLSDR_H
#define NMLSDR_H

#include <Python.h>

#include "nmlsdr/codes.h" /* return codes, types, metrics, nmlsdr_index */

#define NMLSDR_API 1
#define NMLSDR_API_NAME "nmlsdr.c_api.TABLE"

/* How accurately the soft labels of propagate solve eq. (8). */
typedef struct {
    double residual;       /* largest absolute entry of the residual of eq. (8) */
    double error_bound;    /* no entry of F differs from the solution by more than this */
    Py_ssize_t n_iter;     /* number of iterations, for the label that took most */
    Py_ssize_t n_unreached; /* number of rows in components of the graph without a labelled row */
} nmlsdr_quality;

typedef struct {
    int version; /* NMLSDR_API of the installed nmlsdr */

    /* Find the k nearest rows of each of the q queries, or, with queries NULL and q 0, the k nearest other rows of each
     * of the n rows.  So an empty batch of queries needs a pointer that is not NULL.  An equal row is another row, at
     * distance 0.  Rows of float32 are compared in float64.
     * In: rows (n x d, C order) and queries (q x d) of this type; d >= 1; 1 <= k <= n < 2^31 - 1, without queries k < n.
     * Out: distances and row numbers of the neighbours (q x k, without queries n x k), ordered by (distance, row).
     * Distances are squared for NMLSDR_EUCLIDEAN, and 1 - cos of the angle for NMLSDR_COSINE. */
    int (*nearest)(int type, int metric, const void *rows, Py_ssize_t n, const void *queries, Py_ssize_t q, Py_ssize_t d,
                   Py_ssize_t k, double *distances, Py_ssize_t *neighbors, int n_threads);

    /* Build the binary graph W of eq. (3) as a CSR matrix.
     * In: the neighbours of each row (n x k); a row is not among its own neighbours, and no neighbour appears twice.
     * Out: indptr (n + 1) and columns (space for 2 n k numbers), increasing within a row.
     * Returns the number of stored entries, in which each edge counts twice, or an error code. */
    Py_ssize_t (*neighbor_graph)(const Py_ssize_t *neighbors, Py_ssize_t n, Py_ssize_t k, int64_t *indptr, int32_t *columns,
                                 int n_threads);

    /* Compute T of eq. (5), which has its entries in the same positions as W.
     * In: W as CSR: symmetric, with increasing columns in each row and no diagonal; weights NULL: every weight is 1.
     * Out: values (one for each stored entry of W). */
    int (*transition_matrix)(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n, double *values,
                             int n_threads);

    /* Solve (I - A T) F = (I - A) Y, eq. (8), with A = diag(alpha).
     * In: W as above; Y (n x n_labels, C order) in [0, 1]; alpha (n) in [0, 1); labeled (n), 1 for a labelled row, or
     * NULL for the rows with any Y != 0; tol > 0, the accepted residual.
     * Out: F (n x n_labels) and, unless NULL, quality.
     * Returns NMLSDR_OK even if the residual is above tol; compare `quality->residual` with tol. */
    int (*propagate)(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n, const double *Y,
                     Py_ssize_t n_labels, const double *alpha, const unsigned char *labeled, double tol, double *F,
                     nmlsdr_quality *quality, int n_threads);

    /* Prepare rows for many searches with few queries each.  Out: an index, which contains a copy of the rows and must
     * be passed to index_free in the end.  After an error *index is what it was before. */
    int (*index_new)(int type, int metric, const void *rows, Py_ssize_t n, Py_ssize_t d, nmlsdr_index **index, int n_threads);
    /* Find the k nearest rows of each of the q queries (q x d, C order; not NULL, even if q is 0), with 1 <= k <= n.
     * The type of the queries may differ from that of the index.
     * The results are those of `nearest` with queries.  Queries are always compared with all rows: a row that is its
     * own query finds itself first, or an equal row with a lower number.  Several threads may use one index at once. */
    int (*index_query)(const nmlsdr_index *index, int type, const void *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
                       double *distances, Py_ssize_t *neighbors, int n_threads);
    /* Free an index; NULL is allowed. */
    void (*index_free)(nmlsdr_index *index);

    /* A sentence that says what a return code means.  This function needs no care for the GIL. */
    const char *(*message)(int code);
} nmlsdr_api;

/* The table of the installed nmlsdr.  NULL with an exception set if nmlsdr is missing or older than this header; NULL
 * and nothing else if no interpreter runs. */
static inline const nmlsdr_api *nmlsdr_import(void)
{
    if (!Py_IsInitialized()) return NULL;
    PyObject *module = PyImport_ImportModule("nmlsdr.c_api"); /* PyCapsule_Import would hide the cause of a failure */
    if (module == NULL) return NULL;
    Py_DECREF(module);
    const nmlsdr_api *api = (const nmlsdr_api *)PyCapsule_Import(NMLSDR_API_NAME, 0);
    if (api != NULL && api->version < NMLSDR_API) {
        PyErr_Format(PyExc_ImportError, "this module needs an nmlsdr with C interface %d or later, the installed has %d.",
                     NMLSDR_API, api->version);
        return NULL;
    }
    return api;
}

#endif
