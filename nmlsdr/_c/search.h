/* Exact nearest neighbours by proposing with matrix products and deciding by the canonical distance.
 *
 *   nmlsdr_search_new      chooses centre and scale, allocates O(n k) and one or two windows of packed rows
 *   nmlsdr_search_step     runs block pairs for about the given work; loop over it
 *   nmlsdr_search_free
 *
 * Symmetric search (rows against themselves) visits pairs of blocks I <= J once and serves both; a round of
 * the schedule holds disjoint pairs only, so no two threads hold the same block.  If float products cannot
 * tell the candidates apart, the search decides what it has and goes on with double products.
 */
#ifndef NMLSDR_SEARCH_H
#define NMLSDR_SEARCH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef _MSC_VER
#include <intrin.h>
#endif
#ifdef _WIN32 /* MSVC and MinGW alike have no aligned_alloc */
#include <malloc.h>
#endif

#include "distance.h"

#define NMLSDR_BLOCK 96 /* rows in a block: a multiple of 3 vectors at every level */
#ifndef NMLSDR_KC
#define NMLSDR_KC 192   /* features per pass: 4 groups of 8 floats stay in a 32 kB first-level cache */
#endif
#ifndef NMLSDR_RANKED
#define NMLSDR_RANKED 32 /* up to this k each row ranks its k best bounds at every push */
#endif
#define NMLSDR_SPAN 8 /* blocks that stay near while they are paired with as many others, if threads have enough to do */
#define NMLSDR_NEAR 2e6 /* bytes of packed rows that stay near from packing to product, if the queries are few */
#define NMLSDR_LOWEST (-0x1p126f) /* below every score */

/* How the caller holds rows. */
enum { NMLSDR_DENSE_F32, NMLSDR_DENSE_F64, NMLSDR_CSR_F32_I32, NMLSDR_CSR_F64_I32, NMLSDR_CSR_F32_I64,
       NMLSDR_CSR_F64_I64 };

typedef struct {
    int kind;
    ptrdiff_t n, d;
    const void *data, *indices, *indptr; /* the last two for CSR only: sorted rows without repeats */
} nmlsdr_rows;

typedef struct {
    nmlsdr_rows rows;
    ptrdiff_t blocks;
    const ptrdiff_t *order; /* position -> row, or NULL */
    const double *lead;     /* leading coordinates and squared norm (n, lead_d + 1), by row, or NULL */
    void *lead_z, *lead_h;  /* T, packed leading coordinates and their h, one block after the other */
    void *h, *e, *t;        /* T, one per position */
    void *score;            /* T (n, capacity) */
    void *best;             /* T (n, k) the k best lower bounds, decreasing, if k is small */
    int32_t *candidate;     /* positions (n, capacity) */
    int32_t *count;
    double *squared;        /* heaps (n, k), later the answer; by row */
    ptrdiff_t *indices;
} nmlsdr_side;

typedef struct {
    double *lower;     /* capacity */
    void *partial;     /* T, one block of products */
    int32_t *slots;    /* the frequent features that a sparse row holds */
    int64_t decided;   /* canonical distances computed */
    int64_t pairs;
    int64_t tiles, alive; /* tested by their leading coordinates, and not ruled out */
    unsigned char *tile;  /* one block pair's */
    const char *ahead;    /* the packed block that comes next, or NULL */
    char pad[64];
} nmlsdr_scratch;

