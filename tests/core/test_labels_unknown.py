"""What unknown entries, votes, and a trust for each entry do to a fit."""

import inspect

import numpy as np
import pytest
from estimator_cases import ESTIMATORS, make
from label_cases import (
    CODES,
    PARTLY,
    ROWS,
    N,
    X,
    Y,
    outcome,
    propagates,
    unlabelled,
    with_unknown,
)

import nmlsdr
from nmlsdr import InputError


def test_unknown_entries_are_not_listed_as_suspects():
    suspects = nmlsdr.inspection.rank_suspects([[0.9, 0.2], [0.3, 0.1]], [[1, np.nan], [0, 1]])
    assert [*zip(suspects.row.tolist(), suspects.label.tolist(), strict=True)] == [(0, 0), (1, 0), (1, 1)]


@pytest.mark.parametrize("constraint", ["projection", "features"])
def test_mddm_centres_each_label_over_its_known_rows(constraint):
    """M by its definition, one label at a time, and the eigenproblem of M M' as a dense one."""
    M = np.zeros((4, 3))
    for c in range(3):
        rows = PARTLY[:, c]
        M[:, c] = (X[rows] - X[rows].mean(axis=0)).T @ (Y[rows, c] - Y[rows, c].mean())
    labelled = PARTLY.any(axis=1)
    Xc = X[labelled] - X[labelled].mean(axis=0)
    B = np.eye(4) if constraint == "projection" else 0.5 * Xc.T @ Xc + 0.5 * np.eye(4)
    expected = np.sort(np.linalg.eigvals(np.linalg.solve(B, M @ M.T)).real)[::-1][:3]
    model = nmlsdr.MDDM(constraint=constraint).fit(X, with_unknown(PARTLY, -1, int))
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-10)
    P = model.components_.T
    np.testing.assert_allclose(M @ (M.T @ P), B @ P * model.eigenvalues_, atol=1e-9 * expected[0])


def test_nmlsdr_projects_hard_labels_on_known_entries_and_soft_ones_on_the_others():
    model = nmlsdr.NMLSDR(n_neighbors=5).fit(X, with_unknown(PARTLY, -1, int))
    F = model.label_distributions_
    expected = nmlsdr.projection.hsic_projection(X, np.where(PARTLY, F > 0.5, F))[1]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-12)


def test_marking_every_entry_known_changes_no_bit():
    y = with_unknown(ROWS, -1, int)
    known = np.repeat(ROWS[:, :1], 3, axis=1)
    for name in ESTIMATORS:
        if has_labeled := "labeled" in inspect.signature(ESTIMATORS[name].fit).parameters:
            np.testing.assert_array_equal(outcome(make(name).fit(X, y)), outcome(make(name).fit(X, Y, labeled=known)))
        assert has_labeled


# ---------------------------------------------------------------- votes


@pytest.mark.parametrize("name", ESTIMATORS)
def test_propagating_methods_accept_votes(name):
    votes = Y * 0.75 + 0.125
    if propagates(name):
        F = make(name).fit(X, votes).label_distributions_
        np.testing.assert_allclose(F, 0.75 * make(name).fit(X, Y).label_distributions_ + 0.125, atol=1e-6)
        return
    sentence = r"got 0.875 in row 0, label 0; round votes first: y > 0.5 \(NMLSDR"
    with pytest.raises(InputError, match=sentence):
        make(name).fit(X, votes)


@pytest.mark.parametrize("name", ["NMLSDR", "SSMLDR", "MultiLabelPropagation", "SemiSupervisedMLkNN"])
@pytest.mark.parametrize("alpha_labeled", [0.6, (0.9, 0.1), [0.2, 0.2]], ids=str)
def test_each_label_solves_its_own_system(name, alpha_labeled):
    """F against the dense solve, one label at a time, with votes, unknown entries and trust by what is given."""
    votes = np.where(np.arange(N)[:, None] % 5 == 0, 0.5 * Y + 0.25, Y)
    y = np.where(PARTLY, votes, np.nan)
    model = make(name).set_params(alpha_labeled=alpha_labeled, tol=1e-12).fit(X, y)
    W = nmlsdr.graph.neighbor_graph(X, 5)
    T = nmlsdr.graph.transition_matrix(W).toarray()
    absent, present = alpha_labeled if np.ndim(alpha_labeled) else (alpha_labeled, alpha_labeled)
    for c in range(3):
        v = np.where(PARTLY[:, c], votes[:, c], 0)
        alpha = np.where(PARTLY[:, c], (1 - v) * absent + v * present, 0.999)
        F = np.linalg.solve(np.eye(N) - alpha[:, None] * T, (1 - alpha) * v)
        np.testing.assert_allclose(model.label_distributions_[:, c], F, atol=1e-10)
    flips = ((model.label_distributions_ > 0.5) != (votes > 0.5)) & (votes != 0.5) & PARTLY
    np.testing.assert_array_equal(model.label_flips_, flips)


def test_a_vote_of_one_half_is_no_flip():
    model = make("MultiLabelPropagation").fit(X, np.where(Y == 1, 0.5, 0.0))
    assert not model.label_flips_[Y == 1].any()
    model = make("MultiLabelPropagation").fit(X, np.where(Y == 1, 1.0, 0.5))
    assert (model.transduction_[Y == 0] == 1).any()
    assert not model.label_flips_[Y == 0].any()


# ---------------------------------------------------------------- alpha by value and by entry


def test_a_pair_of_alphas_applies_to_one_dimensional_labels_too():
    y = np.array(unlabelled(CODES, -1))
    model = make("MultiLabelPropagation").set_params(alpha_labeled=(0.9, 0.1)).fit(X, y)
    columns = np.where(ROWS, CODES[:, None] == np.arange(3), -1)
    model_of_columns = make("MultiLabelPropagation").set_params(alpha_labeled=(0.9, 0.1)).fit(X, columns)
    np.testing.assert_array_equal(model.label_distributions_, model_of_columns.label_distributions_)


@pytest.mark.parametrize("pair", [(0.1, 0.2, 0.3), (0.1, 1.0), ("a", "b"), (0.5,)], ids=str)
def test_alpha_labeled_is_a_number_or_a_pair(pair):
    with pytest.raises((InputError, TypeError, ValueError)):
        make("NMLSDR").set_params(alpha_labeled=pair).fit(X, Y)


def test_alpha_of_fit_may_be_one_for_each_entry():
    alpha = np.where(np.arange(3) == 1, 0.2, np.full((N, 3), 0.7))
    distributions = make("MultiLabelPropagation").fit(X, Y, alpha=alpha).label_distributions_
    for c, value in enumerate((0.7, 0.2, 0.7)):
        distributions_of_one_alpha = make("MultiLabelPropagation").fit(X, Y, alpha=value).label_distributions_
        np.testing.assert_allclose(distributions[:, c], distributions_of_one_alpha[:, c], atol=1e-7)
