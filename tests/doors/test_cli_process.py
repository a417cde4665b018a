"""The command line and the world around it: signals, kills, terminals, pipes, help."""

import io
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from commands import FEATURES, LABELS, assert_done, label_columns, listing, spawn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr._errors import import_extra
from nmlsdr.cli import main
from nmlsdr.model_file import load_model, save_model

COLUMNS = ["--label-columns", label_columns()]
POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals, forks and pipes")
PREDICT = ["predict", "model.skops", "test.csv", *COLUMNS, "--out", "labels.csv"]
FIT = ["fit", "train.csv", *COLUMNS, "--out", "model.skops"]


@pytest.fixture
def folder(run, tables, tmp_path):
    """Tables, a model and an old result in the current folder."""
    X, Y, _, _ = tables
    pipeline = make_pipeline(StandardScaler(), nmlsdr.NMLSDR(), nmlsdr.SemiSupervisedMLkNN()).fit(X, Y)
    save_model(tmp_path / "model.skops", pipeline, feature_names=FEATURES, label_names=LABELS)
    (tmp_path / "labels.csv").write_text("old")
    return tmp_path


def contents():
    return {name: Path(name).read_bytes() for name in listing()}


def test_as_a_module_in_a_process_of_its_own():
    process = spawn("--version")
    assert (process.returncode, process.stdout, process.stderr) == (0, f"nmlsdr {nmlsdr.__version__}\n", "")


@pytest.mark.parametrize(
    "verb", ["", "fit", "transform", "predict", "evaluate", "review", "report", "reproduce", "info"]
)
def test_help_of_every_command_is_printed(run, verb):
    outcome = run(*filter(None, [verb]), "--help")
    assert_done(outcome)
    assert outcome.out.startswith(f"usage: nmlsdr {verb}".rstrip())
    assert max(map(len, outcome.out.splitlines())) <= 120


@pytest.mark.quick_cases("fit-fsync", "predict-replace")
@POSIX
@pytest.mark.parametrize("point", ["fsync", "replace"])
@pytest.mark.parametrize("command", [PREDICT, FIT], ids=["predict", "fit"])
def test_kill_during_a_write_leaves_the_old_file(run, folder, monkeypatch, command, point):
    """kill -9 before the flush to the disk and before the rename, in a forked child."""
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    before = contents()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python >= 3.12 frowns on forks beside threads
        child = os.fork()
    if child == 0:
        try:
            setattr(os, point, lambda *args: os.kill(os.getpid(), signal.SIGKILL))
            main(command)
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    after = contents()
    part_files = [name for name in after if name.endswith(".part")]
    assert len(part_files) == 1  # all that a killed process leaves, and it says what it is
    assert {name: after[name] for name in after if name not in part_files} == before
    assert_done(run(*command))
    assert_done(run("evaluate", "model.skops", "test.csv", *COLUMNS))


@pytest.fixture
def ctrl_c():
    """SIGINT as a terminal's program has it: where the suite runs in the background it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@POSIX
@pytest.mark.parametrize("command", [PREDICT, FIT], ids=["predict", "fit"])
def test_ctrl_c_ends_a_process_with_status_130(run, folder, monkeypatch, ctrl_c, command):
    before = contents()
    monkeypatch.setattr(os, "fsync", lambda descriptor: os.kill(os.getpid(), signal.SIGINT))
    outcome = run(*command)
    assert (outcome.status, outcome.out, outcome.err) == (130, "", "nmlsdr: interrupted.\n")
    assert contents() == before


@POSIX
@pytest.mark.slow
def test_reader_that_has_gone_away(folder):
    """As in `nmlsdr evaluate ... | true`."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "nmlsdr", "evaluate", "model.skops", "test.csv", *COLUMNS]
    process = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writing)
    assert (process.returncode, process.stderr) == (1, "")


@POSIX
def test_a_closed_standard_output_is_named():
    command = f"{sys.executable} -P -m nmlsdr datasets list >&-"
    process = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    message = "nmlsdr: standard output is closed; open it, for example by > /dev/null.\n"
    assert (process.returncode, process.stderr) == (1, message)


def test_a_package_that_cannot_be_loaded_is_not_said_to_be_absent(monkeypatch):
    def fail(name):
        raise ImportError("libarrow.so: failed to map segment")

    monkeypatch.setattr("importlib.import_module", fail)
    with pytest.raises(ImportError, match=r"needs pyarrow, which is installed and cannot be loaded \(libarrow\.so"):
        import_extra("pyarrow", "Reading CSV files", "cli")


def test_a_lack_of_threads_is_no_bug(run, folder, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("nmlsdr.tables.read_table", fail)
    monkeypatch.setattr("nmlsdr._cli.reading.read_table", fail)
    outcome = run("plan", "train.csv", *COLUMNS)
    assert outcome.status == 1
    message = "the process may start no more threads (can't start new thread); raise its limits of threads and memory."
    assert outcome.err == f"nmlsdr: {message}\n"


class Terminal(io.StringIO):
    """Text that somebody watches."""

    def isatty(self):
        return True


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_shown_on_a_terminal_only(run, folder, monkeypatch, quiet):
    assert_done(run(*PREDICT))  # nobody watches: nothing is shown
    expected = (folder / "labels.csv").read_bytes()
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        assert run(*PREDICT, *["-q"] * quiet).status == 0
    shown = terminal.getvalue()
    for words in (
        "read test.csv: 25 rows, 5 features, 3 labels, 25 rows labelled",
        "predict 25 rows ...",
        "write labels.csv",
    ):
        assert (words in shown) is not quiet
    assert not quiet or shown == ""
    assert (folder / "labels.csv").read_bytes() == expected


def test_an_error_on_a_terminal_stands_in_place_of_the_progress(run, folder, monkeypatch):
    (folder / "short.csv").write_text("a\n")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run("predict", "model.skops", "short.csv", "--out", "labels.csv").status == 2
    *_, shown, last = terminal.getvalue().split("\r\x1b[K")
    assert shown.startswith("read short.csv ...")
    assert last.startswith("nmlsdr: short.csv: it holds 0 rows")


@POSIX
@pytest.mark.slow
def test_output_to_a_pipe(folder):
    """What is not a file is written, not replaced."""
    (folder / "pipe.csv").symlink_to("/dev/stdout")
    process = spawn("transform", "model.skops", "test.csv", *COLUMNS, "--out", "pipe.csv")
    assert (process.returncode, process.stderr) == (0, "nmlsdr: wrote pipe.csv: 25 rows, 3 components.\n")
    lines = process.stdout.splitlines()
    assert lines[0] == "row,component_0,component_1,component_2"
    assert len(lines) == 26
    assert (folder / "pipe.csv").is_symlink()


def test_same_model_on_any_number_of_threads(run, folder):
    for jobs in ("1", "2"):
        assert_done(run("fit", "train.csv", *COLUMNS, "--jobs", jobs, "--out", f"{jobs}.skops"))
    model, model_of_two_threads = (load_model(f"{jobs}.skops").steps[1][1] for jobs in ("1", "2"))
    np.testing.assert_array_equal(model.label_distributions_, model_of_two_threads.label_distributions_)
    np.testing.assert_allclose(model.components_, model_of_two_threads.components_, rtol=0, atol=1e-10)
