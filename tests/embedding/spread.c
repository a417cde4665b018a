/* The transition matrix T and soft labels of a graph, and neighbours by angle, from C, for the stable ABI. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <nmlsdr.h>

static const nmlsdr_api *api;

/* spread(indptr, columns, weights or None, Y, alpha, T, F): fills T (edges) and F (n x labels); returns the residual. */
static PyObject *spread(PyObject *self, PyObject *arguments)
{
    Py_buffer indptr, columns, weights, Y, alpha, T, F;
    nmlsdr_quality quality;
    int code;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*y*z*y*y*w*w*", &indptr, &columns, &weights, &Y, &alpha, &T, &F)) return NULL;
    const Py_ssize_t n = alpha.len / (Py_ssize_t)sizeof(double), n_labels = Y.len / alpha.len;

    Py_BEGIN_ALLOW_THREADS
    code = api->transition_matrix(indptr.buf, columns.buf, weights.buf, n, T.buf, 2);
    if (code == NMLSDR_OK)
        code =
            api->propagate(indptr.buf, columns.buf, weights.buf, n, Y.buf, n_labels, alpha.buf, NULL, 1e-8, F.buf, &quality, 2);
    Py_END_ALLOW_THREADS

    PyBuffer_Release(&indptr);
    PyBuffer_Release(&columns);
    PyBuffer_Release(&weights);
    PyBuffer_Release(&Y);
    PyBuffer_Release(&alpha);
    PyBuffer_Release(&T);
    PyBuffer_Release(&F);
    if (code != NMLSDR_OK) return PyErr_Format(PyExc_RuntimeError, "nmlsdr: %s", api->message(code));
    return PyFloat_FromDouble(quality.residual);
}

/* by_angle(rows, queries, d, k, distances, neighbors): fills the distances 1 - cos and the row numbers of the k nearest
 * rows of each query, through an index. */
static PyObject *by_angle(PyObject *self, PyObject *arguments)
{
    Py_buffer rows, queries, distances, neighbors;
    Py_ssize_t d, k;
    nmlsdr_index *index = NULL;
    int code;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "y*y*nnw*w*", &rows, &queries, &d, &k, &distances, &neighbors)) return NULL;
    const Py_ssize_t bytes = d * (Py_ssize_t)sizeof(double);

    Py_BEGIN_ALLOW_THREADS
    code = api->index_new(NMLSDR_FLOAT64, NMLSDR_COSINE, rows.buf, rows.len / bytes, d, &index, 0);
    if (code == NMLSDR_OK)
        code = api->index_query(index, NMLSDR_FLOAT64, queries.buf, queries.len / bytes, d, k, distances.buf, neighbors.buf, 0);
    api->index_free(index);
    Py_END_ALLOW_THREADS

    PyBuffer_Release(&rows);
    PyBuffer_Release(&queries);
    PyBuffer_Release(&distances);
    PyBuffer_Release(&neighbors);
    return PyLong_FromLong(code);
}

static PyMethodDef methods[] = {
    {"spread", spread, METH_VARARGS, NULL}, {"by_angle", by_angle, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "spread", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_spread(void)
{
    api = nmlsdr_import();
    return api == NULL ? NULL : PyModule_Create(&module);
}
