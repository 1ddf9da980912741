// RUN: remat-opt %s --remat-plan -split-input-file -verify-diagnostics | FileCheck %s

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}

// Without a budget nothing is recomputed but what must be.
// CHECK-LABEL: remat.graph @must_recompute
// CHECK: %[[F:.*]] = remat.task 0 @f(%arg0)
// CHECK: %[[C:.*]] = remat.task 0 copy 1 @f(%arg0)
// CHECK: remat.task 2 @f(%[[C]]) backward
remat.graph @must_recompute(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %0 = remat.task 0 @f(%x) {policies = [#remat.policy<must_recompute>]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%0) : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @f(%0) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %1, %2 : tensor<32xf32>, tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}

// The view of the reloaded value is made anew.
// CHECK-LABEL: remat.graph @must_offload
// CHECK: %[[F:.*]] = remat.task 0 @f(%arg0)
// CHECK: %[[H:.*]] = remat.offload %[[F]]
// CHECK: %[[R:.*]] = remat.reload %[[H]]
// CHECK: %[[E:.*]] = tensor.expand_shape %[[R]]
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[E]]
// CHECK: remat.task 2 @f(%[[C]]) backward
remat.graph @must_offload(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %0 = remat.task 0 @f(%x) {policies = [#remat.policy<must_cpu_offload>]} : (tensor<32xf32>) -> tensor<32xf32>
  %e = tensor.expand_shape %0 [[0, 1]] output_shape [1, 32] : tensor<32xf32> into tensor<1x32xf32>
  %c = tensor.collapse_shape %e [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
  %1 = remat.task 1 @f(%c) : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @f(%c) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %1, %2 : tensor<32xf32>, tensor<32xf32>
}

// -----

func.func private @f2(%a: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) attributes {remat.kernel} {
  return %a, %a : tensor<32xf32>, tensor<32xf32>
}
func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}

// Results of one task share its fate.
// expected-error @+1 {{MUST_SAVE}}
remat.graph @conflict(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0:2 = remat.task 0 @f2(%x) {policies = [#remat.policy<must_save>, #remat.policy<must_recompute>]}
      : (tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>)
  %1 = remat.task 1 @f(%0#0) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %1 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}

// expected-error @+1 {{MUST_RECOMPUTE}}
remat.graph @pinned_must_recompute(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%x) pinned {policies = [#remat.policy<must_recompute>]} : (tensor<32xf32>) -> tensor<32xf32>
  %1 = remat.task 1 @f(%0) backward : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %1 : tensor<32xf32>
}

// -----

func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}

// expected-error @+1 {{the graph has transfers or clones, expected one without a plan}}
remat.graph @decided_already(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %h = remat.offload %0 : tensor<32xf32>
  %1 = remat.reload %h : tensor<32xf32>
  remat.return %1 : tensor<32xf32>
}
