"""The plain twin of `nmlsdr.forest`: the same draws, nodes, thresholds and leaves, to the last bit, in NumPy.

Targets are integers in units of 1 / 1024, so that every sum over rows is exact; the tests compare with `==`.
"""

import numpy as np

WORD = (1 << 64) - 1


def key(parent, number):
    """The 64-bit random number that belongs to a counter under a parent key (the finalizer of splitmix64)."""
    z = (parent + 0x9E3779B97F4A7C15 * (number + 1)) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)


def below(random, n):
    """A number from 0 to n - 1."""
    return ((random >> 32) * n) >> 32


def hashed(x):
    """32 random bits of a 32-bit number."""
    x &= 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return x ^ (x >> 16)


def drawn_rows(l, n_draws, tree):
    """How often a tree draws each row."""
    counts = np.zeros(l, dtype=np.int64)
    for i in range(n_draws):
        counts[below(key(tree, i), l)] += 1
    return counts


def ordered_columns(X, n_draws, tree, most):
    """The columns that vary among the drawn rows X, in the random order of a tree."""
    columns = np.flatnonzero(np.any(X[1:] != X[0], axis=0)).tolist()
    for j in range(len(columns) - 1, 0, -1):
        other = below(key(tree, n_draws + j), j + 1)
        columns[j], columns[other] = columns[other], columns[j]
    return columns[:most]


def thresholds(x, several, random):
    """Of the values x of a node: one at random, or some of the values, ascending."""
    low, high, n = x.min(), x.max(), len(x)
    if not several:
        t = low + (high - low) * (np.float32(random >> 8) * np.float32(2.0**-24))
        return [t if t < high else low]
    rows = range(n) if n <= 16 else [(k * n + ((random * n) >> 32)) // 16 for k in range(16)]
    return sorted({x[i] for i in rows} - {high})


def best_split(X, Y, w, tried, several, random, leaf):
    """The column and threshold of the largest |S_L|^2 / w_L + |S_R|^2 / w_R, or None; X are the rows of a node."""
    D, start, salt = X.shape[1], below(random, X.shape[1]), random
    S = (w[:, None] * Y).sum(axis=0)
    best, found, looked, number = -1.0, None, 0, 0
    while looked < D and found is None:
        end, columns = looked + 2 * tried, []
        while looked < D and len(columns) < tried and (looked < end or not columns):
            column = (start + looked) % D
            looked += 1
            if X[:, column].min() < X[:, column].max():
                columns.append(column)
        for column in columns:
            x = X[:, column]
            for t in thresholds(x, several, hashed(salt + number)):
                goes = x <= t
                if leaf <= goes.sum() <= len(x) - leaf:
                    S_L, w_L = (w[goes, None] * Y[goes]).sum(axis=0), w[goes].sum()
                    S_R, w_R = S - S_L, w.sum() - w_L
                    score = float((S_L**2).sum()) / float(w_L) + float((S_R**2).sum()) / float(w_R)
                    if score > best:
                        best, found = score, (column, t)
            number += 1
    if found is not None and several:  # halfway to the next value
        column, t = found
        above = X[X[:, column] > t, column].min()
        middle = t * np.float32(0.5) + above * np.float32(0.5)
        found = column, middle if t < middle < above else t
    return found


def grow_tree(X, Y, tree, tried, several, n_draws, leaf=3, most=1 << 62):
    """Features (-1: leaf), thresholds, left children or numbers of leaves; means and draws of leaves; left-out rows."""
    draws = drawn_rows(len(X), n_draws, tree)
    drawn = np.flatnonzero(draws)
    rows, Y, w = X[drawn] + np.float32(0), Y[drawn], draws[drawn]
    columns = ordered_columns(rows, n_draws, tree, most)
    rows, own = rows[:, columns], key(~tree & WORD, int(several))
    feature, threshold, left, values, weights = [-1], [np.float32(0)], [0], [], []
    nodes = [(np.arange(len(rows)), 0)]
    while nodes:
        at, node = nodes.pop()
        y, v = Y[at], w[at]
        pure = (y == y[0]).all()
        split = None
        if len(at) >= 2 * leaf and not pure and columns:
            split = best_split(rows[at], y, v, tried, several, key(own, node), leaf)
        if split is None:
            left[node] = len(values)
            values.append(((v[:, None] * y).sum(axis=0) / (1024.0 * v.sum())).astype(np.float32))
            weights.append(v.sum())
            continue
        goes, child = rows[at, split[0]] <= split[1], len(feature)
        feature[node], threshold[node], left[node] = columns[split[0]], split[1], child
        feature, threshold, left = feature + [-1, -1], threshold + [np.float32(0)] * 2, left + [0, 0]
        nodes += [(at[~goes], child + 1), (at[goes], child)]
    return (feature, threshold, left, values, weights), draws == 0


def leaf_of(tree, x):
    """The number of the leaf of a row."""
    feature, threshold, left = tree[:3]
    node = 0
    while feature[node] >= 0:
        node = left[node] + int(not x[feature[node]] <= threshold[node])
    return left[node]


def tried_features(several, D):
    """ExtraTrees tries a third of the features, at most 300; RandomForest the square root."""
    return max(1, int(np.sqrt(D))) if several else max(1, min(D // 3, 300))


def grow_forest(X, Y, seed, n_trees, several, n_draws=None, tried=None, leaf=3):
    """The trees of a forest, and which rows each left out (n_trees, l); Y in units of 1."""
    Y = np.rint(Y * 1024).astype(np.int64)
    X = np.clip(X, -1e30, 1e30).astype(np.float32)
    n_draws = min(len(X), 10_000, max(1000, 10**6 // tried_features(0, X.shape[1]))) if n_draws is None else n_draws
    tried = tried_features(several, X.shape[1]) if tried is None else tried
    most = (1 << 24) // min(len(X), n_draws)
    grown = [grow_tree(X, Y, key(seed, t), tried, several, n_draws, leaf, most) for t in range(n_trees)]
    return [tree for tree, _ in grown], np.array([left_out for _, left_out in grown])


def predict(trees, X, left_out=None):
    """Mean of the trees for each row, in float64 and in their order; with left_out of those that left the row out."""
    X = np.clip(X, -1e30, 1e30).astype(np.float32)
    found = np.zeros((len(X), len(trees[0][3][0])))
    for i, x in enumerate(X):
        asked = [tree for t, tree in enumerate(trees) if left_out is None or left_out[t, i]]
        for tree in asked:
            found[i] += tree[3][leaf_of(tree, x)]
        found[i] /= max(1, len(asked))
    return found
