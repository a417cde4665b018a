# Types that every kernel shares.

ctypedef fused real_t:
    float
    double

# Column indices of a CSR matrix: scipy stores int32 unless the matrix is too large for it.
ctypedef fused index_t:
    int
    long long
