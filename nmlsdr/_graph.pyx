"""Kernels of the exact neighbour search.

The caller checks the arguments and allocates the results.  A search allocates its working memory, which includes packed
float copies of the rows, and frees it with the object.  Nothing here reads an environment variable.  The result does
not depend on the number of threads: either one thread computes an output row, or, with few queries, the rows are
divided among the threads and their results are merged in the order (squared distance, row).  Rows are passed as
`_search.rows.Rows`: addresses and sizes with names.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t

cdef extern from "_c/search.h" nogil:
    const Py_ssize_t NMLSDR_FEW_QUERIES, NMLSDR_INDEX_QUERIES, NMLSDR_TREE_FEATURES
    const double NMLSDR_MOST_KEPT, NMLSDR_WINDOW_BYTES, NMLSDR_WORK_OF_THREAD, NMLSDR_VALUES_OF_THREAD
    ctypedef struct nmlsdr_rows:
        int kind
        Py_ssize_t n
        Py_ssize_t d
        const void *data
        const int32_t *indices
        const int64_t *indptr
    ctypedef struct nmlsdr_scratch:
        long long decided, checked
        long long pairs
        long long tiles, alive
    ctypedef struct nmlsdr_leads:
        Py_ssize_t d
        const double *rows
        const double *queries
        const Py_ssize_t *rows_order
        const Py_ssize_t *queries_order
    ctypedef struct nmlsdr_scaling:
        int integral
    ctypedef struct nmlsdr_storage:
        int sparse, integers
        Py_ssize_t frequent
    ctypedef struct nmlsdr_tuning:
        Py_ssize_t lead_d, span
    ctypedef struct nmlsdr_schedule:
        double total
    ctypedef struct nmlsdr_memory:
        pass
    void free_all "nmlsdr_free_all"(nmlsdr_memory *memory)
    ctypedef struct nmlsdr_search:
        nmlsdr_memory memory
        int n_threads
        nmlsdr_scaling scaling
        nmlsdr_storage storage
        nmlsdr_tuning tuning
        nmlsdr_schedule schedule
        nmlsdr_scratch *scratch
    int unit_row "nmlsdr_unit_row"(const nmlsdr_rows *x, Py_ssize_t i)
    double canonical "nmlsdr_canonical"(const nmlsdr_rows *x, Py_ssize_t i, const nmlsdr_rows *y, Py_ssize_t j)
    int best_level "nmlsdr_best_level"()
    int search_begin "nmlsdr_search_begin"(
        nmlsdr_search *search, const nmlsdr_rows *rows, const nmlsdr_rows *queries, Py_ssize_t k,
        const nmlsdr_leads *leads, double *squared, Py_ssize_t *indices, int sparse,
        int integers, int level, double window_bytes, int n_threads)
    int search_know "nmlsdr_search_know"(
        nmlsdr_search *search, const double *limits, const Py_ssize_t *edges, Py_ssize_t parts)
    int search_step "nmlsdr_search_step"(nmlsdr_search *search, double budget)
    ctypedef struct nmlsdr_tree:
        nmlsdr_memory memory
        long long visited
    int tree_begin "nmlsdr_tree_begin"(
        nmlsdr_tree *tree, const nmlsdr_rows *rows, const nmlsdr_rows *queries, Py_ssize_t k, double *squared,
        Py_ssize_t *indices, int level, int n_threads)
    int tree_step "nmlsdr_tree_step"(nmlsdr_tree *tree, double budget)
    int tree_order "nmlsdr_tree_order"(const nmlsdr_rows *rows, Py_ssize_t *order, int n_threads)
    ctypedef struct nmlsdr_few:
        nmlsdr_memory memory
    int few_begin "nmlsdr_few_begin"(
        nmlsdr_few *few, const nmlsdr_rows *rows, const nmlsdr_rows *queries, Py_ssize_t k, double *squared,
        Py_ssize_t *indices, int level, int n_threads)
    int few_step "nmlsdr_few_step"(nmlsdr_few *few, double budget)
    ctypedef struct nmlsdr_views:
        nmlsdr_memory memory
        nmlsdr_search *view
        int n_views
    int index_begin "nmlsdr_packed_begin"(
        nmlsdr_search *index, const nmlsdr_rows *rows, int integers, int level, double column_bytes, int n_threads)
    int index_takes "nmlsdr_packed_takes"(const nmlsdr_search *index, const nmlsdr_rows *queries)
    int views_begin "nmlsdr_views_begin"(
        nmlsdr_views *views, const nmlsdr_search *index, const nmlsdr_rows *queries, Py_ssize_t k, double *squared,
        Py_ssize_t *indices, int n_threads)
    int views_step "nmlsdr_views_step"(nmlsdr_views *views, double budget)

cdef extern from "_c/build.h":
    const char *NMLSDR_COMPILER
    const int NMLSDR_OPENMP, NMLSDR_DEBUG_BUILD, NMLSDR_N_SIMD_LEVELS
    const int NMLSDR_NEON
    const char *const level_names "nmlsdr_level_names"[4]

SIMD_LEVELS = tuple([level_names[level].decode() for level in range(2 if NMLSDR_NEON else 4)])


def build_facts():
    """How this module was compiled."""
    return {"compiler": NMLSDR_COMPILER.decode(), "openmp": NMLSDR_OPENMP, "debug": NMLSDR_DEBUG_BUILD != 0,
            "n_simd_levels": NMLSDR_N_SIMD_LEVELS}


# what search.h and strategy.py choose by
FEW_QUERIES, INDEX_QUERIES, TREE_FEATURES = NMLSDR_FEW_QUERIES, NMLSDR_INDEX_QUERIES, NMLSDR_TREE_FEATURES
MOST_KEPT, WORK_OF_THREAD, VALUES_OF_THREAD = NMLSDR_MOST_KEPT, NMLSDR_WORK_OF_THREAD, NMLSDR_VALUES_OF_THREAD


cdef class Index:
    """Rows packed once for a few queries at a time; only read from then on, by any number of threads."""
    cdef object kept
    cdef nmlsdr_rows rows
    cdef nmlsdr_search index

    def __cinit__(self, rows, *, int level, int n_threads, int integers=-1):
        cdef int failed
        self.kept = rows
        describe(rows, &self.rows)
        with nogil:
            failed = index_begin(&self.index, &self.rows, integers, level, NMLSDR_WINDOW_BYTES, n_threads)
        if failed:
            raise MemoryError("no memory for the packed rows.")

    def __dealloc__(self):
        free_all(&self.index.memory)

    def takes(self, queries):
        """Whether the error bounds of the packed rows hold for these queries, which must be stored as the rows are."""
        cdef nmlsdr_rows others
        describe(queries, &others)
        return index_takes(&self.index, &others) != 0


cdef class Search:
    """An exact search in progress, answered step by step; the arrays it was given must live as long as it does.

    Parameters
    ----------
    method : "few", "tree", "prepared", or another of those that `_search` lists: by products
    rows, queries : `_search.rows.Rows`; queries None for the rows against themselves
    squared, indices : OUT (n_queries, k)
    level : SIMD level
    index : of "prepared": dense queries may be of another type than its rows
    sparse : 1 by columns and postings, 0 by packed blocks, -1 by cost
    integers : 16 or 8 by packed blocks of integers of so many bits, 0 of floats, -1 by cost
    window_bytes : packed rows in memory at most; 0 for NMLSDR_WINDOW_BYTES
    leads : `_search.leading.Leads` or None
    known : `_search.run.Known` or None, only for the rows against themselves and without leads
    """
    cdef object kept
    cdef str method
    cdef nmlsdr_rows rows, others
    cdef nmlsdr_few few
    cdef nmlsdr_tree tree
    cdef nmlsdr_views views
    cdef nmlsdr_search products

    def __cinit__(
        self, str method, rows, queries, double[:, ::1] squared, Py_ssize_t[:, ::1] indices, *, int n_threads,
        int level=0, Index index=None, int sparse=-1, int integers=-1, double window_bytes=0,
        leads=None, known=None,
    ):
        cdef nmlsdr_leads leading
        cdef const double[::1] limits
        cdef const Py_ssize_t[::1] edges
        cdef nmlsdr_rows *given = &self.rows
        cdef nmlsdr_rows *others = NULL if queries is None else &self.others
        cdef double *apart = &squared[0, 0]
        cdef Py_ssize_t *found = &indices[0, 0]
        cdef Py_ssize_t k = squared.shape[1]
        cdef int failed
        self.kept, self.method = (rows, queries, squared, indices, index, leads), method
        describe(rows, given)
        if queries is not None:
            describe(queries, others)
        if method == "few":
            failed = few_begin(&self.few, given, others, k, apart, found, level, n_threads)
        elif method == "tree":
            failed = tree_begin(&self.tree, given, others, k, apart, found, level, n_threads)
        elif method == "prepared":
            failed = views_begin(&self.views, &index.index, others, k, apart, found, n_threads)
        else:
            if leads is not None:
                describe_leads(leads, &leading)
            failed = search_begin(
                &self.products, given, others, k, NULL if leads is None else &leading, apart, found, sparse, integers,
                level, window_bytes or NMLSDR_WINDOW_BYTES, n_threads)
            if known is not None and not failed:
                limits, edges = known
                failed = search_know(&self.products, &limits[0], &edges[0], edges.shape[0] - 1)
        if failed:
            raise MemoryError("no memory for the neighbour search; use fewer neighbors, or fewer queries at once.")

    def __dealloc__(self):
        free_all(&self.few.memory)
        free_all(&self.tree.memory)
        free_all(&self.views.memory)
        free_all(&self.products.memory)

    def step(self, double budget):
        """Run about `budget` pairs of blocks, leaves of queries or thousands of pairs; True if there is more to do."""
        cdef int more, few = self.method == "few", tree = self.method == "tree", prepared = self.method == "prepared"
        with nogil:
            if few:
                more = few_step(&self.few, budget)
            elif tree:
                more = tree_step(&self.tree, budget)
            elif prepared:
                more = views_step(&self.views, budget)
            else:
                more = search_step(&self.products, budget)
        return more == 1

    @property
    def facts(self):
        """What the search did so far, by the names of products_state.h: structs become dictionaries.

        Of a tree, how many leaves of rows the leaves of queries looked into.
        """
        if self.method in ("few", "tree"):
            return {"visited": self.tree.visited}
        if self.method == "prepared":
            decided = sum(self.views.view[v].scratch[0].decided for v in range(self.views.n_views))
            return {**self.views.view[0].storage, "decided": decided, "views": self.views.n_views}
        threads = [self.products.scratch[t] for t in range(self.products.n_threads)]
        counts = {name: sum(thread[name] for thread in threads) for name in threads[0]}
        search = self.products
        return {**counts, **search.scaling, **search.storage, **search.tuning, **search.schedule}


def leaf_order(rows, Py_ssize_t[::1] order, int n_threads):
    """The rows (1 to 8 features) in the order of the leaves of their tree: OUT order (n)."""
    cdef nmlsdr_rows given
    describe(rows, &given)
    if tree_order(&given, &order[0], n_threads) < 0:
        raise MemoryError("no memory for the neighbour tree.")


def pair_distances(
    rows, queries,
    Py_ssize_t first,                     # the first query
    const long long[::1] indptr,          # IN  candidates of each query from first on
    const long long[::1] candidates,      # IN  rows
    double[::1] squared,                  # OUT one per candidate
    int n_threads,
):
    """Canonical squared distances of queries to candidates, dense rows or CSR."""
    cdef Py_ssize_t i, p, q = indptr.shape[0] - 1
    cdef nmlsdr_rows given, others
    describe(rows, &given)
    describe(queries, &others)
    if q == 0 or squared.shape[0] == 0:
        return
    for i in prange(q, nogil=True, num_threads=n_threads, schedule="dynamic", chunksize=16):
        for p in range(indptr[i], indptr[i + 1]):
            squared[p] = canonical(&others, first + i, &given, candidates[p])


def to_units(rows, unsigned char[::1] zero, int n_threads):
    """Divide rows of float64 by their norms, in place; OUT zero (n): 1 for a row of zeros, which stays as it is."""
    cdef nmlsdr_rows given
    cdef Py_ssize_t i
    describe(rows, &given)
    for i in prange(given.n, nogil=True, num_threads=n_threads, schedule="static"):
        zero[i] = not unit_row(&given, i)


cdef int describe_leads(leads, nmlsdr_leads *leading) except -1:
    cdef bint itself = leads.queries is None  # then the queries are those of no row, and not read
    cdef const double[:, ::1] rows = leads.rows, queries = leads.rows if itself else leads.queries
    cdef const Py_ssize_t[::1] order = leads.rows_order, queries_order = order if itself else leads.queries_order
    leading[0] = nmlsdr_leads(leads.d, &rows[0, 0], &queries[0, 0], &order[0], &queries_order[0])
    return 0


cdef int describe(given, nmlsdr_rows *rows) except -1:
    cdef Py_ssize_t data = given.data, indices = given.indices, indptr = given.indptr
    rows[0] = nmlsdr_rows(given.kind, given.n, given.d, <const void *>data, <const int32_t *>indices,
                          <const int64_t *>indptr)
    return 0


def best_simd_level():
    """Which of SIMD_LEVELS is the best of this processor that this build knows."""
    return best_level()
