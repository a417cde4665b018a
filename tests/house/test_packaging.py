"""What a package index and a stranger's Python are given: the description, the kernels' file names."""

import os
import pkgutil
import re
import sysconfig
import tomllib
from email import message_from_string
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import distribution
from pathlib import Path

import pytest

import nmlsdr


def test_the_description_has_no_link_that_is_dead_on_a_package_index():
    # read as text: beside Dask the package importlib_metadata serves `metadata`, and keeps the description elsewhere
    description = message_from_string(distribution("nmlsdr").read_text("METADATA")).get_payload()
    assert "# nmlsdr" in description
    assert re.findall(r"\]\((?!https?://)[^)]*\)|<picture>|src=", description) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows names stable and other modules alike")
def test_kernels_are_of_the_stable_abi():
    stable = not sysconfig.get_config_var("Py_GIL_DISABLED") and os.environ.get("NMLSDR_ABI3", "1") not in ("", "0")
    specs = [module.module_finder.find_spec(module.name) for module in pkgutil.iter_modules(nmlsdr.__path__)]
    kernels = [spec.origin for spec in specs if spec.origin.endswith(tuple(EXTENSION_SUFFIXES))]
    assert len(kernels) >= 9
    assert [kernel for kernel in kernels if kernel.endswith(".abi3.so") != stable] == []


def test_a_package_is_required_with_the_same_version_everywhere():
    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = project["build-system"]["requires"] + project["project"]["dependencies"]
    groups = [*project["project"]["optional-dependencies"].values(), *project["dependency-groups"].values()]
    requirements += [entry for group in groups for entry in group if isinstance(entry, str)]
    versions_of_package = {}
    for requirement in requirements:
        name = re.match(r"[\w.-]+", requirement)[0]
        if name != "nmlsdr":
            versions_of_package.setdefault(name, set()).add(re.sub(r"\[.*?\]", "", requirement))
    assert {name: versions for name, versions in versions_of_package.items() if len(versions) > 1} == {}
