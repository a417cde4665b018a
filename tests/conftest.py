"""Fixtures for every test: where the shared folder is, seeds, and the check that the installed package is met."""

import gc
import json
import os
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from commands import HAS_PYARROW, run, tables  # noqa: F401  (fixtures of many tests)

import nmlsdr
from nmlsdr import _row_order, graph, mlknn
from nmlsdr._estimators import _mlknn
from nmlsdr._search import metrics
from nmlsdr._solvers import system

N_TREES = nmlsdr.ResidualPropagation().n_estimators
ROOT = Path(__file__).resolve().parent.parent


def pytest_configure(config):
    """The tests meet the installed package, never the checkout (NMLSDR_TEST_CHECKOUT=1 for development)."""
    os.environ["PYTHONSAFEPATH"] = "1"  # a Python that a test starts does not find the checkout either
    if config.getoption("numprocesses", None):  # pytest -n: processes share the cores, so waiting threads sleep
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")  # 2^8 cycles
    inside = Path(nmlsdr.__file__).resolve().is_relative_to(ROOT / "nmlsdr")
    if inside and os.environ.get("NMLSDR_TEST_CHECKOUT") != "1" and not _is_editable():
        raise pytest.UsageError(
            f"nmlsdr was imported from the checkout ({nmlsdr.__file__}); install it with 'pip install .[test]' "
            "and run pytest, or set NMLSDR_TEST_CHECKOUT=1 to test an in-place build."
        )


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by -m
def pytest_collection_modifyitems(items):
    """Of a test marked quick_cases("a", "b"), only cases with "a" or "b" in their id are quick; the rest is slow."""
    for item in items:
        marker = item.get_closest_marker("quick_cases")
        if marker is not None and not any(part in item.callspec.id for part in marker.args):
            item.add_marker(pytest.mark.slow)
    if listed := os.environ.get("NMLSDR_NOT_THESE_TESTS"):  # a later step of .ci/run, in a richer environment
        executed = set(Path(listed).read_text(encoding="utf-8").splitlines())
        items[:] = [item for item in items if item.nodeid not in executed]


def pytest_collection_finish():
    """Keep the thousands of collected tests out of every later garbage collection; it would visit them each time."""
    gc.collect()
    gc.freeze()


def _is_editable():
    """Whether an installation says so; the checkout itself, first on the path of `python -m pytest`, says nothing."""
    installed = metadata.distributions(name="nmlsdr")
    sources = [json.loads(distribution.read_text("direct_url.json") or "{}") for distribution in installed]
    return any(source.get("dir_info", {}).get("editable") for source in sources)


@pytest.fixture(scope="session")
def shared():
    """The folder with the article, the oracles and the data sets; tests that need it skip without it."""
    folder = Path(os.environ.get("NMLSDR_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the folder NMLSDR_SHARED (default ../shared) is not here")
    return folder


@pytest.fixture(autouse=True, scope="session")
def threads_start_on_small_data():
    """What a second thread must earn, it earns on any data: else tests on small data would not see two."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (graph, "_EDGES_PER_THREAD"),
            (mlknn, "_LABELS_PER_THREAD"),
            (system, "WORK_PER_THREAD"),
            (metrics, "_VALUES_PER_THREAD"),
        ):
            patch.setattr(module, name, 1)
        yield


@pytest.fixture(autouse=True, scope="session")
def forests_are_small():
    """By default ResidualPropagation and the report grow 4 trees in the tests; the report tries two strengths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(nmlsdr.ResidualPropagation.__init__.__kwdefaults__, "n_estimators", 4)
        patch.setattr("nmlsdr._cli.residual_fit.TREES", 4)
        patch.setattr("nmlsdr._report.trial.TREES", 4)
        patch.setattr("nmlsdr._report.trial.CURVE_TREES", 0)
        patch.setattr("nmlsdr._report.rivals.STRENGTHS", (0.01, 0.1))
        yield


@pytest.fixture
def default_forest(monkeypatch):
    """The test grows the 100 trees that users get."""
    monkeypatch.setitem(nmlsdr.ResidualPropagation.__init__.__kwdefaults__, "n_estimators", N_TREES)


@pytest.fixture
def rng():
    """A generator whose seed NMLSDR_TEST_SEED moves, so that the suite can be run with other seeds."""
    return np.random.default_rng(int(os.environ.get("NMLSDR_TEST_SEED", "0")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With NMLSDR_REQUIRE_SHARED=1 a test of the shared folder may not skip, unless a package is missing.

    Where pyarrow is not installed, a test that fails with the sentence of a reader that needs it is skipped.
    """
    report = yield
    output = str(report.longrepr) + "".join(text for _, text in report.sections)
    if not HAS_PYARROW and report.failed and "needs pyarrow" in output:
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1], "Skipped: needs pyarrow")
    needs_shared = item.get_closest_marker("shared") is not None or "shared" in getattr(item, "fixturenames", ())
    required = needs_shared and os.environ.get("NMLSDR_REQUIRE_SHARED") == "1"
    missing_package = "could not import" in str(report.longrepr)
    if required and report.skipped and not missing_package and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped although the shared folder is required: {report.longrepr}"
    return report


def pytest_runtest_logreport(report):
    """Add the id of a test that ran to the file that NMLSDR_EXECUTED_TESTS names; .ci/executed_tests.py compares."""
    file = os.environ.get("NMLSDR_EXECUTED_TESTS")
    if file and report.when == "call" and (not report.skipped or hasattr(report, "wasxfail")):
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(report.nodeid + "\n")


@pytest.fixture
def rows_as_they_stand(monkeypatch):
    """Fits search their rows, and draw from them, as they stand: as plain twins do, and as stored numbers were made.

    That fits in the canonical order are such fits of sorted rows is tested in core/test_row_order.py.
    """
    monkeypatch.setattr(_row_order, "is_out_of_core", lambda _: True)
    monkeypatch.setattr(_mlknn, "order_of_distances", lambda *_: None)
