/* What a search by products holds: its sides, candidates, windows, threads, and where it stands. */
#ifndef NMLSDR_PRODUCTS_STATE_H
#define NMLSDR_PRODUCTS_STATE_H

#include <math.h>
#include <string.h>

#include "nearest.h"
#include "platform.h"
#include "rows.h"

#define NMLSDR_BLOCK 96 /* rows in a block: a multiple of 3 vectors at every level */
#ifndef NMLSDR_KC
#define NMLSDR_KC 192   /* features per pass: 4 groups of 8 floats stay in a 32 kB first-level cache */
#endif
#ifndef NMLSDR_RANKED
#define NMLSDR_RANKED 16 /* up to this k each row ranks its k best bounds at every push: .93 of the time at 10, 1.09 at 20 */
#endif
#define NMLSDR_RANKS(k) (((k) + 7) / 8 * 8 + 8) /* room for them: whole vectors, and one that is read behind */
#define NMLSDR_SPAN 8 /* blocks that stay near while they are paired with as many others, if threads have enough to do */
#define NMLSDR_NEAR 2e6 /* bytes of packed rows that stay near from packing to product, if the queries are few */
#define NMLSDR_LOWEST (-0x1p126f) /* below every score */

typedef struct nmlsdr_kernels nmlsdr_kernels;

typedef struct {
    nmlsdr_rows rows;
    ptrdiff_t blocks;
    const ptrdiff_t *order; /* position -> row, or NULL */
    const double *lead;     /* leading coordinates and squared norm (n, lead_d + 1), by row, or NULL */
    float *lead_z, *lead_h; /* packed leading coordinates and their h, one block after the other */
    float *h, *e, *t;       /* one per position */
    void *candidate;        /* (score, position) pairs of T (n, capacity) */
    float *best;            /* (n, NMLSDR_RANKS(k)) the k best lower bounds, increasing, then infinities, if k is small */
    int32_t *count;
    double *squared;        /* (n, k) the nearest so far, by row (nearest.h) */
    ptrdiff_t *indices;
} nmlsdr_side;

typedef struct {
    void *lower;          /* T, capacity and up to eight: lower bounds of one row's candidates */
    ptrdiff_t *which;     /* capacity: those that are decided, */
    double *apart;        /* their squared distances, */
    nmlsdr_found *found;  /* both, and room to sort them */
    double *query;        /* (d) the row that they are candidates of */
    void *partial;        /* T, one block of products */
    int32_t *slots;       /* the frequent features that a sparse row holds */
    int64_t decided;      /* canonical distances computed */
    int64_t pairs;
    int64_t tiles, alive; /* tested by their leading coordinates, and not ruled out */
    unsigned char *tile;  /* one block pair's */
    const char *ahead;    /* the packed block that comes next, or NULL */
    char pad[64];
} nmlsdr_scratch;

/* Which pairs of spans are taken, in the order of the rounds, and which spans are held by a thread. */
enum { NMLSDR_FREE = 32 };
typedef struct {
    ptrdiff_t first, done; /* all before are taken; how many are */
    unsigned char taken[NMLSDR_FREE * (NMLSDR_FREE + 1) / 2], held[NMLSDR_FREE];
} nmlsdr_free;

typedef struct {
    ptrdiff_t d, k, capacity, crowded, block, pass, terms, lead_d; /* lead_d 0: no leading coordinates */
    ptrdiff_t longest; /* entries that a row holds at most */
    int sparse, force_sparse, ranked, symmetric, exclude_self, integral, level, lanes, n_threads, phase;
    double scale, absolute, *centre;
    double extent;  /* of an index: max |x - centre| of its rows */
    nmlsdr_side side[2], *queries, *rows;
    struct { ptrdiff_t first, count; void *z; } window[2];
    int second;                       /* which window holds the second block of a pair */
    ptrdiff_t chunk;                  /* blocks in a window */
    ptrdiff_t span;                   /* blocks that are visited together */
    ptrdiff_t at_a, at_b, round, pair, finish; /* where the search stands */
    nmlsdr_free free;                 /* and where in few spans */
    double total;                     /* block pairs in all */
    double pair_ns, decision_ns;      /* a product of two rows, a canonical distance: roughly, one thread */
    float *never;                     /* one block of thresholds that nothing passes */
    int32_t *posting_ptr;             /* sparse rows by block and feature: (blocks, d + 2), then one per entry */
    int32_t *posting_row;
    void *posting_value;              /* T */
    int32_t *slot;                    /* (d) which column holds the feature, -1: postings */
    ptrdiff_t frequent;               /* features that are stored as columns */
    void *columns;                    /* T (blocks, strips, frequent, 8 lanes) */
    nmlsdr_scratch *scratch;
    const nmlsdr_kernels *kernels;    /* of the level (kernels.h) */
} nmlsdr_search;

/* What a caller found out about the rows: orthogonal coordinates that hold most of their distances (docs/neighbours.md). */
typedef struct {
    ptrdiff_t d;               /* coordinates */
    const double *rows, *queries; /* (n, d + 1): coordinates, then |x - centre|^2 or more; differences never longer */
    const ptrdiff_t *rows_order, *queries_order; /* position -> row, so that rows near each other share a block */
} nmlsdr_leads;

#endif
