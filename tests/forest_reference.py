"""The plain twin of `nmlsdr.forest`: the same draws, nodes, thresholds and leaves, to the last bit, in NumPy.

Targets are integers in units of 1 / 1024, so that every sum over rows is exact; the tests compare with `==`.
"""

from itertools import pairwise

import numpy as np
from scipy import sparse

from nmlsdr._process.threads import SIMD_LEVELS, _graph

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


def mixed(numbers, tree, n_drawn):
    """Numbers in the random order of a tree."""
    for j in range(len(numbers) - 1, 0, -1):
        partner = below(key(tree, n_drawn + j), j + 1)
        number = numbers[j]
        numbers[j] = numbers[partner]
        numbers[partner] = number
    return numbers


def ordered_columns(X, n_draws, tree, max_columns):
    """The columns that vary among the drawn rows X, in the random order of a tree."""
    return mixed(np.flatnonzero(np.any(X[1:] != X[0], axis=0)).tolist(), tree, n_draws)[:max_columns]


def sums_of(Y, n_sums, tree, n_drawn):
    """The numbers that choose the splits of a tree: the labels, or sums of some of them each, with random signs."""
    C = Y.shape[1]
    if n_sums is None or n_sums >= C:
        return Y
    places = mixed([(c % n_sums, 1 - 2 * (key(tree, n_drawn + c) & 1)) for c in range(C)], tree, n_drawn)
    sums = np.zeros((len(Y), n_sums), dtype=np.int64)
    for y, (place, sign) in zip(Y.T, places, strict=True):
        sums[:, place] += sign * y
    return sums.clip(-(2**14), 2**14)


