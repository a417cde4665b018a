/* Leaf loops of the propagation solvers: one block of rows, a batch of label columns.
 *
 * The sweep of conjugate gradients keeps its vectors in float32 and its direction p in bfloat16, a row-major
 * (n, width) array each: one gathered row of 32 columns is one cache line, and the loops over columns are SIMD.
 * F stays in float64; its residual is computed in float64 from F, so what short numbers cost is a few sweeps, not
 * digits.
 *
 * A column's arithmetic does not depend on the other columns and no sum runs across columns, so
 * neither the width nor the instruction set nor the number of threads changes a bit of the answer
 * (-ffp-contract=off: multiply and add stay two roundings).  Letters: see _solvers.py.
 */
#ifndef NMLSDR_PROPAGATION_H
#define NMLSDR_PROPAGATION_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "simd_levels.h"

#define NMLSDR_MAX_WIDTH 32
/* Neighbours between a prefetch and its use: measured 8, 16, 32 within 5 %, none 1.3 times slower. */
#define AHEAD 16

#if defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define UNROLL
#define PREFETCH(address) ((void)0)
#endif

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

#define NMLSDR_JOIN(f, width, set) nmlsdr_##f##_##width##_##set

/* portable: four lanes, which is SSE2 or NEON */
#define TARGET
#define AVX2 0
#if NMLSDR_VECTORS
#define LANES 4
#define HALF 2
#else
#define LANES 1
#define HALF 1
#endif
#define WIDTH 4
#define NAME(f) NMLSDR_JOIN(f, 4, portable)
#include "propagation_loops.h"
#undef WIDTH
#undef NAME
#define WIDTH 8
#define NAME(f) NMLSDR_JOIN(f, 8, portable)
#include "propagation_loops.h"
#undef WIDTH
#undef NAME
#define WIDTH 16
#define NAME(f) NMLSDR_JOIN(f, 16, portable)
#include "propagation_loops.h"
#undef WIDTH
#undef NAME
#define WIDTH 32
#define NAME(f) NMLSDR_JOIN(f, 32, portable)
#include "propagation_loops.h"
#undef WIDTH
#undef NAME
#undef LANES
#undef HALF
#undef AVX2
#undef TARGET

#if NMLSDR_X86
#define TARGET __attribute__((target("avx2")))
#define AVX2 1
#define HALF 4
#define LANES 4
#define WIDTH 4
#define NAME(f) NMLSDR_JOIN(f, 4, avx2)
#include "propagation_loops.h"
#undef WIDTH
#undef NAME
#undef LANES
#define LANES 8
#define WIDTH 8
#define NAME(f) NMLSDR_JOIN(f, 8, avx2)
#include "propagation_loops.h"
#undef WIDTH
#undef NAME
#define WIDTH 16
#define NAME(f) NMLSDR_JOIN(f, 16, avx2)
#include "propagation_loops.h"
#undef WIDTH
#undef NAME
#define WIDTH 32
#define NAME(f) NMLSDR_JOIN(f, 32, avx2)
#include "propagation_loops.h"
#undef WIDTH
#undef NAME
#undef LANES
#undef HALF
#undef AVX2
#undef TARGET
#endif

/* The loops of one width and level; what they do and their arguments: propagation_loops.h. */
typedef struct {
    void (*residual)(
        ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
        int64_t n_stored, const double *gain, const double *h, const double *m, const double *gains,
        const float *weights, const double *B, const double *F, const int32_t *take, int restart, float *z, uint16_t *p,
        double *dot, double *along, double *peak);
    void (*flush)(
        ptrdiff_t lo, ptrdiff_t hi, const double *gain, const double *h, const int32_t *take, int clip, float *x,
        double *F);
    void (*apply)(
        ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const float *values,
        int64_t n_stored, const float *k, const double *m, const float *ks, const float *weights, const uint16_t *p,
        float *y, double *dot);
    void (*reduce)(
        ptrdiff_t lo, ptrdiff_t hi, const double *m, const float *weights, const float *e, const float *a,
        const float *y, float *z, double *dot, float *peak);
    void (*advance)(
        ptrdiff_t lo, ptrdiff_t hi, const double *m, const float *weights, const float *a, const float *b,
        const float *z, float *x, uint16_t *p, double *along);
} nmlsdr_loops;

#define NM_LOOPS(width, set) \
    {NMLSDR_JOIN(residual, width, set), NMLSDR_JOIN(flush, width, set), NMLSDR_JOIN(apply, width, set), \
     NMLSDR_JOIN(reduce, width, set), NMLSDR_JOIN(advance, width, set)}

/* width: 4, 8, 16 or 32.  A level of simd_levels.h; avx512 has no loops of its own. */
static const nmlsdr_loops *nmlsdr_loops_of(int level, int width)
{
    static const nmlsdr_loops table[][4] = {
        {NM_LOOPS(4, portable), NM_LOOPS(8, portable), NM_LOOPS(16, portable), NM_LOOPS(32, portable)},
#if NMLSDR_X86
        {NM_LOOPS(4, avx2), NM_LOOPS(8, avx2), NM_LOOPS(16, avx2), NM_LOOPS(32, avx2)},
        {NM_LOOPS(4, avx2), NM_LOOPS(8, avx2), NM_LOOPS(16, avx2), NM_LOOPS(32, avx2)},
#endif
    };
    return &table[NMLSDR_X86 ? level : 0][(width > 4) + (width > 8) + (width > 16)];
}

#undef NM_LOOPS

/* sum_j v_ij F_j in float64 over `count` columns of F (n, n_labels), in stored order; values == NULL: v_ij = h_j */
static void nmlsdr_gather(
    const int64_t *indptr, const int32_t *indices, const double *values, const double *h, ptrdiff_t i,
    const double *F, ptrdiff_t n_labels, int count, double *sum)
{
    for (int c = 0; c < count; c++) sum[c] = 0.0;
    for (int64_t t = indptr[i]; t < indptr[i + 1]; t++) {
        const double *row = F + (ptrdiff_t)indices[t] * n_labels;
        const double v = values == NULL ? h[indices[t]] : values[t];
        for (int c = 0; c < count; c++) sum[c] += v * row[c];
    }
}

#endif
