"""Look at a fit: the annotations to review first, and pictures of an embedding and of that list.

The displays follow scikit-learn's: ``from_estimator`` computes what is drawn and draws it, ``plot`` draws it again on
other axes, and what was computed stays in attributes.  They need matplotlib, which is imported when something is drawn.
"""

from ._embedding import EmbeddingDisplay
from ._review import LabelReviewDisplay
from ._suspects import Suspects, rank_suspects

__all__ = ["EmbeddingDisplay", "LabelReviewDisplay", "Suspects", "rank_suspects"]
