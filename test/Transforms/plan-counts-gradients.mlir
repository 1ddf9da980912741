// RUN: remat-opt %s --remat-plan=budget=256 --remat-assign-buffers | FileCheck %s
// RUN: remat-opt %s --remat-plan=budget=min --remat-assign-buffers | FileCheck %s

// The gradients' buffers hold what the forward computation saved until they are
// written, so that there is less room towards the end. Only there do saved
// values have to go: two tasks run again. Were the room the same at all times,
// nine would.
// CHECK: remat.graph @step
// CHECK-SAME: planned_peak = 256
// CHECK-SAME: save_all_peak = 384
// CHECK-COUNT-2: {copy = {{[12]}}
// CHECK-NOT: copy =
func.func private @f(%a: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
func.func private @g(%a: tensor<32xf32>, %b: tensor<32xf32>) -> tensor<32xf32> attributes {remat.kernel} {
  return %a : tensor<32xf32>
}
remat.graph @step(%x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %f0 = remat.task @f(%x) {id = 0, cost = 10} : (tensor<32xf32>) -> tensor<32xf32>
  %f1 = remat.task @f(%f0) {id = 1, cost = 10} : (tensor<32xf32>) -> tensor<32xf32>
  %f2 = remat.task @f(%f1) {id = 2, cost = 10} : (tensor<32xf32>) -> tensor<32xf32>
  %f3 = remat.task @f(%f2) {id = 3, cost = 10} : (tensor<32xf32>) -> tensor<32xf32>
  %w3 = remat.task @g(%f2, %f3) {id = 4, cost = 10, backward} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %m2 = remat.task @f(%f3) {id = 5, cost = 10, backward, workspace = 128} : (tensor<32xf32>) -> tensor<32xf32>
  %d2 = remat.task @g(%m2, %f2) {id = 6, cost = 10, backward} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %w2 = remat.task @g(%f1, %d2) {id = 7, cost = 10, backward} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %m1 = remat.task @f(%d2) {id = 8, cost = 10, backward, workspace = 128} : (tensor<32xf32>) -> tensor<32xf32>
  %d1 = remat.task @g(%m1, %f1) {id = 9, cost = 10, backward} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %w1 = remat.task @g(%f0, %d1) {id = 10, cost = 10, backward} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %m0 = remat.task @f(%d1) {id = 11, cost = 10, backward, workspace = 128} : (tensor<32xf32>) -> tensor<32xf32>
  %d0 = remat.task @g(%m0, %f0) {id = 12, cost = 10, backward} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  %w0 = remat.task @g(%x, %d0) {id = 13, cost = 10, backward} : (tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32>
  remat.return %w0, %w1, %w2, %w3 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}
