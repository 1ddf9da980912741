// RUN: remat-opt %s --remat-microbatches=parts=2 -split-input-file -verify-diagnostics
// RUN: remat-opt %s --remat-layer-microbatches=parts=2 -split-input-file -verify-diagnostics
// RUN: remat-opt %s --remat-split-batch=parts=2 -split-input-file -verify-diagnostics

// Rows are known of tensors of static shape alone.

// expected-error @+1 {{argument #0 has type 'memref<4xf32>', expected a tensor of static shape}}
func.func @main(%x: memref<4xf32>) {
  return
}

// -----

// expected-error @+1 {{argument #1 has type 'tensor<?x4xf32>', expected a tensor of static shape}}
func.func @main(%x: tensor<4xf32>, %y: tensor<?x4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
