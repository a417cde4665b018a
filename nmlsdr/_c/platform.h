/* What compilers, systems and OpenMP differ in: aligned memory, prefetching, bits, threads. */
#ifndef NMLSDR_PLATFORM_H
#define NMLSDR_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef _MSC_VER
#include <intrin.h>
#endif
#ifdef _WIN32 /* MSVC and MinGW alike have no aligned_alloc */
#include <malloc.h>
#endif

#ifdef __GNUC__
#define NMLSDR_PREFETCH(from) __builtin_prefetch(from, 0, 2)
#define NMLSDR_PREFETCH_NEAR(from) __builtin_prefetch(from, 0, 3) /* into the first cache */
#else
#define NMLSDR_PREFETCH(from) ((void)(from))
#define NMLSDR_PREFETCH_NEAR(from) ((void)(from))
#endif

#ifdef __GNUC__
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
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

static void *nmlsdr_aligned(size_t bytes)
{
    bytes = (bytes + 127) / 64 * 64;
#ifdef _WIN32
    return _aligned_malloc(bytes, 64);
#else
    return aligned_alloc(64, bytes);
#endif
}

static void nmlsdr_release(void *p)
{
#ifdef _WIN32
    _aligned_free(p);
#else
    free(p);
#endif
}

/* Pieces of memory that are given back together, each linked to the one before. */
typedef struct {
    void *last;
    int failed; /* some piece was not to be had: NULL */
} nmlsdr_memory;

/* n things of `size` bytes, aligned like a cache line. */
static void *nmlsdr_new(nmlsdr_memory *memory, ptrdiff_t n, size_t size)
{
    char *piece = (char *)nmlsdr_aligned(64 + (size_t)n * size);
    if (!piece) {
        memory->failed = 1;
        return NULL;
    }
    *(void **)piece = memory->last;
    memory->last = piece;
    return piece + 64;
}

static void nmlsdr_free_all(nmlsdr_memory *memory)
{
    while (memory->last) {
        void *piece = memory->last;
        memory->last = *(void **)piece;
        nmlsdr_release(piece);
    }
}

#ifdef __GNUC__
#define NM_ALIGNED __attribute__((aligned(64)))
#else
#define NM_ALIGNED
#endif

static int nmlsdr_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

#endif
