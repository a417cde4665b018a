"""Mutants of readers, model files, outputs, the command line and the runner: (name, file, line, broken line, tests)."""

# ruff: noqa: E501  (a mutant a line)

ARFF = ("tests/test_readers_arff.py", "tests/test_readers_hostile.py", "-k", "not mutated")
TABLES = ("tests/test_readers_forms.py", "tests/test_readers_tables.py", "tests/test_readers_kinds.py", "tests/test_readers_hostile.py", "-k", "not mutated")
MODEL = ("tests/test_model_file_forged.py", "tests/test_model_file.py", "tests/test_model_file_estimators.py")
OUTPUT = ("tests/test_output.py", "tests/test_cli_errors.py", "-k", "output or outputs or full or link or killed or interrupt")
COMMAND = ("tests/test_cli.py", "tests/test_cli_forms.py", "tests/test_cli_review.py")
REFUSALS = ("tests/test_cli.py", "tests/test_cli_errors.py")
STORE = ("tests/test_experiments_kill.py", "-k", "torn or full or holder or killed_at or outlives")

_DATA = "nmlsdr/datasets/"
MUTANTS = [
    # files: what they may hold
    ("doors/files: growth not bounded", _DATA + "_files.py",
     "return min(MAX_BYTES, max(ALWAYS_ALLOWED, MAX_GROWTH * os.path.getsize(path)))", "return MAX_BYTES", TABLES),
    ("doors/files: what is said is not believed", _DATA + "_files.py",
     "    if max_bytes is not None:\n        return max_bytes\n", "", TABLES),
    ("doors/files: lines cost nothing", _DATA + "_files.py",
     "LINE_COST if packed and max_bytes is None else 0", "0", TABLES),
    ("doors/files: endless line", _DATA + "_files.py",
     "        if len(raw) > limit:", "        if len(raw) > limit + 1:", ARFF),
    ("doors/files: NUL passes", _DATA + "_files.py", '        if "\\0" in text:', '        if False:', ARFF),
    ("doors/files: byte order mark kept", _DATA + "_files.py", 'text.removeprefix("\\ufeff")', "text", ARFF),
    ("doors/files: lack of memory becomes a sentence", _DATA + "_files.py",
     "    except (InputError, ImportError, MemoryError):", "    except (InputError, ImportError):", TABLES),
    ("doors/files: every blank skipped", _DATA + "_files.py",
     'BLANKS = " \\t\\n\\r\\v\\f"', 'BLANKS = " \\t\\n\\r\\v\\f\\x1c\\x1d\\x1e\\x1f\\x85\\xa0"', TABLES),
    # cells
    ("doors/cells: digits of any script", _DATA + "_cells.py", "    if not text.isascii():", "    if False:", TABLES),
    ("doors/cells: fast way takes any script", _DATA + "_cells.py", ' and "_" not in text and text.isascii()',
     ' and "_" not in text', TABLES),
    ("doors/cells: fast way takes 1_0", _DATA + "_cells.py", ' and "_" not in text and text.isascii()',
     " and text.isascii()", TABLES),
    ("doors/cells: infinite passes", _DATA + "_cells.py",
     "return math.isfinite(total) and", "return not math.isnan(total) and", TABLES),
    ("doors/cells: row of several lines looked at once", _DATA + "_csv.py", "plain=n_lines == 1", "plain=True", TABLES),
    ("doors/cells: plus and minus one of arrays pass", _DATA + "_cells.py", "    if (labels == -1).any():", "    if False:", TABLES),
    ("doors/cells: omitted value of zero stored", _DATA + "_cells.py",
     "found = sorted(entry for entry in found if entry[1] != 0)", "found = sorted(found)", ARFF),
    ("doors/cells: sparse rows fill the memory", _DATA + "_cells.py",
     "        if len(self._indices) > self._max_entries:", "        if False:", ARFF),
    ("doors/cells: left-out labels fill the memory", _DATA + "_cells.py",
     "        if 2 * len(self._labels) > self.lines.allowed:", "        if False:", TABLES),
    ("doors/cells: plus and minus one pass", _DATA + "_cells.py",
     "        if self._minus_one:\n", "        if False:\n", TABLES),
    # ARFF
    ("doors/arff: index beyond the attributes", _DATA + "_arff.py", "        if column >= width:", "        if column > width:", ARFF),
    ("doors/arff: index twice", _DATA + "_arff.py", "        if column in cells:", "        if False:", ARFF),
    ("doors/arff: text after the brace", _DATA + "_arff.py", "    if position != len(text):\n        raise _wrong_sparse",
     "    if False:\n        raise _wrong_sparse", ARFF),
    ("doors/arff: short row", _DATA + "_arff.py", "    if len(cells) != width:", "    if False:", ARFF),
    ("doors/arff: long row", _DATA + "_arff.py", "        elif len(cells) == width:", "        elif False:", ARFF),
    ("doors/arff: quoted ? is missing", _DATA + "_arff.py",
     'cells.append(None if quoted is None and plain == "?" else plain)', 'cells.append(None if plain == "?" else plain)', ARFF),
    ("doors/arff: half characters kept", _DATA + "_arff.py",
     'if any("\\ud800" <= character < "\\ue000" for character in found):', "if False:", ARFF),
    ("doors/arff: any number of values", _DATA + "_arff.py", "        if len(values) >= most:", "        if False:", ARFF),
    # CSV
    ("doors/csv: any number of cells", _DATA + "_csv.py", "            if self._seen > self._most:", "            if False:", TABLES),
    ("doors/csv: values after a blank line", _DATA + "_csv.py",
     "        if blank:\n", "        if False:\n", TABLES),
    ("doors/csv: another width", _DATA + "_csv.py", "        if len(cells) != width:", "        if False:", TABLES),
    # svmlight
    ("doors/svmlight: table of labels not bounded", _DATA + "_svmlight.py",
     "np.dtype(np.int64).itemsize > allowance(path, max_bytes)", "0 > allowance(path, max_bytes)", TABLES),
    ("doors/svmlight: splits at any blank", _DATA + "_svmlight.py",
     '[token for token in raw.split("#", 1)[0].replace("\\t", " ").split(" ") if token]', 'raw.split("#", 1)[0].split()', TABLES),
    # npz, npy
    ("doors/npy: more bytes than needed", "nmlsdr/_npy.py", "    if length + n_bytes != size:", "    if length + n_bytes > size:",
     (*TABLES[:4], *MODEL)),
    ("doors/npy: any characters", "nmlsdr/_npy.py", '    if dtype.kind == "U":', "    if False:", TABLES),
    ("doors/npy: Fortran order lost", "nmlsdr/_npy.py", "array.reshape(shape[::-1]).T if is_fortran", "array.reshape(shape) if is_fortran",
     TABLES),
    ("doors/npz: declared rows not bounded", _DATA + "_npz.py",
     "if shape[1] <= max_features and (shape[0] + 1) * 8 > allowance(path, max_bytes):", "if False:", TABLES),
    ("doors/npz: array twice", _DATA + "_npz.py", "                if name in arrays:", "                if False:", TABLES),
    # Parquet, XML
    ("doors/parquet: every column unpacked", _DATA + "_parquet.py",
     "batch_size=BATCH_ROWS, columns=[names[j] for j in columns])", "batch_size=BATCH_ROWS)", TABLES),
    ("doors/xml: entities pass", _DATA + "_mulan.py", "    parser.StartDoctypeDeclHandler = refuse\n    parser.EntityDeclHandler = refuse\n", "", ARFF),
    ("doors/xml: label twice", _DATA + "_mulan.py", "        if name in names:", "        if False:", ARFF),
    # model files
    ("doors/model: member twice", "nmlsdr/_model/reading.py", "if len(members) != len(archive.infolist()):", "if False:", MODEL),
    ("doors/model: huge header", "nmlsdr/_model/reading.py", 'if members["header.npy"].file_size > _HEADER_BYTES:', "if False:", MODEL),
    ("doors/model: overlapping members", "nmlsdr/_model/reading.py", "if n_bytes > os.fstat(file.fileno()).st_size:", "if False:", MODEL),
    ("doors/model: packed members", "nmlsdr/_model/reading.py",
     "{info.compress_type for info in members.values()} - {zipfile.ZIP_STORED}", "set()", MODEL),
    ("doors/model: checksum not compared", "nmlsdr/_model/reading.py", 'if header.get("checksum") != checksum(header, arrays):', "if False:", MODEL),
    ("doors/model: half characters", "nmlsdr/_model/reading.py",
     "        json.dumps(header, ensure_ascii=False).encode()  # half of a pair of code points is nothing that can be printed\n", "", MODEL),
    ("doors/model: parameters unchecked", "nmlsdr/_model/reading.py", "    check_parameters(name, parameters)\n", "", MODEL),
    ("doors/model: values unchecked", "nmlsdr/_model/reading.py",
     '                check_values(f"{name}.{attribute}", value, field)\n', "", MODEL),
    ("doors/model: what belongs together unchecked", "nmlsdr/_model/reading.py", "    check_belonging(name, estimator, letters)\n", "", MODEL),
    ("doors/model: steps unchecked", "nmlsdr/_model/reading.py", "        check_steps(pipeline)\n", "", MODEL),
    ("doors/model: not finite passes", "nmlsdr/_model/checking.py",
     'if array.dtype.kind == "f" and not (np.isfinite(array) | (field.infinite & (array == np.inf))).all():', "if False:", MODEL),
    ("doors/model: infinite passes everywhere", "nmlsdr/_model/checking.py", "(field.infinite & (array == np.inf))", "(array == np.inf)", MODEL),
    ("doors/model: order unchecked", "nmlsdr/_model/checking.py", "if field.in_order and not array.flags.c_contiguous:", "if False:", MODEL),
    ("doors/model: precomputed columns unchecked", "nmlsdr/_model/checking.py", '        if given and columns[-1] >= letters["D"]:', "        if False:", MODEL),
    ("doors/model: names not kept", "nmlsdr/model_file.py",
     '        feature_names = _seen(estimator, "feature_names_in_", 0)', "        pass", MODEL),
    ("doors/model: labels' names of the first step", "nmlsdr/model_file.py", '_seen(estimator, "label_names_in_", -1)',
     '_seen(estimator, "label_names_in_", 0)', MODEL),
    # results
    ("doors/output: not flushed to the disk", "nmlsdr/_output.py", "        os.fsync(file.fileno())\n", "", OUTPUT),
    ("doors/output: half a file left", "nmlsdr/_output.py", "            os.unlink(part)", "            pass", OUTPUT),
    ("doors/output: input overwritten", "nmlsdr/_output.py", "if os.path.samefile(source, target):", "if False:", OUTPUT),
    ("doors/output: full disk without a name", "nmlsdr/_output.py", "            error.filename = os.fspath(path)", "            pass", OUTPUT),
    # the store and its workers
    ("doors/store: torn line not flushed", "nmlsdr/experiments/store.py",
     "                os.ftruncate(self._descriptor, kept)\n                os.fsync(self._descriptor)\n",
     "                os.ftruncate(self._descriptor, kept)\n", STORE),
    ("doors/store: record not flushed", "nmlsdr/experiments/store.py",
     "            os.fsync(self._descriptor)\n        self.records", "        self.records", STORE),
    ("doors/workers: outlive the run", "nmlsdr/experiments/runner.py", "        initializer=end_with,", "        initializer=int,", STORE),
    # matrices that point outside of themselves
    ("doors/matrix: a pointer may fall", "nmlsdr/_arrays.py", " and bool((indptr[:-1] <= indptr[1:]).all())", "", ("tests/test_validation.py",)),
    ("doors/matrix: a column may lie at the end", "nmlsdr/_arrays.py", "stored.max() < bound", "stored.max() <= bound", ("tests/test_validation.py",)),
    ("doors/matrix: a column may be below 0", "nmlsdr/_arrays.py", "stored.min() >= 0 and ", "", ("tests/test_validation.py",)),
    # command line
    ("doors/command: above the threshold only", "nmlsdr/_cli/models.py", "return (scores >= np.asarray(", "return (scores > np.asarray(", COMMAND),
    ("doors/command: review hands on alphas that were not given", "nmlsdr/_cli/method.py",
     "return {name: value for name, value in alphas.items() if value is not None}", "return {name: .6 if value is None else value for name, value in alphas.items()}", COMMAND),
    ("doors/command: fit hands on alphas that were not given", "nmlsdr/_cli/models.py",
     "alphas = {option: value for option, value in alphas.items() if value is not None}", "alphas = {option: value or .6 for option, value in alphas.items()}", COMMAND),
    ("doors/command: names printed raw", "nmlsdr/_cli/info.py", 'print(printable(f"{name:<{width}}  {value}"))', 'print(f"{name:<{width}}  {value}")', COMMAND),
    ("doors/command: sentences raw", "nmlsdr/_errors.py", "super().__init__(printable(str(text)))", "super().__init__(str(text))", REFUSALS),
    ("doors/command: notes raw", "nmlsdr/_cli/console.py", 'nmlsdr: {printable(text)}"', 'nmlsdr: {text}"', REFUSALS),
    ("doors/command: columns by number", "nmlsdr/_cli/reading.py", "        if order != list(range(len(given))):", "        if False:", COMMAND),
    ("doors/command: labels by number", "nmlsdr/_cli/reading.py", "return target[:, [position[name] for name in wanted]]", "return target", COMMAND),
    ("doors/command: unlabelled rows counted", "nmlsdr/_cli/models.py", "score_table(target[known], ranked[known])", "score_table(target, ranked)", COMMAND),
    ("doors/command: a bug is taken for bad input", "nmlsdr/cli.py", "    except (InputError, FileNotFoundError,", "    except (ValueError, FileNotFoundError,", REFUSALS),
]  # fmt: skip

SURVIVORS: dict[str, str] = {}
