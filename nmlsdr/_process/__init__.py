"""Threads and the settings that hold for the whole process.

threads.py   the number of threads of a call, the SIMD level, the limit on BLAS threads
openmp.py    how idle OpenMP threads wait
"""
