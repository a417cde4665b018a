/* A program with main: the two nearest other rows of each row.  It links Python, and starts it once. */
#define PY_SSIZE_T_CLEAN
#include <nmlsdr.h>
#include <stdio.h>

int main(void)
{
    const float rows[] = {0, 0, 3, 4, 0, 1, 6, 8}; /* four rows of two numbers */
    double squared[4 * 2];
    Py_ssize_t neighbors[4 * 2];

    Py_InitializeEx(0);
    const nmlsdr_api *api = nmlsdr_import();
    if (api == NULL) return PyErr_Print(), 1;
    PyThreadState *state = PyEval_SaveThread(); /* from here on without the GIL */
    int code = api->nearest(NMLSDR_FLOAT32, NMLSDR_EUCLIDEAN, rows, 4, NULL, 0, 2, 2, squared, neighbors, 0);
    PyEval_RestoreThread(state);

    if (code != NMLSDR_OK) fprintf(stderr, "%s\n", api->message(code));
    else
        for (int i = 0; i < 4; i++) printf("%d: %d %d\n", i, (int)neighbors[2 * i], (int)neighbors[2 * i + 1]);
    return Py_FinalizeEx() < 0 || code != NMLSDR_OK; /* no call after this */
}
