/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact nearest neighbours of rows of few features by a k-d tree.
 *
 *   nmlsdr_tree_begin   builds the tree over the rows, and one over the queries if there are any
 *   nmlsdr_tree_step    answers the next leaves of queries; loop over it
 *
 * Every distance is the canonical one, so nothing is decided again.  The bound of a box is computed by the same
 * additions in the same order from differences that are not larger, and rounding is monotone: a bound is never
 * above the canonical distance of a row in the box, to the last bit.  A subtree is skipped if (bound, least row)
 * loses to the worst (squared distance, row) found, so ties and duplicates are neither dropped nor visited in vain.
 *
 * Nodes are numbered like a heap from 1.  A node over leaves b0 .. b1 splits at (b0 + b1) / 2 along the widest side
 * of its box, equal values by row; which rows a leaf holds does not depend on threads.
 * Memory: two numbers and d values for each row.
 *
 * Measured on one thread for 10 and 20 neighbours, time by that of products.  500 to 2000 rows: .3 to 1.1 up to 4 features, .9 to
 * 2 at 5 to 8, so that these go by products.  From 2000 rows on at 5 to 8 features: .3 to 1 if some directions have more of the
 * variance than others, 1 to 1.7 for Gaussian rows and up to 2 for small integers.  The worst case found: queries in the centre
 * of a sphere on which all rows lie, 2.
 */
#ifndef NMLSDR_TREE_H
#define NMLSDR_TREE_H

#include "heap.h"
#include "kernels.h"
#include "nearest.h"
#include "within.h"

enum { NMLSDR_STACK = 64 }; /* a level of the tree each */

typedef struct {
    double key;
    ptrdiff_t row;
} nmlsdr_keyed;

typedef struct {
    nmlsdr_rows rows;
    ptrdiff_t leaf, leaves; /* rows in a leaf, how many leaves */
    ptrdiff_t *row;   /* (leaves leaf) the rows in the order of the leaves */
    double *value;    /* (leaves, d, leaf) */
    double *low;      /* (nodes, 2, d) the boxes: lows, then highs */
    ptrdiff_t *least; /* (nodes) the least row of each */
    ptrdiff_t *node;  /* (leaves) their nodes */
} nmlsdr_branches;

typedef struct {
    nmlsdr_memory memory;
    nmlsdr_branches side[2], *queries, *rows;
    ptrdiff_t k, next;
    int64_t visited;    /* leaves of rows that leaves of queries looked into */
    double *squared;    /* heaps (n queries, k), later the answer; by row */
    ptrdiff_t *indices;
    int exclude_self, n_threads;
    const unsigned char *allowed; /* (n) rows that may be neighbours; NULL: all */
    const nmlsdr_within *within; /* all rows within a radius, instead of the k nearest; or NULL */
    const nmlsdr_kernels *kernels;
} nmlsdr_tree;

/* ---------------------------------------------------------------- building */

static inline int nmlsdr_before(const nmlsdr_keyed *a, const nmlsdr_keyed *b)
{
    return a->key < b->key || (a->key == b->key && a->row < b->row);
}

/* Reorder x so that the `left` first of n are its least: quickselect; no two are equal. */
static void nmlsdr_partition(nmlsdr_keyed *x, ptrdiff_t n, ptrdiff_t left)
{
    ptrdiff_t low = 0, high = n - 1;
    uint64_t draw = 88172645463325252u; /* no fixed place to pick the pivot from, so no pattern is bad */
    while (low < high) {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        const nmlsdr_keyed pivot = x[low + (ptrdiff_t)(draw % (uint64_t)(high - low + 1))];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (nmlsdr_before(&x[i], &pivot)) i++;
            while (nmlsdr_before(&pivot, &x[j])) j--;
            if (i <= j) {
                const nmlsdr_keyed swap = x[i];
                x[i++] = x[j];
                x[j--] = swap;
            }
        }
        if (left <= j) high = j;
        else if (left >= i) low = i;
        else break;
    }
}

