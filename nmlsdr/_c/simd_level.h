/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One SIMD level for simd.h: its vectors of NM_BYTES (0: plain numbers), the operations that it has not defined itself, and
 * the template.
 */
#if NM_BYTES
#define G (NM_BYTES / (int)sizeof(T))
#define V NM_LEVEL(vector)
#define VI NM_LEVEL(integers)
typedef T NM_LEVEL(vector) __attribute__((vector_size(NM_BYTES), aligned(sizeof(T)), may_alias));
typedef NM_INTEGER NM_LEVEL(integers) __attribute__((vector_size(NM_BYTES), aligned(sizeof(T)), may_alias));
#ifndef HITS
#define HITS VI
#endif
#ifndef VMIN
static inline V NM_LEVEL(min)(V a, V b)
{
    const HITS first = a < b;
    return (V)((first & (HITS)a) | (~first & (HITS)b)); /* b if either is no number */
}
static inline unsigned NM_LEVEL(mask)(HITS hits)
{
    unsigned mask = 0;
    for (int m = 0; m < G; m++) mask |= (unsigned)(hits[m] & 1) << m;
    return mask;
}
#define VWIDEN(p) ((V){(p)[0], (p)[1]})
#define VMIN(a, b) NM_LEVEL(min)(a, b)
#define VMASK(hits) NM_LEVEL(mask)(hits)
#endif
#else
#define G 1
#define V T
#define HITS unsigned
#define VWIDEN(p) ((T) * (p))
#define VMIN(a, b) ((a) < (b) ? (a) : (b))
#define VMASK(hits) ((unsigned)(hits))
#endif
#ifndef VGE
#define VGE(a, b) ((a) >= (b))
#endif
enum { NM_LEVEL(lanes) = G };
#include NM_TEMPLATE
#include "simd_clear.h"
