/* Every function of the headers on hostile rows, from several threads at once.
 *
 * Each thread makes the same calls on arrays that end where their contents end, with 1 to 3 threads of OpenMP; all share the
 * same indices.  The program prints a hash of all results and codes, which must not depend on compilers, threads, SIMD
 * levels and machines, and fails if a thread finds another one. */
#include <nmlsdr/graph.h>
#include <nmlsdr/mlknn.h>
#include <nmlsdr/neighbors.h>
#include <pthread.h>
#include <stdio.h>

enum { KINDS = 10, CALLERS = 4 };

typedef struct {
    uint64_t hash, calls;
    int n_threads; /* of OpenMP, in each call */
} state;

static void *memory(ptrdiff_t n, size_t size)
{
    void *made = malloc((size_t)n * size + (n == 0));
    if (!made) exit(2);
    return made;
}

static void take(state *s, const void *bytes, ptrdiff_t n, size_t size)
{
    for (size_t p = 0; p < (size_t)n * size; p++) s->hash = (s->hash ^ ((const unsigned char *)bytes)[p]) * 1099511628211u;
}

static int take_code(state *s, int code)
{
    s->calls++;
    take(s, &code, 1, sizeof code);
    return code == NMLSDR_OK;
}

static double draw(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (double)(*random >> 40) / (1 << 24);
}

/* The entry in row i and column j. */
static double entry(int kind, ptrdiff_t i, ptrdiff_t j, uint64_t *random)
{
    const double x = draw(random);
    switch (kind) {
    case 0: return x - 0.5;
    case 1: return 1.25;                                       /* all rows are equal */
    case 2: return 0;                                          /* and have no direction */
    case 3: return (double)(int)(3 * x);                       /* ties and duplicates */
    case 4: return i % 2 ? x : (double)(j % 3);                /* half of the rows are duplicates */
    case 5: return (x - 0.5) * 3e38;                           /* as large as float32 can be */
    case 6: return (x - 0.5) * 1e-40;                          /* squares underflow; subnormal in float32 */
    case 7: return i % 7 ? (x < 0.8 ? 0 : x) : 0;              /* few entries, and rows of zeros */
    case 8: return 1e4 + x * 1e-3;                             /* far from the origin: products cancel */
    default: return i == 3 && j == 0 ? NAN : x;                /* refused, unless there are too few rows */
    }
}

/* n rows in memory that ends with them, dense or CSR, of either type. */
static nmlsdr_rows new_rows(int kind, int type, int sparse, ptrdiff_t n, ptrdiff_t d, uint64_t seed)
{
    const size_t size = type == NMLSDR_FLOAT32 ? sizeof(float) : sizeof(double);
    ptrdiff_t stored = 0;
    uint64_t random = seed;
    double *dense = (double *)memory(n * d, sizeof(double));
    for (ptrdiff_t p = 0; p < n * d; p++) {
        dense[p] = entry(kind, p / d, p % d, &random);
        stored += !sparse || dense[p] != 0 || p % 5 == 0; /* some zeros are stored */
    }
    void *data = memory(stored, size);
    int32_t *columns = sparse ? (int32_t *)memory(stored, sizeof(int32_t)) : NULL;
    int64_t *indptr = sparse ? (int64_t *)memory(n + 1, sizeof(int64_t)) : NULL;
    if (indptr) indptr[0] = 0;
    stored = 0;
    for (ptrdiff_t p = 0; p < n * d; p++) {
        if (!sparse || dense[p] != 0 || p % 5 == 0) {
            if (type == NMLSDR_FLOAT32) ((float *)data)[stored] = (float)dense[p];
            else ((double *)data)[stored] = dense[p];
            if (columns) columns[stored] = (int32_t)(p % d);
            stored++;
        }
        if (indptr) indptr[p / d + 1] = stored;
    }
    free(dense);
    return sparse ? nmlsdr_csr(type, data, columns, indptr, n, d) : nmlsdr_dense(type, data, n, d);
}

