"""Kernels of the exact neighbour search; _weights.pyx makes W and T of its lists.

Every function fills buffers that its caller allocated and checked; nothing here
looks at an environment variable, casts or copies.  One thread owns one output
row, so the answer does not depend on the number of threads.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY

cdef extern from "_c/distance.h" nogil:
    double sqdist_f64 "nmlsdr_sqdist_f64"(const double *x, const double *y, Py_ssize_t d)
    double sqdist_f32 "nmlsdr_sqdist_f32"(const float *x, const float *y, Py_ssize_t d)
    double csr_f64_i32 "nmlsdr_sqdist_csr_f64_i32"(
        const double *, const int *, Py_ssize_t, const double *, const int *, Py_ssize_t)
    double csr_f32_i32 "nmlsdr_sqdist_csr_f32_i32"(
        const float *, const int *, Py_ssize_t, const float *, const int *, Py_ssize_t)
    double csr_f64_i64 "nmlsdr_sqdist_csr_f64_i64"(
        const double *, const long long *, Py_ssize_t, const double *, const long long *, Py_ssize_t)
    double csr_f32_i64 "nmlsdr_sqdist_csr_f32_i64"(
        const float *, const long long *, Py_ssize_t, const float *, const long long *, Py_ssize_t)
    void heap_offer "nmlsdr_heap_offer"(
        double *d, Py_ssize_t *row, Py_ssize_t k, double value, Py_ssize_t index)
    void heap_sort "nmlsdr_heap_sort"(double *d, Py_ssize_t *row, Py_ssize_t k)

cdef extern from "_c/schedule.h" nogil:
    ctypedef struct nmlsdr_rows:
        int kind
        Py_ssize_t n
        Py_ssize_t d
        const void *data
        const void *indices
        const void *indptr
    ctypedef struct nmlsdr_scratch:
        long long decided
        long long pairs
        long long tiles, alive
    ctypedef struct nmlsdr_leads:
        Py_ssize_t d
        const double *rows
        const double *asked
        const Py_ssize_t *rows_order
        const Py_ssize_t *asked_order
    ctypedef struct nmlsdr_search:
        int n_threads, wide, integral, sparse
        Py_ssize_t lead_d
        Py_ssize_t frequent, span
        double total
        nmlsdr_scratch *scratch
    int best_level "nmlsdr_best_level"()
    int clip_threads "nmlsdr_clip_threads"(int n_threads)
    nmlsdr_search *search_new "nmlsdr_search_new"(
        const nmlsdr_rows *rows, const nmlsdr_rows *asked, Py_ssize_t k, const nmlsdr_leads *leads, double *squared,
        Py_ssize_t *indices, int wide, int sparse, int level, double window_bytes, int n_threads)
    int search_step "nmlsdr_search_step"(nmlsdr_search *search, double budget, double window_bytes)
    void search_free "nmlsdr_search_free"(nmlsdr_search *search)

cdef extern from "_c/tree.h" nogil:
    ctypedef struct nmlsdr_branches:
        Py_ssize_t leaves
    ctypedef struct nmlsdr_tree:
        nmlsdr_branches *held
        nmlsdr_branches *asked
        long long visited
    int tree_wins "nmlsdr_tree_wins"(const nmlsdr_rows *rows)
    nmlsdr_tree *tree_new "nmlsdr_tree_new"(
        const nmlsdr_rows *rows, const nmlsdr_rows *asked, Py_ssize_t k, double *squared, Py_ssize_t *indices,
        int level, int n_threads)
    int tree_step "nmlsdr_tree_step"(nmlsdr_tree *tree, double budget)
    int tree_order "nmlsdr_tree_order"(const nmlsdr_rows *rows, Py_ssize_t *order, int n_threads)
    void tree_free "nmlsdr_tree_free"(nmlsdr_tree *tree)

cdef extern from "_c/few.h" nogil:
    ctypedef struct nmlsdr_few:
        pass
    int few_wins "nmlsdr_few_wins"(const nmlsdr_rows *rows, const nmlsdr_rows *asked, Py_ssize_t k, int n_threads)
    nmlsdr_few *few_new "nmlsdr_few_new"(
        const nmlsdr_rows *rows, const nmlsdr_rows *asked, Py_ssize_t k, double *squared, Py_ssize_t *indices,
        int level, int n_threads)
    int few_step "nmlsdr_few_step"(nmlsdr_few *few, double budget)
    void few_free "nmlsdr_few_free"(nmlsdr_few *few)

from ._typedefs cimport index_t, real_t


cdef extern from "_c/build.h":
    const char *NMLSDR_COMPILER
    const int NMLSDR_OPENMP, NMLSDR_OPTIMIZED, NMLSDR_FAST_MATH, NMLSDR_DEBUG_BUILD, NMLSDR_N_SIMD_LEVELS


def build_facts():
    """How this module was compiled; optimized is None where the compiler does not say."""
    return {"compiler": NMLSDR_COMPILER.decode(), "openmp": NMLSDR_OPENMP, "fast_math": NMLSDR_FAST_MATH != 0,
            "optimized": None if NMLSDR_OPTIMIZED < 0 else NMLSDR_OPTIMIZED != 0, "debug": NMLSDR_DEBUG_BUILD != 0,
            "n_simd_levels": NMLSDR_N_SIMD_LEVELS}


cdef void scan_dense(
    const real_t *queries, const real_t *rows, Py_ssize_t i, Py_ssize_t n_rows, Py_ssize_t n_features,
    Py_ssize_t skip, Py_ssize_t k, double *d, Py_ssize_t *index,
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(k):
        d[j] = INFINITY
        index[j] = n_rows
    for j in range(n_rows):
        if j == skip:
            continue
        if real_t is double:
            heap_offer(d, index, k, sqdist_f64(queries + i * n_features, rows + j * n_features, n_features), j)
        else:
            heap_offer(d, index, k, sqdist_f32(queries + i * n_features, rows + j * n_features, n_features), j)
    heap_sort(d, index, k)


def neighbors_dense(
    const real_t[:, ::1] queries,     # IN
    const real_t[:, ::1] rows,        # IN
    Py_ssize_t first,                 # the first query to answer
    bint exclude_self,                # query i never returns row i
    double[:, ::1] squared,           # OUT (q, k)
    Py_ssize_t[:, ::1] indices,       # OUT (q, k)
    int n_threads,
):
    """Answer the queries first .. first + len(squared) by a scan of all rows."""
    cdef Py_ssize_t i, n = squared.shape[0], k = squared.shape[1]
    cdef Py_ssize_t n_rows = rows.shape[0], n_features = rows.shape[1]
    if n == 0 or k == 0:
        return
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="dynamic", chunksize=8):
        scan_dense[real_t](
            &queries[0, 0], &rows[0, 0], first + i, n_rows, n_features,
            first + i if exclude_self else -1, k, &squared[i, 0], &indices[i, 0])


cdef inline double csr_distance(
    const real_t *qv, const index_t *qi, const index_t *qp,
    const real_t *rv, const index_t *ri, const index_t *rp, Py_ssize_t i, Py_ssize_t j,
) noexcept nogil:
    if real_t is double and index_t is int:
        return csr_f64_i32(qv + qp[i], qi + qp[i], qp[i + 1] - qp[i], rv + rp[j], ri + rp[j], rp[j + 1] - rp[j])
    elif real_t is float and index_t is int:
        return csr_f32_i32(qv + qp[i], qi + qp[i], qp[i + 1] - qp[i], rv + rp[j], ri + rp[j], rp[j + 1] - rp[j])
    elif real_t is double:
        return csr_f64_i64(qv + qp[i], qi + qp[i], qp[i + 1] - qp[i], rv + rp[j], ri + rp[j], rp[j + 1] - rp[j])
    else:
        return csr_f32_i64(qv + qp[i], qi + qp[i], qp[i + 1] - qp[i], rv + rp[j], ri + rp[j], rp[j + 1] - rp[j])


cdef void scan_csr(
    const real_t *qv, const index_t *qi, const index_t *qp,
    const real_t *rv, const index_t *ri, const index_t *rp,
    Py_ssize_t i, Py_ssize_t n_rows, Py_ssize_t skip, Py_ssize_t k, double *d, Py_ssize_t *index,
) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(k):
        d[j] = INFINITY
        index[j] = n_rows
    for j in range(n_rows):
        if j != skip:
            heap_offer(d, index, k, csr_distance[real_t, index_t](qv, qi, qp, rv, ri, rp, i, j), j)
    heap_sort(d, index, k)


def neighbors_csr(
    const real_t[::1] query_data,         # IN  sorted rows without repeats
    const index_t[::1] query_indices,     # IN
    const index_t[::1] query_indptr,      # IN
    const real_t[::1] row_data,           # IN
    const index_t[::1] row_indices,       # IN
    const index_t[::1] row_indptr,        # IN
    Py_ssize_t first,
    bint exclude_self,
    double[:, ::1] squared,               # OUT (q, k)
    Py_ssize_t[:, ::1] indices,           # OUT (q, k)
    int n_threads,
):
    """As neighbors_dense, on CSR rows; empty data arrays must still have length one."""
    cdef Py_ssize_t i, n = squared.shape[0], k = squared.shape[1]
    cdef Py_ssize_t n_rows = row_indptr.shape[0] - 1
    if n == 0 or k == 0:
        return
    for i in prange(n, nogil=True, num_threads=n_threads, schedule="dynamic", chunksize=8):
        scan_csr[real_t, index_t](
            &query_data[0], &query_indices[0], &query_indptr[0], &row_data[0], &row_indices[0], &row_indptr[0],
            first + i, n_rows, first + i if exclude_self else -1, k, &squared[i, 0], &indices[i, 0])


cdef double WINDOW_BYTES = 256e6  # packed rows in memory at most, unless one pair of blocks is larger


cdef class Progress:
    """An exact search in progress, answered step by step; the arrays it was given must live as long as it does.

    Parameters
    ----------
    rows, asked : tuple (kind, data, indices, indptr, n, d), asked None for the rows against themselves
    squared, indices : OUT (n_asked, k)
    """
    cdef object kept
    cdef nmlsdr_rows rows, queries
    cdef nmlsdr_rows *asked
    cdef double *squared
    cdef Py_ssize_t *indices
    cdef Py_ssize_t k

    def __cinit__(self, rows, asked, double[:, ::1] squared, Py_ssize_t[:, ::1] indices, *options, **named_options):
        self.kept = (rows, asked, squared, indices, options, named_options)
        describe(rows, &self.rows)
        self.asked = NULL
        if asked is not None:
            describe(asked, &self.queries)
            self.asked = &self.queries
        self.squared = &squared[0, 0]
        self.indices = &indices[0, 0]
        self.k = squared.shape[1]

    cdef int advance(self, double budget) noexcept nogil:
        return 0

    def step(self, double budget):
        """Run about `budget` pairs of blocks, leaves of queries or thousands of pairs; True if there is more to do."""
        cdef int more
        with nogil:
            more = self.advance(budget)
        if more < 0:
            raise MemoryError("no memory for the neighbour search; use fewer neighbors or a smaller window.")
        return more == 1


cdef class Search(Progress):
    """By products.

    Parameters
    ----------
    wide : propose with double products from the start
    sparse : 1 by columns and postings, 0 by packed blocks, -1 by cost
    leads : tuple (d, (n, d + 1) of the rows, their order, the same two of the queries or None) of _search/leading.py
    """
    cdef nmlsdr_search *search
    cdef double window_bytes

    def __cinit__(
        self, rows, asked, squared, indices, bint wide, int sparse, int level, double window_bytes, int n_threads,
        leads=None,
    ):
        cdef nmlsdr_leads leading
        self.window_bytes = window_bytes
        if leads is not None:
            describe_leads(leads, &leading)
        self.search = search_new(&self.rows, self.asked, self.k, NULL if leads is None else &leading, self.squared,
                                 self.indices, wide, sparse, level, window_bytes, n_threads)
        if self.search is NULL:
            raise MemoryError("no memory for the neighbour search; use fewer neighbors or a smaller window.")

    def __dealloc__(self):
        search_free(self.search)

    cdef int advance(self, double budget) noexcept nogil:
        return search_step(self.search, budget, self.window_bytes)

    @property
    def facts(self):
        """What the search did so far: block pairs, canonical distances, whether products are double or exact."""
        cdef int t
        pairs = decided = tiles = alive = 0
        for t in range(self.search.n_threads):
            pairs += self.search.scratch[t].pairs
            decided += self.search.scratch[t].decided
            tiles += self.search.scratch[t].tiles
            alive += self.search.scratch[t].alive
        return {"pairs": pairs, "decided": decided, "wide": bool(self.search.wide),
                "integral": bool(self.search.integral), "sparse": bool(self.search.sparse),
                "columns": self.search.frequent, "span": self.search.span, "total": self.search.total,
                "leads": self.search.lead_d, "tiles": tiles, "alive": alive}


cdef class Tree(Progress):
    """By a k-d tree, for dense rows of at most 8 features."""
    cdef nmlsdr_tree *tree

    def __cinit__(self, rows, asked, squared, indices, int level, int n_threads):
        if not tree_wins(&self.rows):
            raise ValueError("the tree takes dense rows of 1 to 8 features.")
        self.tree = tree_new(&self.rows, self.asked, self.k, self.squared, self.indices, level, n_threads)
        if self.tree is NULL:
            raise MemoryError("no memory for the neighbour tree.")

    def __dealloc__(self):
        tree_free(self.tree)

    cdef int advance(self, double budget) noexcept nogil:
        return tree_step(self.tree, budget)

    @property
    def facts(self):
        """Leaves of rows and of queries, and how many of the first the second looked into so far."""
        return {"leaves": self.tree.held.leaves, "queries": self.tree.asked.leaves, "visited": self.tree.visited}


cdef class Few(Progress):
    """For a few queries, by the canonical distances of all pairs of dense rows."""
    cdef nmlsdr_few *few

    def __cinit__(self, rows, asked, squared, indices, int level, int n_threads):
        if self.asked is NULL or self.rows.kind > 1:
            raise ValueError("queries are met one by one by dense rows only.")
        self.few = few_new(&self.rows, self.asked, self.k, self.squared, self.indices, level, n_threads)
        if self.few is NULL:
            raise MemoryError("no memory for the queries; ask fewer at once.")

    def __dealloc__(self):
        few_free(self.few)

    cdef int advance(self, double budget) noexcept nogil:
        return few_step(self.few, budget)


def prefers_few(rows, asked, Py_ssize_t k, int n_threads):
    """Whether these described queries are so few that meeting all rows is faster than preparing the rows."""
    cdef nmlsdr_rows given, queries
    describe(rows, &given)
    describe(asked, &queries)
    return few_wins(&given, &queries, k, n_threads) != 0


def leaf_order(rows, Py_ssize_t[::1] order, int n_threads):
    """The described rows (1 to 8 features) in the order of the leaves of their tree: OUT order (n)."""
    cdef nmlsdr_rows given
    describe(rows, &given)
    if not tree_wins(&given) or given.n != order.shape[0]:
        raise ValueError("the tree takes dense rows of 1 to 8 features.")
    if tree_order(&given, &order[0], n_threads) < 0:
        raise MemoryError("no memory for the neighbour tree.")


def prefers_tree(rows):
    """Whether the tree is faster than products for these described rows."""
    cdef nmlsdr_rows given
    describe(rows, &given)
    return tree_wins(&given) != 0


cdef int describe_leads(tuple leads, nmlsdr_leads *leading) except -1:
    cdef const double[:, ::1] rows = leads[1]
    cdef const Py_ssize_t[::1] order = leads[2]
    leading.d = leads[0]
    leading.rows = &rows[0, 0]
    leading.rows_order = &order[0]
    leading.asked = NULL
    leading.asked_order = NULL
    if leads[3] is not None:
        rows = leads[3]
        order = leads[4]
        leading.asked = &rows[0, 0]
        leading.asked_order = &order[0]
    return 0


cdef int describe(tuple given, nmlsdr_rows *rows) except -1:
    cdef Py_ssize_t data, indices, indptr
    kind, data, indices, indptr, n, d = given
    rows.kind = kind
    rows.data = <const void *>data
    rows.indices = <const void *>indices
    rows.indptr = <const void *>indptr
    rows.n = n
    rows.d = d
    return 0


cdef int abi_number() noexcept nogil:
    return ABI


cdef int nearest(
    int kind, const void *rows, Py_ssize_t n, const void *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads,
) noexcept nogil:
    cdef nmlsdr_rows given, asked
    cdef nmlsdr_search *search
    cdef nmlsdr_tree *tree
    cdef nmlsdr_few *few
    cdef int more = 1, level = best_level()
    if n < 1 or n >= 2147483647 or q < 0 or q >= 2147483647 or d < 1 or k < 1 or n_threads < 1:
        return -2
    if k > n - (queries is NULL):
        return -2
    if queries is not NULL and q == 0:
        return 0
    n_threads = clip_threads(n_threads)
    given.kind = asked.kind = kind
    given.n = n
    asked.n = q
    given.d = asked.d = d
    given.data = rows
    asked.data = queries
    given.indices = given.indptr = asked.indices = asked.indptr = NULL
    if queries is not NULL and few_wins(&given, &asked, k, n_threads):
        few = few_new(&given, &asked, k, squared, indices, level, n_threads)
        if few is NULL:
            return -1
        few_step(few, INFINITY)
        few_free(few)
        return 0
    if tree_wins(&given):
        tree = tree_new(&given, NULL if queries is NULL else &asked, k, squared, indices, level, n_threads)
        if tree is NULL:
            return -1
        tree_step(tree, INFINITY)
        tree_free(tree)
        return 0
    search = search_new(&given, NULL if queries is NULL else &asked, k, NULL, squared, indices, 0, -1, level,
                        WINDOW_BYTES, n_threads)
    if search is NULL:
        return -1
    while more == 1:
        more = search_step(search, 1000, WINDOW_BYTES)
    search_free(search)
    return more


cdef int nearest_f32(
    const float *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads,
) noexcept nogil:
    return nearest(0, rows, n, NULL, 0, d, k, squared, indices, n_threads)


cdef int nearest_f64(
    const double *rows, Py_ssize_t n, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads,
) noexcept nogil:
    return nearest(1, rows, n, NULL, 0, d, k, squared, indices, n_threads)


cdef int nearest_to_f32(
    const float *rows, Py_ssize_t n, const float *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads,
) noexcept nogil:
    return nearest(0, rows, n, queries, q, d, k, squared, indices, n_threads)


cdef int nearest_to_f64(
    const double *rows, Py_ssize_t n, const double *queries, Py_ssize_t q, Py_ssize_t d, Py_ssize_t k,
    double *squared, Py_ssize_t *indices, int n_threads,
) noexcept nogil:
    return nearest(1, rows, n, queries, q, d, k, squared, indices, n_threads)


def best_simd_level():
    """0 portable, 1 avx2, 2 avx512: the best of this processor that this build knows."""
    return best_level()


def candidate_distances(
    const real_t[:, ::1] queries,         # IN
    const real_t[:, ::1] rows,            # IN
    const long long[::1] indptr,          # IN  (q + 1) candidates of each query
    const long long[::1] candidates,      # IN  rows
    double[::1] squared,                  # OUT one per candidate
    int n_threads,
):
    """Canonical squared distances of proposed pairs, dense rows."""
    cdef Py_ssize_t i, p, q = indptr.shape[0] - 1, d = rows.shape[1]
    if q == 0 or squared.shape[0] == 0:
        return
    for i in prange(q, nogil=True, num_threads=n_threads, schedule="dynamic", chunksize=16):
        for p in range(indptr[i], indptr[i + 1]):
            if real_t is double:
                squared[p] = sqdist_f64(&queries[0, 0] + i * d, &rows[0, 0] + candidates[p] * d, d)
            else:
                squared[p] = sqdist_f32(&queries[0, 0] + i * d, &rows[0, 0] + candidates[p] * d, d)


def candidate_distances_csr(
    const real_t[::1] query_data,         # IN  sorted rows without repeats
    const index_t[::1] query_indices,     # IN
    const index_t[::1] query_indptr,      # IN
    const real_t[::1] row_data,           # IN
    const index_t[::1] row_indices,       # IN
    const index_t[::1] row_indptr,        # IN
    Py_ssize_t first,                     # the first query
    const long long[::1] indptr,          # IN  candidates of each query from first on
    const long long[::1] candidates,      # IN  rows
    double[::1] squared,                  # OUT one per candidate
    int n_threads,
):
    """As candidate_distances, on CSR rows."""
    cdef Py_ssize_t i, p, q = indptr.shape[0] - 1
    if q == 0 or squared.shape[0] == 0:
        return
    for i in prange(q, nogil=True, num_threads=n_threads, schedule="dynamic", chunksize=16):
        for p in range(indptr[i], indptr[i + 1]):
            squared[p] = csr_distance[real_t, index_t](
                &query_data[0], &query_indices[0], &query_indptr[0],
                &row_data[0], &row_indices[0], &row_indptr[0], first + i, candidates[p])
