// Regions of nested derivatives: what a region around a derivative hides (level
// 2) is read by that derivative and made again for the outer one; what a region
// in the function hides is made again for each of the two. What repeats the
// inner derivative for the outer one reads the clone that the outer one reads.

// RUN: remat-opt %s --remat-plan | FileCheck %s

func.func private @k(%a: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %0 = math.sin %a : tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @k2(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %0 = arith.mulf %a, %b : tensor<64xf32>
  return %0 : tensor<64xf32>
}
func.func private @k3(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>) -> tensor<64xf32> attributes {remat.kernel} {
  %0 = arith.mulf %a, %b : tensor<64xf32>
  %1 = arith.mulf %0, %c : tensor<64xf32>
  return %1 : tensor<64xf32>
}
// CHECK-LABEL: remat.graph @main
// CHECK: %[[OUTER:.*]] = remat.task 0 @k(%arg0)
// CHECK: %[[INNER:.*]] = remat.task 1 @k(%[[OUTER]])
// CHECK: %[[AGAIN:.*]] = remat.task 1 copy 1 @k(%[[OUTER]])
// CHECK: remat.task 2 @k2(%[[AGAIN]], %[[OUTER]]) backward cost
// CHECK-NEXT: %[[O:.*]] = remat.task 0 copy 1 @k(%arg0)
// CHECK-NEXT: %[[I:.*]] = remat.task 1 copy 2 @k(%[[O]])
// CHECK-NEXT: %[[B:.*]] = remat.task 2 copy 1 @k2(%[[I]], %[[O]]) backward
// CHECK: remat.task 3 @k3(%[[O]], %[[I]], %[[B]]) backward 2
remat.graph @main(%x: tensor<64xf32>) -> tensor<64xf32> attributes {level = 2 : i64} {
  %0 = remat.task 0 @k(%x) cost 10 {policies = [#remat.policy<must_recompute>], policy_level = 2} : (tensor<64xf32>) -> tensor<64xf32>
  %1 = remat.task 1 @k(%0) cost 10 {policies = [#remat.policy<must_recompute>]} : (tensor<64xf32>) -> tensor<64xf32>
  %2 = remat.task 2 @k2(%1, %0) backward cost 10 {policies = [#remat.policy<must_recompute>]} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %3 = remat.task 3 @k3(%0, %1, %2) backward 2 cost 10 : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  remat.return %3 : tensor<64xf32>
}
