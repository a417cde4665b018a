/* The kernels that have SIMD levels, each compiled for each level, and the one table that chooses among them.
 *
 *   pair, sweep   products of two blocks, of a sparse row with a block (products_tile.h, for float and double)
 *   near, scan    a leaf of the tree (tree_leaf.h)
 *   distances     canonical, of one query to rows (few_rows.h); dots: products
 */
#ifndef NMLSDR_KERNELS_H
#define NMLSDR_KERNELS_H

#include "products_state.h"
#include "simd_levels.h"

/* One leaf of queries of the tree. */
enum { NMLSDR_LEAF = 64 }; /* the largest leaf: one bit for each of its rows */
typedef struct {
    const double *value;       /* (d, leaf) */
    double worst[NMLSDR_LEAF]; /* the k-th squared distance so far of each; -1 where there is no query */
    ptrdiff_t d, leaf;
} nmlsdr_leaf_queries;

typedef struct nmlsdr_pair_f nmlsdr_pair_f; /* products_candidates.h */

struct nmlsdr_kernels {
    int lanes;
    void (*pair_f)(const nmlsdr_pair_f *);
    void (*sweep_f)(const nmlsdr_pair_f *, ptrdiff_t, float *, const float *, const int32_t *, ptrdiff_t);
    unsigned long long (*near)(const nmlsdr_leaf_queries *, const double *box);
    unsigned long long (*scan)(const nmlsdr_leaf_queries *, const double *rows, const double *query, double limit,
                               double *squared);
    void (*distances)(const void *rows, int wide, ptrdiff_t d, const ptrdiff_t *which, ptrdiff_t n, const double *query,
                      double *squared);
    void (*dots)(const double *rows, ptrdiff_t n, ptrdiff_t padded, const double *query, double *dot);
};

#define T float
#define NM_DOUBLE 0
#define NM(x) nmlsdr_##x##_f
#include "products_candidates.h"
#define NM_TEMPLATE "products_tile.h"
#include "simd.h"
#undef NM_TEMPLATE
#undef T
#undef NM_DOUBLE
#undef NM

#define T double
#define NM_DOUBLE 1
#define NM(x) nmlsdr_tree_##x
#define NM_TEMPLATE "tree_leaf.h"
#include "simd.h"
#undef NM_TEMPLATE
#undef NM

#define NM(x) nmlsdr_few_##x
#define NM_TEMPLATE "few_rows.h"
#include "simd.h"
#undef NM_TEMPLATE
#undef NM
#undef T
#undef NM_DOUBLE

#define NM_KERNELS(level) \
    {nmlsdr_lanes_##level##_f, nmlsdr_products_##level##_f, nmlsdr_sweep_##level##_f, nmlsdr_tree_near_##level, \
     nmlsdr_tree_scan_##level, nmlsdr_few_distances_##level, nmlsdr_few_dots_##level}

static const nmlsdr_kernels *nmlsdr_kernels_of(int level)
{
    static const nmlsdr_kernels table[] = {
        NM_KERNELS(portable),
#if NMLSDR_X86
        NM_KERNELS(avx2),
        NM_KERNELS(avx512),
#elif NMLSDR_NEON
        NM_KERNELS(neon),
#endif
    };
    return &table[NMLSDR_X86 || NMLSDR_NEON ? level : 0];
}

#undef NM_KERNELS

#endif
