"""Print the shell block of README.md that stands under the comment '# NAME'."""

import re
import sys
from pathlib import Path

readme = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
for block in re.findall(r"```(?:sh|bash)\n(.*?)```", readme, re.DOTALL):
    first, _, command = block.partition("\n")
    if first.strip() == f"# {sys.argv[1]}":
        print(command.strip())
        break
else:
    sys.exit(f"README.md has no shell block that begins with '# {sys.argv[1]}'")
