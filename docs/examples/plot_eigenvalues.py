"""
Eigenvalues, and what the components are made of
================================================

Each component of :class:`~nmlsdr.NMLSDR` has an eigenvalue and one coefficient for each feature. The eigenvalue is its
part of the dependence between features and cleaned labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from nmlsdr import NMLSDR
from nmlsdr.datasets import flip_labels, make_toy, mask_labels

toy = make_toy(n_samples=2000, random_state=0)
y = mask_labels(flip_labels(toy.target, 0.1, random_state=0), 0.5, random_state=0)
model = NMLSDR().fit(StandardScaler().fit_transform(toy.data), y)
print("share of the dependence:", np.round(model.dependence_ratio_, 3))

# %%
# The first 80 features of the Toy set belong to its four labels, 20 to each; the other 240 are noise, and get small
# coefficients.
fig, axes = plt.subplots(1, 2, figsize=(6.8, 3.5), layout="constrained", width_ratios=[1, 2])
axes[0].bar(np.arange(1, len(model.eigenvalues_) + 1), model.eigenvalues_)
axes[0].set(xlabel="component", ylabel="eigenvalue", xticks=np.arange(1, len(model.eigenvalues_) + 1))
components = np.reshape(model.components_, (-1, toy.data.shape[1]))
limit = np.abs(components).max()
picture = axes[1].imshow(components, aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")
axes[1].set(
    xlabel="feature", ylabel="component", yticks=range(len(components)), yticklabels=range(1, len(components) + 1)
)
for edge in range(20, 81, 20):
    axes[1].axvline(edge - 0.5, color="0.4", linewidth=0.5)
fig.colorbar(picture, label="coefficient")
plt.show()
