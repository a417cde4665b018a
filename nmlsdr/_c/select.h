/* Candidates of each row: packing with its error bound, thresholds, buffers, exact decision.
 *
 * A template without include guard: search.h includes it with T = float and T = double.
 *
 * Every row i owns a buffer of (score, position) pairs, a threshold t_i and a heap of k decided neighbours (the
 * output arrays themselves).  The invariant that makes the result exact:
 *
 *   a pair that is not in the buffer, the heap or the future has a canonical distance above the k-th smallest
 *   canonical distance of row i, or equals it with a larger row index.
 *
 * It holds because s_ij >= -c_ij / 2 and s_ij - e_i - e_j <= -c_ij / 2 in scaled units (docs/neighbours.md).
 */

#define NM_EPS (NM_DOUBLE ? 0x1p-53 : 0x1p-24)

/* The largest T that is not above x. */
static inline T NM(below)(double x)
{
    T y = (T)x;
#if !NM_DOUBLE
    if ((double)y > x) y = nextafterf(y, -INFINITY);
#endif
    return y;
}

/* h = |z|^2 / 2 less the row's share of the error bound, e = twice that share. */
static void NM(bounds)(const nmlsdr_search *q, double square, T *h, T *e)
{
    if (q->integral) {
        *h = (T)(square / 2);
        *e = 0;
        return;
    }
    const double terms = (double)q->terms + 16.0;
    double share = terms * NM_EPS / (1 - terms * NM_EPS) + (double)(q->d + 64) * 0x1p-52;
    share = share * square + q->absolute;
    *h = NM(below)(square * 0.5 - share);
    *e = -NM(below)(-2.0000001 * share);
}

/* Centre, scale, round and pack one block of rows; positions past the end can never be of interest. */
static void NM(pack)(const nmlsdr_search *q, nmlsdr_side *s, ptrdiff_t block, T *z)
{
    const ptrdiff_t d = q->d, lanes = q->lanes;
    T *h = (T *)s->h, *e = (T *)s->e;
    for (ptrdiff_t r = 0; r < NMLSDR_BLOCK; r++) {
        const ptrdiff_t at = block * q->block + r;
        T *to = z + r / lanes * lanes * d + r % lanes;
        if (at >= s->rows.n) {
            for (ptrdiff_t j = 0; j < d; j++) to[j * lanes] = 0;
            h[at] = (T)INFINITY;
            e[at] = 0;
            continue;
        }
        const ptrdiff_t row = s->order ? s->order[at] : at;
        double square[4] = {0, 0, 0, 0};
        if (s->rows.kind == NMLSDR_DENSE_F32) {
            const float *x = (const float *)s->rows.data + row * d;
            for (ptrdiff_t j = 0; j < d; j++) {
                const T y = (T)(((double)x[j] - q->centre[j]) * q->scale);
                to[j * lanes] = y;
                square[j & 3] += (double)y * (double)y;
            }
        } else if (s->rows.kind == NMLSDR_DENSE_F64) {
            const double *x = (const double *)s->rows.data + row * d;
            for (ptrdiff_t j = 0; j < d; j++) {
                const T y = (T)((x[j] - q->centre[j]) * q->scale);
                to[j * lanes] = y;
                square[j & 3] += (double)y * (double)y;
            }
        } else {
            for (ptrdiff_t j = 0; j < d; j++) to[j * lanes] = 0;
            const ptrdiff_t end = nmlsdr_row_pointer(&s->rows, row + 1);
            for (ptrdiff_t p = nmlsdr_row_pointer(&s->rows, row); p < end; p++) {
                const ptrdiff_t j = nmlsdr_entry_column(&s->rows, p);
                const T y = (T)(nmlsdr_entry_value(&s->rows, p) * q->scale);
                to[j * lanes] = y;
                square[j & 3] += (double)y * (double)y;
            }
        }
        NM(bounds)(q, (square[0] + square[1]) + (square[2] + square[3]), &h[at], &e[at]);
    }
}

