"""Inspect a fit: the annotations to review first, the page on which people check them, and plots.

`rank_suspects` lists the annotations, `estimate_mistakes` says how many may be wrong, `write_review` writes the page,
`read_verdicts` reads what people decided, and `apply_verdicts` corrects the labels by it.

The displays work like those of scikit-learn. ``from_estimator`` computes what is drawn and draws it, ``plot`` draws
it again on other axes, and attributes contain what was computed. They need matplotlib, which is imported when
something is drawn.
"""

from ._embedding import EmbeddingDisplay
from ._mistakes import Mistakes, estimate_mistakes
from ._page import write_review
from ._review import Suspects, rank_suspects
from ._verdicts import apply_verdicts, read_verdicts

__all__ = [
    "EmbeddingDisplay",
    "Mistakes",
    "Suspects",
    "apply_verdicts",
    "estimate_mistakes",
    "rank_suspects",
    "read_verdicts",
    "write_review",
]
