/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Canonical squared distances of rows to one query, for each SIMD level of simd.h: all rows (few.h), or candidates
 * (products_candidates.h).
 *
 * The eight sums of distance.h lie in 8 / G vectors, never fused; four rows at a time hide the latency of the additions.
 */

enum { NM_LEVEL(sums) = 8 / G };

/* G values from number j on of a row of doubles (wide) or floats. */
static inline NM_TARGET NM_INLINE V NM_LEVEL(values)(const void *row, ptrdiff_t j, const int wide)
{
    if (wide) return VLOAD((const double *)row + j);
    return VWIDEN((const float *)row + j);
}

/* R rows: R * 8 / G sums are open. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(some)(const void *const *row, ptrdiff_t d, const double *query, double *squared,
                                                      const int wide, const int R)
{
    V a[4][NM_LEVEL(sums)];
    ptrdiff_t j = 0;
    for (int r = 0; r < R; r++)
        for (int m = 0; m < NM_LEVEL(sums); m++) a[r][m] = VZERO;
    for (; j + 8 <= d; j += 8)
        for (int m = 0; m < NM_LEVEL(sums); m++) {
            const V x = VLOAD(query + j + m * G);
            for (int r = 0; r < R; r++) {
                const V gap = x - NM_LEVEL(values)(row[r], j + m * G, wide);
                a[r][m] = a[r][m] + gap * gap;
            }
        }
    for (int r = 0; r < R; r++) {
        double sums[8];
        for (int m = 0; m < NM_LEVEL(sums); m++) VSTORE(sums + m * G, a[r][m]);
        for (ptrdiff_t rest = j; rest < d; rest++) {
            const double gap = query[rest] - (wide ? ((const double *)row[r])[rest] : (double)((const float *)row[r])[rest]);
            sums[rest - j] += gap * gap;
        }
        squared[r] = nmlsdr_fold8(sums);
    }
}

/* Rows number which[0] .. which[n - 1], or 0 .. n - 1. */
static NM_TARGET void NM_LEVEL(distances)(const nmlsdr_encounter *compared, const ptrdiff_t *which, ptrdiff_t n, double *squared)
{
    const ptrdiff_t d = compared->d, bytes = d * (compared->wide ? 8 : 4);
    const double *query = compared->query;
    for (ptrdiff_t p = 0; p < n; p += 4) {
        const void *row[4];
        const int here = n - p < 4 ? (int)(n - p) : 4;
        for (int r = 0; r < here; r++) row[r] = (const char *)compared->rows + (which ? which[p + r] : p + r) * bytes;
        if (here == 4 && compared->wide) NM_LEVEL(some)(row, d, query, squared + p, 1, 4);
        else if (here == 4) NM_LEVEL(some)(row, d, query, squared + p, 0, 4);
        else
            for (int r = 0; r < here; r++) {
                if (compared->wide) NM_LEVEL(some)(row + r, d, query, squared + p + r, 1, 1);
                else NM_LEVEL(some)(row + r, d, query, squared + p + r, 0, 1);
            }
    }
}
