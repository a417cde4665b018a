"""Products of 16-bit and 8-bit integers, which rule out pairs of rows, find the same bits as all canonical distances.

Rows are rounded to integers, so distances of rounded rows are off by up to sqrt(d) in units of the rounding.  The
thresholds of the search contain that slack.  These tests force the integers on data that break neighbour searches, and
build rows for which almost all of the slack is needed.  At levels without 8-bit integers, 16-bit ones take their place.
"""

import itertools

import numpy as np
import pytest
from neighbor_cases import (
    BYTE_LEVELS,
    INTEGER_LEVELS,
    LEVELS,
    MAKERS,
    assert_same,
    by_index,
    by_leads,
    by_products,
    make,
    rounded_apart_rows,
    scan,
)
from scipy import sparse

from nmlsdr import _graph, graph
from nmlsdr._search.rows import kernel_rows

pytestmark = pytest.mark.skipif(not INTEGER_LEVELS, reason="this processor has no level with integers")


def by_integers(X, k, integers=16, *, level=INTEGER_LEVELS[-1] if INTEGER_LEVELS else 0, **options):
    return by_products(X, k, integers=integers, level=level, **options)


@pytest.mark.parametrize("copies", [1, 60])  # a threshold by ranked bounds; one by distances of a full buffer
@pytest.mark.parametrize("d", [96, 192, 1000])
@pytest.mark.parametrize("level", INTEGER_LEVELS)
def test_neighbours_are_exact_when_all_roundings_to_integers_add_up(level, d, copies):
    query, rows = rounded_apart_rows(d, copies=copies)
    indices = scan(rows, 2, query)[1]
    assert indices[0].tolist() == [copies, 0]
    whole = np.round(np.concatenate([query, rows[[copies, 0]]]))
    apart = np.linalg.norm(whole[0] - whole[1]) - np.linalg.norm(whole[0] - whole[2])
    assert apart > 1.9 * np.sqrt(d) * (1 - 0.02 - 3 / d)  # of 2 sqrt(d), by which the rounded rows mislead at most
    for k in (1, 2, 17):
        found = by_integers(rows, k, queries=query, level=level, n_threads=1)
        assert found[2]["integers"]
        assert not found[2]["integral"]
        assert_same(found, scan(rows, k, query))


def with_far_rows(near, unit=100):
    """The same rows with 28 more features, and more rows that lie far away in these.

    The scale of 16-bit integers is then 1, their centre is 0, and the unit of 8-bit integers is ``unit``.
    """
    d = near.shape[1] + 28
    top, norm = 127 * unit - 1, 46340 - np.sqrt(d) / 2 - 1
    direction = np.zeros(14)
    n_top = int(norm**2 / top**2)
    direction[: n_top + 1] = [*[top] * n_top, np.sqrt(norm**2 - n_top * top**2)]
    kinds = np.kron([[1, 0], [-1, 0], [0, 1]], direction)
    far = kinds[np.arange(3 * len(near) + 12) % 3]
    return np.concatenate([np.pad(near, [(0, 0), (28, 0)]), np.pad(far, [(0, 0), (0, d - 28)])])


def coarsely_rounded_apart_rows(d, copies):
    """A query and rows as above for a unit of 250: all near rows are integers, so 16 bits are exact."""
    query, rows = rounded_apart_rows(d - 25, copies=copies, unused=0.03, m=2, e=0.004)
    rows = with_far_rows(250 * np.concatenate([query, rows[: copies + 1]])[:, :-3], unit=250)
    return rows[:1], rows[1:]


@pytest.mark.parametrize("d", [96, 192, 1000])
@pytest.mark.parametrize("level", BYTE_LEVELS)
def test_neighbours_are_exact_when_all_roundings_to_8_bits_add_up(level, d):
    copies = 60  # more than the columns of a tile, so that they set the threshold before the nearest row comes
    query, rows = coarsely_rounded_apart_rows(d, copies)
    assert scan(rows, 2, query)[1][0].tolist() == [copies, 0]
    near = np.concatenate([query, rows[[copies]]])
    whole = np.round(near / 250) * 250
    slack = 2 * np.linalg.norm(near - whole, axis=1).max()
    misled = np.linalg.norm(whole[0] - whole[1]) - np.linalg.norm(query - rows[0])
    assert 0.981 * slack < misled < slack  # in 8 bits the nearest row is farther away, by almost all of the slack
    for k in (1, 2, 17):
        found = by_integers(rows, k, 8, queries=query, level=level, n_threads=1)
        assert found[2]["integers"] == 8
        assert not found[2]["integral"]
        assert_same(found, scan(rows, k, query))


