/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the k-d tree does for all rows of a leaf (tree.h), for each SIMD level of simd.h.
 *
 * Canonical additions in canonical order, never fused: see distance.h.  1 <= d <= 8.
 */

/* ((t0 + t4) + (t2 + t6)) + ((t1 + t5) + (t3 + t7)): terms from d on are +0 and would change nothing. */
static inline NM_TARGET NM_INLINE V NM_LEVEL(fold)(const V *t, int d)
{
    V even = t[0], odd = t[1], more;
    if (d > 4) even = t[0] + t[4];
    if (d > 2) {
        more = t[2];
        if (d > 6) more = t[2] + t[6];
        even = even + more;
    }
    if (d > 5) odd = t[1] + t[5];
    if (d > 3) {
        more = t[3];
        if (d > 7) more = t[3] + t[7];
        odd = odd + more;
    }
    if (d > 1) even = even + odd;
    return even;
}

/* Squared distances of the rows of a leaf to one query; bit c is set if the distance of row c is at most `limit`. */
static inline NM_TARGET NM_INLINE unsigned long long NM_LEVEL(scan_d)(const nmlsdr_leaf_queries *a, const double *rows,
                                                                      const double *query, int d, double limit, double *squared)
{
    unsigned long long hits = 0;
    for (int c = 0; c < a->leaf; c += G) {
        V t[8] = {VZERO, VZERO};
        for (int j = 0; j < d; j++) {
            const V gap = VSET1(query[j]) - VLOAD(rows + j * a->leaf + c);
            t[j] = gap * gap;
        }
        const V sum = NM_LEVEL(fold)(t, d);
        VSTORE(squared + c, sum);
        hits |= (unsigned long long)VMASK(VGE(VSET1(limit), sum)) << c;
    }
    return hits;
}

/* Bit p is set if query p may have a neighbour in the box. */
static inline NM_TARGET NM_INLINE unsigned long long NM_LEVEL(near_d)(const nmlsdr_leaf_queries *a, const double *box, int d)
{
    unsigned long long near = 0;
    for (int p = 0; p < a->leaf; p += G) {
        V t[8] = {VZERO, VZERO};
        for (int j = 0; j < d; j++) {
            const V x = VLOAD(a->value + j * a->leaf + p);
            /* -max(low - x, x - high, 0) */
            const V gap = VMIN(VMIN(x - VSET1(box[j]), VSET1(box[d + j]) - x), VZERO);
            t[j] = gap * gap;
        }
        near |= (unsigned long long)VMASK(VGE(VLOAD(a->worst + p), NM_LEVEL(fold)(t, d))) << p;
    }
    return near;
}

/* A copy of each for every number of features, which the compiler unrolls. */
#define NM_EACH_D(RUN) \
    switch (a->d) { \
    case 1: return RUN(1); \
    case 2: return RUN(2); \
    case 3: return RUN(3); \
    case 4: return RUN(4); \
    case 5: return RUN(5); \
    case 6: return RUN(6); \
    case 7: return RUN(7); \
    default: return RUN(8); \
    }

static NM_TARGET unsigned long long NM_LEVEL(scan)(const nmlsdr_leaf_queries *a, const double *rows, const double *query,
                                                   double limit, double *squared)
{
#define NM_RUN(d) NM_LEVEL(scan_d)(a, rows, query, d, limit, squared)
    NM_EACH_D(NM_RUN)
#undef NM_RUN
}

static NM_TARGET unsigned long long NM_LEVEL(near)(const nmlsdr_leaf_queries *a, const double *box)
{
#define NM_RUN(d) NM_LEVEL(near_d)(a, box, d)
    NM_EACH_D(NM_RUN)
#undef NM_RUN
}

#undef NM_EACH_D
