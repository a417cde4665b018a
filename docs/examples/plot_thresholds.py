"""
Thresholds and rare labels
==========================

A threshold of one half is too high for a rare label. This example changes ``threshold`` and shows the effect on macro
F1, in which every label counts the same, and on the Hamming loss, in which every entry counts the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score, hamming_loss
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import make_toy

toy = make_toy(n_samples=3000, random_state=0)
rng = np.random.default_rng(0)
keep = np.array([1.0, 0.5, 0.25, 0.12])  # thin the labels out: the last one becomes rare
y = (toy.target * (rng.random(toy.target.shape) < keep)).astype(int)
truth = (toy.test_target * (rng.random(toy.test_target.shape) < keep)).astype(int)
scaler = StandardScaler().fit(toy.data)

# %%
# One model serves all thresholds, because ``threshold`` does not change the scores: these are what
# ``decision_function`` returns, plus the threshold of the fit.
model = ResidualPropagation().fit(scaler.transform(toy.data), y)
scores = model.decision_function(scaler.transform(toy.test_data)) + model.thresholds_
cuts = np.linspace(0.05, 0.95, 37)
macro = [f1_score(truth, scores >= cut, average="macro", zero_division=0) for cut in cuts]
loss = [hamming_loss(truth, scores >= cut) for cut in cuts]

fig, axes = plt.subplots(1, 2, figsize=(6.8, 4.5), layout="constrained")
axes[0].plot(cuts, macro, label="macro F1")
axes[0].plot(cuts, loss, label="Hamming loss")
axes[0].axvline(0.5, color="0.6", linestyle=":")
axes[0].set(xlabel="threshold")
axes[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1))
for c in range(4):
    per_label = [f1_score(truth[:, c], scores[:, c] >= cut, zero_division=0) for cut in cuts]
    axes[1].plot(cuts, per_label, label=f"label of {y[:, c].mean():.0%} of the rows")
axes[1].set(xlabel="threshold", ylabel="F1 of each label")
axes[1].legend(loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()
