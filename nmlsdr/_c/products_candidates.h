/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Candidates of each row: error bound, threshold, buffer, exact decision.
 *
 * Every row i owns a buffer of (score, position) pairs, a threshold t_i and the k nearest of those decided
 * (the output arrays themselves, nearest.h).  The invariant that makes the result exact:
 *
 *   a pair that is not in the buffer, among the decided or in the future has a canonical distance above the
 *   k-th smallest canonical distance of row i, or equals it with a larger row index.
 *
 * It holds because s_ij >= -c_ij / 2 and s_ij - e_i - e_j <= -c_ij / 2 in scaled units
 * (docs/neighbours.md).
 *
 * To rank the k best bounds of each row at every push, for small k, gained nothing at k = 10 (.96 of the time
 * without it at 20 000 x 50, .80 at 500 x 50) and 5 to 8 % at k = 1, and was removed.
 *
 * For large k the candidates wait in the buffer, and its bounds set the threshold when it is full: for k =
 * 80 each row then has 520 candidates and six selections of 152.  Measured at 4000 x 100 on one thread:
 * 133 ms with quickselect and a heap, 70 ms as it is.  Selecting in wider vectors gained nothing, because
 * it waits for the buffer.
 *
 * Products in float64 for rows that float32 cannot tell apart were removed: of 14 hostile sets of 30 000 x
 * 32 rows only rows of 80 decimal scales are slower without them (4.7 times).
 */
#ifndef NMLSDR_PRODUCTS_CANDIDATES_H
#define NMLSDR_PRODUCTS_CANDIDATES_H

#include "products_state.h"

#define NM_EPS 0x1p-24

/* The largest float that is not above x. */
static inline float nmlsdr_below(double x)
{
    float y = (float)x;
    if ((double)y > x) y = nextafterf(y, -INFINITY);
    return y;
}

/* h = |z|^2 / 2 less the row's share of the error bound, e = twice that share. */
static void nmlsdr_bounds(const nmlsdr_search *q, double square, float *h, float *e)
{
    if (q->scaling.integral) {
        *h = (float)(square / 2);
        *e = 0;
        return;
    }

    const double terms = (double)q->scaling.terms + 16.0;
    double share = terms * NM_EPS / (1 - terms * NM_EPS) + (double)(q->d + 64) * 0x1p-52;
    share = share * square + q->scaling.absolute;
    *h = nmlsdr_below(square * 0.5 - share);
    *e = -nmlsdr_below(-2.0000001 * share);
}

/* A row that may be no neighbour: no score with it is of interest, as with positions past the end. */
static inline void nmlsdr_mask_row(const nmlsdr_search *q, nmlsdr_side *s, ptrdiff_t position, ptrdiff_t row)
{
    if (q->allowed && s == q->rows && !q->allowed[row]) s->h[position] = INFINITY;
}

/* Below -c_ij / 2: the score less the shares of both rows, by what the roundings here can take and a
 * little more. */
static inline float nmlsdr_lower_bound(float score, float shares)
{
    const float size = score < 0 ? -score : score;

    return score - shares - (size + shares) * (float)(4 * NM_EPS);
}

/* A threshold that contains the slack of integers: rows that are not farther apart than the bound, by
 * scores that are `slack` off, pass.  bound is at most 0. */
static inline float nmlsdr_threshold(float bound, float slack)
{
    if (!(slack > 0)) return bound;
    const float apart = sqrtf(-2.0f * bound) + slack;
    /* a relative 2^-20 more than the five roundings here can take */
    return apart * apart * (-0.5f - 0x1p-21f);
}

/* Raise the threshold of row i. */
static inline void nmlsdr_raise(nmlsdr_side *s, ptrdiff_t i, float t)
{
    if (t > s->t[i]) s->t[i] = t;
}

/* Raise the threshold of row i to that of pairs with this squared distance, which still pass it. */
static inline void nmlsdr_raise_to(const nmlsdr_search *q, nmlsdr_side *s, ptrdiff_t i, double squared)
{
    const double scale = q->scaling.scale;
    const double limit =
        q->scaling.integral ? squared * -0.5 : -(squared * scale * scale * 0.5) * (1 + 0x1p-30) - q->scaling.absolute;
    if (squared < INFINITY) nmlsdr_raise(s, i, nmlsdr_threshold(nmlsdr_below(limit), q->scaling.slack));
}

/* The bits of a number, made to increase with it, and back. */
static inline uint32_t nmlsdr_bits_of(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof(float));

    return b & 0x80000000u ? ~b : b | 0x80000000u;
}

static inline float nmlsdr_number_of(uint32_t b)
{
    float x;
    b = b & 0x80000000u ? b & 0x7fffffffu : ~b;
    memcpy(&x, &b, sizeof(float));

    return x;
}