static void free_rows(nmlsdr_rows rows)
{
    free((void *)rows.data);
    free((void *)rows.indices);
    free((void *)rows.indptr);
}

static void search(state *s, const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, ptrdiff_t k)
{
    const ptrdiff_t size = (queries ? queries->n : rows->n) * k;
    double *distances = (double *)memory(size, sizeof(double));
    ptrdiff_t *neighbors = (ptrdiff_t *)memory(size, sizeof(ptrdiff_t));
    if (take_code(s, nmlsdr_nearest(rows, queries, metric, k, distances, neighbors, s->n_threads))) {
        take(s, distances, size, sizeof(double));
        take(s, neighbors, size, sizeof(ptrdiff_t));
    }
    free(distances);
    free(neighbors);
}

static void search_radius(state *s, const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, double radius)
{
    const ptrdiff_t q = queries ? queries->n : rows->n;
    int64_t *indptr = (int64_t *)memory(q + 1, sizeof(int64_t));
    if (take_code(s, nmlsdr_radius_count(rows, queries, metric, radius, indptr, s->n_threads))) {
        double *distances = (double *)memory((ptrdiff_t)indptr[q], sizeof(double));
        int32_t *columns = (int32_t *)memory((ptrdiff_t)indptr[q], sizeof(int32_t));
        take(s, indptr, q + 1, sizeof(int64_t));
        if (take_code(s, nmlsdr_radius_fill(rows, queries, metric, radius, indptr, distances, columns, s->n_threads))) {
            take(s, distances, (ptrdiff_t)indptr[q], sizeof(double));
            take(s, columns, (ptrdiff_t)indptr[q], sizeof(int32_t));
        }
        /* the pointers of another radius: refused, and nothing is written beyond the arrays */
        for (int step = 0; step < 2 && rows->n < 100; step++) {
            const double other = step ? radius / 2 : INFINITY;
            take_code(s, nmlsdr_radius_fill(rows, queries, metric, other, indptr, distances, columns, s->n_threads));
        }
        free(distances);
        free(columns);
    }
    free(indptr);
}

/* An index with masks that allow no row, one, some and all. */
static void search_index(state *s, const nmlsdr_index *index, ptrdiff_t n, const nmlsdr_rows *queries, ptrdiff_t k)
{
    double *distances = (double *)memory(queries->n * k, sizeof(double));
    ptrdiff_t *neighbors = (ptrdiff_t *)memory(queries->n * k, sizeof(ptrdiff_t));
    unsigned char *allowed = (unsigned char *)memory(n, 1);
    for (int mask = 0; mask < 5; mask++) {
        for (ptrdiff_t i = 0; i < n; i++)
            allowed[i] = (unsigned char)(mask == 3 ? 255 : mask == 2 ? i % 3 != 1 : mask == 1 && i == n - 1);
        const int code =
            nmlsdr_index_query_allowed(index, queries, k, mask == 4 ? NULL : allowed, distances, neighbors, s->n_threads);
        if (take_code(s, code)) {
            take(s, distances, queries->n * k, sizeof(double));
            take(s, neighbors, queries->n * k, sizeof(ptrdiff_t));
        }
    }
    if (take_code(s, nmlsdr_index_query(index, queries, k, distances, neighbors, s->n_threads)))
        take(s, neighbors, queries->n * k, sizeof(ptrdiff_t));
    free(distances);
    free(neighbors);
    free(allowed);
}

static void new_index(state *s, const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, ptrdiff_t k)
{
    nmlsdr_index *index = NULL;
    if (take_code(s, nmlsdr_index_new(rows, metric, &index, s->n_threads))) search_index(s, index, rows->n, queries, k);
    nmlsdr_index_free(index);
}

