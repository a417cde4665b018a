"""Lists of labels in the cells of a column: what separates the labels, and the word for a row that has none."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .._checks.words import MISSING, NO_LABEL, fold, trim
from .._errors import plural, shorten
from ._dates import match_date
from ._files import DataFileError
from ._lists import SEPARATORS
from ._number_parsing import is_number
from ._roles import nearest

LABEL_SEPARATORS = SEPARATORS + "・"  # which also stands inside Japanese names, and so separates no features
ALWAYS_LISTS = ";|"  # they stand inside no label
BITS_OF_LETTER = 5  # of a label that occurs for the first time
NEAR = 1.1  # a separator with which the cells take so many times the bits of the best one may be right too
LEAST_ONCE = 10  # labels that occur once, from which on a doubt is worth a sentence
MANY_LABELS = 30  # above so many labels a rare one often stands alone by chance
CHANCE = 1e-4  # accepted probability that a label of its frequency never stands beside another
# Lists of 12 to 300 words with blanks between them take 2.4 to 9 times the bits if they are read as whole cells, and
# .78 to 1 of all words stand first in a cell and behind others elsewhere. Phrases, whose words have their places, take
# up to 6 times the bits, and 0 to .7 of their words do.
BLANK_BITS = 1.5
BLANK_SHARE = 0.75
INNER_MARK = re.compile(r"(?<=\w)[^\w\s]+(?=\w)")


class Lists(NamedTuple):
    """What separates the labels of a list, and the word in place of a list without labels."""

    separator: str = ";"
    no_label: str | None = None

    def tags(self, cell: str) -> set[str]:
        """Return the labels of one cell."""
        return {*self.tags_in_order(cell)}

    def tags_in_order(self, cell: str) -> list[str]:
        """Return the labels of one cell in its order."""
        return [tag for part in cell.split(self.separator) if (tag := trim(part))]


class Candidate(NamedTuple):
    """A text that may separate labels: how many cells have it, and what the labels are like if it does.

    Attributes
    ----------
    separator : str
    n_cells : int
    n_labels : int
    n_once : int
        Labels that occur in one cell only.
    n_bits : float
        What the different cells take if each label is spelled once, and its occurrences are coded by their frequency.
        Equal cells count once: otherwise few lists that are frequent would be cheaper as a whole.
    is_list : bool
        Whether some label stands first in one cell and behind another label in another cell. The parts of a code, such
        as "C25/10", have their own places.
    """

    separator: str
    n_cells: int
    n_labels: int
    n_once: int
    n_bits: float
    is_list: bool


def candidate_of(counts: Mapping[str, int], separator: str) -> Candidate:
    """Return what the labels are like if this text separates them.

    Examples
    --------
    >>> candidate_of({"a;b": 2, "b": 3, "b;a": 1}, ";")[:4]
    (';', 3, 2, 0)
    """
    lists = Lists(separator)
    n_rows = Counter[str]()
    n_spellings = Counter[str]()
    first = set[str]()
    later = set[str]()
    for cell, count in counts.items():
        tags = lists.tags_in_order(cell)
        first |= {*tags[:1]}
        later |= {*tags[1:]}
        for tag in {*tags}:
            n_rows[tag] += count
            n_spellings[tag] += 1
    n_cells = sum(count for cell, count in counts.items() if separator in cell)
    n_once = sum(n == 1 for n in n_rows.values())
    total = n_spellings.total()
    n_letters = sum(len(tag) + 1 for tag in n_spellings)
    n_bits = BITS_OF_LETTER * n_letters + sum(n * (1 + math.log2(total / n)) for n in n_spellings.values())
    is_list = separator in ALWAYS_LISTS or not first.isdisjoint(later)
    return Candidate(separator, n_cells, len(n_rows), n_once, n_bits, is_list)


def rank_separators(counts: Mapping[str, int]) -> list[Candidate]:
    """Return the texts that may separate labels, the likeliest first; a semicolon, if no other one does.

    The separator is the one that gives labels that repeat. Splitting at it pays if few different labels have to be
    spelled for the occurrences that they explain, so the different cells take the fewest bits. A text in few
    cells leaves whole lists as labels, which takes many bits, although their number may be the smallest. Texts inside
    codes, which separate no lists, come last.

    Examples
    --------
    >>> [candidate.separator for candidate in rank_separators({"c/c++; java": 3, "java; r": 2, "r; c/c++": 4})]
    [';', '+', '/']
    """
    candidates = [
        candidate_of(counts, mark) for mark in LABEL_SEPARATORS if mark == ";" or any(mark in cell for cell in counts)
    ]
    return sorted(candidates, key=lambda candidate: (not candidate.is_list, candidate.n_bits))


def find_lists(cells: Iterable[str] | Mapping[str, int], separator: str | None, no_label: str | None) -> Lists:
    """Return how labels are listed; a separator or word that a person said is not looked for.

    An empty `no_label` says that there is no word for a row without labels.

    Examples
    --------
    >>> find_lists(["flu|cold", "flu", "cold", "keine", "keine", "flu|gout", "gout, acute|cold"], None, None)
    Lists(separator='|', no_label='keine')
    """
    counts = Counter(cells)
    if separator is None:
        separator = rank_separators(counts)[0].separator
    return Lists(separator, (no_label or None) if no_label is not None else find_no_label(counts, Lists(separator)))


def find_no_label(counts: Mapping[str, int], lists: Lists) -> str | None:
    """Return the word in place of a list without labels, or None.

    It never stands beside a label. It is one of the usual words, or so frequent that a label would stand beside
    another one. The second sign deceives if there are many labels, and it counts for no word that is written like a
    label.
    """
    alone = Counter[str]()
    beside = Counter[str]()
    for cell, count in counts.items():
        tags = lists.tags(cell)
        for tag in tags:
            (alone if len(tags) == 1 else beside)[tag] += count
    labels = alone.keys() | beside.keys()
    share = beside.total() / max(1, beside.total() + alone.total())
    for tag, count in alone.most_common():
        if tag in beside:
            continue
        is_frequent = len(labels) <= MANY_LABELS and (1 - share) ** count < CHANCE
        if fold(tag) in NO_LABEL or (is_frequent and not looks_like_labels(tag, labels - {tag})):
            return tag
    return None


def looks_like_labels(word: str, labels: Iterable[str]) -> bool:
    """Whether a word is written like one of the labels: with the same mark inside, or with digits as they have.

    Examples
    --------
    >>> looks_like_labels("role::debug", {"role::program"}), looks_like_labels("E11", {"C25"})
    (True, True)
    >>> looks_like_labels("healthy", {"flu", "common-cold"})
    False
    """
    marks = {*INNER_MARK.findall(word)}
    has_digit = any(map(str.isdigit, word))
    return any(
        not marks.isdisjoint(INNER_MARK.findall(label)) or (has_digit and any(map(str.isdigit, label)))
        for label in labels
    )


def doubts_on_separator(counts: Mapping[str, int], lists: Lists) -> list[str]:
    """Return notes if another text may separate the labels, or if most labels occur once.

    Examples
    --------
    >>> pairs = ["a、b", "b・c", "c、a", "a・c", "b、c", "b・a", "a", "b", "c"]
    >>> doubts_on_separator(Counter(pairs), Lists("、"))[0]
    "'、' and '・' both seem to separate labels: 6 labels with '、', 6 with '・', 3 with both; write one in all cells"
    """
    best, *rivals = rank_separators(counts)
    if best.separator != lists.separator:
        return []
    doubt = _doubt_on_blanks(counts, best)
    if doubt is not None:
        return [doubt]
    rivals = [rival for rival in rivals if rival.n_cells]
    for rival in rivals:
        doubt = _doubt_on_rival(counts, best, rival) if rival.is_list else None
        if doubt is not None:
            return [doubt]
    if best.n_once < max(LEAST_ONCE, best.n_labels / 2):
        return []
    instead = f", such as {rivals[0].separator!r} ({rivals[0].n_cells} cells)" if rivals else ""
    facts = f"{best.n_once} of {best.n_labels} labels occur once with {best.separator!r} between them"
    return [f"{facts}; if another text separates them{instead}, give --separator"]


def _doubt_on_rival(counts: Mapping[str, int], best: Candidate, rival: Candidate) -> str | None:
    """Return a note if a second text separates labels beside the best one, or may do so in its place."""
    merged = Counter[str]()
    for cell, count in counts.items():
        merged[cell.replace(rival.separator, best.separator)] += count
    union = candidate_of(merged, best.separator)
    best_labels = plural(best.n_labels, "label")
    if NEAR * union.n_bits < best.n_bits and union.n_labels < best.n_labels:
        names = f"{best.separator!r} and {rival.separator!r} both seem to separate labels"
        labels = f"{best_labels} with {best.separator!r}, {rival.n_labels} with {rival.separator!r}"
        return f"{names}: {labels}, {union.n_labels} with both; write one in all cells"
    if rival.n_bits < NEAR * best.n_bits:
        labels = f"{best.separator!r} gives {best_labels}, {rival.separator!r} {rival.n_labels}"
        return f"{labels}; if that is the separator, give --separator {rival.separator!r}"
    return None


def _doubt_on_blanks(counts: Mapping[str, int], best: Candidate) -> str | None:
    """Return a note if the cells look like lists of words with blanks between them; such lists are never assumed.

    Examples
    --------
    >>> cells = Counter(["java gtk", "gtk sql java", "sql", "java sql", "gtk", "sql gtk"])
    >>> _doubt_on_blanks(cells, candidate_of(cells, ";"))
    "3 labels if blanks separate them, 6 as read; if they do, give --separator ' '"
    """
    blank = candidate_of(counts, " ")
    if blank.n_cells <= best.n_cells // 2 or BLANK_BITS * blank.n_bits > best.n_bits:
        return None
    if _free_share([Lists(" ").tags_in_order(cell) for cell in counts]) < BLANK_SHARE:
        return None
    numbers = f"{plural(blank.n_labels, 'label')} if blanks separate them, {best.n_labels} as read"
    return f"{numbers}; if they do, give --separator ' '"


def _free_share(cells: Sequence[Sequence[str]]) -> float:
    """Return the fraction of the words of cells that stand first in one cell and later in another one.

    The words of names and phrases have their own places.
    """
    first = {word for words in cells for word in words[:1]}
    later = {word for words in cells for word in words[1:]}
    occurrences = [word for words in cells for word in words]
    free = first & later
    return sum(word in free for word in occurrences) / max(1, len(occurrences))


def check_lists(cells: Mapping[str, int], lists: Lists, where: str, is_sure: bool) -> None:
    """Raise if cells are probably no lists of labels.

    Parameters
    ----------
    cells : dict of str to int
        How often each cell occurs.
    lists : Lists
    where : str
        The place of the column.
    is_sure : bool
        Whether the person said what is between the labels.
    """
    filled = [text for text in map(fold, cells) if text not in MISSING and text != fold(lists.no_label or "")]
    if filled and not is_sure and all(is_number(text) or match_date(text) for text in filled):
        shown = ", ".join(repr(shorten(text, 20)) for text in filled[:3])
        fault = f"its cells are numbers or dates ({shown}), which are seldom labels"
        raise DataFileError(f"{where}: {fault}; if they are, say so with --separator ';'.")


def refuse_unused(cells: Mapping[str, int], lists: Lists, options: Mapping[str, str]) -> None:
    """Raise for a separator or word for no label of a person that no cell has, and name what was probably meant."""
    tags = set().union(*map(lists.tags, cells))
    if "separator" in options and not any(lists.separator in cell for cell in cells):
        meant = rank_separators(cells)[0]
        if meant.n_cells and meant.n_labels < len(tags):
            fault = f"no list of labels has the separator {lists.separator!r}; {meant.n_cells} have {meant.separator!r}"
            advice = f"which gives {meant.n_labels} labels in place of {len(tags)}; give that one"
            raise DataFileError(f": {fault}, {advice}.")
    if "no_label" in options and lists.no_label and lists.no_label not in tags:
        usual = find_no_label(cells, lists)
        meant_word = f"; did you mean {shorten(usual)!r}?" if usual else nearest(lists.no_label, sorted(tags))
        fault = f"no list of labels is {shorten(lists.no_label)!r}, the word for no label"
        raise DataFileError(f": {fault}{meant_word or '; leave that word out.'}")
