"""The table of words: yes and no of one language, a missing value, no label; and where they count."""

import itertools

import numpy as np
import pytest

from nmlsdr._checks.labels import check_labels
from nmlsdr._checks.words import (
    CROSS,
    LABEL_WORDS,
    LABELS,
    LANGUAGES,
    MISSING,
    NO_LABEL,
    VERDICTS,
    fold,
    label_words,
    yes_no,
)
from nmlsdr.tables import TableEncoder

pandas = pytest.importorskip("pandas")
EVERY = sorted({word for words in LANGUAGES for word in words})


def test_the_table_has_the_languages_and_does_not_contradict_itself():
    assert len(LANGUAGES) > 20
    for value in (0, 1):
        other_words = {word for words in LANGUAGES for word, meaning in words.items() if meaning != value}
        assert not other_words & {word for words in LANGUAGES for word, meaning in words.items() if meaning == value}
    assert all(fold(word) == word for word in [*EVERY, *MISSING, *NO_LABEL])
    assert not MISSING & set(EVERY)
    assert yes_no({"tak", "nie"}) == {"tak": 1, "nie": 0}
    assert all(VERDICTS[word] == value for words in LANGUAGES for word, value in words.items() if word in LABEL_WORDS)


def test_every_pair_of_words_counts_only_if_one_language_has_both():
    for first, second in itertools.combinations(EVERY, 2):
        languages = [words for words in LANGUAGES if first in words and second in words]
        meanings = yes_no({first, second})
        if any(words[first] != words[second] for words in languages):
            assert meanings == {word: words[word] for words in languages for word in (first, second)}
        else:
            assert meanings is None, (first, second)
        assert yes_no({first}) is None
        assert yes_no({first, second, "wood"}) is None


@pytest.mark.parametrize(
    "words", [{"no", "na", "si", "it"}, {"no", "it"}, {"ja", "no"}, {"yes", "nein"}, {"no"}, set()]
)
def test_countries_codes_and_elements_are_no_answers(words):
    assert yes_no(words) is None


def test_what_a_person_says_is_looked_at_first():
    assert yes_no({"m", "f"}, "F", " M ") == {"f": 1, "m": 0}
    assert yes_no({"yes", "no"}, "no", "yes") == {"no": 1, "yes": 0}
    assert yes_no({"yes", "no"}, "m", "f") == {"no": 0, "yes": 1}
    assert label_words({"+", ""}, "+", "o") == {"+": 1, "": -1}


def test_the_words_of_a_label_column_are_those_of_one_language():
    assert label_words({"tak", "nie", "?"}) == {"tak": 1, "nie": 0, "?": -1}
    assert label_words({"x", "", "tak"}) == {"x": CROSS, "": -1, "tak": 1}
    assert label_words({"t", "n"}) == {"t": 1, "n": 0}
    for letter in {word for word in EVERY if len(word) == 1 and word.isascii()} - set("yjn"):
        assert label_words({letter}) is None, letter  # one letter alone is the name of something
    for words in ({"tak", "nein"}, {"yes", "да"}, {"sand"}, {"2"}):
        assert (label_words(words) is None) == (words != {"sand"})
    assert {word: LABEL_WORDS[word] for word in LABELS} == LABELS


def test_estimators_refuse_the_words_of_two_languages():
    with pytest.raises(ValueError, match=r"column 0 of y holds 'nein' and 'tak', words of two languages"):
        check_labels(np.array([["tak"], ["nein"], [None]], dtype=object))
    assert check_labels(np.array([["T"], ["N"], [None]], dtype=object)).Y[:, 0].tolist() == [1, 0, 0]


def test_a_column_of_one_language_is_yes_or_no_and_one_of_countries_is_a_category():
    wards = ["NO", "SI", "IT"] * 10
    table = pandas.DataFrame({"smoker": ["Tak", "nie", "TAK "] * 10, "country": wards, "a": np.arange(30) / 7})
    encoder = TableEncoder().fit(table)
    assert [column.kind for column in encoder.plan_.columns] == ["yes/no", "category", "number"]
    assert encoder.plan_.columns[0].reason == "1: 'tak' (20), 0: 'nie' (10)"
    assert encoder.transform(table)[:3, 0].tolist() == [1, 0, 1]
