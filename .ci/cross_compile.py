"""Compile every kernel for other systems with zig's clang, without OpenMP; run those of 64-bit ARM in an emulator.

Only what belongs to a system is replaced in the headers of the Python at hand: its pyconfig.h (the sizes of C types).
simd_levels.c, which needs no Python, is also linked and run, here and by qemu-user as 64-bit ARM: every SIMD level
gives the canonical bits, and both processors the same ones.
"""

import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ["x86_64-linux-musl", "aarch64-linux-gnu", "aarch64-macos", "x86_64-windows-gnu"]
FLAGS = [
    "-O0",
    "-c",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-DNMLSDR_DEBUG_BUILD=0",
    "-DPy_LIMITED_API=0x030B0000",
    "-Wall",
    "-Werror=implicit-function-declaration",
    "-Wno-unused-function",
    "-Wno-unreachable-code-fallthrough",
    "-Wno-unused-but-set-variable",
]

# What Python's own pyconfig.h says of 64-bit systems, as far as its headers ask.
COMMON = {
    "SIZEOF_VOID_P": 8, "SIZEOF_SIZE_T": 8, "SIZEOF_LONG_LONG": 8, "SIZEOF_INT": 4, "SIZEOF_SHORT": 2,
    "SIZEOF_DOUBLE": 8, "SIZEOF_FLOAT": 4, "SIZEOF_TIME_T": 8, "SIZEOF_FPOS_T": 8, "SIZEOF_PID_T": 4,
    "HAVE_STDDEF_H": 1, "HAVE_STDINT_H": 1, "ALIGNOF_MAX_ALIGN_T": 16, "HAVE_WCHAR_H": 1, "STDC_HEADERS": 1,
}  # fmt: skip
WINDOWS = {"SIZEOF_LONG": 4, "SIZEOF_WCHAR_T": 2, "MS_WINDOWS": "", "MS_WIN64": "", "NT_THREADS": "", "HAVE_IO_H": 1}
POSIX = {
    "SIZEOF_LONG": 8,
    "SIZEOF_WCHAR_T": 4,
    "HAVE_UNISTD_H": 1,
    "HAVE_PTHREAD_H": 1,
    "HAVE_SYS_TYPES_H": 1,
    "HAVE_SYS_TIME_H": 1,
    "HAVE_SSIZE_T": 1,
    "_GNU_SOURCE": 1,
}


def config(target: str) -> str:
    names = COMMON | (WINDOWS if "windows" in target else POSIX)
    lines = [f"#define {name} {value}" for name, value in names.items()]
    if "windows" in target:
        lines.append(
            "#include <basetsd.h>\ntypedef SSIZE_T Py_ssize_t;\n#define HAVE_PY_SSIZE_T 1\n"
            "#define PY_SSIZE_T_MAX LLONG_MAX"
        )
    return "\n".join(lines) + "\n"


def compile_one(folder: Path, target: str, source: Path) -> tuple[str, int, str]:
    headers = folder / target
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        "-target",
        target,
        *FLAGS,
        f"-I{headers}",
        f"-I{headers / 'python'}",
        f"-I{ROOT / 'nmlsdr'}",
        str(source),
        "-o",
        str(folder / f"{target}-{source.stem}.o"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{target} {source.name}", done.returncode, done.stderr


def bits(program: Path, compiler: list[str], emulator: list[str]) -> tuple[int, str]:
    """Status and report of simd_levels.c as a program of some system."""
    flags = ["-O2", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wno-unused-function", f"-I{ROOT / 'nmlsdr/_c'}"]
    build = [*compiler, *flags, str(ROOT / ".ci" / "simd_levels.c"), "-o", str(program), "-lm"]
    for command in (build, [*emulator, str(program)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
        if done.returncode:
            break
    return done.returncode, done.stdout + done.stderr[:3000]


def compare_levels(folder: Path) -> bool:
    """Whether the levels of this processor and those of 64-bit ARM, where it can be emulated, give the same bits."""
    reports = {platform.machine(): bits(folder / "here", ["cc"], [])}
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if emulator:
        compiler = [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-static"]
        reports["aarch64, emulated"] = bits(folder / "arm", compiler, [emulator])
    else:
        print("aarch64: not run, qemu-aarch64-static (of qemu-user-static) is not here")
    for name, (status, text) in reports.items():
        print(f"{name}: {'right' if status == 0 else f'WRONG, status {status}'}\n{text}", end="")
    sums = {text.rpartition("bits ")[2] for _, text in reports.values()}
    return len(sums) == 1 and not any(status for status, _ in reports.values())


def main() -> int:
    sources = sorted((ROOT / "nmlsdr").glob("*.c"))
    if len(sources) < 5:
        print("cross_compile: build first, so that Cython's C files are there.", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for target in TARGETS:
            python = folder / target / "python"
            python.mkdir(parents=True)
            for header in Path(sysconfig.get_paths()["include"]).iterdir():
                if header.name != "pyconfig.h":
                    (python / header.name).symlink_to(header)
            (folder / target / "pyconfig.h").write_text(config(target))
        jobs = [(folder, target, source) for target in TARGETS for source in sources]
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda job: compile_one(*job), jobs))
        same = compare_levels(folder) if sys.platform == "linux" else True
    failed = [(name, text) for name, code, text in results if code]
    for name, text in failed:
        print(f"== {name}\n{text[:3000]}")
    warned = sum("warning:" in text for _, _, text in results)
    print(f"{len(results) - len(failed)} of {len(results)} compiled for {len(TARGETS)} targets, {warned} with warnings")
    return bool(failed) or not same


if __name__ == "__main__":
    sys.exit(main())
