/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops of one level of propagation.h, once for each width of a batch. */
#define WIDTH 4
#include "propagation_loops.h"
#define WIDTH 8
#include "propagation_loops.h"
#define WIDTH 16
#include "propagation_loops.h"
#define WIDTH 32
#include "propagation_loops.h"
#undef LEVEL
#undef NM_TARGET
#undef AVX2
