"""The scikit-learn contract, for every estimator in ``nmlsdr.__all__``."""

import inspect
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
import sklearn
from estimator_cases import (
    CLASSIFIERS,
    ESTIMATORS,
    TRANSFORMERS,
    assert_same,
    draw,
    every_estimator,
    every_transformer,
    make,
    outcome,
)
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import nmlsdr
from nmlsdr import MLkNN
from nmlsdr.model_selection import SCORERS, LabeledRowsSplit

PARAMETERS = [
    "n_components",
    "n_neighbors",
    "edge_weights",
    "sigma",
    "metric",
    "alpha_labeled",
    "alpha_unlabeled",
    "neighbors",
    "propagation_solver",
    "tol",
    "max_iter",
    "constraint",
    "mu",
    "beta",
    "labels",
    "label_weights",
    "shrinkage",
    "ridge",
    "smoothing",
    "eigen_solver",
    "n_estimators",
    "residual_weight",
    "threshold",
    "at_least_one",
    "random_state",
    "n_jobs",
]


# ---------------------------------------------------------------- scikit-learn's own checks


def expected_failed_checks(estimator):
    """The checks that an estimator of this package fails on purpose, by name, with the reason."""
    reasons = {}
    if is_classifier(estimator):
        reasons["check_classifiers_classes"] = "codes one class as -1, which here means an unlabelled row"
        if hasattr(estimator, "decision_function"):
            reasons["check_classifier_multioutput"] = "classes_ is a list of one array for each label, not one array"
    return reasons


@pytest.mark.quick_cases("NMLSDR()-")
@pytest.mark.filterwarnings("ignore:n_neighbors=:UserWarning")  # some checks fit 10 rows with the default k = 10
@pytest.mark.filterwarnings("ignore:n_components=:UserWarning")
@parametrize_with_checks(
    [
        nmlsdr.ResidualPropagation(n_estimators=4) if kind is nmlsdr.ResidualPropagation else kind()  # to be quick
        for kind in (*ESTIMATORS.values(), nmlsdr.ExactNeighborsTransformer)
    ],
    expected_failed_checks=expected_failed_checks,  # an entry that passes fails the suite (xfail_strict)
)
def test_estimators_pass_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_array_api_dispatch_with_numpy_arrays():
    """SCIPY_ARRAY_API must be set before scipy is imported: a process of its own, for all estimators."""
    program = f"""
import sys, warnings
sys.path[:0] = {[str(Path(__file__).parents[1])]!r}
import numpy as np, sklearn
import estimator_cases as contract
X, Y = contract.draw()
for name in contract.ESTIMATORS:
    expected = contract.outcome(contract.make(name).fit(X, Y), X)
    try:
        sklearn.set_config(array_api_dispatch=True)
    except ImportError as error:
        print(error)
        sys.exit(77)
    sklearn.set_config(array_api_dispatch=False)
    with sklearn.config_context(array_api_dispatch=True):
        found = contract.outcome(contract.make(name).fit(X, Y), X)
    assert isinstance(found, np.ndarray)
    contract.assert_same(found, expected)
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    process = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    if process.returncode == 77:
        pytest.skip(f"these versions cannot dispatch: {process.stdout.strip()}")
    assert process.returncode == 0, process.stderr[-2000:]


# ---------------------------------------------------------------- composition


@every_transformer
def test_transformers_work_in_a_column_transformer(name):
    X, Y = draw()
    columns = ColumnTransformer([("some", make(name), [0, 2, 4, 5]), ("kept", "passthrough", [1])])
    Z = columns.fit_transform(X, Y)
    assert_same(Z[:, :-1], make(name).fit(X[:, [0, 2, 4, 5]], Y).transform(X[:, [0, 2, 4, 5]]))
    np.testing.assert_array_equal(Z[:, -1], X[:, 1])


GRID = {"n_components": [1, 2], "n_neighbors": [3, 5], "alpha_labeled": [0.3, 0.6], "ridge": [0.1, 1.0]}


# joblib warns when a busy machine takes over a second to write the cache
@pytest.mark.quick_cases("NMLSDR")
@pytest.mark.filterwarnings("ignore:Persisting input arguments took:UserWarning")
@every_estimator
def test_grid_search_with_a_cache(name, tmp_path):
    """A grid over the estimator's own parameters, cached, on partly labelled rows, by the seven measures."""
    X, Y = draw(n=80)
    estimator = make(name)
    known = [key for key in GRID if key in estimator.get_params()][:2]
    grid = {f"it__{key}": GRID[key] for key in known}
    steps = [("scale", StandardScaler()), ("it", estimator)]
    if name in TRANSFORMERS:
        steps.append(("classify", MLkNN(n_neighbors=5)))
    mean_scores = []
    for memory in (None, str(tmp_path)):
        search = GridSearchCV(
            Pipeline(steps, memory=memory),
            grid,
            scoring=SCORERS,
            refit=next(iter(SCORERS)),
            cv=LabeledRowsSplit(3),
            error_score="raise",
        ).fit(X, Y)
        mean_scores.append([search.cv_results_[f"mean_test_{measure}"] for measure in SCORERS])
    assert np.isfinite(mean_scores[0]).all()
    np.testing.assert_array_equal(mean_scores[0], mean_scores[1])
    assert search.predict(X).shape == Y.shape


