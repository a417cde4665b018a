/* What a template (NM_TEMPLATE) needs to know of each SIMD level of simd_levels.h: its vectors and their operations.
 *
 * GCC and clang add, subtract and multiply vectors of any width; what remains are the operations that they lack.
 * Fused products only propose candidates; the canonical distance never fuses (distance.h).
 * Included by kernels.h only, with T, NM, NM_DOUBLE (1 for double) and NM_TEMPLATE defined; NM and NM_TEMPLATE end here.
 */
#undef VZERO
#undef VLOAD
#undef VSTORE
#undef VSET1
#define VZERO ((V){0})
#define VLOAD(p) (*(const NM_LEVEL(unaligned) *)(p))
#define VSTORE(p, x) (*(NM_LEVEL(unaligned) *)(p) = (x))
#define VSET1(x) ((x) - VZERO)
#define NM_UNALIGNED(bytes) __attribute__((vector_size(bytes), aligned(sizeof(T)), may_alias))

/* ---------------------------------------------------------------- portable */

#define NM_TARGET
#define NM_LEVEL(x) NM(x##_portable)
#define HITS unsigned
#define HITS_NONE 0
#define HITS_OR(hits, mask) ((hits) | (mask))
#define HITS_ANY(hits) ((hits) != 0)
#define VMASK(mask) (mask)
#define VFMA(a, b, c) ((a) * (b) + (c))
#if NMLSDR_VECTORS
#define G (16 / (int)sizeof(T))
typedef T NM_LEVEL(vector) __attribute__((vector_size(16)));
typedef T NM_LEVEL(unaligned) NM_UNALIGNED(16);
static inline NM_LEVEL(vector) NM_LEVEL(min)(NM_LEVEL(vector) a, NM_LEVEL(vector) b)
{
    NM_LEVEL(vector) least;
    for (int m = 0; m < G; m++) least[m] = a[m] < b[m] ? a[m] : b[m];
    return least;
}
static inline unsigned NM_LEVEL(mask)(NM_LEVEL(vector) a, NM_LEVEL(vector) b)
{
    unsigned mask = 0;
    for (int m = 0; m < G; m++) mask |= (unsigned)(a[m] >= b[m]) << m;
    return mask;
}
#define V NM_LEVEL(vector)
#define VWIDEN(p) ((V){(p)[0], (p)[1]})
#define VMIN(a, b) NM_LEVEL(min)(a, b)
#define VGE(a, b) NM_LEVEL(mask)(a, b)
#else
#define G 1
#define V T
typedef T NM_LEVEL(unaligned);
#define VWIDEN(p) ((T)*(p))
#define VMIN(a, b) ((a) < (b) ? (a) : (b))
#define VGE(a, b) ((unsigned)((a) >= (b)))
#endif
#include NM_TEMPLATE
enum { NM(lanes_portable) = G };
#include "simd_clear.h"

#if NMLSDR_X86
/* ---------------------------------------------------------------- AVX2 */