@pytest.mark.parametrize("rounded", ["query", "row"])
@pytest.mark.parametrize("level", BYTE_LEVELS)
def test_neighbours_are_exact_when_only_the_query_or_only_the_nearest_row_is_rounded_to_8_bits(level, rounded):
    """All others are multiples of the unit of the rounding; the nearest row is not among the rows of the sample."""
    d, unit, copies = 68, 100, 61
    small = np.arange(d) < (0.85 if rounded == "query" else 0.4) * d
    copy = np.where(small, -3 * unit, -4 * unit)
    query = np.full(d, 49.0 if rounded == "query" else 0.0)
    nearest = query + 351
    rows = with_far_rows(np.concatenate([[query], np.tile(copy, (copies, 1)), [nearest]]))
    query, rows = rows[:1], rows[1:]
    assert scan(rows, 2, query)[1][0].tolist() == [copies, 0]
    for k in (1, 2, 17):
        found = by_integers(rows, k, 8, queries=query, level=level, n_threads=1)
        assert found[2]["integers"] == 8
        assert_same(found, scan(rows, k, query))


@pytest.mark.parametrize("level", BYTE_LEVELS)
def test_8_bits_rule_out_most_pairs(level):
    X = np.random.default_rng(0).standard_normal((2000, 100))
    found = by_integers(X, 5, 8, level=level, n_threads=1)
    assert 2000 * 5 < found[2]["checked"] < 0.12 * 2000 * 1999 / 2
    assert found[2]["decided"] < 2 * 2000 * 5
    assert_same(found, scan(X, 5))
    assert by_integers(X, 5, level=level)[2]["checked"] == 0


@pytest.mark.parametrize("level", BYTE_LEVELS)
def test_8_bits_are_used_for_so_many_features_that_sums_fit_32_bits(level):
    X = np.zeros((6, 65537))
    X[0], X[1], X[2, ::2], X[3, :9], X[4] = 127, -127, 127, 1, 126.5
    for d, bits in ((65536, 8), (65537, 16)):
        found = by_integers(X[:, :d], 5, 8, level=level)
        assert found[2]["integers"] == bits
        assert_same(found, scan(X[:, :d], 5))


@pytest.mark.quick_cases("-64", "gauss-801", "outlier-801", "largest-801", "integers-801", "denormal-801", "scales-801")
@pytest.mark.parametrize("shape", [(130, 5), (300, 64), (403, 129), (200, 801)], ids=lambda shape: str(shape[1]))
@pytest.mark.parametrize("name", MAKERS)
def test_integers_find_the_same_bits_on_every_kind_of_data(name, shape):
    X = make(name, shape, 3)
    Q = np.concatenate([X[::9], 0.75 * X[::7]])
    ways = [(16, level) for level in INTEGER_LEVELS] + [(8, level) for level in BYTE_LEVELS]
    for k in (1, 10, 40):
        expected, answers = scan(X, k), scan(X, k, Q)
        for (bits, level), options in itertools.product(
            ways, ({}, {"n_threads": 1, "window_bytes": 1.0, "budget": 1.0})
        ):
            assert_same(by_integers(X, k, bits, level=level, **options), expected)
            assert_same(by_integers(X, k, bits, queries=Q, level=level, **options), answers)


@pytest.mark.parametrize("bits", [16, 8])
@pytest.mark.parametrize("name", ["gauss", "binary", "duplicates", "outlier"])
def test_integers_of_float32_rows_of_sparse_rows_and_with_leading_coordinates(name, bits):
    X = make(name, (403, 70), 4).astype(np.float32)
    few = sparse.csr_array(np.where(np.abs(X) > 0.5, X, 0))
    for level in INTEGER_LEVELS if bits == 16 else BYTE_LEVELS:
        assert_same(by_integers(X, 9, bits, level=level), scan(X, 9))
        assert_same(by_integers(few, 9, bits, postings=0, level=level), scan(few, 9))
        found = by_integers(few, 9, bits, postings=1, level=level)
        assert not found[2]["integers"]
        assert_same(found, scan(few, 9))
        found = by_leads(X, 9, integers=bits, level=level)
        assert found[2]["lead_d"]
        assert_same(found, scan(X, 9))


@pytest.mark.parametrize("level", INTEGER_LEVELS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 9, 385, 1200])
def test_sums_of_the_largest_integers_do_not_overflow(d, level):
    """Opposite and equal rows of the largest norm: in one feature, in two, and evenly in all of them."""
    one, two, evenly = np.zeros(d), np.zeros(d), np.full(d, 1 / np.sqrt(d))
    one[0], two[:2] = 1, 1 / np.sqrt(min(d, 2))
    directions = np.concatenate([[one, two, evenly]] * 4) * np.repeat([1, -1, 1, 1 - 1e-9], 3)[:, None]
    X = np.concatenate([np.zeros((40, d)), 0.1 * directions, directions]) * 1234.5678
    for k, bits in itertools.product((1, 3, 20), (16, 8)):
        found = by_integers(X, k, bits, level=level)
        assert found[2]["integers"]
        assert_same(found, scan(X, k))


