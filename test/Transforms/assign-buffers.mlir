// RUN: remat-opt %s --remat-assign-buffers -split-input-file -verify-diagnostics | FileCheck %s

// Beside transfers, too: what goes to the host waits in the second result's
// buffer until it has left, what comes back is in the arena.
func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
// CHECK: remat.graph @transfers
// CHECK-SAME: planned_peak = 128
// CHECK: remat.task 0 @f({{.*}}) at [reused 1:0]
// CHECK: remat.offload %{{[0-9]+}} :
// CHECK: remat.reload %{{[0-9]+}} :
remat.graph @transfers(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) attributes {planned_peak = 256 : i64} {
  %0 = remat.task 0 @f(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %h = remat.offload %0 : tensor<32xf32>
  %1 = remat.task 1 @f(%0) : (tensor<32xf32>) -> tensor<32xf32>
  %2 = remat.task 2 @f(%1) : (tensor<32xf32>) -> tensor<32xf32>
  %3 = remat.reload %h : tensor<32xf32>
  %4 = remat.task 3 @f(%3) : (tensor<32xf32>) -> tensor<32xf32>
  remat.return %4, %2 : tensor<32xf32>, tensor<32xf32>
}

// -----

// expected-error @+1 {{is not planned, expected it planned and not yet placed to assign buffers}}
remat.graph @unplanned() {
  remat.return
}

// -----

// expected-error @+1 {{is placed, expected it planned and not yet placed to assign buffers}}
remat.graph @placed() attributes {planned_peak = 0 : i64, arena_bytes = 0 : i64} {
  remat.return
}
