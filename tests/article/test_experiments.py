"""The experiments as a user starts them, and their parts: protocol, store, tables, report."""

import csv
import io
import json
import re

import numpy as np
import pytest

from nmlsdr._article_methods import METHODS
from nmlsdr._cli import verbs
from nmlsdr._errors import InputError
from nmlsdr.cli import main
from nmlsdr.experiments import command, protocol, report, results, store
from nmlsdr.experiments.store import CellFolder, CellKey

MEASURE_NAMES = list(protocol.MEASURE_NAMES)


def reproduce(*words):
    return main(["reproduce", *map(str, words)])


def record(method="NMLSDR", seed=0, study="toy", dataset="Toy", value=0.5, **fields):
    values = dict.fromkeys(MEASURE_NAMES, value)
    return {
        "study": study,
        "dataset": dataset,
        "method": method,
        "seed": seed,
        "metrics": values,
        "times": {},
        "error": None,
        **fields,
    }


# ---- the folder of cells


def filled(folder, n=4):
    opened = CellFolder(folder)
    for seed in range(n):
        opened.write(record(seed=seed))
    return contents(folder)


def contents(folder, name="cells"):
    return {path.name: path.read_bytes() for path in (folder / name).iterdir()}


def test_a_cell_is_a_file_and_reads_back(tmp_path):
    files = filled(tmp_path)
    assert sorted(files) == [f"toy.Toy.NMLSDR.{seed}.json" for seed in range(4)]
    assert json.loads(files["toy.Toy.NMLSDR.2.json"]) == record(seed=2)
    opened = CellFolder(tmp_path)
    assert opened.records[CellKey("toy", "Toy", "NMLSDR", 3)] == record(seed=3)
    assert opened.finished(CellKey("toy", "Toy", "NMLSDR", 3))
    assert not opened.finished(CellKey("toy", "Toy", "NMLSDR", 4))
    assert contents(tmp_path) == files


def test_every_cell_has_its_own_portable_file_name():
    studies = command.STUDIES.values()
    keys = [CellKey(s.name, name, method, 0) for s in studies for name in s.datasets for method in s.methods]
    names = {key.file_name().lower() for key in keys}
    assert len(names) == len(keys)
    assert all(re.fullmatch(r"[\w.-]+", name) for name in names)


def test_newest_record_of_a_cell_counts_and_a_failed_one_is_not_finished(tmp_path):
    opened = CellFolder(tmp_path)
    opened.write(record(error="ValueError: no"))
    assert not opened.finished(CellKey("toy", "Toy", "NMLSDR", 0))
    opened.write(record(value=0.25))
    again = CellFolder(tmp_path)
    assert again.records[CellKey("toy", "Toy", "NMLSDR", 0)]["metrics"]["AP"] == 0.25


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"study": "toy"}', b"\xff"])
def test_the_error_names_a_file_that_is_no_cell(tmp_path, content):
    filled(tmp_path)
    (tmp_path / "cells" / "other.json").write_bytes(content)
    with pytest.raises(InputError, match=r"other\.json is not a cell of an experiment; remove the file"):
        CellFolder(tmp_path)


def test_half_a_file_of_a_killed_run_is_not_read(tmp_path):
    files = filled(tmp_path)
    (tmp_path / "cells" / ".toy.Toy.NMLSDR.9.json.abc.part").write_bytes(b"{")
    assert len(CellFolder(tmp_path).records) == len(files)


def test_set_aside_keeps_the_old_cells(tmp_path):
    files = filled(tmp_path)
    opened = CellFolder(tmp_path)
    assert opened.set_aside().name == "cells.1"
    assert opened.records == {}
    assert opened.set_aside() is None
    opened.write(record())
    assert opened.set_aside().name == "cells.2"
    assert contents(tmp_path, "cells.1") == files
    assert CellFolder(tmp_path).records == {}


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made"):
        CellFolder(tmp_path / "file" / "out")


# ---- the protocol


