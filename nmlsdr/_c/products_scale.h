/* The centre and the scale of products, whether they are exact, and whether they are of floats or of integers
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

/* Extend it by every `step`-th row of one side; extend_by looks at a row. */
static void nmlsdr_extend(const nmlsdr_search *q, const nmlsdr_rows *x, ptrdiff_t step,
                          void (*extend_by)(const nmlsdr_search *, const nmlsdr_rows *, ptrdiff_t, nmlsdr_extent *),
                          nmlsdr_extent *to)
{
    /* MSVC's OpenMP, of 2002, knows no reduction by max, and no index that is declared in the loop */
    NMLSDR_OMP(parallel num_threads(q->n_threads))
    {
        nmlsdr_extent own = {0, 0, 1};
        ptrdiff_t i;

        NMLSDR_OMP(for schedule(static))
        for (i = 0; i < x->n; i += step) extend_by(q, x, i, &own);

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

/* The distances of some queries to some rows, and of each query to its fourth nearest of these rows. */
#define NMLSDR_SAMPLE_QUERIES 8
#define NMLSDR_SAMPLE_ROWS 512
#define NMLSDR_SAMPLE_NEAREST 4
typedef struct {
    ptrdiff_t n; /* rows; 0: not taken yet */
    double apart[NMLSDR_SAMPLE_QUERIES][NMLSDR_SAMPLE_ROWS], near[NMLSDR_SAMPLE_QUERIES];
} nmlsdr_sample;

static void nmlsdr_take_sample(const nmlsdr_search *q, nmlsdr_sample *sample)
{
    enum { NEAREST = NMLSDR_SAMPLE_NEAREST };
    const nmlsdr_rows *x = &q->rows->rows, *y = &q->queries->rows;
    const ptrdiff_t n = x->n / 8 < NMLSDR_SAMPLE_ROWS ? x->n / 8 : NMLSDR_SAMPLE_ROWS;

    for (ptrdiff_t s = 0; s < NMLSDR_SAMPLE_QUERIES; s++) {
        double *apart = sample->apart[s], nearest[NEAREST];
        const ptrdiff_t query = y->n / NMLSDR_SAMPLE_QUERIES * s;

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

        sample->near[s] = nearest[NEAREST - 1];
    }

    sample->n = n;
}

/* The share of pairs that pass because of this slack, by the sample: pairs that are farther apart than the
 * fourth nearest, by the slack at most. */
static double nmlsdr_share_passing(const nmlsdr_search *q, nmlsdr_sample *sample, double slack)
{
    const double more = slack / q->scaling.scale;
    ptrdiff_t passed = 0;
    if (!sample->n) nmlsdr_take_sample(q, sample);
    for (ptrdiff_t s = 0; s < NMLSDR_SAMPLE_QUERIES; s++) {
        const double near = sample->near[s], *apart = sample->apart[s];

        for (ptrdiff_t r = 0; r < sample->n; r++) passed += apart[r] > near && apart[r] <= near + more;
    }

    return (double)passed / (double)(NMLSDR_SAMPLE_QUERIES * sample->n);
}

/* Whether there are enough rows and queries. */
static int nmlsdr_many(const nmlsdr_search *q, ptrdiff_t rows)
{
    return q->rows->rows.n >= rows && q->queries->rows.n >= rows / 16;
}

/* Whether products of 16-bit integers save more time than canonical distances of the pairs take that pass
 * because of their slack. */
static int nmlsdr_int16_pays(const nmlsdr_search *q, nmlsdr_sample *sample)
{
    if (q->d < NMLSDR_INT16_FEATURES || !nmlsdr_many(q, NMLSDR_INT16_ROWS)) return 0;

    return q->scaling.integral || nmlsdr_share_passing(q, sample, q->scaling.slack) <= NMLSDR_INT16_SHARE;
}

/* Make products of 16-bit integers if they pay, or whenever they can be made if they are `wanted`; never
 * if it is 0. */
static void nmlsdr_choose_int16(nmlsdr_search *q, const nmlsdr_extent *extent, nmlsdr_sample *sample, int wanted)
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

    if (wanted > 0 || nmlsdr_int16_pays(q, sample)) {
        q->storage.integers = 16;
        nmlsdr_set_words(q, (q->d + 1) / 2);
    } else {
        q->scaling = floats;
    }
}

/* The squared distance from a row of 16-bit integers to the row of 8-bit ones that stands for it, as the `square`. */
static void nmlsdr_extend_by_rounding(const nmlsdr_search *q, const nmlsdr_rows *x, ptrdiff_t i, nmlsdr_extent *own)
{
    const ptrdiff_t begin = nmlsdr_row_pointer(x, i), end = nmlsdr_row_pointer(x, i + 1);
    const double ratio = q->scaling.ratio, back = 1 / ratio;
    double square[4] = {0, 0, 0, 0};
    for (ptrdiff_t p = begin; p < end; p++) {
        const double y = nmlsdr_rounded(nmlsdr_scaled(q, x, p, x->indptr ? x->indices[p] : p - begin));
        const double lost = y - nmlsdr_rounded(y * ratio) * back;
        square[p & 3] += lost * lost;
    }

    const double sum = (square[0] + square[1]) + (square[2] + square[3]);
    own->square = sum > own->square ? sum : own->square;
}

/* Whether products of 8-bit integers save more time than 16-bit products of the pairs take that pass.  A
 * row of n others checks about 1.4 k (1 + log(n / k)) of them if there is no slack, and times (1 + c) / 2
 * if c pairs of the sample pass for each that is near: from .7 to 1.6 times as many were seen, on 20 sets
 * with n of 5000 to 50 000, k of 1 to 80 and c of 1 to 24. */
static int nmlsdr_int8_pays(const nmlsdr_search *q, nmlsdr_sample *sample)
{
    const double n = (double)q->rows->rows.n, k = (double)q->k, packed = q->symmetric ? 1 : 1
        + n / (double)q->queries->rows.n;
    /* for each query */
    const double made = (double)q->d * (n * (q->symmetric ? 1 : 2) - NMLSDR_INT8_PACKING * packed);
    if (!nmlsdr_many(q, NMLSDR_INT8_ROWS)) return 0;
    const double passing = nmlsdr_share_passing(q, sample, q->scaling.slack + q->scaling.coarse_slack);
    const double each = 1 + passing * (double)sample->n / NMLSDR_SAMPLE_NEAREST;

    return 0.7 * (1 + each) * k * (1 + log(n / k)) < NMLSDR_INT8_CHECKS * made;
}

/* What the rounding of two rows from 16 bits to 8 changes in their distance at most; of every `step`-th
 * row only. */
static float nmlsdr_coarse_slack(const nmlsdr_search *q, ptrdiff_t step)
{
    nmlsdr_extent lost = {0, 0, 0};
    nmlsdr_extend(q, &q->rows->rows, step, nmlsdr_extend_by_rounding, &lost);
    if (q->queries != q->rows) nmlsdr_extend(q, &q->queries->rows, step, nmlsdr_extend_by_rounding, &lost);
    if (lost.square == 0 && q->scaling.ratio == 1) return 0; /* 8 bits are exact */
    return (float)(2 * sqrt(lost.square) * (1 + 0x1p-20) + 0x1p-10);
}

/* Put products of 8-bit integers before those of 16 bits if that pays, or whenever it can be done if 8
 * bits are `wanted`. */
static void nmlsdr_choose_int8(nmlsdr_search *q, const nmlsdr_extent *extent, nmlsdr_sample *sample, int wanted)
{
    enum { SOME = 64 };
    const double most = extent->most * q->scaling.scale + 1;
    if (q->storage.integers != 16 || wanted == 16 || !q->kernels->int8 || q->d > 0x10000) return;
    q->scaling.ratio = most < 127 ? 1 : 127 / most;

    if (wanted < 0) {
        q->scaling.coarse_slack = nmlsdr_coarse_slack(q, q->rows->rows.n / SOME + 1);
        if (!nmlsdr_int8_pays(q, sample)) return;
    }

    q->scaling.coarse_slack = nmlsdr_coarse_slack(q, 1);
    q->storage.integers = 8;
    q->storage.checked = ((q->d + 1) / 2 + 31) / 32 * 32; /* two vectors at every level */
    nmlsdr_set_words(q, (q->d + 3) / 4);
}

/* Norms of 2^60 are far from overflow of their squares and farther from underflow. */
static void nmlsdr_choose_scale(nmlsdr_search *q, int integers)
{
    nmlsdr_extent extent = {0, 0, 1};
    nmlsdr_sample sample = {0};
    nmlsdr_extend(q, &q->rows->rows, 1, nmlsdr_extend_by, &extent);
    if (q->queries != q->rows) nmlsdr_extend(q, &q->queries->rows, 1, nmlsdr_extend_by, &extent);
    q->scaling.integral = extent.integral && 4 * (double)q->storage.longest * extent.most * extent.most < 0x1p24;
    q->scaling.scale = 1;
    if (!q->scaling.integral) nmlsdr_set_scale(q, extent.most, 60);
    nmlsdr_choose_int16(q, &extent, &sample, integers);
    nmlsdr_choose_int8(q, &extent, &sample, integers);
}

#endif
