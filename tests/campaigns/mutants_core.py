"""Mutants of the propagation, its estimator, the projections, sums over rows and ML-kNN; mutation.py says what the rows hold."""

# ruff: noqa: E501  (a mutant a line)

ORDER = ("tests/core/test_propagation_order.py", "tests/core/test_propagation.py", "tests/core/test_propagation_entries.py")
SYMMETRIC = ("tests/core/test_graph.py", "tests/core/test_validation.py", "tests/core/test_propagation.py")
KERNEL = ("tests/core/test_propagation_kernel.py", "tests/core/test_propagation_entries.py")
PROPAGATION = (
    *KERNEL,
    "tests/core/test_propagation_safeguards.py",
    "tests/core/test_propagation.py",
    "tests/core/test_propagation_labels.py",
    "tests/core/test_propagation_small.py",
)
PROPAGATOR = (
    "tests/core/test_propagator.py",
    "tests/core/test_propagation_small.py",
    "-k",
    "not every_graph and not digits",
)
SCALE = (
    "tests/core/test_propagation_small.py",
    "tests/core/test_propagation.py",
    "tests/core/test_graph.py",
    "tests/core/test_propagation_entries.py",
    "-k",
    "ends_of_the_numbers or scale or huge or agree_on_edges or largest_numbers or closed_form or range or weight",
)
PROJECTION = ("tests/core/test_projection.py", "tests/core/test_scatter.py", "tests/core/test_ridge.py")
WEIGHTS = ("tests/core/test_feature_weights.py", "tests/core/test_shrinkage.py", "tests/core/test_masked_ridge.py")
CUTOFFS = ("tests/core/test_cutoffs.py",)
BASELINES = ("tests/core/test_baselines.py",)
MLKNN = ("tests/core/test_mlknn.py", "tests/core/test_mlknn_estimators.py")

