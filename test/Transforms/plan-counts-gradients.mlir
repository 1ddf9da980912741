// RUN: remat-opt %s --remat-plan=budget=256 --remat-assign-buffers | FileCheck %s
// RUN: remat-opt %s --remat-plan=budget=min --remat-assign-buffers | FileCheck %s

// The gradients' buffers hold what the forward computation saved until they are
// written, so that there is less room towards the end. Only there do saved
// values have to go: two tasks run again. Were the room the same at all times,
// nine would.
// CHECK: remat.graph @step
// CHECK-SAME: planned_peak = 256
// CHECK-SAME: save_all_peak = 384
// CHECK-COUNT-2: copy {{[12]}} @
// CHECK-NOT: copy
func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @g(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @step(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %f0 = remat.task 0 @f(%x) cost 10 : (tensor<32xf32>) -> tensor<32xf32>
  %f1 = remat.task 1 @f(%f0) cost 10 : (tensor<32xf32>) -> tensor<32xf32>
  %f2 = remat.task 2 @f(%f1) cost 10 : (tensor<32xf32>) -> tensor<32xf32>
  %f3 = remat.task 3 @f(%f2) cost 10 : (tensor<32xf32>) -> tensor<32xf32>
  %w3 = remat.task 4 @g(%f2, %f3) backward cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %m2 = remat.task 5 @f(%f3) backward cost 10 workspace 128 : (tensor<32xf32>) -> tensor<32xf32>
  %d2 = remat.task 6 @g(%m2, %f2) backward cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %w2 = remat.task 7 @g(%f1, %d2) backward cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %m1 = remat.task 8 @f(%d2) backward cost 10 workspace 128 : (tensor<32xf32>) -> tensor<32xf32>
  %d1 = remat.task 9 @g(%m1, %f1) backward cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %w1 = remat.task 10 @g(%f0, %d1) backward cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %m0 = remat.task 11 @f(%d1) backward cost 10 workspace 128 : (tensor<32xf32>) -> tensor<32xf32>
  %d0 = remat.task 12 @g(%m0, %f0) backward cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %w0 = remat.task 13 @g(%x, %d0) backward cost 10 : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %w0, %w1, %w2, %w3 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}
