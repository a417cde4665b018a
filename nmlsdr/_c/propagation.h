/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inner loops of conjugate gradients for label propagation: one block of rows, one batch of label columns.
 *
 * The vectors of a sweep are float32 and its direction p is bfloat16, a row-major (n, width) array each: a gathered
 * row of 32 columns is one cache line, and the loops over columns use SIMD.  F stays in float64 and its residual is
 * computed in float64 from F, so short numbers cost a few sweeps and no digits.
 *
 * The arithmetic of a column does not depend on the other columns and no sum runs across columns, so neither the width
 * nor the instruction set nor the number of threads changes a bit of the answer (-ffp-contract=off: multiply and add
 * stay two roundings).
 */
#ifndef NMLSDR_PROPAGATION_H
#define NMLSDR_PROPAGATION_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "platform.h"
#include "simd_levels.h"

#define NMLSDR_MAX_WIDTH 32
/* Neighbours between a prefetch and its use: measured 8, 16, 32 within 5 %, none 1.3 times slower. */
#define AHEAD 16

/* One batch of labels.  nmlsdr/_solvers/system.py derives the quantities from the graph and alpha. */
typedef struct {
    /* the graph, its n rows in the order of the sweeps */
    ptrdiff_t n, block; /* rows, rows in a block */
    const int64_t *indptr;
    const int32_t *indices;
    const double *values;      /* v_ij of the residual; NULL: v_ij = h_j */
    const float *sweep_values; /* v_ij of a sweep; NULL: 1 */
    const double *h;           /* the sweep's variable is x = h F */
    const float *inverse_h;         /* 1 / h */

    /* factors of the rows (n), or of the entries (n, width); 0 where F is fixed */
    int per_entry;
    const double *gain; /* of the sum over neighbours in the residual */
    const double *m;    /* weight in the inner product */
    const float *k;     /* of the sum over neighbours in a sweep */

    /* the labels (n, width) */
    const double *B; /* (I - A) Y */
    double *F;
    float *x; /* change of h F since it was last added to F */
    float *z; /* residual, times h */
    float *y; /* K p */
    uint16_t *p; /* search direction, as bfloat16 */
} nmlsdr_batch;

/* What the loops take and give: one number for each column, or for each block and column. */
typedef struct {
    const int32_t *take;      /* the columns that residual and flush take */
    int restart, clip;
    const float *step, *turn; /* lengths of a sweep's step along p, and of the old p in the new */
    double *dot, *along;      /* (n_blocks, width) sums over the rows of a block */
    double *peak;             /* (n_blocks, width) the largest residual */
    float *top;               /* (n_blocks, width) the largest residual of a sweep */
} nmlsdr_columns;

/* Each works on the rows of block b; propagation_loops.h describes it above its definition. */
typedef void (*nmlsdr_loop)(const nmlsdr_batch *s, const nmlsdr_columns *columns, ptrdiff_t b);

/* The loops of one width and level. */
typedef struct {
    nmlsdr_loop residual, flush, apply, reduce, advance;
} nmlsdr_loops;

/* The upper 16 bits of a float32, rounded to nearest, ties to even: bfloat16.  Infinity stays, and so does a NaN that
 * arithmetic made; only one with all bits set, which it does not make, would wrap to 0. */
static inline uint16_t nmlsdr_upper(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline float nmlsdr_expand(uint16_t upper)
{
    const uint32_t bits = (uint32_t)upper << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define NM_PASTE(f, width, level) nmlsdr_##f##_##width##_##level
#define NM_JOIN(f, width, level) NM_PASTE(f, width, level)

#define LEVEL portable
#define NM_TARGET
#define AVX2 0
#include "propagation_widths.h"

#if NMLSDR_X86
#define LEVEL avx2
#define NM_TARGET __attribute__((target("avx2")))
#define AVX2 1
#include "propagation_widths.h"
#endif

/* The loops for a width of 4, 8, 16 or 32 and a level of simd_levels.h; avx2 has the last of x86. */
static const nmlsdr_loops *nmlsdr_loops_of(int level, int width)
{
    static const nmlsdr_loops *const table[][4] = {
        {&nmlsdr_loops_4_portable, &nmlsdr_loops_8_portable, &nmlsdr_loops_16_portable, &nmlsdr_loops_32_portable},
#if NMLSDR_X86
        {&nmlsdr_loops_4_avx2, &nmlsdr_loops_8_avx2, &nmlsdr_loops_16_avx2, &nmlsdr_loops_32_avx2},
#endif
    };
    return table[NMLSDR_X86 && level > 0][(width > 4) + (width > 8) + (width > 16)];
}

#endif
