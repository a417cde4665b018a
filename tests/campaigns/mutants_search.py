"""Mutants of the neighbour search and the graph; mutation.py says what the rows hold."""

# ruff: noqa: E501  (a mutant a line)

BOUND = ("tests/core/test_neighbors_bound.py",)
PRODUCTS = ("tests/core/test_neighbors_bound.py", "tests/core/test_neighbors.py")
C = ("tests/doors/test_c_api.py",)
C_TABLE = ("tests/doors/test_c_api.py",)
INTEGERS = ("tests/core/test_neighbors_integers.py",)
GROUPS = ("tests/core/test_neighbors_groups.py",)
TREE = ("tests/core/test_neighbors_tree.py",)
FEW = ("tests/core/test_neighbors_few.py",)
COSINE = ("tests/core/test_cosine.py",)
LEADS = ("tests/core/test_neighbors_leading.py",)
GRAPH = ("tests/core/test_graph.py",)
THREADS = ("tests/core/test_threads.py",)
FORK = ("tests/core/test_threads_fork.py",)
PLUGINS = ("tests/core/test_neighbors_plugins.py",)
LARGE = ("tests/core/test_large_work.py",)

MUTANTS = {
    ("_c/products_new.h", ("tests/core/test_neighbors_known.py",)): [
        ("search/known: blocks across an edge are left out", "nmlsdr_search_know", "last <= edges[p + 1]", "J * block < edges[p + 1]"),
        ("search/known: no limits", "nmlsdr_search_know", "limits && i < n", "limits && i < 0"),
    ],
    ("_c/products.h", ("tests/core/test_neighbors_known.py",)): [
        ("search/known: blocks of no part are left out", "nmlsdr_run_spans", "q->part[at_a] >= 0 && ", ""),
        ("search/known: nothing is left out", "nmlsdr_run_spans", "q->part && ", "0 && "),
    ],
    ("_c/products_candidates.h", BOUND): [
        ("search/bound: halved", "nmlsdr_bounds", "share * square + q->scaling.absolute", "(share * square + q->scaling.absolute) * 0.5"),
        ("search/bound: a tenth", "nmlsdr_bounds", "share * square + q->scaling.absolute", "(share * square + q->scaling.absolute) * 0.1"),
        ("search/bound: upper side halved", "nmlsdr_bounds", "0.5 - share);", "0.5 - 0.5 * share);"),
        ("search/bound: lower side halved", "nmlsdr_bounds", "(-2.0000001 *", "(-1.0000001 *"),
    ],
    ("_c/products_candidates.h", PRODUCTS): [
        ("search/bound: no share for underflow", "nmlsdr_bounds", "square + q->scaling.absolute", "square"),
        ("search/bound: threshold of a full buffer without margin", "nmlsdr_raise_to", "+ 0x1p-30) - q->scaling.absolute", "- 0x1p-20)"),
        ("search/bound: threshold by scores without their shares", "nmlsdr_tighten",
         "nmlsdr_lower_bound(x[p].score, own + e[x[p].position])", "x[p].score"),
        ("search/bound: threshold by half of the shares", "nmlsdr_tighten", "nmlsdr_lower_bound(x[p].score, own", "x[p].score - 0.5f * (own"),
        ("search/select: nothing above the threshold kept on a tie", "nmlsdr_tighten", "score >= limit", "score > limit"),
        ("search/select: push drops a tie", "nmlsdr_push", "score >= s->t[i];", "score > s->t[i];"),
        ("search/select: duplicates of a lower index", "nmlsdr_decide", "0 || j < index[k - 1]", "0"),
        ("search/select: no shortcut for duplicates", "nmlsdr_decide", "n += squared[k - 1] > 0 || j < index[k - 1]", "n++"),
        ("search/select: -0 as a distance", "nmlsdr_decide", "= 0.0 - 2.0 *", "= -2.0 *"),
        ("search/select: self not excluded", "nmlsdr_push_row", "if (at == to + c && q->symmetric) continue;", ""),
        ("search/select: the column's side forgotten", "nmlsdr_push_row", "both || score[c] >= p->tb[j + c]", "0"),
        ("search/select: the last of the ranks", "nmlsdr_push", "nmlsdr_threshold(best[0]", "nmlsdr_threshold(best[1]"),
        ("search/select: reached by one too few", "nmlsdr_reached", "count >= m) low =", "count >= m - 1) low ="),
        ("search/select: counted without being over the threshold", "nmlsdr_push", "i] + passes;", "i] + 1;"),
        ("search/select: rounded up", "nmlsdr_below", "> x) y = nextafterf(y, -", "< x) y = nextafterf(y, "),
    ],
    ("_c/products_scale.h", BOUND): [
        ("search/integers: limit four times too generous", "nmlsdr_choose_scale", "& 4 * (double", "& (double"),
        ("search/integers: limit twice too generous", "nmlsdr_choose_scale", "integral && 4 * (", "integral && 2 * ("),
    ],
    ("_c/products_scale.h", PRODUCTS): [
        ("search/integers: x - centre is asked", "nmlsdr_extend", "value != floor(value", "y != floor(y"),
        ("search/integers: queries are not asked", "nmlsdr_choose_scale",
         "if (q->queries != q->rows) nmlsdr_extend(q, &q->queries->rows, &extent);", ""),
    ],
    ("_c/products_scale.h", INTEGERS): [
        ("search/int16: half of the slack", "nmlsdr_choose_int16", "slack = (float)(rounding *", "slack = (float)(0.5 * rounding *"),
        ("search/int16: nine tenths of the slack", "nmlsdr_choose_int16", "slack = (float)(rounding *", "slack = (float)(0.9 * rounding *"),
        ("search/int16: norms 1.5 times too large", "nmlsdr_choose_int16", "(46340 -", "(69510 -"),
        ("search/int16: norms of the rows only", "nmlsdr_choose_int16", "norm = sqrt(extent->square)", "norm = sqrt(extent->square) / 2"),
        ("search/int16: values beyond 16 bits", "nmlsdr_choose_int16", "> 32766) q", "> 1e9) q"),
        ("search/int16: any scale", "nmlsdr_choose_int16", "if (!(norm > 0x1p-400 && norm < 0x1p400)) return;", ""),
        ("search/int16: never given up", "nmlsdr_int16_pays", "<= NMLSDR_INT16_SHARE", ">= 0"),
        ("search/int16: sparse rows by postings too", "nmlsdr_choose_int16", "q->storage.sparse || ", ""),
        ("search/int8: half of the slack", "nmlsdr_coarse_slack", "(float)(2 * sqrt", "(float)(1 * sqrt"),
        ("search/int8: nine tenths of the slack", "nmlsdr_coarse_slack", "(float)(2 * sqrt", "(float)(1.8 * sqrt"),
        ("search/int8: 98 hundredths of the slack", "nmlsdr_coarse_slack", "(float)(2 * sqrt", "(float)(1.96 * sqrt"),
        ("search/int8: the rounding of queries is not measured", "nmlsdr_coarse_slack", "if (q->queries != q->rows) {", "if (0) {"),
        ("search/int8: the rounding of a sample only", "nmlsdr_choose_int8", "nmlsdr_coarse_slack(q, 1)", "nmlsdr_coarse_slack(q, 4)"),
        ("search/int8: values beyond 8 bits", "nmlsdr_choose_int8", "127 / most;", "140 / most;"),
        ("search/int8: sums beyond 32 bits", "nmlsdr_choose_int8", " || q->d > 0x10000", ""),
        ("search/int8: never given up", "nmlsdr_int8_pays", "return 0.7 *", "return 0 *"),
        ("search/int8: packing costs nothing", "nmlsdr_int8_pays", "- NMLSDR_INT8_PACKING * packed", ""),
    ],
    ("_c/index.h", INTEGERS): [
        ("search/int16: queries of any length", "nmlsdr_index_takes", "<= 32766 && norms < 0x1p31", "<= 32766"),
        ("search/int16: queries of any value", "nmlsdr_index_takes", "extent.most * scale <= 32766 && norms", "norms"),
        ("search/int16: no reserve for queries", "nmlsdr_index_new", "extent.square *= 4;", ""),
    ],
    ("_c/products_candidates.h", INTEGERS): [
        ("search/int16: bounds of two rows by one slack", "nmlsdr_push", "2 * q->scaling.slack", "q->scaling.slack"),
        ("search/int16: a full buffer's bounds by one slack", "nmlsdr_tighten", "2 * q->scaling.slack", "q->scaling.slack"),
        ("search/int16: decided distances without slack", "nmlsdr_raise_to", "nmlsdr_below(limit), q->scaling.slack", "nmlsdr_below(limit), 0"),
        ("search/int8: thresholds without slack", "nmlsdr_raise", "q->scaling.coarse_slack)", "0)"),
        ("search/int8: thresholds a tenth higher", "nmlsdr_raise", "(float)(ratio * ratio)", "(float)(ratio * ratio * 0.9)"),
        ("search/int16: slack of squares", "nmlsdr_threshold", "apart * apart * (-0.5f - 0x1p-21f)", "bound - 0.5f * slack * slack"),
    ],
    ("_c/products_tile.h", INTEGERS): [
        ("search/int8: a tie of 16 bits is dropped", "NM_LEVEL", "(score[c] >= t)", "(score[c] > t)"),
        ("search/int8: the column's threshold not asked", "NM_LEVEL", "p->ta[i] < p->tb[j + c] ? p->ta[i] : p->tb[j + c];", "p->ta[i];"),
        ("search/int8: every second vector is not multiplied", "NM_LEVEL", "VI_MADD(odd, *(const VI *)(a + w + G), *(const VI *)(b + w + G));", ""),
    ],
    ("_c/products_pair.h", (*PRODUCTS, *INTEGERS)): [
        ("search/pair: the second pass forgotten", "NM_NAME", "if (!first) { NM_ROWS(NM_DO) }", ""),
        ("search/pair: the column's threshold not asked", "NM_NAME", "VMIN(t, t2)); }", "t); }"),
        ("search/pair: tiles that are ruled out", "NM_NAME", "if (!*++tile) continue;", "if (*++tile) continue;"),
    ],
    ("_c/products_packed.h", INTEGERS): [
        ("search/int16: the second of two integers lost", "nmlsdr_pack_int16", "<< (j & 1) * 16)", "<< 0)"),
        ("search/int8: sums start at 0", "nmlsdr_pack_int8", "= -128 * sum;", "= 0 * sum;"),
        ("search/int8: the second of two integers twice", "nmlsdr_pack_int8", ">> m % 2 * 16 &", ">> 16 &"),
    ],
    ("c_api.pyx", C): [
        ("search/C: k of all rows without queries", "nearest", "n - own", "n"),
    ],
    ("c_api.pyx", C_TABLE): [
        ("search/C: NULL is memory", "array_at", "refuse(memory is NULL, NULL_POINTER)", ""),
        ("search/C: queries NULL are the rows", "nearest", "queries is NULL and q == 0", "queries is NULL"),
        ("search/C: threads not clipped", "threads", "min(n_threads, most_threads()) if", "n_threads if"),
    ],
    ("_search/far_groups.py", GROUPS): [
        ("search/groups: no room for rounding", "_radii", "(rows.shape[1] + 8) * 2.0**-50", "0.0"),
        ("search/groups: distances twice as large", "_radii", "] = np.sqrt(", "] = 2 * np.sqrt("),
        ("search/groups: no underflow guard", "_apart", "apart > 1e-140)]", "apart > 0)]"),
        ("search/groups: the groups above forgotten", "_apart", "(first[g + 1] if g + 1 < len(own) else np.inf)", "np.inf"),
    ],
    ("_search/run.py", GROUPS): [
        ("search/groups: one row too few", "_by_groups", "k + itself or", "k or"),
        ("search/groups: every answer of a group kept", "_by_groups", "sqrt(found[0][:, -1]) < groups.apart[wanted]", "full(len(wanted), True)"),
        ("search/groups: those that failed are not searched again", "_by_groups", "flatnonzero(failed)", "flatnonzero(failed)[:0]"),
        ("search/groups: own row found beyond k duplicates", "_search_again", "=1), -1] = True", "=1), 0] = True"),
    ],
    ("_c/tree.h", TREE): [
        ("search/tree: a worst that changes only its index", "nmlsdr_offer_leaf", "] || index[0] != last", "]"),
        ("search/tree: index of a tie not asked", "nmlsdr_answer", "nmlsdr_worse(at.bound, rows->least[at.node], worst, last)", "at.bound >= worst"),
        ("search/tree: worst of the last query only", "nmlsdr_answer",
         "worst < 0 || nmlsdr_worse(q->squared[own * k], q->indices[own * k], worst, last)", "1"),
        ("search/tree: self not excluded", "nmlsdr_offer_leaf", "q->exclude_self", "0"),
        ("search/tree: places past the end", "nmlsdr_offer_leaf", "(row[c] == PTRDIFF_MAX || (", "(("),
    ],
    ("_c/tree_leaf.h", TREE): [
        ("search/tree: a query at the rim of a box", "NM_LEVEL", "(VGE(VLOAD(a", "(VGE(VSET1(0.999999) * VLOAD(a"),
        ("search/tree: order of the sums", "NM_LEVEL",
         "if (d > 6) more = t[2] + t[6];\n        even = even + more", "even = even + more;\n        if (d > 6) even = even + t[6]"),
    ],
    ("_c/nearest.h", PRODUCTS): [
        ("search/nearest: ties by the higher index", "nmlsdr_nearer", "a.row < b.row", "a.row > b.row"),
        ("search/nearest: the middle of an odd run", "nmlsdr_merge_halves", "a <= last_a ? *a : *b", "*a"),
        ("search/nearest: what was decided before", "nmlsdr_keep_nearest", "squared[0] < INFINITY ? k : 0", "0"),
        ("search/nearest: one of the own lost", "nmlsdr_keep_nearest", "own + n - 1;", "own + n - (own > 1);"),
    ],
    ("_c/products_tile.h", PRODUCTS): [
        ("search/tile: the column's threshold not asked", "NM_LEVEL", "VMIN(t, VLOAD(p->tb + j + c))", "t"),
        ("search/tile: the sweep's half before", "NM_LEVEL", "p->ta[i]); /* the half before may have raised it */", "INFINITY);"),
    ],
    ("_c/products.h", PRODUCTS): [
        ("search/schedule: the last round left out", "nmlsdr_spans_of", "< s.a) s.rounds", "< s.a / 2) s.rounds"),
        ("search/schedule: a pair of blocks of one span twice", "nmlsdr_run_spans", "!at->second && I == J ? a : J", "J"),
        ("search/schedule: the second window's rest", "nmlsdr_search_step", "* chunk < q->rows->blocks", "< 1"),
    ],
    ("_c/products.h", LEADS): [
        ("search/schedule: leading coordinates never given up", "nmlsdr_search_step", "if (q->tuning.lead_d) nmlsdr_review_leads(q);", ""),
    ],
    ("_search/rows.py", PRODUCTS): [
        ("search/storage: int64 columns read as int32", "kernel_rows", "rows.indices.astype(np.int32, copy=False)", "rows.indices"),
    ],
    ("_c/products_packed.h", LEADS): [
        ("search/leads: bound a tenth", "nmlsdr_pack_lead", ") * 0x1p-24;", ") * 0x1p-24 * 0.1;"),
        ("search/leads: no bound", "nmlsdr_pack_lead", "0.5 - (relative", "0.5 - 0 * (relative"),
    ],
    ("_search/leading.py", LEADS): [
        ("search/leads: axes not shortened, twice as long", "_axes", "* (1 - 1e-9)", "* 2"),
        ("search/leads: axes not checked", "_axes", "np.abs(axes.T @ axes - np.eye(d)).sum() < 1e-10", "True"),
    ],
    ("_c/few.h", FEW): [
        ("search/few: padding not zero", "nmlsdr_few_convert", ") to[j] = 0;", ") to[j] = 1 + (double)first;"),
        ("search/few: the last chunk", "nmlsdr_few_step", "left < q->chunk ? left : q", "q"),
    ],
    ("_c/shares.h", FEW): [
        ("search/few: the other threads' heaps", "nmlsdr_merge_shares", "s->n_shares;", "1;"),
    ],
    ("_c/shares.h", ("tests/core/test_neighbors_index.py",)): [
        ("search/few: a list taken for a heap", "nmlsdr_merge_shares", "p = k / 2; p", "p = 0; p"),
    ],
    ("_c/few_rows.h", PRODUCTS): [
        ("search/few: features behind the last eight", "NM_LEVEL", "+= gap * gap", "+= 0 * gap"),
        ("search/few: the fourth of four float rows", "NM_LEVEL", "squared + p, 0, 4);", "squared + p, 0, 3);"),
    ],
    ("_c/few.h", COSINE): [
        ("search/few: no slack by angle", "nmlsdr_few_offer_by_angle", "slack - heap", "heap"),
        ("search/few: a norm that is not known", "nmlsdr_few_offer_by_angle", "(norm[r] > 0 && 2", "(2"),
        ("search/few: rows of zeros by angle", "", "NMLSDR_ZERO_ROW 2.0", "NMLSDR_ZERO_ROW 0.0"),
    ],
    ("_c/distance.h", GRAPH): [
        ("search/distance: order of the fold", "nmlsdr_fold8",
         "(a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3", "a[0] + a[1]) + (a[2] + a[3]) + ((a[4] + a[5]) + (a[6"),
    ],
    ("_c/rows.h", GRAPH): [
        ("search/distance: sparse tail", "nmlsdr_merge", "for (; q < q_end; q++) a[y->", "for (; q < 0; q++) a[y->"),
    ],
    ("_c/heap.h", GRAPH): [
        ("search/distance: ties by the higher index", "nmlsdr_worse", "e && i > j);", "e && i < j);"),
    ],
    ("graph.py", GRAPH): [
        ("graph: sigma 0 allowed", "_check_weights", ", low_open=True", ""),
        ("graph: a median of 0 stays", "_rbf_weights", "sigma = 1.0", "sigma = 0.0"),
        ("graph: exp(-e / sigma^2)", "_rbf_weights", "(edge / sigma) / sigma", "edge / np.square(sigma)"),
        ("graph: edges only as they are named", "_rbf_weights", "edge[np.searchsorted(keys, columns * n + rows)] = squared.ravel()  #", "#"),
    ],
    ("_search/proposals.py", PLUGINS): [
        ("graph: the diagonal of a plug-in stays", "_stored_pairs", "owner != column if drop_diagonal else np", "np"),
    ],
    ("_process/threads.py", THREADS): [
        ("threads: no bound", "check_n_jobs", "n_jobs > _MOST_THREADS and n_jobs > most_threads()", "False"),
        ("threads: 64 always the most", "check_n_jobs", "_MOST_THREADS and n_jobs > most_threads()", "_MOST_THREADS"),
        ("threads: OMP_NUM_THREADS ignored", "check_n_jobs", "min(cores, int(setting))", "cores"),
    ],
    ("_process/threads.py", FORK): [
        ("threads: more after a fork", "check_n_jobs", "if _forked:\n        return 1", ""),
        ("threads: limits not counted", "leave", "self.entered == 0", "True"),
        ("threads: limits not restored", "leave", "library.set_num_threads(n_threads)", "pass"),
    ],
    ("_search/estimate.py", LARGE): [
        ("estimate: the symmetric half", "estimate_search", "m / 2 if n_queries is None else m", "m"),
    ],
}  # fmt: skip

SURVIVORS: dict[str, str] = {
    "search/select: counted without being over the threshold": "candidates that nobody needs are decided too: the same "
    "answer, later",
    "search/groups: one row too few": "a group of exactly k rows then gives its last neighbour the distance infinity, and the "
    "row is searched again among all rows",
    "search/leads: axes not checked": "the axes come from a QR decomposition, which is orthonormal; the check is there "
    "for a LAPACK that fails without an error",
    "search/leads: bound a tenth": "eight coordinates are rounded eight times, where the bound contains 25 roundings of "
    "twice the size",
    "search/bound: threshold of a full buffer without margin": "takes a relative 2^-20, less than the 16 roundings that "
    "the bounds of the scores contain beside those of the products",
    "search/select: rounded up": "one more rounding of a bound that leaves room for 16 beside those of the products",
}
