"""What the tests of the review page share: fitted rows, the data of a page, and the file that the page writes."""

import base64
import csv
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.inspection._verdicts import escape_formula


@pytest.fixture
def fitted(rng):
    """(model, X, y): a pipeline fitted on rows with numbers, and labels some of which are wrong."""
    Y = (rng.random((60, 3)) < 0.4).astype(int)
    X = np.column_stack([2 * Y + rng.normal(size=Y.shape), 10 * rng.normal(size=(60, 2))])
    noisy_labels = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
    noisy_labels[50:] = -1
    return make_pipeline(StandardScaler(), ResidualPropagation(n_neighbors=5)).fit(X, noisy_labels), X, noisy_labels


def unpack(path):
    """The data of a page."""
    text = re.search(r'id="rv-data">([^<]*)<', Path(path).read_text(encoding="utf-8"))[1]
    return json.loads(zlib.decompress(base64.b64decode(text)))


def write_verdicts(path, page, values):
    """Write what the page writes for its first entries; that it does is tested in a browser."""
    known = dict(zip(page["rows"], zip(page["ids"], page["checks"], strict=True), strict=True))
    entries = zip(page["entries"], values, strict=False)
    lines = page["earlier"] + [[entry["row"], entry["label"], entry["given"], value] for entry, value in entries]
    rows = [[known[i][0], i, escape_formula(page["labels"][c]), known[i][1], value] for i, c, _, value in lines]
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([[page["key"] or "id", "row", "label", "check", "verdict"], *rows])
