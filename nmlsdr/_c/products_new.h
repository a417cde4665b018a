/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A search by products begins and ends: memory, windows, buffers. */
#ifndef NMLSDR_PRODUCTS_NEW_H
#define NMLSDR_PRODUCTS_NEW_H

#include "products_packed.h"
#include "products_scale.h"
#include "products_sparse.h"
#include "products_storage.h"

/* n floats. */
static float *nmlsdr_floats(nmlsdr_search *q, ptrdiff_t n)
{
    return (float *)nmlsdr_new(&q->memory, n, sizeof(float));
}

/* Bounds, and thresholds and buffers if the side collects candidates; positions past the end can never be of interest. */
static int nmlsdr_side_new(nmlsdr_search *q, nmlsdr_side *s, int collects)
{
    const ptrdiff_t padded = s->blocks * q->storage.block, n = s->rows.n, d = q->tuning.lead_d;
    s->h = nmlsdr_floats(q, padded);
    s->e = nmlsdr_floats(q, padded);

    if (d) {
        s->lead_z = nmlsdr_floats(q, padded * d);
        s->lead_h = nmlsdr_floats(q, padded);
    }

    if (q->memory.failed) return -1;
    for (ptrdiff_t i = n; i < padded; i++) {
        s->h[i] = INFINITY;
        s->e[i] = 0;
    }
    if (!collects) return 0;

    s->t = nmlsdr_floats(q, padded);
    s->candidate = (nmlsdr_candidate *)nmlsdr_new(&q->memory, n * q->tuning.capacity, sizeof(nmlsdr_candidate));
    s->count = (int32_t *)nmlsdr_new(&q->memory, n, sizeof(int32_t));
    if (q->memory.failed) return -1;
    memset(s->count, 0, (size_t)n * sizeof(int32_t));

    for (ptrdiff_t i = 0; i < padded; i++) s->t[i] = i < n ? NMLSDR_LOWEST : INFINITY;
    return 0;
}

static int nmlsdr_new_windows(nmlsdr_search *q, double window_bytes)
{
    const ptrdiff_t size = NMLSDR_BLOCK * q->storage.words, blocks = q->rows->blocks;
    const double block_bytes = (double)size * (double)sizeof(float);
    const int one = q->symmetric && (double)blocks * block_bytes <= window_bytes;
    const ptrdiff_t fitting = (ptrdiff_t)(window_bytes / 2 / block_bytes) + 1;
    const ptrdiff_t near = (ptrdiff_t)(NMLSDR_NEAR / block_bytes) + 1;
    const ptrdiff_t few = q->queries->blocks > near ? q->queries->blocks : near;
    ptrdiff_t chunk = one ? blocks : fitting;
    if (!q->symmetric && few < fitting) chunk = few; /* queries are packed once, rows by small windows */

    for (int w = 0; w < (one ? 1 : 2); w++) {
        const ptrdiff_t most = w == 0 ? q->queries->blocks : blocks;
        q->schedule.window[w].z = nmlsdr_floats(q, (chunk < most ? chunk : most) * size);
    }

    q->tuning.chunk = chunk;

    return -q->memory.failed;
}

/* Leading coordinates of every block, once. */
static void nmlsdr_pack_leads(nmlsdr_search *q)
{
    for (int s = 0; s < 2; s++) {
        ptrdiff_t block;
        if (!q->side[s].lead_z) continue;
        NMLSDR_OMP(parallel for num_threads(q->n_threads) schedule(dynamic, 1))
        for (block = 0; block < q->side[s].blocks; block++) nmlsdr_pack_lead(q, &q->side[s], block);
    }
}

static int nmlsdr_new_postings(nmlsdr_search *q)
{
    const nmlsdr_rows *x = &q->rows->rows;
    const ptrdiff_t blocks = q->rows->blocks, entries = nmlsdr_row_pointer(x, x->n);
    nmlsdr_storage *stored = &q->storage;
    ptrdiff_t J;
    q->tuning.chunk = blocks > q->queries->blocks ? blocks : q->queries->blocks;
    stored->posting_ptr = (int32_t *)nmlsdr_new(&q->memory, blocks * (q->d + 2), sizeof(int32_t));
    stored->posting_row = (int32_t *)nmlsdr_new(&q->memory, entries, sizeof(int32_t));
    stored->posting_value = nmlsdr_floats(q, entries);
    stored->columns = nmlsdr_floats(q, blocks * stored->block * stored->frequent);
    if (q->memory.failed) return -1;

    NMLSDR_OMP(parallel for num_threads(q->n_threads) schedule(dynamic, 1))
    for (J = 0; J < blocks; J++) nmlsdr_post(q, J);
    for (int s = 0; s < 2; s++)
        if (q->side[s].h) nmlsdr_measure(q, &q->side[s]);

    return 0;
}

