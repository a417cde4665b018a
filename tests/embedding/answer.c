/* Answers searches that it reads from stdin, without Python: what eight threads get of one index must have the same bits.
 *
 * A search: eight numbers (type, metric, 1 for CSR, rows, features, queries or -1, k, threads) of 8 bytes, then rows and
 * queries; dense ones are their values, CSR ones indptr, columns and values.  The answer: the code, distances, neighbours; then
 * all rows within the distance of the first query's last neighbour: the code, indptr, distances, columns. */
#include <nmlsdr/neighbors.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

enum { THREADS = 8 };

typedef struct {
    const nmlsdr_index *index;
    const nmlsdr_rows *queries;
    ptrdiff_t k;
    double *distances;
    ptrdiff_t *neighbors;
    int code;
} job;

static void *memory(size_t size)
{
    void *made = malloc(size + 1);
    if (!made) exit(3);
    return made;
}

static void *taken(size_t size)
{
    void *made = memory(size);
    if (fread(made, 1, size, stdin) != size) exit(2);
    return made;
}

static nmlsdr_rows rows_of(const int64_t *given, int64_t n)
{
    const int type = (int)given[0];
    const size_t width = type == NMLSDR_FLOAT32 ? 4 : 8;
    if (!given[2]) return nmlsdr_dense(type, taken((size_t)(n * given[4]) * width), (ptrdiff_t)n, (ptrdiff_t)given[4]);
    const int64_t *indptr = taken((size_t)(n + 1) * sizeof *indptr);
    const int32_t *columns = taken((size_t)indptr[n] * sizeof *columns);
    return nmlsdr_csr(type, taken((size_t)indptr[n] * width), columns, indptr, (ptrdiff_t)n, (ptrdiff_t)given[4]);
}

static void give_back(const nmlsdr_rows *rows)
{
    free((void *)(uintptr_t)rows->data);
    free((void *)(uintptr_t)rows->indices);
    free((void *)(uintptr_t)rows->indptr);
}

/* A thread asks for all queries at once, then a few dense ones singly. */
static void *ask(void *given)
{
    job *one = given;
    nmlsdr_rows query = *one->queries;
    const ptrdiff_t bytes = query.d * (query.kind == NMLSDR_DENSE_F32 ? 4 : 8);
    one->code = nmlsdr_index_query(one->index, &query, one->k, one->distances, one->neighbors, 1);
    query.n = 1;
    for (ptrdiff_t i = 0; i < one->queries->n && i < 9 && !query.indptr && one->code == NMLSDR_OK; i++) {
        query.data = (const char *)one->queries->data + i * bytes;
        one->code = nmlsdr_index_query(one->index, &query, one->k, one->distances + i * one->k, one->neighbors + i * one->k, 1);
    }
    return NULL;
}

/* 1 if all threads get these bits. */
static int threads_agree(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, ptrdiff_t k, const double *distances,
                         const ptrdiff_t *neighbors)
{
    const size_t size = (size_t)(queries->n * k);
    nmlsdr_index *index = NULL;
    pthread_t threads[THREADS];
    job jobs[THREADS];
    int agree = nmlsdr_index_new(rows, metric, &index, 2) == NMLSDR_OK;
    for (int t = 0; t < THREADS; t++) {
        const job one = {index, queries, k, memory(size * sizeof(double)), memory(size * sizeof(ptrdiff_t)), 0};
        jobs[t] = one;
        if (pthread_create(&threads[t], NULL, ask, &jobs[t])) exit(4);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        agree &= jobs[t].code == NMLSDR_OK && !memcmp(jobs[t].distances, distances, size * sizeof(double)) &&
                 !memcmp(jobs[t].neighbors, neighbors, size * sizeof(ptrdiff_t));
        free(jobs[t].distances);
        free(jobs[t].neighbors);
    }
    nmlsdr_index_free(index);
    return agree;
}

/* Counts and stores all rows within a radius, and writes them. */
static void write_within(const nmlsdr_rows *rows, const nmlsdr_rows *queries, int metric, double radius, int n_threads)
{
    const ptrdiff_t q = queries ? queries->n : rows->n;
    int64_t *indptr = memory((size_t)(q + 1) * sizeof(int64_t));
    int64_t code = nmlsdr_radius_count(rows, queries, metric, radius, indptr, n_threads);
    const size_t size = code == NMLSDR_OK ? (size_t)indptr[q] : 0;
    double *distances = memory(size * sizeof(double));
    int32_t *columns = memory(size * sizeof(int32_t));
    if (code == NMLSDR_OK) code = nmlsdr_radius_fill(rows, queries, metric, radius, indptr, distances, columns, n_threads);
    fwrite(&code, sizeof code, 1, stdout);
    fwrite(indptr, sizeof(int64_t), (size_t)(q + 1), stdout);
    fwrite(distances, sizeof(double), size, stdout);
    fwrite(columns, sizeof(int32_t), size, stdout);
    free(indptr);
    free(distances);
    free(columns);
}

int main(void)
{
    int64_t given[8];
#ifdef _WIN32
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    while (fread(given, sizeof given, 1, stdin) == 1) {
        const int own = given[5] < 0, metric = (int)given[1];
        const nmlsdr_rows rows = rows_of(given, given[3]);
        nmlsdr_rows queries = rows;
        if (!own) queries = rows_of(given, given[5]);
        const ptrdiff_t k = (ptrdiff_t)given[6];
        const size_t size = (size_t)(queries.n * k);
        double *distances = memory(size * sizeof(double));
        ptrdiff_t *neighbors = memory(size * sizeof(ptrdiff_t));
        const int64_t code = nmlsdr_nearest(&rows, own ? NULL : &queries, metric, k, distances, neighbors, (int)given[7]);
        fwrite(&code, sizeof code, 1, stdout);
        fwrite(distances, sizeof(double), size, stdout);
        fwrite(neighbors, sizeof(ptrdiff_t), size, stdout);
        const double far = size ? distances[k - 1] : 0;
        write_within(&rows, own ? NULL : &queries, metric, metric == NMLSDR_COSINE ? far : sqrt(far), (int)given[7]);
        if (!own && code == NMLSDR_OK && !threads_agree(&rows, &queries, metric, k, distances, neighbors)) return 5;
        free(distances);
        free(neighbors);
        if (!own) give_back(&queries);
        give_back(&rows);
    }
    return 0;
}
