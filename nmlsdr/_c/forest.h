/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Growing regression trees for several labels.
 *
 * Targets are whole numbers of 1 / 1024, and a row counts as often as the tree drew it.  The sums over rows are exact in int32
 * (of labels below 2^24, of random sums below 2^28), the sums of their squares in int64: neither the order of rows or
 * labels nor the SIMD level, the number of threads or the storage of the rows changes a bit of a tree.
 *
 * Splits may be chosen by fewer sums than there are labels.  Each tree puts each label into one of them, with a random sign and
 * equally many labels in each (Charikar, Chen and Farach-Colton 2002): an addition for each label of a row, and the expected
 * |S|^2 is that of all labels.  Its variance is smaller than with random signs of all labels in each sum; with as many sums as
 * labels it is 0.
 *
 * Random numbers are hashes of counters, one chain of keys from the forest's seed to tree, kind and node.
 */
#ifndef NMLSDR_FOREST_H
#define NMLSDR_FOREST_H

#include <math.h>
#include <string.h>

#include "platform.h"
#include "simd_levels.h"

#define NMLSDR_STEPS 1024.0 /* of a target of 1 */
enum {
    NMLSDR_THRESHOLDS = 16,            /* of a feature at most, where several are tried */
    NMLSDR_VALUES_OF_A_TREE = 1 << 24, /* that a tree copies at most: 64 MB; of more columns it sees some, drawn at random */
    NMLSDR_RARE = 32,                 /* CSR rows are kept by columns if at most one value in so many is stored */
    NMLSDR_MOST_OF_A_SUM = 1 << 14,    /* either way, in a row: 62 sums over 10 000 draws have squares that int64 holds */
    NMLSDR_AT_ONCE = 4,                /* features that are added up together */
    NMLSDR_WIDEST = 8                  /* lanes of any level; sums are padded to multiples of it */
};

typedef struct {
    int32_t feature, left; /* of a leaf -1, and its number */
    float threshold;
} nmlsdr_node;

/* What is grown, and where to: arrays that have room for the largest trees. */
typedef struct {
    ptrdiff_t n, d, n_labels, n_sums, n_padded; /* n_sums: rows, draws, and labels or fewer sums of them */
    ptrdiff_t n_draws, leaf, most_depth, n_kinds, most_leaves;
    uint64_t seed;
    const float *data;
    const int8_t *codes;            /* (d, n) in place of data, for boosting.h; else NULL */
    const int16_t *Y;               /* (n, n_labels), for trees that learn the labels themselves */
    const int32_t *indices, *kinds; /* indices NULL: dense rows, else CSR, sorted or not, without repeats */
    const int64_t *indptr;
    nmlsdr_node *nodes;
    int32_t *n_leaves;     /* of each tree */
    int32_t *draws, *rows; /* of forests: how often a tree drew a row; its rows, leaf by leaf, the last of each as ~row */
} nmlsdr_growth;

typedef struct {
    double score;
    int32_t column, place; /* -1: none; which of the thresholds it is by size, from 1 on */
    float thresholds[NMLSDR_THRESHOLDS], threshold;
} nmlsdr_split;

typedef struct {
    int32_t row;
    float value;
} nmlsdr_stored;

