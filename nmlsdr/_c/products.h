/* Exact nearest neighbours by proposing with matrix products and deciding by the canonical distance.
 *
 *   nmlsdr_search_new      chooses centre and scale, allocates O(n k) and one or two windows of packed rows (products_new.h)
 *   nmlsdr_search_step     runs block pairs for about the given work; loop over it
 *   nmlsdr_search_free
 *
 * Symmetric search (rows against themselves) visits pairs of blocks I <= J once and serves both; a round of
 * the schedule holds disjoint pairs only, so no two threads hold the same block.  What float products cannot
 * tell apart is decided by canonical distances, at most all pairs.
 *
 * This file is the order of work: windows, rounds of disjoint pairs of spans, decision.
 * A span is a few blocks (q->span): a block of the one stays in the second-level cache while it is paired with
 * each block of the other, and the next block is on its way meanwhile.
 * Spans in one window: round m pairs span I with I ^ m, for every m below a power of two.  The pairs of a
 * round are disjoint by construction, round 0 is the diagonal, and low rounds join rows that are near each
 * other in their order, which tightens thresholds early.  Few spans are taken in that order, but without rounds.
 * Two windows: round r pairs span I of the one with span (I + r) mod the larger count of the other.
 */
#ifndef NMLSDR_PRODUCTS_H
#define NMLSDR_PRODUCTS_H

#include "products_new.h"

static void nmlsdr_fill_window(nmlsdr_search *q, int w, ptrdiff_t chunk)
{
    nmlsdr_side *s = w == 0 ? q->queries : q->rows;
    const ptrdiff_t first = chunk * q->chunk;
    if (q->window[w].first == first) return;
    q->window[w].first = first;
    q->window[w].count = s->blocks - first < q->chunk ? s->blocks - first : q->chunk;
    const ptrdiff_t end = first + q->window[w].count, size = q->block * q->d;
    if (q->sparse) return;
    ptrdiff_t block;
#ifdef _OPENMP
#pragma omp parallel for num_threads(q->n_threads) schedule(dynamic, 1)
#endif
    for (block = first; block < end; block++) {
        nmlsdr_pack_f(q, s, block, (float *)q->window[w].z + (block - first) * size);
    }
}

/* Pair number p of round r: 1 and its spans, or 0 if there is none. */
static int nmlsdr_pair_at(ptrdiff_t r, ptrdiff_t p, int one_window, ptrdiff_t count_a, ptrdiff_t count_b,
                          ptrdiff_t *I, ptrdiff_t *J)
{
    if (!one_window) {
        const ptrdiff_t most = count_a > count_b ? count_a : count_b;
        *I = p;
        *J = p + r < most ? p + r : p + r - most;
        return *J < count_b;
    }
    if (r == 0) {
        *I = *J = p;
        return 1;
    }
    ptrdiff_t top = 1; /* the highest bit of r is 0 in I and 1 in J */
    while (2 * top <= r) top *= 2;
    *I = p / top * 2 * top + p % top;
    *J = *I ^ r;
    return *J < count_a && *I < count_a;
}

/* All pairs of blocks of span I of the first window with span J of the second; within a span each pair once.
 * Back and forth, so that one block changes from pair to pair; it is announced one pair before. */
static void nmlsdr_run_spans(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, int one_window, nmlsdr_scratch *w)
{
    void (*run)(nmlsdr_search *, ptrdiff_t, ptrdiff_t, nmlsdr_scratch *) =
        q->sparse ? nmlsdr_run_sparse_f : nmlsdr_run_dense_f;
    const ptrdiff_t first_a = q->window[0].first, first_b = q->window[q->second].first;
    const ptrdiff_t count_a = q->window[0].count, count_b = q->window[q->second].count;
    const ptrdiff_t end_a = (I + 1) * q->span < count_a ? (I + 1) * q->span : count_a;
    const ptrdiff_t end_b = (J + 1) * q->span < count_b ? (J + 1) * q->span : count_b;
    const ptrdiff_t bytes = q->sparse ? 0 : q->block * q->d * (ptrdiff_t)sizeof(float); /* sparse rows have no window */
    int back = 0;
    for (ptrdiff_t a = I * q->span; a < end_a; a++, back = !back) {
        const ptrdiff_t low = one_window && I == J ? a : J * q->span;
        for (ptrdiff_t step = 0; step < end_b - low; step++) {
            const ptrdiff_t b = back ? end_b - 1 - step : low + step;
            w->ahead = NULL;
            if (step + 1 < end_b - low) w->ahead = (const char *)q->window[q->second].z + (back ? b - 1 : b + 1) * bytes;
            else if (a + 1 < end_a) w->ahead = (const char *)q->window[0].z + (a + 1) * bytes;
            run(q, first_a + a, first_b + b, w);
        }
    }
}

