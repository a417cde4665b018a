/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact nearest neighbours by proposing with matrix products and deciding by the canonical distance.
 *
 *   nmlsdr_search_begin    chooses centre and scale, allocates O(n k) and one or two windows of packed rows
 *                          (products_new.h)
 *   nmlsdr_search_step     runs block pairs for about the given work; loop over it
 *
 * Symmetric search (rows against themselves) visits pairs of blocks I <= J once and serves both; no two
 * threads work on the same block.  What float products cannot tell apart is decided by canonical
 * distances, at most all pairs.
 *
 * This file is the order of work: windows, pairs of spans, decision.
 * A span is a few blocks (q->tuning.span): a block of the one stays in the second-level cache while it is
 * paired with each block of the other, and the next block is on its way meanwhile.
 * Round r pairs span p of the window that has fewer with span p + r of the other, modulo their number; in
 * one window up to the round that would meet all pairs again.  There round 0 is the diagonal, and low rounds
 * join rows that are near each other in their order, which tightens thresholds early.
 * Measured on two threads of a Zen 5, spans of 8 blocks against single blocks: 1.35 times faster at 20 000
 * x 320, 1.15 at 10 000 x 500.
 * A pass over a sample of 1/16 of the rows, whose k-th distances limit the search, was tried and left out: on
 * one thread with AVX2 and 8000 x 50 to 320 rows (Gaussian and in 50 clusters, k = 10 and 80) both together
 * took 1.14 to 1.49 times as long.  With the final distances as limits the search would be 1.0 to 2.0 times
 * as fast.
 * A thread takes the first pair in the order of the rounds whose spans no thread works on.  Nobody waits
 * for the end of a round: a search of 2000 rows would do so some thirty times, and a busy machine wakes
 * the threads late each time.
 */
#ifndef NMLSDR_PRODUCTS_H
#define NMLSDR_PRODUCTS_H

#include "products_new.h"

static void nmlsdr_fill_window(nmlsdr_search *q, int w, ptrdiff_t chunk)
{
    nmlsdr_side *s = w == 0 ? q->queries : q->rows;
    const ptrdiff_t size = q->tuning.chunk, first = chunk * size;
    const ptrdiff_t count = s->blocks - first < size ? s->blocks - first : size;
    if (q->schedule.window[w].first == first) return;
    q->schedule.window[w].first = first;
    q->schedule.window[w].count = count;
    if (!q->storage.sparse) nmlsdr_pack_blocks(q, s, first, first + count, q->schedule.window[w].z);
}

/* The spans of one or two windows, and a number for each of their pairs. */
typedef struct {
    int one_window;
    ptrdiff_t a, b;  /* spans of the windows */
    ptrdiff_t pairs; /* numbers in all */
} nmlsdr_spans;

static nmlsdr_spans nmlsdr_spans_of(const nmlsdr_search *q)
{
    const nmlsdr_schedule *at = &q->schedule;
    const ptrdiff_t span = q->tuning.span, a = (at->window[0].count + span - 1) / span,
                    b = (at->window[at->second].count + span - 1) / span;
    return (nmlsdr_spans){!at->second, a, b, at->second ? a * b : a * (a + 1) / 2};
}

/* The spans of pair number n. */
static void nmlsdr_pair_at(const nmlsdr_spans *s, ptrdiff_t n, ptrdiff_t *I, ptrdiff_t *J)
{
    const int fewer_b = s->b < s->a;
    const ptrdiff_t least = fewer_b ? s->b : s->a, most = fewer_b ? s->a : s->b;
    const ptrdiff_t p = n % least, other = (p + n / least) % most;
    *I = fewer_b ? other : p;
    *J = fewer_b ? p : other;
}

/* All pairs of blocks of span I of the first window with span J of the second; within a span each pair once.
 * Back and forth, so that one block changes from pair to pair.  (To fetch it one pair before gained 1 %.) */
static void nmlsdr_run_spans(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w)
{
    void (*run)(nmlsdr_search *, ptrdiff_t, ptrdiff_t, nmlsdr_scratch *) =
        q->storage.sparse ? nmlsdr_run_sparse : nmlsdr_run_dense;
    const nmlsdr_schedule *at = &q->schedule;
    const ptrdiff_t span = q->tuning.span, count_a = at->window[0].count, count_b = at->window[at->second].count;
    const ptrdiff_t end_a = (I + 1) * span < count_a ? (I + 1) * span : count_a;
    const ptrdiff_t end_b = (J + 1) * span < count_b ? (J + 1) * span : count_b;
    int back = 0;

    for (ptrdiff_t a = I * span; a < end_a; a++, back = !back) {
        const ptrdiff_t low = !at->second && I == J ? a : J * span;

        for (ptrdiff_t step = 0; step < end_b - low; step++) {
            const ptrdiff_t b = back ? end_b - 1 - step : low + step;
            const ptrdiff_t at_a = at->window[0].first + a, at_b = at->window[at->second].first + b;
            if (q->part && q->part[at_a] >= 0 && q->part[at_a] == q->part[at_b]) continue;
            run(q, at_a, at_b, w);
        }
    }
}

