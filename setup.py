"""Build the Cython kernels.  Everything else is in pyproject.toml.

Environment variables, read at build time only:

NMLSDR_DEBUG=1       bounds checks, C asserts and the undefined-behaviour sanitizer
NMLSDR_NO_OPENMP=1   build serial kernels even where OpenMP works
NMLSDR_ABI3=0        build for this Python only, not for the stable ABI of 3.11 and later
NMLSDR_CLANG_CL=PATH compile with clang-cl instead of MSVC (Windows)
"""

import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
KERNELS = sorted(path.stem for path in (ROOT / "nmlsdr").glob("*.pyx"))


def named_in(source):
    """The headers and declarations that make a kernel stale: those that its files name, directly or not."""
    found, left = set(), [ROOT / source]
    while left:
        file = left.pop()
        text = file.read_text(encoding="utf-8")
        named = re.findall(r'"([\w./]+\.h)"', text)
        named += [f"{name}.pxd" for name in re.findall(r"^from \.(_\w+) cimport", text, re.MULTILINE)]
        more = {(file.parent / name).resolve() for name in named} | {file.with_suffix(".pxd")}
        left += [one for one in more - found if one.is_file()]
        found |= {one for one in more if one.is_file()}
    return sorted(str(file.relative_to(ROOT)) for file in found)


DEBUG = os.environ.get("NMLSDR_DEBUG", "0") not in ("", "0")
NO_OPENMP = os.environ.get("NMLSDR_NO_OPENMP", "0") not in ("", "0")

# One wheel serves CPython 3.11 and every later one.  Free-threaded Pythons have no stable ABI before 3.15.
ABI3 = os.environ.get("NMLSDR_ABI3", "1") not in ("", "0") and not sysconfig.get_config_var("Py_GIL_DISABLED")
CLANG_CL = os.environ.get("NMLSDR_CLANG_CL", "")
STABLE_ABI = [("Py_LIMITED_API", "0x030B0000")] if ABI3 else []

# Multiply and add must stay two roundings: the canonical distance is the same
# number at every SIMD width only if the compiler may not fuse them.  -g0: Python's own flags ask for debug
# information, which is three quarters of the installed size.  -falign-loops: where the innermost loop of the products
# happened to lie made a search 3 to 5 % slower or faster with any change elsewhere in the module.
UNIX_FLAGS = ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-falign-loops=64", "-Wno-unused-function"]
UNIX_DEBUG_FLAGS = [
    "-O1",
    "-g",
    "-UNDEBUG",
    "-ffp-contract=off",
    "-fsanitize=undefined",
    "-fno-sanitize-recover=undefined",
]
MSVC_FLAGS = ["/O2", "/fp:precise"]

OPENMP_PROGRAM = """
#include <omp.h>
int main(void) {
    int i, total = 0; /* MSVC's OpenMP 2.0 refuses an index that is declared in the loop */
    #pragma omp parallel for reduction(+:total)
    for (i = 0; i < 8; i++) total += omp_get_num_threads() > 0;
    return total != 8;
}
"""


def openmp_candidates(compiler_type):
    """Flag pairs (compile, link) to try, in order."""
    if compiler_type == "msvc":
        return [(["/openmp"], [])]
    if sys.platform == "darwin":  # Apple clang needs the runtime of Homebrew or conda
        return [(["-Xpreprocessor", "-fopenmp"], ["-lomp"]), (["-fopenmp"], ["-fopenmp"])]
    return [(["-fopenmp"], ["-fopenmp"])]


