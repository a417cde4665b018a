"""Every label is solved as if it were alone: no bit of its F depends on the labels beside it."""

import itertools
from threading import Barrier, get_ident

import numpy as np
import pytest
from propagation_cases import propagate_signed
from scipy import sparse

from nmlsdr import MultiLabelPropagation
from nmlsdr._solvers import chain, conjugate_gradients, direct
from nmlsdr.graph import neighbor_graph
from nmlsdr.propagation import propagate

SOLVERS = ["auto", "cg", "lu", "fixed_point"]
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*without a labelled row", "ignore:propagation with solver:sklearn.exceptions.ConvergenceWarning"
)


def two_components(rng, n, weights):
    """A graph with two components and an isolated row."""
    W = np.triu(rng.random((n, n)) < 4 / n, 1) * (1.0 if weights == "binary" else rng.random((n, n)))
    W[np.arange(n - 1), np.arange(1, n)] = 1.0 if weights == "binary" else 0.5
    W[: n // 3, n // 3 :] = 0
    W[:, -1] = 0
    return sparse.csr_array(W + W.T)


def entries(rng, n, n_labels):
    """Known entries that differ from label to label, some labels with whole rows known, and an alpha for each entry."""
    rows = rng.random(n) < 0.4
    known = np.where(rng.random(n_labels) < 0.5, rows[:, None], rng.random((n, n_labels)) < 0.4)
    known[0] = True
    known[: n // 3, 1] = False
    alpha = np.where(known, rng.choice([0, 1e-30, 0.1, 0.6], n_labels), rng.choice([0.9, 0.99, 0.999], n_labels))
    mixed = rng.random(n_labels) < 0.3
    alpha[:, mixed] = rng.random((n, mixed.sum()))
    return known, alpha, np.where(known, rng.choice([0, 0.3, 1], (n, n_labels)), 0.0)


@pytest.mark.parametrize("n_jobs", [2, 3, 4])
def test_batches_of_labels_in_threads_change_no_bit(rng, n_jobs, monkeypatch):
    """Three batches: with four threads they share the rows of a batch."""
    threads = {get_ident()}
    all_there = Barrier(n_jobs, timeout=60)
    sweep = conjugate_gradients._sweep_batch

    def watched(*arguments):
        if get_ident() not in threads:
            threads.add(get_ident())
            all_there.wait()
        sweep(*arguments)

    monkeypatch.setattr(conjugate_gradients, "_sweep_batch", watched)
    W = two_components(rng, 300, "binary")
    known, alpha, Y = entries(rng, 300, 70)
    single_thread, several = (propagate(W, Y, alpha, labeled=known, solver="cg", n_jobs=each) for each in (1, n_jobs))
    assert len(threads) == 1 + (n_jobs if n_jobs <= 3 else 0)
    assert single_thread.F.tobytes() == several.F.tobytes()
    assert (single_thread.n_iter, single_thread.residual) == (several.n_iter, several.residual)


def same_alone(W, Y, alpha, known, columns, whole, **options):
    for label_subset in columns:
        label_subset = list(label_subset)
        part = propagate(
            W,
            Y[:, label_subset],
            alpha[:, label_subset] if np.ndim(alpha) == 2 else alpha,
            labeled=known[:, label_subset] if known.ndim == 2 else known,
            **options,
        )
        assert part.F.tobytes() == np.ascontiguousarray(whole.F[:, label_subset]).tobytes(), label_subset


@pytest.mark.quick_cases("0-2-auto")
@pytest.mark.parametrize("weights", ["binary", "weighted"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("seed", "n_jobs"), [(0, 2), pytest.param(1, 1, marks=pytest.mark.slow)])
def test_any_subset_of_the_labels_has_the_bits_of_all_labels_together(seed, n_jobs, solver, weights):
    """Alpha and known entries per row and per entry."""
    rng = np.random.default_rng(seed)
    n = 14
    n_labels = 5
    W = two_components(rng, n, weights)
    known, alpha, Y = entries(rng, n, n_labels)
    subsets = [label_subset for size in (1, 2, 3, 4) for label_subset in itertools.combinations(range(n_labels), size)]
    rows = known[:, 0]
    for a in (alpha, alpha[:, 2], 0.9):
        for mask in (known, rows):
            known_labels = np.where(mask if mask.ndim == 2 else mask[:, None], Y, 0.0)
            a = np.broadcast_to(a, n) if np.ndim(a) == 0 else a
            whole = propagate(W, known_labels, a, labeled=mask, solver=solver, n_jobs=n_jobs)
            same_alone(W, known_labels, a, mask, subsets, whole, solver=solver, n_jobs=n_jobs)


@pytest.mark.parametrize("limits", [{"SMALL": 0}, {"SMALL": 9}, {"SMALL": 0, "LARGEST_DENSE": 0}])
@pytest.mark.parametrize("weights", ["binary", "weighted"])
def test_every_step_of_auto(rng, monkeypatch, weights, limits):
    for name, value in limits.items():
        monkeypatch.setattr(chain, name, value)
    monkeypatch.setattr(direct, "LARGEST_DENSE", 4)
    W = two_components(rng, 14, weights)
    known, alpha, Y = entries(rng, 14, 4)
    alpha[:, 3] = np.where(known[:, 3], 0.6, 1 - 1e-7)
    for solver in ("auto", "lu"):
        whole = propagate(W, Y, alpha, labeled=known, solver=solver)
        subsets = [label_subset for size in (1, 2, 3) for label_subset in itertools.combinations(range(4), size)]
        same_alone(W, Y, alpha, known, subsets, whole, solver=solver)


@pytest.mark.quick_cases("options0", "options1", "weighted-options2")
@pytest.mark.parametrize("options", [{}, {"max_iter": 9}, {"tol": 1e-13}, {"solver": "cg", "tol": 3e-16}])
@pytest.mark.parametrize("weights", ["binary", "weighted"])
def test_batches_of_any_width_a_callback_and_small_calls(rng, monkeypatch, weights, options):
    """Labels that take 3 to 600 sweeps in one batch; some end late, get stuck, or go on after their first end."""
    n = 90
    n_labels = 45
    W = neighbor_graph(rng.standard_normal((n, 2)), 4, edge_weights="binary" if weights == "binary" else "rbf", sigma=1)
    known, alpha, Y = entries(rng, n, n_labels)
    alpha[:, 7] = 1 - 1e-6
    alpha[:, 8] = np.where(known[:, 8], 0.0, 1 - 1e-4)
    whole = propagate(W, Y, alpha, labeled=known, **options)
    label_subsets = [[7], [0, 8, 7], range(3, 20), range(12, 45), rng.permutation(n_labels)[:6]]
    same_alone(W, Y, alpha, known, label_subsets, whole, **options)
    same_alone(W, Y, alpha, known, [[8, 1, 2]], whole, callback=lambda step: None, **options)
    monkeypatch.setattr("nmlsdr._solvers.conjugate_gradients.WORK_PER_CALL", 1)
    same_alone(W, Y, alpha, known, [range(n_labels)], whole, **options)


@pytest.mark.parametrize("seed", [189])
def test_a_label_that_goes_on_after_its_first_end_has_the_bits_it_has_alone(seed):
    """A search found this problem: unless rounds begin anew when the label goes on, other labels change its bits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(7, 13))
    n_labels = 4
    upper = np.triu(rng.random((n, n)) < 0.4, 1) * np.exp(rng.normal(0, 4, (n, n)))
    W = sparse.csr_array(upper + upper.T)
    known = rng.random((n, n_labels)) < 0.4
    known[0] = True
    alpha = np.where(known, rng.choice([0, 0.1, 0.6], (n, n_labels)), rng.choice([0.999, 0.999999, 1 - 1e-9], n_labels))
    Y = np.where(known, rng.random((n, n_labels)) < 0.3, 0.0)
    options = {"solver": "cg", "tol": 1e-11, "n_jobs": 1}
    whole = propagate(W, Y, alpha, labeled=known, **options)
    same_alone(W, Y, alpha, known, [[0], [1], [2], [3]], whole, **options)


def test_signed_numbers_of_the_same_size(rng):
    """The residual wanted is in units of the largest number of all columns, which every part has here."""
    n = 200
    n_labels = 20
    W = neighbor_graph(rng.standard_normal((n, 2)), 4)
    known, alpha, Y = entries(rng, n, n_labels)
    R = np.where(known, Y - 0.5, 0.0)
    R[0] = -0.5
    whole = propagate_signed(W, R, alpha, labeled=known)
    for label_subset in ([3], [1, 4], range(2, 19)):
        part = propagate_signed(
            W, R[:, list(label_subset)], alpha[:, list(label_subset)], labeled=known[:, list(label_subset)]
        )
        np.testing.assert_array_equal(part.F, whole.F[:, list(label_subset)])


def test_partly_known_labels_over_dask_have_the_bits_of_one_process():
    """With the labels 0 to 15 known in whole rows, their batch has an alpha per row; the whole has one per entry."""
    dask = pytest.importorskip("dask", reason="needs Dask")
    from dask import array as da

    from nmlsdr.dask import MultiLabelPropagation as OverDask

    rng = np.random.default_rng(0)
    n = 400
    n_labels = 20
    X = rng.standard_normal((n, 5))
    y = (X @ rng.standard_normal((5, n_labels)) > 1) * 1.0
    y[rng.random(n) < 0.4] = -1
    y[rng.random(n) < 0.3, 18] = -1  # one label of the second batch knows less
    distributions = MultiLabelPropagation().fit(X, y).label_distributions_
    alone = MultiLabelPropagation().fit(X, y[:, :16]).label_distributions_
    np.testing.assert_array_equal(alone, distributions[:, :16])
    with dask.config.set(scheduler="sync"):
        dask_distributions = OverDask().fit(da.from_array(X, chunks=(100, 5)), y).label_distributions_
    np.testing.assert_array_equal(dask_distributions, distributions)
