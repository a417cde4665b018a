"""Far tight clusters: the groups that are searched alone give what the search of all rows gives."""

import tracemalloc

import numpy as np
import pytest
from neighbor_cases import MAKERS, assert_same, make, scan, small_groups

from nmlsdr import _reference, graph
from nmlsdr._search import far_groups, memory


@pytest.fixture
def taken(monkeypatch):
    """Whether far_groups found any, call by call, with groups from 200 rows on."""
    answers = []
    find = far_groups.far_groups

    def spy(*given):
        found = find(*given)
        answers.append(found is not None)
        return found

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


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_groups_equal_the_twin(name, dtype, taken, rng):
    with np.errstate(over="ignore", under="ignore"):
        X = CASES[name](rng)
        X = X if np.abs(X).max() > 1e30 else X.astype(dtype)
    expected = _reference.kneighbors(X, 7)
    for n_jobs in (1, 2, 3):
        assert_same(graph.squared_neighbors(X, 7, n_jobs=n_jobs), expected)
    if dtype is np.float64 and name not in ("squares underflow", "one cluster and an outlier"):
        assert any(taken)
    Q = np.concatenate([X[::9], X[:5] * 1.5, X[:3] + X[-1], X[:1] * 0])
    assert_same(graph.squared_neighbors(X, 7, queries=Q), _reference.kneighbors(X, 7, queries=Q))
    assert_same(graph.squared_neighbors(X, len(X) - 1), _reference.kneighbors(X, len(X) - 1))