def test_studies_are_the_article_s():
    toy, benchmarks, case = protocol.STUDIES.values()
    assert len(toy.methods) * len(MEASURE_NAMES) == 84
    assert len(benchmarks.datasets) * len(protocol.TEN_METHODS) * len(MEASURE_NAMES) == 700
    assert set(results.resource("article.json")["toy"]["Toy"]) == set(toy.methods)
    assert list(results.resource("article.json")["benchmarks"]) == list(benchmarks.datasets)
    assert list(results.resource("article.json")["benchmarks"]["Yeast"]) == list(protocol.TEN_METHODS)
    assert case.drawn == (1000, 1000)


def test_noise_and_mask_are_the_seed_s_and_not_the_method_s():
    protocol.draw.cache_clear()
    first = protocol.draw(protocol.STUDIES["toy"], "Toy", 0, "small", None)
    protocol.draw.cache_clear()
    again = protocol.draw(protocol.STUDIES["toy"], "Toy", 0, "small", None)
    np.testing.assert_array_equal(first.given, again.given)
    np.testing.assert_array_equal(first.train, again.train)
    assert first.random_state == again.random_state
    draw_of_other_seed = protocol.draw(protocol.STUDIES["toy"], "Toy", 1, "small", None)
    assert not np.array_equal(first.given, draw_of_other_seed.given)
    assert not np.array_equal(first.target, draw_of_other_seed.target)
    elsewhere = protocol.draw(protocol.STUDIES["benchmarks"], "Toy", 0, "small", None)
    assert not np.array_equal(first.target, elsewhere.target)


def test_a_draw_follows_the_protocol_of_the_article():
    data = protocol.draw(protocol.STUDIES["toy"], "Toy", 0, "small", None)
    assert data.labeled.mean() == 0.5
    flipped = (data.given != data.target)[data.labeled].mean()
    assert 0.05 < flipped < 0.15
    np.testing.assert_allclose(data.train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.train.std(axis=0), 1, atol=1e-12)
    degree = np.diff(data.graph().indptr)
    assert degree.min() >= 10
    benchmarks = protocol.draw(protocol.STUDIES["benchmarks"], "Toy", 0, "small", None)
    assert benchmarks.labeled.mean() == pytest.approx(0.3, abs=1e-3)


def test_a_repetition_of_the_case_study_draws_labelled_and_unlabelled_patients():
    data = protocol.draw(protocol.STUDIES["case-study"], "Cohort", 0, "small", None)
    assert data.labeled.sum() == 200
    assert (~data.labeled).sum() == 200
    draw_of_other_seed = protocol.draw(protocol.STUDIES["case-study"], "Cohort", 1, "small", None)
    np.testing.assert_array_equal(data.test_target, draw_of_other_seed.test_target)
    assert not np.array_equal(data.target, draw_of_other_seed.target)


def test_fingerprint_names_what_the_numbers_depend_on(monkeypatch):
    toy, benchmarks, _ = protocol.STUDIES.values()
    mark = protocol.fingerprint(toy, "Toy", "full", None)
    assert mark == protocol.fingerprint(toy, "Toy", "full", "/elsewhere")
    assert mark != protocol.fingerprint(toy, "Toy", "small", None)
    assert mark != protocol.fingerprint(benchmarks, "Toy", "full", None)
    monkeypatch.setattr(protocol, "versions", lambda: {"nmlsdr": "0"})
    assert mark != protocol.fingerprint(toy, "Toy", "full", None)


@pytest.mark.shared
def test_fingerprint_of_files_is_their_content_s(shared):
    study = protocol.STUDIES["benchmarks"]
    birds = protocol.fingerprint(study, "Birds", "full", str(shared / "data"))
    assert birds == protocol.fingerprint(study, "Birds", "full", str(shared / "data"))
    assert birds != protocol.fingerprint(study, "Yeast", "full", str(shared / "data"))


# ---- results and tables


def two_seeds():
    return {
        CellKey("toy", "Toy", method, seed): record(method, seed, value=value + 0.01 * seed)
        for method, value in (("NMLSDR", 0.9), ("MDDMp", 0.91))
        for seed in (0, 1)
    }


