/* nmlsdr for C: exact neighbours, the graph W, its transition matrix T and the propagation of labels.
 *
 *     #include <Python.h>
 *     #include <nmlsdr.h>                          (add nmlsdr.get_include() to the include folders)
 *
 *     const nmlsdr_api *api = nmlsdr_import();     once, with the GIL; NULL with an exception set on failure
 *     code = api->nearest_f64(rows, n, d, k, squared, neighbors, n_threads);
 *
 * Nothing is to be linked.  Every function is called without the GIL and takes it between the steps of its kernel: hold no
 * lock that a thread with the GIL may wait for.  In a forked child they run on one thread, whatever n_threads says.
 * Cython: `cimport nmlsdr.c_api`, which has the same functions and needs no header.
 *
 * NMLSDR_API counts what is added at the end of the table; what is there keeps its place and its meaning.  A module runs
 * with the nmlsdr that it was compiled against and with every later one of the same NMLSDR_API_NAME.
 */
#ifndef NMLSDR_H
#define NMLSDR_H

#include <Python.h>

#define NMLSDR_API 1
#define NMLSDR_API_NAME "nmlsdr.c_api.TABLE"

/* What the functions return beside what they say: */
enum {
    NMLSDR_OK = 0,
    NMLSDR_NO_MEMORY = -1,
    NMLSDR_BAD_ARGUMENT = -2,
    NMLSDR_INTERRUPTED = -3, /* by Ctrl-C, of which Python is told again */
    NMLSDR_FAILED = -4       /* Python failed */
};

/* How well the soft labels solve the system of propagate. */
typedef struct {
    double residual;       /* of eq. (8), the largest over all entries */
    double error_bound;    /* no entry of F is further than this from the solution */
    Py_ssize_t n_iter;     /* sweeps of the label that took most */
    Py_ssize_t n_unreached; /* rows in components of the graph without a labelled row, whose soft labels are 0 */
} nmlsdr_quality;

typedef struct {
    int version; /* NMLSDR_API of the nmlsdr that runs */

    /* The k nearest other rows of each of the n rows (C order, n x d): squared distances out (n x k) in the order
     * (squared distance, row).  Finite values of at most 1e150, 1 <= k < n < 2^31 - 1, d >= 1, n_threads >= 1. */
    int (*nearest_f32)(const float *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k, double *squared,
                       Py_ssize_t *neighbors, int n_threads);
    int (*nearest_f64)(const double *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k, double *squared,
                       Py_ssize_t *neighbors, int n_threads);
    /* The k nearest rows of each of the q queries (q x d); 1 <= k <= n. */
    int (*nearest_to_f32)(const float *rows, Py_ssize_t n, const float *queries, Py_ssize_t q, Py_ssize_t d,
                          Py_ssize_t k, double *squared, Py_ssize_t *neighbors, int n_threads);
    int (*nearest_to_f64)(const double *rows, Py_ssize_t n, const double *queries, Py_ssize_t q, Py_ssize_t d,
                          Py_ssize_t k, double *squared, Py_ssize_t *neighbors, int n_threads);

    /* The binary graph W of eq. (3) from each row's neighbours (n x k; none itself, none twice), as CSR: out indptr
     * (n + 1) and columns (room for 2 n k), increasing within a row.  The number of its edges, each counted twice. */
    Py_ssize_t (*neighbor_graph)(const Py_ssize_t *neighbors, Py_ssize_t n, Py_ssize_t k, int64_t *indptr,
                                 int32_t *columns, int n_threads);

    /* T of eq. (5) in the places of W's edges: out values.  W: increasing columns in each row, symmetric, no diagonal;
     * weights NULL: every edge weighs 1. */
    int (*transition_matrix)(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n,
                             double *values, int n_threads);

    /* F with (I - A T) F = (I - A) Y, eq. (8): W as above, Y (n x n_labels, C order) in [0, 1], A = diag(alpha), labeled
     * (n) with 1 for a labelled row, or NULL for the rows with any Y != 0; out F (n x n_labels) and, unless NULL, how
     * well it solves the system.  NMLSDR_OK too where the residual stays above tol: `residual` tells. */
    int (*propagate)(const int64_t *indptr, const int32_t *columns, const double *weights, Py_ssize_t n,
                     const double *Y, Py_ssize_t n_labels, const double *alpha, const unsigned char *labeled,
                     double tol, double *F, nmlsdr_quality *quality, int n_threads);
} nmlsdr_api;

/* The table of the nmlsdr that is installed, or NULL with an exception set: not there, or older than this header. */
static inline const nmlsdr_api *nmlsdr_import(void)
{
    const nmlsdr_api *api = (const nmlsdr_api *)PyCapsule_Import(NMLSDR_API_NAME, 0);
    if (api != NULL && api->version < NMLSDR_API) {
        PyErr_Format(PyExc_ImportError, "this module needs an nmlsdr with C interface %d or later, the installed has %d.",
                     NMLSDR_API, api->version);
        return NULL;
    }
    return api;
}

#endif
