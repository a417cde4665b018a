"""Inspect a fit: the annotations to review first, the page on which people check them, and plots.

`rank_suspects` lists the annotations, `estimate_mistakes` says how many may be wrong, `write_review` writes the page,
and `read_verdicts` reads what people decided. `rank_unknown` lists the unknown labels to ask about next.

The displays work like those of scikit-learn. ``from_estimator`` computes what is drawn and draws it, ``plot`` draws
it again on other axes, and attributes contain what was computed. They need matplotlib, which is imported when
something is drawn.

    _review.py, _verdicts.py, _mistakes.py   the order of the list; its file and verdicts; how many are wrong
    _unknown.py                              which unknown labels to ask about next (active learning)
    _other_lists.py, _row_labels.py          lists of unknown labels and of a random sample; whole rows to label
    _error_rate.py, _agreement.py            what the verdicts on a random sample show; how far two people agree
    _row_checks.py, _copies.py               the check of a row, by which verdicts find it again; rows that stand twice
    _order.py                                odds, turns of both kinds, audit, what verdicts weigh
    _page.py, _html.py, _images.py           the page on which people check, made here
    _entries.py, _page_table.py              what the page shows of each annotation; the table that it takes cells from
    _strips.py, _reasons.py                  where a row lies in each column; words and columns that speak for a label
    review.html.jinja, review_part.html.jinja, review.css   its form
    review.js                                what it does in the browser: keys, verdicts, the list
    review_parts.js                          how it draws strips and the curve; the estimate; lines of files
    _embedding.py                            pictures of a fit
"""

from ._embedding import EmbeddingDisplay, drawn_rows, two_axes  # noqa: F401
from ._html import need_jinja, open_template, read_asset, readable  # noqa: F401
from ._mistakes import estimate_mistakes
from ._page import render_part, script_and_style, write_review  # noqa: F401
from ._review import rank_suspects
from ._row_checks import check_rows  # noqa: F401
from ._strips import correlations  # noqa: F401
from ._unknown import rank_unknown
from ._verdicts import names_or_numbers, read_verdicts  # noqa: F401

# What users import; the other names are for the doors of this package.
__all__ = [
    "EmbeddingDisplay",
    "estimate_mistakes",
    "rank_suspects",
    "rank_unknown",
    "read_verdicts",
    "write_review",
]
