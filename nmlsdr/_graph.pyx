"""Kernels of the exact neighbour search.  graph.py makes the graph W of its lists, and _weights.pyx makes T of W.

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
    ctypedef struct nmlsdr_search:
        int n_threads
        nmlsdr_scaling scaling
        nmlsdr_storage storage
        nmlsdr_tuning tuning
        nmlsdr_schedule schedule
        nmlsdr_scratch *scratch
    double canonical "nmlsdr_canonical"(const nmlsdr_rows *x, Py_ssize_t i, const nmlsdr_rows *y, Py_ssize_t j)
    int best_level "nmlsdr_best_level"()
    nmlsdr_search *search_new "nmlsdr_search_new"(
        const nmlsdr_rows *rows, const nmlsdr_rows *queries, Py_ssize_t k, const nmlsdr_leads *leads, double *squared,
        Py_ssize_t *indices, int sparse, int integers, int level, double window_bytes, int n_threads)
    int search_know "nmlsdr_search_know"(
        nmlsdr_search *search, const double *limits, const Py_ssize_t *edges, Py_ssize_t parts)
    int search_step "nmlsdr_search_step"(nmlsdr_search *search, double budget)
    void search_free "nmlsdr_search_free"(nmlsdr_search *search)
    ctypedef struct nmlsdr_tree:
        long long visited
    nmlsdr_tree *tree_new "nmlsdr_tree_new"(
        const nmlsdr_rows *rows, const nmlsdr_rows *queries, Py_ssize_t k, double *squared, Py_ssize_t *indices,
        int level, int n_threads)
    int tree_step "nmlsdr_tree_step"(nmlsdr_tree *tree, double budget)
    int tree_order "nmlsdr_tree_order"(const nmlsdr_rows *rows, Py_ssize_t *order, int n_threads)
    void tree_free "nmlsdr_tree_free"(nmlsdr_tree *tree)
    ctypedef struct nmlsdr_few:
        pass
    nmlsdr_few *few_new "nmlsdr_few_new"(
        const nmlsdr_rows *rows, const nmlsdr_rows *queries, Py_ssize_t k, double *squared, Py_ssize_t *indices,
        int angle, int level, int n_threads)
    int few_step "nmlsdr_few_step"(nmlsdr_few *few, double budget)
    void few_free "nmlsdr_few_free"(nmlsdr_few *few)
    ctypedef struct nmlsdr_views:
        nmlsdr_search *view
        int n_views
    nmlsdr_search *index_new "nmlsdr_packed_new"(
        const nmlsdr_rows *rows, int integers, int level, double column_bytes, int n_threads)
    int index_takes "nmlsdr_packed_takes"(const nmlsdr_search *index, const nmlsdr_rows *queries)
    nmlsdr_views *views_new "nmlsdr_views_new"(
        const nmlsdr_search *index, const nmlsdr_rows *queries, Py_ssize_t k, double *squared, Py_ssize_t *indices,
        int n_threads)
    int views_step "nmlsdr_views_step"(nmlsdr_views *views, double budget)
    void views_free "nmlsdr_views_free"(nmlsdr_views *views)

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


cdef class Progress:
    """An exact search in progress, answered step by step; the arrays it was given must live as long as it does.

    Parameters
    ----------
    rows, queries : `_search.rows.Rows`; queries None for the rows against themselves
    squared, indices : OUT (n_queries, k)
    """
    cdef object kept
    cdef nmlsdr_rows rows, others
    cdef nmlsdr_rows *queries
    cdef double *squared
    cdef Py_ssize_t *indices
    cdef Py_ssize_t k

    def __cinit__(self, rows, queries, double[:, ::1] squared, Py_ssize_t[:, ::1] indices, **options):
        self.kept = (rows, queries, squared, indices, options)
        describe(rows, &self.rows)
        self.queries = NULL
        if queries is not None:
            describe(queries, &self.others)
            self.queries = &self.others
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
        return more == 1

    @property
    def facts(self):
        """What the search did so far, for tests and the log."""
        return {}


cdef class Search(Progress):
    """By products.

    Parameters
    ----------
    level : SIMD level
    sparse : 1 by columns and postings, 0 by packed blocks, -1 by cost
    integers : 16 or 8 by packed blocks of integers of so many bits, 0 of floats, -1 by cost
    window_bytes : packed rows in memory at most; 0 for NMLSDR_WINDOW_BYTES
    leads : `_search.leading.Leads` or None
    known : `_search.run.Known` or None, only for the rows against themselves and without leads
    """
    cdef nmlsdr_search *search

    def __cinit__(
        self, rows, queries, squared, indices, *, int level, int n_threads, int sparse=-1,
        int integers=-1, double window_bytes=0, leads=None, known=None,
    ):
        cdef nmlsdr_leads leading
        cdef const double[::1] limits
        cdef const Py_ssize_t[::1] edges
        cdef int failed = 0
        if leads is not None:
            describe_leads(leads, &leading)
        self.search = search_new(&self.rows, self.queries, self.k, NULL if leads is None else &leading, self.squared,
                                 self.indices, sparse, integers, level, window_bytes or NMLSDR_WINDOW_BYTES, n_threads)
        if self.search is not NULL and known is not None:
            limits, edges = known
            failed = search_know(self.search, &limits[0], &edges[0], edges.shape[0] - 1)
        if self.search is NULL or failed:
            raise MemoryError("no memory for the neighbour search; use fewer neighbors or a smaller window.")

    def __dealloc__(self):
        search_free(self.search)

    cdef int advance(self, double budget) noexcept nogil:
        return search_step(self.search, budget)

    @property
    def facts(self):
        """What the search did so far, by the names of products_state.h: structs become dictionaries."""
        threads = [self.search.scratch[t] for t in range(self.search.n_threads)]
        counts = {name: sum(thread[name] for thread in threads) for name in threads[0]}
        return {**counts, **self.search.scaling, **self.search.storage, **self.search.tuning, **self.search.schedule}


cdef class Tree(Progress):
    """By a k-d tree, for dense rows of at most 8 features."""
    cdef nmlsdr_tree *tree

    def __cinit__(self, rows, queries, squared, indices, *, int level, int n_threads):
        self.tree = tree_new(&self.rows, self.queries, self.k, self.squared, self.indices, level, n_threads)
        if self.tree is NULL:
            raise MemoryError("no memory for the neighbour tree.")

    def __dealloc__(self):
        tree_free(self.tree)

    cdef int advance(self, double budget) noexcept nogil:
        return tree_step(self.tree, budget)

    @property
    def facts(self):
        """How many leaves of rows the leaves of queries looked into so far."""
        return self.tree[0]


cdef class FewQueries(Progress):
    """For a few queries, by the canonical distances of all pairs of dense rows.

    Parameters
    ----------
    angle : whether to divide the rows by their norms first; the queries, in float64, are divided already
    """
    cdef nmlsdr_few *few

    def __cinit__(self, rows, queries, squared, indices, *, int level, int n_threads, bint angle=False):
        if self.queries is NULL or self.rows.kind > 1:
            raise ValueError("a search for a few queries needs queries and dense rows.")
        self.few = few_new(&self.rows, self.queries, self.k, self.squared, self.indices, angle, level, n_threads)
        if self.few is NULL:
            raise MemoryError("no memory for the queries; pass fewer at once.")

    def __dealloc__(self):
        few_free(self.few)

    cdef int advance(self, double budget) noexcept nogil:
        return few_step(self.few, budget)


cdef class Index:
    """Rows packed once for a few queries at a time; only read from then on, by any number of threads."""
    cdef object kept
    cdef nmlsdr_rows rows
    cdef nmlsdr_search *index

    def __cinit__(self, rows, *, int level, int n_threads, int integers=-1):
        self.kept = rows
        describe(rows, &self.rows)
        with nogil:
            self.index = index_new(&self.rows, integers, level, NMLSDR_WINDOW_BYTES, n_threads)
        if self.index is NULL:
            raise MemoryError("no memory for the packed rows.")

    def __dealloc__(self):
        search_free(self.index)

    def takes(self, queries):
        """Whether the error bounds of the packed rows hold for these queries, which must be stored as the rows are."""
        cdef nmlsdr_rows others
        describe(queries, &others)
        return index_takes(self.index, &others) != 0


cdef class IndexSearch(Progress):
    """For a few queries that an index takes; dense ones may be of another type than the rows."""
    cdef nmlsdr_views *views

    def __cinit__(self, rows, queries, squared, indices, *, Index index, int n_threads):
        self.views = views_new(index.index, self.queries, self.k, self.squared, self.indices, n_threads)
        if self.views is NULL:
            raise MemoryError("no memory for the queries; pass fewer at once.")

    def __dealloc__(self):
        views_free(self.views)

    cdef int advance(self, double budget) noexcept nogil:
        return views_step(self.views, budget)

    @property
    def facts(self):
        """Canonical distances so far, and how the rows are stored."""
        decided = sum(self.views.view[v].scratch[0].decided for v in range(self.views.n_views))
        return {**self.views.view[0].storage, "decided": decided, "views": self.views.n_views}


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