/* The leading coordinates of one block.  Their share of the error covers what was rounded on the way to them, which
 * is relative to the whole row: its squared norm comes with them. */
static void NM(pack_lead)(const nmlsdr_search *q, nmlsdr_side *s, ptrdiff_t block)
{
    const ptrdiff_t d = q->lead_d, lanes = q->lanes;
    T *z = (T *)s->lead_z + block * q->block * d, *h = (T *)s->lead_h + block * q->block;
    const double terms = ((double)d + 17.0) * NM_EPS;
    const double relative = terms / (1 - terms) + (double)(q->d + 64) * (double)(d + 1) * 0x1p-52;
    for (ptrdiff_t r = 0; r < q->block; r++) {
        const ptrdiff_t at = block * q->block + r;
        T *to = z + r / lanes * lanes * d + r % lanes;
        double square = 0;
        if (at >= s->rows.n) {
            for (ptrdiff_t j = 0; j < d; j++) to[j * lanes] = 0;
            h[r] = (T)INFINITY;
            continue;
        }
        const double *lead = s->lead + (s->order ? s->order[at] : at) * (d + 1);
        for (ptrdiff_t j = 0; j < d; j++) {
            const T y = (T)(lead[j] * q->scale);
            to[j * lanes] = y;
            square += (double)y * (double)y;
        }
        h[r] = NM(below)(square * 0.5 - (relative * (lead[d] * q->scale * q->scale) + q->absolute + (double)(d + 8) * 0x1p-118));
    }
}

/* The m-th largest of n values (m from 1), by quickselect; the array is reordered. */
static double NM(largest)(double *x, ptrdiff_t n, ptrdiff_t m)
{
    ptrdiff_t low = 0, high = n - 1, want = m - 1;
    while (low < high) {
        const double pivot = x[low + (high - low) / 2];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (x[i] > pivot) i++;
            while (x[j] < pivot) j--;
            if (i <= j) {
                const double swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (want <= j) high = j;
        else if (want >= i) low = i;
        else break;
    }
    return x[want];
}

/* Raise t_i to what the k best of the buffer guarantee, and drop what falls below. */
static void NM(tighten)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i, double *lower)
{
    T *score = (T *)s->score + i * q->capacity, *t = (T *)s->t + i;
    int32_t *candidate = s->candidate + i * q->capacity;
    const T *e = (const T *)other->e;
    const double own = ((const T *)s->e)[i];
    const ptrdiff_t n = s->count[i];
    ptrdiff_t kept = 0;
    if (n < q->k) return;
    if (!q->ranked) {
        for (ptrdiff_t p = 0; p < n; p++) lower[p] = (double)score[p] - own - (double)e[candidate[p]];
        const T limit = NM(below)(NM(largest)(lower, n, q->k));
        if (limit > *t) *t = limit;
    }
    for (ptrdiff_t p = 0; p < n; p++) {
        score[kept] = score[p];
        candidate[kept] = candidate[p];
        kept += score[p] >= *t;
    }
    s->count[i] = (int32_t)kept;
}

/* Decide the whole buffer by canonical distances: the heap keeps the k best, the buffer empties. */
static void NM(settle)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i,
                       nmlsdr_scratch *w)
{
    const T *score = (const T *)s->score + i * q->capacity;
    const int32_t *candidate = s->candidate + i * q->capacity;
    const ptrdiff_t n = s->count[i], row = s->order ? s->order[i] : i, k = q->k;
    double *heap = s->squared + row * k;
    ptrdiff_t *index = s->indices + row * k;
    if (!q->integral)
        for (ptrdiff_t p = 0; p < n; p++)
            nmlsdr_prefetch_row(&other->rows, other->order ? other->order[candidate[p]] : candidate[p]);
    for (ptrdiff_t p = 0; p < n; p++) {
        const ptrdiff_t j = other->order ? other->order[candidate[p]] : candidate[p];
        if (heap[0] == 0 && j > index[0]) continue; /* k duplicates are found: only a lower index can win */
        double c;
        if (q->integral) c = 0.0 - 2.0 * (double)score[p]; /* never -0 */
        else {
            c = nmlsdr_canonical(&s->rows, row, &other->rows, j);
            w->decided++;
        }
        nmlsdr_heap_offer(heap, index, k, c, j);
    }
    s->count[i] = 0;
    if (heap[0] < INFINITY) {
        const double limit = q->integral ? heap[0] * -0.5
            : -(heap[0] * q->scale * q->scale * 0.5) * (1 + 0x1p-30) - q->absolute;
        const T t = NM(below)(limit);
        if (t > ((T *)s->t)[i]) ((T *)s->t)[i] = t;
    }
}

