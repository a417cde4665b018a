"""
The graph, and the rows that no label reaches
=============================================

Labels spread along the edges of the graph of neighbours. If a connected component of the graph has no labelled row,
its rows get no label. The estimators report how many such rows there are.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.sparse.csgraph import connected_components

from nmlsdr import MultiLabelPropagation
from nmlsdr.graph import neighbor_graph

rng = np.random.default_rng(0)
centres = np.array([[0, 0], [4, 0], [2, 3.5], [8, 3], [8, -1]])
X = np.vstack([centre + 0.7 * rng.standard_normal((40, 2)) for centre in centres])
y = np.full(len(X), -1)
y[[0, 40, 80]] = 0, 1, 2  # one labelled row in each of three groups, none in the other two

# %%
# The graph joins two rows if either is among the other's four nearest.
W = neighbor_graph(X, 4)
n_components, component = connected_components(W, directed=False)
with warnings.catch_warnings(record=True) as messages:
    warnings.simplefilter("always")
    model = MultiLabelPropagation(n_neighbors=4).fit(X, y)
print(messages[0].message)
F = model.label_distributions_
unreached = F.sum(axis=1) == 0
print(f"{n_components} components; n_unreached_ is {model.n_unreached_}")

fig, ax = plt.subplots(figsize=(6.6, 4.4), layout="constrained")
rows, columns = W.nonzero()
ax.add_collection(LineCollection(np.stack([X[rows], X[columns]], axis=1), colors="0.8", linewidths=0.6, zorder=0))
ax.scatter(*X[~unreached].T, c=F[~unreached].argmax(axis=1), cmap="tab10", vmin=0, vmax=9, s=20, label="reached")
ax.scatter(*X[unreached].T, facecolors="white", edgecolors="0.3", s=20, label="unreached")
stars = {"cmap": "tab10", "vmin": 0, "vmax": 9, "s": 150, "marker": "*", "edgecolors": "black"}
ax.scatter(*X[y >= 0].T, c=y[y >= 0], label="labelled", **stars)
ax.legend()
ax.set(xticks=[], yticks=[], aspect="equal")
plt.show()
