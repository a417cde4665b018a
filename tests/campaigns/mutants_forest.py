"""Mutants of ResidualPropagation's forest, flip rate, cut-offs and review; mutation.py says what the rows hold."""

# ruff: noqa: E501  (a mutant a line)

TESTS = ("tests/test_residual_forest.py", "tests/test_cutoffs.py", "tests/test_residual.py", "tests/test_inspection.py")

MUTANTS = {
    ("_estimators/_residual.py", TESTS): [
        ("forest/whole residuals in the score", "_score_rows", "self.residual_weight * residuals", "residuals"),
        ("forest/whole residuals without the own label", "_learn", "weight * (T @ E)", "T @ E"),
        ("forest/ridge regression alone out of sample", "_grow_forest", "np.where(left_out[:, None], 0.5 * (O + predictions), O)", "O"),
        ("forest/forest alone out of sample", "_grow_forest", "np.where(left_out[:, None], 0.5 * (O + predictions), O)", "predictions"),
        ("forest/rows without out-of-bag predictions take 0", "_grow_forest",
         "np.where(left_out[:, None], 0.5 * (O + predictions), O", "0.5 * (O + predictions"),
        ("forest/forest left out of the trend", "_trend",
         "scores if self.forest_ is None else 0.5 * (scores + self._score_by_forest(rows))", "scores"),
        ("forest/unknown entries count as 0", "_grow_forest",
         "np.where(labels.known[labels.labeled], labels.Y[labels.labeled], O)", "labels.Y[labels.labeled]"),
        ("forest/probabilities of 0 and 1", "_to_probabilities", "0.5 / self.n_labeled_", "0.0"),
        ("forest/probabilities not corrected", "_to_probabilities", "unflipped(scores, self.flip_rate_)", "scores"),
        ("forest/decisions at the scores", "_to_decision", "scores - self._cutoffs()", "scores"),
        ("forest/rankings after the cut-offs", "_rank_scores", "._to_scores)", "._to_decision)"),
        ("forest/flip scores below 0", "_learn", ", 2.0)", ", 3.0)"),
        ("forest/review without residuals", "_learn", "clip(others,", "clip(O,"),
    ],
    ("_estimators/_forest.py", TESTS): [
        ("forest/five rows grow a forest", "", "FEWEST_ROWS = 6", "FEWEST_ROWS = 5"),
        ("forest/six rows grow none", "", "FEWEST_ROWS = 6", "FEWEST_ROWS = 7"),
        ("forest/targets with all their bits", "grow_forest", "np.round(Y * _TARGET_STEPS) / _TARGET_STEPS", "Y"),
        ("forest/another seed", "forest_seed", "random_state) % 2**32", "random_state) % 2**32 + 1"),
        ("forest/two rows in a leaf", "_new_forest", "min_samples_leaf=3,", "min_samples_leaf=2,"),
        ("forest/half of the features", "grow_forest", "// 3, _MOST_FEATURES", "// 2, _MOST_FEATURES"),
        ("forest/trees draw all rows", "grow_forest", "min(X.shape[0], _ROWS_OF_A_TREE)", "X.shape[0]"),
        ("forest/every row was left out", "", "predictions, n_trees > 0", "predictions, n_trees >= 0"),
        ("forest/rows that the tree drew are predicted too", "_grow_trees", "counts == 0))", "counts >= 0))"),
        ("forest/a tree's draws go on after those of its rows", "_grow_trees", "random.seed(seed)  # the", "pass  # the"),
        ("forest/splits of fewer rows than two leaves hold", "_grow_trees", "2 * leaf, leaf", "leaf, leaf"),
        ("forest/trees that scikit-learn would not grow", "grow_forest", "_grow if grows_the_same_trees() else _fit", "_grow"),
        ("forest/other trees are not noticed", "grows_the_same_trees", "found[0] != found[1]", "False"),
        ("forest/the first thread's trees come first", "_grow", "parts[i % threads][i // threads]", "parts[2 * i // len(seeds)][i % (len(seeds) // 2)]"),
        ("forest/numbers beyond float32", "", "_LARGEST = 1e30", "_LARGEST = 1e300"),
        ("forest/no warning of large offsets", "_warn_of_lost_features", "2.0**-20", "2.0**-40"),
        ("forest/no warning of small spreads", "", "_FINEST = 1e-6", "_FINEST = 1e-12"),
        ("forest/constant features count as lost", "_warn_of_lost_features", "(low < high) & ", ""),
        ("forest/trees added in any order", "score_by_forest", "in predicted:", "in sorted(predicted, key=np.sum):"),
    ],
    ("_estimators/_thresholds.py", (*TESTS, "tests/test_flip_interval.py")): [
        ("forest/flip rate without its limit", "", "_LARGEST_FLIP_RATE = 0.3", "_LARGEST_FLIP_RATE = 0.45"),
        ("forest/flip rate of a fifth", "", "_CLEAREST_SHARE = 10", "_CLEAREST_SHARE = 5"),
        ("forest/flip rate where scores are largest", "_share_of_ones", "scores < largest", "scores > largest"),
        ("forest/flip rate by the last of equal scores", "_share_of_ones", "[: m - np", "[-m + np"),
        ("forest/flip rate of classes", "labels_flip_rate", "if labels.single:\n        return 0.0", ""),
        ("forest/correction by one flip rate", "unflipped", "- 2.0 * rate", "- rate"),
        ("forest/a score counts more than one hit", "f1_cutoff", "np.minimum(v, 1.0)", "v"),
        ("forest/F1 of few expected labels", "f1_cutoff", "max(1.0, v.sum()", "v.sum("),
        ("forest/cut-off at the best F1", "f1_cutoff", "best / 2.0 if", "best if"),
        ("forest/no score promises anything", "f1_cutoff", "> 0 else 0.5", "> 0 else 0.0"),
        ("forest/shares not corrected", "learned_cutoffs", "np.clip(unflipped(shares, rate), 0.0, 1.0)", "shares"),
        ("forest/labels that no row has", "learned_cutoffs", "np.where(shares > 0, ", "np.where(shares >= 0, "),
        ("forest/unknown entries in the cut-off", "learned_cutoffs", "labeled_scores[known]", "labeled_scores.ravel()"),
    ],
    ("_estimators/_base.py", TESTS): [
        ("forest/a tie at the threshold is none", "_just_below", "np.nextafter(cutoffs, -np.inf)", "cutoffs"),
    ],
    ("_ridge/selection.py", ("tests/test_ridge.py", "tests/test_masked_ridge.py")): [
        ("ridge/errors about another mean", "_error_sums", "0.5 * len(Y)", "len(Y)"),
        ("ridge/labels not about their mean", "_error_sums", " - np.outer(shift, Y.sum(axis=0))", ""),
        ("ridge/half of the products of features and labels", "_error_sums", "2.0 * moment", "moment"),
        ("ridge/half of the products of features", "_error_sums", "lower + np.tril(lower, -1).T", "lower"),
        ("ridge/tested rows that are not known", "_known_tested", "self.shared.known[self.test, each.labels[0]]", "slice(None)"),
        ("ridge/training rows about the mean of all rows", "_grams", "-each.count, each.mean", "0.0, each.mean"),
        ("ridge/predictions of several folds kept under one name", "_by_features", "(self._key, label)", "label"),
    ],
    ("inspection/_suspects.py", TESTS): [
        ("forest/weight of given 1s", "_weight_of_ones", ", 2.0 * float", ", float"),
        ("forest/weight without the true share", "_weight_of_ones", "* (1.0 - truly) /", "/"),
    ],
}  # fmt: skip

SURVIVORS: dict[str, str] = {}