static void learn(state *s, const ptrdiff_t *neighbors, ptrdiff_t n, ptrdiff_t k, ptrdiff_t n_labels, int share)
{
    unsigned char *Y = (unsigned char *)memory(n * n_labels, 1);
    double *prior = (double *)memory(n_labels, sizeof(double)), *table = (double *)memory(n_labels * (k + 1), sizeof(double));
    double *probabilities = (double *)memory(n * n_labels, sizeof(double));
    int *counts = (int *)memory(n * n_labels, sizeof(int));
    for (ptrdiff_t p = 0; p < n * n_labels; p++) Y[p] = p % 4 < share; /* 0: no row has a label, 4: every row has all */
    if (take_code(s, nmlsdr_label_counts(Y, n, n_labels, neighbors, n, k, counts, s->n_threads)))
        take(s, counts, n * n_labels, sizeof(int));
    for (int step = 0; step < 3; step++) {
        const double smoothing = step == 0 ? 1 : step == 1 ? 1e-300 : 0;
        if (!take_code(s, nmlsdr_mlknn_fit(Y, n, n_labels, neighbors, k, smoothing, prior, table, s->n_threads))) continue;
        take(s, prior, n_labels, sizeof(double));
        take(s, table, n_labels * (k + 1), sizeof(double));
        for (ptrdiff_t q = 0; q <= n; q += n < 3 ? 1 : n / 3)
            if (take_code(s, nmlsdr_mlknn_posterior(table, Y, n, n_labels, neighbors, q, k, probabilities, s->n_threads)))
                take(s, probabilities, q * n_labels, sizeof(double));
    }
    free(Y);
    free(prior);
    free(table);
    free(probabilities);
    free(counts);
}

static void join(state *s, const ptrdiff_t *neighbors, const double *squared, ptrdiff_t n, ptrdiff_t k)
{
    int64_t *indptr = (int64_t *)memory(n + 1, sizeof(int64_t));
    int32_t *columns = (int32_t *)memory(2 * n * k, sizeof(int32_t));
    const int64_t stored = nmlsdr_neighbor_graph(neighbors, n, k, indptr, columns);
    if (take_code(s, stored < 0 ? (int)stored : NMLSDR_OK)) {
        double *weights = (double *)memory((ptrdiff_t)stored, sizeof(double)),
               *values = (double *)memory((ptrdiff_t)stored, sizeof(double));
        take(s, indptr, n + 1, sizeof(int64_t));
        take(s, columns, (ptrdiff_t)stored, sizeof(int32_t));
        for (int step = 0; step < 5; step++) {
            const double sigma = step == 0 ? 0 : step == 1 ? 1e-300 : step == 2 ? 1e100 : step == 3 ? NAN : 1;
            int code = nmlsdr_rbf_weights(neighbors, squared, n, k, sigma, indptr, columns, weights);
            if (!take_code(s, code)) continue;
            code = nmlsdr_transition_matrix(indptr, columns, step == 4 ? NULL : weights, n, values, s->n_threads);
            if (!take_code(s, code)) continue;
            for (int64_t p = 0; p < stored; p++) { /* exp() may have other last bits elsewhere */
                const float parts[] = {(float)weights[p], (float)values[p]};
                take(s, parts, 1, sizeof parts);
            }
        }
        free(weights);
        free(values);
    }
    free(indptr);
    free(columns);
}

/* What is computed from lists of neighbours. */
static void use_lists(state *s, const nmlsdr_rows *rows, int metric, ptrdiff_t k)
{
    double *squared = (double *)memory(rows->n * k, sizeof(double));
    ptrdiff_t *neighbors = (ptrdiff_t *)memory(rows->n * k, sizeof(ptrdiff_t));
    if (take_code(s, nmlsdr_nearest(rows, NULL, metric, k, squared, neighbors, s->n_threads))) {
        for (int share = 0; share < 5; share += 2) learn(s, neighbors, rows->n, k, share + 1, share);
        join(s, neighbors, squared, rows->n, k);
        neighbors[rows->n * k - 1] = rows->n; /* no row */
        learn(s, neighbors, rows->n, k, 2, 1);
        join(s, neighbors, squared, rows->n, k);
    }
    free(squared);
    free(neighbors);
}

