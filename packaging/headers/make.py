"""Make the source of the package nmlsdr-headers, which has the version and the files of this tree.

    python packaging/headers/make.py FOLDER && python -m build --sdist FOLDER

It is released as an sdist only: it has no compiled code, so that a wheel of it would gain nothing.
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "nmlsdr"))  # its modules alone: nothing is installed yet

import _headers
import _version


def make(folder):
    package = Path(folder) / "nmlsdr_headers"
    _headers.export(str(package))
    shutil.copy(HERE / "__init__.py", package)
    shutil.copy(package / "LICENSE", folder)
    project = (HERE / "pyproject.toml").read_text(encoding="utf-8").replace("@VERSION@", _version.__version__)
    (Path(folder) / "pyproject.toml").write_text(project, encoding="utf-8")


if __name__ == "__main__":
    make(sys.argv[1])
