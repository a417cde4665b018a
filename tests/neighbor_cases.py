"""Data that break neighbour searches, and the scan of all pairs that they are held against."""

from contextlib import contextmanager
from unittest import mock

import numpy as np

from nmlsdr import _graph, graph
from nmlsdr._search import far_groups, leading, strategy
from nmlsdr._search.rows import kernel_rows

LEVELS = list(range(_graph.best_simd_level() + 1))
INTEGER_LEVELS = [level for level in LEVELS if _graph.SIMD_LEVELS[level] not in ("portable", "neon")]  # of 16 bits

INTEGER_LIMIT = 32766  # with this as the largest value and the largest norm, the scale is exactly 1

MAKERS = {
    "gauss": lambda g, r: g,
    "integers": lambda g, r: r.integers(-3, 4, g.shape).astype(float),
    "large integers": lambda g, r: r.integers(-3000, 3000, g.shape).astype(float),
    "binary": lambda g, r: (r.random(g.shape) < 0.1).astype(float),
    "all equal": lambda g, r: np.full(g.shape, 0.1),
    "duplicates": lambda g, r: g[r.integers(0, max(1, len(g) // 7), len(g))],
    "three rows": lambda g, r: g[r.integers(0, min(3, len(g)), len(g))],
    "offset": lambda g, r: 1e6 + g,
    "lost in float64": lambda g, r: 1e12 + g,
    "tiny": lambda g, r: 1e-30 * g,
    "huge": lambda g, r: 1e30 * g,
    "squares underflow": lambda g, r: 1e-160 * g,
    "denormal": lambda g, r: 1e-309 * g,
    "largest": lambda g, r: 1e149 * g,
    "outlier": lambda g, r: g * np.where(np.arange(len(g)) == len(g) // 2, 1e12, 1.0)[:, None],
    "two far tight clusters": lambda g, r: 1e-3 * g + np.where(r.random((len(g), 1)) < 0.5, 1e3, -1e3),
    "last bits": lambda g, r: np.nextafter(np.ones(g.shape), 2.0 + r.integers(-1, 2, g.shape)),
    "last bits on an offset": lambda g, r: 1e6 + r.integers(-2, 3, g.shape) * 2.0**-30,
    "rows of all scales": lambda g, r: g * 10.0 ** r.integers(-40, 40, (len(g), 1)),
    "columns of all scales": lambda g, r: g * 10.0 ** r.integers(-30, 30, (1, g.shape[1])),
    "ever closer": lambda g, r: np.cumsum(np.abs(g[:, :1]), axis=0) * np.ones((1, g.shape[1])),
}


def make(name, shape, seed):
    rng = np.random.default_rng(seed)
    return MAKERS[name](rng.standard_normal(shape), rng)


def by_scan(X, k, *, queries=None, n_threads=2):
    """Every pair by the canonical distance: the kernel that test_graph.py holds against the twin."""
    Q = X if queries is None else queries
    squared, indices = _empty(X, queries, k)
    n = X.shape[0]
    step = max(1, 2_000_000 // n)
    for first in range(0, Q.shape[0], step):
        n_rows = min(step, Q.shape[0] - first)
        apart = np.empty(n_rows * n)
        pointers = np.arange(n_rows + 1) * n
        candidates = np.tile(np.arange(n), n_rows)
        _graph.pair_distances(kernel_rows(X), kernel_rows(Q), first, pointers, candidates, apart, n_threads)
        apart = apart.reshape(n_rows, n)
        if queries is None:
            apart[np.arange(n_rows), first + np.arange(n_rows)] = np.inf
        limit = np.partition(apart, k - 1, axis=1)[:, k - 1]
        for i in range(n_rows):
            near = np.flatnonzero(apart[i] <= limit[i])  # rows increase, and a stable sort keeps them so
            if queries is None:
                near = near[near != first + i]
            near = near[np.argsort(apart[i, near], kind="stable")[:k]]
            squared[first + i] = apart[i, near]
            indices[first + i] = near
    return squared, indices


def scan(X, k, queries=None):
    return by_scan(X, k, queries=queries)


def search(method, X, queries, k, *, level=-1, n_threads=2, budget=1e9, packed=False, integers=-1, **options):
    """By this method, whatever the sizes: the lists and the facts of the search."""
    level = LEVELS[level]
    index = _graph.Index(kernel_rows(X), packed=packed, level=level, n_threads=n_threads, integers=integers)
    lists = _empty(X, queries, k)
    query_rows = None if queries is None else kernel_rows(queries)
    running = _graph.Search(index, query_rows, *lists, n_threads=n_threads, method=method)
    running.start(n_threads, integers=integers, **options)
    while running.step(budget):
        pass
    return *lists, running.facts


def by_products(X, k, *, queries=None, postings=-1, window_bytes=1e9, budget=64.0, **options):
    """Proposed by products, decided by the canonical distance; with the facts of the search."""
    return search("products", X, queries, k, sparse=postings, window_bytes=window_bytes, budget=budget, **options)


def by_leads(X, k, *, queries=None, integers=-1, level=-1, n_threads=2, budget=64.0):
    """By products, with leading coordinates whatever they hold."""
    with any_leads():
        leads = leading.leading_coordinates(X, queries, n_threads)
    options = {"integers": integers, "level": level, "n_threads": n_threads, "budget": budget, "leads": leads}
    return by_products(X, k, queries=queries, **options)


def any_leads():
    """Coordinates for any data, whatever share of the variance they hold."""
    return mock.patch.multiple(leading, _COORDINATES={8: 2, 12: 2, 16: 2, 32: 2}, _FEATURES=2, _LEAST=0.0)


@contextmanager
def small_groups(rows=200, **forced):
    """Groups from so many rows on."""
    forced = forced or {"_TIGHT": far_groups._TIGHT}
    with mock.patch.multiple(strategy, _LARGE=rows), mock.patch.multiple(far_groups, **forced):
        yield


def by_tree(X, k, *, queries=None, **options):
    """By the tree of few features; with its facts."""
    return search("tree", X, queries, k, **options)


def by_few(X, Q, k, **options):
    """Pair by pair, for a few queries."""
    return search("few", X, Q, k, **options)[:2]


def method_of(X, queries, k, *, n_threads=2, packed=False):
    """What search.h chooses for these sizes."""
    index = _graph.Index(kernel_rows(X), packed=packed, level=0, n_threads=n_threads)
    query_rows = None if queries is None else kernel_rows(queries)
    return _graph.Search(index, query_rows, *_empty(X, queries, k), n_threads=n_threads).method


def takes(index, Q):
    """Whether the error bounds of packed rows hold for these queries."""
    return _graph.Search(index, kernel_rows(Q), *_empty(None, Q, 1), n_threads=1).method == "prepared"


def by_index(X, Q, k, **options):
    """By rows that were packed before; with the facts of the search."""
    return search("prepared", X, Q, k, packed=True, **options)


def by_groups(X, k, rng, *, queries=None, n_threads=2):
    """By `graph`, with the line cut anywhere, however the rows lie."""
    shares = rng.random(int(rng.integers(1, 7)))
    forced = {"_is_tight": lambda between: True, "_cuts": lambda place: sorted(np.quantile(place, shares))}
    with small_groups(1, _LEFT_OUT=1.0, **forced):
        return graph.squared_neighbors(X, k, queries=queries, n_jobs=n_threads)


def _empty(X, queries, k):
    shape = (X.shape[0] if queries is None else queries.shape[0], k)
    return np.empty(shape), np.empty(shape, np.intp)


def assert_same(actual, expected):
    np.testing.assert_array_equal(actual[1], expected[1])
    np.testing.assert_array_equal(actual[0], expected[0])
    assert not np.signbit(actual[0]).any()  # the canonical distance of duplicates is +0


def swamped_rows(d, unit, *, copies=1, share=0.998, rng=None):
    """A query and rows: ``copies`` of the second nearest, which seems nearer, then the nearest, then rows far away.

    ``unit`` is the unit roundoff of the products.  With ``rng``, sizes and signs are drawn instead of the worst.
    """
    single = unit > 1e-10
    L = np.sqrt((1 + 8 * d * unit) / 1.5)
    lost = np.full(d - 3, np.sqrt(share * unit))  # its square is just below half a unit of numbers from 1 on
    if rng is not None:
        L *= 2.0 ** rng.uniform(0, 1)
        lost *= rng.uniform(0.7, 1.4, d - 3) * rng.choice([-1, 1], d - 3)
    L = float(np.float32(L)) if single else float(L)
    lost = lost.astype(np.float32).astype(float) if single else lost
    square = float(np.sum(np.square(2 * lost)))
    # (L + near)^2 + (2 lost)^2 is (2 L)^2 and one or two units more
    near = np.sqrt(4 * L**2 - square) - L
    near = float(np.nextafter(np.float32(near), np.float32(2))) if single else near * (1 + 8 * unit)
    nearest = np.concatenate([[L], lost, [0, 0]])
    second = np.concatenate([[near], -lost, [0, 0]])
    query = np.concatenate([[-L], lost, [0, 0]])
    far = np.zeros((3 * (copies + 4), d))  # they keep the centre at 0
    far[:, -2:] = 16 * L * np.array([[1, 0], [-1, 0], [0, 1]])[np.arange(len(far)) % 3]
    return query[None], np.concatenate([np.tile(second, (copies, 1)), [nearest], far])


def rounded_apart_rows(d, *, copies=1):
    """A query and rows: ``copies`` that rounding moves nearer, the nearest, which it moves away, then rows far away.

    The unit of the rounding is 1.  In all but 2 % of the features the query lies at -(1/2 + e), which
    is rounded to -1, the nearest row at m + 1/2 + e, rounded to m + 1, and the copies at -(m + 3/2 - e), rounded to
    -(m + 1): the distance to the nearest grows by almost sqrt(d), the distance to the copies shrinks by almost sqrt(d).
    """
    m = 20
    e = 1e-4
    used = np.arange(d - 3) < 0.98 * (d - 3)
    query = np.where(used, -(0.5 + e), 0)
    nearest = np.where(used, m + 0.5 + e, m)
    copy = np.where(used, -(m + 1.5 - e), -(m + 1))
    far = np.zeros((3 * (copies + 4), d))
    far[:, -3:] = INTEGER_LIMIT * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0]])[np.arange(len(far)) % 3]
    near = np.pad(np.concatenate([np.tile(copy, (copies, 1)), [nearest]]), [(0, 0), (0, 3)])
    return np.pad(query, (0, 3))[None], np.concatenate([near, far])


def strategy_table(text):
    """The rows of the first table whose head begins with "strategy"."""
    lines = text[text.index("| strategy |") :].splitlines()
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows
