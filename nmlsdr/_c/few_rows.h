/* Canonical squared distances of rows to one query (few.h), for each SIMD level of simd.h.
 *
 * The eight sums of distance.h lie in 8 / G vectors, never fused; four rows at a time hide the latency of the additions.
 */

enum { NM_LEVEL(sums) = 8 / G };

/* R rows from `rows` on: R * 8 / G sums are open. */
static inline NM_TARGET NM_INLINE void NM_LEVEL(some)(const double *rows, ptrdiff_t padded, const double *query,
                                                      double *squared, const int R)
{
    V a[4][NM_LEVEL(sums)];
    for (int r = 0; r < R; r++)
        for (int m = 0; m < NM_LEVEL(sums); m++) a[r][m] = VZERO;
    for (ptrdiff_t j = 0; j < padded; j += 8)
        for (int m = 0; m < NM_LEVEL(sums); m++) {
            const V x = VLOAD(query + j + m * G);
            for (int r = 0; r < R; r++) {
                const V gap = VSUB(x, VLOAD(rows + r * padded + j + m * G));
                a[r][m] = VADD(a[r][m], VMUL(gap, gap));
            }
        }
    for (int r = 0; r < R; r++) {
        double sums[8];
        for (int m = 0; m < NM_LEVEL(sums); m++) VSTORE(sums + m * G, a[r][m]);
        squared[r] = nmlsdr_fold8(sums);
    }
}

static NM_TARGET void NM_LEVEL(distances)(const double *rows, ptrdiff_t n, ptrdiff_t padded, const double *query,
                                          double *squared)
{
    ptrdiff_t r = 0;
    for (; r + 4 <= n; r += 4) NM_LEVEL(some)(rows + r * padded, padded, query, squared + r, 4);
    for (; r < n; r++) NM_LEVEL(some)(rows + r * padded, padded, query, squared + r, 1);
}
