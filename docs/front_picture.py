"""Draw docs/_static/front.png, the picture of README.md and of the site's front page: `python docs/front_picture.py`.

The data are simulated, so that the true labels are known and can be counted.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels, make_toy, mask_labels

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")  # Okabe and Ito's, which colour-blind people can tell apart
MARKERS = "o^sD"
LISTED = 600


def main() -> None:
    toy = make_toy(n_samples=4000, n_noise_blocks=2, random_state=0)
    noisy = flip_labels(toy.target, 0.1, random_state=0)
    y = mask_labels(noisy, 0.5, random_state=0)
    model = make_pipeline(StandardScaler(), ResidualPropagation()).fit(toy.data, y)
    embedding = model.transform(toy.test_data)
    scores = model[-1].flip_scores_
    given = y >= 0
    order = np.argsort(-scores[given], kind="stable")
    wrong = (y != toy.target)[given][order]

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    only_one = toy.test_target.sum(axis=1) == 1
    for label, (color, marker) in enumerate(zip(COLORS, MARKERS, strict=True)):
        rows = only_one & (toy.test_target[:, label] == 1)
        left.scatter(*embedding[rows, :2].T, s=9, color=color, marker=marker, alpha=0.7, label=f"label {label + 1}")
    left.set(title="New rows in the learned embedding", xlabel="first direction", ylabel="second direction")
    left.set(xticks=[], yticks=[])
    left.legend(frameon=False, markerscale=2)

    checked = np.arange(1, LISTED + 1)
    right.plot(checked, np.cumsum(wrong)[:LISTED], color=COLORS[0], label="in the order of the review list")
    right.plot(checked, wrong.mean() * checked, color="#999999", linestyle="--", label="in random order")
    right.set(title=f"Finding the {wrong.sum()} wrong annotations among {given.sum()}")
    right.set(xlabel="annotations checked by a person", ylabel="wrong annotations found")
    right.set(xlim=(0, LISTED), ylim=(0, None))
    right.legend(frameon=False)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).resolve().parent / "_static" / "front.png", dpi=110)


if __name__ == "__main__":
    main()
