"""Cells that hold several values: words of a small vocabulary, "dermatologist, nephrologist", or a JSON object."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from .._checks.words import fold, trim
from ._number_parsing import is_number

SEPARATORS = ";|,/+\n、،；，؛"  # at the end those of China, Japan and of Arabic
MOST_ITEMS = 100  # different items of such a column
CELLS_PER_ITEM = 5  # that an item has on average
SEVERAL = 0.1  # the fraction of the filled cells that list more than one item
LONG = 4  # items with so many words on average are parts of sentences
MOST_KEYS = 20  # of the JSON objects of a column
OBJECTS = 0.95  # the fraction of its filled cells that are objects


class ItemList(NamedTuple):
    """The separator of such a column, and how often each item occurs, by its key, and its most frequent spelling."""

    separator: str
    counts: Counter[str]
    shown: dict[str, str]


def items_of(text: str, separator: str) -> list[str]:
    """Return the different parts between separators, without blanks around them and a full stop at their end."""
    return [*dict.fromkeys(part for piece in text.split(separator) if (part := trim(trim(piece).removesuffix("."))))]


@functools.lru_cache(1 << 16)  # the cells of a column are read for the features and for the profile
def parts_of(kind: str, text: str, separator: str, keep_case: bool) -> dict[str, str]:
    """Return the level or the items in a cell of a category or a list: keys and spellings."""
    items = items_of(text, separator) if kind == "list" else [text]
    return {(trim if keep_case else fold)(item): item for item in items}


def find_items(texts: Mapping[str, int], key: Callable[[str], str] = str.casefold) -> ItemList | None:
    """Return the items of a column whose cells list few words that recur in several combinations, or None.

    Parameters
    ----------
    texts : dict of str to int
        How often each different text occurs, without missing values.
    key : callable, default=str.casefold
        Items with one key are the same.

    Examples
    --------
    >>> specialists = {"skin, kidney": 9, "skin": 8, "kidney, heart": 7, "heart, skin": 7, "heart": 5, "Skin": 2}
    >>> found = find_items(specialists)
    >>> found.separator, dict(found.counts)
    (',', {'heart': 19, 'kidney': 16, 'skin': 26})
    >>> find_items({"Bonn, Germany": 9, "Rome, Italy": 9, "Ulm, Germany": 9}) is None
    True
    """
    joined = "\0".join(texts)
    candidates = [_item_list(texts, separator, key) for separator in SEPARATORS if separator in joined]
    return min(filter(None, candidates), key=lambda items: len(items.counts), default=None)


def _item_list(texts: Mapping[str, int], separator: str, key: Callable[[str], str]) -> ItemList | None:
    """Return the items of a column if this text separates them; None if they are no items of lists."""
    counts = Counter[str]()
    spellings = Counter[str]()
    n_lists = 0  # cells with several items
    for text, count in texts.items():
        items = items_of(text, separator)
        n_lists += count * (len(items) > 1)
        for item in items:
            spellings[item] += count
        for item in {*map(key, items)}:
            counts[item] += count
        if len(counts) > 100 * MOST_ITEMS:  # texts that differ in every row
            return None
    n_separated = sum(count for text, count in texts.items() if separator in text)
    are_frequent = 2 * n_lists > n_separated and n_lists >= SEVERAL * sum(texts.values())  # no blood groups such as A+
    n_texts = len({*map(key, texts)})
    if not are_frequent or not _are_items(counts, separator, n_texts):
        return None
    rarest_first = sorted(spellings, key=lambda item: (-spellings[item], item))[::-1]
    shown = {key(item): item for item in rarest_first}
    return ItemList(separator, Counter(dict(sorted(counts.items()))), dict(sorted(shown.items())))


def _are_items(counts: Counter[str], separator: str, n_texts: int) -> bool:
    """Whether the parts of cells are few, recur in several of the different texts, and are short and seldom numbers."""
    n_occurrences = counts.total()
    if len(counts) > min(MOST_ITEMS, n_texts - 1, n_occurrences / CELLS_PER_ITEM):
        return False
    if sum(len(item.split()) for item in counts) >= LONG * len(counts):
        return False
    # Between numbers a comma is a decimal mark, and a slash that of a fraction.
    n_numbers = sum(count for item, count in counts.items() if is_number(item))
    return separator in ";|\n" or 2 * n_numbers < n_occurrences


def numbers_of(text: str) -> dict[str, float] | None:
    """Return the numbers of a JSON object by their keys; None for another text.

    Examples
    --------
    >>> numbers_of('{"width": 5, "wood": "oak"}'), numbers_of("{5}")
    ({'width': 5.0}, None)
    """
    try:
        contents = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(contents, dict):
        return None
    return {k: float(v) for k, v in contents.items() if type(v) in (int, float) and abs(v) < 1e170}


def find_keys(texts: Mapping[str, int]) -> list[str]:
    """Return the keys under which most texts of a column, which are JSON objects, have numbers; else none."""
    counts = Counter[str]()
    n_objects = 0
    for text, count in texts.items():
        numbers = numbers_of(text)
        n_objects += count * (numbers is not None)
        for key in numbers or ():
            counts[key] += count
    n_cells = sum(texts.values())
    keys = sorted(key for key, count in counts.items() if 2 * count >= n_cells)
    return keys if n_objects >= OBJECTS * n_cells and len(keys) <= MOST_KEYS else []
