// RUN: remat-opt %s --remat-form-tasks | FileCheck %s

// An assertion in a body is part of the task.
// CHECK: remat.graph @main
// CHECK: remat.task 0 @[[KERNEL:div]](%{{.*}}) :
// CHECK: func.func private @[[KERNEL]]
// CHECK: cf.assert %{{.*}}, "must not be zero"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %c = arith.cmpf one, %a, %zero : f32
    cf.assert %c, "must not be zero"
    %q = arith.divf %one, %a : f32
    linalg.yield %q : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
