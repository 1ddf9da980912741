# Libraries beside LLVM/MLIR.

# oneDNN: tuned matrix products and convolutions on CPU. The distribution's
# CMake package insists on OpenCL's development files, which its CPU part does
# not need, so the library is looked up directly.
find_path(ONEDNN_INCLUDE_DIR dnnl.hpp REQUIRED)
find_library(ONEDNN_LIBRARY dnnl REQUIRED)
add_library(remat_onednn INTERFACE)
target_include_directories(remat_onednn SYSTEM INTERFACE ${ONEDNN_INCLUDE_DIR})
target_link_libraries(remat_onednn INTERFACE ${ONEDNN_LIBRARY})