/* A number that at least m of n values reach, and if they differ no more: m <= n, and the values are
 * padded to eights by some of them.  The interval of its bits is halved, so that values of any scale take
 * as many counts, which fit vectors, as they have bits at most, and about ten otherwise.  Quickselect took
 * 2 us for 152 values, a third of a search for k = 80. */
static float nmlsdr_reached(const float *x, ptrdiff_t n, ptrdiff_t m)
{
    float least = x[0], most = x[0];

    for (ptrdiff_t p = 0; p < n; p += 8) {
        float low[4], high[4];

        for (int c = 0; c < 4; c++) low[c] = x[p + c] < x[p + 4 + c] ? x[p + c] : x[p + 4 + c];
        for (int c = 0; c < 4; c++) high[c] = x[p + c] > x[p + 4 + c] ? x[p + c] : x[p + 4 + c];
        for (int c = 0; c < 4; c++) {
            least = low[c] < least ? low[c] : least;
            most = high[c] > most ? high[c] : most;
        }
    }

    uint32_t low = nmlsdr_bits_of(least), high = nmlsdr_bits_of(most) + 1;

    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        const float limit = nmlsdr_number_of(middle);
        int32_t count = 0;

        for (ptrdiff_t p = 0; p < n; p++) count += x[p] >= limit;
        if (count >= m) low = middle;
        else high = middle;
        if (count == m) break;
    }

    return nmlsdr_number_of(low);
}

/* Where the candidates of one side come from and go to. */
typedef struct {
    const nmlsdr_search *search;
    nmlsdr_side *own;
    const nmlsdr_side *other;
    nmlsdr_scratch *scratch;
} nmlsdr_collector;

/* Raise t_i to what the k best of the buffer guarantee, and drop what falls below. */
static void nmlsdr_tighten(const nmlsdr_collector *c, ptrdiff_t i)
{
    const nmlsdr_search *q = c->search;
    nmlsdr_side *s = c->own;
    nmlsdr_candidate *x = s->candidate + i * q->tuning.capacity;
    float *lower = c->scratch->lower;
    const float *e = c->other->e, own = s->e[i];
    const ptrdiff_t n = s->count[i];
    ptrdiff_t kept = 0;
    if (n < q->k) return;

    for (ptrdiff_t p = 0; p < n; p++)
        lower[p] = q->scaling.integral ? x[p].score : nmlsdr_lower_bound(x[p].score, own + e[x[p].position]);
    for (ptrdiff_t p = n; p % 8; p++) lower[p] = lower[0];
    nmlsdr_raise(s, i, nmlsdr_threshold(nmlsdr_reached(lower, n, q->k), 2 * q->scaling.slack));

    const float limit = s->t[i];

    for (ptrdiff_t p = 0; p < n; p++) {
        const nmlsdr_candidate here = x[p];
        x[kept] = here;
        kept += here.score >= limit;
    }

    s->count[i] = (int32_t)kept;
}

/* The canonical squared distances of a row to the n others that w->which names, into w->apart. */
static void nmlsdr_measure_apart(const nmlsdr_collector *c, ptrdiff_t row, ptrdiff_t n)
{
    const nmlsdr_rows *x = &c->own->rows, *others = &c->other->rows;
    nmlsdr_scratch *w = c->scratch;
    w->decided += n;

    if (x->kind > NMLSDR_DENSE_F64) {
        for (ptrdiff_t p = 0; p < n; p++) w->apart[p] = nmlsdr_canonical(x, row, others, w->which[p]);
        return;
    }

    nmlsdr_encounter compared = {w->query, others->data, others->kind == NMLSDR_DENSE_F64, x->d};
    if (x->kind == NMLSDR_DENSE_F32) nmlsdr_dense_row(x, row, w->query);
    else compared.query = (const double *)x->data + row * x->d;
    c->search->kernels->distances(&compared, w->which, n, w->apart);
}

/* The squared distance of a score if products are exact; never -0. */
static inline double nmlsdr_exact_distance(float score)
{
    const double apart = 0.0 - 2.0 * (double)score;
    return apart;
}

