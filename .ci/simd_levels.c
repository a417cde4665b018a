/* The kernels of every SIMD level that this processor has, against the canonical answer; built without Python.
 *
 * Prints a sum of the bits of every answer, which is the same on every processor: run it on two kinds.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "few.h"
#include "boosting.h"
#include "index.h"
#include "products.h"
#include "propagation.h"
#include "tree.h"

static uint64_t state = 88172645463325252u, sum = 14695981039346656037u;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static void add(const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) sum = (sum ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

/* Twelve uniform numbers: bell-shaped, without the libm of a system. */
static double bell(void)
{
    double total = -6;
    for (int i = 0; i < 12; i++) total += uniform();
    return total;
}

enum { MOST = 700, WIDEST = 260, K = 7 };
static double numbers[MOST * WIDEST], squared[MOST * K], expected[MOST * K];
static float singles[MOST * WIDEST];
static int32_t columns[MOST * WIDEST];
static int64_t pointers[MOST + 1];
static ptrdiff_t indices[MOST * K], nearest[MOST * K];

static void by_definition(const nmlsdr_rows *x, const nmlsdr_rows *queries)
{
    const nmlsdr_rows *q = queries ? queries : x;
    for (ptrdiff_t i = 0; i < q->n; i++) {
        double *to = expected + i * K;
        ptrdiff_t *at = nearest + i * K, found = 0;
        for (ptrdiff_t j = 0; j < x->n; j++) {
            if (!queries && i == j) continue;
            const double d = nmlsdr_canonical(q, i, x, j);
            ptrdiff_t p = found < K ? found++ : K;
            if (p == K && !(d < to[K - 1])) continue;
            for (p = p == K ? K - 1 : p; p > 0 && d < to[p - 1]; p--) {
                to[p] = to[p - 1];
                at[p] = at[p - 1];
            }
            to[p] = d;
            at[p] = j;
        }
        add(to, K * sizeof(double));
        add(at, K * sizeof(ptrdiff_t));
    }
}

static int differs(const char *way, int level, const nmlsdr_rows *x, ptrdiff_t q)
{
    const size_t n = (size_t)q * K;
    const int wrong = memcmp(squared, expected, n * sizeof(double)) || memcmp(indices, nearest, n * sizeof(ptrdiff_t));
    if (wrong) printf("%s, level %d: wrong for %td x %td of kind %d\n", way, level, x->n, x->d, x->kind);
    memset(squared, 255, sizeof squared);
    memset(indices, 255, sizeof indices);
    return wrong;
}

static int search_all(const nmlsdr_rows *x, const nmlsdr_rows *queries, int level, long *made)
{
    const ptrdiff_t q = queries ? queries->n : x->n;
    int wrong = 0;
    for (int storage = 0; storage < (x->kind > NMLSDR_DENSE_F64 ? 3 : 2); storage++) { /* floats, integers, sparse */
        static const int integers[] = {0, 16, 0};
        nmlsdr_search s = {{NULL}};
        nmlsdr_search_begin(&s, x, queries, K, NULL, squared, indices, storage == 2, integers[storage], level, 256e6, 1);
        while (nmlsdr_search_step(&s, 1000) == 1) {}
        nmlsdr_free_all(&s.memory);
        wrong += differs("products", level, x, q);
        ++*made;
    }
    if (x->kind <= NMLSDR_DENSE_F64 && x->d <= 8) {
        nmlsdr_tree t = {{NULL}};
        nmlsdr_tree_begin(&t, x, queries, K, squared, indices, level, 1);
        while (nmlsdr_tree_step(&t, 1e9) == 1) {}
        nmlsdr_free_all(&t.memory);
        wrong += differs("tree", level, x, q);
        ++*made;
    }
    if (queries && x->kind <= NMLSDR_DENSE_F64) {
        nmlsdr_few f = {{NULL}};
        nmlsdr_few_begin(&f, x, queries, K, squared, indices, level, 1);
        while (nmlsdr_few_step(&f, 1e9) == 1) {}
        nmlsdr_free_all(&f.memory);
        wrong += differs("few", level, x, q);
        ++*made;
    }
    for (int integers = 0; queries && integers <= 16; integers += 16) {
        nmlsdr_search index = {{NULL}};
        nmlsdr_packed_begin(&index, x, integers, level, 256e6, 1);
        if (nmlsdr_packed_takes(&index, queries)) {
            nmlsdr_views a = {{NULL}};
            nmlsdr_views_begin(&a, &index, queries, K, NULL, squared, indices, 1);
            while (nmlsdr_views_step(&a, 1000) == 1) {}
            nmlsdr_free_all(&a.memory);
            wrong += differs("index", level, x, q);
            ++*made;
        }
        nmlsdr_free_all(&index.memory);
    }
    return wrong;
}

