"""Run test files of other packages with our search in the place of theirs.

    python tests/campaigns/peers.py            all of them; a name or several: these
    nox -s peers                               with the versions of peers.txt, in an environment of its own

The files come with the packages.  A test that fails is listed; it is an error, and so is a package that never called
our search.
"""

import importlib
import importlib.metadata
import sys
from typing import NamedTuple

import pytest

from nmlsdr import ExactNeighborsTransformer


class Peer(NamedTuple):
    """Test modules of a package, the names in them that our transformer replaces, and names in the package itself."""

    modules: tuple[str, ...]
    in_tests: tuple[str, ...] = ()
    in_package: tuple[tuple[str, str], ...] = ()


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
}


class Replacement:
    """A plugin of pytest that puts the transformer in place, and counts."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.passed = 0
        self.failed: list[str] = []
        self.searches = 0

    def pytest_configure(self) -> None:
        for module, name in self.peer.in_package:
            setattr(importlib.import_module(module), name, self._counted())

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for module in {item.module for item in session.items}:
            for name in self.peer.in_tests:
                if hasattr(module, name):
                    setattr(module, name, self._counted())

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            self.passed += report.passed
            if report.failed:
                self.failed.append(report.nodeid)

    def _counted(self) -> type:
        """The transformer; what it does is counted, so that a test that never meets it shows."""
        plugin = self

        class Transformer(ExactNeighborsTransformer):
            def fit(self, X, y=None):
                plugin.searches += 1
                return super().fit(X, y)

        return Transformer


def run(name: str) -> bool:
    """Whether all tests pass, with our search."""
    peer = PEERS[name]
    plugin = Replacement(peer)
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-c", "/dev/null", "-W", "ignore", "--tb=line"]
    pytest.main([*options, "--pyargs", *peer.modules], plugins=[plugin])
    total = plugin.passed + len(plugin.failed)
    version = importlib.metadata.version(name)
    print(f"{name} {version}: {plugin.passed} of {total} tests pass; our search was fitted {plugin.searches} times")
    for test in plugin.failed:
        print(f"  failed: {test}")
    return bool(plugin.searches) and bool(total) and not plugin.failed


if __name__ == "__main__":
    results = [run(name) for name in sys.argv[1:] or PEERS]
    sys.exit(not all(results))