/* The rows that a tree drew, a node of it, and the memory to work in. */
typedef struct nmlsdr_growing {
    const nmlsdr_growth *f;
    ptrdiff_t n_rows, n_columns, width; /* width: floats of a row, which goes on with its beginning */
    float *X;                           /* (n_rows, width) columns that vary, in an order of the tree's own; or NULL, and */
    nmlsdr_stored *stored;              /* what these columns store, column by column, and */
    int32_t *begin, *place;             /* (n_columns + 1) the first of each; (n_rows) the place of each row in order */
    int32_t *sum_of; /* (n_labels) 2 x the place of its sum in Z, plus 1 if it is subtracted; NULL: no sums */
    int32_t *Z, *columns, *order; /* (n_rows, n_padded): 1, draws, and targets times draws; (d); (n_rows) node by node */
    int32_t bits; /* the bits that magnitudes in Z have */

    const int32_t *kind; /* features tried in a node; 0: one random threshold of each, 1: up to 16 */
    nmlsdr_split (*search)(const struct nmlsdr_growing *g, uint64_t key);
    void (*add_up)(const struct nmlsdr_growing *g);
    uint64_t key;
    nmlsdr_node *nodes;

    ptrdiff_t n; /* rows of the node */
    const int32_t *rows;
    int32_t *total; /* (n_padded) sums over them */
    int64_t squared; /* of the labels */

    int32_t *z; /* (n + 1, n_padded) of Z, the rows of the node */
    float *window, *x; /* of the rows of the node: of neighbouring columns, of one */
    int8_t *code; /* (n) of a column */
    uint8_t *bin; /* (AT_ONCE, capacity) thresholds below the value */
    ptrdiff_t capacity;
    int32_t *right; /* (n) rows, when a node is split */
    int32_t *sums; /* (17, n_padded) over the rows of a bin, or (n_padded, lanes) over those on the left */
} nmlsdr_growing;

