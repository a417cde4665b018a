"""The command line at work: a table in, a model, results out, in every format; the same as the Python interface."""

import codecs
import csv
import inspect
import io
import re
from pathlib import Path

import numpy as np
import pytest
from commands import (
    FEATURES,
    FORMATS,
    LABELS,
    assert_done,
    assert_refused,
    label_columns,
    ran,
    read_csv,
    read_json,
    write_csv,
    write_tables,
)
from model_files import assert_same
from sklearn.metrics import average_precision_score, precision_recall_fscore_support, recall_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nmlsdr
from nmlsdr import _graph, metrics
from nmlsdr._article_methods import METHODS
from nmlsdr._cli.console import Console
from nmlsdr._cli.writing import write_text
from nmlsdr._model.reading import open_model
from nmlsdr._process import threads as _threads
from nmlsdr._thresholds import rank_scores
from nmlsdr.model_file import load_model, save_model

COLUMNS = ["--label-columns", label_columns()]


@pytest.fixture(scope="module")
def bytes_of_the_model():
    """The file of the first fit; the tables of all tests are equal, so that one fit is enough."""
    return []


@pytest.fixture
def model(run, tables, bytes_of_the_model):
    """A model of train.csv."""
    if not bytes_of_the_model:
        assert_done(run("fit", "train.csv", *COLUMNS, "--out", "model.skops"))
        bytes_of_the_model.append(Path("model.skops").read_bytes())
    Path("model.skops").write_bytes(bytes_of_the_model[0])
    return "model.skops"


def predicted(path):
    names, rows = read_csv(path)
    assert names[0] == "row"
    assert [row[0] for row in rows] == [str(i) for i in range(len(rows))]
    return names[1:], np.array([row[1:] for row in rows], dtype=float)


@pytest.mark.quick_cases("csv", "svmlight", "parquet")
@pytest.mark.parametrize("suffix", FORMATS)
def test_fit_predict_evaluate_in_every_format(run, tmp_path, rng, suffix):
    """The same numbers from every format, and those of the Python interface."""
    X, Y, X_test, Y_test = write_tables(tmp_path, rng, [suffix])
    where = FORMATS[suffix][1]
    assert_done(run("fit", f"train.{suffix}", *where, "--out", "model.skops"))
    assert_done(run("predict", "model.skops", f"test.{suffix}", *where, "--probabilities", "--out", "labels.csv"))
    outcome = run("evaluate", "model.skops", f"test.{suffix}", *where, "--out", "measures.json")
    assert_done(outcome)

    pipeline = make_pipeline(StandardScaler(with_mean=suffix != "svmlight"), nmlsdr.ResidualPropagation())
    pipeline.fit(X, Y)
    scores = pipeline.predict_proba(X_test)
    names, values = predicted("labels.csv")
    expected = {"npz": ["label_0", "label_1", "label_2"], "svmlight": ["0", "1", "2"]}.get(suffix, LABELS)
    assert names == expected + [f"probability:{name}" for name in expected]
    np.testing.assert_array_equal(values[:, :3], pipeline.predict(X_test))
    # svmlight rows are sparse: their projection adds in another order, which may move a bit of the embedding.
    np.testing.assert_allclose(values[:, 3:], scores, rtol=0, atol=1e-12 if suffix == "svmlight" else 0)
    measures = metrics.score_table(Y_test, rank_scores(pipeline, X_test), predictions=pipeline.predict(X_test))
    written = read_json("measures.json")
    per_label = written.pop("labels")
    assert written == pytest.approx(measures, abs=1e-12)
    first_line, _, *table, _, head, line = outcome.out.splitlines()
    assert first_line == "The fit used 0 of these 25 rows with their labels."
    assert table[0].split() == ["label", "positives", "predicted", "precision", "recall", "F1", "AP"]
    for c, (name, row, shown) in enumerate(zip(expected, per_label, table[1:], strict=True)):
        Y = Y_test[:, c]
        label_predictions = values[:, c]
        precision, recall, f1, _ = precision_recall_fscore_support(
            Y, label_predictions, average="binary", zero_division=0
        )
        ap = average_precision_score(Y, values[:, 3 + c])
        counts = [Y.sum(), label_predictions.sum()]
        assert [row["label"], row["positives"], row["predicted"]] == [name, *counts]
        assert [row["precision"], row["recall"], row["f1"], row["ap"]] == pytest.approx([precision, recall, f1, ap])
        assert shown[len(max([*expected, "label"], key=len)) :].split() == [
            *map(str, map(int, counts)),
            *(f"{share:.3f}" for share in (precision, recall, f1, ap)),
        ]
    assert head.split() == list(measures)
    assert line.split() == [f"{value:.3f}" for value in measures.values()]


