"""Wrong input: one sentence on stderr, status 2, no traceback, and no file touched."""

import os
import pickle

import numpy as np
import pytest
from commands import FEATURES, LABELS, assert_refused, label_columns, listing, ran, write_csv, write_tables
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr import cli
from nmlsdr._cli import checks
from nmlsdr._cli.parser import InputFile
from nmlsdr._process.threads import SIMD_LEVELS
from nmlsdr.cli import main
from nmlsdr.model_file import save_model

COLUMNS = ["--label-columns", label_columns()]


@pytest.fixture(scope="module")
def bad_folder(tmp_path_factory):
    """Next to good tables: one bad file of each kind, and models.  Made once; no test may change it."""
    tmp_path = tmp_path_factory.mktemp("bad")
    X, Y, _, _ = write_tables(tmp_path, np.random.default_rng(0))
    rows = np.hstack([X.astype(object), Y]).tolist()
    names = FEATURES + LABELS

    def table(name, change):
        copy = [list(row) for row in rows]
        change(copy)
        write_csv(tmp_path / name, names, copy)

    table("text.csv", lambda rows: rows[7].__setitem__(1, "tall"))
    table("two.csv", lambda rows: rows[7].__setitem__(6, 2))
    table("short.csv", lambda rows: rows[7].pop())
    write_csv(tmp_path / "head.csv", names, [])
    write_csv(tmp_path / "few.csv", FEATURES[:3] + LABELS, np.hstack([X[:, :3].astype(object), Y]).tolist())
    write_csv(tmp_path / "one.csv", names, rows[:1])
    write_csv(tmp_path / "unlabelled.csv", names, [[*row[:5], "", "", ""] for row in rows])
    write_csv(tmp_path / "Y.csv", LABELS, Y[:9].tolist())
    write_csv(tmp_path / "other.csv", [*FEATURES, "x", "y", "z"], rows)
    np.savez(tmp_path / "narrow.npz", X=X[:, :3], y=Y)
    np.savez(tmp_path / "few-labels.npz", X=X, y=Y[:, :2])
    np.savez(tmp_path / "only-X.npz", X=X)
    np.savez(tmp_path / "objects.npz", X=np.array([[1, "a"]], dtype=object), y=Y[:1])
    np.savez(tmp_path / "nothing.npz", a=X)
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "latin.csv").write_bytes("Größe,flu\n1,0\n".encode("latin-1"))
    (tmp_path / "torn.csv.gz").write_bytes((tmp_path / "train.arff.gz").read_bytes()[:200])
    (tmp_path / "table.xls").write_bytes(b"x")
    (tmp_path / "mask.txt").write_text("1\n0\n")
    (tmp_path / "mask2.txt").write_text("1\n2\n" * 30)
    (tmp_path / "pickle.skops").write_bytes(pickle.dumps({"a": 1}))
    (tmp_path / "folder").mkdir()
    fitted = make_pipeline(StandardScaler(), nmlsdr.NMLSDR(), nmlsdr.SemiSupervisedMLkNN()).fit(X, Y)
    save_model(tmp_path / "model.skops", fitted, feature_names=FEATURES, label_names=LABELS)
    save_model(tmp_path / "plain.skops", fitted)
    save_model(tmp_path / "scaler.skops", fitted[:1], feature_names=FEATURES)
    (tmp_path / "cut.skops").write_bytes((tmp_path / "model.skops").read_bytes()[:1000])
    (tmp_path / "result.csv").write_text("old")
    (tmp_path / "old.skops").write_text("old")
    return tmp_path


@pytest.fixture
def bad(run, bad_folder, monkeypatch):
    """The folder of bad files as the current one; says if a test has changed it."""

    def state():
        return {entry.name: (entry.stat().st_size, entry.stat().st_mtime_ns) for entry in os.scandir(bad_folder)}

    monkeypatch.chdir(bad_folder)
    before = state()
    yield bad_folder
    assert state() == before


