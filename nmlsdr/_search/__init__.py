"""The exact neighbour search behind `nmlsdr.graph`.

Which way a search takes (docs/neighbours.md has the same table, and the reasons):

| way | rows | what is done | C |
|---|---|---|---|
| index | no features at all | all distances are 0: the first rows by index | – |
| few | dense, up to 24 queries | the canonical distance of every pair; the threads share the rows | few.h |
| tree | dense, up to 8 features | a k-d tree whose distances are the canonical ones | tree.h |
| groups | dense, 4000 rows or more in far tight groups | each group by itself, by the ways below | products.h |
| leading coordinates | dense, 4000 or more, a few directions hold their variance | tiles not ruled out | products.h |
| products | dense otherwise | symmetric products of packed blocks of 96 rows | products.h |
| sparse products | CSR | frequent features as columns, others as postings; or packed blocks | products.h |
| prepared | an index, up to 249 queries | products with rows packed before; the threads share the rows | index.h |
| proposals | a transformer's or a precomputed matrix | its stored entries, by their canonical distances | rows.h |

Who calls whom; imports point down:

    proposals.py   candidates of a transformer or a matrix     estimate.py   what a long search will cost
    prepared.py    rows packed once for few queries at a time, in front of all below
    run.py         check, choose, step, serve Ctrl-C: `squared_neighbors`, and `search`, which c_api calls
    strategy.py    which way a search takes; writes it to the logger "nmlsdr" at DEBUG
    far_groups.py  leading.py      find, certify, and return what they found
    cosine.py                      rows of length 1, for the neighbours by angle
    rows.py  memory.py             rows as the kernels take them; how much memory there is
    .. _graph.pyx                  the kernels, over .. _c/

`_c/`, each file over those below it:

    index.h                                    rows packed once, a few queries
    products.h  tree.h  few.h                  a search: begin, step, end
    products_new.h                             its memory
    products_blocks.h  products_scale.h  products_storage.h     blocks; centre and scale; columns or not
    kernels.h                                  what has SIMD levels, and the one table of them
    products_state.h                           what a search by products holds
    nearest.h  heap.h  rows.h  platform.h      the k best, twice; rows as callers hold them; compilers and OpenMP
    simd_levels.h                              the SIMD levels, for the propagation's loops too
    distance.h                                 the canonical distance

    templates, included once per number type or SIMD level: products_candidates.h  products_packed.h
    products_sparse.h (types); products_tile.h  tree_leaf.h  few_rows.h (levels, through simd.h)
"""

from .prepared import PreparedRows
from .proposals import choose_proposed, choose_stored, neighbor_lists
from .run import squared_neighbors

__all__ = ["PreparedRows", "choose_proposed", "choose_stored", "neighbor_lists", "squared_neighbors"]
