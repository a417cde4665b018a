"""
Score against noise and labelled share, compared with logistic regression
=========================================================================

When is propagation worth it? This example changes the share of wrong labels and the share of labelled rows, and
compares with a one-against-rest logistic regression on the labelled rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels, make_toy, mask_labels

toy = make_toy(n_samples=1600, random_state=0)


def scores(noise, share, seed):
    y = mask_labels(flip_labels(toy.target, noise, random_state=seed), share, random_state=seed)
    ours = make_pipeline(StandardScaler(), ResidualPropagation()).fit(toy.data, y)
    labelled = y[:, 0] >= 0
    rival = make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression(C=0.01)))
    rival.fit(toy.data[labelled], y[labelled])
    return [f1_score(toy.test_target, model.predict(toy.test_data), average="macro") for model in (ours, rival)]


# %%
# The mean of two draws of the noise. On the left 30 % of the rows are labelled, on the right 10 % of the labels are
# flipped.
noises = [0.0, 0.1, 0.2, 0.3]
shares = [0.05, 0.1, 0.3, 0.5]
by_noise = np.array([np.mean([scores(p, 0.3, seed) for seed in range(2)], axis=0) for p in noises])
by_share = np.array([np.mean([scores(0.1, q, seed) for seed in range(2)], axis=0) for q in shares])

fig, axes = plt.subplots(1, 2, figsize=(6.8, 3.5), sharey=True, layout="constrained")
for ax, x, table, name in (
    (axes[0], noises, by_noise, "share of flipped labels"),
    (axes[1], shares, by_share, "share of labelled rows"),
):
    for column, label in enumerate(("ResidualPropagation", "logistic regression, C = .01")):
        ax.plot(x, table[:, column], "o-", label=label)
    ax.set(xlabel=name)
axes[0].set_ylabel("macro F1")
axes[0].legend()
plt.show()