static void NM(room)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i, nmlsdr_scratch *w)
{
    NM(tighten)(q, s, other, i, w->lower);
    if (s->count[i] > q->crowded) NM(settle)(q, s, other, i, w);
}

static inline void NM(push)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i,
                            ptrdiff_t j, T score, nmlsdr_scratch *w)
{
    if (!(score >= ((const T *)s->t)[i])) return; /* t_i may have risen since the tile was tested */
    if (q->ranked) {
        const T low = NM(below)((double)score - (double)((const T *)s->e)[i] - (double)((const T *)other->e)[j]);
        T *best = (T *)s->best + i * q->k;
        ptrdiff_t p = q->k - 1;
        if (low > best[p]) {
            for (; p > 0 && best[p - 1] < low; p--) best[p] = best[p - 1];
            best[p] = low;
            if (best[q->k - 1] > ((T *)s->t)[i]) ((T *)s->t)[i] = best[q->k - 1];
        }
    }
    const ptrdiff_t at = i * q->capacity + s->count[i];
    ((T *)s->score)[at] = score;
    s->candidate[at] = (int32_t)j;
    if (++s->count[i] == q->capacity) NM(room)(q, s, other, i, w);
}

typedef struct {
    const T *za, *zb, *ha, *hb, *ta, *tb;
    T *partial;
    unsigned char *tiles; /* one for each tile: 0 is left out */
    int marks;            /* only mark the tiles that hold a pair of interest */
    const char *ahead;    /* the block that comes next: each tile brings so many lines of it near */
    ptrdiff_t lines;
    ptrdiff_t na, nb, d, pass;
    const nmlsdr_search *search;
    nmlsdr_side *a, *b;
    ptrdiff_t first_a, first_b; /* positions of the blocks' first rows */
    nmlsdr_scratch *scratch;
} NM(pair_t);

/* One row of a tile: bit c of `passed` says that column c passed the row's threshold or its own. */
static void NM(push_row)(const NM(pair_t) *p, ptrdiff_t i, ptrdiff_t j, unsigned long long passed, const T *score)
{
    const ptrdiff_t at = p->first_a + i, to = p->first_b + j;
    for (; passed; passed &= passed - 1) {
        const int c = nmlsdr_lowest_bit(passed);
        if (at == to + c && p->search->exclude_self) continue;
        NM(push)(p->search, p->a, p->b, at, to + c, score[c], p->scratch);
        if (score[c] >= p->tb[j + c]) NM(push)(p->search, p->b, p->a, to + c, at, score[c], p->scratch);
    }
}

#define NM_PAIR NM(pair_t)
#define NM_PUSH NM(push_row)
#define NM_TEMPLATE "tile.h"
#include "simd.h"
#undef NM_TEMPLATE
#undef NM_PAIR
#undef NM_PUSH

typedef struct {
    int lanes;
    void (*pair)(const NM(pair_t) *);
    void (*sweep)(const NM(pair_t) *, ptrdiff_t, T *, const T *, const int32_t *, ptrdiff_t);
} NM(kernel_t);

static NM(kernel_t) NM(kernel)(int level)
{
    static const NM(kernel_t) table[] = {
        {NM(lanes_portable), NM(pair_portable), NM(sweep_portable)},
#if NMLSDR_X86
        {NM(lanes_avx2), NM(pair_avx2), NM(sweep_avx2)},
        {NM(lanes_avx512), NM(pair_avx512), NM(sweep_avx512)},
#endif
    };
    return table[NMLSDR_X86 ? level : 0];
}

