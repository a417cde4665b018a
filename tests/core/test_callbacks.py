"""What a fit tells scikit-learn's callbacks: a tree of tasks that begin and end, the same bits, nothing left behind."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import NMLSDR, SSMLDR, MultiLabelPropagation, ResidualPropagation, SemiSupervisedMLkNN, graph
from nmlsdr._ridge import cross_fit
from nmlsdr.model_file import load_model, save_model

WITHOUT = """
import sys
sys.modules["sklearn.callback"] = None
from nmlsdr import NMLSDR
model = NMLSDR(n_neighbors=1).fit([[0.0], [1.0], [5.0]], [[1], [0], [-1]])
print(hasattr(model, "set_callbacks"), model.components_.shape)
"""


@pytest.mark.slow
def test_fits_need_no_callbacks():
    """As before scikit-learn 1.9."""
    process = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=120)
    assert process.stdout.split() == ["False", "(1,", "1)"]


def test_cross_fit_reports_each_of_its_folds_once(rng):
    """Once, also where the chosen strengths go through them again."""
    X = rng.normal(size=(60, 5))
    Y = rng.random((60, 2)) > 0.5
    for grid in ({}, {"shrinkage": 0.5, "ridge": 1.0}):
        reported_folds = []
        cross_fit_result = cross_fit(X, Y, callback=reported_folds.append, n_splits=4, **grid)
        assert reported_folds == [1, 2, 3, 4]
        assert np.array_equal(cross_fit_result.predictions, cross_fit(X, Y, n_splits=4, **grid).predictions)


# ---------------------------------------------------------------- scikit-learn 1.9


class Recorder:
    """Keeps the tasks as (hook, path of names)."""

    def __init__(self):
        self.told = []
        self.fitted = []

    def setup(self, estimator, context):
        self.told.append(("setup", ()))

    def teardown(self, estimator, context):
        self.told.append(("teardown", ()))

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.told.append(("begin", path(context)))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.told.append(("end", path(context)))
        if fitted_estimator is not None:
            self.fitted.append((fitted_estimator, X, y))
        return True  # a wish to stop, which is not heard

    def names(self, depth):
        """The tasks that ended at this depth, in order."""
        return [names[-1] for hook, names in self.told if hook == "end" and len(names) == depth]


class Propagated(Recorder):
    """Handed on to the steps of meta-estimators."""

    max_propagation_depth = None


class Stops(Recorder):
    """Raises when a task of this name begins."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def on_fit_task_begin(self, estimator, context):
        if context.task_name == self.name:
            raise RuntimeError(self.name)


def path(context):
    above = () if context.parent is None else path(context.parent)
    return (*above, context.task_name)


@pytest.fixture
def samples(rng):
    """Rows and labels for an estimator with callbacks."""
    if not hasattr(NMLSDR, "set_callbacks"):
        pytest.skip("scikit-learn has callbacks from version 1.9 on")
    X = rng.normal(size=(150, 8))
    Y = (X[:, :3] + 0.5 * rng.normal(size=(150, 3)) > 0).astype(int)
    Y[75:] = -1
    return X, Y


SEARCHED = ["neighbors", "propagation"]
STEPS = [
    (MultiLabelPropagation(), SEARCHED),
    (SemiSupervisedMLkNN(), [*SEARCHED, "classifier"]),
    (NMLSDR(), [*SEARCHED, "projection"]),
    (NMLSDR(shrinkage="cv"), ["cross-validation", *SEARCHED, "projection"]),
    (SSMLDR(), [*SEARCHED, "projection"]),
    (
        ResidualPropagation(n_estimators=4),
        [
            "cross-validation",
            *SEARCHED,
            "projection",
            "forests",
            "neighbors in the embedding",
            "propagation of residuals in the embedding",
            "neighbors in the ridge scores",
            "propagation of residuals in the ridge scores",
        ],
    ),
]
each_estimator = pytest.mark.parametrize(("estimator", "steps"), STEPS, ids=lambda value: str(value)[:40])


def fitted(model):
    return {name: value for name, value in vars(model).items() if name.endswith("_") and not name.endswith("__")}


def assert_equal_bits(model, other_model):
    assert fitted(model).keys() == fitted(other_model).keys()
    for name, value in fitted(model).items():
        other_value = getattr(other_model, name)
        assert pickle.dumps(value) == pickle.dumps(other_value), name


@each_estimator
def test_the_tree_of_a_fit(samples, estimator, steps):
    recorder = Recorder()
    model = clone(estimator).set_callbacks(recorder)
    assert model.fit(*samples) is model
    assert recorder.told[:2] == [("setup", ()), ("begin", ("fit",))]
    assert recorder.told[-2:] == [("end", ("fit",)), ("teardown", ())]
    assert recorder.names(2) == steps
    ended = [names for hook, names in recorder.told if hook == "end"]
    assert ended.count(("fit", "propagation", "sweep")) >= model.n_iter_ > 1
    assert model.residual_ <= 1e-8
    assert {names[1] for names in ended if names[-1] == "sweep"} == {name for name in steps if "propagation" in name}
    folds = [names for names in ended if names[-1] == "fold"]
    assert len(folds) == ("cross-validation" in steps) * 5
    open_tasks = []
    for hook, names in recorder.told[1:-1]:  # every task ends before its parent does and before the next begins
        if hook == "begin":
            assert names[:-1] == (open_tasks[-1] if open_tasks else ())
            open_tasks.append(names)
        else:
            assert open_tasks.pop() == names