/* The first pair, in the order of the rounds, that nobody took and whose spans nobody holds; 0 if there is none. */
static int nmlsdr_take_pair(nmlsdr_free *f, ptrdiff_t rounds, ptrdiff_t count, ptrdiff_t *I, ptrdiff_t *J)
{
    const ptrdiff_t pairs = rounds > 1 ? rounds / 2 : 1;
    for (ptrdiff_t at = f->first; at < count + (rounds - 1) * pairs; at++) {
        const ptrdiff_t r = at < count ? 0 : 1 + (at - count) / pairs, p = at < count ? at : (at - count) % pairs;
        const int there = !f->taken[at] && nmlsdr_pair_at(r, p, 1, count, count, I, J);
        if (!there && at == f->first) f->first++;
        if (!there || f->held[*I] || f->held[*J]) continue;
        f->taken[at] = f->held[*I] = f->held[*J] = 1;
        return 1;
    }
    return 0;
}

/* Few spans in one window, about `budget` block pairs.  Rounds would have the threads wait for each other some thirty times
 * in a search of 2000 rows, and a busy machine wakes them late each time; here a thread that finds no pair free is done.
 * 1: this window is done. */
static int nmlsdr_run_freely(nmlsdr_search *q, ptrdiff_t count, ptrdiff_t rounds, double budget)
{
    nmlsdr_free *f = &q->free;
    double some = budget / (double)(q->span * q->span) + 1;
    if (f->done == 0) memset(f, 0, sizeof(*f));
#ifdef _OPENMP
#pragma omp parallel num_threads(q->n_threads)
#endif
    {
        nmlsdr_scratch *w = &q->scratch[nmlsdr_thread()];
        ptrdiff_t I = -1, J = -1;
        int found = 1;
        while (found) {
#ifdef _OPENMP
#pragma omp critical(nmlsdr_pairs)
#endif
            {
                if (I >= 0) f->held[I] = f->held[J] = 0;
                found = some >= 1 && nmlsdr_take_pair(f, rounds, count, &I, &J);
                if (found) {
                    some--;
                    f->done++;
                }
            }
            if (found) nmlsdr_run_spans(q, I, J, 1, w);
        }
    }
    if (f->done < count * (count + 1) / 2) return 0;
    f->done = 0;
    return 1;
}

