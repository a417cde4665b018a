"""
From a table to the list, and to verdicts
=========================================

A raw table becomes a model, the model a list of the annotations to check, and verdicts correct the labels of the next
fit. The command ``nmlsdr review`` does the first two steps with a file, and writes a page for the verdicts.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nmlsdr import ResidualPropagation
from nmlsdr.datasets import flip_labels, make_toy, mask_labels
from nmlsdr.inspection import rank_suspects
from nmlsdr.tables import TableEncoder

toy = make_toy(n_samples=1600, n_noise_blocks=2, random_state=0)
names = ["flu", "cold", "asthma", "gout"]
noisy = flip_labels(toy.target, 0.1, random_state=0)  # each entry is wrong with probability 0.1
y = pd.DataFrame(mask_labels(noisy, 0.5, random_state=0), columns=names)  # -1: nobody checked this row
rng = np.random.default_rng(0)


def as_raw_table(data):
    labs = pd.DataFrame(data, columns=[f"lab {j}" for j in range(data.shape[1])])
    labs = labs.mask(rng.random(labs.shape) < 0.03)  # holes
    return labs.assign(ward=rng.choice(["east", "West", "west "], len(labs)))


table = as_raw_table(toy.data)
new = as_raw_table(toy.test_data)
print(table.iloc[:4, -5:])

# %%
# :class:`~nmlsdr.tables.TableEncoder` makes numbers of texts and fills holes, and
# :class:`~nmlsdr.ResidualPropagation` learns from all rows, also from those without labels. The bars are the
# twelve most suspicious annotations.
model = make_pipeline(TableEncoder(), StandardScaler(), ResidualPropagation()).fit(table, y)
suspects = rank_suspects(model, y)
first = suspects.first(12)
entries = zip(first.row, first.label, first.given, strict=True)
bars = [f"row {i}, {names[c]}: given {g}" for i, c, g in entries]
plt.figure(figsize=(5, 3.6), layout="constrained")
plt.barh(bars[::-1], first.score[::-1])
plt.xlabel("score")
plt.show()

# %%
# A person decides about the first 150 entries. Here the truth decides.
checked = suspects.first(150)
place = checked.row, checked.label
verdicts = np.full(y.shape, -1)
verdicts[place] = toy.target[place]
print(f"{(noisy != toy.target)[place].sum()} of 150 were wrong")

# %%
# The table with the verdicts in it:
corrected = np.where(verdicts >= 0, verdicts, y)
known = y.to_numpy() != -1
for labels in (y, corrected):
    print(f"{(np.asarray(labels) != toy.target)[known].sum()} of {known.sum()} annotations are wrong")

# %%
# The next fit takes the labels as they were given, and the verdicts beside them. The two numbers are the shares
# of right entries of new rows, before and after the verdicts. They hardly differ, because the method was not misled by
# most of these mistakes: it found them. What a review gives is a correct table.
again = make_pipeline(TableEncoder(), StandardScaler(), ResidualPropagation())
again.fit(table, y, residualpropagation__verdicts=verdicts)
for fitted in (model, again):
    print(f"{(fitted.predict(new) == toy.test_target).mean():.3f}")
