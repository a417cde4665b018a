"""
Precision of the review list, by kind of mistake
================================================

How many entries of the list are really wrong? If annotators *forget* labels, the answer depends on the kind of mistake
that one looks for: given 0s that look like 1 (forgotten) or given 1s that look like 0 (given wrongly).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels, make_toy
from nmlsdr.inspection import rank_suspects

toy = make_toy(n_samples=3000, random_state=0)
X = StandardScaler().fit_transform(toy.data)
rng = np.random.default_rng(0)
forgotten = toy.target * (rng.random(toy.target.shape) >= 0.3)  # three in ten of the 1s are lost
flipped = flip_labels(toy.target, 0.1, random_state=0)


# %%
# Precision among the first k entries of each list.
def precision(model, y, kind, first):
    entries = rank_suspects(model, y, kind=kind).first(first[-1])
    wrong = (y != toy.target)[entries.row, entries.label]
    return np.cumsum(wrong)[first - 1] / first


first = np.arange(10, 501, 10)
fig, axes = plt.subplots(1, 2, figsize=(6.8, 3.5), sharey=True, layout="constrained")
for ax, y, name in zip(axes, (flipped, forgotten), ("10 % flipped", "30 % of the 1s forgotten"), strict=True):
    model = ResidualPropagation().fit(X, y)
    for kind in ("all", "forgotten", "wrong"):
        ax.plot(first, precision(model, y, kind, first), label=kind)
    ax.axhline((y != toy.target).mean(), color="0.6", linestyle=":", label="chance")
    ax.set(title=name, xlabel="entries looked at", ylim=(-0.02, 1.02))
axes[0].set_ylabel("share of wrong entries")
axes[1].legend()
plt.show()

# %%
# If labels were forgotten, no given 1 is wrong. So everything in the list "wrong" is a false alarm, and so are the
# given 1s in the list "all", which the command ``nmlsdr review`` writes.
