"""The package is typed: its marker is installed."""

from pathlib import Path

import nmlsdr


def test_the_marker_of_a_typed_package_is_installed():
    assert (Path(nmlsdr.__file__).parent / "py.typed").is_file()