def test_collect_gives_means_and_differences_in_the_article_s_order():
    collected = results.collect(protocol.STUDIES["toy"], two_seeds())
    assert collected.methods == ("MDDMp", "NMLSDR")
    np.testing.assert_allclose(collected.mean[0, 1], 0.905)
    np.testing.assert_allclose(collected.std[0, 1], np.std([0.9, 0.91], ddof=1))
    ap = MEASURE_NAMES.index("AP")
    assert collected.difference[0, 1, ap] == pytest.approx(0.905 - 0.935)
    assert not collected.within_two_std()[0, 1, ap]
    assert collected.within_two_std()[0, 1, MEASURE_NAMES.index("HL'")]
    assert results.collect(protocol.STUDIES["benchmarks"], two_seeds()) is None


def test_failed_cells_are_reported_and_left_out_of_the_means():
    cells = two_seeds()
    cells[CellKey("toy", "Toy", "NMLSDR", 1)] = record("NMLSDR", 1, error="ValueError: no", metrics={})
    collected = results.collect(protocol.STUDIES["toy"], cells)
    assert collected.failures == ["toy, Toy, NMLSDR, seed 1: ValueError: no"]
    np.testing.assert_allclose(collected.mean[0, 1], 0.9)
    assert np.isnan(collected.std[0, 1]).all()


def test_the_table_of_cells_has_every_cell():
    collected = results.collect(protocol.STUDIES["toy"], two_seeds())
    rows = list(csv.DictReader(io.StringIO(results.all_cells("toy", [collected]).to_csv())))
    assert len(rows) == 2 * 7
    row = next(r for r in rows if r["method"] == "NMLSDR" and r["measure"] == "HL'")
    assert (row["mean"], row["seeds"], row["article"], row["difference"]) == ("0.905000", "2", "0.913", "-0.008000")
    assert row["within 2 std"] == "yes"


