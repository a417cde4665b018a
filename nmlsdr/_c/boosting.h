/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Boosted trees for several labels: each learns what the trees before it leave, and adds a part of that.
 *
 * The rows lie in folds.  The model of a fold learns from the rows of the other folds and predicts its own; a thread owns a
 * fold.  Columns hold codes of one byte, the number of cuts below a value minus 128: they are binned once a fit, and nothing
 * is copied for a tree.  A tree's targets are Y - F in units of 1 / 1024 between -2 and 2: its sums are exact as in forest.h.
 *
 * Tried: histograms of codes, of which that of the larger child is a difference; this needs features and thresholds drawn once
 * a tree.  With 32 thresholds the squared error out of fold rose by .25 % over 16 tables and average precision fell by .14
 * points, in 1.1 times as many rounds.  A third of the features (on 10 tables), 50 features (on 6), or a rate of .1 (on 5)
 * raised the error by .2 to .3 %.
 */
#ifndef NMLSDR_BOOSTING_H
#define NMLSDR_BOOSTING_H

#include "forest.h"

typedef struct {
    nmlsdr_growth f; /* n_kinds: folds; trees (rounds, folds); n_draws: of each fold at most */
    ptrdiff_t first; /* round */
    double rate, penalty; /* a leaf's value is rate x sum / (draws + penalty) */
    const float *Y;  /* (n, labels), NaN: unknown */
    const int32_t *fold;
    float *F, *values; /* (folds, n, labels) scores; of each leaf of the trees what it adds to them */
    int32_t *weights;  /* draws of each leaf */
    double *errors;    /* (rounds, folds) squared, of the known entries of the fold */
} nmlsdr_boosting;

/* Draw rows of other folds, with replacement, and set their targets; put the columns into an order of the tree's own. */
static void nmlsdr_draw_targets(nmlsdr_growing *g, const nmlsdr_boosting *b, const int32_t *others, ptrdiff_t n_others,
                                ptrdiff_t n_draws, const float *F, int32_t *draws, int16_t *targets)
{
    const nmlsdr_growth *f = g->f;
    const ptrdiff_t n_labels = f->n_labels;
    memset(draws, 0, (size_t)f->n * sizeof *draws);
    for (ptrdiff_t i = 0; i < n_draws; i++) draws[others[nmlsdr_number_below(nmlsdr_key(g->key, (uint64_t)i), n_others)]]++;
    for (ptrdiff_t j = 0; j < f->d; j++) g->columns[j] = (int32_t)j;
    nmlsdr_mix(g->columns, f->d, g->key, n_draws);
    if (g->sum_of) nmlsdr_draw_sums(g, n_draws + f->d);
    g->n_rows = 0;
    for (ptrdiff_t row = 0; row < f->n; row++) {
        if (!draws[row]) continue;
        g->order[g->n_rows++] = (int32_t)row;
        for (ptrdiff_t c = 0; c < n_labels; c++) {
            const double gap = NMLSDR_STEPS * ((double)b->Y[row * n_labels + c] - F[row * n_labels + c]);
            const double target = gap > -2 * NMLSDR_STEPS ? gap < 2 * NMLSDR_STEPS ? gap : 2 * NMLSDR_STEPS : -2 * NMLSDR_STEPS;
            targets[row * n_labels + c] = gap == gap ? (int16_t)lrint(target) : 0;
        }
        nmlsdr_enter_row(g, row, targets + row * n_labels, draws[row]);
    }
}

