"""Which parts of the rows meet in which task, so that every two rows meet: the lines of a finite plane.

Cut the rows into q^2 parts, q prime, and take them for the points (a, b) of the affine plane over the integers mod q.
Its q^2 + q lines hold q points each, and any two points lie on exactly one line.  One task searches the q parts of one
line among themselves, with the kernel's symmetric search, so

* every two rows of different parts meet exactly once, and each product serves both;
* a task holds n / q rows, all tasks read every row q + 1 times;
* only the pairs within a part repeat: all tasks together form (1 + 1/q) n^2 / 2 pairs.

Tasks for every two of B blocks would hold as many rows with B = 2q, form n^2 / 2 pairs and read every row about 2q
times; and a search that takes one block as queries of the other would form n^2.
"""

import numpy as np

PRIMES = (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)


def lines(q: int) -> list[list[int]]:
    """The parts a q + b on each line of the plane of order q; one line with one part for q = 1.

    Examples
    --------
    >>> lines(2)
    [[0, 2], [1, 3], [0, 3], [1, 2], [0, 1], [2, 3]]
    """
    if q == 1:
        return [[0]]
    sloping = [[x * q + (slope * x + height) % q for x in range(q)] for slope in range(q) for height in range(q)]
    upright = [[x * q + y for y in range(q)] for x in range(q)]
    return sloping + upright


def cut_rows(edges: np.ndarray, n_parts: int) -> np.ndarray:
    """Edges of ``n_parts`` nearly equal parts of the rows, at an edge of a block where one is near.

    A part that begins within a block makes two parts read it.

    Examples
    --------
    >>> cut_rows(np.array([0, 26, 50, 100]), 4).tolist()
    [0, 26, 50, 75, 100]
    """
    n = int(edges[-1])
    ideal = np.linspace(0, n, n_parts + 1).astype(np.intp)
    after = np.searchsorted(edges, ideal).clip(1, len(edges) - 1)
    left, right = edges[after - 1], edges[after]
    nearest = np.where(ideal - left < right - ideal, left, right)
    found = np.where(np.abs(nearest - ideal) <= n / n_parts / 4, nearest, ideal)
    found[0], found[-1] = 0, n
    return np.maximum.accumulate(found)
