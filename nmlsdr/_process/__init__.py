"""Settings that belong to the whole process, not to one call.

threads.py   the number of threads, the SIMD level, the limit on BLAS threads
openmp.py    how idle OpenMP threads wait
"""
