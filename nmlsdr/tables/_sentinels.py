"""Numbers that probably stand for a missing value, such as -999: they are pointed out, and a person decides."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from ._columns import Numbers
from ._facts import Facts

CODE = re.compile(r"-?9{2,6}")  # which people write for a missing value
LEAST = 3  # cells with such a number


def missing_codes(columns: Iterable[Facts]) -> list[str]:
    """Return a remark for each number of 9s that lies far outside the other numbers of its columns.

    It is further from the nearest other number than these lie apart, and at least three cells of a column have it.

    Parameters
    ----------
    columns : iterable of Facts

    Examples
    --------
    >>> cells = Numbers(np.array([20.5, 21.0, -999.0, 22.5, -999.0, 19.0, -999.0, 18.5, 20.0, 21.5]))
    >>> missing_codes([Facts("t", cells, frozenset())])
    ["-999 in 30 % of the cells of the column 't', far outside the others: --missing -999"]
    """
    shares = defaultdict[int, dict[str, float]](dict)
    for facts in columns:
        if isinstance(facts.cells, Numbers) and facts.n_known:
            for code, share in _codes_of(facts.cells.values[facts.filled]):
                shares[code][facts.name] = share
    return [_in_words(code, shares[code]) for code in sorted(shares)]


def _codes_of(values: np.ndarray) -> Iterable[tuple[int, float]]:
    """Yield each end of some numbers that may stand for a missing value, and its share of them."""
    for end in (values.min(), values.max()):
        regular = values[values != end]
        is_code = end == int(end) and CODE.fullmatch(str(int(end))) is not None
        if not is_code or len(values) - len(regular) < LEAST or not len(regular):
            continue
        distance = max(regular.min() - end, end - regular.max())
        if len(regular) > len(values) / 2 and distance > regular.max() - regular.min():
            yield int(end), 1 - len(regular) / len(values)


def _in_words(code: int, shares: dict[str, float]) -> str:
    """Return the remark on a number that is so frequent in each of these columns."""
    names: Sequence[str] = [*shares]
    columns = f"the column {names[0]!r}" if len(names) == 1 else f"{len(names)} columns"
    share = f"{100 * np.mean([*shares.values()]):.2g}"
    return f"{code} in {share} % of the cells of {columns}, far outside the others: --missing {code}"