/* What each thread needs for itself, and the thresholds that nothing passes. */
static int nmlsdr_new_scratch(nmlsdr_search *q)
{
    const ptrdiff_t block = q->storage.block, frequent = q->storage.frequent, capacity = q->tuning.capacity;
    const ptrdiff_t tiled = nmlsdr_tiled(q->queries->rows.n), rows = tiled < block ? tiled : block; /* of queries */
    nmlsdr_memory *memory = &q->memory;
    q->infinite_thresholds = nmlsdr_floats(q, block);
    q->scratch = (nmlsdr_scratch *)nmlsdr_new(memory, q->n_threads, sizeof(nmlsdr_scratch));
    if (memory->failed) return -1;
    memset(q->scratch, 0, (size_t)q->n_threads * sizeof(nmlsdr_scratch));

    for (ptrdiff_t i = 0; i < block; i++) q->infinite_thresholds[i] = INFINITY;
    for (int t = 0; t < q->n_threads; t++) {
        nmlsdr_scratch *w = &q->scratch[t];
        w->lower = nmlsdr_floats(q, capacity + 7);
        w->which = (ptrdiff_t *)nmlsdr_new(memory, capacity, sizeof(ptrdiff_t));
        w->apart = (double *)nmlsdr_new(memory, capacity, sizeof(double));
        w->found = (nmlsdr_found *)nmlsdr_new(memory, 2 * capacity, sizeof(nmlsdr_found));
        w->query = (double *)nmlsdr_new(memory, q->d, sizeof(double));
        w->tile = (unsigned char *)nmlsdr_new(memory, rows * block / 12 + 1, 1);
        w->partial = nmlsdr_floats(q, q->storage.sparse ? block + frequent : rows * (block + 3));
        w->slots = (int32_t *)nmlsdr_new(memory, frequent, sizeof(int32_t));
    }

    return -memory->failed;
}

/* Windows or postings, bounds, thresholds, buffers, scratch. */
static int nmlsdr_new_products(nmlsdr_search *q, double window_bytes)
{
    const ptrdiff_t spans = q->queries->blocks + q->rows->blocks;
    q->schedule.window[0].first = q->schedule.window[1].first = -1;
    q->schedule.taken = (unsigned char *)nmlsdr_new(&q->memory, NMLSDR_AHEAD + spans, 1);
    if (q->memory.failed || nmlsdr_new_scratch(q) || nmlsdr_side_new(q, q->queries, 1)) return -1;
    q->schedule.busy = q->schedule.taken + NMLSDR_AHEAD;
    memset(q->schedule.taken, 0, (size_t)(NMLSDR_AHEAD + spans));
    if (q->rows != q->queries && nmlsdr_side_new(q, q->rows, 0)) return -1;
    if (q->tuning.lead_d) nmlsdr_pack_leads(q);
    return q->storage.sparse ? nmlsdr_new_postings(q) : nmlsdr_new_windows(q, window_bytes);
}

/* Among these rows, which also stand for the queries until there are any. */
static void nmlsdr_search_among(nmlsdr_search *q, const nmlsdr_rows *rows, int level, int n_threads)
{
    q->d = rows->d;
    q->kernels = nmlsdr_kernels_of(level);
    q->n_threads = n_threads;
    q->rows = q->queries = &q->side[0];
    q->rows->rows = *rows;
}

