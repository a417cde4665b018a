// Neighbours of rows from C++17: four threads search one index at once, without the GIL.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <nmlsdr.h>

#include <array>
#include <thread>

static const nmlsdr_api *api;

// by_threads(rows, d, k, squared, neighbors): fills squared distances and row numbers of the k nearest rows of each row.
static PyObject *by_threads(PyObject *, PyObject *arguments)
{
    Py_buffer rows, squared, neighbors;
    Py_ssize_t d, k;
    if (!PyArg_ParseTuple(arguments, "y*nnw*w*", &rows, &d, &k, &squared, &neighbors)) return nullptr;
    const auto *X = static_cast<const double *>(rows.buf);
    auto *distances = static_cast<double *>(squared.buf);
    auto *numbers = static_cast<Py_ssize_t *>(neighbors.buf);
    const Py_ssize_t n = rows.len / (d * static_cast<Py_ssize_t>(sizeof(double)));

    nmlsdr_index *index = nullptr;
    std::array<int, 4> codes{};
    Py_BEGIN_ALLOW_THREADS
    const int made = api->index_new(NMLSDR_FLOAT64, NMLSDR_EUCLIDEAN, X, n, d, &index, 0);
    codes.fill(made);
    if (made == NMLSDR_OK) {
        std::array<std::thread, 4> threads;
        for (Py_ssize_t t = 0; t < 4; t++)
            threads[t] = std::thread([=, &codes] {
                const Py_ssize_t first = t * n / 4, end = (t + 1) * n / 4;
                codes[t] = api->index_query(index, NMLSDR_FLOAT64, X + first * d, end - first, d, k, distances + first * k,
                                            numbers + first * k, 1);
            });
        for (auto &thread : threads) thread.join();
    }
    api->index_free(index);
    Py_END_ALLOW_THREADS

    PyBuffer_Release(&rows);
    PyBuffer_Release(&squared);
    PyBuffer_Release(&neighbors);
    for (int code : codes)
        if (code != NMLSDR_OK) return PyErr_Format(PyExc_RuntimeError, "nmlsdr: %s", api->message(code));
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"by_threads", by_threads, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "threads", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_threads(void)
{
    api = nmlsdr_import();
    return api == nullptr ? nullptr : PyModule_Create(&module);
}