/* The leaves b0 .. b1 of a node; 0 if there is no such node. */
static int nmlsdr_node_leaves(ptrdiff_t leaves, ptrdiff_t node, ptrdiff_t *b0, ptrdiff_t *b1)
{
    ptrdiff_t top = 1;
    while (2 * top <= node) top *= 2;
    *b0 = 0;
    *b1 = leaves;
    for (top /= 2; top; top /= 2) {
        const ptrdiff_t middle = (*b0 + *b1) / 2;
        if (*b1 - *b0 <= 1) return 0;
        if (node & top) *b0 = middle;
        else *b1 = middle;
    }
    return 1;
}

/* The box and least row of a node; its rows parted if it is not a leaf, stored if it is. */
static void nmlsdr_grow(nmlsdr_branches *s, nmlsdr_keyed *x, ptrdiff_t node)
{
    const ptrdiff_t d = s->rows.d, n = s->rows.n, leaf = s->leaf;
    ptrdiff_t b0, b1, widest = 0, least = PTRDIFF_MAX;
    if (!nmlsdr_node_leaves(s->leaves, node, &b0, &b1)) return;
    const ptrdiff_t from = b0 * leaf, to = b1 * leaf < n ? b1 * leaf : n;
    double *low = s->low + node * 2 * d, *high = low + d;
    for (ptrdiff_t j = 0; j < d; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
    }
    for (ptrdiff_t p = from; p < to; p++) {
        for (ptrdiff_t j = 0; j < d; j++) {
            const double v = nmlsdr_entry_value(&s->rows, x[p].row * d + j);
            low[j] = v < low[j] ? v : low[j];
            high[j] = v > high[j] ? v : high[j];
        }
        if (x[p].row < least) least = x[p].row;
    }
    s->least[node] = least;
    if (b1 - b0 > 1) {
        for (ptrdiff_t j = 1; j < d; j++)
            if (high[j] - low[j] > high[widest] - low[widest]) widest = j;
        for (ptrdiff_t p = from; p < to; p++) x[p].key = nmlsdr_entry_value(&s->rows, x[p].row * d + widest);
        nmlsdr_partition(x + from, to - from, (b0 + b1) / 2 * leaf - from);
        return;
    }
    s->node[b0] = node;
    for (ptrdiff_t p = 0; p < leaf; p++) {
        const int real = from + p < to;
        s->row[from + p] = real ? x[from + p].row : PTRDIFF_MAX;
        for (ptrdiff_t j = 0; j < d; j++)
            s->value[(b0 * d + j) * leaf + p] = real ? nmlsdr_entry_value(&s->rows, x[from + p].row * d + j) : 0;
    }
}

static int nmlsdr_branch(nmlsdr_memory *memory, nmlsdr_branches *s, const nmlsdr_rows *rows, int n_threads)
{
    ptrdiff_t levels = 1;
    (void)n_threads; /* without OpenMP */
    s->rows = *rows;
    /* measured; a multiple of 8: the more features, the more leaves a query visits */
    s->leaf = rows->d < 3 ? 16 : rows->d < 5 ? 32 : NMLSDR_LEAF;
    s->leaves = (rows->n + s->leaf - 1) / s->leaf;
    while (((ptrdiff_t)1 << (levels - 1)) < s->leaves) levels++;
    const ptrdiff_t nodes = (ptrdiff_t)1 << levels, places = s->leaves * s->leaf;
    nmlsdr_keyed *x = (nmlsdr_keyed *)malloc((size_t)rows->n * sizeof(nmlsdr_keyed));
    s->row = (ptrdiff_t *)nmlsdr_new(memory, places, sizeof(ptrdiff_t));
    s->least = (ptrdiff_t *)nmlsdr_new(memory, nodes, sizeof(ptrdiff_t));
    s->node = (ptrdiff_t *)nmlsdr_new(memory, s->leaves, sizeof(ptrdiff_t));
    s->low = (double *)nmlsdr_new(memory, nodes * 2 * rows->d, sizeof(double));
    s->value = (double *)nmlsdr_new(memory, places * rows->d, sizeof(double));
    if (!x || memory->failed) {
        free(x);
        return -1;
    }

    for (ptrdiff_t i = 0; i < rows->n; i++) x[i].row = i;
    for (ptrdiff_t level = 0; level < levels; level++) {
        const ptrdiff_t first = (ptrdiff_t)1 << level;
        ptrdiff_t node;
        NMLSDR_OMP(parallel for num_threads(n_threads) schedule(dynamic, 1 + first / 64))
        for (node = first; node < 2 * first; node++) nmlsdr_grow(s, x, node);
    }
    free(x);
    return 0;
}

