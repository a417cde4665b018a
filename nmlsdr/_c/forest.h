/* Forests of regression trees for several labels: growing trees, and adding up the values of their leaves.
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
    NMLSDR_THRESHOLDS = 16,        /* of a feature at most, where several are tried */
    NMLSDR_DRAWS_OF_A_ROW = 31,    /* at most, so that 1024 times as much is an int16; 32 have a probability below 1e-35 */
    NMLSDR_VALUES_OF_A_TREE = 1 << 24, /* that a tree copies at most: 64 MB; of more columns it sees some, drawn at random */
    NMLSDR_WIDEST = 16             /* lanes of any level */
};

/* Rows in float32, dense or CSR (sorted or not, without repeats). */
typedef struct {
    ptrdiff_t n, d;
    const float *data;
    const int32_t *indices;
    const int64_t *indptr; /* NULL: dense */
} nmlsdr_table;

/* How the splits of a kind of forest are chosen. */
typedef struct {
    int32_t tried;   /* features of a node */
    int32_t several; /* 0: one random threshold of a feature; 1: up to 16 of the node's own values */
} nmlsdr_kind;

/* What is grown, and where to: (n_kinds, n_trees, ...) arrays that have room for the largest trees. */
typedef struct {
    nmlsdr_table rows;
    const int32_t *Y; /* (n, C), 0 to 1024 */
    ptrdiff_t C, draws, leaf;
    uint64_t seed;

    ptrdiff_t first, n_trees, n_kinds; /* these trees of the forests */
    const nmlsdr_kind *kinds;

    ptrdiff_t most_nodes, most_leaves;
    int32_t *feature, *left; /* (..., most_nodes); of a leaf -1, and its number */
    float *threshold;
    float *values;           /* (..., most_leaves, C) */
    int32_t *weights;        /* (..., most_leaves) draws */
    int32_t *sizes;          /* (..., 2) nodes and leaves */
    uint8_t *left_out;       /* (n_trees, n) */
} nmlsdr_growth;

typedef struct {
    double score;
    int32_t column; /* -1: none */
    float threshold;
} nmlsdr_split;

