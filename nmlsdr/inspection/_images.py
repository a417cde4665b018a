"""Pictures of rows, made small and turned into data URIs, for pages that load nothing."""

import base64
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._errors import import_extra

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
LARGEST_SIDE = 480  # pixels
MOST_SIDE = 20_000  # pixels of a picture that is read
MOST_BYTES = 20_000_000  # of all pictures of a page, as text


def thumbnails(folder: str, names: Sequence[str]) -> list[list[str]]:
    """Return the name of each picture and its data URI, which is empty where the picture is not shown.

    Parameters
    ----------
    folder : str
        Only pictures below it are read: no "..", no link, no address.
    names : sequence of str
        Paths, relative ones from the folder; an empty one is no picture.
    """
    pillow = import_extra("PIL.ImageOps", "Showing pictures", "cli")
    root = Path(folder).resolve()
    shown = {"": ["", ""]}
    used = 0
    for name in filter(None, dict.fromkeys(names)):
        shown[name] = [f"{name} (not a picture below the folder of the data)", ""]
        try:
            path = root / name
            if path.resolve() != path or not path.is_relative_to(root) or not path.is_file():
                continue  # a link or a path with "..", an absolute path, or something that waits for a writer
            with warnings.catch_warnings(action="error"):  # of Pillow, for a picture that is too large
                uri = _data_uri(pillow, path)
        except (OSError, ValueError, SyntaxError, pillow.Image.DecompressionBombError, Warning):
            continue
        used += len(uri)
        shown[name] = [name, uri] if used <= MOST_BYTES else [f"{name} (the page has no room for it)", ""]
    return [shown[name] for name in names]


def _data_uri(pillow: Any, path: Path) -> str:
    with pillow.Image.open(path, formats=FORMATS) as opened:
        if max(opened.size) > MOST_SIDE:
            raise ValueError("too large")
        picture = pillow.ImageOps.exif_transpose(opened)
        picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
        file = io.BytesIO()
        picture.convert("RGBA" if clear else "RGB").save(file, "PNG" if clear else "JPEG")
    return f"data:image/{'png' if clear else 'jpeg'};base64,{base64.b64encode(file.getvalue()).decode()}"
