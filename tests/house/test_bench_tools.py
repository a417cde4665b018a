"""The tools of bench/: fair rounds, memory, result files, the regression decision."""

import ast
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
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


@pytest.mark.parametrize("path", sorted(BENCH.parent.glob("[bs]*/*.py")), ids=lambda path: path.stem)  # studies too
def test_programs_import_what_the_package_has(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nmlsdr"):
            module = importlib.import_module(node.module)
            for name in [each.name for each in node.names if not hasattr(module, each.name)]:
                assert importlib.util.find_spec(f"{node.module}.{name}"), name


# ---------------------------------------------------------------- rounds


def test_rounds_take_turns_and_a_time_is_the_median_of_the_better_half(harness):
    call_order = []
    times = harness.alternate({name: lambda name=name: call_order.append(name) for name in "abc"}, rounds=4, warmup=2)
    assert call_order == [*"aabbcc", *"abc", *"bca", *"cab", *"abc"]
    assert {name: len(values) for name, values in times.items()} == {"a": 4, "b": 4, "c": 4}
    assert len(harness.alternate({"a": lambda: None}, rounds=50, budget=0.0, min_rounds=5)["a"]) == 5
    for times, expected in [([3.0], 3.0), ([9, 1], 1.0), ([1, 2, 3, 100], 1.5), ([5, 1, 2, 3, 100], 2.0)]:
        assert harness.better_half(times) == expected
    assert harness.ratios({"ours": [1.0, 1.0], "peer": [3.0, 3.5]}, "ours") == {"peer": 3.0}


# ---------------------------------------------------------------- memory, machine, files


def test_peak_memory_sees_what_was_freed_again_and_not_the_input(harness):
    measured = harness.peak_memory("import numpy as np; x = np.ones(2_000_000)", "y = np.ones(8_000_000); del y")
    assert 60e6 < measured["over"] < 90e6
    assert measured["peak"] == measured["before"] + measured["over"]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        harness.peak_memory("", "1 / 0")


def test_facts_name_no_host_and_need_no_installed_nmlsdr(harness, monkeypatch):
    """compare.py builds it in folders of its own."""
    monkeypatch.setitem(sys.modules, "nmlsdr", None)
    facts = harness.machine_facts()
    assert facts["cores"] >= 1
    assert facts["versions"].keys() >= {"numpy", "scipy"}
    assert str(Path.home()) not in json.dumps(facts)


def test_scripts_choose_the_kernels_before_numpy_loads():
    scripts = [path for path in BENCH.glob("*.py") if "import numpy" in path.read_text()]
    scripts = [path for path in scripts if path.name not in ("_cases.py", "compare.py")]  # equal sides, no peers
    assert len(scripts) > 4
    for path in scripts:
        text = path.read_text()
        first = "import _harness" if path.name == "test_peers.py" else "import _blas"
        assert text.index(first) < text.index("import numpy")


def test_rows_of_a_table_keep_the_run_that_made_them(harness, tables, tmp_path, capsys):
    settings = {
        "title": "X",
        "command": "x.py",
        "columns": [("n", "rows", "d"), ("ratio", "ratio", ".1f x")],
        "values": {"best": np.float32(2)},
        "folder": tmp_path,
    }
    path = harness.save_table("x", rows=[{"n": np.int64(3), "ratio": np.float64(1.5)}], **settings)
    shown = capsys.readouterr().out
    assert "1 rows -> x.json" in shown
    assert "| 3 | 1.5 x |" in shown
    old = json.loads(path.read_text())
    assert old["rows"] == [{"run": next(iter(old["runs"])), "n": 3, "ratio": 1.5}]
    assert old["values"] == {"best": 2.0}
    del old["runs"], old["rows"][0]["run"]  # as files were before rows said whose they are
    old["machine"].update(date="2020-01-01", commit="0ldc0de", processor="another")
    rows, runs = harness.carried(old)
    harness.save_table("x", rows=[*rows, {"n": 2}], runs=runs, **settings)
    new = json.loads(path.read_text())
    assert [new["runs"][row["run"]]["commit"] for row in new["rows"]] == ["0ldc0de", new["machine"]["commit"]]
    line = tables.provenance("<!-- bench:table x -->\n<!-- bench:end -->", tmp_path, tmp_path)
    assert "0ldc0de (2020-01-01)" in line
    assert "another" in line
    again, runs = harness.carried(new)
    assert (again, set(runs)) == (new["rows"], set(new["runs"]))


# ---------------------------------------------------------------- the regression rule


@pytest.fixture(scope="module")
def compare():
    return load("compare")


def noisy(rng, *, slowdown, n_pairs=15, spread=0.25):
    """Ratios as a shared machine gives them: log-normal, with bursts of other work on either side."""
    ratios = slowdown * np.exp(spread * rng.standard_normal(n_pairs))
    burst = rng.random(n_pairs) < 0.1
    return np.where(burst, ratios * rng.choice([0.4, 2.5], n_pairs), ratios)


def test_noise_is_no_regression_and_a_slowed_kernel_is(compare, monkeypatch):
    monkeypatch.setattr(compare, "RESAMPLES", 400)
    for seed in range(5):
        for slowdown, spread, instructions, outcome in ((1.0, 0.02, 1.0, "ok"), (2.0, 0.05, 1.9, "REGRESSION")):
            ratios = noisy(np.random.default_rng(seed), slowdown=slowdown, spread=spread)
            assert compare.decide(ratios, "estimator").outcome == outcome
            assert compare.decide(ratios, "kernel", instructions).outcome == outcome
    drawn = [noisy(np.random.default_rng(seed), slowdown=1.0, spread=0.5) for seed in range(20)]
    outcomes = [compare.decide(ratios, "estimator").outcome for ratios in drawn]
    assert outcomes.count("unclear") >= 15  # much noise decides nothing
    assert not {"REGRESSION", "slower"} & {*outcomes}
    blamed = sum(compare.is_slower(noisy(np.random.default_rng(seed), slowdown=1.0)) for seed in range(500))
    assert blamed <= 10  # of 500, before the count of instructions clears the kernels
    ratios = noisy(np.random.default_rng(0), slowdown=1.2)
    low = compare.lower_bound(ratios)
    assert low == compare.lower_bound(ratios)
    assert min(ratios) <= low < np.median(ratios)
    assert compare.lower_bound(ratios, share=0.5) == pytest.approx(np.median(ratios), rel=0.05)


def test_a_bound_far_from_the_median_decides_nothing(compare):
    """As a case on two threads under load: half of the pairs say .6, half say 1.04."""
    verdict = compare.decide([0.6] * 7 + [1.04] * 8, "kernel")
    assert (verdict.median, verdict.low, verdict.outcome) == (1.04, 0.6, "unclear")
    assert compare.decide([1.0] * 7 + [1.04] * 8, "kernel").outcome == "ok"
    assert compare.decide([1.05] * 7 + [1.2] * 8, "core").outcome == "unclear"  # the median is above the line
    wide = compare.decide([1.14] * 7 + [1.5] * 8, "core")  # and here the bound is, too, 24 % below the median
    assert (wide.median, wide.low, wide.outcome) == (1.5, 1.14, "unclear")


@pytest.mark.parametrize(
    ("slowdown", "kind", "instructions", "outcome"),
    [
        (1.5, "kernel", 1.06, "REGRESSION"),
        (1.5, "kernel", 1.05, "slower"),
        (1.5, "kernel", 0.8, "slower"),
        (1.5, "kernel", None, "REGRESSION"),
        (1.5, "core", None, "REGRESSION"),
        (1.5, "estimator", 1.0, "REGRESSION"),
        (1.09, "kernel", 2.0, "ok"),
        (1.10, "estimator", None, "ok"),
        (1.12, "estimator", None, "REGRESSION"),
        (0.5, "kernel", 0.5, "faster"),
    ],
)
def test_a_regression_needs_more_time_and_for_kernels_more_instructions(compare, slowdown, kind, instructions, outcome):
    verdict = compare.decide([slowdown] * 15, kind, instructions)
    assert (verdict.outcome, verdict.median, verdict.low) == (outcome, slowdown, slowdown)


class Scripted:
    """A worker whose turns take the seconds of a script."""

    def __init__(self, seconds):
        self.seconds = iter(seconds)

    def close(self):
        pass

    def ask(self, **content):
        return {"ready": True} if "case" in content else {"seconds": next(self.seconds)}


def test_a_pair_is_the_least_of_its_turns(compare):
    base = Scripted([1, 3, 1, 9, 1, 1, 1])
    head = Scripted([1, 2, 8, 2.5, 5, 7, 4])
    pairs = []
    assert compare.add_pairs([base, head], "mlknn-fit", 1, 2, pairs) is None
    assert pairs == [(1, 2), (1, 4)]
    assert [pair.ratio for pair in pairs] == [2, 4]


@pytest.mark.parametrize(
    ("ratio", "pairs"),
    [
        (lambda count: 1.0, 15),
        (lambda count: 1.3, 15),
        (lambda count: 0.5 if count % 5 < 2 else 1.3, 45),  # a suspicious median, a bound that does not show it
        (lambda count: (0.5 if count % 5 < 2 else 1.3) if count < 15 else 1.3, 30),
    ],
)
def test_an_open_case_gets_more_pairs(compare, monkeypatch, ratio, pairs):
    def add_pairs(sides, case, n_threads, count, pairs):
        pairs += [compare.Pair(1.0, ratio(len(pairs) + place)) for place in range(count)]

    monkeypatch.setattr(compare, "add_pairs", add_pairs)
    monkeypatch.setattr(compare, "Side", Scripted)
    progress_lines = []  # every five pairs: a comparison is never silent for long
    pairs_of_cases, absent = compare.timed_pairs("base", "head", [("a", 1)], 15, progress_lines.append)
    assert len(pairs_of_cases["a", 1]) == pairs == 5 * len(progress_lines)
    assert progress_lines[-1].startswith(f"... a t1: {pairs} pairs, median ")
    assert absent == {}


def test_few_pairs_invalid_values_and_unknown_commits_are_refused(compare, capsys):
    with pytest.raises(compare.Failure, match="14 pairs cannot decide; at least 15"):
        compare.decide([2.0] * 14, "core")
    with pytest.raises(compare.Failure, match="must be positive"):
        compare.decide([2.0] * 14 + [float("nan")], "core")
    with pytest.raises(SystemExit, match="2"):
        compare.main(["HEAD", "--pairs", "3"])
    for wrong, message in (("no-such-commit-anywhere", "no such commit"), ("HEAD --cases none", "no case matches")):
        assert compare.main(wrong.split()) == 2
        output = capsys.readouterr()
        assert f"compare: {message}" in output.err
        assert "building" not in output.out


def test_every_case_is_compared_and_runs_at_its_small_size():
    """Kernels are timed without their checks, too."""
    cases = load("_cases")
    alone = set()
    for name, case in cases.CASES.items():
        assert case.kind in ("kernel", "core", "estimator"), name
        shown = [cases.label_of(size) for size in case.default + case.full]
        assert len(set(shown)) == len(shown), name
        assert case.compare, name
        work = cases.build(name, case.small)
        work.run(1)
        assert (work.amount is None) == (work.limit is None)
        if work.alone is not None:
            work.alone(1)
            alone.add(name)
    assert alone == {"graph-normalise", "mlknn-fit", "mlknn-posterior"}


# ---------------------------------------------------------------- the tables in the README files


@pytest.fixture
def tables():
    return load("tables")


def result_file(folder, **fields):
    content = {
        "name": "x",
        "title": "X",
        "command": "python x.py",
        "notes": "Note.",
        "values": {"best": 1.84, "n": 3},
        "machine": {
            "processor": "P",
            "cores": 2,
            "memory_gib": 1.0,
            "python": "3.11",
            "blas": ["openblas 1 Z"],
            "date": "2026-01-02",
            "commit": "abc",
            "versions": {"numpy": "2"},
        },
        "columns": [["work", "work", "s"], ["ratio", "ratio", ".1f x"]],
        "rows": [{"work": "a", "ratio": 2.25}, {"work": "b", "ratio": 0.5}, {"work": "c"}],
        **fields,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "x.json").write_text(json.dumps(content))


def test_markers_are_filled_and_stay(tables, tmp_path):
    result_file(tmp_path)
    text = (
        "It is <!-- bench:value x best .1f -->?<!-- bench:end --> times, "
        "n = <!-- bench:value x n --><!-- bench:end -->.\n<!-- bench:table x -->\nold\n<!-- bench:end -->\nrest"
    )
    filled = tables.fill(text, tmp_path)
    assert "It is <!-- bench:value x best .1f -->1.8<!-- bench:end --> times" in filled
    assert "-->3<!--" in filled
    assert "| work | ratio |\n|---|---:|\n| a | 2.2 x |\n| b | 0.5 x |\n| c | – |\n" in filled
    assert "Note." in filled
    assert filled.endswith("<!-- bench:end -->\nrest")
    assert tables.fill(filled, tmp_path) == filled
    page = tmp_path / "README.md"
    page.write_text("<!-- bench:value x best .1f -->1.9<!-- bench:end -->\n")
    result_file(tmp_path / "bench" / "results")
    assert "+<!-- bench:value x best .1f -->1.8" in tables.differences(tmp_path)
    page.write_text(tables.fill(page.read_text(), tmp_path))
    assert tables.differences(tmp_path) == ""


def test_one_line_of_a_page_says_how_its_tables_were_made(tables, tmp_path):
    result_file(tmp_path)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.csv").write_text("Method,AP\nNMLSDR,1\n")
    text = "<!-- bench:provenance -->\nold\n<!-- bench:end -->\n"
    assert "made by programs.*" in tables.fill(text, tmp_path, tmp_path)
    text += "<!-- bench:table x -->\n<!-- bench:end -->\n<!-- study:table t -->\n<!-- bench:end -->\n"
    filled = tables.fill(text, tmp_path, tmp_path)
    assert "at the commits abc (2026-01-02), on P, 2 cores.*" in filled
    (tmp_path / "t.provenance.json").write_text('{"commit": "0123456789", "date": "2026-03-04"}')
    assert "0123456 (2026-03-04), abc (2026-01-02), on P" in tables.fill(text, tmp_path, tmp_path)


def test_entries_of_the_study_are_filled_by_row_and_column(tables, tmp_path):
    (tmp_path / "t.csv").write_text('Method,HL\',MiF1 NMLSDR*\nNMLSDR*,91.05,"9, of 10"\nbetter than NMLSDR,-,7\n')
    text = (
        "<!-- study:value t | NMLSDR* | MiF1 NMLSDR* -->?<!-- bench:end --> and "
        "<!-- study:value t ; better than NMLSDR ; HL' -->?<!-- bench:end -->\n"
        "<!-- study:table t -->\nold\n<!-- bench:end -->\n"
    )
    filled = tables.fill(text, tmp_path, tmp_path)
    assert "-->9, of 10<!--" in filled
    assert "-->-<!--" in filled
    assert "| Method | HL' | MiF1 NMLSDR* |\n| --- | ---: | ---: |\n| NMLSDR* | 91.05 | 9, of 10 |\n" in filled
    assert tables.fill(filled, tmp_path, tmp_path) == filled


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("<!-- bench:table y -->\n<!-- bench:end -->", "no result file bench/results/y.json"),
        ("<!-- bench:value x worst -->1<!-- bench:end -->", r"no value 'worst'; it has \['best', 'n'\]"),
        ("<!-- study:table u -->\n<!-- bench:end -->", "no table u.csv of nmlsdr reproduce;"),
        ("<!-- study:value t | c | a -->1<!-- bench:end -->", r"t.csv has no entry 'c', 'a'; it has rows \['b'\]"),
        ("<!-- study:value t | b -->1<!-- bench:end -->", "malformed or lacks its <!-- bench:end -->"),
        ("<!-- bench:table x -->\n| a |", "malformed or lacks its <!-- bench:end -->"),
        ("<!-- bench:value t\nb -->1<!-- bench:end -->", "malformed or lacks its <!-- bench:end -->"),
        ("<!--\nbench:value t b -->1<!-- bench:end -->", "malformed or lacks its <!-- bench:end -->"),
    ],
)
def test_bad_markers_raise_a_clear_error(tables, tmp_path, text, sentence):
    result_file(tmp_path)
    (tmp_path / "t.csv").write_text("m,a\nb,1\n")
    with pytest.raises(tables.Failure, match=sentence):
        tables.fill(text, tmp_path, tmp_path)