def test_a_group_that_the_sample_missed_is_asked_of_all_rows(taken, rng):
    X = clusters(rng, [300, 300])
    sampled = np.union1d(np.arange(128) * 600 // 128, np.arange(256) * 600 // 256)
    missed = np.setdiff1d(np.arange(600), sampled)[::12]
    X[missed] = 1e4 * rng.standard_normal(12) + 1e-3 * rng.standard_normal((len(missed), 12))
    assert_same(graph.squared_neighbors(X, 7), _reference.kneighbors(X, 7))
    assert any(taken)
    X[missed] = X[0] + 1.0  # near a group, far for the width of it
    assert_same(graph.squared_neighbors(X, 7), _reference.kneighbors(X, 7))


@pytest.mark.parametrize("name", MAKERS)
def test_wrong_groups_never_change_an_answer(name, taken, monkeypatch):
    """Whatever centres and reach are proposed, a row that is not certified is asked of all rows."""
    X = make(name, (320, 12), 3)
    rng = np.random.default_rng(4)
    expected, Q = scan(X, 5), X[::3] * 1.5
    answers = scan(X, 5, Q)
    monkeypatch.setattr(far_groups, "_looks_grouped", lambda rows: True)
    monkeypatch.setattr(far_groups, "_FAILED", 1.0)
    between = np.sqrt(np.median(scan(X, 319)[0]))
    for reach in (0.5 * between, 0.9 * between, between, 1.5 * between, np.inf):
        centres = X[rng.choice(320, 6, replace=False)].astype(float)
        proposed = {320: (centres, reach)}  # the groups are not grouped again
        monkeypatch.setattr(far_groups, "_groups", lambda rows, proposed=proposed: proposed.get(len(rows)))
        assert_same(graph.squared_neighbors(X, 5), expected)
        assert_same(graph.squared_neighbors(X, 5, queries=Q), answers)
    assert any(taken)


@pytest.mark.parametrize("reach", [1.2, 5.0])
def test_a_row_at_the_rim_is_not_certified(reach, taken, monkeypatch, rng):
    """Row 0 is nearer to the other group (to strays, if the reach is small) than to its own, all of which it faces."""
    X = 1e-3 * rng.standard_normal((320, 9))
    X[:200, 0] += -1.0
    X[0, 0] = 1.0
    X[200:300, 0] += 20.0
    X[300:, 0] += 2.5
    centres = np.zeros((2 if reach < 2 else 3, 9))
    centres[:, 0] = [0.0, 20.0, 2.5][: len(centres)]
    monkeypatch.setattr(far_groups, "_looks_grouped", lambda rows: True)
    monkeypatch.setattr(far_groups, "_groups", lambda rows: (centres, reach) if len(rows) == 320 else None)
    monkeypatch.setattr(far_groups, "_FAILED", 1.0)
    expected = scan(X, 5)
    assert expected[1][0].min() >= 300
    assert_same(graph.squared_neighbors(X, 5), expected)
    assert any(taken)


def scales_within_scales(rng, n_scales, per_scale, d):
    """Tight clusters at 12, 144, ...: the first look parts the farthest from the others, the next look the next."""
    along = np.repeat(12.0 ** np.arange(n_scales), per_scale)[:, None] * np.ones(d)
    return (along * (1 + 1e-6 * rng.standard_normal(along.shape)))[rng.permutation(len(along))]


def test_groups_within_groups_within_groups_equal_the_twin(taken, rng):
    X = scales_within_scales(rng, 12, 60, 9)
    expected = _reference.kneighbors(X, 7)
    assert_same(graph.squared_neighbors(X, 7), expected)
    assert sum(taken) >= 6
    Q = np.concatenate([X[::3], X[:5] * 1.5, 0 * X[:1]])
    assert_same(graph.squared_neighbors(X, 7, queries=Q), _reference.kneighbors(X, 7, queries=Q))


def test_no_more_than_one_group_is_copied_however_deep_it_lies(taken, rng):
    """tracemalloc counts NumPy's memory; what the kernels allocate is O(n k) and one window."""
    X = scales_within_scales(rng, 40, 250, 32)
    tracemalloc.start()
    try:
        found = graph.squared_neighbors(X, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(taken) >= 20
    assert peak < 2.5 * X.nbytes
    assert_same(found, scan(X, 5))


def assert_certified_rows_are_right(X, k, centres, reach):
    """What is certified needs no row outside its group; returns how many rows are."""
    with np.errstate(all="ignore"):
        groups = far_groups._certify(X, None, k, np.asarray(centres, dtype=float), reach)
    expected = _reference.kneighbors(X, k)[1]
    for group, sure in zip(groups.members, groups.sure, strict=True):
        assert np.isin(expected[sure], group).all()
    return sum(len(sure) for sure in groups.sure)


def test_a_group_is_as_wide_as_its_farthest_row():
    """Row 0 lies at the centre, the others of its group 1 from it, and a row of the other group .8 from it."""
    X = np.array([[0.0], [-1.0], [-1.0], [-1.0], [0.8], [1.5], [2.2]])
    assert_certified_rows_are_right(X, 2, [[0.0], [1.5]], 1.2)
    X[4:] += 3.0
    assert assert_certified_rows_are_right(X, 2, [[0.0], [4.5]], 1.2) == 7


def test_rows_that_only_rounding_could_certify_are_not(rng):
    """On a line, where the certificate is tight: a row of the other group is nearer than the own by the last bits."""
    certified = 0
    for trial in range(3000):
        o, r = rng.uniform(0.1, 1.0, 2)
        nearer = 2.0 ** -rng.integers(40, 56) if trial % 10 else -rng.uniform(0.1, 0.5)
        rim = o + (o + r) * (1 - nearer)
        far = 1.9 * rim
        direction = rng.standard_normal(3)
        direction /= np.linalg.norm(direction)
        X = np.outer([rim, o, -r, far, 2 * far - rim], direction) + rng.choice([0.0, 1.0, 1e3]) * rng.standard_normal(3)
        centres = (X[2] + r * direction, X[3])
        certified += assert_certified_rows_are_right(X, 1, centres, far)
    assert certified > 300


def test_distances_whose_squares_underflow_certify_nothing():
    """Row 0 has a distance from the centre, and so is a stray; from the other rows it has none: a tie that it wins."""
    X = np.full((21, 1), 0.1e-162)
    X[0] = 1.6e-162
    assert np.sqrt(np.square(X[0, 0])) > 0
    assert np.square(X[0, 0] - X[1, 0]) == 0
    assert _reference.kneighbors(X, 1)[1].ravel().tolist() == [1] + 20 * [0]
    assert assert_certified_rows_are_right(X, 1, [[0.0]], 1e-162) == 0


def test_ordinary_rows_are_not_grouped(taken, rng):
    X = rng.standard_normal((600, 12))
    for rows in (X, X + 1e3, X + 5 * rng.integers(0, 2, (600, 1)), np.abs(X[:, :1]) * np.linspace(1, 2, 12)):
        assert_same(graph.squared_neighbors(rows, 5), scan(rows, 5))
    assert not any(taken)


def test_rows_beyond_memory_are_not_grouped(taken, rng, tmp_path, monkeypatch):
    X = clusters(rng, [200, 200])
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_same(graph.squared_neighbors(mapped, 7), _reference.kneighbors(X, 7))
    assert taken == [True, False, False]  # the groups are not grouped again
    taken.clear()
    monkeypatch.setattr(memory, "memory_bytes", lambda: 1.9 * X.nbytes)
    assert_same(graph.squared_neighbors(mapped, 7), _reference.kneighbors(X, 7))
    assert not taken
