"""The headers alone: the folder of `python -m nmlsdr --export`, and the package nmlsdr-headers made of it."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from c_headers import SOURCES, WARNINGS, learned_bits, output

import nmlsdr
from nmlsdr import _headers
from nmlsdr._version import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Written by a Python that finds none of the packages that nmlsdr depends on."""
    target = tmp_path_factory.mktemp("export") / "nmlsdr"
    parent = str(Path(nmlsdr.__file__).parent.parent)
    message = output(sys.executable, "-S", "-m", "nmlsdr", "--export", target, PYTHONPATH=parent)
    assert message.strip() == f"{len(_headers.files())} files in {target}"
    return target


def test_the_folder_has_what_the_headers_include_their_licence_and_no_more(folder):
    files = [file for file in folder.rglob("*") if file.is_file()]
    headers = [file for file in files if file.suffix in {".h", ".hpp"}]
    for header in headers:
        text = header.read_text()
        assert "SPDX-License-Identifier: BSD-3-Clause" in text.partition("\n")[0]
        for name in re.findall(r'#\s*(?:include|define NM_TEMPLATE) "([^"]+)"', text):
            assert (header.parent / name).is_file(), (header, name)
    assert "forest.h" not in {header.name for header in headers}
    licence = (ROOT / "LICENSE").read_text()
    assert (folder / "LICENSE").read_text() == (folder / "include" / "nmlsdr" / "LICENSE").read_text() == licence
    assert sum(file.stat().st_size for file in files) < 400_000


def test_a_folder_that_holds_something_is_refused(folder):
    with pytest.raises(SystemExit, match="is not an empty folder; give --export a new one"):
        _headers.export(str(folder))


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_a_program_is_compiled_against_the_folder(folder, tmp_path):
    program = tmp_path / "program"
    output("gcc", "-std=c99", "-O1", *WARNINGS, f"-I{folder / 'include'}", SOURCES / "learn.c", "-o", program, "-lm")
    assert output(program, "bits") == learned_bits()


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("gcc")), reason="no CMake, or no gcc")
def test_cmake_takes_the_folder_as_it_is_and_installed(folder, tmp_path):
    """By add_subdirectory, and by find_package after cmake --install."""
    program = "project(learn LANGUAGES C)\n{}\nadd_executable(learn learn.c)\n"
    program += "target_link_libraries(learn PRIVATE nmlsdr::nmlsdr)\n"
    installed = tmp_path / "installed"
    output("cmake", "-S", folder, "-B", tmp_path / "headers")
    output("cmake", "--install", tmp_path / "headers", "--prefix", installed)
    for number, line in enumerate(
        (f"add_subdirectory({folder} headers)", f"find_package(nmlsdr {__version__} REQUIRED)")
    ):
        project = tmp_path / str(number)
        project.mkdir()
        shutil.copy(SOURCES / "learn.c", project)
        (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.15)\n" + program.format(line))
        output("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={installed}")
        output("cmake", "--build", project / "build")
        assert output(project / "build" / "learn", "bits") == learned_bits()
    assert (installed / "share" / "licenses" / "nmlsdr" / "LICENSE").is_file()


@pytest.mark.skipif(not (ROOT / "packaging").is_dir(), reason="not a clone")
def test_the_package_of_headers_has_the_version_and_the_files(folder, tmp_path):
    output(sys.executable, ROOT / "packaging" / "headers" / "make.py", tmp_path / "headers")
    project = tomllib.loads((tmp_path / "headers" / "pyproject.toml").read_text())["project"]
    assert "dependencies" not in project
    package = tmp_path / "headers" / "nmlsdr_headers"
    assert f'"{__version__}"' in (package / "_version.py").read_text()
    for file in folder.rglob("*"):
        if file.is_file():
            assert (package / file.relative_to(folder)).read_bytes() == file.read_bytes()
    code = "import nmlsdr_headers as h; print(h.get_include(), h.get_cmake_dir())"
    include, cmake = output(sys.executable, "-S", "-c", code, PYTHONPATH=str(package.parent)).split()
    assert Path(include, "nmlsdr", "neighbors.h").is_file()
    assert Path(cmake, "nmlsdr-config.cmake").is_file()


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "packaging").is_dir(), reason="not a clone")
def test_the_package_of_headers_is_built_and_installed(tmp_path):
    """From its sdist, with the setuptools that is here."""
    output(sys.executable, ROOT / "packaging" / "headers" / "make.py", tmp_path / "headers")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    process = subprocess.run(
        [*pip, "--target", tmp_path / "site", tmp_path / "headers"], capture_output=True, text=True
    )
    if process.returncode and "setuptools" in process.stderr:
        pytest.skip("no setuptools that builds it")
    assert process.returncode == 0, process.stderr
    package = tmp_path / "site" / "nmlsdr_headers"
    assert (package / "include" / "nmlsdr" / "_c" / "products.h").is_file()
    assert (package / "share" / "pkgconfig" / "nmlsdr.pc").is_file()
    assert (package / "LICENSE").is_file()


@pytest.mark.skipif(not (ROOT / "packaging").is_dir(), reason="not a clone")
def test_every_file_that_names_the_version_has_that_of_the_package():
    assert json.loads((ROOT / "packaging" / "vcpkg" / "vcpkg.json").read_text())["version-string"] == __version__
    for file, pattern in (
        ("packaging/conan/conanfile.py", r'version = "(.*)"'),
        ("nmlsdr/share/pkgconfig/nmlsdr.pc", r"Version: (.*)"),
        ("nmlsdr/include/nmlsdr/version.h", r'NMLSDR_VERSION "(.*)"'),
    ):
        assert re.search(pattern, (ROOT / file).read_text())[1] == __version__, file
