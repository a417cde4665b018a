/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a search by products: its two sides, the scaling and storage of the rows, its sizes, and
 * its progress. */
#ifndef NMLSDR_PRODUCTS_STATE_H
#define NMLSDR_PRODUCTS_STATE_H

#include <math.h>
#include <string.h>

#include "kernel_types.h"
#include "nearest.h"
#include "platform.h"
#include "rows.h"
#include "within.h"

#define NMLSDR_BLOCK 96 /* rows in a block: a multiple of 3 vectors at every level */
#define NMLSDR_KC 192   /* features per pass: 4 groups of 8 floats stay in a 32 kB first-level cache */
/* blocks that stay near while they are paired with as many others, if threads have enough to do */
#define NMLSDR_SPAN 8
/* bytes of packed rows that stay near from packing to product, if the queries are few */
#define NMLSDR_NEAR 2e6
#define NMLSDR_LOWEST (-0x1p126f) /* below every score */

typedef struct {
    float score;
    int32_t position;
} nmlsdr_candidate;

/* The queries, or the rows.  A position is a place in the order of the blocks. */
typedef struct {
    nmlsdr_rows rows;
    ptrdiff_t blocks;
    const ptrdiff_t *order;      /* position -> row, or NULL */
    const double *lead;          /* leading coordinates and squared norm (n, lead_d + 1), by row, or NULL */
    float *lead_z, *lead_h;      /* packed leading coordinates and their h, one block after the other */
    /* half the squared norm, the share of the error bound, the threshold: by position */
    float *h, *e, *t;
    nmlsdr_candidate *candidate; /* (n, capacity) */
    int32_t *count;              /* candidates of each position */
    double *squared;             /* (n, k) the nearest so far, by row (nearest.h) */
    ptrdiff_t *indices;
} nmlsdr_side;

/* What one thread needs for itself. */
typedef struct {
    float *lower;         /* capacity and up to eight: lower bounds of one row's candidates */
    ptrdiff_t *which;     /* capacity: those that are decided, */
    double *apart;        /* their squared distances, */
    nmlsdr_found *found;  /* both as pairs, and as much memory again to sort them */
    double *query;        /* (d) the row that they are candidates of */
    float *partial;       /* one block of products */
    int32_t *slots;       /* the frequent features that a sparse row holds */
    int64_t decided;      /* canonical distances computed */
    int64_t pairs;        /* pairs of blocks that were multiplied */
    int64_t tiles, alive; /* tested by their leading coordinates, and not ruled out */
    unsigned char *tile;  /* one block pair's */
    char pad[64];
} nmlsdr_scratch;

/* From values to floats and back (products_scale.h). */
typedef struct {
    double *centre;   /* (d) */
    double scale;     /* a power of two */
    double extent;    /* of an index: max |x - centre| of its rows, */
    double norm;      /* and the largest norm of a row around the centre */
    double absolute;  /* the share of the error bound that underflow takes */
    ptrdiff_t terms;  /* roundings in the longest sum of products, less a few */
    int integral;     /* all scores are exact */
    /* what the rounding of two rows to 16 bits changes in their distance at most; 0 for floats */
    float slack;
} nmlsdr_scaling;

/* Packed blocks, or columns and postings (products_storage.h). */
typedef struct {
    int sparse;             /* columns and postings */
    int integers;           /* bits of the integers that packed rows hold, 16, or 0: floats */
    ptrdiff_t words;        /* of four bytes, in a packed row */
    ptrdiff_t block;        /* rows in a block */
    ptrdiff_t longest;      /* entries that a row holds at most */
    int32_t *posting_ptr;   /* sparse rows by block and feature: (blocks, d + 2), then one per entry */
    int32_t *posting_row;
    float *posting_value;
    int32_t *slot;          /* (d) which column holds the feature, -1: postings */
    ptrdiff_t frequent;     /* features that are stored as columns */
    float *columns;         /* (blocks, strips, frequent, 8 lanes) */
} nmlsdr_storage;

/* Sizes that change how long a search takes, not what it finds. */
typedef struct {
    ptrdiff_t capacity;   /* candidates of a row at most */
    ptrdiff_t high_water; /* a buffer that is fuller than this after tightening is decided at once */
    ptrdiff_t lead_d;     /* leading coordinates; 0: none */
    ptrdiff_t pass;       /* words of a packed row per pass */
    ptrdiff_t span;       /* blocks that are visited together */
    ptrdiff_t chunk;      /* blocks in a window */
} nmlsdr_tuning;

/* The progress of a search. */
/* a thread may take one of this many pairs of spans, counted from the first that is not taken */
enum { NMLSDR_AHEAD = 4096 };
typedef struct {
    ptrdiff_t chunk_a;   /* which window of the queries is in work */
    ptrdiff_t chunk_b;   /* which window of the rows */
    ptrdiff_t first;     /* all pairs of spans before this one are taken */
    ptrdiff_t next_row;  /* all queries before this one are decided */
    double total;        /* block pairs in all */
    /* the blocks that are packed: of the queries, of the rows */
    struct {
        ptrdiff_t first, count;
        float *z;
    } window[2];
    int second;          /* which window holds the second block of a pair */
    unsigned char *taken; /* (NMLSDR_AHEAD) which pairs from `first` on are taken, each at its number modulo the size */
    unsigned char *busy; /* which spans a thread works on */
} nmlsdr_schedule;

typedef struct {
    nmlsdr_memory memory;
    ptrdiff_t d, k;
    int symmetric, n_threads; /* the rows against themselves, self excluded */
    nmlsdr_side side[2], *queries, *rows;
    nmlsdr_scaling scaling;
    nmlsdr_storage storage;
    nmlsdr_tuning tuning;
    nmlsdr_schedule schedule;
    /* of each block, or -1: two blocks of one part are not compared; NULL: all are */
    int32_t *part;
    const unsigned char *allowed;  /* (n) rows that may be neighbours; NULL: all */
    const nmlsdr_within *within;   /* all rows within a radius, instead of the k nearest; or NULL */
    nmlsdr_scratch *scratch;    /* one for each thread */
    float *infinite_thresholds; /* one block of thresholds that nothing passes */
    const nmlsdr_kernels *kernels; /* of the level (kernels.h) */
} nmlsdr_search;

/* Leading coordinates: orthogonal coordinates that contain most of the distances of the rows
 * (docs/neighbours.md).  The caller computes them. */
typedef struct {
    ptrdiff_t d;               /* coordinates */
    /* (n, d + 1): coordinates, then |x - centre|^2 or more; differences never longer */
    const double *rows, *queries;
    /* position -> row, so that rows near each other share a block */
    const ptrdiff_t *rows_order, *queries_order;
} nmlsdr_leads;

#endif
