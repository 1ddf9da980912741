# Checks that the oneDNN whose headers are in ONEDNN_INCLUDE_DIR suits remat:
# version 2, from 2.6 on, on OpenMP. Version 3 has other descriptors of
# operations, and the pool of threads that remat shares with oneDNN is OpenMP's.
foreach(name IN ITEMS version config)
  set(header ${ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_${name}.h)
  if(NOT EXISTS ${header})
    message(FATAL_ERROR "remat needs oneDNN 2, which has ${header}; "
                        "on Debian 12 the package is libdnnl-dev")
  endif()
endforeach()
set(remat_onednn_version)
foreach(part MAJOR MINOR PATCH)
  file(STRINGS ${ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h line
       REGEX "#define DNNL_VERSION_${part} +[0-9]+")
  string(REGEX REPLACE ".* ([0-9]+).*" "\\1" number "${line}")
  list(APPEND remat_onednn_version "${number}")
endforeach()
list(JOIN remat_onednn_version "." remat_onednn_version)
if(remat_onednn_version VERSION_LESS 2.6 OR
   remat_onednn_version VERSION_GREATER_EQUAL 3)
  message(FATAL_ERROR
    "remat needs oneDNN 2, from 2.6 on, found ${remat_onednn_version} in ${ONEDNN_INCLUDE_DIR}; "
    "set ONEDNN_INCLUDE_DIR and ONEDNN_LIBRARY to one (on Debian 12: libdnnl-dev)")
endif()
file(STRINGS ${ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h line
     REGEX "#define DNNL_CPU_THREADING_RUNTIME ")
string(REGEX REPLACE ".* DNNL_RUNTIME_" "" remat_onednn_runtime "${line}")
if(NOT remat_onednn_runtime STREQUAL "OMP")
  message(FATAL_ERROR
    "remat needs a oneDNN that runs on OpenMP (OMP), found ${remat_onednn_runtime} "
    "in ${ONEDNN_INCLUDE_DIR}; on Debian 12 the package is libdnnl-dev")
endif()
