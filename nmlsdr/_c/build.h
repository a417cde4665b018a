/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Facts about this build from the compiler's macros, for `nmlsdr info`.  */
#ifndef NMLSDR_BUILD_H
#define NMLSDR_BUILD_H

#include "simd_levels.h"

#define NMLSDR_TEXT_OF(number) #number
#define NMLSDR_TEXT(number) NMLSDR_TEXT_OF(number)
#if defined(__clang__)
#define NMLSDR_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define NMLSDR_COMPILER "GCC " __VERSION__
#elif defined(_MSC_VER)
#define NMLSDR_COMPILER "MSVC " NMLSDR_TEXT(_MSC_FULL_VER)
#else
#define NMLSDR_COMPILER "unknown"
#endif

#ifdef _OPENMP /* the year and month of the standard */
#define NMLSDR_OPENMP _OPENMP
#else
#define NMLSDR_OPENMP 0
#endif

#endif
