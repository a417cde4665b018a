/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels that have SIMD levels, each compiled for each level, and the one table that chooses among them.
 *
 *   products, sweep   of two blocks, of a sparse row with a block (products_tile.h)
 *   int16             of two blocks of integers, where they are faster than floats (products_pair.h)
 *   near, scan        a leaf of the tree (tree_leaf.h)
 *   distances         canonical distances of one query and dense rows (few_rows.h)
 */
#ifndef NMLSDR_KERNELS_H
#define NMLSDR_KERNELS_H

#include "products_candidates.h"
#include "simd_levels.h"

#define T float
#define NM_DOUBLE 0
#define NM(x) nmlsdr_##x
#define NM_TEMPLATE "products_tile.h"
#include "simd.h"
#undef T
#undef NM_DOUBLE

#define T double
#define NM_DOUBLE 1
#define NM(x) nmlsdr_tree_##x
#define NM_TEMPLATE "tree_leaf.h"
#include "simd.h"

#define NM(x) nmlsdr_few_##x
#define NM_TEMPLATE "few_rows.h"
#include "simd.h"
#undef T
#undef NM_DOUBLE

#define NM_KERNELS(level, packed_ns, column_ns, int16) \
    {nmlsdr_lanes_##level, \
     packed_ns, \
     column_ns, \
     nmlsdr_products_##level, \
     nmlsdr_sweep_##level, \
     int16, \
     nmlsdr_tree_near_##level, \
     nmlsdr_tree_scan_##level, \
     nmlsdr_few_distances_##level}

static const nmlsdr_kernels *nmlsdr_kernels_of(int level)
{
    static const nmlsdr_kernels table[] = {
        NM_KERNELS(portable, 0.044, 0.075, NULL),
#if NMLSDR_X86
        NM_KERNELS(avx2, 0.017, 0.043, nmlsdr_int16_avx2),
        NM_KERNELS(vnni, 0.009, 0.034, nmlsdr_int16_vnni),
#elif NMLSDR_NEON
        NM_KERNELS(neon, 0.044, 0.075, NULL), /* not timed: as portable */
#endif
    };
    return &table[level];
}

#undef NM_KERNELS

#endif
