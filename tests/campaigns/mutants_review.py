"""Mutants of the review: its list, its page, the page's script, and verdicts; mutation.py says what the rows hold.

Those of the script need Chromium and Playwright; without them nothing notices them.
"""

# ruff: noqa: E501  (a mutant a line)

BROWSER = ("tests/doors/test_review_browser.py",)
PAGE = ("tests/doors/test_review_page.py", "tests/doors/test_review_browser.py")
VERDICTS = ("tests/doors/test_review_page.py", "tests/doors/test_cli_review.py")
LIST = ("tests/doors/test_inspection.py",)

MUTANTS = {
    ("inspection/review.js", BROWSER): [
        ("review/script: the score before the verdict", "", "!done && !early ?", "early ?"),
        ("review/script: wrong is right", "", "isTold(one) && one.verdict !== one.given", "isTold(one) && one.verdict === one.given"),
        ("review/script: cannot tell is told", "", "one !== undefined && (one.verdict === 0 || one.verdict === 1)", "one !== undefined && one.verdict !== undefined"),
        ("review/script: cannot tell is not kept", "", "/^([01]|-2) (\\d+)$/", "/^([01]) (\\d+)$/"),
        ("review/script: another label is given where it is not", "", "data.has[places.get(row)].includes(label) ? 1 : 0", "data.has[places.get(row)].includes(label) ? 0 : 1"),
        ("review/script: verdicts on unknown entries", "", " || data.unknown[places.get(row)].includes(label)", ""),
        ("review/script: unknown labels as switches", "", "c !== one.label && !unknown.includes(c)", "c !== one.label"),
        ("review/script: switches of what was checked earlier", "", "data.earlier.some(([row, label]) => row === one.row && label === c)", "false"),
        ("review/script: a switch cannot go back", "", "isWrong(entries[i]) ? undefined : 1 - given", "1 - given"),
        ("review/script: a list of other labels is taken", "", "if (differ.length)", "if (false)"),
        ("review/script: names of properties are words", "", "words.get(word)", "data.words[word]"),
        ("review/script: rows of another id", "", "(id < 0 || bare(cells[id]) === bare(idOf(at)))", "true"),
        ("review/script: keep is no word", "", 'word === "keep" ? was : ', ""),
        ("review/script: keep changes", "", 'word === "keep" ? was :', 'word === "keep" ? 1 - was :'),
        ("review/script: an earlier verdict that differs is not said", "", "before[3] !== value", "false"),
        ("review/script: the file lacks earlier verdicts", "", "[...data.earlier.map(", "[...[].map("),
        ("review/script: the file gives unknown labels", "", 'given < 0 ? "" : given', "given"),
        ("review/script: formulas in the file", "", """(formula.test(cell) ? "'" + cell : cell)""", "cell"),
        ("review/script: the estimate counts all lists", "", "inList(one, tab === CHECKED ? 0 : tab)", "inList(one, 0)"),
        ("review/script: the estimate counts all labels", "", '(tab === CHECKED || ["", String(one.label)].includes(pick("label").value))', "true"),
        ("review/script: no neighbour is doubtful", "", 'i < data.doubtful ? "doubtful too" : ""', '""'),
        ("review/script: every listed neighbour is doubtful", "", "i < data.doubtful", "i < n_listed"),
        ("review/script: neighbours of any label are doubtful", "", """row + " " + label), one = entries[i]""", """row + " " + 0), one = entries[i]"""),
        ("review/script: what was said of a neighbour", "", '!isWrong(one) ? "right"', 'isWrong(one) ? "right"'),
        ("review/script: forgotten is given wrongly", "", 'one.given ? "given wrongly" : "forgotten"', 'one.given ? "forgotten" : "given wrongly"'),
        ("review/script: unknown labels are none", "", '(unknown.length ? "; unknown: "', '(false ? "; unknown: "'),
        ("review/script: ranks of both kinds together", "", "++ranks[one.given]", "++ranks[0]"),
        ("review/script: keys of the page in one part only", "", "if (data.linked && !", "if (!"),
        ("review/script: the picture of another row", "", "replaceChildren(pictureOf(one.row))", "replaceChildren(pictureOf(one.row + 1))"),
        ("review/script: marks without their order", "", "[...pulls.keys(), ...lines.keys(), ...data.columns.keys()]", "[...data.columns.keys()]"),
        ("review/script: for is against", "", 'pull > 0 ? "▲" : "▼"', 'pull > 0 ? "▼" : "▲"'),
        ("review/script: find looks into other rows", "", "column[places.get(one.row)]", "column[places.get(one.row) + 1]"),
        ("review/script: undo forgets the verdict before", "", "setVerdict(last.i, last.before)", "setVerdict(last.i, undefined)"),
        ("review/script: nothing to undo after a reload", "", "history = decided().reverse().map((i) => ({ i, before: undefined }))", "history = []"),
        ("review/script: other labels are entries of the list", "", "(done.length - more)", "done.length"),
        ("review/script: every label in a wide row", "", "some.length <= 16 ? some : some.filter", "some.length <= 1600 ? some : some.filter"),
    ],
    ("inspection/review_parts.js", BROWSER): [
        ("review/script: the estimate sees the first ones", "", "last = count(wrong.slice(-20))", "last = count(wrong.slice(0, 20))"),
        ("review/script: verdicts further down count", "", "5 * ++done >= 4 * (k + 1)", "++done"),
        ("review/script: one that is left out ends the top", "", "5 * ++done >= 4 * (k + 1)", "++done >= k + 1"),
        ("review/script: cannot tell is told to the estimate", "", "one.verdict >= 0", "one.verdict !== undefined"),
        ("review/script: words are broken", "", "0.92 * n", "0.6 * n"),
        ("review/script: a missing cell has a place", "", "if (at === null)", "if (false)"),
        ("review/script: the ends exchanged", "", "isolated(low), isolated(high)", "isolated(high), isolated(low)"),
        ("review/script: low is high", "", 'at <= q[4] ? "high" : "above nearly all"', 'at <= q[4] ? "above nearly all" : "high"'),
        ("review/script: the curve of the last ten", "", "wrong.slice(Math.max(0, k - 19), k + 1)", "wrong.slice(Math.max(0, k - 9), k + 1)"),
        ("review/script: a curve of nothing", "", "hidden = n < 10", "hidden = false"),
        ("review/script: the band is narrower", "", "high: end(0.95)", "high: end(0.9)"),
        ("review/script: a quote ends the cell", "", """else if (text[k + 1] === '"') { cell += c; k++; }""", ""),
    ],
    ("inspection/_page.py", PAGE): [
        ("review/page: every column tells something", "_add_parts", "strength[n] > 1.0", "strength[n] > 0.0"),
        ("review/page: unknown labels tell something", "_clearness", "target != -1", "target != -2"),
        ("review/page: with and without the label exchanged", "_strip", "for value in (1, 0)", "for value in (0, 1)"),
        ("review/page: a scale of all rows", "_strip", "np.multiply(ENDS, len(order) - 1)", "np.multiply((0, 1), len(order) - 1)"),
        ("review/page: equal in one of the columns", "_strip", ".all(axis=1)", ".any(axis=1)"),
        ("review/page: pictures of the columns that tell least", "_add_parts", "key=lambda n: -strength[n]", "key=lambda n: strength[n]"),
        ("review/page: against before for", "_add_parts", 'first = np.abs(parts), -1 if one["given"] else 1', 'first = np.abs(parts), 1 if one["given"] else -1'),
        ("review/page: parts of nothing are marked", "_add_parts", "> 0.05 * size.max()", "> 0 * size.max()"),
        ("review/page: a missing cell is marked", "_add_parts", "np.where(absent[place], 0.0, part * counts)", "part * counts"),
        ("review/page: a missing cell has a place", "_add_parts", "None if hole else value", "value"),
        ("review/page: missing cells are among the groups", "_strip", "np.flatnonzero(~absent)", "np.arange(len(absent))"),
        ("review/page: chance is marked", "_add_parts", "part * counts", "part"),
        ("review/page: no cross is a missing cell", "missing_words", '() if "" in c.levels else ', ""),
        ("review/page: unlabelled rows are in the groups", "_add_parts", "target[:, c] != -1", "target[:, c] != -2"),
        ("review/page: what is not given is unknown", "describe_entries", "target[numbers] == -1", "target[numbers] == 0"),
        ("review/page: the labels before are those after", "write_review", "given=target if given is None else labels_to_review(given)[0]", "given=target"),
    ],
    ("inspection/_verdicts.py", VERDICTS): [
        ("review/verdicts: of another table", "read_verdicts", "if others and not corrected", "if False"),
        ("review/verdicts: corrected labels are refused", "read_verdicts", "if others and not corrected", "if others"),
        ("review/verdicts: an entry that is unknown now differs", "read_verdicts", "given[i, c] != -1 and LABELS", "LABELS"),
        ("review/verdicts: cannot tell is refused", "read_verdicts", "value not in (0, 1, UNCLEAR)", "value not in (0, 1)"),
        ("review/verdicts: cannot tell is a verdict", "apply_verdicts", "verdicts >= 0", "verdicts != -1"),
    ],
    ("inspection/_images.py", PAGE): [
        ("review/images: a pipe", "thumbnails", " or not path.is_file()", ""),
        ("review/images: a long side", "_data_uri", "max(opened.size) > MOST_SIDE", "False"),
    ],
    ("inspection/_review.py", LIST): [
        ("review/list: equal scores by the row", "rank_suspects", "(-s, -suspicion)", "(-suspicion,)"),
        ("review/list: one kind has the other", "rank_suspects", '(is_given == (kind == "wrong"))', '(is_given == (kind == "forgotten"))'),
    ],
    ("_thresholds.py", ("tests/core/test_flip_interval.py", "tests/core/test_residual.py", "tests/doors/test_inspection.py")): [
        ("review/list: rates are not brought together", "labels_forget_rate", "(h0 + r) / 2", "h0"),
    ],
    ("_estimators/_residual.py", ("tests/core/test_verdicts.py",)): [
        ("review/list: the rate of corrected labels", "_set_thresholds", "_estimate_rates(given.predictions, given", "_estimate_rates(last.predictions, last"),
        ("verdicts/neighbours change them", "_to_learn", "np.where(decided, 0.0, ", "np.where(decided, 0.5, "),
        ("verdicts/only the last fit", "_to_learn", "if labels.single else", "if True else"),
    ],
    ("_thresholds.py", ("tests/core/test_verdicts.py",)): [
        ("verdicts/threshold of the labels as given", "cutoffs_with_verdicts", "added[:, part].sum() <= 0 and", ""),
        ("verdicts/a threshold below that of the labels as given", "cutoffs_with_verdicts", "np.maximum(cutoffs[part], least)", "least"),
        ("verdicts/unknown entries", "cutoffs_with_verdicts", "later[:, part][known[:, part]]", "later[:, part]"),
        ("verdicts/a label that only verdicts give", "cutoffs_with_verdicts", "np.where(np.isinf(cutoffs), ", "np.where(False, "),
        ("verdicts/shares of labels that people removed", "cutoffs_with_verdicts", "np.maximum(added.sum(axis=0), 0.0)", "added.sum(axis=0)"),
        ("verdicts/shares though people removed more", "cutoffs_with_verdicts", " if added.sum() > 0 else 0.0", ""),
    ],
}  # fmt: skip

SURVIVORS: dict[str, str] = {}
