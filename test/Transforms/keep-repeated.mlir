// RUN: remat-opt %s --remat-keep-repeated | FileCheck %s
// RUN: remat-opt %s --remat-keep-repeated=alternative=true | FileCheck %s --check-prefix=BOTH
// RUN: remat-opt %s --remat-plan 2>&1 | not remat-opt --remat-keep-repeated 2>&1 | FileCheck %s --check-prefix=PLANNED

// The backward computation runs @exp on what the forward one ran it on, directly
// and behind a view, and then on what that made: all of it is kept. Other
// operands are another matter, and so is what is repeated in the forward
// computation itself.
// CHECK-LABEL: remat.graph @main
// CHECK: %[[A:.*]] = remat.task 0 @exp(%arg0)
// CHECK-NEXT: %[[V:.*]] = tensor.collapse_shape %[[A]]
// CHECK-NEXT: %[[B:.*]] = remat.task 1 @sin(%[[V]])
// CHECK-NEXT: remat.task 2 @exp(%arg0)
// CHECK-NEXT: remat.task 5 @exp(%arg1) backward
// CHECK-NEXT: remat.task 6 @add(%[[B]], %[[V]]) backward
// CHECK-NOT: remat.task
// CHECK: remat.return

// With the option, this form has a graph of its own, which the plan may take; a
// graph in which nothing is repeated has none.
// BOTH: remat.graph @main({{.*}}remat.alternative = @main_kept
// BOTH: remat.task 4 @sin
// BOTH: remat.graph private @main_kept({{.*}}remat.keeps_repeated
// BOTH-NOT: remat.task 4
// BOTH: remat.graph @asked
// BOTH-NOT: _kept

// PLANNED: 'remat.graph' op is planned, expected its tasks to be those of the program
remat.graph @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<4096xf32>) {
  %a = remat.task 0 @exp(%x) cost 10 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %v = tensor.collapse_shape %a [[0, 1]] : tensor<64x64xf32> into tensor<4096xf32>
  %b = remat.task 1 @sin(%v) cost 10 : (tensor<4096xf32>) -> tensor<4096xf32>
  %c = remat.task 2 @exp(%x) cost 10 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %a2 = remat.task 3 @exp(%x) backward cost 10 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %v2 = tensor.collapse_shape %a2 [[0, 1]] : tensor<64x64xf32> into tensor<4096xf32>
  %b2 = remat.task 4 @sin(%v2) backward cost 10 : (tensor<4096xf32>) -> tensor<4096xf32>
  %d = remat.task 5 @exp(%y) backward cost 10 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = remat.task 6 @add(%b2, %v2) backward cost 10 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  remat.return %c, %d, %e : tensor<64x64xf32>, tensor<64x64xf32>, tensor<4096xf32>
}

// What must not be repeated, and what somebody asks to be, stays as it is.
// CHECK-LABEL: remat.graph @asked
// CHECK: remat.task 0
// CHECK: remat.task 1
// CHECK: remat.task 2
// CHECK: remat.task 3
remat.graph @asked(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %a = remat.task 0 @exp(%x) cost 10 {policies = [#remat.policy<must_recompute>]} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = remat.task 1 @exp(%y) pinned cost 10 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %a2 = remat.task 2 @exp(%x) backward cost 10 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %b2 = remat.task 3 @exp(%y) backward pinned cost 10 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  remat.return %a, %b, %a2, %b2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

func.func private @exp(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<64x64xf32>
  %r = linalg.exp ins(%x : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
func.func private @sin(%x: tensor<4096xf32>) -> tensor<4096xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<4096xf32>
  %r = linalg.negf ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
func.func private @add(%x: tensor<4096xf32>, %y: tensor<4096xf32>) -> tensor<4096xf32> attributes {remat.kernel} {
  %e = tensor.empty() : tensor<4096xf32>
  %r = linalg.add ins(%x, %y : tensor<4096xf32>, tensor<4096xf32>) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
