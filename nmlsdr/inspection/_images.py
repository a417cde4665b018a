"""Pictures of rows, made small and turned into data URIs, for pages that load nothing."""

import base64
import io
import warnings
from collections.abc import Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

from .._errors import import_extra

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
LARGEST_SIDE = 480  # pixels
MOST_BYTES = 20_000_000  # of all pictures of a page, as text


def thumbnails(folder: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the name of each picture with its data URI, or with why it is not shown.

    Parameters
    ----------
    folder : str
        Only pictures below it are read: no absolute path, no "..", no link, no address.
    names : sequence of str
        Paths relative to the folder; an empty one is no picture.

    Returns
    -------
    list of (str, str)
        The name and the data URI. The URI is empty where the picture is not shown; then the name says why.
    """
    pillow = import_extra("PIL.ImageOps", "Showing pictures", "cli")
    found: dict[str, tuple[str, str]] = {"": ("", "")}
    used = 0
    for name in names:
        if name not in found:
            try:
                uri = _data_uri(pillow, _below(Path(folder), name))
            except (OSError, ValueError, SyntaxError, pillow.Image.DecompressionBombError, Warning) as error:
                found[name] = (f"{name} ({_reason(error)})", "")
                continue
            used += len(uri)
            found[name] = (name, uri) if used <= MOST_BYTES else (f"{name} (the page has no room for it)", "")
    return [found[name] for name in names]


def _below(folder: Path, name: str) -> Path:
    """The file of this name; a ValueError if it is not plainly below the folder."""
    parts = PureWindowsPath(name).parts  # which splits at / and \
    root = folder.resolve()
    if ":" in name or "\0" in name or ".." in parts or Path(name).is_absolute():
        raise ValueError("not a path below the folder of the data")
    path = root / name
    if path.resolve() != path:
        raise ValueError("a link")
    return path


def _data_uri(pillow: Any, path: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pillow.Image.DecompressionBombWarning)
        with pillow.Image.open(path, formats=FORMATS) as opened:
            picture = pillow.ImageOps.exif_transpose(opened)
            picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
            clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
            kind, mode, options = ("PNG", "RGBA", {}) if clear else ("JPEG", "RGB", {"quality": 85})
            file = io.BytesIO()
            picture.convert(mode).save(file, kind, **options)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode()}"


def _reason(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    known = isinstance(error, ValueError) and str(error).startswith(("a link", "not a path"))
    return str(error) if known else "not a picture in PNG, JPEG, GIF or WebP that can be read"
