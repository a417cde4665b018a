"""The study of what to label next: areas, answers saved, and what each way spends."""

import next as study
import numpy as np
import pytest

from nmlsdr.datasets import make_toy


def curve(*heights):
    return [{"ap": height} for height in heights]


def test_the_area_leaves_out_the_start():
    assert study.area(curve(9, 1, 3), "ap") == 2


def test_answers_saved_are_counted_between_rounds():
    random = curve(10, 20, 30, 40, 50)
    assert study.saved(random, random) == pytest.approx(0)
    assert study.saved(random, curve(10, 30, 50, 50, 50)) == pytest.approx(50)
    assert study.saved(random, curve(10, 40, 60, 60, 60)) == pytest.approx(100 * (1 - 1.5 / 4))
    assert study.saved(random, curve(10, 20, 20, 20, 20)) == 0


@pytest.mark.parametrize("strategy", ["random", "rows", "entries", "pooled"])
def test_every_way_spends_the_same_number_of_answers_on_unknown_entries(strategy):
    toy = make_toy(n_samples=400, n_noise_blocks=1, random_state=0)
    y = toy.target.copy()
    y[60:] = -1
    state = study.State(toy.data, toy.target, y, 0).fit()
    rows, labels = study.STRATEGIES[strategy](state)
    assert len(rows) == len(set(zip(rows.tolist(), labels.tolist(), strict=True))) == study.STEP * y.shape[1]
    assert (y[rows, labels] == -1).all()
    after = state.after(rows, labels).y
    assert (after != y).sum() == len(rows)
    np.testing.assert_array_equal(after[after != -1], toy.target[after != -1])
