"""A search of the pages for a term of the field finds the page that is about it."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
# What readers search for, and the page that answers.
PAGE_OF_TERM = {
    "AUC": "thresholds",
    "FastAPI": "deploy",
    "UMAP": "give_neighbours",
    "active learning": "what_next",
    "annotation review": "review",
    "calibrate": "forests",
    "cite": "questions",
    "class imbalance": "thresholds",
    "cleanlab": "label_errors",
    "crowd labels": "prepare",
    "data leakage": "prepare",
    "deploy": "deploy",
    "hyperparameter": "thresholds",
    "label error": "label_errors",
    "label noise": "how_many_wrong",
    "larger than memory": "dask",
    "mislabelled": "label_errors",
    "missing labels": "how_many_wrong",
    "multi-class": "label_formats",
    "nearest neighbours": "neighbours",
    "out-of-fold": "thresholds",
    "positive-unlabelled": "codes",
    "hierarchical codes": "codes",
    "recall": "thresholds",
    "semi-supervised": "in_python",
    "subset accuracy": "thresholds",
    "target leakage": "prepare",
    "tutorial": "ten_minutes",
}


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documents are not beside the tests (an installed copy)")
@pytest.mark.parametrize(("term", "page"), PAGE_OF_TERM.items())
def test_a_page_uses_the_term_by_which_it_is_searched(term, page):
    text = " ".join((DOCS / f"{page}.md").read_text(encoding="utf-8").split())
    assert re.search(rf"\b{re.escape(term)}", text, re.IGNORECASE)
