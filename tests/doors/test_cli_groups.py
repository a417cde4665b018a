"""--id keeps the rows of one id together: in the fit, in the folds of the report, and in what evaluate says."""

import numpy as np
import pytest

from nmlsdr import ResidualPropagation
from nmlsdr._cli import residual_fit
from nmlsdr._report import rivals, trial
from tests.commands import ran, write_csv


@pytest.fixture
def visits(tmp_path, rng):
    """60 patients of 4 visits; one label depends on the features, the other only on the patient."""
    of = rng.permutation(240) // 4
    center = rng.normal(size=(60, 5))
    y = np.column_stack([center[:, 0] > 0, rng.integers(0, 2, 60)])[of]
    X = center[of] + 0.05 * rng.normal(size=(240, 5))
    rows = [[f"P{i:02}", *map("{:.4f}".format, x), *map(int, labels)] for i, x, labels in zip(of, X, y, strict=True)]
    header = ["patient", *"abcde", "flu", "cold"]
    write_csv(tmp_path / "t.csv", header, rows)
    write_csv(tmp_path / "new.csv", header, [["P98" if i % 2 else "P07", *row[1:]] for i, row in enumerate(rows[:20])])
    return of


OPTIONS = ("--label-columns", "flu,cold")


def fits_of(monkeypatch):
    """The groups that each fit of the method got."""
    groups = []
    fit = ResidualPropagation.fit

    def watched(self, X, y, **fit_arguments):
        groups.append(fit_arguments.get("groups"))
        return fit(self, X, y, **fit_arguments)

    # `has_fit_parameter` looks at the signature.
    watched.__signature__ = __import__("inspect").signature(fit)
    monkeypatch.setattr(ResidualPropagation, "fit", watched)
    return groups


def are_patients(groups, of):
    """Whether rows have one group if, and only if, they have one patient."""
    return np.array_equal(groups[:, None] == groups, of[:, None] == of)


@pytest.mark.parametrize("verb", ["fit", "review", "report"])
def test_the_patients_of_the_rows_reach_the_fit(run, visits, monkeypatch, verb):
    monkeypatch.setattr(residual_fit, "TREES", 5)
    groups = fits_of(monkeypatch)
    out = {"fit": "m.skops", "review": "list.csv", "report": "r.html"}[verb]
    report_options = ("--folds", "0") if verb == "report" else ()
    ran(run(verb, "t.csv", *OPTIONS, "--id", "patient", *report_options, "--out", out))
    assert len(groups) == 1
    assert are_patients(groups[0], visits)
    ran(run(verb, "t.csv", *OPTIONS, "--drop", "patient", *report_options, "--out", out))
    assert groups[1] is None


def test_the_folds_of_the_report_and_the_fits_within_have_whole_patients(run, visits, monkeypatch):
    monkeypatch.setattr(residual_fit, "TREES", 5)
    monkeypatch.setattr(rivals, "ITERATIONS", 20)
    fold_records = []
    fit_and_score = trial.fit_and_score

    def watched(estimator, X, y, far, truth, groups=None):
        fold_records.append((type(estimator).__name__, X, far, groups))
        return fit_and_score(estimator, X, y, far, truth, groups)

    monkeypatch.setattr(trial, "fit_and_score", watched)
    ran(run("report", "t.csv", *OPTIONS, "--id", "patient", "--folds", "3", "--out", "r.html"))
    names = {name for name, *_ in fold_records}
    assert names == {"EveryRule", "TunedLogistic", "Forest", "OnWholeRows"}
    for _, near, far, groups in fold_records:
        assert len(groups) == len(near)
        assert np.unique(groups, return_counts=True)[1].tolist() == [4] * (len(near) // 4)  # whole patients
        assert len(near) + len(far) == 240


def test_a_label_of_the_patient_is_confirmed_by_other_rows_only_without_groups(run, visits, tmp_path):
    """The mean score in the list of a label that the features of other patients do not tell."""
    means = []
    for option in ("--drop", "--id"):
        ran(run("review", "t.csv", *OPTIONS, option, "patient", "--out", "list.csv"))
        lines = (tmp_path / "list.csv").read_text().splitlines()
        label, score = (lines[0].split(",").index(name) for name in ("label", "score"))
        scores = [float(line.split(",")[score]) for line in lines[1:] if line.split(",")[label] == "cold"]
        means.append(np.mean(scores))
    assert means[1] > 3 * means[0]


def test_evaluate_says_that_rows_have_the_id_of_rows_of_the_fit(run, visits, monkeypatch):
    ran(run("fit", "t.csv", *OPTIONS, "--id", "patient", "--out", "m.skops"))
    output = ran(run("evaluate", "m.skops", "new.csv", *OPTIONS)).out
    assert "10 of these 20 rows have the id of labelled rows of the fit; on these the measures are too good" in output
