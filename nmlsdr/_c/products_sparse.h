/* Products of sparse rows: a block's columns and postings, the rows' bounds, and a pair of blocks.
 *
 * A template without include guard: products_blocks.h includes it with T = float and T = double, after
 * products_packed.h.  What becomes a column is decided in products_storage.h.
 */

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

/* All pairs of sparse block I of the queries with block J of the rows: products by postings. */
static void NM(run_sparse)(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w)
{
    NM(pair) p;
    NM(describe_pair)(q, I, J, w, &p);
    T *sums = p.partial, *value_of = sums + q->block;
    const ptrdiff_t base = nmlsdr_row_pointer(&q->rows->rows, p.first_b);
    const int32_t *ptr = q->posting_ptr + J * (q->d + 2), *row = q->posting_row + base;
    const T *value = (const T *)q->posting_value + base;
    const nmlsdr_rows *x = &q->queries->rows;
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
                value_of[m] = y;
                w->slots[m++] = q->slot[f];
                continue;
            }
            for (int32_t at = ptr[f], last = ptr[f + 1]; at < last; at++) sums[row[at]] += y * value[at];
        }
        q->kernels->NM_OF(sweep)(&p, i, sums, value_of, w->slots, m);
    }
}
