"""
The embedding, and the annotations to check in it
=================================================

``transform`` gives each row a place from which its labels can be seen. Rings mark rows with a suspicious annotation:
most of them lie among rows with other labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels, make_toy, mask_labels
from nmlsdr.inspection import EmbeddingDisplay, rank_suspects

toy = make_toy(n_samples=2000, n_noise_blocks=2, random_state=0)
noisy = flip_labels(toy.target, 0.1, random_state=0)
y = mask_labels(noisy, 0.3, random_state=0)  # rows of -1 are unlabelled
X = StandardScaler().fit_transform(toy.data)
model = ResidualPropagation().fit(X, y)

# %%
# The colour is the first label, as it was given.
suspects = rank_suspects(model, y).first(120)
ringed = np.zeros(len(X), dtype=bool)
ringed[suspects.row[suspects.label == 0]] = True
EmbeddingDisplay.from_estimator(model, X, y, color_by=0, suspects=ringed)
plt.show()

# %%
# How many of the ringed annotations are really wrong?
wrong = (noisy != toy.target)[ringed, 0]
print(f"{wrong.sum()} of {ringed.sum()}")
