"""Data that break neighbour searches, and the scan of all pairs that they are held against."""

import numpy as np

from nmlsdr import _graph, graph

LEVELS = list(range(_graph.best_simd_level() + 1))

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


def scan(X, k, queries=None):
    """Every pair by the canonical distance: the kernel that test_graph.py holds against the twin."""
    asked = X if queries is None else queries
    squared, indices = np.empty((asked.shape[0], k)), np.empty((asked.shape[0], k), np.intp)
    graph._scan(X, asked, queries is None, squared, indices, 2)
    return squared, indices


def assert_same(found, expected):
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0], expected[0])
    assert not np.signbit(found[0]).any()  # the canonical distance of duplicates is +0
