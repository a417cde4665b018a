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
        ("review/script: wrong is right", "", "isTold(i) && entries[i].verdict !== entries[i].given", "isTold(i) && entries[i].verdict === entries[i].given"),
        ("review/script: cannot tell is told", "", "i !== undefined && (entries[i].verdict === 0 || entries[i].verdict === 1)", "i !== undefined && entries[i].verdict !== undefined"),
        ("review/script: cannot tell is not kept", "", "/^([01]|-2) (\\d+)$/", "/^([01]) (\\d+)$/"),
        ("review/script: another label is given where it is not", "", "data.has[places.get(row)].includes(label) ? 1 : 0", "data.has[places.get(row)].includes(label) ? 0 : 1"),
        ("review/script: verdicts on unknown entries", "", " || data.unknown[places.get(row)].includes(label)", ""),
        ("review/script: unknown labels as switches", "", "c !== one.label && !unknown.includes(c)", "c !== one.label"),
        ("review/script: switches of what was checked earlier", "", "data.earlier.some(([row, label]) => row === one.row && label === c)", "false"),
        ("review/script: a switch cannot go back", "", "entries[i].verdict !== given ? undefined : 1 - given", "entries[i].verdict !== given ? given : 1 - given"),
        ("review/script: a list of other labels is taken", "", "if (differ.length)", "if (false)"),
        ("review/script: names of properties are words", "", "words.get(word)", "data.words[word]"),
        ("review/script: rows of another id", "", "(id < 0 || bare(cells[id]) === bare(idOf(at)))", "true"),
        ("review/script: keep is no word", "", 'word === "keep" ? was : ', ""),
        ("review/script: keep changes", "", 'word === "keep" ? was :', 'word === "keep" ? 1 - was :'),
        ("review/script: an earlier verdict that differs is not said", "", "before[3] !== value", "false"),
        ("review/script: the file lacks earlier verdicts", "", "[...data.earlier.map(", "[...[].map("),
        ("review/script: the file gives unknown labels", "", 'given < 0 ? "" : given', "given"),
        ("review/script: formulas in the file", "", """(formula.test(cell) ? "'" + cell : cell)""", "cell"),
        ("review/script: the estimate sees the first ones", "", "expected(count(found.slice(0, 20)), 20, m)", "expected(count(found.slice(-20)), 20, m)"),
        ("review/script: the estimate counts all lists", "", "isTold(i) && inList(entries[i], list)), n", "isTold(i)), n"),
        ("review/script: find looks into other rows", "", "column[places.get(one.row)]", "column[places.get(one.row) + 1]"),
        ("review/script: undo forgets the verdict before", "", "setVerdict(last.i, last.before)", "setVerdict(last.i, undefined)"),
        ("review/script: nothing to undo after a reload", "", "history = decided().reverse().map((i) => ({ i, before: undefined }))", "history = []"),
        ("review/script: other labels are entries of the list", "", "(done.length - more)", "done.length"),
        ("review/script: every label in a wide row", "", "some.length <= 16 ? some : some.filter", "some.length <= 1600 ? some : some.filter"),
    ],
    ("inspection/review_parts.js", BROWSER): [
        ("review/script: against before for", "", "one.given ? -1 : 1", "one.given ? 1 : -1"),
        ("review/script: parts of nothing are marked", "", "> 0.05 * Math.abs", "> 0 * Math.abs"),
        ("review/script: low is high", "", 'at <= q[4] ? "high" : "above nearly all"', 'at <= q[4] ? "above nearly all" : "high"'),
        ("review/script: the curve of the last ten", "", "wrong.slice(Math.max(0, k - 19), k + 1)", "wrong.slice(Math.max(0, k - 9), k + 1)"),
        ("review/script: a curve of nothing", "", "hidden = n < 10", "hidden = false"),
        ("review/script: the band is narrower", "", "high: end(0.95)", "high: end(0.9)"),
        ("review/script: a quote ends the cell", "", """else if (text[k + 1] === '"') { cell += c; k++; }""", ""),
    ],
    ("inspection/_page.py", PAGE): [
        ("review/page: every column tells something", "_telling_columns", "t2 > 2 * np.log(2 * len(column))", "t2 > 0"),
        ("review/page: unknown labels tell something", "_telling_columns", "y != -1", "y != -2"),
        ("review/page: with and without the label exchanged", "_groups", "(1, 0)", "(0, 1)"),
        ("review/page: a scale of all rows", "_scale", "(0.01, 0.99)", "(0.0, 1.0)"),
        ("review/page: equal in one of the columns", "_shares", ".all(axis=1)", ".any(axis=1)"),
        ("review/page: pictures of the smallest parts", "_add_parts", "key=lambda j: -abs(parts[j])", "key=lambda j: abs(parts[j])"),
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
    ("_estimators/_thresholds.py", ("tests/core/test_flip_interval.py", "tests/core/test_residual.py", "tests/doors/test_inspection.py")): [
        ("review/list: rates are not brought together", "labels_forget_rate", "(h0 + r) / 2", "h0"),
    ],
    ("_estimators/_residual.py", ("tests/core/test_residual.py", "tests/doors/test_review_page.py")): [
        ("review/list: unknown labels before corrections", "_before_corrections", "before.known & labels.known", "labels.known"),
        ("review/list: the rate of corrected labels", "fit", "_estimate_rates(*before)", "_estimate_rates(O, labels)"),
    ],
}  # fmt: skip

SURVIVORS: dict[str, str] = {}