/* kind of numbers: 0 bell-shaped, 1 small integers with many ties, 2 bell-shaped far from 0 */
static int search_case(ptrdiff_t n, ptrdiff_t d, int numbers_kind, int levels, long *made)
{
    int wrong = 0;
    for (ptrdiff_t i = 0; i < n * d; i++) {
        singles[i] = (float)(numbers_kind == 1 ? floor(4 * uniform()) : bell() + (numbers_kind == 2 ? 1000 : 0));
        numbers[i] = numbers_kind == 1 ? singles[i] : singles[i] + 1e-9 * bell();
    }
    for (int kind = 0; kind < 2; kind++) {
        const size_t one = kind ? sizeof(double) : sizeof(float);
        const char *data = kind ? (const char *)numbers : (const char *)singles;
        nmlsdr_rows x = {kind, n, d, data, NULL, NULL}, q = {kind, 19, d, data, NULL, NULL};
        q.data = data + (size_t)(n - 19) * (size_t)d * one;
        for (int asked = 0; asked < 2; asked++) {
            by_definition(&x, asked ? &q : NULL);
            for (int level = 0; level < levels; level++) wrong += search_all(&x, asked ? &q : NULL, level, made);
        }
    }
    ptrdiff_t stored = 0; /* the same with two thirds of the entries gone, as CSR */
    pointers[0] = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < d; j++)
            if (uniform() < 1. / 3) {
                singles[stored] = singles[i * d + j];
                columns[stored++] = (int32_t)j;
            }
        pointers[i + 1] = stored;
    }
    const nmlsdr_rows x = {NMLSDR_CSR_F32, n, d, singles, columns, pointers};
    by_definition(&x, NULL);
    for (int level = 0; level < levels; level++) wrong += search_all(&x, NULL, level, made);
    return wrong;
}

/* Every loop of the propagation on a random graph, each column beside the same column at every width and copy. */
enum { ROWS = 300, EDGES = ROWS * 9, MOST_LABELS = NMLSDR_MAX_WIDTH };
static int64_t ends[ROWS + 1];
static int32_t others[EDGES];
static float v[EDGES], k[ROWS * MOST_LABELS], e[ROWS];
static float y[ROWS * MOST_LABELS], x[ROWS * MOST_LABELS], z[ROWS * MOST_LABELS];
static uint16_t p[ROWS * MOST_LABELS];
static double dv[EDGES], gain[ROWS * MOST_LABELS], h[ROWS], m[ROWS * MOST_LABELS], B[ROWS * MOST_LABELS];
static double F[ROWS * MOST_LABELS];

