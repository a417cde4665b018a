"""``python -m nmlsdr``: the same as the command ``nmlsdr``, and the folders of the files for C and C++.

``--includedir``, ``--cmakedir`` or ``--pkgconfigdir`` prints one of them, and ``--export DIR`` writes a folder of the
headers with their licence and CMake files, also where nmlsdr is installed without the packages that it depends on.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    folders = {"--includedir": "include", "--cmakedir": "share/cmake/nmlsdr", "--pkgconfigdir": "share/pkgconfig"}
    if len(sys.argv) == 2 and sys.argv[1] in folders:
        print(Path(__file__).resolve().parent / folders[sys.argv[1]])
    elif sys.argv[1:2] == ["--export"] and len(sys.argv) == 3:
        from ._headers import export

        print(f"{export(sys.argv[2])} files in {sys.argv[2]}")
    else:
        from .cli import main

        raise SystemExit(main())
