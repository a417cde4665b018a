"""What a beginner mistypes, and the answer: one sentence that says what to write instead."""

import numpy as np
import pytest
from commands import assert_done, assert_refused, ran, write_csv
from table_files import read_table

from nmlsdr._checks.labels import check_labels
from nmlsdr._checks.words import LABEL_WORDS, LANGUAGES

PAIRS = [[next(word for word in LABEL_WORDS if words.get(word) == value) for value in (1, 0)] for words in LANGUAGES]


@pytest.fixture
def table(run, tmp_path):
    """A table with the columns age, flu, cold and Tags; a file that is no table; a folder."""
    rows = [[age, age % 2, age % 3 % 2, "flu" if age % 2 else "cold"] for age in range(12)]
    write_csv(tmp_path / "train.csv", ["age", "flu", "cold", "Tags"], rows)
    for name in ("sheet.xlsx", "notes.txt", "train.zip", "model.skops"):
        (tmp_path / name).write_bytes(b"x\0")
    (tmp_path / "folder").mkdir()
    return tmp_path


# What is written, and words of the answer.
SLIPS = [
    # Options of other programs, and options that are nearly right.
    ("fit train.csv --label-list Tags --sep | --out m.skops", ["no option --sep;", "--delimiter", "--separator"]),
    ("fit train.csv --sep=;", ["no option --sep;", "--delimiter", "--separator"]),
    ("fit train.csv --label flu --out m.skops", ["--label-columns NAME,...", "--label-list NAME"]),
    ("fit train.csv --target flu --out m.skops", ["--label-columns NAME,...", "--label-list NAME"]),
    ("predict model.skops train.csv --output p.csv", ["no option --output", "write --out FILE"]),
    ("predict model.skops train.csv -out p.csv", ["two hyphens: --out."]),
    ("fit train.csv -label-columns flu,cold", ["two hyphens: --label-columns."]),
    ("fit train.csv —label-columns flu,cold", ["two hyphens: --label-columns."]),
    ("fit train.csv --Label-Columns flu,cold", ["did you mean --label-columns?"]),
    ("fit train.csv --n_neighbors 5", ["did you mean --n-neighbors?"]),
    ("fit train.csv -k 5", ["write --n-neighbors K"]),
    ("fit train.csv --n-jobs 2", ["write --jobs J"]),
    ("fit train.csv --random-state 1", ["write --seed S"]),
    ("fit train.csv --index-col name", ["write --id NAME"]),
    ("fit train.csv --verbose", ["--quiet"]),
    ("-v", ["--quiet"]),
    ("predict --model model.skops --data train.csv", ["without an option", "predict model.skops test.csv"]),
    # An option that takes one value, twice: the last would replace the first in silence.
    ("fit train.csv --label-columns flu --out a.skops --out b.skops", ["fit takes --out once", "is given twice"]),
    ("fit train.csv --label-columns flu --out a.skops -ob.skops", ["takes --out once"]),
    ("predict model.skops train.csv --out=p.csv -o p.csv", ["nmlsdr predict takes --out once"]),
    ("report train.csv --label-columns flu --id age --out r.html --id flu", ["nmlsdr report takes --id once"]),
    ("reproduce toy --seeds 2 --seeds 3", ["nmlsdr reproduce takes --seeds once"]),
    ("datasets list --data-home a --data-home=b", ["nmlsdr datasets list takes --data-home once"]),
    ("fit train.csv --surprise", ["no option --surprise", "nmlsdr fit --help"]),
    # Verbs.
    ("fti train.csv", ["no command 'fti'", "did you mean 'fit'?"]),
    ("FIT train.csv", ["did you mean 'fit'?"]),
    ("train train.csv", ["did you mean 'fit'?"]),
    ("fetch birds", ["did you mean 'datasets fetch'?"]),
    ("datasets download birds", ["did you mean 'fetch'?"]),
    ("zzz", ["no command 'zzz' among review, plan"]),
    ("help zzz", ["no command 'zzz' among review, plan"]),
    ("train.csv", ["write a command before the file", "nmlsdr fit train.csv"]),
    ("reproduce Toy", ["did you mean 'toy'?"]),
    # Names of columns.
    ("fit train.csv --label-columns flu cold --out m.skops", ["unrecognized", "--label-columns flu,cold."]),
    ("fit --label-columns flu cold train.csv --out m.skops", ["--label-columns flu,cold."]),
    ("fit train.csv --label-columns flu, cold --out m.skops", ["without blanks between them", "'flu,'"]),
    ("fit train.csv --label-list=Tags, --out m.skops", ["no column 'Tags,'", "did you mean 'Tags'?"]),
    ("fit train.csv --label-list flu,cold --out m.skops", ["2 columns", "use --label-columns"]),
    ("fit train.csv --label-list My Tags --out m.skops", ['--label-list "My Tags"']),
    ("fit train.csv --label-columns 2,3 --out m.skops", ["no column '2'", "not its number"]),
    ("fit train.csv --label-columns Tags --out m.skops", ["'cold'", "--label-list"]),
    ("fit train.csv --label-columns flu --delimiter ; --out m.skops", ["one column", "--delimiter"]),
    ("fit train.csv --label-columns fluu --out m.skops", ["did you mean 'flu'?"]),
    ("fit train.csv --label-columns flu --drop AGE --out m.skops", ["did you mean 'age'?"]),
    ("fit train.csv --label-columns flu --delimiter ab --out m.skops", ["one character"]),
    ("fit train.csv --labels flu,cold --out m.skops", ["XML", "write --label-columns flu,cold."]),
    # Files.
    ("predict train.csv model.skops --out p.csv", ["before the table", "nmlsdr predict model.skops train.csv."]),
    ("evaluate train.csv model.skops", ["before the table", "nmlsdr evaluate model.skops train.csv."]),
    ("review model.skops --out r.csv", ["review takes a table", "'model.skops' is a model file"]),
    ("report train.csv model.skops --out r.html", ["report takes a table and no model file"]),
    ("predict absent.skops train.csv --out p.csv", ["No such file", "write it first", "nmlsdr fit"]),
    ("fit https://example.org/train.csv --out m.skops", ["download the file"]),
    ("fit sheet.xlsx --label-columns flu --out m.skops", ["sheet.xlsx, line 1", "this is not a text file"]),
    ("fit notes.txt --label-columns flu --out m.skops", ["notes.txt", "rename it to .csv"]),
    ("fit train.zip --label-columns flu --out m.skops", ["train.zip", "unpack it"]),
    ("fit folder --label-columns flu --out m.skops", ["folder is a folder"]),
    ("fit train.csv train.csv --out m.skops", ["unrecognized", "for example: nmlsdr fit train.csv --label"]),
    ("fit train.csv --label-columns flu --out m.pkl", ["'m.pkl' must end in .skops"]),
    # What is missing.
    ("fit train.csv --label-columns flu,cold", ["-o/--out", "for example: nmlsdr fit train.csv", "--out model.skops"]),
    ("fit --label-columns flu --out m.skops", ["DATA", "for example: nmlsdr fit train.csv"]),
    ("predict model.skops", ["DATA, -o/--out", "for example: nmlsdr predict model.skops test.csv"]),
    ("predict train.csv --out p.csv", ["DATA", "for example: nmlsdr predict model.skops test.csv"]),
    ("datasets", ["for example: nmlsdr datasets fetch Birds"]),
]


