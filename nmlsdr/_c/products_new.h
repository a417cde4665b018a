/* A search by products begins and ends: memory, windows, buffers. */
#ifndef NMLSDR_PRODUCTS_NEW_H
#define NMLSDR_PRODUCTS_NEW_H

#include "products_blocks.h"
#include "products_scale.h"
#include "products_storage.h"

static void nmlsdr_side_free(nmlsdr_side *s)
{
    nmlsdr_release(s->h);
    nmlsdr_release(s->e);
    nmlsdr_release(s->t);
    nmlsdr_release(s->best);
    nmlsdr_release(s->lead_z);
    nmlsdr_release(s->lead_h);
    nmlsdr_release(s->candidate);
    free(s->count);
    s->h = s->e = s->t = s->candidate = s->best = s->lead_z = s->lead_h = NULL;
    s->count = NULL;
}

/* What the products need; what was counted stays. */
static void nmlsdr_scratch_free(nmlsdr_scratch *w)
{
    nmlsdr_release(w->partial);
    free(w->lower);
    free(w->which);
    free(w->apart);
    free(w->found);
    free(w->query);
    free(w->tile);
    free(w->slots);
    w->partial = w->lower = NULL;
    w->which = NULL;
    w->apart = w->query = NULL;
    w->found = NULL;
    w->tile = NULL;
    w->slots = NULL;
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
    for (int t = 0; q->scratch && t < q->n_threads; t++) nmlsdr_scratch_free(&q->scratch[t]);
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
    const size_t size = sizeof(float), padded = (size_t)(s->blocks * q->block), n = (size_t)s->rows.n;
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
    s->candidate = nmlsdr_aligned(n * (size_t)q->capacity * 2 * size);
    s->count = (int32_t *)calloc(n + 1, sizeof(int32_t));
    if (!s->t || !s->candidate || !s->count) return -1;
    if (q->ranked) {
        const size_t ranks = (size_t)NMLSDR_RANKS(q->k);
        s->best = nmlsdr_aligned(n * ranks * size);
        if (!s->best) return -1;
        for (size_t p = 0; p < n * ranks; p++) s->best[p] = (ptrdiff_t)(p % ranks) < q->k ? NMLSDR_LOWEST : INFINITY;
    }
    for (size_t i = 0; i < padded; i++) s->t[i] = i < n ? NMLSDR_LOWEST : INFINITY;
    return 0;
}

static int nmlsdr_new_windows(nmlsdr_search *q, double window_bytes)
{
    const size_t size = sizeof(float);
    const double block_bytes = (double)q->block * (double)q->d * (double)size;
    const ptrdiff_t blocks = q->rows->blocks;
    const int one = q->symmetric && (q->chunk ? q->chunk >= blocks : blocks * block_bytes <= window_bytes);
    if (!q->chunk) {
        const ptrdiff_t fitting = (ptrdiff_t)(window_bytes / 2 / block_bytes) + 1;
        const ptrdiff_t near = (ptrdiff_t)(NMLSDR_NEAR / block_bytes) + 1;
        const ptrdiff_t few = q->queries->blocks > near ? q->queries->blocks : near;
        q->chunk = one ? blocks : fitting;
        if (!q->symmetric && few < fitting) q->chunk = few; /* queries are packed once, rows by small windows */
    }
    for (int w = 0; w < (one ? 1 : 2); w++) {
        const ptrdiff_t most = w == 0 ? q->queries->blocks : blocks;
        const ptrdiff_t count = q->chunk < most ? q->chunk : most;
        q->window[w].z = nmlsdr_aligned((size_t)(count * q->block * q->d) * size);
        if (!q->window[w].z) return -1;
    }
    return 0;
}

/* Leading coordinates of every block, once. */
static void nmlsdr_pack_leads(nmlsdr_search *q)
{
    for (int s = 0; s < 2; s++) {
        if (!q->side[s].lead_z) continue;
        ptrdiff_t block;
#ifdef _OPENMP
#pragma omp parallel for num_threads(q->n_threads) schedule(dynamic, 1)
#endif
        for (block = 0; block < q->side[s].blocks; block++) nmlsdr_pack_lead_f(q, &q->side[s], block);
    }
}

static int nmlsdr_new_postings(nmlsdr_search *q)
{
    const nmlsdr_rows *x = &q->rows->rows;
    const ptrdiff_t blocks = q->rows->blocks;
    const size_t size = sizeof(float), entries = (size_t)nmlsdr_row_pointer(x, x->n) + 1;
    q->chunk = blocks > q->queries->blocks ? blocks : q->queries->blocks;
    q->posting_ptr = (int32_t *)calloc((size_t)(blocks * (q->d + 2)), sizeof(int32_t));
    q->posting_row = (int32_t *)malloc(entries * sizeof(int32_t));
    q->posting_value = nmlsdr_aligned(entries * size);
    q->columns = nmlsdr_aligned((size_t)(blocks * q->block * q->frequent) * size);
    if (!q->posting_ptr || !q->posting_row || !q->posting_value || !q->columns) return -1;
    ptrdiff_t J;
#ifdef _OPENMP
#pragma omp parallel for num_threads(q->n_threads) schedule(dynamic, 1)
#endif
    for (J = 0; J < blocks; J++) nmlsdr_post_f(q, q->rows, J);
    for (int s = 0; s < 2; s++)
        if (q->side[s].h) nmlsdr_measure_f(q, &q->side[s]);
    return 0;
}

/* Whether the leading coordinates lie in the range of the scale.  Around the mean of equal rows of 1e100 they are what its
 * rounding leaves, 1e84, where the rows themselves, centred at one of them, are 0 and need no scale: not a number, then,
 * would rule out every tile. */
