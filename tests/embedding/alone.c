/* The nearest other row of each row, in C and without Python. */
#include <nmlsdr/neighbors.h>
#include <stdio.h>

int main(void)
{
    const float values[] = {0, 0, 3, 4, 0, 1, 6, 8}; /* four rows of two numbers */
    const nmlsdr_rows rows = nmlsdr_dense(NMLSDR_FLOAT32, values, 4, 2);
    double squared[4];
    ptrdiff_t neighbors[4];
    const int code = nmlsdr_nearest(&rows, NULL, NMLSDR_EUCLIDEAN, 1, squared, neighbors, 0);

    if (code != NMLSDR_OK) fprintf(stderr, "%s\n", nmlsdr_message(code));
    else
        for (int i = 0; i < 4; i++) printf("%d: %d\n", i, (int)neighbors[i]);
    return code != NMLSDR_OK;
}