# ---------------------------------------------------------------- copies


@every_estimator
def test_clone_keeps_parameters_and_forgets_the_fit(name):
    X, Y = draw()
    model = make(name).fit(X, Y)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        outcome(twin, X)
    assert_same(outcome(twin.fit(X, Y), X), outcome(model, X))


def _skops_copy(model):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    written = skops.dumps(model)
    return skops.loads(written, trusted=skops.get_untrusted_types(data=written))


def _joblib_copy(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {"pickle": lambda model: pickle.loads(pickle.dumps(model)), "joblib": _joblib_copy, "skops": _skops_copy}


@every_estimator
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_copies_and_pickles_give_the_same_results(name, copy, storage):
    X, Y = draw()
    X = storage(X)
    model = make(name).fit(X, Y)
    again = copy(model)
    np.testing.assert_array_equal(outcome(again, X), outcome(model, X))
    assert again.get_params() == model.get_params()


# ---------------------------------------------------------------- names and frames


@every_transformer
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_gives_data_frames(name, library):
    frames = pytest.importorskip(library)
    X, Y = draw()
    columns = [f"f{j}" for j in range(X.shape[1])]
    frame = frames.DataFrame(dict(zip(columns, X.T, strict=True)))
    model = make(name).set_output(transform=library).fit(frame, Y)
    Z = model.transform(frame)
    assert isinstance(Z, frames.DataFrame)
    names = [f"{name.lower()}{j}" for j in range(Z.shape[1])]
    assert list(Z.columns) == list(model.get_feature_names_out()) == names
    assert list(model.feature_names_in_) == columns
    assert_same(Z.to_numpy(), make(name).fit(X, Y).transform(X))


@every_estimator
def test_names_of_data_frames_are_kept_and_checked(name):
    pandas = pytest.importorskip("pandas")
    X, Y = draw()
    frame = pandas.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    labels = pandas.DataFrame(Y, columns=["sun", "rain", "snow", "fog"])
    model = make(name).fit(frame, labels)
    assert list(model.label_names_in_) == list(labels.columns)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert_same(outcome(model, frame), outcome(make(name).fit(X, Y), X))
    with pytest.raises(ValueError, match="feature names should match"):
        outcome(model, frame[frame.columns[::-1]])
    assert not hasattr(model.fit(frame, Y), "label_names_in_")


# ---------------------------------------------------------------- labels: one rule for all


@every_estimator
def test_label_errors_name_the_row_and_the_fix(name):
    X, Y = draw(hidden=0)
    Y[3, 1] = 2
    with pytest.raises(ValueError, match=r"must contain only 0, 1 or -1 .unknown., got 2 in row 3, label 1"):
        make(name).fit(X, Y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        make(name).fit(X, Y[:-1])


# ---------------------------------------------------------------- metadata routing


def _metadata(name, n_labeled_rows):
    """The per-row arguments of ``fit`` that the estimator takes, with values."""
    labeled = np.arange(n_labeled_rows) % 3 > 0
    values = {"labeled": labeled, "alpha": np.where(labeled, 0.4, 0.9)}
    return {key: value for key, value in values.items() if has_fit_parameter(ESTIMATORS[name], key)}


@every_estimator
def test_metadata_is_routed_through_a_pipeline(name):
    X, Y = draw(hidden=0)
    metadata = _metadata(name, len(X))
    assert "labeled" in metadata
    Z = StandardScaler().fit_transform(X)
    expected = outcome(make(name).fit(Z, Y, **metadata), Z)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = make(name).set_fit_request(**dict.fromkeys(metadata, True))
        pipeline = make_pipeline(StandardScaler(), asking).fit(X, Y, **metadata)
        assert_same(outcome(pipeline, X), expected)
    assert not np.allclose(expected, outcome(make(name).fit(Z, Y), Z))  # the arguments do something


@every_estimator
def test_metadata_is_sliced_by_cross_validation(name):
    """Every fold's ``labeled`` and ``alpha`` belong to its own rows, so no fold complains about a length."""
    X, Y = draw(hidden=0)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = make(name).set_fit_request(**dict.fromkeys(_metadata(name, len(X)), True))
        steps = [asking, MLkNN(n_neighbors=3).set_fit_request(labeled=True)] if name in TRANSFORMERS else [asking]
        scores = cross_validate(
            make_pipeline(*steps), X, Y, cv=3, scoring=SCORERS, error_score="raise", params=_metadata(name, len(X))
        )
    assert np.isfinite(scores[f"test_{next(iter(SCORERS))}"]).all()


@every_estimator
def test_graph_is_routed_and_its_error_states_that_it_cannot_be_split(name):
    if not has_fit_parameter(ESTIMATORS[name], "graph"):
        pytest.skip("has no graph")
    X, Y = draw()
    graph = nmlsdr.graph.neighbor_graph(X, 5)
    with sklearn.config_context(enable_metadata_routing=True):
        asking = make(name).set_fit_request(graph=True)
        assert_same(outcome(make_pipeline(asking).fit(X, Y, graph=graph), X), outcome(make(name).fit(X, Y), X))
        with pytest.raises(ValueError, match=r"cross-validation cannot split a graph.*neighbors"):
            cross_validate(
                make_pipeline(asking), X, Y, cv=3, error_score="raise", params={"graph": graph}, scoring=lambda *_: 0.0
            )


@every_estimator
def test_the_error_for_an_unknown_argument_of_fit_names_the_class(name):
    X, Y = draw()
    with pytest.raises(TypeError, match=rf"^{name}\.fit\(\) got an unexpected keyword argument 'weights'"):
        make(name).fit(X, Y, weights=np.ones(len(X)))
    takes_alpha = has_fit_parameter(make(name), "alpha")
    words = "takes no sample_weight; pass alpha, larger for" if takes_alpha else "got an unexpected"
    with pytest.raises(TypeError, match=rf"^{name}\.fit\(\) {words}"):
        make(name).fit(X, Y, sample_weight=np.ones(len(X)))


@every_estimator
def test_parameters_are_in_the_same_order_everywhere(name):
    """Positional ones first, then the graph and its propagation, what the method is, the decision, and how it runs.

    ResidualPropagation begins with the parameters that most users set.
    """
    parameters = [
        parameter
        for parameter in inspect.signature(ESTIMATORS[name]).parameters
        if (name, parameter) != ("MLDA", "max_iter")
    ]
    usual = ["n_components", "threshold", "n_neighbors", "n_estimators", "random_state", "n_jobs"]
    first = usual if name == "ResidualPropagation" else []
    assert parameters == first + [
        parameter for parameter in PARAMETERS if parameter in parameters and parameter not in first
    ]


@every_estimator
def test_every_kind_of_random_state(name):
    if "random_state" not in ESTIMATORS[name]().get_params():
        pytest.skip("draws nothing")
    X, Y = draw()
    special = {"label_weights": "dependence"} if name == "MLDA" else {}
    for kind in (int, np.random.default_rng, np.random.RandomState):
        model, repeated_model = (make(name, **special, random_state=kind(3)).fit(X, Y) for _ in range(2))
        assert_same(outcome(model, X), outcome(repeated_model, X))
    assert np.isfinite(outcome(make(name, **special, random_state=None).fit(X, Y), X)).all()


@every_estimator
def test_flip_scores_exist_where_flips_do(name):
    X, Y = draw()
    model = make(name).fit(X, Y)
    assert hasattr(model, "flip_scores_") == hasattr(model, "label_flips_")
    if hasattr(model, "flip_scores_"):
        assert (model.flip_scores_[Y == -1] == 0).all()
        assert model.flip_scores_.max() <= 1


# ---------------------------------------------------------------- storage


@pytest.mark.quick_cases("sparray-")
@every_estimator
@pytest.mark.parametrize("interface", ["sparray", "spmatrix"])
def test_sparse_attributes_follow_scikit_learns_sparse_interface(name, interface):
    """Arrays and matrices in, whatever interface scikit-learn is told to put out."""
    if "sparse_interface" not in sklearn.get_config():
        pytest.skip("sparse_interface came with scikit-learn 1.9")
    X, Y = draw()
    X[np.abs(X) < 0.5] = 0.0
    expected = outcome(make(name).fit(X, Y), X)
    with sklearn.config_context(sparse_interface=interface):
        for storage in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
            model = make(name).fit(storage(X), Y)
            assert_same(outcome(model, storage(X)), expected)
            for attribute, value in vars(model).items():
                if sparse.issparse(value):
                    assert isinstance(value, sparse.sparray) == (interface == "sparray"), attribute
        scaled = make_pipeline(MaxAbsScaler(), make(name)).fit(sparse.csr_array(X), Y)
        assert_same(
            outcome(scaled, sparse.csr_matrix(X)),
            outcome(make(name).fit(MaxAbsScaler().fit_transform(X), Y), MaxAbsScaler().fit_transform(X)),
        )


@every_estimator
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_memory_maps(name, dtype, tmp_path):
    X, Y = draw()
    X = X.astype(dtype)
    for label, array in {"X": X, "Y": Y}.items():
        np.save(tmp_path / f"{label}.npy", array)
    mapped_X, mapped_Y = (np.load(tmp_path / f"{label}.npy", mmap_mode="r") for label in "XY")
    model = make(name).fit(mapped_X, mapped_Y)
    np.testing.assert_array_equal(outcome(model, mapped_X), outcome(make(name).fit(X, Y), X))


@every_estimator
@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X[:, ::-1][:, ::-1],
        lambda X: X.astype(">f8"),
        lambda X: X.astype(object),
    ],
    ids=["F order", "strided", "negative strides", "big-endian", "object"],
)
def test_layout_does_not_matter(name, change):
    X, Y = draw()
    np.testing.assert_array_equal(outcome(make(name).fit(change(X), Y), change(X)), outcome(make(name).fit(X, Y), X))


