"""The search over Dask rows: which parts are compared when, the plan for the workers' memory, and its message."""

import logging
from itertools import combinations

import numpy as np
import pytest
from dask_cases import blocks_of, draw

import nmlsdr
import nmlsdr.dask
from nmlsdr import graph
from nmlsdr.dask import _neighbors as neighbor_tasks
from nmlsdr.dask import _search_plan
from nmlsdr.dask._rows import DaskRows
from nmlsdr.dask._search_plan import PRIMES, Site, cut_rows, lines, make_plan

da = pytest.importorskip("dask.array", reason="needs Dask: pip install 'nmlsdr[dask]'")

pytestmark = pytest.mark.usefixtures("quiet")


# ---------------------------------------------------------------- comparisons of parts


@pytest.mark.parametrize("q", [q for q in PRIMES if 1 < q <= 13])
def test_any_two_parts_are_compared_exactly_once(q):
    met = [pair for line in lines(q) for pair in combinations(sorted(line), 2)]
    assert len(met) == len(set(met)) == q**2 * (q**2 - 1) // 2
    assert len(lines(q)) == q**2 + q
    assert all(len(line) == q for line in lines(q))


@pytest.mark.parametrize("edges", [[0, 100], [0, 1, 2, 100], [0, 30, 30, 61, 100], list(range(101))])
@pytest.mark.parametrize("parts", [1, 4, 9, 25])
def test_parts_cover_the_rows_in_order(edges, parts):
    cuts = cut_rows(np.array(edges), parts)
    assert len(cuts) == parts + 1
    assert cuts[0] == 0
    assert cuts[-1] == 100
    assert (np.diff(cuts) >= 0).all()
    assert np.diff(cuts).max() <= 1.5 * 100 / parts + 1


@pytest.mark.quick_cases("chunks0-1", "chunks1-3", "chunks2-7", "euclidean-9-chunks3")
@pytest.mark.parametrize("order", [1, 3, 7])
@pytest.mark.parametrize("chunks", [(150,), (149, 1), (50, 50, 50), (13,) * 11 + (7,)])
@pytest.mark.parametrize("k", [1, 9, 149])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_lists_do_not_depend_on_the_order_of_comparisons(rng, monkeypatch, order, chunks, k, metric):
    assert_lists_of_one_search(draw(rng)[0], monkeypatch, order, chunks, k, metric)


def assert_lists_of_one_search(X, monkeypatch, order, chunks, k, metric):
    """Blocks of these sizes, compared in this order, give the lists of a search of all rows at once."""
    plan = neighbor_tasks.make_plan
    monkeypatch.setattr(neighbor_tasks, "make_plan", lambda *a, **b: plan(*a, **b)._replace(order=order))
    squared, indices = graph.squared_neighbors(X, k, metric=metric)
    rows = DaskRows.of(da.from_array(X, chunks=(chunks, (6,))))
    neighbors = neighbor_tasks.neighbors(rows, k, metric=metric)
    np.testing.assert_array_equal(neighbors.indices, indices)
    np.testing.assert_array_equal(neighbors.squared, squared)


def test_a_selection_of_dask_rows_is_searched_like_the_same_rows_in_memory(rng):
    X, _ = draw(rng)
    selection = np.flatnonzero(rng.random(150) < 0.5)
    rows = DaskRows.of(da.from_array(X, chunks=(17, -1)))[selection][np.arange(len(selection)) % 3 > 0]
    selected_rows = X[selection][np.arange(len(selection)) % 3 > 0]
    np.testing.assert_array_equal(rows.array().compute(), selected_rows)
    np.testing.assert_array_equal(
        neighbor_tasks.neighbors(rows, 4).indices, graph.squared_neighbors(selected_rows, 4)[1]
    )


# ---------------------------------------------------------------- the plan


def site(memory, threads=2):
    return Site(threads, threads, memory)


@pytest.fixture
def without_probe(monkeypatch):
    """A plan for rows of some gigabytes, which are not made."""
    monkeypatch.setattr(_search_plan, "_estimate", lambda *arguments: None)


@pytest.mark.usefixtures("without_probe")
def test_a_plan_fits_the_workers_or_its_error_says_what_to_change():
    rows = DaskRows.of(da.zeros((100_000, 10_000), chunks=(5000, -1), dtype=np.float32))
    for memory in (0.3e9, 1e9, 2e9, 4e9, 64e9):
        if memory == 0.3e9:
            with pytest.raises(ValueError, match="make the blocks smaller"):
                make_plan(rows, 10, site=site(memory))
            continue
        plan = make_plan(rows, 10, site=site(memory))
        assert plan.task_bytes + rows.largest_block() <= 0.6 * memory
        assert plan.n_tasks >= 6
        assert plan.bytes_read == (plan.order + 1) * 4e9
    assert f"rows in {plan.n_tasks} task(s) of " in str(plan)
    assert make_plan(rows, 10, site=site(np.inf)).order == 2


@pytest.mark.usefixtures("without_probe")
def test_a_plan_by_angle_counts_the_unit_rows():
    rows = DaskRows.of(da.zeros((100_000, 10_000), chunks=(1000, -1), dtype=np.float32))
    plan = make_plan(rows, 10, metric="cosine", site=site(2e9))
    assert plan.task_bytes * 5 + rows.largest_block() <= 0.6 * 2e9  # float32 rows, and twice as wide ones twice
    assert plan.order > make_plan(rows, 10, site=site(2e9)).order


def test_the_plan_is_logged_before_the_search(rng, caplog, capsys):
    X, Y = draw(rng)
    with caplog.at_level(logging.INFO, "nmlsdr"):
        nmlsdr.dask.NMLSDR(n_neighbors=5).fit(blocks_of(X, "even"), Y)
    assert "plan: neighbours of 150 x 6 rows" in caplog.text
    logging.getLogger("nmlsdr").setLevel(logging.NOTSET)
    nmlsdr.dask.NMLSDR(n_neighbors=5).fit(blocks_of(X, "even"), Y)
    assert capsys.readouterr().err.startswith("plan: neighbours of 150 x 6 rows in 1 task(s) of ")
