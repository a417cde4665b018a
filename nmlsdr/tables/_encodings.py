"""Which encoding a text file probably has: UTF-8 where its bytes allow it, else the Windows page that fits its words.

A byte above 127 is another letter on each of these pages: E8 is è in Western Europe and č in Central Europe. Words that
the file should contain decide. Only they find Chinese and Korean pages; those of Japanese also show by their kana. Else
the page wins on which the fewest letters are foreign to the language that fits best, and among equals the one on which
vowels and consonants take turns: "père" and not "pčre", "počet" and not "poèet".
"""

import codecs
import contextlib
import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple

from .._checks.words import LETTERS

BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
WORDS = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
BETWEEN = re.compile(r"(?<=[^\W\d_])(?:[^\w\s]|[²³¹])(?=[^\W\d_])")  # a sign between two letters
MOST_WORDS = 2000  # different ones that are looked at
JAPANESE = ("cp932", "euc_jp")  # the second before gb18030, which reads the same bytes as the same kana
EAST_ASIAN = (*JAPANESE, "gb18030", "cp949", "big5")  # which read many files of other languages too
KANA = re.compile("[\u3041-\u30ff]")
NEITHER_KANA_NOR_KANJI = re.compile("[^\x00-\x7f\u3000-\u30ff\u4e00-\u9fff\uff01-\uff5e]")
KANA_SHARE = 0.1  # of the letters above ASCII of a Japanese text; in complaints it is about a half


class Rank(NamedTuple):
    """How well a page fits a sample; the page with the smallest rank fits best."""

    minus_known: int  # known words that occur in the text, times -1
    is_unlikely: bool
    n_foreign: int
    n_unusual: int


@dataclass(frozen=True)
class Evidence:
    """What speaks for the page of a file.

    Attributes
    ----------
    lines : bytes
        The first lines of the file.
    known_words : sequence of str
        Words that the file should contain, and that are not ASCII.
    likely : str or None
        Encoding of another file of the same origin.
    """

    lines: bytes
    known_words: Sequence[str]
    likely: str | None

    @functools.cached_property
    def special_words(self) -> bytes:
        """The different words with bytes above 127."""
        return b" ".join(list(dict.fromkeys(WORDS.findall(self.lines)))[:MOST_WORDS])

    def rank(self, page: str) -> Rank | None:
        """Return how well a page fits; None if it cannot be the page of the file.

        Chinese, Korean and Japanese pages read files of other languages too: known words must speak for them, or kana.
        """
        try:
            text = self.lines.decode(page)
        except (LookupError, UnicodeError):
            return None
        n_known = sum(word in text for word in self.known_words)
        is_likely = page == self.likely
        if page in JAPANESE and _is_japanese(text):
            return Rank(-n_known, not is_likely, -1, 0)
        if page in EAST_ASIAN and not is_likely and not n_known:
            return None
        words = self.special_words.decode(page, "ignore")
        return Rank(-n_known, not is_likely, _n_foreign(words, LETTERS.get(page, ())), _n_unusual(words))


def guess_encoding(sample: bytes, words: Iterable[str] = (), likely: str | None = None) -> tuple[str, str]:
    """Return the encoding of a file that begins with these bytes, and why; no reason where it is certain.

    Parameters
    ----------
    sample : bytes
    words : iterable of str, default=()
        What the file should contain, such as the names of its columns.
    likely : str, default=None
        Encoding of another file of the same origin.

    Examples
    --------
    >>> guess_encoding("Größe".encode())[0], guess_encoding("Größe".encode("cp1252"))[0]
    ('utf-8', 'cp1252')
    >>> guess_encoding("płeć;wiek".encode("cp1250"))[0], guess_encoding("x".encode("utf-16"))[0]
    ('cp1250', 'utf-16')
    """
    if (encoding := _unicode_encoding(sample)) is not None:
        return encoding, ""
    known_words = list(islice((word for word in words if not word.isascii()), MOST_WORDS))
    evidence = Evidence(sample[: sample.rfind(b"\n") + 1] or sample, known_words, likely)
    pages = filter(None, dict.fromkeys([likely, *LETTERS, *EAST_ASIAN]))
    ranks = {page: rank for page in pages if (rank := evidence.rank(page)) is not None}
    if not ranks:
        return "cp1252", ""  # the error of the reader names the place
    best = min(ranks, key=ranks.__getitem__)
    if ranks[best].minus_known < 0:
        return best, "in which known names occur"
    return best, "like another file of its origin" if best == likely else "judging by its letters"


def _unicode_encoding(sample: bytes) -> str | None:
    """Return the encoding of a sample with a byte order mark, or whose bytes are UTF-8; else None."""
    for mark, name in BYTE_ORDER_MARKS:
        if sample.startswith(mark):
            return name
    with contextlib.suppress(UnicodeDecodeError):
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # a character may be cut off at the end
        return "utf-8"
    return None


def _is_japanese(text: str) -> bool:
    """Whether all letters above ASCII are kana or kanji, and many of them kana, as only Japanese has.

    Read on a wrong page, bytes of Japanese become half-width katakana, private characters or rare kanji.
    """
    n_letters = sum(not letter.isascii() for letter in text)
    n_kana = len(KANA.findall(text))
    return n_kana >= KANA_SHARE * n_letters > 0 and not NEITHER_KANA_NOR_KANJI.search(text)


def _n_foreign(text: str, alphabets: Sequence[str]) -> int:
    """Return how many letters are foreign to the language that has most of them.

    A sign between two letters, and a Greek or Cyrillic letter beside a Latin one, are foreign too.
    """
    special = [letter for letter in text.lower() if letter.isalpha() and not letter.isascii() and letter not in "ªº"]
    counts = (sum(letter not in alphabet for letter in special) for alphabet in alphabets)
    n_mixed = sum(_is_latin(a) != _is_latin(b) for a, b in _special_pairs(text))
    return min(counts, default=len(special)) + n_mixed + len(BETWEEN.findall(text))


def _n_unusual(text: str) -> int:
    """Return how many pairs of letters are unusual: a small letter and a capital, two vowels, or two consonants."""
    pairs = _special_pairs(text)
    n_alike = sum(_is_latin(a) and _is_vowel(a) == _is_vowel(b) for a, b in pairs)
    return n_alike + sum(a.islower() and b.isupper() for a, b in pairs)


def _special_pairs(text: str) -> list[tuple[str, str]]:
    """Return the pairs of neighbouring letters of which one at least is not ASCII."""
    return [(a, b) for a, b in pairwise(text) if a.isalpha() and b.isalpha() and not (a + b).isascii()]


def _is_latin(letter: str) -> bool:
    return letter < "\u0370"


def _is_vowel(letter: str) -> bool:
    return unicodedata.normalize("NFD", letter.lower())[0] in "aeiouyæøœı"
