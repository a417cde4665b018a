"""Run test files of other packages with our search in the place of theirs.

    python tests/campaigns/peers.py            all of them; a name or several: these
    nox -s peers                               with the versions of peers.txt, in an environment of its own

The files come with the packages, or with their sdists, which pip downloads (``--sdists DIR``: they are there already).
A test that fails is listed; it is an error unless `PEERS` gives the reason, and so is a package that never called our
search, or a test that passes though there is a reason for it to fail.
"""

import argparse
import importlib
import importlib.metadata
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nmlsdr import ExactNeighborsTransformer, graph


def counted_transformer(plugin: "Replacement") -> type:
    """Our transformer; its fits are counted, so that tests that never meet it show."""

    class Transformer(ExactNeighborsTransformer):
        def fit(self, X, y=None):
            plugin.searches += 1
            return super().fit(X, y)

    return Transformer


def index_of_opentsne(plugin: "Replacement") -> type:
    """The class of docs/give_neighbours.md, counted."""
    from openTSNE.nearest_neighbors import KNNIndex

    class ExactNeighbors(KNNIndex):
        VALID_METRICS = ["euclidean", "cosine"]  # noqa: RUF012 (openTSNE's)

        def build(self):
            plugin.searches += 1
            self.index = graph.ExactIndex(self.data, metric=self.metric)
            return graph.kneighbors(self.data, self.k, metric=self.metric)[::-1]

        def query(self, query, k):
            return self.index.query(query, k)[::-1]

    return ExactNeighbors


class Peer(NamedTuple):
    """Test files of a package, the names in them that our search replaces, and names in the package itself."""

    modules: tuple[str, ...] = ()
    in_tests: tuple[str, ...] = ()
    in_package: tuple[tuple[str, str], ...] = ()
    counted_search: Callable[["Replacement"], type] = counted_transformer  # what replaces them
    sdist: tuple[str, ...] = ()  # folders of the sdist that hold tests and what they import
    tests: tuple[str, ...] = ()  # in these folders, as arguments of pytest
    differences: tuple[tuple[str, str], ...] = ()  # the end of a test's name, and why it fails


PEERS = {
    "scikit-learn": Peer(
        ("sklearn.neighbors.tests.test_neighbors_pipeline",),
        in_tests=("KNeighborsTransformer", "RadiusNeighborsTransformer"),
    ),
    "imbalanced-learn": Peer(
        (
            "imblearn.over_sampling._smote.tests.test_smote",
            "imblearn.over_sampling._smote.tests.test_borderline_smote",
            "imblearn.over_sampling._smote.tests.test_svm_smote",
            "imblearn.over_sampling.tests.test_adasyn",
            "imblearn.under_sampling._prototype_selection.tests.test_edited_nearest_neighbours",
            "imblearn.under_sampling._prototype_selection.tests.test_repeated_edited_nearest_neighbours",
            "imblearn.under_sampling._prototype_selection.tests.test_allknn",
            "imblearn.under_sampling._prototype_selection.tests.test_nearmiss",
            "imblearn.combine.tests.test_smote_enn",
        ),
        in_package=(("imblearn.utils._validation", "NearestNeighbors"),),
    ),
    "openTSNE": Peer(
        in_package=(("openTSNE.nearest_neighbors", "Sklearn"),),
        counted_search=index_of_opentsne,
        sdist=("tests",),
        tests=("tests/test_nearest_neighbors.py::TestSklearn", "tests/test_affinities.py"),
        differences=(
            ("test_cosine_distance", "it compares every bit with SciPy's distances"),
            ("test_cosine_distance_query", "it compares every bit with SciPy's distances"),
            ("test_uncompiled_callable_metric_same_result", "we have no Manhattan distance"),
            ("test_knn_kwargs", "it tests how scikit-learn's class is called"),
        ),
    ),
}


class Replacement:
    """A plugin of pytest that puts our search in place, and counts."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.passed = 0
        self.failed: list[str] = []
        self.searches = 0

    def pytest_configure(self) -> None:
        for module, name in self.peer.in_package:
            setattr(importlib.import_module(module), name, self.peer.counted_search(self))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for module in {item.module for item in session.items}:
            for name in self.peer.in_tests:
                if hasattr(module, name):
                    setattr(module, name, self.peer.counted_search(self))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            self.passed += report.passed
            if report.failed:
                self.failed.append(report.nodeid)


def unpacked(name: str, peer: Peer, sdists: Path | None, folder: Path) -> list[str]:
    """Unpack the tests of a package's sdist, of the installed version; arguments of pytest."""
    if sdists is None:
        sdists = folder / "sdists"
        version = importlib.metadata.version(name)
        options = ["--quiet", "--no-deps", "--no-binary", name, "--dest", str(sdists)]
        subprocess.run([sys.executable, "-m", "pip", "download", *options, f"{name}=={version}"], check=True)
    (archive,) = sdists.glob(f"{name.lower()}-*.tar.gz")
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            path = member.name.partition("/")[2]
            if path.startswith(tuple(f"{part}/" for part in peer.sdist)):
                tar.extract(member.replace(name=path), folder, filter="data")
    (folder / "tests" / "__init__.py").touch()  # an sdist may lack it
    sys.path[:0] = [str(folder), str(folder / "src")]
    return [str(folder / test) for test in peer.tests]


def run(name: str, sdists: Path | None) -> bool:
    """Whether all tests pass, with our search."""
    peer = PEERS[name]
    plugin = Replacement(peer)
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-c", "/dev/null", "-W", "ignore", "--tb=line"]
    with tempfile.TemporaryDirectory() as folder:
        files = ["--pyargs", *peer.modules]
        if peer.sdist:
            files = [f"--rootdir={folder}", *unpacked(name, peer, sdists, Path(folder))]
        pytest.main([*options, *files], plugins=[plugin])
    total = plugin.passed + len(plugin.failed)
    version = importlib.metadata.version(name)
    print(f"{name} {version}: {plugin.passed} of {total} tests pass; our search was fitted {plugin.searches} times")
    reasons = [next((why for end, why in peer.differences if test.endswith(end)), "") for test in plugin.failed]
    for test, reason in zip(plugin.failed, reasons, strict=True):
        print(f"  failed: {test}" + (f" ({reason})" if reason else ""))
    for end, _ in peer.differences:
        if not any(test.endswith(end) for test in plugin.failed):
            print(f"  did not fail: {end}")
            reasons.append("")
    return bool(plugin.searches) and bool(total) and all(reasons)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(PEERS), help="packages (default: all)")
    parser.add_argument("--sdists", type=Path, help="folder with the sdists; default: pip downloads them")
    arguments = parser.parse_args()
    results = [run(name, arguments.sdists) for name in arguments.names]
    sys.exit(not all(results))
