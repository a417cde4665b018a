"""The study of a labelling budget: what each way spends, and that answers are right."""

import budget
import next as study
import numpy as np
import pytest

from nmlsdr.datasets import make_toy


@pytest.fixture
def state():
    toy = make_toy(n_samples=400, n_noise_blocks=1, random_state=0)
    y = toy.target.copy()
    y[:10] = 1 - y[:10]
    y[60:] = -1
    return study.State(toy.data, toy.target, y, 0).fit()


@pytest.mark.parametrize(("spending", "questions"), [("review", 100), ("entries", 100), ("both", 100), ("rows", 100)])
def test_every_way_spends_the_questions(state, spending, questions):
    labels, verdicts = budget.WAYS[spending](state)
    answered = labels != state.y
    n_verdicts = 0
    if verdicts is not None:
        decided = verdicts != -1
        assert (state.y[decided] != -1).all()
        np.testing.assert_array_equal(verdicts[decided], state.truth[decided])
        n_verdicts = decided.sum()
    assert (state.y[answered] == -1).all()
    np.testing.assert_array_equal(labels[answered], state.truth[answered])
    assert answered.sum() + n_verdicts == questions


def test_a_row_at_a_fifth_buys_five_times_as_many(state):
    n_answers, n_cheap_answers = (
        (budget.WAYS[spending](state)[0] != state.y).sum() for spending in ("rows", "cheap_rows")
    )
    assert n_cheap_answers == 5 * n_answers
