# Types that every kernel shares.

ctypedef fused real_t:
    float
    double