static void NM(describe_pair)(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w, NM(pair_t) *p)
{
    nmlsdr_side *a = q->asked, *b = q->rows;
    p->first_a = I * q->block;
    p->first_b = J * q->block;
    p->ha = (const T *)a->h + p->first_a;
    p->hb = (const T *)b->h + p->first_b;
    p->ta = (const T *)a->t + p->first_a;
    p->tb = q->symmetric && I != J ? (const T *)b->t + p->first_b : (const T *)q->never;
    p->partial = (T *)w->partial;
    p->tiles = w->tile;
    p->marks = 0;
    p->ahead = NULL;
    p->lines = 0;
    p->na = a->rows.n - p->first_a < q->block ? a->rows.n - p->first_a : q->block;
    p->nb = b->rows.n - p->first_b < q->block ? b->rows.n - p->first_b : q->block;
    p->d = q->d;
    p->pass = q->pass;
    p->search = q;
    p->a = a;
    p->b = b;
    p->scratch = w;
    w->pairs++;
}

/* Mark the tiles whose leading coordinates leave a chance; the number of them. */
static ptrdiff_t NM(mark)(const nmlsdr_search *q, const NM(pair_t) *p, nmlsdr_scratch *w)
{
    const ptrdiff_t tiles = (p->na + 3) / 4 * ((p->nb + 3 * q->lanes - 1) / (3 * q->lanes));
    ptrdiff_t alive = 0;
    NM(pair_t) lead = *p;
    memset(w->tile, 1, (size_t)tiles);
    if (!q->lead_d || (q->symmetric && p->first_a == p->first_b)) return tiles;
    lead.za = (const T *)p->a->lead_z + p->first_a * q->lead_d;
    lead.zb = (const T *)p->b->lead_z + p->first_b * q->lead_d;
    lead.ha = (const T *)p->a->lead_h + p->first_a;
    lead.hb = (const T *)p->b->lead_h + p->first_b;
    lead.d = lead.pass = q->lead_d;
    lead.marks = 1;
    NM(kernel)(q->level).pair(&lead);
    for (ptrdiff_t t = 0; t < tiles; t++) alive += w->tile[t];
    w->tiles += tiles;
    w->alive += alive;
    return alive;
}

/* All pairs of dense block I of the asked rows with block J of the rows. */
static void NM(run_dense)(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w)
{
    const ptrdiff_t size = q->block * q->d;
    NM(pair_t) p;
    NM(describe_pair)(q, I, J, w, &p);
    if (!NM(mark)(q, &p, w)) return;
    p.za = (const T *)q->window[0].z + (I - q->window[0].first) * size;
    p.zb = (const T *)q->window[q->beside].z + (J - q->window[q->beside].first) * size;
    const ptrdiff_t tiles = (q->d + q->pass - 1) / q->pass * (q->block / 4) * (q->block / (3 * q->lanes));
    p.ahead = w->ahead;
    p.lines = p.ahead ? size * (ptrdiff_t)sizeof(T) / 64 / tiles : 0;
    NM(kernel)(q->level).pair(&p);
}