MUTANTS = {
    ("_propagation.pyx", KERNEL): [
        ("propagation/kernel: a step beyond float32 is made", "float_or_zero", "value if fabs(value) <= FLT_MAX else 0.0", "value"),
        ("propagation/kernel: a step that is no number is made", "float_or_zero",
         "<float>value if fabs(value) <= FLT_MAX else 0.0", "0.0 if fabs(value) > FLT_MAX else <float>value"),
        ("propagation/kernel: nobody waits for K p", "sweep_together",
         "meet(&w.meeting, team)\n        add_blocks(w.curvatures", "add_blocks(w.curvatures"),
        ("propagation/kernel: nobody waits for the residual", "sweep_together",
         "meet(&w.meeting, team)\n        add_blocks(w.norms", "add_blocks(w.norms"),
        ("propagation/kernel: nobody waits for the direction", "sweep_together",
         "meet(&w.meeting, team)\n        add_blocks(w.alongs", "add_blocks(w.alongs"),
        ("propagation/kernel: a step as if the direction fitted", "sweep_together", "ratio = along[c]", "ratio = rho[c]"),
        ("propagation/kernel: a step backwards starts again", "sweep_together", "[c] != 0.0 else", "[c] > 0.0 else"),
    ],
    ("_propagation.pyx", PROPAGATION): [
        ("propagation/kernel: a step uphill", "sweep_together", "and total[c] > 0.0 else", "else"),
        ("propagation/kernel: a finished label goes on", "sweep_together", "peak[c] > w.tol[c] and total", "total"),
        ("propagation/kernel: pivot by subtraction", "eliminate", "for j in range(q):\n                pivot += A[q, j", "pivot = 1.0 - A[q, q"),
        ("propagation/kernel: slack not handed on", "eliminate", "range(n, width", "range(n + 1, width"),
    ],
    ("_c/propagation_loops.h", KERNEL): [
        ("propagation/kernel: directions are cut, not rounded", "",
         "(NM_LEVEL(word))(v) + 0x7fffu + (((NM_LEVEL(word))(v) >> 16) & 1u)", "NM_LEVEL(word))(v"),
        ("propagation/kernel: ties of a direction go up", "", "0x7fffu + (((NM_LEVEL(word))(v) >> 16) & 1u)", "0x8000u"),
    ],
    ("_checks/arguments.py", SYMMETRIC): [
        ("propagation/graph: a diagonal stays", "check_graph", "if not off.all():", "if False:"),
        ("propagation/graph: weights not compared", "_symmetric", '("indptr", "indices", "data")', '("indptr", "indices")'),
    ],
    ("_solvers/system.py", PROPAGATION): [
        ("propagation/kernel: edges of weight 0 reach", "_reached", "edges.eliminate_zeros()", ""),
        ("propagation/system: equal weights of 0 are a binary graph", "__init__",
         "(W.data[0] > 0 and W.data.min() == W.data.max()", "W.data.min() == W.data.max("),
        ("propagation/system: any weights are a binary graph", "__init__", "(W.data[0] > 0 and W.data.min() == W.data.max())", "W.data[0] > 0"),
        ("propagation/system: own labels of a fixed row in full", "first_iterate", "(1.0 - self.alpha[rows]) * self", "self"),
        ("propagation/system: rows without a label are sought", "__init__", "& reached & (", "& ("),
        ("propagation/system: no least alpha", "", "SMALLEST_ALPHA = 1e-200", "SMALLEST_ALPHA = 5e-324"),
        ("propagation/system: no sweep from an init", "first_iterate", "F if init is None else self.sweep(F)[0]", "F"),
        ("propagation/labels: a row's alpha folded into the weights", "sweep_graph", "1.0 if self.per_entry else self", "self"),
    ],
    ("_solvers/system.py", ORDER): [
        ("propagation/order: neighbours by their old numbers", "sweep_graph", "place[self.indices[old]", "self.indices[old"),
        ("propagation/order: weights stay where they were", "sweep_graph", "[old] if len(array) else array", ""),
        ("propagation/order: labels stay where they were", "of_columns", "values if order is None else values[order]", "values"),
    ],
    ("_solvers/conjugate_gradients.py", ORDER): [
        ("propagation/order: answers stay where they were", "check_stopped", ") if self.order is None else self.order", ")"),
    ],
    ("_propagation.pyx", ORDER): [
        ("propagation/order: a component more forgotten", "breadth_first", "found += 1", "found = 1"),
    ],
    ("_solvers/conjugate_gradients.py", PROPAGATION): [
        ("propagation/labels: a round goes on behind the end of a label", "_sweep_batch",
         "return\n            made, before = 0, sweeps.copy()", "return\n            before = sweeps.copy()"),
        ("propagation/cg: NaN in a sum overlooked", "residual",
         "self.peak[~np.isfinite(self.rho)] = math.inf  # a maximum overlooks NaN, a sum does not", ""),
        ("propagation/cg: a change that is no number is added", "flush", "if lost.any():", "if False:"),
        ("propagation/cg: a misfit direction is kept", "refresh", "self.residual(astray, restart=True)", "pass"),
        ("propagation/cg: labels are stuck by what the sweeps believe", "_sweep_batch", "refresh(due)", "refresh(due & False)"),
        ("propagation/cg: residuals never computed anew", "refresh", "if worn.any():", "if False:"),
        ("propagation/cg: a worse iterate replaces a better one", "check_stopped", "stopped & (peak <= self.best)", "stopped"),
        ("propagation/cg: a label that is not done leaves", "check_stopped", "(peak > self.wanted) & (peak <= 0.5 * self.last_peak)", "False"),
        ("propagation/cg: stuck labels stay", "stop_stuck", "self.tol[: self.count][stuck] = math.inf", ""),
        ("propagation/cg: sweeps without a bound of rows", "_enough", "10 * n_sought + 100", "1e18"),
        ("propagation/chain: a float64 step that is no number", "_float64_label", "not np.isfinite(step) or step", "step"),
        ("propagation/chain: a worse float64 iterate", "_float64_label", "if residual < best:\n            F", "F"),
    ],
    ("_solvers/chain.py", PROPAGATION): [
        ("propagation/labels: eq. (6) stops with the slowest", "fixed_point", ", where=active", ""),
        ("propagation/chain: the iteration has no bound of work", "most_sweeps", "), allowed) if", "), 1e18) if"),
        ("propagation/labels: one limit for small systems", "solve",
         "system.n_sought <= SMALL),", "system.n_sought.max() <= SMALL),"),
        ("propagation/chain: auto stops after cg", "solve", "~(solved.residuals <= goal.tol", "np.isinf(solved.residuals"),
        ("propagation/chain: max_iter not heeded", "solve",
         "columns = columns[~np.isfinite(solved.residuals[columns])]", "pass"),
        ("propagation/chain: what another solver makes worse is kept", "_improve",
         "found.residuals < solved.residuals[columns]", "np.ones(len(columns), bool)"),
    ],
    ("graph.py", SCALE): [
        ("propagation/weights: scale not taken out", "normalized_weights", "even_exponent(W.data)", "0"),
        ("propagation/weights: an odd power of two", "even_exponent", "top) // 2 * 2", "top) // 2 * 2 + 1"),
        ("propagation/weights: least of stored zeros", "even_exponent", "least = float(weights[weights > 0].min())", "pass"),
    ],
    ("_solvers/direct.py", PROPAGATION): [
        ("propagation/chain: known neighbours forgotten", "lu", "+ fixed @ F[np.ix_(~sought, columns)]", ""),
    ],
    ("propagation.py", PROPAGATION): [
        ("propagation/aim: tol itself near alpha = 1", "_aim", "minimum(1.0, (1 - system.top) / (1 - _USUAL_ALPHA)", "ones(system.top.shape"),
        ("propagation/aim: below rounding", "_aim", "np.maximum(tol * share, _ROUNDING)", "tol * share"),
        ("propagation/bound: rounding left out", "_error_bound", "(residuals + rounding)", "residuals"),
        ("propagation/bound: residual itself", "_error_bound", "(residuals + rounding) / (1 - system.top)", "residuals + rounding"),
    ],
    ("_estimators/_propagator.py", PROPAGATOR): [
        ("propagator: an isolated row weighs 1", "_row_weights", "smallest if np.isfinite(smallest) else 1.0", "1.0"),
        ("propagator: degrees that overflow", "_row_weights", "even_exponent(W.data)  # or a degree overflows", "0"),
        ("propagator: scale of the weights not undone", "_row_weights", "np.ldexp(1.0 / np.sqrt(degree), exponent // 2", "1.0 / np.sqrt(degree"),
    ],
    ("_estimators/_steps.py", PROPAGATOR): [
        ("propagator: unknown entries are flips", "soft_label_attributes", "where(labels.known, np.abs(F - labels.Y), 0.0", "abs(F - labels.Y"),
    ],
    ("_projections/directions.py", PROJECTION): [
        ("projection: sign by the sum", "finish", "[np.argmax(np.abs(U), axis=0), np.arange(d)]", ".sum(axis=0)"),
        ("projection: -0 is printed", "finish", "signs + 0.0)", "signs)"),
        ("projection: rank of float64 for float32", "numerical_rank", "finfo(dtype)", "finfo(np.float64)"),
        ("projection: sums far from 0 have no rounding errors", "uncentred_size", "np.linalg.norm(mean)", "0.0"),
        ("projection: noise is a direction", "refuse_no_dependence", "np.linalg.norm(M) <= floor", "False"),
        ("projection: eigenvalues are not squares", "finish", ", s**2, mean", ", s, mean"),
        ("projection: Lanczos on small numbers as they are", "leading_by_lanczos", "np.ldexp(1.0, 30 - int(exponent))", "1.0"),
    ],
    ("_projections/scatter.py", PROJECTION): [
        ("projection: enlarged rounding errors are a direction", "_solve", "s[:bound][-1] < _SUSPECT * s[0]", "False"),
        ("projection: rank in the units of the features", "_solve", "1.0 / np.sqrt(variances)[:, None]", "1.0"),
        ("projection: noise of whitened directions far from 0", "_solve", "numerical_rank(values, size, shape, X.dtype), above_rounding)", "numerical_rank(values, size, shape, X.dtype))"),
        ("projection: rank beside the differences alone", "_solve", "np.linalg.norm(M * scale)", "np.linalg.norm(N * scale)"),
    ],
    ("_projections/scatter.py", BASELINES): [
        ("projection: squares of an offset in wide sparse rows", "_frame", "without_offsets(rows.astype(np.float64), mean)", "rows.astype(np.float64), mean"),
    ],
    ("_projections/label_weights.py", BASELINES): [
        ("fuzzy weights: squares of an offset in sparse rows", "fuzzy_weights", "if sums.is_sparse:", "if False:"),
    ],
    ("_moments.py", BASELINES): [
        ("moments: squares of an offset in sparse rows", "gram", "without_offsets(X, mean)", "X, mean"),
    ],
    ("_moments.py", PROJECTION): [
        ("moments: squares of an offset in wide sparse rows", "row_gram", "without_offsets(X, mean)", "X, mean"),
        ("moments: means in the dtype of X", "sums", ", dtype=np.float64", ""),
        ("moments: rows centred in the dtype of X", "centred_blocks", "], mean, out", "], mean.astype(self.dtype), out"),
        ("moments: blocks in the dtype of X", "centred_blocks", "self.shape[1]))", "self.shape[1]), self.dtype)"),
        ("moments: second moments of sparse rows in the dtype of X", "sparse_gram", "astype(np.float64", "copy("),
        ("moments: sparse rows not centred", "moment", "M - np.multiply.outer(mean, factor.sum(axis=0))", "M"),
        ("moments: weights of rows for their roots", "gram", "np.sqrt(weights)", "weights"),
    ],
    ("_moments.py", PROJECTION + WEIGHTS): [
        ("moments: squares of sparse rows in the dtype of X", "spread", ".indices]) *", ".indices].astype(X.dtype)) *"),
        ("moments: constant features keep noise", "squares", "np.where(differs > 0, total, 0.0)", "total"),
        ("moments: constant labels keep noise", "centre_columns", "centred[:, _constant(F, F[0])] = 0.0", ""),
        ("moments: constant thin labels keep noise", "label_moment", "M[:, _constant(F, F[0])] = 0.0", ""),
    ],
    ("projection.py", WEIGHTS): [
        ("weights: chance divided by l", "kappa_of_sets", "max(each.count - 1, 1)", "each.count"),
        ("weights: negative factors", "kappa_of_sets",
         "np.where(beyond, 1.0 - h0 / np.where(beyond, h, 1.0), 0.0", "1.0 - h0 / np.where(h > 0, h, 1.0"),
        ("weights: rounding passes for dependence", "kappa_of_sets", "LEAST_DEPENDENCE * summed", "0"),
        ("weights: sums are compared as if centring cost no digits", "kappa_of_sets", "squares + each.count * each.mean**2", "squares"),
    ],
    ("_moments.py", WEIGHTS): [
        ("weights: constant features keep noise", "_label_set", "moment[squares == 0] = 0.0  # of a constant feature it is rounding noise", ""),
    ],
    ("_estimators/_propagator.py", CUTOFFS): [
        ("propagator: a score at the threshold is a label", "MultiLabelPropagation", "_reaching_is_enough = False", "_reaching_is_enough = True"),
    ],
    ("_estimators/_classifier.py", CUTOFFS): [
        ("mlknn: above the threshold only", "_given_cutoffs", "just_below(cutoffs) if self._reaching_is_enough else cutoffs", "cutoffs"),
    ],
    ("_estimators/_mlknn.py", MLKNN): [
        ("mlknn: the last of equals", "_decide", "np.argmax(scores[empty", "-1 - np.argmax(scores[empty, ::-1"),
    ],
    ("mlknn.py", MLKNN): [
        ("mlknn: smoothing of one bin too few", "_posterior_table", "histogram.shape[2]", "histogram.shape[2] - 1"),
        ("mlknn: products that underflow", "_posterior_table",
         "np.where(total > 0, for_it / np.where(total > 0, total, 1.0), prior[:, None]", "for_it / np.where(total > 0, total, 1.0"),
        ("mlknn: a row may be its own neighbour", "fit_posterior", "itself.any()", "False"),
        ("mlknn: labels that are not 0 or 1", "_check_labels_and_indices", "check_binary(Y)", "np.asarray(Y)"),
    ],
    ("_mlknn.pyx", MLKNN): [
        ("mlknn: last label of a task", "label_histogram", "min(n_labels,", "min(n_labels - 1,"),
    ],
}  # fmt: skip

SURVIVORS: dict[str, str] = {
    "propagation/chain: a float64 step that is no number": "the iterate is then not kept either, because its residual is "
    "not below the best one; the check saves sweeps",
    "propagation/cg: labels are stuck by what the sweeps believe": "their own residual then falls below the limit, and the "
    "residual that is computed at the end decides; of 1499 hostile problems 42 got other digits of the same quality",
}