@pytest.mark.parametrize("kind", [nmlsdr.NMLSDR, nmlsdr.MLDA, nmlsdr.SSMLDR, nmlsdr.SemiSupervisedMLkNN])
def test_edges_and_labels_have_weights_of_their_own_names(kind):
    assert {"edge_weights", "label_weights"} & {*kind().get_params()}
    with pytest.raises(TypeError, match="weights"):
        kind(weights="binary")


# ---------------------------------------------------------------- what every estimator that propagates keeps

PROPAGATING = [
    name for name, estimator_class in ESTIMATORS.items() if "graph" in inspect.signature(estimator_class.fit).parameters
]


@pytest.mark.parametrize("name", PROPAGATING)
def test_propagation_keeps_the_same_attributes_everywhere(name):
    """Also with the graph and the alphas of the caller."""
    X, Y = draw()
    W = nmlsdr.graph.neighbor_graph(X, 7, edge_weights="rbf")
    alpha = np.linspace(0, 0.9, len(X))
    metadata_sets = (
        {},
        {"graph": W},
        {"graph": sparse.csr_matrix(W), "alpha": alpha},
        {"graph": W.toarray(), "alpha": 0.7},
    )
    for metadata in metadata_sets:
        model, reference = (make(each).fit(X, Y, **metadata) for each in (name, "MultiLabelPropagation"))
        np.testing.assert_array_equal(model.transduction_, model.label_distributions_ > 0.5)
        for attribute in ("label_distributions_", "label_flips_", "n_iter_", "residual_", "n_unreached_"):
            np.testing.assert_array_equal(getattr(model, attribute), getattr(reference, attribute), err_msg=attribute)
        assert model.label_flips_.dtype == bool
        assert not model.label_flips_[(Y == -1).all(axis=1)].any()
    for bad in (1.0, -0.1, np.full(len(X) - 1, 0.5)):
        with pytest.raises(ValueError, match="alpha must"):
            make(name).fit(X, Y, alpha=bad)


