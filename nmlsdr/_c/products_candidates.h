/* Candidates of each row: error bound, threshold, buffer, exact decision.
 *
 * A template without include guard: kernels.h includes it with T = float and T = double.
 *
 * Every row i owns a buffer of (score, position) pairs, a threshold t_i and the k nearest of those decided (the output
 * arrays themselves, nearest.h).  The invariant that makes the result exact:
 *
 *   a pair that is not in the buffer, among the decided or in the future has a canonical distance above the k-th smallest
 *   canonical distance of row i, or equals it with a larger row index.
 *
 * It holds because s_ij >= -c_ij / 2 and s_ij - e_i - e_j <= -c_ij / 2 in scaled units (docs/neighbours.md).
 */

#define NM_EPS 0x1p-24

typedef struct {
    T score;
    int32_t position;
} NM(candidate);

/* The largest T that is not above x. */
static inline T NM(below)(double x)
{
    T y = (T)x;
    if ((double)y > x) y = nextafterf(y, -INFINITY);
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

/* Below -c_ij / 2: the score less the shares of both rows, by what the roundings here can take and a little more. */
static inline T NM(lower_bound)(T score, T shares)
{
    const T size = score < 0 ? -score : score;
    return score - shares - (size + shares) * (T)(4 * NM_EPS);
}

/* The bits of a number, made to increase with it, and back. */
typedef uint32_t NM(bits);
#define NM_SIGN ((NM(bits))1 << (8 * sizeof(T) - 1))

static inline NM(bits) NM(bits_of)(T x)
{
    NM(bits) b;
    memcpy(&b, &x, sizeof(T));
    return b & NM_SIGN ? ~b : b | NM_SIGN;
}

static inline T NM(number_of)(NM(bits) b)
{
    T x;
    b = b & NM_SIGN ? b & ~NM_SIGN : ~b;
    memcpy(&x, &b, sizeof(T));
    return x;
}

#undef NM_SIGN

/* A number that at least m of n values reach, and if they differ no more: m <= n, and the values are padded to eights by
 * some of them.  The interval of its bits is halved, so that values of any scale take as many counts, which fit vectors, as
 * they have bits at most, and about ten otherwise.  Quickselect took 2 us for 152 values, a third of a search for k = 80. */
static T NM(reached)(const T *x, ptrdiff_t n, ptrdiff_t m)
{
    T least = x[0], most = x[0];
    for (ptrdiff_t p = 0; p < n; p += 8) {
        T low[4], high[4];
        for (int c = 0; c < 4; c++) low[c] = x[p + c] < x[p + 4 + c] ? x[p + c] : x[p + 4 + c];
        for (int c = 0; c < 4; c++) high[c] = x[p + c] > x[p + 4 + c] ? x[p + c] : x[p + 4 + c];
        for (int c = 0; c < 4; c++) {
            least = low[c] < least ? low[c] : least;
            most = high[c] > most ? high[c] : most;
        }
    }
    NM(bits) low = NM(bits_of)(least), high = NM(bits_of)(most) + 1;
    while (high - low > 1) {
        const NM(bits) middle = low + (high - low) / 2;
        const T limit = NM(number_of)(middle);
        int32_t count = 0;
        for (ptrdiff_t p = 0; p < n; p++) count += x[p] >= limit;
        if (count >= m) low = middle;
        else high = middle;
        if (count == m) break;
    }
    return NM(number_of)(low);
}

/* Raise t_i to what the k best of the buffer guarantee, and drop what falls below. */
static void NM(tighten)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i, T *lower)
{
    NM(candidate) *x = (NM(candidate) *)s->candidate + i * q->capacity;
    T *t = (T *)s->t + i;
    const T *e = (const T *)other->e, own = ((const T *)s->e)[i];
    const ptrdiff_t n = s->count[i];
    ptrdiff_t kept = 0;
    if (n < q->k) return;
    if (!q->ranked) {
        for (ptrdiff_t p = 0; p < n; p++)
            lower[p] = q->integral ? x[p].score : NM(lower_bound)(x[p].score, own + e[x[p].position]);
        for (ptrdiff_t p = n; p % 8; p++) lower[p] = lower[0];
        const T reached = NM(reached)(lower, n, q->k);
        if (reached > *t) *t = reached;
    }
    const T limit = *t;
    for (ptrdiff_t p = 0; p < n; p++) {
        const NM(candidate) here = x[p];
        x[kept] = here;
        kept += here.score >= limit;
    }
    s->count[i] = (int32_t)kept;
}

