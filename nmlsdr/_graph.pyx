"""Kernels of the exact neighbour search, and of the canonical order in which a fit searches its rows.

The caller checks the arguments and allocates the results.  A search allocates its working memory, which includes packed
float copies of the rows, and frees it with the object.  Nothing here reads an environment variable.  The result does
not depend on the number of threads: either one thread computes an output row, or, with few queries, the rows are
divided among the threads and their results are merged in the order (squared distance, row).  Rows are passed as
`_search.rows.Rows`: addresses and sizes with names.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint64_t

from ._typedefs cimport real_t

cdef extern from "_c/radius.h" nogil:
    const Py_ssize_t NMLSDR_FEW_QUERIES, NMLSDR_INDEX_QUERIES, NMLSDR_TREE_FEATURES, NMLSDR_TREE_ROWS
    const double NMLSDR_MOST_KEPT, NMLSDR_WINDOW_BYTES, NMLSDR_ZERO_ROW
    ctypedef struct nmlsdr_rows:
        int kind
        Py_ssize_t n
        Py_ssize_t d
        const void *data
        const int32_t *indices
        const int64_t *indptr
    ctypedef struct nmlsdr_scratch:
        long long decided
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
        int n_threads
        nmlsdr_scaling scaling
        nmlsdr_storage storage
        nmlsdr_tuning tuning
        nmlsdr_schedule schedule
        nmlsdr_scratch *scratch
    int unit_row "nmlsdr_unit_row"(const nmlsdr_rows *x, Py_ssize_t i)
    double canonical "nmlsdr_canonical"(const nmlsdr_rows *x, Py_ssize_t i, const nmlsdr_rows *y, Py_ssize_t j)
    int best_level "nmlsdr_best_level"()
    int search_know "nmlsdr_search_know"(
        nmlsdr_search *search, const double *limits, const Py_ssize_t *edges, Py_ssize_t parts)
    int tree_order "nmlsdr_tree_order"(const nmlsdr_rows *rows, Py_ssize_t *order, int n_threads)
    ctypedef struct nmlsdr_tree:
        long long visited
    ctypedef struct nmlsdr_views:
        nmlsdr_search *view
    ctypedef struct nmlsdr_index "struct nmlsdr_index":
        int by_angle, level, n_threads
        nmlsdr_rows rows
    int index_begin "nmlsdr_index_begin"(
        nmlsdr_index *index, const nmlsdr_rows *rows, int by_angle, int lasts, int integers)
    void index_end "nmlsdr_index_end"(nmlsdr_index *index)
    ctypedef union nmlsdr_ways:
        nmlsdr_memory memory
        nmlsdr_tree tree
        nmlsdr_views views
        nmlsdr_search products
    ctypedef struct nmlsdr_within:
        double limit
        int64_t *count
        const int64_t *indptr
        double *squared
        int32_t *columns
    ctypedef struct nmlsdr_query:
        nmlsdr_ways by
        int way
        const unsigned char *allowed
        const nmlsdr_rows *queries
        Py_ssize_t n, n_found
        double *near
        Py_ssize_t *row
    int query_begin "nmlsdr_query_begin"(
        nmlsdr_query *query, const nmlsdr_index *index, const nmlsdr_rows *queries, Py_ssize_t k, double *squared,
        Py_ssize_t *indices)
    int query_start "nmlsdr_query_start"(
        nmlsdr_query *query, const nmlsdr_leads *leads, int sparse, int integers, double window_bytes, int n_threads)
    int query_step "nmlsdr_query_step"(nmlsdr_query *query, double budget)
    void query_end "nmlsdr_query_end"(nmlsdr_query *query)
    double radius_limit "nmlsdr_radius_limit"(double radius, int by_angle)
    int radius_begin "nmlsdr_radius_begin"(
        nmlsdr_query *query, const nmlsdr_index *index, const nmlsdr_rows *queries, nmlsdr_within *within)
    int radius_end "nmlsdr_radius_end"(nmlsdr_query *query, Py_ssize_t n_queries)

cdef extern from "_c/build.h":
    const char *NMLSDR_COMPILER
    const int NMLSDR_OPENMP, NMLSDR_DEBUG_BUILD, NMLSDR_N_SIMD_LEVELS, NMLSDR_N_LEVEL_NAMES
    const char *const level_names "nmlsdr_level_names"[NMLSDR_N_LEVEL_NAMES]

SIMD_LEVELS = tuple([level_names[level].decode() for level in range(NMLSDR_N_LEVEL_NAMES)])


def build_facts():
    """How this module was compiled."""
    return {"compiler": NMLSDR_COMPILER.decode(), "openmp": NMLSDR_OPENMP, "debug": NMLSDR_DEBUG_BUILD != 0,
            "n_simd_levels": NMLSDR_N_SIMD_LEVELS}


# what search.h chooses by
FEW_QUERIES, INDEX_QUERIES, MOST_KEPT = NMLSDR_FEW_QUERIES, NMLSDR_INDEX_QUERIES, NMLSDR_MOST_KEPT
TREE_FEATURES, TREE_ROWS, ZERO_ROW = NMLSDR_TREE_FEATURES, NMLSDR_TREE_ROWS, NMLSDR_ZERO_ROW
METHODS = ("nothing", "few", "tree", "prepared", "products")  # by their numbers in search.h


cdef class Index:
    """Rows for searches: divided by their norms for angles, packed if they last; only read from then on.

    Parameters
    ----------
    rows : `_search.rows.Rows`; their memory must live as long as this object does
    by_angle : whether to search by angle
    packed : whether there will be searches with a few queries at a time
    integers : as of `Search`, for the packed rows
    level : SIMD level
    """
    cdef object kept
    cdef nmlsdr_index index

    def __cinit__(self, rows, *, bint by_angle=False, bint packed=False, int level, int n_threads, int integers=-1):
        cdef int failed
        cdef nmlsdr_rows given
        describe(rows, &given)
        self.kept, self.index.level, self.index.n_threads = rows, level, n_threads
        with nogil:
            failed = index_begin(&self.index, &given, by_angle, packed, integers)
        if failed:
            raise MemoryError("no memory for the rows that are searched.")

    def __dealloc__(self):
        index_end(&self.index)

    @property
    def by_angle(self):
        return self.index.by_angle


cdef class Steps:
    """What searches have in common: they are answered step by step."""
    cdef object kept
    cdef nmlsdr_index index
    cdef nmlsdr_query query

    def __dealloc__(self):
        free_all(&self.query.by.memory)

    @property
    def method(self):
        return METHODS[self.query.way]

    def units(self):
        """Of a search by angle, the dense rows of length 1 that are searched, and the queries; None: the rows."""
        return units_at(&self.index.rows), None if self.query.queries is NULL else units_at(self.query.queries)

    def step(self, double budget):
        """Run about `budget` pairs of blocks, leaves of queries or thousands of pairs; True if there is more to do."""
        cdef int more
        with nogil:
            more = query_step(&self.query, budget)
        return more == 1


cdef class RadiusSearch(Steps):
    """An exact search for all rows within a radius; the arrays that it was given must live as long as it does.

    Parameters
    ----------
    index : Index
    queries : `_search.rows.Rows` in the storage of its rows, or None for the rows against themselves
    radius : 0 or more, a distance by the metric of the index
    count : INOUT (n_queries) zeros; how many rows are within the radius of each query
    indptr : IN (n_queries + 1) where the rows of each query are stored, or None to count them only
    squared, columns : OUT (indptr[-1]) or None
    n_threads : at most
    """
    cdef nmlsdr_within within
    cdef Py_ssize_t n_queries

    def __cinit__(
        self, Index index, queries, double radius, int64_t[::1] count, const int64_t[::1] indptr, double[::1] squared,
        int32_t[::1] columns, *, int n_threads
    ):
        cdef nmlsdr_rows others
        self.kept, self.index = (index, queries, count, indptr, squared, columns), index.index
        self.index.n_threads = n_threads
        self.n_queries = count.shape[0]
        self.within.limit, self.within.count = radius_limit(radius, self.index.by_angle), &count[0]
        if indptr is not None:
            self.within.indptr, self.within.squared, self.within.columns = &indptr[0], &squared[0], &columns[0]
        if queries is not None:
            describe(queries, &others)
        check_memory(radius_begin(&self.query, &self.index, NULL if queries is None else &others, &self.within))

    def start(self, leads=None):
        """Allocate the memory of the search; leads : `_search.leading.Leads` or None."""
        cdef nmlsdr_leads leading
        if leads is not None:
            describe_leads(leads, &leading)
        check_memory(query_start(&self.query, NULL if leads is None else &leading, -1, -1, NMLSDR_WINDOW_BYTES, 0))

    def end(self):
        """Add rows of zeros of a search by angle, and sort what was stored; the memory is free then."""
        cdef int failed
        with nogil:
            failed = radius_end(&self.query, self.n_queries)
        check_memory(failed)


cdef class Search(Steps):
    """An exact search in progress, answered step by step; the arrays it was given must live as long as it does.

    Parameters
    ----------
    index : Index
    queries : `_search.rows.Rows` in the storage of its rows, or None for the rows against themselves
    squared, indices : OUT (n_queries, k)
    n_threads : at most
    method : one of METHODS instead of the one that suits the sizes
    allowed : IN (n_rows) 0 for the rows that may be no neighbours of the queries, or None
    """

    def __cinit__(
        self, Index index, queries, double[:, ::1] squared, Py_ssize_t[:, ::1] indices, *, int n_threads, method=None,
        const unsigned char[::1] allowed=None
    ):
        cdef nmlsdr_rows others
        self.kept, self.index = (index, queries, squared, indices, allowed), index.index
        if allowed is not None:
            self.query.allowed = &allowed[0]
        self.index.n_threads = n_threads
        if queries is not None:
            describe(queries, &others)
        check_memory(query_begin(&self.query, &self.index, NULL if queries is None else &others, squared.shape[1],
                                 &squared[0, 0], &indices[0, 0]))
        if method is not None:
            self.query.way = METHODS.index(method)

    def lists(self):
        """The arrays that the search fills: those that were given, if there are no rows without a direction."""
        return (<double[:self.query.n, :self.query.n_found]> self.query.near,
                <Py_ssize_t[:self.query.n, :self.query.n_found]> self.query.row)

    def start(self, int n_threads=0, *, int sparse=-1, int integers=-1, double window_bytes=0, leads=None, known=None):
        """Allocate the memory of the search.

        Parameters
        ----------
        n_threads : 0 for those that are worth waking
        sparse : 1 by columns and postings, 0 by packed blocks, -1 by cost
        integers : 16 by packed blocks of 16-bit integers, 0 of floats, -1 by cost
        window_bytes : packed rows in memory at most; 0 for NMLSDR_WINDOW_BYTES
        leads : `_search.leading.Leads` or None
        known : `_search.run.Known` or None, only for the rows against themselves by products and without leads
        """
        cdef nmlsdr_leads leading
        cdef const double[::1] limits
        cdef const Py_ssize_t[::1] edges
        if leads is not None:
            describe_leads(leads, &leading)
        check_memory(query_start(&self.query, NULL if leads is None else &leading, sparse, integers,
                                 window_bytes or NMLSDR_WINDOW_BYTES, n_threads))
        if known is not None and self.method == "products":
            limits, edges = known
            check_memory(search_know(&self.query.by.products, &limits[0], &edges[0], edges.shape[0] - 1))

    def end(self):
        """Put rows of zeros into the lists of a search by angle; the memory is free then."""
        query_end(&self.query)

    @property
    def facts(self):
        """What the search did so far, by the names of products_state.h: structs become dictionaries.

        Of a tree, how many leaves of rows the leaves of queries looked into; of prepared rows, what one thread did.
        """
        cdef nmlsdr_search *search = &self.query.by.products
        if self.method in ("few", "tree"):
            return {"visited": self.query.by.tree.visited}
        if self.method == "prepared":
            search = self.query.by.views.view
        threads = [search.scratch[t] for t in range(search.n_threads)]
        counts = {name: sum(thread[name] for thread in threads) for name in threads[0]}
        return {**counts, **search.scaling, **search.storage, **search.tuning, **search.schedule}


cdef int check_memory(int failed) except -1:
    if failed:
        raise MemoryError("no memory for the neighbour search; use fewer neighbors, or fewer queries at once.")
    return 0


cdef units_at(const nmlsdr_rows *rows):
    return <double[:rows.n, :rows.d]> <double *>rows.data if rows.n else None


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


def column_limits(
    const real_t[:, ::1] rows,            # IN  (n, d), n >= 1
    double[::1] least,                    # OUT (d)
    double[::1] largest,                  # OUT (d)
):
    """The least and the largest number of each column; no number is NaN."""
    cdef Py_ssize_t i, j
    cdef double number
    with nogil:
        for j in range(rows.shape[1]):
            least[j] = largest[j] = rows[0, j]
        for i in range(1, rows.shape[0]):
            for j in range(rows.shape[1]):
                number = rows[i, j]
                least[j] = number if number < least[j] else least[j]
                largest[j] = number if number > largest[j] else largest[j]


def place_sums(
    const real_t[:, ::1] rows,            # IN  (n, d)
    const double[::1] least,              # IN  (d) least number of each feature
    const double[::1] width,              # IN  (d) largest minus least number, 1 for a constant feature
    double n_places,
    const uint64_t[::1] factors,          # IN  (d)
    double[::1] places,                   # scratch (d)
    uint64_t[::1] sums,                   # OUT (n)
):
    """The sum over the features of factor times place, modulo 2^64, for each row.

    The place of a number is n_places (number - least) / width, rounded.
    """
    cdef Py_ssize_t i, j
    cdef uint64_t total
    with nogil:
        for i in range(rows.shape[0]):
            for j in range(rows.shape[1]):  # a loop of its own, because it becomes vectors
                places[j] = (<double>rows[i, j] - least[j]) / width[j] * n_places + 0.5
            total = 0
            for j in range(rows.shape[1]):
                total += <uint64_t><int64_t>places[j] * factors[j]
            sums[i] = total


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
