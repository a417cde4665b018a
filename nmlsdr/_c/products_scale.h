/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The centre and the scale of products, whether they are exact, and whether they are of floats or of integers
 * (docs/neighbours.md). */
#ifndef NMLSDR_PRODUCTS_SCALE_H
#define NMLSDR_PRODUCTS_SCALE_H

#include "products_storage.h"

/* A value of the middle of a sample of each column: an outlier or a far cluster does not move it. */
static int nmlsdr_choose_centre(nmlsdr_search *q)
{
    enum { SAMPLE = 31 };
    const nmlsdr_rows *x = &q->rows->rows;
    const ptrdiff_t n = x->n < SAMPLE ? x->n : (ptrdiff_t)SAMPLE;
    double v[SAMPLE] = {0};
    q->scaling.centre = (double *)nmlsdr_new(&q->memory, q->d, sizeof(double));
    if (!q->scaling.centre) return -1;
    memset(q->scaling.centre, 0, (size_t)q->d * sizeof(double));
    if (x->kind > NMLSDR_DENSE_F64) return 0; /* sparse rows are never shifted */
    for (ptrdiff_t j = 0; j < q->d; j++) {
        for (ptrdiff_t r = 0; r < n; r++) {
            const ptrdiff_t at = (x->n / n * r) * q->d + j;
            const double value = nmlsdr_entry_value(x, at);
            ptrdiff_t p = r;
            for (; p > 0 && v[p - 1] > value; p--) v[p] = v[p - 1];
            v[p] = value;
        }

        q->scaling.centre[j] = v[n / 2];
    }

    return 0;
}

/* How far rows lie from the centre. */
typedef struct {
    double most;   /* max |x - centre| */
    double square; /* the largest squared norm of a row around the centre */
    int integral;  /* all of x are integers */
} nmlsdr_extent;

/* Extend it by one row.  Integers are tested on the value and not on x - centre, which is rounded: 1e-18 - 1 is an integer.
 * The centre is a value of the rows; the difference of two integers is exact below 2^53. */
static void nmlsdr_extend_by(const nmlsdr_search *q, const nmlsdr_rows *x, ptrdiff_t i, nmlsdr_extent *own)
{
    const ptrdiff_t begin = nmlsdr_row_pointer(x, i), end = nmlsdr_row_pointer(x, i + 1);
    double top = 0, square[4] = {0, 0, 0, 0};
    for (ptrdiff_t p = begin; p < end; p++) {
        const double value = nmlsdr_entry_value(x, p);
        const double y = fabs(value - q->scaling.centre[x->indptr ? x->indices[p] : p - begin]);
        top = y > top ? y : top;
        square[p & 3] += y * y;
        if (own->integral && value != floor(value)) own->integral = 0;
    }

    const double sum = (square[0] + square[1]) + (square[2] + square[3]);
    own->most = top > own->most ? top : own->most;
    own->square = sum > own->square ? sum : own->square;
}

/* Extend it by the rows of one side. */
static void nmlsdr_extend(const nmlsdr_search *q, const nmlsdr_rows *x, nmlsdr_extent *to)
{
    /* MSVC's OpenMP, of 2002, knows no reduction by max, and no index that is declared in the loop */
    NMLSDR_OMP(parallel num_threads(q->n_threads))
    {
        nmlsdr_extent own = {0, 0, 1};
        ptrdiff_t i;

        NMLSDR_OMP(for schedule(static))
        for (i = 0; i < x->n; i++) nmlsdr_extend_by(q, x, i, &own);

        NMLSDR_OMP(critical(nmlsdr_extent))
        {
            to->most = own.most > to->most ? own.most : to->most;
            to->square = own.square > to->square ? own.square : to->square;
            to->integral = to->integral && own.integral;
        }
    }
}

/* A power of two that brings norms to 2^exponent, and what is lost to underflow then. */
static void nmlsdr_set_scale(nmlsdr_search *q, double most, int exponent)
{
    int high, wide;
    double scale = 1;

    if (most > 0) {
        frexp(most, &high);
        frexp((double)q->d, &wide);
        high = exponent - high - (wide + 1) / 2;
        scale = ldexp(1.0, high > 1000 ? 1000 : high);
    }

    /* products that underflow or are flushed, and canonical terms below the smallest number */
    const double absolute = (double)(q->d + 8) * 0x1p-118 + (double)(q->d + 8) * scale * 0x1p-1070 * scale;
    q->scaling.scale = scale;
    q->scaling.absolute = absolute < 0x1p122 ? absolute : 0x1p122;
}