def test_small_integers_are_exact_and_need_no_slack():
    X = np.random.default_rng(0).integers(0, 3, (600, 50)).astype(float)
    for bits in (16, 8):
        found = by_integers(X, 10, bits)
        assert found[2]["integers"]
        assert found[2]["integral"]
        assert found[2]["decided"] == 0
        assert_same(found, scan(X, 10))


@pytest.mark.parametrize("scale", [1e-309, 1e-200, 1e150])
def test_rows_beyond_the_range_of_the_scale_are_compared_as_floats(scale):
    X = scale * np.random.default_rng(0).standard_normal((200, 9))
    found = by_integers(X, 5)
    assert not found[2]["integers"]
    assert_same(found, scan(X, 5))


@pytest.mark.parametrize("level", LEVELS)
def test_integers_are_chosen_for_many_rows_and_features_and_given_up_for_outliers(level):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 128)).astype(np.float32)
    faster = 16 if level in INTEGER_LEVELS else 0
    assert by_products(X, 10, level=level)[2]["integers"] == faster
    assert not by_products(X[:990], 10, level=level)[2]["integers"]
    assert not by_products(X[:, :20], 10, level=level)[2]["integers"]
    assert by_products(np.round(X), 10, level=level)[2]["integers"] == faster  # also where many distances are equal
    X[500] *= 1e5  # all other rows are then rounded to a few integers
    found = by_products(X, 10, level=level)
    assert not found[2]["integers"]
    assert_same(found, by_products(X, 10, level=level, integers=0))


def test_8_bits_are_chosen_where_few_pairs_pass_for_the_products_that_they_save():
    rng = np.random.default_rng(0)
    best = _graph.SIMD_LEVELS[LEVELS[-1]]
    spread, coded = rng.standard_normal((4000, 300)), rng.integers(0, 2, (4000, 300)).astype(float)
    heavy = spread.copy()
    heavy[7, 7] = 60  # all other values are then between -10 and 10
    for X, k, bits in (
        (coded, 10, 8), (coded[:, :40], 10, 16), (coded, 80, 16), (coded[:3990], 10, 16), (heavy, 10, 16),
    ):
        assert by_products(X, k)[2]["integers"] == {"vnni": bits, "avx2": 16, "avx512": 16}.get(best, 0)
    found = by_products(coded, 10, queries=coded[:300])  # to pack the rows takes longer than is saved
    assert found[2]["integers"] in (0, 16)


def index_of_integers(X):
    return _graph.Index(kernel_rows(X), packed=True, integers=16, level=INTEGER_LEVELS[-1], n_threads=1)


@pytest.mark.parametrize("name", MAKERS)
def test_rows_packed_once_as_integers_find_the_same_bits(name):
    X = make(name, (403, 70), 5)
    Q = np.concatenate([X[::9], 0.75 * X[::7], make(name, (3, 70), 6)])
    index = index_of_integers(X)
    Q = np.concatenate([Q[:1], *(Q[[i]] for i in range(1, len(Q)) if index.takes(kernel_rows(Q[[i]])))])
    for level in INTEGER_LEVELS:
        for n_threads in (1, 3):
            assert_same(by_index(X, Q, 9, integers=16, level=level, n_threads=n_threads)[:2], scan(X, 9, Q))


@pytest.mark.parametrize("copies", [1, 60])
def test_an_index_is_exact_when_all_roundings_to_integers_add_up(copies):
    query, rows = (2 * side for side in rounded_apart_rows(192, copies=copies))  # its scale is half as large
    for k in (1, 2, 17):
        found = by_index(rows, query, k, integers=16, level=INTEGER_LEVELS[-1], n_threads=1)
        assert found[2]["integers"]
        assert_same(found[:2], scan(rows, k, query))


@pytest.mark.parametrize("d", [1, 2, 5, 300])
def test_an_index_of_integers_refuses_queries_whose_sums_would_overflow(d):
    """Queries up to twice as long as the longest row are taken, of longer ones only those that cannot overflow."""
    X = np.zeros((60, d))
    X[40:] = np.linspace(-1, 1, 20)[:, None]
    index = index_of_integers(X)
    for length in (1, 1.99, 2.01, 3.9, 4.1, 100):
        Q = np.full((1, d), float(length))
        if index.takes(kernel_rows(Q)):
            found = by_index(X, Q, 5, integers=16, level=INTEGER_LEVELS[-1])
            assert found[2]["integers"]
            assert_same(found[:2], scan(X, 5, Q))
        assert index.takes(kernel_rows(Q)) or length > 1.999
    assert not index.takes(kernel_rows(np.full((1, d), 5.0)))


def test_public_searches_have_the_same_bits_whether_integers_are_chosen_or_not():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1100, 100)).astype(np.float32)
    Q = rng.standard_normal((300, 100)).astype(np.float32)
    for n_jobs in (1, 2):
        assert_same(graph.squared_neighbors(X, 7, n_jobs=n_jobs), by_products(X, 7, integers=0))
        assert_same(graph.squared_neighbors(X, 7, queries=Q, n_jobs=n_jobs), by_products(X, 7, queries=Q, integers=0))
