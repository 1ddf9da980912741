// Values that are offloaded for different ones of nested derivatives: planners
// know what is backward for one of these, the innermost. What that does not make
// comes back from the host for all of them.

// RUN: remat-opt %s --split-input-file --verify-diagnostics --remat-form-tasks | FileCheck %s

// CHECK-LABEL: remat.graph @main
// CHECK-NOT: level = 2
// CHECK: remat.task 0 @sin({{.*}}policies = [#remat.policy<must_cpu_offload>]}
// CHECK: remat.task 1 @exp({{.*}}policies = [#remat.policy<must_cpu_offload>], policy_level = 2
// CHECK: backward
// CHECK: backward 2
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = math.sin %x : tensor<64xf32>
  %t = remat.tag %a {policy = #remat.policy<must_cpu_offload>} : tensor<64xf32>
  %b = math.exp %x : tensor<64xf32>
  %u = remat.tag %b {policy = #remat.policy<must_cpu_offload>} : tensor<64xf32>
  %c = math.cos %t {remat.backward} : tensor<64xf32>
  %d = arith.mulf %u, %c {remat.backward = 2 : i64} : tensor<64xf32>
  return %d : tensor<64xf32>
}

// -----

func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-note @+1 {{the other value}}
  %a = math.sin %x : tensor<64xf32>
  %t = remat.tag %a {policy = #remat.policy<must_cpu_offload>} : tensor<64xf32>
  // expected-error @+1 {{has a result with policy 'must_cpu_offload' for the derivative of level 2, and another value has it for that of level 1; of several nested derivatives, values can be offloaded for the outer ones only if the innermost one does not make them}}
  %c = math.cos %t {remat.backward} : tensor<64xf32>
  %u = remat.tag %c {policy = #remat.policy<must_cpu_offload>} : tensor<64xf32>
  %d = math.exp %u {remat.backward = 2 : i64} : tensor<64xf32>
  return %d : tensor<64xf32>
}

// -----

// Forward tasks may stand behind the innermost derivative, as where the function
// that holds it is called or differentiated once more.
// CHECK-LABEL: remat.graph @behind
// CHECK-NOT: level = 2
// CHECK: backward
// CHECK: remat.task 2 @exp({{.*}}policies = [#remat.policy<must_cpu_offload>], policy_level = 2
// CHECK: backward 2
func.func @behind(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = math.sin %x : tensor<64xf32>
  %t = remat.tag %a {policy = #remat.policy<must_cpu_offload>} : tensor<64xf32>
  %b = math.cos %t {remat.backward} : tensor<64xf32>
  %c = math.exp %b : tensor<64xf32>
  %u = remat.tag %c {policy = #remat.policy<must_cpu_offload>} : tensor<64xf32>
  %d = math.tanh %u {remat.backward = 2 : i64} : tensor<64xf32>
  return %d : tensor<64xf32>
}

// -----

// Copies of what is returned belong to no later computation than the results
// before them: in calls of its own, the forward computation gives them, too.
// CHECK-LABEL: remat.graph @returned
// CHECK: remat.task 0 @exp
// CHECK: remat.task 1 @cos({{.*}} backward
// CHECK: remat.task 2 @copy{{.*}}(%arg0) : (
// CHECK: remat.task 3 @copy{{.*}}() : (
// CHECK: remat.task 4 @copy{{.*}}(%0) : (
// CHECK: remat.task 5 @copy{{.*}}() backward
func.func @returned(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %a = math.exp %x : tensor<64xf32>
  %b = math.cos %a {remat.backward} : tensor<64xf32>
  return %a, %x, %one, %a, %b, %zero : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
