"""Mutants of the rules on the texts of a table: numbers, words, units, lists; mutation.py says what the rows hold."""

# ruff: noqa: E501  (a mutant a line)

NUMBERS = ("tests/tables/test_numbers.py",)
WORDS = ("tests/tables/test_words.py",)
UNITS = ("tests/tables/test_units.py",)
LISTS = ("tests/tables/test_lists_in_cells.py",)
TABLES = ("tests/tables/test_table_texts.py", "tests/tables/test_deciding_bounds.py")

MUTANTS = {
    ("tables/_numbers.py", NUMBERS): [
        ("texts/numbers: typeset signs are no minus", "plain_text", "text.translate(_ALIKE)", "text"),
        ("texts/numbers: few decimals are thousands", "_points", "len(marked) >= FEW_GROUPED", "True"),
        ("texts/numbers: 1000 is no thousand", "_points", "largest < 1000", "largest <= 1234"),
        ("texts/numbers: Spanish is forgotten", "_points", "1000 <= largest < 10_000", "False"),
        ("texts/numbers: the other columns are not asked", "_points", "usual not in (None, mark)", "False"),
        ("texts/numbers: what is said is doubted", "find_notation", "decimal is thousands is None", "True"),
        ("texts/numbers: whole numbers of 16 digits", "", 'else r"\\d{1,15}"', 'else r"\\d{1,16}"'),
        ("texts/numbers: two points are decimals", "decimal_mark", "point + comma > 1", "False"),
    ],
    ("_checks/words.py", (*WORDS, *NUMBERS)): [
        ("texts/words: not composed", "trim", 'unicodedata.normalize("NFC", text)', "text"),
        ("texts/words: half a pair is enough", "yes_no", "{*found.values()} == {0, 1}", "None not in found.values()"),
        ("texts/words: a letter alone is a label", "label_words", "len(some) != 1 or ", "True or "),
        ("texts/words: said words come last", "_answers", "[{fold(no): 0, fold(yes): 1}, *LANGUAGES]", "[*LANGUAGES, {fold(no): 0, fold(yes): 1}]"),
    ],
    ("tables/_units.py", (*UNITS, *TABLES)): [
        ("texts/units: leading zeros pass", "split_number", 're.match(r"0\\d", number)', "False"),
        ("texts/units: years are denominators", "", '|^/(19|20)\\d\\d$', ""),
        ("texts/units: months are units", "split_number", 'unit in load_json(__package__, "units.json")["not_units"]', "False"),
        ("texts/units: unknown unit is its bare number", "read_quantities", "(part.unit in factors or not (factors or part.unit))", "True"),
        ("texts/units: five units", "find_units", "n_units > MOST_UNITS", "n_units > MOST_UNITS + 1"),
        ("texts/units: converted the other way", "find_units", "sizes[unit] / sizes[order[0]]", "sizes[order[0]] / sizes[unit]"),
        ("texts/units: bare numbers are not marked", "find_units", "[WITHOUT] * (n_units > 1)", "[]"),
        ("texts/units: unit of one letter folded", "unit_of", "len(unit) <= 1", "len(unit) <= 0"),
    ],
    ("tables/_units.py", ("tests/tables/test_notations.py",)): [
        ("texts/notations: a range is its first number", "read_quantities", "(number + other) / 2", "number"),
        ("texts/notations: ranges need not ascend", "read_quantities", "number < other", "number != other"),
        ("texts/notations: the larger unit comes second", "split_number", "< size", "!= size"),
        ("texts/notations: numbers in brackets are positive", "split_number", 'f"-{parts.number}"', "parts.number"),
    ],
    ("tables/_deciding.py", ("tests/tables/test_notations.py",)): [
        ("texts/notations: all cells may be rare", "_leave_rare", "2 * n_cells[rare].sum() >", "n_cells[rare].sum() >"),
        ("texts/notations: ranges that do not ascend stay", "_leave_rare", "np.isnan(values[self._are(facts, rare)]).any()", "False"),
        ("texts/notations: dates in 70 % of the cells", "_as_dates", "SHARE * facts.n_known", "0.7 * facts.n_known"),
        ("texts/notations: 94 % make an identifier", "", "NEARLY = 0.95", "NEARLY = 0.94"),
        ("texts/notations: the first identifier is meant", "_one_identifier", "key=lambda column: self._is_likely(column.name)", "key=lambda column: 0"),
    ],
    ("tables/_dates.py", ("tests/tables/test_notations.py",)): [
        ("texts/notations: any language has a month", "find_months", "all(months[w] == found[0][w] for months in found for w in words)", "True"),
    ],
    ("tables/_shapes.py", ("tests/tables/test_shapes.py",)): [
        ("texts/shapes: leading zeros are forgotten", "_shape", "(behind | (data != ord(\"0\")))", "(data == data)"),
        ("texts/shapes: all zeros are kept", "_shape", "behind | (data", "(data"),
        ("texts/shapes: line breaks are not counted", "fold_all", 'if joined.count("\\n") != len(texts) - 1:', "if False:"),
        ("texts/shapes: blanks in front stay", "trim_all", " or f\"\\n{blank}\" in framed", ""),
    ],
    ("tables/_units.py", ("tests/tables/test_shapes.py",)): [
        ("texts/forms: digits of units are forgotten", "forms_of", "if not ends:", "if True:"),
        ("texts/forms: a minus sign in front of the money is lost", "of", '"-" * (', '"" * ('),
    ],
    ("tables/_lists.py", LISTS): [
        ("texts/lists: blood groups", "_split", "2 * n_several > n_separated", "True"),
        ("texts/lists: words need not recur", "_split", "sum(counts.values()) / CELLS_PER_ITEM)", "sum(counts.values()))"),
        ("texts/lists: as many words as texts", "_split", "n_texts - 1", "n_texts"),
        ("texts/lists: sentences", "_split", "often and recur and short", "often and recur"),
    ],
    ("tables/_deciding.py", TABLES): [
        ("texts/deciding: slips by one", "_words_for_missing", "> max(10, SLIPS", ">= max(10, SLIPS"),
        ("texts/deciding: six words", "_is_mostly", "others.sum() > FEW_WORDS", "others.sum() > FEW_WORDS + 1"),
        ("texts/deciding: nineteen rows are counted", "_number", ">= LEAST_COUNTED", ">= LEAST_COUNTED - 1"),
        ("texts/deciding: a third of the words are labels", "_holds_labels", "2 * len(parts & self.labels)", "3 * len(parts & self.labels)"),
        ("texts/deciding: filled by chance", "_like_labels", "facts.n_known >= enough", "facts.n_known > enough - 2"),
        ("texts/deciding: 94 percent have a unit", "_reading", ">= SHARE * facts.n_known", ">= (SHARE - 0.01) * facts.n_known"),
        ("texts/deciding: NA is never a level", "_with_words", "levels |= own -", "levels |= set() & own -"),
        ("texts/deciding: a frequent word is no level", "_with_words", "counts[w] >= LEVEL_SHARE * facts.n_known", "False"),
        ("texts/deciding: rare units are units", "_reading", "n < min(FREQUENT, SLIPS * facts.n_known)", "False"),
    ],
    ("tables/_plan.py", TABLES): [
        ("texts/plan: 999 is a number in plain columns", "_encode", "not any(map(is_number, missing))", "True"),
        ("texts/plan: nothing is missing among crosses", "_encode", 'known.get("", np.nan)', "np.nan"),
    ],
    ("tables/_files.py", TABLES): [
        ("texts/files: two percent are new words", "new_words", "else MOST_NEW", "else 2 * MOST_NEW"),
        ("texts/files: labels are guessed", "new_words", " + problem.is_label * n_rows", ""),
    ],
}

SURVIVORS: dict[str, str] = {}
