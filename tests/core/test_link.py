"""The link from ridge scores to probabilities: golden numbers, the twin, no leak, bits, and its learner."""

import numpy as np
import pytest
import reference
from model_files import same_by_threads_and_file
from scipy import sparse

from nmlsdr import ResidualPropagation
from nmlsdr._estimators import _learners, _linked
from nmlsdr._process.threads import SIMD_LEVELS, simd
from nmlsdr._ridge import cross_link, fit_link, fold_links, link
from nmlsdr._thresholds import rank_scores


def numbers(link):
    return np.array([link.slope, link.bend, link.offset, link.mean, link.scale])


def has_link(model):
    return _learners.LinkedRidge in map(type, model.learners_)


def newton_of(model):
    [step] = (learner for learner in model.learners_ if type(learner) is _linked.NewtonStep)
    return step


def draw(rng, n=120, C=19):
    """Scores that are wrong in scale, of frequent and rare labels."""
    Z = rng.normal(size=(n, C))
    Y = (2 * Z + rng.logistic(size=Z.shape) > np.linspace(-1, 5, C)).astype(float)
    return 0.2 * Z + 0.02 * Z**3 + Y.mean(axis=0) + 0.1 * rng.normal(size=Z.shape), Y


def linked_out_of_fold(scores, Y, known, folds):
    return cross_link(scores, folds, fold_links(scores, Y, known, folds))


