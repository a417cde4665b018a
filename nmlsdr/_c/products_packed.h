/* Products of packed blocks: packing rows with their bounds, leading coordinates, and a pair of blocks.
 *
 * A template without include guard: products_blocks.h includes it with T = float and T = double.
 */

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
        if (s->rows.kind <= NMLSDR_DENSE_F64) {
            for (ptrdiff_t j = 0; j < d; j++) {
                const T y = (T)((nmlsdr_entry_value(&s->rows, row * d + j) - q->centre[j]) * q->scale);
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
    const double terms = ((double)d + 17.0) * 0x1p-24;
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

static void NM(describe_pair)(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w, NM(pair) *p)
{
    nmlsdr_side *a = q->queries, *b = q->rows;
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
static ptrdiff_t NM(mark)(const nmlsdr_search *q, const NM(pair) *p, nmlsdr_scratch *w)
{
    const ptrdiff_t tiles = (p->na + 3) / 4 * ((p->nb + 3 * q->lanes - 1) / (3 * q->lanes));
    ptrdiff_t alive = 0;
    NM(pair) lead = *p;
    memset(w->tile, 1, (size_t)tiles);
    if (!q->lead_d || (q->symmetric && p->first_a == p->first_b)) return tiles;
    lead.za = (const T *)p->a->lead_z + p->first_a * q->lead_d;
    lead.zb = (const T *)p->b->lead_z + p->first_b * q->lead_d;
    lead.ha = (const T *)p->a->lead_h + p->first_a;
    lead.hb = (const T *)p->b->lead_h + p->first_b;
    lead.d = lead.pass = q->lead_d;
    lead.marks = 1;
    q->kernels->NM_OF(pair)(&lead);
    for (ptrdiff_t t = 0; t < tiles; t++) alive += w->tile[t];
    w->tiles += tiles;
    w->alive += alive;
    return alive;
}

/* All pairs of dense block I of the queries with block J of the rows. */
static void NM(run_dense)(nmlsdr_search *q, ptrdiff_t I, ptrdiff_t J, nmlsdr_scratch *w)
{
    const ptrdiff_t size = q->block * q->d;
    NM(pair) p;
    NM(describe_pair)(q, I, J, w, &p);
    if (!NM(mark)(q, &p, w)) return;
    p.za = (const T *)q->window[0].z + (I - q->window[0].first) * size;
    p.zb = (const T *)q->window[q->second].z + (J - q->window[q->second].first) * size;
    const ptrdiff_t tiles = (q->d + q->pass - 1) / q->pass * (q->block / 4) * (q->block / (3 * q->lanes));
    p.ahead = w->ahead;
    p.lines = p.ahead ? size * (ptrdiff_t)sizeof(T) / 64 / tiles : 0;
    q->kernels->NM_OF(pair)(&p);
}
