/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The SIMD levels of all kernels: which this build has, and the best that this processor has.
 *
 *   0 portable   16-byte vectors of GCC and clang (SSE2, ...), or plain numbers with other compilers
 *   1 avx2       AVX2 with fused multiply-add
 *   2 vnni       AVX-512 with VNNI, which adds up products of 16-bit integers in one instruction; without it integers of AVX2
 *                are faster from 100 features on than floats in wider vectors (at 16 features they take 1.1 times as long)
 *
 * and on 64-bit ARM, where every processor has it,
 *
 *   1 neon       16-byte vectors with fused multiply-add; the propagation's loops, which never fuse, are the portable ones
 *
 * A template is compiled once for each level, and one table a kernel module takes its copies by the number of the level
 * (kernels.h, propagation.h); `nmlsdr/_process/threads.py` chooses the level to run on.
 */
#ifndef NMLSDR_SIMD_LEVELS_H
#define NMLSDR_SIMD_LEVELS_H

#include <stdlib.h>
#include <string.h>

/* MinGW's GCC does not align the stack for the wide vectors that it spills (its bug 54412). */
#if defined(__MINGW32__) && !defined(__clang__) && !defined(NMLSDR_PORTABLE_ONLY)
#define NMLSDR_PORTABLE_ONLY
#endif

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__)) && !defined(NMLSDR_PORTABLE_ONLY)
#define NMLSDR_X86 1
#include <immintrin.h>
#else
#define NMLSDR_X86 0
#endif

#if defined(__GNUC__) && defined(__aarch64__) && !defined(NMLSDR_PORTABLE_ONLY)
#define NMLSDR_NEON 1
#include <arm_neon.h>
#else
#define NMLSDR_NEON 0
#endif

#if defined(__GNUC__) && !defined(NMLSDR_SCALAR)
#define NMLSDR_VECTORS 1 /* the compiler has vectors of its own */
#else
#define NMLSDR_VECTORS 0
#endif

#if NMLSDR_NEON
static const char *const nmlsdr_level_names[] = {"portable", "neon"};
#else
static const char *const nmlsdr_level_names[] = {"portable", "avx2", "vnni"};
#endif
enum { NMLSDR_N_LEVEL_NAMES = sizeof nmlsdr_level_names / sizeof *nmlsdr_level_names }; /* also of levels that this build lacks */
enum { NMLSDR_N_SIMD_LEVELS = NMLSDR_X86 ? 3 : 1 + NMLSDR_NEON };

/* The best level of this processor. */
static int nmlsdr_best_level(void)
{
#if NMLSDR_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vnni")
               ? 2
               : 1;
#else
    return NMLSDR_NEON;
#endif
}

/* The level that the environment variable NMLSDR_SIMD names, the best without it; -1: this processor has none of that name. */
static int nmlsdr_wanted_level(void)
{
    const char *name = getenv("NMLSDR_SIMD");
    const int best = nmlsdr_best_level();
    if (!name || !*name) return best;
    for (int level = best; level >= 0; level--)
        if (strcmp(name, nmlsdr_level_names[level]) == 0) return level;
    return -1;
}

#endif