def test_sensitivity_specificity_and_auc_are_those_of_scikit_learn(run, tables, model):
    outcome = run("evaluate", model, "test.csv", *COLUMNS, "--sensitivity", "--out", "measures.json")
    run("predict", model, "test.csv", *COLUMNS, "--probabilities", "--out", "labels.csv")
    _, values = predicted("labels.csv")
    *_, Y = tables
    lines = outcome.out.splitlines()[2:]
    titles = lines[0].split()
    assert titles == [
        "label",
        *("positives", "predicted", "precision", "sensitivity", "specificity", "F1", "AP", "AUC"),
    ]
    n_labels = Y.shape[1]
    for c, (line, row) in enumerate(zip(lines[1:], read_json("measures.json")["labels"], strict=False)):
        expected = {
            "sensitivity": recall_score(Y[:, c], values[:, c]),
            "specificity": recall_score(Y[:, c], values[:, c], pos_label=0),
            "AUC": roc_auc_score(Y[:, c], values[:, n_labels + c]),
        }
        cells = dict(zip(titles[1:], line.split()[-8:], strict=True))
        assert {title: cells[title] for title in expected} == {key: f"{value:.3f}" for key, value in expected.items()}
        assert (row["specificity"], row["auc"]) == pytest.approx((expected["specificity"], expected["AUC"]))


def test_a_fitted_model_predicts_far_better_than_chance(run, tables, model):
    """Not only equal to itself: far better than guessing."""
    assert_done(run("evaluate", model, "test.csv", *COLUMNS, "--out", "measures.json"))
    assert read_json("measures.json")["AP"] > 0.85


@pytest.mark.quick_cases("NMLSDR", "CCA")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_fits_and_predicts_on_the_command_line(run, tables, method):
    assert_done(
        run(
            "fit",
            "train.csv",
            *COLUMNS,
            "--method",
            method.lower(),
            "--seed",
            "1",
            "--classifier",
            "semi-supervised",
            "--out",
            "model.skops",
        )
    )
    assert_done(run("predict", "model.skops", "test.csv", *COLUMNS, "--out", "labels.csv"))
    X, Y, X_test, _ = tables
    projection = METHODS[method](random_state=1)
    alpha = {"alpha_labeled": 0.0} if method.endswith("*") else {}
    pipeline = make_pipeline(StandardScaler(), projection, nmlsdr.SemiSupervisedMLkNN(**alpha)).fit(X, Y)
    np.testing.assert_array_equal(predicted("labels.csv")[1], pipeline.predict(X_test))


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_cells_of_any_text_are_read_back_from_a_result(delimiter):
    texts = ["", "a", " b ", "c,d", "e\tf", 'g"h', "i\rj", "k\nl", "m\r\nn", "=o", "ż"]
    numbers = np.array([0.1, 1 / 3, 1e300, -0.0, np.nan, 5e-324, 1.0, 2.5, 1e-7, 123456789.0, np.inf])
    single = np.arange(0.1, 11, dtype=np.float32)
    columns = [("row", np.arange(11)), ("a,\tb", np.array(texts, dtype=object)), ("x", numbers), ("single", single)]
    file = io.BytesIO()
    write_text(file, columns, delimiter)
    assert file.getvalue().startswith(codecs.BOM_UTF8)  # there is a letter above ASCII
    header, *rows = csv.reader(io.StringIO(file.getvalue().decode("utf-8-sig"), newline=""), delimiter=delimiter)
    assert header == ["row", "a,\tb", "x", "single"]
    assert [row[:2] for row in rows] == [[str(i), text] for i, text in enumerate(texts)]
    np.testing.assert_array_equal([float(row[2]) for row in rows], numbers)
    np.testing.assert_array_equal(np.array([row[3] for row in rows], dtype=np.float32), single)
    lines = file.getvalue().splitlines(keepends=True)
    assert lines[1:3] == [
        delimiter.join(["0", "", "0.1", "0.100000001\n"]).encode(),
        delimiter.join(["1", "a", "0.3333333333333333", "1.10000002\n"]).encode(),
    ]


