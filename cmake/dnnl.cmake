# oneDNN 2 (Debian: libdnnl-dev; Spack: onednn): matrix products and convolutions of networks on cores.
find_path(MF_DNNL_INCLUDE oneapi/dnnl/dnnl.h)
find_library(MF_DNNL_LIBRARY dnnl)
if(NOT MF_DNNL_INCLUDE OR NOT MF_DNNL_LIBRARY)
  message(FATAL_ERROR "mesoforge needs oneDNN (Debian: libdnnl-dev)")
endif()
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${MF_DNNL_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${MF_DNNL_INCLUDE})