@each_estimator
def test_callbacks_change_no_result_and_leave_no_attribute(samples, estimator, steps):
    recorder = Recorder()
    observed_model = clone(estimator).set_callbacks(recorder).fit(*samples)
    plain = clone(estimator).fit(*samples)
    assert_equal_bits(observed_model, plain)
    assert vars(observed_model).keys() - vars(plain).keys() == {"_skl_callbacks"}
    assert observed_model.get_params() == plain.get_params()
    assert repr(observed_model) == repr(plain)
    ((model, X, y),) = recorder.fitted  # ready to use, with what it was fitted on
    assert X is samples[0]
    assert y is samples[1]
    assert_equal_bits(model, plain)
    assert vars(observed_model.set_callbacks()).keys() == vars(plain).keys()


@each_estimator
def test_copies_keep_callbacks_and_model_files_leave_them_out(tmp_path, samples, estimator, steps):
    observed_model = clone(estimator).set_callbacks(Recorder()).fit(*samples)
    assert_equal_bits(pickle.loads(pickle.dumps(observed_model)), observed_model)
    assert clone(observed_model)._skl_callbacks == observed_model._skl_callbacks  # scikit-learn hands them on
    save_model(tmp_path / "told.skops", observed_model)
    save_model(tmp_path / "plain.skops", clone(estimator).fit(*samples))
    assert_equal_bits(load_model(tmp_path / "told.skops"), load_model(tmp_path / "plain.skops"))
    assert not hasattr(load_model(tmp_path / "told.skops"), "_skl_callbacks")


def test_a_given_graph_is_a_task_less(samples):
    X, Y = samples
    W = graph.neighbor_graph(X, 5)
    recorder = Recorder()
    NMLSDR().set_callbacks(recorder).fit(X, Y, graph=W)
    assert recorder.names(2) == ["propagation", "projection"]


@pytest.mark.parametrize("name", ["fit", "fold", "neighbors", "sweep", "projection", "trees"])
def test_a_callback_may_end_a_fit(samples, name):
    model = ResidualPropagation().set_callbacks(Stops(name))
    with pytest.raises(RuntimeError, match=name):
        model.fit(*samples)
    (recorder,) = model._skl_callbacks
    assert recorder.told[0] == ("setup", ())
    assert recorder.told[-1] == ("teardown", ())
    assert not {name, "fit"} & {names[-1] for hook, names in recorder.told if hook == "end"}
    assert not hasattr(model, "_callback_fit_ctx")
    assert_equal_bits(model.set_callbacks().fit(*samples), ResidualPropagation().fit(*samples))


def test_a_refused_fit_ends_the_callbacks(samples):
    recorder = Recorder()
    with pytest.raises(ValueError, match="alpha_labeled"):
        NMLSDR(alpha_labeled=2.0).set_callbacks(recorder).fit(*samples)
    assert recorder.told[-1] == ("teardown", ())


def test_warnings_still_name_the_line_of_the_user(samples):
    """No frame comes between, with callbacks or without."""
    lines = []
    for model in (NMLSDR(shrinkage=1.0), NMLSDR(shrinkage=1.0).set_callbacks(Recorder())):
        Y = samples[1].copy()
        Y[0] = 1
        Y[1:] = -1
        with warnings.catch_warnings(record=True, action="always") as caught_warnings:
            model.fit(samples[0], Y)
        lines += [each.filename for each in caught_warnings if "One labelled row" in str(each.message)]
    assert lines == [__file__, __file__]


def test_pipelines_and_searches_hand_callbacks_on(samples):
    X = samples[0][:75]
    Y = samples[1][:75]
    pipeline = make_pipeline(StandardScaler(), NMLSDR(n_components=2), SemiSupervisedMLkNN())
    grid = {"semisupervisedmlknn__n_neighbors": [3, 5]}
    recorder = Propagated()
    search = GridSearchCV(pipeline, grid, cv=2, scoring="accuracy").set_callbacks(recorder).fit(X, Y)
    plain = GridSearchCV(pipeline, grid, cv=2, scoring="accuracy").fit(X, Y)
    assert np.array_equal(search.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    fits = 2 * 2 + 1
    names = [names[-1] for hook, names in recorder.told if hook == "end"]
    assert names.count("projection") == names.count("classifier") == fits
    assert names.count("propagation") == 2 * fits
    assert not hasattr(search.best_estimator_[-1], "_skl_callbacks")


def test_scikit_learns_progress_bar_shows_every_step(samples, capsys):
    pytest.importorskip("rich", reason="scikit-learn's ProgressBar needs rich")
    from sklearn.callback import ProgressBar

    ResidualPropagation().set_callbacks(ProgressBar()).fit(*samples)
    shown = capsys.readouterr().out
    for task in ("fit", "cross-validation", "propagation of residuals"):
        assert f"ResidualPropagation - {task}" in shown
