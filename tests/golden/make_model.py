"""Make model.skops, and model.json with rows and what the model said of them; run it again when the format changes.

python tests/golden/make_model.py
"""

import json
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.model_file import save_model
from nmlsdr.tables import TableEncoder

HERE = Path(__file__).parent


def raw_table(n_rows=30, random_state=0):
    """Rows with a number, a decimal comma, a category and missing cells; labels of which some are unknown."""
    rng = np.random.default_rng(random_state)
    y = (rng.random((n_rows, 2)) < 0.5).astype(int)
    size, weight = (rng.normal(3 * y[:, c], 1.0).round(2) for c in (0, 1))
    wood = np.array(["oak", "ash", "beech"])[rng.integers(0, 2, n_rows) + y[:, 0]]
    X = np.column_stack([size.astype(str), [str(number).replace(".", ",") for number in weight], wood]).astype(object)
    X[::7, 1] = "n/a"
    y[-6:] = -1
    return X, y


def main():
    X, y = raw_table()
    model = make_pipeline(TableEncoder(), StandardScaler(), ResidualPropagation(n_neighbors=4, n_estimators=2))
    model.fit(X, y)
    save_model(HERE / "model.skops", model, label_names=["flu", "cold"])
    answers = {name: np.asarray(getattr(model, name)(X)).tolist() for name in ("transform", "predict_proba", "predict")}
    (HERE / "model.json").write_text(json.dumps({"rows": X.tolist(), **answers}) + "\n")


if __name__ == "__main__":
    main()
