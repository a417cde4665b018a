"""Compare the tests that ran in the steps of CI with all tests that there are, by their ids.

    NMLSDR_EXECUTED_TESTS=FILE pytest ...          any number of times: the ids of tests that ran are added to FILE
    python .ci/executed_tests.py collect ALL       writes all tests that there are to the file ALL
    python .ci/executed_tests.py compare ALL FILE  fails if a test of ALL is in no line of FILE

A test that was skipped did not run.  The second command collects in the environment that is active, which needs every
package that a test file asks for.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

import pytest

# Tests that need what a machine of CI does not have: the beginning of their ids, and why.
ELSEWHERE = {
    "tests/doors/test_asking_browser.py::": "needs Chromium",
    "tests/doors/test_review_browser_": "needs Chromium",
    "tests/doors/test_review_texts.py::": "needs Chromium",
    "tests/doors/test_report_browser.py::": "needs Chromium",
    "tests/core/test_forest.py::test_shap_reads_the_forest": "needs SHAP, which takes long to install",
    "tests/doors/test_c_headers.py::test_a_program_without_python_finds_the_bits_of_python[clang": "needs clang",
    "tests/doors/test_c_headers.py::test_threads_of_cpp_share_an_index[clang": "needs clang",
    "tests/doors/test_c_headers.py::test_mingw_compiles_and_links_for_windows": "needs MinGW",
    "tests/doors/test_c_hostile.py::test_hostile_rows_are_answered_alike_and_nothing_is_reported[clang": "needs clang",
    "tests/doors/test_c_hostile.py::test_classes_of_cpp_have_the_bits_of_python[clang": "needs clang",
    "tests/doors/test_c_mlknn.py::test_a_program_learns_and_predicts_without_python[clang": "needs clang",
}

# Tests of every estimator that skip those which lack what is tested: a part of their ids, and why.
WITHOUT_A_CASE = {
    "check_array_api_input": "scikit-learn skips it: no estimator here takes other arrays than NumPy's",
    "check_classifiers_multilabel_output_format_decision_function": "scikit-learn skips it: no decision_function",
    "test_graph_is_routed_and_its_error_states_that_it_cannot_be_split": "some estimators take no graph=",
    "test_every_kind_of_random_state": "some estimators have no random_state",
}


class Collected:
    """A plugin of pytest that keeps the ids of the tests, and the files that skip as a whole."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.skipped_files: list[str] = []
        self.needs_shared: set[str] = set()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.skipped_files.append(f"{report.nodeid}: {report.longrepr[-1]}")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.ids = [item.nodeid for item in session.items]
        self.needs_shared = {
            item.nodeid
            for item in session.items
            if item.get_closest_marker("shared") is not None or "shared" in getattr(item, "fixturenames", ())
        }


def collect(path: str, *arguments: str) -> None:
    """Write what there is; ``arguments`` go to pytest."""
    collected = Collected()
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        status = pytest.main(
            ["--collect-only", "-q", "-m", "", "-p", "no:cacheprovider", *arguments], plugins=[collected]
        )
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(text.getvalue()[-4000:])
    Path(path).write_text(
        json.dumps([collected.ids, collected.skipped_files, sorted(collected.needs_shared)]), encoding="utf-8"
    )
    print(f"{len(collected.ids)} tests")


def compare(path: str, executed: str) -> None:
    ids, skipped_files, needs_shared = json.loads(Path(path).read_text(encoding="utf-8"))
    ran = set(Path(executed).read_text(encoding="utf-8").splitlines())
    shared_is_here = os.environ.get("NMLSDR_REQUIRE_SHARED") == "1"
    missed = []
    excused = 0
    for name in ids:
        if name in ran:
            continue
        listed = name.startswith(tuple(ELSEWHERE)) or any(part in name for part in WITHOUT_A_CASE)
        if listed or (name in needs_shared and not shared_is_here):
            excused += 1
        else:
            missed.append(name)
    stale = [name for name in ELSEWHERE if not any(each.startswith(name) for each in ids)]
    for line in skipped_files:
        print(f"this file could not be collected, install what it needs: {line}")
    for name in missed[:50]:
        print(f"ran in no step: {name}")
    if missed[50:]:
        print(f"and {len(missed) - 50} more")
    for name in stale:
        print(f"listed in ELSEWHERE, but there is no such test: {name}")
    print(f"{len(ids)} tests: {len(ids) - len(missed) - excused} ran, {excused} need another machine")
    if missed or stale or skipped_files:
        sys.exit(1)


if __name__ == "__main__":
    {"collect": collect, "compare": compare}[sys.argv[1]](*sys.argv[2:])
