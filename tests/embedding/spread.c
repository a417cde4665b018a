/* The transition matrix T and soft labels of a graph, from C, for the stable ABI. */
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
    if (!PyArg_ParseTuple(arguments, "y*y*z*y*y*w*w*", &indptr, &columns, &weights, &Y, &alpha, &T, &F)) return NULL;
    const Py_ssize_t n = alpha.len / (Py_ssize_t)sizeof(double), n_labels = Y.len / alpha.len;

    Py_BEGIN_ALLOW_THREADS
    code = api->transition_matrix(indptr.buf, columns.buf, weights.buf, n, T.buf, 2);
    if (code == NMLSDR_OK)
        code = api->propagate(indptr.buf, columns.buf, weights.buf, n, Y.buf, n_labels, alpha.buf, NULL, 1e-8, F.buf,
                              &quality, 2);
    Py_END_ALLOW_THREADS

    PyBuffer_Release(&indptr); PyBuffer_Release(&columns); PyBuffer_Release(&weights); PyBuffer_Release(&Y);
    PyBuffer_Release(&alpha); PyBuffer_Release(&T); PyBuffer_Release(&F);
    if (code != NMLSDR_OK) return PyErr_Format(PyExc_RuntimeError, "nmlsdr answered %d", code);
    return PyFloat_FromDouble(quality.residual);
}

static PyMethodDef methods[] = {{"spread", spread, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "spread", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_spread(void)
{
    api = nmlsdr_import();
    return api == NULL ? NULL : PyModule_Create(&module);
}
