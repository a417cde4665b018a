"""The studies stand beside the tests in a checkout; an installed copy has none."""

import sys
from pathlib import Path

STUDIES = Path(__file__).resolve().parents[2] / "studies"

if STUDIES.is_dir():  # behind the installed packages, so that none is shadowed
    sys.path.append(str(STUDIES))
else:
    collect_ignore_glob = ["test_*.py"]
