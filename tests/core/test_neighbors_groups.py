"""Far tight clusters: the groups that are searched alone give what the search of all rows gives."""

import tracemalloc

import numpy as np
import pytest
import reference
from neighbor_cases import MAKERS, assert_same, make, scan, small_groups

from nmlsdr import graph
from nmlsdr._search import far_groups, memory


@pytest.fixture
def found_groups(monkeypatch):
    """Whether far_groups found any, call by call, with groups from 200 rows on."""
    answers = []
    find = far_groups.far_groups

    def spy(*arguments):
        groups = find(*arguments)
        answers.append(groups is not None)
        return groups

    monkeypatch.setattr(far_groups, "far_groups", spy)
    with small_groups():
        yield answers


def clusters(rng, sizes, *, gap=1e4, width=1e-3, d=12):
    """Gaussian clusters of the given sizes around far centres, their rows mixed."""
    centres = gap * rng.standard_normal((len(sizes), d))
    of = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return centres[of] + width * rng.standard_normal((len(of), d))


def nested(rng):
    """Clusters of clusters: the second gap shows only within a group of the first."""
    inner = clusters(rng, [330, 330], gap=1e-2, width=1e-8)
    return np.concatenate([inner, 1e6 + inner])[rng.permutation(2 * len(inner))]


CASES = {
    "two": lambda g: clusters(g, [200, 200]),
    "width 1e-3 of the gap": lambda g: clusters(g, [200, 200], width=10.0),
    "three": lambda g: clusters(g, [150, 180, 90]),
    "twenty": lambda g: clusters(g, [25] * 20),
    "nested": nested,
    "fewer rows than neighbours": lambda g: clusters(g, [250, 200, 6]),
    "as many rows as neighbours": lambda g: clusters(g, [250, 200, 7]),
    "one more row than neighbours": lambda g: clusters(g, [250, 200, 8]),
    "one row alone": lambda g: clusters(g, [250, 200, 1]),
    "outliers": lambda g: clusters(g, [250, 200] + [1] * 9),
    "one cluster and an outlier": lambda g: clusters(g, [400, 1]),
    "offset": lambda g: 1e8 + clusters(g, [200, 200]),
    "tiny": lambda g: 1e-30 * clusters(g, [200, 200]),
    "squares underflow": lambda g: 1e-160 * clusters(g, [200, 200]),
    "largest": lambda g: 1e140 * clusters(g, [200, 200]),
    "copies within": lambda g: np.repeat(clusters(g, [40, 40, 40]), 4, axis=0),
    "three rows": lambda g: clusters(g, [150, 150, 150], width=0.0),
    "ties within": lambda g: np.round(clusters(g, [200, 200], d=9)),
}


@pytest.mark.quick_cases("float64-t", "float64-f", "float64-o", "float64-a", "float64-s", "float64-l", "float64-w")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_search_by_groups_equals_the_plain_implementation(name, dtype, found_groups, rng):
    with np.errstate(over="ignore", under="ignore"):
        X = CASES[name](rng)
        X = X if np.abs(X).max() > 1e30 else X.astype(dtype)
    expected = reference.kneighbors(X, 7)
    for n_jobs in (1, 2, 3):
        assert_same(graph.squared_neighbors(X, 7, n_jobs=n_jobs), expected)
    if dtype is np.float64 and name not in ("squares underflow", "one cluster and an outlier"):
        assert any(found_groups)
    Q = np.concatenate([X[::9], X[:5] * 1.5, X[:3] + X[-1], X[:1] * 0])
    assert_same(graph.squared_neighbors(X, 7, queries=Q), reference.kneighbors(X, 7, queries=Q))
    assert_same(graph.squared_neighbors(X, len(X) - 1), reference.kneighbors(X, len(X) - 1))


