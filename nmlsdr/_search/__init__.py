"""The exact neighbour search behind `nmlsdr.graph`.

The strategies of a search (docs/neighbours.md has the same table, and explains them):

| strategy | used for | what it does | C file in `nmlsdr/_c/` |
|---|---|---|---|
| row numbers | no features at all | all distances are 0: the first rows by number are the neighbours | – |
| few | dense rows, up to 24 separate queries | exact distances of all pairs; threads share the rows | few.h |
| tree | dense rows, up to 4 features, or 8 from 2000 rows on | searches a k-d tree with exact distances | tree.h |
| groups | dense, from 4000 rows and 1000 queries, in tight clusters | searches each cluster by itself | products.h |
| leading coordinates | dense, from 4000 rows, 250 queries, 32 features | skips blocks that are far apart | products.h |
| products | other dense rows | products of blocks of 96 rows propose pairs, exact distances decide | products.h |
| sparse products | CSR rows | the same, with dense columns for frequent features and lists for others | products.h |
| prepared | an `ExactIndex`, up to 249 queries | as products, with blocks that were prepared before | index.h |
| proposals | candidates of a transformer or a precomputed matrix | exact distances; sorts those of a matrix | rows.h |

`proposals` chooses the last; search.h chooses among the others, from top to bottom, and `strategy` looks for structure.
Without separate queries the rows are the queries, and "few" is not used.
"few" and "prepared" need queries x k x threads of at most 4 million.  "groups" needs clusters that are far apart,
and "leading coordinates" a few directions with most of the variance.  A memory map larger than half of the memory is
searched without looking for them.  For "products" and "sparse products" the C code then chooses how the rows are
stored (products_storage.h), and whether 16-bit integers take the place of floats (products_scale.h).

All rows within a radius are found by "tree", "leading coordinates", "products" and "sparse products", whose limits for
each query then never change.

The files; each imports only files below it:

    proposals.py   candidates of a transformer or a matrix     estimate.py   the time and memory of a long search
    radius.py      all rows within a radius
    prepared.py    rows packed once for few queries at a time
    run.py         a search in steps: `squared_neighbors`
    strategy.py    looks for structure, and logs the strategy to "nmlsdr" at DEBUG
    far_groups.py  leading.py      tight groups that are far apart; a few directions with most of the variance
    metrics.py                     what a metric does to rows before a search, and to distances after it
    rows.py  memory.py             rows in the form of the kernels; the size of the memory
    .. _graph.pyx                  the kernels, over .. _c/

In `_c/`, search.h is a whole search over products.h, tree.h, few.h and index.h, by angle too, and radius.h one within a
radius.  C programs call it as it is (include/nmlsdr/neighbors.h), without a look for groups or leading coordinates.
Each header says at its head what it holds, and includes only what it stands on.  Headers without a guard are templates:
simd.h includes one for each SIMD level.
"""

from .prepared import PreparedRows
from .proposals import choose_proposed, choose_stored
from .radius import rows_within
from .run import Known, squared_neighbors

__all__ = ["Known", "PreparedRows", "choose_proposed", "choose_stored", "rows_within", "squared_neighbors"]
