"""A model file that an earlier build wrote is read, and says of the same rows what it said then.

`golden/make_model.py` makes it again when an issue changes the format, until 0.1.0 is released.
"""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("skops")

from nmlsdr.model_file import load_model

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_a_stored_model_is_read_and_predicts_as_it_did():
    model = load_model(GOLDEN / "model.skops")
    golden = json.loads((GOLDEN / "model.json").read_text())
    rows = np.array(golden["rows"], dtype=object)
    assert model.predict(rows).tolist() == golden["predict"]
    for name in ("predict_proba", "transform"):
        np.testing.assert_allclose(getattr(model, name)(rows), golden[name], rtol=0, atol=1e-10, err_msg=name)