typedef struct {
    ptrdiff_t d, k, capacity, crowded, block, pass, terms, lead_d; /* lead_d 0: no leading coordinates */
    ptrdiff_t longest; /* entries that a row holds at most */
    int sparse, force_sparse, ranked, symmetric, exclude_self, integral, wide, level, lanes, n_threads, phase;
    double scale, absolute, *centre;
    nmlsdr_side side[2], *asked, *rows;
    struct { ptrdiff_t first, count; void *z; } window[2];
    int beside;                       /* which window holds the second block of a pair */
    ptrdiff_t chunk;                  /* blocks in a window */
    ptrdiff_t span;                   /* blocks that are visited together */
    ptrdiff_t at_a, at_b, round, pair, finish; /* where the search stands */
    double total;                     /* block pairs in all */
    double pair_ns, decision_ns;      /* a product of two rows, a canonical distance: roughly, one thread */
    void *never;                      /* T, one block of thresholds that nothing passes */
    int32_t *posting_ptr;             /* sparse rows by block and feature: (blocks, d + 2), then one per entry */
    int32_t *posting_row;
    void *posting_value;              /* T */
    int32_t *slot;                    /* (d) which column holds the feature, -1: postings */
    ptrdiff_t frequent;               /* features that are stored as columns */
    void *columns;                    /* T (blocks, strips, frequent, 8 lanes) */
    nmlsdr_scratch *scratch;
} nmlsdr_search;

static inline ptrdiff_t nmlsdr_row_pointer(const nmlsdr_rows *x, ptrdiff_t row)
{
    return x->kind < NMLSDR_CSR_F32_I64 ? ((const int32_t *)x->indptr)[row] : (ptrdiff_t)((const int64_t *)x->indptr)[row];
}

static inline ptrdiff_t nmlsdr_entry_column(const nmlsdr_rows *x, ptrdiff_t p)
{
    return x->kind < NMLSDR_CSR_F32_I64 ? ((const int32_t *)x->indices)[p] : (ptrdiff_t)((const int64_t *)x->indices)[p];
}

static inline double nmlsdr_entry_value(const nmlsdr_rows *x, ptrdiff_t p)
{
    return x->kind & 1 ? ((const double *)x->data)[p] : (double)((const float *)x->data)[p];
}

static double nmlsdr_canonical(const nmlsdr_rows *x, ptrdiff_t i, const nmlsdr_rows *y, ptrdiff_t j)
{
    const ptrdiff_t d = x->d;
    if (x->kind == NMLSDR_DENSE_F32)
        return nmlsdr_sqdist_f32((const float *)x->data + i * d, (const float *)y->data + j * d, d);
    if (x->kind == NMLSDR_DENSE_F64)
        return nmlsdr_sqdist_f64((const double *)x->data + i * d, (const double *)y->data + j * d, d);
    const ptrdiff_t p = nmlsdr_row_pointer(x, i), pn = nmlsdr_row_pointer(x, i + 1) - p;
    const ptrdiff_t q = nmlsdr_row_pointer(y, j), qn = nmlsdr_row_pointer(y, j + 1) - q;
#define NM_CSR(NAME, TYPE, INDEX) \
    return NAME((const TYPE *)x->data + p, (const INDEX *)x->indices + p, pn, \
                (const TYPE *)y->data + q, (const INDEX *)y->indices + q, qn)
    switch (x->kind) {
    case NMLSDR_CSR_F32_I32: NM_CSR(nmlsdr_sqdist_csr_f32_i32, float, int);
    case NMLSDR_CSR_F64_I32: NM_CSR(nmlsdr_sqdist_csr_f64_i32, double, int);
    case NMLSDR_CSR_F32_I64: NM_CSR(nmlsdr_sqdist_csr_f32_i64, float, long long);
    default: NM_CSR(nmlsdr_sqdist_csr_f64_i64, double, long long);
    }
#undef NM_CSR
}

static inline void nmlsdr_prefetch_row(const nmlsdr_rows *x, ptrdiff_t row)
{
#ifdef __GNUC__
    if (x->kind > NMLSDR_DENSE_F64) return;
    const ptrdiff_t bytes = x->d * (x->kind == NMLSDR_DENSE_F32 ? 4 : 8);
    const char *from = (const char *)x->data + row * bytes;
    for (ptrdiff_t p = 0; p < bytes && p < 512; p += 64) __builtin_prefetch(from + p);
#else
    (void)x;
    (void)row;
#endif
}

#ifdef __GNUC__
#define NMLSDR_PREFETCH(from) __builtin_prefetch(from, 0, 2)
#else
#define NMLSDR_PREFETCH(from) ((void)(from))
#endif

