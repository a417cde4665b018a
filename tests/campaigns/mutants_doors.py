"""Mutants of readers, model files, outputs, the command line and the runner; mutation.py says what the rows hold."""

# ruff: noqa: E501  (a mutant a line)

ARFF = ("tests/test_readers_arff.py", "tests/test_readers_hostile.py", "-k", "not damaged_files")
TABLES = (
    "tests/test_readers_forms.py",
    "tests/test_readers_tables.py",
    "tests/test_readers_kinds.py",
    "tests/test_readers_svmlight.py",
    "tests/test_readers_hostile.py",
    "-k",
    "not damaged_files",
)
MODEL = (
    "tests/test_model_file_forged.py",
    "tests/test_model_file.py",
    "tests/test_model_file_estimators.py",
    "tests/test_model_file_preparing.py",
)
OUTPUT = (
    "tests/test_output.py",
    "tests/test_cli_errors.py",
    "-k",
    "output or outputs or full or link or killed or interrupt",
)
COMMAND = ("tests/test_cli.py", "tests/test_cli_forms.py", "tests/test_cli_review.py")
REFUSALS = ("tests/test_cli.py", "tests/test_cli_errors.py")
REVIEW = ("tests/test_review_page.py",)
STORE = ("tests/test_experiments_kill.py", "-k", "full or killed_at or failing or outlives")