# arguments after the verb, words of the sentence
READING = [
    (["absent.csv", *COLUMNS], ["absent.csv", "does not exist"]),
    (["folder", *COLUMNS], ["folder"]),
    (["table.xls", *COLUMNS], ["suffix", ".arff"]),
    (["head.csv", *COLUMNS], ["head.csv"]),
    (["latin.csv", *COLUMNS, "--encoding", "utf-8"], ["latin.csv", "line 1", "UTF-8"]),
    (["torn.csv.gz", *COLUMNS], ["torn.csv.gz"]),
    (["text.csv", *COLUMNS], ["line 9", "blood, red", "'tall'"]),
    (["two.csv", *COLUMNS], ["line 9", "cold, heavy", "'2'"]),
    (["short.csv", *COLUMNS], ["line 9"]),
    (["train.csv", "--label-columns", "flue"], ["no column 'flue'"]),
    (["train.csv", "--drop", "nobody", *COLUMNS], ["no column 'nobody'"]),
    (["train.csv", "--labels", "absent.xml"], ["absent.xml"]),
    (["train.csv", "--label-file", "Y.csv"], ["Y.csv", "9 rows", "60"]),
    (["train.csv", *COLUMNS, "--labels", "labels.xml"], ["not allowed with"]),
    (["train.csv", *COLUMNS, "--max-bytes", "100"], ["more than", "100"]),
    (["train.csv", *COLUMNS, "--max-features", "some"], ["whole number", "'some'"]),
    (["train.csv", "--label-columns", ","], ["names with commas"]),
    (["nothing.npz"], ["nothing.npz"]),
    (["objects.npz"], ["objects.npz"]),
    (["train.csv", *COLUMNS, "--jobs", "0"], ["other than 0", "'0'"]),
    (["train.csv", *COLUMNS, "--surprise"], ["--surprise"]),
    ([], ["DATA"]),
]
MASKS = [
    (["train.csv", *COLUMNS, "--mask", "mask.txt"], ["mask.txt", "60 rows"]),
    (["train.csv", *COLUMNS, "--mask", "mask2.txt"], ["mask2.txt", "line 2"]),
    (["train.csv", *COLUMNS, "--mask", "absent.txt"], ["absent.txt"]),
]
NO_LABELS = [
    (["train.csv"], ["train.csv", "without labels", "--labels"]),
    (["only-X.npz"], ["only-X.npz", "--label-file"]),
]
GRAPH = [
    (["train.csv", *COLUMNS, "--n-neighbors", "0"], ["--n-neighbors", "at least 1", "'0'"]),
    (["train.csv", *COLUMNS, "--n-neighbors", "ten"], ["--n-neighbors", "'ten'"]),
    (["train.csv", *COLUMNS, "--alpha-labeled", "1"], ["--alpha-labeled", "below 1"]),
    (["train.csv", *COLUMNS, "--alpha-labeled", "-0.1"], ["--alpha-labeled", "below 1"]),
    (["train.csv", *COLUMNS, "--alpha-unlabeled", "nan"], ["--alpha-unlabeled", "'nan'"]),
    (["one.csv", *COLUMNS], ["1"]),
    (["unlabelled.csv", *COLUMNS], ["unlabelled.csv", "no labelled row"]),
]
FIT = [
    (["train.csv", *COLUMNS, "--method", "NMLSRD"], ["'NMLSRD'", "did you mean NMLSDR"]),
    (["train.csv", *COLUMNS, "--method", "NMLSDR*", "--alpha-labeled", "0.5"], ["NMLSDR* has alpha_labeled=0", "0.5"]),
    (
        ["train.csv", *COLUMNS, "--method", "CCA", "--classifier", "none", "--alpha-labeled", "0.5"],
        ["--alpha-labeled has no effect on CCA"],
    ),
    (["train.csv", *COLUMNS, "--method", "MDDMp", "--classifier", "residual"], ["with --method NMLSDR only"]),
    (["train.csv", *COLUMNS, "--classifier", "none", "--threshold", "0.4"], ["classifier, got --classifier none"]),
    (["train.csv", *COLUMNS, "--method", "MDDMp", "--classifier", "none", "--metric", "cosine"], ["effect on MDDMp"]),
    (["train.csv", *COLUMNS, "--threshold", "1.5"], ["a number from 0 to 1, f1, macro, or prior, got '1.5'"]),
    (["train.csv", *COLUMNS, "--classifier", "svm"], ["--classifier", "'svm'"]),
    (["train.csv", *COLUMNS, "--n-components", "0"], ["--n-components", "at least 1"]),
    (["train.csv", *COLUMNS, "--n-components", "4"], ["n_components", "4", "3"]),
    (["train.csv", *COLUMNS, "--seed", "-1"], ["--seed", "at least 0"]),
    (["train.csv", *COLUMNS, "--seed", "99999999999"], ["--seed", "2^32"]),
    (["train.csv", *COLUMNS, "--method"], ["--method", "expected one argument"]),
]
MODELS = [
    (["absent.npz", "test.csv"], ["absent.npz", "No such file"]),
    (["folder", "test.csv"], ["folder"]),
    (["pickle.skops", "test.csv"], ["pickle", "refused"]),
    (["nothing.npz", "test.csv"], ["nothing.npz", "not a model file"]),
    (["train.csv", "test.csv"], ["train.csv", "not a model file"]),
    (["cut.skops", "test.csv"], ["cut.skops", "damaged"]),
    (["empty.csv", "test.csv"], ["empty.csv", "empty"]),
    (["model.skops"], ["DATA"]),
]