/* The rows in the order of the leaves.  -1: out of memory. */
static int nmlsdr_tree_order(const nmlsdr_rows *rows, ptrdiff_t *order, int n_threads)
{
    nmlsdr_memory memory = {NULL};
    nmlsdr_branches branches;
    const int failed = nmlsdr_branch(&memory, &branches, rows, n_threads);
    if (!failed) memcpy(order, branches.row, (size_t)rows->n * sizeof(ptrdiff_t));
    nmlsdr_free_all(&memory);
    return failed;
}

/* Arguments as of nmlsdr_search_begin; dense rows of at most 8 features. */
static int nmlsdr_tree_begin(nmlsdr_tree *q, const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k, double *squared,
                             ptrdiff_t *indices, int level, int n_threads)
{
    q->rows = &q->side[0];
    q->queries = &q->side[queries ? 1 : 0];
    q->exclude_self = queries == NULL;
    q->k = k;
    q->squared = squared;
    q->indices = indices;
    q->kernels = nmlsdr_kernels_of(level);
    q->n_threads = n_threads;
    if (nmlsdr_branch(&q->memory, q->rows, rows, n_threads)) return -1;
    return queries ? nmlsdr_branch(&q->memory, q->queries, queries, n_threads) : 0;
}

/* ---------------------------------------------------------------- answering */

/* A lower bound of the canonical squared distances between two boxes. */
static double nmlsdr_box_distance(const double *a, const double *b, ptrdiff_t d)
{
    double t[8] = {0};
    for (ptrdiff_t j = 0; j < d; j++) {
        const double below = a[j] - b[d + j], above = b[j] - a[d + j];
        const double gap = below > above ? below : above;
        t[j] = gap > 0 ? gap * gap : 0;
    }
    return nmlsdr_fold8(t);
}

/* Offer the rows of one leaf to the queries that are near it; 1 if a heap changed. */
static int nmlsdr_offer_leaf(const nmlsdr_tree *q, nmlsdr_leaf_queries *a, ptrdiff_t from, ptrdiff_t node, ptrdiff_t leaf)
{
    const nmlsdr_branches *rows = q->rows;
    const ptrdiff_t d = a->d, *row = rows->row + leaf * a->leaf;
    const double *value = rows->value + leaf * d * a->leaf;
    double query[8], squared[NMLSDR_LEAF];
    int changed = 0;
    for (unsigned long long near = q->kernels->near(a, rows->low + node * 2 * d); near; near &= near - 1) {
        const int p = nmlsdr_lowest_bit(near);
        const ptrdiff_t own = q->queries->row[from + p];
        double *heap = q->within ? NULL : q->squared + own * q->k;
        ptrdiff_t *index = q->within ? NULL : q->indices + own * q->k;
        const ptrdiff_t last = heap ? index[0] : PTRDIFF_MAX;
        for (ptrdiff_t j = 0; j < d; j++) query[j] = a->value[j * a->leaf + p];
        for (unsigned long long hits = q->kernels->scan(a, value, query, a->worst[p], squared); hits; hits &= hits - 1) {
            const int c = nmlsdr_lowest_bit(hits);
            if (row[c] == PTRDIFF_MAX || (q->exclude_self && row[c] == own)) continue;
            if (q->allowed && !q->allowed[row[c]]) continue;
            if (heap) nmlsdr_heap_offer(heap, index, q->k, squared[c], row[c]);
            else nmlsdr_within_add(q->within, own, squared[c], row[c]);
        }
        if (!heap) continue; /* a radius does not change */
        changed |= heap[0] != a->worst[p] || index[0] != last;
        a->worst[p] = heap[0];
    }
    return changed;
}

