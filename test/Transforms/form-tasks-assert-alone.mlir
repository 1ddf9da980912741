// RUN: remat-opt %s --remat-form-tasks | FileCheck %s

// What only asserts has lost its results by clean-up. Its task gives the
// condition, which nobody reads.
// CHECK: remat.graph @main
// CHECK: remat.task 0 @{{.*}} : (tensor<i1>) -> tensor<i1>
// CHECK: cf.assert %[[HOLDS:.*]], "must hold"
// CHECK-NEXT: linalg.yield %[[HOLDS]] : i1
func.func @main(%x: tensor<4xf32>, %holds: tensor<i1>) -> tensor<4xf32> {
  linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} ins(%holds : tensor<i1>) {
  ^bb0(%a: i1):
    cf.assert %a, "must hold"
    linalg.yield
  }
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
