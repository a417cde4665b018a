"""Where things live: imports and includes point down, the maps at the doors are those of the folders."""

import ast
import graphlib
import re
from pathlib import Path

import pytest
from neighbor_cases import strategy_table

import nmlsdr
from nmlsdr import _graph, _search, experiments
from nmlsdr._search import leading, prepared, strategy

SOURCES = Path(__file__).resolve().parents[2] / "nmlsdr"
HOUSE = SOURCES if (SOURCES / "_graph.pyx").exists() else Path(nmlsdr.__file__).parent  # the installed has no kernels
needs_sources = pytest.mark.skipif(HOUSE != SOURCES, reason="an installed package has no sources of the kernels")
UNNAMED = {"__init__", "__main__", "_version"}


def floors():
    """The floor of every entry of the root, as the map at the head of the package tells it."""
    floor_of_entry = {}
    floor = None
    for line in nmlsdr.__doc__.splitlines():
        head = re.match(r"\s+(\d) \w+ ", line)
        if head:
            floor = int(head[1])
        elif not line.startswith("      "):
            continue
        floor_of_entry |= dict.fromkeys(re.findall(r"(?<![\w/.])(_?[a-z]\w*)(?:\.pyx|\.py|/)(?![\w*])", line), floor)
    return floor_of_entry


FLOORS = floors()


def sources():
    for path in sorted(HOUSE.rglob("*.py")):
        yield path, path.relative_to(HOUSE).with_suffix("")


def targets(nodes, name):
    """The modules that the imports among these nodes of a file name, and what they take from each."""
    package = ["nmlsdr", *name.parts[:-1]]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def entries(nodes, name):
    """Entries of the root among them."""
    return {target.split(".")[1] for target in targets(nodes, name) if target.startswith("nmlsdr.")}


def imported(path, name):
    """Entries of the root that a file imports, wherever in it, and be it for type checkers only."""
    return entries(ast.walk(ast.parse(path.read_text())), name)