def test_a_fit_without_a_seed_has_the_seed_0(run, tables):
    """`--help` says so; without it, wMLDAd begins elsewhere in every run and may end elsewhere."""
    assert_done(run("fit", "train.csv", *COLUMNS, "--method", "wMLDAd", "--classifier", "none", "--out", "model.skops"))
    assert load_model("model.skops").steps[-1][1].random_state == 0


@pytest.mark.parametrize("method", ["NMLSDR", "NMLSDR*"])
def test_residual_propagation_is_the_default(run, tables, method):
    words = ("--method", method, "--n-components", "2", "--threshold", "prior", "--seed", "3", "--out", "model.skops")
    assert_done(run("fit", "train.csv", *COLUMNS, *words))
    model = load_model("model.skops").steps[-1][1]
    assert isinstance(model, nmlsdr.ResidualPropagation)
    assert (model.n_components, model.threshold, model.random_state) == (2, "prior", 3)
    assert model.alpha_labeled == (0.0 if method.endswith("*") else 0.6)


def test_every_other_method_is_followed_by_the_semi_supervised_classifier(run, tables):
    assert_done(run("fit", "train.csv", *COLUMNS, "--method", "MDDMp", "--threshold", "prior", "--out", "model.skops"))
    classifier = load_model("model.skops").steps[-1][1]
    assert isinstance(classifier, nmlsdr.SemiSupervisedMLkNN)
    assert classifier.threshold == "prior"
    assert_done(run("predict", "model.skops", "test.csv", *COLUMNS, "--out", "labels.csv"))
    np.testing.assert_array_equal(predicted("labels.csv")[1], load_model("model.skops").predict(tables[2]))


@pytest.mark.parametrize("classifier", ["semi-supervised", "mlknn", "none"])
def test_options_reach_the_estimators(run, tables, classifier):
    outcome = run(
        "fit",
        "train.csv",
        *COLUMNS,
        "--method",
        "NMLSDR",
        "--n-components",
        "2",
        "--n-neighbors",
        "4",
        "--alpha-labeled",
        "0.3",
        "--alpha-unlabeled",
        "0.9",
        "--jobs",
        "1",
        "--no-standardize",
        "--classifier",
        classifier,
        "--out",
        "model.skops",
    )
    assert_done(outcome)
    steps = load_model("model.skops").steps
    assert [name for name, _ in steps] == ["projection", *["classifier"] * (classifier != "none")]
    projection = steps[0][1]
    assert projection.components_.shape == (2, len(FEATURES))
    assert (projection.n_neighbors, projection.alpha_labeled, projection.alpha_unlabeled) == (4, 0.3, 0.9)
    if classifier == "semi-supervised":
        assert (steps[1][1].n_neighbors, steps[1][1].alpha_labeled, steps[1][1].alpha_unlabeled) == (4, 0.3, 0.9)
    if classifier == "mlknn":
        assert type(steps[1][1]) is nmlsdr.MLkNN
        assert steps[1][1].n_neighbors == 4


@pytest.mark.quick_cases("words0", "words1")
@pytest.mark.parametrize("words", [(), ("semi-supervised",), ("mlknn",), ("none",)])
def test_the_metric_reaches_all_that_searches(run, tables, words):
    words = [*(["--classifier", *words] if words else []), "--no-standardize", "--out", "model.skops"]
    assert_done(run("fit", "train.csv", *COLUMNS, *words))
    assert {step.metric for _, step in load_model("model.skops").steps} == {"euclidean"}
    assert_done(run("fit", "train.csv", *COLUMNS, "--metric", "cosine", *words))
    assert {step.metric for _, step in load_model("model.skops").steps} == {"cosine"}


