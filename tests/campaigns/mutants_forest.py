"""Mutants of ResidualPropagation's forest, flip rate, cut-offs and review."""

TESTS = ("tests/test_residual_forest.py", "tests/test_cutoffs.py", "tests/test_residual.py", "tests/test_inspection.py")
_RESIDUAL, _FOREST, _THRESHOLDS, _BASE, _SUSPECTS = (
    "nmlsdr/_estimators/_residual.py", "nmlsdr/_estimators/_forest.py", "nmlsdr/_estimators/_thresholds.py",
    "nmlsdr/_estimators/_base.py", "nmlsdr/inspection/_suspects.py",
)  # fmt: skip

MUTANTS = [
    (f"forest/{name}", file, old, new, TESTS)
    for name, file, old, new in (
        ("whole residuals in the score", _RESIDUAL, "self.residual_weight * residuals", "residuals"),
        ("whole residuals without the own label", _RESIDUAL, "others = O + weight * (T @ E)", "others = O + T @ E"),
        ("ridge regression alone out of sample", _RESIDUAL,
         "np.where(left_out[:, None], 0.5 * (O + predictions), O)", "O"),
        ("forest alone out of sample", _RESIDUAL,
         "np.where(left_out[:, None], 0.5 * (O + predictions), O)", "predictions"),
        ("rows without out-of-bag predictions take 0", _RESIDUAL,
         "np.where(left_out[:, None], 0.5 * (O + predictions), O)", "0.5 * (O + predictions)"),
        ("forest left out of the trend", _RESIDUAL,
         "scores if self.forest_ is None else 0.5 * (scores + self._score_by_forest(rows))", "scores"),
        ("five rows grow a forest", _FOREST, "FEWEST_ROWS = 6", "FEWEST_ROWS = 5"),
        ("six rows grow none", _FOREST, "FEWEST_ROWS = 6", "FEWEST_ROWS = 7"),
        ("unknown entries count as 0", _RESIDUAL,
         "np.where(labels.known[labels.labeled], labels.Y[labels.labeled], O),", "labels.Y[labels.labeled],"),
        ("probabilities of 0 and 1", _RESIDUAL, "least = 0.5 / self.n_labeled_", "least = 0.0"),
        ("probabilities not corrected", _RESIDUAL, "unflipped(scores, self.flip_rate_)", "scores"),
        ("decisions at the scores", _RESIDUAL, "return scores - self._cutoffs()", "return scores"),
        ("rankings after the cut-offs", _RESIDUAL, "self._gather(X, self._to_scores)",
         "self._gather(X, self._to_decision)"),
        ("review without residuals", _RESIDUAL, "np.clip(others, 0.0, 1.0)", "np.clip(O, 0.0, 1.0)"),
        ("another seed", _FOREST, "return int(random_state) % 2**32", "return int(random_state) % 2**32 + 1"),
        ("two rows in a leaf", _FOREST, "min_samples_leaf=3", "min_samples_leaf=2"),
        ("half of the features", _FOREST, "n_features // 3", "n_features // 2"),
        ("trees draw all rows", _FOREST, "min(n_samples, _ROWS_OF_A_TREE)", "n_samples"),
        ("every row was left out", _FOREST, "return forest, predictions, n_trees > 0",
         "return forest, predictions, n_trees >= 0"),
        ("rows that the tree drew are predicted too", _FOREST, "minlength=n_samples) == 0)",
         "minlength=n_samples) >= 0)"),
        ("numbers beyond float32", _FOREST, "_LARGEST = 1e30", "_LARGEST = 1e300"),
        ("trees added in any order", _FOREST, "for each in predicted:", "for each in sorted(predicted, key=np.sum):"),
        ("flip rate without its limit", _THRESHOLDS, "_LARGEST_FLIP_RATE = 0.3", "_LARGEST_FLIP_RATE = 0.45"),
        ("flip rate of a fifth", _THRESHOLDS, "_CLEAREST_SHARE = 10", "_CLEAREST_SHARE = 5"),
        ("flip rate where scores are largest", _THRESHOLDS, "np.argsort(scores[known], kind=\"stable\")",
         "np.argsort(-scores[known], kind=\"stable\")"),
        ("flip rate of classes", _THRESHOLDS, "    if labels.single:\n        return 0.0\n", ""),
        ("correction by one flip rate", _THRESHOLDS, "(values - rate) / (1.0 - 2.0 * rate)",
         "(values - rate) / (1.0 - rate)"),
        ("a score counts more than one hit", _THRESHOLDS, "np.minimum(v, 1.0)", "v"),
        ("F1 of few expected labels", _THRESHOLDS, "max(1.0, v.sum())", "v.sum()"),
        ("cut-off at the best F1", _THRESHOLDS, "* best / 2.0 if", "* best if"),
        ("no score promises anything", _THRESHOLDS, "if best > 0 else 0.5", "if best > 0 else 0.0"),
        ("shares not corrected", _THRESHOLDS, "np.clip(unflipped(known_shares(Y, known), rate), 0.0, 1.0)",
         "known_shares(Y, known)"),
        ("unknown entries in the cut-off", _THRESHOLDS, "f1_cutoff(labeled_scores[known], rate)",
         "f1_cutoff(labeled_scores.ravel(), rate)"),
        ("a tie at the threshold is none", _BASE, "return np.nextafter(cutoffs, -np.inf)", "return cutoffs"),
        ("weight of given 1s", _SUSPECTS, "min(1.0, 2.0 * float(flipped))", "min(1.0, float(flipped))"),
        ("weight without the true share", _SUSPECTS, "rate * (1.0 - truly) / share", "rate / share"),
    )
]  # fmt: skip
SURVIVORS: dict[str, str] = {}
