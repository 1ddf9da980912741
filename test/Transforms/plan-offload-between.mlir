// What has to be offloaded may be made by a forward task behind a backward one,
// where a program takes several derivatives. It leaves before the next backward
// task, and all of these read what comes back, whatever the planner and budget.

// RUN: remat-opt %s --remat-plan --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-plan=budget=min --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-plan="reorder=false" --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-plan="budget=min planner=search" --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-plan="planner=recompute-all" --split-input-file | FileCheck %s

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @g(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// CHECK-LABEL: remat.graph @later
// CHECK: %[[F:.*]] = remat.task 1 @f
// CHECK: %[[H:.*]] = remat.offload %[[F]]
// CHECK: %[[R:.*]] = remat.reload %[[H]]
// CHECK: %[[B:.*]] = remat.task 2 @g(%{{.*}}, %[[R]]) backward
// CHECK: remat.task 3 @g(%[[B]], %{{.*}}) backward
remat.graph @later(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%x) backward cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%0) cost 1000 {policies = [#remat.policy<must_cpu_offload>]} : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @g(%0, %1) backward cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.task 3 @g(%2, %1) backward cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %3 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @g(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// For a derivative around one that begins before.
// CHECK-LABEL: remat.graph @outer
// CHECK: %[[F:.*]] = remat.task 1 @f
// CHECK: %[[H:.*]] = remat.offload %[[F]]
// CHECK: remat.task 2 @g(%{{.*}}, %[[F]]) cost
// CHECK: %[[R:.*]] = remat.reload %[[H]]
// CHECK: remat.task 3 @g(%{{.*}}, %[[R]]) backward 2
remat.graph @outer(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%x) backward cost 1000 : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%0) cost 1000 {policies = [#remat.policy<must_cpu_offload>], policy_level = 2} : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @g(%0, %1) cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.task 3 @g(%2, %1) backward 2 cost 1000 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %3 : tensor<32xf32>
}
