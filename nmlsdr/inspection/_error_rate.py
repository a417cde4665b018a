"""The label error rate that the verdicts on a random sample show, without any model."""

from collections import Counter
from typing import NamedTuple

from .._checks.words import UNCLEAR, VERDICTS, fold
from .._errors import plural
from ..tables import Form
from ._verdicts import OPEN, SUGGESTED_FOR, read_lines

_NORMAL = 1.959963984540054  # quantile of the standard normal distribution for an interval of 95 %


class ErrorRate(NamedTuple):
    """How many labels of a random sample were wrong; each attribute has the number for given 0s and for given 1s.

    Attributes
    ----------
    wrong, decided : (int, int)
        Labels that a person found wrong, and labels with a verdict of yes or no.
    """

    wrong: tuple[int, int]
    decided: tuple[int, int]

    @property
    def interval(self) -> tuple[float, float]:
        """Ends of the 95 % interval of the error rate, by Wilson's score."""
        return wilson_interval(sum(self.wrong), sum(self.decided))

    def sentence(self, n_known: int) -> str:
        """What the sample says of the table, of whose labels so many are known and were drawn from."""
        n_wrong = sum(self.wrong)
        n_decided = sum(self.decided)
        low, high = self.interval
        kinds = [f"{self.wrong[k]} of {self.decided[k]} given {k}s" for k in (1, 0)]
        return (
            f"{n_wrong} of {plural(n_decided, 'label')} of the random sample {'is' if n_wrong == 1 else 'are'} wrong "
            f"({kinds[0]}, {kinds[1]}): an error rate of {n_wrong / n_decided:.1%} (95 % interval {low:.1%} to "
            f"{high:.1%}), that is {low * n_known:.0f} to {high * n_known:.0f} of {n_known} known labels"
        )


def wilson_interval(n_wrong: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a probability (Wilson, "Probable inference ...", JASA 22, 1927).

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(12, 200)]
    [0.035, 0.102]
    """
    z = _NORMAL
    centre = n_wrong + z * z / 2
    half = z * (n_wrong * (n - n_wrong) / n + z * z / 4) ** 0.5
    return max(0.0, (centre - half) / (n + z * z)), min(1.0, (centre + half) / (n + z * z))


def read_error_rate(path: str, form: Form) -> ErrorRate | None:
    """Return what the verdicts on a random sample in a file say; None if it has none.

    The suggestion of a line tells what was given: "add" stands beside a 0 and "remove" beside a 1.
    """
    header, lines = read_lines(path, form)
    if not {"kind", "suggest", "verdict"} <= set(header):
        return None
    decided = Counter[int]()
    wrong = Counter[int]()
    for _, cells in lines:
        line = {name: fold(cell) for name, cell in zip(header, cells, strict=False)}
        label = SUGGESTED_FOR.get(line.get("suggest", ""))
        verdict = line.get("verdict", "")
        if line.get("kind") != "random" or label is None or verdict in OPEN:
            continue
        value = label if verdict == "keep" else VERDICTS.get(verdict, UNCLEAR)
        if value != UNCLEAR:
            decided[label] += 1
            wrong[label] += value != label
    return ErrorRate((wrong[0], wrong[1]), (decided[0], decided[1])) if decided else None
