/* One pair of packed row blocks of 8-bit integers by the tiles of AMX: products, and the test that lets pairs through to 16 bits.
 *
 * A template without include guard, for amx.h, which has the instructions.  A tile has 16 rows of 64 bytes.  One instruction
 * multiplies 16 rows of 64 features with 16 columns of them and adds to 16 x 16 sums of 32 bits:
 *   rows      (16 rows, 64 bytes), a copy of the packed rows that nmlsdr_pack makes; D is padded to 64 by zeros.  Rows past
 *             the end are not packed, and their sums are not looked at
 *   columns   (16 words of 4 bytes, 16 columns), which the packed rows are already at 16 lanes
 *   sums      (16 rows, 16 columns), of which four tiles are made at once: 2 x 2 tiles are loaded for four products
 * Both sides have signs.  So nothing is added to one of them, as it is without tiles (products_integers.h).
 *
 * The sums start at -H_j, H_j = |p_j|^2 / 2 rounded down: a tile whose rows all are the same 16 of `start`, loaded with stride 0.
 *
 * No sum overflows.  |p| <= 127 for each feature and d <= 2^16, so |p_j|^2 and every sum of products, of a part of the features
 * too, are at most 2^16 127^2 < 2^30, and H_j < 2^29: together less than 2^31.  H_j comes from the integer |p_j|^2, not from the
 * float h_j, which cannot hold every integer above 2^24.
 *
 * The test of a row is one comparison of each of its sums, an integer, with one limit: t + h_i rounded towards 0, where t is the
 * smaller of t_i and of the least threshold of the columns.  No pair is lost: products_integers.h has h_i <= |p_i|^2 / 2, and
 * shows that every pair that is needed has <p_i, p_j> - |p_i|^2 / 2 - |p_j|^2 / 2 >= min(t_i, t_j), so that its
 *   sum = <p_i, p_j> - H_j >= <p_i, p_j> - |p_j|^2 / 2 >= t + h_i,
 * and since it is an integer, it is not below t + h_i rounded up.  Rounding towards 0 gives that or less.  The addition in
 * float64 does not change this: rounding is monotone, so it moves t + h_i to an integer at most, never past one.
 * Rows of which a sum passes are tested as they are without tiles, by floats and with each column's own threshold.
 */

static NM_TARGET void NM_AMX(int8_tiles)(const nmlsdr_pair *p)
{
    enum { SIDE = 2 * NMLSDR_TILE, BYTES = 4 * NMLSDR_TILE };
    const ptrdiff_t words = p->d;
    const char *prefetch = p->prefetch;
    NM_ALIGNED int32_t sums[SIDE][SIDE];
    TILES;

    for (ptrdiff_t j = 0; j < p->nb; j += SIDE) {
        const int32_t *start = p->start + j;
        const float *hb = p->coarse_hb + j, *tb = p->coarse_tb + j;

        for (ptrdiff_t i = 0; i < p->na; i += SIDE) {
            if (!nmlsdr_any_mark(p, i, j, SIDE)) continue;
            const int32_t *a = p->bytes_a + i * words, *b = (const int32_t *)p->zb + j * words;
            const int32_t *a1 = a + NMLSDR_TILE * words, *b1 = b + NMLSDR_TILE * words;
            for (ptrdiff_t line = 0; line < p->lines; line++, prefetch += 64) NMLSDR_PREFETCH(prefetch);
            TILE_LOAD(0, start, 0); TILE_LOAD(1, start + NMLSDR_TILE, 0);
            TILE_LOAD(2, start, 0); TILE_LOAD(3, start + NMLSDR_TILE, 0);

            for (ptrdiff_t k = 0; k < words * NMLSDR_TILE; k += NMLSDR_TILE * NMLSDR_TILE) {
                TILE_LOAD(4, a + k, BYTES); TILE_LOAD(5, a1 + k, BYTES);
                TILE_LOAD(6, b + k, BYTES); TILE_LOAD(7, b1 + k, BYTES);
                TILE_DOT(0, 4, 6); TILE_DOT(1, 4, 7); TILE_DOT(2, 5, 6); TILE_DOT(3, 5, 7);
            }

            TILE_STORE(0, sums[0], 2 * BYTES); TILE_STORE(1, sums[0] + NMLSDR_TILE, 2 * BYTES);
            TILE_STORE(2, sums[NMLSDR_TILE], 2 * BYTES); TILE_STORE(3, sums[NMLSDR_TILE] + NMLSDR_TILE, 2 * BYTES);
            float least = tb[0];
            for (int c = 1; c < SIDE; c++) least = tb[c] < least ? tb[c] : least;

            for (int r = 0; r < SIDE && i + r < p->na; r++) {
                const float ta = p->coarse_ta[i + r], ha = p->coarse_ha[i + r];
                const double bound = (double)(ta < least ? ta : least) + (double)ha;
                const int32_t limit = bound > INT32_MIN ? (int32_t)bound : INT32_MIN;
                unsigned long long passed = 0;
                int any = 0;
                for (int c = 0; c < SIDE; c++) any |= sums[r][c] >= limit;
                if (!any) continue;

                for (int c = 0; c < SIDE; c++) {
                    const float score = (float)(sums[r][c] - start[c]) - hb[c] - ha;
                    passed |= (unsigned long long)(score >= (ta < tb[c] ? ta : tb[c])) << c;
                }

                if (passed) NM_CHECK(p, i + r, j, passed);
            }
        }
    }
}

/* Before a thread's first product by tiles, and after its last. */
static NM_TARGET void NM_AMX(hold_tiles)(int *held, int hold)
{
    *held += hold ? 1 : -1;
    TILES_CONFIGURE(hold);
}

#undef NM_TARGET
#undef NM_AMX
#undef NM_CHECK
#undef TILES
#undef TILES_CONFIGURE
#undef TILE_LOAD
#undef TILE_DOT
#undef TILE_STORE
