"""What words mean in the cells of a table: yes, no, a missing value, no label; the one place that says so.

The words stand in words.json, by language. NO, NA, SI and IT are also countries, codes and chemical elements, so words
for yes and no count only where all words of a column are those of one language.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import cast

from .._errors import InputError
from .._resources import load_json

#: What may surround a value: the blanks that `float` skips; `str.strip` would remove other separators too.
BLANKS = " \t\n\r\v\f"
#: Characters that NFKC would change into others of another meaning: superscripts and fractions (5² is no 52), primes,
#: the micro sign of units, and accents that stand alone, which would begin with a blank.
_OWN_MEANING = (
    "\u00a8\u00aa\u00af\u00b2-\u00b5\u00b8-\u00ba\u00bc-\u00be\u02b0-\u02b8\u02d8-\u02e4\u037a\u0384\u0385\u1fbd-\u1fc1\u1fcd-\u1fcf"
    "\u1fdd-\u1fdf\u1fed-\u1fef\u1ffd\u1ffe\u2017\u2033-\u2037\u203e\u2057\u2070-\u209c\u2150-\u215f\u2189"
)
_OTHERS = re.compile(f"[^{_OWN_MEANING}]+")


def trim(text: str) -> str:
    """Return a text without surrounding blanks and in plain characters (NFKC): full width, ligatures, kinds of blanks.

    Every text of a table comes through here once, before anything looks for marks, units or words in it.

    Examples
    --------
    >>> trim(" １，２００ ｋｇ"), trim("80％"), trim("ｶｰﾄﾞ"), trim("5²")
    ('1,200 kg', '80%', 'カード', '5²')
    """
    if not text.isascii() and not unicodedata.is_normalized("NFKC", text):
        plain = _OTHERS.sub(lambda characters: unicodedata.normalize("NFKC", characters[0]), text)
        text = unicodedata.normalize("NFC", plain)
    return text.strip(BLANKS)


def fold(text: str) -> str:
    """Return a text as `trim` does, and without upper case."""
    text = trim(text)
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


_FOUND = load_json(__package__, "words.json")

#: For each language its words for yes (1) and no (0), folded.
LANGUAGES = [
    {fold(w): value for value, words in ((1, yes), (0, no)) for w in words} for yes, no in _FOUND["yes_no"].values()
]
#: The codes of these languages.
LANGUAGE_CODES = tuple(_FOUND["yes_no"])
#: How a missing feature is written, folded, in a table of numbers.
HOLES = ("", "?", "na", "n/a", "nan", "null")
#: Words, folded, that mean a missing value wherever they stand; others are found by how often they occur.
MISSING = frozenset({*HOLES, *map(fold, _FOUND["missing"])})
#: For each encoding of one byte a letter the alphabets of its languages, without the letters of ASCII.
LETTERS: dict[str, list[str]] = _FOUND["letters"]
#: Words, folded, in place of a list of labels that has none.
NO_LABEL = frozenset(map(fold, _FOUND["no_label"]))
#: Words, folded, in front of the sums below a table.
TOTALS = frozenset(map(fold, _FOUND["totals"]))


CROSS = 2  # an x: in a column that holds only x and empty cells, an empty cell means 0
#: The label that a text stands for in every language, folded: 1, 0, -1 for unknown, or CROSS.
LABELS = {"0": 0, "1": 1, "-1": -1, "": -1, "?": -1, "0.0": 0, "1.0": 1, "-1.0": -1, "x": CROSS}
# A word is more than a letter; a Chinese character is one.
LABEL_WORDS = LABELS | {w: value for words in LANGUAGES for w, value in words.items() if len(w) > 1 or w >= "\u3000"}
LABEL_WORDS |= {"y": 1, "j": 1, "n": 0}
UNCLEAR = -2  # the verdict of a person who cannot tell
#: What a person may write beside a suggestion.
VERDICTS = {word: value for word, value in LABEL_WORDS.items() if value in (0, 1)} | {"add": 1, "remove": 0}
VERDICTS |= {"unclear": UNCLEAR}


_NAMES_ROWS = frozenset(map(fold, _FOUND["names_rows"]))
_NAMES_GROUPS = frozenset(map(fold, _FOUND["names_groups"]))
_COMPOUNDS = ("nr", *(word for word in _NAMES_ROWS if len(word) > 4))  # at the end of a longer word
_NAME_PART = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[^\W\d_](?:(?![A-Z])[^\W\d_])*")


def name_parts(name: str) -> list[str]:
    """Return the words of a name, which is split at everything that is no letter, and at capitals inside words.

    Examples
    --------
    >>> name_parts("libFoo2-dev"), name_parts("PatientID")
    (['lib', 'Foo', 'dev'], ['Patient', 'ID'])
    """
    return _NAME_PART.findall(name)


def names_rows(name: str) -> bool:
    """Whether a column's name has a word such as id, number or code, as the name of an identifier has.

    Examples
    --------
    >>> [names_rows(name) for name in ("PatientID", "Bestellnummer", "order no.", "Número do pedido", "acid")]
    [True, True, True, True, False]
    """
    parts = map(fold, name_parts(name))
    return any(part in _NAMES_ROWS or (len(part) > 6 and part.endswith(_COMPOUNDS)) for part in parts)


def names_group(name: str) -> bool:
    """Whether a column's name has a word for whom or what several rows may be about, such as patient or id.

    Examples
    --------
    >>> [names_group(name) for name in ("PatientID", "Kunde", "user_id", "order no.", "acid")]
    [True, True, True, False, False]
    """
    return any(part in _NAMES_GROUPS for part in map(fold, name_parts(name)))


def _answers(yes: str | None, no: str | None) -> list[dict[str, int]]:
    """The words for yes and no that a person said, and then those of each language."""
    return LANGUAGES if yes is None or no is None else [{fold(no): 0, fold(yes): 1}, *LANGUAGES]


def yes_no(words: Iterable[str], yes: str | None = None, no: str | None = None) -> dict[str, int] | None:
    """Return 1 or 0 for each of the different folded words of a column, if they are all of one language; else None.

    Parameters
    ----------
    words : iterable of str
        The different words of the column, folded, without those that mean a missing value.
    yes, no : str, default=None
        What a person said; it is looked at first.

    Examples
    --------
    >>> yes_no({"tak", "nie"}), yes_no({"no", "si", "it"}), yes_no({"no"}), yes_no({"l", "m"}, "l", "m")
    ({'nie': 0, 'tak': 1}, None, None, {'l': 1, 'm': 0})
    """
    for known in _answers(yes, no):
        labels = {word: known.get(word) for word in sorted(words)}
        if {*labels.values()} == {0, 1}:
            return cast(dict[str, int], labels)
    return None


def check_answers(yes: str | None, no: str | None) -> None:
    """Raise if a person did not give one word for yes and another one for no."""
    if (yes is None) != (no is None):
        raise InputError(f"A word for {'no' if no is None else 'yes'} is missing; give both words, yes and no.")
    if yes is not None and no is not None and fold(yes) == fold(no):
        raise InputError(f"The words for yes and no are both {yes!r}; give two different words.")


def label_words(words: Iterable[str], yes: str | None = None, no: str | None = None) -> dict[str, int] | None:
    """Return the label that each of the different folded texts of a column stands for, as `LABELS`; None: some is none.

    One word for yes, or one for no, is enough here, because the column is known to hold labels.

    Examples
    --------
    >>> label_words({"ja", "", "1"}), label_words({"ja", "no"}), label_words({"x", ""}) == {"x": CROSS, "": -1}
    ({'': -1, '1': 1, 'ja': 1}, None, True)
    """
    texts = {*words} - LABELS.keys()
    for known in _answers(yes, no):
        labels = {known.get(word) for word in texts}
        if None not in labels and (len(labels) != 1 or texts & LABEL_WORDS.keys() or known not in LANGUAGES):
            return {word: (known if word in texts else LABELS)[word] for word in sorted(words)}
    return None


def two_languages(words: Iterable[str]) -> str:
    """Return what is wrong with folded texts that `label_words` does not know, if each is a label in some language."""
    pair = " and ".join(repr(word) for word in sorted({*words} - LABELS.keys())[:2])
    return f"{pair}, words of two languages; use those of one" if LABEL_WORDS.keys() >= {*words} else ""
