/* Leaf loops of the propagation solvers: one block of rows, a batch of label columns.
 *
 * The sweep of conjugate gradients keeps its vectors in float32, a row-major (n, width) array each:
 * one gathered row of 16 columns is one cache line, and the loops over columns are SIMD.  F stays in
 * float64; its residual is computed in float64 from F, so what float32 costs is a few sweeps, not digits.
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

#include "simd_levels.h"

#define NMLSDR_MAX_WIDTH 16
/* Neighbours between a prefetch and its use: measured 8, 16, 32 within 5 %, none 1.3 times slower. */
#define AHEAD 16

#if defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define UNROLL
#define PREFETCH(address) ((void)0)
#endif

#define NMLSDR_JOIN(f, width, set) nmlsdr_##f##_##width##_##set

/* portable: four lanes, which is SSE2 or NEON */
#define TARGET
#if NMLSDR_VECTORS
#define LANES 4
#else
#define LANES 1
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
#undef LANES
#undef TARGET

#if NMLSDR_X86
#define TARGET __attribute__((target("avx2")))
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
#undef LANES
#undef TARGET
#endif

/* The loops of one width and level; what they do and their arguments: propagation_loops.h. */
typedef struct {
    void (*residual)(
        ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const double *values,
        int64_t n_stored, const double *gain, const double *h, const double *m, const double *gains,
        const float *weights, const double *B, const double *F, const int32_t *take, int restart, float *z, float *p,
        double *dot, double *along, double *peak);
    void (*flush)(
        ptrdiff_t lo, ptrdiff_t hi, const double *gain, const double *h, const int32_t *take, int clip, float *x,
        double *F);
    void (*apply)(
        ptrdiff_t lo, ptrdiff_t hi, const int64_t *indptr, const int32_t *indices, const float *values,
        int64_t n_stored, const float *k, const double *m, const float *ks, const float *weights, const float *p,
        float *y, double *dot);
    void (*reduce)(
        ptrdiff_t lo, ptrdiff_t hi, const double *m, const float *weights, const float *e, const float *a,
        const float *y, float *z, double *dot, float *peak);
    void (*advance)(
        ptrdiff_t lo, ptrdiff_t hi, const float *a, const float *b, const float *z, float *x, float *p);
} nmlsdr_loops;

#define NM_LOOPS(width, set) \
    {NMLSDR_JOIN(residual, width, set), NMLSDR_JOIN(flush, width, set), NMLSDR_JOIN(apply, width, set), \
     NMLSDR_JOIN(reduce, width, set), NMLSDR_JOIN(advance, width, set)}

/* width: 4, 8 or 16.  A level of simd_levels.h; avx512 has no loops of its own. */
static const nmlsdr_loops *nmlsdr_loops_of(int level, int width)
{
    static const nmlsdr_loops table[][3] = {
        {NM_LOOPS(4, portable), NM_LOOPS(8, portable), NM_LOOPS(16, portable)},
#if NMLSDR_X86
        {NM_LOOPS(4, portable), NM_LOOPS(8, avx2), NM_LOOPS(16, avx2)},
        {NM_LOOPS(4, portable), NM_LOOPS(8, avx2), NM_LOOPS(16, avx2)},
#endif
    };
    return &table[NMLSDR_X86 ? level : 0][width == 16 ? 2 : width == 8];
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
