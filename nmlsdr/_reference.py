"""The plain twin: one NumPy function per kernel, written to be read as a proof.

Imported by tests and benchmarks only; the package never falls back to it.
The kernels must equal these functions bit for bit.
"""

# ---------------------------------------------------------------- 0. canonical distance, neighbours, graph

# ---------------------------------------------------------------- 1. propagation

# ---------------------------------------------------------------- 2. HSIC projection

# ---------------------------------------------------------------- 3. ML-kNN

# ---------------------------------------------------------------- 5. generalised eigenproblems of the baselines

# ---------------------------------------------------------------- the whole method
