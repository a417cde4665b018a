/* Candidates of each row: error bound, threshold, buffer, exact decision.
 *
 * A template without include guard: kernels.h includes it with T = float and T = double.
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
static void NM(decide)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i,
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

static void NM(make_room)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i, nmlsdr_scratch *w)
{
    NM(tighten)(q, s, other, i, w->lower);
    if (s->count[i] > q->crowded) NM(decide)(q, s, other, i, w);
}

/* Put a bound into the k best, which increase and end in infinities, and drop the least: without a branch, so that eight
 * at a time fit vectors.  Insertion with branches took 25 ns a push for k = 10, half of a search of 500 rows. */
static inline void NM(rank)(T *best, ptrdiff_t k, T low)
{
    for (ptrdiff_t p = 0; p < k; p += 8) {
        T next[8];
        for (int m = 0; m < 8; m++) next[m] = best[p + m + 1] < low ? best[p + m + 1] : low;
        for (int m = 0; m < 8; m++) best[p + m] = best[p + m] > next[m] ? best[p + m] : next[m];
    }
}

static inline void NM(push)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i,
                            ptrdiff_t j, T score, nmlsdr_scratch *w)
{
    if (!(score >= ((const T *)s->t)[i])) return; /* t_i may have risen since the tile was tested */
    if (q->ranked) {
        /* below score - e_i - e_j, by what the roundings here can take and a little more */
        const T slack = ((const T *)s->e)[i] + ((const T *)other->e)[j];
        const T low = q->integral ? score : score - slack - ((score < 0 ? -score : score) + slack) * (T)(4 * NM_EPS);
        T *best = (T *)s->best + i * NMLSDR_RANKS(q->k);
        if (low > best[0]) {
            NM(rank)(best, q->k, low);
            if (best[0] > ((T *)s->t)[i]) ((T *)s->t)[i] = best[0];
        }
    }
    const ptrdiff_t at = i * q->capacity + s->count[i];
    ((T *)s->score)[at] = score;
    s->candidate[at] = (int32_t)j;
    if (++s->count[i] == q->capacity) NM(make_room)(q, s, other, i, w);
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
} NM(pair);

/* One row of a tile: bit c of `passed` says that column c passed the row's threshold or its own. */
static void NM(push_row)(const NM(pair) *p, ptrdiff_t i, ptrdiff_t j, unsigned long long passed, const T *score)
{
    const ptrdiff_t at = p->first_a + i, to = p->first_b + j;
    for (; passed; passed &= passed - 1) {
        const int c = nmlsdr_lowest_bit(passed);
        if (at == to + c && p->search->exclude_self) continue;
        NM(push)(p->search, p->a, p->b, at, to + c, score[c], p->scratch);
        if (score[c] >= p->tb[j + c]) NM(push)(p->search, p->b, p->a, to + c, at, score[c], p->scratch);
    }
}

/* What remains of row i's buffer is decided; its heap becomes the sorted answer. */
static void NM(finish_row)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i,
                           nmlsdr_scratch *w, int sort)
{
    const ptrdiff_t row = s->order ? s->order[i] : i;
    NM(tighten)(q, s, other, i, w->lower);
    NM(decide)(q, s, other, i, w);
    if (sort) nmlsdr_heap_sort(s->squared + row * q->k, s->indices + row * q->k, q->k);
}

#undef NM_EPS