def test_readme_tables_are_those_of_the_committed_results(tables):
    """Run ``python bench/tables.py`` after a benchmark."""
    assert tables.differences() == ""


def test_growth_is_measured_in_pieces_that_add_up(tmp_path, monkeypatch):
    """A curve ends where a fit takes too long; what this commit has measured is not measured again."""
    growth = load("growth")
    requests = []

    def point(method, size):
        requests.append((method, size))
        seconds = size["n"] ** 2 / 1e6
        return {"fit": {"seconds": seconds, "cpu": 2 * seconds, "bytes": 100 * size["n"]}}

    monkeypatch.setattr(growth, "in_a_process", point)
    settings = {"quick": False, "limit": 50.0, "points": tmp_path / "points.jsonl", "report": lambda line: None}
    points = growth.measure(["rows"], ["nmlsdr"], **settings)
    assert [each["value"] for each in points] == [1000, 3000, 10_000]  # 100 seconds
    assert requests[0] == ("nmlsdr", {"n": 1000, "D": 50, "C": 10})
    again = growth.measure(["rows"], ["nmlsdr", "LightGBM"], **settings)
    assert [name for name, _ in requests] == ["nmlsdr"] * 3 + ["LightGBM"] * 3
    row, _ = growth.exponents(again)
    assert (row["method"], row["step"], row["cpu"], row["megabytes"]) == ("nmlsdr", "fit", 200.0, 1.0)
    assert (row["time"], row["memory"]) == (pytest.approx(2.0), pytest.approx(1.0))
    growth.picture(again, tmp_path / "growth.png")
    assert (tmp_path / "growth.png").stat().st_size > 0
    monkeypatch.setattr(growth._harness, "commit", lambda: "another")
    assert len(growth.measure(["text"], ["nmlsdr"], **{**settings, "quick": True})) == 3


@pytest.mark.slow
def test_a_point_of_growth_measures_every_step():
    steps = load("growth").in_a_process("nmlsdr", {"n": 300, "D": 40, "C": 4, "values": "text"})
    assert list(steps) == ["fit", "predict", "review"]
    assert all(each["seconds"] > 0 and each["cpu"] > 0 for each in steps.values())
