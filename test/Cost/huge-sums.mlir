// RUN: not remat-opt %s --remat-plan=budget=min 2>&1 | FileCheck %s

// Each task may take so long, but not all of them together. The longest is
// named.
// CHECK: error: {{.*}}huge-sums.mlir:[[#@LINE+10]]:8: the task 'f' would take an estimated 20000000000000001 ns and all tasks of the step together 40000000000000001 ns, expected at most 36028797018963968 ns

func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
remat.graph @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.task 0 @f(%x) cost 10000000000000000 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = remat.task 1 @f(%0) cost 10000000000000000 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = remat.task 2 @f(%1) cost 20000000000000001 : (tensor<4xf32>) -> tensor<4xf32>
  remat.return %2 : tensor<4xf32>
}
