"""The canonical order of rows, by hashes of their features and labels."""

import math
import struct

import numpy as np

_WRAP = 2**64


def mixed(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % _WRAP
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % _WRAP
    return x ^ (x >> 31)


def odd(x):
    return mixed(x * 0x9E3779B97F4A7C15 % _WRAP) | 1


def bits(x):
    (wide,) = struct.unpack("<Q", struct.pack("<d", float(x) + 0.0))
    return wide ^ (wide >> 32)


def row_order(X, Y, known, alpha=None):
    """Rows by a hash of their features without units; equal ones are numbered by their labels, and so hashed apart."""
    n, D = X.shape
    C = Y.shape[1]
    least = X.min(axis=0)
    largest = X.max(axis=0)
    varies = np.cumsum(largest > least)
    features = []
    numbers = []
    for x in X:
        hashed = 0
        for j in range(D):
            width = largest[j] - least[j]
            place = math.floor((x[j] - least[j]) / width * 2**20 + 0.5) if width > 0 else 0
            hashed += place * odd(int(varies[j]))
        features.append(mixed(hashed % _WRAP))
        numbers.append(mixed(sum(bits(x[j]) * odd(j + 1) for j in range(D)) % _WRAP))

    def entry(i, j):
        value = bits(Y[i, j]) if known[i, j] else 0x7FF8000000000001
        if alpha is not None and alpha.ndim == 2:
            value += mixed(bits(alpha[i, j]))
        return mixed(value % _WRAP)

    contents = [sum(mixed(entry(i, j) ^ features[i]) for i in range(n)) % _WRAP for j in range(C)]
    columns = sorted(range(C), key=lambda j: ((Y[:, j] > 0.5).sum(), contents[j]))
    rank = {j: r for r, j in enumerate(columns)}
    labels = []
    for i in range(n):
        of_row = mixed(bits(alpha[i])) if alpha is not None and alpha.ndim == 1 else 0
        without = (of_row + sum(entry(i, j) for j in range(C))) % _WRAP
        with_columns = sum(mixed(entry(i, j) * odd(rank[j] + 1) % _WRAP) for j in range(C)) % _WRAP
        labels.append((without, with_columns))
    order = sorted(range(n), key=lambda i: (features[i], *labels[i], numbers[i]))
    copies = {}
    keys = {}
    for i in order:
        copy = copies[features[i]] = copies.get(features[i], -1) + 1
        keys[i] = mixed((features[i] + copy * 0x9E3779B97F4A7C15) % _WRAP) if copy else features[i]
    return sorted(range(n), key=lambda i: keys[i])
