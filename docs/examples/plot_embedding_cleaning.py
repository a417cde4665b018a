"""
The embedding before and after cleaning the labels
==================================================

Some given labels are wrong. :class:`~nmlsdr.MDDM` uses them as they are. :class:`~nmlsdr.NMLSDR` propagates them
first, so that a label which the neighbours contradict can change. Rings mark the rows whose given labels changed.
"""

import matplotlib.pyplot as plt
from sklearn.preprocessing import StandardScaler

from nmlsdr import MDDM, NMLSDR
from nmlsdr.datasets import flip_labels, make_toy, mask_labels

toy = make_toy(n_samples=2000, n_noise_blocks=2, random_state=0)
noisy = flip_labels(toy.target, 0.15, random_state=0)
y = mask_labels(noisy, 0.3, random_state=0)  # rows of -1 are unlabelled
X = StandardScaler().fit_transform(toy.data)

# %%
# Both embeddings have two columns here. The colour shows the true first label of each row, which neither method was
# given.
before = MDDM(n_components=2).fit(X, y)
after = NMLSDR(n_components=2, alpha_labeled=0.8).fit(X, y)  # a given label weighs less than by default
suspects = after.label_flips_.any(axis=1)
truth = toy.target.argmax(axis=1)

fig, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
names = ("MDDM: labels as given", "NMLSDR: labels cleaned")
for ax, model, name in zip(axes, (before, after), names, strict=True):
    Z = model.transform(X)
    ax.scatter(*Z.T, c=truth, cmap="tab10", vmax=9, s=8, alpha=0.7)
    ax.scatter(*Z[suspects].T, facecolors="none", edgecolors="black", linewidths=0.6, s=40)
    ax.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
# How many of the marked rows really had a wrong label?
wrong = (y >= 0) & (y != toy.target)
wrong = wrong.any(axis=1)
print(f"a label is wrong in {wrong[suspects].mean():.0%} of the {suspects.sum()} ringed rows,")
print(f"and in {wrong[y[:, 0] >= 0].mean():.0%} of all labelled rows")
