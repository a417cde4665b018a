/* The instructions of AMX for products_amx.h: in plain C for every processor, and the true ones in builds that have the level.
 *
 * Like an instruction of the processor, one of C ends the process if its thread holds no tiles.
 */
#ifndef NMLSDR_AMX_H
#define NMLSDR_AMX_H

#include "products_candidates.h"
#include "simd_levels.h"

/* Whether one of the tiles of products_tile.h that overlap this square is not left out. */
static int nmlsdr_any_mark(const nmlsdr_pair *p, ptrdiff_t i, ptrdiff_t j, ptrdiff_t side)
{
    const ptrdiff_t columns = 3 * p->a.search->kernels->lanes, rows = (p->na + 3) / 4;
    const ptrdiff_t end_i = i + side < p->na ? i + side : p->na, end_j = j + side < p->nb ? j + side : p->nb;

    for (ptrdiff_t c = j / columns; c * columns < end_j; c++)
        for (ptrdiff_t r = i / 4; r * 4 < end_i; r++)
            if (p->tiles[c * rows + r]) return 1;

    return 0;
}

static void nmlsdr_tile_move(void *to, ptrdiff_t to_stride, const void *from, ptrdiff_t from_stride)
{
    for (ptrdiff_t r = 0; r < NMLSDR_TILE; r++)
        memcpy((char *)to + r * to_stride, (const char *)from + r * from_stride, 4 * NMLSDR_TILE);
}

static void nmlsdr_tile_dot(int32_t *sums, const int8_t *rows, const int8_t *columns)
{
    for (int r = 0; r < NMLSDR_TILE; r++)
        for (int k = 0; k < NMLSDR_TILE; k++)
            for (int c = 0; c < NMLSDR_TILE; c++)
                for (int m = 0; m < 4; m++)
                    sums[NMLSDR_TILE * r + c] +=
                        rows[4 * (NMLSDR_TILE * r + k) + m] * columns[4 * (NMLSDR_TILE * k + c) + m];
}

#define NM_TARGET
#define NM_AMX(x) nmlsdr_##x##_emulated
#define NM_CHECK nmlsdr_check_passing_portable
#define TILES \
    int32_t tile[8][NMLSDR_TILE * NMLSDR_TILE]; \
    if (p->a.scratch->tiles_held != 1) abort()
#define TILES_CONFIGURE(hold) ((void)0)
#define TILE_LOAD(to, from, stride) nmlsdr_tile_move(tile[to], 4 * NMLSDR_TILE, from, stride)
#define TILE_DOT(to, rows, columns) \
    nmlsdr_tile_dot(tile[to], (const int8_t *)tile[rows], (const int8_t *)tile[columns])
#define TILE_STORE(from, to, stride) nmlsdr_tile_move(to, stride, tile[from], 4 * NMLSDR_TILE)
#include "products_amx.h"

#if NMLSDR_AMX
/* Palette 1: eight tiles of 16 rows of 64 bytes. */
static const uint8_t nmlsdr_tiles[64] = {1, [16] = 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, 64, 0, /* 16 bits each */
                                         [48] = 16, 16, 16, 16, 16, 16, 16, 16};

#ifdef NMLSDR_AMX_INTERPRETED /* .ci/simd_levels.c, which interprets these instructions but not those of AVX-512 */
#define NM_TARGET __attribute__((target("amx-tile,amx-int8")))
#define NM_CHECK nmlsdr_check_passing_portable
#else
#define NM_TARGET __attribute__((target("amx-tile,amx-int8,avx512f,avx512dq,avx512bw,avx512vnni,avx2,fma")))
#define NM_CHECK nmlsdr_check_passing_vnni
#endif
#define NM_AMX(x) nmlsdr_##x##_amx
#define TILES ((void)0)
#define TILES_CONFIGURE(hold) { if (hold) _tile_loadconfig(nmlsdr_tiles); else _tile_release(); }
#define TILE_LOAD(to, from, stride) _tile_loadd(to, from, stride)
#define TILE_DOT(to, rows, columns) _tile_dpbssd(to, rows, columns)
#define TILE_STORE(from, to, stride) _tile_stored(from, to, stride)
#include "products_amx.h"
#endif

#endif
