# Libraries beside LLVM/MLIR.

# oneDNN: tuned matrix products and convolutions on CPU.
find_package(dnnl REQUIRED CONFIG)
