"""Print the oldest versions that pyproject.toml allows, as pip arguments: '>=' becomes '=='."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
wanted = list(project["dependencies"])
for name in ("datasets", "cli", "parquet", "excel", "test"):
    wanted += extras[name]
pins = []
for requirement in wanted:
    match = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9.]+)", requirement)
    if match and match[1] not in {"cython", "setuptools"}:  # build tools, not run-time dependencies
        version = match[2] if match[2].count(".") else match[2] + ".0"
        pins.append(f"{match[1]}=={version}.*" if version.count(".") < 2 else f"{match[1]}=={version}")
print(" ".join(sorted(set(pins))), "cython setuptools")
