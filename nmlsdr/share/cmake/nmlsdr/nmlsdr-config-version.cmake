# The version stands in _version.py alone; while it is below 1, only an equal one is compatible.
file(READ "${CMAKE_CURRENT_LIST_DIR}/../../../_version.py" _nmlsdr)
string(REGEX MATCH "__version__ = \"([^\"]+)\"" _nmlsdr "${_nmlsdr}")
set(PACKAGE_VERSION "${CMAKE_MATCH_1}")
unset(_nmlsdr)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
