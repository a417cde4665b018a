"""Recipe of the headers for Conan 2: NMLSDR_EXPORT=DIR conan create packaging/conan.

DIR is the folder that `python -m nmlsdr --export DIR` wrote.
"""

import os

from conan import ConanFile
from conan.tools.files import copy


class Nmlsdr(ConanFile):
    name = "nmlsdr"
    version = "0.1.0"
    license = "BSD-3-Clause"
    description = "Exact nearest neighbours, the neighbour graph and ML-kNN as headers for C and C++"
    package_type = "header-library"
    settings = "os", "compiler", "build_type", "arch"
    no_copy_source = True

    def export_sources(self):
        copy(self, "*", src=os.environ["NMLSDR_EXPORT"], dst=self.export_sources_folder)

    def package(self):
        copy(
            self, "*", src=os.path.join(self.source_folder, "include"), dst=os.path.join(self.package_folder, "include")
        )
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_target_name", "nmlsdr::nmlsdr")
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["m"]
