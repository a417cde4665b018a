# find_package(nmlsdr) defines nmlsdr::nmlsdr: the folder of the headers, and libm where there is one.
# For several threads in one call, link OpenMP::OpenMP_C or OpenMP::OpenMP_CXX too.
get_filename_component(_nmlsdr "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
set(nmlsdr_INCLUDE_DIRS "${_nmlsdr}")
if(NOT TARGET nmlsdr::nmlsdr)
  add_library(nmlsdr::nmlsdr INTERFACE IMPORTED)
  set_target_properties(nmlsdr::nmlsdr PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_nmlsdr}")
  if(UNIX)
    set_property(TARGET nmlsdr::nmlsdr PROPERTY INTERFACE_LINK_LIBRARIES m)
  endif()
endif()
unset(_nmlsdr)