@pytest.mark.parametrize("method", ["NMLSDR", "SSMLDR", "NMLSDR*", "MDDMp"])
def test_alphas_that_are_not_given_are_the_estimators_own(run, tables, method):
    """What the command line hands on is what was asked for: another default of an estimator must reach the model."""
    words = ("--method", method, "--classifier", "semi-supervised", "--out", "model.skops")
    assert_done(run("fit", "train.csv", *COLUMNS, *words))
    _, projection, classifier = (step for _, step in load_model("model.skops").steps)
    for alpha in ("alpha_labeled", "alpha_unlabeled"):
        method_alpha = 0.0 if method.endswith("*") and alpha == "alpha_labeled" else None
        for step in (projection, classifier):
            if hasattr(step, alpha):
                default = inspect.signature(type(step)).parameters[alpha].default
                assert getattr(step, alpha) == (default if method_alpha is None else method_alpha)


def test_review_hands_on_only_alphas_that_are_given(run, tables, monkeypatch):
    parameter_sets = []
    real = nmlsdr.ResidualPropagation

    def recording(**parameters):
        parameter_sets.append(parameters)
        return real(**parameters)

    monkeypatch.setattr("nmlsdr._cli.residual_fit.ResidualPropagation", recording)
    for words, names in (([], set()), (["--alpha-labeled", "0"], {"alpha_labeled"})):
        assert run("review", "train.csv", *COLUMNS, *words, "--out", "review.csv").status == 0
        assert {name for name in parameter_sets.pop() if name.startswith("alpha")} == names


@pytest.mark.parametrize("classifier", ["semi-supervised", "mlknn"])
def test_a_score_at_the_threshold_is_a_label(run, tables, classifier):
    """As the estimator's own predict, at every score that a row has."""
    _, _, X_test, _ = tables
    assert_done(run("fit", "train.csv", *COLUMNS, "--classifier", classifier, "--out", "model.skops"))
    model = load_model("model.skops")
    scores = model.predict_proba(X_test)
    for score in np.unique(scores)[::7]:
        model.steps[-1][1].threshold = float(score)
        save_model("model.skops", model, feature_names=FEATURES, label_names=LABELS)
        assert_done(run("predict", "model.skops", "test.csv", *COLUMNS, "--out", "labels.csv"))
        np.testing.assert_array_equal(predicted("labels.csv")[1], scores >= score)
        np.testing.assert_array_equal(predicted("labels.csv")[1], model.predict(X_test))


def test_a_model_of_a_data_frame_finds_its_columns_by_name(run, tables, tmp_path):
    """Saved without a word of names, as by a user's own script; the file has its columns in another order."""
    pd = pytest.importorskip("pandas")
    X, Y, X_test, _ = tables
    model = make_pipeline(StandardScaler(), nmlsdr.MLkNN(5)).fit(pd.DataFrame(X, columns=FEATURES), Y)
    save_model("model.skops", model)
    pd.DataFrame(X_test, columns=FEATURES)[FEATURES[::-1]].to_csv("turned.csv", index=False)
    assert_done(run("predict", "model.skops", "turned.csv", "--out", "labels.csv"))
    expected = model[-1].predict(model[0].transform(pd.DataFrame(X_test, columns=FEATURES)))
    np.testing.assert_array_equal(predicted("labels.csv")[1], expected)


def test_a_model_file_contains_the_names_of_features_and_labels(run, tables, model):
    opened = open_model(model)
    assert opened.feature_names == FEATURES
    assert opened.label_names == LABELS


def test_same_arguments_same_model(run, tables, model):
    assert_done(run("fit", "train.csv", *COLUMNS, "--out", "again.skops"))
    assert_same(load_model(model), load_model("again.skops"))


# ------------------------------------------------------------------------------------------------- unlabelled rows