/* The postings of block J of sparse rows: for each rare feature, who holds it; the frequent features as columns. */
static void NM(post)(nmlsdr_search *q, nmlsdr_side *s, ptrdiff_t J)
{
    const ptrdiff_t first = J * q->block, end = first + q->block < s->rows.n ? first + q->block : s->rows.n;
    const ptrdiff_t base = nmlsdr_row_pointer(&s->rows, first), strip = 8 * q->lanes;
    int32_t *at = q->posting_ptr + J * (q->d + 2) + 1; /* at[f]: next free place of feature f */
    T *columns = (T *)q->columns + first * q->frequent;
    for (ptrdiff_t p = base; p < nmlsdr_row_pointer(&s->rows, end); p++) {
        const ptrdiff_t f = nmlsdr_entry_column(&s->rows, p);
        if (q->slot[f] < 0) at[f + 1]++;
    }
    for (ptrdiff_t f = 0; f < q->d; f++) at[f + 1] += at[f];
    memset(columns, 0, (size_t)(q->block * q->frequent) * sizeof(T));
    for (ptrdiff_t row = first; row < end; row++)
        for (ptrdiff_t p = nmlsdr_row_pointer(&s->rows, row); p < nmlsdr_row_pointer(&s->rows, row + 1); p++) {
            const ptrdiff_t f = nmlsdr_entry_column(&s->rows, p), r = row - first;
            const T value = (T)(nmlsdr_entry_value(&s->rows, p) * q->scale);
            if (q->slot[f] < 0) {
                const ptrdiff_t to = base + at[f]++;
                q->posting_row[to] = (int32_t)r;
                ((T *)q->posting_value)[to] = value;
            } else {
                columns[(r / strip * q->frequent + q->slot[f]) * strip + r % strip] = value;
            }
        }
}

/* h and e of sparse rows. */
static void NM(measure)(const nmlsdr_search *q, nmlsdr_side *s)
{
    for (ptrdiff_t i = 0; i < s->blocks * q->block; i++) {
        if (i >= s->rows.n) {
            ((T *)s->h)[i] = (T)INFINITY;
            ((T *)s->e)[i] = 0;
            continue;
        }
        double square = 0;
        for (ptrdiff_t p = nmlsdr_row_pointer(&s->rows, i); p < nmlsdr_row_pointer(&s->rows, i + 1); p++) {
            const double y = (T)(nmlsdr_entry_value(&s->rows, p) * q->scale);
            square += y * y;
        }
        NM(bounds)(q, square, (T *)s->h + i, (T *)s->e + i);
    }
}

/* All pairs of sparse block I of the asked rows with block J of the rows: products by postings. */
static void NM(run_sparse)(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w)
{
    NM(pair_t) p;
    NM(describe_pair)(q, I, J, w, &p);
    T *sums = p.partial, *held = sums + q->block;
    const ptrdiff_t base = nmlsdr_row_pointer(&q->rows->rows, p.first_b);
    const int32_t *ptr = q->posting_ptr + J * (q->d + 2), *row = q->posting_row + base;
    const T *value = (const T *)q->posting_value + base;
    const nmlsdr_rows *x = &q->asked->rows;
    p.zb = (const T *)q->columns + p.first_b * q->frequent;
    p.d = q->frequent;
    for (ptrdiff_t j = 0; j < q->block; j++) sums[j] = -p.hb[j];
    for (ptrdiff_t i = 0; i < p.na; i++) {
        const ptrdiff_t end = nmlsdr_row_pointer(x, p.first_a + i + 1);
        ptrdiff_t m = 0;
        for (ptrdiff_t e = nmlsdr_row_pointer(x, p.first_a + i); e < end; e++) {
            const ptrdiff_t f = nmlsdr_entry_column(x, e);
            const T y = (T)(nmlsdr_entry_value(x, e) * q->scale);
            if (q->slot[f] >= 0) {
                held[m] = y;
                w->slots[m++] = q->slot[f];
                continue;
            }
            for (int32_t at = ptr[f], last = ptr[f + 1]; at < last; at++) sums[row[at]] += y * value[at];
        }
        NM(kernel)(q->level).sweep(&p, i, sums, held, w->slots, m);
    }
}

/* What remains of row i's buffer is decided; its heap becomes the sorted answer. */
static void NM(finish_row)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i,
                           nmlsdr_scratch *w, int sort)
{
    const ptrdiff_t row = s->order ? s->order[i] : i;
    NM(tighten)(q, s, other, i, w->lower);
    NM(settle)(q, s, other, i, w);
    if (sort) nmlsdr_heap_sort(s->squared + row * q->k, s->indices + row * q->k, q->k);
}

#undef NM_EPS