static void call_all(state *s, int kind, int type, int sparse, int metric, ptrdiff_t n, ptrdiff_t d)
{
    const nmlsdr_rows rows = new_rows(kind, type, sparse, n, d, 1), queries = new_rows(kind, !type, sparse, 3, d, 2);
    const double radii[] = {0, 0.4, 1, 1e200, INFINITY, NAN, -1};
    for (ptrdiff_t k = 1; k <= n + 1; k += n < 3 ? 1 : n / 3) {
        search(s, &rows, NULL, metric, k);
        search(s, &rows, &queries, metric, k);
        new_index(s, &rows, &queries, metric, k);
    }
    for (size_t r = 0; r < sizeof radii / sizeof *radii; r++) {
        search_radius(s, &rows, NULL, metric, radii[r]);
        search_radius(s, &rows, &queries, metric, radii[r]);
    }
    for (ptrdiff_t k = 1; k < n; k += n / 2) use_lists(s, &rows, metric, k);
    free_rows(rows);
    free_rows(queries);
}

/* Sizes at which teams of threads start: of a tree, of products of dense and of CSR rows, and of what follows a search. */
static void call_large(state *s)
{
    for (int way = 0; way < 3; way++) {
        const nmlsdr_rows rows = new_rows(way == 2 ? 7 : 3, NMLSDR_FLOAT32, way == 2, 2100, way ? 12 : 4, 3);
        search_radius(s, &rows, NULL, way == 2 ? NMLSDR_COSINE : NMLSDR_EUCLIDEAN, way == 2 ? 0.1 : 1);
        if (way == 1) use_lists(s, &rows, NMLSDR_EUCLIDEAN, 40);
        free_rows(rows);
    }
    ptrdiff_t neighbors[3000 * 2];
    for (ptrdiff_t i = 0; i < 3000; i++) {
        neighbors[2 * i] = (i + 1) % 3000;
        neighbors[2 * i + 1] = (i + 77) % 3000;
    }
    learn(s, neighbors, 3000, 2, 200, 1);
}

static const nmlsdr_rows *shared_rows, *shared_queries;
static const nmlsdr_index *shared[2];

static void *caller(void *argument)
{
    state *s = (state *)argument;
    const ptrdiff_t sizes[] = {1, 2, 40};
    s->hash = 1469598103934665603u;
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < 8; way++)
            for (int size = 0; size < 3; size++) {
                const ptrdiff_t d = size == 2 ? (kind % 2 ? 3 : 19) : 5;
                call_all(s, kind, way & 1, way >> 1 & 1, way >> 2, sizes[size], d);
            }
    for (int metric = 0; metric < 2; metric++) search_index(s, shared[metric], shared_rows->n, shared_queries, 9);
    call_large(s);
    return NULL;
}

int main(void)
{
    const nmlsdr_rows rows = new_rows(7, NMLSDR_FLOAT64, 1, 2500, 120, 5), queries = new_rows(7, NMLSDR_FLOAT32, 1, 240, 120, 6);
    nmlsdr_index *index[2] = {NULL, NULL};
    state s[CALLERS];
    pthread_t thread[CALLERS];
    shared_rows = &rows;
    shared_queries = &queries;
    for (int metric = 0; metric < 2; metric++) {
        if (nmlsdr_index_new(&rows, metric, &index[metric], 2) != NMLSDR_OK) return 1;
        shared[metric] = index[metric];
    }
    memset(s, 0, sizeof s);
    for (int t = 0; t < CALLERS; t++) {
        s[t].n_threads = 1 + t % 3;
        if (pthread_create(&thread[t], NULL, caller, &s[t])) return 1;
    }
    for (int t = 0; t < CALLERS; t++) pthread_join(thread[t], NULL);
    for (int metric = 0; metric < 2; metric++) nmlsdr_index_free(index[metric]);
    free_rows(rows);
    free_rows(queries);
    for (int t = 1; t < CALLERS; t++)
        if (s[t].hash != s[0].hash || s[t].calls != s[0].calls) {
            fprintf(stderr, "Thread %d found another result.\n", t);
            return 1;
        }
    printf("%llu calls, %016llx\n", (unsigned long long)s[0].calls, (unsigned long long)s[0].hash);
    return 0;
}
