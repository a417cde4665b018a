/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all headers of nmlsdr have in common: return codes and their sentences, types, metrics. */
#ifndef NMLSDR_CODES_H
#define NMLSDR_CODES_H

/* Return codes of all functions; nmlsdr_message says each in a sentence: */
enum {
    NMLSDR_OK = 0,
    NMLSDR_NO_MEMORY = -1,
    NMLSDR_NULL_POINTER = -2, /* NULL where nothing below allows it */
    NMLSDR_NOT_FINITE = -3,   /* NaN, infinity or a magnitude above 1e150 in rows, labels, alpha or weights; for rows,
                                 graph.kneighbors in Python names the row and the column */
    NMLSDR_BAD_K = -4,
    NMLSDR_BAD_SIZE = -5,     /* a number of rows, features, queries or labels */
    NMLSDR_UNKNOWN_NAME = -6, /* type, metric, or the environment variable NMLSDR_SIMD */
    NMLSDR_BAD_GRAPH = -7,    /* neighbors, indptr or columns */
    NMLSDR_BAD_VALUE = -8,    /* W not symmetric; weights, Y, alpha, tol, smoothing, radius or sigma out of range */
    NMLSDR_INTERRUPTED = -9,  /* by Ctrl-C, in a function that calls Python */
    NMLSDR_FAILED = -10       /* an unexpected exception in Python */
};

/* For the functions that take `type` and `metric`: */
enum { NMLSDR_FLOAT32 = 0, NMLSDR_FLOAT64 = 1 };
enum { NMLSDR_EUCLIDEAN = 0, NMLSDR_COSINE = 1 };

/* Rows that were prepared once for many searches: `graph.ExactIndex` of Python. */
typedef struct nmlsdr_index nmlsdr_index;

/* A sentence that says what a return code means. */
static inline const char *nmlsdr_message(int code)
{
    static const char *const sentences[] = {
        "Success.",
        "Out of memory.",
        "A pointer is NULL that must not be.",
        "Rows, labels, alpha or weights hold NaN, infinity or a magnitude above 1e150.",
        "k must be from 1 to the number of rows, or to one less where the rows search among themselves.",
        "n, d and n_labels must be from 1 to 2^31 - 2, q at least 0, and d that of the index.",
        "type, metric or the environment variable NMLSDR_SIMD is unknown.",
        "neighbors, indptr or columns do not give every row different other rows, columns in increasing order.",
        ("W must be symmetric with weights of at least 0, Y in [0, 1] (for ML-kNN 0 or 1), alpha in [0, 1), tol and smoothing "
         "above 0, a radius and sigma at least 0."), /* in parentheses, or clang warns of a missing comma */
        "Interrupted by Ctrl-C.",
        "An unexpected error in Python.",
    };
    return NMLSDR_FAILED <= code && code <= NMLSDR_OK ? sentences[-code] : "Not a code of nmlsdr.";
}

#endif