static inline int nmlsdr_lowest_bit(unsigned long long bits)
{
#ifdef __GNUC__
    return __builtin_ctzll(bits);
#else
    int at = 0;
    while (!(bits >> at & 1)) at++;
    return at;
#endif
}

static void *nmlsdr_aligned(size_t bytes)
{
    bytes = (bytes + 127) / 64 * 64;
#ifdef _WIN32
    return _aligned_malloc(bytes, 64);
#else
    return aligned_alloc(64, bytes);
#endif
}

static void nmlsdr_release(void *p)
{
#ifdef _WIN32
    _aligned_free(p);
#else
    free(p);
#endif
}

#ifdef __GNUC__
#define NM_ALIGNED __attribute__((aligned(64)))
#else
#define NM_ALIGNED
#endif

#define NM_JOIN(x, y) x##_##y
#define NM_NAME(x, y) NM_JOIN(x, y)
#define T float
#define NM_DOUBLE 0
#define NM(x) nmlsdr_##x##_f
#include "select.h"
#undef T
#undef NM_DOUBLE
#undef NM
#define T double
#define NM_DOUBLE 1
#define NM(x) nmlsdr_##x##_d
#include "select.h"
#undef T
#undef NM_DOUBLE
#undef NM

/* ---------------------------------------------------------------- centre and scale */

/* A value of the middle of a sample of each column: an outlier or a far cluster does not move it. */
static int nmlsdr_choose_centre(nmlsdr_search *q)
{
    enum { SAMPLE = 31 };
    const nmlsdr_rows *x = &q->rows->rows;
    const ptrdiff_t n = x->n < SAMPLE ? x->n : SAMPLE;
    double v[SAMPLE] = {0};
    q->centre = (double *)calloc((size_t)q->d, sizeof(double));
    if (!q->centre) return -1;
    if (x->kind > NMLSDR_DENSE_F64) return 0; /* sparse rows are never shifted */
    for (ptrdiff_t j = 0; j < q->d; j++) {
        for (ptrdiff_t r = 0; r < n; r++) {
            const ptrdiff_t at = (x->n / n * r) * q->d + j;
            const double value = x->kind == NMLSDR_DENSE_F32 ? ((const float *)x->data)[at] : ((const double *)x->data)[at];
            ptrdiff_t p = r;
            for (; p > 0 && v[p - 1] > value; p--) v[p] = v[p - 1];
            v[p] = value;
        }
        q->centre[j] = v[n / 2];
    }
    return 0;
}

/* max |x - centre| of one side, and whether all of x are integers.  The values are asked, not x - centre, which rounds:
 * 1e-18 - 1 is an integer.  The centre is a value of the rows; the difference of two integers is exact below 2^53. */
static double nmlsdr_extent(const nmlsdr_search *q, const nmlsdr_rows *x, int *integral)
{
    double most = 0;
    int whole = *integral;
    if (x->kind > NMLSDR_DENSE_F64) {
        const ptrdiff_t end = nmlsdr_row_pointer(x, x->n);
        for (ptrdiff_t p = nmlsdr_row_pointer(x, 0); p < end; p++) {
            const double y = fabs(nmlsdr_entry_value(x, p));
            if (y > most) most = y;
            whole = whole && y == floor(y); /* the centre is 0 */
        }
        *integral = whole;
        return most;
    }
#ifdef _OPENMP /* MSVC's OpenMP, of 2002, knows no reduction by max, and no index that is declared in the loop */
#pragma omp parallel num_threads(q->n_threads)
#endif
    {
        double own = 0;
        int inside = 1;
        ptrdiff_t i;
#ifdef _OPENMP
#pragma omp for schedule(static)
#endif
        for (i = 0; i < x->n; i++) {
            double top = 0;
            for (ptrdiff_t j = 0; j < q->d; j++) {
                const double value = x->kind == NMLSDR_DENSE_F32 ? ((const float *)x->data)[i * q->d + j]
                                                                 : ((const double *)x->data)[i * q->d + j];
                const double y = fabs(value - q->centre[j]);
                top = y > top ? y : top;
                if (inside && value != floor(value)) inside = 0;
            }
            own = top > own ? top : own;
        }
#ifdef _OPENMP
#pragma omp critical(nmlsdr_extent)
#endif
        {
            most = own > most ? own : most;
            whole = whole && inside;
        }
    }
    *integral = whole;
    return most;
}