/* Add the values of a tree to the scores of all rows. */
static void nmlsdr_add_tree(const nmlsdr_growing *g, const float *values, float *F)
{
    enum { ROWS = 64 }; /* that go down together: their loads overlap */
    const nmlsdr_growth *f = g->f;
    const ptrdiff_t n_labels = f->n_labels;
    for (ptrdiff_t first = 0; first < f->n; first += ROWS) {
        const ptrdiff_t n = f->n - first < ROWS ? f->n - first : ROWS;
        int32_t at[ROWS] = {0};
        for (int active = 1; active;) {
            active = 0;
            for (ptrdiff_t i = 0; i < n; i++) {
                const nmlsdr_node node = g->nodes[at[i]];
                if (node.feature < 0) continue;
                at[i] = node.left + (f->codes[node.feature * f->n + first + i] > node.threshold);
                active = 1;
            }
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            const float *value = values + g->nodes[at[i]].left * n_labels;
            float *to = F + (first + i) * n_labels;
            for (ptrdiff_t c = 0; c < n_labels; c++) to[c] += value[c];
        }
    }
}

/* Grow the trees of a fold of all rounds; return whether there was memory for it. */
static int nmlsdr_boost(const nmlsdr_boosting *b, ptrdiff_t fold, ptrdiff_t n_rounds, int level)
{
    const nmlsdr_growth *f = &b->f;
    const ptrdiff_t n_labels = f->n_labels;
    const uint64_t key = nmlsdr_key(f->seed, (uint64_t)fold);
    nmlsdr_memory memory = {0};
    nmlsdr_growing g = {.f = f, .n_columns = f->d, .kind = f->kinds};
    int32_t *draws = (int32_t *)nmlsdr_new(&memory, f->n, sizeof(int32_t));
    int32_t *others = (int32_t *)nmlsdr_new(&memory, f->n, sizeof(int32_t));
    int32_t *sums = (int32_t *)nmlsdr_new(&memory, n_labels, sizeof(int32_t));
    int16_t *targets = (int16_t *)nmlsdr_new(&memory, f->n * n_labels, sizeof(int16_t));
    double *squared = (double *)nmlsdr_new(&memory, n_labels, sizeof(double)); /* errors of each label */
    float *F = b->F + fold * f->n * n_labels;
    ptrdiff_t n_others = 0;
    nmlsdr_new_numbers(&g, &memory, f->n, f->n_draws);
    g.code = (int8_t *)nmlsdr_new(&memory, g.capacity, 1);
    g.search = level > 0 ? nmlsdr_forest_search_codes_avx2 : nmlsdr_forest_search_codes_portable;
    g.add_up = level > 0 ? nmlsdr_forest_add_up_avx2 : nmlsdr_forest_add_up_portable;
    for (ptrdiff_t i = 0; i < f->n && !memory.failed; i++)
        if (b->fold[i] != fold) others[n_others++] = (int32_t)i;
    const ptrdiff_t part = 7 * n_others / 10, n_draws = part < f->n_draws ? part : f->n_draws;
    for (ptrdiff_t round = 0; round < n_rounds && !memory.failed; round++) {
        const ptrdiff_t tree = round * f->n_kinds + fold;
        float *values = b->values + tree * f->most_leaves * n_labels;
        double *error = b->errors + tree;
        g.key = nmlsdr_key(key, (uint64_t)(b->first + round));
        nmlsdr_draw_targets(&g, b, others, n_others, n_draws, F, draws, targets);
        g.key = nmlsdr_key(~g.key, 1);
        nmlsdr_grow_nodes(&g, tree);
        nmlsdr_fill_leaves(g.order, f->n_leaves[tree], targets, n_labels, draws, b->rate, b->penalty, sums,
                           b->weights + tree * f->most_leaves, values);
        nmlsdr_add_tree(&g, values, F);
        memset(squared, 0, (size_t)n_labels * sizeof *squared);
        for (ptrdiff_t i = 0; i < f->n; i++)
            for (ptrdiff_t c = 0; b->fold[i] == fold && c < n_labels; c++) {
                const double gap = (double)b->Y[i * n_labels + c] - F[i * n_labels + c], square = gap * gap;
                squared[c] += square == square ? square : 0.0;
            }
        *error = 0.0;
        for (ptrdiff_t c = 0; c < n_labels; c++) *error += squared[c];
    }
    nmlsdr_free_all(&memory);
    return !memory.failed;
}

#endif
