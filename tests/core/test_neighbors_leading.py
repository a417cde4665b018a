"""Leading coordinates may only rule pairs out: the same bits with them and without, and less work where they hold."""

import numpy as np
import pytest
from neighbor_cases import LEVELS, MAKERS, any_leads, assert_same, by_products, make, scan

from nmlsdr._checks.arguments import check_rows
from nmlsdr._search import leading, memory, strategy


@pytest.fixture
def always():
    with any_leads():
        yield


def folded(n, d):
    rng = np.random.default_rng(0)
    bent = np.tanh(rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) / 3)
    return bent + 0.01 * rng.standard_normal((n, d))


def coordinates(X, queries=None):
    return leading.leading_coordinates(X, queries, 2)


@pytest.mark.quick_cases("gauss-200", "integers-200", "scales-200", "offset-200", "clusters-200", "last bits-200")
@pytest.mark.parametrize("d", [33, 200])
@pytest.mark.parametrize("name", MAKERS)
def test_the_same_bits_on_every_kind_of_data(name, d, always):
    X = make(name, (403, d), 5)
    Q = np.concatenate([X[::9], 0.75 * X[::7], make("gauss", (5, d), 6)])
    leads = coordinates(X)
    leads_of_both = coordinates(X, Q)
    if name not in ("all equal", "largest", "squares underflow", "denormal"):  # no variance, or none in range
        assert leads is not None
    expected = scan(X, 9)
    answers = scan(X, 9, Q)
    for level in LEVELS:
        for options in ({}, {"n_threads": 3, "budget": 1.0}):
            assert_same(by_products(X, 9, leads=leads, level=level, **options), expected)
            assert_same(by_products(X, 9, leads=leads_of_both, queries=Q, level=level, **options), answers)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distant_pairs_are_ruled_out(dtype):
    X, Q = np.split(folded(5000, 80).astype(dtype), [4500])
    neighbors = by_products(X, 10, leads=coordinates(X), budget=100.0)
    assert neighbors[2]["lead_d"] == 8
    assert 0 < neighbors[2]["alive"] < 0.5 * neighbors[2]["tiles"]
    assert_same(neighbors, by_products(X, 10, leads=None))
    query_neighbors = by_products(X, 10, leads=coordinates(X, Q), queries=Q)
    assert 0 < query_neighbors[2]["alive"] < 0.7 * query_neighbors[2]["tiles"]
    assert_same(query_neighbors, by_products(X, 10, leads=None, queries=Q))


def test_leading_coordinates_keep_integer_distances_exact():
    X = np.round(40 * folded(4500, 80))
    neighbors = by_products(X, 10, leads=coordinates(X))
    assert neighbors[2]["integral"]
    assert neighbors[2]["alive"] < 0.8 * neighbors[2]["tiles"]
    assert_same(neighbors, by_products(X, 10, leads=None))


@pytest.mark.slow
def test_loose_thresholds_of_the_first_pairs_do_not_end_the_test():
    rng = np.random.default_rng(0)
    X = np.tanh(rng.standard_normal((40_000, 10)) @ rng.standard_normal((10, 128)) / 3)
    X = (X + 0.01 * rng.standard_normal(X.shape)).astype(np.float32)
    neighbors = by_products(X, 10, leads=coordinates(X))
    assert neighbors[2]["lead_d"] == 12
    assert 0 < neighbors[2]["alive"] < 0.5 * neighbors[2]["tiles"]  # of the last pairs; AVX2 30 %, VNNI fewer
    assert_same(neighbors, by_products(X, 10, leads=None))


@pytest.mark.parametrize("scale", [1.0, 1e70, 1e149])
def test_coordinates_beyond_the_range_of_the_products_are_left_out(scale, always):
    """Equal rows are integers around a centre of their own; around their mean, rounding leaves numbers of any size."""
    X = np.full((70, 40), 0.7343 * scale)
    leads = coordinates(X, X[:25])
    if leads is None:
        leads = leading.Leads(8, np.full((70, 9), scale), np.arange(70), np.full((25, 9), scale), np.arange(25))
    assert_same(by_products(X, 3, leads=leads, queries=X[:25]), scan(X, 3, X[:25]))


