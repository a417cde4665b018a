/* What is done to blocks of rows, for float and for double products. */
#ifndef NMLSDR_PRODUCTS_BLOCKS_H
#define NMLSDR_PRODUCTS_BLOCKS_H

#include "kernels.h"

#define T float
#define NM_DOUBLE 0
#define NM(x) nmlsdr_##x##_f
#define NM_OF(x) x##_f
#include "products_packed.h"
#include "products_sparse.h"
#undef T
#undef NM_DOUBLE
#undef NM
#undef NM_OF

#define T double
#define NM_DOUBLE 1
#define NM(x) nmlsdr_##x##_d
#define NM_OF(x) x##_d
#include "products_packed.h"
#include "products_sparse.h"
#undef T
#undef NM_DOUBLE
#undef NM
#undef NM_OF

#endif