static uint64_t propagate_some(int width, int level, int per_entry, int weighted)
{
    const nmlsdr_loops *loops = nmlsdr_loops_of(level, width);
    double dot[MOST_LABELS], along[MOST_LABELS], peak[MOST_LABELS];
    float top[MOST_LABELS], step[MOST_LABELS], turn[MOST_LABELS];
    int32_t take[MOST_LABELS];
    const uint64_t before = sum;
    sum = 14695981039346656037u;
    state = 42;
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        e[i] = (float)(1 + uniform());
        h[i] = 1 / (double)e[i];
    }
    for (ptrdiff_t i = 0; i < ROWS * MOST_LABELS; i++) { /* the four first columns are the same at every width */
        const ptrdiff_t at = i / MOST_LABELS * width + i % MOST_LABELS;
        const ptrdiff_t factor = per_entry ? at : i / MOST_LABELS;
        double values[8];
        for (int a = 0; a < 8; a++) values[a] = a == 2 || a == 3 ? bell() : uniform();
        if (i % MOST_LABELS >= width) continue;
        if (per_entry || i % MOST_LABELS == 0) {
            gain[factor] = i % 17 ? values[5] : 0;
            k[factor] = i % 17 ? (float)values[6] : 0;
            m[factor] = 1 + values[7];
        }
        B[at] = values[0];
        F[at] = values[1];
        p[at] = nmlsdr_upper((float)values[2]);
        z[at] = (float)values[3];
        x[at] = (float)values[4];
    }
    for (int c = 0; c < width; c++) {
        take[c] = c % 3 != 2;
        step[c] = 0.25f + (float)c;
        turn[c] = 0.125f;
    }
    const nmlsdr_batch s = {.n = ROWS,
                            .block = ROWS,
                            .indptr = ends,
                            .indices = others,
                            .values = weighted ? dv : NULL,
                            .sweep_values = weighted ? v : NULL,
                            .h = h,
                            .inverse_h = e,
                            .per_entry = per_entry,
                            .gain = gain,
                            .m = m,
                            .k = k,
                            .B = B,
                            .F = F,
                            .x = x,
                            .z = z,
                            .y = y,
                            .p = p};
    nmlsdr_columns columns_of = {
        .take = take, .clip = 1, .step = step, .turn = turn, .dot = dot, .along = along, .peak = peak, .top = top};
    for (int restart = 0; restart < 2; restart++) {
        columns_of.restart = restart;
        loops->residual(&s, &columns_of, 0);
        add(dot, 4 * sizeof(double));
        add(along, 4 * sizeof(double));
        add(peak, 4 * sizeof(double));
    }
    loops->apply(&s, &columns_of, 0);
    add(dot, 4 * sizeof(double));
    loops->reduce(&s, &columns_of, 0);
    add(dot, 4 * sizeof(double));
    add(top, 4 * sizeof(float));
    loops->advance(&s, &columns_of, 0);
    add(along, 4 * sizeof(double));
    loops->flush(&s, &columns_of, 0);
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        add(z + i * width, 4 * sizeof(float));
        add(p + i * width, 4 * sizeof(uint16_t));
        add(F + i * width, 4 * sizeof(double));
    }
    const uint64_t own = sum;
    sum = before;
    return own;
}

static int propagate_all(int levels, long *made)
{
    int wrong = 0;
    for (ptrdiff_t i = 0; i <= ROWS; i++) ends[i] = 9 * i;
    for (ptrdiff_t t = 0; t < EDGES; t++) {
        others[t] = (int32_t)(uniform() * ROWS);
        dv[t] = uniform() / 9;
        v[t] = (float)dv[t];
    }
    for (int per_entry = 0; per_entry < 2; per_entry++)
        for (int weighted = 0; weighted < 2; weighted++) {
            const uint64_t first = propagate_some(4, 0, per_entry, weighted);
            add(&first, sizeof first);
            for (int width = 4; width <= MOST_LABELS; width *= 2)
                for (int level = 0; level < levels; level++) {
                    const int differ = propagate_some(width, level, per_entry, weighted) != first;
                    if (differ) printf("propagation: wrong at width %d, level %d\n", width, level);
                    wrong += differ;
                    ++*made;
                }
        }
    return wrong;
}

/* Two trees of each kind on rows with ties, and two rounds of boosted trees in two folds; the bits of the first level count. */
enum { TREES = 2, LABELS = 11, SUMS = 9, PADDED = 16, LEAVES = MOST / 3, NODES = 2 * LEAVES - 1 };
static int16_t labels[MOST * LABELS];
static int32_t weights[2 * TREES * LEAVES], draws[TREES * MOST], leaf_rows[2 * TREES * MOST], n_leaves[2 * TREES];
static float values[2 * TREES * LEAVES * LABELS];
static nmlsdr_node nodes[2 * TREES * NODES];
static int64_t begins[MOST + 1];
static int8_t codes[WIDEST * MOST];
static int32_t folds[MOST];
static float wanted[MOST * LABELS], scores[2 * MOST * LABELS];
static double errors[4];

