"""
Likely label errors in images, beside their neighbours
======================================================

Why is a label in the ranking? Because of the samples around it. This example has real images of digits, of which 5 %
got another label. It shows the first entries of the ranking beside the nearest images in the embedding.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.graph import kneighbors
from nmlsdr.inspection import rank_suspects

digits = load_digits()
rng = np.random.default_rng(0)
observed = digits.target.copy()
mislabelled = rng.random(len(observed)) < 0.05
observed[mislabelled] = (observed[mislabelled] + rng.integers(1, 10, mislabelled.sum())) % 10

model = make_pipeline(StandardScaler(), ResidualPropagation()).fit(digits.data, observed)

# %%
# The digits exclude each other, so `y` is one-dimensional. A sample with a wrong digit can be ranked twice: for its
# own digit, and for the likelier one; ``kind="wrong"`` takes the former.
ranking = rank_suspects(model, observed, kind="wrong").first(100)
print(f"{mislabelled[ranking.row].sum()} of the first 100 are mislabelled, of {mislabelled.sum()} in all")

# %%
# Each line of the picture is one entry of the ranking, at the left, and its five nearest images in the embedding. The
# number above an image is its observed label; red: it is mislabelled.
_, neighbours = kneighbors(model.transform(digits.data), 5)
entries = ranking.row[:6]
fig, axes = plt.subplots(len(entries), 6, figsize=(6.5, 7.5), layout="constrained")
for line, row in zip(axes, entries, strict=True):
    for ax, sample in zip(line, [row, *neighbours[row]], strict=True):
        ax.imshow(digits.images[sample], cmap="gray_r")
        ax.set_title(observed[sample], color="tab:red" if mislabelled[sample] else "0.5", fontsize=11)
        ax.set_axis_off()
plt.show()
