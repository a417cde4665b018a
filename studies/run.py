"""Run the study beyond the article, or continue a run that was interrupted.

    python studies/run.py beyond --seeds 2 --data-home DIR    # ResidualPropagation and other classifiers; hours

The arguments are those of `nmlsdr reproduce`.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import beyond
from beyond_section import TEXTS, beyond_section

from nmlsdr.experiments.command import Experiments, run

WITHOUT = "cleanlab is not installed, so its lists are left out; pip install cleanlab and start the same command again."


def cells_of_beyond(study, **chosen):
    """The cells of every regime; where cleanlab is missing, say so."""
    if not beyond.has_cleanlab():
        print(f"studies: {WITHOUT}", file=sys.stderr)
    return beyond.beyond_cells(**chosen)


EXPERIMENTS = {
    "beyond": Experiments(
        "python studies/run.py",
        beyond.REGIMES | beyond.REVIEWS,
        {"beyond": beyond_section},
        beyond.measure,
        cells_of_beyond,
        [*beyond.BEYOND_METHODS, *beyond.REVIEWERS],
        TEXTS["titles"]["beyond"],
    ),
}


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", choices=[*EXPERIMENTS])
    parser.add_argument("--size", choices=("small", "full"), default="full")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--data-home")
    parser.add_argument("--out", default="nmlsdr-studies")
    parser.add_argument("--force-new", action="store_true")
    args = parser.parse_args(words)
    try:
        return run(args, experiments=EXPERIMENTS[args.study])
    except (ValueError, ImportError) as error:
        print(f"studies: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