static inline uint64_t nmlsdr_key(uint64_t key, uint64_t number)
{
    uint64_t z = key + 0x9e3779b97f4a7c15u * (number + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline ptrdiff_t nmlsdr_number_below(uint64_t random, ptrdiff_t n)
{
    return (ptrdiff_t)(((random >> 32) * (uint64_t)n) >> 32);
}

static inline uint32_t nmlsdr_hash(uint32_t x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* What the float32 of a score is at least: sums of squares of n numbers are off by (n + 10) / 2^24 of themselves at most.  So is
 * a sum that it is compared with, and the constant is twice the sum of both. */
static inline NM_INLINE float nmlsdr_nearly(const nmlsdr_growing *g, double score)
{
    return (float)(score * (1.0 - 2.4e-7 * ((double)g->f->n_sums + 10.0)));
}

/* The least and the largest value of a column that is kept alone in the rows of the node, its values in x if they differ, and
 * in g->right which of the rows have a stored value; returns how many. */
static ptrdiff_t nmlsdr_values_of(const nmlsdr_growing *g, ptrdiff_t column, float *least, float *most)
{
    const int32_t before = (int32_t)(g->rows - g->order);
    const nmlsdr_stored *end = g->stored + g->begin[column + 1];
    ptrdiff_t found = 0;
    *least = INFINITY;
    *most = -INFINITY;
    for (const nmlsdr_stored *s = g->stored + g->begin[column]; s < end; s++) {
        const uint32_t i = (uint32_t)(g->place[s->row] - before);
        if (i >= (uint32_t)g->n) continue;
        *least = s->value < *least ? s->value : *least;
        *most = s->value > *most ? s->value : *most;
        g->window[found] = s->value;
        g->right[found++] = (int32_t)i;
    }
    if (found < g->n) {
        *least = *least < 0.0f ? *least : 0.0f;
        *most = *most > 0.0f ? *most : 0.0f;
    }
    if (*least == *most) return found;
    memset(g->x, 0, (size_t)g->n * sizeof *g->x);
    for (ptrdiff_t a = 0; a < found; a++) g->x[g->right[a]] = g->window[a];
    return found;
}

#define LANES (NMLSDR_VECTORS ? 4 : 1)
#define NM_TARGET
#define NM_LEVEL(f) nmlsdr_forest_##f##_portable
#include "forest_search.h"
#if NMLSDR_X86
#define LANES 8
#define NM_TARGET __attribute__((target("avx2")))
#define NM_LEVEL(f) nmlsdr_forest_##f##_avx2
#include "forest_search.h"
#else
#define nmlsdr_forest_search_avx2 nmlsdr_forest_search_portable
#define nmlsdr_forest_add_up_avx2 nmlsdr_forest_add_up_portable
#define nmlsdr_forest_search_codes_avx2 nmlsdr_forest_search_codes_portable
#endif

/* Put n numbers into an order of the tree's own; n_drawn: random numbers that it has drawn before. */
static void nmlsdr_mix(int32_t *numbers, ptrdiff_t n, uint64_t key, ptrdiff_t n_drawn)
{
    for (ptrdiff_t j = n - 1; j > 0; j--) {
        const ptrdiff_t other = nmlsdr_number_below(nmlsdr_key(key, (uint64_t)(n_drawn + j)), j + 1);
        const int32_t number = numbers[j];
        numbers[j] = numbers[other];
        numbers[other] = number;
    }
}

/* Draw the sum of each label. */
static void nmlsdr_draw_sums(nmlsdr_growing *g, ptrdiff_t n_drawn)
{
    for (ptrdiff_t c = 0; c < g->f->n_labels; c++) {
        const int32_t minus = (int32_t)(nmlsdr_key(g->key, (uint64_t)(n_drawn + c)) & 1);
        g->sum_of[c] = 2 * (int32_t)(2 + c % (g->f->n_sums - 2)) + minus;
    }
    nmlsdr_mix(g->sum_of, g->f->n_labels, g->key, n_drawn);
}

/* Set the numbers of a row by which splits are chosen. */
static void nmlsdr_enter_row(nmlsdr_growing *g, ptrdiff_t row, const int16_t *target, int32_t draws)
{
    const nmlsdr_growth *f = g->f;
    int32_t *z = g->Z + row * f->n_padded;
    memset(z, 0, (size_t)f->n_padded * sizeof *z);
    if (!g->sum_of)
        for (ptrdiff_t c = 0; c < f->n_labels; c++) z[c + 2] = draws * target[c];
    else {
        for (ptrdiff_t c = 0; c < f->n_labels; c++) {
            const int32_t minus = -(g->sum_of[c] & 1);
            z[g->sum_of[c] >> 1] += (target[c] ^ minus) - minus;
        }
        for (ptrdiff_t c = 2; c < f->n_sums; c++) {
            const int32_t most = NMLSDR_MOST_OF_A_SUM, sum = z[c] < most ? z[c] : most;
            z[c] = draws * (sum > -most ? sum : -most);
        }
    }
    z[0] = 1;
    z[1] = draws;
    for (ptrdiff_t c = 1; c < f->n_sums; c++) g->bits |= z[c] ^ -(z[c] < 0);
}

/* The values of the leaves of a tree, rate x sum / (draws + penalty), and their draws; rows: leaf by leaf, the last as ~row. */
static void nmlsdr_fill_leaves(const int32_t *rows, ptrdiff_t n_leaves, const int16_t *targets, ptrdiff_t n_labels,
                               const int32_t *draws, double rate, double penalty, int32_t *sums, int32_t *weights, float *values)
{
    for (ptrdiff_t leaf = 0; leaf < n_leaves; leaf++, values += n_labels) {
        memset(sums, 0, (size_t)n_labels * sizeof *sums);
        weights[leaf] = 0;
        for (int last = 0; !last; rows++) {
            last = *rows < 0;
            const ptrdiff_t row = last ? ~*rows : *rows;
            const int16_t times = (int16_t)draws[row], *target = targets + row * n_labels; /* 16 bits multiply fast */
            for (ptrdiff_t c = 0; c < n_labels; c++) sums[c] += times * target[c];
            weights[leaf] += times;
        }
        const double weight = NMLSDR_STEPS * (weights[leaf] + penalty);
        for (ptrdiff_t c = 0; c < n_labels; c++) values[c] = (float)(rate * sums[c] / weight);
    }
}

/* Put what the columns store of the drawn rows one after the other. */
static void nmlsdr_keep_columns(nmlsdr_growing *g, nmlsdr_memory *memory, const int32_t *place)
{
    const nmlsdr_growth *f = g->f;
    int32_t *end = (int32_t *)nmlsdr_new(memory, g->n_columns + 1, sizeof(int32_t));
    g->begin = (int32_t *)nmlsdr_new(memory, g->n_columns + 1, sizeof(int32_t));
    for (ptrdiff_t j = 0; j <= g->n_columns && !memory->failed; j++) g->begin[j] = end[j] = 0;
    for (int fill = 0; fill < 2 && !memory->failed; fill++) {
        for (ptrdiff_t i = 0; i < g->n_rows; i++)
            for (int64_t a = f->indptr[g->order[i]]; a < f->indptr[g->order[i] + 1]; a++) {
                const int32_t j = place[f->indices[a]];
                if (j >= 0 && fill) g->stored[end[j]] = (nmlsdr_stored){(int32_t)i, f->data[a] + 0.0f};
                if (j >= 0) end[j]++;
            }
        if (fill) break;
        for (ptrdiff_t j = 0; j < g->n_columns; j++) {
            g->begin[j + 1] = g->begin[j] + end[j];
            end[j] = g->begin[j];
        }
        g->stored = (nmlsdr_stored *)nmlsdr_new(memory, g->begin[g->n_columns], sizeof(nmlsdr_stored));
    }
}

/* Draw the rows of a tree, with replacement, and copy those, their columns that vary in a random order. */
static void nmlsdr_draw_rows(nmlsdr_growing *g, nmlsdr_memory *memory, int32_t *draws, int32_t *place, float *first)
{
    const nmlsdr_growth *f = g->f;
    const int32_t *indices = f->indices;
    int32_t *stored = place, *columns = g->columns; /* stored: numbers like the first row's, or 1 more than there are rows */
    ptrdiff_t n = 0;

    for (ptrdiff_t i = 0; i < f->n_draws; i++) draws[nmlsdr_number_below(nmlsdr_key(g->key, (uint64_t)i), f->n)]++;
    for (ptrdiff_t i = 0; i < f->n; i++)
        if (draws[i]) g->order[g->n_rows++] = (int32_t)i;
    memset(stored, 0, (size_t)f->d * sizeof *stored);
    memset(first, 0, (size_t)f->d * sizeof *first);
    for (ptrdiff_t i = 0; i < g->n_rows && indices; i++)
        for (int64_t a = f->indptr[g->order[i]]; a < f->indptr[g->order[i] + 1]; a++) {
            const int32_t j = indices[a];
            if (i == 0) first[j] = f->data[a];
            stored[j] += f->data[a] == first[j] ? 1 : (int32_t)g->n_rows + 1;
        }
    for (ptrdiff_t j = 0; j < f->d; j++) {
        int varies = stored[j] > g->n_rows || (first[j] != 0.0f && stored[j] < g->n_rows); /* without data: CSR, and none does */
        for (ptrdiff_t i = 1; !indices && f->data && !varies && i < g->n_rows; i++)
            varies = f->data[f->indptr[g->order[i]] + j] != f->data[f->indptr[g->order[0]] + j];
        if (varies) columns[n++] = (int32_t)j;
        place[j] = -1;
    }
    nmlsdr_mix(columns, n, g->key, f->n_draws);
    if (g->sum_of) nmlsdr_draw_sums(g, f->n_draws + f->d);
    g->n_columns = n < g->n_columns ? n : g->n_columns;
    g->width = g->n_columns + NMLSDR_WIDEST - 1;
    for (ptrdiff_t j = 0; j < g->n_columns; j++) place[columns[j]] = (int32_t)j;

    for (ptrdiff_t i = 0; i < g->n_rows; i++) {
        const ptrdiff_t row = g->order[i];
        nmlsdr_enter_row(g, i, f->Y + row * f->n_labels, draws[row]);
        if (!g->X) continue;
        const int64_t begin = f->indptr[row], end = f->indptr[row + 1];
        float *to = g->X + i * g->width; /* - 0 becomes 0, so that a threshold has one sign of it */
        UNROLL for (ptrdiff_t j = 0; j < g->n_columns; j++)
            to[j] = indices ? 0.0f : f->data[begin + columns[j]] + 0.0f;
        for (int64_t a = begin; indices && a < end; a++)
            if (place[indices[a]] >= 0) to[place[indices[a]]] = f->data[a] + 0.0f;
        for (ptrdiff_t j = g->n_columns; j < g->width; j++) to[j] = to[j - g->n_columns];
    }
    if (!g->X) nmlsdr_keep_columns(g, memory, place);
}

/* Grow the nodes of a tree from the root on, left children first; tree: its place among the arrays.  A right child that waits
 * is a link in a chain: its feature is the node that waits behind it, its left child the number of its rows, which come after
 * those of the leaves that are done, and its threshold its depth.  In the end the order has the rows leaf by leaf. */
static void nmlsdr_grow_nodes(nmlsdr_growing *g, ptrdiff_t tree)
{
    const nmlsdr_growth *f = g->f;
    const ptrdiff_t width = f->n_padded;
    int32_t *rows = g->order, node = 0, waiting = -1, n_nodes = 1, n_leaves = 0;
    ptrdiff_t n = g->n_rows, depth = 0;
    g->nodes = f->nodes + tree * (2 * f->most_leaves - 1);
    for (;;) {
        const int32_t *first = g->z;
        nmlsdr_split split = {-1.0, -1, 0, {0}, 0};

        g->rows = rows;
        g->n = n;
        if (n >= 2 * f->leaf && depth < f->most_depth) {
            int vary = 0;
            g->add_up(g);
            for (const int32_t *z = first; !vary && z < first + n * width; z += width)
                for (ptrdiff_t c = 2; !vary && c < width; c++) vary = z[c] * first[1] != first[c] * z[1];
            g->squared = 0;
            for (ptrdiff_t c = 2; c < width; c++) g->squared += (int64_t)g->total[c] * g->total[c];
            if (vary) split = g->search(g, nmlsdr_key(g->key, (uint64_t)node));
        }
        if (split.column < 0) {
            g->nodes[node] = (nmlsdr_node){-1, n_leaves++, 0.0f};
            rows += n;
            rows[-1] = ~rows[-1];
            if (waiting < 0) break;
            node = waiting;
            n = g->nodes[node].left;
            depth = (ptrdiff_t)g->nodes[node].threshold;
            waiting = g->nodes[node].feature;
            continue;
        }

        const int8_t *codes = f->codes ? f->codes + g->columns[split.column] * f->n : NULL;
        ptrdiff_t n_left = 0, n_right = 0;
        float above = INFINITY, least, most; /* above: the least value on the right */
        if (!codes && !g->X) nmlsdr_values_of(g, split.column, &least, &most);
        for (ptrdiff_t i = 0; i < n; i++) {
            const int32_t row = rows[i];
            const float x = codes ? codes[row] : g->X ? g->X[row * g->width + split.column] : g->x[i];
            const int goes = x <= split.threshold;
            rows[n_left] = row;
            g->right[n_right] = row;
            n_left += goes;
            n_right += !goes;
            const float right = goes ? INFINITY : x; /* without a jump, which nobody could foresee */
            above = above < right ? above : right;
        }
        const float middle = split.threshold * 0.5f + above * 0.5f; /* of one of several thresholds, a value of the node */
        if (g->kind[1] && split.threshold < middle && middle < above) split.threshold = middle;
        memcpy(rows + n_left, g->right, (size_t)n_right * sizeof *rows);
        for (ptrdiff_t i = 0; i < n && g->stored; i++) g->place[rows[i]] = (int32_t)(rows - g->order + i);
        const int32_t left = n_nodes;
        n_nodes += 2;
        g->nodes[node] = (nmlsdr_node){g->columns[split.column], left, split.threshold};
        g->nodes[left + 1] = (nmlsdr_node){waiting, (int32_t)n_right, (float)++depth};
        waiting = left + 1;
        node = left;
        n = n_left;
    }
    f->n_leaves[tree] = n_leaves;
}

/* Memory for the numbers by which splits are chosen, of n rows, and for nodes of most_rows. */
static void nmlsdr_new_numbers(nmlsdr_growing *g, nmlsdr_memory *memory, ptrdiff_t n, ptrdiff_t most_rows)
{
    const nmlsdr_growth *f = g->f;
    g->sum_of = f->n_sums < f->n_labels + 2 ? (int32_t *)nmlsdr_new(memory, f->n_labels, sizeof(int32_t)) : NULL;
    g->Z = (int32_t *)nmlsdr_new(memory, n * f->n_padded, sizeof(int32_t));
    g->columns = (int32_t *)nmlsdr_new(memory, f->d, sizeof(int32_t));
    g->order = (int32_t *)nmlsdr_new(memory, most_rows, sizeof(int32_t));
    g->total = (int32_t *)nmlsdr_new(memory, f->n_padded, sizeof(int32_t));
    g->right = (int32_t *)nmlsdr_new(memory, most_rows, sizeof(int32_t));
    g->z = (int32_t *)nmlsdr_new(memory, (most_rows + 1) * f->n_padded, sizeof(int32_t));
    g->capacity = most_rows + 4 * NMLSDR_WIDEST;
    g->bin = (uint8_t *)nmlsdr_new(memory, NMLSDR_AT_ONCE * g->capacity, 1);
    g->sums = (int32_t *)nmlsdr_new(memory, NMLSDR_AT_ONCE * (NMLSDR_THRESHOLDS + 1) * f->n_padded, sizeof(int32_t));
}

/* Grow tree t of each kind, from one draw of rows; return whether there was memory for it. */
static int nmlsdr_grow_tree(const nmlsdr_growth *f, ptrdiff_t t, int level)
{
    const ptrdiff_t rows = f->n < f->n_draws ? f->n : f->n_draws, most = NMLSDR_VALUES_OF_A_TREE / rows;
    const uint64_t key = nmlsdr_key(f->seed, (uint64_t)t);
    nmlsdr_memory memory = {0};
    nmlsdr_growing g = {.f = f, .n_columns = f->d < most ? f->d : most, .key = key};
    int32_t *place = (int32_t *)nmlsdr_new(&memory, f->d, sizeof(int32_t));
    int32_t *drawn = (int32_t *)nmlsdr_new(&memory, rows, sizeof(int32_t));
    float *first = (float *)nmlsdr_new(&memory, f->d, sizeof(float));
    if (!f->indices || NMLSDR_RARE * f->indptr[f->n] > f->n * f->d)
        g.X = (float *)nmlsdr_new(&memory, rows * (g.n_columns + NMLSDR_WIDEST), sizeof(float));
    g.place = (int32_t *)nmlsdr_new(&memory, rows, sizeof(int32_t));
    nmlsdr_new_numbers(&g, &memory, rows, rows);
    g.window = (float *)nmlsdr_new(&memory, g.capacity * NMLSDR_WIDEST, sizeof(float));
    g.x = (float *)nmlsdr_new(&memory, g.capacity, sizeof(float));
    g.search = level > 0 ? nmlsdr_forest_search_avx2 : nmlsdr_forest_search_portable;
    g.add_up = level > 0 ? nmlsdr_forest_add_up_avx2 : nmlsdr_forest_add_up_portable;
    if (!memory.failed) nmlsdr_draw_rows(&g, &memory, f->draws + t * f->n, place, first);
    if (!memory.failed) memcpy(drawn, g.order, (size_t)g.n_rows * sizeof *drawn);
    for (ptrdiff_t tree = t * f->n_kinds, k = 0; k < f->n_kinds && !memory.failed; k++, tree++) {
        for (ptrdiff_t i = 0; i < g.n_rows; i++) g.order[i] = g.place[i] = (int32_t)i;
        g.kind = f->kinds + 2 * k;
        g.key = nmlsdr_key(~key, (uint64_t)g.kind[1]);
        nmlsdr_grow_nodes(&g, tree);
        for (ptrdiff_t i = 0; i < g.n_rows; i++)
            f->rows[tree * rows + i] = g.order[i] < 0 ? ~drawn[~g.order[i]] : drawn[g.order[i]];
    }
    nmlsdr_free_all(&memory);
    return !memory.failed;
}

#endif
