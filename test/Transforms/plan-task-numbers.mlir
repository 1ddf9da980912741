// RUN: remat-opt %s --remat-plan=budget=min --remat-assign-buffers --remat-place -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: remat-compile %t.mlir -o %t.o --header=%t.h
// RUN: remat-plan %s --budget=min --trace=%t.trace --report=%t.html

// The numbers of tasks are the user's, up to the greatest ones: planning, the
// verifier and code generation tell originals and clones apart by them.
// CHECK: remat.task 9223372036854775807 @k
// CHECK: remat.task 9223372036854775806 @k
// CHECK: remat.task 9223372036854775807 copy 1 @k

func.func private @k(%a: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.exp ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
func.func private @add(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.add ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
func.func private @pair(%a: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64xf32>
  %r = linalg.exp ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.abs ins(%a : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  return %r, %s : tensor<64xf32>, tensor<64xf32>
}
remat.graph @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = remat.task 9223372036854775807 @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %1 = remat.task 9223372036854775806 @k(%0) : (tensor<64xf32>) -> tensor<64xf32>
  %2:2 = remat.task 0 @pair(%1) backward : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
  %3 = remat.task 1 @add(%2#0, %2#1) backward : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %4 = remat.task 2 @add(%3, %0) backward : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  remat.return %4 : tensor<64xf32>
}