def cases(verb, *lists, before=()):
    return [
        pytest.param([verb, *before, *arguments], words, id=" ".join([verb, *arguments])[:60])
        for case_list in lists
        for arguments, words in case_list
    ]


MATCHING = [
    (["model.skops", "few.csv", *COLUMNS], ["few.csv", "lacks 2 of the 5 columns", "'q'"]),
    (["model.skops", "narrow.npz"], ["narrow.npz", "3 features", "fitted on 5"]),
    (["plain.skops", "narrow.npz"], ["narrow.npz", "3 features", "fitted on 5"]),
    (["plain.skops", "few.csv", *COLUMNS], ["few.csv", "3 features", "fitted on 5"]),
]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *cases("fit", READING, MASKS, NO_LABELS, GRAPH, FIT),
        *cases("review", READING, MASKS, NO_LABELS, GRAPH),
        *cases("report", READING, MASKS, NO_LABELS, GRAPH),
        *cases("transform", READING, before=["model.skops"]),
        *cases("predict", READING, before=["model.skops"]),
        *cases("evaluate", READING, MASKS, NO_LABELS, before=["model.skops"]),
        *cases("transform", MODELS, MATCHING, [(["scaler.skops", "test.csv"], ["no projection"])]),
        *cases("predict", MODELS, MATCHING, [(["scaler.skops", "test.csv"], ["no classifier", "--classifier"])]),
        *cases(
            "evaluate",
            MODELS,
            MATCHING,
            [
                (["model.skops", "few-labels.npz"], ["few-labels.npz", "2 labels", "model has 3"]),
                (["model.skops", "other.csv", "--label-columns", "x,y,z"], ["lacks 3 of the 3 labels", "'flu'"]),
                (["model.skops", "unlabelled.csv", *COLUMNS], ["unlabelled.csv", "no labelled row"]),
                (["scaler.skops", "test.csv", *COLUMNS], ["no classifier"]),
            ],
        ),
    ],
)
def test_wrong_input_is_answered_by_one_sentence(run, bad, arguments, words):
    out = {"fit": "old.skops", "evaluate": "measures.json", "report": "page.html"}.get(arguments[0], "result.csv")
    assert_refused(run(*arguments, "--out", out), *words)


VERBS = {
    "fit": ["fit", "train.csv", *COLUMNS],
    "transform": ["transform", "full.skops", "test.csv", *COLUMNS],
    "predict": ["predict", "full.skops", "test.csv", *COLUMNS],
    "evaluate": ["evaluate", "full.skops", "test.csv", *COLUMNS],
    "review": ["review", "train.csv", *COLUMNS],
    "report": ["report", "train.csv", *COLUMNS, "--folds", "0"],
}
SUFFIX = {"fit": ".skops", "evaluate": ".json", "report": ".html"}


@pytest.fixture
def full(run, tables, bad_folder, tmp_path):
    """Good tables and a good model in the test's own folder."""
    (tmp_path / "full.skops").write_bytes((bad_folder / "model.skops").read_bytes())
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_an_output_that_cannot_be_written_is_refused_before_any_work(run, full, verb, monkeypatch):
    suffix = SUFFIX.get(verb, ".csv")
    command = VERBS[verb]
    (full / f"here{suffix}").mkdir()
    (full / f"loop{suffix}").symlink_to(f"loop{suffix}")
    (full / f"link{suffix}").symlink_to("train.csv" if verb in ("fit", "review", "report") else "test.csv")
    before = listing(full)
    assert_refused(run(*command, "--out", "result.exe"), "'result.exe' must end in", suffix)
    assert_refused(run(*command, "--out", ""), "must end in")
    assert_refused(run(*command, "--out", f"here{suffix}"), "is a folder")
    assert_refused(run(*command, "--out", f"nowhere/a{suffix}"), "does not exist; make it first")
    assert_refused(run(*command, "--out", f"train.csv/a{suffix}"), "cannot be used")
    assert_refused(run(*command, "--out", f"loop{suffix}"), "cannot be used")
    assert_refused(run(*command, "--out", f"link{suffix}"), "same file as the input")
    assert_refused(run(*command, "--out"), "--out: expected one argument")
    assert listing(full) == before
    if verb != "evaluate":
        assert_refused(run(*command), "--out")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert_refused(run(*command, "--out", f"fine{suffix}"), "write-protected; choose another")
    assert listing(full) == before


