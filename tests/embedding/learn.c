/* ML-kNN without Python: from training rows and their labels to probabilities of labels of new rows.
 *
 * Prints the probabilities, each as 16 hexadecimal digits of its bits if there is an argument, else as a decimal number. */
#include <nmlsdr/mlknn.h>
#include <nmlsdr/neighbors.h>
#include <stdio.h>

enum { N = 200, D = 6, LABELS = 3, NEW = 5, K = 10 };

/* Numbers in [0, 1) from a linear congruential generator, so that Python can draw the same. */
static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (1 << 24);
}

int main(int n_arguments, char **arguments)
{
    static double X[N * D], new_rows[NEW * D], squared[N * K], prior[LABELS], table[LABELS * (K + 1)], probability[NEW * LABELS];
    static unsigned char Y[N * LABELS];
    static ptrdiff_t neighbors[N * K];
    uint64_t state = 1;
    for (int p = 0; p < N * D; p++) X[p] = draw(&state);
    for (int p = 0; p < NEW * D; p++) new_rows[p] = draw(&state);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < LABELS; j++) Y[i * LABELS + j] = X[i * D + j] + X[i * D + j + 1] > 1;

    const nmlsdr_rows rows = nmlsdr_dense(NMLSDR_FLOAT64, X, N, D), queries = nmlsdr_dense(NMLSDR_FLOAT64, new_rows, NEW, D);
    int code = nmlsdr_nearest(&rows, NULL, NMLSDR_EUCLIDEAN, K, squared, neighbors, 0);
    if (code == NMLSDR_OK) code = nmlsdr_mlknn_fit(Y, N, LABELS, neighbors, K, 1.0, prior, table, 0);
    if (code == NMLSDR_OK) code = nmlsdr_nearest(&rows, &queries, NMLSDR_EUCLIDEAN, K, squared, neighbors, 0);
    if (code == NMLSDR_OK) code = nmlsdr_mlknn_posterior(table, Y, N, LABELS, neighbors, NEW, K, probability, 0);
    if (code != NMLSDR_OK) {
        fprintf(stderr, "%s\n", nmlsdr_message(code));
        return 1;
    }
    for (int i = 0; i < NEW; i++)
        for (int j = 0; j < LABELS; j++) {
            uint64_t bits;
            memcpy(&bits, &probability[i * LABELS + j], sizeof bits);
            if (n_arguments > 1) printf("%016llx", (unsigned long long)bits);
            else printf("%.3f", probability[i * LABELS + j]);
            putchar(j + 1 < LABELS ? ' ' : '\n');
        }
    (void)arguments;
    return 0;
}
