import os

from Cython.Build import cythonize
from setuptools import Extension, setup

import nmlsdr

setup(
    py_modules=[],
    ext_modules=[
        *cythonize([Extension("embedder", ["embedder.pyx"]), Extension("nearest", ["nearest.pyx"])], language_level=3),
        Extension("spread", ["spread.c"], include_dirs=[nmlsdr.get_include()], py_limited_api=True),
        Extension(
            "threads",
            ["threads.cpp"],
            include_dirs=[nmlsdr.get_include()],
            py_limited_api=True,
            extra_compile_args=["/std:c++17" if os.name == "nt" else "-std=c++17"],
        ),
    ],
)
