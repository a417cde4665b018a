"""What an import loads: the package and its command load scikit-learn only where it is used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nmlsdr

CORE = ("graph", "metrics", "mlknn", "projection", "propagation")


def run(program, *arguments, lines=1):
    """Run a program in a fresh interpreter and return what it printed last, one line or as many as are asked for."""
    command = [sys.executable, "-c", program, *arguments]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert process.returncode == 0, process.stderr
    return "\n".join(process.stdout.splitlines()[-lines:])


def loaded(program, *arguments):
    """Which of these packages a program loads, read from a fresh interpreter."""
    watched = ("numpy", "scipy", "sklearn", "joblib", "matplotlib", "nmlsdr")
    report = f"\nimport sys\nprint(*[name for name in {watched} if name in sys.modules])"
    return set(run(program + report, *arguments).split())


def test_the_package_alone_loads_next_to_nothing():
    assert loaded("import nmlsdr") == {"nmlsdr"}
    assert loaded("import nmlsdr; dir(nmlsdr); nmlsdr.__version__; nmlsdr.__all__") == {"nmlsdr"}


def test_the_search_and_the_graph_stub_heavy_imports_of_scipy():
    """Each of these took a tenth to a fifth of the import."""
    program = """
import sys, nmlsdr.graph
nmlsdr.graph.neighbor_graph([[0.0], [1.0], [3.0]], 1, n_jobs=1)
watched = ("scipy.spatial", "scipy.linalg", "scipy.special", "scipy.stats", "scipy.optimize", "joblib", "sklearn")
print([name for name in watched if name in sys.modules])
"""
    assert run(program) == "[]"


def test_a_model_of_plain_numbers_is_read_without_the_readers_of_tables(tmp_path):
    pytest.importorskip("skops")
    program = """
import sys, nmlsdr
from nmlsdr.model_file import load_model, save_model
save_model(sys.argv[1], nmlsdr.ResidualPropagation(n_neighbors=2, n_estimators=1).fit([[i, i % 2] for i in range(8)],
           [[i % 2, 1 - i % 2] for i in range(8)]))
print(load_model(sys.argv[1]).predict([[0, 1]]).tolist(), "nmlsdr.tables" in sys.modules)
"""
    assert run(program, str(tmp_path / "m.skops")) == "[[1, 0]] False"


def test_commands_that_compute_nothing_load_next_to_nothing():
    """One process for all: a package that one of them loaded would be there at the end."""
    verbs = ("fit", "transform", "predict", "evaluate", "review", "report", "reproduce", "info", "datasets")
    commands = [
        ["--help"],
        ["--version"],
        *([verb, "--help"] for verb in verbs),
        ["fti"],
        ["reproduce", "toys"],
        ["fit", "train.csv", "--alpha-labeled", "2", "--out", "a.npz"],
    ]
    program = f"""
from contextlib import suppress
from nmlsdr.cli import main
for words in {commands}:
    with suppress(SystemExit):
        main(words)
"""
    assert loaded(program) == {"nmlsdr"}


def test_arguments_that_contradict_the_files_or_each_other_are_refused_before_libraries_are_loaded(tmp_path):
    """One process for all, each refused with status 2; the last line counts the modules of the package."""
    data = tmp_path / "train.csv"
    data.write_text("x,flu\n1,0\n")
    fit = ["fit", str(data), "--label-columns", "flu", "--out", str(tmp_path / "m.skops")]
    predict = ["predict", __file__, str(data), "--out", str(tmp_path / "a.csv")]
    commands = [
        [*fit[:-1], "m.txt"],
        [*fit[:-1], str(tmp_path / "none" / "m.skops")],
        ["fit", "none.csv", *fit[2:]],
        [*fit, "--label-list", "flu"],
        [*fit, "--annotators", "flu"],
        [*fit, "--mask", "none.csv"],
        [*fit, "--reviewed", "none.csv"],
        [*fit, "--method", "NMLDSR"],
        [*fit, "--method", "CCA", "--classifier", "residual"],
        [*fit, "--method", "CCA", "--classifier", "none", "--metric", "cosine"],
        [*fit, "--method", "NMLSDR*", "--alpha-labeled", "0.5"],
        [*fit, "--threshold", "0.5", "--classifier", "none"],
        [*predict[:-1], "a.html"],
        [*predict[:-1], str(data)],
        ["predict", "none", *predict[2:]],
        ["predict", __file__, "none.csv", *predict[3:]],
        ["report", str(data), "--label-columns", "flu", "--out", "a.csv"],
        ["review", str(data), "--label-columns", "flu", "--out", "a.npz"],
        ["evaluate", __file__, str(data), "--out", "a.npz"],
    ]
    program = f"""
import sys
from nmlsdr.cli import main
print([main(words) for words in {commands}])
print([name for name in ("numpy", "scipy", "sklearn", "joblib", "pyarrow") if name in sys.modules])
print(sum(name.partition(".")[0] == "nmlsdr" for name in sys.modules))
"""
    statuses, libraries, count = run(program, lines=3).splitlines()
    assert statuses == str([2] * len(commands))
    assert libraries == "[]"
    assert int(count) <= 16  # a fit loads about a hundred


@pytest.mark.slow
def test_a_process_that_runs_one_command_loads_little_of_what_it_does_not_use(tmp_path):
    """skops imports all of scikit-learn, and scikit-learn pandas and scipy.stats, unless they are kept from it."""
    data = tmp_path / "train.csv"
    data.write_text("x,flu\n" + "".join(f"{i % 7}.5,{i % 2}\n" for i in range(20)))
    program = """