def test_a_group_missed_by_the_sample_is_found_among_all_rows(found_groups, rng):
    X = clusters(rng, [300, 300])
    sampled = np.union1d(np.arange(128) * 600 // 128, np.arange(256) * 600 // 256)
    missed = np.setdiff1d(np.arange(600), sampled)[::12]
    X[missed] = 1e4 * rng.standard_normal(12) + 1e-3 * rng.standard_normal((len(missed), 12))
    assert_same(graph.squared_neighbors(X, 7), reference.kneighbors(X, 7))
    assert any(found_groups)
    X[missed] = X[0] + 1.0  # near a group, far for the width of it
    assert_same(graph.squared_neighbors(X, 7), reference.kneighbors(X, 7))


@pytest.mark.quick_cases("gauss", "integers", "duplicates", "scales", "clusters", "closer")
@pytest.mark.parametrize("name", MAKERS)
def test_wrong_groups_never_change_the_result(name, found_groups, monkeypatch):
    """Wherever the line is cut, a query that may have neighbours beyond the cuts is searched among all rows."""
    X = make(name, (320, 12), 3)
    expected = scan(X, 5)
    Q = X[::3] * 1.5
    answers = scan(X, 5, Q)
    monkeypatch.setattr(far_groups, "_is_tight", lambda between: True)
    monkeypatch.setattr(far_groups, "_LEFT_OUT", 1.0)
    for shares in ([0.5], [0.1, 0.3, 0.9], [0.02, 0.04, 0.5], np.linspace(0.01, 0.99, 40)):
        monkeypatch.setattr(far_groups, "_cuts", lambda place, at=shares: [*np.quantile(place, at)])
        assert_same(graph.squared_neighbors(X, 5), expected)
        assert_same(graph.squared_neighbors(X, 5, queries=Q), answers)
    assert any(found_groups)


@pytest.mark.quick_cases("gauss", "integers", "duplicates", "scales", "clusters", "closer")
@pytest.mark.parametrize("name", MAKERS)
def test_no_row_beyond_the_cuts_is_nearer_than_the_bound(name, monkeypatch):
    monkeypatch.setattr(far_groups, "_is_tight", lambda between: True)
    monkeypatch.setattr(far_groups, "_LEFT_OUT", 1.0)
    for d in (1, 2, 30):
        X = make(name, (300, d), 1)
        Q = make(name, (40, d), 2)
        for queries in (None, Q):
            monkeypatch.setattr(far_groups, "_cuts", lambda place: [*np.quantile(place, [0.2, 0.21, 0.7])])
            with np.errstate(all="ignore"):
                groups = far_groups.far_groups(X, queries, 1)
            query_rows = X if queries is None else Q
            assert sorted(np.concatenate(groups.rows)) == [*range(300)]
            assert sorted(np.concatenate(groups.queries)) == [*range(len(query_rows))]
            for group, group_queries in zip(groups.rows, groups.queries, strict=True):
                outside = np.setdiff1d(np.arange(300), group)
                difference = query_rows[group_queries][:, None].astype(np.longdouble) - X[outside].astype(np.longdouble)
                nearest = np.sqrt((difference**2).sum(axis=2)).min(axis=1, initial=np.inf)
                assert (groups.apart[group_queries] <= nearest).all()


def test_the_bound_is_tight_on_a_line(rng):
    """Two groups on a line in 3 dimensions: the bound is the gap, but for rounding."""
    direction = rng.standard_normal(3)
    X = np.outer(np.concatenate([rng.random(400), 1e5 + rng.random(400)]), direction / np.linalg.norm(direction))
    groups = far_groups.far_groups(X, None, 5)
    assert len(groups.rows) == 2
    assert (groups.apart > 0.99998e5).all()


def scales_within_scales(rng, n_scales, per_scale, d, factor=12.0):
    """Tight clusters at 12, 144, ... on a line."""
    along = np.repeat(factor ** np.arange(n_scales), per_scale)[:, None] * np.ones(d)
    return (along * (1 + 1e-6 * rng.standard_normal(along.shape)))[rng.permutation(len(along))]


@pytest.mark.parametrize("factor", [3.0, 10.0, 12.0])
def test_nested_groups_equal_the_plain_implementation(factor, found_groups, rng):
    X = scales_within_scales(rng, 12, 60, 9, factor)
    expected = reference.kneighbors(X, 7)
    assert_same(graph.squared_neighbors(X, 7), expected)
    assert any(found_groups)
    Q = np.concatenate([X[::3], X[:5] * 1.5, 0 * X[:1]])
    assert_same(graph.squared_neighbors(X, 7, queries=Q), reference.kneighbors(X, 7, queries=Q))


@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_clusters_around_each_other_in_random_directions_are_parted_at_once(factor, rng):
    """Each cluster lies near one row of the next larger one, in a direction of its own."""
    X = []
    centre = np.zeros(32)
    for scale in factor ** -np.arange(12.0):
        X.append(centre + scale * rng.standard_normal((250, 32)))
        centre = centre + 10 * scale * rng.standard_normal(32)
    assert len(far_groups.far_groups(np.concatenate(X)[rng.permutation(3000)], None, 10).rows) >= 12


@pytest.mark.parametrize("factor", [2.0, 4.0, 10.0, 12.0])
def test_nested_scales_are_parted_at_once(factor, rng):
    X = scales_within_scales(rng, 40, 250, 32, factor)
    assert len(far_groups.far_groups(X, None, 10).rows) > 30


@pytest.mark.slow
def test_only_one_group_is_copied_at_a_time_at_any_depth(found_groups, rng):
    """tracemalloc counts NumPy's memory; what the kernels allocate is O(n k) and one window."""
    X = scales_within_scales(rng, 40, 250, 32)
    tracemalloc.start()
    try:
        neighbors = graph.squared_neighbors(X, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert any(found_groups)
    assert peak < 1.5 * X.nbytes
    assert_same(neighbors, scan(X, 5))


def test_distances_whose_squares_underflow_certify_nothing():
    X = np.repeat([[0.0], [1.6e-162], [1.0]], 7, axis=0)
    groups = far_groups.Groups([*np.arange(21).reshape(3, 7)], [*np.arange(21).reshape(3, 7)], np.zeros(21))
    ends = X[:, 0], np.zeros(21)
    apart = far_groups._apart(ends, groups.rows, ends, groups.queries)
    assert (apart[:14] == 0).all()
    assert (apart[14:] > 0.999).all()


def test_ordinary_rows_are_not_grouped(found_groups, rng):
    X = rng.standard_normal((600, 12))
    for rows in (X, X + 1e3, X + 5 * rng.integers(0, 2, (600, 1)), np.abs(X[:, :1]) * np.linspace(1, 2, 12)):
        assert_same(graph.squared_neighbors(rows, 5), scan(rows, 5))
    assert not any(found_groups)


def test_rows_beyond_memory_are_not_grouped(found_groups, rng, tmp_path, monkeypatch):
    X = clusters(rng, [200, 200])
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_same(graph.squared_neighbors(mapped, 7), reference.kneighbors(X, 7))
    assert found_groups == [True]  # the groups are not grouped again
    found_groups.clear()
    monkeypatch.setattr(memory, "memory_bytes", lambda: 1.9 * X.nbytes)
    assert_same(graph.squared_neighbors(mapped, 7), reference.kneighbors(X, 7))
    assert not found_groups
