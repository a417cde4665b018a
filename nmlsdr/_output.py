"""Write a result so that a reader finds the old file or the new one, never half of one.

The bytes go to a new file in the same folder, are flushed to the disk, and the file is then renamed in one step. If the
process is killed, the target is unchanged, and a file ``.<name>.<random>.part`` may be left in its folder.
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from ._errors import InputError
from ._version import __version__

PathLike = str | os.PathLike[str]


def check_output(path: PathLike, *, inputs: Iterable[PathLike] = ()) -> Path:
    """Check before any work that a result can be written to `path`.

    Parameters
    ----------
    path : str or path-like
        Where the result goes; links are followed.
    inputs : iterable of str or path-like, default=()
        Files that are read for it and must not be overwritten.

    Returns
    -------
    pathlib.Path
        The file that will be written, with links resolved.

    Raises
    ------
    ValueError
        The path is an input, a folder, a link that leads in a circle, or in a folder that does not exist.
    PermissionError
        The file or its folder may not be written.
    """
    name = os.fspath(path)
    if not name or name.endswith(os.sep) or "\0" in name:
        raise InputError(f"The output {name!r} is not a file name; give the name of a file.")
    target = Path(os.path.realpath(name))
    mode = _mode(name)
    _refuse_inputs(name, target, inputs)
    if stat.S_ISDIR(mode):
        raise InputError(f"The output {name!r} is a folder; give a file name in it.")
    if mode and not os.access(target if stat.S_ISREG(mode) else name, os.W_OK):
        raise PermissionError(f"The output {name!r} is write-protected; choose another name.")
    if not mode or stat.S_ISREG(mode):
        _check_folder(target.parent)
    return target


def _mode(name: str) -> int:
    """The mode of a file, 0 if there is none."""
    try:
        return os.stat(name).st_mode
    except FileNotFoundError:
        return 0
    except OSError as error:
        kind = PermissionError if isinstance(error, PermissionError) else InputError
        raise kind(f"The output {name!r} cannot be used ({error.strerror}); choose another name.") from None


def _refuse_inputs(name: str, target: Path, inputs: Iterable[PathLike]) -> None:
    """Raise if the output would overwrite an input."""
    for source in inputs:
        with contextlib.suppress(OSError):
            if os.path.samefile(source, target):
                problem = f"The output {name!r} is the same file as the input {os.fspath(source)!r}"
                raise InputError(f"{problem}; choose another name.")


def _check_folder(folder: Path) -> None:
    """Raise if no file can be made in the folder."""
    if not folder.is_dir():
        raise InputError(f"The output folder {str(folder)!r} does not exist; make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"The output folder {str(folder)!r} is write-protected; choose another.")


@contextlib.contextmanager
def replace_file(path: PathLike, *, inputs: Iterable[PathLike] = ()) -> Iterator[BinaryIO]:
    """Open a binary file that becomes `path` when the block ends without an error.

    Parameters
    ----------
    path : str or path-like
        The file to write; a link is followed, and what it points to is replaced. A new file gets the permissions that
        the umask allows, an existing one keeps its own. A device or a pipe (``/dev/stdout``) is written directly.
    inputs : iterable of str or path-like, default=()
        Files that must not be overwritten.

    Yields
    ------
    file : binary file
        Open for writing (and seeking, but for a device or a pipe).

    Raises
    ------
    ValueError, PermissionError
        As `check_output`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> name = os.path.join(folder.name, "result.txt")
    >>> with replace_file(name) as file:
    ...     _ = file.write(b"whole")
    ...     os.path.exists(name)
    False
    >>> Path(name).read_text()
    'whole'
    >>> folder.cleanup()
    """
    target = check_output(path, inputs=inputs)
    try:
        mode = os.stat(path).st_mode if os.path.exists(path) else 0
        if mode and not stat.S_ISREG(mode):
            with open(path, "wb") as file:
                yield file
            return
        # A file name may have 255 bytes, and the target's may already have that many.
        stem = os.fsdecode(os.fsencode(target.name)[:200])
        part = target.with_name(f".{stem}.{secrets.token_hex(6)}.part")
        file = open(part, "xb")  # noqa: SIM115  (closed by hand: the rename comes between close and clean-up)
        try:
            if mode:
                os.chmod(part, stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()
            os.replace(part, target)
        except BaseException:
            # A full disk makes close() fail too; the first error is the one to report.
            with contextlib.suppress(OSError):
                file.close()
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise
    except OSError as error:
        if error.filename is None and error.errno is not None:  # such as that of a full disk
            error.filename = os.fspath(path)
        raise


def write_file(path: PathLike, content: str | bytes) -> None:
    """Write a file whole or not at all; see `replace_file`."""
    with replace_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def versions() -> dict[str, str]:
    """Return the versions of the packages that the numbers in a result depend on."""
    return {"nmlsdr": __version__} | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