MUTANTS = {
    ("inspection/_page.py", REVIEW): [
        ("doors/review: a row is its own neighbour", "nearest_rows", "if j != i", "if True"),
        ("doors/review: one neighbour less", "nearest_rows", "min(k + 1, len(searched))", "min(k, len(searched))"),
        ("doors/review: neighbours with and without the label swapped", "describe_entries", "target[:, c] == 1, N_EACH", "target[:, c] == 0, N_EACH"),
        ("doors/review: the nearest rows need no labels", "describe_entries", "(target != -1).any(axis=1)", "(target != -2).any(axis=1)"),
        ("doors/review: earlier verdicts of 0 are lost", "describe_entries", "verdicts >= 0", "verdicts > 0"),
        ("doors/review: earlier verdicts are what was given", "describe_entries", "target if given is None else given", "target"),
        ("doors/review: the digest knows no labels", "describe_entries", 'one["row"], label_names[one["label"]], one["given"]', 'one["row"], one["given"]'),
        ("doors/review: long cells are whole", "describe_entries", "text[:LONGEST_CELL]", "text"),
        ("doors/review: values are not centred", "_add_parts", "- method.mean_", ""),
        ("doors/review: parts of other columns", "_add_parts", "places.get(name, len(columns))", "places.get(name, 0)"),
        ("doors/review: the smallest coefficients stay", "_add_parts", "-np.abs(coef)", "np.abs(coef)"),
        ("doors/review: steps before the model are skipped", "write_review", "X = before.transform(X)", "pass"),
        ("doors/review: what was checked is listed again", "write_review", "reviewed=reviewed", "reviewed=None"),
    ],
    ("inspection/_verdicts.py", REVIEW): [
        ("doors/verdicts: neighbours change them", "apply_verdicts", "np.where(decided, 0.0,", "np.where(decided, 0.5,"),
        ("doors/verdicts: a verdict of 0 changes nothing", "apply_verdicts", "verdicts >= 0", "verdicts > 0"),
        ("doors/verdicts: of rows with one id the first", "read_verdicts", "i = int(row)", "pass"),
    ],
    ("inspection/_images.py", REVIEW): [
        ("doors/images: a link", "thumbnails", "path.resolve() != path", "False"),
        ("doors/images: outside of the folder", "thumbnails", "not path.is_relative_to(root)", "False"),
        ("doors/images: any size together", "thumbnails", "used <= MOST_BYTES", "True"),
        ("doors/images: any kind", "_data_uri", "formats=FORMATS", "formats=None"),
        ("doors/images: any size", "_data_uri", "picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))", "pass"),
    ],
    ("datasets/_files.py", TABLES): [
        ("doors/files: growth not bounded", "allowance", "min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_GROWTH * os.path.getsize(path)))", "MAX_BYTES"),
        ("doors/files: what is said is not believed", "allowance", "if max_bytes is not None:\n        return max_bytes", ""),
        ("doors/files: lines cost nothing", "__init__", "LINE_COST if packed and max_bytes is None else 0", "0"),
        ("doors/files: lack of memory becomes a sentence", "foreign_bytes", "isinstance(error, MemoryError)", "False"),
        ("doors/files: every blank skipped", "", '" \\t\\n\\r\\v\\f"', '" \\t\\n\\r\\v\\f\\x1c\\x1d\\x1e\\x1f\\x85\\xa0"'),
    ],
    ("datasets/_files.py", ARFF): [
        ("doors/files: endless line", "__next__", "raw) > limit:", "raw) > limit + 1:"),
        ("doors/files: NUL passes", "__next__", '"\\0" in text', "False"),
        ("doors/files: byte order mark kept", "__next__", '.removeprefix("\\ufeff")', ""),
    ],
    ("datasets/_cells.py", TABLES): [
        ("doors/cells: digits of any script", "number_problem", "not text.isascii()", "False"),
        ("doors/cells: fast way takes any script", "_values", 'not text.isascii() or "', '"'),
        ("doors/cells: fast way takes 1_0", "_values", ') or "_" in text', ")"),
        ("doors/cells: infinite passes in blocks", "_values", "not np.isfinite(values).all()", "False"),
        ("doors/cells: written -1 forgotten", "_label", 'self._minus_one |= text.startswith("-")', ""),
        ("doors/cells: plus and minus one of arrays pass", "label_array", "(labels == -1).any()", "False"),
        ("doors/cells: left-out labels fill the memory", "add", "2 * len(self._labels) > self.lines.allowed", "False"),
        ("doors/cells: plus and minus one pass", "contents", "self._minus_one", "False"),
        ("doors/lists: table of labels not bounded", "indicator", "check_size(path, len(rows) * len(names) * 8, declared, wanted.max_bytes)", ""),
    ],
    ("datasets/_cells.py", ARFF): [
        ("doors/cells: omitted value of zero stored", "add", "found[j] != 0", "True"),
        ("doors/cells: sparse rows fill the memory", "add", "len(self._indices) > self._max_entries", "False"),
    ],
    ("datasets/_arff.py", ARFF): [
        ("doors/arff: index beyond the attributes", "_sparse_cells", "column >= width", "column > width"),
        ("doors/arff: index twice", "_sparse_cells", "column in cells", "False"),
        ("doors/arff: text after the brace", "_sparse_cells", "position != len(text)", "False"),
        ("doors/arff: short row", "_dense_cells", "len(cells) != width", "False"),
        ("doors/arff: long row", "_dense_cells", "len(cells) == width", "False"),
        ("doors/arff: quoted ? is missing", "_dense_cells", "quoted is None and plain", "plain"),
        ("doors/arff: half characters kept", "unquote", 'any("\\ud800" <= character < "\\ue000" for character in found)', "False"),
        ("doors/arff: any number of values", "_nominal", "len(values) >= most", "False"),
    ],
    ("datasets/_csv.py", TABLES): [
        ("doors/csv: any number of cells", "texts", "n_delimiters > most", "False"),
        ("doors/csv: rows after a blank line", "table_rows", "elif blank:", "elif False:"),
        ("doors/csv: another width", "table_rows", "len(cells) != len(names)", "False"),
    ],
    ("datasets/_svmlight.py", TABLES): [
        ("doors/svmlight: any row matches", "__iter__", "is None or int", "is not None and int"),
        ("doors/svmlight: an index beyond what fits", "read_svmlight", "except OverflowError:", "except RecursionError:"),
        ("doors/svmlight: infinite passes", "read_svmlight", "if len(wrong):", "if False:"),
        ("doors/svmlight: blank lines are passed over", "__iter__", "if blank:", "if False:"),
        ("doors/svmlight: labels not looked at", "__iter__", "self._check_labels(found[1])", ""),
        ("doors/svmlight: the pattern goes back", "", ': ++|$))*+")', ': *|$))*")'),
        ("doors/svmlight: zeros are stored", "read_svmlight", "data.eliminate_zeros()", ""),
    ],
    ("datasets/_binary.py", TABLES): [
        ("doors/npz: any characters", "_names", '"".join(names if sound else []).encode()', ""),
        ("doors/npz: declared rows not bounded", "_sparse",
         'check_size(path, (n_rows + 1) * 8, f"declares {n_rows} rows, a table of", wanted.max_bytes)', ""),
        ("doors/npz: array twice", "load_arrays", "name in arrays", "False"),
        ("doors/parquet: every column unpacked", "_batches", ", columns=[names[j] for j in columns]", ""),
    ],
    ("datasets/_mulan.py", ARFF): [
        ("doors/xml: entities pass", "read_labels", "parser.StartDoctypeDeclHandler = refuse\n    parser.EntityDeclHandler = refuse", ""),
        ("doors/xml: label twice", "start", "name in names", "False"),
    ],
    ("_model/archive.py", MODEL): [
        ("doors/model: member twice", "_members", "len(members) != len(infos)", "False"),
        ("doors/model: huge schema", "_members", "members[_SCHEMA].file_size > _SCHEMA_BYTES", "False"),
        ("doors/model: overlapping members", "_members", "info.header_offset < end", "False"),
        ("doors/model: packed members", "_members", "info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size", "False"),
        ("doors/model: size not bounded", "_members", "sum(info.file_size for info in infos) > max_bytes", "False"),
        ("doors/model: any type", "_check_node", "kind not in _TYPES.get(loader, ())", "False"),
        ("doors/model: one id for two parts", "_check_node", "or seen.setdefault(identity, node) != node", ""),
        ("doors/model: one member for two arrays", "_check_node", 'or files.setdefault(node["file"], identity) != identity', ""),
        ("doors/model: parts not looked into", "_check_node", "part in inner:", "part in inner[:0]:"),
        ("doors/model: any protocol", "read", 'type(schema["protocol"]) is not int or schema["protocol"] < _PROTOCOL', "False"),
    ],
    ("_checks/arguments.py", (*TABLES[:3], *MODEL)): [
        ("doors/arrays: sizes not compared", "check_array_header", "or file.tell() + math.prod(shape) * dtype.itemsize != size", ""),
        ("doors/arrays: objects of any kind", "check_array_header", "dtype.hasobject or dtype.kind not in kinds or", ""),
    ],
    ("_model/reading.py", MODEL): [
        ("doors/model: parameters unchecked", "revived", "check_parameter(name, key, value)", "pass"),
        ("doors/model: values unchecked", "_attribute", "check_value(what, value, field, letters)", ""),
        ("doors/model: answers not compared", "content_in", 'check_answers(estimator, _value(content["rows"]), _value(content["answers"]))', ""),
        ("doors/model: no warning of another version", "open_model", "written != sklearn.__version__", "False"),
    ],
    ("_model/checking.py", MODEL): [
        ("doors/model: not finite passes", "_check_range", 'array.dtype.kind == "f" and not np.isfinite(array).all()', "False"),
        ("doors/model: infinite passes everywhere", "_check_range", "field.infinite", "True"),
        ("doors/model: order unchecked", "_check_array", "field.in_order and not array.flags.c_contiguous", "False"),
        ("doors/model: shapes unchecked", "check_value", "if not agrees:", "if False:"),
        ("doors/model: more neighbours than rows", "check_value", 'not 1 <= letters.get("k", 1) <= letters.get("n", np.inf)', "False"),
        ("doors/model: children before their parent", "make_tree", "or (left <= inner).any() or (right <= inner).any()", ""),
        ("doors/model: children in two places", "make_tree", "not each_once or (", "("),
        ("doors/model: features out of range", "make_tree", "feature.min(initial=0) < 0 or feature.max(initial=0) >= n_features", "False"),
        ("doors/model: depth not computed", "make_tree", 'max_depth": depth, "', 'max_depth": 0, "'),
    ],
    ("_model/writing.py", MODEL): [
        ("doors/model: labels' names of the first step", "content_out", 'label_names_in_", -1)', 'label_names_in_", 0)'),
        ("doors/model: plain form not asked for", "bare", 'hasattr(estimator, "to_local")', "False"),
    ],
    ("_output.py", OUTPUT): [
        ("doors/output: not flushed to the disk", "_replace", "os.fsync(file.fileno())", ""),
        ("doors/output: half a file left", "_replace", "os.unlink(part)", "pass"),
        ("doors/output: input overwritten", "check_output", "os.path.samefile(source, target)", "False"),
        ("doors/output: full disk without a name", "replace_file", "error.filename = os.fspath(path)", "pass"),
    ],
    ("experiments/store.py", STORE): [
        ("doors/store: cell written in its place", "write", "replace_file(self.cells / key.file_name()", 'open(self.cells / key.file_name(), "wb"'),
        ("doors/store: failed cells are finished", "finished", 'None and record["error"] is None', "None"),
    ],
    ("experiments/runner.py", STORE): [
        ("doors/workers: outlive the run", "run_cells", "initializer=_end_with,", "initializer=int,"),
    ],
    ("_checks/arguments.py", ("tests/test_validation.py",)): [
        ("doors/matrix: a pointer may fall", "refuse_broken", "and bool((indptr[:-1] <= indptr[1:]).all())", ""),
        ("doors/matrix: a column may lie at the end", "refuse_broken", "max() < bound", "max() <= bound"),
        ("doors/matrix: a column may be below 0", "refuse_broken", "stored.min() >= 0 and", ""),
    ],
    ("_cli/method.py", COMMAND): [
        ("doors/command: review and fit hand on alphas that were not given", "graph_settings",
         "value for name, value in alphas.items() if value is not None", ".6 if value is None else value for name, value in alphas.items()"),
    ],
    ("_cli/checks.py", ("tests/test_import.py",)): [
        ("doors/command: absent files found late", "check_arguments", "not os.path.exists(path)", "False"),
        ("doors/command: suffixes found late", "_check_outputs", "suffix not in args.suffixes", "False"),
        ("doors/command: contradictions found late", "check_arguments", 'args.verb == "fit"', "False"),
    ],
    ("_cli/models.py", COMMAND): [
        ("doors/command: the classifier forgets the projection's alphas", "_classifier",
         "settings |= {name: getattr(projection, name) for name in ALPHAS if hasattr(projection, name)}", "pass"),
        ("doors/command: unlabelled rows counted", "evaluate",
         "[known], rank_scores(classifier, X)[known], predictions=predicted[known]", ", rank_scores(classifier, X), predictions=predicted"),
    ],
    ("_cli/info.py", COMMAND): [
        ("doors/command: names printed raw", "info", 'printable(f"{name:<{width}}  {value}")', 'f"{name:<{width}}  {value}"'),
    ],
    ("_errors.py", ("tests/test_errors.py",)): [
        ("doors/command: sentences raw", "__init__", "printable(str(text)", "str(text"),
    ],
    ("_cli/console.py", REFUSALS): [
        ("doors/command: notes raw", "note", "printable(text)", "text"),
    ],
    ("_cli/reading.py", COMMAND): [
        ("doors/command: columns by number", "match_features", "list(wanted) != list(given)", "False"),
        ("doors/command: labels by number", "match_labels", "np.column_stack([found.get(name, absent) for name in wanted])", "target"),
    ],
    ("cli.py", REFUSALS): [
        ("doors/command: a bug is taken for bad input", "main", "(InputError,", "(ValueError,"),
    ],
}  # fmt: skip

SURVIVORS: dict[str, str] = {
    "doors/command: unlabelled rows counted": "score_table leaves unlabelled entries out itself",
    "doors/svmlight: the pattern goes back": "the parts of a row do not overlap, so going back takes time proportional to "
    "the length of the row (20 000 entries: .03 s)",
}