@pytest.mark.parametrize(("written", "words"), SLIPS, ids=[written for written, _ in SLIPS])
def test_a_slip_gets_an_answer_that_says_what_to_write(run, table, written, words):
    for place, word in enumerate(words):
        outcome = run(*written.split(" "))
        assert_refused(outcome, word)
        assert place > 0 or len(outcome.err) < 500, outcome


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("help", "--help"),
        ("help fit", "fit --help"),
        ("version", "--version"),
        ("-V", "--version"),
        ("help datasets fetch", "datasets fetch --help"),
    ],
)
def test_help_and_version_are_found_under_their_other_names(run, written, same):
    outcome = run(*written.split(" "))
    assert_done(outcome)
    assert outcome.out == run(*same.split(" ")).out


def test_label_columns_given_twice_are_all_labels(run, table):
    where = ["--label-columns", "flu", "--label-columns", "cold", "--drop", "Tags", "--classifier", "mlknn"]
    outcome = ran(run("fit", "train.csv", *where, "--n-neighbors", 2, "--method", "MDDMp", "--out", "m.skops"))
    assert "1 feature, 2 labels" in outcome.err


@pytest.mark.parametrize(("yes", "no"), PAIRS)
def test_files_take_the_same_words_for_yes_and_no_as_estimators(tmp_path, yes, no):
    write_csv(tmp_path / "words.csv", ["age", "flu"], [[1, yes], [2, no.upper()], [3, ""], [4, yes]])
    table = read_table(tmp_path / "words.csv", label_columns=["flu"])
    assert table.target.tolist() == [[1], [0], [-1], [1]]
    labels = check_labels(np.array([[yes], [no.upper()], [None], [yes]], dtype=object))
    assert labels.Y.tolist() == [[1], [0], [0], [1]]
    assert labels.known.tolist() == [[True], [True], [False], [True]]