def test_golden_numbers():
    """400 rows, 5 labels, of which one is never given; the numbers are those of the trial that defined the link."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 5))
    Y = (Z * 2 + rng.logistic(size=Z.shape) > [0, 1, 2, 4, 99]).astype(float)
    scores = 0.3 * Z + Y.mean(axis=0) + 0.1 * rng.normal(size=Z.shape)
    link = fit_link(scores, Y)
    np.testing.assert_allclose(link.slope, [1.61343, 1.87426, 1.94475, 1.589838, 0], atol=1e-6)
    np.testing.assert_allclose(link.bend, [0, 0.155275, 0.305796, 0, 0], atol=1e-6)
    np.testing.assert_allclose(link.offset, [-0.171982, -1.165292, -2.243368, -3.237993, -6.683361], atol=1e-6)
    p = link.apply(scores)
    out_of_fold = linked_out_of_fold(scores, Y, None, np.random.default_rng(0).permutation(400) % 5)
    for each, error, total in ((p, 0.093458, 426.500045), (out_of_fold, 0.09458524, 425.775549)):
        assert ((Y - each) ** 2).mean() == pytest.approx(error, abs=1e-8)
        assert each.sum() == pytest.approx(total, abs=1e-6)


CASES = {
    "all known": lambda rng, O, Y, known: None,
    "partly known": lambda rng, O, Y, known: known.__iand__(rng.random(known.shape) < 0.6),
    "votes": lambda rng, O, Y, known: Y.__imul__(0.8),
    "constant labels": lambda rng, O, Y, known: Y.__setitem__((slice(None), [0, 5]), [0.0, 1.0]),
    "a label that is nowhere known": lambda rng, O, Y, known: known.__setitem__((slice(None), 3), False),
    "no label varies": lambda rng, O, Y, known: Y.fill(0.0),
    "equal scores": lambda rng, O, Y, known: O.__setitem__((slice(None), 2), Y[:, 2].mean()),
    "falling scores": lambda rng, O, Y, known: O.__imul__(-1.0),
    "separable": lambda rng, O, Y, known: O.__setitem__((slice(None), 1), Y[:, 1]),
    "far scores": lambda rng, O, Y, known: O.__setitem__((0, slice(None)), 1e6),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("C", [1, 16, 19])
def test_the_link_is_that_of_the_twin_at_any_level_and_on_any_thread(rng, monkeypatch, case, C):
    monkeypatch.setattr(link, "_WORTH_A_THREAD", 1)
    scores, Y = draw(rng)
    known = np.ones(Y.shape, dtype=bool)
    CASES[case](rng, scores, Y, known)
    scores, Y, known = (np.ascontiguousarray(each[:, :C]) for each in (scores, Y, known))
    mask = None if known.all() else known
    expected = reference.fit_link(scores, Y, known)
    bits = set()
    for level in SIMD_LEVELS[: simd() + 1]:
        monkeypatch.setenv("NMLSDR_SIMD", level)
        for n_threads in (1, 2):
            fitted_link = fit_link(scores, Y, mask, n_threads=n_threads)
            p = fitted_link.apply(scores, n_threads)
            bits.add(numbers(fitted_link).tobytes() + p.tobytes())
    assert len(bits) == 1
    if case != "far scores":  # whose other z are nearly equal, so that slopes of any size have nearly one loss
        np.testing.assert_allclose(numbers(fitted_link), expected, rtol=1e-5, atol=2e-5)  # its sums have float32 terms
    np.testing.assert_allclose(p, reference.linked(scores, expected), atol=1e-5)
    np.testing.assert_allclose(p, reference.linked(scores, numbers(fitted_link)), atol=1e-14)


def test_unknown_entries_leave_the_sums(rng):
    """What stands in them does not matter, and a label is fitted as on its known rows alone."""
    scores, Y = draw(rng)
    known = rng.random(Y.shape) < 0.7
    known[:, 4] = np.arange(len(Y)) % 3 > 0
    parameters = numbers(fit_link(scores, Y, known))
    hidden = np.where(known, scores, 1e9)
    np.testing.assert_array_equal(numbers(fit_link(hidden, np.where(known, Y, 7.0), known)), parameters)
    rows = np.flatnonzero(known[:, 4])
    alone = known.copy()
    alone[:, :] = True
    columns = [0, 4]
    known[:, 0] = known[:, 4]
    np.testing.assert_allclose(
        numbers(fit_link(scores[:, columns], Y[:, columns], known[:, columns])),
        numbers(fit_link(scores[rows][:, columns], Y[rows][:, columns])),
        rtol=1e-5,
        atol=1e-6,
    )


def test_no_row_is_linked_by_numbers_that_saw_its_label(rng):
    scores, Y = draw(rng)
    folds = np.arange(len(Y)) % 3
    flipped = np.where((folds == 1)[:, None], 1 - Y, Y)
    linked_scores, linked_scores_of_flipped = (
        linked_out_of_fold(scores, labels, None, folds) for labels in (Y, flipped)
    )
    np.testing.assert_array_equal(linked_scores[folds == 1], linked_scores_of_flipped[folds == 1])
    assert (linked_scores[folds != 1] != linked_scores_of_flipped[folds != 1]).any()
    np.testing.assert_array_equal(
        linked_scores[folds == 1], fit_link(scores, Y, None, np.flatnonzero(folds != 1)).apply(scores)[folds == 1]
    )


def test_order_of_labels_changes_no_bit_of_a_label(rng):
    """But for the common slopes, which are sums over labels: here all labels are equal."""
    scores, Y = draw(rng, C=1)
    scores, Y = (np.repeat(each, 19, axis=1) for each in (scores, Y))
    parameters = numbers(fit_link(scores, Y))
    np.testing.assert_array_equal(parameters, parameters[:, :1].repeat(19, axis=1))


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200, -1e308, 5e-324, 0.0])
def test_scores_of_any_size_have_a_probability(rng, value):
    scores, Y = draw(rng)
    p = fit_link(scores, Y).apply(np.full((1, Y.shape[1]), value))
    assert ((p >= 0) & (p <= 1)).all()


# ---------------------------------------------------------------- in ResidualPropagation


@pytest.fixture
def many_rows(rng, monkeypatch):
    """60 labelled rows count as many; some entries are unknown."""
    monkeypatch.setattr(_learners, "MANY_ROWS", 60)
    X = rng.standard_normal((200, 6))
    Y = (X[:, :4] + 0.5 * rng.standard_normal((200, 4)) > [0, 0.5, 1, 1.5]).astype(float)
    Y[rng.random(Y.shape) < 0.1] = -1
    Y[150:] = -1
    return X, Y


def fit(X, Y, **parameters):
    return ResidualPropagation(n_neighbors=5, **{"n_estimators": 2, "n_jobs": 1, **parameters}).fit(X, Y)


def test_a_learner_links_the_ridge_regression(many_rows, monkeypatch):
    """Its folds are those of the ridge regression, which depend on the rows and not on their order."""
    X, Y = many_rows
    ridge_folds = []

    def watched(scores, folds, links, n_threads):
        ridge_folds.append(folds)
        return cross_link(scores, folds, links, n_threads)

    monkeypatch.setattr(_linked, "cross_link", watched)
    monkeypatch.setattr(_learners, "LEARNERS", (_learners.RidgeRegression, _learners.LinkedRidge))
    model = fit(X, Y, n_estimators=0, residual_weight=0.0)
    ridge, linked = model.learners_
    is_labeled = (Y != -1).any(axis=1)
    O = np.ascontiguousarray(model.ridge_scores_[is_labeled])
    known = Y[is_labeled] != -1
    assert np.bincount(ridge_folds[0]).tolist() == [
        is_labeled.sum() // 5 + (t < is_labeled.sum() % 5) for t in range(5)
    ]
    out_of_fold = linked_out_of_fold(O, np.where(known, Y[is_labeled], 0.0), known, ridge_folds[0])
    weights = _learners.learner_weights([O, out_of_fold], np.where(known, Y[is_labeled], 0.0), known)
    np.testing.assert_allclose(model.learner_weights_, weights, atol=5e-7)  # ridge_scores_ are rounded
    new = X[150:]
    scores = new @ ridge.coef.T + ridge.intercept
    numbers_of = fit_link(O, np.where(known, Y[is_labeled], 0.0), known)
    expected = weights[0] * scores + weights[1] * numbers_of.apply(scores)
    np.testing.assert_allclose(rank_scores(model, new), expected, atol=1e-7)
    assert isinstance(linked, _learners.LinkedRidge)


def test_few_rows_and_classes_have_no_link(many_rows, monkeypatch):
    X, Y = many_rows
    classes = fit(X, np.where(Y[:, 0] < 0, -1, Y[:, 0]).astype(int))
    monkeypatch.setattr(_learners, "MANY_ROWS", 150)
    for model in (classes, fit(X, Y)):
        assert not has_link(model)
    monkeypatch.setattr(_learners, "MANY_ROWS", 149)
    assert has_link(fit(X, Y))


def test_storage_threads_and_a_model_file_change_no_bit(many_rows, tmp_path):
    X, Y = many_rows
    dense_model = same_by_threads_and_file(fit, X, Y, tmp_path / "model.skops")
    np.testing.assert_allclose(rank_scores(fit(sparse.csr_array(X), Y), X), rank_scores(dense_model, X), atol=1e-7)


def test_votes_and_verdicts_are_linked_too(many_rows):
    X, Y = many_rows
    verdicts = np.full(Y.shape, -1)
    verdicts[:5] = 1 - Y[:5].clip(0)
    for labels, some_verdicts in ((np.where(Y == 1, 0.8, Y), None), (Y, verdicts)):
        model = ResidualPropagation(n_neighbors=5, n_estimators=2).fit(X, labels, verdicts=some_verdicts)
        assert has_link(model)
        assert np.isfinite(rank_scores(model, X)).all()


def test_dask_blocks_are_linked_as_rows_in_memory(many_rows):
    da = pytest.importorskip("dask.array")
    import nmlsdr.dask

    X, Y = many_rows
    Y = np.where((Y == -1).all(axis=1)[:, None], Y, Y.clip(0))  # rows of Dask take no partly known labels
    plain = fit(X, Y)
    blocks = da.from_array(X, chunks=(50, 6))
    over = nmlsdr.dask.ResidualPropagation(n_neighbors=5, n_estimators=2, n_jobs=1).fit(blocks, Y)
    np.testing.assert_allclose(numbers(newton_of(over)), numbers(newton_of(plain)), atol=1e-9)
    np.testing.assert_allclose(over.predict_proba(blocks).compute(), plain.predict_proba(X), atol=1e-7)
