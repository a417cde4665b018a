"""The table of the article's methods."""

import pytest

from nmlsdr._methods import METHODS, find_method

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
    with pytest.raises(ValueError, match=r"NMLSDR\* keeps .*alpha_labeled is 0, got 0.5; use NMLSDR"):
        METHODS["NMLSDR*"](2, alpha_labeled=0.5)
