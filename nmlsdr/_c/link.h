/* A link of each label: p = 1 / (1 + exp(-(a z + c asinh z + b))), z = (score - mean) / scale of the label.
 *
 * A lane is a label.  A thread owns a block of lanes and adds up its rows in their order, so that the sums of a label depend
 * neither on the number of threads, nor on the SIMD level, nor on the other labels.  exp and asinh are written out, because
 * compilers translate no call of the C library into vectors.  The sums of a Newton step take float32 terms, added in float64
 * every 8 rows: this takes half of the time and of the memory, and moves slopes by less than 1e-6.
 */
#ifndef NMLSDR_LINK_H
#define NMLSDR_LINK_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "platform.h"
#include "simd_levels.h"

enum { NMLSDR_LINK_LANES = 16 };
enum { NMLSDR_LINK_FACTS = 8 }; /* of a label: known rows, mean, scale, least and largest label, sums of y, y z, y asinh z */
enum { NMLSDR_LINK_SUMS = 9 };  /* of p, h, p z, p asinh, h z, h asinh, h z z, h z asinh, h asinh asinh; h = p (1 - p) */

/* Out-of-fold scores and labels (n, n_labels), and the rows of them that a fit uses. */
typedef struct {
    ptrdiff_t n_rows, n_labels;
    const int64_t *rows;
    const double *scores, *labels;
    const uint8_t *known; /* (n, n_labels), or NULL: all */
} nmlsdr_link_data;

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-trapping-math") /* or a choice between two numbers is a branch, and a loop with one no vector */
#endif
#define NM_TARGET
#define NM_LEVEL(f) nmlsdr_link_##f##_portable
#include "link_loops.h"
#if NMLSDR_X86
#define NM_TARGET __attribute__((target("avx2")))
#define NM_LEVEL(f) nmlsdr_link_##f##_avx2
#include "link_loops.h"
#define NM_TARGET __attribute__((target("avx512f,avx512dq,avx2")))
#define NM_LEVEL(f) nmlsdr_link_##f##_vnni
#include "link_loops.h"
#define NMLSDR_LINK_CALL(f, level) \
    (level == 2 ? nmlsdr_link_##f##_vnni : level ? nmlsdr_link_##f##_avx2 : nmlsdr_link_##f##_portable)
#else
#define NMLSDR_LINK_CALL(f, level) ((void)level, nmlsdr_link_##f##_portable)
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

/* Facts (NMLSDR_LINK_FACTS, lanes) of the labels from `first` on, and their z and asinh z (n_rows, lanes), 0 where unknown. */
static void nmlsdr_link_features(const nmlsdr_link_data *d, ptrdiff_t first, double *facts, float *z, float *bent, int level)
{
    NMLSDR_LINK_CALL(features, level)(d, first, facts, z, bent);
}

/* Sums (NMLSDR_LINK_SUMS, lanes) over n rows of z and asinh z; slopes a and c and offsets b of the lanes. */
static void nmlsdr_link_sums(const float *z, const float *bent, ptrdiff_t n, const double *a, const double *c, const double *b,
                             double *sums, int level)
{
    NMLSDR_LINK_CALL(sums, level)(z, bent, n, a, c, b, sums);
}

/* p of the scores of a row, n of them; numbers (5, n): a, c, b, mean, scale. */
static void nmlsdr_link_apply(const double *scores, ptrdiff_t n, const double *numbers, double *p, int level)
{
    NMLSDR_LINK_CALL(apply, level)(scores, n, numbers, p);
}

#endif