def test_agreement_counts_cells():
    collected = results.collect(protocol.STUDIES["toy"], two_seeds())
    table = results.agreement(collected, "x", (0.01, 0.05))
    name, entries = table.rows[-1]
    size = np.abs(collected.difference)
    assert name == "all"
    assert entries[0].text == "14"
    assert entries[1].text.startswith(f"{(size <= 0.01).sum()} (")
    assert entries[2].text.startswith(f"{(size <= 0.05).sum()} (")
    far = results.difference_table(collected, "x", 0.035)
    sizes = [abs(float(entries[-2].text)) for _, entries in far.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == (size > 0.035).sum()
    section = results.Section("toy", "", results.ResultTable("", "", []))
    results.compare(section, collected, (0.01, 0.05), 0.035)
    assert [table.rows for table in section.tables] == [results.agreement(collected, "x", (0.01, 0.05)).rows, far.rows]
    ((text, holds),) = section.claims
    assert text.endswith(f": {len(sizes)} cells, of which {len(sizes)} are not explained")
    assert holds is False


def test_notes_name_what_exists():
    for study, by_set in results.resource("notes.json")["cells"].items():
        assert set(by_set) <= set(protocol.STUDIES[study].datasets)
        for by_method in by_set.values():
            assert set(by_method) <= set(protocol.STUDIES[study].methods)
            assert all(len(text) > 20 for text in by_method.values())


def example_table():
    entries = [results.Entry("0.5", "0.4\n+0.1", True, 0.1), results.Entry("a_b & 5 %")]
    return results.ResultTable("name", "Title", ["Row", "x", "y"], [("first", entries)], "A note.")


def test_tables_are_written_in_every_format():
    table = example_table()
    assert table.to_csv() == "Row,x,y\nfirst,0.5,a_b & 5 %\n"
    assert table.to_text().splitlines() == [
        "Title",
        "Row       x          y",
        "first  0.5*  a_b & 5 %",
        "        0.4",
        "       +0.1",
        "A note.",
    ]


def test_in_a_terminal_a_table_describes_itself_as_it_looks_there():
    for name, text in results.resource("texts.json")["tables"].items():
        table = results.ResultTable("name", text["title"], ["Row"], [], text.get("note", ""))
        assert not re.search("parenthes|bold|small print|web page", table.to_text()), name


def test_the_page_escapes_all_that_it_is_given():
    """Titles, names, cells, notes, paragraphs, claims, captions, failures and settings."""
    pytest.importorskip("jinja2")
    bad = "<script>alert('x')</script>\" onload=\""
    rows = [(bad, [results.Entry(bad, bad, True, 0.1), results.Entry(bad)])]
    table = results.ResultTable(bad, bad, [bad, "x", "y"], rows, bad)
    section = results.Section(
        "toy",
        bad,
        table,
        [bad],
        [(bad, True), (bad, None)],
        [table, example_table()],
        {bad: (None, bad)},
        {bad: bad},
        [bad],
    )
    page = report._page([section], {bad: b"png"}, [(bad, bad)])
    assert "<script" not in page
    assert 'onload="' not in page
    assert page.count("&lt;script&gt;") == 19
    assert '<td class="d4up"><b>0.5</b><small>0.4\n+0.1</small></td><td>a_b &amp; 5 %</td>' in page
    assert '<li class="open">' in page
    assert 'src="data:image/png;base64,cG5n"' in page


# ---- the runner


def shown(records, waiting, *arguments, **settings):
    """The number of lines after each record, and the lines."""
    stream = io.StringIO()
    shown_records = store.shown(iter(records), waiting, *arguments, stream=stream, **settings)
    counts = [len(stream.getvalue().splitlines()) for _ in shown_records]
    return [*counts[1:], len(lines := stream.getvalue().splitlines())], lines


def test_progress_shows_the_remaining_time():
    cells = [CellKey("toy", "Toy", "NMLSDR", seed) for seed in range(4)]
    finished_records = [record(seed=k, times={"embed": 2.0}, error="E: x" if k == 2 else None) for k in (1, 2, 3)]
    _, lines = shown(finished_records, cells[1:], 1, 1, every=0.0)
    assert lines[0] == "In the folder already: 1 of 4 cells."
    assert lines[1] == "3 cells to run, 1 at a time."
    assert lines[2] == "2/4 cells, too early to estimate  (Toy, NMLSDR, seed 1)"
    assert re.fullmatch(r"3/4 cells, 1 failed, about \d+ s left  \(.*, seed 2\)", lines[3])
    assert lines[4] == "4/4 cells, 1 failed  (Toy, NMLSDR, seed 3)"


def test_the_estimate_of_the_total_time_is_reported_early(monkeypatch):
    """Lines come every 15 s in a script, the first after 5 s: the cells until then are the probe."""
    clock = [100.0]
    monkeypatch.setattr(store.time, "monotonic", lambda: clock[0])
    waiting = [CellKey("toy", "Toy", "NMLSDR", seed) for seed in range(400)]

    def done():
        for seed in range(20):
            clock[0] += 1.0
            yield record(seed=seed, times={"embed": 1.0})

    line_counts, lines = shown(done(), waiting, 0, 1)
    assert line_counts == [1] * 4 + [2] * 15 + [3]
    assert lines[1].startswith("5/400 cells, about 7 min left")


def test_remaining_time_follows_the_cost_of_like_cells():
    waiting = [CellKey("s", "big", "m", seed) for seed in range(3)] + [CellKey("s", "small", "m", 0)]
    finished_cells = [{**waiting[k]._asdict(), "times": {"embed": seconds}} for k, seconds in ((0, 10.0), (3, 1.0))]
    assert store.remaining_seconds(waiting[1:3], finished_cells, 1, 22.0) == pytest.approx(2 * 10.0 * 22.0 / 11.0)
    new = CellKey("s", "new", "m", 0)  # takes the mean of both data sets
    assert store.remaining_seconds([waiting[1], new], finished_cells, 1, 22.0) == pytest.approx(
        (10.0 + 5.5) * 22.0 / 11.0
    )
    assert store.remaining_seconds(waiting[1:3], [cell | {"times": {}} for cell in finished_cells], 1, 22.0) is None


def test_an_estimate_waits_until_most_cells_have_a_similar_finished_cell():
    """The first data set is a hundred times as dear as the others: nothing is said from it alone."""
    cells = [CellKey("s", name, "m", seed) for name in ("dear", "cheap", "third") for seed in range(5)]
    finished_cells = [{**key._asdict(), "times": {"embed": 1.0}, "error": None} for key in (*cells[:7], cells[10])]
    _, lines = shown(finished_cells, cells, 0, 2, every=0.0)
    # After seven cells 3 of the 8 waiting ones are of sets that were met.
    assert ["about" in line for line in lines[1:]] == [False] * 7 + [True]
    assert (
        store.remaining_seconds([*cells[1:3], *cells[5:7]], finished_cells[:1] * 4, 2, 4.0) == 4.0
    )  # half of them were met
    assert store.remaining_seconds([*cells[1:3], *cells[5:8]], finished_cells[:1] * 4, 2, 4.0) is None


# ---- the command


def final_tables(out):
    return {path.name: path.read_bytes() for path in (out / "tables").iterdir()}


@pytest.mark.slow
def test_toy_from_the_command_and_again_with_two_jobs(tmp_path, capfd):
    words = ("toy", "--size", "small", "--seeds", 2, "--methods", "nmlsdr", "MDDMp", "NMLSDR*", "wmldaD")
    assert reproduce(*words, "--jobs", 1, "--out", tmp_path / "one") == 0
    output = capfd.readouterr().out
    for metric in MEASURE_NAMES:
        assert metric in output
    assert "0.935" in output  # the article's AP of NMLSDR
    assert "8 cells, 0 failed" in output
    assert reproduce(*words, "--jobs", 2, "--out", tmp_path / "two") == 0
    assert final_tables(tmp_path / "one") == final_tables(tmp_path / "two")
    values = []
    for name in ("one", "two"):
        records = list(CellFolder(tmp_path / name).records.values())
        assert all(r["error"] is None for r in records)
        values.append({(r["method"], r["seed"]): r["metrics"] for r in records})
    assert values[0] == values[1]  # bit for bit
    page = (tmp_path / "one" / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert str(tmp_path) not in page
    for kind in ("png", "svg"):
        assert (tmp_path / "one" / "figures" / f"toy-embedding.{kind}").stat().st_size > 10_000

    before = contents(tmp_path / "one")
    assert reproduce(*words, "--jobs", 1, "--out", tmp_path / "one") == 0
    assert contents(tmp_path / "one") == before


@pytest.mark.slow
@pytest.mark.shared
def test_benchmarks_from_the_command(tmp_path, capfd, shared):
    words = ("benchmarks", "--size", "small", "--seeds", 2, "--jobs", 1, "--out", tmp_path)
    words += ("--data-home", shared / "data", "--datasets", "emotions", "TOY", "yeast")
    words += ("--methods", "CCA", "MDDMp", "NMLSDR", "NMLSDR*")
    assert reproduce(*words) == 0
    out, err = capfd.readouterr()
    assert "24 cells, 0 failed" in out
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert {f"benchmarks-{metric.rstrip(chr(39))}.csv" for metric in MEASURE_NAMES} <= names
    wilcoxon = (tmp_path / "tables" / "benchmarks-wilcoxon.csv").read_text().splitlines()
    assert [line.partition(",")[0] for line in wilcoxon[1:]] == ["CCA", "MDDMp", "NMLSDR"]
    assert "Traceback" not in err


@pytest.mark.slow
def test_the_report_of_the_case_study_states_that_it_is_simulated(tmp_path, capfd):
    words = ("case-study", "--size", "small", "--seeds", 2, "--jobs", 1, "--methods", "MDDMp", "NMLSDR")
    assert reproduce(*words, "--out", tmp_path) == 0
    assert "SIMULATED" in capfd.readouterr().out
    assert "simulated" in (tmp_path / "report.html").read_text().lower()


def test_a_class_of_one_s_own_stands_in_the_tables_of_the_benchmarks(tmp_path):
    own_class = "sklearn.decomposition:PCA"
    words = "benchmarks", "--datasets", "Toy", "--size", "small", "--seeds", 1, "--jobs", 1, "--out", tmp_path
    assert reproduce(*words, "--methods", own_class) == 0
    assert reproduce(*words, "--methods", own_class, "MDDMp") == 0
    head, values = (tmp_path / "tables" / "benchmarks-AP.csv").read_text(encoding="utf-8").splitlines()
    assert head == f"Data set,MDDMp,{own_class}"
    assert all(0.5 < float(value) < 1 for value in values.split(",")[1:])
    study = protocol.STUDIES["benchmarks"]
    data = protocol.draw(study, "Toy", 0, "small", None)
    assert protocol.embed(study, own_class, data)[1].shape[1] == data.given.shape[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("benchmarks", "--datasets", "bird", "--data-home", "nowhere"), "'bird'"),
        (("benchmarks", "--datasets", "Nope"), f"'Nope' is not known; choose one of {', '.join(protocol.TEN_SETS)}."),
        (("toy", "--methods", "sklearn:Nope"), "'sklearn:Nope' cannot be imported"),
        (("toy", "--methods", "numpy:zeros"), "'numpy:zeros' must be a transformer class"),
        (("toy", "--methods", "NMLSD"), "did you mean NMLSDR?"),
        (("toy", "--datasets", "Birds"), "toy has one data set; leave --datasets out"),
        (("benchmarks", "--data-home", "nowhere", "--datasets", "Birds"), "birds-train.arff"),
    ],
)
def test_bad_input_raises_a_clear_error_and_status_2(tmp_path, capfd, words, message):
    assert reproduce(*words, "--out", tmp_path / "out") == 2
    out, err = capfd.readouterr()
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert out == ""


