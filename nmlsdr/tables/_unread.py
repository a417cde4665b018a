"""Notations that people write and that are not read: such cells stay texts, and the plan says so.

Letters between digits and unit that multiply a number (3万円 is 30 000 yen) must never be taken for a unit: a column
in which more than `MOST_MULTIPLIED` of the cells have them is no column of numbers.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

MOST_MULTIPLIED = 0.01  # of the filled cells
LEAST = 3  # cells in one of these notations that are worth a remark

#: Words for powers of ten behind digits, in Chinese, Japanese and Korean.
POWERS = "十百千万億兆萬亿仟佰만천억조"
_MULTIPLIED = "numbers with a word for a power of ten, which is not read"
_NOTATIONS = {
    "dates of a calendar that is not read": re.compile(
        r"(?:(?:明治|大正|昭和|平成|令和|民[国國]) ?(?:\d{1,3}|元) ?年|[MTSHR]\d{1,2}[./-]\d{1,2}[./-]\d{1,2}$).*"
    ),
    _MULTIPLIED: re.compile(rf"[^\w\s]? ?\d[\d.,]* ?[{POWERS}].*"),
    "durations in several units, which are not read": re.compile(
        r"\d+ ?(?:日|天|時間|小[时時]|시간|時|时|分) ?(?:と|又)? ?\d+ ?(?:時間|小[时時]|시간|分|분|秒|초).*"
    ),
}


class Unread(NamedTuple):
    """The most frequent notation of a column that is not read: its name, an example, and in how many cells it is."""

    notation: str
    example: str
    n_cells: int

    @property
    def multiplies(self) -> bool:
        """Whether its letters change the value of the number before them."""
        return self.notation == _MULTIPLIED

    def __str__(self) -> str:
        return f"{self.n_cells} cells look like {self.notation}: {self.example}"


def find_unread(texts: Iterable[tuple[str, int]]) -> Unread | None:
    """Return the most frequent notation of some texts that is not read, if three cells have it.

    Parameters
    ----------
    texts : iterable of (str, int)
        Different texts, and in how many cells each of them is.

    Examples
    --------
    >>> str(find_unread([("令和5年4月1日", 300), ("令和5年4月2日", 80), ("2024-04-01", 9)]))
    '380 cells look like dates of a calendar that is not read: 令和5年4月1日'
    >>> find_unread([("3万円", 2), ("12 kg", 50)]) is None
    True
    """
    counts = dict.fromkeys(_NOTATIONS, 0)
    examples = dict[str, str]()
    for text, count in texts:
        if text.isascii() and text[:1] not in "MTSHR":
            continue
        for notation, pattern in _NOTATIONS.items():
            if pattern.match(text):
                counts[notation] += count
                examples.setdefault(notation, text)
                break
    notation = max(counts, key=counts.__getitem__)
    return Unread(notation, examples[notation], counts[notation]) if counts[notation] >= LEAST else None
