"""What the tests of `nmlsdr report` share: the facts of a small table, hostile names, and the form of a page."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from commands import label_columns, write_tables

from nmlsdr import MLkNN
from nmlsdr.cli import main

HOSTILE = [
    "<script>document.title='taken'</script>",
    "</script><img src=x onerror=\"document.title='taken'\">",
    "\" onmouseover=\"document.title='taken'",
    "' autofocus onfocus='document.title=1",
    "{{ 7 * 7 }}{% for x in ().__class__.__base__.__subclasses__() %}{% endfor %}",
    "]]><!--<svg onload=alert(1)>-->",
    "javascript:alert(1)//&lt;b&gt;",
    "\x00\x1b[31m\x7fbell\x07",
    "\u202egnp.exe\u2066 \ud800 \ufdd0 \u2028",
    '=HYPERLINK("http://example.org")',
]


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What the command collects on a small table."""
    pytest.importorskip("pyarrow", reason="needs pyarrow")
    collected = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("report"))
        patch.setattr("nmlsdr._cli.report.render", lambda page_facts: collected.update(page_facts) or "page")
        write_tables(Path(), np.random.default_rng(0), ["csv"])
        arguments = ["report", "train.csv", "--label-columns", label_columns(), "--folds", "2", "--out", "a.html"]
        assert main(arguments) == 0
    return collected


def with_names(value, names):
    """The same facts with every text of a file replaced, in turn, by one of the names."""
    turn = iter(range(10**9))
    fixed = {"kind", "suggest", "words", "version", "method", "rival", "buried", "no_trial", "measures", "command"}
    fixed |= {"threshold", "date"}

    def change(value, key=None):
        if key == "downloads":
            return value
        if isinstance(value, str):
            return value if key in fixed else names[next(turn) % len(names)]
        if isinstance(value, dict):
            return {k: change(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [change(v, key) for v in value]
        return value

    return change(value)


class Shape(HTMLParser):
    """Tags, names of attributes, and what the page would fetch: the form of a page without its texts."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.fetched = []
        self.texts = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(sorted(name for name, _ in attrs))))
        self.fetched += [
            value for name, value in attrs if name in ("src", "href", "action", "data", "srcset", "poster")
        ]

    def handle_comment(self, data):
        self.tags.append(("comment", ()))

    def handle_data(self, data):
        self.texts.append(data)


class Knn(MLkNN):
    """ML-kNN with the thresholds that the trial asks its first method for."""

    cutoffs_ = dict.fromkeys(("f1", "prior", "0.5"), 0.5)


def two_groups(rng, n=80):
    side = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 4)) + 4 * side[:, None]
    y = np.column_stack([side, 1 - side, np.zeros(n, dtype=int)])
    y[rng.random(n) < 0.3] = -1
    return X, y
