"""Columns of texts: their words, and the TF-IDF weights of these words by scikit-learn.

A word is a run of two or more letters and digits. Scripts that do not separate words by blanks (Chinese, Japanese,
Thai, Lao, Burmese, Khmer) give pairs and triples of letters instead. A name, such as that of a file, is split into its
words first: at punctuation, at digits and at capitals inside it.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .._checks.words import fold, name_parts
from .._errors import plural
from ._shapes import coded

MOST_WORDS = 50_000  # of a column
LEAST_ROWS = 2  # that have a word
#: Of the letters and digits of names, the fraction that lies in words of several rows; random codes have less.
NAMED = 1 / 3
LEAST_LETTERS = 3  # of a word that tells a name from a code
EVERYWHERE = 0.9  # of the rows: a word in more of them is a prefix, and tells nothing

_UNSPACED = (
    "\u0e01-\u0e4e\u0e81-\u0edf\u1000-\u103f\u1050-\u109d\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
#: Vowel signs and points, which Python does not count among the letters of a word.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_LETTER = re.compile(f"[{_UNSPACED}]")
_RUN = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?:(?![{_UNSPACED}])[\w{_MARKS}]){{2,}}")


def words_of(text: str, are_names: bool = False) -> list[str]:
    """Return the words of a text without upper case, in its order.

    Parameters
    ----------
    text : str
    are_names : bool, default=False
        Whether the text is a name that is split into its words.

    Examples
    --------
    >>> words_of("A grey cat, 2 dogs"), words_of("灰色の猫"), words_of("libFoo2-dev", are_names=True)
    (['grey', 'cat', 'dogs'], ['灰色', '灰色の', '色の', '色の猫', 'の猫'], ['lib', 'foo', 'dev'])
    """
    words = list[str]()
    for match in _RUN.finditer(fold(" ".join(name_parts(text)) if are_names else text)):
        run = match[0]
        if match["unspaced"] and len(run) > 1:
            words += [run[start : start + n] for start in range(len(run)) for n in (2, 3) if start + n <= len(run)]
        else:
            words.append(run)
    return words


def mean_length(texts: Collection[str]) -> float:
    """Return the mean number of words of some texts; of scripts without blanks four letters count as a word.

    Examples
    --------
    >>> mean_length(["a cat", "cats and dogs", "dog"]), mean_length(["灰色の猫"])
    (2.0, 1.0)
    """
    n_words = [len(text.split()) if text.isascii() else _length(text) for text in texts]
    return sum(n_words) / max(1, len(n_words))


def _length(text: str) -> float:
    """Return how many words a text has, as `mean_length` counts them."""
    return max(len(text.split()), len(_LETTER.findall(text)) / 4)


def count_words(words: Sequence[str]) -> str:
    """Return how many words there are, and how many of them are pairs and triples of letters, in words.

    Examples
    --------
    >>> count_words(["cat", "dog"]), count_words(["灰色"])
    ('2 words', '1 pair or triple of letters')
    """
    n_groups = sum(_LETTER.match(word) is not None for word in words)
    n_words = len(words) - n_groups
    groups = "1 pair or triple of letters" if n_groups == 1 else f"{n_groups} pairs and triples of letters"
    return " and ".join([plural(n_words, "word")] * bool(n_words) + [groups] * bool(n_groups))


def _vectorizer(are_names: bool, **settings: Any) -> Any:
    """Return scikit-learn's vectorizer of texts with the words of this module."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # whose import takes a while

    return TfidfVectorizer(analyzer=_Analyzer(are_names), sublinear_tf=True, **settings)


class _Analyzer:
    """`words_of` as scikit-learn calls it; a class, since a model with a lambda could not be pickled."""

    def __init__(self, are_names: bool) -> None:
        self.are_names = are_names

    def __call__(self, text: str) -> list[str]:
        return words_of(text, self.are_names)


def find_words(texts: Sequence[str], are_names: bool = False) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the words that at least two of some texts have, in alphabetical order, and the IDF weight of each.

    Parameters
    ----------
    texts : sequence of str
        The text of each row.
    are_names : bool, default=False
    """
    vectorizer = _vectorizer(are_names, min_df=LEAST_ROWS, max_features=MOST_WORDS)
    try:
        vectorizer.fit(texts)
    except ValueError:  # no word stands in two rows
        return (), ()
    return tuple(vectorizer.get_feature_names_out().tolist()), tuple(vectorizer.idf_.tolist())


def weigh_words(texts: Sequence[str], words: Sequence[str], idf: Sequence[float], are_names: bool = False) -> csr_array:
    """Return the TF-IDF weights of some words in each text; every row has the Euclidean norm 1, or no word.

    Parameters
    ----------
    texts : sequence of str
    words, idf : sequence of str, sequence of float
        As `find_words` returns them.
    are_names : bool, default=False

    Returns
    -------
    csr_array of shape (n_texts, n_words), float64

    Examples
    --------
    >>> words, idf = find_words(["grey cat", "grey dog", "cat"])
    >>> words, weigh_words(["grey", "bird"], words, idf).toarray().tolist()
    (('cat', 'grey'), [[0.0, 1.0], [0.0, 0.0]])
    """
    vectorizer = _vectorizer(are_names, vocabulary=list(words))
    vectorizer.idf_ = np.array(idf)
    return csr_array(vectorizer.transform(texts))


def shared_by_names(names: Mapping[str, int]) -> bool:
    """Whether names that differ from row to row have words in common, beyond a prefix that all of them have.

    Parameters
    ----------
    names : dict of str to int
        How often each name occurs.

    Examples
    --------
    >>> shared_by_names(dict.fromkeys(["libfoo-dev", "libfoo-doc", "bar-doc", "bar-dev"], 1))
    True
    >>> shared_by_names({f"sample-{number:03}": 1 for number in range(100)})
    False
    """
    words = [{word for word in words_of(name, are_names=True) if len(word) >= LEAST_LETTERS} for name in names]
    different, codes = coded([word for word_list in words for word in word_list])
    n_rows = np.bincount(codes, np.repeat([*names.values()], [*map(len, words)]), len(different))
    is_shared: NDArray[np.bool_] = (n_rows >= LEAST_ROWS) & (n_rows <= EVERYWHERE * sum(names.values()))
    n_letters = sum(len(different[code]) for code in codes[is_shared[codes]].tolist())
    return n_letters > 0 and n_letters >= NAMED * sum(sum(map(str.isalnum, name)) for name in names)
