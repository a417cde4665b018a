"""The headers for C and C++ as one folder that needs nothing else: what ``python -m nmlsdr --export`` writes.

It imports nothing of the package, so that it works where the packages that nmlsdr depends on are not installed.
"""

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parent
_KERNELS = '"../../_c/'  # how headers include the kernels in the package
_INCLUDE = re.compile(r'#(?:\s*)(?:include|define NM_TEMPLATE) "([\w./]+)"')


def files() -> dict[str, str]:
    """Text of each file of the folder, by its path: headers with the kernels that they reach, licence, CMake files."""
    texts = {}
    headers = _ROOT / "include" / "nmlsdr"
    for header in sorted(headers.iterdir()):
        texts[f"include/nmlsdr/{header.name}"] = header.read_text(encoding="utf-8").replace(_KERNELS, '"_c/')
    for kernel in sorted(_reached(headers)):
        texts[f"include/nmlsdr/_c/{kernel}"] = (_ROOT / "_c" / kernel).read_text(encoding="utf-8")
    for file in sorted((_ROOT / "share").rglob("*")):
        if file.suffix in {".cmake", ".pc"}:
            texts[file.relative_to(_ROOT).as_posix()] = file.read_text(encoding="utf-8")
    texts["LICENSE"] = texts["include/nmlsdr/LICENSE"]
    texts["CMakeLists.txt"] = (_ROOT / "share" / "CMakeLists.txt").read_text(encoding="utf-8")
    return texts


def _reached(headers: Path) -> set[str]:
    """The files of _c/ that the headers include, directly or not."""
    waiting = [name for file in headers.iterdir() for name in _INCLUDE.findall(file.read_text(encoding="utf-8"))]
    kernels: set[str] = set()
    while waiting:
        name = waiting.pop().rpartition("/")[2]
        file = _ROOT / "_c" / name
        if name not in kernels and file.is_file():
            kernels.add(name)
            waiting += _INCLUDE.findall(file.read_text(encoding="utf-8"))
    return kernels


def export(folder: str) -> int:
    """Write the folder, which must be new or empty; return how many files it has."""
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SystemExit(f"{folder} is not an empty folder; give --export a new one.")
    texts = files()
    for name, text in texts.items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return len(texts)
