"""Make the source of the package nmlsdr-headers, which has the version and the files of this tree.

    python packaging/headers/make.py FOLDER && python -m build --sdist FOLDER

It is released as an sdist only: it has no compiled code, so that a wheel of it would gain nothing.
"""

import runpy
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "nmlsdr"


def make(folder):
    package = Path(folder) / "nmlsdr_headers"
    runpy.run_path(str(PACKAGE / "_headers.py"))["export"](str(package))  # nmlsdr itself need not be installed
    shutil.copy(HERE / "__init__.py", package)
    shutil.copy(PACKAGE / "_version.py", package)
    shutil.copy(package / "LICENSE", folder)
    shutil.copy(HERE / "pyproject.toml", folder)


if __name__ == "__main__":
    make(sys.argv[1])