static void boost_some(ptrdiff_t n, ptrdiff_t d, ptrdiff_t n_sums, int level)
{
    static const int32_t kind[] = {7, 1};
    const nmlsdr_boosting b = {.f = {.n = n,
                                     .d = d,
                                     .n_labels = LABELS,
                                     .n_sums = n_sums + 2,
                                     .n_padded = PADDED,
                                     .n_draws = n,
                                     .leaf = 3,
                                     .n_kinds = 2,
                                     .most_leaves = LEAVES,
                                     .most_depth = 6,
                                     .seed = 7,
                                     .codes = codes,
                                     .kinds = kind,
                                     .nodes = nodes,
                                     .n_leaves = n_leaves},
                               .rate = 0.1,
                               .penalty = 5.0,
                               .Y = wanted,
                               .fold = folds,
                               .F = scores,
                               .values = values,
                               .weights = weights,
                               .errors = errors};
    memset(scores, 0, sizeof scores);
    for (ptrdiff_t i = 0; i < n; i++) {
        folds[i] = (int32_t)(i % 2);
        for (ptrdiff_t j = 0; j < d; j++) codes[j * n + i] = (int8_t)floor(20 * tanh(singles[i * d + j]));
        for (ptrdiff_t c = 0; c < LABELS; c++) wanted[i * LABELS + c] = labels[i * LABELS + c] / 1024.0f;
    }
    for (ptrdiff_t fold = 0; fold < 2; fold++) nmlsdr_boost(&b, fold, 2, level);
    add(scores, sizeof scores);
    add(errors, sizeof errors);
}

static uint64_t grow_some(ptrdiff_t n, ptrdiff_t d, ptrdiff_t n_sums, int level)
{
    static const int32_t kinds[] = {9, 0, 5, 1};
    const nmlsdr_growth f = {.n = n,
                             .d = d,
                             .n_labels = LABELS,
                             .n_sums = n_sums + 2,
                             .n_padded = PADDED,
                             .n_draws = n,
                             .leaf = 3,
                             .n_kinds = 2,
                             .most_leaves = LEAVES,
                             .most_depth = n,
                             .seed = 7,
                             .data = singles,
                             .Y = labels,
                             .kinds = kinds,
                             .indptr = begins,
                             .nodes = nodes,
                             .n_leaves = n_leaves,
                             .draws = draws,
                             .rows = leaf_rows};
    const uint64_t before = sum;
    sum = 14695981039346656037u;
    memset(nodes, 0, sizeof nodes);
    memset(leaf_rows, 0, sizeof leaf_rows);
    memset(draws, 0, sizeof draws);
    for (ptrdiff_t i = 0; i <= n; i++) begins[i] = i * d;
    for (ptrdiff_t t = 0; t < TREES; t++) nmlsdr_grow_tree(&f, t, level);
    add(nodes, sizeof nodes);
    add(n_leaves, sizeof n_leaves);
    add(leaf_rows, sizeof leaf_rows);
    boost_some(n, d, n_sums, level);
    const uint64_t own = sum;
    sum = before;
    return own;
}

static int grow_all(int levels, long *made)
{
    int wrong = 0;
    for (ptrdiff_t d = 1; d <= WIDEST; d = 3 * d + 1) {
        for (ptrdiff_t i = 0; i < MOST * LABELS; i++) labels[i] = uniform() < 0.4 ? 1024 : (int16_t)(1025 * uniform());
        for (ptrdiff_t i = 0; i < MOST * d; i++) singles[i] = (float)(i % 3 ? bell() : floor(4 * uniform()));
        for (ptrdiff_t n_sums = SUMS; n_sums <= LABELS; n_sums += LABELS - SUMS) { /* of labels, and the labels themselves */
            const uint64_t first = grow_some(MOST, d, n_sums, 0);
            add(&first, sizeof first);
            for (int level = 1; level < levels; level++, ++*made) {
                const int differ = grow_some(MOST, d, n_sums, level) != first;
                if (differ) printf("forest: wrong with %td features, %td sums, level %d\n", d, n_sums, level);
                wrong += differ;
            }
        }
    }
    return wrong;
}

int main(void)
{
    const int levels = nmlsdr_best_level() + 1;
    static const ptrdiff_t widths[] = {1, 3, 5, 8, 17, 193, 260}, heights[] = {27, 97, 230};
    long made = 0;
    int wrong = 0;
    for (int shape = 0; shape < 7; shape++)
        for (int height = 0; height < 3; height++)
            for (int kind = 0; kind < 3; kind++)
                if (height < 2 || kind == shape % 3) /* one kind of many rows: an emulator takes long for them */
                    wrong += search_case(heights[height], widths[shape], kind, levels, &made);
    printf("search: %d levels, %ld answers, %d wrong\n", levels, made, wrong);
    made = 0;
    wrong += grow_all(levels, &made);
    printf("forest: %ld compared\n", made);
    made = 0;
    wrong += propagate_all(levels, &made);
    printf("propagation: %ld compared, %d wrong in all; bits %016llx\n", made, wrong, (unsigned long long)sum);
    return wrong != 0;
}
