"""How propagation.py solves eq. (8); each file imports only those above it.

    system.py                the graph, alpha and the labels as the kernels read them
    conjugate_gradients.py   the fastest: sweeps in float32, an answer in float64; and the same method in float64
    direct.py                elimination without subtraction for small systems; sparse LU
    fixed_point.py           the iteration of eq. (4)
    chain.py                 the solvers by name, and the order in which "auto" tries them

Each label is solved as if it were alone: its bits do not depend on the labels beside it.
"""
