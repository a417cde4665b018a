/* Which way a search takes, for callers from Python and from C alike.
 *
 *   few        up to 24 queries of dense rows: pairs, nothing prepared
 *   tree       dense rows of up to 8 features
 *   products   everything else
 *   large      products of so many dense rows that it repays to look how they lie: far groups, leading coordinates
 *              (nmlsdr/_search/strategy.py, which looks)
 */
#ifndef NMLSDR_CHOOSE_H
#define NMLSDR_CHOOSE_H

#include "few.h"
#include "products.h"
#include "tree.h"

enum { NMLSDR_FEW, NMLSDR_TREE, NMLSDR_PRODUCTS, NMLSDR_LARGE };

/* queries == NULL: the rows against themselves.  large: from how many rows on, and a sixteenth of it of queries. */
static int nmlsdr_choose(const nmlsdr_rows *rows, const nmlsdr_rows *queries, ptrdiff_t k, ptrdiff_t large,
                         int n_threads)
{
    if (queries && nmlsdr_few_wins(rows, queries, k, n_threads)) return NMLSDR_FEW;
    if (nmlsdr_tree_wins(rows)) return NMLSDR_TREE;
    if (rows->kind > NMLSDR_DENSE_F64 || rows->n < large) return NMLSDR_PRODUCTS;
    return queries && 16 * (double)queries->n < (double)large ? NMLSDR_PRODUCTS : NMLSDR_LARGE;
}

#endif
