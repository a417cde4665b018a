# An overlay port: vcpkg install nmlsdr --overlay-ports=packaging/vcpkg, with NMLSDR_EXPORT naming the folder that
# `python -m nmlsdr --export` wrote.  (A port of the registry would download a release instead.)
set(VCPKG_BUILD_TYPE release) # headers
set(SOURCE_PATH "$ENV{NMLSDR_EXPORT}")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}")
vcpkg_cmake_install()
file(INSTALL "${SOURCE_PATH}/LICENSE" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
