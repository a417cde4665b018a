"""Columns whose cells list words: what is one, and the features it becomes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmlsdr.tables._lists import CELLS_PER_ITEM, SEPARATORS, find_items, items_of

WORDS = ["skin", "kidney", "heart", "lung", "eye"]
combinations = st.lists(st.sets(st.sampled_from(WORDS), min_size=1), min_size=80, max_size=120)


@settings(max_examples=40, deadline=None)
@given(combinations, st.sampled_from(SEPARATORS), st.sampled_from(["", " "]))
def test_lists_of_few_words_are_found_with_any_separator(cells, separator, blank):
    texts = {}
    for cell in cells:
        text = f"{separator}{blank}".join(sorted(cell))
        texts[text] = texts.get(text, 0) + 1
    items = find_items(texts)
    n_several = sum(len(cell) > 1 for cell in cells)
    if n_several >= len(cells) / 10 and len(texts) > len(WORDS):
        assert items.separator == separator
        assert items.counts == {word: n for word in WORDS if (n := sum(word in cell for cell in cells))}
    assert items == find_items(dict(reversed(texts.items())))


@pytest.mark.parametrize(
    "texts",
    [
        {"A+": 40, "A-": 9, "B+": 20, "0+": 30, "AB+": 5},
        {"Bonn, Germany": 30, "Rome, Italy": 20, "Ulm, Germany": 30},
        {f"Smith, {name}": 1 for name in "abcdefghijklmnop"},
        {"seen by her, and then sent home again at once": 9, "sent home again at once": 9, "seen by her": 9},
        {"oil": 30, "wood": 20},
        {"oil/canvas": 20, "wood": 30, "stone": 20},
        {"a, b": 1, "a": 30, "b": 30},
        {"A+": 50, "B+": 30, "A": 20, "B": 20, "A+B": 20},
        {"a, b": 20, "a": 20},
        {"seen by her today again, sent home at once": 9, "sent home at once": 9, "seen by her today again": 9},
        {f"{i},{j}": 9 for i in range(9) for j in range(9)},
    ],
)
def test_what_is_no_list(texts):
    assert find_items(texts) is None


@pytest.mark.parametrize("n", [CELLS_PER_ITEM - 1, CELLS_PER_ITEM])
def test_words_that_do_not_recur_are_no_list(n):
    pairs = [f"{a};{b}" for a, b in itertools.combinations("abcdefgh", 2)]
    single_words = {f"word{i}": 1 for i in range(2 * len(pairs) // n + 8)}
    texts = dict.fromkeys(pairs, 1) | single_words
    mean = sum(len(items_of(text, ";")) for text in texts) / (8 + len(single_words))
    assert (find_items(texts) is not None) == (mean >= CELLS_PER_ITEM)


def test_spellings_of_one_word_count_together():
    items = find_items({"Skin, kidney": 5, "skin": 9, "kidney": 7, "KIDNEY, skin, skin": 4, "heart, skin": 9})
    assert items.counts == {"heart": 9, "kidney": 16, "skin": 27}
    assert items.shown == {"heart": "heart", "kidney": "kidney", "skin": "skin"}
    assert np.isclose(sum(items.counts.values()), 52)


def test_codes_between_semicolons_are_a_list():
    assert find_items({"1;3": 30, "3;5": 20, "5": 9, "1;5": 9, "1;3;5": 8}).separator == ";"


def test_a_full_stop_at_the_end_makes_no_second_word():
    items = find_items({"skin, heart.": 20, "heart, skin": 20, "kidney, skin.": 20, "kidney": 20})
    assert dict(items.counts) == {"heart": 40, "kidney": 40, "skin": 60}
