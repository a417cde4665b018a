/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The canonical squared distance.
 *
 *   t_j = (x_j - y_j)^2 in float64, after exact conversion;
 *   a_m = sum of t_j over j = m (mod 8), in increasing j;
 *   d2  = ((a0+a4) + (a2+a6)) + ((a1+a5) + (a3+a7)).
 *
 * Eight independent sums map onto one AVX-512, two AVX2 or four SSE2 registers,
 * and every width performs the same additions in the same order: same bits.
 * This file must be compiled with -ffp-contract=off.
 *
 * A feature that is 0 in both rows adds +0 and may be skipped, so merging two
 * sorted sparse rows gives the same bits as the dense loop.
 */
#ifndef NMLSDR_DISTANCE_H
#define NMLSDR_DISTANCE_H

#include <stddef.h>
#include <stdint.h>

static inline double nmlsdr_fold8(const double *a)
{
    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

/* x'y by the same eight sums. */
static inline double nmlsdr_dot_f64(const double *x, const double *y, ptrdiff_t d)
{
    double a[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    ptrdiff_t j = 0;
    for (; j + 8 <= d; j += 8)
        for (int m = 0; m < 8; m++) a[m] += x[j + m] * y[j + m];
    for (int m = 0; j < d; j++, m++) a[m] += x[j] * y[j];
    return nmlsdr_fold8(a);
}

#endif