/* Mark the spans of a pair as in work, or as free.  With queries, the spans of the rows are only read and
 * need no mark. */
static void nmlsdr_mark_busy(nmlsdr_search *q, const nmlsdr_spans *s, ptrdiff_t I, ptrdiff_t J, unsigned char busy)
{
    q->schedule.busy[I] = busy;
    if (q->symmetric) q->schedule.busy[(s->one_window ? 0 : s->a) + J] = busy;
}

/* The first pair that is not taken and whose spans no thread works on; 0 if there is none. */
static int nmlsdr_take_pair(nmlsdr_search *q, const nmlsdr_spans *s, ptrdiff_t *I, ptrdiff_t *J)
{
    nmlsdr_schedule *at = &q->schedule;

    for (ptrdiff_t n = at->first; n < s->pairs && n < at->first + NMLSDR_AHEAD; n++) {
        unsigned char *taken = &at->taken[n % NMLSDR_AHEAD];
        if (*taken && n == at->first) {
            *taken = 0;
            at->first++;
            continue;
        }

        nmlsdr_pair_at(s, n, I, J);
        if (*taken || at->busy[*I] || (q->symmetric && at->busy[(s->one_window ? 0 : s->a) + *J])) continue;
        *taken = 1;
        nmlsdr_mark_busy(q, s, *I, *J, 1);
        return 1;
    }

    return 0;
}

/* About `budget` block pairs of one pair of windows.  1: this pair of windows is done. */
static int nmlsdr_run_windows(nmlsdr_search *q, double budget)
{
    nmlsdr_schedule *at = &q->schedule;
    at->second = !(q->symmetric && at->chunk_a == at->chunk_b);
    nmlsdr_fill_window(q, 0, at->chunk_a);
    if (at->second) nmlsdr_fill_window(q, 1, at->chunk_b);
    const nmlsdr_spans spans = nmlsdr_spans_of(q);
    double some = budget / (double)(q->tuning.span * q->tuning.span) + 1;

    NMLSDR_OMP(parallel num_threads(q->n_threads))
    {
        nmlsdr_scratch *w = &q->scratch[nmlsdr_thread()];
        ptrdiff_t I = -1, J = -1;
        int found = 1;

        while (found) {
            NMLSDR_OMP(critical(nmlsdr_pairs))
            {
                if (I >= 0) nmlsdr_mark_busy(q, &spans, I, J, 0);
                found = some >= 1 && nmlsdr_take_pair(q, &spans, &I, &J);
                some -= found;
            }

            if (found) nmlsdr_run_spans(q, I, J, w);
        }
    }

    if (at->first < spans.pairs) return 0;
    at->first = 0;

    return 1;
}

static void nmlsdr_decide_rows(nmlsdr_search *q, ptrdiff_t from, ptrdiff_t to)
{
    ptrdiff_t i;

    NMLSDR_OMP(parallel for num_threads(q->n_threads) schedule(dynamic, 16))
    for (i = from; i < to; i++) {
        const nmlsdr_collector all = {q, q->queries, q->rows, &q->scratch[nmlsdr_thread()]};
        nmlsdr_finish_row(&all, i);
    }
}

/* Leave the leading coordinates out when they rule out less than they cost. */
static void nmlsdr_review_leads(nmlsdr_search *q)
{
    double tiles = 0, alive = 0, pairs = 0;

    for (int t = 0; t < q->n_threads; t++) {
        tiles += (double)q->scratch[t].tiles;
        alive += (double)q->scratch[t].alive;
        pairs += (double)q->scratch[t].pairs;
    }

    if (tiles < 10000) return;

    /* the first pairs only set the thresholds: of 50 000 folded rows 91 % of the tiles remain after 2 % of
     * the pairs, 4 % in the end (seen) */
    const double cost = alive / tiles + (double)(q->tuning.lead_d + 4) / (double)q->d;
    if (pairs >= q->schedule.total / 16 && cost > 1) q->tuning.lead_d = 0;
    for (int t = 0; t < q->n_threads; t++) q->scratch[t].tiles = q->scratch[t].alive = 0;
}

/* Run about `budget` block pairs.  1: call again; 0: done. */
static int nmlsdr_search_step(nmlsdr_search *q, double budget)
{
    nmlsdr_schedule *at = &q->schedule;
    const ptrdiff_t chunk = q->tuning.chunk, n = q->queries->rows.n;
    if (!(budget < 1e9)) budget = 1e9;
    if (at->chunk_a * chunk < q->queries->blocks) {
        if (q->tuning.lead_d) nmlsdr_review_leads(q);
        if (!nmlsdr_run_windows(q, budget)) return 1;
        if (++at->chunk_b * chunk < q->rows->blocks) return 1;
        at->chunk_a++;
        at->chunk_b = q->symmetric ? at->chunk_a : 0;
        return 1;
    }

    const double block = (double)q->storage.block;
    const ptrdiff_t some = 1 + (ptrdiff_t)(budget * block * block * 0.02 / (double)q->k);
    const ptrdiff_t to = n - at->next_row < some ? n : at->next_row + some;
    nmlsdr_decide_rows(q, at->next_row, to);
    at->next_row = to;

    return to < n;
}

#endif