/* k neighbours of every query, whose lists are empty yet: squared and indices (n queries, k). */
static void nmlsdr_choose_k(nmlsdr_search *q, ptrdiff_t k, double *squared, ptrdiff_t *indices)
{
    q->k = k;
    q->tuning.capacity = k < 44 ? 2 * k + 10 : k + k / 2 + 32; /* 32 and not 10 more cost up to 1.2 times as long for k up to 5 */
    q->tuning.high_water = q->tuning.capacity - 8 - k / 4;
    q->queries->squared = squared;
    q->queries->indices = indices;
    nmlsdr_empty_lists(squared, indices, q->queries->rows.n * k);
}

/* All rows within a radius of every query: there are no lists, and a threshold that never changes. */
static void nmlsdr_choose_within(nmlsdr_search *q)
{
    enum { CAPACITY = 32 }; /* candidates that are decided at once */
    q->k = 1;
    q->tuning.capacity = q->tuning.high_water = CAPACITY;
}

/* q consists of zeros but for `within`, and its memory is given back after an error, too (all searches here begin and end so).
 * queries == NULL: the rows against themselves, self excluded.  squared and indices (n queries, k) receive
 * the answer.  sparse: columns and postings 1, packed blocks 0, -1 by cost.  integers: packed blocks of
 * 16-bit integers 16, of floats 0, -1 by cost.
 * Needs 1 <= k <= rows (- 1), d >= 1, rows below 2^31.  -1: out of memory. */
static int nmlsdr_search_begin(nmlsdr_search *q, const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k,
                               const nmlsdr_leads *leads, double *squared, ptrdiff_t *indices, int sparse, int integers,
                               int level, double window_bytes, int n_threads)
{
    nmlsdr_search_among(q, rows, level, n_threads);
    q->symmetric = queries == NULL;

    if (queries) {
        q->queries = &q->side[1];
        q->queries->rows = *queries;
    }

    if (leads) {
        q->tuning.lead_d = leads->d;
        q->side[0].lead = leads->rows;
        q->side[0].order = leads->rows_order;
        q->side[1].lead = leads->queries;
        q->side[1].order = leads->queries_order;
    }

    if (q->within) nmlsdr_choose_within(q);
    else nmlsdr_choose_k(q, k, squared, indices);
    if (nmlsdr_choose_storage(q, sparse, window_bytes) || nmlsdr_choose_centre(q)) return -1;
    for (int s = 0; s < 2; s++) q->side[s].blocks = (q->side[s].rows.n + q->storage.block - 1) / q->storage.block;
    nmlsdr_choose_scale(q, integers);
    if (nmlsdr_new_products(q, window_bytes)) return -1;
    for (ptrdiff_t i = 0; q->within && i < q->queries->rows.n; i++) nmlsdr_raise_to(q, q->queries, i, q->within->limit);

    const double a = (double)q->queries->blocks, b = (double)q->rows->blocks;
    const ptrdiff_t span = q->storage.sparse ? 1 : q->queries->blocks / ((q->symmetric ? 8 : 4) * n_threads);
    q->tuning.span = span > NMLSDR_SPAN ? NMLSDR_SPAN : span < 1 ? 1 : span;
    q->schedule.total = q->symmetric ? b * (b + 1) / 2 : a * b;

    return 0;
}

/* What other searches of these rows have found, in a symmetric search without leading coordinates (by
 * which rows change their places).  limits (n): a pair with a larger squared distance is of no use to the
 * row; lists may then remain short.
 * edges (parts + 1): rows edges[p] to edges[p + 1] were compared with each other; pairs of whole blocks of
 * them are left out.
 * -1: out of memory. */
static int nmlsdr_search_know(nmlsdr_search *q, const double *limits, const ptrdiff_t *edges, ptrdiff_t parts)
{
    const ptrdiff_t n = q->rows->rows.n, block = q->storage.block;

    for (ptrdiff_t i = 0; i < n; i++) nmlsdr_raise_to(q, q->queries, i, limits[i]);

    q->part = (int32_t *)nmlsdr_new(&q->memory, q->rows->blocks, sizeof(int32_t));
    if (!q->part) return -1;
    for (ptrdiff_t J = 0; J < q->rows->blocks; J++) {
        const ptrdiff_t last = (J + 1) * block < n ? (J + 1) * block : n;
        q->part[J] = -1;

        for (ptrdiff_t p = 0; p < parts; p++)
            if (edges[p] <= J * block && last <= edges[p + 1]) q->part[J] = (int32_t)p;
    }

    return 0;
}

#endif
