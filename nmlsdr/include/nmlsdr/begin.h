/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each header over _c/ begins with: how its functions are declared, compiler options that would change results, and pragmas,
 * which end.h takes back.  It is included once by each of them, so it has no guard. */
#include "codes.h"
#include "version.h"

#ifndef NMLSDR_FUNCTION
#ifdef NMLSDR_EXTERN
#define NMLSDR_FUNCTION extern
#else
#define NMLSDR_FUNCTION static inline
#ifndef NMLSDR_IMPLEMENTATION
#define NMLSDR_IMPLEMENTATION
#endif
#endif
#endif

/* The canonical distance is the same number everywhere only if no multiplication is fused with an addition. */
#ifdef __FAST_MATH__
#error "nmlsdr's results are wrong with -ffast-math and -Ofast; compile the file that includes it without them."
#endif
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "nmlsdr takes NaN for a number with -ffinite-math-only; compile the file that includes it without this option."
#endif
#if defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error \
    "nmlsdr's results are wrong with -funsafe-math-optimizations, -fassociative-math and -freciprocal-math; compile the file that includes it without them."
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16 /* 16: of half floats alone */
#error \
    "nmlsdr's results are wrong where doubles are computed more precisely (-mfpmath=387); compile for SSE2 (-msse2 -mfpmath=sse)."
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* vectors, and C99's literals of structs in C++ */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-function"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuninitialized" /* of the intrinsics of GCC 12 */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif
#endif
