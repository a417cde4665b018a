/* Growing regression trees for several labels.
 *
 * Targets are whole numbers of 1 / 1024, and a row counts as often as the tree drew it.  The sums over rows are then exact in
 * int32, and their squares in float64 (products are below 2^53 / 8192): neither the order of rows or labels nor the SIMD level,
 * the number of threads or the storage of the rows changes a bit of a tree.
 *
 * Random numbers are hashes of counters, one chain of keys from the forest's seed to tree, kind and node.
 */
#ifndef NMLSDR_FOREST_H
#define NMLSDR_FOREST_H

#include <math.h>
#include <string.h>

#include "platform.h"
#include "simd_levels.h"

enum {
    NMLSDR_THRESHOLDS = 16,            /* of a feature at most, where several are tried */
    NMLSDR_VALUES_OF_A_TREE = 1 << 24, /* that a tree copies at most: 64 MB; of more columns it sees some, drawn at random */
    NMLSDR_WIDEST = 16                 /* lanes of any level */
};

/* What is grown, and where to: (n_trees, n_kinds, ...) arrays that have room for the largest trees. */
typedef struct {
    ptrdiff_t n, d; /* rows in float32, dense or CSR (sorted or not, without repeats) */
    const float *data;
    const int32_t *indices;
    const int64_t *indptr; /* NULL: dense */
    const int32_t *Y;      /* (n, C), 0 to 1024 */
    ptrdiff_t C, draws, leaf;
    uint64_t seed;

    ptrdiff_t n_kinds;
    const int32_t *kinds; /* (n_kinds, 2) features tried in a node; 0: one random threshold of each, 1: up to 16 */

    ptrdiff_t most_nodes, most_leaves;
    int32_t *feature, *left; /* (..., most_nodes); of a leaf -1, and its number */
    float *threshold;
    float *values;     /* (..., most_leaves, C) */
    int32_t *weights;  /* (..., most_leaves) draws */
    uint8_t *left_out; /* (n_trees, n) */
} nmlsdr_growth;

typedef struct {
    double score;
    int32_t column; /* -1: none */
    float threshold;
} nmlsdr_split;

/* The rows that a tree drew, a node of it, and the memory to work in. */
typedef struct {
    /* the tree's distinct rows, their columns that vary in an order of the tree's own */
    ptrdiff_t n_rows, n_columns, most_columns, width; /* width: floats of a row, which goes on with its beginning */
    ptrdiff_t n_sums, n_padded;                       /* 2 + C, and in multiples of 16 */
    float *X;
    int32_t *Z;                     /* (n_rows, n_padded): 1, draws, and labels times draws */
    int32_t *draws;                 /* (n) of every row */
    int32_t *columns, *place;       /* (d) */
    float *first;                   /* (d) */
    int32_t *order, *jobs;          /* (n_rows) the rows that were drawn, then those of the copy node by node; nodes to grow */

    /* the node: its rows, and sums over them */
    ptrdiff_t n, leaf;
    const int32_t *rows;
    int32_t *total; /* (n_padded) */
    double *labels; /* (n_padded) total, 0 in place of rows and draws */
    double squared; /* |labels|^2 */
    uint64_t key;

    float *x, *packed, *values; /* of the rows of the node: of neighbouring columns, of some that vary, of one */
    int32_t *bin;      /* (n) thresholds that are not below the value; when a node is split, the rows on the right */
    int32_t *bins;     /* (17, n_padded) sums over the rows of a bin, or (n_sums, lanes) over those on the left */
} nmlsdr_grower;

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

#define NM_PASTE_LEVEL(f, level) nmlsdr_forest_##f##_##level
#define NM_JOIN_LEVEL(f, level) NM_PASTE_LEVEL(f, level)

/* |S_L|^2 / w_L + |S_R|^2 / w_R from |S_L|^2, the product of S_L and S, and w_L; where a side has no rows, anything. */
#define NMLSDR_SCORE(g, squares, products, left) \
    ((squares) / (left) + ((g)->squared - 2.0 * (products) + (squares)) / ((g)->total[1] - (left)))

