"""Check what the sdist and the wheel hold: sources in, generated C and tests out."""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

folder = Path(sys.argv[1])
(sdist,) = folder.glob("*.tar.gz")
(wheel,) = folder.glob("*.whl")
with tarfile.open(sdist) as archive:
    source = [name.split("/", 1)[1] for name in archive.getnames() if "/" in name]
with zipfile.ZipFile(wheel) as archive:
    built = archive.namelist()

ROOT = Path(__file__).resolve().parent.parent
problems = []
for path in [*ROOT.glob("nmlsdr/**/*"), ROOT / "setup.py", ROOT / "pyproject.toml", ROOT / "LICENSE"]:
    name = path.relative_to(ROOT).as_posix()
    if path.suffix in {".py", ".pyx", ".pxd", ".h", ".toml"} and name not in source:
        problems.append(f"the sdist lacks {name}")
    shipped = {".py", ".pxd", ".h", ".json", ".csv", ".html", ".css", ".js", ".jinja"}
    if name.startswith("nmlsdr/") and path.suffix in shipped and name not in built:
        problems.append(f"the wheel lacks {name}")
generated = [name for name in source if name.endswith((".so", ".pyc")) or re.match(r"nmlsdr/.*\.c$", name)]
problems += [f"the sdist holds generated {name}" for name in generated]
problems += [f"the wheel holds {name}" for name in built if name.endswith((".c", ".pyx")) or name.startswith("tests/")]
if not any(name.endswith((".so", ".pyd")) for name in built):
    problems.append("the wheel holds no compiled kernel")
if not any(name == "nmlsdr/py.typed" for name in built):
    problems.append("the wheel lacks nmlsdr/py.typed")
print(f"{sdist.name}: {len(source)} files; {wheel.name}: {len(built)} files")
sys.exit("\n".join(problems) or None)