/* A power of two that brings norms to 2^60, far from overflow of their squares and farther from underflow. */
static void nmlsdr_choose_scale(nmlsdr_search *q)
{
    int integral = 1, high, wide;
    double most = nmlsdr_extent(q, &q->rows->rows, &integral);
    if (q->asked != q->rows) {
        const double other = nmlsdr_extent(q, &q->asked->rows, &integral);
        most = other > most ? other : most;
    }
    q->integral = integral && 4 * (double)q->longest * most * most < (q->wide ? 0x1p53 : 0x1p24);
    q->scale = 1;
    q->absolute = 0;
    if (q->integral) return;
    if (most > 0) {
        frexp(most, &high);
        frexp((double)q->d, &wide);
        high = 60 - high - (wide + 1) / 2;
        q->scale = ldexp(1.0, high > 1000 ? 1000 : high);
    }
    /* products that underflow or are flushed, and canonical terms below the smallest number */
    q->absolute = (double)(q->d + 8) * (q->wide ? 0x1p-990 : 0x1p-118)
        + (double)(q->d + 8) * q->scale * 0x1p-1070 * q->scale;
    if (!(q->absolute < 0x1p122)) q->absolute = 0x1p122;
}

/* ---------------------------------------------------------------- memory */

static void nmlsdr_side_free(nmlsdr_side *s)
{
    nmlsdr_release(s->h);
    nmlsdr_release(s->e);
    nmlsdr_release(s->t);
    nmlsdr_release(s->score);
    nmlsdr_release(s->best);
    nmlsdr_release(s->lead_z);
    nmlsdr_release(s->lead_h);
    free(s->candidate);
    free(s->count);
    s->h = s->e = s->t = s->score = s->best = s->lead_z = s->lead_h = NULL;
    s->candidate = s->count = NULL;
}

static void nmlsdr_drop_products(nmlsdr_search *q)
{
    nmlsdr_release(q->window[0].z);
    nmlsdr_release(q->window[1].z);
    q->window[0].z = q->window[1].z = NULL;
    nmlsdr_release(q->never);
    free(q->posting_ptr);
    free(q->posting_row);
    nmlsdr_release(q->posting_value);
    nmlsdr_release(q->columns);
    q->never = q->posting_value = q->columns = NULL;
    q->posting_ptr = q->posting_row = NULL;
    for (int t = 0; q->scratch && t < q->n_threads; t++) {
        nmlsdr_release(q->scratch[t].partial);
        free(q->scratch[t].lower);
        free(q->scratch[t].tile);
        q->scratch[t].partial = NULL;
        free(q->scratch[t].slots);
        q->scratch[t].slots = NULL;
        q->scratch[t].lower = NULL;
        q->scratch[t].tile = NULL;
    }
    nmlsdr_side_free(&q->side[0]);
    nmlsdr_side_free(&q->side[1]);
}

static void nmlsdr_search_free(nmlsdr_search *q)
{
    if (!q) return;
    nmlsdr_drop_products(q);
    free(q->scratch);
    free(q->centre);
    free(q->slot);
    free(q);
}