def test_unlabelled_rows_by_cell_file_and_mask_are_the_same(run, tables, tmp_path):
    X, Y, _, _ = tables
    labeled = np.arange(len(Y)) % 3 > 0
    hidden = [[*x, *(y if keep else [""] * 3)] for x, y, keep in zip(X.tolist(), Y.tolist(), labeled, strict=True)]
    write_csv(tmp_path / "hidden.csv", FEATURES + LABELS, hidden)
    write_csv(tmp_path / "X.csv", FEATURES, X.tolist())
    write_csv(tmp_path / "Y.csv", LABELS, np.where(labeled[:, None], Y, -1).tolist())
    (tmp_path / "mask.txt").write_text("".join(f"{int(keep)}\n" for keep in labeled))
    commands = {
        "cells": ["hidden.csv", *COLUMNS],
        "file": ["X.csv", "--label-file", "Y.csv"],
        "mask": ["train.csv", *COLUMNS, "--mask", "mask.txt"],
    }
    for name, arguments in commands.items():
        assert_done(run("fit", *arguments, "--out", f"{name}.skops"))
    for name in ("cells", "file"):
        assert_same(load_model(f"{name}.skops"), load_model("mask.skops"))
    projection = load_model("mask.skops").steps[1][1]
    assert not projection.label_flips_[~labeled].any()


def test_evaluate_leaves_unlabelled_rows_out(run, tables, model, tmp_path):
    _, _, X_test, Y_test = tables
    (tmp_path / "mask.txt").write_text("1\n" * 10 + "0\n" * 15)
    outcome = ran(run("evaluate", model, "test.csv", *COLUMNS, "--mask", "mask.txt", "--out", "measures.csv"))
    assert outcome.err.splitlines() == [
        "nmlsdr: test.csv: unlabelled and not counted: 15 of 25 rows.",
        "nmlsdr: wrote measures.csv: 10 rows, 3 labels.",
    ]
    fitted = load_model(model)
    measures = metrics.score_table(
        Y_test[:10], rank_scores(fitted, X_test)[:10], predictions=fitted.predict(X_test)[:10]
    )
    assert read_csv("measures.csv") == (["measure", "value"], [[k, repr(float(v))] for k, v in measures.items()])


# ------------------------------------------------------------------------------------------------- columns by name


def test_columns_are_found_by_name(run, tables, model, tmp_path):
    X_test = tables[2]
    order = [3, 1, 4, 0, 2]
    write_csv(tmp_path / "mixed.csv", [FEATURES[j] for j in order], X_test[:, order].tolist())
    assert_done(run("predict", model, "mixed.csv", "--out", "mixed-labels.csv"))
    assert_done(run("predict", model, "test.csv", *COLUMNS, "--out", "labels.csv"))
    assert (tmp_path / "mixed-labels.csv").read_bytes() == (tmp_path / "labels.csv").read_bytes()


def test_label_columns_are_never_features(run, tables, model, tmp_path):
    assert_done(run("predict", model, "test.csv", "--out", "a.csv"))
    assert_done(run("predict", model, "test.csv", *COLUMNS, "--out", "b.csv"))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_other_columns_are_left_out_with_a_note(run, tables, model, tmp_path):
    write_csv(tmp_path / "more.csv", [*FEATURES, "extra"], [[*x, 5] for x in tables[2].tolist()])
    outcome = ran(run("predict", model, "more.csv", "--out", "a.csv"))
    assert outcome.err.splitlines()[0] == "nmlsdr: more.csv: the column 'extra' is not in the model and not used."
    assert_done(run("predict", model, "test.csv", "--out", "b.csv"))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_text_column_that_is_dropped_does_not_change_the_model(run, tables, tmp_path):
    X, Y, _, _ = tables
    rows = [[f"patient {i}", *x, *y] for i, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True))]
    write_csv(tmp_path / "named.csv", ["id", *FEATURES, *LABELS], rows)
    assert_done(run("fit", "named.csv", *COLUMNS, "--drop", "id", "--out", "a.skops"))
    assert_done(run("fit", "train.csv", *COLUMNS, "--out", "b.skops"))
    assert_same(load_model("a.skops"), load_model("b.skops"))


def test_labels_are_found_by_name(run, tables, model, tmp_path):
    _, _, X_test, Y_test = tables
    write_csv(tmp_path / "X.csv", FEATURES, X_test.tolist())
    write_csv(tmp_path / "Y.csv", [*LABELS[::-1], "new"], [[*y[::-1], 0] for y in Y_test.tolist()])
    outcome = ran(run("evaluate", model, "X.csv", "--label-file", "Y.csv"))
    assert outcome.err == "nmlsdr: X.csv: the label 'new' is not in the model and not counted.\n"
    assert outcome.out == run("evaluate", model, "test.csv", *COLUMNS).out