def require_compiler(compiler):
    """End with one sentence where there is no C compiler, before anything is tried with it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text("int main(void) { return 0; }\n")
        try:
            compiler.compile([str(source)], output_dir=folder)
        except Exception as error:
            raise SystemExit(
                f"nmlsdr is built from C, and no C compiler works here ({error}); install one (Debian: apt install "
                "gcc, macOS: xcode-select --install, Windows: Visual Studio's C++ build tools), or a wheel."
            ) from None


def probe_openmp(compiler):
    """Compile, link and run a small OpenMP program; return its flags, or empty flags."""
    for compile_flags, link_flags in openmp_candidates(compiler.compiler_type):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "probe.c"
            source.write_text(OPENMP_PROGRAM)
            program = str(Path(folder) / "probe")
            try:
                objects = compiler.compile([str(source)], output_dir=folder, extra_postargs=compile_flags)
                compiler.link_executable(objects, program, extra_postargs=link_flags)
                subprocess.run([program], check=True, timeout=60)
            except Exception as error:  # any failure means: not here
                print(f"OpenMP probe with {compile_flags} failed: {error}", file=sys.stderr)
                continue
            return compile_flags, link_flags
    print("nmlsdr: OpenMP was not found; the kernels will run on one thread.", file=sys.stderr)
    return [], []


class BuildKernels(build_ext):
    """Add the flags that the compiler at hand understands, and say how long the kernels took."""

    def finalize_options(self):
        super().finalize_options()
        if self.parallel is None:  # one kernel a core: _graph alone takes as long as the others together
            self.parallel = os.cpu_count()

    def build_extensions(self):
        begin = time.perf_counter()
        msvc = self.compiler.compiler_type == "msvc"
        if msvc and CLANG_CL:  # MSVC's own OpenMP is of 2002, and it knows no target_clones
            self.compiler.initialize()
            self.compiler.cc = CLANG_CL
        require_compiler(self.compiler)
        flags = MSVC_FLAGS if msvc else (UNIX_DEBUG_FLAGS if DEBUG else UNIX_FLAGS)
        link = ["-fsanitize=undefined"] if DEBUG and not msvc else []
        omp_compile, omp_link = ([], []) if NO_OPENMP else probe_openmp(self.compiler)
        for extension in self.extensions:
            extension.extra_compile_args = [*flags, *omp_compile]
            extension.extra_link_args = [*link, *omp_link]
            extension.define_macros = [("NMLSDR_DEBUG_BUILD", str(int(DEBUG))), *STABLE_ABI]
        super().build_extensions()
        print(f"nmlsdr: kernels built in {time.perf_counter() - begin:.1f} s", file=sys.stderr)

    def copy_extensions_to_source(self):
        """After a build in place, remove kernels built for one Python only: it would load them before abi3 ones."""
        super().copy_extensions_to_source()
        for extension in self.extensions:
            built = Path(self.get_ext_filename(extension.name))
            for stale in built.parent.glob(built.name.partition(".")[0] + ".*"):
                if stale.suffix in {".so", ".pyd"} and stale.name != built.name:
                    stale.unlink()


def extensions():
    from Cython.Build import cythonize

    modules = [
        Extension(
            f"nmlsdr.{name}",
            [f"nmlsdr/{name}.pyx"],
            depends=named_in(f"nmlsdr/{name}.pyx"),
            include_dirs=["nmlsdr"],
            py_limited_api=ABI3,
        )
        for name in KERNELS
    ]
    directives = {
        "language_level": 3,
        "boundscheck": DEBUG,
        "wraparound": False,
        "initializedcheck": DEBUG,
        "cdivision": True,
        "freethreading_compatible": True,
    }
    return cythonize(modules, compiler_directives=directives, force=DEBUG)


def long_description():
    """The README for a package index, where a relative link is dead: absolute by the Source URL, else its text.

    Of a picture in two variants the light one stays.
    """
    source = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {}).get("Source")

    def reachable(link):
        picture, text, path = link.groups()
        if not source:
            return f"*{text}*" if picture else text
        return f"{picture}[{text}]({source}/{'raw' if picture else 'blob'}/HEAD/{path})"

    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r'<picture>.*<img alt="([^"]+)" src="([^"]+)"[^>]*></picture>', r"![\1](\2)", text)
    return re.sub(r"(!?)\[([^\]]+)\]\((?!https?://|#)([^)]+)\)", reachable, text)


setup(
    long_description=long_description(),
    long_description_content_type="text/markdown",
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if ABI3 else {},
)
