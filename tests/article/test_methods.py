"""The table of the article's methods."""

import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from nmlsdr._article_methods import METHODS, find_method
from nmlsdr.experiments import protocol

ARTICLE = ["CCA", "MVMD", "MDDMp", "MDDMf", "wMLDAb", "wMLDAe", "wMLDAc", "wMLDAd", "SSMLDR", "NMLSDR"]


def test_table_holds_the_article_s_columns_in_order():
    assert [*METHODS][:10] == ARTICLE
    assert {"SSMLDR*", "NMLSDR*"} < set(METHODS)


@pytest.mark.parametrize("name", [*METHODS])
@pytest.mark.parametrize("case", [str.lower, str.upper, str.swapcase, lambda name: f" {name} "])
def test_names_in_any_case(name, case):
    assert find_method(case(name)) == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [("NMLSRD", "did you mean NMLSDR"), ("pca", "did you mean CCA"), ("qqq", "choose one of CCA, MVMD")],
)
def test_an_unknown_name_raises_a_clear_error(name, hint):
    with pytest.raises(ValueError, match=hint) as error:
        find_method(name)
    assert repr(name) in str(error.value)


def test_starred_methods_refuse_another_alpha():
    with pytest.raises(ValueError, match=r"NMLSDR\* has alpha_labeled=0, got 0.5; use NMLSDR\."):
        METHODS["NMLSDR*"](2, alpha_labeled=0.5)


class Columns(TransformerMixin, BaseEstimator):
    """A method of one's own: it keeps what it is fitted to, and the embedding is the first columns."""

    n_components_at_fit = None

    def __init__(self, n_components=1):
        self.n_components = n_components

    def fit(self, X, y):
        Columns.seen = X, y
        return self

    def transform(self, X):
        return X[:, : self.n_components]


def test_a_class_of_one_s_own_sees_the_labelled_rows_and_the_article_s_number_of_components(monkeypatch):
    module = ModuleType("my_methods")
    module.Columns = Columns
    monkeypatch.setitem(sys.modules, "my_methods", module)
    study = protocol.STUDIES["toy"]
    data = protocol.draw(study, "Toy", 0, "small", None)
    train, test = protocol.embed(study, "my_methods:Columns", data)
    X, y = Columns.seen
    assert np.array_equal(X, data.train[data.labeled])
    assert np.array_equal(y, data.given[data.labeled])
    assert np.array_equal(train, data.train[:, :3])
    assert np.array_equal(test, data.test[:, :3])
