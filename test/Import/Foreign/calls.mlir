// RUN: remat-opt %s --remat-import-foreign | FileCheck %s

// Custom calls say what StableHLO has no words for.

// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: tensor<2xf32>)
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK-NEXT: %[[S:.*]] = remat.stop_gradient %[[X]] : tensor<2xf32>
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "remat.stop_gradient"}> : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[N:.*]] = remat.tag %[[S]] {name = "act"} : tensor<2xf32>
  %1 = "stablehlo.custom_call"(%0) <{call_target_name = "remat.checkpoint_name", backend_config = "act"}> : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[P:.*]] = remat.tag %[[N]] {name = "b", policy = #remat.policy<must_cpu_offload>} : tensor<2xf32>
  %2 = "stablehlo.custom_call"(%1) <{call_target_name = "remat.tag", backend_config = {name = "b", policy = "must_cpu_offload"}}> : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[C:.*]] = remat.checkpoint attributes {early_stop = false, name = "block"} {
  // CHECK-NEXT:   %[[R:.*]] = func.call @block(%[[P]])
  // CHECK-NEXT:   remat.yield %[[R]]
  %3 = "stablehlo.custom_call"(%2) <{call_target_name = "remat.checkpoint", called_computations = [@block], backend_config = {name = "block", early_stop = false}}> : (tensor<2xf32>) -> tensor<2xf32>
  // Attributes of remat stay on calls.
  // CHECK: call @block(%[[C]]) {remat.name = "out"}
  %4 = func.call @block(%3) {remat.name = "out"} : (tensor<2xf32>) -> tensor<2xf32>
  // What concerns several devices is nothing here, and a composite is what it is made of.
  %5 = "stablehlo.custom_call"(%4) <{call_target_name = "Sharding"}> {mhlo.sharding = "{replicated}"} : (tensor<2xf32>) -> tensor<2xf32>
  %6 = "stablehlo.optimization_barrier"(%5) : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[O:.*]] = call @block
  %7 = "stablehlo.composite"(%6) <{name = "my.block", decomposition = @block}> : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: %[[E:.*]] = math.erf %[[O]]
  %8 = "stablehlo.custom_call"(%7) <{call_target_name = "mhlo.erf"}> : (tensor<2xf32>) -> tensor<2xf32>
  // CHECK-NEXT: return %[[E]]
  return %8 : tensor<2xf32>
}

// CHECK-LABEL: func.func private @block
// CHECK-NEXT:    math.sin
func.func private @block(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.sine"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Names and policies may also be attributes.

// CHECK-LABEL: func.func private @named
// CHECK-NEXT:    %[[S:.*]] = math.sin
// CHECK-NEXT:    %[[T:.*]] = remat.tag %[[S]] {name = "s", policy = #remat.policy<must_save>}
// CHECK-NEXT:    return %[[T]]
func.func private @named(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.sine"(%x) {remat.name = "s", remat.policy = #remat.policy<must_save>} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
