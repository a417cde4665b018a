"""The y that reaches `fit`, for every way of giving labels to a command and to the reader."""

import inspect

import numpy as np
import pytest
from commands import write_csv, write_xml
from table_files import read_table

from nmlsdr import NMLSDR, MLkNN, ResidualPropagation, SemiSupervisedMLkNN

NAMES = ["a", "b"]
N = 48
# Three people list the labels of a row; nobody looked at the last two rows, and of the three only two at row 8.
LISTED = [[["a", "none", "a;b"][(i + k) % 3] if k or i % 4 else "a" for i in range(N - 2)] + [""] * 2 for k in range(3)]
LISTED[2][8] = ""
LISTED[1][9] = LISTED[2][9] = "none"
VOTES = np.full((N, 2), -1.0)
for i in range(N - 2):
    cells = [cells[i].split(";") for cells in LISTED if cells[i]]
    VOTES[i] = [np.mean([name in cell for cell in cells]) for name in NAMES]
MOST = np.where((VOTES == -1) | (VOTES == 0.5), -1, VOTES > 0.5)
MASK = np.arange(N) % 5 > 0
OF_ANNA = [[-1, -1] if not cell else [int(name in cell.split(";")) for name in NAMES] for cell in LISTED[0]]
REVIEWED = {(0, "a"): 0, (0, "b"): 1, (N - 1, "b"): 1}


@pytest.fixture
def tables(tmp_path):
    """t.csv: ids, two features, three lists and two label columns; a file of each other way of giving the labels."""
    X = (np.maximum(VOTES, 0) + np.maximum(OF_ANNA, 0) + 0.1 * np.random.default_rng(0).normal(size=(N, 2))).round(3)
    cells = [
        [f"P{i}", *X[i].tolist(), *(names[i] for names in LISTED), *("" if v == -1 else v for v in OF_ANNA[i])]
        for i in range(N)
    ]
    write_csv(tmp_path / "t.csv", ["id", "x", "z", "anna", "ben", "eva", *NAMES], cells)
    write_csv(tmp_path / "labels.csv", NAMES, OF_ANNA)
    write_xml(tmp_path / "labels.xml", NAMES)
    np.savetxt(tmp_path / "mask.txt", MASK, fmt="%d")
    write_csv(tmp_path / "v.csv", ["id", "label", "verdict"], [[f"P{i}", c, v] for (i, c), v in REVIEWED.items()])


def after(y, label_options):
    """The labels with the mask and the verdicts of a command's options."""
    y = np.array(y, dtype=float)
    if "--mask" in label_options:
        y[~MASK] = -1
    if "--reviewed" in label_options:
        for (i, name), value in REVIEWED.items():
            y[i, NAMES.index(name)] = value
    return y


LISTS = ["--label-list", "anna", "--separator", ";", "--drop", "ben,eva,a,b"]
VOTED = ["--annotators", "anna,ben,eva", "--separator", ";", "--drop", "a,b"]
COLUMNS = ["--label-columns", "a,b", "--drop", "anna,ben,eva"]
WAYS = [
    (COLUMNS, OF_ANNA, OF_ANNA),
    (["--labels", "labels.xml", "--drop", "anna,ben,eva"], OF_ANNA, OF_ANNA),
    (["--label-file", "labels.csv", "--drop", "anna,ben,eva,a,b"], OF_ANNA, OF_ANNA),
    (LISTS, OF_ANNA, OF_ANNA),
    (VOTED, VOTES, MOST),  # who propagates gets the shares
    *(
        ([*label_options, *mask_and_verdicts], y, whole)
        for label_options, y, whole in ((COLUMNS, OF_ANNA, OF_ANNA), (VOTED, VOTES, MOST))
        for mask_and_verdicts in (
            ["--mask", "mask.txt"],
            ["--reviewed", "v.csv"],
            ["--mask", "mask.txt", "--reviewed", "v.csv"],
        )
    ),
]


@pytest.fixture
def labels_at_fit(monkeypatch):
    """The labels at the door of each estimator's fit: (class, y with the verdicts in it)."""
    fitted_labels = []

    def watch(kind):
        fit = kind.fit

        def call(self, X, y, *, verdicts=None, **fit_arguments):
            decided = np.full(np.shape(y), -1) if verdicts is None else verdicts
            fitted_labels.append((kind, np.where(decided >= 0, decided, y)))
            return fit(self, X, y, **fit_arguments, **({} if verdicts is None else {"verdicts": verdicts}))

        call.__signature__ = inspect.signature(fit)
        monkeypatch.setattr(kind, "fit", call)

    for kind in (NMLSDR, ResidualPropagation, SemiSupervisedMLkNN, MLkNN):
        watch(kind)
    return fitted_labels


@pytest.mark.parametrize(
    ("label_options", "y", "whole"), WAYS, ids=[" ".join(label_options[::2]) for label_options, *_ in WAYS]
)
def test_the_labels_of_every_way_reach_fit(run, tables, labels_at_fit, label_options, y, whole):
    """Shares of votes reach all who propagate, and what most people said all others."""
    words = ["t.csv", "--id", "id", *label_options, "--n-neighbors", "3", "--quiet", "--out"]
    for verb, out in (("fit", "m.skops"), ("review", "r.csv"), ("report", "r.html")):
        if verb == "report":
            pytest.importorskip("jinja2")
        options = ["--folds", "0"] if verb == "report" else []
        assert run(verb, *words, out, *options).status == 0
    assert run("fit", *words, "n.skops", "--classifier", "semi-supervised").status == 0
    is_partly = "--reviewed" in label_options  # which MLkNN refuses
    assert run("fit", *words, "k.skops", "--classifier", "mlknn").status == (2 if is_partly else 0)
    assert {kind for kind, _ in labels_at_fit} == {NMLSDR, MLkNN, ResidualPropagation, SemiSupervisedMLkNN}
    for kind, labels in labels_at_fit:
        expected = after(whole if kind is MLkNN else y, label_options)
        np.testing.assert_allclose(labels, expected, rtol=0, atol=1e-12, err_msg=f"{kind.__name__}")


@pytest.mark.parametrize(
    ("roles", "target", "votes"),
    [
        ({"label_columns": NAMES}, OF_ANNA, None),
        ({"label_list": "anna", "separator": ";", "no_label": "none"}, OF_ANNA, None),
        ({"annotators": ["anna", "ben", "eva"], "separator": ";", "no_label": "none"}, MOST, VOTES),
    ],
)
def test_the_reader_gives_the_labels_that_python_fits(tables, tmp_path, roles, target, votes):
    pytest.importorskip("pyarrow")
    table = read_table(tmp_path / "t.csv", feature_columns=["x", "z"], **roles)
    np.testing.assert_array_equal(table.target, target)
    if votes is not None:
        np.testing.assert_allclose(table.votes, votes)
        ResidualPropagation(n_neighbors=3, n_estimators=0).fit(table.data, table.votes)