@needs_sources
def test_the_map_names_every_entry_of_the_root():
    entries = {path.stem for path in HOUSE.iterdir() if path.suffix in (".py", ".pyx")}
    entries |= {path.name for path in HOUSE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert FLOORS.keys() == entries - UNNAMED


@pytest.mark.parametrize(("path", "name"), [pytest.param(*source, id=str(source[1])) for source in sources()])
def test_imports_point_down(path, name):
    part = name.parts[0]
    below = imported(path, name) & FLOORS.keys()
    if part in UNNAMED:
        return
    for target in below - {part}:
        assert FLOORS[target] <= FLOORS[part], f"{name} of floor {FLOORS[part]} imports {target} of {FLOORS[target]}"


@needs_sources
@pytest.mark.parametrize("path", sorted(HOUSE.glob("*.p[yx][xd]")), ids=lambda path: path.name)
def test_imports_of_kernels_point_down(path):
    """Wherever in the file: a kernel that calls a Python module calls downward too."""
    targets = set()
    for module, names in re.findall(r"^\s*from \.(\S*) c?import (.+)$", path.read_text(), re.M):
        targets |= {module.split(".")[0]} if module else set(re.findall(r"\w+", names))
    for target in (targets & FLOORS.keys()) - {path.stem}:
        assert FLOORS[target] <= FLOORS[path.stem], f"{path.name} imports {target} of floor {FLOORS[target]}"


def test_nothing_imports_in_a_circle():
    """Imports at the head of files: among the entries of the root, and among files, where types count, too."""
    files = {".".join(["nmlsdr", *name.parts]).removesuffix(".__init__"): (path, name) for path, name in sources()}
    parts = {}
    modules = {}
    for module, (path, name) in files.items():
        body = ast.parse(path.read_text()).body
        parts.setdefault(name.parts[0], set()).update(entries(body, name) - {name.parts[0], "__init__"})
        heads = [node for node in body if isinstance(node, ast.ImportFrom | ast.If)]
        imported_names = {*targets((inner for head in heads for inner in ast.walk(head)), name)}
        modules[module] = set() if name.name == "__init__" else (imported_names & files.keys()) - {module}
    for needs in (parts, modules):
        graphlib.TopologicalSorter({entry: needed & needs.keys() for entry, needed in needs.items()}).prepare()


# What rooms may import of the entries of the root; a door takes of tables and data sets what their __init__ offers.
GROUND = {"_checks", "_errors", "_output", "_refit", "_resources"}
ROOMS = {"tables": GROUND, "datasets": {*GROUND, "tables"}}
DOORS = {"_cli", "cli", "_model", "model_file", "_report", "inspection", "experiments"}
ABOVE_THE_CORE = {"tables", "datasets", *DOORS, "c_api", "studies"}


@pytest.mark.parametrize(("path", "name"), [pytest.param(*source, id=str(source[1])) for source in sources()])
def test_rooms_keep_their_walls(path, name):
    part = name.parts[0]
    imported_entries = imported(path, name) - {part}
    if part in ROOMS:
        assert imported_entries <= ROOMS[part], f"{name} imports {sorted(imported_entries - ROOMS[part])}"
    elif part not in DOORS | UNNAMED | {"_article_methods"}:
        assert not imported_entries & ABOVE_THE_CORE, f"{name} imports {sorted(imported_entries & ABOVE_THE_CORE)}"
    assert part in ("cli", *UNNAMED) or not imported_entries & {"_cli", "cli", "studies"}, f"{name} imports a door"
    if part in DOORS:
        inner = re.findall(r"^ *from (?:nmlsdr|\.\.)\.?((?:tables|datasets)\._\w+)", path.read_text(), re.M)
        assert not inner, f"{name} takes what is not offered of {inner}"


@pytest.mark.parametrize(("path", "name"), [pytest.param(*source, id=str(source[1])) for source in sources()])
def test_self_needs_no_type(path, name):
    """A method whose ``self`` is Any is checked by nobody."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    first = [each for node in functions for each in node.args.args[:1] if each.arg == "self"]
    assert not [f"line {each.lineno} of {name}" for each in first if ast.unparse(each).endswith(": Any")]


def test_nothing_imports_a_study_and_studies_use_public_names_only():
    studies = sorted((HOUSE.parent / "studies").glob("*.py"))
    if not studies:
        pytest.skip("the studies are not here")
    names = "|".join(["studies", *(path.stem for path in studies)])
    for path, name in sources():
        assert not re.findall(rf"^ *(?:from|import) (?:{names})\b", path.read_text(), re.M), name
    for path in studies:
        text = path.read_text().replace("nmlsdr._report.rivals", "")  # what studies and `nmlsdr report` compare with
        private = re.findall(r"^ *(?:from nmlsdr(?:\.\w+)*\._|from nmlsdr\S* import _).*", text, re.M)
        assert not private, f"{path.name}: {private}"


# ---------------------------------------------------------------- C


def headers():
    return sorted((HOUSE / "_c").glob("*.h")) + sorted((HOUSE / "include").rglob("*.h"))


@needs_sources
def test_headers_include_others_at_their_head_and_never_in_a_circle():
    """A template, which is included once for each SIMD level, has no guard."""
    below = {}
    for path in headers():
        text = path.read_text()
        assert text.startswith("/*"), f"{path.name} does not say what it is"
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            included_header = (path.parent / name).resolve()
            assert included_header in headers(), f"{path.name} includes {name}"
            if "#ifndef NMLSDR_" not in included_header.read_text():
                continue
            below.setdefault(path, set()).add(included_header)
            code = re.sub(r"/\*.*?\*/|^#.*$", "", text[: text.index(f'"{name}"')], flags=re.S | re.M)
            assert not code.strip(), f"{path.name} includes {name} in mid-file"
    graphlib.TopologicalSorter(below).prepare()  # raises CycleError


@needs_sources
def test_the_overview_of_the_search_names_every_python_file_and_no_other():
    named = set(re.findall(r"\w+\.py\b", nmlsdr._search.__doc__))
    assert named == {path.name for path in (HOUSE / "_search").glob("*.py")} - {"__init__.py"}


@needs_sources
@pytest.mark.parametrize("folder", ["_c", "_search", "."], ids=["_c", "_search", "kernels"])
def test_every_file_that_the_search_mentions_exists(folder):
    file_names = {path.name for pattern in ("*.py", "*.pyx", "*.h") for path in HOUSE.rglob(pattern)}
    systems = {"omp.h", "malloc.h", "intrin.h", "immintrin.h", "arm_neon.h", "windows.h", "setup.py"}
    for path in sorted((HOUSE / folder).glob("*.pyx" if folder == "." else "*.*")):
        if path.suffix not in (".h", ".py", ".pyx"):
            continue
        text = re.sub(r"<[\w/]+\.h>", "", path.read_text())
        named = set(re.findall(r"(?<![\w.])\w{2,}\.(?:h|py|pyx)\b(?!\()", text))
        assert named <= file_names | systems, f"{path.name} mentions {sorted(named - file_names - systems)}"


def test_the_sizes_in_the_table_of_search_strategies_are_those_of_the_code():
    conditions = {row[0]: row[1] for row in strategy_table(_search.__doc__)[2:]}
    assert f"up to {_graph.FEW_QUERIES} separate queries" in conditions["few"]
    assert f"at most {_graph.MOST_KEPT / 1e6:.0f} million." in _search.__doc__
    tree_condition = (
        f"up to {_graph.TREE_FEATURES // 2} features, or {_graph.TREE_FEATURES} from {_graph.TREE_ROWS} rows on"
    )
    assert tree_condition in conditions["tree"]
    assert f"from {strategy._LARGE} rows and {strategy._LARGE // 4} queries" in conditions["groups"]
    assert min(leading._COORDINATES.values()) == strategy._LARGE
    sizes = f"from {strategy._LARGE} rows, {strategy._LARGE // 16} queries, {leading._FEATURES} features"
    assert sizes in conditions["leading coordinates"]
    assert f"up to {prepared.MOST_QUERIES} queries" in conditions["prepared"]


@needs_sources
def test_every_macro_is_used():
    texts = {path.name: path.read_text() for path in headers()}
    kernels = "".join(path.read_text() for path in HOUSE.glob("*.pyx"))
    used = set(re.findall(r"\b(?<!define )(?<!undef )(?<!ifndef )\w+", "".join(texts.values()) + kernels))
    for name, text in texts.items():
        for macro in re.findall(r"^\s*#\s*define\s+(\w+)", text, re.M):
            is_guard = f"#ifndef {macro}\n#define {macro}\n" in text
            assert macro in used or is_guard, f"{macro} of {name} is not used"


# ---------------------------------------------------------------- the table of the search


def test_the_table_of_search_strategies_is_the_same_in_the_package_and_on_the_page():
    page = Path(__file__).parents[2] / "docs" / "neighbours.md"
    if not page.exists():
        pytest.skip("the pages are not here")
    assert strategy_table(_search.__doc__) == strategy_table(page.read_text())


# ---------------------------------------------------------------- overviews at the head of packages


def test_the_overview_of_the_experiments_names_the_private_modules_that_they_use():
    used = set()
    for path in (HOUSE / "experiments").glob("*.py"):
        modules = re.findall(r"^ *from \.\.(\S+) import ", path.read_text(), re.M)
        used |= {module for module in modules if any(part.startswith("_") for part in module.split("."))}
    chapter = experiments.__doc__.split("as a test checks:")[1]
    listed = re.findall(r"^    ((?:[\w.]+, )*[\w.]+)   ", chapter, re.M)
    assert {name for names in listed for name in names.split(", ")} == used


OVERVIEWS = ["_report", "_model", "_checks", "_solvers", "_projections", "_process", "tables", "experiments"]


@pytest.mark.parametrize("package", OVERVIEWS)
def test_the_overview_of_a_package_names_its_files(package):
    overview = ast.get_docstring(ast.parse((HOUSE / package / "__init__.py").read_text()))
    listed = re.findall(r"^ *(\w+\.py)  ", overview, re.M)
    assert sorted({*listed, "__init__.py"}) == sorted(path.name for path in (HOUSE / package).glob("*.py"))


def test_no_private_attribute_is_asked_for_that_nobody_sets():
    """`getattr(x, "_name")` of a name that was removed answers with its default for ever, in silence."""
    # which scikit-learn sets
    requested_attributes = {}
    made = {"_callback_fit_ctx", "_skl_callbacks"}
    for path, name in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(value=str(word)), *_]):
                    requested_attributes |= {word: name} if re.match("_(?!_)", word) else {}
                case ast.Name(id=word, ctx=ast.Store()) | ast.Attribute(attr=word, ctx=ast.Store()):
                    made.add(word)
                case ast.FunctionDef(name=word):
                    made.add(word)
    assert not requested_attributes.keys() - made, requested_attributes