# --------------------------------------------------------------------------------------------------------- results


@pytest.mark.parametrize("suffix", ["csv", "tsv", "npz", "parquet"])
def test_transform_writes_every_format_exactly(run, tables, model, suffix):
    assert_done(run("transform", model, "test.csv", *COLUMNS, "--out", f"e.{suffix}"))
    expected = load_model(model).transform(tables[2])
    assert read_result(f"e.{suffix}", "embedding", ["component_0", "component_1", "component_2"]).tolist() == (
        expected.tolist()
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "npz", "parquet"])
def test_predict_writes_every_format_exactly(run, tables, model, suffix):
    assert_done(run("predict", model, "test.csv", *COLUMNS, "--probabilities", "--out", f"p.{suffix}"))
    pipeline = load_model(model)
    probabilities = read_result(f"p.{suffix}", "probabilities", [f"probability:{name}" for name in LABELS])
    np.testing.assert_array_equal(probabilities, pipeline.predict_proba(tables[2]))
    np.testing.assert_array_equal(read_result(f"p.{suffix}", "labels", LABELS), pipeline.predict(tables[2]))


def read_result(path, array, names):
    if path.endswith(".npz"):
        return np.load(path, allow_pickle=False)[array]
    if path.endswith(".parquet"):
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        return np.column_stack([table[name].to_numpy() for name in names])
    with open(path, encoding="utf-8") as file:
        delimiter = "\t" if path.endswith(".tsv") else ","
        import csv

        head, *rows = csv.reader(file, delimiter=delimiter)
    return np.array([[float(row[head.index(name)]) for name in names] for row in rows])


def test_float32_stays_and_is_written_exactly(run, tables, tmp_path):
    X, Y, X_test, Y_test = tables
    np.savez(tmp_path / "f.npz", X=X.astype(np.float32), y=Y)
    np.savez(tmp_path / "g.npz", X=X_test.astype(np.float32), y=Y_test)
    assert_done(run("fit", "f.npz", "--out", "m.skops"))
    assert_done(run("transform", "m.skops", "g.npz", "--out", "e.csv"))
    assert_done(run("transform", "m.skops", "g.npz", "--out", "e.npz"))
    exact = np.load("e.npz")["embedding"]
    assert exact.dtype == np.float32
    text = read_result("e.csv", "embedding", ["component_0", "component_1", "component_2"])
    np.testing.assert_array_equal(text.astype(np.float32), exact)


def test_info_prints_versions_and_threads(run):
    outcome = run("info")
    assert_done(outcome)
    assert outcome.out.startswith("nmlsdr ")
    for word in ("numpy", "compiler", "debug build", "OpenMP", "threads", "SIMD"):
        assert f"\n{word} " in outcome.out


def info_lines(run):
    outcome = run("info")
    assert_done(outcome)
    return dict(re.split(r"  +", line, maxsplit=1) for line in outcome.out.splitlines())


def test_info_shows_how_the_kernels_were_built(run, monkeypatch):
    facts = _graph.build_facts()
    assert re.match(r"(GCC|clang|MSVC) [0-9]", facts["compiler"])
    for changes, name, text in (
        ({"openmp": 0}, "OpenMP", "no: kernels run on one thread"),
        ({"openmp": 0}, "threads", "1"),
        ({"openmp": 201511}, "OpenMP", "yes (201511)"),
        ({"debug": True}, "debug build", "yes (NMLSDR_DEBUG=1)"),
        ({"debug": False}, "debug build", "no"),
        ({"compiler": "MSVC 1"}, "compiler", "MSVC 1"),
    ):
        monkeypatch.setattr(_graph, "build_facts", lambda changes=changes: {**facts, **changes})
        assert info_lines(run)[name] == text


