/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What compilers, systems and OpenMP differ in: aligned memory, prefetching, bits, threads. */
#ifndef NMLSDR_PLATFORM_H
#define NMLSDR_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef __GNUC__
#define NMLSDR_PREFETCH_NEAR(from) __builtin_prefetch(from, 0, 3) /* into the first cache */
#define UNROLL _Pragma("GCC unroll 16")
#define NM_ALIGNED __attribute__((aligned(64)))
#define NM_INLINE __attribute__((always_inline))
#else
#define NMLSDR_PREFETCH_NEAR(from) ((void)(from))
#define UNROLL
#define NM_ALIGNED
#define NM_INLINE
#endif

/* A directive of OpenMP, where there is OpenMP. */
#ifndef _OPENMP
#define NMLSDR_OMP(...)
#elif defined(_MSC_VER)
#define NMLSDR_OMP(...) __pragma(omp __VA_ARGS__)
#else
#define NMLSDR_PRAGMA(directive) _Pragma(#directive)
#define NMLSDR_OMP(...) NMLSDR_PRAGMA(omp __VA_ARGS__)
#endif

static inline int nmlsdr_lowest_bit(unsigned long long bits)
{
#ifdef __GNUC__
    return __builtin_ctzll(bits);
#else
    int at = 0;
    while (!(bits >> at & 1)) at++;
    return at;
#endif
}

/* Pieces of memory that are given back together, each linked to the one before. */
typedef struct {
    void *last;
    int failed; /* some piece was not to be had: NULL */
    size_t left; /* bytes of a caller's own memory, which are taken first as long as they last, */
    char *spare; /* from here on */
} nmlsdr_memory;

/* n things of `size` bytes, aligned like a cache line. */
static void *nmlsdr_new(nmlsdr_memory *memory, ptrdiff_t n, size_t size)
{
    const size_t bytes = (size_t)n * size / 64 * 64 + 64;
    if (bytes <= memory->left) {
        memory->left -= bytes;
        memory->spare += bytes;
        return memory->spare - bytes;
    }
    void **piece = (void **)malloc(192 + (size_t)n * size); /* C99 has no aligned_alloc */
    if (!piece) {
        memory->failed = 1;
        return NULL;
    }
    *piece = memory->last;
    memory->last = piece;
    return (char *)piece + 128 - (uintptr_t)piece % 64;
}

static void nmlsdr_free_all(nmlsdr_memory *memory)
{
    while (memory->last) {
        void **piece = (void **)memory->last;
        memory->last = *piece;
        free(piece);
    }
}

/* How many threads a caller who wants n_threads gets; 0 or less: as many as OpenMP would take. */
static int nmlsdr_threads(int n_threads)
{
#ifdef _OPENMP
    const int cores = omp_get_num_procs(), most = cores > 16 ? 4 * cores : 64; /* a team of thousands takes minutes */
    return n_threads < 1 ? omp_get_max_threads() : n_threads < most ? n_threads : most;
#else
    (void)n_threads;
    return 1;
#endif
}

/* At most n_threads, and as many as there is work for. */
static int nmlsdr_worthwhile(int n_threads, double threads)
{
    return threads < 2 ? 1 : threads < n_threads ? (int)threads : n_threads;
}

static int nmlsdr_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

#endif
