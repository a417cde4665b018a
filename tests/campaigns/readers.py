"""A fuzz campaign over everything that reads foreign bytes; opt-in, its seeds are kept in its report.

    python tests/campaigns/readers.py KIND [--files 100000] [--first 0] [--out report.json] [--record]
    python tests/campaigns/readers.py all --files 100000 --out campaign.json

Each file is a sound one, damaged by the random generator of its number: the same number, the same file. A failure is
anything but a table that keeps the promises of `read_table` (a model that predicts probabilities, a command that ends
with a status) or one printable sentence: a traceback, more than 10 seconds, or a lack of memory.
bombs.py has the files that are small and want much.
"""

import argparse
import contextlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from table_files import read_table

from campaigns import record
from campaigns.files import KINDS, SEEDS, damaged
from campaigns.forged_models import model_bytes
from campaigns.forged_plans import models_of_tables
from nmlsdr._errors import InputError, printable
from nmlsdr._model.answers import sample_rows
from nmlsdr._model.reading import open_model
from nmlsdr.cli import main as command
from nmlsdr.datasets import load_mulan

__all__ = ["KINDS", "SEEDS", "Found", "read", "run"]

SECONDS = 10
MORE_BYTES = 256 << 20  # that a command may take for a table of 40 rows
LABELS = ["y1", "y2"]
NAMES = {
    "arff-dense": "f.arff",
    "arff-sparse": "f.arff",
    "csv": "f.csv",
    "svmlight": "f.svm",
    "npz": "f.npz",
    "parquet": "f.parquet",
    "model": "f.skops",
}


class Found(NamedTuple):
    """How the files of a run ended, and a line for each that ended badly."""

    counts: Counter
    failures: list


class TooLong(BaseException):
    """No file may take so long; not an Exception, so that no reader takes it for its own."""


def read(kind, content, folder, rng=None):
    """Write a file of this kind, read it as the random numbers choose, and check the promises about what comes back."""
    sound = rng is None
    rng = random.Random(0) if rng is None else rng
    path = folder / NAMES.get(kind, "f.csv")
    if kind not in ("xml", "plan", "command"):
        path.write_bytes(content)
    if kind == "xml":
        (folder / "f.arff").write_bytes(SEEDS["arff-sparse"][0])
        (folder / "f.xml").write_bytes(content)
        return check_table(load_mulan(folder / "f.arff", folder / "f.xml"))
    if kind == "model":
        return check_model(open_model(path))
    if kind == "command":
        return run_command(content, folder, rng)
    if kind == "plan":
        return run_with_plan(content, folder, rng)
    how = {}
    if kind == "svmlight":
        how = {"n_features": rng.choice([None, None, 10]), "zero_based": rng.random() < 0.2}
    elif kind != "npz" and (sound or rng.random() < 0.8):
        how["label_columns"] = LABELS
    if kind in ("arff-dense", "parquet"):
        how["drop"] = ["z"]
    return check_table(read_table(path, **how))


def check_table(table):
    X = table.data
    Y = table.target
    finite = np.isfinite(X.data) if sparse.issparse(X) else ~np.isinf(X)  # a missing value of a dense row is NaN
    assert finite.all(), "a value is not finite"
    if sparse.issparse(X):
        assert X.has_canonical_format, "the sparse rows are not in their form"
        X.check_format(full_check=True)
    if Y is not None:
        assert Y.shape[0] == X.shape[0], "labels of other rows"
        assert np.isin(Y, (-1, 0, 1)).all(), "a label is none"
    for names, size in ((table.feature_names, X.shape[1]), (table.label_names, None if Y is None else Y.shape[1])):
        if names is not None and size is not None:
            assert len(names) == len(set(names)) == size, "names of other columns"
    return table


def first_step(estimator):
    """The first step of a pipeline, or the estimator itself."""
    return estimator.steps[0][1] if hasattr(estimator, "steps") else estimator


def check_model(model):
    """What was read must predict probabilities, and its names be those of its columns."""
    estimator = model.estimator
    n_features = estimator.n_features_in_
    assert model.feature_names is None or len(model.feature_names) == n_features, "names of other columns"
    repr(estimator)
    if n_features > 1000:
        return model
    X = np.linspace(-1, 2, 7 * n_features).reshape(7, n_features)
    if hasattr(first_step(estimator), "plan_"):
        X = sample_rows(estimator)
    with np.errstate(all="ignore"):
        if hasattr(estimator, "predict_proba"):
            scores = estimator.predict_proba(X)
            assert np.isfinite(scores).all(), "a score is not finite"
            assert scores.min() >= 0, "a score is below 0"
            assert scores.max() <= 1, "a score is above 1"
            estimator.predict(X)
        elif hasattr(estimator, "transform"):
            estimator.transform(X)
        else:
            assert np.isfinite(estimator.predict(X)).all(), "a prediction is not finite"
    return model


