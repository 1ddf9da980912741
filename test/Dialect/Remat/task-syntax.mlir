// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s --emit-bytecode | remat-opt | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | remat-opt | FileCheck %s
// RUN: remat-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC

// All that a task can say has a place in its line, and what is not said is not
// printed. Sizes follow from types, or are written.

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @g(%a: tensor<32xf32>, %b: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) attributes {remat.kernel} {
  return %a, %b, %b : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}
func.func private @"odd name"() -> tensor<0xf32> attributes {remat.kernel} {
  %0 = tensor.empty() : tensor<0xf32>
  return %0 : tensor<0xf32>
}

// CHECK-LABEL: remat.graph @tasks
// GENERIC-LABEL: sym_name = "tasks"
remat.graph @tasks(%x: tensor<32xf32>) {
  // CHECK: %[[A:.*]] = remat.task 0 @f(%arg0) : (tensor<32xf32>) -> tensor<32xf32>
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 1 @f(%[[A]]) pinned cost 7 workspace 100 host_workspace 40 {names = {{.*}}, policies = [#remat.policy<must_save>]} : (
  %1 = remat.task 1 @f(%0) pinned cost 7 workspace 100 host_workspace 40 {policies = [#remat.policy<must_save>], names = [["a"]]} : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 2 @"odd name"() : () -> tensor<0xf32>
  %2 = remat.task 2 @"odd name"() : () -> tensor<0xf32>
  // CHECK: remat.task 0 copy 3 @f(%arg0) backward phase 2 : (
  // GENERIC: "remat.task"(%{{.*}}) <{backward, copy = 3 : i64, cost = 0 : i64, host_workspace = 0 : i64, id = 0 : i64, kernel = @f, phase = 2 : i64, workspace = 0 : i64}> : (
  %3 = remat.task 0 copy 3 @f(%x) backward phase 2 : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: remat.task 3 @f(%arg0) backward 2 {policies = [#remat.policy<must_save>], policy_level = 4 : i64} : (
  // GENERIC: level = 2 : i64
  %4 = remat.task 3 @f(%x) backward 2 {policies = [#remat.policy<must_save>], policy_level = 4} : (tensor<32xf32>) -> tensor<32xf32>
  remat.return
}

// CHECK-LABEL: remat.graph @places
// GENERIC-LABEL: sym_name = "places"
remat.graph @places(%x: tensor<32xf32>) -> tensor<32xf32> {
  // CHECK: remat.task 0 @f(%arg0) workspace 64 at [workspace 128] : (
  %0 = remat.task 0 @f(%x) workspace 64 at [workspace 128] : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: %[[G:.*]]:3 = remat.task 1 @g(%{{.*}}, %arg0) at [operand 0, _, reused 0:64] : (
  // GENERIC: placement = [0, unit, #remat.slot<reused, offset = 64, bytes = 128, result = 0>]
  %1:3 = remat.task 1 @g(%0, %x) at [operand 0, _, reused 0:64] : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  // CHECK: remat.task 2 @g(%{{.*}}, %{{.*}}) workspace 64 at [arena 0, arena 128 bytes 256, result 1, workspace 512] : (
  // GENERIC: placement = [#remat.slot<arena, offset = 0, bytes = 128>, #remat.slot<arena, offset = 128, bytes = 256>, #remat.slot<result, offset = 1, bytes = 128>], workspace = 64 : i64, workspace_offset = 512 : i64
  %2:3 = remat.task 2 @g(%1#0, %1#1) workspace 64 at [arena 0, arena 128 bytes 256, result 1, workspace 512] : (tensor<32xf32>, tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>)
  // CHECK: remat.offload %{{.*}} at host 128 bytes 192 : tensor<32xf32>
  %h = remat.offload %2#0 at host 128 bytes 192 : tensor<32xf32>
  // CHECK: remat.reload %{{.*}} at arena 64 : tensor<32xf32>
  %3 = remat.reload %h at arena 64 : tensor<32xf32>
  // CHECK: remat.reload %{{.*}} : tensor<32xf32>
  %4 = remat.reload %h : tensor<32xf32>
  // CHECK: remat.task 3 @f(
  %5 = remat.task 3 @f(%3) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %5 : tensor<32xf32>
}