def test_info_shows_the_vector_width_in_use_and_not_only_those_available(run, monkeypatch):
    facts = {**_graph.build_facts(), "n_simd_levels": 3}
    monkeypatch.setattr(_graph, "build_facts", lambda: facts)
    monkeypatch.setattr(_graph, "best_simd_level", lambda: 1)
    monkeypatch.setattr(_threads, "SIMD_LEVELS", ("portable", "avx2", "vnni"))
    known = "compiled: portable, avx2, vnni; this processor has avx2"
    monkeypatch.delenv("NMLSDR_SIMD", raising=False)
    assert info_lines(run)["SIMD"] == f"avx2 in use; {known}"
    monkeypatch.setenv("NMLSDR_SIMD", "portable")
    assert info_lines(run)["SIMD"] == f"portable in use (NMLSDR_SIMD); {known}"


def test_info_of_a_model(run, model):
    outcome = run("info", model)
    assert_done(outcome)
    assert "ResidualPropagation()" in outcome.out
    assert "3: flu; cold, heavy; o'k" in outcome.out


HOSTILE = "a\x1b[2J\x1b]0;owned\x07\u202egnp\r"


def test_names_of_a_model_do_not_reach_the_terminal_raw(run, tables):
    X, Y, _, _ = tables
    save_model("m.skops", nmlsdr.MLkNN(5).fit(X, Y), feature_names=[HOSTILE, *"bcde"], label_names=[HOSTILE, "q", "r"])
    outcome = run("info", "m.skops")
    assert_done(outcome)
    assert r"3: a\x1b[2J\x1b]0;owned\x07\u202egnp\r; q; r" in outcome.out
    assert all(line.isprintable() for line in outcome.out.splitlines())
    outcome = run("predict", "m.skops", "test.csv", *COLUMNS, "--out", "labels.csv")
    assert outcome.status == 2
    assert outcome.err[:-1].isprintable()


def test_names_of_a_table_do_not_reach_the_terminal_raw(run, tables, tmp_path):
    (tmp_path / "t.csv").write_text(f'"{HOSTILE[:-1]}",y\n{HOSTILE[:-1]},1\n', newline="")
    for words in (["--label-columns", "y"], ["--label-columns", HOSTILE[:-1]], ["--drop", "no" + HOSTILE]):
        outcome = run("fit", "t.csv", *words, "--out", "m.skops")
        assert outcome.status == 2
        assert all(line.isprintable() for line in outcome.err.split("\n")), outcome.err
    terminal = io.StringIO()
    console = Console(stream=terminal)
    console.note(HOSTILE)
    console.live = True
    with console.step(HOSTILE):
        pass
    shown = terminal.getvalue().replace("\r\x1b[K", "").replace("\n", "")
    assert shown.isprintable()


# ---------------------------------------------------------------- labels that are known in part


def test_unknown_cells_and_pairs_of_alpha_reach_the_model(run, tables, tmp_path):
    """fit, evaluate and review on a table with empty label cells; the pair of alphas is in the model."""
    lines = (tmp_path / "train.csv").read_text().splitlines()
    lines[5] = lines[5].rpartition(",")[0] + ","
    (tmp_path / "holes.csv").write_text("\n".join(lines) + "\n")
    trust = ["--alpha-labeled", "0.7,0.1"]
    assert_done(run("fit", "holes.csv", *COLUMNS, *trust, "--out", "model.skops"))
    steps = dict(load_model(tmp_path / "model.skops").steps)
    assert next(step.alpha_labeled for step in steps.values() if hasattr(step, "alpha_labeled")) == (0.7, 0.1)
    assert_done(run("evaluate", "model.skops", "holes.csv", *COLUMNS))
    for table, out in (("holes.csv", "review.csv"), ("train.csv", "all.csv")):  # a buried kind may draw a note
        assert run("review", table, *COLUMNS, *trust, "--out", out).status == 0
    count = [len((tmp_path / name).read_text().splitlines()) for name in ("all.csv", "review.csv")]
    assert count[0] == count[1] + 1
    assert_refused(run("fit", "holes.csv", *COLUMNS, "--method", "CCA", "--out", "cca.skops"), "CCA needs every label")
    for text in ("0.9,1", "0.9,", "a,0.1"):
        wrong = run("fit", "train.csv", *COLUMNS, "--alpha-labeled", text, "--out", "m.skops")
        assert_refused(wrong, "from 0 to below 1")