def thresholds(x, several, random):
    """Of the values x of a node: one at random, or some of the values, ascending."""
    low = x.min()
    high = x.max()
    n = len(x)
    if not several:
        t = low + (high - low) * (np.float32(random >> 8) * np.float32(2.0**-24))
        return [t if t < high else low]
    rows = range(n) if n <= 16 else [(k * n + ((random * n) >> 32)) // 16 for k in range(16)]
    return sorted({x[i] for i in rows} - {high})


def best_split(X, Y, w, tried, several, random, leaf):
    """The column and threshold of the largest |S_L|^2 / w_L + |S_R|^2 / w_R, or None; X are the rows of a node."""
    D = X.shape[1]
    start = below(random, X.shape[1])
    salt = random
    S = (w[:, None] * Y).sum(axis=0)
    best = -1.0
    split = None
    looked = 0
    number = 0
    while looked < D and split is None:
        end = looked + 2 * tried
        columns = []
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
                    S_L = (w[goes, None] * Y[goes]).sum(axis=0)
                    w_L = w[goes].sum()
                    S_R = S - S_L
                    w_R = w.sum() - w_L
                    score = float((S_L**2).sum()) / float(w_L) + float((S_R**2).sum()) / float(w_R)
                    if score > best:
                        best = score
                        split = (column, t)
            number += 1
    if split is not None and several:  # halfway to the next value
        column, t = split
        above = X[X[:, column] > t, column].min()
        middle = t * np.float32(0.5) + above * np.float32(0.5)
        split = column, middle if t < middle < above else t
    return split


def grow_tree(X, Y, tree, tried, several, n_draws, leaf=3, max_columns=1 << 62, n_sums=None):
    """Features (-1: leaf), thresholds, left children or numbers of leaves; means and draws of leaves; left-out rows."""
    draws = drawn_rows(len(X), n_draws, tree)
    drawn = np.flatnonzero(draws)
    rows = X[drawn] + np.float32(0)
    columns = ordered_columns(rows, n_draws, tree, max_columns)
    by = sums_of(Y[drawn], n_sums, tree, n_draws + X.shape[1])
    return grow_nodes(rows[:, columns], Y[drawn], by, draws[drawn], columns, tree, tried, several, leaf), draws == 0


def grow_nodes(rows, Y, by, w, columns, tree, tried, several, leaf, most_depth=1 << 62, rate=1.0, penalty=0.0):
    """The nodes of a tree over its drawn rows, whose columns are in its order; ``by``: what splits are chosen by."""
    node_key = key(~tree & WORD, int(several))
    feature = [-1]
    threshold = [np.float32(0)]
    children = [0]
    values = []
    weights = []
    nodes = [(np.arange(len(rows)), 0, 0)]
    while nodes:
        at, node, depth = nodes.pop()
        y = by[at]
        v = w[at]
        pure = (y == y[0]).all()
        split = None
        if len(at) >= 2 * leaf and not pure and len(columns) and depth < most_depth:
            split = best_split(rows[at], y, v, tried, several, key(node_key, node), leaf)
        if split is None:
            children[node] = len(values)
            sums = rate * (v[:, None] * Y[at]).sum(axis=0)
            values.append((sums / (1024.0 * (v.sum() + penalty))).astype(np.float32))
            weights.append(v.sum())
            continue
        goes = rows[at, split[0]] <= split[1]
        child = len(feature)
        feature[node] = columns[split[0]]
        threshold[node] = split[1]
        children[node] = child
        feature = feature + [-1, -1]
        threshold = threshold + [np.float32(0)] * 2
        children = children + [0, 0]
        nodes += [(at[~goes], child + 1, depth + 1), (at[goes], child, depth + 1)]
    return feature, threshold, children, values, weights


def binned(X):
    """The columns of X that vary, for each number how many cuts are below it, and the cuts of each column."""
    columns = []
    codes = []
    cuts = []
    for j, x in enumerate(X.T):
        values = sorted(set((x + np.float32(0)).tolist()))
        between = []
        for low, high in pairwise(values):
            low = np.float32(low)
            high = np.float32(high)
            middle = low * np.float32(0.5) + high * np.float32(0.5)
            between.append(middle if low < middle < high else low)
        if len(between) > 254:
            between = [between[(2 * k + 1) * len(between) // 508] for k in range(254)]
        if between:
            columns.append(j)
            codes.append([sum(cut < value for cut in between) for value in x])
            cuts.append(between)
    return columns, np.reshape(codes, (len(columns), len(X))).astype(np.float32).T, cuts


def boost(X, Y, seed, depth, leaf, n_rounds, number=0, most_draws=5000, n_sums=None):
    """Trees of each of four folds, with the mean labels as first, and the error out of fold of each round."""
    X = np.clip(X, -1e30, 1e30).astype(np.float32)
    exact = Y
    Y = Y.astype(np.float32)
    known = ~np.isnan(Y)
    fold = np.random.default_rng(0).permutation(len(X)) % 4
    columns, codes, cuts = binned(X)
    D = len(columns)
    models = []
    errors = np.zeros((n_rounds, 4))
    for a in range(4):
        training = np.flatnonzero(fold != a)
        training_known = known[training]
        mean = np.where(training_known, exact[training], 0).sum(axis=0) / np.maximum(training_known.sum(axis=0), 1)
        F = np.tile(mean.astype(np.float32), (len(X), 1))
        trees = [([-1], [np.float32(0)], [0], [F[0].copy()], [len(training)])]
        n_draws = min(7 * len(training) // 10, most_draws)
        for k in range(n_rounds):
            tree = key(key((seed + (number + 1) * 2**32) & WORD, a), k)
            draws = drawn_rows(len(training), n_draws, tree)
            drawn = training[draws > 0]
            gap = np.clip(1024 * (Y[drawn].astype(float) - F[drawn]), -2048, 2048)
            targets = np.where(known[drawn], np.rint(gap), 0).astype(np.int64)
            order = mixed(list(range(D)), tree, n_draws)
            by = sums_of(targets, n_sums, tree, n_draws + D)
            tried = min(max(D // 2, 8), D, 100)
            arguments = codes[drawn][:, order], targets, by, draws[draws > 0], order, tree, tried, True, leaf
            feature, threshold, children, values, weights = grow_nodes(*arguments, depth, 0.07, 5.0)
            for i, x in enumerate(codes):
                F[i] += values[leaf_of((feature, threshold, children), x)]
            held = known[fold == a]
            errors[k, a] = ((Y[fold == a].astype(float) - F[fold == a])[held] ** 2).sum()
            at = [
                (columns[j], cuts[j][int(t)]) if j >= 0 else (-1, np.float32(0))
                for j, t in zip(feature, threshold, strict=True)
            ]
            trees.append(([j for j, _ in at], [t for _, t in at], children, values, weights))
        models.append(trees)
    return models, errors.sum(axis=1)


def rounds_kept(errors, linear_error):
    """The rounds up to the least error, and whether boosting has ended: ten rounds without a new least, or no hope.

    There is none from round 50 on if the error, less 20 times what the last ten rounds took off it, is more than 5 %
    above that of a linear learner.
    """
    for n in range(1, len(errors) + 1):
        least = min(errors[:n])
        first = errors.index(least)
        last = errors[n - 1]
        waits = n - 1 - first >= 10
        behind = n >= 50 and last - 20 * max(errors[n - 11] - last, 0) > 1.05 * linear_error
        if waits or behind:
            return first + 1, True
    return errors.index(min(errors)) + 1, False


def leaf_of(tree, x):
    """The number of the leaf of a row."""
    feature, threshold, children = tree[:3]
    node = 0
    while feature[node] >= 0:
        node = children[node] + int(not x[feature[node]] <= threshold[node])
    return children[node]


def tried_features(several, D):
    """ExtraTrees tries a third of the features, at most 300; RandomForest the square root."""
    return max(1, int(np.sqrt(D))) if several else max(1, min(D // 3, 300))


def grow_forest(X, Y, seed, n_trees, several, n_draws=None, tried=None, leaf=3, n_sums=None):
    """The trees of a forest, and which rows each left out (n_trees, l); Y in units of 1; split by ``n_sums`` sums."""
    Y = np.rint(Y * 1024).astype(np.int64)
    X = np.clip(X, -1e30, 1e30).astype(np.float32)
    n_draws = min(len(X), 10_000, max(1000, 10**6 // tried_features(0, X.shape[1]))) if n_draws is None else n_draws
    tried = tried_features(several, X.shape[1]) if tried is None else tried
    max_columns = (1 << 24) // min(len(X), n_draws)
    grown = [grow_tree(X, Y, key(seed, t), tried, several, n_draws, leaf, max_columns, n_sums) for t in range(n_trees)]
    return [tree for tree, _ in grown], np.array([left_out for _, left_out in grown])


def predict(trees, X, left_out=None):
    """Mean of the trees for each row, in float64 and in their order; with left_out of those that left the row out."""
    X = np.clip(X, -1e30, 1e30).astype(np.float32)
    means = np.zeros((len(X), len(trees[0][3][0])))
    for i, x in enumerate(X):
        voters = [tree for t, tree in enumerate(trees) if left_out is None or left_out[t, i]]
        for tree in voters:
            means[i] += tree[3][leaf_of(tree, x)]
        means[i] /= max(1, len(voters))
    return means


# ---------------------------------------------------------------- what the kernels are tried on

LEVELS = SIMD_LEVELS[: _graph.best_simd_level() + 1]


def labels(rng, shape):
    return (rng.random(shape) < 0.4).astype(float)


def zeros_stored(X):
    """CSR rows that hold some of the 0s too, as -0."""
    held = (X != 0) | (np.arange(X.size).reshape(X.shape) % 131 == 0)
    return sparse.csr_array((np.where(X[held], X[held], -0.0), np.nonzero(held)), shape=X.shape)


CASES = {
    "bell-shaped": lambda rng: (rng.standard_normal((150, 20)), labels(rng, (150, 6))),
    "one label": lambda rng: (rng.standard_normal((90, 5)), labels(rng, (90, 1))),
    "votes": lambda rng: (rng.standard_normal((90, 40)), rng.random((90, 13))),
    "thirty labels": lambda rng: (rng.standard_normal((60, 7)), labels(rng, (60, 30))),
    "rare labels": lambda rng: (rng.standard_normal((120, 8)), (rng.random((120, 40)) < 0.05) * (np.arange(40) != 7.0)),
    "ties": lambda rng: (rng.integers(0, 3, (120, 30)), labels(rng, (120, 4))),
    "two values": lambda rng: (np.tile(rng.random((120, 12)) < 0.15, 4), labels(rng, (120, 4))),
    "mostly 0": lambda rng: (np.where(rng.random((150, 90)) < 0.05, rng.random((150, 90)), 0), labels(rng, (150, 7))),
    "rare, of both signs": lambda rng: (
        np.where(rng.random((400, 90)) < 0.022, rng.integers(-2, 4, (400, 90)), 0),
        labels(rng, (400, 10)),
    ),
    "one feature": lambda rng: (rng.standard_normal((50, 1)), labels(rng, (50, 2))),
    "17 features": lambda rng: (rng.standard_normal((100, 17)), labels(rng, (100, 2))),
    "one of many varies": lambda rng: (rng.random((40, 1)) * (np.arange(40) == 7), labels(rng, (40, 3))),
    "constant": lambda rng: (np.ones((40, 4)), labels(rng, (40, 3))),
    "all 0": lambda rng: (np.zeros((40, 4)), labels(rng, (40, 3))),
    "some constant": lambda rng: (np.where(np.arange(9) % 2, rng.random((60, 9)), 1.0), labels(rng, (60, 3))),
    "equal rows": lambda rng: (np.tile(rng.random((1, 5)), (30, 1)), labels(rng, (30, 3))),
    "pure": lambda rng: (rng.random((40, 4)), np.ones((40, 3))),
    "six rows": lambda rng: (rng.random((6, 3)), labels(rng, (6, 2))),
    "seven rows": lambda rng: (rng.random((7, 3)), labels(rng, (7, 2))),
    "huge": lambda rng: (rng.standard_normal((80, 6)) * 1e32, labels(rng, (80, 3))),
    "denormal": lambda rng: (rng.standard_normal((80, 6)) * 1e-41, labels(rng, (80, 3))),
    "heavy tails": lambda rng: (np.exp(8 * rng.standard_normal((120, 9))), labels(rng, (120, 4))),
    "neighbouring floats": lambda rng: (rng.choice([1.0, 1.0 + 2.0**-23, 5.0], (80, 8)), labels(rng, (80, 3))),
    "signs of 0": lambda rng: (rng.choice([-0.0, 0.0, 1e-45, 1.0, -1.0], (60, 8)), labels(rng, (60, 3))),
    "a chain": lambda rng: (np.eye(60)[np.arange(360) % 60], rng.random((60, 2))[np.arange(360) % 60]),
    "beyond the thousand": lambda rng: (rng.standard_normal((1100, 3)), labels(rng, (1100, 2))),
}


def assert_equals_twin(forest, grown):
    """The arrays of a forest are the nodes and leaves of the twin's trees, one after the other.

    The leaves of boosted trees come round by round, those of a tree together.
    """
    n_nodes = 0
    numbers = []
    all_values = forest.values
    all_weights = forest.weights
    for tree, (feature, threshold, children, values, weights) in enumerate(grown):
        part = slice(*forest.roots[tree : tree + 2])
        is_leaf = np.array(feature) < 0
        assert forest.feature[part].tolist() == feature
        assert forest.threshold[part].tobytes() == np.array(threshold, dtype=np.float32).tobytes()
        leaves = forest.left[part][is_leaf].min() + np.arange(len(values))
        np.testing.assert_array_equal(forest.left[part], children + np.where(is_leaf, leaves[0], n_nodes))
        assert all_values[leaves].tobytes() == np.array(values).tobytes()
        np.testing.assert_array_equal(all_weights[leaves], weights)
        n_nodes = n_nodes + len(feature)
        numbers = [*numbers, *leaves]
    assert forest.roots[-1] == n_nodes
    assert (sorted(numbers) if forest.n_models else numbers) == list(range(len(all_values)))
