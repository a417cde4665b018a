/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a template (NM_TEMPLATE) needs to know of each SIMD level of simd_levels.h: its vectors and their operations.
 *
 * GCC and clang add, subtract, multiply and compare vectors of any width; what remains are the operations that they lack
 * or translate badly.  simd_level.h defines the others, includes the template, and ends the level.
 * Fused products only propose candidates; the canonical distance never fuses (distance.h).
 * Included by kernels.h only, with T, NM, NM_DOUBLE (1 for double) and NM_TEMPLATE defined; NM and NM_TEMPLATE end here.
 */
#define VZERO ((V){0})
#define VLOAD(p) (*(const V *)(p))
#define VSTORE(p, x) (*(V *)(p) = (x))
#define VSET1(x) ((x) - VZERO)
#if NM_DOUBLE /* an integer as large as T, and the name of an x86 instruction for T */
#define NM_INTEGER int64_t
#define NM_OF(name, end) name##pd##end
#else
#define NM_INTEGER int32_t
#define NM_OF(name, end) name##ps##end
#endif

/* ---------------------------------------------------------------- portable */

#define NM_TARGET
#define NM_LEVEL(x) NM(x##_portable)
#define NM_BYTES (16 * NMLSDR_VECTORS)
#define VFMA(a, b, c) ((a) * (b) + (c))
#include "simd_level.h"

#if NMLSDR_NEON
/* ---------------------------------------------------------------- NEON */

/* As above, with fused products. */
#define NM_TARGET
#define NM_LEVEL(x) NM(x##_neon)
#define NM_BYTES 16
#if NM_DOUBLE
#define VFMA(a, b, c) ((V)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#else
#define VFMA(a, b, c) ((V)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#endif
#include "simd_level.h"
#endif

#if NMLSDR_X86
/* ---------------------------------------------------------------- AVX2 */

#define NM_TARGET __attribute__((target("avx2,fma")))
#define NM_LEVEL(x) NM(x##_avx2)
#define NM_BYTES 32
#define VWIDEN(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define VMIN(a, b) NM_OF(_mm256_min_, )(a, b)
#define VFMA(a, b, c) NM_OF(_mm256_fmadd_, )(a, b, c)
#define VMASK(hits) ((unsigned)NM_OF(_mm256_movemask_, )((V)(hits)))
/* written out, because GCC 12 makes all products of a step first, and has no registers to hold them: 1.6 times slower */
#define NM_MADD(c, y, x, place) \
    { \
        VI product; \
        __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(c), "=&x"(product) : "x"(y), place(x)); \
    }
#define VI_MADD(c, y, x) NM_MADD(c, y, x, "x")
#define VI_MADD_FROM(c, y, p) NM_MADD(c, y, *(p), "m")
#include "simd_level.h"

/* ---------------------------------------------------------------- AVX-512 with VNNI */

#define NM_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vnni,avx2,fma")))
#define NM_LEVEL(x) NM(x##_vnni)
#define NM_BYTES 64
#define HITS unsigned
#define VGE(a, b) NM_OF(_mm512_cmp_, _mask)(a, b, _CMP_GE_OQ)
#define VMASK(hits) ((unsigned)(hits))
#define VWIDEN(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define VMIN(a, b) NM_OF(_mm512_min_, )(a, b)
#define VFMA(a, b, c) NM_OF(_mm512_fmadd_, )(a, b, c)
#define VI_MADD(c, y, x) ((c) = (VI)_mm512_dpwssd_epi32((__m512i)(c), (__m512i)(y), (__m512i)(x)))
#define VI_MADD_FROM(c, y, p) VI_MADD(c, y, *(p))
#include "simd_level.h"
#endif
#undef NM_INTEGER
#undef NM_OF
#undef NM_TEMPLATE
#undef NM
