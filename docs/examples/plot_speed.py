"""
Speed against the number of rows, compared with faiss and scikit-learn
======================================================================

This example measures the search for the exact ten nearest neighbours of every row (float32, 50 features) on all cores
of the machine that built this page. The benchmarks of the project are measured on an idle machine instead. This picture
only shows how the times grow.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import NearestNeighbors

from nmlsdr.graph import kneighbors

try:
    import faiss
except ImportError:  # it is an optional peer: pip install faiss-cpu
    faiss = None

rng = np.random.default_rng(0)
everything = rng.standard_normal((8000, 50), dtype=np.float32)


def by_faiss(X):
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index.search(X, 11)  # a row finds itself first


searches = {"nmlsdr": lambda X: kneighbors(X, 10)}
if faiss is not None:
    searches["faiss, flat index"] = by_faiss
searches["scikit-learn, brute force"] = lambda X: NearestNeighbors(algorithm="brute").fit(X).kneighbors(n_neighbors=10)


# %%
# The fastest of three runs.
def seconds(search, X):
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        search(X)
        times.append(time.perf_counter() - begin)
    return min(times)


sizes = [500, 1000, 2000, 4000, 8000]
fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, search in searches.items():
    ax.loglog(sizes, [seconds(search, everything[:n]) for n in sizes], "o-", label=name)
ax.set(xlabel="rows", ylabel="seconds", xticks=sizes, xticklabels=[f"{n:,}".replace(",", " ") for n in sizes])
ax.minorticks_off()
ax.legend()
plt.show()