/* Answer the queries of one leaf; how many leaves of rows they looked into. */
static int64_t nmlsdr_answer(const nmlsdr_tree *q, ptrdiff_t leaf)
{
    typedef struct {
        double bound;
        ptrdiff_t node, b0, b1;
    } place;
    const nmlsdr_branches *rows = q->rows;
    const ptrdiff_t d = rows->rows.d, k = q->k, per_leaf = rows->leaf, from = leaf * per_leaf;
    const ptrdiff_t n_queries = q->queries->rows.n - from < per_leaf ? q->queries->rows.n - from : per_leaf;
    nmlsdr_leaf_queries a;
    const double *box = q->queries->low + q->queries->node[leaf] * 2 * d;
    double worst = q->within ? q->within->limit : INFINITY;
    ptrdiff_t last = PTRDIFF_MAX; /* (worst, last): the worst neighbour that any of the n_queries holds */
    a.value = q->queries->value + leaf * d * per_leaf;
    a.d = d;
    a.leaf = per_leaf;
    for (ptrdiff_t p = 0; p < per_leaf; p++) {
        a.worst[p] = p < n_queries ? worst : -1;
        if (p >= n_queries || q->within) continue;
        const ptrdiff_t own = q->queries->row[from + p];
        nmlsdr_empty_lists(q->squared + own * k, q->indices + own * k, k);
    }
    place stack[NMLSDR_STACK];
    int height = 0;
    int64_t visited = 0;
    stack[height++] = (place){0, 1, 0, rows->leaves};
    while (height) {
        const place at = stack[--height];
        if (nmlsdr_worse(at.bound, rows->least[at.node], worst, last)) continue;
        if (at.b1 - at.b0 > 1) {
            const ptrdiff_t middle = (at.b0 + at.b1) / 2;
            place l = {0, 2 * at.node, at.b0, middle}, r = {0, 2 * at.node + 1, middle, at.b1};
            l.bound = nmlsdr_box_distance(box, rows->low + l.node * 2 * d, d);
            r.bound = nmlsdr_box_distance(box, rows->low + r.node * 2 * d, d);
            const int left_last = nmlsdr_worse(l.bound, rows->least[l.node], r.bound, rows->least[r.node]);
            stack[height++] = left_last ? l : r;
            stack[height++] = left_last ? r : l;
            continue;
        }
        visited++;
        if (!nmlsdr_offer_leaf(q, &a, from, at.node, at.b0)) continue;
        worst = -1;
        for (ptrdiff_t p = 0; p < n_queries; p++) {
            const ptrdiff_t own = q->queries->row[from + p];
            if (worst < 0 || nmlsdr_worse(q->squared[own * k], q->indices[own * k], worst, last)) {
                worst = q->squared[own * k];
                last = q->indices[own * k];
            }
        }
    }
    for (ptrdiff_t p = 0; p < n_queries && !q->within; p++) {
        const ptrdiff_t own = q->queries->row[from + p];
        nmlsdr_heap_sort(q->squared + own * k, q->indices + own * k, k);
    }
    return visited;
}

/* Answer about `budget` leaves of queries.  1: call again; 0: done. */
static int nmlsdr_tree_step(nmlsdr_tree *q, double budget)
{
    const ptrdiff_t left = q->queries->leaves - q->next;
    int64_t visited = 0;
    const ptrdiff_t to = budget < (double)left ? q->next + (ptrdiff_t)budget + 1 : q->queries->leaves;
    ptrdiff_t leaf;
    NMLSDR_OMP(parallel for num_threads(q->n_threads) schedule(dynamic, 4) reduction(+ : visited))
    for (leaf = q->next; leaf < to; leaf++) visited += nmlsdr_answer(q, leaf);
    q->visited += visited;
    q->next = to;
    return to < q->queries->leaves;
}

#endif
