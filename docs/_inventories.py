"""Where the names of other projects are documented, kept here so that the site builds without a network.

inventories.txt has a line for each project, its name and its address, and below it a line for each of its names: the
role, the page below the address ($ is the name), and the name.
"""

import zlib
from pathlib import Path

LINES = Path(__file__).with_name("inventories.txt").read_text(encoding="utf-8").splitlines()
NAMES = [line.split()[2] for line in LINES if line.startswith(" ") and "std:" not in line]

# What the types in docstrings link to: the last part of each name, and the whole name where Python has it built in.
ALIASES = {name.rpartition(".")[2]: name for name in NAMES} | {name: name for name in NAMES}


def write(folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project into the folder; return Sphinx's ``intersphinx_mapping``."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping: dict[str, tuple[str, str]] = {}
    entries: dict[str, list[str]] = {}
    project = ""
    for line in LINES:
        first, second, *name = line.split()
        if line.startswith(" "):
            role = first if ":" in first else f"py:{first}"
            entries[project].append(f"{name[0]} {role} 1 {second.replace('$', name[0])} -\n")
        else:
            project = first
            mapping[project] = (second, str(folder / f"{project}.inv"))
            entries[project] = []
    for project, lines in entries.items():
        head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
        head += "# The remainder of this file is compressed using zlib.\n"
        (folder / f"{project}.inv").write_bytes(head.encode() + zlib.compress("".join(lines).encode()))
    return mapping