import sys
from nmlsdr.cli import main
assert main() == 0
watched = ("pandas", "pytest", "dask", "sklearn.datasets", "scipy.stats._stats_py")
print([name for name in watched if name in sys.modules])
"""
    fit = ["fit", str(data), "--label-columns", "flu", "--out", str(tmp_path / "m.skops")]
    assert run(program, *fit) == "[]"
    pytest.importorskip("skops")
    assert nmlsdr.model_file.load_model(tmp_path / "m.skops").predict([[1.5]]).shape == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        "import scipy.stats; print(scipy.stats.rankdata([3, 1, 1], method='max').tolist())",
        "from scipy.stats import gmean, rankdata; print(rankdata([3, 1, 1], method='max'), gmean([1, 4]))",
        "import scipy.stats.mstats; print(scipy.stats.mstats.rankdata([3, 1]), scipy.stats.distributions.norm.std())",
        "from scipy.stats import chi2, spearmanr; print(chi2(3).isf(0.5), chi2.cdf(1, 2), spearmanr([1, 2], [3, 5]))",
        "from scipy import stats; print(stats.norm.ppf(0.5), hasattr(stats, 'foo'), hasattr(stats, '__foo__'))",
        "from scipy.stats import *; print(ks_2samp([1, 2], [1, 2]).pvalue, mode([4, 4, 1]).mode)",
        "import sklearn.metrics, scipy; print(scipy.stats.binom(3, 0.5).mean())",
    ],
)
def test_scipy_stats_is_the_real_one_as_soon_as_a_command_uses_it(program, capsys):
    exec(program, {})
    prepared = f"from nmlsdr._cli.startup import stub_heavy_imports; stub_heavy_imports(); {program}"
    assert run(prepared) + "\n" == capsys.readouterr().out


def test_info_does_without_scikit_learn():
    assert "sklearn" not in loaded("from nmlsdr.cli import main; main(['info'])")


@pytest.mark.slow
def test_dask_is_imported_only_when_used_and_its_absence_raises_a_clear_error():
    program = """
import inspect, sys
import nmlsdr.dask
assert "dask" not in sys.modules
sys.modules["dask"] = None
inspect.getmembers(nmlsdr)  # nor by looking at every name
try:
    nmlsdr.dask.open_rows("rows.npy")
except ImportError as error:
    print(error)
"""
    assert run(program) == "nmlsdr.dask needs dask; install it with: pip install 'nmlsdr[dask]'."


def test_names_are_there_on_first_use_and_the_core_does_without_scikit_learn():
    """The first line names the first module of the core that loads scikit-learn, used as `nmlsdr.NAME`."""
    program = (
        f"""
import sys, nmlsdr
print(next((name for name in {CORE} if getattr(nmlsdr, name) and "sklearn" in sys.modules), "none"))
"""
        + """
print(hasattr(nmlsdr, "_article_methods"), hasattr(nmlsdr, "nothing"))
print(nmlsdr.metrics.hamming_loss([[1, 0]], [[1, 1]]), nmlsdr.NMLSDR(2))
from nmlsdr import *
print(MLkNN.__name__, __version__)
"""
    )
    assert run(program, lines=4) == f"none\nFalse False\n0.5 NMLSDR(n_components=2)\nMLkNN {nmlsdr.__version__}"


def test_a_name_that_was_used_once_is_stored_in_the_module():
    assert nmlsdr.NMLSDR is vars(nmlsdr)["NMLSDR"]


@pytest.mark.parametrize("name", ["NMLSRD", "command", "_MLkNN", "numpy"])
def test_unknown_names_are_attribute_errors(name):
    assert not hasattr(nmlsdr, name)
    with pytest.raises(AttributeError, match=f"module 'nmlsdr' has no attribute '{name}'"):
        getattr(nmlsdr, name)


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        ("no such file", "The compiled part of nmlsdr is missing or does not load ("),
        ("module nmlsdr._graph does not support loading in subinterpreters", "An isolated subinterpreter cannot load"),
    ],
)
def test_a_kernel_that_does_not_load_raises_a_clear_error(cause, message):
    program = f"""
import importlib.abc, sys
class Broken(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *others):
        if name == "nmlsdr._graph":
            raise ImportError({cause!r})
sys.meta_path.insert(0, Broken())
try:
    import nmlsdr
except ImportError as error:
    print(error)
"""
    assert run(program).startswith(message)


def test_type_checkers_see_what_users_see():
    """The imports under TYPE_CHECKING, which nothing runs, name the estimators and modules that are served."""
    tree = ast.parse(Path(nmlsdr.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [(node.module, name.name) for node in block.body for name in node.names]
    assert ("_estimators", "*") in imports
    other_names = {"InputError", "__version__", "get_include"}
    kinds = {name for name, kind in vars(nmlsdr._estimators).items() if isinstance(kind, type)}
    assert {*nmlsdr.__all__} - other_names == kinds
    assert {name for module, name in imports if module is None} == {*dir(nmlsdr)} - {*nmlsdr.__all__}
    assert not {"cli", "experiments", "c_api"} & {*dir(nmlsdr)}
