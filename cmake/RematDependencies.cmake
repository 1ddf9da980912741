# Libraries beside LLVM/MLIR.

# oneDNN: tuned matrix products and convolutions on CPU. The distribution's
# CMake package insists on OpenCL's development files, which its CPU part does
# not need, so the library is looked up directly.
find_path(ONEDNN_INCLUDE_DIR dnnl.hpp REQUIRED)
find_library(ONEDNN_LIBRARY dnnl REQUIRED)
include(CheckOneDnn)
add_library(remat_onednn INTERFACE)
target_include_directories(remat_onednn SYSTEM INTERFACE ${ONEDNN_INCLUDE_DIR})
target_link_libraries(remat_onednn INTERFACE ${ONEDNN_LIBRARY})

# HiGHS: integer programs for the planner. An installed package is taken first;
# otherwise it is built once per user (cmake/fetch-highs.sh says from what), by
# the same compiler. Without it everything else works; the planners 'milp' and
# 'lp-rounding' then say that it is not there.
option(REMAT_FETCH_HIGHS "Download and build HiGHS if it is not installed" ON)
set(REMAT_HIGHS_CACHE "$ENV{HOME}/.cache/remat/highs-1.15.1" CACHE PATH
    "Where HiGHS is built and kept if it is not installed")
find_package(highs CONFIG QUIET HINTS ${REMAT_HIGHS_CACHE})
if(NOT highs_FOUND AND REMAT_FETCH_HIGHS)
  message(STATUS "Building HiGHS in ${REMAT_HIGHS_CACHE} (about two minutes, once)")
  file(MAKE_DIRECTORY ${REMAT_HIGHS_CACHE})
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER} CXX=${CMAKE_CXX_COMPILER}
            ${PROJECT_SOURCE_DIR}/cmake/fetch-highs.sh ${REMAT_HIGHS_CACHE}
    RESULT_VARIABLE remat_highs_status
    OUTPUT_FILE ${REMAT_HIGHS_CACHE}/build.log
    ERROR_FILE ${REMAT_HIGHS_CACHE}/build.log)
  if(remat_highs_status EQUAL 0)
    find_package(highs CONFIG QUIET HINTS ${REMAT_HIGHS_CACHE})
  else()
    message(WARNING "HiGHS could not be built, see ${REMAT_HIGHS_CACHE}/build.log; "
                    "building without the planners 'milp' and 'lp-rounding'")
  endif()
endif()
# libgomp, the OpenMP pool that oneDNN runs on. The shared library comes with
# oneDNN; the link without a version comes with gcc only.
find_library(GOMP_LIBRARY NAMES gomp libgomp.so.1 REQUIRED)
add_library(remat_gomp INTERFACE)
target_link_libraries(remat_gomp INTERFACE ${GOMP_LIBRARY})
