"""How the text of an option becomes its value, and what is refused."""

import argparse
import csv
from collections.abc import Callable
from typing import Any

RULES = ("f1", "macro", "prior")  # those of `_thresholds`, which would load NumPy


def number(kind: type[int] | type[float], fits: Callable[[Any], bool], rule: str) -> Callable[[str], Any]:
    """Return a function that parses a number, and refuses one that breaks the rule."""

    def read(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not fits(value):
            raise argparse.ArgumentTypeError(f"it must be {rule}, got {text!r}")
        return value

    return read


count = number(int, lambda value: value >= 1, "a whole number of at least 1")
seed = number(int, lambda value: 0 <= value < 2**32, "a whole number of at least 0 and below 2^32")
jobs = number(int, bool, "a whole number other than 0 (-1: all cores)")
alpha = number(float, lambda value: 0 <= value < 1, "a number from 0 to below 1")
_share = number(float, lambda value: 0 <= value <= 1, f"a number from 0 to 1, {', '.join(RULES[:-1])}, or {RULES[-1]}")


def cutoff(text: str) -> float | str:
    """Return a threshold, or the word for a rule that finds one."""
    return text if text in RULES else float(_share(text))


def alphas(text: str) -> float | tuple[float, float]:
    """Return one number, or the pair for given 0s and given 1s."""
    absent, comma, present = text.partition(",")
    return (alpha(absent), alpha(present)) if comma else alpha(text)


def delimiter(text: str) -> str:
    """Return one character, which may be given by its name."""
    text = {"tab": "\t", "\\t": "\t", "semicolon": ";", "comma": ","}.get(text.lower(), text)
    if len(text) != 1 or text in '\r\n\0"' or ord(text) > 127:
        raise argparse.ArgumentTypeError(f"it must be one character such as ; or the word tab, got {text!r}")
    return text


def names_of(text: str) -> list[str]:
    """Split at commas; a name that contains a comma is in double quotes."""
    try:
        names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        names = []
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"it must be names with commas and without blanks between them, got {text!r}")
    return names
