"""Inspect a fit: a list of the annotations to review first, and plots of an embedding and of that list.

The displays work like those of scikit-learn. ``from_estimator`` computes what is drawn and draws it, ``plot`` draws
it again on other axes, and attributes contain what was computed. They need matplotlib, which is imported when
something is drawn.
"""

from ._embedding import EmbeddingDisplay
from ._review import LabelReviewDisplay, Suspects, rank_suspects

__all__ = ["EmbeddingDisplay", "LabelReviewDisplay", "Suspects", "rank_suspects"]
