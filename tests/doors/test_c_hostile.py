"""All functions of the headers on hostile rows from several threads, under sanitizers and at each SIMD level."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_headers import MEMORY, RACES, compiled, drawn_rows, output
from neighbor_cases import LEVELS

from nmlsdr import _graph, mlknn
from nmlsdr.graph import kneighbors, radius_neighbors

CPP = ["-x", "c++", "-std=c++17"]
BUILDS = {
    "gcc, OpenMP": ["gcc", "-std=gnu11", "-O2", "-fopenmp"],
    "gcc, plain numbers": ["gcc", "-std=c99", "-O2", "-DNMLSDR_SCALAR", "-DNMLSDR_PORTABLE_ONLY"],
    "gcc, memory": ["gcc", "-std=c99", "-O0", *MEMORY],
    "gcc, OpenMP, memory": ["gcc", "-std=gnu11", "-O0", "-fopenmp", *MEMORY],
    "clang, memory": ["clang", "-std=c99", "-O1", *MEMORY],
    "clang, uninitialised": ["clang", "-std=c99", "-O1", "-g", "-fsanitize=memory"],
    "clang, races": ["clang", "-std=c99", "-O2", *RACES],
    "clang, OpenMP, races": ["clang", "-std=gnu11", "-O2", "-fopenmp", *RACES],
    "gcc, races": ["gcc", "-std=c99", "-O2", *RACES],
    "g++, memory": ["g++", *CPP, "-O0", *MEMORY],
    "clang++, races": ["clang++", *CPP, "-O2", *RACES],
}


# What the program prints: the number of calls, and a hash of all codes and results.
EXPECTED = "27874 calls, bef5813c1315cfef\n"


def tool_of_openmp():
    """The library by which the thread sanitizer understands clang's OpenMP; without it, it reports every team."""
    resources = subprocess.run(["clang", "-print-resource-dir"], capture_output=True, text=True, check=True).stdout
    folders = [Path(resources.strip()).parents[1], *Path("/usr/lib").glob("llvm-*/lib")]
    tools = [folder / "libarcher.so" for folder in folders if (folder / "libarcher.so").is_file()]
    if not tools:
        pytest.skip("no libarcher")
    return str(tools[0])


def levels_of(build):
    """The SIMD levels at which a build is run."""
    if build == "gcc, OpenMP":
        return LEVELS
    if "plain" in build:
        return LEVELS[:1]
    return LEVELS[-1:] if "races" in build else [LEVELS[0], LEVELS[-1]]


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
def test_hostile_rows_are_answered_alike_and_nothing_is_reported(build, tmp_path):
    """The program hashes every result and code; sanitizers check the portable level best, and the best level too.

    Levels differ in loops over numbers, not in what threads share, so races are looked for at the best level only.
    """
    options = {}
    if build == "clang, OpenMP, races":
        if not shutil.which("clang"):
            pytest.skip("no clang")
        options = {"OMP_TOOL_LIBRARIES": tool_of_openmp(), "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
    program = compiled(BUILDS[build], "hostile.c", tmp_path)
    # older thread sanitizers need addresses that are not random
    fixed = ["setarch", os.uname().machine, "-R"] if "races" in build and shutil.which("setarch") else []
    for level in levels_of(build):
        assert output(*fixed, program, NMLSDR_SIMD=_graph.SIMD_LEVELS[level], **options) == EXPECTED


@pytest.mark.slow
@pytest.mark.parametrize("command", [["g++", "-O0", *MEMORY], ["clang++", "-O1"]], ids=["g++, memory", "clang++"])
def test_classes_of_cpp_have_the_bits_of_python(command, tmp_path):
    X, queries, Y = drawn_rows()
    table = mlknn.fit_posterior(Y, kneighbors(X, 10)[1])
    probabilities = table.look_up(kneighbors(X, 10, queries=queries)[1])
    counts = np.diff(radius_neighbors(X, 0.7, queries=queries).indptr)
    assert 0 < counts.min() < counts.max() < len(X)
    program = compiled([*command, "-std=c++17"], "learn.cpp", tmp_path)
    printed = np.array([line.split() for line in output(program).splitlines()], dtype=float)
    assert printed[:, :-1].tobytes() == probabilities.tobytes()
    assert printed[:, -1].tolist() == counts.tolist()


CLASSES = """\
#include <nmlsdr/mlknn.hpp>
#include <cstdio>
#include <functional>

static const double X[] = {0, 3, 4, 9};
static const nmlsdr_rows rows = nmlsdr_dense(NMLSDR_FLOAT64, X, 4, 1);

static void refused(const std::function<void()> &call, int code)
{
    try {
        call();
        std::puts("accepted");
    } catch (const std::runtime_error &error) {
        std::puts(std::string(error.what()) == nmlsdr_message(code) ? "refused" : error.what());
    }
}

int main()
{
    using labels = std::vector<unsigned char>;
    using numbers = std::vector<std::ptrdiff_t>;
    const numbers near{1, 2, 1, 2};
    const nmlsdr::posterior_table table(labels{1, 1, 0, 0}, 1, near, 1);
    refused([&] { nmlsdr::posterior_table(labels{1, 1, 0}, 2, near, 1); }, NMLSDR_BAD_SIZE);
    refused([&] { nmlsdr::posterior_table(labels{1, 1, 0}, 1, near, 1); }, NMLSDR_BAD_SIZE);
    refused([&] { nmlsdr::posterior_table(labels{}, 1, numbers{}, std::ptrdiff_t{1} << 60); }, NMLSDR_BAD_SIZE);
    refused([&] { nmlsdr::posterior_table(labels{1, 1, 0, 0}, 0, near, 1); }, NMLSDR_BAD_SIZE);
    refused([&] { nmlsdr::posterior_table(labels{1, 1, 0, 0}, 1, near, 0); }, NMLSDR_BAD_K);
    refused([&] { nmlsdr::posterior_table(labels{1, 1, 0, 2}, 1, near, 1); }, NMLSDR_BAD_VALUE);
    refused([&] { nmlsdr::posterior_table(labels{1, 1, 0, 0}, 1, near, 1, 0.0); }, NMLSDR_BAD_VALUE);
    refused([&] { table.look_up(numbers{4}); }, NMLSDR_BAD_GRAPH);
    refused([&] { nmlsdr::radius_neighbors(rows, -1); }, NMLSDR_BAD_VALUE);
    nmlsdr_rows wrong = rows;
    wrong.n = -1;
    refused([&] { nmlsdr::radius_neighbors(rows, 1, &wrong); }, NMLSDR_BAD_SIZE);
    wrong.n = 0;
    const nmlsdr::within none = nmlsdr::radius_neighbors(rows, 1, &wrong), all = nmlsdr::radius_neighbors(rows, 1);
    std::printf("%zu %zu\\n", none.indptr.size(), none.columns.size());
    std::printf("%zu %d %g\\n", all.columns.size(), all.columns[0], all.distances[0]);
    const double difference = table.posterior()[1] - table.look_up({0})[0];
    std::printf("%zu %g %g\\n", table.look_up({}).size(), table.prior()[0], difference);
}
"""


@pytest.mark.slow
def test_classes_of_cpp_refuse_arrays_of_other_sizes(tmp_path):
    (tmp_path / "classes.cpp").write_text(CLASSES)
    program = compiled(["g++", "-std=c++17", "-O0", *MEMORY], tmp_path / "classes.cpp", tmp_path)
    assert output(program).splitlines() == ["refused"] * 10 + ["1 0", "2 2 1", "0 0.5 0"]
