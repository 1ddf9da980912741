// A program computes the same inside of a region and outside, and clean-up makes
// one value of the two. The region hides it from its own derivative: that reads
// a repetition. The value outside has no policy, so the plan is free to keep it.

// RUN: remat-opt %s --remat-pipeline="cotangents=true emit=tasks" | FileCheck %s
// RUN: remat-opt %s --remat-pipeline="cotangents=true" | FileCheck %s --check-prefix=KEPT
// RUN: remat-opt %s --remat-pipeline="function=own_result cotangents=true" | FileCheck %s --check-prefix=HIDDEN

// CHECK: remat.task 0 @matmul(%arg0, %arg1) cost
// CHECK-NOT: must_recompute
// CHECK-NOT: {{^ *}}%{{[0-9]+}} = remat.task {{[0-9]+}} @matmul(%arg0, %arg1) cost
// CHECK: %[[AGAIN:[0-9]+]] = remat.task {{[0-9]+}} @matmul(%arg0, %arg1) backward
// CHECK: remat.task {{[0-9]+}} @{{[a-z_]*}}({{.*}}%[[AGAIN]]{{.*}}) backward

// Nothing else runs again: what is outside is kept.
// KEPT: remat.graph @
// KEPT-NOT: copy 1
func.func @main(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %y = remat.checkpoint {
    %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
    %t = math.sin %p : tensor<32x32xf32>
    remat.yield %t : tensor<32x32xf32>
  } : tensor<32x32xf32>
  %q = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
  %s = math.exp %q : tensor<32x32xf32>
  %u = math.tanh %s : tensor<32x32xf32>
  %v = arith.mulf %u, %q : tensor<32x32xf32>
  %r = linalg.matmul ins(%y, %v : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %r : tensor<32x32xf32>
}

// The derivative of a tanh reads what the tanh returns, and not by the tag of the
// region. That is no use outside of it: all runs again.

// HIDDEN-LABEL: remat.graph @own_result
// HIDDEN: remat.task 1 @tanh
// HIDDEN-SAME: must_recompute
// HIDDEN: remat.task 1 copy 1 @tanh
func.func @own_result(%x: tensor<32x32xf32>, %w: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<32x32xf32>
  %y = remat.checkpoint {
    %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
    %t = math.tanh %p : tensor<32x32xf32>
    %q = linalg.matmul ins(%t, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%zero : tensor<32x32xf32>) -> tensor<32x32xf32>
    remat.yield %q : tensor<32x32xf32>
  } : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