/* Rounds of one pair of windows, about `budget` block pairs of them.  1: this pair of windows is done. */
static int nmlsdr_run_rounds(nmlsdr_search *q, double budget)
{
    const int one_window = q->symmetric && q->at_a == q->at_b;
    q->second = !one_window;
    nmlsdr_fill_window(q, 0, q->at_a);
    if (!one_window) nmlsdr_fill_window(q, 1, q->at_b);
    const ptrdiff_t count_a = (q->window[0].count + q->span - 1) / q->span;
    const ptrdiff_t count_b = (q->window[q->second].count + q->span - 1) / q->span;
    const double size = (double)(q->span * q->span);
    ptrdiff_t rounds = count_a > count_b ? count_a : count_b;
    if (one_window)
        for (rounds = 1; rounds < count_a;) rounds *= 2;
    if (one_window && count_a <= NMLSDR_FREE) return nmlsdr_run_freely(q, count_a, rounds, budget);
    while (budget > 0 && q->round < rounds) {
        const ptrdiff_t pairs = !one_window || q->round == 0 ? count_a : rounds / 2;
        const ptrdiff_t from = q->pair, left = pairs - from, few = (ptrdiff_t)(budget / size) + 1;
        const ptrdiff_t to = left <= few ? pairs : from + few;
        /* several whole rounds share one team */
        ptrdiff_t last = q->round;
        if (from == 0 && to == pairs && q->round > 0) {
            last += (ptrdiff_t)(budget / (size * (double)pairs));
            if (last >= rounds) last = rounds - 1;
        }
        const ptrdiff_t first_round = q->round;
#ifdef _OPENMP
#pragma omp parallel num_threads(q->n_threads)
#endif
        {
            nmlsdr_scratch *w = &q->scratch[nmlsdr_thread()];
            for (ptrdiff_t r = first_round; r <= last; r++) {
                ptrdiff_t p;
#ifdef _OPENMP
#pragma omp for schedule(dynamic, 1)
#endif
                for (p = from; p < to; p++) {
                    ptrdiff_t I, J;
                    if (nmlsdr_pair_at(r, p, one_window, count_a, count_b, &I, &J))
                        nmlsdr_run_spans(q, I, J, one_window, w);
                }
            }
        }
        budget -= size * (double)(to - from) * (double)(last - first_round + 1);
        q->pair = to == pairs ? 0 : to;
        q->round = to == pairs ? last + 1 : q->round;
    }
    return q->round >= rounds;
}

static void nmlsdr_decide_rows(nmlsdr_search *q, ptrdiff_t from, ptrdiff_t to)
{
    ptrdiff_t i;
#ifdef _OPENMP
#pragma omp parallel for num_threads(q->n_threads) schedule(dynamic, 16)
#endif
    for (i = from; i < to; i++) {
        nmlsdr_finish_row_f(q, q->queries, q->rows, i, &q->scratch[nmlsdr_thread()]);
    }
}

static double nmlsdr_pairs_done(const nmlsdr_search *q)
{
    double pairs = 0;
    for (int t = 0; t < q->n_threads; t++) pairs += (double)q->scratch[t].pairs;
    return pairs;
}

/* Leave the leading coordinates out when they rule out less than they cost. */
static void nmlsdr_review_leads(nmlsdr_search *q)
{
    double tiles = 0, alive = 0;
    for (int t = 0; t < q->n_threads; t++) {
        tiles += (double)q->scratch[t].tiles;
        alive += (double)q->scratch[t].alive;
    }
    if (tiles < 10000) return;
    /* the first pairs only set the thresholds: of 50 000 folded rows 91 % of the tiles remain after 2 % of the pairs, 4 % in
     * the end (seen) */
    if (nmlsdr_pairs_done(q) >= q->total / 16 && alive / tiles + (double)(q->lead_d + 4) / (double)q->d > 1) q->lead_d = 0;
    for (int t = 0; t < q->n_threads; t++) q->scratch[t].tiles = q->scratch[t].alive = 0;
}

/* Run about `budget` block pairs.  1: call again; 0: done. */
static int nmlsdr_search_step(nmlsdr_search *q, double budget)
{
    if (!(budget < 1e9)) budget = 1e9;
    if (q->phase == 0) {
        if (q->lead_d) nmlsdr_review_leads(q);
        if (!nmlsdr_run_rounds(q, budget)) return 1;
        q->round = q->pair = 0;
        const ptrdiff_t chunks_b = (q->rows->blocks + q->chunk - 1) / q->chunk;
        const ptrdiff_t chunks_a = (q->queries->blocks + q->chunk - 1) / q->chunk;
        if (++q->at_b < chunks_b) return 1;
        q->at_a++;
        q->at_b = q->symmetric ? q->at_a : 0;
        if (q->at_a >= chunks_a) q->phase = 1;
        return 1;
    }
    const ptrdiff_t n = q->queries->rows.n;
    const ptrdiff_t some = 1 + (ptrdiff_t)(budget * (double)(q->block * q->block) * 0.02 / (double)q->k);
    const ptrdiff_t to = n - q->finish < some ? n : q->finish + some;
    nmlsdr_decide_rows(q, q->finish, to);
    q->finish = to;
    return to < n;
}

#endif