#define LEVEL portable
#define NM_TARGET
#define LANES (NMLSDR_VECTORS ? 4 : 1)
#include "forest_search.h"
#if NMLSDR_X86
#define LEVEL avx2
#define NM_TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#include "forest_search.h"
#define LEVEL avx512
#define NM_TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx2,fma")))
#define LANES 16
#include "forest_search.h"
#endif

#undef NM_PASTE_LEVEL
#undef NM_JOIN_LEVEL

typedef nmlsdr_split (*nmlsdr_search_node)(const nmlsdr_grower *g, ptrdiff_t tried, int several);

/* The search of a level of simd_levels.h.  VNNI has that of AVX-512, and 64-bit ARM the portable one. */
static nmlsdr_search_node nmlsdr_search_node_of(int level)
{
#if NMLSDR_X86
    if (level > 0) return level > 1 ? nmlsdr_forest_search_avx512 : nmlsdr_forest_search_avx2;
#endif
    return level >= 0 ? nmlsdr_forest_search_portable : NULL;
}

/* The columns that vary among the drawn rows, in a random order. */
static void nmlsdr_columns_of_tree(const nmlsdr_growth *f, nmlsdr_grower *g, uint64_t key)
{
    const ptrdiff_t d = f->d;
    int32_t *columns = g->columns, *stored = g->place; /* stored numbers that are not 0, or 1 more than there are rows */
    ptrdiff_t n = 0;

    memset(stored, 0, (size_t)d * sizeof *stored);
    for (ptrdiff_t i = 0; i < g->n_rows; i++) {
        const ptrdiff_t row = g->order[i];
        if (!f->indptr) {
            const float *one = f->data + row * d, *other = f->data + g->order[0] * d;
            for (ptrdiff_t j = 0; j < d; j++) stored[j] |= one[j] != other[j];
        } else
            for (int64_t a = f->indptr[row]; a < f->indptr[row + 1]; a++) {
                const int32_t j = f->indices[a];
                if (f->data[a] == 0.0f) continue;
                if (!stored[j]) g->first[j] = f->data[a];
                stored[j] += f->data[a] == g->first[j] ? 1 : (int32_t)g->n_rows + 1;
            }
    }
    for (ptrdiff_t j = 0; j < d; j++)
        if (stored[j] && (!f->indptr || stored[j] != g->n_rows)) columns[n++] = (int32_t)j;
    for (ptrdiff_t j = n - 1; j > 0; j--) {
        const ptrdiff_t other = nmlsdr_number_below(nmlsdr_key(key, (uint64_t)(f->draws + j)), j + 1);
        const int32_t column = columns[j];
        columns[j] = columns[other];
        columns[other] = column;
    }
    g->n_columns = n < g->most_columns ? n : g->most_columns;
    g->width = (g->n_columns + 2 * NMLSDR_WIDEST - 2) / NMLSDR_WIDEST * NMLSDR_WIDEST;
}

