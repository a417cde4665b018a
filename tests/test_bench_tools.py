"""The tools of bench/: fair rounds, memory, result files, the regression decision."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
pytestmark = pytest.mark.skipif(not BENCH.is_dir(), reason="bench/ is part of the checkout, not of the package")


def load(name):
    """Import bench/NAME.py, which is not part of the package."""
    if str(BENCH) not in sys.path:
        sys.path.append(str(BENCH))
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = sys.modules.setdefault(name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def harness():
    return load("_harness")


# ---------------------------------------------------------------- rounds


def test_rounds_take_turns_and_the_first_rotates(harness):
    seen = []
    times = harness.alternate({name: lambda name=name: seen.append(name) for name in "abc"}, rounds=4, warmup=2)
    assert seen == [*"aabbcc", *"abc", *"bca", *"cab", *"abc"]
    assert {name: len(values) for name, values in times.items()} == {"a": 4, "b": 4, "c": 4}


def test_budget_ends_the_rounds_but_not_before_the_least_number(harness):
    assert len(harness.alternate({"a": lambda: None}, rounds=50, budget=0.0, min_rounds=5)["a"]) == 5


@pytest.mark.parametrize(
    ("times", "expected"), [([3.0], 3.0), ([9, 1], 1.0), ([1, 2, 3, 100], 1.5), ([5, 1, 2, 3, 100], 2.0)]
)
def test_median_of_the_better_half(harness, times, expected):
    assert harness.better_half(times) == expected


def test_ratios_are_above_one_where_we_are_faster(harness):
    assert harness.ratios({"ours": [1.0, 1.0], "peer": [3.0, 3.5]}, "ours") == {"peer": 3.0}


# ---------------------------------------------------------------- memory, machine, files


def test_peak_memory_sees_what_was_freed_again_and_not_the_input(harness):
    measured = harness.peak_memory("import numpy as np; x = np.ones(2_000_000)", "y = np.ones(8_000_000); del y")
    assert 60e6 < measured["over"] < 90e6
    assert measured["peak"] == measured["before"] + measured["over"]


def test_peak_memory_shows_the_child_s_error(harness):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        harness.peak_memory("", "1 / 0")


def test_facts_name_no_host(harness):
    facts = harness.machine_facts()
    assert facts["cores"] >= 1
    assert "numpy" in facts["versions"]
    assert str(Path.home()) not in json.dumps(facts)


def test_limits_are_positive(harness):
    assert harness.gemm_gflops(size=128, n_threads=1, rounds=2) > 0
    assert harness.copy_gbytes(megabytes=4, n_threads=2, rounds=2) > 0


def test_table_file_round_trip(harness, tmp_path, capsys):
    path = harness.save_table(
        "x", title="X", command="python x.py", columns=[("n", "rows", "d"), ("ratio", "ratio", ".1f x")],
        rows=[{"n": np.int64(3), "ratio": np.float64(1.5)}], values={"best": np.float32(2)}, folder=tmp_path,
    )  # fmt: skip
    stored = json.loads(path.read_text())
    assert stored["rows"] == [{"n": 3, "ratio": 1.5}]
    assert stored["values"] == {"best": 2.0}
    assert stored["machine"]["cores"] >= 1
    assert "1 rows -> x.json" in capsys.readouterr().out