/* The share of pairs that pass because of the slack of integers, by some queries and rows: pairs that are farther apart than
 * the query's fourth nearest of these rows, by the slack at most. */
static double nmlsdr_share_passing(const nmlsdr_search *q)
{
    enum { QUERIES = 8, ROWS = 512, NEAREST = 4 };
    const nmlsdr_rows *x = &q->rows->rows, *y = &q->queries->rows;
    const ptrdiff_t most = ROWS, n = x->n / 8 < most ? x->n / 8 : most;
    const double more = q->scaling.slack / q->scaling.scale;
    ptrdiff_t passed = 0;

    for (ptrdiff_t s = 0; s < QUERIES; s++) {
        const ptrdiff_t query = y->n / QUERIES * s;
        double apart[ROWS], nearest[NEAREST];

        for (int m = 0; m < NEAREST; m++) nearest[m] = INFINITY;
        for (ptrdiff_t r = 0; r < n; r++) {
            const ptrdiff_t row = x->n / n * r + (x->n / n) / 2;
            apart[r] = q->symmetric && row == query ? INFINITY : sqrt(nmlsdr_canonical(y, query, x, row));
            double far = apart[r];
            for (int m = 0; m < NEAREST; m++) {
                const double here = nearest[m];
                nearest[m] = far < here ? far : here;
                far = far < here ? here : far;
            }
        }

        const double near = nearest[NEAREST - 1];
        for (ptrdiff_t r = 0; r < n; r++) passed += apart[r] > near && apart[r] <= near + more;
    }

    return (double)passed / (double)(QUERIES * n);
}

/* Whether products of 16-bit integers save more time than canonical distances of the pairs take that pass because of their
 * slack; there must be enough rows and queries. */
static int nmlsdr_integers_pay(const nmlsdr_search *q)
{
    if (q->d < NMLSDR_INT16_FEATURES || q->rows->rows.n < NMLSDR_INT16_ROWS) return 0;
    if (q->queries->rows.n < NMLSDR_INT16_ROWS / 16) return 0;

    return q->scaling.integral || nmlsdr_share_passing(q) <= NMLSDR_INT16_SHARE;
}

/* Make products of 16-bit integers if they pay (wanted: -1), whenever they can be made (16), or never (0). */
static void nmlsdr_choose_integers(nmlsdr_search *q, const nmlsdr_extent *extent, int wanted)
{
    const double rounding = sqrt((double)q->d), norm = sqrt(extent->square);
    nmlsdr_scaling floats = q->scaling;
    if (!wanted || !q->kernels->int16 || q->storage.sparse || q->d > 0x100000) return;
    if (!q->scaling.integral) {
        if (!(norm > 0x1p-400 && norm < 0x1p400)) return;
        q->scaling.scale = (46340 - rounding / 2 - 1) / norm; /* |q_i| |q_j| < 2^31 */
        if (q->scaling.scale * extent->most > 32766) q->scaling.scale = 32766 / extent->most;
        q->scaling.slack = (float)(rounding * (1 + 0x1p-20) + 0x1p-10);
        q->scaling.absolute = 0;
        q->scaling.terms = 4;
    }

    if (wanted > 0 || nmlsdr_integers_pay(q)) {
        q->storage.integers = 16;
        nmlsdr_set_words(q, (q->d + 1) / 2);
    } else {
        q->scaling = floats;
    }
}

/* Norms of 2^60 are far from overflow of their squares and farther from underflow. */
static void nmlsdr_choose_scale(nmlsdr_search *q, int integers)
{
    nmlsdr_extent extent = {0, 0, 1};
    nmlsdr_extend(q, &q->rows->rows, &extent);
    if (q->queries != q->rows) nmlsdr_extend(q, &q->queries->rows, &extent);
    q->scaling.integral = extent.integral && 4 * (double)q->storage.longest * extent.most * extent.most < 0x1p24;
    q->scaling.scale = 1;
    if (!q->scaling.integral) nmlsdr_set_scale(q, extent.most, 60);
    nmlsdr_choose_integers(q, &extent, integers);
}

#endif
