/* What is done to blocks of rows. */
#ifndef NMLSDR_PRODUCTS_BLOCKS_H
#define NMLSDR_PRODUCTS_BLOCKS_H

#include "kernels.h"

#define T float
#define NM(x) nmlsdr_##x##_f
#define NM_OF(x) x##_f
#include "products_packed.h"
#include "products_sparse.h"
#undef T
#undef NM
#undef NM_OF

#endif