@pytest.mark.parametrize("name", PROPAGATING)
def test_classes_are_the_largest_soft_label(name):
    """Three classes near one another: some rows have no soft label above 1/2, and their class is the largest."""
    X, _ = draw(hidden=0)
    y = np.digitize(X[:, 0] + 0.8 * X[:, 1], [-0.6, 0.6])
    hidden = np.arange(len(y)) % 3 == 0
    model = make(name).fit(X, np.where(hidden, -1, y).astype(int))
    F = model.label_distributions_
    assert (F.max(axis=1) < 0.5).any()
    best = F.argmax(axis=1)
    assert model.transduction_.shape == y.shape
    np.testing.assert_array_equal(model.transduction_, model.classes_[best])
    np.testing.assert_array_equal(model.label_flips_.any(axis=1), (best != y) & ~hidden)
    assert {*model.label_flips_.sum(axis=1)} <= {0, 2}


@pytest.mark.parametrize("name", PROPAGATING)
def test_labels_that_need_no_step_count_one_iteration(name):
    X, _ = draw(hidden=0)
    Y = np.tile([1, 0], (len(X), 1))
    Y[0] = [0, 1]
    assert make(name, alpha_labeled=0.0).fit(X, Y).n_iter_ == 1


@pytest.mark.parametrize("n_labels", [1, 2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_scikit_learn_gets_out_of_fold_probabilities_and_stacks(name, n_labels):
    X, Y = draw(C=n_labels, hidden=0)
    methods = [method for method in ("predict_proba", "decision_function") if hasattr(ESTIMATORS[name], method)]
    for method in methods:
        probabilities = cross_val_predict(make(name), X, Y, cv=KFold(2), method=method)
        for train, test in KFold(2).split(X):
            model = make(name).fit(X[train], Y[train])
            np.testing.assert_array_equal(probabilities[test], getattr(model, method)(X[test]))
    if n_labels > 1:  # StackingClassifier takes one label for classes
        stack = StackingClassifier([("one", make(name))], final_estimator=MLkNN(5), cv=2).fit(X, Y)
        assert stack.predict(X).shape == Y.shape
        assert stack.score(X, Y) > 0.5**n_labels