def run_command(files, folder, rng):
    """Run a verb on these files; its status, which is 0, 1 or 2."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    data = [str(folder / "d.csv"), "--label-columns", "y1,y2"]
    model = str(folder / "m.skops")
    out = str(folder / "out.csv")
    words = rng.choice(
        [
            ["info", model],
            ["predict", model, *data, "--probabilities", "--out", out],
            ["predict", model, *data, "--out", out],
            ["transform", model, *data, "--out", out],
            ["evaluate", model, *data],
            ["review", *data, "--n-neighbors", "2", "--out", out],
            ["fit", *data, "--n-neighbors", "2", "--out", str(folder / "out.skops")],
            [
                "fit",
                str(folder / "d.csv"),
                "--labels",
                str(folder / "l.xml"),
                "--n-neighbors",
                "2",
                "--out",
                str(folder / "out.skops"),
            ],
            [
                "fit",
                str(folder / "d.csv"),
                "--label-file",
                str(folder / "l.csv"),
                "--mask",
                str(folder / "k.txt"),
                "--drop",
                "y1,y2",
                "--classifier",
                "mlknn",
                "--n-neighbors",
                "2",
                "--out",
                str(folder / "out.skops"),
            ],
        ]
    )
    status, _, message = run_words([*words, "--jobs", "1"] if words[0] != "info" else words)
    if status:
        raise InputError(message)
    return status


def run_words(words):
    """Run a command; its status, which is 0, 1 or 2, and what it says on both streams, which is printable."""
    stdout = io.StringIO()
    stderr = io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        status = command(words)
    for line in (stdout.getvalue() + stderr.getvalue()).splitlines():
        assert printable(line) == line, f"the terminal gets {line[:80]!r}"
    assert status in (0, 1, 2), f"status {status}"
    return status, stdout.getvalue(), stderr.getvalue()


def run_with_plan(files, folder, rng):
    """Use a model on the table of its fit: a result, or one sentence, and no other file is made, changed or removed."""
    for old in folder.iterdir():
        old.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    verb = rng.choice(["evaluate", "evaluate", "predict", "transform", "info"])
    out = folder / "out.csv"
    words = [verb, str(folder / "m.skops"), *([] if verb == "info" else [str(folder / "t.csv"), "--jobs", "1"])]
    words += ["--out", str(out)] * (verb in ("predict", "transform"))
    before = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MORE_BYTES, before[1]))
    try:
        status, _, output = run_words(words)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
        out.unlink(missing_ok=True)
        files_after = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert files_after == files, f"files were touched: {files_after.keys()}"
    if status:
        errors = [line for line in output.splitlines() if "nmlsdr: warning: " not in line]
        assert [line[-1:] for line in errors] in (["."], ["?"]), f"not one sentence: {errors}"
        raise InputError(errors[0])
    return status


def forbid_code():
    """End the process, from now on, if a file makes Python run a program, open a socket or look for a pickled class."""

    forbidden = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "pickle.find_class"}

    def refuse(event, arguments):
        if event in forbidden:
            print(f"CODE: {event} {str(arguments)[:200]}", file=sys.stderr, flush=True)
            os._exit(3)

    sys.addaudithook(refuse)


def run(kind, numbers, folder):
    """Read the damaged files of these numbers."""
    counts = Counter()
    failures = []

    def stop(*_):
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for number in numbers:
            rng = random.Random(number)
            content = damaged(kind, rng)
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                read(kind, content, folder, rng)
                counts["read"] += 1
            except InputError as error:
                counts["refused"] += 1
                text = str(error)
                if kind != "command" and (printable(text) != text or not text.endswith((".", "?"))):
                    failures.append(f"{kind} {number}: not a sentence: {text[:200]!r}")
            except TooLong:
                failures.append(f"{kind} {number}: longer than {SECONDS} seconds")
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                place = traceback.extract_tb(error.__traceback__)[-1]
                failures.append(
                    f"{kind} {number}: {type(error).__name__}: {str(error)[:200]} ({place.filename}:{place.lineno})"
                )
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    return Found(counts, failures)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out")
    parser.add_argument("--record", action="store_true", help="write the counts to last_runs.json")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    model_bytes()
    models_of_tables()
    if args.kind in ("model", "plan"):
        forbid_code()
    report = {}
    for kind in KINDS if args.kind == "all" else [args.kind]:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            summary = run(kind, range(args.first, args.first + args.files), Path(folder))
        report[kind] = {
            "first": args.first,
            "files": args.files,
            **summary.counts,
            "failed": len(summary.failures),
            "failures": summary.failures[:50],
            "seconds": round(time.monotonic() - begin),
            "peak_megabytes_so_far": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        print(kind, json.dumps(report[kind]), flush=True)
        if args.out:
            Path(args.out).write_text(json.dumps(report, indent=1) + "\n")
        if args.record:
            counts = {"files": args.files, **summary.counts, "failed": len(summary.failures)}
            record.save(f"readers.py {kind} --files {args.files} --first {args.first}", counts)
    return int(any(part["failed"] for part in report.values()))


if __name__ == "__main__":
    sys.exit(main())