/* Draw the rows of tree t, with replacement, and copy them. */
static void nmlsdr_draw_rows(const nmlsdr_growth *f, nmlsdr_grower *g, uint64_t key, uint8_t *left_out)
{
    memset(g->draws, 0, (size_t)f->n * sizeof *g->draws);
    for (ptrdiff_t i = 0; i < f->draws; i++) g->draws[nmlsdr_number_below(nmlsdr_key(key, (uint64_t)i), f->n)]++;
    g->n_rows = 0;
    for (ptrdiff_t i = 0; i < f->n; i++) {
        left_out[i] = g->draws[i] == 0;
        if (g->draws[i]) g->order[g->n_rows++] = (int32_t)i;
    }

    nmlsdr_columns_of_tree(f, g, key);
    if (f->indptr) {
        memset(g->place, 255, (size_t)f->d * sizeof *g->place);
        for (ptrdiff_t j = 0; j < g->n_columns; j++) g->place[g->columns[j]] = (int32_t)j;
    }
    for (ptrdiff_t i = 0; i < g->n_rows; i++) {
        const ptrdiff_t row = g->order[i];
        float *to = g->X + i * g->width; /* - 0 becomes 0, so that a threshold has one sign of it */
        if (!f->indptr)
            for (ptrdiff_t j = 0; j < g->n_columns; j++) to[j] = f->data[row * f->d + g->columns[j]] + 0.0f;
        else {
            memset(to, 0, (size_t)g->n_columns * sizeof *to);
            for (int64_t a = f->indptr[row]; a < f->indptr[row + 1]; a++)
                if (g->place[f->indices[a]] >= 0) to[g->place[f->indices[a]]] = f->data[a] + 0.0f;
        }
        for (ptrdiff_t j = g->n_columns; g->n_columns && j < g->width; j++) to[j] = to[j - g->n_columns];

        int32_t *z = g->Z + i * g->n_padded;
        const int32_t draws = g->draws[row], *y = f->Y + row * f->C;
        memset(z, 0, (size_t)g->n_padded * sizeof *z);
        z[0] = 1;
        z[1] = draws;
        for (ptrdiff_t c = 0; c < f->C; c++) z[c + 2] = draws * y[c];
    }
}

/* Sums over the rows of a node; whether it may be split: it has rows for two leaves, and its labels vary. */
static int nmlsdr_begin_node(nmlsdr_grower *g)
{
    const int32_t *first = g->Z + g->rows[0] * g->n_padded;
    int vary = 0;
    memset(g->total, 0, (size_t)g->n_padded * sizeof *g->total);
    for (ptrdiff_t i = 0; i < g->n; i++) {
        const int32_t *z = g->Z + g->rows[i] * g->n_padded;
        for (ptrdiff_t c = 0; c < g->n_padded; c++) g->total[c] += z[c];
        for (ptrdiff_t c = 2; !vary && c < g->n_sums; c++) vary = z[c] * first[1] != first[c] * z[1];
    }
    g->squared = 0.0;
    for (ptrdiff_t c = 0; c < g->n_padded; c++) {
        g->labels[c] = c < 2 ? 0.0 : g->total[c];
        g->squared += g->labels[c] * g->labels[c];
    }
    return vary && g->n >= 2 * g->leaf;
}

/* Grow a tree of one kind from the rows that were drawn; left children and leaves are numbered from 0. */
static void nmlsdr_grow_kind(
    const nmlsdr_growth *f, nmlsdr_grower *g, ptrdiff_t tree, const int32_t *kind, uint64_t key, nmlsdr_search_node search)
{
    int32_t *feature = f->feature + tree * f->most_nodes, *left = f->left + tree * f->most_nodes;
    float *threshold = f->threshold + tree * f->most_nodes;
    int32_t *jobs = g->jobs; /* of three numbers: the first row, the one after the last, the node */
    int32_t n_nodes = 1, n_leaves = 0, n_jobs = 1;

    for (ptrdiff_t i = 0; i < g->n_rows; i++) g->order[i] = (int32_t)i;
    memcpy(jobs, (const int32_t[]){0, (int32_t)g->n_rows, 0}, 3 * sizeof *jobs);
    while (n_jobs) {
        const int32_t *job = jobs + 3 * --n_jobs;
        const int32_t first = job[0], end = job[1], node = job[2];
        int32_t *rows = g->order + first;
        nmlsdr_split split = {-1.0, -1, 0.0f};
        g->rows = rows;
        g->n = end - first;
        g->key = nmlsdr_key(key, (uint64_t)node);
        if (nmlsdr_begin_node(g) && g->n_columns) split = search(g, kind[0], kind[1]);
        if (split.column < 0) {
            const ptrdiff_t leaf = tree * f->most_leaves + n_leaves;
            for (ptrdiff_t c = 0; c < f->C; c++)
                f->values[leaf * f->C + c] = (float)(g->total[c + 2] / (1024.0 * g->total[1]));
            f->weights[leaf] = g->total[1];
            feature[node] = -1;
            threshold[node] = 0.0f;
            left[node] = n_leaves++;
            continue;
        }
        int32_t n_left = 0, n_right = 0;
        for (ptrdiff_t i = 0; i < g->n; i++) {
            const int32_t row = rows[i], goes = g->X[row * g->width + split.column] <= split.threshold;
            rows[n_left] = row;
            g->bin[n_right] = row;
            n_left += goes;
            n_right += !goes;
        }
        memcpy(rows + n_left, g->bin, (size_t)n_right * sizeof *rows);
        feature[node] = g->columns[split.column];
        threshold[node] = split.threshold;
        left[node] = n_nodes;
        const int32_t both[] = {first + n_left, end, n_nodes + 1, first, first + n_left, n_nodes};
        memcpy(jobs + 3 * n_jobs, both, sizeof both);
        n_jobs += 2;
        n_nodes += 2;
    }
}