/* The canonical squared distances of a row to the n others that w->which names, into w->apart. */
static void NM(measure_apart)(const nmlsdr_search *q, const nmlsdr_rows *x, ptrdiff_t row, const nmlsdr_rows *others,
                              ptrdiff_t n, nmlsdr_scratch *w)
{
    const double *query = (const double *)x->data + row * q->d;
    w->decided += n;
    if (x->kind > NMLSDR_DENSE_F64) {
        for (ptrdiff_t p = 0; p < n; p++) w->apart[p] = nmlsdr_canonical(x, row, others, w->which[p]);
        return;
    }
    for (ptrdiff_t p = 0; p < n; p++) nmlsdr_prefetch_row(others, w->which[p]);
    if (x->kind == NMLSDR_DENSE_F32) {
        nmlsdr_dense_row(x, row, w->query);
        query = w->query;
    }
    q->kernels->distances(others->data, others->kind == NMLSDR_DENSE_F64, q->d, w->which, n, query, w->apart);
}

/* Decide the whole buffer by canonical distances: the k nearest are kept, the buffer empties. */
static void NM(decide)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i,
                       nmlsdr_scratch *w)
{
    const NM(candidate) *x = (const NM(candidate) *)s->candidate + i * q->capacity;
    const ptrdiff_t row = s->order ? s->order[i] : i, k = q->k;
    double *squared = s->squared + row * k;
    ptrdiff_t *index = s->indices + row * k, n = 0, nearer = 0;
    for (ptrdiff_t p = 0; p < s->count[i]; p++) {
        const ptrdiff_t j = other->order ? other->order[x[p].position] : x[p].position;
        w->which[n] = j;
        w->apart[n] = 0.0 - 2.0 * (double)x[p].score; /* the distance if products are exact; never -0 */
        n += squared[k - 1] > 0 || j < index[k - 1]; /* after k duplicates only a lower row can win */
    }
    if (!q->integral) NM(measure_apart)(q, &s->rows, row, &other->rows, n, w);
    const nmlsdr_found last = nmlsdr_find(squared[k - 1], index[k - 1]);
    for (ptrdiff_t p = 0; p < n; p++) {
        w->found[nearer] = nmlsdr_find(w->apart[p], w->which[p]);
        nearer += nmlsdr_nearer(w->found[nearer], last);
    }
    nmlsdr_keep_nearest(squared, index, k, w->found, nearer);
    s->count[i] = 0;
    if (squared[k - 1] < INFINITY) {
        const double limit = q->integral ? squared[k - 1] * -0.5
            : -(squared[k - 1] * q->scale * q->scale * 0.5) * (1 + 0x1p-30) - q->absolute;
        const T t = NM(below)(limit);
        if (t > ((T *)s->t)[i]) ((T *)s->t)[i] = t;
    }
}

static void NM(make_room)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i, nmlsdr_scratch *w)
{
    NM(tighten)(q, s, other, i, (T *)w->lower);
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

/* A candidate of row i, if its score is not below the threshold, which may have risen since the tile was tested.  Without
 * ranks it is written in any case and then counted or not: the branch cannot be foreseen (.95 of the time at k = 80). */
static inline void NM(push)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i,
                            ptrdiff_t j, T score, nmlsdr_scratch *w)
{
    T *t = (T *)s->t + i;
    const int passes = score >= *t;
    if (q->ranked) {
        if (!passes) return;
        const T shares = ((const T *)s->e)[i] + ((const T *)other->e)[j];
        const T low = q->integral ? score : NM(lower_bound)(score, shares);
        T *best = (T *)s->best + i * NMLSDR_RANKS(q->k);
        if (low > best[0]) {
            NM(rank)(best, q->k, low);
            if (best[0] > *t) *t = best[0];
        }
    }
    const int32_t count = s->count[i] + passes;
    NM(candidate) *x = (NM(candidate) *)s->candidate + i * q->capacity + s->count[i];
    x->score = score;
    x->position = (int32_t)j;
    s->count[i] = count;
    if (count == q->capacity) NM(make_room)(q, s, other, i, w);
}

struct NM(pair) {
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
};

/* One row of a tile: bit c of `passed` says that column c passed the row's threshold or its own. */
static void NM(push_row)(const NM(pair) *p, ptrdiff_t i, ptrdiff_t j, unsigned long long passed, const T *score)
{
    const ptrdiff_t at = p->first_a + i, to = p->first_b + j;
    const int both = !p->search->ranked && p->tb != (const T *)p->search->never;
    for (; passed; passed &= passed - 1) {
        const int c = nmlsdr_lowest_bit(passed);
        if (at == to + c && p->search->exclude_self) continue;
        NM(push)(p->search, p->a, p->b, at, to + c, score[c], p->scratch);
        if (both || score[c] >= p->tb[j + c]) NM(push)(p->search, p->b, p->a, to + c, at, score[c], p->scratch);
    }
}

/* What remains of row i's buffer is decided. */
static void NM(finish_row)(const nmlsdr_search *q, nmlsdr_side *s, const nmlsdr_side *other, ptrdiff_t i, nmlsdr_scratch *w)
{
    NM(tighten)(q, s, other, i, (T *)w->lower);
    NM(decide)(q, s, other, i, w);
}

#undef NM_EPS