def options_with_files():
    """Each verb that writes a file, with each of its arguments that names a file to read."""
    verbs = next(action.choices for action in cli._parser()._actions if action.dest == "verb")
    for verb, parser in verbs.items():
        files = [
            option
            for option in parser._actions
            if set(str(option.metavar).split(".")) & {"FILE", "DATA", "TRAIN", "MODEL"}
        ]
        if any(option.dest == "out" for option in files):
            yield from (
                pytest.param(verb, option, id=f"{verb} {option.metavar}") for option in files if option.dest != "out"
            )


@pytest.mark.parametrize(("verb", "option"), [*options_with_files()])
def test_no_output_is_an_input(run, tmp_path, verb, option):
    """Directly, through a link to either, and by another name of the file; before any work, so the files are empty."""
    assert option.type is InputFile, f"{verb} {option.dest} reads a file, and --out could replace it"
    out = f"same{SUFFIX.get(verb, '.csv')}"
    files = {"model": ["m.skops"] if verb in ("transform", "predict", "evaluate") else [], "data": ["t.csv"]}

    def refused(input_name, written):
        words = {**files, option.dest: [*option.option_strings, input_name]}
        command = [verb, *(word for each in words.values() for word in each), "--out", written]
        assert_refused(run(*command), "same file as the input")

    for name in ("m.skops", "t.csv", "given.csv", out):
        (tmp_path / name).write_text(name)
    (tmp_path / "link.csv").symlink_to(out)
    (tmp_path / f"link{out}").symlink_to("given.csv")
    (tmp_path / f"hard{out}").hardlink_to("given.csv")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    refused("link.csv", out)
    refused("given.csv", f"link{out}")
    refused("given.csv", f"hard{out}")
    if out.endswith(".csv"):
        refused(out, f"./{out}")
        refused(tmp_path / out, out)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("verb", VERBS)
def test_an_output_that_is_a_link_is_written_to_its_target(run, full, verb):
    suffix = SUFFIX.get(verb, ".csv")
    (full / "elsewhere").mkdir()
    (full / f"link{suffix}").symlink_to(f"elsewhere/real{suffix}")
    ran(run(*VERBS[verb], "--out", f"link{suffix}"))
    assert (full / f"link{suffix}").is_symlink()
    assert listing(full / "elsewhere") == [f"real{suffix}"]


@pytest.mark.parametrize("verb", VERBS)
def test_full_disk_is_a_failed_run(run, full, verb, monkeypatch):
    """Status 1, one sentence, and the old result stays."""
    suffix = SUFFIX.get(verb, ".csv")
    (full / f"result{suffix}").write_text("old")
    before = listing(full)

    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    outcome = run(*VERBS[verb], "--out", f"result{suffix}")
    assert outcome.status == 1, outcome
    assert outcome.err.splitlines()[-1] == f"nmlsdr: 'result{suffix}' cannot be used: No space left on device."
    assert (full / f"result{suffix}").read_text() == "old"
    assert listing(full) == before


@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_keeps_the_old_result(run, full, verb, monkeypatch):
    """Ctrl-C just before the rename: status 130, the old result stays, nothing is left behind."""
    suffix = SUFFIX.get(verb, ".csv")
    (full / f"result{suffix}").write_text("old")
    before = listing(full)

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    outcome = run(*VERBS[verb], "--out", f"result{suffix}")
    assert outcome.status == 130
    assert outcome.err.splitlines()[-1] == "nmlsdr: interrupted."
    assert (full / f"result{suffix}").read_text() == "old"
    assert listing(full) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fti"], ["no command 'fti'", "did you mean 'fit'?"]),
        (["--out"], ["no option --out", "nmlsdr --help"]),
        (["--"], ["COMMAND"]),
        (["info", "absent.npz"], ["absent.npz"]),
        (["info", "train.csv"], ["train.csv", "not a model file"]),
        (["info", "a", "b"], ["b"]),
        (["datasets"], ["list|info|fetch"]),
        (["datasets", "erase"], ["'erase'"]),
        (["datasets", "info", "birdz"], ["'birdz'", "Birds"]),
        (["datasets", "fetch", "birdz"], ["'birdz'", "Birds"]),
        (["datasets", "verify", "birds"], ["did you mean 'info'?"]),
        (["datasets", "info", "toy"], ["Toy", "make_toy"]),
        (["datasets", "list", "--data-home"], ["--data-home"]),
    ],
)
def test_wrong_input_of_the_other_verbs(run, tables, arguments, words):
    assert_refused(run(*arguments), *words)