/* Grow tree t of each kind, from one draw of rows; return whether there was memory for it. */
static int nmlsdr_grow_tree(const nmlsdr_growth *f, ptrdiff_t t, int level)
{
    const ptrdiff_t rows = f->n < f->draws ? f->n : f->draws, most = NMLSDR_VALUES_OF_A_TREE / rows;
    const uint64_t key = nmlsdr_key(f->seed, (uint64_t)t);
    nmlsdr_memory memory = {0};
    nmlsdr_grower g = {.leaf = f->leaf, .n_sums = f->C + 2, .n_padded = (f->C + 9) / 8 * 8};
    g.most_columns = f->d < most ? f->d : most;
    g.X = (float *)nmlsdr_new(&memory, rows * (g.most_columns + 2 * NMLSDR_WIDEST), sizeof(float));
    g.Z = (int32_t *)nmlsdr_new(&memory, rows * g.n_padded, sizeof(int32_t));
    g.draws = (int32_t *)nmlsdr_new(&memory, f->n, sizeof(int32_t));
    g.columns = (int32_t *)nmlsdr_new(&memory, f->d, sizeof(int32_t));
    g.place = (int32_t *)nmlsdr_new(&memory, f->d, sizeof(int32_t));
    g.first = (float *)nmlsdr_new(&memory, f->d, sizeof(float));
    g.order = (int32_t *)nmlsdr_new(&memory, rows, sizeof(int32_t));
    g.jobs = (int32_t *)nmlsdr_new(&memory, 3 * f->most_nodes, sizeof(int32_t));
    g.total = (int32_t *)nmlsdr_new(&memory, g.n_padded, sizeof(int32_t));
    g.labels = (double *)nmlsdr_new(&memory, g.n_padded, sizeof(double));
    g.x = (float *)nmlsdr_new(&memory, rows * NMLSDR_WIDEST, sizeof(float));
    g.packed = (float *)nmlsdr_new(&memory, rows * NMLSDR_WIDEST, sizeof(float));
    g.values = (float *)nmlsdr_new(&memory, rows + NMLSDR_WIDEST, sizeof(float));
    g.bin = (int32_t *)nmlsdr_new(&memory, rows + NMLSDR_WIDEST, sizeof(int32_t));
    g.bins = (int32_t *)nmlsdr_new(&memory, (NMLSDR_THRESHOLDS + NMLSDR_WIDEST) * g.n_padded, sizeof(int32_t));
    if (!memory.failed) {
        nmlsdr_draw_rows(f, &g, key, f->left_out + t * f->n);
        for (ptrdiff_t k = 0; k < f->n_kinds; k++)
            nmlsdr_grow_kind(f, &g, t * f->n_kinds + k, f->kinds + 2 * k, nmlsdr_key(~key, (uint64_t)f->kinds[2 * k + 1]),
                             nmlsdr_search_node_of(level));
    }
    nmlsdr_free_all(&memory);
    return !memory.failed;
}

#endif