@pytest.mark.parametrize("option", [("--seeds", "0"), ("--seeds", "x"), ("--jobs", "-1"), ("--size", "big")])
def test_bad_numbers_are_refused_by_the_parser(option, capsys):
    assert reproduce("toy", *option) == 2
    assert option[0] in capsys.readouterr().err


def no_report(monkeypatch):
    monkeypatch.setattr(command, "write_report", lambda *args, **options: "report.html")
    section = results.Section("toy", "Toy", example_table())
    monkeypatch.setitem(command.ARTICLE.sections, "toy", lambda collected, *, size: section)


def test_cells_of_another_fingerprint_are_refused(tmp_path, capfd, monkeypatch):
    CellFolder(tmp_path).write(record(fingerprint="other"))
    assert reproduce("toy", "--size", "small", "--seeds", 1, "--out", tmp_path) == 2
    assert "--force-new" in capfd.readouterr().err
    monkeypatch.setattr(command, "run_cells", lambda cells, work, opened, **options: opened.write(record()))
    no_report(monkeypatch)
    words = ("toy", "--size", "small", "--seeds", 1, "--out", tmp_path, "--methods", "NMLSDR")
    assert reproduce(*words, "--force-new") == 0
    assert list(contents(tmp_path, "cells.1")) == ["toy.Toy.NMLSDR.0.json"]


