"""Headers of nmlsdr for C and C++, as a build requirement that brings no other package."""

from pathlib import Path


def get_include():
    """Return the folder for the compiler's option -I."""
    return str(Path(__file__).resolve().parent / "include")


def get_cmake_dir():
    """Return the folder for CMake's variable nmlsdr_DIR."""
    return str(Path(__file__).resolve().parent / "share" / "cmake" / "nmlsdr")