static int nmlsdr_leads_fit(const nmlsdr_search *q)
{
    for (int s = 0; s < 2; s++) {
        const double *lead = q->side[s].lead;
        for (ptrdiff_t i = 0; lead && i < q->side[s].rows.n; i++)
            if (!(lead[i * (q->lead_d + 1) + q->lead_d] * q->scale * q->scale < 0x1p122)) return 0;
    }
    return 1;
}

/* What each thread needs for itself, and the thresholds that nothing passes. */
static int nmlsdr_new_scratch(nmlsdr_search *q)
{
    const size_t size = sizeof(float);
    q->never = nmlsdr_aligned((size_t)q->block * size);
    if (!q->never) return -1;
    for (ptrdiff_t i = 0; i < q->block; i++) q->never[i] = INFINITY;
    for (int t = 0; t < q->n_threads; t++) {
        nmlsdr_scratch *w = &q->scratch[t];
        w->lower = malloc((size_t)(q->capacity + 7) * size);
        w->which = (ptrdiff_t *)malloc((size_t)q->capacity * sizeof(ptrdiff_t));
        w->apart = (double *)malloc((size_t)q->capacity * sizeof(double));
        w->found = (nmlsdr_found *)malloc((size_t)q->capacity * 2 * sizeof(nmlsdr_found));
        w->query = (double *)malloc((size_t)q->d * sizeof(double));
        w->tile = (unsigned char *)malloc((size_t)(q->block * q->block / 12 + 1));
        w->partial = nmlsdr_aligned((size_t)(q->sparse ? q->block + q->frequent : q->block * (q->block + 3)) * size);
        w->slots = (int32_t *)malloc((size_t)(q->frequent + 1) * sizeof(int32_t));
        if (!w->lower || !w->which || !w->apart || !w->found || !w->query || !w->tile || !w->partial || !w->slots) return -1;
    }
    return 0;
}

/* Windows or postings, bounds, thresholds, buffers, scratch. */
static int nmlsdr_new_products(nmlsdr_search *q, double window_bytes)
{
    if (q->lead_d && !nmlsdr_leads_fit(q)) q->lead_d = 0;
    q->window[0].first = q->window[1].first = -1;
    if (nmlsdr_new_scratch(q)) return -1;
    if (nmlsdr_side_new(q, q->queries, 1)) return -1;
    if (q->rows != q->queries && nmlsdr_side_new(q, q->rows, 0)) return -1;
    q->lanes = q->kernels->lanes;
    if (q->lead_d) nmlsdr_pack_leads(q);
    return q->sparse ? nmlsdr_new_postings(q) : nmlsdr_new_windows(q, window_bytes);
}

static void nmlsdr_choose_capacity(nmlsdr_search *q, ptrdiff_t k)
{
    q->k = k;
    q->capacity = k + k / 2 + 32;
    q->ranked = k <= NMLSDR_RANKED;
    q->crowded = q->capacity - 8 - k / 4;
}

/* queries == NULL: the rows against themselves, self excluded.  squared and indices (n queries, k) receive the
 * answer.  sparse: columns and postings 1, packed blocks 0, -1 by cost.
 * Needs 1 <= k <= rows (- 1), d >= 1, rows below 2^31.  NULL: out of memory. */
static nmlsdr_search *nmlsdr_search_new(const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k,
                                        const nmlsdr_leads *leads, double *squared, ptrdiff_t *indices, int sparse,
                                        int level, double window_bytes, int n_threads)
{
    nmlsdr_search *q = (nmlsdr_search *)calloc(1, sizeof(nmlsdr_search));
    if (!q) return NULL;
    q->d = rows->d;
    nmlsdr_choose_capacity(q, k);
    q->symmetric = q->exclude_self = queries == NULL;
    q->level = level;
    q->kernels = nmlsdr_kernels_of(level);
    q->n_threads = n_threads;
    q->force_sparse = sparse;
    q->side[0].rows = *rows;
    q->rows = &q->side[0];
    q->queries = &q->side[queries ? 1 : 0];
    if (queries) q->side[1].rows = *queries;
    if (leads) {
        q->lead_d = leads->d;
        q->side[0].lead = leads->rows;
        q->side[0].order = leads->rows_order;
        if (queries) {
            q->side[1].lead = leads->queries;
            q->side[1].order = leads->queries_order;
        }
    }
    if (nmlsdr_choose_storage(q, window_bytes)) goto fail;
    for (int s = 0; s < 2; s++) q->side[s].blocks = (q->side[s].rows.n + q->block - 1) / q->block;
    q->queries->squared = squared;
    q->queries->indices = indices;
    for (ptrdiff_t p = 0; p < q->queries->rows.n * k; p++) {
        squared[p] = INFINITY;
        indices[p] = PTRDIFF_MAX;
    }
    q->scratch = (nmlsdr_scratch *)calloc((size_t)n_threads, sizeof(nmlsdr_scratch));
    if (!q->scratch || nmlsdr_choose_centre(q)) goto fail;
    nmlsdr_choose_scale(q);
    if (nmlsdr_new_products(q, window_bytes)) goto fail;
    q->span = q->sparse ? 1 : q->queries->blocks / ((q->symmetric ? 8 : 4) * n_threads);
    q->span = q->span > NMLSDR_SPAN ? NMLSDR_SPAN : q->span < 1 ? 1 : q->span;
    q->total = (double)q->queries->blocks * (double)q->rows->blocks;
    if (q->symmetric) q->total = (q->total + (double)q->rows->blocks) / 2;
    return q;
fail:
    nmlsdr_search_free(q);
    return NULL;
}

#endif