/* Decide the whole buffer by canonical distances: the k nearest are kept, the buffer empties. */
static void nmlsdr_decide(const nmlsdr_collector *c, ptrdiff_t i)
{
    const nmlsdr_search *q = c->search;
    nmlsdr_side *s = c->own;
    const ptrdiff_t *order = c->other->order;
    nmlsdr_scratch *w = c->scratch;
    const nmlsdr_candidate *x = s->candidate + i * q->tuning.capacity;
    const ptrdiff_t row = s->order ? s->order[i] : i, k = q->k;
    double *squared = s->squared + row * k;
    ptrdiff_t *index = s->indices + row * k, n = 0, nearer = 0;

    for (ptrdiff_t p = 0; p < s->count[i]; p++) {
        const ptrdiff_t j = order ? order[x[p].position] : x[p].position;
        w->which[n] = j;
        w->apart[n] = nmlsdr_exact_distance(x[p].score);
        n += squared[k - 1] > 0 || j < index[k - 1]; /* after k duplicates only a lower row can win */
    }

    if (!q->scaling.integral) nmlsdr_measure_apart(c, row, n);

    const nmlsdr_found last = nmlsdr_find(squared[k - 1], index[k - 1]);

    for (ptrdiff_t p = 0; p < n; p++) {
        w->found[nearer] = nmlsdr_find(w->apart[p], w->which[p]);
        nearer += nmlsdr_nearer(w->found[nearer], last);
    }

    nmlsdr_keep_nearest(squared, index, k, w->found, nearer);
    s->count[i] = 0;
    nmlsdr_raise_to(q, s, i, squared[k - 1]);
}

/* Decide the whole buffer of a search within a radius: the canonical distances say which rows are. */
static void nmlsdr_decide_within(const nmlsdr_collector *c, ptrdiff_t i)
{
    const nmlsdr_search *q = c->search;
    nmlsdr_side *s = c->own;
    const ptrdiff_t *order = c->other->order;
    nmlsdr_scratch *w = c->scratch;
    const nmlsdr_candidate *x = s->candidate + i * q->tuning.capacity;
    const ptrdiff_t row = s->order ? s->order[i] : i, n = s->count[i];

    for (ptrdiff_t p = 0; p < n; p++) {
        w->which[p] = order ? order[x[p].position] : x[p].position;
        w->apart[p] = nmlsdr_exact_distance(x[p].score);
    }

    if (!q->scaling.integral) nmlsdr_measure_apart(c, row, n);
    for (ptrdiff_t p = 0; p < n; p++) nmlsdr_within_add(q->within, row, w->apart[p], w->which[p]);
    s->count[i] = 0;
}

static void nmlsdr_make_room(const nmlsdr_collector *c, ptrdiff_t i)
{
    if (c->search->within) {
        nmlsdr_decide_within(c, i);
        return;
    }
    nmlsdr_tighten(c, i);
    if (c->own->count[i] > c->search->tuning.high_water) nmlsdr_decide(c, i);
}

/* What remains of row i's buffer is decided. */
static void nmlsdr_finish_row(const nmlsdr_collector *c, ptrdiff_t i)
{
    if (c->search->within) {
        nmlsdr_decide_within(c, i);
        return;
    }
    nmlsdr_tighten(c, i);
    nmlsdr_decide(c, i);
}

/* A candidate of row i, if its score is not below the threshold, which may have risen since the tile was
 * tested.  It is written in any case and then counted or not: the branch cannot be foreseen (.95 of the time at k = 80). */
static inline void nmlsdr_push(const nmlsdr_collector *c, ptrdiff_t i, ptrdiff_t j, float score)
{
    const nmlsdr_search *q = c->search;
    nmlsdr_side *s = c->own;
    const int passes = score >= s->t[i];

    const int32_t count = s->count[i] + passes;
    nmlsdr_candidate *x = s->candidate + i * q->tuning.capacity + s->count[i];
    x->score = score;
    x->position = (int32_t)j;
    s->count[i] = count;
    if (count == q->tuning.capacity) nmlsdr_make_room(c, i);
}

/* Two blocks of which all products are made. */
struct nmlsdr_pair {
    const float *za, *zb, *ha, *hb, *ta, *tb; /* packed rows, h and thresholds of either */
    float *partial;
    unsigned char *tiles; /* one for each tile: 0 is left out */
    int marks;            /* only mark the tiles that hold a pair of interest */
    ptrdiff_t na, nb, d, pass;
    ptrdiff_t first_a, first_b; /* positions of the blocks' first rows */
    nmlsdr_collector a, b;
};

/* One row of a tile: bit c of `passed` is set if column c passed the row's threshold or its own. */
static void nmlsdr_push_row(const nmlsdr_pair *p, ptrdiff_t i, ptrdiff_t j, unsigned long long passed, const float *score)
{
    const nmlsdr_search *q = p->a.search;
    const ptrdiff_t at = p->first_a + i, to = p->first_b + j;
    const int both = p->tb != q->infinite_thresholds;

    for (; passed; passed &= passed - 1) {
        const int c = nmlsdr_lowest_bit(passed);
        if (at == to + c && q->symmetric) continue;
        nmlsdr_push(&p->a, at, to + c, score[c]);
        if (both) nmlsdr_push(&p->b, to + c, at, score[c]);
    }
}

#undef NM_EPS

#endif