def test_interruption_is_status_130_and_failure_1(tmp_path, capfd, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_cells", interrupted)
    words = ("toy", "--size", "small", "--seeds", 1, "--out", tmp_path, "--methods", "NMLSDR")
    assert reproduce(*words) == 130
    assert "the same command goes on" in capfd.readouterr().err

    def failing(cells, work, opened, **options):
        opened.write(record(error="ValueError: no", metrics={}))

    monkeypatch.setattr(command, "run_cells", failing)
    no_report(monkeypatch)
    assert reproduce(*words) == 1


def test_the_command_line_knows_every_study():
    assert tuple(protocol.STUDIES) == verbs.STUDIES
    assert set(protocol.TEN_SETS) == set(verbs.BENCHMARK_SETS)


def test_the_help_of_reproduce_names_the_data_sets_and_methods(capsys):
    assert reproduce("--help") == 0
    help_text = capsys.readouterr().out.replace("\n", " ")
    words = set(re.findall(r"[\w*]+", help_text))
    assert words >= {*protocol.TEN_SETS, *METHODS}


def test_an_error_in_a_cell_becomes_its_record(monkeypatch):
    def broken(*args, **options):
        raise ValueError("no data today")

    monkeypatch.setattr(protocol, "draw", broken)
    key = CellKey("toy", "Toy", "NMLSDR", 0)
    options = {"size": "small", "data_home": None, "fingerprint": "x"}
    made = protocol.run_cell(key, protocol.STUDIES["toy"], protocol.measure_article, **options)
    assert made["error"].startswith("ValueError: no data today (broken, line")
    assert made["metrics"] == dict.fromkeys(MEASURE_NAMES)
    assert json.loads(json.dumps(made)) == made
