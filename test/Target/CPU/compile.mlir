// Ahead of time: an object that defines the module, and its header.
// RUN: remat-opt %s --remat-annotate-costs --remat-plan --remat-assign-buffers --remat-place -o %t.mlir
// RUN: remat-compile %t.mlir -o %t.o --header=%t.h --name=my_step
// RUN: FileCheck %s < %t.h
// RUN: llvm-nm %t.o | FileCheck %s --check-prefix=SYMBOLS
// RUN: not remat-compile %t.mlir -o %t.o --name=9x 2>&1 | FileCheck %s --check-prefix=NAME

// CHECK: Arguments:
// CHECK-NEXT: 0: weights, f32 [3, 5], 60 bytes
// CHECK: Results:
// CHECK-NEXT: 0: result0, f32 [5, 3], 60 bytes
// CHECK: extern const struct remat_module my_step;
// SYMBOLS: {{[DR]}} my_step
// NAME: '9x' is no C identifier

func.func private @k(%x: tensor<3x5xf32>) -> tensor<5x3xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<5x3xf32>
  %r = linalg.transpose ins(%x : tensor<3x5xf32>) outs(%e : tensor<5x3xf32>) permutation = [1, 0]
  return %r : tensor<5x3xf32>
}
remat.graph @main(%x: tensor<3x5xf32> {remat.name = "weights"}) -> tensor<5x3xf32> {
  %0 = remat.task 0 @k(%x) : (tensor<3x5xf32>) -> tensor<5x3xf32>
  remat.return %0 : tensor<5x3xf32>
}