static int nmlsdr_side_new(nmlsdr_search *q, nmlsdr_side *s, int collects)
{
    const size_t size = q->wide ? 8 : 4, padded = (size_t)(s->blocks * q->block), n = (size_t)s->rows.n;
    s->h = nmlsdr_aligned(padded * size);
    s->e = nmlsdr_aligned(padded * size);
    if (!s->h || !s->e) return -1;
    if (q->lead_d) {
        s->lead_z = nmlsdr_aligned(padded * (size_t)q->lead_d * size);
        s->lead_h = nmlsdr_aligned(padded * size);
        if (!s->lead_z || !s->lead_h) return -1;
    }
    if (!collects) return 0;
    s->t = nmlsdr_aligned(padded * size);
    s->score = nmlsdr_aligned(n * (size_t)q->capacity * size);
    s->candidate = (int32_t *)malloc(n * (size_t)q->capacity * sizeof(int32_t) + 1);
    s->count = (int32_t *)calloc(n + 1, sizeof(int32_t));
    if (!s->t || !s->score || !s->candidate || !s->count) return -1;
    if (q->ranked) {
        s->best = nmlsdr_aligned(n * (size_t)q->k * size);
        if (!s->best) return -1;
        for (size_t p = 0; p < n * (size_t)q->k; p++) {
            if (q->wide) ((double *)s->best)[p] = NMLSDR_LOWEST;
            else ((float *)s->best)[p] = NMLSDR_LOWEST;
        }
    }
    for (size_t i = 0; i < padded; i++) {
        if (q->wide) ((double *)s->t)[i] = i < n ? NMLSDR_LOWEST : INFINITY;
        else ((float *)s->t)[i] = i < n ? NMLSDR_LOWEST : INFINITY;
    }
    return 0;
}

static int nmlsdr_new_windows(nmlsdr_search *q, double window_bytes)
{
    const size_t size = q->wide ? 8 : 4;
    const double block_bytes = (double)q->block * (double)q->d * (double)size;
    const ptrdiff_t blocks = q->rows->blocks;
    const int one = q->symmetric && (q->chunk ? q->chunk >= blocks : blocks * block_bytes <= window_bytes);
    if (!q->chunk) {
        const ptrdiff_t fitting = (ptrdiff_t)(window_bytes / 2 / block_bytes) + 1;
        const ptrdiff_t near = (ptrdiff_t)(NMLSDR_NEAR / block_bytes) + 1;
        const ptrdiff_t few = q->asked->blocks > near ? q->asked->blocks : near;
        q->chunk = one ? blocks : fitting;
        if (!q->symmetric && few < fitting) q->chunk = few; /* queries are packed once, rows by small windows */
    }
    for (int w = 0; w < (one ? 1 : 2); w++) {
        const ptrdiff_t most = w == 0 ? q->asked->blocks : blocks;
        const ptrdiff_t count = q->chunk < most ? q->chunk : most;
        q->window[w].z = nmlsdr_aligned((size_t)(count * q->block * q->d) * size);
        if (!q->window[w].z) return -1;
    }
    return 0;
}

#include "storage.h"

/* Leading coordinates of every block, once. */
static void nmlsdr_pack_leads(nmlsdr_search *q)
{
    for (int s = 0; s < 2; s++) {
        if (!q->side[s].lead_z) continue;
        ptrdiff_t block;
#ifdef _OPENMP
#pragma omp parallel for num_threads(q->n_threads) schedule(dynamic, 1)
#endif
        for (block = 0; block < q->side[s].blocks; block++) {
            if (q->wide) nmlsdr_pack_lead_d(q, &q->side[s], block);
            else nmlsdr_pack_lead_f(q, &q->side[s], block);
        }
    }
}

/* Everything whose type is that of the products: windows or postings, bounds, thresholds, buffers, scratch. */
static int nmlsdr_new_products(nmlsdr_search *q, double window_bytes)
{
    const size_t size = q->wide ? 8 : 4;
    q->window[0].first = q->window[1].first = -1;
    q->never = nmlsdr_aligned((size_t)q->block * size);
    if (!q->never) return -1;
    for (ptrdiff_t i = 0; i < q->block; i++) {
        if (q->wide) ((double *)q->never)[i] = INFINITY;
        else ((float *)q->never)[i] = INFINITY;
    }
    for (int t = 0; t < q->n_threads; t++) {
        nmlsdr_scratch *w = &q->scratch[t];
        w->lower = (double *)malloc((size_t)q->capacity * sizeof(double));
        w->tile = (unsigned char *)malloc((size_t)(q->block * q->block / 12 + 1));
        w->partial = nmlsdr_aligned((size_t)(q->sparse ? q->block + q->frequent : q->block * (q->block + 3)) * size);
        w->slots = (int32_t *)malloc((size_t)(q->frequent + 1) * sizeof(int32_t));
        if (!w->lower || !w->tile || !w->partial || !w->slots) return -1;
    }
    if (nmlsdr_side_new(q, q->asked, 1)) return -1;
    if (q->rows != q->asked && nmlsdr_side_new(q, q->rows, 0)) return -1;
    q->lanes = q->wide ? nmlsdr_kernel_d(q->level).lanes : nmlsdr_kernel_f(q->level).lanes;
    if (q->lead_d) nmlsdr_pack_leads(q);
    return q->sparse ? nmlsdr_new_postings(q) : nmlsdr_new_windows(q, window_bytes);
}

