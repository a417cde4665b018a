"""What a package index and a stranger's Python are given: the description, the kernels' file names."""

import os
import re
import sysconfig
from importlib.metadata import metadata

import pytest

from nmlsdr import _dependence, _graph, _mlknn, _propagation, _ridge, _weights, c_api


def test_the_description_has_no_link_that_is_dead_on_a_package_index():
    description = metadata("nmlsdr").get_payload()
    assert "# nmlsdr" in description
    assert re.findall(r"\]\((?!https?://)[^)]*\)", description) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows names stable and other modules alike")
@pytest.mark.parametrize("module", [_dependence, _graph, _mlknn, _propagation, _ridge, _weights, c_api])
def test_kernels_are_of_the_stable_abi(module):
    stable = not sysconfig.get_config_var("Py_GIL_DISABLED") and os.environ.get("NMLSDR_ABI3", "1") not in ("", "0")
    assert module.__file__.endswith(".abi3.so") == stable
