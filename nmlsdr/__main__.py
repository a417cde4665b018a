"""``python -m nmlsdr``: the same as the command ``nmlsdr``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
