/* The SIMD levels of all kernels: which this build has, and the best that this processor has.
 *
 *   0 portable   16-byte vectors of GCC and clang (SSE2, ...), or plain numbers with other compilers
 *   1 avx2       AVX2 with fused multiply-add
 *   2 avx512     AVX-512 F, DQ and BW
 *   3 vnni       the same with VNNI, which adds up products of 16-bit and of 8-bit integers in one instruction
 *   4 amx        the same with the tiles of AMX for products of 8-bit integers; only in builds with NMLSDR_AMX=1
 *
 * and on 64-bit ARM, where every processor has it,
 *
 *   1 neon       16-byte vectors with fused multiply-add; the propagation's loops, which never fuse, are the portable ones
 *
 * The last number is amx_emulated, which every build has: the portable level with the tiles in plain C, so that the code around
 * the instructions of AMX can be tested on any processor.  It is never chosen by itself.
 *
 * A template is compiled once for each level, and one table a kernel module takes its copies by the number of the level
 * (kernels.h, propagation.h); `nmlsdr/_process/threads.py` chooses the level to run on.
 */
#ifndef NMLSDR_SIMD_LEVELS_H
#define NMLSDR_SIMD_LEVELS_H

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

#ifdef __GNUC__
#define NM_INLINE __attribute__((always_inline))
#else
#define NM_INLINE
#endif

/* NMLSDR_AMX_WANTED is defined by setup.py under NMLSDR_AMX=1.  Compilers without AMX lack the header, which GCC and clang name differently. */
#if defined(NMLSDR_AMX_WANTED) && NMLSDR_X86 && defined(__linux__) && defined(__x86_64__) && defined(__has_include)
#if __has_include(<amxint8intrin.h>) || __has_include(<amxintrin.h>)
#define NMLSDR_AMX 1
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif
#ifndef NMLSDR_AMX
#define NMLSDR_AMX 0
#endif

enum {
    NMLSDR_N_SIMD_LEVELS = NMLSDR_X86 ? 4 + NMLSDR_AMX : 1 + NMLSDR_NEON, /* without amx_emulated */
    NMLSDR_AMX_EMULATED = NMLSDR_NEON ? 2 : 4 + NMLSDR_AMX
};

/* Whether the processor has AMX for 8-bit integers (CPUID), the system saves its tiles (XCR0), and Linux permits this process to
 * use them, which has to be requested.  Threads and forked processes inherit the permission. */
static int nmlsdr_may_use_amx(void)
{
#if NMLSDR_AMX
    enum { TILES_OF_7_EDX = 3 << 24, TILES_OF_XCR0 = 3 << 17, ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    unsigned a, b, c, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & TILES_OF_7_EDX) != TILES_OF_7_EDX) return 0;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0)); /* there is one: AVX2 was found */
    return (a & TILES_OF_XCR0) == TILES_OF_XCR0 && !syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA);
#else
    return 0;
#endif
}

/* The best level of this processor. */
static int nmlsdr_best_level(void)
{
#if NMLSDR_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 0;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq")) return 1;
    if (!__builtin_cpu_supports("avx512bw")) return 1;
    if (!__builtin_cpu_supports("avx512vnni")) return 2;
    static int amx = -1; /* the questions take microseconds */
    if (amx < 0) amx = nmlsdr_may_use_amx();
    return 3 + amx;
#else
    return NMLSDR_NEON;
#endif
}

#endif
