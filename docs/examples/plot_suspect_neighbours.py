"""
One suspicious annotation and its ten neighbours
================================================

Why is an annotation on the list? Because of the rows around it. This example takes the first entry of the list and
shows the labels that were given to the nearest rows in the embedding.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels, make_toy
from nmlsdr.graph import kneighbors
from nmlsdr.inspection import rank_suspects

toy = make_toy(n_samples=2000, random_state=0)
y = flip_labels(toy.target, 0.05, random_state=0)
X = StandardScaler().fit_transform(toy.data)
model = ResidualPropagation().fit(X, y)

# %%
# The first entry of the list is most likely wrong.
first = rank_suspects(model, y).first(1)
row, label = int(first.row[0]), int(first.label[0])
distances, indices = kneighbors(model.transform(X), 10)
around = indices[row]
print(f"row {row}, label {label}: given {y[row, label]}, truth {toy.target[row, label]}")

# %%
# The suspicious row is at the top, and its neighbours are below it, the nearest first. Black means that the row was
# given the label. The frame marks the label in question.
shown = np.vstack([y[row], y[around]])
fig, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
ax.pcolormesh(shown, cmap="Greys", edgecolors="0.8", linewidth=1, vmin=0, vmax=1.3)
ax.add_patch(plt.Rectangle((label, 0), 1, len(shown), fill=False, edgecolor="tab:red", linewidth=3))
ax.invert_yaxis()
ax.set_xticks(np.arange(4) + 0.5, [f"label {c}" for c in range(4)])
names = [f"row {row}, the suspect"] + [f"row {i}, at {d:.1f}" for i, d in zip(around, distances[row], strict=True)]
ax.set_yticks(np.arange(11) + 0.5, names)
ax.set_title("given labels")
plt.show()