def test_info_tells_which_files_are_missing(run, tmp_path):
    outcome = run("datasets", "info", "birds", "--data-home", tmp_path)
    assert outcome.status == 0
    files = [line.split()[:2] for line in outcome.out.splitlines() if str(tmp_path) in line]
    assert files == [[role, "missing:"] for role in ("train", "test", "labels")]


def test_missing_pyarrow_is_reported_before_any_work(run, full, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    outcome = run("predict", "full.skops", "test.csv", *COLUMNS, "--out", "labels.parquet")
    assert_refused(outcome, "pyarrow", "pip install 'nmlsdr[parquet]'", status=1)


def test_traceback_option_raises_the_error(run, bad):
    with pytest.raises(ValueError, match=r"absent\.csv"):
        main(["fit", "absent.csv", "--out", "a.skops", "--traceback"])


def test_an_error_in_the_program_is_not_reported_as_bad_input(run, full, monkeypatch):
    """numpy's ValueError inside an estimator: a traceback, and a note that it is a bug."""
    monkeypatch.setattr(nmlsdr.ResidualPropagation, "fit", lambda self, X, y: np.zeros(2) + np.zeros(3))
    with pytest.raises(ValueError, match="broadcast") as error_info:
        run("review", "train.csv", *COLUMNS, "--out", "review.csv")
    assert "bug of nmlsdr" in error_info.value.__notes__[0]
    assert "review.csv" not in listing()


def test_a_check_inside_an_estimator_is_bad_input(run, full):
    """The error is the estimator's, not the command line's."""
    write_csv("same.csv", ["a", "flu"], [[1, 0], [1, 1], [1, 0], [1, 1]])
    where = ["--label-columns", "flu", "--n-neighbors", 2]
    assert_refused(run("fit", "same.csv", *where, "--out", "same.skops"), "rows of 0 features (the first column, ")
    write_csv("same.csv", ["a", "flu"], [[1, 0], [1, 1], [2, 0], [2, 1]])
    assert_refused(run("fit", "same.csv", "--quiet", *where, "--out", "same.skops"), "no dependence")


def test_a_vector_width_that_is_not_here_is_bad_input(run, monkeypatch):
    monkeypatch.setattr("nmlsdr._graph.best_simd_level", lambda: 0)
    level = SIMD_LEVELS[1]
    monkeypatch.setenv("NMLSDR_SIMD", level)
    assert_refused(run("info"), f"NMLSDR_SIMD={level} needs a processor with {level}")


def test_warnings_are_one_line(run, bad, monkeypatch):
    """An empty label is legal; what the estimators warn about comes without file names and line numbers."""
    import warnings

    def warn(*args, **options):
        warnings.warn("first line\nsecond line", stacklevel=1)
        return 0

    from nmlsdr._cli import info

    monkeypatch.setattr(info, "info", warn)
    with warnings.catch_warnings(action="default"):
        outcome = run("info")
    assert outcome.err == "nmlsdr: warning: first line second line\n"


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        (["--method", "CCA", "--classifier", "none", "--metric", "cosine"], "--metric"),
        (["--method", "CCA", "--classifier", "mlknn", "--metric", "cosine"], ""),  # which searches neighbours
        (["--method", "CCA", "--classifier", "mlknn", "--alpha-unlabeled", "0.5"], "--alpha-unlabeled"),
        (["--method", "CCA", "--alpha-unlabeled", "0.5"], ""),  # semi-supervised by default
        (["--method", "NMLSDR", "--classifier", "none", "--metric", "cosine", "--alpha-labeled", "0.5"], ""),
    ],
)
def test_options_of_a_graph_are_refused_where_there_is_none(options, refused):
    args = cli._parser().parse_args(["fit", __file__, "--label-columns", "a", "--out", "m.skops", *options])
    if refused:
        with pytest.raises(nmlsdr.InputError, match=f"{refused} has no effect on CCA with --classifier"):
            checks.check_arguments(args)
    else:
        assert checks.check_arguments(args).method == args.method