#define NM_TARGET __attribute__((target("avx2,fma")))
#define NM_LEVEL(x) NM(x##_avx2)
#define HITS_OR(hits, mask) NM_OR(hits, mask)
#define HITS_ANY(hits) (VMASK(hits) != 0)
#define HITS_NONE VZERO
#define HITS V
#if NM_DOUBLE
#define G 4
#define V __m256d
#define VWIDEN(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define VMIN(a, b) _mm256_min_pd(a, b)
#define VGE(a, b) _mm256_cmp_pd(a, b, _CMP_GE_OQ)
#define VMASK(mask) ((unsigned)_mm256_movemask_pd(mask))
#define VFMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define NM_OR(a, b) _mm256_or_pd(a, b)
#else
#define G 8
#define V __m256
#define VMIN(a, b) _mm256_min_ps(a, b)
#define VGE(a, b) _mm256_cmp_ps(a, b, _CMP_GE_OQ)
#define VMASK(mask) ((unsigned)_mm256_movemask_ps(mask))
#define VFMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define NM_OR(a, b) _mm256_or_ps(a, b)
#define VI __m256i
#define VI_LOAD(p) _mm256_load_si256((const __m256i *)(p))
#define VI_SET1(x) _mm256_set1_epi32(x)
#define VI_ADD(a, b) _mm256_add_epi32(a, b)
#define VI_FLOAT(c) _mm256_cvtepi32_ps(c)
/* written out, because GCC 12 makes all products of a step first, and has no registers to hold them: 1.6 times slower */
#define NM_MADD(c, y, x, place) { \
    VI product; \
    __asm__("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(c), "=&x"(product) : "x"(y), place(x)); }
#define VI_MADD(c, y, x) NM_MADD(c, y, x, "x")
#define VI_MADD_FROM(c, y, p) NM_MADD(c, y, *(const VI *)(p), "m")
#endif
typedef T NM_LEVEL(unaligned) NM_UNALIGNED(32);
#include NM_TEMPLATE
enum { NM(lanes_avx2) = G };
#include "simd_clear.h"

/* ---------------------------------------------------------------- AVX-512 */

#define NM_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx2,fma")))
#define NM_LEVEL(x) NM(x##_avx512)
#define HITS unsigned
#define HITS_NONE 0
#define HITS_OR(hits, mask) ((hits) | (unsigned)(mask))
#define HITS_ANY(hits) ((hits) != 0)
#define VMASK(mask) ((unsigned)(mask))
#if NM_DOUBLE
#define G 8
#define V __m512d
#define VWIDEN(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define VMIN(a, b) _mm512_min_pd(a, b)
#define VGE(a, b) _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ)
#define VFMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#else
#define G 16
#define V __m512
#define VMIN(a, b) _mm512_min_ps(a, b)
#define VGE(a, b) _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ)
#define VFMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#endif
typedef T NM_LEVEL(unaligned) NM_UNALIGNED(64);
#include NM_TEMPLATE
enum { NM(lanes_avx512) = G };

/* ---------------------------------------------------------------- AVX-512 with VNNI */

/* As above, with integers: one instruction multiplies and adds. */
#undef NM_TARGET
#undef NM_LEVEL
#define NM_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vnni,avx2,fma")))
#define NM_LEVEL(x) NM(x##_vnni)
#define VI __m512i
#define VI_LOAD(p) _mm512_load_si512(p)
#define VI_SET1(x) _mm512_set1_epi32(x)
#define VI_ADD(a, b) _mm512_add_epi32(a, b)
#define VI_FLOAT(c) _mm512_cvtepi32_ps(c)
#define VI_MADD(c, y, x) ((c) = _mm512_dpwssd_epi32(c, y, x))
#define VI_MADD_FROM(c, y, p) VI_MADD(c, y, VI_LOAD(p))
#define VI_DOT(c, y, x) ((c) = _mm512_dpbusd_epi32(c, y, x))
#define VI_FLIP(x) _mm512_xor_si512(x, _mm512_set1_epi32((int32_t)0x80808080))
#define VI_SUM(x, y) _mm512_reduce_add_epi32(VI_ADD(x, y))
typedef T NM_LEVEL(unaligned) NM_UNALIGNED(64);
#include NM_TEMPLATE
enum { NM(lanes_vnni) = G };
#include "simd_clear.h"
#endif

#if NMLSDR_NEON
/* ---------------------------------------------------------------- NEON */

#define NM_TARGET
#define NM_LEVEL(x) NM(x##_neon)
#define HITS_ANY(hits) (VMASK(hits) != 0)
#if NM_DOUBLE
#define G 2
#define V float64x2_t
#define VWIDEN(p) vcvt_f64_f32(vld1_f32(p))
#define VMIN(a, b) vbslq_f64(vcltq_f64(a, b), a, b) /* b if either is no number, as elsewhere; vminq differs there */
#define VGE(a, b) vcgeq_f64(a, b)
#define VFMA(a, b, c) vfmaq_f64(c, a, b)
#define HITS uint64x2_t
#define HITS_NONE vdupq_n_u64(0)
#define HITS_OR(hits, mask) vorrq_u64(hits, mask)
#define VMASK(mask) ((unsigned)(vgetq_lane_u64(mask, 0) & 1) | (unsigned)(vgetq_lane_u64(mask, 1) & 2))
#else
#define G 4
#define V float32x4_t
#define VMIN(a, b) vbslq_f32(vcltq_f32(a, b), a, b)
#define VGE(a, b) vcgeq_f32(a, b)
#define VFMA(a, b, c) vfmaq_f32(c, a, b)
#define HITS uint32x4_t
#define HITS_NONE vdupq_n_u32(0)
#define HITS_OR(hits, mask) vorrq_u32(hits, mask)
#define VMASK(mask) vaddvq_u32(vandq_u32(mask, vcombine_u32(vcreate_u32(0x200000001), vcreate_u32(0x800000004))))
#endif
typedef T NM_LEVEL(unaligned) NM_UNALIGNED(16);
#include NM_TEMPLATE
enum { NM(lanes_neon) = G };
#include "simd_clear.h"
#endif
#undef NM_UNALIGNED
#undef NM_TEMPLATE
#undef NM
