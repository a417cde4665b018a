"""The solvers of eq. (8) that propagation.py uses.

    system.py                the graph, alpha and the labels in the form that the kernels read
    conjugate_gradients.py   conjugate gradients with float32 sweeps and a float64 solution; the same method in float64
    direct.py                elimination without subtraction for small systems; sparse LU
    chain.py                 the iteration of eq. (6); the solvers by name, and the order in which "auto" tries them

Each label is solved on its own: the bits of its solution do not depend on the other labels.
"""