/* The rows that a tree drew, a node of it, and the memory to work in. */
typedef struct {
    nmlsdr_memory memory;

    /* the tree's distinct rows, their columns that vary in an order of the tree's own */
    ptrdiff_t n_rows, n_columns, width; /* width: floats of a row, which goes on with its beginning after its end */
    ptrdiff_t n_sums, n_padded;         /* 2 + C in multiples of 4 and of 8 */
    float *X;
    int32_t *Z;       /* (n_rows, n_padded): 1, draws, and labels times draws */
    int64_t *squares; /* (n_rows) of the labels, times draws */
    int32_t *draws;   /* (n) of every row */
    int32_t *drawn;   /* (n_rows) rows that were drawn */
    int32_t *columns, *place;
    float *first;

    /* the node: its rows, and sums over them */
    ptrdiff_t n, leaf;
    const int32_t *rows;
    int32_t *total;     /* (n_padded) */
    double *labels;     /* (n_padded) total, 0 in place of rows and draws */
    double squared;     /* |labels|^2 */
    int32_t *pairs;     /* Z in blocks of 8 columns, the last of 4 or 8; two rows in the halves of a number */
    uint64_t key;

    /* candidates of the node: columns with their least and largest values, and thresholds */
    int32_t *candidates;
    float *low, *high, *at;

    /* one candidate with several thresholds, or some with one */
    float *x;       /* values */
    int32_t *bin;   /* (n) thresholds that are not below the value */
    int32_t *bins;  /* (17, n_padded) sums over the rows of a bin */

    int32_t *order, *others, *stack;
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
#define NM_LEVEL(f) NM_JOIN_LEVEL(f, LEVEL)

#define LEVEL portable
#define NM_TARGET
#define LANES 1
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
#undef NM_LEVEL

typedef nmlsdr_split (*nmlsdr_search_node)(const nmlsdr_grower *g, const nmlsdr_kind *kind);

/* The search of a level of simd_levels.h.  VNNI has that of AVX-512, and 64-bit ARM the portable one. */
static nmlsdr_search_node nmlsdr_search_node_of(int level)
{
#if NMLSDR_X86
    if (level > 0) return level > 1 ? nmlsdr_forest_search_avx512 : nmlsdr_forest_search_avx2;
#endif
    return level >= 0 ? nmlsdr_forest_search_portable : NULL;
}

/* ---------------------------------------------------------------- growing */

static ptrdiff_t nmlsdr_most_rows(const nmlsdr_growth *f)
{
    return f->rows.n < f->draws ? f->rows.n : f->draws;
}

/* Columns that a tree sees at most. */
static ptrdiff_t nmlsdr_most_columns(const nmlsdr_growth *f)
{
    const ptrdiff_t most = NMLSDR_VALUES_OF_A_TREE / nmlsdr_most_rows(f);
    return f->rows.d < most ? f->rows.d : most > 0 ? most : 1;
}

static void nmlsdr_grower_free(nmlsdr_grower *g)
{
    if (!g) return;
    nmlsdr_memory memory = g->memory; /* g is in it */
    nmlsdr_free_all(&memory);
}

/* The memory of one thread; NULL if there is none. */
static nmlsdr_grower *nmlsdr_grower_new(const nmlsdr_growth *f)
{
    nmlsdr_memory memory = {0};
    nmlsdr_grower *g = (nmlsdr_grower *)nmlsdr_new(&memory, 1, sizeof *g);
    if (!g) return NULL;
    const ptrdiff_t rows = nmlsdr_most_rows(f), d = f->rows.d, n_padded = (f->C + 2 + 7) / 8 * 8;
    const ptrdiff_t seen = nmlsdr_most_columns(f);
    memset(g, 0, sizeof *g);
    g->n_sums = (f->C + 2 + 3) / 4 * 4;
    g->n_padded = n_padded;
    g->leaf = f->leaf;
    g->X = (float *)nmlsdr_new(&memory, rows * (seen + 2 * NMLSDR_WIDEST), sizeof(float));
    g->Z = (int32_t *)nmlsdr_new(&memory, rows * n_padded, sizeof(int32_t));
    g->squares = (int64_t *)nmlsdr_new(&memory, rows, sizeof(int64_t));
    g->draws = (int32_t *)nmlsdr_new(&memory, f->rows.n, sizeof(int32_t));
    g->drawn = (int32_t *)nmlsdr_new(&memory, rows, sizeof(int32_t));
    g->columns = (int32_t *)nmlsdr_new(&memory, d, sizeof(int32_t));
    g->place = (int32_t *)nmlsdr_new(&memory, d, sizeof(int32_t));
    g->first = (float *)nmlsdr_new(&memory, d, sizeof(float));
    g->total = (int32_t *)nmlsdr_new(&memory, n_padded, sizeof(int32_t));
    g->labels = (double *)nmlsdr_new(&memory, n_padded, sizeof(double));
    g->pairs = (int32_t *)nmlsdr_new(&memory, (rows + 1) / 2 * n_padded, sizeof(int32_t));
    g->candidates = (int32_t *)nmlsdr_new(&memory, seen + NMLSDR_WIDEST, sizeof(int32_t));
    g->low = (float *)nmlsdr_new(&memory, seen + NMLSDR_WIDEST, sizeof(float));
    g->high = (float *)nmlsdr_new(&memory, seen + NMLSDR_WIDEST, sizeof(float));
    g->at = (float *)nmlsdr_new(&memory, seen + NMLSDR_WIDEST, sizeof(float));
    g->x = (float *)nmlsdr_new(&memory, (rows + 1) * NMLSDR_WIDEST, sizeof(float));
    g->bin = (int32_t *)nmlsdr_new(&memory, rows + NMLSDR_WIDEST, sizeof(int32_t));
    g->bins = (int32_t *)nmlsdr_new(&memory, (NMLSDR_THRESHOLDS + 1) * n_padded, sizeof(int32_t));
    g->order = (int32_t *)nmlsdr_new(&memory, rows, sizeof(int32_t));
    g->others = (int32_t *)nmlsdr_new(&memory, rows, sizeof(int32_t));
    g->stack = (int32_t *)nmlsdr_new(&memory, 3 * f->most_nodes, sizeof(int32_t));
    if (memory.failed) {
        nmlsdr_free_all(&memory);
        return NULL;
    }
    g->labels[0] = g->labels[1] = 0.0;
    g->memory = memory;
    return g;
}

/* The columns that vary among the drawn rows, in a random order. */
static void nmlsdr_columns_of_tree(const nmlsdr_growth *f, nmlsdr_grower *g, uint64_t key)
{
    const nmlsdr_table *x = &f->rows;
    const ptrdiff_t d = x->d;
    int32_t *columns = g->columns, *stored = g->place; /* stored numbers that are not 0, or 1 more than there are rows */
    ptrdiff_t n = 0;

    memset(stored, 0, (size_t)d * sizeof *stored);
    for (ptrdiff_t i = 0; i < g->n_rows; i++) {
        const ptrdiff_t row = g->drawn[i];
        if (!x->indptr) {
            const float *one = x->data + row * d, *other = x->data + g->drawn[0] * d;
            for (ptrdiff_t j = 0; j < d; j++) stored[j] |= one[j] != other[j];
        } else
            for (int64_t a = x->indptr[row]; a < x->indptr[row + 1]; a++) {
                const int32_t j = x->indices[a];
                if (x->data[a] == 0.0f) continue;
                if (!stored[j]) g->first[j] = x->data[a];
                stored[j] += x->data[a] == g->first[j] ? 1 : (int32_t)g->n_rows + 1;
            }
    }
    for (ptrdiff_t j = 0; j < d; j++)
        if (stored[j] && (!x->indptr || stored[j] != g->n_rows)) columns[n++] = (int32_t)j;
    for (ptrdiff_t j = n - 1; j > 0; j--) {
        const ptrdiff_t other = nmlsdr_number_below(nmlsdr_key(key, (uint64_t)(f->draws + j)), j + 1);
        const int32_t column = columns[j];
        columns[j] = columns[other];
        columns[other] = column;
    }
    const ptrdiff_t most = nmlsdr_most_columns(f);
    g->n_columns = n < most ? n : most;
    g->width = (g->n_columns + 2 * NMLSDR_WIDEST - 2) / NMLSDR_WIDEST * NMLSDR_WIDEST;
}

/* Draw the rows of tree t, with replacement, and copy them. */
static void nmlsdr_draw_rows(const nmlsdr_growth *f, nmlsdr_grower *g, uint64_t key, uint8_t *left_out)
{
    const nmlsdr_table *x = &f->rows;
    memset(g->draws, 0, (size_t)x->n * sizeof *g->draws);
    for (ptrdiff_t i = 0; i < f->draws; i++) {
        int32_t *draws = g->draws + nmlsdr_number_below(nmlsdr_key(key, (uint64_t)i), x->n);
        *draws += *draws < NMLSDR_DRAWS_OF_A_ROW;
    }
    g->n_rows = 0;
    for (ptrdiff_t i = 0; i < x->n; i++) {
        left_out[i] = g->draws[i] == 0;
        if (g->draws[i]) g->drawn[g->n_rows++] = (int32_t)i;
    }

    nmlsdr_columns_of_tree(f, g, key);
    if (x->indptr) {
        memset(g->place, 255, (size_t)x->d * sizeof *g->place);
        for (ptrdiff_t j = 0; j < g->n_columns; j++) g->place[g->columns[j]] = (int32_t)j;
    }
    for (ptrdiff_t i = 0; i < g->n_rows; i++) {
        const ptrdiff_t row = g->drawn[i];
        float *to = g->X + i * g->width; /* - 0 becomes 0, so that a threshold has one sign of it */
        if (!x->indptr)
            for (ptrdiff_t j = 0; j < g->n_columns; j++) to[j] = x->data[row * x->d + g->columns[j]] + 0.0f;
        else {
            memset(to, 0, (size_t)g->n_columns * sizeof *to);
            for (int64_t a = x->indptr[row]; a < x->indptr[row + 1]; a++)
                if (g->place[x->indices[a]] >= 0) to[g->place[x->indices[a]]] = x->data[a] + 0.0f;
        }
        for (ptrdiff_t j = g->n_columns; g->n_columns && j < g->width; j++) to[j] = to[j - g->n_columns];

        int32_t *z = g->Z + i * g->n_padded;
        const int32_t draws = g->draws[row], *y = f->Y + row * f->C;
        memset(z, 0, (size_t)g->n_padded * sizeof *z);
        z[0] = 1;
        z[1] = draws;
        g->squares[i] = 0;
        for (ptrdiff_t c = 0; c < f->C; c++) {
            z[c + 2] = draws * y[c];
            g->squares[i] += (int64_t)z[c + 2] * y[c];
        }
    }
}

/* Sums over the rows of a node; whether it may be split: it has rows for two leaves, and its labels vary. */
static int nmlsdr_begin_node(nmlsdr_grower *g)
{
    const ptrdiff_t n = g->n, n_sums = g->n_sums;
    int64_t squares = 0;
    memset(g->total, 0, (size_t)g->n_padded * sizeof *g->total);
    for (ptrdiff_t i = 0; i < n; i++) {
        const int32_t *z = g->Z + g->rows[i] * g->n_padded;
        squares += g->squares[g->rows[i]];
        for (ptrdiff_t c = 0; c < n_sums; c++) g->total[c] += z[c];
    }
    g->squared = 0.0;
    for (ptrdiff_t c = 2; c < n_sums; c++) {
        g->labels[c] = g->total[c];
        g->squared += g->labels[c] * g->labels[c];
    }
    return n >= 2 * g->leaf && (double)squares * g->total[1] > g->squared;
}

static void nmlsdr_pair_rows(nmlsdr_grower *g)
{
    const ptrdiff_t n = g->n;
    for (ptrdiff_t c = 0; c < g->n_sums; c += 8) {
        const ptrdiff_t K = c + 8 <= g->n_sums ? 8 : 4;
        int32_t *to = g->pairs + c * ((n + 1) / 2);
        for (ptrdiff_t i = 0; i < n; i += 2, to += K) {
            const int32_t *one = g->Z + g->rows[i] * g->n_padded + c;
            const int32_t *two = i + 1 < n ? g->Z + g->rows[i + 1] * g->n_padded + c : NULL;
            for (ptrdiff_t k = 0; k < K; k++) to[k] = one[k] | (two ? two[k] << 16 : 0);
        }
    }
}

/* Grow a tree of one kind from the rows that were drawn; left children and leaves are numbered from 0. */
static void nmlsdr_grow_kind(
    const nmlsdr_growth *f, nmlsdr_grower *g, ptrdiff_t tree, const nmlsdr_kind *kind, uint64_t key, nmlsdr_search_node search)
{
    int32_t *feature = f->feature + tree * f->most_nodes, *left = f->left + tree * f->most_nodes;
    float *threshold = f->threshold + tree * f->most_nodes;
    int32_t *jobs = g->stack; /* of three numbers: the first row, the one after the last, the node */
    int32_t n_nodes = 1, n_leaves = 0, n_jobs = 1;

    for (ptrdiff_t i = 0; i < g->n_rows; i++) g->order[i] = (int32_t)i;
    jobs[0] = 0;
    jobs[1] = (int32_t)g->n_rows;
    jobs[2] = 0;
    while (n_jobs) {
        const int32_t *job = jobs + 3 * --n_jobs;
        const int32_t first = job[0], end = job[1], node = job[2];
        int32_t *rows = g->order + first;
        nmlsdr_split split = {-1.0, -1, 0.0f};
        g->rows = rows;
        g->n = end - first;
        g->key = nmlsdr_key(key, (uint64_t)node);
        if (nmlsdr_begin_node(g) && g->n_columns) {
            if (!kind->several) nmlsdr_pair_rows(g);
            split = search(g, kind);
        }
        if (split.column < 0) {
            const ptrdiff_t leaf = tree * f->most_leaves + n_leaves;
            for (ptrdiff_t c = 0; c < f->C; c++)
                f->values[leaf * f->C + c] = (float)(g->labels[c + 2] / (1024.0 * g->total[1]));
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
            g->others[n_right] = row;
            n_left += goes;
            n_right += !goes;
        }
        memcpy(rows + n_left, g->others, (size_t)n_right * sizeof *rows);
        feature[node] = g->columns[split.column];
        threshold[node] = split.threshold;
        left[node] = n_nodes;
        const int32_t both[6] = {first + n_left, end, n_nodes + 1, first, first + n_left, n_nodes};
        memcpy(jobs + 3 * n_jobs, both, sizeof both);
        n_jobs += 2;
        n_nodes += 2;
    }
    f->sizes[2 * tree] = n_nodes;
    f->sizes[2 * tree + 1] = n_leaves;
}

/* Grow tree i of those asked for, of each kind, from one draw of rows. */
static void nmlsdr_grow_tree(const nmlsdr_growth *f, nmlsdr_grower *g, ptrdiff_t i, int level)
{
    const uint64_t key = nmlsdr_key(f->seed, (uint64_t)(f->first + i));
    nmlsdr_draw_rows(f, g, key, f->left_out + i * f->rows.n);
    for (ptrdiff_t k = 0; k < f->n_kinds; k++)
        nmlsdr_grow_kind(f, g, k * f->n_trees + i, f->kinds + k, nmlsdr_key(~key, (uint64_t)f->kinds[k].several),
                         nmlsdr_search_node_of(level));
}

/* ---------------------------------------------------------------- scoring */

enum { NMLSDR_SCORED_ROWS = 64 }; /* that go down a tree together: their loads overlap */

/* Add the values of the leaves of some rows over the trees, in their order, from row `first` on.  With left_out (n_trees, n)
 * only of the trees that left a row out.  CSR rows are spread in `space` (64, d), which is 0 before and after. */
static void nmlsdr_add_leaves(
    const nmlsdr_table *x, ptrdiff_t first, ptrdiff_t m, const int64_t *roots, ptrdiff_t n_trees, const int32_t *feature,
    const float *threshold, const int32_t *left, const float *values, ptrdiff_t C, const uint8_t *left_out, float *space,
    double *sums)
{
    const float *block = x->indptr ? space : x->data + first * x->d;
    int32_t row[NMLSDR_SCORED_ROWS], at[NMLSDR_SCORED_ROWS], active[NMLSDR_SCORED_ROWS];

    for (ptrdiff_t i = 0; x->indptr && i < m; i++)
        for (int64_t a = x->indptr[first + i]; a < x->indptr[first + i + 1]; a++)
            space[i * x->d + x->indices[a]] = x->data[a];
    memset(sums + first * C, 0, (size_t)(m * C) * sizeof *sums);
    for (ptrdiff_t t = 0; t < n_trees; t++) {
        const int32_t root = (int32_t)roots[t];
        int n = 0, n_active;
        for (ptrdiff_t i = 0; i < m; i++)
            if (!left_out || left_out[t * x->n + first + i]) {
                row[n] = (int32_t)i;
                active[n] = n;
                at[n++] = root;
            }
        n_active = feature[root] < 0 ? 0 : n;
        while (n_active) { /* each one level down */
            int still = 0;
            for (int a = 0; a < n_active; a++) {
                const int i = active[a];
                const int32_t node = at[i];
                at[i] = left[node] + !(block[row[i] * x->d + feature[node]] <= threshold[node]);
                active[still] = i;
                still += feature[at[i]] >= 0;
            }
            n_active = still;
        }
        for (int i = 0; i < n; i++) {
            const float *value = values + left[at[i]] * C;
            double *sum = sums + (first + row[i]) * C;
            for (ptrdiff_t c = 0; c < C; c++) sum[c] += value[c];
        }
    }
    for (ptrdiff_t i = 0; x->indptr && i < m; i++)
        for (int64_t a = x->indptr[first + i]; a < x->indptr[first + i + 1]; a++) space[i * x->d + x->indices[a]] = 0.0f;
}

#endif