/* What a caller found out about the rows: orthogonal coordinates that hold most of their distances (docs/neighbours.md). */
typedef struct {
    ptrdiff_t d;               /* coordinates */
    const double *rows, *asked; /* (n, d + 1): coordinates, then |x - centre|^2 or more; differences never longer */
    const ptrdiff_t *rows_order, *asked_order; /* position -> row, so that rows near each other share a block */
} nmlsdr_leads;

/* asked == NULL: the rows against themselves, self excluded.  squared and indices (n asked, k) receive the
 * answer.  wide: double products from the start; sparse: columns and postings 1, packed blocks 0, -1 by cost.
 * Needs 1 <= k <= rows (- 1), d >= 1, rows below 2^31.  NULL: out of memory. */
static nmlsdr_search *nmlsdr_search_new(const nmlsdr_rows *rows, const nmlsdr_rows *asked, ptrdiff_t k,
                                        const nmlsdr_leads *leads, double *squared, ptrdiff_t *indices, int wide,
                                        int sparse, int level, double window_bytes, int n_threads)
{
    nmlsdr_search *q = (nmlsdr_search *)calloc(1, sizeof(nmlsdr_search));
    if (!q) return NULL;
    q->d = rows->d;
    q->k = k;
    q->capacity = k + k / 2 + 32;
    q->ranked = k <= NMLSDR_RANKED;
    q->crowded = q->capacity - 8 - k / 4;
    q->symmetric = q->exclude_self = asked == NULL;
    q->wide = wide;
    q->level = level;
    q->n_threads = n_threads;
    q->force_sparse = sparse;
    q->side[0].rows = *rows;
    q->rows = &q->side[0];
    q->asked = &q->side[asked ? 1 : 0];
    if (asked) q->side[1].rows = *asked;
    if (leads) {
        q->lead_d = leads->d;
        q->side[0].lead = leads->rows;
        q->side[0].order = leads->rows_order;
        if (asked) {
            q->side[1].lead = leads->asked;
            q->side[1].order = leads->asked_order;
        }
    }
    if (nmlsdr_choose_storage(q, window_bytes)) goto fail;
    for (int s = 0; s < 2; s++) q->side[s].blocks = (q->side[s].rows.n + q->block - 1) / q->block;
    q->asked->squared = squared;
    q->asked->indices = indices;
    for (ptrdiff_t p = 0; p < q->asked->rows.n * k; p++) {
        squared[p] = INFINITY;
        indices[p] = PTRDIFF_MAX;
    }
    q->scratch = (nmlsdr_scratch *)calloc((size_t)n_threads, sizeof(nmlsdr_scratch));
    if (!q->scratch || nmlsdr_choose_centre(q)) goto fail;
    nmlsdr_choose_scale(q);
    if (nmlsdr_new_products(q, window_bytes)) goto fail;
    q->span = q->sparse ? 1 : q->asked->blocks / ((q->symmetric ? 8 : 4) * n_threads);
    q->span = q->span > NMLSDR_SPAN ? NMLSDR_SPAN : q->span < 1 ? 1 : q->span;
    q->total = (double)q->asked->blocks * (double)q->rows->blocks;
    if (q->symmetric) q->total = (q->total + (double)q->rows->blocks) / 2;
    return q;
fail:
    nmlsdr_search_free(q);
    return NULL;
}

#endif