def test_coordinates_that_rule_nothing_out_are_given_up(always, rng):
    X = rng.standard_normal((6000, 40))
    leads = coordinates(X)
    assert leads.d == 8
    neighbors = by_products(X, 10, leads=leads, budget=100.0)
    assert neighbors[2]["lead_d"] == 0
    assert_same(neighbors, by_products(X, 10, leads=None))


def test_no_coordinates_where_they_do_not_pay(rng):
    assert coordinates(folded(3000, 80)) is None  # few rows
    assert coordinates(rng.standard_normal((5000, 11)) @ rng.standard_normal((11, 80))) is None  # few for 12 of them
    assert coordinates(folded(4500, 20)) is None  # few features
    assert coordinates(rng.standard_normal((4500, 80))) is None  # no leading directions
    assert coordinates(np.ones((4500, 80))) is None


@pytest.mark.parametrize(
    ("variances", "largest", "n_coordinates"),
    [
        ([95, 5], 32, 8),  # the fewest with .9 of the variance
        ([65, 30, 5], 32, 12),
        ([65, 10, 10, 15], 32, 16),  # none has .9: the most
        ([65, 10, 10, 15], 12, 0),  # which are too many for so few rows
        ([50, 5, 10, 35], 32, 16),
        ([50, 5, 4, 41], 32, 0),  # none has .6
    ],
)
def test_the_number_of_coordinates_follows_the_variance_of_held_out_rows(variances, largest, n_coordinates):
    """`variances`: percent of the first 8 axes, of axes 9 to 12, of 13 to 16, and of features beyond 16."""
    shares = [*variances, 0, 0][:4]
    squares = np.repeat(np.divide(shares, (8, 4, 4, 64)), (8, 4, 4, 64))
    rows = np.diag(np.sqrt(squares))
    assert leading._n_coordinates(rows, np.eye(80)[:, :16], largest) == n_coordinates


def test_rows_beyond_memory_are_read_in_order(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", folded(4500, 80))
    mapped = check_rows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert strategy.strategy("products", mapped, None, 5, 2).leads is not None
    monkeypatch.setattr(memory, "memory_bytes", lambda: 1.9 * mapped.nbytes)
    assert strategy.strategy("products", mapped, None, 5, 2).method == "products"
    assert strategy.strategy("products", np.array(mapped), None, 5, 2).leads is not None


def test_coordinates_shorten_every_difference_and_order_all_rows():
    X = folded(4500, 80)
    d, lead, order, *_ = coordinates(X)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(X)))
    pairs = np.random.default_rng(0).integers(0, len(X), (2, 2000))
    short = np.sum((lead[pairs[0], :d] - lead[pairs[1], :d]) ** 2, axis=1)
    full = np.sum((X[pairs[0]] - X[pairs[1]]) ** 2, axis=1)
    assert (short <= full).all()
    assert np.median(short[full > 0] / full[full > 0]) > 0.8


@pytest.mark.parametrize("seed", [1, 10])  # of twelve seeds, those whose sums of products are rounded down
@pytest.mark.parametrize("level", LEVELS)
def test_rounded_leading_coordinates_do_not_rule_out_rows_that_are_almost_equal(level, seed, always):
    """Clusters so tight that float32 rounds their leading coordinates to the same numbers."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((12, 8)) @ np.linalg.qr(rng.standard_normal((33, 8)))[0].T
    X = centres[rng.integers(0, 12, 2400)] + 1e-9 * rng.standard_normal((2400, 33))
    neighbors = by_products(X, 3, integers=0, leads=coordinates(X), level=level, n_threads=1)
    assert_same(neighbors, scan(X, 3))
