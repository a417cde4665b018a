# The headers say their version; while it is below 1, only an equal one is compatible.
file(READ "${CMAKE_CURRENT_LIST_DIR}/../../../include/nmlsdr/version.h" _nmlsdr)
string(REGEX MATCH "NMLSDR_VERSION \"([^\"]+)\"" _nmlsdr "${_nmlsdr}")
set(PACKAGE_VERSION "${CMAKE_MATCH_1}")
unset(_nmlsdr)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
