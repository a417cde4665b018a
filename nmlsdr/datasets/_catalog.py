"""The article's nine Mulan data sets: their files, where they come from, and whether they are the right ones."""

import hashlib
import os
from pathlib import Path
from typing import Any

from .._errors import import_extra
from .._resources import load_json
from ..tables import DataFileError, Path_, open_unpacked

DOWNLOAD_TIMEOUT = 60  # seconds without an answer


def catalog() -> dict[str, Any]:
    """Return the table shipped with the package: source, home, and one entry per set; callers only read it."""
    return load_json(__package__, "_catalog.json")


def find_data_home(data_home: Path_ | None = None) -> Path:
    """Return `data_home`, else the environment variable NMLSDR_DATA, else ~/nmlsdr_data.  Nothing is created."""
    return Path(data_home or os.environ.get("NMLSDR_DATA") or Path.home() / "nmlsdr_data")


def find_file(name: str, role: str, data_home: Path_ | None = None) -> Path:
    """Return the file of a set: FOLDER/FILE or FILE below the data home, plain or gzipped.

    Parameters
    ----------
    name : str
        Name or folder of the set.
    role : {"train", "test", "labels"}
        Which of its files; if it is missing, the error names the place for it.
    data_home : path, optional
        See find_data_home.
    """
    info = dataset_info(name)
    file = _place(info, role, data_home)
    if not file.is_file():
        advice = f"run 'nmlsdr datasets fetch {info['name']}', or set data_home or NMLSDR_DATA to the right folder"
        raise DataFileError(f"{file} (or {file.name}.gz) is missing; put it there, {advice}.")
    return file


def _place(info: dict[str, Any], role: str, data_home: Path_ | None) -> Path:
    """Return the file of a set, or the place for it if it is missing."""
    home = find_data_home(data_home)
    file = info["files"][role]["name"]
    places = (folder / name for folder in (home / info["folder"], home) for name in (f"{file}.gz", file))
    return next((path for path in places if path.is_file()), home / info["folder"] / file)


def list_datasets() -> list[str]:
    """Return the names of the sets that have files, as the article prints them.

    Returns
    -------
    list of str
        Nine names; the tenth set of the article is `make_toy`.

    Examples
    --------
    >>> list_datasets()
    ['Birds', 'Corel', 'Emotions', 'Enron', 'Genbase', 'Medical', 'Scene', 'Tmc2007', 'Yeast']
    """
    return list(catalog()["sets"])


def dataset_info(name: str, source: str | None = None) -> dict[str, Any]:
    """Return what is known of a set without its files.

    Parameters
    ----------
    name : str
        Name (Corel) or folder (corel16k001), in any case.
    source : str, default=None
        Where the files come from, as for `fetch_dataset`.

    Returns
    -------
    dict
        name, folder, remote, subject; files (role -> name, bytes, sha256 and url, of the unpacked file); paper (the
        counts of the article's table: train, test, attributes, labels, cardinality); rules (how paper_split
        differs from the official files); home (the page of the data sets).

    Examples
    --------
    >>> dataset_info("corel16k001")["paper"]
    {'train': 5188, 'test': 1744, 'attributes': 500, 'labels': 153, 'cardinality': 2.87}
    """
    sets: dict[str, dict[str, Any]] = catalog()["sets"]
    known = str(name).lower()
    for entry in sets.values():
        if known in (entry["name"].lower(), entry["folder"].lower()):
            base = f"{(source or catalog()['source']).rstrip('/')}/{entry['remote']}/"
            files = {role: {**file, "url": base + file["name"]} for role, file in entry["files"].items()}
            return {**entry, "home": catalog()["home"], "files": files}
    if known == "toy":
        raise DataFileError("The set 'Toy' has no files; draw it with make_toy().")
    raise DataFileError(f"The data set {name!r} is not known; choose one of {', '.join(sets)}.")


def verify_dataset(name: str, data_home: Path_ | None = None) -> list[dict[str, Any]]:
    """Compare the files of a set with their checksums.

    Parameters
    ----------
    name : str
        Name or folder of the set.
    data_home : path, default=None
        Folder of the data; default NMLSDR_DATA, else ~/nmlsdr_data.

    Returns
    -------
    list of dict
        For train, test and labels: role, file (the path found, or the one expected) and state: "ok", "missing",
        "wrong" (readable, but another content) or "unreadable".  A gzipped file is compared by its content.

    Examples
    --------
    >>> [file["state"] for file in verify_dataset("scene", "no-such-folder")]
    ['missing', 'missing', 'missing']
    """
    info = dataset_info(name)
    report = []
    for role, expected in info["files"].items():
        file = _place(info, role, data_home)
        state = _state(file, expected["bytes"], expected["sha256"]) if file.is_file() else "missing"
        report.append({"role": role, "file": os.fspath(file), "state": state})
    return report


def _state(path: Path, n_bytes: int, sha256: str) -> str:
    try:
        with open_unpacked(path) as file:
            content = file.read(n_bytes + 1)  # one byte more than expected shows that the file is wrong
    except Exception:  # a damaged gzip file raises one of several kinds
        return "unreadable"
    return "ok" if hashlib.sha256(content).hexdigest() == sha256 else "wrong"


def fetch_dataset(name: str, data_home: Path_ | None = None, *, source: str | None = None) -> list[Path]:
    """Download the files of a data set that are missing from Mulan's public repository, and check them.

    Parameters
    ----------
    name : str
        Name of the data set, or of its folder.
    data_home : path, default=None
        Folder in which the files are stored, in one folder for each data set. None: the environment variable
        NMLSDR_DATA if it is set, otherwise ~/nmlsdr_data.
    source : str, default=None
        Address of a folder that contains the folders of the data sets. None: Mulan's repository at a fixed commit.

    Returns
    -------
    list of Path
        The files with training rows, test rows and label names.

    Raises
    ------
    DataFileError
        If a file exists with other content (it is not replaced), cannot be downloaded, or arrives with another
        checksum.
    ImportError
        If pooch is not installed (the extra ``datasets``).

    Examples
    --------
    Needs a network; files with the right checksum are not downloaded again.

    >>> from nmlsdr.datasets import fetch_dataset
    >>> [file.name for file in fetch_dataset("scene", "data")]  # doctest: +SKIP
    ['scene-train.arff', 'scene-test.arff', 'scene.xml']
    """
    info = dataset_info(name, source)
    folder = find_data_home(data_home) / info["folder"]
    report = verify_dataset(name, data_home)
    for entry in report:
        if entry["state"] in ("wrong", "unreadable"):
            raise DataFileError(f"{entry['file']} is not the expected file ({entry['state']}); move it away first.")
    return [
        _download(info["files"][entry["role"]], folder) if entry["state"] == "missing" else Path(entry["file"])
        for entry in report
    ]


def _download(file: dict[str, Any], folder: Path) -> Path:
    """Download one file and check it; pooch writes to a temporary file and renames it, so no partial file remains."""
    pooch = import_extra("pooch", "Fetching data", "datasets")
    url = file["url"]
    name = file["name"]
    downloader = pooch.HTTPDownloader(timeout=DOWNLOAD_TIMEOUT)
    try:
        return Path(pooch.retrieve(url, f"sha256:{file['sha256']}", name, folder, downloader=downloader))
    except (OSError, ValueError) as error:  # requests' errors are OSError, a wrong checksum is ValueError
        reason = "another checksum" if isinstance(error, ValueError) else type(error).__name__
        raise DataFileError(f"{url} could not be fetched ({reason}); put {name} into {folder} yourself.") from error
