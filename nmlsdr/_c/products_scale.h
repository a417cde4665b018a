/* The centre and the scale of products, and whether they are exact (docs/neighbours.md). */
#ifndef NMLSDR_PRODUCTS_SCALE_H
#define NMLSDR_PRODUCTS_SCALE_H

#include "products_state.h"

/* A value of the middle of a sample of each column: an outlier or a far cluster does not move it. */
static int nmlsdr_choose_centre(nmlsdr_search *q)
{
    enum { SAMPLE = 31 };
    const nmlsdr_rows *x = &q->rows->rows;
    const ptrdiff_t n = x->n < SAMPLE ? x->n : SAMPLE;
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

/* max |x - centre| of one side, and whether all of x are integers.  Tested on the values and not on x - centre, which is rounded:
 * 1e-18 - 1 is an integer.  The centre is a value of the rows; the difference of two integers is exact below 2^53. */
static double nmlsdr_extent(const nmlsdr_search *q, const nmlsdr_rows *x, int *integral)
{
    double most = 0;
    int whole = *integral;
    if (x->indices) {
        for (ptrdiff_t p = 0; p < nmlsdr_row_pointer(x, x->n); p++) {
            const double y = fabs(nmlsdr_entry_value(x, p)); /* the centre is 0 */
            if (y > most) most = y;
            whole = whole && y == floor(y);
        }
        *integral = whole;
        return most;
    }

    /* MSVC's OpenMP, of 2002, knows no reduction by max, and no index that is declared in the loop */
    NMLSDR_OMP(parallel num_threads(q->n_threads))
    {
        double own = 0;
        int inside = 1;
        ptrdiff_t i;
        NMLSDR_OMP(for schedule(static))
        for (i = 0; i < x->n; i++) {
            double top = 0;
            for (ptrdiff_t j = 0; j < q->d; j++) {
                const double value = nmlsdr_entry_value(x, i * q->d + j);
                const double y = fabs(value - q->scaling.centre[j]);
                top = y > top ? y : top;
                if (inside && value != floor(value)) inside = 0;
            }
            own = top > own ? top : own;
        }
        NMLSDR_OMP(critical(nmlsdr_extent))
        {
            most = own > most ? own : most;
            whole = whole && inside;
        }
    }
    *integral = whole;
    return most;
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

/* Norms of 2^60 are far from overflow of their squares and farther from underflow. */
static void nmlsdr_choose_scale(nmlsdr_search *q)
{
    int integral = 1;
    double most = nmlsdr_extent(q, &q->rows->rows, &integral);
    if (q->queries != q->rows) {
        const double other = nmlsdr_extent(q, &q->queries->rows, &integral);
        most = other > most ? other : most;
    }
    q->scaling.integral = integral && 4 * (double)q->storage.longest * most * most < 0x1p24;
    q->scaling.scale = 1;
    if (!q->scaling.integral) nmlsdr_set_scale(q, most, 60);
}

#endif
